// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/exactjson"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// Tools lists the tools of the server, walking all pages. An entry that is no
// tool is left out and costs a warning, never the list. Schemas are not
// looked at.
func (s *Session) Tools(ctx context.Context) (tools []Tool, warnings []string, err error) {
	if c := s.current(); c.deaf.Load() {
		s.listen(ctx, c)
	}
	names := map[string]bool{}
	warnings, err = s.pages(ctx, listing{mcpwire.MethodTools, "tools", "tools"}, func(raw json.RawMessage) error {
		tool, err := parseTool(raw)
		if err == nil {
			err = s.current().mark(tool)
		}
		switch {
		case err != nil:
			return err
		case names[tool.Name]:
			return fmt.Errorf("%q is listed twice", tool.Name)
		}
		names[tool.Name] = true
		tools = append(tools, tool)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return tools, warnings, nil
}

// listing is a list that servers give page by page.
type listing struct{ method, member, what string }

// pages walks all pages of a list and gives each entry to take. One that take
// has no use for is left out and costs a warning.
func (s *Session) pages(ctx context.Context, of listing, take func(json.RawMessage) error) (warnings []string, err error) {
	warn := func(format string, args ...any) {
		warnings = append(warnings, fmt.Sprintf("server %q: ", s.server.Name)+fmt.Sprintf(format, args...))
	}
	cursors := map[string]bool{"": true}
	var cursor string
	for page, taken := 1, 0; ; page++ {
		entries, next, err := s.page(ctx, of, cursor)
		if err != nil {
			return nil, err
		}
		for i, raw := range entries {
			if err := take(raw); err != nil {
				warn("entry %d of page %d of its %s is left out: %v: %s", i+1, page, of.what, err, prose.Excerpt(raw, 100))
				continue
			}
			taken++
		}
		cursor = next
		switch {
		case cursor == "":
			return warnings, nil
		case cursors[cursor]:
			warn("its list of %s repeats the cursor %q; the first %d %s are used", of.what, cursor, taken, of.what)
			return warnings, nil
		case page >= s.opts.MaxPages:
			warn("its list of %s has more than %d pages; the first %d %s are used", of.what, page, taken, of.what)
			return warnings, nil
		}
		cursors[cursor] = true
	}
}

// mark keeps in mind a tool with arguments that are to be headers. The
// protocol rules out one with a wrong mark.
func (c *conn) mark(t Tool) error {
	if !c.mirrors() {
		return nil
	}
	typed := &mcp.Tool{Name: t.Name, RawInputSchema: t.Schema}
	err := mcp.ValidateParamHeaderAnnotations(typed)
	c.mu.Lock()
	defer c.mu.Unlock()
	if delete(c.marked, t.Name); err == nil && bytes.Contains(t.Schema, []byte("x-mcp-header")) {
		c.marked[t.Name] = typed
	}
	return err
}

// page asks for one page of a list.
func (s *Session) page(ctx context.Context, of listing, cursor string) (entries []json.RawMessage, next string, err error) {
	op := "listing the " + of.what + " of"
	params := map[string]string{}
	if cursor != "" {
		params["cursor"] = cursor
	}
	result, err := s.ask(ctx, op, of.method, params)
	if err != nil {
		return nil, "", err
	}
	var page struct {
		NextCursor string `json:"nextCursor"`
	}
	members := map[string]json.RawMessage{}
	if err = exactjson.Unmarshal(result, &page); err == nil {
		err = json.Unmarshal(result, &members)
	}
	if err == nil && len(members[of.member]) > 0 {
		err = json.Unmarshal(members[of.member], &entries)
	}
	if err != nil {
		return nil, "", s.malformed(op, fmt.Errorf("the answer is not a list of %s: %w: %s", of.what, err, prose.Excerpt(result, 200)))
	}
	return entries, page.NextCursor, nil
}

// ask makes a request that takes no longer than a server may take to start.
func (s *Session) ask(ctx context.Context, op, method string, params any) (json.RawMessage, error) {
	return s.do(ctx, op, &patience{limit: s.opts.ConnectTimeout, clock: s.opts.Clock}, true, func(ctx context.Context, c *conn) (json.RawMessage, error) {
		return c.request(ctx, method, params)
	})
}

// malformed is the error of an answer that cannot be used.
func (s *Session) malformed(op string, err error) error {
	return &Error{Kind: ErrMalformed, Server: s.server.Name, Op: op, Err: err}
}

func parseTool(raw json.RawMessage) (Tool, error) {
	var t struct {
		Name         string          `json:"name"`
		Description  string          `json:"description"`
		InputSchema  json.RawMessage `json:"inputSchema"`
		OutputSchema json.RawMessage `json:"outputSchema"`
	}
	if err := exactjson.Unmarshal(raw, &t); err != nil {
		return Tool{}, err
	}
	if t.Name == "" {
		return Tool{}, fmt.Errorf("it has no name")
	}
	return Tool{
		Tool:   harness.Tool{Name: t.Name, Description: t.Description, Schema: t.InputSchema},
		Output: t.OutputSchema,
		Raw:    raw,
	}, nil
}

// Call calls a tool. args must be a JSON object or empty. A result that says
// isError is a result; errors are of type [*Error].
func (s *Session) Call(ctx context.Context, tool string, args json.RawMessage) (result *Result, err error) {
	op := fmt.Sprintf("calling %q on", tool)
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if !mcpwire.IsObject(args) {
		return nil, &Error{
			Kind: ErrMalformed, Server: s.server.Name, Op: op,
			Err: fmt.Errorf("the arguments are not a JSON object: %s", prose.Excerpt(args, 200)),
		}
	}
	over, err := s.circuit.Allow()
	if err != nil {
		return nil, &Error{Kind: ErrOpen, Server: s.server.Name, Op: op, Err: err}
	}
	defer func() { over(outcome(err), err) }()
	p := &patience{limit: s.opts.CallTimeout, total: s.opts.TotalTimeout, clock: s.opts.Clock}
	token, done := s.follow(p)
	defer done()
	s.called()
	raw, err := s.do(ctx, op, p, false, func(ctx context.Context, c *conn) (json.RawMessage, error) {
		return s.callOn(ctx, c, &callParams{Name: tool, Arguments: args, Meta: callMeta{token}})
	})
	if err != nil {
		return nil, err
	}
	r, err := mcpwire.ParseResult(raw)
	if err != nil {
		return nil, &Error{Kind: ErrMalformed, Server: s.server.Name, Op: op, Err: err}
	}
	return &Result{Raw: raw, Content: r.Content, Text: r.Text(), Structured: r.Structured, IsError: r.IsError}, nil
}

// callParams are the params of a tools/call.
type callParams struct {
	Name      string                     `json:"name"`
	Arguments json.RawMessage            `json:"arguments"`
	Meta      callMeta                   `json:"_meta"`
	State     *string                    `json:"requestState,omitempty"`
	Responses map[string]json.RawMessage `json:"inputResponses,omitempty"`
}

type callMeta struct {
	Token int64 `json:"progressToken"`
}

// How often a server may ask for input during one call, and how often in a row
// for none, which tells the client to come back.
const (
	maxRounds      = 10
	maxEmptyRounds = 3
)

// inputError says that a server asks for what it cannot get.
type inputError struct {
	wanted string
	why    error
}

func (e *inputError) Error() string {
	return fmt.Sprintf("the server asks for input that this client cannot provide: %s (%v)", e.wanted, e.why)
}

// callOn makes a call, as often as the server asks for input.
func (s *Session) callOn(ctx context.Context, c *conn, params *callParams) (json.RawMessage, error) {
	empty := 0
	for round := 1; ; round++ {
		raw, err := c.request(ctx, mcpwire.MethodCall, params)
		if err != nil {
			return nil, err
		}
		if r, err := mcpwire.ParseResult(raw); err != nil || !r.NeedsInput() {
			return raw, nil // or it is read again, and the error told
		}
		var in inputs
		_ = exactjson.Unmarshal(raw, &in) // what can be read
		if empty++; len(in.Requests) > 0 {
			empty = 0
		}
		if round >= maxRounds || empty >= maxEmptyRounds {
			err = fmt.Errorf("it has asked %d times", round)
		} else {
			params.Responses, err = s.give(ctx, &in)
		}
		if err != nil {
			return nil, &inputError{in.wanted(), err}
		}
		params.State = in.State
	}
}

// Ping asks the server for a sign of life.
func (s *Session) Ping(ctx context.Context) error {
	_, err := s.do(ctx, "pinging", &patience{limit: s.opts.ConnectTimeout, clock: s.opts.Clock}, true, func(ctx context.Context, c *conn) (json.RawMessage, error) {
		if c.modern() {
			return c.request(ctx, mcpwire.MethodDiscover, nil)
		}
		return c.request(ctx, mcpwire.MethodPing, nil)
	})
	return err
}

// follow gives out a token by which the server can report the progress of a
// call.
func (s *Session) follow(p *patience) (token int64, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens++
	token = s.tokens
	key := strconv.FormatInt(token, 10)
	s.patient[key] = p
	return token, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.patient, key)
	}
}

// notified takes a notification. It runs where answers are read.
func (s *Session) notified(m mcpwire.Message) {
	switch m.Method {
	case mcpwire.NoticeTools:
		s.changes.Add(1)
	case mcpwire.NoticeAcknowledged:
		select {
		case s.acknowledged <- struct{}{}:
		default:
		}
	case mcpwire.NoticeProgress:
		s.progressed(m.Params)
	}
	if s.opts.Notified != nil {
		s.opts.Notified(s.server.Name, m.Method, m.Params)
	}
}

func (s *Session) progressed(params json.RawMessage) {
	var what progress
	if err := exactjson.Unmarshal(params, &what); err != nil {
		s.once("sent unreadable progress: %s", prose.Excerpt(params, 120))
		return
	}
	s.mu.Lock()
	p := s.patient[mcpwire.Key(what.Token)]
	s.mu.Unlock()
	if p == nil {
		s.once("sent progress for no open call: %s", prose.Excerpt(params, 120))
		return
	}
	p.heard(what)
}
