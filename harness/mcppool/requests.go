// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// Tools lists the tools of the server, walking all pages. An entry that is no
// tool is left out and costs a warning, never the list. Schemas are not
// looked at.
func (s *Session) Tools(ctx context.Context) (tools []Tool, warnings []string, err error) {
	s.changed.Store(false)
	if c := s.current(); c.deaf.Load() {
		s.listen(ctx, c)
	}
	warn := func(format string, args ...any) {
		warnings = append(warnings, fmt.Sprintf("server %q: ", s.server.Name)+fmt.Sprintf(format, args...))
	}
	names := map[string]bool{}
	cursors := map[mcp.Cursor]bool{"": true}
	var cursor mcp.Cursor
	for page := 1; ; page++ {
		list, err := s.page(ctx, cursor)
		if err != nil {
			return nil, nil, err
		}
		for i, raw := range list.Tools {
			tool, err := parseTool(raw)
			if err == nil && s.mirrors() {
				err = mirrored(tool)
			}
			switch {
			case err != nil:
				warn("entry %d of page %d of its tools is left out: %v: %s", i+1, page, err, mcpwire.Excerpt(raw, 100))
			case names[tool.Name]:
				warn("tool %q is listed twice; the second is left out", tool.Name)
			default:
				names[tool.Name] = true
				tools = append(tools, tool)
			}
		}
		cursor = list.NextCursor
		switch {
		case cursor == "":
			return tools, warnings, nil
		case cursors[cursor]:
			warn("its list of tools goes round in circles at cursor %q; the first %d tools are used", cursor, len(tools))
			return tools, warnings, nil
		case page >= s.opts.MaxPages:
			warn("its list of tools has more than %d pages; the first %d tools are used", page, len(tools))
			return tools, warnings, nil
		}
		cursors[cursor] = true
	}
}

// mirrors reports whether arguments that a schema marks are sent as HTTP
// headers too. Servers refuse a call where they are not, or not the same.
func (s *Session) mirrors() bool {
	c := s.current()
	_, overHTTP := c.link.(*httpTransport)
	return overHTTP && mcp.IsModernProtocol(c.client.ProtocolVersion())
}

// mirrored checks the marks of arguments that are to be headers. The protocol
// rules out a tool with a wrong one.
func mirrored(t Tool) error {
	return mcp.ValidateParamHeaderAnnotations(&mcp.Tool{Name: t.Name, RawInputSchema: t.Schema})
}

// readable is a page of tools with those alone that mcp-go can read, which
// fails over one that it cannot. It learns from the others what to send as
// headers.
func readable(result json.RawMessage) json.RawMessage {
	var page toolPage
	if json.Unmarshal(result, &page) != nil {
		return result
	}
	good := make([]json.RawMessage, 0, len(page.Tools))
	for _, raw := range page.Tools {
		var typed mcp.Tool
		if t, err := parseTool(raw); err == nil && json.Unmarshal(raw, &typed) == nil && mirrored(t) == nil {
			good = append(good, raw)
		}
	}
	page.Tools = good
	return mcpwire.Marshal(page)
}

type toolPage struct {
	Tools      []json.RawMessage `json:"tools"`
	NextCursor mcp.Cursor        `json:"nextCursor,omitempty"`
}

func (s *Session) page(ctx context.Context, cursor mcp.Cursor) (*toolPage, error) {
	const op = "listing the tools of"
	kept, err := s.do(ctx, op, &patience{limit: s.opts.ConnectTimeout, clock: s.opts.Clock}, func(ctx context.Context, c *conn) error {
		var request mcp.ListToolsRequest
		request.Params.Cursor = cursor
		_, err := c.client.ListToolsByPage(ctx, request)
		return err
	})
	if err != nil {
		return nil, err
	}
	page := new(toolPage)
	if err := json.Unmarshal(kept.result, page); err != nil {
		return nil, &Error{
			Kind: ErrMalformed, Server: s.server.Name, Op: op,
			Err: fmt.Errorf("the answer is no list of tools: %w: %s", err, mcpwire.Excerpt(kept.result, 200)),
		}
	}
	return page, nil
}

func parseTool(raw json.RawMessage) (Tool, error) {
	var t struct {
		Name         string          `json:"name"`
		Description  string          `json:"description"`
		InputSchema  json.RawMessage `json:"inputSchema"`
		OutputSchema json.RawMessage `json:"outputSchema"`
	}
	if err := json.Unmarshal(raw, &t); err != nil {
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
func (s *Session) Call(ctx context.Context, tool string, args json.RawMessage) (*Result, error) {
	op := fmt.Sprintf("calling %q on", tool)
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if !mcpwire.IsObject(args) {
		return nil, &Error{
			Kind: ErrMalformed, Server: s.server.Name, Op: op,
			Err: fmt.Errorf("the arguments are no JSON object: %s", mcpwire.Excerpt(args, 200)),
		}
	}
	p := &patience{limit: s.opts.CallTimeout, total: s.opts.TotalTimeout, clock: s.opts.Clock}
	token, done := s.follow(p)
	defer done()
	kept, err := s.do(ctx, op, p, func(ctx context.Context, c *conn) error {
		var request mcp.CallToolRequest
		request.Params.Name = tool
		request.Params.Arguments = args
		request.Params.Meta = &mcp.Meta{ProgressToken: token}
		_, err := c.client.CallTool(ctx, request)
		return err
	})
	if err != nil {
		return nil, err
	}
	r, err := kept.call, kept.callErr
	if err == nil && r.NeedsInput() {
		err = fmt.Errorf("the server asks for input that this client cannot give: %s", wanted(kept.result))
		if kept.err != nil {
			err = fmt.Errorf("%w (%w)", err, kept.err)
		}
	}
	if err != nil {
		return nil, &Error{Kind: ErrMalformed, Server: s.server.Name, Op: op, Err: err}
	}
	return &Result{Raw: kept.result, Content: r.Content, Text: r.Text(), Structured: r.Structured, IsError: r.IsError}, nil
}

// Ping asks the server for a sign of life.
func (s *Session) Ping(ctx context.Context) error {
	_, err := s.do(ctx, "asking for a sign of life of", &patience{limit: s.opts.ConnectTimeout, clock: s.opts.Clock}, func(ctx context.Context, c *conn) error {
		if mcp.IsModernProtocol(c.client.ProtocolVersion()) {
			_, err := c.client.Discover(ctx, mcp.DiscoverRequest{})
			return err
		}
		//lint:ignore SA1019 deprecated with the era, which servers go on to speak
		return c.client.Ping(ctx)
	})
	return err
}

// follow gives out a token by which the server can tell of the progress of a
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

// told takes a notification. It runs where answers are read.
func (s *Session) told(m mcpwire.Message) {
	switch m.Method {
	case mcp.MethodNotificationToolsListChanged:
		s.changed.Store(true)
	case mcp.MethodNotificationSubscriptionsAcknowledged:
		select {
		case s.heard <- struct{}{}:
		default:
		}
	case string(mcp.MethodNotificationProgress):
		s.progressed(m.Params)
	}
	if s.opts.Told != nil {
		s.opts.Told(m.Method, m.Params)
	}
}

func (s *Session) progressed(params json.RawMessage) {
	var what progress
	if err := json.Unmarshal(params, &what); err != nil {
		s.once("sent word of progress that cannot be read: %s", mcpwire.Excerpt(params, 120))
		return
	}
	s.mu.Lock()
	p := s.patient[mcpwire.Key(what.Token)]
	s.mu.Unlock()
	if p == nil {
		s.once("sent word of progress of a call that is over, or never was: %s", mcpwire.Excerpt(params, 120))
		return
	}
	p.heard(what)
}

// capture keeps the last answer to the requests sent under a context, as it
// came. mcp-go's typed results rewrite schemas, refuse content of unknown
// type, and drop the data of errors.
type capture struct {
	result json.RawMessage
	rpc    *harness.RPCError
	// call is the result of a tools/call, or callErr says why there is none.
	call    *mcpwire.Result
	callErr error
	// err is what mcp-go made of the answer, if it took it for none.
	err error
}

type captureKey struct{}

// keep stores the answer to a request in the capture of ctx, if there is one,
// and returns the result that mcp-go is to read. That of a call which is over
// is read already: it can be long, and mcp-go would read it twice.
func keep(ctx context.Context, method string, result json.RawMessage, rpc *harness.RPCError) json.RawMessage {
	c, ok := ctx.Value(captureKey{}).(*capture)
	if !ok {
		return result
	}
	*c = capture{result: result, rpc: rpc}
	switch method {
	case string(mcp.MethodToolsCall):
	case string(mcp.MethodToolsList):
		return readable(result)
	default:
		return result
	}
	c.call, c.callErr = mcpwire.ParseResult(result)
	if c.callErr != nil || c.call.NeedsInput() {
		return result
	}
	return json.RawMessage(`{"content":[]}`)
}

// forget empties the capture of ctx for the next answer.
func forget(ctx context.Context) {
	if c, ok := ctx.Value(captureKey{}).(*capture); ok {
		*c = capture{}
	}
}
