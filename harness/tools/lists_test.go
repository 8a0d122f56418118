// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package tools_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/harness/tools"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// changing is a server whose list is what the test says; "" is no answer. It
// says that the list changed when it is called.
type changing struct {
	mu    sync.Mutex // guards list and lists
	list  string
	lists int
	// storm says that it changed at each list too.
	storm bool
}

func (s *changing) say(list string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = list
}

func (s *changing) listed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists
}

func (s *changing) dial(context.Context) (io.ReadWriteCloser, error) {
	ours, theirs := mcpwire.Pipe()
	go func() {
		defer ours.Close()
		in, out := mcpwire.NewReader(ours, nil), mcpwire.NewWriter(ours)
		for {
			m, err := in.Next()
			if err != nil {
				return
			}
			answer := ""
			changed := false
			switch m.Method {
			case "server/discover":
				answer = `"error":{"code":-32601,"message":"no"}`
			case "initialize":
				answer = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"p","version":"1"}}`
			case "tools/list":
				s.mu.Lock()
				s.lists++
				if s.list != "" {
					answer = `"result":{"tools":` + s.list + `}`
				}
				s.mu.Unlock()
				changed = s.storm
			case "tools/call":
				changed = true
				answer = `"result":{"content":[{"type":"text","text":"ok"}],"structuredContent":{"id":7}}`
			}
			for range 1000 {
				if !changed {
					break
				}
				_ = out.Write([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))
			}
			if answer != "" {
				_ = out.Write([]byte(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,` + answer + `}`))
			}
		}
	}()
	return theirs, nil
}

func list(names ...string) string {
	var entries []string
	for _, name := range names {
		entries = append(entries, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"id":{"type":"string"}}}}`, name))
	}
	return "[" + strings.Join(entries, ",") + "]"
}

// Only the server that says so is asked anew, once however often it said so;
// a name that another server has already is left out with a warning.
func TestListsOfOneServerChange(t *testing.T) {
	a, b := &changing{list: list("a")}, &changing{list: list("b")}
	r := newRouter(t, nil, open(t, "first", a.dial, nil), open(t, "second", b.dial, nil))
	b.say(list("c", "a"))
	if got, err := r.Call(t.Context(), "b", "{}"); err != nil || got.Text != "ok\n{\"id\":7}" {
		t.Errorf("Call() = %+v, %v", got, err) // though the result is none of its output schema
	}
	for range 3 {
		if diff := cmp.Diff([]string{"a", "c"}, names(t, r)); diff != "" {
			t.Errorf("names (-want +got):\n%s", diff)
		}
	}
	if a.listed() != 1 || b.listed() != 2 {
		t.Errorf("listed %d and %d times", a.listed(), b.listed())
	}
	if w := strings.Join(r.Warnings(), "\n"); !strings.Contains(w, `server "second": tool "a" is not offered: `) {
		t.Errorf("warnings: %s", w)
	}
	if got, err := r.Call(t.Context(), "a", "{}"); err != nil || got.Server != "first" {
		t.Errorf("Call() = %+v, %v", got, err)
	}
}

// A server that says at each list that it changed is listed once a turn.
func TestListStorm(t *testing.T) {
	s := &changing{list: list("a"), storm: true}
	r := newRouter(t, nil, open(t, "s", s.dial, nil))
	for range 5 {
		names(t, r)
	}
	if n := s.listed(); n > 6 {
		t.Errorf("listed %d times for 5 turns", n)
	}
}

// A list that cannot be had anew costs a warning, and is asked for a bounded
// number of times.
func TestListThatCannotBeHadAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &changing{list: list("a")}
		r, err := tools.NewRouter(t.Context(), []*mcppool.Session{open(t, "s", s.dial, &mcppool.Options{ConnectTimeout: 5 * time.Second})}, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.say("")
		if _, err := r.Call(t.Context(), "a", "{}"); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		for range 10 {
			if diff := cmp.Diff([]string{"a"}, names(t, r)); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
		}
		if d := time.Since(begin); d != 15*time.Second || s.listed() != 4 {
			t.Errorf("it took %v and %d lists", d, s.listed())
		}
		want := `listing the tools of server "s": no answer within 5s; the tools listed before are used`
		if w := r.Warnings(); len(w) == 0 || w[0] != want {
			t.Errorf("warnings: %q, want %q", w, want)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.Tools(ctx); err != nil {
			t.Errorf("Tools() with nothing to ask: %v", err)
		}
		r.Close()
	})
}

// The model goes on with a server that died in a call, and is told what
// happened to that one.
func TestServerThatDied(t *testing.T) {
	lives := 0
	dial := func(context.Context) (io.ReadWriteCloser, error) {
		lives++
		first := lives == 1
		ours, theirs := mcpwire.Pipe()
		go func() {
			defer ours.Close()
			in, out := mcpwire.NewReader(ours, nil), mcpwire.NewWriter(ours)
			for {
				m, err := in.Next()
				if err != nil {
					return
				}
				answer := map[string]string{
					"server/discover": `"error":{"code":-32601,"message":"no"}`,
					"initialize":      `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"p","version":"1"}}`,
					"tools/list":      `"result":{"tools":` + list("old") + `}`,
					"tools/call":      `"result":{"content":[{"type":"text","text":"ok"}]}`,
				}[m.Method]
				switch {
				case m.Method == "tools/call" && first:
					return
				case m.Method == "tools/list" && !first:
					answer = `"result":{"tools":` + list("new") + `}`
				}
				if answer != "" {
					_ = out.Write([]byte(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,` + answer + `}`))
				}
			}
		}()
		return theirs, nil
	}
	r := newRouter(t, nil, open(t, "shop", dial, nil))
	got, err := r.Call(t.Context(), "old", "{}")
	if want := `Error: calling "old" on server "shop": the server disconnected`; err != nil || got.Text != want || !got.IsError || got.Server != "shop" {
		t.Errorf("Call() = %+v, %v, want %s", got, err, want)
	}
	if got, err := r.Call(t.Context(), "old", "{}"); err != nil || got.Text != "ok" {
		t.Errorf("the next call: %+v, %v", got, err)
	}
	if diff := cmp.Diff([]string{"new"}, names(t, r)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	want := []string{`server "shop": disconnected; opened a new one`}
	if diff := cmp.Diff(want, r.Warnings()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
