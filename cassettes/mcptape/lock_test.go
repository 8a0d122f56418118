// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package mcptape_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/cassettes/mcptape"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// asks records requests on a tape, the first of which are answered.
func asks(t *testing.T, rec *mcptape.Recorder, n, answered int) {
	t.Helper()
	a, b := mcpwire.Pipe()
	conn := rec.Wrap(a)
	for i := range n {
		fmt.Fprintf(conn, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/list\"}\n", i+1)
		if i < answered {
			fmt.Fprintf(b, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"tools\":[]}}\n", i+1)
			if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
	}
	conn.Close()
	b.Close()
}

// TestTwoTapes: who comes second is refused, whatever link it comes by, and
// takes nothing from the first.
func TestTwoTapes(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "a.tape"), filepath.Join(dir, "link.tape")
	if err := os.Symlink("a.tape", link); err != nil {
		t.Fatal(err)
	}
	first, err := mcptape.NewRecorder(path, &mcptape.RecordOptions{LookupEnv: noCI})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, link} {
		if _, err := mcptape.NewRecorder(name, &mcptape.RecordOptions{LookupEnv: noCI}); err == nil || !strings.Contains(err.Error(), "another process is recording it") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	asks(t, first, 3, 0)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if rec, err := mcptape.Read(path); err != nil || len(rec.Frames) != 3 {
		t.Errorf("%+v, %v", rec, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 2 {
		t.Errorf("files: %q", left)
	}
}

// TestCutTape: what a process that died has left is kept, and so is what
// another had left before.
func TestCutTape(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.tape")
	for n := range 2 {
		if err := os.WriteFile(path+".part", fmt.Appendf(nil, "left %d", n), 0o600); err != nil {
			t.Fatal(err)
		}
		var said string
		rec, err := mcptape.NewRecorder(path, &mcptape.RecordOptions{LookupEnv: noCI, Logf: func(format string, args ...any) { said += fmt.Sprintf(format, args...) }})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(said, "a recording was interrupted") {
			t.Errorf("it said %q", said)
		}
		if err := rec.Discard(); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"a.cut.tape": "left 0", "a.cut-2.tape": "left 1"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestTapeReplacesNothing: a recording of another server, or of less, leaves
// the tape as it is, and is not lost.
func TestTapeReplacesNothing(t *testing.T) {
	for _, test := range []struct {
		name, server string
		n, answered  int
		force        bool
		err          string
	}{
		{"as much", "one", 3, 2, false, ""},
		{"less", "one", 2, 2, false, "has 3 requests, but this recording has 2; --force replaces it"},
		{"less, on purpose", "one", 2, 1, true, ""},
		{"fewer answers", "one", 4, 1, false, "has answers to 2 requests, but this recording to 1; --force replaces it"},
		{"fewer answers, on purpose", "one", 4, 1, true, ""},
		{"another", "two", 3, 2, false, `records "one", but this recording is of "two"; --force replaces it`},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.tape")
			record := func(server string, n, answered int, force bool) error {
				rec, err := mcptape.NewRecorder(path, &mcptape.RecordOptions{Server: server, LookupEnv: noCI, Force: force})
				if err != nil {
					t.Fatal(err)
				}
				asks(t, rec, n, answered)
				return rec.Close()
			}
			if err := record("one", 3, 2, false); err != nil {
				t.Fatal(err)
			}
			old, _ := os.ReadFile(path)
			err := record(test.server, test.n, test.answered, test.force)
			if test.err == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("got %v", err)
			}
			if now, _ := os.ReadFile(path); string(now) != string(old) {
				t.Error("the tape has changed")
			}
			if err := record(test.server, test.n, test.answered, test.force); err == nil || !strings.Contains(err.Error(), "a.refused-2.tape") {
				t.Errorf("refused again: %v", err)
			}
			for _, name := range []string{".refused.tape", ".refused-2.tape"} {
				if rec, err := mcptape.Read(strings.TrimSuffix(path, ".tape") + name); err != nil || len(rec.Frames) != test.n+test.answered {
					t.Errorf("what was refused, in %s: %v", name, err)
				}
			}
		})
	}
}
