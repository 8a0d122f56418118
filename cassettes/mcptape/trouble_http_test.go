// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/cassettes/mcptape"
	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// odd is a server that does each method another thing, as servers in the field
// do. Closing gone tells it that a request was cancelled.
func odd(gone <-chan struct{}) http.HandlerFunc {
	reply := func(w http.ResponseWriter, status int, kind, body string) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		fmt.Fprint(w, body)
		_ = http.NewResponseController(w).Flush()
	}
	const events, object = "text/event-stream", "application/json"
	return func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet:
			reply(w, 405, object, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no GET"}}`)
			return
		case http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
			return
		}
		body, _ := io.ReadAll(r.Body)
		m, err := mcpwire.Parse(body)
		if err != nil {
			reply(w, 400, object, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}`)
			return
		}
		answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
		note := "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":\"hm\"}}\n\n"
		switch m.Method {
		case "initialize":
			w.Header().Set("Mcp-Session-Id", "session-of-the-real-server")
			reply(w, 200, object, "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": "+string(m.ID)+",\n  \"result\": {}\n}\n")
		case "notifications/initialized", "notifications/cancelled":
			w.WriteHeader(http.StatusAccepted)
		case "plain text":
			reply(w, 404, "text/plain", "there is\nno such thing in "+r.Header.Get("Mcp-Session-Id"))
		case "no id":
			reply(w, 503, object, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"busy"}}`)
		case "events":
			reply(w, 200, events, ": hi\n\nretry: 30\nid: a-1\ndata:\n\n"+note+"id: a-2\n\n"+"event: message\nid: a-3\ndata: "+answer+"\n\n")
		case "end":
			reply(w, 200, events, note)
		case "die":
			reply(w, 200, events, note)
			panic(http.ErrAbortHandler)
		case "die in an object":
			reply(w, 200, object, answer[:20])
			panic(http.ErrAbortHandler)
		case "die at once":
			panic(http.ErrAbortHandler)
		case "hang":
			reply(w, 200, events, note)
			select {
			case <-r.Context().Done():
			case <-gone:
			}
		case "hang until left":
			reply(w, 200, events, note)
			<-r.Context().Done()
		}
	}
}

// rawClient sends single requests and writes down what came.
type rawClient struct {
	t       *testing.T
	url     string
	session string
	diary   []string
}

func (c *rawClient) open(ctx context.Context, method, body string) *http.Response {
	c.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, c.url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		c.diary = append(c.diary, method+" "+body+": broken")
		return nil
	}
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		c.session = id
	}
	return resp
}

func (c *rawClient) do(method, body string) {
	c.t.Helper()
	resp := c.open(c.t.Context(), method, body)
	if resp == nil {
		return
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") && json.Valid(data) {
		data = mcpwire.Marshal(json.RawMessage(data)) // blanks do not count
	}
	// Comments are no events; ids are numbered anew; a name says nothing new; an id alone gets empty data.
	text := strings.NewReplacer("id: a-2\n\n", "id: e2\ndata: \n\n", ": hi\n\n", "", "event: message\n", "", "id: a-", "id: e", "data:\n", "data: \n", "session-of-the-real-server", "session-0").Replace(string(data))
	lines := strings.Split(text, "\n")
	for i := range lines { // the order of an event's fields
		if i > 0 && strings.HasPrefix(lines[i], "retry") && strings.HasPrefix(lines[i-1], "id") {
			lines[i-1], lines[i] = lines[i], lines[i-1]
		}
	}
	line := fmt.Sprintf("%s %s: %d %s %q", method, body, resp.StatusCode, resp.Header.Get("Content-Type"), strings.Join(lines, "\n"))
	if err != nil {
		line += " and breaks off"
	}
	c.diary = append(c.diary, line)
}

func (c *rawClient) request(id int, method string) {
	c.t.Helper()
	c.do(http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q}`, id, method))
}

// TestHTTPAnswersAsTheyWere records answers of all kinds, good and bad, and
// gets the same of the tape.
func TestHTTPAnswersAsTheyWere(t *testing.T) {
	server := httptest.NewServer(odd(nil))
	defer server.Close()
	talk := func(url string) []string {
		c := &rawClient{t: t, url: url}
		c.request(1, "initialize")
		c.do(http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		c.do(http.MethodGet, "")
		for i, method := range []string{"plain text", "no id", "events", "end", "die", "die in an object"} {
			c.request(i+2, method)
		}
		c.do(http.MethodDelete, "")
		if c.session == "" {
			t.Error("no session id")
		}
		return c.diary
	}
	var want, got []string
	path := recordHTTP(t, server.URL+"/mcp", nil, nil, func(url string) { want = talk(url) })
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "session-of-the-real-server") || strings.Contains(string(data), "a-1") {
		t.Errorf("ids of the server are on the tape:\n%s", data)
	}
	serveTape(t, path, nil, func(url string) { got = talk(url) })
	if d := diff.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s\n%s", d, data)
	}

	// Over stdio there is an answer to each request all the same.
	tape := open(t, path, nil)
	c := dial(t, tape)
	for i, method := range []string{"initialize", "plain text", "no id", "events", "end", "die", "die in an object"} {
		c.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q}`, i, method))
		text := c.next()
		for strings.Contains(text, "notifications/message") {
			text = c.next()
		}
		want := map[string]string{
			"plain text": `"error":{"code":-32000,"message":"the answer was HTTP 404: there is\nno such thing in session-0"}`, "no id": `"message":"busy"`,
			"end": `"the answer ended early"`, "die": `"the answer ended early: unexpected EOF"`, "die in an object": `the answer was HTTP 200: {\"jsonrpc\"`,
		}[method]
		if !strings.Contains(text, want) || !strings.Contains(text, fmt.Sprintf(`"id":%d,`, i)) {
			t.Errorf("%s: got %s, want %s", method, text, want)
		}
	}
	if err := tape.Close(); err != nil {
		t.Error(err)
	}
}

// TestHTTPServerGone records a server that breaks the connection before it
// says anything, and one that is not there.
func TestHTTPServerGone(t *testing.T) {
	server := httptest.NewServer(odd(nil))
	talk := func(url string) string {
		c := &rawClient{t: t, url: url}
		c.request(1, "initialize")
		c.request(2, "die at once")
		server.Close()
		c.request(3, "anything")
		return strings.Join(c.diary[1:], "\n")
	}
	path := recordHTTP(t, server.URL+"/mcp", nil, nil, func(url string) {
		if got := talk(url); strings.Count(got, "502") != 2 {
			t.Errorf("while recording: %s", got)
		}
	})
	serveTape(t, path, nil, func(url string) {
		if got := talk(url); strings.Count(got, "broken") != 2 {
			t.Errorf("on replay: %s", got)
		}
	})
}

// TestHTTPClientLeaves has the client hang up in mid-stream, and cancel by a
// notification. The server ends the stream for the second; the tape does that
// when it is cancelled, no sooner.
func TestHTTPClientLeaves(t *testing.T) {
	gone := make(chan struct{}, 1)
	server := httptest.NewServer(odd(gone))
	defer server.Close()
	talk := func(url string, cancelled func()) []string {
		c := &rawClient{t: t, url: url}
		c.request(1, "initialize")
		// It hears something, and hangs up.
		ctx, cancel := context.WithCancel(t.Context())
		resp := c.open(ctx, http.MethodPost, `{"jsonrpc":"2.0","id":2,"method":"hang until left"}`)
		first := make([]byte, 20)
		if _, err := io.ReadFull(resp.Body, first); err != nil {
			t.Error(err)
		}
		cancel()
		resp.Body.Close()
		// It hears something, and cancels.
		resp = c.open(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":3,"method":"hang"}`)
		defer resp.Body.Close()
		if _, err := io.ReadFull(resp.Body, first); err != nil {
			t.Error(err)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = io.Copy(io.Discard, resp.Body)
		}()
		c.request(4, "events") // meanwhile
		select {
		case <-ended:
			t.Error("the stream ends before it is cancelled")
		default:
		}
		c.do(http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`)
		cancelled()
		<-ended
		return c.diary
	}
	var want, got []string
	path := recordHTTP(t, server.URL+"/mcp", nil, nil, func(url string) {
		want = talk(url, func() { gone <- struct{}{} })
	})
	rec, err := mcptape.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	left := 0
	for _, f := range rec.Frames {
		if f.Dir == mcptape.Left {
			left++
		}
	}
	if left != 1 {
		t.Errorf("%d times the client left, want 1", left)
	}
	serveTape(t, path, nil, func(url string) { got = talk(url, func() {}) })
	if d := diff.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestHTTPResumed has a server that closes the stream of a call in the middle:
// the client comes back for the answer.
func TestHTTPResumed(t *testing.T) {
	mock := mockmcp.NewServer(t, mockmcp.Script{
		Name: "poll", Protocol: mockmcp.Protocol{Retry: 10 * time.Millisecond},
		Tools: []mockmcp.Tool{{Name: "long", Results: []mockmcp.Result{{
			Before: []mockmcp.Step{mockmcp.Progress{Value: 1}, mockmcp.CloseStream{Retry: 10 * time.Millisecond}, mockmcp.Progress{Value: 2}},
			Answer: func(*mockmcp.Call) (*mockmcp.Answer, error) { return &mockmcp.Answer{Text: "at last"}, nil },
		}}}},
	})
	call := func(url string) string {
		s, err := mcppool.Open(t.Context(), harness.Server{Name: "poll", URL: url}, &mcppool.Options{Era: mcppool.EraLegacy})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		r, err := s.Call(t.Context(), "long", nil)
		if err != nil {
			return err.Error()
		}
		return r.Text
	}
	path := recordHTTP(t, mock.URL, nil, nil, func(url string) {
		if got := call(url); got != "at last" {
			t.Errorf("while recording: %s", got)
		}
	})
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), `"method":"GET","session":true,"event":"e`) {
		t.Errorf("nobody came back:\n%s", data)
	}
	serveTape(t, path, nil, func(url string) {
		if got := call(url); got != "at last" {
			t.Errorf("on replay: %s\n%s", got, data)
		}
	})
	tape := open(t, path, nil)
	s, err := mcppool.Open(t.Context(), harness.Server{Name: "poll", Dial: tape.Dial}, &mcppool.Options{Era: mcppool.EraLegacy})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := s.Call(t.Context(), "long", nil); err != nil || r.Text != "at last" {
		t.Errorf("over stdio: %v, %v", r, err)
	}
	s.Close()
	if err := tape.Close(); err != nil {
		t.Error(err)
	}
}

// TestHTTPRefusals sends what no tape answers.
func TestHTTPRefusals(t *testing.T) {
	tape := play(t, `
	0 > {"id":1,"method":"initialize"}
	1 < {"id":1,"result":{}}
	2 > {"id":2,"method":"tools/call","params":{"name":"a"}}
	3 < {"id":2,"result":{}}
	`, nil)
	server := httptest.NewServer(tape.Handler())
	defer server.Close()
	c := &rawClient{t: t, url: server.URL}
	c.do(http.MethodPost, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"b"}}`)
	c.do(http.MethodPost, `[{"jsonrpc":"2.0","id":7,"method":"ping"}]`)
	c.do(http.MethodPost, `{`)
	c.do(http.MethodPut, ``)
	c.do(http.MethodPost, `{"jsonrpc":"2.0","id":8,"method":"ping"}`)
	c.session = "none"
	c.do(http.MethodPost, `{"jsonrpc":"2.0","id":9,"method":"ping"}`)
	for i, want := range []string{`200 application/json "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32000,\"message\":\"rehearse_miss: tools/call b`, `400`, `400`, `405`, `\"result\":{}`, `404`} {
		if !strings.Contains(c.diary[i], want) {
			t.Errorf("got %s, want %s", c.diary[i], want)
		}
	}
	err := tape.Close()
	for _, want := range []string{"tools/call b: nearest on the tape is tools/call a", "a batch is not replayed over HTTP", `the body of a POST is not a message`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Close() = %v, want %s", err, want)
		}
	}
}
