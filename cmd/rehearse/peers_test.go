// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/harness/trials"
)

// lifelines are connections from processes that must not outlive a run.
type lifelines struct {
	listener net.Listener
	called   chan struct{} // has one for each call that came to a server
	mu       sync.Mutex    // guards gone
	gone     []chan struct{}
}

func newLifelines(t *testing.T) *lifelines {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &lifelines{listener: listener, called: make(chan struct{}, 100)}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			gone := make(chan struct{})
			l.mu.Lock()
			l.gone = append(l.gone, gone)
			l.mu.Unlock()
			context.AfterFunc(t.Context(), func() { conn.Close() }) // of a process that nobody waited for
			_, _ = conn.Write([]byte("x"))                          // it may go on now
			wg.Go(func() {
				defer close(gone)
				defer conn.Close()
				for {
					if _, err := conn.Read(make([]byte, 1)); err != nil {
						return
					}
					l.called <- struct{}{}
				}
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		wg.Wait()
	})
	return l
}

func (l *lifelines) address() string { return l.listener.Addr().String() }

// ended waits until every process has ended, and wants n of them at least.
func (l *lifelines) ended(t *testing.T, n int) {
	t.Helper()
	l.mu.Lock()
	gone := l.gone
	l.mu.Unlock()
	if len(gone) < n {
		t.Errorf("%d processes were started, want %d or more", len(gone), n)
	}
	for i, one := range gone {
		select {
		case <-one:
		case <-time.After(tooLong):
			t.Fatalf("process %d of %d is alive after the run", i+1, len(gone))
		}
	}
}

const peerScenario = `scenario: peer
servers:
  s: {command: [hostile-mcp, %q, %q], env: {GORACE: atexit_sleep_ms=0}}
turns:
  - user: go
    replies:
      - calls: [s.ask: {n: 1}]
      - say: done
    expect: [{calls: [s.ask]}, {answer: {contains: [done]}}]
`

// scenario writes a scenario with a hostile server.
func (l *lifelines) scenario(t *testing.T, dir, mode string) {
	t.Helper()
	put(t, dir, "s.yaml", fmt.Sprintf(peerScenario, mode, l.address()))
}

// TestHostileServer has servers that misbehave in a call or before. A call
// that comes to nothing has a result that the model can read, and the loop
// goes on; a server that cannot be used is an error.
func TestHostileServer(t *testing.T) {
	tests := []struct {
		mode  string
		cause trials.CauseKind
		says  string // the cause
		told  string // the model
	}{
		{"fine", "", "", "fine"},
		{"flood", "", "", "fine"},
		{"junk", "", "", "fine"},
		{"dies at start", trials.CauseEndpoint, `server "s" (hostile-mcp) lists no tools: connecting to server "s": ` +
			`the server disconnected: exit status 3; its stderr ends: cannot open /data/models.db: no such file`, ""},
		{"dies mid-call", "", "", "the server disconnected: exit status 3"},
		{"dies mid-frame", "", "", "the server disconnected: exit status 0"},
		{"deep 100000", "", "", "exceeded max depth"},
		{"deep 9990", "", "", `{"a":{"a":{"a":`},
		{"deep text", "", "", `{"a":{"a":{"a":`},
		{"blocks", trials.CauseConduct, "was shortened from 200201 bytes to ", "xxx\nxxx"},
		{"binary", "", "", "a\ufffd\ufffd\x00\ufffdb"},
		{"not JSON", "", "", "line is not a JSON-RPC message (invalid character 'o'"},
	}
	for _, tt := range tests {
		t.Run(tt.mode, func(t *testing.T) {
			dir := t.TempDir()
			lines := newLifelines(t)
			lines.scenario(t, dir, tt.mode)
			e := inProcess(t, dir, "run", filepath.Join(dir, "s.yaml"), "--out", filepath.Join(dir, "out"))
			lines.ended(t, 1)
			_, detail := e.wants(t, tt.cause, tt.says)
			if tt.told != "" {
				told(t, detail, tt.told)
			}
		})
	}
}

// told checks what the model was told of the only call.
func told(t *testing.T, detail trials.Detail, want string) {
	t.Helper()
	if detail.Transcript == nil || len(detail.Transcript.Turns[0].Calls) != 1 {
		t.Fatalf("transcript %+v, want one call", detail.Transcript)
	}
	if got := detail.Transcript.Turns[0].Calls[0].Result; !strings.Contains(got, want) {
		t.Errorf("the model was told %q, want %q in it", cut(got), want)
	}
}

// TestServerThatIsWaitedFor has servers that take time or memory. Each is run
// by a process of its own, all at once.
func TestServerThatIsWaitedFor(t *testing.T) {
	t.Parallel()
	tests := []struct {
		mode      string
		processes int
		cause     trials.CauseKind
		says      string
		told      string
	}{
		{"half a frame", 2, trials.CauseEndpoint, `server "s" did not answer tools/call ask in time`, ""},
		{"silent", 2, trials.CauseEndpoint, `server "s" did not answer tools/call ask in time`, ""},
		{"wrong id", 2, "", "", "was answered with the id"},
		{"never answers", 1, trials.CauseEndpoint, `lists no tools: connecting to server "s"`, ""},
		{"stubborn", 4, "", "", "fine"}, // twice, each with its grandchild
		{"20 MB", 2, trials.CauseConduct, "was shortened from 20000000 bytes to ", "xxx"},
		{"100 MB", 2, "", "", "longer than 67108864 bytes"},
	}
	lines := make([]*lifelines, len(tests))
	wait := make([]func(*testing.T) leftover, len(tests))
	for i, tt := range tests {
		dir := t.TempDir()
		lines[i] = newLifelines(t)
		lines[i].scenario(t, dir, tt.mode)
		args := []string{"run", "s.yaml", "--out", "out"}
		if tt.cause == trials.CauseEndpoint {
			args = append(args, "--timeout", "6s") // enough to come to the call
		}
		_, wait[i] = start(t, dir, args...)
	}
	for i, tt := range tests {
		t.Run(tt.mode, func(t *testing.T) {
			e := wait[i](t)
			e.check(t)
			e.bounded(t)
			lines[i].ended(t, tt.processes)
			_, detail := e.wants(t, tt.cause, tt.says)
			if tt.told != "" {
				told(t, detail, tt.told)
			}
		})
	}
}

// TestDeathExplains checks that a trial which fails after its server has died
// is an error that names the server, and not a failure.
func TestDeathExplains(t *testing.T) {
	dir := t.TempDir()
	lines := newLifelines(t)
	put(t, dir, "s.yaml", strings.Replace(fmt.Sprintf(peerScenario, "dies mid-call", lines.address()), "say: done", `say: "{{result.sky}}"`, 1))
	e := inProcess(t, dir, "run", filepath.Join(dir, "s.yaml"), "--out", filepath.Join(dir, "out"))
	lines.ended(t, 2)
	rec, detail := e.wants(t, trials.CauseEndpoint, `server "s" did not answer tools/call ask: it disconnected: exit status 3; its stderr ends: out of cheese`)
	if rec.Cause == nil || !strings.HasSuffix(rec.Cause.Pos.String(), "s.yaml:3:3") {
		t.Errorf("cause %+v, want it at the server", rec.Cause)
	}
	if len(detail.Tools) != 1 || !detail.Tools[0].Failed {
		t.Errorf("tools %+v, want one call that failed", detail.Tools)
	}
}
