// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
)

func childServer(mode string, env ...string) harness.Server {
	return harness.Server{Name: "child", Command: []string{os.Args[0]}, Env: append(env, "MCPPOOL_CHILD="+mode)}
}

func TestChildProcess(t *testing.T) {
	s := open(t, childServer("ok"), nil)
	if r, err := s.Call(t.Context(), "x", nil); err != nil || r.Text != "pid" {
		t.Errorf("Call() = %v, %v", r, err)
	}
}

// C13: the child gets a clean environment (its group's end is tested in
// internal/mcpwire).
func TestChildProcessEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	s := open(t, childServer("env", "OWN=own"), nil)
	if r, err := s.Call(t.Context(), "x", nil); err != nil || r.Text != "own" {
		t.Errorf("Call() = %v, %v", r, err)
	}
	s.Close()
	s = open(t, childServer("env"), &mcppool.Options{PassEnv: []string{"OPENAI_API_KEY"}})
	if r, err := s.Call(t.Context(), "x", nil); err != nil || r.Text != "sk-secret" {
		t.Errorf("with PassEnv: Call() = %v, %v", r, err)
	}
}

func TestChildProcessThatDiesAtStart(t *testing.T) {
	_, err := mcppool.Open(t.Context(), childServer("dies at start"), nil)
	e := kindOf(t, err)
	want := `connecting to server "child": the server disconnected: exit status 3; its stderr ends: cannot open /data: no such folder`
	if e.Kind != mcppool.ErrClosed || err.Error() != want {
		t.Errorf("got %q (%s), want %q", err, e.Kind, want)
	}
}

func TestChildProcessThatDiesInACall(t *testing.T) {
	s := open(t, childServer("dies mid-call"), nil)
	_, err := s.Call(t.Context(), "x", nil)
	e := kindOf(t, err)
	want := `calling "x" on server "child": the server disconnected: exit status 7; its stderr ends: panic: out of models`
	if e.Kind != mcppool.ErrClosed || err.Error() != want || e.Stderr == "" {
		t.Errorf("got %q (%s), want %q", err, e.Kind, want)
	}
	if _, err := s.Call(t.Context(), "x", nil); err == nil || kindOf(t, err).Kind != mcppool.ErrClosed {
		t.Errorf("the next call: %v", err)
	}
}

func TestChildProcessThatStaysIsEnded(t *testing.T) {
	s := open(t, childServer("stubborn"), &mcppool.Options{CloseGrace: 10 * time.Millisecond})
	s.Close() // goleak sees what is left
}

func TestCommandThatDoesNotExist(t *testing.T) {
	_, err := mcppool.Open(t.Context(), harness.Server{Name: "gone", Command: []string{"/no/such/server"}}, nil)
	if err == nil || !strings.HasPrefix(err.Error(), `connecting to server "gone": starting "/no/such/server": `) {
		t.Errorf("Open() = %v", err)
	}
}
