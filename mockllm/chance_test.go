// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm_test

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

// standIn is an endpoint of which the model weak is wrong in 30 % of the
// requests, and any other in 10 %.
func standIn(seed int64) mockllm.Script {
	weak := func(a *mockllm.Ask) (bool, error) { return a.Request.Model == "weak", nil }
	return mockllm.Script{Seed: seed, Rules: []mockllm.Rule{
		{When: weak, Chance: 0.3, Reply: say("wrong")},
		{When: func(a *mockllm.Ask) (bool, error) { return a.Request.Model != "weak", nil }, Chance: 0.1, Reply: say("wrong")},
		{Reply: say("right")},
	}}
}

// chatBody is a request in chat completions; more are members beside it.
func chatBody(model, user, more string) string {
	return fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%q}]%s}`, model, user, more)
}

// chatSaid sends a request and returns the text of its answer; of a refusal, the
// status.
func chatSaid(t *testing.T, m *mockllm.Mock, body string) string {
	t.Helper()
	w := send(m, "/v1/chat/completions", body)
	switch {
	case w.Code != http.StatusOK:
		return fmt.Sprint(w.Code)
	case strings.Contains(w.Body.String(), `"wrong"`):
		return "wrong"
	case strings.Contains(w.Body.String(), `"right"`):
		return "right"
	}
	t.Fatalf("answer %s", w.Body)
	return ""
}

// TestChanceRates holds the rates of wrong answers to the chances, per model.
func TestChanceRates(t *testing.T) {
	m := scripted(t, standIn(1), nil)
	const n = 4000
	for model, want := range map[string]float64{"weak": 0.3, "strong": 0.1, "other": 0.1} {
		wrong := 0
		for i := range n {
			if chatSaid(t, m, chatBody(model, fmt.Sprintf("Question %d?", i), "")) == "wrong" {
				wrong++
			}
		}
		// Nothing is left to luck: the draws are the same in every run.
		if got, most := float64(wrong)/n, 3*math.Sqrt(want*(1-want)/n); math.Abs(got-want) > most {
			t.Errorf("%s is wrong in %.3f of the requests, want %.3f within %.3f", model, got, want, most)
		}
	}
}

// TestChanceWithoutOrder asks the same in two orders, and twice: each request
// meets the same rule, whatever came before.
func TestChanceWithoutOrder(t *testing.T) {
	var bodies []string
	for i := range 60 {
		bodies = append(bodies, chatBody("weak", fmt.Sprintf("Question %d?", i), ""))
	}
	play := func(bodies []string) map[string]string {
		m, out := scripted(t, standIn(1), nil), map[string]string{}
		for _, b := range bodies {
			got := chatSaid(t, m, b)
			if again := chatSaid(t, m, b); again != got {
				t.Errorf("%s: %s, and again %s", b, got, again)
			}
			out[b] = got
		}
		return out
	}
	forth := play(bodies)
	slices.Reverse(bodies)
	if d := cmp.Diff(forth, play(bodies)); d != "" {
		t.Errorf("in another order (-want +got):\n%s", d)
	}
}

// TestChanceFollows changes one thing at a time: what is drawn follows from it,
// or does not.
func TestChanceFollows(t *testing.T) {
	// pattern is what a list of requests meets.
	pattern := func(script mockllm.Script, opts *mockllm.Options, body func(i int) string) string {
		m, out := scripted(t, script, opts), ""
		for i := range 60 {
			out += chatSaid(t, m, body(i))[:1]
		}
		return out
	}
	plain := func(more string) func(i int) string {
		return func(i int) string { return chatBody("weak", fmt.Sprintf("Question %d?", i), more) }
	}
	called := func(id, args string) func(i int) string {
		return func(i int) string {
			return fmt.Sprintf(`{"model":"weak","messages":[{"role":"user","content":"Question %d?"},
				{"role":"assistant","tool_calls":[{"id":%q,"type":"function","function":{"name":"f","arguments":%q}}]},
				{"role":"tool","tool_call_id":%q,"content":"7"}]}`, i, id, args, id)
		}
	}
	first := pattern(standIn(1), nil, plain(""))
	for _, tt := range []struct {
		name   string
		script mockllm.Script
		opts   *mockllm.Options
		body   func(i int) string
		same   string // the pattern that it is compared with
		equal  bool
	}{
		{"the same again", standIn(1), nil, plain(""), first, true},
		{"another temperature", standIn(1), nil, plain(`,"temperature":0`), first, true},
		{"seed of the file", standIn(2), nil, plain(""), first, false},
		{"seed of the mock", standIn(1), &mockllm.Options{Seed: 1}, plain(""), first, false},
		{"seed of the request", standIn(1), nil, plain(`,"seed":0`), first, false},
		{"another seed of the request", standIn(1), nil, plain(`,"seed":1`), pattern(standIn(1), nil, plain(`,"seed":0`)), false},
		{"messages", standIn(1), nil, called("call_1", `{"a":1,"b":2}`), first, false},
		{"ids of calls", standIn(1), nil, called("call_2", `{"a":1,"b":2}`), pattern(standIn(1), nil, called("call_1", `{"a":1,"b":2}`)), true},
		{"arguments in another spelling", standIn(1), nil, called("call_1", `{"b": 2, "a": 1}`), pattern(standIn(1), nil, called("call_1", `{"a":1,"b":2}`)), true},
		{"other arguments", standIn(1), nil, called("call_1", `{"a":1,"b":3}`), pattern(standIn(1), nil, called("call_1", `{"a":1,"b":2}`)), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := pattern(tt.script, tt.opts, tt.body); (got == tt.same) != tt.equal {
				t.Errorf("%s\n%s\nequal %t, want %t", got, tt.same, got == tt.same, tt.equal)
			}
		})
	}
}

// TestChanceSeedOfGemini holds that the seed of generationConfig is read.
func TestChanceSeedOfGemini(t *testing.T) {
	m := scripted(t, mockllm.Script{Rules: []mockllm.Rule{{Chance: 0.5, Reply: say("wrong")}, {Reply: say("right")}}}, nil)
	seen := map[bool]int{}
	for seed := range 40 {
		body := fmt.Sprintf(`{"contents":[{"role":"user","parts":[{"text":"Hi"}]}],"generationConfig":{"seed":%d}}`, seed)
		seen[strings.Contains(send(m, "/v1beta/models/m:generateContent", body).Body.String(), "wrong")]++
	}
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("40 seeds gave %v, want both", seen)
	}
}

// TestChanceOfModels holds that two models that one rule is for are wrong about
// different requests.
func TestChanceOfModels(t *testing.T) {
	m, differ := scripted(t, standIn(1), nil), false
	for i := range 100 {
		user := fmt.Sprintf("Question %d?", i)
		differ = differ || chatSaid(t, m, chatBody("b", user, "")) != chatSaid(t, m, chatBody("c", user, ""))
	}
	if !differ {
		t.Error("b and c are wrong about the same")
	}
}

// TestChanceOfRules holds that rules draw apart: the second of two with a chance
// of one half answers half of what the first leaves.
func TestChanceOfRules(t *testing.T) {
	m := scripted(t, mockllm.Script{Rules: []mockllm.Rule{
		{Chance: 0.5, Reply: say("wrong")}, {Chance: 0.5, Reply: say("right")}, {Reply: mockllm.Reply{Say: "right", Faults: []fault.Fault{{Kind: fault.ServerError, Times: -1}}}},
	}}, nil)
	seen := map[string]int{}
	for i := range 1000 {
		seen[chatSaid(t, m, chatBody("m", fmt.Sprintf("Question %d?", i), ""))]++
	}
	for answer, want := range map[string]int{"wrong": 500, "right": 250, "500": 250} {
		if got := seen[answer]; got < want-50 || got > want+50 {
			t.Errorf("%s: %d times, want about %d", answer, got, want)
		}
	}
}

// TestChanceOfFaults is a storm: a share of the requests is refused twice each
// and then answered, in whatever order they come.
func TestChanceOfFaults(t *testing.T) {
	storm := fault.Fault{Kind: fault.RateLimit, Chance: 0.25, Times: 2}
	for name, script := range map[string]mockllm.Script{
		"of the script":           {Rules: []mockllm.Rule{{Reply: say("right")}}, Faults: []fault.Fault{storm}},
		"of a rule":               {Rules: []mockllm.Rule{{Reply: mockllm.Reply{Say: "right", Faults: []fault.Fault{storm}}}}},
		"of a rule with a chance": {Rules: []mockllm.Rule{{Chance: 0.25, Reply: mockllm.Reply{Say: "right", Faults: []fault.Fault{{Kind: fault.RateLimit, Times: 2}}}}, {Reply: say("right")}}},
	} {
		t.Run(name, func(t *testing.T) {
			m := scripted(t, script, nil)
			const n = 400
			got := make([]string, n)
			for round := range 4 {
				for i := range n {
					if round%2 == 1 { // the other way round
						i = n - 1 - i
					}
					got[i] += chatSaid(t, m, chatBody("m", fmt.Sprintf("Question %d?", i), "")) + " "
				}
			}
			struck := 0
			for i := range n {
				switch got[i] {
				case "429 429 right right ":
					struck++
				case "right right right right ":
				default:
					t.Errorf("request %d: %s", i, got[i])
				}
			}
			if struck < n/4-30 || struck > n/4+30 {
				t.Errorf("%d of %d requests were struck, want about %d", struck, n, n/4)
			}
		})
	}
}

func TestChanceMistakes(t *testing.T) {
	for want, script := range map[string]mockllm.Script{
		"chance 1.5 of a rule is not between 0 and 1":  {Rules: []mockllm.Rule{{Chance: 1.5}}},
		"chance -1 of a rule is not between 0 and 1":   {Asides: []mockllm.Rule{{Chance: -1}}},
		"chance NaN of a rule is not between 0 and 1":  {Rules: []mockllm.Rule{{Chance: math.NaN()}}},
		"chance 2 of fault reset is not between 0":     {Faults: []fault.Fault{{Kind: fault.Reset, Chance: 2}}},
		"has a chance beside every or probability":     {Faults: []fault.Fault{{Kind: fault.Reset, Chance: 1, Every: 2}}},
		"reset has a chance beside every or probabili": {Faults: []fault.Fault{{Kind: fault.Reset, Chance: 1, Probability: 0.5}}},
	} {
		if _, err := mockllm.New(script, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
