// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// answering is a transport that answers by a function.
type answering func(r *http.Request) (status int, body string, header []string)

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	status, body, header := a(r)
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// hello is an answer that used ten tokens, and one of which nothing is said.
const (
	hello     = `{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hello"}}],"usage":{"prompt_tokens":8,"completion_tokens":2,"total_tokens":10}}`
	uncounted = `{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hello"}}]}`
)

// liveOptions ask a transport.
func liveOptions(t *testing.T, transport http.RoundTripper, models ...trials.Model) run.Options {
	opts := run.Options{
		Subject: agent.Subject(nil), Mode: harness.ModeLive, BaseURL: "http://endpoint.example/v1", Entries: models,
		Transport: transport, Out: t.TempDir(), LookupEnv: noCI,
	}
	run.AllowLive(&opts)
	return opts
}

// TestBudget stops a run, and goes on with a larger budget.
func TestBudget(t *testing.T) {
	asked := 0
	endpoint := answering(func(*http.Request) (int, string, []string) { asked++; return 200, hello, nil })
	priced := trials.Model{Label: "m", Name: "m", Price: &trials.Price{Input: 0.5e6, Output: 1e6}} // 6 dollars a trial
	for _, tc := range []struct {
		name    string
		budgets []trials.Budget
		want    []int // trials that the folder has then
	}{
		{"tokens", []trials.Budget{{Tokens: 25}, {Tokens: 25}, {Tokens: 31}, {}}, []int{3, 3, 4, 6}},
		{"dollars", []trials.Budget{{Dollars: 12}, {Dollars: 12.01}, {Dollars: 1000}}, []int{2, 3, 6}},
		{"whichever is used up first", []trials.Budget{{Dollars: 1000, Tokens: 5}, {Dollars: 7, Tokens: 1000}}, []int{1, 2}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			asked = 0
			opts := liveOptions(t, endpoint, priced)
			list := several(t, "a", "b", "c", "d", "e", "f")
			for i, budget := range tc.budgets {
				opts.Budget = budget
				res := play(t, list, opts)
				opts.Resume = res.Dir
				over := tc.want[i] < len(list)
				if len(res.Records) != tc.want[i] || res.OverBudget != over || res.Manifest.Interrupted != over || (res.ExitCode() == 3) != over {
					t.Errorf("%s: %d trials, over %v, interrupted %v, exit code %d", budget, len(res.Records), res.OverBudget, res.Manifest.Interrupted, res.ExitCode())
				}
				if spent := (trials.Spend{Dollars: 6 * float64(tc.want[i]), Tokens: 10 * tc.want[i]}); res.Spent != spent || asked != tc.want[i] {
					t.Errorf("%s: spent %+v in %d requests, want %+v", budget, res.Spent, asked, spent)
				}
				warning := fmt.Sprintf("stopped by the budget of %s: %d tokens used, which cost %d usd; %d ", budget, 10*tc.want[i], 6*tc.want[i], len(list)-tc.want[i])
				if text := strings.Join(res.Manifest.Warnings, "\n"); over != strings.HasPrefix(text, warning) {
					t.Errorf("warnings %q, want one that begins with %q: %v", text, warning, over)
				}
			}
		})
	}
}

func TestBudgetRefused(t *testing.T) {
	endpoint := answering(func(*http.Request) (int, string, []string) { t.Error("asked"); return 500, "", nil })
	list := several(t, "a")
	opts := liveOptions(t, endpoint, run.Models("gpt x")...)
	opts.Budget = trials.Budget{Dollars: 5}
	_, err := run.Run(t.Context(), list, &opts)
	want := "a budget in dollars needs the price of model \"gpt x\": give its entry in rehearse.yaml a price in dollars per million tokens, as in\n" +
		"  models: {'gpt x': {model: \"gpt x\", price: {input: 2.5, output: 10, date: \"2026-01-31\"}}}\nor give the budget in tokens"
	if err == nil || err.Error() != want {
		t.Errorf("no price: %v", err)
	}
	opts.Mode, opts.Entries = harness.ModeMock, nil
	if _, err := run.Run(t.Context(), list, &opts); err == nil || !strings.Contains(err.Error(), "mode mock asks no endpoint") {
		t.Errorf("mode mock: %v", err)
	}
}

// TestBudgetUncounted warns of trials that the budget does not cover.
func TestBudgetUncounted(t *testing.T) {
	entry := trials.Model{Label: "m", Name: "m", Price: &trials.Price{Input: 1, Output: 1}}
	opts := liveOptions(t, answering(func(*http.Request) (int, string, []string) { return 200, uncounted, nil }), entry)
	opts.Budget = trials.Budget{Tokens: 5}
	res := play(t, several(t, "a", "b"), opts)
	if diff := cmp.Diff([]string{"the budget does not cover 2 trials: the endpoint did not say how many tokens it used"}, res.Manifest.Warnings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, rec := range res.Records {
		if rec.Cost != nil || !rec.Uncounted() || rec.Outcome != harness.OutcomePassed {
			t.Errorf("%s: %s, cost %v: an endpoint that says nothing of its tokens is not known to be free", rec.Key, rec.Outcome, rec.Cost)
		}
	}
}

// TestThrottled has an endpoint answer four trials at a time with 429: from then
// on, two ask at a time, and all pass.
func TestThrottled(t *testing.T) {
	var (
		mu        sync.Mutex // guards the rest
		n         int
		most, now int
		met       = make(chan struct{})
		pair      = make(chan struct{})
	)
	clock := httptest.NewServer(http.NotFoundHandler())
	defer clock.Close()
	// A pair of good requests shows that it is two, and not one, that ask at a
	// time, and takes long enough for a third to come if nothing holds it back.
	endpoint := answering(func(*http.Request) (int, string, []string) {
		mu.Lock()
		n++
		if n <= 4 {
			if n == 4 {
				close(met)
			}
			mu.Unlock()
			<-met
			return 429, `{"error":{"message":"slow down"}}`, []string{"Retry-After-Ms", "1"}
		}
		now++
		most = max(most, now)
		mine := pair
		if n%2 == 0 {
			close(pair)
			pair = make(chan struct{})
		}
		mu.Unlock()
		<-mine
		for range 20 {
			res, err := clock.Client().Get(clock.URL)
			if err != nil {
				t.Error(err)
				break
			}
			res.Body.Close()
		}
		mu.Lock()
		now--
		mu.Unlock()
		return 200, hello, nil
	})
	opts := liveOptions(t, endpoint, run.Models("m")...)
	opts.Parallel = 4
	res := play(t, several(t, "a", "b", "c", "d", "e", "f", "g", "h"), opts)
	for _, rec := range res.Records {
		if rec.Outcome != harness.OutcomePassed {
			t.Errorf("%s: %s, %+v", rec.Key, rec.Outcome, rec.Cause)
		}
	}
	if len(res.Records) != 8 || n != 12 || most != 2 {
		t.Errorf("%d trials, %d requests, at most %d at a time; want 8, 12, 2", len(res.Records), n, most)
	}
}
