// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agentserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/agentserver"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/harness/toolserver"
	"github.com/rehearse-dev/rehearse/internal/sse"
	"github.com/rehearse-dev/rehearse/mockllm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "secret-of-the-admin"

// world is a tool server whose tools tell the test of their calls, and wait for
// it where they are to.
type world struct {
	tools string // the address
	mu    sync.Mutex
	calls []string
	slow  chan struct{} // a slow call says that it runs, and is let go by its context
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{slow: make(chan struct{}, 10)}
	tool := func(name string) toolserver.Tool {
		return toolserver.Tool{Name: name, Description: name, Run: func(ctx context.Context, _ json.RawMessage) (any, error) {
			w.mu.Lock()
			w.calls = append(w.calls, name)
			w.mu.Unlock()
			if name == "slow" {
				w.slow <- struct{}{}
				<-ctx.Done()
			}
			return name + " done", nil
		}}
	}
	s, err := toolserver.New(t.Context(), &toolserver.Registry{Toolsets: []toolserver.Toolset{
		{ID: "web_tools", Active: true, Tools: []toolserver.Tool{tool("web_search"), tool("slow")}},
		{ID: "file_system_tools", Tools: []toolserver.Tool{tool("write_file")}},
	}}, &toolserver.Options{AdminToken: token})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		h.Close()
		s.Close()
	})
	w.tools = h.URL
	return w
}

// serve puts an agent with that tool server behind HTTP; its model plays the
// replies, each task from the first one.
func (w *world) serve(t *testing.T, cfg agentserver.Config, replies ...mockllm.Reply) (*agentserver.Server, string) {
	t.Helper()
	if cfg.Open == nil {
		cfg.Open = func(ctx context.Context, task string) (*agent.Agent, func() error, error) {
			m, err := mockllm.New(mockllm.Script{Replies: replies}, nil)
			if err != nil {
				return nil, nil, err
			}
			box := &toolserver.Client{URL: w.tools, View: task, AdminToken: token}
			llm := model.NewOpenAI(model.Config{BaseURL: m.URL, Transport: m.Transport(), Retry: model.RetryPolicy{MaxAttempts: 1}})
			return agent.New(agent.Config{Model: llm, Name: "m", Tools: box, InOrder: []string{toolserver.ManageTool}}), func() error {
				m.Close()
				return box.Close()
			}, nil
		}
	}
	s := agentserver.New(cfg)
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		http.DefaultClient.CloseIdleConnections()
		h.Close()
	})
	return s, h.URL
}

func post(t *testing.T, url, body string) (int, agentserver.Result, string) {
	t.Helper()
	res, err := http.Post(url+"/agent/execute_task", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var r agentserver.Result
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return res.StatusCode, r, string(data)
}

func calls(c ...mockllm.Call) mockllm.Reply { return mockllm.Reply{Calls: c} }

func call(tool, args string) mockllm.Call {
	return mockllm.Call{Tool: tool, Args: json.RawMessage(args)}
}

// polymorphic is a task that searches, changes its toolset, and writes.
var polymorphic = []mockllm.Reply{
	calls(call("web_search", `{"q":"go"}`)),
	calls(call("manage_toolsets", `{"action":"DEACTIVATE","toolset_ids":["web_tools"]}`), call("manage_toolsets", `{"action":"ACTIVATE","toolset_ids":["file_system_tools"]}`)),
	calls(call("write_file", `{}`)),
	{Say: "It is written."},
}

func TestExecuteTask(t *testing.T) {
	w := newWorld(t)
	_, url := w.serve(t, agentserver.Config{}, polymorphic...)
	status, r, body := post(t, url, `{"goal":"Search and write."}`)
	if status != 200 || r.Status != agentserver.Completed || r.FinalAnswer != "It is written." || r.ModelCalls != 4 || r.ID == "" || r.Usage.TotalTokens == 0 {
		t.Fatalf("%d %s", status, body)
	}
	if got := strings.Join(w.calls, " "); got != "web_search write_file" {
		t.Errorf("the tools ran as %q, want web_search write_file", got)
	}
	if len(r.Calls) != 4 || r.Calls[1].Tool != "manage_toolsets" || !strings.Contains(r.Calls[1].Result, `"changed":["web_tools"]`) || r.Calls[3].Result != "write_file done" {
		t.Errorf("calls %+v", r.Calls)
	}
}

// TestSwitchedWithinOneReply holds that a toolset is there from the next model
// call on.
func TestSwitchedWithinOneReply(t *testing.T) {
	w := newWorld(t)
	_, url := w.serve(t, agentserver.Config{},
		calls(call("manage_toolsets", `{"action":"ACTIVATE","toolset_ids":["file_system_tools"]}`), mockllm.Call{Tool: "write_file", Unoffered: true}),
		calls(call("write_file", `{}`)), mockllm.Reply{Say: "Done."})
	_, r, body := post(t, url, `{"goal":"Write."}`)
	if r.Status != agentserver.Completed || len(r.Calls) != 3 || r.Calls[1].Error == "" || r.Calls[2].Error != "" || len(w.calls) != 1 {
		t.Errorf("%s; the tools ran as %q, want one refusal and one call", body, w.calls)
	}
}

func TestEnds(t *testing.T) {
	w := newWorld(t)
	for _, tc := range []struct {
		name    string
		replies []mockllm.Reply
		status  int
		want    agentserver.Status
		says    string
	}{
		{"the model refuses", []mockllm.Reply{{Refusal: "No."}}, 200, agentserver.Stopped, `"stop_reason":"refusal"`},
		{"the endpoint fails", nil, 502, agentserver.Failed, `"error":"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, url := w.serve(t, agentserver.Config{}, tc.replies...)
			status, r, body := post(t, url, `{"goal":"Go."}`)
			if status != tc.status || r.Status != tc.want || r.FinalAnswer != "" || !strings.Contains(body, tc.says) {
				t.Errorf("%d %s, want %d, %s and %s", status, body, tc.status, tc.want, tc.says)
			}
		})
	}
	t.Run("no agent", func(t *testing.T) {
		_, url := w.serve(t, agentserver.Config{Open: func(context.Context, string) (*agent.Agent, func() error, error) {
			return nil, nil, errors.New("no tool server")
		}})
		if status, r, body := post(t, url, `{"goal":"Go."}`); status != 502 || r.Status != agentserver.Failed || r.Error != "no tool server" {
			t.Errorf("%d %s", status, body)
		}
	})
	t.Run("bad requests", func(t *testing.T) {
		_, url := w.serve(t, agentserver.Config{})
		for body, want := range map[string]int{`{`: 400, `{}`: 422, `{"goal":" "}`: 422, `{"goal":1}`: 400} {
			if status, _, said := post(t, url, body); status != want {
				t.Errorf("%s: %d %s, want %d", body, status, said, want)
			}
		}
		res, err := http.Post(url+"/agent/execute_task", "text/plain", strings.NewReader(`{"goal":"Go."}`))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 415 {
			t.Errorf("a body that a page may send: %d, want 415", res.StatusCode)
		}
	})
}

func TestStream(t *testing.T) {
	w := newWorld(t)
	_, url := w.serve(t, agentserver.Config{}, polymorphic...)
	res, err := http.Post(url+"/agent/execute_task", "application/json", strings.NewReader(`{"goal":"Go.","id":"mine","stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	var last agentserver.Result
	for events := sse.NewReader(bufio.NewReader(bytes.NewReader(data)), 1<<20); ; {
		e, err := events.Next()
		if err != nil {
			break
		}
		names = append(names, e.Name)
		if e.Name == "result" {
			if err := json.Unmarshal(e.Data, &last); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := "task tool_started tool_finished tool_started tool_started tool_finished tool_finished tool_started tool_finished text result"
	if got := strings.Join(names, " "); got != want || last.ID != "mine" || last.Status != agentserver.Completed {
		t.Errorf("events %s and %+v, want %s\n%s", got, last, want, data)
	}
}

// TestNoTasks: a list of none is a list.
func TestNoTasks(t *testing.T) {
	_, url := newWorld(t).serve(t, agentserver.Config{})
	res, err := http.Get(url + "/agent/tasks")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); strings.TrimSpace(string(body)) != `{"tasks":[]}` {
		t.Errorf("GET /agent/tasks: %s (%v)", body, err)
	}
}

// TestCancel ends tasks in three ways while a tool runs.
func TestCancel(t *testing.T) {
	slow := []mockllm.Reply{calls(call("slow", `{}`)), {Say: "Never."}}
	for name, end := range map[string]func(t *testing.T, s *agentserver.Server, url string, hangUp func()){
		"by the API": func(t *testing.T, _ *agentserver.Server, url string, _ func()) {
			for _, want := range []int{204, 404} {
				id := "mine"
				if want == 404 {
					id = "another"
				}
				req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, url+"/agent/tasks/"+id, nil)
				if err != nil {
					t.Fatal(err)
				}
				res, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
				if res.StatusCode != want {
					t.Errorf("DELETE %s: %d, want %d", id, res.StatusCode, want)
				}
			}
		},
		"by the end of the server": func(_ *testing.T, s *agentserver.Server, _ string, _ func()) { s.Close() },
		"by a client that leaves":  func(_ *testing.T, _ *agentserver.Server, _ string, hangUp func()) { hangUp() },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s, url := w.serve(t, agentserver.Config{}, slow...)
			ctx, hangUp := context.WithCancel(t.Context())
			defer hangUp()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/agent/execute_task", strings.NewReader(`{"goal":"Go.","id":"mine"}`))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			ended := make(chan string, 1)
			go func() {
				res, err := http.DefaultClient.Do(req)
				if err != nil {
					ended <- err.Error()
					return
				}
				defer res.Body.Close()
				body, err := io.ReadAll(res.Body)
				ended <- fmt.Sprint(string(body), err)
			}()
			<-w.slow
			end(t, s, url, hangUp)
			got := <-ended
			if !strings.Contains(got, `"status":"cancelled"`) && !strings.Contains(got, "context canceled") {
				t.Errorf("the task ended with %s", got)
			}
			s.Close() // waits for it
		})
	}
}

// TestManyTasks holds that tasks have views of their own and a bound.
func TestManyTasks(t *testing.T) {
	w := newWorld(t)
	_, url := w.serve(t, agentserver.Config{MaxTasks: 20}, polymorphic...)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, r, body := post(t, url, `{"goal":"Search and write."}`); r.FinalAnswer != "It is written." {
				t.Errorf("a task among others: %s", body)
			}
		})
	}
	wg.Wait()
	if n := bytes.Count([]byte(strings.Join(w.calls, " ")), []byte("write_file")); n != 20 {
		t.Errorf("write_file ran %d times, want 20", n)
	}

	_, url = w.serve(t, agentserver.Config{MaxTasks: 1}, calls(call("slow", `{}`)))
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	var under sync.WaitGroup
	under.Go(func() {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/agent/execute_task", strings.NewReader(`{"goal":"Go.","id":"one"}`))
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("Content-Type", "application/json")
		if res, err := http.DefaultClient.Do(req); err == nil {
			res.Body.Close()
		}
	})
	<-w.slow
	if status, _, body := post(t, url, `{"goal":"Go."}`); status != 429 || !strings.Contains(body, "1 tasks are under way") {
		t.Errorf("a task too many: %d %s, want 429", status, body)
	}
	if status, _, body := post(t, url, `{"goal":"Go.","id":"one"}`); status != 409 {
		t.Errorf("a task of the same id: %d %s, want 409", status, body)
	}
	hangUp()
	under.Wait()
}

var _ agent.Toolbox = (*toolserver.Client)(nil)
