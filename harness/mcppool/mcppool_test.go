// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// TestMain lets the test binary be the server of its own tests.
func TestMain(m *testing.M) {
	if mode := os.Getenv("MCPPOOL_CHILD"); mode != "" {
		child(mode)
		return
	}
	goleak.VerifyTestMain(m)
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// A peer is a server of few words: it answers each method with what the table
// holds, frame by frame. In a frame, ID stands for the id of the request. A
// method without an entry gets no answer.
type peer map[string][]string

const (
	discoverRefused = `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"Method not found"}}`
	initialized     = `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"p","version":"1"}}}`
)

// legacy is a peer of the initialize era with entries of its own.
func legacy(entries peer) peer {
	p := peer{"server/discover": {discoverRefused}, "initialize": {initialized}}
	for method, frames := range entries {
		p[method] = frames
	}
	return p
}

// dial serves the peer over a pipe.
func (p peer) dial(context.Context) (io.ReadWriteCloser, error) {
	ours, theirs := mcpwire.Pipe()
	go func() {
		defer ours.Close()
		p.serve(ours, ours)
	}()
	return theirs, nil
}

func (p peer) serve(in io.Reader, out io.Writer) { p.serveWith(in, out, nil) }

// serveWith is serve with code for the frame CALL.
func (p peer) serveWith(in io.Reader, out io.Writer, call func(m mcpwire.Message, out io.Writer)) {
	r := mcpwire.NewReader(in, nil)
	for {
		m, err := r.Next()
		if err != nil {
			return
		}
		for _, frame := range p[m.Method] {
			switch frame {
			case "EXIT":
				return
			case "CALL":
				call(m, out)
				continue
			}
			frame, cut := strings.CutSuffix(frame, "NONEWLINE")
			if !cut {
				frame += "\n"
			}
			_, _ = io.WriteString(out, strings.ReplaceAll(frame, "ID", string(m.ID)))
		}
	}
}

// patient are options for servers in the machine's time, which may be busy.
var patient = &mcppool.Options{DiscoverTimeout: time.Minute, ConnectTimeout: time.Minute}

// usual are the defaults, which open takes for nobody: a second passes in no time
// in a bubble alone.
var usual = &mcppool.Options{}

func open(t *testing.T, server harness.Server, opts *mcppool.Options) *mcppool.Session {
	t.Helper()
	if server.Name == "" {
		server.Name = "p"
	}
	if opts == nil {
		opts = patient
	}
	s, err := mcppool.Open(t.Context(), server, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func openPeer(t *testing.T, p peer, opts *mcppool.Options) *mcppool.Session {
	t.Helper()
	return open(t, harness.Server{Dial: p.dial}, opts)
}

// kindOf returns the typed error that err must be.
func kindOf(t *testing.T, err error) *mcppool.Error {
	t.Helper()
	var e *mcppool.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v is no *mcppool.Error", err)
	}
	return e
}

func result(text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":%q}]}}`, text)
}

// TestOwnDeadlineOnEveryRequest: a server that says nothing costs the time
// limit, whatever context the caller has.
func TestOwnDeadlineOnEveryRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := &mcppool.Options{CallTimeout: 7 * time.Second, ConnectTimeout: 5 * time.Second}
		s := openPeer(t, legacy(nil), opts)
		begin := time.Now()
		_, err := s.Call(t.Context(), "x", nil)
		if e := kindOf(t, err); e.Kind != mcppool.ErrTimeout || time.Since(begin) != 7*time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		begin = time.Now()
		_, _, err = s.Tools(t.Context())
		if e := kindOf(t, err); e.Kind != mcppool.ErrTimeout || time.Since(begin) != 5*time.Second {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		begin = time.Now()
		_, err = mcppool.Open(t.Context(), harness.Server{Name: "mute", Dial: peer{}.dial}, opts)
		if e := kindOf(t, err); e.Kind != mcppool.ErrTimeout || time.Since(begin) != 5*time.Second {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = s.Call(ctx, "x", nil)
		if e := kindOf(t, err); e.Kind != mcppool.ErrCancelled {
			t.Errorf("with a context that ends first: %v", err)
		}
		s.Close()
	})
}

// C1: a notification that makes us ask the server must not hold up the call
// under way.
func TestListChangedDuringACall(t *testing.T) {
	tool := func(name string) string {
		return `{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"` + name + `","inputSchema":{"type":"object"}}]}}`
	}
	s := openPeer(t, legacy(peer{
		"tools/list": {tool("a")},
		"tools/call": {`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, result("done")},
	}), nil)
	if s.ListChanges() != 0 {
		t.Error("changed before anything happened")
	}
	if r, err := s.Call(t.Context(), "a", nil); err != nil || r.Text != "done" {
		t.Fatalf("Call() = %v, %v", r, err)
	}
	if s.ListChanges() == 0 {
		t.Error("the notification was lost")
	}
	if _, _, err := s.Tools(t.Context()); err != nil || s.ListChanges() != 1 {
		t.Errorf("listing again: %v, changed %d times", err, s.ListChanges())
	}
}

// C2, C3: schemas as the server sent them; one odd entry costs itself.
func TestToolsKeepTheirSchemas(t *testing.T) {
	schema := `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","oneOf":[{"required":["a"]}],"definitions":{"x":{"const":1.10}},"if":{},"then":{}}`
	s := openPeer(t, legacy(peer{"tools/list": {`{"jsonrpc":"2.0","id":ID,"result":{"tools":[` +
		`{"name":"full","description":"d","inputSchema":` + schema + `,"outputSchema":{"type":"object"}},` +
		`{"name":"bool","inputSchema":true},` +
		`{"name":"types","inputSchema":{"type":["object"]}},` +
		`{"name":"none"},` +
		`"not a tool",{"inputSchema":{}},{"name":"full"},` +
		`{"name":"last","inputSchema":{"type":"object"}}]}}`}}), nil)
	tools, warnings, err := s.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, tool := range tools {
		got[tool.Name] = string(tool.Schema)
	}
	want := map[string]string{"full": schema, "bool": `true`, "types": `{"type":["object"]}`, "none": "", "last": `{"type":"object"}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("schemas (-want +got):\n%s", diff)
	}
	if string(tools[0].Output) != `{"type":"object"}` || tools[0].Description != "d" || !strings.Contains(string(tools[0].Raw), schema) {
		t.Errorf("first tool: %+v", tools[0])
	}
	wantWarnings := []string{
		`server "p": entry 5 of page 1 of its tools is left out: json: cannot unmarshal string into Go value of type struct`,
		`server "p": entry 6 of page 1 of its tools is left out: it has no name: {"inputSchema":{}}`,
		`server "p": entry 7 of page 1 of its tools is left out: "full" is listed twice: {"name":"full"}`,
	}
	if len(warnings) != len(wantWarnings) {
		t.Fatalf("warnings: %q", warnings)
	}
	for i, w := range wantWarnings {
		if !strings.HasPrefix(warnings[i], w) {
			t.Errorf("warning %d: %q, want %q", i, warnings[i], w)
		}
	}
}

// Lists of several pages are walked, and those without an end are bounded.
func TestToolsBoundsPages(t *testing.T) {
	n := 0
	pages := func(next func(n int) string) func(context.Context) (io.ReadWriteCloser, error) {
		return func(context.Context) (io.ReadWriteCloser, error) {
			ours, theirs := mcpwire.Pipe()
			go func() {
				defer ours.Close()
				r, w := mcpwire.NewReader(ours, nil), mcpwire.NewWriter(ours)
				for {
					m, err := r.Next()
					if err != nil {
						return
					}
					frame := map[string]string{"server/discover": discoverRefused, "initialize": initialized}[m.Method]
					if m.Method == "tools/list" {
						n++
						frame = fmt.Sprintf(`{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"t%d","inputSchema":{}}],"nextCursor":%q}}`, n, next(n))
					}
					if frame != "" {
						_ = w.Write([]byte(strings.ReplaceAll(frame, "ID", string(m.ID))))
					}
				}
			}()
			return theirs, nil
		}
	}
	for _, tt := range []struct {
		name string
		next func(n int) string
		want int
		warn string
	}{
		{"three pages", func(n int) string { return []string{"", "b", "c", ""}[n] }, 3, ""},
		{"a circle", func(n int) string { return []string{"b", "c"}[n%2] }, 3, `repeats the cursor "c"`},
		{"without end", func(n int) string { return fmt.Sprint(n) }, 10, "more than 10 pages"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n = 0
			s := open(t, harness.Server{Dial: pages(tt.next)}, &mcppool.Options{MaxPages: 10})
			tools, warnings, err := s.Tools(t.Context())
			if err != nil || len(tools) != tt.want {
				t.Errorf("%d tools, want %d; %v", len(tools), tt.want, err)
			}
			if got := strings.Join(warnings, "\n"); (tt.warn == "") != (got == "") || !strings.Contains(got, tt.warn) {
				t.Errorf("warnings %q, want %q", got, tt.warn)
			}
		})
	}
}

// C4 and what is like it: results that mcp-go refuses are kept.
func TestResultsAreKept(t *testing.T) {
	for _, tt := range []struct {
		name, result, text, structured string
		isError                        bool
	}{
		{"unknown content type", `{"content":[{"type":"hologram","x":1.10},{"type":"text","text":"a"}]}`, "a", "", false},
		{"structured without content", `{"structuredContent":{"id":12345678901234567890}}`, "", `{"id":12345678901234567890}`, false},
		{"structured that is a list", `{"content":[],"structuredContent":[1]}`, "", `[1]`, false},
		{"empty", `{}`, "", "", false},
		{"isError", `{"content":[{"type":"text","text":"no"}],"isError":true}`, "no", "", true},
		{"task", `{"task":{"taskId":"1","status":"working"}}`, "", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := openPeer(t, legacy(peer{"tools/call": {`{"jsonrpc":"2.0","id":ID,"result":` + tt.result + `}`}}), nil)
			r, err := s.Call(t.Context(), "x", raw(`{"a":1.10}`))
			if err != nil {
				t.Fatal(err)
			}
			if string(r.Raw) != tt.result || r.Text != tt.text || string(r.Structured) != tt.structured || r.IsError != tt.isError {
				t.Errorf("got %+v", r)
			}
		})
	}
}

// C5: the code and the data of an error are kept.
func TestRPCErrorsAreTyped(t *testing.T) {
	s := openPeer(t, legacy(peer{"tools/call": {`{"jsonrpc":"2.0","id":ID,"error":{"code":-32050,"message":"quota","data":{"id":12345678901234567890}}}`}}), nil)
	_, err := s.Call(t.Context(), "x", nil)
	want := &jsonrpc.Error{Code: -32050, Message: "quota", Data: raw(`{"id":12345678901234567890}`)}
	if e := kindOf(t, err); e.Kind != mcppool.ErrRPC || cmp.Diff(want, e.RPC) != "" {
		t.Errorf("got %v with %+v", err, e.RPC)
	}
	if got, want := err.Error(), `calling "x" on server "p": MCP error -32050: quota (data: {"id":12345678901234567890})`; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
}

// C10: a server that ignores server/discover costs a second and a note; C14:
// one that refuses a version that it supports is asked again.
func TestDiscover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		s := openPeer(t, peer{"initialize": {initialized}}, usual)
		if d := time.Since(begin); d != time.Second {
			t.Errorf("connecting took %v", d)
		}
		if notes := s.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "did not answer server/discover in time") {
			t.Errorf("notes: %q", notes)
		}
		if v := s.ProtocolVersion(); v != "2025-11-25" {
			t.Errorf("version %q", v)
		}
		s.Close()
	})
}

func TestDiscoverRefusedWithTheSameVersion(t *testing.T) {
	first := true
	s := open(t, harness.Server{Dial: func(context.Context) (io.ReadWriteCloser, error) {
		ours, theirs := mcpwire.Pipe()
		go func() {
			defer ours.Close()
			r, w := mcpwire.NewReader(ours, nil), mcpwire.NewWriter(ours)
			for {
				m, err := r.Next()
				if err != nil {
					return
				}
				frame := `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}`
				if first {
					first = false
					frame = `{"jsonrpc":"2.0","id":ID,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":"2026-07-28"}}}`
				}
				_ = w.Write([]byte(strings.ReplaceAll(frame, "ID", string(m.ID))))
			}
		}()
		return theirs, nil
	}}, nil)
	if v := s.ProtocolVersion(); v != "2026-07-28" {
		t.Errorf("version %q", v)
	}
}

func TestCallRefusesArgumentsThatAreNoObject(t *testing.T) {
	s := openPeer(t, legacy(nil), nil)
	for _, args := range []string{`[1]`, `null`, `{`, `"x"`} {
		if _, err := s.Call(t.Context(), "x", raw(args)); err == nil || kindOf(t, err).Kind != mcppool.ErrMalformed {
			t.Errorf("Call(%s): %v", args, err)
		}
	}
}

func Example() {
	server, err := mockmcp.New(mockmcp.Script{Name: "weather", Tools: []mockmcp.Tool{{
		Name: "get_weather",
		Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) {
			return &mockmcp.Answer{Text: "sunny"}, nil
		},
	}}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()

	ctx := context.Background()
	session, err := mcppool.Open(ctx, harness.Server{Name: "weather", Dial: server.Dial}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	result, err := session.Call(ctx, "get_weather", json.RawMessage(`{"city":"Paris"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text)
	// Output: sunny
}

// child is a server in a process of its own.
func child(mode string) {
	in := bufio.NewReader(os.Stdin)
	switch mode {
	case "ok":
		legacy(peer{"tools/call": {result("pid")}}).serve(in, os.Stdout)
	case "env":
		legacy(peer{"tools/call": {result(os.Getenv("OPENAI_API_KEY") + os.Getenv("OWN"))}}).serve(in, os.Stdout)
	case "dies at start":
		fmt.Fprintln(os.Stderr, "cannot open /data: no such folder")
		os.Exit(3)
	case "dies mid-call":
		legacy(peer{"tools/call": {"EXIT"}}).serve(in, os.Stdout)
		fmt.Fprintln(os.Stderr, "panic: out of models")
		os.Exit(7)
	case "counts its starts":
		f, err := os.OpenFile(os.Getenv("LOG"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(f, "start")
		f.Close()
		legacy(peer{"tools/call": {result("alive")}}).serve(in, os.Stdout)
	case "dies when told", "ends after a call":
		if path := os.Getenv("ALIVE"); path != "" {
			alive, err := net.Dial("unix", path)
			if err != nil {
				panic(err)
			}
			defer alive.Close() // it ends with the process
			fmt.Fprint(alive, os.Getpid())
		}
		legacy(peer{"tools/call": {"CALL"}}).serveWith(in, os.Stdout, func(m mcpwire.Message, out io.Writer) {
			tool := "live"
			if strings.Contains(string(m.Params), `"die"`) {
				tool = "die"
			}
			f, err := os.OpenFile(os.Getenv("LOG"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err == nil {
				fmt.Fprintln(f, tool)
				f.Close()
			}
			if tool == "die" {
				fmt.Fprintln(os.Stderr, "out of memory")
				os.Exit(7)
			}
			fmt.Fprintln(out, strings.ReplaceAll(result("alive"), "ID", string(m.ID)))
			if mode == "ends after a call" {
				os.Exit(0)
			}
		})
	case "floods":
		legacy(peer{"tools/call": {"CALL"}}).serveWith(in, os.Stdout, func(m mcpwire.Message, out io.Writer) {
			_, _ = os.Stderr.Write(make([]byte, 1<<20))
			fmt.Fprintln(out, strings.ReplaceAll(result("dry"), "ID", string(m.ID)))
		})
	case "closes its output":
		legacy(peer{"tools/call": {"CALL"}}).serveWith(in, os.Stdout, func(mcpwire.Message, io.Writer) {
			os.Stdout.Close()
			select {}
		})
	case "stubborn":
		legacy(peer{}).serve(in, os.Stdout)
		select {}
	}
}
