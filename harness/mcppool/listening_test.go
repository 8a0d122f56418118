// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool_test

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// In the new era a server is asked to tell of changes before anything else
// happens: what it tells before it has said so is lost.
func TestListeningBeginsFirst(t *testing.T) {
	for _, tt := range []struct {
		name string
		acks func(m mcpwire.Message, out *mcpwire.Writer)
		took time.Duration
		note string
	}{
		{"acknowledged", func(m mcpwire.Message, out *mcpwire.Writer) {
			<-time.After(300 * time.Millisecond)
			say(out, m, `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{}}`)
		}, 300 * time.Millisecond, ""},
		{"not acknowledged", func(mcpwire.Message, *mcpwire.Writer) {}, time.Second, "does not confirm that it will announce changes"},
		{"refused", func(m mcpwire.Message, out *mcpwire.Writer) { say(out, m, discoverRefused) }, 0, "no longer announces changes: MCP error -32601: Method not found"},
		{"ended", func(m mcpwire.Message, out *mcpwire.Writer) {
			say(out, m, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete"}}`)
		}, 0, "no longer announces changes: it ended the stream"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &scripted{modern: true}
				p.answer = func(m mcpwire.Message, out *mcpwire.Writer) {
					switch m.Method {
					case "subscriptions/listen":
						tt.acks(m, out)
					case "tools/list":
						say(out, m, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","tools":[]}}`)
					}
				}
				begin := time.Now()
				s := open(t, harness.Server{Dial: p.dial}, nil)
				if d := time.Since(begin); d != tt.took {
					t.Errorf("it took %v, want %v", d, tt.took)
				}
				notes := strings.Join(s.Notes(), "\n")
				if (tt.note == "") != (notes == "") || !strings.Contains(notes, tt.note) {
					t.Errorf("notes %q, want %q", notes, tt.note)
				}
				if _, _, err := s.Tools(t.Context()); err != nil {
					t.Error(err)
				}
				want := map[bool]int{true: 2, false: 1}[tt.took == 0] // who has stopped is asked again
				if n := p.count("subscriptions/listen"); n != want {
					t.Errorf("asked %d times, want %d", n, want)
				}
				s.Close()
			})
		})
	}
}

// A server that has ended its stream is asked to announce changes once more, and not
// again when it does.
func TestListeningThatIsTakenUpAgain(t *testing.T) {
	var asked atomic.Int32
	p := &scripted{modern: true, answer: func(m mcpwire.Message, out *mcpwire.Writer) {
		switch {
		case m.Method == "tools/list":
			say(out, m, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","tools":[]}}`)
		case m.Method == "subscriptions/listen" && asked.Add(1) == 1:
			say(out, m, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete"}}`)
		default:
			acknowledges(m, out)
		}
	}}
	s := open(t, harness.Server{Dial: p.dial}, nil)
	for range 3 {
		if _, _, err := s.Tools(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("asked %d times, want 2", n)
	}
	s.Close()
}

// A session that is closed does not report that its server has stopped announcing
// changes, and neither does one whose server has gone.
func TestListeningEndsWithTheConnection(t *testing.T) {
	for name, end := range map[string]func(s *mcppool.Session, line io.Closer){
		"closed": func(s *mcppool.Session, _ io.Closer) { s.Close() },
		"gone":   func(_ *mcppool.Session, line io.Closer) { line.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &scripted{modern: true, answer: acknowledges}
				var line io.Closer // the connection
				s := open(t, harness.Server{Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
					rw, err := p.dial(ctx)
					line = rw
					return rw, err
				}}, nil)
				end(s, line)
				synctest.Wait()
				if n := p.count("subscriptions/listen"); n != 1 {
					t.Errorf("asked %d times to announce changes", n)
				}
				if notes := s.Notes(); len(notes) > 0 {
					t.Errorf("notes %q", notes)
				}
				s.Close()
			})
		})
	}
}

// acknowledges answers nothing, but confirms that it will announce changes.
func acknowledges(m mcpwire.Message, out *mcpwire.Writer) {
	if m.Method == "subscriptions/listen" {
		say(out, m, `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{}}`)
	}
}

// An error without an id belongs to the call under way, also beside a request
// that waits for ever.
func TestErrorWithoutAnIDBesideListening(t *testing.T) {
	p := &scripted{modern: true}
	p.answer = func(m mcpwire.Message, out *mcpwire.Writer) {
		switch m.Method {
		case "subscriptions/listen":
			say(out, m, `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{}}`)
		case "tools/call":
			say(out, m, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`)
		}
	}
	s := open(t, harness.Server{Dial: p.dial}, nil)
	if _, err := s.Call(t.Context(), "x", nil); err == nil || kindOf(t, err).Kind != mcppool.ErrRPC {
		t.Errorf("Call() = %v", err)
	}
	s.Close()
}
