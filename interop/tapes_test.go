// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// background starts the program, waits for its ready line, and returns the
// address with what interrupts it and returns its exit code and its stderr.
func background(t *testing.T, args ...string) (url string, stop func() (int, string)) {
	t.Helper()
	cmd := command(t, binary, args...)
	cmd.Env = append(os.Environ(), "CI=") // which forbids to record
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var r ready
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	ended := false
	stop = func() (int, string) {
		if !ended {
			ended = true
			cmd.Process.Signal(syscall.SIGINT)
			cmd.Wait()
		}
		return cmd.ProcessState.ExitCode(), stderr.String()
	}
	t.Cleanup(func() { stop() })
	if err != nil {
		stop()
		t.Fatalf("ready line %q: %v\n%s", line, err, stderr.String())
	}
	return r.URL, stop
}

// ends stops a process that has nothing to complain of.
func ends(t *testing.T, stop func() (int, string)) {
	t.Helper()
	if code, stderr := stop(); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// await waits for a file, if not for ever.
func await(name string) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); <-tick.C {
		if _, err := os.Stat(name); err == nil {
			return
		}
	}
}

// TestTapes has the official SDKs recorded in both eras, over HTTP and over
// stdio, and replays each tape over both: they see what they saw.
func TestTapes(t *testing.T) {
	for _, client := range mcpClients(t) {
		for _, mode := range client.modes {
			file := withProtocol(t, "scenarios/clients.yaml", "")
			want := wantSeen(mode, "both eras")
			// It starts a command once to find out the era, and once more to
			// use it: two servers, of which a tape holds the last.
			twice := strings.HasPrefix(client.name, "typescript") && mode == "auto"
			for _, recorded := range []string{"http", "stdio"} {
				if twice && recorded == "stdio" {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%s", client.name, mode, recorded), func(t *testing.T) {
					tape := filepath.Join(t.TempDir(), "a.tape")
					if recorded == "http" {
						url, stop := background(t, "tape", "--out", tape, "--url", serve(t, "mcp", file).URL)
						runMCPClient(t, client.argv, mode, []string{url}, want)
						ends(t, stop)
					} else {
						t.Setenv("CI", "")
						runMCPClient(t, client.argv, mode, []string{binary, "tape", "--out", tape, "--", binary, "serve", "mcp", "--transport", "stdio", file}, want)
						await(tape) // the client does not wait for the end
					}
					url, stop := background(t, "tape", "--replay", tape, "--listen", "127.0.0.1:0", "--speed", "1")
					runMCPClient(t, client.argv, mode, []string{url}, want)
					ends(t, stop)
					replay := []string{binary, "tape", "--replay", tape, "--speed", "1"}
					if twice {
						replay = append(replay, "--allow-unused")
					}
					runMCPClient(t, client.argv, mode, replay, want)
				})
			}
		}
	}
}

// TestTapesOfServers records official servers, holds them against the tape, and
// has the inspector see the tape for the server.
func TestTapesOfServers(t *testing.T) {
	server := []string{"node", "node_modules/@modelcontextprotocol/server-everything/dist/index.js"}
	tape := filepath.Join(t.TempDir(), "everything.tape")
	remote := everything(t)
	url, stop := background(t, "tape", "--out", tape, "--url", remote)
	inspect := func(url string) []string {
		var seen []string
		for _, args := range [][]string{
			{"--method", "tools/list"},
			{"--method", "tools/call", "--tool-name", "get-sum", "--tool-arg", "a=2", "b=3"},
			{"--method", "tools/call", "--tool-name", "trigger-long-running-operation", "--tool-arg", "duration=1", "steps=2"},
			{"--method", "prompts/list"},
		} {
			argv := append([]string{"node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", "--cli"}, args...)
			cmd := command(t, node, append(argv, "--", url)...)
			cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v: %v\n%s", args, err, out)
			}
			seen = append(seen, string(out))
		}
		return seen
	}
	want := inspect(url)
	if !strings.Contains(want[1], "The sum of 2 and 3 is 5.") {
		t.Errorf("while recording: %s", want[1])
	}
	ends(t, stop)

	url, stop = background(t, "tape", "--replay", tape, "--listen", "127.0.0.1:0")
	for i, got := range inspect(url) {
		if got != want[i] {
			t.Errorf("the tape says\n%s\nthe server said\n%s", got, want[i])
		}
	}
	ends(t, stop)

	for _, args := range [][]string{{"--url", remote}, append([]string{"--"}, server...)} {
		code, out := rehearse(t, append([]string{"tape", "--verify", tape}, args...)...)
		if code != 0 || !strings.Contains(out, "differences that matter: 0") {
			t.Errorf("%v: exit code %d\n%s", args, code, out)
		}
	}
}
