// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/rehearse-dev/rehearse/cassettes"
)

// TestSpelling: of recorded requests that count as the same, the one that was
// sent byte for byte like the request answers; in every order, each once.
func TestSpelling(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	one, two, three := `{"q":1,"metadata":{"n":1}}`, `{"q":1,"metadata":{"n":2}}`, `{"metadata":{"n":3},"q":1}`
	record(t, path, echo(), one, two)
	first, second := `{"n":1,"asked":"{\"q\":1,\"metadata\":{\"n\":1}}"}`, `{"n":2,"asked":"{\"q\":1,\"metadata\":{\"n\":2}}"}`
	type step struct{ ask, want string } // a miss where want is empty
	for _, test := range []struct {
		name  string
		order cassettes.Order
		steps []step
	}{
		{"backwards", cassettes.Sequence, []step{{two, second}, {one, first}, {one, ""}, {three, ""}}},
		{"others", cassettes.Sequence, []step{{three, first}, {three, second}, {three, ""}}},
		{"the first is taken", cassettes.Sequence, []step{{three, first}, {one, second}, {two, ""}}},
		{"the second is taken", cassettes.Sequence, []step{{two, second}, {three, first}}},
		{"strict", cassettes.Strict, []step{{one, first}, {three, second}, {one, ""}}},
		{"strict, other spelling first", cassettes.Strict, []step{{three, first}, {two, second}}},
		{"any", cassettes.Any, []step{{two, second}, {three, first}, {two, second}}},
		{"repeat-last", cassettes.RepeatLast, []step{{two, second}, {one, first}, {one, second}, {three, second}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := open(t, path, cassettes.Options{Order: test.order, AllowUnused: true})
			for n, s := range test.steps {
				got, err := post(t, r, s.ask)
				var miss *cassettes.MissError
				if got != s.want || errors.As(err, &miss) != (s.want == "") {
					t.Errorf("step %d, asked %s: got %q, %v, want %q", n+1, s.ask, got, err, s.want)
				}
			}
			_ = r.Close() // tells of the misses
			if _, err := post(t, r, one); err == nil {
				t.Error("it answers after it was closed")
			}
		})
	}
}
