// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/cassettes"
)

// TestFailuresReplaceNothing: a recording of failures alone leaves a file that
// has answers as it is, unless that is asked for.
func TestFailuresReplaceNothing(t *testing.T) {
	answer := func(code int) endpoint {
		return func(*http.Request) (*http.Response, error) { return respond(code, "text/plain", "no"), nil }
	}
	for _, test := range []struct {
		name   string
		before int // what the file has
		code   int // what comes
		keep   bool
		err    string
		after  string // the first answer of the file then
	}{
		{"a wrong key", 200, 401, false, "and the existing one stays: it has answers, but every exchange of this recording failed (exchanges: 2; POST http://127.0.0.1:1/v1/chat/completions was answered 401", "fine"},
		{"a wrong address", 200, 404, false, "--keep-errors (in a scenario: cassette.keep_errors)", "fine"},
		{"on purpose", 200, 401, true, "", "no"},
		{"failures before", 401, 401, false, "", "no"},
		{"no file", 0, 401, false, "", "no"},
		{"an endpoint that is down", 200, 503, false, "", "fine"}, // nothing is kept
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.yaml")
			if test.before != 0 {
				record(t, path, endpoint(func(*http.Request) (*http.Response, error) { return respond(test.before, "text/plain", "fine"), nil }), `1`)
			}
			r := open(t, path, cassettes.Options{Mode: cassettes.Record, Upstream: answer(test.code), KeepErrors: test.keep})
			want(t, r, `1`, "no")
			want(t, r, `2`, "no")
			if n := r.Asked(); n != 2 {
				t.Errorf("asked %d times, want 2", n)
			}
			err := r.Close()
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("got %v, want %q", err, test.err)
			}
			if got := answers(t, path); len(got) == 0 || got[0] != test.after {
				t.Errorf("the file has %q, want %q first", got, test.after)
			}
			if left, _ := filepath.Glob(path + ".journal"); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}
