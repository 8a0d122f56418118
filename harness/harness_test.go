// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package harness_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

func TestPositionString(t *testing.T) {
	for _, tc := range []struct {
		name string
		pos  harness.Position
		want string
	}{
		{"whole", harness.Position{File: "a.yaml", Line: 3, Col: 7}, "a.yaml:3:7"},
		{"no column", harness.Position{File: "a.yaml", Line: 3}, "a.yaml:3"},
		{"no line", harness.Position{File: "a.yaml"}, "a.yaml"},
		{"zero", harness.Position{}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.pos.String(); got != tc.want {
				t.Errorf("String() = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestSystemClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := harness.SystemClock()
		start := clock.Now()
		if err := clock.Sleep(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
		if got := clock.Now().Sub(start); got != time.Hour {
			t.Errorf("slept %v, want 1h", got)
		}
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		if err := clock.Sleep(ctx, time.Hour); !errors.Is(err, why) {
			t.Errorf("Sleep on an ended context = %v, want its cause", err)
		}
	})
}

func TestErrorsUnwrap(t *testing.T) {
	cause := errors.New("cause")
	for _, tc := range []struct {
		name string
		err  error
		want string
	}{
		{"stop", &harness.StopError{Reason: harness.StopTime, Detail: "60s", Err: cause}, "stopped (time): 60s: cause"},
		{"endpoint", &harness.EndpointError{Status: 502, Err: cause}, "cause"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if !errors.Is(tc.err, cause) || tc.err.Error() != tc.want {
				t.Errorf("%q does not wrap its cause or does not read %q", tc.err, tc.want)
			}
		})
	}
}

// A verdict is written into trials.jsonl; what is zero stays out of it.
func TestVerdictJSON(t *testing.T) {
	got, err := json.Marshal(trials.Verdict{Check: "calls", State: trials.Passed})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"check":"calls","state":"passed"}`, string(got)); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
}

func TestUsageAdd(t *testing.T) {
	one := harness.Usage{PromptTokens: 1, CompletionTokens: 2, TotalTokens: 3, ReasoningTokens: 4, CachedTokens: 5}
	want := harness.Usage{PromptTokens: 2, CompletionTokens: 4, TotalTokens: 6, ReasoningTokens: 8, CachedTokens: 10}
	if diff := cmp.Diff(want, one.Add(one)); diff != "" {
		t.Errorf("sum (-want +got):\n%s", diff)
	}
}

func TestEndpointError(t *testing.T) {
	broken := errors.New("broken")
	for want, err := range map[string]*harness.EndpointError{
		"the endpoint was not reached":          {},
		"the endpoint answered with status 503": {Status: 503},
		"broken":                                {Status: 503, Err: broken},
	} {
		if got := err.Error(); got != want || errors.Is(err, broken) != (err.Err != nil) {
			t.Errorf("%+v: %q, want %q", err, got, want)
		}
	}
}
