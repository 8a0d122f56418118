// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

var update = flag.Bool("update", false, "rewrite the conversations in testdata")

// TestMain lets the test binary be a stdio server of its own tests.
func TestMain(m *testing.M) {
	if os.Getenv("MOCKMCP_CHILD") != "" {
		script := world()
		script.Protocol.Modern = mockmcp.Modern(os.Getenv("MOCKMCP_MODERN"))
		s, err := mockmcp.New(script, nil)
		if err == nil {
			err = s.ServeStdio(context.Background(), os.Stdin, os.Stdout)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	goleak.VerifyTestMain(m)
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// answer is an Answer function without a computation.
func answer(a mockmcp.Answer) func(*mockmcp.Call) (*mockmcp.Answer, error) {
	return func(*mockmcp.Call) (*mockmcp.Answer, error) { return &a, nil }
}

// args reads the arguments of a call into a map.
func args(c *mockmcp.Call) map[string]string {
	var m map[string]string
	_ = json.Unmarshal(c.Args, &m)
	return m
}

// world is a small server with one tool for each way to answer.
func world() mockmcp.Script {
	return mockmcp.Script{
		Name:         "lab",
		Instructions: "Build, then delete.",
		State:        raw(`{"models": {"old": {"n": 1.10}}}`),
		FailedWhen: func(_ *mockmcp.Call, result json.RawMessage) (bool, error) {
			return strings.Contains(string(result), `"success":false`), nil
		},
		Tools: []mockmcp.Tool{
			{
				Name: "build", Title: "Build", Description: "Build a model.",
				Input:       raw(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"id":{"type":"string"},"n":{"type":"integer","minimum":1}},"required":["id"],"additionalProperties":false}`),
				Output:      raw(`{"type":"object"}`),
				Annotations: raw(`{"readOnlyHint":false}`),
				Results: []mockmcp.Result{
					{
						Match: func(c *mockmcp.Call) (bool, string, error) {
							return strings.HasPrefix(args(c)["id"], "m"), "id does not begin with m", nil
						},
						Answer: func(c *mockmcp.Call) (*mockmcp.Answer, error) {
							return &mockmcp.Answer{JSON: raw(fmt.Sprintf(`{"model": %q, "rate": 1.10, "note": "<b>"}`, args(c)["id"]))}, nil
						},
						Set: func(c *mockmcp.Call, result json.RawMessage) (json.RawMessage, error) {
							return raw(fmt.Sprintf(`{"models": {%q: {"built": true}}}`, args(c)["id"])), nil
						},
					},
					{
						Match: func(c *mockmcp.Call) (bool, string, error) {
							return args(c)["id"] == "taken", "id is not taken", nil
						},
						Answer: answer(mockmcp.Answer{JSON: raw(`{"success":false}`)}),
					},
				},
			},
			{Name: "delete", Input: raw(`{"type":"object"}`), Results: []mockmcp.Result{{
				Answer: answer(mockmcp.Answer{Text: "deleted"}),
				Set: func(c *mockmcp.Call, result json.RawMessage) (json.RawMessage, error) {
					return raw(`{"models": {"old": null}}`), nil
				},
			}}},
			{Name: "fail", Results: []mockmcp.Result{{Answer: answer(mockmcp.Answer{Text: "unknown genome", IsError: true})}}},
			{Name: "rpc", Results: []mockmcp.Result{{Answer: answer(mockmcp.Answer{
				RPCError: &jsonrpc.Error{Code: -32050, Message: "quota", Data: raw(`{"left": 0, "id": 12345678901234567890}`)},
			})}}},
			{Name: "picture", Results: []mockmcp.Result{{Answer: answer(mockmcp.Answer{
				Content: []json.RawMessage{raw(`{"type":"image","data":"AAAA","mimeType":"image/png"}`), raw(`{"type":"hologram","x":1}`), raw(`{"type":"text","text":"seen"}`)},
			})}}},
			{Name: "list", Results: []mockmcp.Result{{Answer: answer(mockmcp.Answer{JSON: raw(`[1, 2]`)})}}},
			{Name: "echo", Handler: func(_ context.Context, c *mockmcp.Call) (*mockmcp.Answer, error) {
				return &mockmcp.Answer{Text: string(c.Args)}, nil
			}},
			{Name: "broken", Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) {
				panic("a bug in the script")
			}},
		},
	}
}

func newServer(t *testing.T, script mockmcp.Script, opts *mockmcp.Options) *mockmcp.Server {
	t.Helper()
	s, err := mockmcp.New(script, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// client is a client that knows frames only.
type client struct {
	t    *testing.T
	conn io.ReadWriteCloser
	r    *mcpwire.Reader
}

func dial(t *testing.T, s *mockmcp.Server) *client {
	t.Helper()
	conn, err := s.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &client{t, conn, mcpwire.NewReader(conn, nil)}
}

func (c *client) send(frame string) {
	c.t.Helper()
	if _, err := io.WriteString(c.conn, frame+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) receive() mcpwire.Message {
	c.t.Helper()
	m, err := c.r.Next()
	if err != nil {
		c.t.Fatal(err)
	}
	return m
}

func (c *client) call(tool, arguments string) mcpwire.Message {
	c.t.Helper()
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments))
	return c.receive()
}

// TestConversations plays the files in testdata: "> " is sent by the client,
// "< " must come back; a line "> ..." is sent when all before was answered.
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := newServer(t, world(), nil)
			c := dial(t, s)
			sections := map[string]*txtar.File{}
			for i := range ar.Files {
				sections[ar.Files[i].Name] = &ar.Files[i]
			}
			talk := sections["conversation"]
			var got strings.Builder
			for line := range strings.Lines(string(talk.Data)) {
				line = strings.TrimSuffix(line, "\n")
				if strings.HasPrefix(line, "< ") {
					fmt.Fprintf(&got, "< %s\n", c.receive().Frame)
					continue
				}
				got.WriteString(line + "\n")
				if frame, ok := strings.CutPrefix(line, "> "); ok {
					c.send(frame)
				}
			}
			want := map[string]string{"conversation": got.String()}
			if sections["state"] != nil {
				want["state"] = string(s.State()) + "\n"
			}
			if sections["journal"] != nil {
				want["journal"] = journal(t, s)
			}
			for name, text := range want {
				if *update {
					sections[name].Data = []byte(text)
				} else if diff := cmp.Diff(string(sections[name].Data), text); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// journal shows a server's journal with its times masked.
func journal(t *testing.T, s *mockmcp.Server) string {
	t.Helper()
	times := regexp.MustCompile(`,"start":"[^"]*","duration_ns":\d+`)
	var b strings.Builder
	for _, x := range s.Journal() {
		b.WriteString(times.ReplaceAllString(string(mcpwire.Marshal(x)), "") + "\n")
	}
	return b.String()
}

func TestScriptErrors(t *testing.T) {
	tool := func(input string) mockmcp.Script {
		return mockmcp.Script{Name: "x", Tools: []mockmcp.Tool{{Name: "a", Input: raw(input), Pos: harness.Position{File: "x.yaml", Line: 3}}}}
	}
	for _, tt := range []struct {
		name   string
		script mockmcp.Script
		want   string
	}{
		{"state is a list", mockmcp.Script{State: raw(`[]`)}, "state: is array, not an object"},
		{"state is no JSON", mockmcp.Script{State: raw(`{`)}, "state: "},
		{"no name", mockmcp.Script{Tools: []mockmcp.Tool{{}}}, `tool "": has no name`},
		{"twice", mockmcp.Script{Tools: []mockmcp.Tool{{Name: "a"}, {Name: "a"}}}, `tool "a": is duplicated`},
		{"boolean schema", tool(`true`), `x.yaml:3: tool "a": input schema: is not a JSON object: true`},
		{"not an object's schema", tool(`{"type":"array"}`), "must say type: object"},
		{"wrong keyword type", tool(`{"type":"object","properties":[]}`), "input schema: "},
		{"bad pattern", tool(`{"type":"object","properties":{"a":{"type":"string","pattern":"("}}}`), "input schema: "},
		{"dangling reference", tool(`{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}`), "input schema: "},
		{"old draft", tool(`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`), "draft-07 and 2020-12"},
		{"output", mockmcp.Script{Tools: []mockmcp.Tool{{Name: "a", Output: raw(`true`)}}}, "output schema is not a JSON object"},
		{"two ways to answer", mockmcp.Script{Tools: []mockmcp.Tool{{
			Name: "a", Results: []mockmcp.Result{{}},
			Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) { return nil, nil },
		}}}, "both a handler and results"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := mockmcp.New(tt.script, nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("New() = %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestAnswerErrorsAreScriptErrors(t *testing.T) {
	for _, tt := range []struct {
		name   string
		result mockmcp.Result
		want   string
	}{
		{"none", mockmcp.Result{}, "the result has no answer"},
		{"nil", mockmcp.Result{Answer: func(*mockmcp.Call) (*mockmcp.Answer, error) { return nil, nil }}, "there is no answer"},
		{"two", mockmcp.Result{Answer: answer(mockmcp.Answer{Text: "a", JSON: raw("1")})}, "the answer has more than one of json, text, content and rpc_error"},
		{"bad JSON", mockmcp.Result{Answer: answer(mockmcp.Answer{JSON: raw("{")})}, "the answer's json is not valid: {"},
		{"bad block", mockmcp.Result{Answer: answer(mockmcp.Answer{Content: []json.RawMessage{raw(`"x"`)}})}, `a content block is not a JSON object: "x"`},
		{"error", mockmcp.Result{Answer: func(*mockmcp.Call) (*mockmcp.Answer, error) { return nil, errors.New("no such key: x") }}, "no such key: x"},
		{"panic", mockmcp.Result{Answer: func(*mockmcp.Call) (*mockmcp.Answer, error) { panic("oops") }}, "panic: oops"},
		{"match", mockmcp.Result{Match: func(*mockmcp.Call) (bool, string, error) { return false, "", errors.New("bad when") }}, "matching: bad when"},
		{"patch", mockmcp.Result{
			Answer: answer(mockmcp.Answer{Text: "a"}),
			Set:    func(*mockmcp.Call, json.RawMessage) (json.RawMessage, error) { return raw("1"), nil },
		}, "set: the patch is number, not an object"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.result.Pos = harness.Position{File: "s.yaml", Line: 7}
			s := newServer(t, mockmcp.Script{Name: "x", Tools: []mockmcp.Tool{{Name: "a", Results: []mockmcp.Result{tt.result}}}}, nil)
			m := dial(t, s).call("a", "{}")
			if m.Error == nil || m.Error.Code != -32603 || !strings.Contains(m.Error.Message, tt.want) {
				t.Errorf("the client got %s", m.Frame)
			}
			x := s.Journal()[0]
			if x.ScriptError != "answering x.a: "+tt.want || x.ScriptPos != tt.result.Pos || !strings.Contains(m.Error.Message, "s.yaml:7: answering x.a: ") || !x.Failed || x.Miss != "" {
				t.Errorf("journal: %+v", x)
			}
			if s.Err() == nil {
				t.Error("Err() = nil")
			}
		})
	}
}

func TestArgumentsAreCheckedInWordsForAModel(t *testing.T) {
	script := mockmcp.Script{Name: "x", Tools: []mockmcp.Tool{{
		Name: "t",
		Input: raw(`{"type":"object","properties":{
			"id":{"type":"string","pattern":"^m","maxLength":5},
			"n":{"type":"integer","minimum":1,"exclusiveMaximum":10},
			"kind":{"enum":["a","b"]},
			"tags":{"type":"array","items":{"type":"string"},"maxItems":2},
			"where":{"$ref":"#/$defs/place"},
			"either":{"type":["string","null"]},
			"price":{"multipleOf":0.01},"odd":{"oneOf":[{"type":"string"},{"type":"boolean"}]}},
			"required":["id"],"additionalProperties":false,
			"$defs":{"place":{"type":"object","properties":{"lat":{"type":"number"}},"required":["lat"]}}}`),
		Results: []mockmcp.Result{{Answer: answer(mockmcp.Answer{Text: "ok"})}},
	}}}
	for _, tt := range []struct{ name, args, want string }{
		{"fine", `{"id":"m1","n":2.0,"kind":"a","tags":[],"where":{"lat":1},"either":null,"odd":true}`, ""},
		{"missing and unknown", `{"ID":"m1"}`, `missing required property "id"; unknown property "ID" (known: either, id, kind, n, odd, price, tags, where)`},
		{"types", `{"id":5,"n":"2"}`, `id: expected string, got integer 5; n: expected integer, got string "2"`},
		{"a multiple that no float is", `{"id":"m","price":19.99}`, ""},
		{"no multiple", `{"id":"m","price":19.995}`, `price: expected a multiple of 0.01, got 19.995`},
		{"fraction", `{"id":"m","n":1.5}`, `n: expected integer, got number 1.5`},
		{"bounds", `{"id":"m","n":10}`, `n: expected less than 10, got 10`},
		{"pattern and length", `{"id":"xxxxxx"}`, `id: has 6 characters, more than 5; id: "xxxxxx" does not match the pattern ^m`},
		{"enum", `{"id":"m","kind":"c"}`, `kind: expected one of ["a","b"], got "c"`},
		{"items", `{"id":"m","tags":["a",2,"c"]}`, `tags: has 3 items, more than 2; tags[1]: expected string, got integer 2`},
		{"reference", `{"id":"m","where":{}}`, `where: missing required property "lat"`},
		{"union", `{"id":"m","either":1}`, `either: expected string or null, got integer 1`},
		{"no words for it", `{"id":"m","odd":1}`, `oneOf: did not validate`},
		{"no object", `[1]`, `expected object, got [1]`},
		{"too deep", `{"id":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`, `JSON nests deeper than 1000 levels`},
		{"number out of range", `{"id":"m","n":1e999}`, `n: expected less than 10, got 1e999`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, script, nil)
			m := dial(t, s).call("t", tt.args)
			if m.Error != nil {
				t.Fatalf("protocol error %s", m.Frame)
			}
			r, err := mcpwire.ParseResult(m.Result)
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == "" {
				if r.IsError {
					t.Errorf("refused: %s", r.Text())
				}
				return
			}
			if prefix := "MCP error -32602: Input validation error: Invalid arguments for tool t: "; !r.IsError || !strings.HasPrefix(r.Text(), prefix+tt.want) {
				t.Errorf("got  %s\nwant %s%s", r.Text(), prefix, tt.want)
			}
			if x := s.Journal()[0]; x.Miss != "" || !x.Failed || string(x.Args) != tt.args {
				t.Errorf("journal: %+v", x)
			}
		})
	}
}

func TestLatencyIsOutsideTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, mockmcp.Script{Name: "x", State: raw(`{"n":0}`), Tools: []mockmcp.Tool{{
			Name: "slow", Results: []mockmcp.Result{{
				Latency: time.Hour,
				Answer:  func(c *mockmcp.Call) (*mockmcp.Answer, error) { return &mockmcp.Answer{JSON: c.State}, nil },
				Set: func(c *mockmcp.Call, result json.RawMessage) (json.RawMessage, error) {
					return raw(fmt.Sprintf(`{"n":%d}`, len(c.State))), nil
				},
			}},
		}}}, nil)
		c := dial(t, s)
		begin := time.Now()
		const calls = 20
		for i := range calls {
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"slow"}}`, i))
		}
		for range calls {
			c.receive()
		}
		if d := time.Since(begin); d != time.Hour {
			t.Errorf("%d calls took %v", calls, d)
		}
		for i, x := range s.Journal() {
			if want := []string{`{"n":0}`, `{"n":7}`}[min(i, 1)]; string(x.Result) != want || x.Duration != time.Hour || x.Args != nil {
				t.Errorf("call %d: result %s, want %s; took %v; args %s", i, x.Result, want, x.Duration, x.Args)
			}
		}
		s.Close()
	})
}

func TestCallsAreDecidedInOrderOfArrival(t *testing.T) {
	n := 0
	s := newServer(t, mockmcp.Script{Name: "x", Tools: []mockmcp.Tool{{Name: "next", Results: []mockmcp.Result{{
		Answer: func(c *mockmcp.Call) (*mockmcp.Answer, error) {
			n++
			return &mockmcp.Answer{Text: fmt.Sprintf("%s %d", args(c)["want"], n)}, nil
		},
	}}}}}, nil)
	c := dial(t, s)
	const calls = 200
	for i := 1; i <= calls; i++ {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"next","arguments":{"want":"%d"}}}`, i, i))
	}
	for range calls {
		c.receive()
	}
	for i, x := range s.Journal() {
		if want := fmt.Sprintf("%d %d", i+1, i+1); x.Text != want || x.Seq != i+1 {
			t.Errorf("entry %d: %q, want %q", x.Seq, x.Text, want)
		}
	}
}

func TestCancelledCallGetsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, mockmcp.Script{Name: "x", Tools: []mockmcp.Tool{
			{Name: "slow", Results: []mockmcp.Result{{Latency: time.Hour, Answer: answer(mockmcp.Answer{Text: "late"})}}},
			{Name: "quick", Results: []mockmcp.Result{{Answer: answer(mockmcp.Answer{Text: "now"})}}},
		}}, nil)
		c := dial(t, s)
		c.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"slow"}}`)
		synctest.Wait()
		c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
		synctest.Wait()
		c.send(`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"quick"}}`)
		if m := c.receive(); m.Key() != "8" {
			t.Errorf("got %s", m.Frame)
		}
		s.Close()
	})
}

func TestCloseEndsCallsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, mockmcp.Script{Name: "x", Tools: []mockmcp.Tool{{Name: "hang", Handler: func(ctx context.Context, _ *mockmcp.Call) (*mockmcp.Answer, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}}}, nil)
		c := dial(t, s)
		c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hang"}}`)
		synctest.Wait()
		s.Close()
		if _, err := c.r.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("the client saw %v", err)
		}
		if _, err := s.Dial(t.Context()); err == nil {
			t.Error("Dial after Close succeeded")
		}
	})
}

// TestPipesDoNotShareASession guards against mcp-go's one stdio session for
// the whole process: answers of one server must not reach another's client.
func TestPipesDoNotShareASession(t *testing.T) {
	var clients []*client
	for range 2 {
		clients = append(clients, dial(t, newServer(t, world(), nil)))
	}
	listen := `{"jsonrpc":"2.0","id":"listen-%d","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	for i, c := range clients {
		c.send(fmt.Sprintf(listen, i))
	}
	for i, c := range clients {
		for range 2 { // the acknowledgement, then the answer
			if m := c.receive(); !strings.Contains(string(m.Frame), fmt.Sprintf("listen-%d", i)) {
				t.Errorf("client %d got %s", i, m.Frame)
			}
		}
	}
}

func TestServeStdioAnswersWhatCameBeforeTheEnd(t *testing.T) {
	s := newServer(t, world(), nil)
	var out strings.Builder
	in := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete","arguments":{}}}` // and no newline
	if err := s.ServeStdio(t.Context(), strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	if want := `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"deleted"}]}}` + "\n"; out.String() != want {
		t.Errorf("got %s", out.String())
	}
}

// TestServeStdioOpensFirst writes everything at once, as a shell script does:
// what comes behind the request that opens the session is answered behind it.
func TestServeStdioOpensFirst(t *testing.T) {
	for _, open := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
	} {
		in := open + `
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"ping"}
{"jsonrpc":"2.0","id":3,"method":"tools/list"}
`
		for range 100 { // without an order, one of these comes out otherwise
			s := newServer(t, world(), nil)
			var out strings.Builder
			if err := s.ServeStdio(t.Context(), strings.NewReader(in), &out); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(out.String(), `{"jsonrpc":"2.0","id":1,`) || strings.Count(out.String(), "\n") != 3 {
				t.Fatalf("answers\n%s", out.String())
			}
		}
	}
}

func TestReset(t *testing.T) {
	s := newServer(t, world(), nil)
	c := dial(t, s)
	before := string(s.State())
	c.call("delete", `{}`)
	c.call("nothing", `{}`)
	if string(s.State()) == before || len(s.Journal()) != 2 {
		t.Fatalf("state %s, %d calls", s.State(), len(s.Journal()))
	}
	s.Reset()
	if got := string(s.State()); got != before || len(s.Journal()) != 0 || s.Lists() != 0 || s.Err() != nil {
		t.Errorf("after the reset: state %s, %d calls, %d lists, error %v", got, len(s.Journal()), s.Lists(), s.Err())
	}
	c.call("delete", `{}`)
	if j := s.Journal(); len(j) != 1 || j[0].Seq != 1 {
		t.Errorf("journal %+v", j)
	}
}

// TestResetDuringACall drops the entry of a call that is under way; the client
// gets its answer all the same.
func TestResetDuringACall(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	s := newServer(t, mockmcp.Script{Name: "x", Tools: []mockmcp.Tool{{Name: "t", Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) {
		close(entered)
		<-release
		return &mockmcp.Answer{Text: "late"}, nil
	}}}}, nil)
	go func() {
		<-entered
		s.Reset()
		close(release)
	}()
	if m := dial(t, s).call("t", `{}`); !strings.Contains(string(m.Frame), "late") {
		t.Errorf("got %s", m.Frame)
	}
	if j := s.Journal(); len(j) != 0 {
		t.Errorf("journal %+v", j)
	}
}

func TestServeStdioEndsWithItsContext(t *testing.T) {
	s := newServer(t, world(), nil)
	in, _ := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.ServeStdio(ctx, in, io.Discard); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("ServeStdio() = %v", err)
	}
}

func TestServeStdioInAChildProcess(t *testing.T) {
	p, err := mcpwire.Start(mcpwire.Command{Args: []string{os.Args[0]}, Env: []string{"MOCKMCP_CHILD=1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	c := &client{t, p, mcpwire.NewReader(p, nil)}
	if m := c.call("echo", `{"a":1.10}`); !strings.Contains(string(m.Frame), `"text":"{\"a\":1.10}"`) {
		t.Errorf("got %s", m.Frame)
	}
	p.Close()
	if got := p.Ending(); got != "exit status 0" {
		t.Errorf("the child ended with %s; stderr: %s", got, p.Stderr())
	}
}

func TestTurnAndUserReachTheCall(t *testing.T) {
	s := newServer(t, mockmcp.Script{Name: "x", Tools: []mockmcp.Tool{{Name: "t", Handler: func(_ context.Context, c *mockmcp.Call) (*mockmcp.Answer, error) {
		return &mockmcp.Answer{Text: fmt.Sprint(c.Turn, " ", c.User)}, nil
	}}}}, &mockmcp.Options{Turn: func() int { return 3 }, User: func() string { return "hello" }})
	if m := dial(t, s).call("t", "{}"); !strings.Contains(string(m.Frame), "3 hello") {
		t.Errorf("got %s", m.Frame)
	}
}
