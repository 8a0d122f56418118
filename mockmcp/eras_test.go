// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/mockmcp"
	"github.com/rehearse-dev/rehearse/mockmcp/fault"
)

// TestEras plays the files in testdata/eras, as TestConversations does, over a
// pipe, over stdio and over a WebSocket: what comes back is the same. Each has
// the settings of the protocol.
func TestEras(t *testing.T) {
	files, err := filepath.Glob("testdata/eras/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var settings mockmcp.Protocol
		if err := json.Unmarshal(ar.Files[0].Data, &settings); err != nil {
			t.Fatal(err)
		}
		for _, transport := range []string{"pipe", "stdio", "ws"} {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+transport, func(t *testing.T) {
				for i := range ar.Files[1:] {
					f := &ar.Files[i+1]
					got := playEra(t, connectVia(t, transport, settings), string(f.Data))
					if *update {
						f.Data = []byte(got)
					} else if diff := cmp.Diff(string(f.Data), got); diff != "" {
						t.Errorf("%s (-want +got):\n%s", f.Name, diff)
					}
				}
			})
		}
		if *update {
			if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// connectVia connects to a workshop over a transport.
func connectVia(t *testing.T, transport string, settings mockmcp.Protocol) io.ReadWriter {
	t.Helper()
	switch transport {
	case "ws":
		s := mockmcp.NewServer(t, workshop(settings))
		conn, _, err := websocket.Dial(t.Context(), s.WS, &websocket.DialOptions{Subprotocols: []string{mcpwire.Subprotocol}})
		if err != nil {
			t.Fatal(err)
		}
		socket := mcpwire.NewSocket(conn)
		t.Cleanup(func() { socket.Close() })
		return socket
	case "stdio":
		s := newServer(t, workshop(settings), nil)
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		done := make(chan error, 1)
		go func() {
			done <- s.ServeStdio(t.Context(), inR, outW)
			outW.Close()
		}()
		t.Cleanup(func() {
			inW.Close()
			outR.Close()
			if err := <-done; err != nil {
				t.Errorf("ServeStdio() = %v", err)
			}
		})
		return struct {
			io.Reader
			io.Writer
		}{outR, inW}
	}
	conn, err := newServer(t, workshop(settings), nil).Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func playEra(t *testing.T, conn io.ReadWriter, script string) string {
	t.Helper()
	r := mcpwire.NewReader(conn, nil)
	var got strings.Builder
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "<") {
			m, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&got, "< %s\n", m.Frame)
			continue
		}
		got.WriteString(line + "\n")
		if frame, ok := strings.CutPrefix(line, "> "); ok {
			if _, err := io.WriteString(conn, frame+"\n"); err != nil {
				t.Fatal(err)
			}
		}
	}
	return got.String()
}

// TestSilentOnDiscover: the probe is never answered, and all else goes on.
func TestSilentOnDiscover(t *testing.T) {
	const probe = `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	settings := mockmcp.Protocol{Modern: mockmcp.ModernSilent}
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, workshop(settings), nil)
		defer s.Close()
		c := dial(t, s)
		c.send(probe)
		synctest.Wait()
		time.Sleep(time.Hour)
		c.send(`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"c","version":"1"},"capabilities":{}}}`)
		if m := c.receive(); string(m.ID) != "2" {
			t.Errorf("got %s", m.Frame)
		}
		c.conn.Close()
	})
	s := mockmcp.NewServer(t, workshop(settings))
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader(probe))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	failed := make(chan error, 1)
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		failed <- err
	}()
	post(t, s.URL, `{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"c","version":"1"},"capabilities":{}}}`)
	select {
	case err := <-failed:
		t.Fatalf("the probe ended with %v", err)
	default:
	}
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("the probe ended with %v", err)
	}
}

// TestCancel: a client that cancels gets no answer, the handler's context
// ends, whose error is none of the script, and the session goes on.
func TestCancel(t *testing.T) {
	ended := make(chan error, 1)
	started := make(chan struct{})
	script := mockmcp.Script{Name: "slow", Tools: []mockmcp.Tool{{
		Name: "wait",
		Handler: func(ctx context.Context, _ *mockmcp.Call) (*mockmcp.Answer, error) {
			close(started)
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return nil, fmt.Errorf("waiting: %w", ctx.Err())
		},
	}}}
	s := newServer(t, script, nil)
	c := dial(t, s)
	c.send(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"wait"}}`)
	<-started
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"y"}}`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x","reason":"no time"}}`)
	if err := <-ended; err == nil || err.Error() != "the client cancelled the request" {
		t.Errorf("the call ended with %v", err)
	}
	c.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	if m := c.receive(); string(m.ID) != "2" {
		t.Errorf("got %s", m.Frame)
	}
	s.Close()
	if err := s.Err(); err != nil {
		t.Error(err)
	}
}

// TestMatcherPanics: a condition of a fault that panics is a problem of the script.
func TestMatcherPanics(t *testing.T) {
	s := newServer(t, mockmcp.Script{
		Name: "x", Tools: []mockmcp.Tool{{Name: "t", Results: []mockmcp.Result{{Answer: answer(mockmcp.Answer{Text: "fine"})}}}},
		Faults: []fault.Fault{{Kind: fault.Hang, Match: fault.Match{Tool: "t", Args: func(json.RawMessage) (bool, error) { panic("a bug") }}}},
	}, nil)
	c := dial(t, s)
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`)
	if m := c.receive(); m.Key() != "1" {
		t.Errorf("got %s", m.Frame)
	}
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "panic: a bug") {
		t.Errorf("problems: %v", err)
	}
}

// TestSettle: the reply comes a while after the last notification, by the
// clock of the server.
func TestSettle(t *testing.T) {
	for _, tt := range []struct {
		name   string
		settle *time.Duration
		want   time.Duration
	}{
		{"default", nil, 20 * time.Millisecond},
		{"none", new(time.Duration), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, workshop(mockmcp.Protocol{Settle: tt.settle}), nil)
				defer s.Close()
				c := dial(t, s)
				c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count","_meta":{"progressToken":1}}}`)
				for range 3 {
					c.receive()
				}
				frames := s.Frames()
				last, reply := frames[len(frames)-2], frames[len(frames)-1]
				if got := reply.Time.Sub(last.Time); got != tt.want {
					t.Errorf("the reply came %v after %s, want %v", got, last.Method, tt.want)
				}
				c.conn.Close()
			})
		})
	}
}

// TestFrames: the log has what went over the wire, with what HTTP adds.
func TestFrames(t *testing.T) {
	s := mockmcp.NewServer(t, workshop(mockmcp.Protocol{Auth: &mockmcp.Auth{Token: "secret-token"}}))
	post(t, s.URL, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	_, _, h := post(t, s.URL, `{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"c","version":"1"},"capabilities":{}}}`, "Authorization", "Bearer secret-token")
	id := h.Get("Mcp-Session-Id")
	post(t, s.URL, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"count","_meta":{"progressToken":1}}}`, "Authorization", "Bearer secret-token", "Mcp-Session-Id", id)
	var got []string
	for i, f := range s.Frames() {
		if f.Seq != i+1 || f.Server != "shop" || f.Transport != "http" || f.Time.IsZero() || f.Size != len(f.Body) {
			t.Errorf("frame %d: %+v", i, f)
		}
		if strings.Contains(fmt.Sprint(f), "secret") {
			t.Errorf("frame %d has the token: %+v", i, f)
		}
		way := ">"
		if !f.In {
			way = "<"
		}
		session := ""
		if f.Session == id && id != "" {
			session = " SESSION"
		}
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s%s %s %s", way, f.HTTP, f.Kind, session, f.Method, f.ID)))
	}
	want := []string{
		"> POST request ping 1", "< 401 http",
		"> POST request initialize 2", "< 200 response SESSION initialize 2",
		"> POST request SESSION tools/call 3", "< 200 notification SESSION notifications/progress",
		"< notification SESSION notifications/progress", "< response SESSION tools/call 3",
	}
	for i := range got {
		got[i] = strings.Join(strings.Fields(got[i]), " ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if auth := s.Frames()[2].Header["authorization"]; auth != "Bearer ..." {
		t.Errorf("authorization is logged as %q", auth)
	}
	s.Reset()
	if n := len(s.Frames()); n != 0 {
		t.Errorf("%d frames after Reset", n)
	}
}

// TestShutdown waits for the call under way, and not for the stream that is
// listened to.
func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, mockmcp.Script{Name: "s", Protocol: mockmcp.Protocol{ListChanged: true}, Tools: []mockmcp.Tool{{
			Name: "slow", Results: []mockmcp.Result{{Latency: time.Second, Answer: answer(mockmcp.Answer{Text: "done"})}},
		}}}, nil)
		c := dial(t, s)
		defer c.conn.Close()
		c.send(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
		c.receive()
		c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow"}}`)
		synctest.Wait()
		start := time.Now()
		if err := s.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown() = %v", err)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("Shutdown took %v", took)
		}
		if m := c.receive(); string(m.ID) != "2" {
			t.Errorf("got %s", m.Frame)
		}
		if _, err := s.Dial(t.Context()); err == nil {
			t.Error("a session can be opened after Shutdown")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, workshop(mockmcp.Protocol{}), nil)
		c := dial(t, s)
		defer c.conn.Close()
		c.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"c","version":"1"},"capabilities":{"roots":{}}}}`)
		c.receive()
		c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}`)
		c.receive()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown() = %v", err)
		}
	})
}

// TestManyNotifications: a burst that the reply follows at once arrives whole
// and before the reply, on each transport.
func TestManyNotifications(t *testing.T) {
	const n = 50
	settings := mockmcp.Protocol{Settle: new(time.Duration)}
	script := mockmcp.Script{Name: "burst", Protocol: settings, Tools: []mockmcp.Tool{{Name: "burst", Results: []mockmcp.Result{{
		Before: []mockmcp.Step{mockmcp.Progress{Value: 1, Times: n}}, Answer: answer(mockmcp.Answer{Text: "end"}),
	}}}}}
	s := mockmcp.NewServer(t, script)
	const frame = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"burst","_meta":{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	for range 20 {
		_, body, _ := post(t, s.URL, frame, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "burst")
		if got := strings.Count(body, "notifications/progress"); got != n || !strings.HasPrefix(body[strings.LastIndex(body, "data: "):], `data: {"jsonrpc":"2.0","id":1,"result"`) {
			t.Fatalf("%d notifications: %s", got, body)
		}
	}
}

// TestChildProcess runs the test binary as a stdio server of each era.
func TestChildProcess(t *testing.T) {
	for _, tt := range []struct{ modern, probe string }{
		{"on", `"supportedVersions":["2026-07-28"`},
		{"off", `"code":-32601`},
		{"reject", `"code":-32022`},
	} {
		t.Run(tt.modern, func(t *testing.T) {
			p, err := mcpwire.Start(mcpwire.Command{Args: []string{os.Args[0]}, Env: []string{"MOCKMCP_CHILD=1", "MOCKMCP_MODERN=" + tt.modern}})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			r := mcpwire.NewReader(p, nil)
			for _, step := range []struct{ send, want string }{
				{`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, tt.probe},
				{`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-06-18","clientInfo":{"name":"c","version":"1"},"capabilities":{}}}`, `"protocolVersion":"2025-06-18"`},
				{callBuild, `"model":"m1"`},
			} {
				if _, err := io.WriteString(p, step.send+"\n"); err != nil {
					t.Fatal(err)
				}
				m, err := r.Next()
				if err != nil {
					t.Fatalf("%v; stderr: %s", err, p.Stderr())
				}
				if !strings.Contains(string(m.Frame), step.want) {
					t.Errorf("got %s\nwant %s", m.Frame, step.want)
				}
			}
		})
	}
}

// TestBrokenStream: where the client was told how to come back, a connection
// that breaks does not end the call; elsewhere it does.
func TestBrokenStream(t *testing.T) {
	script := func(retry time.Duration) mockmcp.Script {
		return mockmcp.Script{Name: "s", Protocol: mockmcp.Protocol{Retry: retry, Settle: new(time.Duration)}, Tools: []mockmcp.Tool{{
			Name: "long", Results: []mockmcp.Result{{
				Before: []mockmcp.Step{mockmcp.Progress{Value: 1}}, Hold: "the end", Answer: answer(mockmcp.Answer{Text: "done"}),
			}},
		}}}
	}
	open := func(t *testing.T, s *mockmcp.HTTPServer) (session, event string) {
		t.Helper()
		_, _, h := post(t, s.URL, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"c","version":"1"},"capabilities":{}}}`)
		session = h.Get("Mcp-Session-Id")
		p := &talk{t: t, base: strings.TrimSuffix(s.URL, "/mcp"), session: session, streams: map[string]*openStream{}}
		p.request("POST /mcp mcp-session-id: $SESSION &long", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"long","_meta":{"progressToken":1}}}`)
		for !strings.Contains(p.out.String(), "progress") {
			p.next(p.streams["long"])
		}
		if err := s.AwaitHeld(t.Context(), "the end"); err != nil {
			t.Fatal(err)
		}
		p.streams["long"].body.Close()
		return session, p.event
	}
	t.Run("resumed", func(t *testing.T) {
		s := mockmcp.NewServer(t, script(time.Millisecond))
		session, event := open(t, s)
		s.Cue("the end")
		p := &talk{t: t, base: strings.TrimSuffix(s.URL, "/mcp"), session: session, event: event}
		p.request("GET /mcp mcp-session-id: $SESSION | last-event-id: $EVENT", "")
		if !strings.Contains(p.out.String(), `"id":1,"result"`) || strings.Contains(p.out.String(), "progress") {
			t.Errorf("got %s", p.out.String())
		}
	})
	t.Run("lost", func(t *testing.T) {
		s := mockmcp.NewServer(t, script(0))
		session, event := open(t, s)
		p := &talk{t: t, base: strings.TrimSuffix(s.URL, "/mcp"), session: session, event: event}
		p.request("GET /mcp mcp-session-id: $SESSION | last-event-id: $EVENT", "")
		if want := "< 200 text/event-stream\n< end\n"; p.out.String() != want {
			t.Errorf("got %s", p.out.String())
		}
	})
}

// TestSocketRefusals: anything that is not a WebSocket of ours is told so.
func TestSocketRefusals(t *testing.T) {
	s := mockmcp.NewServer(t, workshop(mockmcp.Protocol{}))
	if status, _, _ := post(t, "http"+strings.TrimPrefix(s.WS, "ws"), "{}"); status != http.StatusUpgradeRequired {
		t.Errorf("a plain request: %d", status)
	}
	_, resp, err := websocket.Dial(t.Context(), s.WS, &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"http://evil.example"}}})
	if err == nil || resp == nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("a foreign page: %v", err)
	}
	conn, _, err := websocket.Dial(t.Context(), s.WS, nil)
	if err != nil {
		t.Fatalf("without a subprotocol: %v", err)
	}
	defer conn.CloseNow()
	if err := conn.Write(t.Context(), websocket.MessageText, []byte("{\n\"jsonrpc\":\"2.0\",\n\"id\":1,\"method\":\"ping\"}")); err != nil {
		t.Fatal(err)
	}
	if _, b, err := conn.Read(t.Context()); err != nil || string(b) != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		t.Errorf("ping on several lines: %s, %v", b, err)
	}
}

// TestCloseEndsConnections: clients that are there must not hold up Close, and
// see the end.
func TestCloseEndsConnections(t *testing.T) {
	s := mockmcp.NewServer(t, workshop(mockmcp.Protocol{}))
	p := &talk{t: t, base: strings.TrimSuffix(s.URL, "/mcp"), streams: map[string]*openStream{}}
	p.request("GET /sse &all", "")
	p.next(p.streams["all"])
	conn, _, err := websocket.Dial(t.Context(), s.WS, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	ended := make(chan error, 1)
	go func() {
		_, _, err := conn.Read(context.WithoutCancel(t.Context()))
		ended <- err
	}()
	s.Close()
	if p.next(p.streams["all"]) {
		t.Error("the stream goes on")
	}
	p.streams["all"].body.Close()
	if err := <-ended; websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("the WebSocket ended with %v", err)
	}
}

// TestEndOfInput: what waits for the client does not keep a process that
// nobody speaks to any more.
func TestEndOfInput(t *testing.T) {
	const modern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	for _, tt := range []struct {
		name, frame string
		settings    mockmcp.Protocol
		faults      []fault.Fault
	}{
		{"a subscription", `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + modern + `}}`, mockmcp.Protocol{ListChanged: true}, nil},
		{"silence on discover", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + modern + `}}`, mockmcp.Protocol{Modern: mockmcp.ModernSilent}, nil},
		{"a question", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"c","version":"1"},"capabilities":{"roots":{}}}}` + "\n" + `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}`, mockmcp.Protocol{}, nil},
		{"a call that hangs", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"plain"}}`, mockmcp.Protocol{}, []fault.Fault{{Kind: fault.Hang}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			script := workshop(tt.settings)
			script.Faults = tt.faults
			s := newServer(t, script, nil)
			if err := s.ServeStdio(t.Context(), strings.NewReader(tt.frame+"\n"), io.Discard); err != nil {
				t.Errorf("ServeStdio() = %v", err)
			}
		})
	}
}

// TestManyClients: sessions over every transport at once, with broadcasts
// among the answers. Each gets its own answers, and each notification about a
// call before the answer to it.
func TestManyClients(t *testing.T) {
	const clients, calls = 8, 10
	s := mockmcp.NewServer(t, workshop(mockmcp.Protocol{Settle: new(time.Duration), ListChanged: true}))
	const open = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","clientInfo":{"name":"c","version":"1"},"capabilities":{}}}`
	call := func(i int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":"c%d","method":"tools/call","params":{"name":"count","_meta":{"progressToken":"c%d"}}}`, i, i)
	}
	var wg sync.WaitGroup
	stream := func(conn io.ReadWriter) {
		r := mcpwire.NewReader(conn, nil)
		fmt.Fprintln(conn, open)
		if _, err := r.Next(); err != nil {
			t.Error(err)
			return
		}
		for i := range calls {
			fmt.Fprintln(conn, call(i))
		}
		told := map[string]int{}
		for answers := 0; answers < calls; {
			m, err := r.Next()
			switch {
			case err != nil:
				t.Error(err)
				return
			case m.Method == "notifications/progress":
				var p struct{ ProgressToken string }
				_ = json.Unmarshal(m.Params, &p)
				told[p.ProgressToken]++
			case m.Method == "":
				if answers++; told[m.Key()] != 2 {
					t.Errorf("%s came after %d notifications", m.Frame, told[m.Key()])
				}
			}
		}
	}
	for range clients {
		conn, err := s.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		ws, _, err := websocket.Dial(t.Context(), s.WS, nil)
		if err != nil {
			t.Fatal(err)
		}
		socket := mcpwire.NewSocket(ws)
		t.Cleanup(socket.Abort)
		wg.Go(func() { stream(conn) })
		wg.Go(func() { stream(socket) })
		_, _, h := post(t, s.URL, open)
		for i := range calls {
			wg.Go(func() {
				_, body, _ := post(t, s.URL, call(i), "Mcp-Session-Id", h.Get("Mcp-Session-Id"))
				if strings.Count(body, fmt.Sprintf(`"progressToken":"c%d"`, i)) != 2 || !strings.Contains(body, fmt.Sprintf(`"id":"c%d","result"`, i)) {
					t.Errorf("got %s", body)
				}
			})
		}
		wg.Go(func() {
			post(t, s.URL, strings.Replace(call(0), "count", "tell", 1), "Mcp-Session-Id", h.Get("Mcp-Session-Id"))
		})
	}
	wg.Wait()
}
