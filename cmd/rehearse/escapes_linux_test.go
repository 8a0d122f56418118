// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// pseudoTerminal opens a terminal: what is written to tty can be read from
// screen.
func pseudoTerminal(t *testing.T) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	t.Cleanup(func() { screen.Close() })
	fd := int(screen.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	t.Cleanup(func() { tty.Close() })
	return screen, tty
}

// TestHostileEscapes shows names and texts from outside on a terminal: of all
// escapes only our own colours come there.
func TestHostileEscapes(t *testing.T) {
	t.Parallel()
	const attack = `A\e[31mred\e]0;pwn\a \u202egnp`
	server := `server: t
tools:
  - name: esc
    description: "d ` + attack + `"
    results: [{text: "` + attack + `"}]
  - name: "e\e[31m"
    results: [{error: "` + attack + `"}]
`
	scenario := `scenario: "s ` + attack + `"
servers: {t: {mock: tool.yaml}}
turns:
  - user: "hi ` + attack + `"
    replies: [{calls: [t.esc]}, {say: "x ` + attack + `"}]
    expect: [{answer: {contains: ["y ` + attack + `"]}}]
`
	const odd = "odd\x1b[31m\x1b]0;pwn\a.yaml"
	tests := map[string]struct {
		args []string
		says string
	}{
		"list":   {[]string{"mcp", "list", "--", "rehearse", "serve", "mcp", "--transport", "stdio", "tool.yaml"}, `A\u001b[31mred`},
		"call":   {[]string{"mcp", "call", "esc", "--", "rehearse", "serve", "mcp", "--transport", "stdio", "tool.yaml"}, `A\u001b[31mred\u001b]0;pwn\u0007 \u202egnp`},
		"failed": {[]string{"mcp", "call", "e\x1b[31m", "--", "rehearse", "serve", "mcp", "--transport", "stdio", "tool.yaml"}, `A\u001b[31mred`},
		"check":  {[]string{"check", odd}, `odd\u001b[31m`},
		"run":    {[]string{"run", "s.yaml", "--verbose"}, `s A\u001b[31mred`},
		"usage":  {[]string{"mcp", "\x1b[31m"}, `\x1b[31m`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put(t, dir, "tool.yaml", server)
			put(t, dir, "s.yaml", scenario)
			put(t, dir, odd, "scenario: [\n")
			screen, tty := pseudoTerminal(t)
			cmd, wait := prepare(t, dir, tt.args...)
			cmd.Stdout, cmd.Stderr = tty, tty
			cmd.Env = append(cmd.Env, "TERM=xterm")
			shown := make(chan string)
			go func() {
				b, _ := io.ReadAll(screen) // ends with an error when nobody has the terminal any more
				shown <- string(b)
			}()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			wait(t)
			tty.Close()
			got := <-shown
			ours := strings.NewReplacer("\x1b[31mFAIL ", "", "\x1b[31m0 passed", "", "\x1b[0m", "", "\x1b[33m", "", "\x1b[32m", "", "\x1b[2m", "")
			for _, bad := range []string{"\x1b", "\a", "\u202e", "\u009b"} {
				if strings.Contains(ours.Replace(got), bad) {
					t.Errorf("the terminal got %q:\n%q", bad, got)
				}
			}
			if !strings.Contains(got, tt.says) {
				t.Errorf("the terminal shows\n%q\nwant %q", got, tt.says)
			}
		})
	}
}
