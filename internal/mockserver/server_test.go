// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockserver_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/internal/gate"
	"github.com/rehearse-dev/rehearse/internal/mockserver"
	"github.com/rehearse-dev/rehearse/mockllm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func says(text string) mockllm.Script {
	return mockllm.Script{Replies: []mockllm.Reply{{Say: text}}}
}

// client asks a server without a socket.
type client struct {
	t *testing.T
	s *mockserver.Server
}

func open(t *testing.T, script mockllm.Script, opts *mockserver.Options) client {
	t.Helper()
	s, err := mockserver.New(script, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return client{t, s}
}

func (c client) ask(method, path, body string, header ...string) (int, string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	c.s.ServeHTTP(w, r)
	return w.Code, strings.TrimSpace(w.Body.String())
}

// want asks and wants a status and a part of the body.
func (c client) want(status int, part, method, path, body string, header ...string) {
	c.t.Helper()
	got, text := c.ask(method, path, body, header...)
	if got != status || !strings.Contains(text, part) {
		c.t.Errorf("%s %s %s:\n%d %s\nwant %d and %q", method, path, body, got, text, status, part)
	}
}

const chat = `{"model":"m","messages":[{"role":"user","content":"hi"}]}`

// TestConversations keeps what one test asks from all others.
func TestConversations(t *testing.T) {
	header := mockserver.ByHeader("X-Test")
	for _, tc := range []struct {
		name    string
		isolate func(*http.Request) string
		path    string // with %s for the id
		header  func(id string) []string
	}{
		{"url", nil, "/t/%s/v1/chat/completions", func(string) []string { return nil }},
		{"url with a key", mockserver.ByKey, "/t/%s/v1/chat/completions", func(string) []string { return []string{"Authorization", "Bearer same"} }},
		{"bearer", mockserver.ByKey, "/v1/chat/completions", func(id string) []string { return []string{"Authorization", "Bearer " + id} }},
		{"bearer in lower case", mockserver.ByKey, "/v1/chat/completions", func(id string) []string { return []string{"Authorization", "bearer " + id} }},
		{"x-api-key", mockserver.ByKey, "/v1/chat/completions", func(id string) []string { return []string{"X-Api-Key", id} }},
		{"header", header, "/v1/chat/completions", func(id string) []string { return []string{"X-Test", id} }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := open(t, says("hello"), &mockserver.Options{Isolate: tc.isolate})
			for _, id := range []string{"a", "b"} {
				path := tc.path
				if strings.Contains(path, "%s") {
					path = fmt.Sprintf(path, id)
				}
				c.want(200, `"hello"`, "POST", path, chat, tc.header(id)...)
				other := strings.ReplaceAll(chat, "hi", "more")
				if id == "b" {
					c.want(422, "rehearse_miss", "POST", path, other, tc.header(id)...)
				}
			}
			c.want(200, `{"ok":true,"met":[{"turn":1,"reply":1}],"unmet":[],"problems":[]}`, "GET", "/t/a/rehearse/expectations", "")
			c.want(200, `"problems":["miss: nothing scripted fits`, "GET", "/t/b/rehearse/expectations", "")
			c.want(200, `"unmet":[{"turn":1,"reply":1}]`, "GET", "/rehearse/expectations", "")
			c.want(200, `{"id":"b","requests":2,"unmet":0,"problems":1}`, "GET", "/rehearse/conversations", "")
			if err := errors.Join(c.s.Problems()...); err == nil {
				t.Error("no error, and there was a miss")
			}
			c.want(204, "", "DELETE", "/t/b/rehearse/conversation", "")
			if err := errors.Join(c.s.Problems()...); err != nil {
				t.Errorf("an error of a conversation that is no more: %v", err)
			}
			c.want(200, `[{"seq":1,`, "GET", "/t/a/rehearse/journal", "")
			c.want(204, "", "POST", "/rehearse/reset", "")
			c.want(200, `[]`, "GET", "/t/a/rehearse/journal", "")
		})
	}
}

func TestOddIDs(t *testing.T) {
	c := open(t, says("hello"), nil)
	c.want(200, "hello", "POST", "/t/a%2Fb%20c/v1/chat/completions", chat)
	c.want(200, `"id":"a/b c"`, "GET", "/rehearse/conversations", "")
	c.want(404, "", "GET", "/t//v1/models", "")
	c.want(404, "", "GET", "/t/x", "")
}

func TestTooManyConversations(t *testing.T) {
	c := open(t, says("hello"), &mockserver.Options{MaxConversations: 2})
	c.want(200, "hello", "POST", "/t/a/v1/chat/completions", chat)
	c.want(503, "too many conversations", "POST", "/t/b/v1/chat/completions", chat)
	c.want(204, "", "DELETE", "/t/a/rehearse/conversation", "")
	c.want(200, "hello", "POST", "/t/b/v1/chat/completions", chat)
}

// TestLoad replaces a script whole or not at all.
func TestLoad(t *testing.T) {
	parse := func(name string, data []byte) (mockllm.Script, error) {
		if string(data) == "name" {
			return says("read from " + name), nil
		}
		if text, ok := strings.CutPrefix(string(data), "say "); ok {
			return says(text), nil
		}
		if string(data) == "profile" {
			return mockllm.Script{Profile: "nobody"}, nil
		}
		return mockllm.Script{}, errors.New("posted.yaml:1:1: no script")
	}
	c := open(t, says("old"), &mockserver.Options{Parse: parse})
	c.want(200, "old", "POST", "/t/a/v1/chat/completions", chat)
	c.want(400, "posted.yaml:1:1: no script", "POST", "/rehearse/load", "nonsense")
	c.want(400, "nobody", "POST", "/rehearse/load", "profile")
	c.want(200, `[{"seq":1,`, "GET", "/t/a/rehearse/journal", "")
	c.want(204, "", "POST", "/t/a/rehearse/load", "say mine")
	c.want(200, "mine", "POST", "/t/a/v1/chat/completions", chat)
	c.want(200, "old", "POST", "/t/b/v1/chat/completions", chat)
	c.want(204, "", "POST", "/rehearse/load", "say new")
	for _, id := range []string{"a", "b"} {
		c.want(200, "new", "POST", "/t/"+id+"/v1/chat/completions", chat)
	}
	c.want(204, "", "POST", "/t/a/rehearse/load?name=%2Ftests%2Fa%20b.yaml", "name")
	c.want(200, "read from /tests/a b.yaml", "POST", "/t/a/v1/chat/completions", chat)
	c.want(413, "larger", "POST", "/rehearse/load", strings.Repeat("x", 9<<20))
}

// TestLoadWhileAnswering lets a request end with the script that it began with.
func TestLoadWhileAnswering(t *testing.T) {
	asked, answer := make(chan bool), make(chan bool)
	slow := mockllm.Script{Replies: []mockllm.Reply{{Func: func(*mockllm.Ask) (mockllm.Reply, error) {
		asked <- true
		<-answer
		return mockllm.Reply{Say: "old"}, nil
	}}}}
	c := open(t, slow, nil)
	got := make(chan string)
	go func() {
		_, text := c.ask("POST", "/v1/chat/completions", chat)
		got <- text
	}()
	<-asked
	if err := c.s.Load(says("new")); err != nil {
		t.Fatal(err)
	}
	c.want(200, "new", "POST", "/v1/chat/completions", chat)
	close(answer)
	if text := <-got; !strings.Contains(text, "old") {
		t.Errorf("got %s, want the old reply", text)
	}
}

func TestHealth(t *testing.T) {
	c := open(t, says("x"), nil)
	c.want(200, `{"status":"healthy","script":1,"conversations":1}`, "GET", "/health", "")
	c.s.Failed(errors.New("a.yaml:1:1: broken"))
	c.want(200, `"status":"stale","script":1,"conversations":1,"reload_error":"a.yaml:1:1: broken"`, "GET", "/health", "")
	if err := c.s.Load(says("y")); err != nil {
		t.Fatal(err)
	}
	c.want(200, `"status":"healthy","script":2`, "GET", "/rehearse/health", "")
	c.s.Stop()
	c.want(503, `"stopping"`, "GET", "/health", "")
}

// TestFrontDoor: a browser, or who waits for the server, is no client of the mock.
func TestFrontDoor(t *testing.T) {
	c := open(t, says("x"), nil)
	for _, path := range []string{"/", "/favicon.ico", "/t/a/"} {
		c.want(404, "this is a mock; its journal is shown at /rehearse/", "GET", path, "")
	}
	c.want(200, `[]`, "GET", "/rehearse/journal", "")
	if problems := c.s.Problems(); len(problems) > 0 {
		t.Errorf("a visit is a mistake: %v", problems)
	}
}

func TestMetrics(t *testing.T) {
	c := open(t, says("hello"), &mockserver.Options{Prepare: func(s *mockllm.Script) {
		s.Faults = []mockllm.Fault{{Kind: mockllm.RateLimit}}
	}})
	for range 2 {
		_, _ = c.ask("POST", "/t/a/v1/chat/completions", chat)
	}
	_, _ = c.ask("POST", "/t/a/v1/chat/completions", strings.ReplaceAll(chat, "hi", "more"))
	_, _ = c.ask("GET", "/v1/models/x\"y", "")
	for _, line := range []string{
		`rehearse_requests_total{route="/v1/chat/completions",method="POST",status="200"} 1`,
		`rehearse_requests_total{route="/v1/chat/completions",method="POST",status="422"} 1`,
		`rehearse_requests_total{route="/v1/chat/completions",method="POST",status="429"} 1`,
		`rehearse_requests_total{route="/v1/models/",method="GET",status="200"} 1`,
		`rehearse_exchanges_total{kind="reply"} 2`,
		`rehearse_misses_total 1`,
		`rehearse_faults_total{fault="rate_limit"} 1`,
		`rehearse_requests_in_flight 0`,
		`rehearse_conversations 2`,
	} {
		c.want(200, "\n"+line+"\n", "GET", "/rehearse/metrics", "")
	}
}

func TestCORS(t *testing.T) {
	c := open(t, says("hello"), &mockserver.Options{Gate: gate.Rules{Origins: []string{"http://localhost:3000"}}})
	r := httptest.NewRequest("OPTIONS", "/v1/chat/completions", nil)
	r.Header.Set("Access-Control-Request-Method", "POST")
	r.Header.Set("Access-Control-Request-Headers", "authorization")
	w := httptest.NewRecorder()
	c.s.ServeHTTP(w, r)
	h := w.Result().Header
	if w.Code != 204 || h.Get("Access-Control-Allow-Origin") != "http://localhost:3000" || h.Get("Access-Control-Allow-Headers") != "authorization" {
		t.Errorf("preflight: %d %v", w.Code, h)
	}
	c.want(200, "hello", "POST", "/v1/chat/completions", chat)
}

// TestChaos strikes as often as was asked for, and every time alike.
func TestChaos(t *testing.T) {
	played := func(rate float64) (faults int, list string) {
		script := mockllm.Script{Arrival: true, Replies: []mockllm.Reply{{Say: "x", Repeat: 1000}}}
		mockserver.Chaos(&script, rate)
		s := newMock(t, script, &mockllm.Options{Seed: 7})
		defer s.Close()
		c := http.Client{Transport: s.Transport()}
		for range 200 {
			if res, err := c.Post(s.URL+"/chat/completions", "application/json", strings.NewReader(chat)); err == nil {
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
		}
		for _, x := range s.Outline() {
			if x.Fault != "" {
				faults++
			}
			list += x.Fault + ","
		}
		return faults, list
	}
	for _, tc := range []struct {
		name      string
		rate      float64
		low, high int
	}{{"never", 0, 0, 0}, {"at times", 0.25, 30, 70}, {"always", 1, 200, 200}} {
		t.Run(tc.name, func(t *testing.T) {
			n, list := played(tc.rate)
			if n < tc.low || n > tc.high {
				t.Errorf("%d faults, want %d to %d", n, tc.low, tc.high)
			}
			if _, again := played(tc.rate); again != list {
				t.Errorf("the same seed played\n%s\nand then\n%s", list, again)
			}
		})
	}
}

// TestNoAdmin: what the admin API has not is no mistake of the client under
// test.
func TestNoAdmin(t *testing.T) {
	c := open(t, says("hello"), nil)
	for _, path := range []string{"/rehearse/verfy", "/t/mine/rehearse/verfy", "/rehearse/cue/x"} {
		c.want(http.StatusNotFound, "; there are DELETE conversation, GET conversations, GET expectations", "GET", path, "")
	}
	c.want(http.StatusNotFound, `there is no GET /rehearse/reset`, "GET", "/rehearse/reset", "")
	c.want(http.StatusNotFound, `the script does not wait for the cue \"x\"; it waits for none`, "POST", "/rehearse/cue/x", "")
	c.want(http.StatusOK, `"problems":[]`, "GET", "/rehearse/expectations", "")
	c.want(http.StatusOK, `[]`, "GET", "/rehearse/journal", "")
}

// TestCues gives cues to those that wait for them, and refuses others.
func TestCues(t *testing.T) {
	c := open(t, mockllm.Script{
		Turns: []mockllm.Turn{{User: "hi", Replies: []mockllm.Reply{{Say: "At last.", Hold: "go on"}}}},
		Rules: []mockllm.Rule{{Reply: mockllm.Reply{Say: "x", Hold: "rule"}}},
		Lanes: []mockllm.Lane{{Name: "l", When: func(*mockllm.Ask) (bool, error) { return false, nil }, Replies: []mockllm.Reply{{Say: "y", Hold: "lane"}}}},
	}, nil)
	c.want(404, `the script does not wait for the cue \"go\"`, "POST", "/rehearse/cue/go", "")
	c.want(404, `the script does not wait for the cue \"lan\" (did you mean \"lane\"?)`, "POST", "/rehearse/cue/lan", "")
	c.want(404, `the script does not wait for the cue \"stop\"; there are go on, lane, rule`, "GET", "/rehearse/held/stop", "")
	c.want(404, "there is no POST /rehearse/held/lane", "POST", "/rehearse/held/lane", "")
	c.want(204, "", "POST", "/rehearse/cue/rule", "")
	answer := make(chan string, 1)
	go func() {
		_, text := c.ask("POST", "/t/mine/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`)
		answer <- text
	}()
	c.want(204, "", "GET", "/t/mine/rehearse/held/go%20on", "")
	c.want(404, `no conversation \"nine\" has begun (did you mean \"mine\"?)`, "POST", "/t/nine/rehearse/cue/go%20on", "")
	c.want(204, "", "POST", "/t/mine/rehearse/cue/go%20on", "")
	if text := <-answer; !strings.Contains(text, "At last.") {
		t.Errorf("answered with %s", text)
	}
}

// TestStray: what asks at no endpoint of a model is no model call.
func TestStray(t *testing.T) {
	c := open(t, says("hello"), nil)
	for _, r := range [][2]string{{"POST", "/v1/chat/completion"}, {"GET", "/v2"}, {"POST", "/v1beta/models/m:generateContnt"}, {"GET", "/v1/chat/completions"}} {
		c.ask(r[0], r[1], `{}`)
	}
	c.ask("POST", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`)
	c.ask("POST", "/v1/chat/completions", `{"model":`)
	c.want(200, `"passed":true`, "POST", "/rehearse/verify", `{"that": "journal.model_calls == 2"}`)
	c.want(200, `"stray":true`, "GET", "/rehearse/journal", "")
}

// TestProbe: a HEAD, by which a client sees whether somebody is there, is no
// mistake and no model call.
func TestProbe(t *testing.T) {
	c := open(t, says("hello"), nil)
	for _, path := range []string{"/", "/api/hello", "/v1"} {
		c.ask("HEAD", path, "")
	}
	c.ask("POST", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`)
	c.want(200, `"passed":true`, "POST", "/rehearse/verify", `{"that": "journal.model_calls == 1", "done": true}`)
	c.want(200, `"kind":"probe"`, "GET", "/rehearse/journal", "")
}

// TestTextsInARow: replies without turns follow each other, whatever they say
// and are asked; the same request again is a retry.
func TestTextsInARow(t *testing.T) {
	c := open(t, mockllm.Script{Replies: []mockllm.Reply{{Say: "one"}, {Say: "two", Repeat: 2}, {Say: "three"}}}, nil)
	ask := func(user, want string) {
		c.want(200, want, "POST", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"`+user+`"}]}`)
	}
	ask("a", `"one"`)
	ask("a", `"one"`)
	ask("b", `"two"`)
	ask("c", `"two"`)
	ask("d", `"three"`)
	c.want(200, `"unmet":[]`, "GET", "/rehearse/expectations", "")
}

// newMock is a mock model without a socket.
func newMock(t testing.TB, script mockllm.Script, opts *mockllm.Options) *mockllm.Mock {
	t.Helper()
	m, err := mockllm.New(script, opts)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
