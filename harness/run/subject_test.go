// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
)

// fault is something that a client can do wrong.
type fault string

const (
	honest     fault = ""
	drops      fault = "drops a tool result"
	dropsCalls fault = "drops the calls with their results"
	twice      fault = "answers a call twice"
	swaps      fault = "swaps ids"
	reorders   fault = "reorders results"
	mangles    fault = "mangles a result"
	after      fault = "calls a tool after its final answer"
	reexecutes fault = "executes a call twice"
	inventsArg fault = "alters arguments"
	skipsTool  fault = "answers without asking the server"
	hidesTool  fault = "does not offer a tool"
	forgets    fault = "forgets its history"
	misreports fault = "reports another answer"
	hangs      fault = "hangs"
	deaf       fault = "hangs and heeds no context"
	panics     fault = "panics"
	breaks     fault = "breaks"
	stops      fault = "stops"
	silent     fault = "reports nothing"
	repeats    fault = "sends a request again"
	chatters   fault = "asks on after the answer"
	onlyText   fault = "looks at the text alone"
	emptyArgs  fault = "empties arguments in its history"
	omitsText  fault = "omits texts in its history"
	otherModel fault = "asks another model"
	terse      fault = "offers tools without their descriptions"
	indents    fault = "indents results behind a line" // which is none
)

// loop is a small client of the honest kind, written by hand so that nothing
// of the product is between the test and the wire. A fault makes it worse.
type loop struct{ fault fault }

// looper is one conversation of a loop.
type looper struct {
	fault   fault
	env     *harness.Env
	client  http.Client
	servers []*rpc
	tools   []any
	owner   map[string]*rpc
	history []message
	release chan struct{} // ends a deaf hang
	// answers makes up the result of the first call; nil asks the server, and
	// an empty one is not sent.
	answers func(*toolCall) string
}

type message struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func (l loop) Open(ctx context.Context, env *harness.Env) (harness.Session, error) {
	s := &looper{
		fault: l.fault, env: env, owner: map[string]*rpc{}, release: make(chan struct{}),
		client: http.Client{Transport: env.Endpoint.Transport},
	}
	if env.Settings.System != "" {
		s.history = append(s.history, message{Role: "system", Content: env.Settings.System})
	}
	for _, server := range env.Servers {
		conn, err := dial(ctx, server)
		if err != nil {
			return nil, err
		}
		r := &rpc{conn: conn, lines: bufio.NewReader(conn)}
		s.servers = append(s.servers, r)
		if err := s.list(r); err != nil {
			return nil, fmt.Errorf("listing the tools of %q: %w", server.Name, err)
		}
	}
	return s, nil
}

func (s *looper) list(r *rpc) error {
	init := map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "loop", "version": "1"}}
	if _, err := r.call("initialize", init); err != nil {
		return err
	}
	if err := r.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"}); err != nil {
		return err
	}
	raw, err := r.call("tools/list", map[string]any{})
	if err != nil {
		return err
	}
	var list struct {
		Tools []struct {
			Name, Description string
			InputSchema       json.RawMessage
		}
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	for i, t := range list.Tools {
		if s.fault == hidesTool && i == len(list.Tools)-1 {
			continue
		}
		s.owner[t.Name] = r
		s.tools = append(s.tools, map[string]any{"type": "function", "function": map[string]any{
			"name": t.Name, "description": t.Description, "parameters": t.InputSchema,
		}})
	}
	return nil
}

func (s *looper) Send(ctx context.Context, text string) (*harness.TurnReport, error) {
	report := &harness.TurnReport{}
	switch s.fault {
	case hangs:
		<-ctx.Done()
		return nil, context.Cause(ctx)
	case deaf:
		<-s.release
		return nil, errors.New("released")
	case panics:
		panic("no such luck")
	case breaks:
		return nil, errors.New("connection pool is closed")
	case stops:
		return nil, &harness.StopError{Reason: harness.StopModelCalls, Detail: "enough"}
	}
	s.history = append(s.history, message{Role: "user", Content: text})
	for {
		report.ModelCalls++
		m, err := s.ask(ctx)
		if err != nil {
			return report, err
		}
		if s.fault == repeats && report.ModelCalls == 1 {
			if m, err = s.ask(ctx); err != nil {
				return report, err
			}
			report.ModelCalls++
		}
		if s.fault == onlyText && m.Content != "" {
			m.ToolCalls = nil
		}
		if len(m.ToolCalls) == 0 {
			return s.answer(ctx, report, m)
		}
		s.history = append(s.history, m)
		results := make([]message, 0, len(m.ToolCalls))
		for i, tc := range m.ToolCalls {
			result := message{Role: "tool", ToolCallID: tc.ID, Content: s.execute(i, tc)}
			if i > 0 || s.answers == nil || result.Content != "" {
				results = append(results, result)
			}
			report.Calls = append(report.Calls, harness.ReportedCall{
				ID: tc.ID, Tool: tc.Function.Name, Arguments: tc.Function.Arguments, Result: result.Content,
			})
		}
		s.spoil(results)
	}
}

// spoil adds the results to the history, in the way of the fault.
func (s *looper) spoil(results []message) {
	last := len(results) - 1
	switch s.fault {
	case drops:
		results = results[:last]
	case dropsCalls:
		s.history, results = s.history[:len(s.history)-1], nil
	case twice:
		results = append(results, results[last])
	case swaps:
		results[0].ToolCallID, results[last].ToolCallID = results[last].ToolCallID, results[0].ToolCallID
		slices.Reverse(results) // the ids stay in order
	case reorders:
		slices.Reverse(results)
	case indents:
		for i := range results {
			var b bytes.Buffer
			if json.Indent(&b, []byte(results[i].Content), "", "  ") == nil {
				results[i].Content = "The tool answered:\n" + b.String()
			}
		}
	case mangles:
		results[0].Content = strings.ReplaceAll(results[0].Content, "1", "7")
	}
	s.history = append(s.history, results...)
	if s.fault == forgets {
		s.history = append([]message{{Role: "user", Content: "(summary)"}}, s.history[len(s.history)-len(results)-1:]...)
	}
}

func (s *looper) answer(ctx context.Context, report *harness.TurnReport, m message) (*harness.TurnReport, error) {
	s.history = append(s.history, m)
	report.Answer = m.Content
	switch s.fault {
	case after:
		var tc toolCall
		tc.Function.Name, tc.Function.Arguments = "get_weather", `{"location":"Rome"}`
		s.execute(0, tc)
	case misreports:
		report.Answer = "It is warm."
	case silent:
		return nil, nil
	case chatters:
		s.history = append(s.history, message{Role: "user", Content: "Are you sure?"})
		_, err := s.ask(ctx)
		return report, err
	}
	return report, nil
}

func (s *looper) execute(i int, tc toolCall) string {
	r := s.owner[tc.Function.Name]
	if r == nil {
		return "unknown tool " + tc.Function.Name
	}
	args := json.RawMessage(cmp.Or(tc.Function.Arguments, "{}"))
	if s.fault == inventsArg && i == 0 {
		args = json.RawMessage(`{"location":"Rome"}`)
	}
	if s.answers != nil && i == 0 {
		return s.answers(&tc)
	}
	if s.fault == skipsTool && i == 0 {
		return "I know that: it is sunny."
	}
	raw, err := r.call("tools/call", map[string]any{"name": tc.Function.Name, "arguments": args})
	if s.fault == reexecutes && i == 0 {
		raw, err = r.call("tools/call", map[string]any{"name": tc.Function.Name, "arguments": args})
	}
	if err != nil {
		return "error: " + err.Error()
	}
	var res struct {
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(raw, &res); err != nil || len(res.Content) == 0 {
		return string(raw)
	}
	return res.Content[0].Text
}

func (s *looper) ask(ctx context.Context) (message, error) {
	body, err := json.Marshal(s.request())
	if err != nil {
		return message{}, err
	}
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.env.Endpoint.BaseURL+"/chat/completions", bytes.NewReader(body))
		if err != nil {
			return message{}, err
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := s.client.Do(req)
		if err != nil {
			return message{}, &harness.EndpointError{Err: err}
		}
		data, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			return message{}, err
		}
		if wait := retryAfter(res); res.StatusCode == http.StatusTooManyRequests && wait > 0 {
			if err := s.env.Clock.Sleep(ctx, wait); err != nil {
				return message{}, err
			}
			continue
		}
		if res.StatusCode != http.StatusOK {
			return message{}, &harness.EndpointError{Status: res.StatusCode, Err: fmt.Errorf("HTTP %d: %s", res.StatusCode, data)}
		}
		var reply struct{ Choices []struct{ Message message } }
		if err := json.Unmarshal(data, &reply); err != nil || len(reply.Choices) == 0 {
			return message{}, fmt.Errorf("no choice in %s (%w)", data, err)
		}
		return reply.Choices[0].Message, nil
	}
}

// request is what is asked, in the way of the fault.
func (s *looper) request() map[string]any {
	model, history, tools := s.env.Endpoint.Model, slices.Clone(s.history), slices.Clone(s.tools)
	for i := range history {
		m := &history[i]
		switch {
		case m.Role != "assistant":
		case s.fault == omitsText && m.Content != "":
			m.Content = "(omitted)"
		case s.fault == emptyArgs:
			m.ToolCalls = slices.Clone(m.ToolCalls)
			for j := range m.ToolCalls {
				m.ToolCalls[j].Function.Arguments = "{}"
			}
		}
	}
	switch s.fault {
	case otherModel:
		model = "gpt-3.5"
	case terse:
		for i, t := range tools {
			f := maps.Clone(t.(map[string]any)["function"].(map[string]any))
			delete(f, "description")
			tools[i] = map[string]any{"type": "function", "function": f}
		}
	}
	return map[string]any{"model": model, "messages": history, "tools": tools}
}

func (s *looper) Close() error {
	close(s.release)
	var errs []error
	for _, r := range s.servers {
		errs = append(errs, r.conn.Close())
	}
	s.client.CloseIdleConnections()
	return errors.Join(errs...)
}

// rpc is the smallest client of a server: one request at a time.
type rpc struct {
	conn  io.ReadWriteCloser
	lines *bufio.Reader
	id    int
}

func dial(ctx context.Context, server harness.Server) (io.ReadWriteCloser, error) {
	if server.Dial == nil {
		return &httpConn{url: server.URL}, nil
	}
	return server.Dial(ctx)
}

// httpConn is streamable HTTP as a connection: each line is a request, and
// its answer can then be read.
type httpConn struct {
	url, session string
	client       http.Client
	answers      bytes.Buffer
}

func (c *httpConn) Write(line []byte) (int, error) {
	req, err := http.NewRequest(http.MethodPost, c.url, bytes.NewReader(line))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
		req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	res, err := c.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	c.session = cmp.Or(res.Header.Get("Mcp-Session-Id"), c.session)
	body, err := io.ReadAll(res.Body)
	for _, l := range strings.Split(string(body), "\n") {
		if l = strings.TrimSpace(strings.TrimPrefix(l, "data:")); strings.HasPrefix(l, "{") {
			c.answers.WriteString(l + "\n")
		}
	}
	return len(line), err
}

func (c *httpConn) Read(p []byte) (int, error) { return c.answers.Read(p) }

func (c *httpConn) Close() error {
	c.client.CloseIdleConnections()
	return nil
}

func (r *rpc) send(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = r.conn.Write(append(data, '\n'))
	return err
}

func (r *rpc) call(method string, params any) (json.RawMessage, error) {
	r.id++
	if err := r.send(map[string]any{"jsonrpc": "2.0", "id": r.id, "method": method, "params": params}); err != nil {
		return nil, err
	}
	for {
		line, err := r.lines.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		var m struct {
			ID     int
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, err
		}
		switch {
		case m.ID != r.id: // a notification
		case m.Error != nil:
			return nil, errors.New(m.Error.Message)
		default:
			return m.Result, nil
		}
	}
}
