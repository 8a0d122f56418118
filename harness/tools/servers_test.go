// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package tools_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/harness/tools"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// echo is a server of one tool, which says its arguments; it can be down.
type echo struct {
	mock  *mockmcp.Server
	down  bool
	hang  chan struct{} // it is connected to once this is closed
	name  string
	dials int
}

func newEcho(t *testing.T, name, tool string) *echo {
	t.Helper()
	mock, err := mockmcp.New(mockmcp.Script{Name: name, Tools: []mockmcp.Tool{{
		Name: tool, Description: "Says what it is told.", Input: raw(`{"type":"object","properties":{"n":{"type":"integer"},"_known":{}},"required":["n"]}`),
		Handler: func(_ context.Context, c *mockmcp.Call) (*mockmcp.Answer, error) {
			return &mockmcp.Answer{Text: string(c.Args)}, nil
		},
	}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mock.Close() })
	return &echo{mock: mock, name: name}
}

func (e *echo) server() harness.Server {
	return harness.Server{Name: e.name, Optional: true, Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
		e.dials++
		if e.hang != nil {
			select {
			case <-e.hang:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		if e.down {
			return nil, errors.New("nobody listens there")
		}
		return e.mock.Dial(ctx)
	}}
}

func text(t *testing.T, r *tools.Router, name, args string) string {
	t.Helper()
	result, err := r.Call(t.Context(), name, args)
	if err != nil {
		t.Fatal(err)
	}
	return result.Text
}

// TestTwoOfOneName: two servers of one name cannot be told apart.
func TestTwoOfOneName(t *testing.T) {
	pool := mcppool.NewPool(nil)
	defer pool.Close()
	for _, name := range []string{"a", ""} {
		servers := []harness.Server{newEcho(t, name, "one").server(), newEcho(t, "b", "two").server(), newEcho(t, name, "three").server()}
		servers[1].Name = "b"
		if _, err := tools.Connect(t.Context(), pool, servers, nil); err == nil || err.Error() != fmt.Sprintf("two servers are called %q: give each a name of its own", name) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A server that is down at the start costs a warning, and its tools come when it
// comes; what it may not do is hold everybody up.
func TestServerThatIsDownAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newEcho(t, "a", "one"), newEcho(t, "b", "two")
		b.down = true
		pool := mcppool.NewPool(nil)
		defer pool.Close()
		r, err := tools.Connect(t.Context(), pool, []harness.Server{a.server(), b.server()}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for range 3 {
			if diff := cmp.Diff([]string{"one"}, names(t, r)); diff != "" {
				t.Error(diff)
			}
		}
		if b.dials != 2 {
			t.Errorf("%d attempts at once, want the first and one more", b.dials)
		}
		if got := text(t, r, "two", `{"n":1}`); got != `Error: there is no tool "two"; there are: one` {
			t.Error(got)
		}
		b.down, b.hang = false, make(chan struct{})
		time.Sleep(time.Second)
		begin := time.Now()
		if diff := cmp.Diff([]string{"one"}, names(t, r)); diff != "" || time.Since(begin) != time.Second {
			t.Errorf("while it hangs: %s after %v", diff, time.Since(begin))
		}
		close(b.hang)
		if diff := cmp.Diff([]string{"one", "two"}, names(t, r)); diff != "" {
			t.Error(diff)
		}
		if got := text(t, r, "two", `{"n":1}`); got != `{"n":1}` {
			t.Error(got)
		}
		want := []string{
			`connecting to server "b": nobody listens there; its tools are offered once it can be reached`,
			`server "b" can be reached now`,
		}
		if diff := cmp.Diff(want, r.Warnings()); diff != "" {
			t.Errorf("warnings (-want +got):\n%s", diff)
		}
	})
}

// All servers are connected at the same time: each of two hangs until both have been
// dialled.
func TestServersSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newEcho(t, "a", "one"), newEcho(t, "b", "two")
		a.hang = make(chan struct{})
		b.hang = a.hang
		pool := mcppool.NewPool(nil)
		defer pool.Close()
		connected := make(chan error, 1)
		go func() {
			r, err := tools.Connect(t.Context(), pool, []harness.Server{a.server(), b.server()}, nil)
			if err == nil {
				err = r.Close()
			}
			connected <- err
		}()
		synctest.Wait()
		if a.dials != 1 || b.dials != 1 {
			t.Errorf("%d and %d servers were dialled, want both", a.dials, b.dials)
		}
		close(a.hang)
		if err := <-connected; err != nil {
			t.Error(err)
		}
	})
}

func TestServerThatIsRequired(t *testing.T) {
	a, b := newEcho(t, "a", "one"), newEcho(t, "b", "two")
	b.down = true
	required := b.server()
	required.Optional = false
	pool := mcppool.NewPool(nil)
	defer pool.Close()
	if _, err := tools.Connect(t.Context(), pool, []harness.Server{a.server(), required}, nil); err == nil || err.Error() != `connecting to server "b": nobody listens there` {
		t.Errorf("got %v", err)
	}
}

// A router that is closed waits for no server.
func TestCloseWhileAServerIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newEcho(t, "b", "two")
		b.down = true
		pool := mcppool.NewPool(nil)
		defer pool.Close()
		r, err := tools.Connect(t.Context(), pool, []harness.Server{b.server()}, nil)
		if err != nil {
			t.Fatal(err)
		}
		b.hang = make(chan struct{})
		if got := names(t, r); len(got) > 0 {
			t.Error(got)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestServersComeAndGo(t *testing.T) {
	r := newRouter(t, nil, mock(t, "a", mockmcp.Tool{Name: "one", Input: raw(`{"type":"object"}`)}))
	twin := mock(t, "b", mockmcp.Tool{Name: "one", Input: raw(`{"type":"object"}`)})
	if err := r.Add(t.Context(), twin); err == nil || !strings.HasPrefix(err.Error(), `registering server "b": tool "one" is offered by two servers, "a" and "b"`) {
		t.Errorf("two of one name: %v", err)
	}
	if r.Add(t.Context(), mock(t, "a", mockmcp.Tool{Name: "x", Input: raw(`{"type":"object"}`)})) == nil {
		t.Error("two servers of one name")
	}
	if diff := cmp.Diff([]string{"one"}, names(t, r)); diff != "" {
		t.Error(diff)
	}
	c := mock(t, "c", mockmcp.Tool{Name: "two", Input: raw(`{"type":"object"}`)})
	if err := r.Add(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"one", "two"}, names(t, r)); diff != "" {
		t.Error(diff)
	}
	if got := text(t, r, "two", ""); got != "c.two{}" {
		t.Error(got)
	}
	if stats := r.Stats(); len(stats) != 2 || stats[1].Server != "c" || stats[1].Calls != 1 {
		t.Errorf("stats %+v", stats)
	}
	if err := r.Remove("c"); err != nil {
		t.Fatal(err)
	}
	if err := r.Remove("c"); err == nil || err.Error() != `there is no server "c"` {
		t.Errorf("twice: %v", err)
	}
	if got := text(t, r, "two", ""); got != `Error: there is no tool "two"; there are: one` {
		t.Error(got)
	}
	if _, err := c.Call(t.Context(), "two", nil); err == nil {
		t.Error("the session of a server that was removed is open")
	}
	if err := r.Add(t.Context(), twin); err == nil {
		t.Error("two of one name")
	}
	if err := r.Remove("a"); err != nil {
		t.Fatal(err)
	}
	if err := r.Add(t.Context(), twin); err != nil {
		t.Errorf("when the name is free: %v", err)
	}
}

// Two agents share a session: each is told that its list changed.
func TestAgentsOfOnePool(t *testing.T) {
	server, err := mockmcp.New(mockmcp.Script{
		Name: "a", Tools: []mockmcp.Tool{{Name: "grow", Input: raw(`{"type":"object"}`), Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) {
			return &mockmcp.Answer{Text: "grown"}, nil
		}}},
		Changes: []mockmcp.Change{{Call: 1, Early: true, AddTools: []mockmcp.Tool{{Name: "new", Input: raw(`{"type":"object"}`), Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) { return nil, nil }}}}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	pool := mcppool.NewPool(nil)
	defer pool.Close()
	var agents []*tools.Router
	for range 2 {
		r, err := tools.Connect(t.Context(), pool, []harness.Server{{Name: "a", Dial: server.Dial}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		agents = append(agents, r)
	}
	text(t, agents[0], "grow", "")
	for _, r := range agents {
		if diff := cmp.Diff([]string{"grow", "new"}, names(t, r)); diff != "" {
			t.Error(diff)
		}
	}
	if err := agents[0].Close(); err != nil {
		t.Error(err)
	}
	if got := text(t, agents[1], "grow", ""); got != "grown" {
		t.Errorf("after the other agent has gone: %s", got)
	}
	if s := pool.Stats(); len(s) != 1 || s[0].Connections != 1 {
		t.Errorf("stats %+v", s)
	}
}

func TestPermissions(t *testing.T) {
	grants := map[string][]string{"alice": {"files"}, "eamonn": {"files", "git"}}
	for _, tc := range []struct {
		name, as string
		style    tools.NameStyle
		offered  []string
		call     string
		want     string
	}{
		{"granted", "eamonn", "", []string{"read", "commit"}, "commit", `{"n":1}`},
		{"not granted", "alice", "", []string{"read"}, "commit", `Error: there is no tool "commit": agent "alice" has no permission for server "git"`},
		{"not granted, by its prefix", "alice", tools.NamesMCP, []string{"mcp_files_read"}, "mcp_git_commit", `Error: there is no tool "mcp_git_commit": agent "alice" has no permission for server "git"`},
		{"no tool of either", "alice", tools.NamesMCP, []string{"mcp_files_read"}, "mcp_web_get", `Error: there is no tool "mcp_web_get"; there are: mcp_files_read`},
		{"not listed", "mallory", tools.NamesMCP, nil, "mcp_files_read", `Error: there is no tool "mcp_files_read": agent "mallory" has no permission for server "files"`},
		{"without a name", "", "", nil, "read", `Error: there is no tool "read": an agent without a name has no permission for server "files", "git"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			files, git := newEcho(t, "files", "read"), newEcho(t, "git", "commit")
			pool := mcppool.NewPool(nil)
			defer pool.Close()
			opts := &tools.Options{Prefix: tc.style, As: tc.as, Grants: grants}
			r, err := tools.Connect(t.Context(), pool, []harness.Server{files.server(), git.server()}, opts)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.offered, names(t, r)); diff != "" {
				t.Errorf("offered (-want +got):\n%s", diff)
			}
			if got := text(t, r, tc.call, `{"n":1}`); got != tc.want {
				t.Errorf("got %s\nwant %s", got, tc.want)
			}
			if files.dials+git.dials != len(tc.offered) {
				t.Errorf("%d and %d connections for %q", files.dials, git.dials, tc.offered)
			}

			sessions := []*mcppool.Session{open(t, "files", files.mock.Dial, nil), open(t, "git", git.mock.Dial, nil)}
			r = newRouter(t, opts, sessions...) // of sessions that are open already
			if diff := cmp.Diff(tc.offered, names(t, r)); diff != "" {
				t.Errorf("offered (-want +got):\n%s", diff)
			}
			if got := text(t, r, tc.call, `{"n":1}`); got != tc.want {
				t.Errorf("got %s\nwant %s", got, tc.want)
			}
		})
	}
	r := newRouter(t, &tools.Options{As: "alice", Grants: grants})
	if err := r.Add(t.Context(), mock(t, "git")); err == nil || err.Error() != `registering server "git": agent "alice" has no permission for server "git"` {
		t.Errorf("registering what is not granted: %v", err)
	}
}

func TestArguments(t *testing.T) {
	for _, tc := range []struct {
		name string
		opts tools.Options
		args string
		want string
	}{
		{"as they are", tools.Options{}, `{"n": 1, "_id": 1}`, `{"n":1,"_id":1}`},
		{"as they are and wrong", tools.Options{}, `{"n": "x"}`, `Error: MCP error -32602: Input validation error: Invalid arguments for tool say: n: expected integer, got string "x"`},
		{"checked", tools.Options{CheckArguments: true}, `{"n": 1.0}`, `{"n":1.0}`},
		{"checked and wrong", tools.Options{CheckArguments: true}, `{"n": "x"}`, `Error: the arguments do not fit the schema of say: validating /properties/n: type: x has type "string", want "integer"`},
		{"checked and missing", tools.Options{CheckArguments: true}, ``, `Error: the arguments do not fit the schema of say: required: missing properties: ["n"]`},
		{"private", tools.Options{DropPrivate: true}, `{"_agent": {"_n": 2}, "n": 1.0, "_known": {"_x": 1.50}}`, `{"n":1.0,"_known":{"_x":1.50}}`},
		{"nothing private", tools.Options{DropPrivate: true}, `{"n":  1}`, `{"n":1}`},
		{"both", tools.Options{DropPrivate: true, CheckArguments: true}, `{"n": 1, "_x": 2}`, `{"n":1}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := newEcho(t, "e", "say")
			r := newRouter(t, &tc.opts, open(t, "e", e.mock.Dial, nil))
			if got := text(t, r, "say", tc.args); got != tc.want {
				t.Errorf("got %s\nwant %s", got, tc.want)
			}
			if calls := len(e.mock.Journal()); (calls == 0) != strings.Contains(tc.want, "do not fit") {
				t.Errorf("%d calls", calls)
			}
		})
	}
}

func TestPrompt(t *testing.T) {
	e := newEcho(t, "e", "say")
	r := newRouter(t, &tools.Options{Prefix: tools.NamesMCP, NameServers: true}, open(t, "e", e.mock.Dial, nil))
	got, err := r.Prompt(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := `Tool: mcp_e_say
Description: [MCP:e] Says what it is told.
Provided by the MCP server "e".
Parameters: {
  "type": "object",
  "properties": {
    "n": {
      "type": "integer"
    },
    "_known": {}
  },
  "required": [
    "n"
  ]
}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
