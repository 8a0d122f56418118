// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes_test

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// TestCutReplacesNothing: a recording that ended in the middle of an answer is put
// beside one that has the whole of it, as after the death of its process.
func TestCutReplacesNothing(t *testing.T) {
	const half, rest = "data: half\n\n", "data: rest\n\n"
	ask := func(r *cassettes.Recorder, cut, leaves bool) {
		t.Helper()
		for _, body := range []string{`1`, `2`} {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:1/v1/x?a=b", strings.NewReader(body))
			resp, err := r.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			if !cut || body == `1` {
				if _, err := io.Copy(io.Discard, resp.Body); err != nil {
					t.Fatal(err)
				}
			} else if _, err := io.ReadFull(resp.Body, make([]byte, len(half))); err != nil {
				t.Fatal(err)
			}
			if !cut || leaves {
				_ = resp.Body.Close()
			}
		}
	}
	parts := endpoint(func(*http.Request) (*http.Response, error) {
		resp := respond(200, "text/event-stream", "")
		resp.ContentLength = -1
		resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(half), strings.NewReader(rest)))
		return resp, nil
	})
	path := filepath.Join(t.TempDir(), "a.yaml")
	opts := cassettes.Options{Mode: cassettes.Record, Upstream: parts, Grace: time.Millisecond}
	for n, tt := range []struct {
		cut, leaves, force bool
		want               string // the last answer of the file then
		beside             int    // answers that were cut off
	}{
		{cut: true, want: half}, // there was none
		{cut: true, want: half},
		{want: half + rest},
		{cut: true, want: half + rest, beside: 2},
		{cut: true, leaves: true, want: half + rest, beside: 4},
		{want: half + rest, beside: 4},
		{cut: true, force: true, want: half, beside: 4},
	} {
		opts.Force = tt.force
		r := open(t, path, opts)
		ask(r, tt.cut, tt.leaves)
		err := r.Close()
		if refused := tt.cut && tt.want != half; refused != (err != nil) || refused && (!strings.Contains(err.Error(), "it has the whole answer of POST http://127.0.0.1:1/v1/x, which was cut off in this recording; --force replaces it") || !strings.Contains(err.Error(), `a.cut.yaml"`)) {
			t.Errorf("%d: %v", n, err)
		}
		if got := answers(t, path); len(got) != 2 || got[1] != tt.want {
			t.Errorf("%d: the file has %q, want %q last", n, got, tt.want)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*.refused*")); len(left) > 0 {
			t.Errorf("%d: left: %q", n, left)
		}
		if tt.beside == 0 {
			continue
		}
		if got := answers(t, filepath.Join(filepath.Dir(path), "a.cut.yaml")); len(got) != tt.beside || got[1] != half {
			t.Errorf("%d: beside it are %q", n, got)
		}
	}
}

// TestCutRenewsNothing: nor does an answer that was cut take the place of an older
// one.
func TestCutRenewsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	record(t, path, endpoint(func(*http.Request) (*http.Response, error) { return respond(200, "text/plain", "whole"), nil }), `1`)
	r := open(t, path, cassettes.Options{Mode: cassettes.RecordNew, MaxAge: time.Nanosecond, Stale: "record", Grace: time.Millisecond, Upstream: endpoint(func(*http.Request) (*http.Response, error) {
		resp := respond(200, "text/plain", "another")
		resp.ContentLength = -1
		return resp, nil
	})})
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:1/v1/chat/completions", strings.NewReader(`1`))
	resp, err := r.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadFull(resp.Body, make([]byte, 3))
	_ = resp.Body.Close()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if got := answers(t, path); len(got) != 1 || got[0] != "whole" || !strings.Contains(strings.Join(r.Notes(), "\n"), "the older answer stays") {
		t.Errorf("the file has %q; notes %q", got, r.Notes())
	}
}

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
		{"a wrong model", 200, 400, false, "POST http://127.0.0.1:1/v1/chat/completions was answered 400", "fine"},
		{"on purpose", 200, 401, true, "", "no"},
		{"failures before", 401, 401, false, "", "no"},
		{"no file", 0, 400, false, "", "no"},
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
			if last := r.Refused(); last == nil || last.Response.Code != test.code {
				t.Errorf("refused is %+v, want %d", last, test.code)
			}
			err := r.Close()
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("got %v, want %q", err, test.err)
			}
			if got := answers(t, path); len(got) == 0 || got[0] != test.after {
				t.Errorf("the file has %q, want %q first", got, test.after)
			}
			if notes := strings.Join(r.Notes(), "\n"); test.after == "no" && !strings.Contains(notes, "written; exchanges: 2, of which failed: 2") {
				t.Errorf("notes: %s", notes)
			}
			if left, _ := filepath.Glob(path + ".journal"); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// TestKnownLength: of an answer that says how long it is a client that has all of
// that has the whole, also where it does not read the end, and no other has.
func TestKnownLength(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		reads      int // bytes
		want       vcr.Outcome
	}{
		{"empty", "", 0, vcr.Complete},
		{"all of it", "abc", 3, vcr.Complete},
		{"a part", "abc", 2, vcr.ClientClosed},
		{"nothing of it", "abc", 0, vcr.ClientClosed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.yaml")
			r := open(t, path, cassettes.Options{Mode: cassettes.Record, Upstream: endpoint(func(*http.Request) (*http.Response, error) { return respond(202, "text/plain", tt.body), nil })})
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:1/v1/x", strings.NewReader(`1`))
			resp, err := r.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(resp.Body, make([]byte, tt.reads)); err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if err := r.Close(); err != nil || r.Refused() != nil {
				t.Fatalf("closing: %v, and %+v is refused", err, r.Refused())
			}
			f, err := vcr.Read(path)
			if err != nil || len(f.Interactions) != 1 || f.Interactions[0].Meta.Outcome != tt.want {
				t.Errorf("recorded %+v, %v, want outcome %s", f, err, tt.want)
			}
		})
	}
}
