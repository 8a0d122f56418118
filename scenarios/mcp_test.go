// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/mockmcp"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// labClient speaks with the server of testdata/wire/lab.yaml in frames.
type labClient struct {
	t     *testing.T
	conn  io.ReadWriteCloser
	lines *bufio.Reader
	id    int
	notes []string // notifications and requests of the server so far
}

func lab(t *testing.T) (*labClient, *mockmcp.Server) {
	t.Helper()
	set, err := scenarios.Load([]string{"testdata/wire/lab.yaml"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range set.Check() {
		t.Error(p)
	}
	server, err := mockmcp.New(*set.Servers[0].Mock, nil)
	if err != nil {
		t.Fatal(err)
	}
	return talk(t, server), server
}

// talk connects to a server.
func talk(t *testing.T, server *mockmcp.Server) *labClient {
	t.Helper()
	conn, err := server.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		server.Close()
	})
	c := &labClient{t: t, conn: conn, lines: bufio.NewReader(conn)}
	c.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"roots":{}},"clientInfo":{"name":"t","version":"1"}}`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

func (c *labClient) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.conn, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// begin sends a request, and await reads up to its answer.
func (c *labClient) begin(method, params string) {
	c.t.Helper()
	c.id++
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.id, method, params))
}

func (c *labClient) await() string {
	c.t.Helper()
	for {
		line, err := c.lines.ReadString('\n')
		if err != nil {
			c.t.Fatal(err)
		}
		var m struct {
			ID            json.RawMessage
			Method        string
			Params        json.RawMessage
			Result, Error json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			c.t.Fatalf("%s: %v", line, err)
		}
		switch {
		case m.Method == "elicitation/create":
			c.notes = append(c.notes, m.Method+" "+string(m.Params))
			c.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"action":"accept","content":{"sure":true}}}`)
		case m.Method == "roots/list":
			c.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"roots":[{"uri":"file:///a"},{"uri":"file:///b"}]}}`)
		case m.Method != "":
			c.notes = append(c.notes, m.Method+" "+string(m.Params))
		case m.Error != nil:
			return "error " + string(m.Error)
		default:
			return string(m.Result)
		}
	}
}

func (c *labClient) ask(method, params string) string {
	c.t.Helper()
	c.begin(method, params)
	return c.await()
}

// TestWire asks a server for all that its file offers.
func TestWire(t *testing.T) {
	for _, test := range []struct{ name, method, params, want string }{
		{"page", "resources/list", `{}`, `"uri":"lab://log"`},
		{"next page", "resources/list", `{}`, `"nextCursor"`},
		{"extra", "resources/list", `{}`, `"size":8`},
		{"computed resource", "resources/read", `{"uri":"lab://log"}`, `"text":"1 plates"`},
		{"resource from a file", "resources/read", `{"uri":"lab://note"}`, `"text":"plain text of a file"`},
		{"blob", "resources/read", `{"uri":"lab://picture"}`, `"blob":"aGk="`},
		{"template", "resources/read", `{"uri":"lab://plates/p1"}`, `"text":"p1: 0.42"`},
		{"template that does not hold", "resources/read", `{"uri":"lab://plates/p9"}`, `error {"code":-32002`},
		{"prompt", "prompts/get", `{"name":"report","arguments":{"plate":"p1"}}`, `"text":"Report on p1."`},
		{"prompt of messages", "prompts/get", `{"name":"greet"}`, `{"role":"assistant","content":{"type":"text","text":"Good day."}}`},
		{"completion", "completion/complete", `{"ref":{"type":"ref/prompt","name":"report"},"argument":{"name":"plate","value":"p"}}`, `"values":["p1","p2"]`},
		{"computed completion", "completion/complete", `{"ref":{"type":"ref/resource","uri":"lab://plates/{id}"},"argument":{"name":"id","value":""}}`, `"values":["p1"]`},
		{"tool with more members", "tools/list", `{}`, `"icons":[{"src":"lab://icon"}]`},
		{"file", "tools/call", `{"name":"measure","arguments":{"plate":"file"}}`, `"text":"plain text of a file"`},
		{"size", "tools/call", `{"name":"measure","arguments":{"plate":"long"}}`, `"text":"a`},
		{"fault of a result", "tools/call", `{"name":"measure","arguments":{"plate":"broken"}}`, `error {"code":-32050,"message":"no lamp"`},
		{"another result", "tools/call", `{"name":"measure","arguments":{"plate":"p2"}}`, `"absorbance":0.42`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, _ := lab(t)
			got := c.ask(test.method, test.params)
			if !strings.Contains(got, test.want) {
				t.Errorf("got %.400s\nwant %s", got, test.want)
			}
			if test.name == "size" && len(got) < 1000 {
				t.Errorf("%d bytes", len(got))
			}
		})
	}
}

func TestWireSteps(t *testing.T) {
	c, _ := lab(t)
	got := c.ask("tools/call", `{"name":"measure","arguments":{"plate":"ask"},"_meta":{"progressToken":"t"}}`)
	for _, want := range []string{`"structuredContent":{"sure":true,"roots":2}`, `"_meta":{"plate":"ask"}`} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
	want := []string{
		`notifications/progress {"progressToken":"t","progress":1,"total":2,"message":"plate ask"}`,
		`notifications/message {"level":"warning","logger":"lamp","data":{"volts":5}}`,
		`notifications/lamp {"on":true}`,
		`elicitation/create {"message":"Really ask?","requestedSchema":{"type":"object","properties":{"sure":{"type":"boolean"}}}}`,
	}
	if diff := cmp.Diff(want, c.notes); diff != "" {
		t.Errorf("before the answer (-want +got):\n%s", diff)
	}
}

func TestWireCues(t *testing.T) {
	c, server := lab(t)
	c.begin("tools/call", `{"name":"measure","arguments":{"plate":"held"}}`)
	if err := server.AwaitHeld(t.Context(), "lamp"); err != nil {
		t.Fatal(err)
	}
	server.Cue("lamp")
	if got := c.await(); !strings.Contains(got, "let go") {
		t.Errorf("held: %s", got)
	}
	server.Cue("evening")
	if got := c.ask("tools/list", `{}`); strings.Contains(got, "measure") || !strings.Contains(got, "close") {
		t.Errorf("after the change: %s", got)
	}
	if got := c.ask("prompts/get", `{"name":"bye"}`); !strings.Contains(got, "Bye.") {
		t.Errorf("a prompt that came: %s", got)
	}
	if !slices.ContainsFunc(c.notes, func(s string) bool { return strings.HasPrefix(s, "notifications/tools/list_changed") }) {
		t.Errorf("nobody was told of the change: %q", c.notes)
	}
}

// TestWireFault matches arguments and counts.
func TestWireFault(t *testing.T) {
	c, server := lab(t)
	for i, want := range []string{`"absorbance"`, `"absorbance"`, `error {"code":-1,"message":"third"`, `"absorbance"`} {
		plate := []string{"x1", "y", "x2", "x3"}[i]
		if got := c.ask("tools/call", `{"name":"measure","arguments":{"plate":"`+plate+`"}}`); !strings.Contains(got, want) {
			t.Errorf("call %d: %s, want %s", i+1, got, want)
		}
	}
	left := server.Unstruck()
	if len(left) != 1 || left[0].Kind != "rpc_error" {
		t.Errorf("the fault of a result that answered no call is not told of: %v", left)
	}
	for range 2 { // there is nothing else to answer with, so it lasts
		if got := c.ask("tools/call", `{"name":"measure","arguments":{"plate":"broken"}}`); !strings.Contains(got, `error {"code":-32050`) {
			t.Errorf("a result that is nothing but a fault: %s", got)
		}
	}
	if left := server.Unstruck(); len(left) > 0 {
		t.Errorf("never struck: %v", left)
	}
}

// TestWireSettings has the settings of the protocol as a script has them.
func TestWireSettings(t *testing.T) {
	set, err := loadText(t, `server: s
protocol: {versions: [2025-06-18], modern: silent, sessions: none, replies: sse, retry: 2s, page_size: 3, list_changed: true, settle: 0s, shuffle: 7, auth: {bearer: x, servers: ["http://a"], scopes: [s]}}
tools: []
`)
	if err != nil {
		t.Fatal(err)
	}
	got := set.Servers[0].Mock.Protocol
	zero := time.Duration(0)
	if got.Settle == nil || *got.Settle != zero || got.Retry != 2*time.Second || got.PageSize != 3 || !got.ListChanged || got.Shuffle != 7 ||
		got.Modern != "silent" || got.Sessions != "none" || got.Replies != "sse" || got.Auth.Token != "x" || len(got.Auth.Servers) != 1 || len(got.Auth.Scopes) != 1 {
		t.Errorf("got %+v", got)
	}
}
