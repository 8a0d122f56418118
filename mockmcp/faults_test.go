// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/mockmcp/fault"
)

// TestPlans holds what every fault puts on the wire against a golden: each
// form on each sort of transport.
func TestPlans(t *testing.T) {
	const reply = `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"sunny"}],"structuredContent":{"sky":"sunny"}}}`
	const list = `{"jsonrpc":"2.0","id":7,"result":{"tools":[{"name":"a","inputSchema":{"type":"object","properties":{"x":{"type":"string"}}}}]}}`
	var b strings.Builder
	for _, info := range fault.Kinds() {
		forms := []string{""}
		for i, f := range info.Forms {
			forms = append(forms[:i], f.Name)
		}
		for _, form := range forms {
			f := fault.Fault{Kind: info.Kind, Form: form, Count: 2, Size: 40}
			for _, transport := range []string{fault.Stdio, fault.HTTP, fault.SSE, fault.WS} {
				if !slices.Contains(info.Transports, transport) {
					continue
				}
				s := situation{transport: transport, streaming: transport == fault.SSE, token: json.RawMessage(`"t"`), page: 2}
				s.request = mcpwire.Message{ID: json.RawMessage("7"), Method: mcpwire.MethodCall}
				frame := reply
				if info.Group == "list" {
					frame = list
				}
				fmt.Fprintf(&b, "%s %s\n", f.String(), transport)
				for _, x := range plan(&f, s, []byte(frame)) {
					if text := x.String(); text == "reply "+frame {
						b.WriteString("  reply, as it is\n")
					} else {
						fmt.Fprintf(&b, "  %s\n", text)
					}
				}
			}
		}
	}
	const path = "testdata/faults.txt"
	if flag.Lookup("update").Value.String() == "true" { // it is defined in package mockmcp_test
		if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// String is for goldens.
func (x op) String() string {
	switch x.do {
	case opReply:
		return "reply " + string(x.data)
	case opSend:
		return "send  " + string(x.data)
	case opRaw:
		return fmt.Sprintf("raw   %q", x.data)
	case opTell:
		return "tell  " + x.text
	case opOpen:
		return "open  " + x.text
	case opWait:
		return "wait  " + x.wait.String()
	case opLeave:
		return "leave " + x.wait.String()
	case opExit:
		return fmt.Sprintf("exit  %d", x.code)
	case opHang:
		return "hang"
	case opCut:
		return "cut"
	case opCloseOut:
		return "close the output"
	}
	return "end"
}

// FuzzPlan has every fault strike any reply: it must not panic, and what it
// sends as a reply must be a message where the reply was one.
func FuzzPlan(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"x"}]}}`,
		`{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":"m"}}`,
		`{"id":null,"result":{"tools":[{"inputSchema":[]},7,null]}}`,
		`{"id":1e400,"result":{"content":7,"structuredContent":[]}}`, `[]`, `"`, ``, "\xff",
	} {
		f.Add([]byte(seed), []byte("7"), 3, uint8(0))
	}
	var faults []fault.Fault
	for _, info := range fault.Kinds() {
		faults = append(faults, fault.Fault{Kind: info.Kind})
		for _, form := range info.Forms {
			faults = append(faults, fault.Fault{Kind: info.Kind, Form: form.Name})
		}
	}
	f.Fuzz(func(t *testing.T, frame, id []byte, at int, transport uint8) {
		if !json.Valid(id) {
			id = []byte("null")
		}
		s := situation{transport: fault.Transports()[int(transport)%5], streaming: transport%2 == 0, page: at}
		s.request = mcpwire.Message{ID: id, Method: mcpwire.MethodCall}
		_, bad := mcpwire.Parse(frame)
		for _, f := range faults {
			f.Bytes, f.Size, f.Count = at, 64, 3
			for _, x := range plan(&f, s, frame) {
				if _, err := mcpwire.Parse(x.data); x.do == opReply && bad == nil && err != nil {
					t.Errorf("%s sends %q: %v", f.String(), x.data, err)
				}
			}
		}
	})
}

// TestFaultMarks sees that a fault that struck is marked in the journal and in
// the log of frames, that Reset begins anew, and that one that did not strike
// is known.
func TestFaultMarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Script{
			Name: "shop",
			Tools: []Tool{{Name: "pay", Results: []Result{{
				Answer: func(*Call) (*Answer, error) { return &Answer{Text: "paid"}, nil },
				Set: func(*Call, json.RawMessage) (json.RawMessage, error) {
					return json.RawMessage(`{"paid":true}`), nil
				},
				Faults: []fault.Fault{{Kind: fault.WrongID, Match: fault.Match{Nth: 2}}},
			}}}},
			Faults: []fault.Fault{
				{Kind: fault.IsError, Match: fault.Match{Tool: "pay"}},
				{Kind: fault.Session404},
			},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		conn, err := s.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		r := mcpwire.NewReader(conn, nil)
		call := func(id int) string {
			fmt.Fprintf(conn, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"pay"}}`+"\n", id)
			m, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			return string(m.ID) + " " + string(m.Result)
		}
		fmt.Fprintln(conn, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{`"isError":true`, `"paid"`, otherID} {
			if got := call(i + 1); !strings.Contains(got, want) {
				t.Errorf("call %d was answered with %s, want %s", i+1, got, want)
			}
			if i == 0 && string(s.State()) != "{}" {
				t.Errorf("a tool that failed has changed the state: %s", s.State())
			}
		}
		var marks []string
		for _, x := range s.Journal() {
			marks = append(marks, x.Fault)
		}
		if want := []string{"is_error", "", "wrong_id"}; !slices.Equal(marks, want) {
			t.Errorf("the journal has the faults %q, want %q", marks, want)
		}
		in, out := 0, 0
		for _, f := range s.Frames() {
			switch {
			case f.Fault != "" && f.In:
				in++
			case f.Fault != "":
				out++
			}
		}
		if in != 2 || out != 2 {
			t.Errorf("faults are marked in %d frames in and %d out, want 2 and 2", in, out)
		}
		if left := s.Unstruck(); len(left) != 1 || left[0].Kind != fault.Session404 {
			t.Errorf("unstruck: %v", left)
		}
		s.Reset()
		if got := call(9); !strings.Contains(got, `"isError":true`) {
			t.Errorf("after a reset the fault does not strike again: %s", got)
		}
	})
}

func TestFaultMistakes(t *testing.T) {
	_, err := New(Script{
		Name:   "shop",
		Faults: []fault.Fault{{Kind: "hangs"}},
		Tools:  []Tool{{Name: "pay", Results: []Result{{Faults: []fault.Fault{{Kind: fault.CRLF, Code: 1}}}}}},
	}, nil)
	const want = "mock server \"shop\": unknown fault \"hangs\" (did you mean \"hang\"?); `rehearse faults` lists them\ntool \"pay\": fault crlf does not use code"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestFaultMatchError(t *testing.T) {
	s, err := New(Script{Name: "shop", Faults: []fault.Fault{{Kind: fault.Hang, Match: fault.Match{Args: func(json.RawMessage) (bool, error) {
		return false, errors.New("no such key")
	}}}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rec := httptest.NewRecorder()
	req := httptest.NewRequest("POST", "http://127.0.0.1/mcp", strings.NewReader(modernCall))
	for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "pay"} {
		req.Header.Set(k, v)
	}
	s.Handler().ServeHTTP(rec, req)
	if rec.Code != http.StatusOK {
		t.Errorf("status %d: %s", rec.Code, rec.Body)
	}
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "matching fault hang: no such key") {
		t.Errorf("got %v", err)
	}
}

const modernCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`

// player is a process for faults: it keeps what is done to it.
type player struct {
	in     *bytes.Reader
	out    bytes.Buffer
	stderr bytes.Buffer
	log    []string
}

func (p *player) Read(b []byte) (int, error)  { return p.in.Read(b) }
func (p *player) Write(b []byte) (int, error) { return p.out.Write(b) }
func (p *player) Stderr() io.Writer           { return &p.stderr }
func (*player) CloseStdin() error             { return nil }

func (p *player) CloseStdout() error {
	p.log = append(p.log, "close stdout")
	return nil
}

func (p *player) Exit(code int) { p.log = append(p.log, fmt.Sprintf("exit %d", code)) }
func (p *player) IgnoreEOF()    { p.log = append(p.log, "ignore EOF") }

// TestProcessFaults sees what faults do to a process.
func TestProcessFaults(t *testing.T) {
	const input = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay"}}
`
	for _, test := range []struct {
		fault        fault.Fault
		did          string
		stderr       string
		lines, calls int
	}{
		{fault.Fault{Kind: fault.DieAtStart, ExitCode: 3}, "exit 3", "fatal: cannot read config.json: no such file or directory\n", 0, 0},
		{fault.Fault{Kind: fault.Exit, Stderr: "bye"}, "exit 1", "bye\n", 1, 1},
		{fault.Fault{Kind: fault.Exit, Form: "before"}, "exit 1", "", 1, 0},
		{fault.Fault{Kind: fault.NoFinalNewline}, "exit 0", "", 2, 1},
		{fault.Fault{Kind: fault.CloseStdout}, "close stdout", "", 1, 1},
		{fault.Fault{Kind: fault.IgnoreEOF}, "ignore EOF", "", 2, 1},
		{fault.Fault{Kind: fault.StderrFlood, Size: 250}, "", string(bytes.Repeat(append(padding(99), '\n'), 3)[:250]), 2, 1},
		{fault.Fault{Kind: fault.StderrFlood, Form: "line", Size: 120}, "", string(bytes.Repeat(append(padding(99), ' '), 2)[:120]), 2, 1},
	} {
		t.Run(strings.ReplaceAll(test.fault.String(), "/", "."), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := New(Script{Name: "shop", Faults: []fault.Fault{test.fault}, Tools: []Tool{{Name: "pay", Results: []Result{{
					Answer: func(*Call) (*Answer, error) { return &Answer{Text: "paid"}, nil },
				}}}}}, nil)
				if err != nil {
					t.Fatal(err)
				}
				p := &player{in: bytes.NewReader([]byte(input))}
				served := make(chan error, 1)
				go func() { served <- s.ServeProcess(t.Context(), p) }()
				synctest.Wait() // all is done that will be
				s.Close()
				<-served
				if got := strings.Join(p.log, ", "); got != test.did {
					t.Errorf("the process was made to %q, want %q", got, test.did)
				}
				if diff := cmp.Diff(test.stderr, p.stderr.String()); diff != "" {
					t.Errorf("stderr (-want +got):\n%s", diff)
				}
				lines := strings.Count(p.out.String(), `"jsonrpc"`)
				if lines != test.lines || len(s.Journal()) != test.calls {
					t.Errorf("%d replies and %d calls, want %d and %d:\n%s", lines, len(s.Journal()), test.lines, test.calls, p.out.String())
				}
			})
		})
	}
}

// TestFaultsWithoutMessage has faults strike the requests of HTTP that carry
// no message.
func TestFaultsWithoutMessage(t *testing.T) {
	for _, test := range []struct {
		name   string
		fault  fault.Fault
		method string
		want   string // the status, or how the connection ends
	}{
		{"no listening", fault.Fault{Kind: fault.HTTPStatus, Status: 405, Match: fault.Match{Method: "GET"}}, "GET", "405"},
		{"a session is lost", fault.Fault{Kind: fault.Session404, Match: fault.Match{Method: "GET"}}, "GET", "404"},
		{"no end", fault.Fault{Kind: fault.HTTPStatus, Status: 500, Match: fault.Match{Method: "DELETE"}}, "DELETE", "500"},
		{"the connection breaks", fault.Fault{Kind: fault.AbortConnection, Match: fault.Match{Method: "GET"}}, "GET", "EOF"},
		{"another method", fault.Fault{Kind: fault.HTTPStatus, Match: fault.Match{Method: "GET"}}, "DELETE", "200"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := New(Script{Name: "shop", Faults: []fault.Fault{test.fault}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(s.Handler())
			defer server.Close()
			defer s.Close()
			send := func(method, body, session string) (*http.Response, error) {
				r, err := http.NewRequestWithContext(t.Context(), method, server.URL, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Accept", "application/json, text/event-stream")
				if session != "" {
					r.Header.Set("Mcp-Session-Id", session)
				}
				return server.Client().Do(r)
			}
			resp, err := send("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, "")
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			resp, err = send(test.method, "", resp.Header.Get("Mcp-Session-Id"))
			got := "EOF"
			if err == nil {
				got = fmt.Sprint(resp.StatusCode)
				resp.Body.Close()
			}
			if got != test.want {
				t.Errorf("%s ended with %s, %v, want %s", test.method, got, err, test.want)
			}
		})
	}
}
