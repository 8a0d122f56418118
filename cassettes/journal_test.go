// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/recfile/recfiletest"
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// FuzzReadJournal reads what a dead process may have left.
func FuzzReadJournal(f *testing.F) {
	path := filepath.Join(f.TempDir(), "seed.yaml")
	j, err := newJournal(path, true, false)
	if err != nil {
		f.Fatal(err)
	}
	for slot := range 2 {
		i := &vcr.Interaction{Request: vcr.Request{Method: "GET", URL: "http://127.0.0.1/"}, Response: vcr.Response{Code: 200, Body: []byte("x\n")}}
		if err := j.add(1-slot, 0, i); err != nil {
			f.Fatal(err)
		}
	}
	whole, err := os.ReadFile(journalPath(path))
	if err != nil {
		f.Fatal(err)
	}
	if err := j.remove(); err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-3])
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "a.yaml")
		if err := os.WriteFile(journalPath(path), data, 0o600); err != nil {
			t.Fatal(err)
		}
		_, left, err := readJournal(path)
		if err != nil || len(left) == 0 {
			return
		}
		again := &vcr.File{}
		for _, l := range left {
			again.Interactions = append(again.Interactions, l.Interaction)
		}
		if _, err := vcr.Parse("again", again.Encode()); err != nil {
			t.Errorf("what was left cannot be written: %v", err)
		}
	})
}

func interactionOf(text string) *vcr.Interaction {
	return &vcr.Interaction{
		Request:  vcr.Request{Method: "GET", URL: "http://127.0.0.1/" + text},
		Response: vcr.Response{Code: 200, Status: "200 OK", Body: []byte(text)},
	}
}

func noSecrets(t *testing.T) *redact.Redactor {
	t.Helper()
	secrets, err := redact.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return secrets
}

// TestFoldScans: what a dead process left was not looked at yet. It stays where
// it is while it cannot be set aside.
func TestFoldScans(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	j, err := newJournal(path, false, false)
	if err != nil {
		t.Fatal(err)
	}
	secret := "sk-" + "proj-" + strings.Repeat("Zq7Xv2Lm9Rt4", 4)
	i := interactionOf("a?key=" + secret)
	i.Response.Body = []byte("note: " + secret)
	if err := j.add(0, 0, i); err != nil {
		t.Fatal(err)
	}
	j.file.Close()
	var said string
	logf := func(format string, args ...any) { said += fmt.Sprintf(format, args...) }
	refusedPath := filepath.Join(filepath.Dir(path), "a.refused.yaml")
	if err := os.Mkdir(refusedPath, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := fold(path, false, 0, noSecrets(t), logf); err == nil || said != "" {
		t.Errorf("it cannot be set aside: got %v, and said %q", err, said)
	}
	if _, left, err := readJournal(path); err != nil || len(left) != 1 {
		t.Errorf("it could not be set aside, and the journal has %d exchanges, %v", len(left), err)
	}
	if err := os.Remove(refusedPath); err != nil {
		t.Fatal(err)
	}
	err = fold(path, false, 0, noSecrets(t), logf)
	if err != nil || !strings.Contains(said, "a recording was interrupted, and cassette") || !strings.Contains(said, "looks like a secret") || strings.Contains(said, secret) {
		t.Errorf("got %v, and said %q", err, said)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the cassette is written")
	}
	refused, err := os.ReadFile(refusedPath)
	if err != nil || strings.Contains(string(refused), secret) || !strings.Contains(string(refused), "note: REDACTED-") {
		t.Errorf("what was refused: %v\n%s", err, refused)
	}
}

// TestFoldAnew: what was cut off is in a file beside the one that is made anew,
// and what is cut off later comes behind it.
func TestFoldAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	if err := vcr.WriteFile(path, &vcr.File{Interactions: []*vcr.Interaction{interactionOf("a")}}, 0); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"c", "d"} {
		j, err := newJournal(path, text == "d", false)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.add(0, 1, interactionOf(text)); err != nil {
			t.Fatal(err)
		}
		j.file.Close() // it dies
		var said []string
		logf := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
		r, err := Open(path, &Options{Mode: Record, Logf: logf, LookupEnv: func(string) (string, bool) { return "", false }})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if len(said) == 0 || !strings.Contains(said[0], `its finished exchanges are in "`+strings.TrimSuffix(path, ".yaml")+`.cut.yaml" (exchanges: 1)`) {
			t.Errorf("said: %q", said)
		}
	}
	for name, want := range map[string]string{"a.yaml": "a", "a.cut.yaml": "cd"} {
		f, err := vcr.Read(filepath.Join(filepath.Dir(path), name))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, i := range f.Interactions {
			got += string(i.Response.Body)
		}
		if got != want {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
	if live(path) {
		t.Error("the journal is locked")
	}
}

// TestFold leaves a recording at each of its stages and takes it up.
func TestFold(t *testing.T) {
	old := &vcr.File{Interactions: []*vcr.Interaction{interactionOf("a"), interactionOf("b")}}
	tests := []struct {
		name  string
		adds  bool
		added []string // of the journal
		renew int      // whose place the first of them takes, from 1
		saved bool     // the file was written before the process died
		want  string
	}{
		{"adding, nothing came", true, nil, 0, false, "ab"},
		{"adding", true, []string{"c"}, 0, false, "abc"},
		{"adding, saved", true, []string{"c"}, 0, true, "abc"},
		{"renewing", true, []string{"c", "d"}, 1, false, "cbd"},
		{"anew, nothing came", false, nil, 0, false, "ab"},
		{"anew", false, []string{"c", "d"}, 0, false, "ab"}, // and cd beside it
		{"anew, saved", false, []string{"c", "d"}, 0, true, "cd"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.yaml")
			if err := vcr.WriteFile(path, old, 0); err != nil {
				t.Fatal(err)
			}
			j, err := newJournal(path, test.adds, false)
			if err != nil {
				t.Fatal(err)
			}
			list := []*vcr.Interaction{}
			if test.adds {
				list = append(list, old.Interactions...)
			}
			for slot, text := range test.added {
				renews := 0
				if slot == 0 {
					renews = test.renew
				}
				if err := j.add(slot, renews, interactionOf(text)); err != nil {
					t.Fatal(err)
				}
				list = append(list, interactionOf(text))
			}
			j.file.Close()
			if test.saved {
				if err := vcr.WriteFile(path, &vcr.File{Interactions: list}, 0); err != nil {
					t.Fatal(err)
				}
			}
			if err := fold(path, false, 0, noSecrets(t), t.Logf); err != nil {
				t.Fatal(err)
			}
			f, err := vcr.Read(path)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, i := range f.Interactions {
				got += string(i.Response.Body)
			}
			if got != test.want {
				t.Errorf("the cassette holds %q, want %q", got, test.want)
			}
			if _, err := os.Stat(journalPath(path)); err == nil {
				t.Error("the journal is left")
			}
		})
	}
}

// TestJournalOnFullDisk: an exchange that did not fit costs no other, neither of
// this version nor of one that left a part of it in the journal.
func TestJournalOnFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	j, err := newJournal(path, true, false)
	if err != nil {
		t.Fatal(err)
	}
	j.lines.File = &recfiletest.FullOnce{File: j.file}
	if err := j.add(0, 0, interactionOf("a")); err == nil || !strings.Contains(err.Error(), syscall.ENOSPC.Error()) {
		t.Errorf("got %v", err)
	}
	if err := j.add(1, 0, interactionOf("b")); err != nil {
		t.Error(err)
	}
	_ = j.file.Close()
	if head, left, err := readJournal(path); err != nil || len(left) != 1 || string(left[0].Response.Body) != "b" || head.torn != nil {
		t.Errorf("read %+v, torn %v, %v", left, head.torn, err)
	}
	data, err := os.ReadFile(journalPath(path))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(data), "\n")
	torn := lines[0] + lines[1][:20] + lines[1] + "\n" + lines[1]
	if err := os.WriteFile(journalPath(path), []byte(torn), 0o600); err != nil {
		t.Fatal(err)
	}
	var said string
	err = fold(path, false, 0, noSecrets(t), func(format string, args ...any) { said += fmt.Sprintf(format, args...) })
	if err != nil || holds(t, path) != "b" || !strings.Contains(said, "(exchanges: 1); lost because only a part was written: 1 line of its journal (first: line 2)") {
		t.Errorf("%v; said %q", err, said)
	}
}

// TestJournalBounded: what is more than can be read again is not written.
func TestJournalBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	j, err := newJournal(path, true, false)
	if err != nil {
		t.Fatal(err)
	}
	j.lines.Most = 1000
	long := interactionOf("long")
	long.Response.Body = []byte(strings.Repeat("x", 1000))
	for _, i := range []*vcr.Interaction{long, interactionOf("b")} {
		if err := j.add(0, 0, i); (err != nil) != (i == long) {
			t.Errorf("%s: %v", i.Request.URL, err)
		}
	}
	_ = j.file.Close()
	if _, left, err := readJournal(path); err != nil || len(left) != 1 {
		t.Errorf("read %d, %v", len(left), err)
	}
}

// TestJournalOfRenewed: where a process dies that records old exchanges again,
// the new ones take their places.
func TestJournalOfRenewed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	old := &vcr.File{}
	for _, text := range []string{"a", "b"} {
		i := interactionOf(text)
		i.Response.Body, i.Meta.Outcome, i.Meta.Recorded = []byte("old "+text), vcr.Complete, time.Date(2001, 2, 3, 0, 0, 0, 0, time.UTC)
		old.Interactions = append(old.Interactions, i)
	}
	if err := vcr.WriteFile(path, old, 0); err != nil {
		t.Fatal(err)
	}
	r, err := Open(path, &Options{Mode: RecordNew, MaxAge: time.Hour, Stale: staleRecord, Upstream: fixed{}, LookupEnv: noCI})
	if err != nil {
		t.Fatal(err)
	}
	asks(t, r, "b", "c")
	r.journal.file.Close() // it dies
	if err := fold(path, false, 0, noSecrets(t), t.Logf); err != nil {
		t.Fatal(err)
	}
	if got, want := holds(t, path), "old abc"; got != want {
		t.Errorf("the cassette holds %q, want %q", got, want)
	}
}
