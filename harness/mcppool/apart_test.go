// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// Each call has a process of its own, and there is none between calls.
func TestConnectionPerCall(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	pool := mcppool.NewPool(&mcppool.Options{PerCall: true})
	defer pool.Close()
	server := childServer("counts its starts", "LOG="+log)
	var agents sync.WaitGroup
	for range 3 {
		agents.Go(func() {
			s, err := pool.Open(t.Context(), server)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			for range 2 {
				if r, err := s.Call(t.Context(), "live", nil); err != nil || r.Text != "alive" {
					t.Errorf("Call() = %v, %v", r, err)
				}
			}
		})
	}
	agents.Wait()
	if started, err := os.ReadFile(log); err != nil || string(started) != strings.Repeat("start\n", 7) {
		t.Errorf("starts %q, %v", started, err)
	}
	if m := pool.Stats()[0]; m.Connections != 7 || m.Calls != 6 || m.Requests != 6 || m.Errors != 0 {
		t.Errorf("stats %+v", m)
	}
}

// One call that ends its server costs the next one nothing, and neither does one
// that cannot connect.
func TestConnectionPerCallDies(t *testing.T) {
	p := &mortal{}
	var now atomic.Int64 // connections that are open
	dial := func(ctx context.Context) (io.ReadWriteCloser, error) {
		rw, err := p.dial(ctx)
		if err != nil {
			return nil, err
		}
		now.Add(1)
		return &counted{rw, sync.OnceFunc(func() { now.Add(-1) })}, nil
	}
	s := open(t, harness.Server{Name: "p", Dial: dial}, &mcppool.Options{PerCall: true, MaxRestarts: -1})
	if n := now.Load(); n != 0 {
		t.Errorf("%d connections before the first call", n)
	}
	fails := func(tool string, kind mcppool.ErrorKind, want string) {
		t.Helper()
		_, err := s.Call(t.Context(), tool, nil)
		var e *mcppool.Error
		if !errors.As(err, &e) || e.Kind != kind || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s: %s", err, kind, want)
		}
	}
	fails("die", mcppool.ErrClosed, `calling "die" on server "p": the server disconnected`)
	if r, err := s.Call(t.Context(), "live", nil); err != nil {
		t.Errorf("Call() = %v, %v", r, err)
	}
	p.mu.Lock()
	p.unborn = 1
	p.mu.Unlock()
	fails("live", mcppool.ErrTransport, `calling "live" on server "p": cannot open /data`)
	if tools, _, err := s.Tools(t.Context()); err != nil || len(tools) != 0 {
		t.Errorf("Tools() = %v, %v", tools, err)
	}
	if n := now.Load(); n != 0 {
		t.Errorf("%d connections after the last call", n)
	}
	if p.lives != 4 || len(s.Notes()) != 0 {
		t.Errorf("%d lives, notes %q", p.lives, s.Notes())
	}
	s.Close()
	fails("live", mcppool.ErrClosed, `calling "live" on server "p": the session was closed`)
}

// counted tells that it was closed.
type counted struct {
	io.ReadWriteCloser
	closed func()
}

func (c *counted) Close() error {
	c.closed()
	return c.ReadWriteCloser.Close()
}

// A server that is connected to for each request is asked for its era once, and not
// to announce changes.
func TestConnectionPerCallAsksOnce(t *testing.T) {
	for name, modern := range map[string]bool{"the initialize era": false, "the new era": true} {
		t.Run(name, func(t *testing.T) {
			p := &scripted{modern: modern, answer: func(m mcpwire.Message, out *mcpwire.Writer) {
				if m.Method == "tools/call" {
					say(out, m, result("ok"))
				}
			}}
			opts := *patient
			opts.PerCall = true
			s := open(t, harness.Server{Dial: p.dial}, &opts)
			for range 2 {
				if r, err := s.Call(t.Context(), "x", nil); err != nil || r.Text != "ok" {
					t.Errorf("Call() = %v, %v", r, err)
				}
			}
			probes, shakes := 1, 3
			if modern {
				probes, shakes = 3, 0
			}
			if p.count("server/discover") != probes || p.count("initialize") != shakes || p.count("subscriptions/listen") != 0 {
				t.Errorf("the server was sent %q", p.got)
			}
			s.Close()
		})
	}
}

// Closing the session ends what is under way, and a server of the new era is
// asked in it.
func TestConnectionPerCallCloses(t *testing.T) {
	called := make(chan struct{})
	mock, err := mockmcp.New(mockmcp.Script{Name: "slow", Tools: []mockmcp.Tool{
		{Name: "wait", Handler: func(ctx context.Context, _ *mockmcp.Call) (*mockmcp.Answer, error) {
			close(called)
			<-ctx.Done()
			return nil, ctx.Err()
		}},
		{Name: "quick", Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) {
			return &mockmcp.Answer{Text: "done"}, nil
		}},
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer mock.Close()
	s := open(t, harness.Server{Name: "slow", Dial: mock.Dial}, &mcppool.Options{PerCall: true})
	if tools, _, err := s.Tools(t.Context()); err != nil || len(tools) != 2 || s.ProtocolVersion() != "2026-07-28" {
		t.Fatalf("Tools() = %v, %v", tools, err)
	}
	if r, err := s.Call(t.Context(), "quick", json.RawMessage("{}")); err != nil || r.Text != "done" {
		t.Errorf("Call() = %v, %v", r, err)
	}
	over := make(chan error)
	go func() {
		_, err := s.Call(t.Context(), "wait", nil)
		over <- err
	}()
	<-called
	s.Close()
	if err := <-over; err == nil || !strings.Contains(err.Error(), "disconnected") && !strings.Contains(err.Error(), "closed") {
		t.Errorf("the call under way: %v", err)
	}
}
