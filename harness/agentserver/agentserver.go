// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package agentserver puts a tool-calling agent behind HTTP: a goal goes in, the
// final answer comes out, at once or as a stream of what happens.
//
//	s := agentserver.New(agentserver.Config{
//		Open: func(ctx context.Context, task string) (*agent.Agent, func() error, error) {
//			box := &toolserver.Client{URL: toolsURL, View: task, AdminToken: token}
//			return agent.New(agent.Config{Model: model, Name: "gpt-5", Tools: box}), box.Close, nil
//		},
//	})
//	defer s.Close()
//	// s is an http.Handler:
//	//   POST   /agent/execute_task   {"goal": "..."}: a [Result]; with "stream": true, events
//	//   GET    /agent/tasks          the ids of the tasks under way
//	//   DELETE /agent/tasks/{id}     cancels one
//	//   GET    /health
//
// A stream is of server-sent events, each with a JSON object: "task" {id},
// "text" {text}, "withdrawn" {text}, "tool_started" {id, tool, arguments},
// "tool_finished" (a [Call]), "notice" {text}, and at the end "result" (a
// [Result]).
package agentserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/internal/exactjson"
	"github.com/rehearse-dev/rehearse/internal/gate"
	"github.com/rehearse-dev/rehearse/internal/sse"
)

// Config says what a server runs. Open is required.
type Config struct {
	// Open makes the agent of one task, which has it to itself. done is called
	// when the task is over; nil means that there is nothing to do. An error
	// fails the task.
	Open func(ctx context.Context, task string) (a *agent.Agent, done func() error, err error)
	// MaxTasks bounds the tasks under way; 0 means 64. One more is refused with
	// status 429.
	MaxTasks int
	// Hosts are the names, other than those of this machine, by which clients
	// may call the server, and Origins the origins of pages that may send
	// requests; "*" is any. What pages of other origins send is refused.
	Hosts, Origins []string
}

// Status says how a task ended.
type Status string

// The statuses.
const (
	Completed Status = "completed" // there is a final answer
	Stopped   Status = "stopped"   // the agent stopped without one: see StopReason
	Failed    Status = "failed"    // the model or the server could not go on: see Error
	Cancelled Status = "cancelled"
)

// Result is what became of a task.
type Result struct {
	ID          string             `json:"id"`
	Status      Status             `json:"status"`
	FinalAnswer string             `json:"final_answer"`          // empty unless completed
	StopReason  harness.StopReason `json:"stop_reason,omitempty"` // of a task that stopped, or failed by the model's endpoint
	Error       string             `json:"error,omitempty"`
	Calls       []Call             `json:"calls"` // in the model's order
	ModelCalls  int                `json:"model_calls"`
	Usage       harness.Usage      `json:"usage"` // of all model calls together
}

// Call is one tool call of a task.
type Call struct {
	ID        string `json:"id"`
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"` // as the model wrote them
	Result    string `json:"result"`    // as the model read it
	Error     string `json:"error,omitempty"`
}

// Server runs tasks. Its methods may be called concurrently.
type Server struct {
	cfg     Config
	handler http.Handler

	mu     sync.Mutex // guards what follows
	tasks  map[string]context.CancelCauseFunc
	closed bool
	under  sync.WaitGroup // the tasks under way
}

var (
	errCancelled = errors.New("the task was cancelled")
	errClosing   = errors.New("the server is stopping")
)

// New makes a server. It panics when cfg has no Open.
func New(cfg Config) *Server {
	if cfg.Open == nil {
		panic("agentserver: New needs a Config with Open")
	}
	cfg.MaxTasks = cmp.Or(cfg.MaxTasks, 64)
	s := &Server{cfg: cfg, tasks: make(map[string]context.CancelCauseFunc)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /agent/execute_task", s.execute)
	mux.HandleFunc("GET /agent/tasks", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		ids := append([]string{}, slices.Sorted(maps.Keys(s.tasks))...) // [], never null
		write(w, http.StatusOK, map[string][]string{"tasks": ids})
	})
	mux.HandleFunc("DELETE /agent/tasks/{id}", func(w http.ResponseWriter, r *http.Request) {
		if !s.Cancel(r.PathValue("id")) {
			refuse(w, http.StatusNotFound, fmt.Sprintf("no task %q is under way", r.PathValue("id")))
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	s.handler = gate.Rules{Hosts: cfg.Hosts, Origins: cfg.Origins}.Handler(mux)
	return s
}

// ServeHTTP answers a request, unless a page of another origin sends it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Cancel ends a task, and reports whether it was under way. Its answer says
// that it was cancelled, once the tools that it runs have ended.
func (s *Server) Cancel(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	cancel := s.tasks[id]
	if cancel == nil {
		return false
	}
	cancel(errCancelled)
	return true
}

// Close cancels all tasks, waits until they have ended, and refuses later ones.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	for _, cancel := range s.tasks {
		cancel(errClosing)
	}
	s.mu.Unlock()
	s.under.Wait()
}

// refusedError is why a task cannot begin.
type refusedError struct {
	status  int
	message string
}

func (e *refusedError) Error() string { return e.message }

// begin enters a task. end takes it out again.
func (s *Server) begin(ctx context.Context, id string) (inner context.Context, end func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, nil, &refusedError{http.StatusServiceUnavailable, errClosing.Error()}
	case s.tasks[id] != nil:
		return nil, nil, &refusedError{http.StatusConflict, fmt.Sprintf("a task %q is under way", id)}
	case len(s.tasks) >= s.cfg.MaxTasks:
		return nil, nil, &refusedError{http.StatusTooManyRequests, fmt.Sprintf("%d tasks are under way, which is the limit", len(s.tasks))}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	s.tasks[id] = cancel
	s.under.Add(1)
	return ctx, func() {
		cancel(nil)
		s.mu.Lock()
		delete(s.tasks, id)
		s.mu.Unlock()
		s.under.Done()
	}, nil
}

// task is the body of a request.
type task struct {
	Goal   string `json:"goal"`
	ID     string `json:"id"`     // of the client's choice; one is made up where there is none
	Stream bool   `json:"stream"` // answer with events
}

// maxGoal bounds the body of a request.
const maxGoal = 16 << 20

func readTask(w http.ResponseWriter, r *http.Request) (t task, err error) {
	if !gate.Sent(r, "application/json") {
		return t, &refusedError{http.StatusUnsupportedMediaType, "send JSON, with Content-Type: application/json"}
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxGoal))
	if err == nil {
		err = json.Unmarshal(data, &t)
	}
	switch {
	case err != nil:
		return t, &refusedError{http.StatusBadRequest, fmt.Sprintf(`the body is {"goal": "..."}: %v`, err)}
	case strings.TrimSpace(t.Goal) == "":
		return t, &refusedError{http.StatusUnprocessableEntity, `there is no "goal"`}
	}
	t.ID = cmp.Or(t.ID, "task-"+strings.ToLower(rand.Text()))
	t.Stream = t.Stream || strings.HasPrefix(r.Header.Get("Accept"), "text/event-stream")
	return t, nil
}

func (s *Server) execute(w http.ResponseWriter, r *http.Request) {
	t, err := readTask(w, r)
	var ctx context.Context
	var end func()
	if err == nil {
		ctx, end, err = s.begin(r.Context(), t.ID)
	}
	if e := (*refusedError)(nil); errors.As(err, &e) {
		if e.status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1")
		}
		refuse(w, e.status, e.message)
		return
	}
	defer end()
	if !t.Stream {
		result := s.play(ctx, t, func(string, any) {})
		status := http.StatusOK
		if result.Status == Failed {
			status = http.StatusBadGateway
		}
		write(w, status, result)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	flush := http.NewResponseController(w)
	tell := func(name string, v any) {
		data, err := json.Marshal(v)
		if err != nil {
			data = []byte(`{}`) // of texts and numbers
		}
		_, _ = w.Write(sse.Data(name, data)) // a client that is gone has ended ctx
		_ = flush.Flush()
	}
	tell("task", map[string]string{"id": t.ID})
	tell("result", s.play(ctx, t, tell))
}

// play runs a task to its end.
func (s *Server) play(ctx context.Context, t task, tell func(name string, v any)) (result Result) {
	result = Result{ID: t.ID, Calls: []Call{}}
	a, done, err := s.cfg.Open(ctx, t.ID)
	if err != nil {
		result.end(ctx, err)
		return result
	}
	if done != nil {
		defer func() {
			if err := done(); err != nil && result.Error == "" {
				result.Error = fmt.Sprintf("ending the task: %v", err)
			}
		}()
	}
	c := a.Conversation()
	for event, e := range c.Send(ctx, t.Goal) {
		if err = e; err != nil {
			break
		}
		switch e := event.(type) {
		case agent.Delta:
			if e.Text != "" {
				tell("text", map[string]string{"text": e.Text})
			}
		case agent.Withdrawn:
			tell("withdrawn", map[string]string{"text": e.Text})
		case agent.ModelCalled:
			result.ModelCalls++
			result.Usage = result.Usage.Add(e.Usage)
		case agent.ToolStarted:
			tell("tool_started", map[string]string{"id": e.Call.ID, "tool": e.Call.Name, "arguments": e.Call.Arguments})
		case agent.ToolFinished:
			tell("tool_finished", call(e.Call))
		case agent.CircuitChanged:
			tell("notice", map[string]string{"text": e.String()})
		case agent.Notice:
			tell("notice", map[string]string{"text": e.Text})
		case agent.Answer:
			result.FinalAnswer = e.Text
		}
	}
	for _, made := range c.Calls() {
		result.Calls = append(result.Calls, call(made))
	}
	result.end(ctx, err)
	return result
}

func call(c harness.ReportedCall) Call {
	return Call{c.ID, c.Tool, c.Arguments, c.Result, c.Error}
}

// end says how the task ended.
func (r *Result) end(ctx context.Context, err error) {
	var stop *harness.StopError
	switch {
	case err == nil:
		r.Status = Completed
		return
	case ctx.Err() != nil:
		r.Status, err = Cancelled, context.Cause(ctx)
	case errors.As(err, &stop):
		r.Status, r.StopReason = Stopped, stop.Reason
	default:
		r.Status, r.StopReason = Failed, agent.StopOf(err)
	}
	r.FinalAnswer, r.Error = "", err.Error()
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = exactjson.Write(w, v) // the client is gone
}

// refuse answers a request that begins no task.
func refuse(w http.ResponseWriter, status int, message string) {
	write(w, status, map[string]any{"status": "refused", "error": message})
}
