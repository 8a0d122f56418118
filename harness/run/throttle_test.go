// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// asks has a trial ask, and returns what ends its request with a status and
// header fields in pairs.
func asks(t *testing.T, th *throttle, who *trial) (answer func(status int, header ...string)) {
	t.Helper()
	r, err := th.enter(t.Context(), who)
	if err != nil {
		t.Error(err)
	}
	return func(status int, header ...string) {
		h := http.Header{}
		for pair := range slices.Chunk(header, 2) {
			h.Set(pair[0], pair[1])
		}
		r.answered(status, h)
		r.leave()
	}
}

// TestThrottleLimit follows the number of trials that may ask at a time. The
// answers of one step are to requests that were all under way together.
func TestThrottleLimit(t *testing.T) {
	good := func(n int) []int { return slices.Repeat([]int{200}, n) }
	for _, tc := range []struct {
		name  string
		steps [][]int // statuses of the answers
		want  []int   // the limit after each step
	}{
		{"all is well", [][]int{good(8), good(8)}, []int{8, 8}},
		{"halves once for all that was under way", [][]int{{429, 429, 200, 429}, {429}, {429}, {429}}, []int{4, 2, 1, 1}},
		{"one more after some good answers", [][]int{{429}, good(4), good(3), good(1), good(4), good(4), good(5)}, []int{4, 4, 4, 5, 5, 6, 6}},
		{"up to the bound", [][]int{{429}, good(4), good(4), good(5), good(3), good(6), good(2), good(7), good(1), good(8), good(8)}, []int{4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 8}},
		{"good answers are counted anew", [][]int{{429}, good(4), {429}, good(2), good(2), good(2), good(2)}, []int{4, 4, 2, 2, 2, 2, 3}},
		{"other errors", [][]int{{500, 503, 400, 401}}, []int{8}},
		{"overloaded", [][]int{{529}}, []int{4}},
		{"errors are no good answers", [][]int{{429}, {500, 500, 500, 500}, {500, 500, 500, 500}}, []int{4, 4, 4}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			th := newThrottles().of("http://h/v1", 8, 0)
			var got []int
			for _, statuses := range tc.steps {
				var end []func(int, ...string)
				for range statuses {
					end = append(end, asks(t, th, new(trial)))
				}
				for i, status := range statuses {
					end[i](status)
				}
				got = append(got, th.limit)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("limits (-want +got):\n%s", diff)
			}
			if len(th.asking)+len(th.waiting)+len(th.told) > 0 {
				t.Errorf("%d ask, %d wait, %d were told, at the end", len(th.asking), len(th.waiting), len(th.told))
			}
		})
	}
}

// TestThrottleTurns has trials wait for their turn in the order in which they
// came, and a trial never for itself.
func TestThrottleTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottles().of("http://h/v1", 4, 0)
		a, b, c, d := new(trial), new(trial), new(trial), new(trial)
		asks(t, th, a)(429)
		endA, endB := asks(t, th, a), asks(t, th, b) // as many as may
		asks(t, th, a)(200)                          // a second request of a
		type entered struct {
			name string
			end  func(int, ...string)
		}
		let := make(chan entered, 9)
		ends := map[string]func(int, ...string){}
		enter := func(name string, who *trial) {
			go func() { let <- entered{name, asks(t, th, who)} }()
			synctest.Wait()
		}
		in := func() (names []string) { // those that were let in since the last time
			synctest.Wait()
			for len(let) > 0 {
				e := <-let
				ends[e.name] = e.end
				names = append(names, e.name)
			}
			slices.Sort(names)
			return names
		}
		want := func(when string, names ...string) {
			t.Helper()
			if diff := cmp.Diff(names, in()); diff != "" {
				t.Errorf("let in %s (-want +got):\n%s", when, diff)
			}
		}
		enter("c", c)
		enter("d", d)
		enter("c again", c)
		want("at first")
		endA(200)
		want("after a", "c", "c again")
		endB(200)
		want("after b", "d")
		// One that is given up lets the next one in.
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error)
		go func() {
			_, err := th.enter(ctx, a)
			gone <- err
		}()
		synctest.Wait()
		enter("b", b)
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("given up: %v", err)
		}
		want("behind one that was given up")
		ends["d"](200)
		want("after d", "b")
		for _, name := range []string{"b", "c", "c again"} {
			ends[name](200)
		}
		if len(th.asking)+len(th.waiting) > 0 {
			t.Errorf("%d ask, %d wait, at the end", len(th.asking), len(th.waiting))
		}
	})
}

// TestThrottleWaits measures what is waited, in the time of a bubble.
func TestThrottleWaits(t *testing.T) {
	for _, tc := range []struct {
		name   string
		gap    time.Duration
		status int
		header string
		own    bool // the trial that was answered asks, not another one
		want   time.Duration
	}{
		{"nothing asked", 0, 429, "", false, 0},
		{"429", 0, 429, "7", false, 7 * time.Second},
		{"503", 0, 503, "7", false, 7 * time.Second},
		{"503 without", 0, 503, "", false, 0},
		{"a good answer", 0, 200, "7", false, 0},
		{"longer than is waited", 0, 429, "3600", false, 0},
		{"the trial itself", 0, 429, "7", true, 0},
		{"rate", time.Second, 200, "", false, time.Second},
		{"rate, the trial itself", time.Second, 429, "7", true, time.Second},
		{"both", 10 * time.Second, 429, "7", false, 10 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := newThrottles().of("http://h/v1", 4, tc.gap)
				first := new(trial)
				start := time.Now()
				asks(t, th, first)(tc.status, "Retry-After", tc.header)
				next := new(trial)
				if tc.own {
					next = first
				}
				end := asks(t, th, next)
				if got := time.Since(start); got != tc.want {
					t.Errorf("waited %s, want %s", got, tc.want)
				}
				end(200)
			})
		})
	}
}

// TestThrottleRate spaces requests that come together.
func TestThrottleRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := newThrottles()
		rate := trials.Rate{Requests: 60, Per: time.Minute}
		th := set.of("http://h/v1/", 4, rate.Gap())
		if set.of("http://h/v1", 4, 0) != th || set.of("http://h/v2", 4, 0) == th {
			t.Error("an endpoint has not one throttle of its own")
		}
		start := time.Now()
		var came []time.Duration
		done := make(chan time.Duration)
		for range 4 {
			go func() {
				end := asks(t, th, new(trial))
				at := time.Since(start)
				end(200)
				done <- at
			}()
			synctest.Wait()
		}
		for range 4 {
			came = append(came, <-done)
		}
		if diff := cmp.Diff([]time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second}, came); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestThrottlePauseGivenUp leaves no place taken.
func TestThrottlePauseGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottles().of("http://h/v1", 1, 0)
		asks(t, th, new(trial))(429, "Retry-After", "60")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := th.enter(ctx, new(trial)); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		asks(t, th, new(trial))(200)
	})
}

// TestDeadline does not count what is held back.
func TestDeadline(t *testing.T) {
	for _, tc := range []struct {
		name  string
		holds [][2]int // from and to, in seconds
		want  int
	}{
		{"none", nil, 60},
		{"before the limit", [][2]int{{10, 15}}, 65},
		{"two at a time", [][2]int{{10, 20}, {15, 25}}, 75},
		{"over the limit", [][2]int{{50, 100}}, 110},
		{"in the time that was added", [][2]int{{50, 70}, {75, 80}}, 85},
		{"too late", [][2]int{{61, 80}}, 60},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				at := func(s int) <-chan time.Time { return time.After(time.Duration(s)*time.Second - time.Since(start)) }
				var d deadline
				expired := make(chan time.Duration, 1)
				d.start(time.Minute, func() { expired <- time.Since(start) })
				for _, h := range tc.holds {
					go func() {
						<-at(h[0])
						release := d.hold()
						<-at(h[1])
						release()
					}()
				}
				if got := <-expired; got != time.Duration(tc.want)*time.Second {
					t.Errorf("expired after %s, want %d s", got, tc.want)
				}
				d.stop()
				<-at(200)
			})
		})
	}
}

// TestDeadlineStops for good.
func TestDeadlineStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d deadline
		d.start(time.Minute, func() { t.Error("expired") })
		release := d.hold()
		time.Sleep(30 * time.Second)
		release()
		d.stop()
		time.Sleep(time.Hour)
	})
}

// TestInterleaved keeps the trials that are compared together, and the order of
// any part of a run.
func TestInterleaved(t *testing.T) {
	var jobs []job
	for s := range 20 {
		for _, model := range []string{"a", "b", "c"} {
			for n := range 3 {
				jobs = append(jobs, job{key: trials.Key{Scenario: fmt.Sprint(s), Model: model, Attempt: n + 1}})
			}
		}
	}
	names := func(list []job) []string {
		var out []string
		for _, j := range list {
			out = append(out, j.key.String())
		}
		return out
	}
	got := interleaved(jobs, 5)
	first := map[string]int{}
	for block := range slices.Chunk(got, 3) {
		of := map[string]bool{}
		for _, j := range block {
			if of[j.key.Model] = true; j.key.Scenario != block[0].key.Scenario || j.key.Attempt != block[0].key.Attempt {
				t.Fatalf("not together: %q", names(block))
			}
		}
		if len(of) != 3 {
			t.Fatalf("not each model once: %q", names(block))
		}
		first[block[0].key.Model]++
	}
	if first["a"] < 10 || first["b"] < 10 || first["c"] < 10 {
		t.Errorf("how often a model is asked first: %v", first)
	}
	if slices.Equal(names(got), names(interleaved(jobs, 6))) {
		t.Error("the seed changes nothing")
	}
	// A part has the order of the whole, whatever the order of the list.
	part := func(list []job) []job {
		return slices.DeleteFunc(slices.Clone(list), func(j job) bool {
			return strings.HasSuffix(j.key.Scenario, "7") || j.key.Model == "b" && j.key.Attempt == 2
		})
	}
	backwards := slices.Clone(jobs)
	slices.Reverse(backwards)
	if diff := cmp.Diff(names(part(got)), names(interleaved(part(backwards), 5))); diff != "" {
		t.Errorf("order of a part (-want +got):\n%s", diff)
	}
	one := slices.DeleteFunc(slices.Clone(jobs), func(j job) bool { return j.key.Model != "a" })
	if diff := cmp.Diff(names(one), names(interleaved(one, 5))); diff != "" {
		t.Errorf("one model (-want +got):\n%s", diff)
	}
}

// side is a model's side of which nothing but the exchanges is known.
type side struct {
	modelSide
	exchanges []harness.Exchange
}

func (s side) each(f func(*harness.Exchange) bool) {
	for i := range s.exchanges {
		f(&s.exchanges[i])
	}
}

// TestBudgetUnderway counts what trials have used that have not ended.
func TestBudgetUnderway(t *testing.T) {
	l := &ledger{budget: trials.Budget{Tokens: 30}, underway: map[trials.Key]trials.Spend{}}
	r := &runner{ledger: l}
	jobs := make([]job, 3)
	for i := range jobs {
		jobs[i] = job{key: trials.Key{Attempt: i + 1}, entry: &entry{}, scenario: &scenarios.Scenario{}}
	}
	q := &queue{throttles: newThrottles(), parallel: 3, ledger: l, jobs: jobs}
	first, ok := q.next(t.Context())
	if !ok || first.key.Attempt != 1 {
		t.Fatalf("first: %+v, %v", first.key, ok)
	}
	under := &trial{runner: r, job: first}
	used := func(n int) harness.Exchange {
		return harness.Exchange{Usage: harness.Usage{PromptTokens: n, TotalTokens: n}}
	}
	under.model = side{exchanges: []harness.Exchange{used(9)}}
	under.checkLimits()
	second, ok := q.next(t.Context())
	if !ok || second.key.Attempt != 2 {
		t.Fatalf("second: %+v, %v", second.key, ok)
	}
	under.model = side{exchanges: []harness.Exchange{used(9), used(21)}}
	under.checkLimits()
	if j, ok := q.next(t.Context()); ok {
		t.Errorf("%+v begins, with %+v spent", j.key, l.spent())
	}
	l.add(trials.Record{Key: first.key, Tokens: trials.Tokens{Input: 29}}) // in place of what was known before
	if got := l.spent(); got.Tokens != 29 {
		t.Errorf("spent %+v", got)
	}
	if j, ok := q.next(t.Context()); !ok || j.key.Attempt != 3 {
		t.Errorf("third: %+v, %v", j.key, ok)
	}
}

// TestQueue begins no more trials than may run, here and at their endpoints, and
// takes others first while an endpoint is busy.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := newThrottles()
		busy, free := &entry{throttle: set.of("http://busy", 3, 0)}, &entry{throttle: set.of("http://free", 3, 0)}
		asks(t, busy.throttle, new(trial))(429) // one at a time from now on
		var jobs []job
		for i, e := range []*entry{busy, busy, busy, free, free, free} {
			jobs = append(jobs, job{key: trials.Key{Attempt: i + 1}, entry: e})
		}
		q := &queue{throttles: set, parallel: 3, ledger: &ledger{}, jobs: jobs}
		begun := make(chan job, len(jobs))
		go func() {
			for {
				j, ok := q.next(t.Context())
				if !ok {
					close(begun)
					return
				}
				begun <- j
			}
		}()
		want := func(when string, attempts ...int) (list []job) {
			t.Helper()
			synctest.Wait()
			var got []int
			for len(begun) > 0 {
				j := <-begun
				list, got = append(list, j), append(got, j.key.Attempt)
			}
			if diff := cmp.Diff(attempts, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
			return list
		}
		first := want("at first", 1, 4, 5)
		q.ended(first[1])
		want("after one of the free endpoint", 6)
		q.ended(first[2])
		want("after another")
		q.ended(first[0])
		second := want("after the one of the busy endpoint", 2)
		for range raiseAfter { // which can bear two again
			asks(t, busy.throttle, new(trial))(200)
		}
		want("after good answers", 3)
		if len(second) > 0 {
			q.ended(second[0])
		}
		synctest.Wait()
		if _, more := <-begun; more {
			t.Error("more trials than there are")
		}
	})
}

// TestHeldBack makes an error of the endpoint's of a request that is held back
// for longer than its subject waits.
func TestHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottles().of("http://h/v1", 1, time.Hour)
		asks(t, th, new(trial))(200)
		who := new(trial)
		m := &liveModel{clock: harness.SystemClock(), check: func() {}, enter: func(ctx context.Context) (*request, error) {
			defer who.deadline.hold()()
			return th.enter(ctx, who)
		}}
		m.over, m.end = context.WithCancel(t.Context())
		defer m.end()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		m.beginTurn(1)
		w := httptest.NewRecorder()
		m.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/chat/completions", strings.NewReader(`{"model":"m","messages":[]}`)))
		const want = "the request was held back for 1m0s, by the rate or because the endpoint had too many, and the subject did not wait longer"
		list := m.journal()
		if len(list) != 1 || list[0].Error != want || w.Code != http.StatusBadGateway || who.deadline.held() != time.Minute {
			t.Fatalf("HTTP %d, held %s, journal %+v", w.Code, who.deadline.held(), list)
		}
		never := func(int) bool { return false }
		cause := endpointCause(list, m.brokeOff, []harness.TurnReport{{Error: "timeout"}}, errors.New("timeout"), never)
		if cause == nil || cause.Kind != trials.CauseEndpoint || cause.Message != want+" (request 1)" {
			t.Errorf("cause %+v", cause)
		}
	})
}
