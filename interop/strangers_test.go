// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// besieged is a server that the page asks, and what it did to it.
type besieged struct {
	Name  string   `json:"name"`
	Base  string   `json:"base"`
	Paths []string `json:"paths"` // KIND is the kind of request
	Text  string   `json:"text"`
	JSON  string   `json:"json"`

	// wrote is all that a stranger could change. What it says of a kind of
	// request has its name in it.
	wrote func() string
}

// program is a command that listens.
type program struct {
	ready
	cmd    *exec.Cmd
	stdin  io.Closer // of a server over stdio, which its end ends
	stderr bytes.Buffer
	ended  string
}

// launch starts a command and waits for its ready line, on standard error for
// a server over stdio.
func launch(t *testing.T, binary string, onStderr bool, args ...string) *program {
	t.Helper()
	p := &program{cmd: command(t, binary, args...)}
	ours, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if onStderr {
		p.cmd.Stderr = theirs
		if p.stdin, err = p.cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
	} else {
		p.cmd.Stdout, p.cmd.Stderr = theirs, &p.stderr
	}
	err = p.cmd.Start()
	theirs.Close() // so that the end of the command is the end of its output
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.end() })
	line, err := bufio.NewReader(ours).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &p.ready)
	}
	if err != nil {
		t.Fatalf("%v: ready line %q: %v\n%s", args, line, err, p.stderr.String())
	}
	go func() { _, _ = io.Copy(io.Discard, ours) }()
	return p
}

// end interrupts the command and says how it ended.
func (p *program) end() string {
	if p.ended == "" {
		if p.stdin != nil {
			p.stdin.Close()
		}
		_ = p.cmd.Process.Signal(os.Interrupt) // it may have ended
		err := p.cmd.Wait()
		p.ended = fmt.Sprintf("%v\n%s", err, p.stderr.String())
	}
	return p.ended
}

func base(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	return "http://" + u.Host
}

// asked collects what an endpoint behind a recorder is asked.
type asked struct {
	mu   sync.Mutex // guards list
	list []string
}

func (a *asked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.list = append(a.list, r.Method+" "+r.URL.RequestURI())
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
}

func (a *asked) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Join(a.list, "\n")
}

const (
	llmFile = "llm: a\nprofile: argo-proxy-3.3\nrules: [{when: \"true\", reply: {say: hello}}]\n"
	mcpFile = "server: s\nstate: {n: 0}\ntools: [{name: add, results: [{text: ok, set: {n: {$cel: state.n + 1}}}]}]\n"
)

// besiegedServers starts all commands of a binary that listen.
func besiegedServers(t *testing.T, binary string) []besieged {
	t.Helper()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	llm, mcp := file("llm.yaml", llmFile), file("mcp.yaml", mcpFile)
	shows := func(admin string, names ...string) func() string {
		return func() string {
			var all []string
			for _, name := range names {
				all = append(all, send(t, "GET", admin+"/"+name, ""))
			}
			return strings.Join(all, "\n")
		}
	}
	message := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{}}}`
	var list []besieged

	p := launch(t, binary, false, "serve", "llm", llm)
	list = append(list, besieged{
		"serve llm", base(p.URL),
		[]string{"/t/KIND/v1/chat/completions", "/t/KIND/rehearse/load", "/t/KIND/v1/models"},
		"llm: pwned\nreplies: [{say: pwned}]\n", `{"llm": "pwned", "replies": [{"say": "pwned"}]}`,
		shows(p.Admin, "conversations", "journal", "expectations", "health"),
	})
	for transport, path := range map[string]string{"http": "/mcp", "sse": "/sse", "ws": "/ws"} {
		p := launch(t, binary, false, "serve", "mcp", "--transport", transport, mcp)
		list = append(list, besieged{
			"serve mcp over " + transport, base(p.URL),
			[]string{"/t/KIND" + path, "/t/KIND/rehearse/load", "/t/KIND/rehearse/journal"},
			"server: pwned\ntools: [{name: pwned, results: [{text: x}]}]\n", message,
			shows(p.Admin, "conversations", "journal", "frames", "state", "health"),
		})
	}
	p = launch(t, binary, true, "serve", "mcp", "--transport", "stdio", "--admin", "127.0.0.1:0", mcp)
	if got := send(t, "PUT", p.Admin+"/state", `{"n": 7}`); got != "" {
		t.Fatalf("setting the state: %s", got)
	}
	list = append(list, besieged{
		"the admin API beside stdio", base(p.Admin),
		[]string{"/rehearse/reset?KIND", "/rehearse/state?KIND"},
		"x", `{"n": 8}`,
		shows(p.Admin, "state", "journal", "conversations"),
	})

	upstream := &asked{}
	endpoint := httptest.NewServer(upstream)
	t.Cleanup(endpoint.Close)
	cassette, tape := filepath.Join(dir, "c.yaml"), filepath.Join(dir, "s.tape")
	record := launch(t, binary, false, "proxy", "--mode=record", "--cassette", cassette, "--upstream", endpoint.URL)
	send(t, "POST", record.URL+"/v1/chat/completions", `{"model":"m"}`)
	if got := record.end(); !strings.HasPrefix(got, "<nil>") {
		t.Fatalf("recording a cassette: %s", got)
	}
	if out, err := command(t, binary, "mcp", "list", "--", binary, "tape", "--out", tape, "--", binary, "serve", "mcp", "--transport", "stdio", mcp).CombinedOutput(); err != nil {
		t.Fatalf("recording a tape: %v\n%s", err, out)
	}
	for _, r := range []struct {
		name, path string
		args       []string
	}{
		{"proxy, recording", "/v1/KIND", []string{"proxy", "--mode=record", "--cassette", filepath.Join(dir, "new.yaml"), "--upstream", endpoint.URL}},
		{"tape, recording", "/mcp?KIND", []string{"tape", "--out", filepath.Join(dir, "new.tape"), "--url", endpoint.URL + "/mcp"}},
	} {
		p := launch(t, binary, false, r.args...)
		list = append(list, besieged{r.name, base(p.URL), []string{r.path}, message, message, upstream.String})
	}
	for _, r := range []struct {
		name, path string
		args       []string
	}{
		{"proxy, replaying", "/v1/KIND", []string{"proxy", "--allow-unused", "--cassette", cassette}},
		{"tape, replaying", "/mcp?KIND", []string{"tape", "--allow-unused", "--listen=127.0.0.1:0", "--replay", tape}},
	} {
		p := launch(t, binary, false, r.args...)
		started := false
		list = append(list, besieged{r.name, base(p.URL), []string{r.path}, message, message, func() string {
			if !started { // it tells at the end
				started = true
				return "<nil>\n"
			}
			return p.end()
		}})
	}
	return list
}

// besiegedHosts are the servers of Go tests.
func besiegedHosts(t *testing.T) []besieged {
	model := mockllm.NewServer(t, mockllm.Script{Profile: "argo-proxy-3.3", Asides: []mockllm.Rule{{Reply: mockllm.Reply{Say: "x"}}}})
	server := mockmcp.NewServer(t, mockmcp.Script{Name: "s", Tools: []mockmcp.Tool{{Name: "add", Results: []mockmcp.Result{{Size: 1}}}}})
	return []besieged{
		{"mockllm.NewServer", model.Root, []string{"/v1/chat/completions?KIND", "/rehearse/reset?KIND"}, "x", "{}", func() string { return fmt.Sprint(model.Journal(), model.Err()) }},
		{"mockmcp.NewServer", base(server.URL), []string{"/mcp?KIND", "/sse?KIND", "/ws?KIND"}, "x", "{}", func() string { return fmt.Sprint(server.Journal(), server.Frames(), server.Err()) }},
	}
}

// besiege has a page of another origin ask servers in every way that a page
// can, and returns the names of the ways.
func besiege(t *testing.T, list []besieged) []string {
	t.Helper()
	page, err := os.ReadFile("testdata/stranger.html")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan []string, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		targets, _ := json.Marshal(list)
		text := strings.ReplaceAll(string(page), "TARGETS", string(targets))
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, strings.ReplaceAll(text, "ASIDE", "http://"+r.Host))
	})
	mux.HandleFunc("/redirect", func(w http.ResponseWriter, r *http.Request) {
		status := http.StatusFound
		if r.FormValue("status") == "307" {
			status = http.StatusTemporaryRedirect
		}
		http.Redirect(w, r, r.URL.Query().Get("to"), status)
	})
	mux.HandleFunc("/policy", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; report-uri "+r.FormValue("report"))
		fmt.Fprint(w, `<img src="/nothing.png">`)
	})
	mux.HandleFunc("POST /done", func(_ http.ResponseWriter, r *http.Request) {
		var kinds []string
		if err := json.NewDecoder(r.Body).Decode(&kinds); err != nil {
			t.Error(err)
		}
		done <- kinds
	})
	mux.HandleFunc("/", http.NotFound)
	pages := httptest.NewServer(mux)
	defer pages.Close()
	u, err := url.Parse(pages.URL)
	if err != nil {
		t.Fatal(err)
	}
	b := chromium(t, nil, "--host-resolver-rules=MAP *.example 127.0.0.1", "--remote-debugging-port=0", "http://evil.example:"+u.Port()+"/")
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = b.Cancel()
		_ = b.Wait()
	}()
	select {
	case kinds := <-done:
		return kinds
	case <-time.After(3 * time.Minute):
		t.Fatalf("the page did not come to an end\n%s", b.text(t, "stderr"))
		return nil
	}
}

// TestStrangers: whatever a page of another origin sends to whatever listens, in
// a real browser, nothing is obeyed: no script, journal, state or file changes.
// Without the guard the same page is obeyed by each.
func TestStrangers(t *testing.T) {
	unguarded := filepath.Join(t.TempDir(), "rehearse")
	if out, err := command(t, "go", "build", "-C", "..", "-tags", "rehearse_unguarded", "-o", unguarded, "./cmd/rehearse").CombinedOutput(); err != nil {
		t.Fatalf("building without the guard: %v\n%s", err, out)
	}
	t.Run("guarded", func(t *testing.T) {
		list := append(besiegedServers(t, binary), besiegedHosts(t)...)
		before := make([]string, len(list))
		for i, b := range list {
			before[i] = b.wrote()
		}
		kinds := besiege(t, list)
		t.Logf("%d kinds of request to %d servers", len(kinds), len(list))
		for i, b := range list {
			if after := b.wrote(); after != before[i] {
				t.Errorf("%s obeyed a page. Before:\n%.2000s\nafter:\n%.2000s", b.Name, before[i], after)
			}
		}
		if len(kinds) < 40 {
			t.Errorf("the page knows %d kinds of request, want 40", len(kinds))
		}
	})
	t.Run("unguarded", func(t *testing.T) {
		list := besiegedServers(t, unguarded)
		before := make([]string, len(list))
		for i, b := range list {
			before[i] = b.wrote()
		}
		kinds := besiege(t, list)
		obeyed := map[string]bool{}
		for i, b := range list {
			after := b.wrote()
			if after == before[i] {
				t.Errorf("%s did not obey the page without the guard: the page shows nothing", b.Name)
			}
			n := 0
			for _, kind := range kinds {
				if named := regexp.MustCompile(`\b` + kind + `\b`); named.MatchString(after) && !named.MatchString(before[i]) {
					obeyed[kind], n = true, n+1
				}
			}
			t.Logf("%s: %d kinds of request can be told", b.Name, n)
		}
		for _, kind := range kinds {
			if !obeyed[kind] {
				t.Logf("obeyed nowhere: %s", kind)
			}
		}
		if len(obeyed) < 40 {
			t.Errorf("%d kinds of request are obeyed without the guard, want 40 at least: %q", len(obeyed), slices.Sorted(maps.Keys(obeyed)))
		}
	})
}

// send sends JSON and returns the body of the answer.
func send(t *testing.T, method, url, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
