// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package retry

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNext(t *testing.T) {
	for _, tc := range []struct {
		name   string
		policy Policy
		asked  []time.Duration
		want   []time.Duration // -1 for no more
	}{
		{"defaults", Policy{Jitter: -1}, []time.Duration{0, 0, 0}, []time.Duration{500 * time.Millisecond, time.Second, -1}},
		{"one attempt", Policy{MaxAttempts: 1}, []time.Duration{0}, []time.Duration{-1}},
		{"bounded", Policy{MaxAttempts: 5, Initial: time.Second, Max: 3 * time.Second, Jitter: -1}, []time.Duration{0, 0, 0, 0}, []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second}},
		{"asked to wait", Policy{MaxAttempts: 4, Jitter: -1}, []time.Duration{time.Minute, time.Millisecond, 0}, []time.Duration{time.Minute, time.Millisecond, 2 * time.Second}},
		{"asked too much", Policy{MaxAsked: time.Second}, []time.Duration{2 * time.Second}, []time.Duration{-1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := tc.policy.Start()
			var got []time.Duration
			for _, asked := range tc.asked {
				wait, ok := a.Next(asked)
				if !ok {
					wait = -1
				}
				got = append(got, wait)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("waits (-want +got):\n%s", diff)
			}
		})
	}
}

func TestJitter(t *testing.T) {
	for range 100 {
		wait, _ := Policy{Initial: time.Second, Jitter: 0.5}.Start().Next(0)
		if wait < 500*time.Millisecond || wait > 1500*time.Millisecond {
			t.Fatalf("got %v, want half a second up or down from one", wait)
		}
	}
}

func TestAfter(t *testing.T) {
	now := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name, key, value string
		want             time.Duration
	}{
		{"nothing", "", "", 0},
		{"seconds", "Retry-After", " 7 ", 7 * time.Second},
		{"fraction", "Retry-After", "0.5", 500 * time.Millisecond},
		{"milliseconds", "retry-after-ms", "1250", 1250 * time.Millisecond},
		{"date", "Retry-After", "Mon, 05 Jan 2026 09:01:00 GMT", time.Minute},
		{"date gone by", "Retry-After", "Mon, 05 Jan 2026 08:01:00 GMT", 0},
		{"no time", "Retry-After", "soon", 0},
		{"negative", "Retry-After", "-3", 0},
		{"not a number", "Retry-After", "NaN", 0},
		{"no finite number", "Retry-After", "inf", 0},
		{"no finite number of milliseconds", "Retry-After-Ms", "Infinity", 0},
		{"hexadecimal", "Retry-After", "0x1p3", 0},
		{"for ever", "Retry-After", "1e300", math.MaxInt64},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := http.Header{}
			h.Set(tc.key, tc.value)
			if got := After(h, now); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestAsked(t *testing.T) {
	const delay = `{"error":{"code":429,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.2s"}]}}`
	for _, tc := range []struct {
		name, after, body string
		want              time.Duration
	}{
		{"nothing", "", "{}", 0},
		{"header", "7", "", 7 * time.Second},
		{"body", "", delay, 1200 * time.Millisecond},
		{"both", "7", delay, 7 * time.Second},
		{"a header that is no time", "soon", delay, 1200 * time.Millisecond},
		{"no time", "", `{"retryDelay":"soon"}`, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Asked(http.Header{"Retry-After": {tc.after}}, []byte(tc.body), time.Time{}); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func FuzzAfter(f *testing.F) {
	for _, seed := range []string{"", "7", "0.5", "1e999", "-0", "Mon, 05 Jan 2026 09:01:00 GMT", "0x1p10", "Inf"} {
		f.Add(seed)
	}
	now := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, value string) {
		if got := After(http.Header{"Retry-After": {value}}, now); got < 0 {
			t.Errorf("%q: got %v", value, got)
		}
	})
}

func TestRepeatable(t *testing.T) {
	for status, want := range map[int]bool{
		200: false, 302: false, 400: false, 401: false, 404: false, 408: true, 409: true, 422: false,
		425: true, 429: true, 500: true, 501: false, 502: true, 503: true, 504: true, 505: false, 529: true,
	} {
		if got := Repeatable(status, nil); got != want {
			t.Errorf("%d: got %v, want %v", status, got, want)
		}
	}
	if Repeatable(503, http.Header{"X-Should-Retry": {"false"}}) || !Repeatable(400, http.Header{"X-Should-Retry": {"true"}}) {
		t.Error("x-should-retry does not decide")
	}
}
