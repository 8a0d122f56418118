// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// TestCommitGoesOn: a process that dies between two names leaves a journal with
// which whoever comes next gives the rest theirs.
func TestCommitGoesOn(t *testing.T) {
	for done := range 3 {
		for _, next := range []string{"recover", "record", "replay"} {
			dir := t.TempDir()
			path := filepath.Join(dir, "a.yaml")
			put := func(name, text string) {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write := func(to, text string) {
				if err := vcr.WriteFile(filepath.Join(dir, to), &vcr.File{Interactions: []*vcr.Interaction{interactionOf(text)}}, 0); err != nil {
					t.Fatal(err)
				}
			}
			write("a.yaml", "old")
			write(".a.yaml.tmp", "new")
			put("a.far.tape", "old")
			put("a.far.tape.part", "new")
			j, err := newJournal(path, false, true)
			if err != nil {
				t.Fatal(err)
			}
			todo := []Rename{{".a.yaml.tmp", "a.yaml"}, {"a.far.tape.part", "a.far.tape"}}
			if err := j.write(record{Commit: todo}); err != nil {
				t.Fatal(err)
			}
			for _, f := range todo[:done] {
				if err := os.Rename(filepath.Join(dir, f.From), filepath.Join(dir, f.To)); err != nil {
					t.Fatal(err)
				}
			}
			if err := Recover(path); err == nil || !strings.Contains(err.Error(), "is being recorded") {
				t.Errorf("the recorder lives: %v", err)
			}
			_ = j.file.Close() // it dies
			switch next {
			case "recover":
				err = Recover(path)
			case "replay", "record":
				var r *Recorder
				r, err = Open(path, &Options{Mode: Mode(next), AllowUnused: true, LookupEnv: func(string) (string, bool) { return "", false }})
				if err == nil {
					err = r.Discard()
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			f, err := vcr.Read(path)
			tape, err2 := os.ReadFile(filepath.Join(dir, "a.far.tape"))
			if err != nil || err2 != nil || string(f.Interactions[0].Response.Body) != "new" || string(tape) != "new" {
				t.Errorf("%d were done, %s: %v, %v, %q", done, next, err, err2, tape)
			}
			if left, _ := os.ReadDir(dir); len(left) != 2 {
				t.Errorf("%d were done, %s: files %v", done, next, left)
			}
		}
	}
}

// TestCommitStays: a journal renames nothing outside its folder.
func TestCommitStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(journalPath(path), []byte("{}\n"+`{"commit":[{"from":"../x","to":"a.yaml"}]}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Recover(path); err == nil || !strings.Contains(err.Error(), "outside its folder") {
		t.Errorf("got %v", err)
	}
}
