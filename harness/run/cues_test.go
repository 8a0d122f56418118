// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// watched is a loop beside which a helper asks the model too, from the
// beginning. What it is told comes after all else, or never.
type watched struct {
	*looper
	helper *looper
	never  bool
}

func (w *watched) Send(ctx context.Context, text string) (*harness.TurnReport, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := w.helper.ask(ctx)
		done <- err
	}()
	report, err := w.looper.Send(ctx, text)
	if err != nil {
		return report, err
	}
	if w.never {
		cancel()
	}
	if err := <-done; (err != nil) != w.never {
		return report, fmt.Errorf("the helper's request ends with %v", err)
	}
	return report, nil
}

// TestCues has a reply held until something happens on the tool side, which
// the trial would wait for in vain otherwise.
func TestCues(t *testing.T) {
	for _, tc := range []struct {
		name, until string
		never       bool
	}{
		{"call", "{tool: shop.buy}", false},
		{"second call", "{tool: shop.look, nth: 2}", false},
		{"state", "{state: {shop: {sold: [{$that: value > 3}]}}}", false},
		{"state from the beginning", "{state: {shop: {open: true}}}", false},
		{"two states", "{state: {shop: {sold: [4]}, till: {locked: true}}}", false},
		{"call that never comes", "{tool: shop.look, nth: 4}", true},
		{"state that never comes", "{state: {shop: {sold: [5]}}}", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			reached := "on"
			if tc.never { // the request may be withdrawn before it arrives
				reached = "off"
			}
			rec := one(t, write(t, `scenario: shopping
turns:
  - user: Buy four.
    replies: [{calls: [shop.look]}, {calls: [shop.look, till.lock]}, {calls: [shop.buy: {n: 4}]}, {say: Bought.}]
    expect: [{answer: {contains: Bought.}}]
conduct: {all_replies_reached: `+reached+`}
lanes:
  - lane: helper
    when: request.system == "You help."
    replies: [{say: Seen., hold: {until: `+tc.until+`}}]
servers:
  shop:
    state: {open: true}
    tools:
      - {name: look, input: {type: object, properties: {}}, results: [{text: Goods.}]}
      - {name: buy, input: {type: object, properties: {n: {type: integer}}}, results: [{text: Sold., set: {sold: [{$cel: args.n}]}}]}
  till:
    state: {locked: false}
    tools: [{name: lock, input: {type: object, properties: {}}, results: [{text: Locked., set: {locked: true}}]}]
`), run.Options{Subject: harness.SubjectFunc(func(ctx context.Context, env *harness.Env) (harness.Session, error) {
				s, err := loop{}.Open(ctx, env)
				if err != nil {
					return nil, err
				}
				l := s.(*looper)
				helper := *l
				helper.history = []message{{Role: "system", Content: "You help."}, {Role: "user", Content: "Wait."}}
				return &watched{looper: l, helper: &helper, never: tc.never}, nil
			})})
			wants(t, rec, harness.OutcomePassed, "")
		})
	}
}

// TestHeldInVain names the cue that did not come, and does not blame the agent
// for one that it has no hand in.
func TestHeldInVain(t *testing.T) {
	for _, tc := range []struct {
		name, subject, reply, result string
		outcome                      harness.Outcome
		kind                         trials.CauseKind
		want                         []string
	}{
		{
			name: "a name", reply: "{say: On., hold: {until: go}}", outcome: harness.OutcomeError, kind: trials.CauseScenario,
			want: []string{`a reply was held until the cue "go", which nobody gave`, "s.yaml:6:9"},
		},
		{
			name: "a name, and the agent gives up", subject: "{time_limit: 2s}", reply: "{say: On., hold: {until: go}}", outcome: harness.OutcomeError, kind: trials.CauseScenario,
			want: []string{`a reply was held until the cue "go", which nobody gave`},
		},
		{
			name: "a call", reply: "{say: On., hold: {until: {tool: shop.look, nth: 2}}}", outcome: harness.OutcomeFailed, kind: trials.CauseSubject,
			want: []string{"a reply was held until call 2 of shop.look, which did not happen; turn 1: the subject hangs"},
		},
		{
			name: "a state", reply: "{say: On., hold: {until: {state: {shop: {open: true}}}}}", outcome: harness.OutcomeFailed, kind: trials.CauseSubject,
			want: []string{"a reply was held until the states of servers at ", "which did not happen; turn 1: the subject hangs"},
		},
		{
			name: "a result", subject: "{time_limit: 2s}", reply: "{say: On.}", result: "hold: {until: go}", outcome: harness.OutcomeError, kind: trials.CauseScenario,
			want: []string{`a call of server "shop" was held until the cue "go", which nobody gave`},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			// Long enough for what comes before the hold on a machine that does
			// something else too.
			timeout := 20 * time.Second // the agent is to give up first
			if tc.subject == "" {
				tc.subject, timeout = "{}", 2*time.Second
			}
			rec := one(t, write(t, `scenario: held
turns:
  - user: Look.
    replies:
      - calls: [shop.look]
      - `+tc.reply+`
    expect: [{answer: {equals: On.}}]
subject: `+tc.subject+`
servers:
  shop: {tools: [{name: look, results: [{text: Goods., `+tc.result+`}]}]}
`), run.Options{Subject: agent.Subject(nil), Timeout: timeout})
			wants(t, rec, tc.outcome, tc.kind, tc.want[0])
			if text := rec.Cause.Pos.String() + " " + rec.Cause.Message; len(tc.want) > 1 && !strings.Contains(text, tc.want[1]) {
				t.Errorf("%s\nwant %q", text, tc.want[1])
			}
		})
	}
}
