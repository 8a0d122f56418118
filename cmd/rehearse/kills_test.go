// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rehearse-dev/rehearse/cassettes/mcptape"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// killer kills recordings, each in a folder of its own.
type killer struct {
	*testing.T
	r      *rand.Rand
	url    string
	saving bool // kill while the files are written
	dir    string
	gen    int // tells recordings apart
}

// TestKills kills recorders at seeded moments, half of them while they write
// their files: what was recorded before is there, what had ended is there, each
// file can be read, and the files of a trial belong together. REHEARSE_KILLS
// says how many (default 40), REHEARSE_SEED where chance begins.
func TestKills(t *testing.T) {
	t.Parallel()
	n, seed := number(t, "REHEARSE_KILLS", 40), number(t, "REHEARSE_SEED", 12)
	t.Logf("seed %d", seed)
	server := httptest.NewServer(http.HandlerFunc(killedEndpoint))
	t.Cleanup(server.Close)
	kinds := []struct {
		name string
		kill func(k *killer) (killed bool)
	}{
		{"proxy record over an old one", func(k *killer) bool { return k.proxy("record", true) }},
		{"proxy record-new", func(k *killer) bool { return k.proxy("record-new", true) }},
		{"proxy record", func(k *killer) bool { return k.proxy("record", false) }},
		{"tape over an old one", func(k *killer) bool { return k.tape(true) }},
		{"tape", func(k *killer) bool { return k.tape(false) }},
		{"run over an old one", func(k *killer) bool { return k.run(true) }},
		{"run", func(k *killer) bool { return k.run(false) }},
	}
	r := rand.New(rand.NewPCG(uint64(seed), 7))
	killed, saving := 0, 0
	for i := 0; i < 3*n && (killed < n || saving < n/2); i++ {
		kind := kinds[i%len(kinds)]
		t.Run(fmt.Sprintf("%d %s", i, kind.name), func(t *testing.T) {
			k := &killer{T: t, r: r, url: server.URL, saving: i/len(kinds)%2 == 0 || killed >= n, dir: t.TempDir()}
			if kind.kill(k) {
				killed++
				if k.saving {
					saving++
				}
			}
		})
	}
	t.Logf("%d recorders were killed, %d of them while they wrote their files", killed, saving)
	if killed < n || saving < n/2 {
		t.Errorf("want %d, and %d of them while they write", n, n/2)
	}
}

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// killedEndpoint answers with what it was asked, at length, and calls a tool
// where there are any. What it says has no length, so that a client that has
// read it to its end knows that it is kept.
func killedEndpoint(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var asked struct {
		Messages []struct{ Role, Content string }
		Tools    []any
	}
	_ = json.Unmarshal(body, &asked) // what else it is gets an answer too
	w.Header().Set("Content-Type", "application/json")
	switch n := len(asked.Messages); {
	case len(asked.Tools) > 0 && asked.Messages[n-1].Role != "tool":
		fmt.Fprint(w, `{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"say","arguments":"{}"}}]}}]}`)
	case len(asked.Tools) > 0:
		said, _ := json.Marshal("heard " + asked.Messages[n-1].Content)
		fmt.Fprintf(w, `{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":%s}}]}`, said)
	default:
		fmt.Fprintf(w, `{"said":%q,"pad":%q}`, body, strings.Repeat("so it goes on. ", 4000))
	}
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

// spin takes a moment of a seeded length.
func (k *killer) spin(most int) {
	for range k.r.IntN(most) {
		_ = k.r.Uint64()
	}
}

// child is a program under way.
type child struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr bytes.Buffer
	done   chan struct{} // closed when it has ended
}

func (k *killer) child(args ...string) *child {
	k.Helper()
	name, err := built()
	if err != nil {
		k.Fatalf("building the command: %v", err)
	}
	c := &child{cmd: exec.CommandContext(k.Context(), name, args...), done: make(chan struct{})}
	c.cmd.Dir = k.dir
	c.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + k.dir, "TMPDIR=" + k.dir, "OPENAI_API_KEY=" + secret}
	c.cmd.Stderr = &c.stderr
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		k.Fatal(err)
	}
	out, inherited, err := os.Pipe()
	if err != nil {
		k.Fatal(err)
	}
	k.Cleanup(func() { out.Close() })
	c.stdout, c.cmd.Stdout = bufio.NewReader(out), inherited
	if err := c.cmd.Start(); err != nil {
		k.Fatal(err)
	}
	inherited.Close()
	go func() {
		defer close(c.done)
		_ = c.cmd.Wait() // its state says it all
	}()
	return c
}

// end waits for a program that is to end well.
func (k *killer) end(c *child) {
	k.Helper()
	<-c.done
	if !c.cmd.ProcessState.Success() {
		k.Fatalf("%v: %s\n%s", c.cmd.Args[1:], c.cmd.ProcessState, c.stderr.String())
	}
}

// kill kills a program, after a file that begins so has come to a folder when
// it is to be while files are written, and reports whether it was in time.
func (k *killer) kill(c *child, dir, prefix string) bool {
	if k.saving {
		for came := false; !came; {
			select {
			case <-c.done:
				return false
			default:
			}
			entries, _ := os.ReadDir(dir)
			for _, e := range entries {
				came = came || strings.HasPrefix(e.Name(), prefix)
			}
		}
		k.spin(1_000_000)
	} else {
		k.spin(1_000_000)
	}
	_ = c.cmd.Process.Kill() // it may have ended
	<-c.done
	status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}

// readable wants every file of recordings to load, and returns what is in the
// cassettes.
func (k *killer) readable() map[string]string {
	k.Helper()
	texts := map[string]string{}
	_ = filepath.WalkDir(k.dir, func(path string, _ os.DirEntry, _ error) error {
		var err error
		switch name := filepath.Base(path); {
		case strings.HasPrefix(name, "."):
			return nil // on its way
		case strings.HasSuffix(name, ".tape"):
			_, err = mcptape.Read(path)
		case name == "s.yaml" || name == "lib.yaml":
		case strings.HasSuffix(name, ".yaml"):
			_, err = vcr.Read(path)
		default:
			return nil
		}
		if err != nil {
			k.Errorf("%v", err)
		}
		text, _ := os.ReadFile(path)
		texts[filepath.Base(path)] = string(text)
		return nil
	})
	return texts
}

// ask sends one request through a proxy and reports whether its answer came to
// its end.
func (k *killer) ask(url, mark string) bool {
	resp, err := http.Post(url+"/v1/x", "application/json", strings.NewReader(`{"q":"`+mark+`"}`))
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return err == nil && strings.Contains(string(text), mark)
}

// proxied records n exchanges in a proxy, which is killed if it is to be. It
// returns the marks of what had ended.
func (k *killer) proxied(mode string, n int, kill bool) (done []string, killed bool) {
	k.Helper()
	k.gen++
	c := k.child("proxy", "--mode", mode, "--cassette", "c.yaml", "--upstream", k.url)
	line, err := c.stdout.ReadString('\n')
	var ready struct{ URL string }
	if err == nil {
		err = json.Unmarshal([]byte(line), &ready)
	}
	if err != nil {
		k.Fatalf("%v\n%s", err, c.stderr.String())
	}
	early := n
	if kill && !k.saving {
		early = k.r.IntN(n)
	}
	ask := func(i int) {
		if mark := fmt.Sprintf("mark-%d-%d-", k.gen, i); k.ask(ready.URL, mark) {
			done = append(done, mark)
		}
	}
	for i := range early {
		ask(i)
	}
	if !kill || k.saving {
		_ = c.cmd.Process.Signal(os.Interrupt)
	}
	if !kill {
		k.end(c)
		return done, false
	}
	asked := make(chan struct{})
	if early < n { // killed with one under way
		go func() {
			defer close(asked)
			_ = k.ask(ready.URL, "under way")
		}()
	} else {
		close(asked)
	}
	killed = k.kill(c, k.dir, ".c.yaml.")
	<-asked
	return done, killed
}

// proxy kills a proxy that records.
func (k *killer) proxy(mode string, old bool) bool {
	const n = 3
	var was []string
	if old {
		was, _ = k.proxied("record", n, false)
	}
	done, killed := k.proxied(mode, n, true)
	before := k.readable()["c.yaml"]
	replaced := mode == "record" && holds(before, done) && len(done) == n // it got its name
	if old && !replaced && !holds(before, was) {
		k.Errorf("the old recording is gone")
	}
	k.end(k.child("proxy", "--mode", "record-new", "--cassette", "c.yaml", "--upstream", k.url, "--", "true"))
	after := k.readable()
	if old && !replaced && !holds(after["c.yaml"], was) {
		k.Errorf("record-new threw the old recording away")
	}
	if !holds(after["c.yaml"]+after["c.cut.yaml"], done) {
		k.Errorf("what had ended is gone: of %d exchanges", len(done))
	}
	k.clean()
	return killed
}

// clean wants nothing of a recording under way to be left. The folder of a run that
// was killed is its own, and no other run writes there.
func (k *killer) clean() {
	k.Helper()
	_ = filepath.WalkDir(k.dir, func(path string, entry os.DirEntry, _ error) error {
		if entry.IsDir() && entry.Name() == "runs" {
			return filepath.SkipDir
		}
		if name := filepath.Base(path); strings.HasSuffix(name, ".tmp") || strings.HasSuffix(name, ".journal") || strings.HasSuffix(name, ".part") {
			k.Errorf("left: %s", name)
		}
		return nil
	})
}

// holds reports whether a text has all marks.
func holds(text string, marks []string) bool {
	for _, m := range marks {
		if !strings.Contains(text, m) {
			return false
		}
	}
	return true
}

// lib writes the server whose answers tell recordings apart.
func (k *killer) lib() {
	k.gen++
	put(k.T, k.dir, "lib.yaml", fmt.Sprintf("server: lib\ntools:\n  - name: say\n    results: [{text: generation %d}]\n", k.gen))
}

// taped records n calls on a tape, and kills the recorder if it is to.
func (k *killer) taped(n int, kill bool) (done []string, killed bool) {
	k.Helper()
	k.lib()
	name, err := built()
	if err != nil {
		k.Fatal(err)
	}
	c := k.child("tape", "--out", "t.tape", "--", name, "serve", "mcp", "--transport", "stdio", "lib.yaml")
	early := n
	if kill && !k.saving {
		early = k.r.IntN(n)
	}
	say := func(text string) {
		fmt.Fprintln(c.stdin, text)
		if _, err := c.stdout.ReadString('\n'); err != nil {
			k.Fatalf("%v\n%s", err, c.stderr.String())
		}
	}
	say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"k","version":"1"}}}`)
	for i := range early {
		mark := fmt.Sprintf("mark-%d-%d-", k.gen, i)
		say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"say","arguments":{},"_meta":{"mark":%q}}}`, i+1, mark))
		done = append(done, mark)
	}
	if !kill || k.saving {
		c.stdin.Close()
	}
	if !kill {
		k.end(c)
		return done, false
	}
	return done, k.kill(c, k.dir, "t.tape.part")
}

// tape kills a recorder of a server.
func (k *killer) tape(old bool) bool {
	const n = 4
	var was []string
	if old {
		was, _ = k.taped(n, false)
	}
	_, killed := k.taped(n, true)
	texts := k.readable()
	now := []string{fmt.Sprintf("mark-%d-%d-", k.gen, n-1)}
	if old && !holds(texts["t.tape"], was) && !holds(texts["t.tape"], now) {
		k.Errorf("the old tape is gone")
	}
	again, _ := k.taped(n, false)
	texts = k.readable()
	if !holds(texts["t.tape"], again) {
		k.Errorf("the tape could not be recorded again")
	}
	k.clean()
	return killed
}

// run kills a run that records a conversation and a server.
func (k *killer) run(old bool) bool {
	name, err := built()
	if err != nil {
		k.Fatal(err)
	}
	put(k.T, k.dir, "s.yaml", fmt.Sprintf("scenario: greetings\nservers: {far: {command: [%q, serve, mcp, --transport, stdio, lib.yaml]}}\nturns:\n  - user: go\n    expect: [{answer: {contains: heard}}]\n", name))
	record := []string{"run", "s.yaml", "--mode", "record", "--model", "m", "--base-url", k.url + "/v1"}
	replay := []string{"run", "s.yaml", "--mode", "replay"}
	home := filepath.Join(k.dir, "cassettes", "s")
	k.lib()
	if old {
		k.end(k.child(record...))
		k.end(k.child(replay...))
		k.lib()
	}
	c := k.child(record...)
	prefix := ".greetings.m.yaml."
	if k.r.IntN(2) == 0 {
		prefix = "greetings.m.yaml.journal"
	}
	killed := k.kill(c, home, prefix)
	texts := k.readable()
	if old && (texts["greetings.m.yaml"] == "" || texts["greetings.m.far.tape"] == "") {
		k.Errorf("the old recording is gone")
	}
	_, err = os.Stat(filepath.Join(home, "greetings.m.yaml"))
	journal, _ := os.ReadFile(filepath.Join(home, "greetings.m.yaml.journal"))
	if strings.Contains(string(journal), "commit") {
		k.Log("killed between the commit and the last name")
	}
	if err == nil || strings.Contains(string(journal), "commit") {
		k.end(k.child(replay...)) // fails where one is of another conversation than the other
	}
	k.end(k.child(append(record, "--force")...))
	k.end(k.child(replay...))
	k.clean()
	return killed
}
