// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/conduct"
	"github.com/rehearse-dev/rehearse/reports"
)

// TestStruck: a failure names the faults that struck, on either side.
func TestStruck(t *testing.T) {
	list := write(t, `
scenario: struck
servers:
  w:
    tools: [{name: t, results: [{json: {a: 1}, fault: {kind: is_error, form: plausible}}]}]
turns:
  - user: hi
    replies:
      - calls: [w.t]
        fault: {kind: rate_limit, retry_after: 1s, times: 2}
      - say: ok
    expect: [{answer: {contains: never said}}, {that: "trajectory[0].failed"}]
`)
	res := play(t, list, run.Options{Subject: agent.Subject(nil), Out: t.TempDir()})
	rec := res.Records[0]
	wants(t, rec, harness.OutcomeFailed, trials.CauseExpectation)
	want := []string{"rate_limit of the model, turn 1, 2 times", `is_error/plausible of server "w" at tools/call`}
	if diff := cmp.Diff(want, rec.Struck); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	loaded, err := reports.Load(res.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := reports.Text(&text, loaded, nil); err != nil {
		t.Fatal(err)
	}
	if line := "faults that struck: " + strings.Join(want, "; "); !strings.Contains(text.String(), line) {
		t.Errorf("%s\nwant %s", text.String(), line)
	}
}

// TestFaultsOfUnaskedReplies: a fault of a reply that nothing asked for is a
// warning where nobody misses the reply, with that reason, and where nothing came
// at all; replies that are missed need none.
func TestFaultsOfUnaskedReplies(t *testing.T) {
	const limited = `
scenario: s
subject: {max_model_calls: 1}
servers: {WEATHER}
turns:
  - user: Paris?
    replies: [{calls: [{weather.get_weather: {location: Paris}}]}, {say: ok, fault: {kind: rate_limit}}]
    expect: [EXPECT]
`
	dead := sender(func(context.Context, *harness.Env) error { return errors.New("dead") })
	const never = " struck no request: its reply was never asked for"
	for _, tt := range []struct {
		name, scenario string
		subject        harness.Subject
		want           string
	}{
		{"the turn stops", strings.Replace(limited, "EXPECT", "{stops: model_calls}", 1), agent.Subject(nil), never},
		{"the reply is missed", strings.Replace(limited, "EXPECT", "{calls: {extra: allow, list: []}}", 1), agent.Subject(nil), ""},
		{"nothing is asked, of a reply", "scenario: s\nturns: [{user: Go, replies: [{say: ok, fault: {kind: rate_limit}}], expect: [{stops: error}]}]\n", dead, never},
		{"nothing is asked, of the suite", "scenario: s\nmodel: {faults: [{kind: rate_limit}]}\nturns: [{user: Go, replies: [{say: ok}], expect: [{stops: error}]}]\n", dead, " struck no request: no request came"},
		{"it strikes", "scenario: s\nturns: [{user: Go, replies: [{say: ok, fault: {kind: rate_limit}}], expect: [{answer: {equals: ok}}]}]\n", agent.Subject(nil), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			for _, v := range one(t, write(t, tt.scenario), run.Options{Subject: tt.subject}).Verdicts {
				if v.Check == conduct.FaultsStruck && v.State == trials.Warned {
					got = v.Message
				}
			}
			if (got == "") != (tt.want == "") || !strings.HasSuffix(got, tt.want) {
				t.Errorf("the warning is %q, want %q", got, tt.want)
			}
		})
	}
}
