// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// table is a client's side of a connection on which requests wait, and what is
// noted of the server.
type table struct {
	*replies
	waits map[string]<-chan answer
	done  map[string]func()
	notes []string
	heard []string
}

func open(requests ...string) *table {
	x := &table{waits: map[string]<-chan answer{}, done: map[string]func(){}}
	x.replies = &replies{
		waiting: map[string]chan answer{},
		note:    func(format string, args ...any) { x.notes = append(x.notes, fmt.Sprintf(format, args...)) },
	}
	x.replies.notified = func(m mcpwire.Message) { x.heard = append(x.heard, m.Method) }
	for _, r := range requests {
		id, method, _ := strings.Cut(r, " ")
		x.waits[id], x.done[id] = x.expect(mcpwire.Message{ID: json.RawMessage(id), Method: method})
	}
	return x
}

func (x *table) comes(t *testing.T, frame string) {
	t.Helper()
	m, err := mcpwire.Parse([]byte(frame))
	if err != nil {
		t.Fatal(err)
	}
	x.take(m, nil)
}

// got is what a request has got: its result, its error, or nothing yet.
func (x *table) got(id string) string {
	select {
	case a := <-x.waits[id]:
		result, err := a.result()
		if err != nil {
			return "error: " + err.Error()
		}
		return string(result)
	default:
		return "nothing"
	}
}

// TestWhoGetsAnAnswer: an answer goes to its request; one that belongs to none
// is blamed on the request that it can only have been meant for.
func TestWhoGetsAnAnswer(t *testing.T) {
	const stray = `{"jsonrpc":"2.0","id":9,"result":{}}`
	for _, tt := range []struct {
		name     string
		requests []string
		frames   []string
		want     map[string]string // by id
		unread   string
	}{
		{"its own", []string{"1 a", "2 b"}, []string{`{"jsonrpc":"2.0","id":2,"result":{"n":2}}`}, map[string]string{"1": "nothing", "2": `{"n":2}`}, ""},
		{"an error without an id, and one request", []string{"1 a"}, []string{`{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}`}, map[string]string{"1": "error: MCP error -1: no"}, ""},
		{"an error without an id, one request and one that lasts", []string{"1 a", "2 subscriptions/listen"}, []string{`{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}`}, map[string]string{"1": "error: MCP error -1: no", "2": "nothing"}, ""},
		{"an error without an id, and two requests", []string{"1 a", "2 b"}, []string{`{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}`}, map[string]string{"1": "nothing", "2": "nothing"}, " (a response had the id of no open request: "},
		{"another id, and one request", []string{"1 a"}, []string{stray}, map[string]string{"1": "error: the reply cannot be used: request 1 was answered with the id 9"}, " (a response had the id of no open request: " + stray + ")"},
		{"another id, and one request that lasts", []string{"1 subscriptions/listen"}, []string{stray}, map[string]string{"1": "nothing"}, " (a response had the id of no open request: " + stray + ")"},
		{"another id, and two requests", []string{"1 a", "2 b"}, []string{stray}, map[string]string{"1": "nothing", "2": "nothing"}, " (a response"},
		{"another id, and then one of two is answered", []string{"1 a", "2 b"}, []string{stray, `{"jsonrpc":"2.0","id":1,"result":{}}`}, map[string]string{"1": "{}", "2": "error: the reply cannot be used: request 2 was answered with the id 9"}, " (a response"},
		{"two other ids, and two requests", []string{"1 a", "2 b"}, []string{stray, strings.Replace(stray, "9", `"x"`, 1)}, map[string]string{"1": `error: the reply cannot be used: request 1 was answered with the id 9, "x"`, "2": `error: the reply cannot be used: request 2 was answered with the id 9, "x"`}, " (2 responses had the id of no open request; the last: "},
		{"another id, and no request is left of those that were open", []string{"1 a", "2 b"}, []string{stray, `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}`}, map[string]string{"1": "error: MCP error -1: no", "2": "error: the reply cannot be used: request 2 was answered with the id 9"}, " (a response"},
		{"the id of one that is over", []string{"1 a", "2 b"}, []string{`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`}, map[string]string{"1": "{}", "2": "nothing"}, " (a response"},
		{"a text for a number", []string{"1 a"}, []string{`{"jsonrpc":"2.0","id":"1","result":{}}`}, map[string]string{"1": "{}"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := open(tt.requests...)
			for _, f := range tt.frames {
				x.comes(t, f)
			}
			got := map[string]string{}
			for id := range tt.want {
				got[id] = strings.Replace(x.got(id), mcpwire.ErrUnusable.Error(), "the reply cannot be used", 1)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if u := x.unread(); !strings.HasPrefix(u, tt.unread) || tt.unread == "" && u != "" {
				t.Errorf("unread: %q, want %q", u, tt.unread)
			}
			if (len(x.notes) > 0) != (tt.unread != "") || len(x.notes) > 0 && !strings.HasPrefix(x.notes[0], "sent a response to no open request: {") {
				t.Errorf("notes %q", x.notes)
			}
		})
	}
	x := open("1 a")
	x.comes(t, `{"jsonrpc":"2.0","method":"notifications/x"}`)
	if len(x.heard) != 1 || x.got("1") != "nothing" || !x.replies.waits(json.RawMessage("1")) || x.replies.waits(json.RawMessage("2")) {
		t.Errorf("a notification: heard %q", x.heard)
	}
	if x.done["1"](); x.replies.waits(json.RawMessage("1")) {
		t.Error("a request that is over still waits")
	}
	const late = `{"jsonrpc":"2.0","id":1,"result":{}}`
	if x.comes(t, late); len(x.notes) > 0 || x.unread() != "" {
		t.Errorf("a late answer: notes %q, unread %q", x.notes, x.unread())
	}
	if x.comes(t, late); len(x.notes) != 1 || x.unread() == "" {
		t.Errorf("the same once more: notes %q, unread %q", x.notes, x.unread())
	}
	x = open()
	for range maxNotes + 3 {
		x.comes(t, stray)
	}
	if len(x.notes) != maxNotes {
		t.Errorf("%d notes, want %d", len(x.notes), maxNotes)
	}
	x = open()
	for range 2 {
		x.comes(t, "{\"jsonrpc\":\"2.0\",\"method\":\"a\xff\"}")
	}
	if len(x.notes) != 1 || !strings.HasPrefix(x.notes[0], "sent bytes that are not UTF-8: ") {
		t.Errorf("notes %q", x.notes)
	}
}

// TestWhatIsUnreadable: a line that is no message is told, with what can still
// be read in it, and fails the request that it was to answer.
func TestWhatIsUnreadable(t *testing.T) {
	const good = `{"jsonrpc":"2.0","id":1,"result":{"n":1}}`
	for _, tt := range []struct {
		name   string
		junk   []mcpwire.JunkError
		want   string // what request 1 gets
		unread string
	}{
		{"a banner", []mcpwire.JunkError{{Line: []byte("Hello"), Why: "x"}}, "nothing", ` (a line is not a JSON-RPC message (x): "Hello")`},
		{"two", []mcpwire.JunkError{{Line: []byte("Hello"), Why: "x"}, {Line: []byte("there"), Why: "y"}}, "nothing", ` (2 lines were not JSON-RPC; the last: line is not a JSON-RPC message (y): "there")`},
		{"a header", []mcpwire.JunkError{{Line: []byte("Content-Length: 12")}}, "nothing", " (the server frames its messages with Content-Length, as language servers do; MCP requires one message per line)"},
		{"a header, late", []mcpwire.JunkError{{Line: []byte("a long line with content-length: 12")}}, "nothing", " (a line"},
		{"an answer that is too long", []mcpwire.JunkError{{Line: []byte(`{"jsonrpc"`), Why: "too long", ID: json.RawMessage("1")}}, `error: U: line is not a JSON-RPC message (too long): "{\"jsonrpc\""`, " (a line"},
		{"an answer that is torn", []mcpwire.JunkError{{Line: []byte(`{"jsonrpc"`), ID: json.RawMessage("1"), Torn: true}}, "nothing", " (a line"},
		{"an answer behind a log", []mcpwire.JunkError{{Line: []byte("log " + good)}}, `{"n":1}`, " (a line"},
		{"an answer behind one that is broken", []mcpwire.JunkError{{Line: []byte(`{"jsonrpc":"2.0","id":1` + good + " x"), ID: json.RawMessage("1")}}, `{"n":1}`, " (a line"},
		{"an answer to another, behind one that is broken", []mcpwire.JunkError{{Line: []byte(`{"jsonrpc":` + strings.Replace(good, `"id":1`, `"id":2`, 1)), Why: "x", ID: json.RawMessage("1")}}, `error: U: line is not a JSON-RPC message (x): `, " (a line"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := open("1 a", "2 b")
			for i := range tt.junk {
				x.takeAll(nil, &tt.junk[i], nil)
			}
			got := strings.Replace(x.got("1"), mcpwire.ErrUnusable.Error(), "U", 1)
			if got != tt.want && !(strings.HasSuffix(tt.want, ": ") && strings.HasPrefix(got, tt.want)) {
				t.Errorf("it gets %s, want %s", got, tt.want)
			}
			if waits := x.replies.waits(json.RawMessage("1")); waits != (got == "nothing") {
				t.Errorf("it waits for an answer: %t", waits)
			}
			if u := x.unread(); !strings.HasPrefix(u, tt.unread) || strings.HasSuffix(tt.unread, ")") && u != tt.unread {
				t.Errorf("unread: %q, want %q", u, tt.unread)
			}
			if len(x.notes) != len(tt.junk) {
				t.Errorf("notes %q", x.notes)
			}
		})
	}
	var ids []string
	for _, m := range (&mcpwire.JunkError{Line: []byte("a " + good + ` {"jsonrpc" ` + strings.Replace(good, `"id":1`, `"id":2`, 1) + good)}).Salvage() {
		ids = append(ids, string(m.ID))
	}
	if d := cmp.Diff([]string{"1", "2", "1"}, ids); d != "" {
		t.Errorf("saved (-want +got):\n%s", d)
	}
	x := open()
	for range maxNotes + 3 {
		x.takeAll(nil, &mcpwire.JunkError{Line: []byte("x")}, nil)
	}
	if len(x.notes) != maxNotes {
		t.Errorf("%d notes, want %d", len(x.notes), maxNotes)
	}
}

// TestBlameAfterAnAnswerOfNoUse: a request that has got an answer of no use is not the
// one that an answer with another id was meant for.
func TestBlameAfterAnAnswerOfNoUse(t *testing.T) {
	x := open("1 a", "2 b")
	x.takeAll(nil, &mcpwire.JunkError{Line: []byte(`{"jsonrpc"`), Why: "too long", ID: json.RawMessage("1")}, nil)
	x.comes(t, `{"jsonrpc":"2.0","id":9,"result":{}}`)
	if got, want := x.got("2"), "error: unusable answer: request 2 was answered with the id 9"; got != want {
		t.Errorf("request 2 gets %s, want %s", got, want)
	}
}

// TestAskedOfTheClient: what a server asks for is given by its handler, and
// refused where there is none, or where the handler gives what cannot be used.
func TestAskedOfTheClient(t *testing.T) {
	gives := func(result string, err error) Handler {
		return func(context.Context, json.RawMessage) (json.RawMessage, error) { return json.RawMessage(result), err }
	}
	const sampling, elicitation, roots = "sampling/createMessage", "elicitation/create", "roots/list"
	for _, tt := range []struct {
		method string
		opts   Options
		want   string
		code   int
	}{
		{"ping", Options{}, "{}", 0},
		{sampling, Options{}, "no sampling handler configured", 0},
		{elicitation, Options{}, "no elicitation handler configured", 0},
		{roots, Options{}, "no roots handler configured", 0},
		{"tasks/get", Options{}, "unsupported request method: tasks/get", 0},
		{roots, Options{Roots: gives(`{"roots":[]}`, nil)}, `{"roots":[]}`, 0},
		{elicitation, Options{Elicitation: gives(`{"action":"accept"}`, nil)}, `{"action":"accept"}`, 0},
		{roots, Options{Roots: gives("", errors.New("boom"))}, "boom", mcpwire.CodeInternal},
		{roots, Options{Roots: gives("", &Error{RPC: &jsonrpc.Error{Code: -7, Message: "not now"}})}, "not now", -7},
		{roots, Options{Roots: gives("", &Error{Op: "x", Server: "s", Err: errors.New("boom")})}, `x server "s": boom`, mcpwire.CodeInternal},
		{roots, Options{Roots: gives(`{"roots":5}`, nil)}, "the client's answer is unusable: ", mcpwire.CodeInternal},
	} {
		s := &Session{opts: tt.opts}
		got, err := s.answer(t.Context(), mcpwire.Message{Method: tt.method})
		said, code := string(got), 0
		if err != nil {
			said = err.Error()
			if refused := (*rpcError)(nil); errors.As(err, &refused) {
				said, code = refused.rpc.Message, refused.rpc.Code
			}
		}
		if code != tt.code || said != tt.want && !(strings.HasSuffix(tt.want, ": ") && strings.HasPrefix(said, tt.want)) {
			t.Errorf("%s: %q, code %d; want %q, %d", tt.method, said, code, tt.want, tt.code)
		}
	}
	for want, o := range map[string]Options{
		`{}`: {}, `{"sampling":{}}`: {Sampling: gives("", nil)}, `{"elicitation":{}}`: {Elicitation: gives("", nil)}, `{"roots":{"listChanged":true}}`: {Roots: gives("", nil)},
	} {
		if got := string(o.capabilities()); got != want {
			t.Errorf("capabilities %s, want %s", got, want)
		}
	}
	var in inputs
	if got := in.wanted(); got != "nothing in particular" {
		t.Errorf("nothing is wanted: %s", got)
	}
	if err := json.Unmarshal([]byte(`{"inputRequests":{"b":{"method":"roots/list"},"a":{"method":"x"}}}`), &in); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if got := in.wanted(); got != `roots/list as "b", x as "a"` {
			t.Fatalf("wanted: %s", got)
		}
	}
	s := &Session{opts: Options{Roots: gives(`{"roots":[]}`, nil)}}
	if _, err := s.give(t.Context(), &in); err == nil || err.Error() != `giving input "a": unsupported request method: x` {
		t.Errorf("giving: %v", err)
	}
	delete(in.Requests, "a")
	if got, err := s.give(t.Context(), &in); err != nil || string(got["b"]) != `{"roots":[]}` || len(got) != 1 {
		t.Errorf("giving: %v, %v", got, err)
	}
}
