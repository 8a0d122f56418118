// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// However many agents use a server, it is one process.
func TestPoolSharesAProcess(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	pool := mcppool.NewPool(nil)
	defer pool.Close()
	server := childServer("counts its starts", "LOG="+log)
	var agents sync.WaitGroup
	for range 20 {
		agents.Go(func() {
			s, err := pool.Open(t.Context(), server)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close() // which leaves the session to the others
			for range 3 {
				if r, err := s.Call(t.Context(), "live", nil); err != nil || r.Text != "alive" {
					t.Errorf("Call() = %v, %v", r, err)
				}
			}
		})
	}
	agents.Wait()
	if started, err := os.ReadFile(log); err != nil || string(started) != "start\n" {
		t.Errorf("starts %q, %v", started, err)
	}
	stats := pool.Stats()
	if len(stats) != 1 || stats[0].Server != "child" || stats[0].Connections != 1 || stats[0].Calls != 60 || stats[0].Requests != 60 || stats[0].Errors != 0 {
		t.Errorf("stats %+v", stats)
	}
	if m := stats[0]; m.Mean <= 0 || m.P50 > m.P95 || m.P95 > m.Max || m.Mean > m.Max {
		t.Errorf("times %+v", m)
	}
}

// Another command is another server, and the pool ends what it is told to.
func TestPoolKeepsServersApart(t *testing.T) {
	pool := mcppool.NewPool(nil)
	a := &mortal{}
	b := &mortal{}
	opened := func(s harness.Server) *mcppool.Session {
		t.Helper()
		got, err := pool.Open(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first := opened(harness.Server{Name: "a", Dial: a.dial})
	if again := opened(harness.Server{Name: "a", Dial: a.dial}); again != first {
		t.Error("a second session with the same server")
	}
	opened(harness.Server{Name: "b", Dial: b.dial})
	if _, err := pool.Open(t.Context(), harness.Server{Dial: b.dial}); err == nil || !strings.Contains(err.Error(), "needs a name in a pool") {
		t.Errorf("without a name: %v", err)
	}
	if opened(childServer("ok")) == opened(childServer("ok", "X=1")) {
		t.Error("two environments are one server")
	}
	pool.Remove("a")
	if _, err := first.Call(t.Context(), "live", nil); err == nil || !strings.HasSuffix(err.Error(), "the session was closed") {
		t.Errorf("after Remove: %v", err)
	}
	if opened(harness.Server{Name: "a", Dial: a.dial}) == first || a.lives != 2 || b.lives != 1 {
		t.Errorf("%d and %d lives", a.lives, b.lives)
	}
	pool.Close()
	for range 2 {
		if _, err := pool.Open(t.Context(), harness.Server{Name: "b", Dial: b.dial}); err == nil || err.Error() != `connecting to server "b": the pool was closed` {
			t.Errorf("after Close: %v", err)
		}
	}
}

// A session that was ended while it was opened is given to nobody, and its server
// is left.
func TestPoolEndsWhatIsBeingOpened(t *testing.T) {
	for name, end := range map[string]func(*mcppool.Pool){
		"the pool was closed":                  func(pool *mcppool.Pool) { pool.Close() },
		"the server was removed from the pool": func(pool *mcppool.Pool) { pool.Remove("p") },
	} {
		t.Run(name, func(t *testing.T) {
			pool := mcppool.NewPool(nil)
			defer pool.Close()
			closed := false
			s, err := pool.Open(t.Context(), harness.Server{Name: "p", Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
				end(pool)
				rw, err := legacy(nil).dial(ctx)
				return &counted{rw, func() { closed = true }}, err
			}})
			if s != nil || err == nil || kindOf(t, err).Kind != mcppool.ErrClosed || err.Error() != `connecting to server "p": `+name {
				t.Errorf("Open() = %v, %v", s, err)
			}
			if !closed {
				t.Error("the connection was left open")
			}
		})
	}
}

// An idle session whose server died, or that hangs, is replaced; one that lives
// is not.
func TestPoolReplacesTheDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &mortal{}
		pool := mcppool.NewPool(nil)
		defer pool.Close()
		server := harness.Server{Name: "p", Dial: p.dial}
		s, err := pool.Open(t.Context(), server)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = s.Call(t.Context(), "die", nil)
		again, err := pool.Open(t.Context(), server)
		if err != nil || again != s || p.lives != 2 {
			t.Fatalf("after its death: %v, %d lives", err, p.lives)
		}
		if s.Stats().Connections != 2 {
			t.Errorf("stats %+v", s.Stats())
		}
		// mortal answers no ping: it is as one that hangs.
		time.Sleep(30*time.Second - 1)
		if _, err = pool.Open(t.Context(), server); err != nil || p.lives != 2 {
			t.Errorf("before 30 s of silence: %v, %d lives", err, p.lives)
		}
		time.Sleep(time.Nanosecond)
		if again, err = pool.Open(t.Context(), server); err != nil || again != s || p.lives != 3 {
			t.Errorf("after 30 s of silence: %v, %d lives", err, p.lives)
		}
		if _, err = pool.Open(t.Context(), server); err != nil || p.lives != 3 {
			t.Errorf("at once: %v, %d lives", err, p.lives)
		}
	})
}

// A server that answers a ping with an error lives. Who gives up while it is asked has
// not found it dead.
func TestPoolKeepsTheLiving(t *testing.T) {
	for _, tt := range []struct {
		name, pong string
		want       string // the error
	}{
		{"it answers", `{"jsonrpc":"2.0","id":ID,"result":{}}`, ""},
		{"it knows no ping", discoverRefused, ""},
		{"given up", "", `connecting to server "p": context deadline exceeded`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &scripted{answer: func(m mcpwire.Message, out *mcpwire.Writer) {
					if m.Method == "ping" && tt.pong != "" {
						say(out, m, tt.pong)
					}
				}}
				pool := mcppool.NewPool(nil)
				server := harness.Server{Name: "p", Dial: p.dial}
				if _, err := pool.Open(t.Context(), server); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				defer cancel()
				_, err := pool.Open(ctx, server)
				if tt.want == "" && err != nil || tt.want != "" && (err == nil || err.Error() != tt.want || kindOf(t, err).Kind != mcppool.ErrCancelled) {
					t.Errorf("Open() = %v, want %q", err, tt.want)
				}
				if p.count("ping") != 1 || p.count("initialize") != 1 {
					t.Errorf("the server was sent %q", p.got)
				}
				pool.Close()
			})
		})
	}
}

// A server that is not there is left alone for longer and longer.
func TestPoolBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &mortal{unborn: 9}
		pool := mcppool.NewPool(&mcppool.Options{Backoff: time.Second})
		defer pool.Close()
		begin := time.Now()
		var at []time.Duration
		for before := p.unborn; ; before = p.unborn {
			s, err := pool.Open(t.Context(), harness.Server{Name: "p", Dial: p.dial})
			if err == nil {
				at = append(at, time.Since(begin))
				if r, err := s.Call(t.Context(), "live", nil); err != nil || r.Text != "alive" {
					t.Errorf("Call() = %v, %v", r, err)
				}
				break
			}
			if e := kindOf(t, err); e.Kind != mcppool.ErrTransport || !strings.Contains(err.Error(), "cannot open /data") {
				t.Fatal(err)
			}
			if p.unborn < before {
				at = append(at, time.Since(begin))
			}
			time.Sleep(500 * time.Millisecond)
		}
		var want []time.Duration
		for _, seconds := range []float64{0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 61.5, 91.5, 121.5} {
			want = append(want, time.Duration(seconds*float64(time.Second)))
		}
		if diff := cmp.Diff(want, at); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
	})
}

// Slow requests are counted, and warned of.
func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mock, err := mockmcp.New(mockmcp.Script{Name: "p", Tools: []mockmcp.Tool{{Name: "wait", Input: raw(`{"type":"object"}`), Handler: func(ctx context.Context, call *mockmcp.Call) (*mockmcp.Answer, error) {
			var args struct{ For time.Duration }
			if err := json.Unmarshal(call.Args, &args); err != nil {
				return nil, err
			}
			time.Sleep(args.For)
			return &mockmcp.Answer{Text: "done"}, nil
		}}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer mock.Close()
		s := open(t, harness.Server{Dial: mock.Dial}, &mcppool.Options{CallTimeout: 9 * time.Second, TotalTimeout: 9 * time.Second})
		defer s.Close()
		if diff := cmp.Diff(mcppool.Stats{Server: "p", Connections: 1}, s.Stats()); diff != "" {
			t.Errorf("before the first request (-want +got):\n%s", diff)
		}
		for _, seconds := range []int{1, 2, 3, 5, 6, 20} {
			_, _ = s.Call(t.Context(), "wait", raw(fmt.Sprintf(`{"For": %d}`, seconds*int(time.Second))))
		}
		want := mcppool.Stats{
			Server: "p", Connections: 1, Requests: 6, Errors: 1, Calls: 6, Slow: 2,
			Mean: 26 * time.Second / 6, P50: 3 * time.Second, P95: 9 * time.Second, Max: 9 * time.Second,
		}
		if diff := cmp.Diff(want, s.Stats()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		slow := `server "p": calling "wait" on it took more than 5s`
		if notes := s.Notes(); len(notes) != 2 || notes[0] != slow || notes[1] != slow {
			t.Errorf("notes %q", notes)
		}
	})
}

func TestResources(t *testing.T) {
	for _, era := range []mcppool.Era{mcppool.EraLegacy, mcppool.EraModern} {
		t.Run(string(era), func(t *testing.T) {
			mock, err := mockmcp.New(mockmcp.Script{
				Name: "p", Tools: []mockmcp.Tool{{Name: "edit", Input: raw(`{"type":"object"}`), Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) {
					return &mockmcp.Answer{Text: "edited"}, nil
				}}},
				Resources: []mockmcp.Resource{
					{URI: "file:///a.txt", Name: "a", Description: "The first.", MIMEType: "text/plain", Text: "hello"},
					{URI: "file:///b.bin", Blob: []byte{1, 2}},
				},
				Templates: []mockmcp.ResourceTemplate{{URITemplate: "file:///day/{n}", Name: "day", Text: "a day"}},
				Changes:   []mockmcp.Change{{Tool: "edit", Updated: []string{"file:///a.txt"}}},
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer mock.Close()
			told := make(chan string, 10)
			var line io.Closer // the connection
			dial := func(ctx context.Context) (io.ReadWriteCloser, error) {
				rw, err := mock.Dial(ctx)
				line = rw
				return rw, err
			}
			s := open(t, harness.Server{Dial: dial}, &mcppool.Options{Era: era, Notified: func(_, method string, params json.RawMessage) {
				if method == "notifications/resources/updated" {
					told <- string(params)
				}
			}})
			defer s.Close()
			list, warnings, err := s.Resources(t.Context())
			if err != nil || len(warnings) > 0 || len(list) != 2 || list[0].URI != "file:///a.txt" || list[0].Name != "a" || list[0].Description != "The first." || list[0].MIMEType != "text/plain" {
				t.Errorf("Resources() = %+v, %q, %v", list, warnings, err)
			}
			templates, _, err := s.ResourceTemplates(t.Context())
			if err != nil || len(templates) != 1 || templates[0].URI != "file:///day/{n}" {
				t.Errorf("ResourceTemplates() = %+v, %v", templates, err)
			}
			for uri, want := range map[string]mcppool.Content{
				"file:///a.txt": {URI: "file:///a.txt", MIMEType: "text/plain", Text: "hello"},
				"file:///b.bin": {URI: "file:///b.bin", Blob: []byte{1, 2}},
				"file:///day/3": {URI: "file:///day/3", Text: "a day"},
			} {
				got, err := s.ReadResource(t.Context(), uri)
				if diff := cmp.Diff([]mcppool.Content{want}, got); err != nil || diff != "" {
					t.Errorf("ReadResource(%q): %v (-want +got):\n%s", uri, err, diff)
				}
			}
			if _, err := s.ReadResource(t.Context(), "file:///none"); err == nil || kindOf(t, err).Kind != mcppool.ErrRPC {
				t.Errorf("a resource that there is not: %v", err)
			}
			if err := s.Subscribe(t.Context(), "file:///a.txt"); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Call(t.Context(), "edit", nil); err != nil {
				t.Fatal(err)
			}
			if got := <-told; !strings.Contains(got, "file:///a.txt") {
				t.Errorf("told %s", got)
			}
			line.Close() // a connection that is opened anew is subscribed again
			if _, err := s.Call(t.Context(), "edit", nil); err != nil {
				t.Fatal(err)
			}
			if got := <-told; !strings.Contains(got, "file:///a.txt") || s.Stats().Connections != 2 {
				t.Errorf("after a new connection: told %s, %+v", got, s.Stats())
			}
			if err := s.Unsubscribe(t.Context(), "file:///a.txt"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestServerWithoutResources(t *testing.T) {
	s := openPeer(t, legacy(nil), nil)
	if list, warnings, err := s.Resources(t.Context()); len(list)+len(warnings) > 0 || err != nil {
		t.Errorf("Resources() = %v, %v, %v", list, warnings, err)
	}
	want := `subscribing to "x" of server "p": the server does not offer subscriptions to resources`
	if err := s.Subscribe(t.Context(), "x"); err == nil || err.Error() != want {
		t.Errorf("Subscribe: %v, want %s", err, want)
	}
	var e *mcppool.Error
	if err := s.Subscribe(t.Context(), "x"); !errors.As(err, &e) {
		t.Errorf("%v is no *Error", err)
	}
}

// TestUnreachable: what does not say how a server is reached, or says it in a word
// that nobody knows, is an error before anything is tried.
func TestUnreachable(t *testing.T) {
	for want, server := range map[string]harness.Server{
		"nothing says how it is reached: want a URL, a Command or Dial":              {Name: "s"},
		`transport "SSE" is not known: want http, sse or ws`:                         {Name: "s", URL: "http://127.0.0.1:1", Transport: "SSE"},
		`transport "htpp" is not known: want http, sse or ws (did you mean "http"?)`: {Name: "s", URL: "http://127.0.0.1:1", Transport: "htpp"},
	} {
		if _, err := mcppool.Open(t.Context(), server, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
