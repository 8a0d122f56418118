// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// TestChatAsksAtATerminal: a question takes the place of the prompt and shows no
// character that a terminal obeys, its answer is no message that can be recalled,
// and Ctrl-C stops the answer of the model instead of giving one.
func TestChatAsksAtATerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "files.yaml", `server: files
state: {deleted: []}
tools:
  - {name: delete, input: {type: object}, results: [{text: gone, set: {deleted: {$cel: "state.deleted + [args.path]"}}}]}
  - {name: gone, results: [{json: {gone: {$cel: state.deleted}}}]}
`)
	put(t, dir, "llm.yaml", `llm: l
turns:
  - user: Clean up.
    replies: [{calls: [{delete: {path: "/tmp/\u202egnp"}}]}, {calls: [gone]}, {say: "Gone: {{result.gone.size()}}"}]
  - user: Go on.
    replies: [{calls: [{delete: {path: /etc}}]}, {say: Never said.}]
  - user: What is gone?
    replies: [{calls: [gone]}, {say: "Still {{result.gone.size()}}"}]
`)
	program, err := built()
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "mcp.json", `{"mcpServers": {"files": {"command": "`+program+`", "args": ["serve", "mcp", "--transport", "stdio", "files.yaml"]}}}`)
	set, err := scenarios.Load([]string{filepath.Join(dir, "llm.yaml")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	mock, err := mockllm.New(set.LLMs[0].Script, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer mock.Close()
	endpoint := httptest.NewServer(mock)
	defer endpoint.Close()

	screen, tty := pseudoTerminal(t)
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 200}); err != nil {
		t.Fatal(err)
	}
	cmd, wait := prepare(t, dir, "chat", "--config=mcp.json", "--model=m", "--base-url="+endpoint.URL+"/v1", "--no-stream", "--approve=del*")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.Env = append(cmd.Env, "TERM=xterm", "NO_COLOR=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	shown := ""
	expect := func(text string) {
		t.Helper()
		for p := make([]byte, 4096); !strings.Contains(shown, text); {
			n, err := screen.Read(p)
			if err != nil {
				t.Fatalf("the terminal ended without %q:\n%q", text, shown)
			}
			shown += string(p[:n])
		}
		_, shown, _ = strings.Cut(shown, text)
	}
	press := func(keys string) {
		t.Helper()
		if _, err := screen.WriteString(keys); err != nil {
			t.Fatal(err)
		}
	}
	expect("> ")
	press("Clean up.\r")
	expect(`run delete with {"path":"/tmp/\u202egnp"}? [y/N/a] `)
	press("y\r")
	expect("Gone: 1")
	expect("> ")
	press("Go on.\r")
	expect(`run delete with {"path":"/etc"}? [y/N/a] `)
	press("\x03")
	expect("the answer was stopped")
	expect("> ")
	press("\x1b[A\x1b[A") // not y, which was typed between the two
	expect("Clean up.")
	press("\x15What is gone?\r")
	expect("Still 1")
	expect("> ")
	press("\x04")
	shownLast := make(chan struct{})
	go func() { // the program must not wait for somebody to read
		defer close(shownLast)
		for p := make([]byte, 4096); ; {
			if _, err := screen.Read(p); err != nil {
				return
			}
		}
	}()
	if e := wait(t); e.code != 0 {
		t.Errorf("exit code %d", e.code)
	}
	<-shownLast
}
