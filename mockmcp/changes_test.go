// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/mockmcp"
	"github.com/rehearse-dev/rehearse/mockmcp/fault"
)

// growing is a server with tools a, b and c to which change happens.
func growing(changes ...mockmcp.Change) mockmcp.Script {
	s := mockmcp.Script{Name: "x", Changes: changes}
	for _, name := range []string{"a", "b", "c"} {
		s.Tools = append(s.Tools, mockmcp.Tool{Name: name, Results: []mockmcp.Result{{Answer: answer(mockmcp.Answer{Text: "old"})}}})
	}
	s.Resources = []mockmcp.Resource{{URI: "x:r", Text: "r"}}
	s.Prompts = []mockmcp.Prompt{{Name: "p"}}
	return s
}

// diary writes down what a client receives, with the time since the test began.
type diary struct {
	*client
	start time.Time
	lines []string
}

// open does the handshake of the old era.
func open(t *testing.T, s *mockmcp.Server) *diary {
	t.Helper()
	c := dial(t, s)
	c.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	c.receive()
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	synctest.Wait() // a client that is not there yet is told nothing
	return &diary{client: c, start: time.Now()}
}

// read notes the next n frames.
func (d *diary) read(n int) {
	d.t.Helper()
	for range n {
		m := d.receive()
		what := strings.TrimPrefix(m.Method, "notifications/")
		if m.Method == "" {
			what = "answer " + m.Key()
		}
		d.lines = append(d.lines, fmt.Sprint(time.Since(d.start), " ", what))
	}
}

func (d *diary) calls(id int, tool string) {
	d.t.Helper()
	d.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}`, id, tool))
}

func (d *diary) lists(id int) {
	d.t.Helper()
	d.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, id))
}

// names lists the tools of a server, without a client.
func names(s *mockmcp.Server) string {
	var names []string
	for _, tool := range s.Tools() {
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}

func TestChanges(t *testing.T) {
	d := mockmcp.Tool{Name: "d"}
	for _, tt := range []struct {
		name   string
		change mockmcp.Change
		do     func(d *diary, s *mockmcp.Server)
		want   []string
		tools  string // afterwards
	}{
		{
			"the second call, told after its answer",
			mockmcp.Change{Call: 2, AddTools: []mockmcp.Tool{d}, RemoveTools: []string{"a"}},
			func(d *diary, _ *mockmcp.Server) {
				d.calls(1, "a")
				d.read(1)
				d.calls(2, "a") // answered still
				d.read(2)
				d.calls(3, "b")
				d.read(1)
			},
			[]string{"0s answer 1", "0s answer 2", "0s tools/list_changed", "0s answer 3"},
			"b c d",
		},
		{
			"the second call of b, told a while later",
			mockmcp.Change{Call: 2, Tool: "b", RemoveTools: []string{"b"}, Delay: 5 * time.Millisecond},
			func(d *diary, _ *mockmcp.Server) {
				for i, tool := range []string{"b", "a", "b"} {
					d.calls(i+1, tool)
					d.read(1)
				}
				d.read(1)
			},
			[]string{"0s answer 1", "0s answer 2", "0s answer 3", "5ms tools/list_changed"},
			"a c",
		},
		{
			"every call of a, and nothing is new",
			mockmcp.Change{Tool: "a", Tell: []string{"tools", "prompts", "resources"}},
			func(d *diary, _ *mockmcp.Server) {
				d.calls(1, "a")
				d.read(4)
				d.calls(2, "b")
				d.read(1)
				d.calls(3, "a")
				d.read(4)
			},
			[]string{
				"0s answer 1", "0s tools/list_changed", "0s prompts/list_changed", "0s resources/list_changed",
				"0s answer 2",
				"0s answer 3", "0s tools/list_changed", "0s prompts/list_changed", "0s resources/list_changed",
			},
			"a b c",
		},
		{
			"a list, overtaken by the news",
			mockmcp.Change{List: 1, AddTools: []mockmcp.Tool{d}, Early: true},
			func(d *diary, _ *mockmcp.Server) {
				d.lists(1)
				d.read(2)
				d.lists(2)
				d.read(1)
			},
			[]string{"0s tools/list_changed", "0s answer 1", "0s answer 2"},
			"a b c d",
		},
		{
			"a storm: every list",
			mockmcp.Change{List: -1, Tell: []string{"tools"}},
			func(d *diary, _ *mockmcp.Server) {
				for i := range 3 {
					d.lists(i)
					d.read(2)
				}
			},
			[]string{"0s answer 0", "0s tools/list_changed", "0s answer 1", "0s tools/list_changed", "0s answer 2", "0s tools/list_changed"},
			"a b c",
		},
		{
			"time",
			mockmcp.Change{After: time.Minute, RemoveTools: []string{"b", "c"}},
			func(d *diary, _ *mockmcp.Server) { d.read(1) },
			[]string{"1m0s tools/list_changed"},
			"a",
		},
		{
			"a cue, and nobody is told",
			mockmcp.Change{Cue: "go", RemoveTools: []string{"a", "b", "c"}, Tell: []string{}},
			func(d *diary, s *mockmcp.Server) {
				s.Cue("stay")
				s.Cue("go")
				d.calls(1, "a")
				d.read(1)
			},
			[]string{"0s answer 1"},
			"",
		},
		{
			"prompts and resources",
			mockmcp.Change{Cue: "go", RemovePrompts: []string{"p"}, AddResources: []mockmcp.Resource{{URI: "x:s"}}},
			func(d *diary, s *mockmcp.Server) {
				s.Cue("go")
				d.read(2)
				if got, _, _ := d.page("resources/list", ""); fmt.Sprint(got) != "[x:r x:s]" {
					d.t.Errorf("resources %v", got)
				}
				if got, _, _ := d.page("prompts/list", ""); len(got) != 0 {
					d.t.Errorf("prompts %v", got)
				}
			},
			[]string{"0s prompts/list_changed", "0s resources/list_changed"},
			"a b c",
		},
		{
			"a resource, for those who subscribed",
			mockmcp.Change{Cue: "go", Updated: []string{"x:r", "x:other"}},
			func(d *diary, s *mockmcp.Server) {
				s.Cue("go") // nobody listens, and it happens once
				d.send(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"x:r"}}`)
				d.read(1)
				s.Reset()
				s.Cue("go")
				d.read(1)
			},
			[]string{"0s answer 1", "0s resources/updated"},
			"a b c",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, growing(tt.change), nil)
				defer s.Close()
				d := open(t, s)
				tt.do(d, s)
				if diff := cmp.Diff(tt.want, d.lines); diff != "" {
					t.Errorf("the client's diary (-want +got):\n%s", diff)
				}
				if got := names(s); got != tt.tools {
					t.Errorf("tools %q, want %q", got, tt.tools)
				}
				s.Reset()
				if got := names(s); got != "a b c" {
					t.Errorf("after a reset, tools %q", got)
				}
			})
		})
	}
}

// TestChangeReplaces has a tool come back under its old name with another
// schema and other results.
func TestChangeReplaces(t *testing.T) {
	s := newServer(t, growing(mockmcp.Change{Cue: "go", AddTools: []mockmcp.Tool{{
		Name: "b", Input: raw(`{"type":"object","required":["id"]}`), Results: []mockmcp.Result{{Answer: answer(mockmcp.Answer{Text: "new"})}},
	}}}), nil)
	c := dial(t, s)
	if m := c.call("b", "{}"); !strings.Contains(string(m.Frame), "old") {
		t.Errorf("before: %s", m.Frame)
	}
	s.Cue("go")
	if got := names(s); got != "a b c" {
		t.Errorf("tools %s", got)
	}
	for args, want := range map[string]string{"{}": `missing required property`, `{"id":1}`: "new"} {
		if m := c.call("b", args); !strings.Contains(string(m.Frame), want) {
			t.Errorf("after, with %s: %s", args, m.Frame)
		}
	}
}

// TestTimeBeginsAgain resets a server whose change by time has happened.
func TestTimeBeginsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, growing(mockmcp.Change{After: time.Minute, RemoveTools: []string{"b"}}), nil)
		defer s.Close()
		d := open(t, s)
		for range 2 {
			d.read(1)
			if got := names(s); got != "a c" {
				t.Errorf("after a minute, tools %s", got)
			}
			s.Reset()
		}
		if diff := cmp.Diff([]string{"1m0s tools/list_changed", "2m0s tools/list_changed"}, d.lines); diff != "" {
			t.Errorf("the client's diary (-want +got):\n%s", diff)
		}
	})
}

// TestNewsHasAHeadStart: over HTTP, news that are to come before an answer go
// over another stream, so the answer waits, by the real clock, also where the
// server's own skips what it waits.
func TestNewsHasAHeadStart(t *testing.T) {
	none := time.Duration(0)
	for _, tt := range []struct {
		name   string
		settle *time.Duration
		change mockmcp.Change
		least  time.Duration
	}{
		{"early", nil, mockmcp.Change{Call: 1, Early: true, RemoveTools: []string{"b"}}, 20 * time.Millisecond},
		{"early, of a list", nil, mockmcp.Change{List: 1, Early: true, RemoveTools: []string{"b"}}, 20 * time.Millisecond},
		{"as a fault", &none, mockmcp.Change{Call: 1, Early: true, RemoveTools: []string{"b"}}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			script := growing(tt.change)
			script.Protocol = mockmcp.Protocol{Settle: tt.settle, ListChanged: true}
			s, err := mockmcp.New(script, &mockmcp.Options{Clock: hasty{harness.SystemClock()}})
			if err != nil {
				t.Fatal(err)
			}
			web := httptest.NewServer(s.Handler())
			defer web.Close()
			defer s.Close()
			_, _, header := post(t, web.URL, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"c","version":"1"},"capabilities":{}}}`)
			id := header.Get("Mcp-Session-Id")
			post(t, web.URL, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Mcp-Session-Id", id)
			request := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}`
			if tt.change.List > 0 {
				request = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
			}
			post(t, web.URL, request, "Mcp-Session-Id", id)
			frames := s.Frames()
			last := frames[len(frames)-1]
			news := frames[len(frames)-2]
			if news.Method != "notifications/tools/list_changed" || last.Kind != jsonrpc.FrameResponse {
				t.Fatalf("the last frames are %s %s and %s %s", news.Kind, news.Method, last.Kind, last.Method)
			}
			if took := last.Time.Sub(news.Time); took < tt.least {
				t.Errorf("the answer came %v after the news, want at least %v", took, tt.least)
			}
		})
	}
}

// hasty is a clock that skips every wait.
type hasty struct{ harness.Clock }

func (hasty) Sleep(context.Context, time.Duration) error { return nil }

// TestListenHears has a modern client listen for two of the things that
// happen, one of them a step of a result.
func TestListenHears(t *testing.T) {
	script := growing(mockmcp.Change{Cue: "go", AddTools: []mockmcp.Tool{{Name: "d"}}, RemovePrompts: []string{"p"}})
	script.Tools[0].Results[0].Before = []mockmcp.Step{
		mockmcp.Notify{Method: "notifications/resources/updated", Params: raw(`{"uri":"x:r"}`)},
		mockmcp.Notify{Method: "notifications/resources/updated", Params: raw(`{"uri":"x:other"}`)},
	}
	s := newServer(t, script, nil)
	c := dial(t, s)
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	c.send(`{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x:r"]},` + meta + `}}`)
	if m := c.receive(); m.Method != "notifications/subscriptions/acknowledged" {
		t.Fatalf("got %s", m.Frame)
	}
	s.Cue("go")
	tag := `"_meta":{"io.modelcontextprotocol/subscriptionId":"L"}`
	if m := c.receive(); m.Method != "notifications/tools/list_changed" || !strings.Contains(string(m.Params), tag) {
		t.Errorf("got %s", m.Frame)
	}
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",` + meta + `}}`)
	if m := c.receive(); m.Method != "notifications/resources/updated" || !strings.Contains(string(m.Params), tag) || !strings.Contains(string(m.Params), `"uri":"x:r"`) {
		t.Errorf("got %s", m.Frame)
	}
	if m := c.receive(); m.Key() != "1" {
		t.Errorf("got %s", m.Frame)
	}
}

// TestChangesUnderLoad has many clients call and list while tools come and go.
// Each call is answered by what was there when it came.
func TestChangesUnderLoad(t *testing.T) {
	const clients, calls = 8, 50
	swap := func(cue, text string) mockmcp.Change {
		return mockmcp.Change{Cue: cue, AddTools: []mockmcp.Tool{{Name: "b", Results: []mockmcp.Result{{Answer: answer(mockmcp.Answer{Text: text})}}}}, Tell: []string{}}
	}
	s := newServer(t, growing(swap("one", "new"), swap("two", "newer"), mockmcp.Change{Tool: "a", AddTools: []mockmcp.Tool{{Name: "d", Input: raw(`{ "type": "object" }`)}}}), nil)
	var wg sync.WaitGroup
	for i := range clients {
		c := dial(t, s)
		wg.Go(func() {
			for n := range calls {
				c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"b"}}`, n))
				m, err := c.r.Next()
				if err != nil || m.Error != nil || !strings.Contains(string(m.Result), `"text":"`) {
					t.Errorf("client %d: %s, %v", i, m.Frame, err)
					return
				}
				switch {
				case i == 0 && n == calls/3:
					s.Cue("one")
				case i == 1 && n == calls/2:
					s.Cue("two")
				}
				if i > 5 { // a change with each call
					c.send(`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"a"}}`)
					if _, err := c.r.Next(); err != nil {
						t.Error(err)
					}
				}
				for _, tool := range s.Tools() {
					if !json.Valid(tool.Schema) {
						t.Errorf("schema %s", tool.Schema)
					}
				}
				s.StateDiff()
			}
		})
	}
	wg.Wait()
	last := map[string]int{}
	for _, x := range s.Journal() {
		last[x.Text]++
	}
	if n := last["old"] + last["new"] + last["newer"]; n != (clients+2)*calls || last["newer"]+last["new"] == 0 {
		t.Errorf("answers %v", last)
	}
	if m := dial(t, s).call("b", "{}"); !strings.Contains(string(m.Frame), `"newer"`) && !strings.Contains(string(m.Frame), `"new"`) {
		t.Errorf("got %s", m.Frame)
	}
}

// TestChangeBringsFaults has a tool that comes with a fault, the first of the
// script.
func TestChangeBringsFaults(t *testing.T) {
	s := newServer(t, growing(mockmcp.Change{Cue: "go", AddTools: []mockmcp.Tool{{Name: "d", Results: []mockmcp.Result{{
		Answer: answer(mockmcp.Answer{Text: "fine"}), Faults: []fault.Fault{{Kind: fault.RPCError}},
	}}}}}), nil)
	s.Cue("go")
	if m := dial(t, s).call("d", "{}"); m.Error == nil {
		t.Errorf("got %s", m.Frame)
	}
}
