// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package passthrough_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/passthrough"
)

func TestMain(m *testing.M) {
	if os.Getenv("PASSTHROUGH_TEST_SERVER") != "" {
		answer(os.Stdin, os.Stdout)
		return
	}
	goleak.VerifyTestMain(m)
}

// answer is a server that answers each tools/call by the tool's name.
func answer(in io.Reader, out io.Writer) {
	r, w := mcpwire.NewReader(in, nil), mcpwire.NewWriter(out)
	for {
		m, err := r.Next()
		if err != nil {
			return
		}
		if m.IsRequest() {
			_ = w.Write(reply(m)) // the client has gone: Next says so
		}
	}
}

func reply(m mcpwire.Message) []byte {
	var p struct{ Name string }
	_ = json.Unmarshal(m.Params, &p)
	out := mcpwire.Message{ID: m.ID, Result: json.RawMessage(`{"content":[{"type":"text","text":"{\"n\": 1.0}"}]}`)}
	switch p.Name {
	case "fail":
		out.Result = json.RawMessage(`{"content":[{"type":"text","text":"no"}],"isError":true}`)
	case "structured":
		out.Result = json.RawMessage(`{"content":[],"structuredContent":{"b":1,"a":2}}`)
	case "rpc":
		out.Result, out.Error = nil, &jsonrpc.Error{Code: -32602, Message: "unknown tool"}
	}
	return out.Encode()
}

func call(id int, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"x":%d}}}`, id, tool, id)
}

// want is the journal of the four calls of every test.
var want = []harness.ToolExchange{
	{Seq: 1, Server: "s", Tool: "ok", Args: json.RawMessage(`{"x":1}`), Text: `{"n": 1.0}`, Result: json.RawMessage(`{"n": 1.0}`)},
	{Seq: 2, Server: "s", Tool: "fail", Args: json.RawMessage(`{"x":2}`), Text: "no", Result: json.RawMessage(`"no"`), IsError: true, Failed: true},
	{Seq: 3, Server: "s", Tool: "structured", Args: json.RawMessage(`{"x":3}`), Result: json.RawMessage(`{"b":1,"a":2}`)},
	{Seq: 4, Server: "s", Tool: "rpc", Args: json.RawMessage(`{"x":4}`), RPCError: &jsonrpc.Error{Code: -32602, Message: "unknown tool"}, Failed: true},
}

func check(t *testing.T, got []harness.ToolExchange) {
	t.Helper()
	ignore := cmpopts.IgnoreFields(harness.ToolExchange{}, "Start", "Duration", "Content")
	if d := cmp.Diff(want, got, ignore, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("journal (-want +got):\n%s", d)
	}
}

// talk makes the four calls over a connection.
func talk(t *testing.T, conn io.ReadWriteCloser) {
	t.Helper()
	r := mcpwire.NewReader(conn, nil)
	lines := `{"jsonrpc":"2.0","id":9,"method":"ping"}` + "\n"
	for i, x := range want {
		lines += call(i+1, x.Tool) + "\n"
	}
	// In two writes that end in the middle of a line.
	for _, part := range []string{lines[:70], lines[70:]} {
		if _, err := io.WriteString(conn, part); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestPipe(t *testing.T) {
	called := 0
	p := passthrough.New(harness.Server{Name: "s", Dial: func(context.Context) (io.ReadWriteCloser, error) {
		a, b := mcpwire.Pipe()
		go answer(a, a)
		return b, nil
	}}, &passthrough.Options{Called: func(string) { called++ }})
	conn, err := p.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	talk(t, conn)
	check(t, p.Journal())
	if called != 4 {
		t.Errorf("told of %d calls, want 4", called)
	}
}

func TestChildProcess(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := passthrough.New(harness.Server{Name: "s", Command: []string{self}, Env: []string{"PASSTHROUGH_TEST_SERVER=1"}}, nil)
	conn, err := p.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	talk(t, conn)
	check(t, p.Journal())
}

func TestHTTP(t *testing.T) {
	const jsonKind, eventKind = "application/json", "text/event-stream"
	for _, tt := range []struct{ name, kind, form string }{
		{"JSON", jsonKind, "%s"},
		{"JSON behind a BOM", jsonKind, "\ufeff%s"},
		{"events", eventKind, ": hello\r\nevent: message\r\ndata: %s\r\n\r\n"},
		{"CR line ends", eventKind, "event: message\rdata: %s\r\r"},
		{"a BOM", eventKind, "\ufeffdata: %s\n\n"},
		{"a last event that is not ended", eventKind, "data: %s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if r.URL.Path != "/real/mcp" || r.Header.Get("X-Key") != "k" {
					t.Errorf("asked for %s with key %q", r.URL.Path, r.Header.Get("X-Key"))
				}
				m, err := mcpwire.Parse(body)
				if err != nil {
					t.Error(err)
				}
				w.Header().Set("Content-Type", tt.kind)
				fmt.Fprintf(w, tt.form, reply(m))
			}))
			defer upstream.Close()
			p := passthrough.New(harness.Server{Name: "s", URL: upstream.URL + "/real/mcp", Headers: map[string]string{"X-Key": "k"}}, nil)
			h, err := p.Handler()
			if err != nil {
				t.Fatal(err)
			}
			front := httptest.NewServer(h)
			defer front.Close()
			for i, x := range want {
				res, err := http.Post(front.URL+"/mcp", "application/json", strings.NewReader(call(i+1, x.Tool)))
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(res.Body)
				res.Body.Close()
				if err != nil || !strings.Contains(string(body), `"jsonrpc"`) {
					t.Fatalf("answer %q, error %v", body, err)
				}
			}
			check(t, p.Journal())
			http.DefaultClient.CloseIdleConnections()
		})
	}
}

func TestErrors(t *testing.T) {
	tests := []struct {
		name   string
		server harness.Server
		want   string
	}{
		{"nothing to start", harness.Server{Name: "s", URL: "http://127.0.0.1/"}, `starting server "s": it has neither command nor pipe`},
		{"no such program", harness.Server{Name: "s", Command: []string{"/nonexistent"}}, "no such file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := passthrough.New(tt.server, nil).Dial(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
	if _, err := passthrough.New(harness.Server{URL: "http://[::1"}, nil).Handler(); err == nil {
		t.Error("a URL that cannot be read has a handler")
	}
}

// FuzzFrames feeds a client and a server that may say anything.
func FuzzFrames(f *testing.F) {
	f.Add([]byte(call(1, "a")+"\n"), []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"x"}]}}`+"\n"))
	f.Add([]byte(call(1, "a")+"\n"), []byte(`{"jsonrpc":"2.0","id":"1","result":5}`+"\n"))
	f.Add([]byte("[]\n{\n\n"), []byte(`{"id":1,"error":{"code":1}}`+"\n"))
	f.Fuzz(func(t *testing.T, up, down []byte) {
		p := passthrough.New(harness.Server{Name: "s", Dial: func(context.Context) (io.ReadWriteCloser, error) {
			return struct {
				io.Reader
				io.Writer
				io.Closer
			}{strings.NewReader(string(down)), io.Discard, io.NopCloser(nil)}, nil
		}}, nil)
		conn, err := p.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n, err := conn.Write(up); n != len(up) || err != nil {
			t.Fatalf("wrote %d of %d, error %v", n, len(up), err)
		}
		if got, err := io.ReadAll(conn); err != nil || string(got) != string(down) {
			t.Fatalf("read %q, error %v, want %q", got, err, down)
		}
		for _, x := range p.Journal() {
			if x.Result != nil && !json.Valid(x.Result) {
				t.Errorf("result %q is no JSON", x.Result)
			}
		}
	})
}

func Example() {
	server := harness.Server{Name: "weather", Dial: func(context.Context) (io.ReadWriteCloser, error) {
		client, server := mcpwire.Pipe()
		go answer(server, server)
		return client, nil
	}}
	p := passthrough.New(server, nil)
	conn, err := p.Dial(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	fmt.Fprintln(conn, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"structured"}}`)
	if _, err := mcpwire.NewReader(conn, nil).Next(); err != nil {
		fmt.Println(err)
		return
	}
	for _, x := range p.Journal() {
		fmt.Println(x.Server, x.Tool, string(x.Result))
	}
	// Output:
	// weather structured {"b":1,"a":2}
}
