// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/recfile/recfiletest"
)

// TestShortTape: a tape that cannot be written to its end replaces nothing, and
// what was written of it is kept.
func TestShortTape(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(*Recorder)
		want string
	}{
		{"the disk is full for a moment", func(r *Recorder) { r.lines.File = &recfiletest.FullOnce{File: r.file, Before: 2} }, syscall.ENOSPC.Error()},
		{"it becomes too large", func(r *Recorder) { r.lines.Most = 300 }, "the file may not become larger"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "a.tape")
			if err := os.WriteFile(path, []byte("an older tape"), 0o600); err != nil {
				t.Fatal(err)
			}
			rec, err := NewRecorder(path, &RecordOptions{LookupEnv: func(string) (string, bool) { return "", false }})
			if err != nil {
				t.Fatal(err)
			}
			tt.make(rec)
			a, b := mcpwire.Pipe()
			conn := rec.Wrap(a)
			for n := range 9 {
				fmt.Fprintf(conn, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", n)
			}
			conn.Close()
			b.Close()
			cut := filepath.Join(dir, "a.cut.tape")
			if err := rec.Close(); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), fmt.Sprintf("the frames before that are in %q", cut)) {
				t.Errorf("got %v", err)
			}
			if data, _ := os.ReadFile(path); string(data) != "an older tape" {
				t.Errorf("the older tape is now %q", data)
			}
			got, err := Read(cut)
			if err != nil || got.Cut || len(got.Frames) < 1 || len(got.Frames) > 4 {
				t.Errorf("what was written reads as %+v, %v", got, err)
			}
			if left, _ := filepath.Glob(path + ".*"); left != nil {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// TestTapeThatCannotBeKept: a recording that can have neither its name nor another
// stays where it was written, and the next recorder puts it aside.
func TestTapeThatCannotBeKept(t *testing.T) {
	for name, folder := range map[string]string{"as a tape": "a.tape", "as one that is refused": "a.refused.tape"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "a.tape")
			record := func(requests int) error {
				rec, err := NewRecorder(path, &RecordOptions{LookupEnv: func(string) (string, bool) { return "", false }})
				if err != nil {
					t.Fatal(err)
				}
				a, b := mcpwire.Pipe()
				conn := rec.Wrap(a)
				for n := range requests {
					fmt.Fprintf(conn, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", n)
				}
				conn.Close()
				b.Close()
				if requests == 2 { // somebody has put a folder there meanwhile
					if err := os.MkdirAll(filepath.Join(dir, folder, "x"), 0o700); err != nil {
						t.Fatal(err)
					}
				}
				return rec.Close()
			}
			if folder != "a.tape" {
				if err := record(3); err != nil {
					t.Fatal(err)
				}
			}
			part := partPath(path)
			if err := record(2); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("the recording is in %q", part)) {
				t.Errorf("got %v", err)
			}
			if got, err := Read(part); err != nil || asked(got) != 2 {
				t.Errorf("what was recorded reads as %+v, %v", got, err)
			}
			if folder == "a.tape" {
				if err := os.RemoveAll(path); err != nil {
					t.Fatal(err)
				}
			}
			if err := record(4); err != nil {
				t.Fatal(err)
			}
			if got, err := Read(filepath.Join(dir, "a.cut.tape")); err != nil || asked(got) != 2 {
				t.Errorf("put aside, it reads as %+v, %v", got, err)
			}
		})
	}
}

func asked(r *Recording) int {
	n, _ := r.count()
	return n
}
