// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// TestPlayedEndings: how a recorded body ended is told as such, and is an end
// before its time to whoever reads it.
func TestPlayedEndings(t *testing.T) {
	for _, tt := range []struct {
		meta vcr.Meta
		want string
	}{
		{vcr.Meta{Outcome: vcr.Complete}, "EOF"},
		{vcr.Meta{Outcome: vcr.Aborted, Error: "unexpected EOF"}, "as recorded: unexpected EOF"},
		{vcr.Meta{Outcome: vcr.Aborted, Error: "connection reset by peer"}, "as recorded: connection reset by peer"},
		{vcr.Meta{Outcome: vcr.Aborted, Error: "boom"}, "as recorded: boom: unexpected EOF"},
		{vcr.Meta{Outcome: vcr.ClientClosed}, "as recorded: when this was recorded, the client closed the answer here: unexpected EOF"},
		{vcr.Meta{Outcome: vcr.Open}, "as recorded: the recording stopped here: unexpected EOF"},
	} {
		err := (&player{meta: &tt.meta}).end()
		if err.Error() != tt.want || errors.Is(err, ErrRecorded) != (tt.want != "EOF") || tt.want != "EOF" && !strings.Contains(tt.want, "reset") && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%+v: %v, want %s", tt.meta, err, tt.want)
		}
	}
}

// TestReplayedHeaders: lengths and framing are those of the replay, and an
// answer to HEAD has no body.
func TestReplayedHeaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	whole, parts, failed, coded := interactionOf("whole"), interactionOf("parts"), interactionOf("failed"), interactionOf("coded")
	for _, i := range []*vcr.Interaction{whole, parts, failed, coded} {
		i.Meta.Outcome = vcr.Complete
		i.Response.Header = http.Header{"Content-Length": {"99"}, "Transfer-Encoding": {"chunked"}, "Connection": {"x"}, "Keep-Alive": {"x"}, "Etag": {"e"}}
	}
	whole.Meta.Chunks = []vcr.Chunk{{Size: 5}}
	parts.Meta.Chunks = []vcr.Chunk{{Size: 2}, {Size: 3}}
	parts.Response.Trailer = http.Header{"X-Sum": {"1"}}
	failed.Response, failed.Meta.Outcome, failed.Meta.Error = vcr.Response{}, vcr.UpstreamError, "no route"
	coded.Meta.Coding, coded.Response.Header = "br", nil
	if err := vcr.WriteFile(path, &vcr.File{Interactions: []*vcr.Interaction{whole, parts, failed, coded}}, 0); err != nil {
		t.Fatal(err)
	}
	r, err := Open(path, &Options{Order: Any, AllowUnused: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		length int64
		header http.Header
	}{
		"whole": {5, http.Header{"Content-Length": {"5"}, "Etag": {"e"}}},
		"parts": {-1, http.Header{"Etag": {"e"}}},
		"coded": {5, http.Header{"Content-Length": {"5"}, "Content-Encoding": {"br"}}},
	} {
		resp, err := r.RoundTrip(httptest.NewRequest("GET", "http://127.0.0.1/"+name, nil))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		if string(got) != name || err != nil || resp.ContentLength != tt.length || resp.Proto != "HTTP/1.1" || (resp.Trailer.Get("X-Sum") == "1") != (name == "parts") {
			t.Errorf("%s: %q, %v, length %d, trailer %v", name, got, err, resp.ContentLength, resp.Trailer)
		}
		if d := cmp.Diff(tt.header, resp.Header); d != "" {
			t.Errorf("%s: headers (-want +got):\n%s", name, d)
		}
	}
	if _, err := r.RoundTrip(httptest.NewRequest("GET", "http://127.0.0.1/failed", nil)); !errors.Is(err, ErrRecorded) || !strings.HasSuffix(err.Error(), ": no route") {
		t.Errorf("what failed: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.RoundTrip(httptest.NewRequest("GET", "http://127.0.0.1/whole", nil).WithContext(ctx)); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits: %v", err)
	}
	resp, err := r.RoundTrip(httptest.NewRequest("GET", "http://127.0.0.1/parts", nil))
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 10)
	if n, err := resp.Body.Read(b); n != 2 || err != nil {
		t.Errorf("the first part has %d bytes, %v", n, err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := resp.Body.Read(b); !errors.Is(err, context.Canceled) {
		t.Errorf("after it was closed: %v", err)
	}
}

// sleepless is a clock that stands still, and by which nobody can sleep.
type sleepless struct{ harness.Clock }

func (sleepless) Now() time.Time { return time.Unix(1, 0) }

func (sleepless) Sleep(context.Context, time.Duration) error { return errors.New("slept") }

// TestNothingToWaitFor: a replay at the speed of the recording sleeps where time
// has passed in that, and nowhere else.
func TestNothingToWaitFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	slow := interactionOf("slow")
	slow.Response.Duration = time.Second
	if err := vcr.WriteFile(path, &vcr.File{Interactions: []*vcr.Interaction{interactionOf("at-once"), slow}}, 0); err != nil {
		t.Fatal(err)
	}
	r, err := Open(path, &Options{Speed: 1, Clock: sleepless{harness.SystemClock()}})
	if err != nil {
		t.Fatal(err)
	}
	asks(t, r, "at-once")
	if _, err := r.RoundTrip(httptest.NewRequest("GET", "http://127.0.0.1/slow", nil)); err == nil || err.Error() != "slept" {
		t.Errorf("nobody waited for the slow answer: %v", err)
	}
}

// TestRestoredPlaces: a replay puts the client's folders into answers where the
// recording has what stands for those of another. The file stays as it is.
func TestRestoredPlaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	i := interactionOf("v1")
	i.Response.Body = []byte(`{"file":"` + redact.Mark("work") + `/a.txt"}`)
	i.Meta.Outcome = vcr.Complete
	if err := vcr.WriteFile(path, &vcr.File{Interactions: []*vcr.Interaction{i}}, 0); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		mode   Mode
		places []Place
		want   string
	}{
		{Replay, []Place{{Name: "work", Path: "/srv/here"}}, `{"file":"/srv/here/a.txt"}`},
		{Replay, []Place{{Name: "home", Path: "/srv/here"}}, string(i.Response.Body)},
		{Replay, nil, string(i.Response.Body)},
		{RecordNew, []Place{{Name: "work", Path: "/srv/here"}}, string(i.Response.Body)},
	} {
		r, err := Open(path, &Options{Mode: tt.mode, Restore: tt.places, Upstream: fixed{}, LookupEnv: noCI})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := r.RoundTrip(httptest.NewRequest("GET", "http://127.0.0.1/v1", nil))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if string(got) != tt.want || err != nil {
			t.Errorf("mode %s, %v: %s, %v, want %s", tt.mode, tt.places, got, err, tt.want)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if kept := holds(t, path); kept != string(i.Response.Body) {
			t.Errorf("mode %s, %v: the file has %s", tt.mode, tt.places, kept)
		}
	}
}

// TestNotesOfJournals: who replays is told of a recording that was cut off, and
// of what the next one does with it.
func TestNotesOfJournals(t *testing.T) {
	for _, tt := range []struct {
		name        string
		there       bool // the cassette
		adds, whole bool
		lives       bool
		want        string // empty: it cannot be opened
	}{
		{"to be added", true, true, false, false, "a recording of it was interrupted and left "},
		{"to take its place", true, false, false, false, "a recording that would have replaced it was interrupted and left "},
		{"whole", true, false, true, false, "a recording that would have replaced it was interrupted, and nothing of that is left; remove "},
		{"under way", true, true, false, true, "it is being recorded by another process; these are its previous exchanges"},
		{"the first", false, false, false, false, "the recording was interrupted; exchanges so far: 1"},
		{"the first, under way", false, false, false, true, "it is being recorded by another process; exchanges so far: 1"},
		{"the first, whole", false, false, true, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.yaml")
			if tt.there {
				writes(t, path, "c")
			}
			j, err := newJournal(path, tt.adds, tt.whole)
			if err != nil {
				t.Fatal(err)
			}
			if err := j.add(0, 0, interactionOf("c")); err != nil {
				t.Fatal(err)
			}
			if !tt.lives {
				_ = j.file.Close()
			}
			r, err := Open(path, &Options{AllowUnused: true})
			if (err == nil) != (tt.want != "") {
				t.Fatalf("opening: %v", err)
			}
			if err == nil {
				if notes := r.Notes(); len(notes) != 1 || !strings.Contains(notes[0], ": "+tt.want) {
					t.Errorf("notes %q, want %q", notes, tt.want)
				}
				asks(t, r, "c")
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			} else if !strings.Contains(err.Error(), "does not exist, and mode replay does not create it; record it with mode record") {
				t.Errorf("opening: %v", err)
			}
			if tt.lives {
				_ = j.file.Close()
			}
		})
	}
}

// TestPortsOfRedirects: an address with the port that its scheme has anyway is
// the same without it, and leads to the proxy.
func TestPortsOfRedirects(t *testing.T) {
	const inward = "http://proxy:1/v1/b"
	for _, tt := range []struct{ name, asked, location, want string }{
		{"http", "http://h.example/v1/a", "http://h.example:80/v1/b", inward},
		{"https", "https://h.example/v1/a", "https://h.example:443/v1/b", inward},
		{"it was asked with the port", "https://h.example:443/v1/a", "https://h.example/v1/b", inward},
		{"another port", "http://h.example/v1/a", "http://h.example:443/v1/b", "http://h.example:443/v1/b"},
	} {
		asked, err := url.Parse(tt.asked)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&origin{url: asked}).inward(tt.location, httptest.NewRequest("GET", "http://proxy:1/v1/a", nil)); got != tt.want {
			t.Errorf("%s: %s, asked at %s, is %s, want %s", tt.name, tt.location, tt.asked, got, tt.want)
		}
	}
}
