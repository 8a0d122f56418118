// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// asks reports whether a client is asked something.
func asks(steps []Step) bool {
	return slices.ContainsFunc(steps, func(s Step) bool { _, ok := s.(Ask); return ok })
}

// levels are the levels of log messages, the least first.
func levels() []string {
	return []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
}

// checkSteps reports the first mistake in steps.
func checkSteps(steps []Step) error {
	for i, st := range steps {
		if err := checkStep(st); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

func checkStep(st Step) error {
	switch st := st.(type) {
	case Log:
		if st.Level != "" && !slices.Contains(levels(), st.Level) {
			return fmt.Errorf("log level %q is none of %s%s", st.Level, strings.Join(levels(), ", "), prose.DidYouMean(st.Level, levels()))
		}
		if len(st.Data) > 0 && !json.Valid(st.Data) {
			return fmt.Errorf("the data of the log message is not valid JSON: %s", prose.Excerpt(st.Data, 60))
		}
	case Notify:
		if st.Method == "" || len(st.Params) > 0 && !mcpwire.IsObject(st.Params) {
			return fmt.Errorf("a notification has a method, and an object as params: %q, %s", st.Method, prose.Excerpt(st.Params, 60))
		}
	case Ask:
		if len(st) == 0 {
			return fmt.Errorf("nothing is asked")
		}
		keys := make(map[string]bool)
		for _, q := range st {
			if keys[q.Name()] {
				return fmt.Errorf("%q is asked for twice at the same time", q.Name())
			}
			keys[q.Name()] = true
			switch q.Method {
			case Sampling, Elicitation, Roots:
			default:
				return fmt.Errorf("a client cannot be asked for %q", q.Method)
			}
			if len(q.Params) > 0 && !mcpwire.IsObject(q.Params) {
				return fmt.Errorf("the params of %s are not a JSON object: %s", q.Method, prose.Excerpt(q.Params, 60))
			}
		}
	}
	return nil
}

// halt says why the steps of an answer ended before the last: one of its
// fields, or none when the client waits no more.
type halt struct {
	required json.RawMessage // input is; this is the result
	rpc      *jsonrpc.Error  // the request is answered with an error
	refused  string          // the client does not do what it was asked for
	err      error           // the script has a mistake
}

// play does the steps of an answer, from where rd says. steps computes them
// from what the client has answered so far.
func (s *Server) play(ctx context.Context, r *request, rd *round, steps func(asked json.RawMessage) ([]Step, error)) *halt {
	list, err := steps(rd.answers())
	for ; err == nil && rd.next < len(list); rd.next++ {
		switch st := list[rd.next].(type) {
		case Progress:
			s.repeat(ctx, st.Times, st.Every, func(n int) { r.progress(st, n) })
		case Log:
			s.repeat(ctx, st.Times, st.Every, func(int) { r.log(st) })
		case Notify:
			s.repeat(ctx, st.Times, st.Every, func(int) { s.tell(r, st) })
		case Wait:
			_ = s.opts.Clock.Sleep(ctx, time.Duration(st))
		case Hold:
			s.hold(ctx, string(st))
		case CloseStream:
			r.out.closeStream(st.Retry)
		case Ask:
			if h := s.question(ctx, r, rd, st); h != nil {
				return h
			}
			list, err = steps(rd.answers())
		}
		if ctx.Err() != nil {
			return &halt{}
		}
	}
	if err != nil {
		return &halt{err: err}
	}
	return nil
}

// repeat calls f times times, with a pause in between. f gets the number, from
// 1.
func (s *Server) repeat(ctx context.Context, times int, every time.Duration, f func(n int)) {
	for n := 1; n <= max(times, 1); n++ {
		if n > 1 && every > 0 {
			_ = s.opts.Clock.Sleep(ctx, every)
		}
		if ctx.Err() != nil {
			return
		}
		f(n)
	}
}

// progress reports progress if the client has asked for it.
func (r *request) progress(p Progress, n int) {
	if token := r.params.Meta.ProgressToken; len(token) == 0 || string(token) == "null" {
		return
	}
	_ = r.out.notify("notifications/progress", struct {
		Token    json.RawMessage `json:"progressToken"`
		Progress float64         `json:"progress"`
		Total    float64         `json:"total,omitempty"`
		Message  string          `json:"message,omitempty"`
	}{r.params.Meta.ProgressToken, p.Value * float64(n), p.Total, p.Message})
}

// log sends a log message if the client wants its level.
func (r *request) log(l Log) {
	level := l.Level
	if level == "" {
		level = "info"
	}
	wanted := r.logLevel()
	if wanted == "" && r.era == modern || slices.Index(levels(), level) < slices.Index(levels(), wanted) {
		return
	}
	data := l.Data
	if len(data) == 0 {
		data = json.RawMessage(`""`)
	}
	_ = r.out.notify("notifications/message", struct {
		Level  string          `json:"level"`
		Logger string          `json:"logger,omitempty"`
		Data   json.RawMessage `json:"data"`
	}{level, l.Logger, data})
}

// tell sends a notification to whom it concerns.
func (s *Server) tell(r *request, n Notify) {
	var params any
	if len(n.Params) > 0 {
		params = n.Params
	}
	switch n.Method {
	case mcpwire.NoticeTools, promptsChanged, resourcesChanged, resourceUpdated:
		var members map[string]any
		_ = json.Unmarshal(n.Params, &members) // checkStep has seen that it is an object
		uri, _ := members["uri"].(string)
		s.broadcast(n.Method, uri, members)
	default:
		_ = r.out.notify(n.Method, params)
	}
}
