// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// mortal is a server that dies when the tool "die" is called. It counts how
// often each tool was called, over all its lives.
type mortal struct {
	mu    sync.Mutex // guards the fields below
	lives int
	calls map[string]int
	// unborn is how many further connections fail.
	unborn int
}

func (s *mortal) dial(context.Context) (io.ReadWriteCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unborn > 0 {
		s.unborn--
		return nil, errors.New("cannot open /data")
	}
	s.lives++
	ours, theirs := mcpwire.Pipe()
	go func() {
		defer ours.Close()
		in, out := mcpwire.NewReader(ours, nil), mcpwire.NewWriter(ours)
		for {
			m, err := in.Next()
			if err != nil {
				return
			}
			switch m.Method {
			case "server/discover":
				say(out, m, discoverRefused)
			case "initialize":
				say(out, m, initialized)
			case "tools/list":
				say(out, m, `{"jsonrpc":"2.0","id":ID,"result":{"tools":[]}}`)
			case "tools/call":
				die := strings.Contains(string(m.Params), `"die"`)
				s.mu.Lock()
				if s.calls == nil {
					s.calls = map[string]int{}
				}
				s.calls[map[bool]string{true: "die", false: "live"}[die]]++
				s.mu.Unlock()
				if die {
					return
				}
				say(out, m, result("alive"))
			}
		}
	}()
	return theirs, nil
}

// A server that dies in a call fails that call at once and for good; the next
// request finds a new one.
func TestServerThatDiesIsStartedAgain(t *testing.T) {
	p := &mortal{}
	s := open(t, harness.Server{Dial: p.dial}, nil)
	for i := range 10 { // an answer in between begins the count anew
		if _, err := s.Call(t.Context(), "die", nil); err == nil || kindOf(t, err).Kind != mcppool.ErrClosed || err.Error() != `calling "die" on server "p": the server disconnected` {
			t.Fatalf("death %d: %v", i, err)
		}
		if r, err := s.Call(t.Context(), "live", nil); err != nil || r.Text != "alive" {
			t.Fatalf("life %d: %v, %v", i, r, err)
		}
	}
	if p.calls["die"] != 10 || p.calls["live"] != 10 || p.lives != 11 {
		t.Errorf("%d lives with %v", p.lives, p.calls)
	}
	if s.ListChanges() == 0 {
		t.Error("the tools of the new server are not asked for")
	}
	if notes := s.Notes(); len(notes) == 0 || notes[0] != `server "p": disconnected; opened a new one` {
		t.Errorf("notes: %q", notes)
	}
	s.Close()
}

func TestRestartsAreBounded(t *testing.T) {
	p := &mortal{}
	s := open(t, harness.Server{Dial: p.dial}, nil)
	var err error
	for range 10 {
		_, err = s.Call(t.Context(), "die", nil)
	}
	want := `calling "die" on server "p": the server disconnected, as it did before each of 3 restarts; it is not started again`
	if err == nil || err.Error() != want || p.calls["die"] != 4 || p.lives != 4 {
		t.Errorf("after %d lives and %d calls: %v, want %s", p.lives, p.calls["die"], err, want)
	}
	s.Close()

	p = &mortal{}
	s = open(t, harness.Server{Dial: p.dial}, &mcppool.Options{MaxRestarts: -1})
	for range 3 {
		_, err = s.Call(t.Context(), "die", nil)
	}
	if err == nil || kindOf(t, err).Kind != mcppool.ErrClosed || p.lives != 1 {
		t.Errorf("with no restarts: %v after %d lives", err, p.lives)
	}
	s.Close()
}

// A server that cannot be started is tried again after longer and longer waits,
// so often, and once more after a while.
func TestRestartThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &mortal{}
		s := open(t, harness.Server{Dial: p.dial}, &mcppool.Options{MaxRestarts: 4, Backoff: time.Second})
		begin := time.Now()
		after := func(want time.Duration) {
			t.Helper()
			if got := time.Since(begin); got != want {
				t.Errorf("it took %v, want %v", got, want)
			}
			begin = time.Now()
		}
		_, _ = s.Call(t.Context(), "die", nil)
		p.unborn = 3
		if r, err := s.Call(t.Context(), "live", nil); err != nil || r.Text != "alive" {
			t.Errorf("when it can be started: %v, %v", r, err)
		}
		after(0 + 1*time.Second + 2*time.Second + 4*time.Second)

		_, _ = s.Call(t.Context(), "die", nil)
		p.unborn = 100
		want := `calling "live" on server "p": the server disconnected, and connecting again: cannot open /data`
		if _, err := s.Call(t.Context(), "live", nil); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		after(7 * time.Second)
		want = `calling "live" on server "p": the server disconnected, as it did before each of 4 restarts; it is not started again`
		for range 3 {
			if _, err := s.Call(t.Context(), "live", nil); err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		}
		after(0)
		time.Sleep(30 * time.Second)
		p.unborn = 0
		if r, err := s.Call(t.Context(), "live", nil); err != nil || r.Text != "alive" {
			t.Errorf("30 s later: %v, %v", r, err)
		}
		after(30 * time.Second)

		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		_, _ = s.Call(t.Context(), "die", nil)
		p.unborn = 100
		if _, err := s.Call(ctx, "live", nil); err == nil {
			t.Error("a caller that gives up in a wait got an answer")
		}
		after(1500 * time.Millisecond)
		s.Close()
		if _, err := s.Call(t.Context(), "live", nil); err == nil || !strings.HasSuffix(err.Error(), "the session was closed") {
			t.Errorf("after Close: %v", err)
		}
	})
}

// Callers that find a server dead at the same time start one, not one each.
func TestOneRestartForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &mortal{}
		s := open(t, harness.Server{Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
			time.Sleep(time.Second) // until all have found it dead
			return p.dial(ctx)
		}}, nil)
		_, _ = s.Call(t.Context(), "die", nil)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if r, err := s.Call(t.Context(), "live", nil); err != nil || r.Text != "alive" {
					t.Errorf("Call() = %v, %v", r, err)
				}
			})
		}
		wg.Wait()
		if p.lives != 2 || p.calls["live"] != 20 {
			t.Errorf("%d lives, %v", p.lives, p.calls)
		}
		s.Close()
	})
}

// Who waits while another starts a server again may give up, and waits no longer than
// the session is open.
func TestWaitForARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &mortal{}
		s := open(t, harness.Server{Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
			time.Sleep(time.Second)
			return p.dial(ctx)
		}}, nil)
		_, _ = s.Call(t.Context(), "die", nil)
		var starts, waits error
		var wg sync.WaitGroup
		wg.Go(func() { _, starts = s.Call(t.Context(), "live", nil) })
		synctest.Wait()
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := s.Call(ctx, "live", nil)
		if err == nil || kindOf(t, err).Kind != mcppool.ErrCancelled || time.Since(begin) != 300*time.Millisecond {
			t.Errorf("who gave up: %v after %v", err, time.Since(begin))
		}
		wg.Go(func() {
			_, waits = s.Call(t.Context(), "live", nil)
			if d := time.Since(begin); d != 600*time.Millisecond {
				t.Errorf("who waited was told after %v", d)
			}
		})
		time.Sleep(300 * time.Millisecond)
		s.Close()
		wg.Wait()
		for who, err := range map[string]error{"who started it": starts, "who waited": waits} {
			if err == nil || !strings.HasSuffix(err.Error(), "the session was closed") {
				t.Errorf("%s: %v", who, err)
			}
		}
		if p.calls["live"] != 0 {
			t.Errorf("calls %v", p.calls)
		}
	})
}

// A server that is started again and says nothing is not started a third time: that
// would take as long.
func TestRestartThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dials := 0
		s := open(t, harness.Server{Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
			if dials++; dials == 1 {
				return legacy(peer{"tools/call": {"EXIT"}}).dial(ctx)
			}
			return peer{}.dial(ctx)
		}}, usual)
		_, _ = s.Call(t.Context(), "x", nil)
		begin := time.Now()
		_, err := s.Call(t.Context(), "x", nil)
		want := `calling "x" on server "p": the server disconnected, and connecting again: no answer within 30s`
		if err == nil || err.Error() != want || kindOf(t, err).Kind != mcppool.ErrTimeout {
			t.Errorf("got %v, want %s", err, want)
		}
		if d := time.Since(begin); d != 30*time.Second || dials != 2 {
			t.Errorf("%d connections in %v", dials, d)
		}
		s.Close()
	})
}

// A call of which nothing could be written is made on a new connection. Of one that
// was written in part, nobody knows what the server made of it.
func TestWriteThatFails(t *testing.T) {
	for _, tt := range []struct {
		name    string
		written int // bytes of the call, on the first connection
		want    string
		dials   int
	}{
		{"nothing is written", 0, "", 2},
		{"a part is written", 5, `calling "x" on server "p": writing to the server: broken pipe`, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dials := 0
				s := open(t, harness.Server{Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
					rw, err := legacy(peer{"tools/call": {result("ok")}}).dial(ctx)
					if dials++; dials == 1 {
						rw = brokenPipe{rw, tt.written}
					}
					return rw, err
				}}, nil)
				r, err := s.Call(t.Context(), "x", nil)
				switch {
				case tt.want == "" && (err != nil || r.Text != "ok"):
					t.Errorf("Call() = %v, %v", r, err)
				case tt.want != "" && (err == nil || err.Error() != tt.want || kindOf(t, err).Kind != mcppool.ErrTransport):
					t.Errorf("Call() = %v, %v, want %s", r, err, tt.want)
				}
				if dials != tt.dials {
					t.Errorf("%d connections, want %d", dials, tt.dials)
				}
				s.Close()
			})
		})
	}
}

// brokenPipe breaks at a call, of which so many bytes are written.
type brokenPipe struct {
	io.ReadWriteCloser
	written int
}

func (p brokenPipe) Write(frame []byte) (int, error) {
	if bytes.Contains(frame, []byte(`"tools/call"`)) {
		return p.written, errors.New("broken pipe")
	}
	return p.ReadWriteCloser.Write(frame)
}

// A real process that dies in a call, with a log of its calls on disk: the
// call is not made again, and the next one finds a new process.
func TestChildProcessIsStartedAgain(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	s := open(t, childServer("dies when told", "LOG="+log), nil)
	_, err := s.Call(t.Context(), "die", nil)
	want := `calling "die" on server "child": the server disconnected: exit status 7; its stderr ends: out of memory`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if r, err := s.Call(t.Context(), "live", nil); err != nil || r.Text != "alive" {
		t.Errorf("the next call: %v, %v", r, err)
	}
	got, err := os.ReadFile(log)
	if err != nil || string(got) != "die\nlive\n" {
		t.Errorf("calls: %q, %v", got, err)
	}
	if notes := s.Notes(); len(notes) != 1 || notes[0] != `server "child": disconnected: exit status 7; opened a new one` {
		t.Errorf("notes: %q", notes)
	}
}

// A process that ended between two calls has not seen the second.
func TestChildProcessThatEndsBetweenCalls(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := open(t, childServer("ends after a call", "LOG="+log, "ALIVE="+l.Addr().String()), nil)
	for range 3 {
		if r, err := s.Call(t.Context(), "live", nil); err != nil || r.Text != "alive" {
			t.Errorf("Call() = %v, %v", r, err)
		}
		alive, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		pid, err := io.ReadAll(alive) // until the process has ended, but for what the kernel does after
		alive.Close()
		if err != nil {
			t.Fatal(err)
		}
		awaitReaped(t, string(pid))
	}
	got, err := os.ReadFile(log)
	if err != nil || string(got) != "live\nlive\nlive\n" {
		t.Errorf("calls: %q, %v", got, err)
	}
}

// awaitReaped waits until a process is no more, not even as one to wait for.
func awaitReaped(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	process, err := os.FindProcess(n)
	if err != nil {
		return
	}
	for deadline := time.Now().Add(30 * time.Second); process.Signal(syscall.Signal(0)) == nil; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("process %d did not end", n)
		}
	}
}

// A server that floods its stderr gets its answer through.
func TestChildProcessThatFloodsItsStderr(t *testing.T) {
	s := open(t, childServer("floods"), nil)
	if r, err := s.Call(t.Context(), "x", nil); err != nil || r.Text != "dry" {
		t.Errorf("Call() = %v, %v", r, err)
	}
}

// A server that closes its output is no server any more, also if its process
// lives on.
func TestChildProcessThatClosesItsOutput(t *testing.T) {
	s := open(t, childServer("closes its output"), &mcppool.Options{CloseGrace: 1, MaxRestarts: -1})
	_, err := s.Call(t.Context(), "x", nil)
	if err == nil || err.Error() != `calling "x" on server "child": the server disconnected: it closed its output` {
		t.Errorf("got %v", err)
	}
}
