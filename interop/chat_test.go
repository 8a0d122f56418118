// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// typist sits at a pseudo-terminal in which a program runs.
type typist struct {
	t       *testing.T
	master  *os.File
	slave   *os.File // held open, so that the modes can be read after the program
	cmd     *exec.Cmd
	printed chan []byte // closed at the end of the terminal
	seen    []byte
	from    int // what was expected already ends here
}

// inTerminal starts a program in a terminal of its own.
func inTerminal(t *testing.T, env []string, argv ...string) *typist {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	if err := unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	y := &typist{t: t, master: master, slave: slave, cmd: command(t, argv[0], argv[1:]...), printed: make(chan []byte)}
	y.cmd.Env = append(os.Environ(), append([]string{"TERM=xterm-256color", "NO_COLOR="}, env...)...)
	y.cmd.Stdin, y.cmd.Stdout, y.cmd.Stderr = slave, slave, slave
	y.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := y.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(y.printed)
		for {
			p := make([]byte, 4096)
			n, err := master.Read(p)
			if err != nil {
				return
			}
			y.printed <- p[:n]
		}
	}()
	t.Cleanup(func() {
		_ = y.cmd.Process.Kill() // it has ended, if the test went well
		slave.Close()
		master.Close()
		for range y.printed {
		}
	})
	return y
}

// press types keys.
func (y *typist) press(keys string) {
	y.t.Helper()
	if _, err := y.master.WriteString(keys); err != nil {
		y.t.Fatal(err)
	}
}

// expect waits until the terminal shows the texts, in any order, after what was
// expected before.
func (y *typist) expect(texts ...string) {
	y.t.Helper()
	patience := time.NewTimer(2 * time.Minute)
	defer patience.Stop()
	for {
		end, missing := y.from, ""
		for _, text := range texts {
			i := bytes.Index(y.seen[y.from:], []byte(text))
			if i < 0 {
				missing = text
				break
			}
			end = max(end, y.from+i+len(text))
		}
		if missing == "" {
			y.from = end
			return
		}
		select {
		case p, ok := <-y.printed:
			if !ok {
				y.t.Fatalf("the terminal ended without %q:\n%q", missing, y.seen)
			}
			y.seen = append(y.seen, p...)
		case <-patience.C:
			y.t.Fatalf("the terminal does not show %q:\n%q", missing, y.seen)
		}
	}
}

// modes are those of the terminal.
func (y *typist) modes() unix.Termios {
	y.t.Helper()
	modes, err := unix.IoctlGetTermios(int(y.slave.Fd()), unix.TCGETS)
	if err != nil {
		y.t.Fatal(err)
	}
	return *modes
}

// TestChatInATerminal talks with a mock model that calls tools of the npm
// servers: lines are edited and recalled, Ctrl-C stops an answer, and the
// terminal is left as it was found.
func TestChatInATerminal(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("Buy milk."), 0o600); err != nil {
		t.Fatal(err)
	}
	modules := os.Getenv("REHEARSE_NODE_MODULES")
	server := func(name string, args ...string) map[string]any {
		return map[string]any{"command": "node", "args": append([]string{filepath.Join(modules, "@modelcontextprotocol", name, "dist/index.js")}, args...)}
	}
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"everything": server("server-everything"),
		"files":      server("server-filesystem", dir),
		"memory":     server("server-memory"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	endpoint := serve(t, "llm", write("talk.yaml", fmt.Sprintf(`llm: talk
turns:
  - user: What is 2 and 3?
    replies:
      - calls: [{get-sum: {a: 2, b: 3}}]
      - say: "The server says: {{ result }}"
  - user: Read my notes, please.
    replies:
      - calls: [{read_text_file: {path: %q}}, {read_text_file: {path: /etc/passwd}}]
      - say: You have to buy milk.
  - user: Think for long.
    replies: [{hold: {until: never}, say: Never said.}]
  - user: What is 2 and 3?
    replies: [{say: Five still.}]
`, filepath.Join(dir, "notes.txt"))))
	y := inTerminal(t, nil, binary, "chat", "--config", write("mcp.json", string(config)), "--base-url", endpoint.URL, "--model", "mock")
	before := y.modes()
	y.expect("> ")
	y.press("/servers\r")
	y.expect("everything: ", "files: ", "memory: ")
	y.expect("> ")
	y.press("What is 2 and 4\x7f3?\r") // one key too many is taken back
	y.expect(`get-sum {"a":2,"b":3}`)
	y.expect("The server says: The sum of 2 and 3 is 5.")
	y.expect("> ")
	y.press("notes, please.\x01Read my \r") // the beginning is written last
	y.expect("read_text_file -> Buy milk.", "read_text_file failed: Error: Access denied")
	y.expect("You have to buy milk.")
	y.expect("> ")
	y.press("Think for long.\r")
	y.expect("Think for long.\r\n")
	res, err := http.Get(endpoint.Admin + "/held/never") // waits until the request is there
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		t.Fatalf("waiting for the held request: %s", res.Status)
	}
	y.press("\x03")
	y.expect("the answer was stopped")
	y.expect("> ")
	y.press("\x1b[A\x1b[A\x1b[A\r") // the question before the last two
	y.expect("Five still.")
	y.expect("> ")
	y.press("\x04")
	if err := y.cmd.Wait(); err != nil {
		t.Errorf("the chat ended with %v:\n%s", err, y.seen)
	}
	if after := y.modes(); after != before {
		t.Errorf("the terminal was left with other modes:\n%+v\n%+v", before, after)
	}
	if left := processes(t, "@modelcontextprotocol/server-"); left != "" {
		t.Errorf("processes left behind:\n%s", left)
	}
	if strings.Contains(string(y.seen), "Never said.") {
		t.Error("the stopped answer was printed")
	}
}
