// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// C6: odd answers that can be understood are; others are quoted at the
// deadline. C7: the last line needs no newline.
func TestOddFrames(t *testing.T) {
	const want = "ok"
	ok := result(want)
	for _, tt := range []struct {
		name   string
		frames []string
		kind   mcppool.ErrorKind // of the error, if one is expected
		quote  string            // in the error
	}{
		{"banner before the answer", []string{"Server running", "", ok}, "", ""},
		{"id as string", []string{strings.ReplaceAll(ok, "ID", `"ID"`)}, "", ""},
		{"id with a fraction of nothing", []string{strings.ReplaceAll(ok, "ID", "ID.0")}, "", ""},
		{"batch", []string{`[{"jsonrpc":"2.0","method":"notifications/x"},` + ok + `]`}, "", ""},
		{"a late answer before", []string{`{"jsonrpc":"2.0","id":2,"result":{}}`, ok}, "", ""},
		{"an answer with an id never used", []string{`{"jsonrpc":"2.0","id":999,"result":{}}`, ok}, mcppool.ErrMalformed, "request 3 was answered with the id 999"},
		{"an error with an id never used", []string{`{"jsonrpc":"2.0","id":"x","error":{"code":-1,"message":"no"}}`}, mcppool.ErrMalformed, `request 3 was answered with the id "x"`},
		{"a result with the id null", []string{`{"jsonrpc":"2.0","id":null,"result":{}}`}, mcppool.ErrMalformed, "request 3 was answered with the id null"},
		{"a result without an id", []string{`{"jsonrpc":"2.0","result":{}}`}, mcppool.ErrMalformed, "request 3 was answered with the id null"},
		{"result null beside an error", []string{`{"jsonrpc":"2.0","id":ID,"result":null,"error":{"code":-32000,"message":"no such plate","data":null}}`}, mcppool.ErrRPC, "MCP error -32000: no such plate"},
		{"twice", []string{ok, ok}, "", ""},
		{"no newline at the end", []string{ok + "NONEWLINE", "EXIT"}, "", ""},
		{"error with id null", []string{`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`}, mcppool.ErrRPC, "MCP error -32700: Parse error"},
		{"truncated", []string{`{"jsonrpc":"2.0","id":ID,"result":{"con`}, mcppool.ErrMalformed, `unusable answer: line is not a JSON-RPC message (unexpected end of JSON input): "{\"jsonrpc\":\"2.0\"`},
		{"nested too deep", []string{`{"jsonrpc":"2.0","id":ID,"result":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`}, mcppool.ErrMalformed, "exceeded max depth"},
		{"an object of a log with the id", []string{`{"level":"debug","id":ID}`, ok}, "", ""},
		{"pretty-printed", []string{"{", `  "id": ID,`, "}"}, mcppool.ErrTimeout, "3 lines were not JSON-RPC"},
		{"a late answer only", []string{`{"jsonrpc":"2.0","id":2,"result":{}}`}, mcppool.ErrTimeout, "no answer within 1m0s"},
		{"result of another kind", []string{`{"jsonrpc":"2.0","id":ID,"result":[1]}`}, mcppool.ErrMalformed, "not a tool result"},
		{"input required", []string{`{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required","inputRequests":{}}}`}, mcppool.ErrMalformed, "asks for input"},
		{"result and error", []string{`{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"ok"}]},"error":{"code":-32000,"message":"both"}}`}, "", ""},
		{"end inside an answer", []string{`{"jsonrpc":"2.0","id":ID,"result":{"conNONEWLINE`, "EXIT"}, mcppool.ErrClosed, "the server disconnected (a line is not a JSON-RPC message (unexpected end"},
		{"end without an answer", []string{"EXIT"}, mcppool.ErrClosed, "the server disconnected"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := openPeer(t, legacy(peer{"tools/call": tt.frames}), nil)
				r, err := s.Call(t.Context(), "x", nil)
				if tt.kind == "" {
					if err != nil || r.Text != want {
						t.Errorf("Call() = %v, %v", r, err)
					}
				} else if e := kindOf(t, err); e.Kind != tt.kind || !strings.Contains(err.Error(), tt.quote) {
					t.Errorf("Call() = %v (%s), want %s with %q", err, e.Kind, tt.kind, tt.quote)
				}
				s.Close()
			})
		})
	}
}

// late is a clock by which all time limits run out once an answer was looked at.
type late struct {
	harness.Clock
	answered atomic.Bool
	mu       sync.Mutex
	limits   []func()
}

func (c *late) AfterFunc(d time.Duration, kind harness.TimerKind, f func()) harness.Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limits = append(c.limits, f)
	return c.Clock.AfterFunc(d, kind, f)
}

func (c *late) Now() time.Time {
	if c.answered.Load() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, f := range c.limits {
			f()
		}
	}
	return c.Clock.Now()
}

// TestUnusableInTime: an answer that cannot be used has come all the same, also where
// the time limit runs out before the caller is told.
func TestUnusableInTime(t *testing.T) {
	clock := &late{Clock: harness.SystemClock()}
	s := open(t, harness.Server{Name: "p", Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
		rw, err := legacy(peer{"tools/call": {`{"jsonrpc":"2.0","id":ID,"result":{"con`}}).dial(ctx)
		return &told{rw, clock}, err
	}}, &mcppool.Options{Clock: clock})
	_, err := s.Call(t.Context(), "x", nil)
	if e := kindOf(t, err); e.Kind != mcppool.ErrMalformed || !strings.Contains(err.Error(), "unusable answer: line is not a JSON-RPC message") {
		t.Errorf("Call() = %v (%s)", err, e.Kind)
	}
}

// told tells a clock that a call was sent.
type told struct {
	io.ReadWriteCloser
	clock *late
}

func (r *told) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(`"tools/call"`)) {
		r.clock.answered.Store(true)
	}
	return r.ReadWriteCloser.Write(b)
}

func TestNotesTellOfJunk(t *testing.T) {
	s := openPeer(t, legacy(peer{"tools/call": {"Server running", result("x")}}), nil)
	if _, err := s.Call(t.Context(), "x", nil); err != nil {
		t.Fatal(err)
	}
	want := `server "p": line is not a JSON-RPC message (invalid character 'S' looking for beginning of value): "Server running"`
	if diff := cmp.Diff([]string{want}, s.Notes()); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

func TestRequestsOfTheServerAreAnswered(t *testing.T) {
	answers := make(chan string, 2)
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
				switch {
				case m.IsResponse():
					answers <- string(m.Frame)
				case m.Method == "notifications/initialized":
					_ = w.Write([]byte(`{"jsonrpc":"2.0","id":"s1","method":"ping"}`))
					_ = w.Write([]byte(`{"jsonrpc":"2.0","id":"s2","method":"roots/list"}`))
				default:
					frame := map[string]string{"server/discover": discoverRefused, "initialize": initialized}[m.Method]
					_ = w.Write([]byte(strings.ReplaceAll(frame, "ID", string(m.ID))))
				}
			}
		}()
		return theirs, nil
	}}, nil)
	got := <-answers + <-answers
	for _, want := range []string{`{"jsonrpc":"2.0","id":"s1","result":{}}`, `{"jsonrpc":"2.0","id":"s2","error":{"code":-32601`} {
		if !strings.Contains(got, want) {
			t.Errorf("the server got %s, want %s", got, want)
		}
	}
	s.Close()
}

// TestServerThatDoesNotRead: a write that blocks ends with the deadline, also that of a
// call which fits but for a byte.
func TestServerThatDoesNotRead(t *testing.T) {
	const room = 64 << 10 // of a pipe
	sizes := []int{16 * room}
	for around := range 200 { // what else there is in a call
		sizes = append(sizes, room-around)
	}
	for _, size := range sizes {
		synctest.Test(t, func(t *testing.T) {
			p := legacy(nil)
			s := open(t, harness.Server{Dial: func(context.Context) (io.ReadWriteCloser, error) {
				ours, theirs := mcpwire.Pipe()
				go func() {
					r := mcpwire.NewReader(ours, nil)
					for range 3 { // discover, initialize, initialized; then no more
						m, err := r.Next()
						if err != nil {
							return
						}
						for _, frame := range p[m.Method] {
							fmt.Fprintln(ours, strings.ReplaceAll(frame, "ID", string(m.ID)))
						}
					}
				}()
				return theirs, nil
			}}, nil)
			_, err := s.Call(t.Context(), "x", raw(`{"a":"`+strings.Repeat("x", size)+`"}`))
			if kindOf(t, err).Kind != mcppool.ErrTimeout {
				t.Errorf("Call() = %v", err)
			}
			s.Close()
		})
	}
}

func TestConcurrentCallsGetTheirOwnAnswers(t *testing.T) {
	server, err := mockmcp.New(mockmcp.Script{Name: "e", Tools: []mockmcp.Tool{{
		Name: "echo", Handler: func(_ context.Context, c *mockmcp.Call) (*mockmcp.Answer, error) {
			return &mockmcp.Answer{Text: string(c.Args)}, nil
		},
	}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	s := open(t, harness.Server{Name: "e", Dial: server.Dial}, nil)
	if v := s.ProtocolVersion(); v != "2026-07-28" {
		t.Errorf("version %q", v)
	}
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			args := fmt.Sprintf(`{"i":%d,"n":1.10}`, i)
			if r, err := s.Call(t.Context(), "echo", raw(args)); err != nil || r.Text != args {
				t.Errorf("call %d: %v, %v", i, r, err)
			}
		})
	}
	wg.Wait()
}

// A handler that takes too long costs the call its time limit, and one that the caller
// does not wait for ends with it: the server has asked for nothing wrong.
func TestInputThatTakesTooLong(t *testing.T) {
	for _, tt := range []struct {
		name  string
		waits time.Duration // the caller
		kind  mcppool.ErrorKind
		want  string
	}{
		{"too long", time.Hour, mcppool.ErrTimeout, `calling "x" on server "p": no answer within 1m0s`},
		{"given up", time.Second, mcppool.ErrCancelled, `calling "x" on server "p": context deadline exceeded`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &scripted{modern: true, answer: func(m mcpwire.Message, out *mcpwire.Writer) {
					if acknowledges(m, out); m.Method == "tools/call" {
						say(out, m, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}}`)
					}
				}}
				s := open(t, harness.Server{Dial: p.dial}, &mcppool.Options{Roots: func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
					<-ctx.Done()
					return nil, ctx.Err()
				}})
				ctx, cancel := context.WithTimeout(t.Context(), tt.waits)
				defer cancel()
				_, err := s.Call(ctx, "x", nil)
				if err == nil || err.Error() != tt.want || kindOf(t, err).Kind != tt.kind || p.count("tools/call") != 1 {
					t.Errorf("Call() = %v, want %s", err, tt.want)
				}
				s.Close()
			})
		})
	}
}

// A handshake that nobody waits for any more is not cancelled: the protocol rules that
// out. The connection ends.
func TestHandshakeIsNotCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		ended := make(chan struct{})
		_, err := mcppool.Open(t.Context(), harness.Server{Name: "p", Dial: func(context.Context) (io.ReadWriteCloser, error) {
			ours, theirs := mcpwire.Pipe()
			go func() {
				defer close(ended)
				defer ours.Close()
				for in := mcpwire.NewReader(ours, nil); ; {
					m, err := in.Next()
					if err != nil {
						return
					}
					got = append(got, m.Method)
				}
			}()
			return theirs, nil
		}}, usual)
		if err == nil || err.Error() != `connecting to server "p": no answer within 30s` {
			t.Errorf("Open() = %v", err)
		}
		<-ended
		if diff := cmp.Diff([]string{"server/discover", "initialize"}, got); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
	})
}
