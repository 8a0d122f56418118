// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// A server that goes away when it is asked for the new era is asked again
// without that.
func TestServerThatEndsAtTheProbe(t *testing.T) {
	dials := 0
	s := open(t, harness.Server{Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
		dials++
		return peer{"server/discover": {"EXIT"}, "initialize": {initialized}, "tools/call": {result("ok")}}.dial(ctx)
	}}, patient)
	if r, err := s.Call(t.Context(), "x", nil); err != nil || r.Text != "ok" || dials != 2 {
		t.Errorf("Call() = %v, %v after %d connections", r, err, dials)
	}
	want := []string{`server "p": disconnected on server/discover; connecting again without it`}
	if diff := cmp.Diff(want, s.Notes()); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	s.Close()
}

// Where only the new era is wanted, a server that goes away at the probe is not asked
// for the other.
func TestServerThatEndsAtTheOnlyProbe(t *testing.T) {
	dials := 0
	opts := *patient
	opts.Era = mcppool.EraModern
	_, err := mcppool.Open(t.Context(), harness.Server{Name: "p", Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
		dials++
		return peer{"server/discover": {"EXIT"}, "initialize": {initialized}}.dial(ctx)
	}}, &opts)
	if err == nil || err.Error() != `connecting to server "p": the server disconnected` || dials != 1 {
		t.Errorf("Open() = %v after %d connections", err, dials)
	}
}

// A server that is slow, and goes away at the probe when it has answered what came
// after it, is asked again without that; but a call is not made twice.
func TestServerThatEndsAtALateProbe(t *testing.T) {
	for _, method := range []string{"tools/list", "tools/call"} {
		synctest.Test(t, func(t *testing.T) {
			dials := 0
			s := open(t, harness.Server{Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
				if dials++; dials == 1 {
					return peer{"initialize": {initialized}, method: {"EXIT"}}.dial(ctx)
				}
				return peer{"server/discover": {"EXIT"}, "initialize": {initialized}, method: {`{"jsonrpc":"2.0","id":ID,"result":{"tools":[],"content":[]}}`}}.dial(ctx)
			}}, usual)
			if method == "tools/list" {
				if _, _, err := s.Tools(t.Context()); err != nil || dials != 2 {
					t.Errorf("Tools() = %v after %d connections", err, dials)
				}
				want := []string{`server "p": did not answer server/discover in time; continuing with initialize`, `server "p": disconnected, perhaps on server/discover; opened a new one`}
				if diff := cmp.Diff(want, s.Notes()); diff != "" {
					t.Errorf("notes (-want +got):\n%s", diff)
				}
			} else if _, err := s.Call(t.Context(), "x", nil); err == nil || dials != 1 {
				t.Errorf("Call() = %v after %d connections", err, dials)
			}
			s.Close()
		})
	}
}

// A server that was slow to answer the probe and has answered a request since, if
// with an error, did not go away for the probe.
func TestServerThatEndsAfterALateProbe(t *testing.T) {
	for _, answer := range []string{result("ok"), `{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"no such tool"}}`} {
		synctest.Test(t, func(t *testing.T) {
			dials := 0
			s := open(t, harness.Server{Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
				dials++
				return peer{"initialize": {initialized}, "tools/call": {answer}, "tools/list": {"EXIT"}}.dial(ctx)
			}}, usual)
			if _, err := s.Call(t.Context(), "x", nil); (err == nil) != (answer == result("ok")) {
				t.Errorf("Call() = %v", err)
			}
			if _, _, err := s.Tools(t.Context()); err == nil || dials != 1 {
				t.Errorf("Tools() = %v after %d connections", err, dials)
			}
			s.Close()
		})
	}
}

// An answer to server/discover that does not name the new era means that the
// server is of the old one.
func TestDiscoverWithoutTheVersion(t *testing.T) {
	for _, result := range []string{`{}`, `{"supportedVersions":[]}`, `{"supportedVersions":["2025-11-25"]}`, `[]`, `{"supportedVersions":7}`} {
		t.Run(result, func(t *testing.T) {
			s := openPeer(t, peer{"server/discover": {`{"jsonrpc":"2.0","id":ID,"result":` + result + `}`}, "initialize": {initialized}}, nil)
			if v := s.ProtocolVersion(); v != "2025-11-25" {
				t.Errorf("version %q", v)
			}
			s.Close()
		})
	}
}

// The framing of language servers is named as the cause.
func TestContentLengthFraming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ok := result("ok")
		s := openPeer(t, legacy(peer{"tools/call": {fmt.Sprintf("Content-Length: %d\r\n\r\n%sNONEWLINE", len(ok), ok)}}), nil)
		_, err := s.Call(t.Context(), "x", nil)
		want := `calling "x" on server "p": no answer within 1m0s (the server frames its messages with Content-Length, as language servers do; MCP requires one message per line)`
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		s.Close()
	})
}

// What a server says of itself and nothing depends on may be of another type.
func TestOddWordsOfTheServer(t *testing.T) {
	s := openPeer(t, legacy(peer{"initialize": {strings.NewReplacer(`"version":"1"`, `"version":1.0`, `"capabilities"`, `"instructions":7,"capabilities"`).Replace(initialized)}}), nil)
	if i := s.Info(); i.Version != "1.0" || i.Instructions != "7" {
		t.Errorf("it is %+v", i)
	}
	s.Close()
}

// Over HTTP in the new era, a tool with a wrong mark for a header is left out,
// and one that mcp-go cannot read costs nobody else a header. One that has lost its
// mark has no header any more.
func TestHeaderMarks(t *testing.T) {
	for _, perCall := range []bool{false, true} {
		t.Run(fmt.Sprint("a connection per call ", perCall), func(t *testing.T) {
			var header string
			lists := 0
			s := openHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				m, _ := mcpwire.Parse(body)
				switch m.Method {
				case "server/discover":
					reply(w, m, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}`)
				case "tools/list":
					if lists++; lists > 1 { // it has lost its mark
						reply(w, m, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","tools":[{"name":"good","inputSchema":{"type":"object"}}]}}`)
						return
					}
					reply(w, m, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","tools":[`+
						`{"name":"bool","inputSchema":true},`+
						`{"name":"good","inputSchema":{"type":"object","properties":{"city":{"type":"string","x-mcp-header":"City"}}}},`+
						`{"name":"bad","inputSchema":{"type":"object","properties":{"city":{"type":"string","x-mcp-header":"a b"}}}}]}}`)
				case "tools/call":
					header = r.Header.Get("Mcp-Param-City")
					reply(w, m, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","content":[]}}`)
				}
			}), &mcppool.Options{PerCall: perCall, DiscoverTimeout: patient.DiscoverTimeout, ConnectTimeout: patient.ConnectTimeout})
			tools, warnings, err := s.Tools(t.Context())
			if err != nil || len(tools) != 2 || tools[1].Name != "good" {
				t.Errorf("Tools() = %v, %v", tools, err)
			}
			if len(warnings) != 1 || !strings.HasPrefix(warnings[0], `server "p": entry 3 of page 1 of its tools is left out: property "city": `) {
				t.Errorf("warnings: %q", warnings)
			}
			if _, err := s.Call(t.Context(), "good", raw(`{"city":"Paris"}`)); err != nil || header != "Paris" {
				t.Errorf("header %q, %v", header, err)
			}
			if _, _, err := s.Tools(t.Context()); err != nil {
				t.Error(err)
			}
			if _, err := s.Call(t.Context(), "good", raw(`{"city":"Paris"}`)); err != nil || header != "" {
				t.Errorf("without a mark: header %q, %v", header, err)
			}
			s.Close()
		})
	}
}

// HTTP+SSE: a server that was restarted does not know the address any more.
func TestSSEThatWasForgotten(t *testing.T) {
	var streams, calls atomic.Int32
	var frames [3]chan string // of each stream: one that is left may still listen
	for i := range frames {
		frames[i] = make(chan string, 10)
	}
	s := open(t, harness.Server{Transport: "sse", URL: serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "text/event-stream")
			n := streams.Add(1)
			fmt.Fprintf(w, "id: 1\ndata:\n\nevent: endpoint\ndata: /message?s=%d\n\n", n)
			w.(http.Flusher).Flush()
			for {
				select {
				case frame := <-frames[n]:
					fmt.Fprintf(w, "event: message\ndata: %s\n\n", frame)
					w.(http.Flusher).Flush()
				case <-r.Context().Done():
					return
				}
			}
		}
		body, _ := io.ReadAll(r.Body)
		m, _ := mcpwire.Parse(body)
		if m.Method == "tools/call" {
			calls.Add(1)
		}
		if m.Method == "tools/call" && r.URL.Query().Get("s") == "1" {
			http.Error(w, "no such session", http.StatusNotFound)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		for _, frame := range legacy(peer{"tools/call": {result("ok")}})[m.Method] {
			n, _ := strconv.Atoi(r.URL.Query().Get("s"))
			frames[n] <- strings.ReplaceAll(frame, "ID", string(m.ID))
		}
	})}, nil)
	if r, err := s.Call(t.Context(), "x", nil); err != nil || r.Text != "ok" || calls.Load() != 2 || streams.Load() != 2 {
		t.Errorf("Call() = %v, %v after %d calls on %d streams", r, err, calls.Load(), streams.Load())
	}
	if notes := s.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "no longer knows the session; opened a new one") {
		t.Errorf("notes: %q", notes)
	}
	s.Close()
}

// HTTP+SSE: what the answer to a POST says of the request counts, for nothing comes on
// the stream.
func TestSSEThatRefuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		body   string
		kind   mcppool.ErrorKind
		want   string // the error; empty for a call that is made on a new stream
	}{
		{"an error of the protocol", 400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"no such tool"}}`, mcppool.ErrRPC, `calling "x" on server "p": MCP error -32602: no such tool`},
		{"another error", 500, "boom", mcppool.ErrTransport, `calling "x" on server "p": HTTP 500 Internal Server Error: boom`},
		{"a session that is not known", 400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`, "", ""},
		{"none, in other words", 404, "gone", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var streams, calls atomic.Int32
			var frames [3]chan string // of each stream
			for i := range frames {
				frames[i] = make(chan string, 10)
			}
			s := open(t, harness.Server{Transport: "sse", URL: serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					w.Header().Set("Content-Type", "text/event-stream")
					n := streams.Add(1)
					fmt.Fprintf(w, "event: endpoint\ndata: /message?s=%d\n\n", n)
					w.(http.Flusher).Flush()
					for {
						select {
						case frame := <-frames[n]:
							fmt.Fprintf(w, "data: %s\n\n", frame)
							w.(http.Flusher).Flush()
						case <-r.Context().Done():
							return
						}
					}
				}
				body, _ := io.ReadAll(r.Body)
				m, _ := mcpwire.Parse(body)
				if m.Method == "tools/call" && calls.Add(1) == 1 {
					w.WriteHeader(tt.status)
					_, _ = io.WriteString(w, tt.body)
					return
				}
				w.WriteHeader(http.StatusAccepted)
				n, _ := strconv.Atoi(r.URL.Query().Get("s"))
				for _, frame := range legacy(peer{"tools/call": {result("ok")}})[m.Method] {
					frames[n] <- strings.ReplaceAll(frame, "ID", string(m.ID))
				}
			})}, nil)
			r, err := s.Call(t.Context(), "x", nil)
			switch {
			case tt.want == "" && (err != nil || r.Text != "ok" || calls.Load() != 2 || streams.Load() != 2):
				t.Errorf("Call() = %v, %v after %d calls on %d streams", r, err, calls.Load(), streams.Load())
			case tt.want != "" && (err == nil || err.Error() != tt.want || kindOf(t, err).Kind != tt.kind || calls.Load() != 1):
				t.Errorf("Call() = %v, want %s", err, tt.want)
			}
			s.Close()
		})
	}
}

// A message that shares its line with something else is found all the same.
func TestMessagesInALineWithOthers(t *testing.T) {
	ok := result("ok")
	for _, tt := range []struct{ name, line string }{
		{"after a word", "Server running" + ok},
		{"before a word", ok + "done"},
		{"after half a message", `{"jsonrpc":"2.0","id":1,"result":{"con` + ok},
		{"two in a line", `{"jsonrpc":"2.0","method":"notifications/x"}` + ok},
		{"after brackets", "[[[{" + ok},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := openPeer(t, legacy(peer{"tools/call": {tt.line}}), nil)
			if r, err := s.Call(t.Context(), "x", nil); err != nil || r.Text != "ok" {
				t.Errorf("Call() = %v, %v", r, err)
			}
			if notes := s.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "line is not a JSON-RPC message") {
				t.Errorf("notes: %q", notes)
			}
			s.Close()
		})
	}
}

// Half a message and then nothing costs its own call, and not the next one.
func TestHalfAMessageCostsOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32 // each is answered on a goroutine of its own
		p := &scripted{answer: func(m mcpwire.Message, out *mcpwire.Writer) {}}
		p.answer = func(m mcpwire.Message, out *mcpwire.Writer) {
			if m.Method != "tools/call" {
				return
			}
			if calls.Add(1) == 1 {
				_, _ = p.out.Write([]byte(strings.ReplaceAll(result("ok")[:60], "ID", string(m.ID))))
				return
			}
			say(out, m, result("ok"))
		}
		s := open(t, harness.Server{Dial: p.dial}, nil)
		if _, err := s.Call(t.Context(), "x", nil); err == nil {
			t.Error("half a message is an answer")
		}
		if r, err := s.Call(t.Context(), "x", nil); err != nil || r.Text != "ok" {
			t.Errorf("the next call: %v, %v", r, err)
		}
		s.Close()
	})
}

// slowly is a connection that takes a while to write what holds a text.
type slowly struct {
	io.ReadWriteCloser
	what  string
	while time.Duration
	said  *bool
	ended chan struct{}
}

func (s *slowly) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(s.what)) {
		select {
		case <-time.After(s.while):
		case <-s.ended:
			return 0, io.ErrClosedPipe
		}
		*s.said = true
	}
	return s.ReadWriteCloser.Write(p)
}

func (s *slowly) Close() error {
	close(s.ended)
	return s.ReadWriteCloser.Close()
}

// TestSaidBeforeTheEnd: that a call was given up, and what the server asked for, is
// said before the connection is closed, however long it takes to be written or
// found, but not for ever.
func TestSaidBeforeTheEnd(t *testing.T) {
	const ping, roots = `{"jsonrpc":"2.0","id":"s1","method":"ping"}`, `{"jsonrpc":"2.0","id":"s1","method":"roots/list"}`
	for _, tt := range []struct {
		name        string
		answer      []string // to the call
		what        string   // is said
		while, find time.Duration
		took        time.Duration
		said        bool // for certain
	}{
		{"that a call was given up", nil, mcpwire.NoticeCancelled, time.Second, 0, time.Second, true},
		{"that a call was given up, for ever", nil, mcpwire.NoticeCancelled, time.Hour, 0, 2 * time.Second, false},
		{"the answer to a ping", []string{ping, result("ok")}, `"id":"s1"`, time.Second, 0, time.Second, true},
		{"the answer to a ping, for ever", []string{ping, result("ok")}, `"id":"s1"`, time.Hour, 0, 2 * time.Second, false},
		{"an answer that has to be found", []string{roots, result("ok")}, `"id":"s1"`, 0, time.Second, time.Second, true},
		{"an answer that is never found", []string{roots, result("ok")}, `"id":"s1"`, 0, time.Hour, 2 * time.Second, false},
		{"to a server that is gone", []string{roots, result("ok"), "EXIT"}, `"id":"s1"`, 0, time.Hour, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				said := false
				opts := *usual
				opts.Roots = func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
					select {
					case <-time.After(tt.find):
						return json.RawMessage(`{"roots":[]}`), nil
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				}
				s := open(t, harness.Server{Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
					rw, err := legacy(peer{"tools/call": tt.answer}).dial(ctx)
					return &slowly{rw, tt.what, tt.while, &said, make(chan struct{})}, err
				}}, &opts)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute/2)
				defer cancel()
				begun := time.Now()
				if _, err := s.Call(ctx, "x", nil); (err == nil) != (tt.answer != nil) {
					t.Errorf("the call returned %v", err)
				}
				if tt.answer == nil {
					begun = begun.Add(time.Minute / 2)
				}
				synctest.Wait()
				s.Close()
				if got := time.Since(begun); got != tt.took || tt.said && !said {
					t.Errorf("closed after %v, said: %t; want %v, %t", got, said, tt.took, tt.said)
				}
			})
		})
	}
}
