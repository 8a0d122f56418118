// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package breaker_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/breaker"
)

// dial is a clock that goes when it is told to.
type dial struct {
	mu sync.Mutex
	at time.Time
}

func (d *dial) now() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at
}

func (d *dial) pass(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = d.at.Add(by)
}

// TestStates plays calls: S success, F failure, I ignored, R refused; a number
// is seconds that pass.
func TestStates(t *testing.T) {
	for _, tc := range []struct {
		name, calls, changes string
		options              breaker.Options
		want                 breaker.Stats
	}{
		{"closed", "S F F S F F S", "", breaker.Options{}, breaker.Stats{State: "closed"}},
		{"three in a row", "F F S F F F R R", "open: 5", breaker.Options{}, breaker.Stats{State: "open", Opened: 1, Refused: 2}},
		{"ignored ones neither count nor begin anew", "F I F I I F R", "open: 5", breaker.Options{}, breaker.Stats{State: "open", Opened: 1, Refused: 1}},
		{"open to the last second", "F F F 59 R 1 S", "open: 2, half-open", breaker.Options{}, breaker.Stats{State: "half-open", Opened: 1, Refused: 1}},
		{"half-open when the time has passed", "F F F 60", "open: 2, half-open", breaker.Options{}, breaker.Stats{State: "half-open", Opened: 1}},
		{"closed by two probes", "F F F 60 S S F F S", "open: 2, half-open, closed", breaker.Options{}, breaker.Stats{State: "closed", Opened: 1}},
		{"opened again by a probe", "F F F 60 S F R 59 R 1 S S", "open: 2, half-open, open: 5, half-open, closed", breaker.Options{}, breaker.Stats{State: "closed", Opened: 2, Refused: 2}},
		{"an ignored probe frees its place", "F F F 60 I I I S S", "open: 2, half-open, closed", breaker.Options{}, breaker.Stats{State: "closed", Opened: 1}},
		{"counts", "F F", "", breaker.Options{}, breaker.Stats{State: "closed", Failures: 2}},
		{"own numbers", "F R 9 R 1 S", "open: 0, half-open, closed", breaker.Options{Failures: 1, OpenFor: 10 * time.Second, Probes: 1}, breaker.Stats{State: "closed", Opened: 1, Refused: 2}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			clock := &dial{at: time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)}
			var changes []string
			b := breaker.New("x", &tc.options, clock.now, func(c breaker.Change) {
				text := string(c.To)
				if c.Err != nil {
					text += ": " + c.Err.Error()
				}
				if c.Of != "x" || c.From == c.To {
					t.Errorf("change %+v", c)
				}
				changes = append(changes, text)
			})
			for i, step := range strings.Fields(tc.calls) {
				if seconds := 0; step[0] < 'A' {
					fmt.Sscan(step, &seconds)
					clock.pass(time.Duration(seconds) * time.Second)
					continue
				}
				done, err := b.Allow()
				if refused := err != nil; refused != (step == "R") {
					t.Fatalf("step %d: %v", i, err)
				}
				switch step {
				case "S":
					done(breaker.Success, nil)
				case "F":
					done(breaker.Failure, fmt.Errorf("%d", i))
				case "I":
					done(breaker.Ignored, errors.New("ignored"))
				}
			}
			if d := cmp.Diff(tc.want, b.Stats()); d != "" {
				t.Errorf("stats (-want +got):\n%s", d)
			}
			if got := strings.Join(changes, ", "); got != tc.changes {
				t.Errorf("changes %q, want %q", got, tc.changes)
			}
		})
	}
}

// Of probes no more than two are under way at once, and a call that began before
// the circuit opened changes nothing by its end.
func TestProbes(t *testing.T) {
	clock := &dial{}
	b := breaker.New("x", &breaker.Options{}, clock.now, nil)
	late, _ := b.Allow()
	for range 3 {
		done, err := b.Allow()
		if err != nil {
			t.Fatal(err)
		}
		done(breaker.Failure, errors.New("HTTP 503"))
	}
	_, err := b.Allow()
	if want := "its circuit is open for another 1m0s, because of the last failure: HTTP 503"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	var refused *breaker.RefusedError
	if !errors.As(err, &refused) || refused.Again != time.Minute || refused.Of != "x" {
		t.Errorf("%+v", refused)
	}
	clock.pass(time.Minute)
	late(breaker.Success, nil)
	first, err1 := b.Allow()
	second, err2 := b.Allow()
	_, err3 := b.Allow()
	if err1 != nil || err2 != nil || err3 == nil || err3.Error() != "its circuit is half-open, and the calls that try it are under way" {
		t.Fatalf("%v, %v, %v", err1, err2, err3)
	}
	first(breaker.Success, nil)
	second(breaker.Success, nil)
	if s := b.Stats(); s.State != breaker.Closed {
		t.Errorf("%+v", s)
	}
}

func TestNone(t *testing.T) {
	b := breaker.New("x", nil, time.Now, nil)
	for range 9 {
		done, err := b.Allow()
		if err != nil {
			t.Fatal(err)
		}
		done(breaker.Failure, nil)
	}
	if s := b.Stats(); s != (breaker.Stats{}) {
		t.Errorf("%+v", s)
	}
}

func Example() {
	b := breaker.New("weather", &breaker.Options{Failures: 1}, time.Now, nil)
	done, err := b.Allow()
	fmt.Println(err)
	done(breaker.Failure, errors.New("connection refused"))
	_, err = b.Allow()
	fmt.Println(err)
	// Output:
	// <nil>
	// its circuit is open for another 1m0s, because of the last failure: connection refused
}
