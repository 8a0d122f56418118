// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// chat is a request to a model.
func chat(model, system, user string) string {
	return fmt.Sprintf(`{"model":%q,"messages":[{"role":"system","content":%q},{"role":"user","content":%q}]}`, model, system, user)
}

// answers returns the answers that a cassette holds.
func answers(t *testing.T, path string) []string {
	t.Helper()
	f, err := vcr.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, i := range f.Interactions {
		out = append(out, string(i.Response.Body))
	}
	return out
}

func TestMixedRecording(t *testing.T) {
	long := strings.Repeat("You know all about metabolic models. ", 10)
	tests := []struct {
		name   string
		asks   []string
		asides bool
		want   string // in the error; empty: it is written
		early  string // in a note, when the request comes
	}{
		{name: "several conversations of one prompt", asks: []string{chat("m", "A", "one"), chat("m", "A", "two")}},
		{
			name: "another model", asks: []string{chat("gpt-4o", "A", "one"), chat("gpt-4o", "A", "two"), chat("o3", "A", "three"), chat("gpt-4o", "A", "four")},
			want:  `it mixes two models: "gpt-4o" in interactions 1-2 and 4 and "o3" in interaction 3; record all of it again`,
			early: `a request has model "o3" after "gpt-4o"; the recording will be refused when it ends`,
		},
		{
			name: "another prompt", asks: []string{chat("m", long+"Answer in English.", "one"), chat("m", long+"Answer in German.", "two")},
			want:  `it mixes two system prompts: …c models. Answer in English." in interaction 1 and …c models. Answer in German." in interaction 2; record all of it again`,
			early: `the system prompt …c models. Answer in German." after …c models. Answer in English."; the`,
		},
		{
			name: "no prompt beside one", asks: []string{chat("m", "A", "one"), `{"model":"m","messages":[{"role":"user","content":"a title for: one"}]}`},
			want: `two system prompts: "A" in interaction 1 and "" in interaction 2`, early: `the system prompt "" after "A"`,
		},
		{
			name: "the endpoint holds the prompt", asks: []string{
				`{"model":"m","system":"A","messages":[{"role":"user","content":"one"}],"thread":{"type":"create"}}`,
				`{"model":"m","messages":[{"role":"user","content":"two"}],"thread":{"type":"continue","previous_message_id":"msg_1"}}`,
			},
		},
		{
			name: "a prompt after one that is not told", asks: []string{
				`{"model":"m","messages":[{"role":"user","content":"two"}],"thread":{"type":"continue","previous_message_id":"msg_1"}}`, chat("m", "A", "one"), chat("m", "B", "two"),
			},
			want: `two system prompts: "A" in interaction 2 and "B" in interaction 3`, early: `the system prompt "B" after "A"`,
		},
		{name: "asides", asides: true, asks: []string{chat("m", "A", "one"), chat("mini", "Make a title.", "one")}},
		{name: "other requests do not count", asks: []string{chat("m", "A", "one"), `{"model":"embedder","input":["x"]}`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.yaml")
			r := open(t, path, cassettes.Options{Mode: cassettes.Record, Upstream: echo(), Asides: test.asides})
			for _, body := range test.asks {
				if _, err := post(t, r, body); err != nil {
					t.Fatal(err)
				}
			}
			if notes := strings.Join(r.Notes(), "\n"); test.early == "" && notes != "" || !strings.Contains(notes, test.early) {
				t.Errorf("notes while it goes on: %s", notes)
			}
			err := r.Close()
			refused := strings.TrimSuffix(path, ".yaml") + ".refused.yaml"
			if _, left := os.Stat(path + ".journal"); left == nil {
				t.Error("the journal is left")
			}
			if test.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if got := len(answers(t, path)); got != len(test.asks) {
					t.Errorf("%d interactions are written, want %d", got, len(test.asks))
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), fmt.Sprintf("the recording is in %q", refused)) {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
			if _, err := os.Stat(path); err == nil {
				t.Error("the cassette is written")
			}
			if got := len(answers(t, refused)); got != len(test.asks) {
				t.Errorf("%d interactions are kept beside, want %d", got, len(test.asks))
			}
		})
	}
}

// TestMixedByAddition changes the prompt between two halves of a recording.
func TestMixedByAddition(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	record(t, path, echo(), chat("m", "A", "one"))
	before := answers(t, path)
	r := open(t, path, cassettes.Options{Mode: cassettes.RecordNew, Upstream: echo()})
	if _, err := post(t, r, chat("m", "B", "one")); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err == nil || !strings.Contains(err.Error(), `two system prompts: "A" in interaction 1 and "B" in interaction 2`) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(before, answers(t, path)); diff != "" {
		t.Errorf("the cassette has changed (-want +got):\n%s", diff)
	}
}

// TestReorderedTools: the order of tools decides no match, and is told of.
func TestReorderedTools(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	ask := func(tools string) string {
		return `{"model":"m","messages":[],"tools":[` + tools + `]}`
	}
	a, b := `{"type":"function","function":{"name":"a"}}`, `{"type":"function","function":{"name":"b"}}`
	record(t, path, echo(), ask(a+","+b))
	for _, mode := range []cassettes.Mode{cassettes.Replay, cassettes.RecordNew, cassettes.Verify} {
		t.Run(string(mode), func(t *testing.T) {
			r := open(t, path, cassettes.Options{Mode: mode, Upstream: echo()})
			if _, err := post(t, r, ask(b+","+a)); err != nil {
				t.Fatal(err)
			}
			want := []string{fmt.Sprintf("cassette %q: interaction 1: the tools come in another order: recorded a, b, now b, a", path)}
			if diff := cmp.Diff(want, r.Notes()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestStale lets a recording grow old.
func TestStale(t *testing.T) {
	const day = 24 * time.Hour
	tests := []struct {
		name  string
		mode  cassettes.Mode
		stale string
		err   string // of Open
		note  string
	}{
		{"replay warns", cassettes.Replay, "", "", "interaction 1 was recorded on 2000-01-01, more than 30 days ago; record it again"},
		{"replay refuses", cassettes.Replay, "error", "interaction 1 was recorded on 2000-01-01, more than 30 days ago; record it again", ""},
		{"replay does not record", cassettes.Replay, "record", "mode replay asks no endpoint; record it again, or open it with mode record-new, in which stale \"record\" does so", ""},
		{"record-new warns", cassettes.RecordNew, "warn", "", "more than 30 days ago; record it again"},
		{"record-new refuses", cassettes.RecordNew, "error", "more than 30 days ago", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "a.yaml")
				record(t, path, echo(), `1`)
				time.Sleep(30 * day)
				opts := cassettes.Options{Mode: test.mode, Stale: test.stale, MaxAge: 30 * day, LookupEnv: noCI, Upstream: echo()}
				if r, err := cassettes.Open(path, &opts); err != nil || len(r.Notes()) > 0 {
					t.Fatalf("one that is just young enough: %v", err)
				} else {
					want(t, r, `1`, `{"n":1,"asked":"1"}`)
					if err := r.Close(); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(day)
				r, err := cassettes.Open(path, &opts)
				if test.err != "" {
					if err == nil || !strings.Contains(err.Error(), test.err) {
						t.Errorf("got  %v\nwant %s", err, test.err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if notes := strings.Join(r.Notes(), "\n"); !strings.Contains(notes, test.note) {
					t.Errorf("got  %s\nwant %s", notes, test.note)
				}
				want(t, r, `1`, `{"n":1,"asked":"1"}`)
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestStaleRecord records anew what is too old, at its place, and takes out
// what no request leads to any more.
func TestStaleRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const day = 24 * time.Hour
		path := filepath.Join(t.TempDir(), "a.yaml")
		label := func(text string) endpoint { // its answers
			return func(*http.Request) (*http.Response, error) { return respond(200, "text/plain", text), nil }
		}
		record(t, path, label("old"), `1`, `2`, `3`)
		time.Sleep(10 * day)
		r := open(t, path, cassettes.Options{Mode: cassettes.RecordNew, Upstream: label("young")})
		want(t, r, `4`, "young")
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(25 * day)

		opts := cassettes.Options{Mode: cassettes.RecordNew, Upstream: label("new"), MaxAge: 30 * day, Stale: "record"}
		r = open(t, path, opts)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"old", "old", "old", "young"}, answers(t, path)); diff != "" {
			t.Errorf("nobody asked for anything (-want +got):\n%s", diff)
		}
		r = open(t, path, opts)
		want(t, r, `2`, "new")
		want(t, r, `4`, "young")
		want(t, r, `5`, "new")
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"new", "young", "new"}, answers(t, path)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if notes := strings.Join(r.Notes(), "\n"); !strings.Contains(notes, "recorded again because they were older than 30 days: 1; removed because nobody asked for them: 2") {
			t.Errorf("notes: %s", notes)
		}

		// An answer that is not kept takes the place of none.
		time.Sleep(31 * day)
		opts.Upstream = endpoint(func(*http.Request) (*http.Response, error) { return respond(503, "text/plain", "busy"), nil })
		r = open(t, path, opts)
		want(t, r, `2`, "busy")
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"new", "young", "new"}, answers(t, path)); diff != "" {
			t.Errorf("after an error (-want +got):\n%s", diff)
		}
	})
}
