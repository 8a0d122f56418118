// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool_test

import (
	"context"
	"encoding/json"
	"errors"
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
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// scripted is a server of the initialize era whose answers are code. What it
// is sent is kept.
type scripted struct {
	// answer gets anything that is not a part of the handshake. Each call has a
	// goroutine of its own, so that it may take its time.
	answer func(m mcpwire.Message, out *mcpwire.Writer)
	modern bool
	out    io.Writer // what the answers are written to, for those that are none

	mu    sync.Mutex // guards the fields below
	got   []string   // methods; "result" and "error" for our answers
	frame map[string][]byte
}

func (p *scripted) dial(context.Context) (io.ReadWriteCloser, error) {
	ours, theirs := mcpwire.Pipe()
	p.out = ours
	go func() {
		var running sync.WaitGroup
		defer running.Wait()
		defer ours.Close()
		in, out := mcpwire.NewReader(ours, nil), mcpwire.NewWriter(ours)
		for {
			m, err := in.Next()
			if err != nil {
				return
			}
			p.keep(m)
			switch {
			case m.Method == "server/discover" && p.modern:
				say(out, m, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}}`)
			case m.Method == "server/discover":
				say(out, m, discoverRefused)
			case m.Method == "initialize":
				say(out, m, initialized)
			default:
				running.Go(func() { p.answer(m, out) })
			}
		}
	}()
	return theirs, nil
}

func (p *scripted) keep(m mcpwire.Message) {
	what := m.Method
	switch {
	case m.IsResponse() && m.Error != nil:
		what = "error"
	case m.IsResponse():
		what = "result"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got = append(p.got, what)
	if p.frame == nil {
		p.frame = map[string][]byte{}
	}
	p.frame[what] = m.Frame
}

// last returns the last message of a method.
func (p *scripted) last(method string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.frame[method])
}

func (p *scripted) count(method string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.got {
		if m == method {
			n++
		}
	}
	return n
}

func say(out *mcpwire.Writer, m mcpwire.Message, frame string) {
	_ = out.Write([]byte(strings.ReplaceAll(frame, "ID", string(m.ID))))
}

// token is the progress token of a call.
func token(m mcpwire.Message) json.RawMessage {
	var params struct {
		Meta struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &params)
	return params.Meta.Token
}

func tells(out *mcpwire.Writer, token json.RawMessage, n int) {
	_ = out.Write(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":10,"message":"copying"}}`, token, n))
}

// Progress begins the wait anew, up to a limit in all.
func TestProgressExtendsTheWait(t *testing.T) {
	for _, tt := range []struct {
		name  string
		words int           // how much progress is told, one word in 40 s
		then  time.Duration // until the answer after the last word
		want  string        // the error
		after time.Duration
	}{
		{"in time", 0, 59 * time.Second, "", 59 * time.Second},
		{"too late", 0, time.Hour, `calling "x" on server "p": no answer within 1m0s`, time.Minute},
		{"with progress", 5, 50 * time.Second, "", 250 * time.Second},
		{"progress that ends", 2, time.Hour, `calling "x" on server "p": no answer within 1m0s after its last progress, 2 of 10, copying`, 140 * time.Second},
		{"progress without end", 1000, 0, `calling "x" on server "p": no answer within the total limit of 5m0s, although progress arrived at 7 of 10, copying`, 5 * time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended := make(chan struct{})
				wait := func(d time.Duration) {
					select {
					case <-time.After(d):
					case <-ended:
					}
				}
				p := &scripted{answer: func(m mcpwire.Message, out *mcpwire.Writer) {
					if m.Method != "tools/call" {
						return
					}
					for i := 1; i <= tt.words; i++ {
						wait(40 * time.Second)
						tells(out, token(m), i)
					}
					wait(tt.then)
					say(out, m, result("ok"))
				}}
				s := open(t, harness.Server{Dial: p.dial}, &mcppool.Options{TotalTimeout: 5 * time.Minute})
				begin := time.Now()
				_, err := s.Call(t.Context(), "x", nil)
				if d := time.Since(begin); d != tt.after {
					t.Errorf("it took %v, want %v", d, tt.after)
				}
				switch {
				case tt.want == "" && err != nil:
					t.Error(err)
				case tt.want != "" && (err == nil || err.Error() != tt.want || !errors.Is(err, context.DeadlineExceeded)):
					t.Errorf("got %v, want %s", err, tt.want)
				}
				synctest.Wait()
				if n := p.count("notifications/cancelled"); n != map[bool]int{true: 0, false: 1}[tt.want == ""] {
					t.Errorf("%d times cancelled", n)
				}
				close(ended)
				s.Close()
			})
		})
	}
}

// A token for every call, and each its own; what is told of a call that is
// over, or cannot be read, disturbs nobody.
func TestProgressTokens(t *testing.T) {
	var told []string
	p := &scripted{answer: func(m mcpwire.Message, out *mcpwire.Writer) {
		if m.Method != "tools/call" {
			return
		}
		say(out, m, `{"jsonrpc":"2.0","method":"notifications/progress","params":[]}`)
		say(out, m, `{"jsonrpc":"2.0","method":"notifications/progress"}`)
		tells(out, json.RawMessage(`"`+string(token(m))+`"`), 1) // as text: forgiven
		for range 1000 {
			say(out, m, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)
		}
		tells(out, json.RawMessage(`999`), 1)
		say(out, m, `{"jsonrpc":"2.0","method":"notifications/of/the/future","params":{}}`)
		say(out, m, result(string(token(m))))
	}}
	s := open(t, harness.Server{Dial: p.dial}, &mcppool.Options{Notified: func(_, method string, params json.RawMessage) {
		if method != "notifications/message" {
			told = append(told, method+string(params))
		}
	}})
	for _, want := range []string{"1", "2"} {
		if r, err := s.Call(t.Context(), "x", nil); err != nil || r.Text != want {
			t.Errorf("Call() = %v, %v, want %s", r, err, want)
		}
	}
	if got := len(told); got != 10 {
		t.Errorf("told %q", told)
	}
	want := []string{
		`server "p": sent unreadable progress: []`,
		`server "p": sent progress for no open call: {"progressToken":999,"progress":1,"total":10,"message":"copying"}`,
	}
	var got []string
	for _, n := range s.Notes() {
		if strings.Contains(n, "progress") {
			got = append(got, n)
		}
	}
	if len(got) < 2 || got[0] != want[0] {
		t.Errorf("notes (-want +got):\n%s", cmp.Diff(want, got))
	}
	s.Close()
}

// Progress of a call that was answered is noted, and moves no other call.
func TestProgressOfACallThatIsOver(t *testing.T) {
	p := &scripted{answer: func(m mcpwire.Message, out *mcpwire.Writer) {
		if m.Method == "tools/call" {
			if string(token(m)) == "2" {
				tells(out, json.RawMessage("1"), 9)
			}
			say(out, m, result("ok"))
		}
	}}
	s := open(t, harness.Server{Dial: p.dial}, nil)
	for range 2 {
		if _, err := s.Call(t.Context(), "x", nil); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{`server "p": sent progress for no open call: {"progressToken":1,"progress":9,"total":10,"message":"copying"}`}
	if diff := cmp.Diff(want, s.Notes()); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	s.Close()
}

// A caller that gives up tells the server so, and the server goes on living.
func TestCancellingIsTold(t *testing.T) {
	p := &scripted{}
	called := make(chan struct{}, 1)
	cancelled := make(chan string, 1)
	p.answer = func(m mcpwire.Message, out *mcpwire.Writer) {
		switch {
		case m.Method == "notifications/cancelled":
			cancelled <- string(m.Params)
		case m.Method == "tools/call" && strings.Contains(string(m.Params), "slow"):
			called <- struct{}{}
		case m.Method == "tools/call":
			say(out, m, result("quick"))
		}
	}
	dials := 0
	s := open(t, harness.Server{Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
		dials++
		return p.dial(ctx)
	}}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-called
		cancel()
	}()
	_, err := s.Call(ctx, "slow", nil)
	if e := kindOf(t, err); e.Kind != mcppool.ErrCancelled || !errors.Is(err, context.Canceled) {
		t.Errorf("Call() = %v", err)
	}
	if got := <-cancelled; !strings.Contains(got, `"requestId":3`) || !strings.Contains(got, `"reason":"context canceled"`) {
		t.Errorf("cancelled with %s", got)
	}
	if r, err := s.Call(t.Context(), "fast", nil); err != nil || r.Text != "quick" || dials != 1 {
		t.Errorf("the next call: %v, %v, after %d connections", r, err, dials)
	}
	s.Close()
}

// What a server asks for is refused unless there is a handler, which also
// declares the capability.
func TestHandlers(t *testing.T) {
	answers := make(chan string, 10)
	p := &scripted{}
	p.answer = func(m mcpwire.Message, out *mcpwire.Writer) {
		switch {
		case m.IsResponse():
			answers <- string(m.Frame)
		case m.Method == "notifications/initialized":
			say(out, m, `{"jsonrpc":"2.0","id":"q1","method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":10}}`)
		}
	}
	for _, tt := range []struct {
		name    string
		handler mcppool.Handler
		want    string
	}{
		{"none", nil, `"error":{"code":-32601,"message":"no sampling handler configured"}`},
		{"one that answers", func(_ context.Context, params json.RawMessage) (json.RawMessage, error) {
			if !strings.Contains(string(params), `"text":"hi"`) {
				t.Errorf("params: %s", params)
			}
			return raw(`{"role":"assistant","content":{"type":"text","text":"hello"},"model":"m"}`), nil
		}, `"text":"hello"`},
		{"one that fails", func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return nil, errors.New("no model")
		}, `"error":{"code":-32603,"message":"no model"}`},
		{"one that refuses", func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return nil, &mcppool.Error{RPC: &jsonrpc.Error{Code: -1, Message: "User rejected sampling request"}}
		}, `"error":{"code":-1,"message":"User rejected sampling request"}`},
		{"one that answers nonsense", func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return raw(`[`), nil
		}, `"error":{"code":-32603,"message":"the client's answer is unusable`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, harness.Server{Dial: p.dial}, &mcppool.Options{Sampling: tt.handler})
			if got := <-answers; !strings.Contains(got, tt.want) || !strings.Contains(got, `"id":"q1"`) {
				t.Errorf("the server got %s, want %s", got, tt.want)
			}
			var notes []string
			if tt.handler == nil {
				notes = []string{`server "p": asked for "sampling/createMessage", which this client cannot provide: no sampling handler configured`}
			}
			if diff := cmp.Diff(notes, s.Notes()); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			if declared := strings.Contains(p.last("initialize"), `"sampling"`); declared != (tt.handler != nil) {
				t.Errorf("declared: %s", p.last("initialize"))
			}
			s.Close()
		})
	}
}

// In the new era a server asks by its result, and the call is sent again with
// the answers.
func TestInputRequired(t *testing.T) {
	p := &scripted{modern: true}
	p.answer = func(m mcpwire.Message, out *mcpwire.Writer) {
		switch {
		case m.Method != "tools/call":
		case strings.Contains(string(m.Params), `"inputResponses"`):
			say(out, m, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","content":[{"type":"text","text":"thanks"}]}}`)
		default:
			say(out, m, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required","requestState":"s","inputRequests":{"name":{"method":"elicitation/create","params":{"message":"your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}}}}`)
		}
	}
	s := open(t, harness.Server{Dial: p.dial}, nil)
	_, err := s.Call(t.Context(), "x", nil)
	want := `calling "x" on server "p": the server asks for input that this client cannot provide: elicitation/create as "name"`
	if e := kindOf(t, err); e.Kind != mcppool.ErrMalformed || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("without a handler: %v, want %s", err, want)
	}
	s.Close()

	s = open(t, harness.Server{Dial: p.dial}, &mcppool.Options{Elicitation: func(context.Context, json.RawMessage) (json.RawMessage, error) {
		return raw(`{"action":"accept","content":{"name":"Ada"}}`), nil
	}})
	if r, err := s.Call(t.Context(), "x", nil); err != nil || r.Text != "thanks" {
		t.Errorf("with a handler: %v, %v", r, err)
	}
	if got := p.last("tools/call"); !strings.Contains(got, `"Ada"`) || !strings.Contains(got, `"requestState":"s"`) {
		t.Errorf("the second call: %s", got)
	}
	s.Close()
}

// A server may ask for input nine times in a call, and twice in a row for none.
func TestInputThatIsAskedForAgain(t *testing.T) {
	refusal := `calling "x" on server "p": the server asks for input that this client cannot provide: `
	for _, tt := range []struct {
		name string
		asks string // a letter for each time: s for something, n for nothing
		want string // the error
	}{
		{"nine times", "sssssssss", ""},
		{"ten times", "ssssssssss", refusal + `roots/list as "a" (it has asked 10 times)`},
		{"twice for nothing", "nn", ""},
		{"three times for nothing", "nnn", refusal + "nothing in particular (it has asked 3 times)"},
		{"for nothing again and again, but not in a row", "nnsnnsnns", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var calls atomic.Int32 // each is answered on a goroutine of its own
			p := &scripted{modern: true, answer: func(m mcpwire.Message, out *mcpwire.Writer) {
				if acknowledges(m, out); m.Method != "tools/call" {
					return
				}
				n := int(calls.Add(1))
				if n > len(tt.asks) {
					say(out, m, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","content":[{"type":"text","text":"thanks"}]}}`)
					return
				}
				say(out, m, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required","inputRequests":`+
					map[byte]string{'s': `{"a":{"method":"roots/list"}}`, 'n': `{}`}[tt.asks[n-1]]+`}}`)
			}}
			s := open(t, harness.Server{Dial: p.dial}, &mcppool.Options{Roots: func(context.Context, json.RawMessage) (json.RawMessage, error) {
				return raw(`{"roots":[]}`), nil
			}})
			r, err := s.Call(t.Context(), "x", nil)
			switch {
			case tt.want == "" && (err != nil || r.Text != "thanks"):
				t.Errorf("Call() = %v, %v", r, err)
			case tt.want != "" && (err == nil || err.Error() != tt.want):
				t.Errorf("Call() = %v, %v, want %s", r, err, tt.want)
			}
			s.Close()
		})
	}
}

func TestEras(t *testing.T) {
	for _, tt := range []struct {
		name    string
		modern  bool
		era     mcppool.Era
		version string
		err     string
	}{
		{"auto, modern", true, mcppool.EraAuto, "2026-07-28", ""},
		{"auto, legacy", false, mcppool.EraAuto, "2025-11-25", ""},
		{"legacy of a modern server", true, mcppool.EraLegacy, "2025-11-25", ""},
		{"modern", true, mcppool.EraModern, "2026-07-28", ""},
		{"modern of a legacy server", false, mcppool.EraModern, "", `connecting to server "p": the server does not support protocol version 2026-07-28: MCP error -32601: Method not found`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &scripted{modern: tt.modern, answer: func(mcpwire.Message, *mcpwire.Writer) {}}
			s, err := mcppool.Open(t.Context(), harness.Server{Name: "p", Dial: p.dial}, &mcppool.Options{Era: tt.era})
			if tt.err != "" {
				if err == nil || err.Error() != tt.err || p.count("initialize") > 0 {
					t.Errorf("got %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if v := s.ProtocolVersion(); v != tt.version {
				t.Errorf("version %q", v)
			}
			if tt.era == mcppool.EraLegacy && p.count("server/discover") > 0 {
				t.Error("it was asked for the new era")
			}
			s.Close()
		})
	}
}

// A server of the new era alone that is slow to start answers the probe late
// and refuses initialize.
func TestSlowStartOfAModernServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, harness.Server{Dial: func(context.Context) (io.ReadWriteCloser, error) {
			ours, theirs := mcpwire.Pipe()
			go func() {
				defer ours.Close()
				<-time.After(3 * time.Second)
				in, out := mcpwire.NewReader(ours, nil), mcpwire.NewWriter(ours)
				for {
					m, err := in.Next()
					if err != nil {
						return
					}
					switch m.Method {
					case "server/discover":
						say(out, m, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}}`)
					case "tools/call":
						say(out, m, result("ok"))
					default:
						say(out, m, discoverRefused)
					}
				}
			}()
			return theirs, nil
		}}, nil)
		if r, err := s.Call(t.Context(), "x", nil); err != nil || r.Text != "ok" || s.ProtocolVersion() != "2026-07-28" {
			t.Errorf("Call() = %v, %v with %s", r, err, s.ProtocolVersion())
		}
		s.Close()
	})
}

// A server of the initialize era that is slow to start, and refuses the probe with an
// error that has no id, seems to have refused initialize: it is asked again.
func TestSlowStartOfAServerThatRefusesTheProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, harness.Server{Dial: func(context.Context) (io.ReadWriteCloser, error) {
			ours, theirs := mcpwire.Pipe()
			go func() {
				defer ours.Close()
				<-time.After(3 * time.Second)
				in, out := mcpwire.NewReader(ours, nil), mcpwire.NewWriter(ours)
				for {
					m, err := in.Next()
					if err != nil {
						return
					}
					switch m.Method {
					case "server/discover":
						say(out, m, strings.ReplaceAll(discoverRefused, "ID", "null"))
					case "initialize":
						say(out, m, initialized)
					case "tools/call":
						say(out, m, result("ok"))
					}
				}
			}()
			return theirs, nil
		}}, usual)
		if r, err := s.Call(t.Context(), "x", nil); err != nil || r.Text != "ok" || s.ProtocolVersion() != "2025-11-25" {
			t.Errorf("Call() = %v, %v with %s", r, err, s.ProtocolVersion())
		}
		s.Close()
	})
}
