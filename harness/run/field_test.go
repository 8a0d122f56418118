// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/conduct"
	"github.com/rehearse-dev/rehearse/scenarios"
)

const fieldSuite = "../../scenarios/suites/mcp-field"

// TestField: the reference agent does right in every thread of the suite, and
// every fault strikes.
func TestField(t *testing.T) {
	res := play(t, load(t, fieldSuite), run.Options{Subject: agent.Subject(nil), Child: self()})
	if len(res.Records) != 20 {
		t.Errorf("%d trials, want 20", len(res.Records))
	}
	passed := map[string]bool{}
	for _, rec := range res.Records {
		wants(t, rec, harness.OutcomePassed, "")
		for _, v := range rec.Verdicts {
			if v.Check == "faults" {
				t.Errorf("%s: %s", rec.Scenario, v.Message)
			}
			passed[v.Check] = passed[v.Check] || v.State == trials.Passed
		}
	}
	names := conduct.Names()
	for _, name := range names[slices.Index(names, conduct.InitializeFirst):] {
		if !passed[name] {
			t.Errorf("nothing in the suite calls for %s", name)
		}
	}
}

// mutant is a client that does wrong in a thread: the agent with something
// between it and the servers or the model.
type mutant struct {
	file string // the beginning of the scenario's name
	does string
	// line sees each line between client and server and says what goes on in
	// its place; nil ends the connection.
	line func(c *mitm, line string, fromClient bool) []string
	// web is a proxy before servers that are reached by URL.
	web func(next http.RoundTripper) http.RoundTripper
	// told changes a request to the model.
	told func(body string) string
	// child starts a process in a way of its own.
	child func(t *testing.T, server harness.Server) (io.ReadWriteCloser, error)
	// deaf goes on without servers when they cannot be opened.
	deaf bool
	want string // of the cause or what follows from it; several with " or " between them
}

func mutants() []mutant {
	drop := func(what string) func(*mitm, string, bool) []string {
		return func(_ *mitm, line string, _ bool) []string {
			if strings.Contains(line, what) {
				return []string{}
			}
			return []string{line}
		}
	}
	hide := func(pairs ...string) func(string) string { return strings.NewReplacer(pairs...).Replace }
	return []mutant{
		{file: "01", does: "loses the notifications before a reply", line: drop("list_changed"), want: `tool "lab.measure" is not offered`},
		{file: "02", does: "never reads stderr", child: startDeaf, want: "limit exceeded: time"},
		{file: "03", does: "leaves the process behind", child: startLoose, want: "children_ended"},
		{file: "04", does: "opens without the server", deaf: true, want: "start_error"},
		{file: "05", does: "hides the code of an error", told: hide("-32050", "", "warm_in_seconds", ""), want: `journal.told[0].contains("-32050")`},
		{file: "06", does: "hides errors of the protocol", told: hide("channel_not_found: labnews", "internal error"), want: "results: the result of call chat.post"},
		{file: "07", does: "takes a failure for a success", told: hide("Error: ", ""), want: `matches("(?i)error|fail")`},
		{file: "08", does: "drops a list with an odd tool", line: dropList("odd_missing"), want: `"missing.add_two" is not offered`},
		{file: "09", does: "hands an odd schema on to the model", told: oddSchema, want: "the provider would refuse request 1"},
		{file: "10", does: "throws away a text whose structure is wrong", told: hide(`{\"absorbance\":0.42}`, "structured content does not match its schema"), want: "results: the result of call lab.measure"},
		{file: "11", does: "ignores list_changed", line: drop("list_changed"), want: `tool "bank.balance_v2" is not offered`},
		{file: "12", does: "lists the tools for each list_changed", line: storm, want: "lists_bounded"},
		{file: "13", does: "never opens a new session", web: neverAgain, want: "session_renewed"},
		{file: "14", does: "makes a call again when the connection breaks", web: again, want: "executed again after it had succeeded or no_double_effect"},
		{file: "15", does: "makes a call again when the process is gone", line: nil, child: startTwice, want: "executed again after it had succeeded or no_double_effect"},
		{file: "16", does: "ends the server to cancel a call", line: killToCancel, want: "journal.told[1].contains or cancelled_sent"},
		{file: "16", does: "gives up without a word", line: drop("notifications/cancelled"), want: "cancelled_sent"},
		{file: "17", does: "sends no progress token", line: strip(`"progressToken"`, `"other"`), want: "progress_token"},
		{file: "18", does: "dies of a line that is no JSON", line: fragile, want: "opening the subject"},
		{file: "19", does: "never answers a ping", line: drop(`"id":1,"result":{}`), want: "server_answered"},
		{file: "20", does: "gives up when discover is refused", line: noFallback, want: "opening the subject"},
	}
}

// TestFieldMutants: each thread of the suite is failed by a client that does
// what was seen there, and for that reason.
func TestFieldMutants(t *testing.T) {
	list := load(t, fieldSuite)
	tested := map[string]bool{}
	for _, m := range mutants() {
		t.Run(m.file+" "+m.does, func(t *testing.T) {
			t.Parallel()
			s := *find(t, list, m.file)
			s.Limits.Time = min(s.Limits.Time, 4*time.Second)
			rec := one(t, []*scenarios.Scenario{&s}, run.Options{Subject: m.subject(t), Child: self(), Grace: time.Second})
			told := slices.ContainsFunc(strings.Split(m.want, " or "), func(want string) bool { return strings.Contains(why(rec), want) })
			if rec.Outcome != harness.OutcomeFailed || !told {
				t.Errorf("%s: %s\nwant it to fail for %q", rec.Outcome, why(rec), m.want)
			}
		})
		tested[m.file] = true
	}
	for _, s := range list {
		if file := filepath.Base(s.Pos.File)[:2]; !tested[file] {
			t.Errorf("no client fails %s", s.Pos.File)
		}
	}
}

func find(t *testing.T, list []*scenarios.Scenario, file string) *scenarios.Scenario {
	t.Helper()
	for _, s := range list {
		if strings.HasPrefix(filepath.Base(s.Pos.File), file) {
			return s
		}
	}
	t.Fatalf("there is no scenario %s", file)
	return nil
}

// why is all that is said of a trial that did not pass.
func why(rec trials.Record) string {
	var b strings.Builder
	if rec.Cause != nil {
		fmt.Fprintln(&b, rec.Cause.Message, foldedText(rec.Cause))
	}
	for _, v := range rec.Verdicts {
		if v.State == trials.Failed {
			fmt.Fprintf(&b, "%s: %s\n", v.Check, v.Message)
		}
	}
	return b.String()
}

// subject is the agent with the mutation.
func (m mutant) subject(t *testing.T) harness.Subject {
	return harness.SubjectFunc(func(ctx context.Context, env *harness.Env) (harness.Session, error) {
		own := *env
		own.Servers = nil
		for _, server := range env.Servers {
			own.Servers = append(own.Servers, m.before(t, server))
		}
		if m.told != nil {
			own.Endpoint.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return nil, err
				}
				body = []byte(m.told(string(body)))
				r = r.Clone(r.Context())
				r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
				return env.Endpoint.Transport.RoundTrip(r)
			})
		}
		session, err := agent.Subject(nil).Open(ctx, &own)
		if err != nil && m.deaf {
			own.Servers = nil
			return agent.Subject(nil).Open(ctx, &own)
		}
		return session, err
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// oddSchema puts a union at the root of the first tool's schema.
func oddSchema(body string) string {
	var request map[string]json.RawMessage
	var tools []map[string]any
	if json.Unmarshal([]byte(body), &request) != nil || json.Unmarshal(request["tools"], &tools) != nil || len(tools) == 0 {
		return body
	}
	tools[0]["function"].(map[string]any)["parameters"] = map[string]any{"anyOf": []any{map[string]any{"type": "object"}}}
	request["tools"], _ = json.Marshal(tools)
	out, _ := json.Marshal(request)
	return string(out)
}
