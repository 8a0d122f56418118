// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package toolserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// idle is after what time the session of an MCP client that sends nothing ends:
// one that went away does not say so.
const idle = 24 * time.Hour

// viewKey is where a context has the view of an MCP client.
type viewKey struct{}

// viewOf is the view of an MCP client: the one that the address names by which
// it began its session, or, from 2026-07-28 on, by which it sends the request.
func viewOf(ctx context.Context) string {
	name, _ := ctx.Value(viewKey{}).(string)
	return name
}

// endpoint is the MCP endpoint. The library has the tools of all sets, by their
// names alone; what a client sees of them is filtered by its view.
func (s *Toolserver) endpoint() http.Handler {
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "rehearse tools", Version: "1"}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
	})
	s.mcp.AddReceivingMiddleware(s.filter)
	for _, set := range s.sets {
		s.register(set.tools)
	}
	// From 2026-07-28 on there are no sessions, and the library has a handler for
	// either way. Our own guard stands before both, which knows whom the options
	// let in.
	handler := func(stateless bool) http.Handler {
		return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
			if s.ended.Err() != nil {
				return nil
			}
			return s.mcp
		}, &mcp.StreamableHTTPOptions{
			Stateless: stateless, JSONResponse: true, SessionTimeout: idle, MaxRequestBodyBytes: maxBody,
			DisableLocalhostProtection: true, PropagateRequestCancellation: true,
		})
	}
	sessions, requests := handler(false), handler(true)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(context.WithValue(r.Context(), viewKey{}, r.URL.Query().Get("view")))
		if mcpwire.IsModern(r.Header.Get(mcpwire.HeaderVersion)) {
			requests.ServeHTTP(w, r)
		} else {
			sessions.ServeHTTP(w, r)
		}
	})
}

// register gives tools to the library, which then tells clients that their lists
// changed. It panics at a schema whose root is not of the type object, so the
// schemas are left to filter.
func (s *Toolserver) register(list []tool) {
	for _, t := range list {
		s.mcp.AddTool(&mcp.Tool{Name: t.Name, InputSchema: json.RawMessage(`{"type":"object"}`)}, s.mcpCall)
	}
}

// notify tells MCP clients that lists changed. The library does so only when a tool
// is added, which may be one that it has.
func (s *Toolserver) notify() {
	s.mu.Lock()
	var list []tool
	for _, set := range s.sets {
		list = append(list, set.tools...)
	}
	s.mu.Unlock()
	s.register(list[:min(1, len(list))])
}

// filter leaves in a list of tools those that are active in the client's view, and
// says of each what it is.
func (s *Toolserver) filter(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == mcpwire.MethodTools {
			s.refresh(ctx)
		}
		result, err := next(ctx, method, req)
		list, ok := result.(*mcp.ListToolsResult)
		if !ok || err != nil {
			return result, err
		}
		on := []*mcp.Tool{}
		for _, t := range list.Tools {
			i, found, ok := s.find(t.Name)
			if active, err := s.offered(viewOf(ctx), Now, i); ok && err == nil && active {
				on = append(on, &mcp.Tool{Name: found.Name, Description: found.Description, InputSchema: found.Schema})
			}
		}
		list.Tools = on
		return list, nil
	}
}

// mcpCall runs a tool for an MCP client.
func (s *Toolserver) mcpCall(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ended, cancel)()
	args := req.Params.Arguments
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	got, err := s.Call(ctx, viewOf(ctx), Now, req.Params.Name, args)
	if err != nil {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}, IsError: true}, nil
	}
	if got.Raw == nil {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: got.Text}}, IsError: got.IsError}, nil
	}
	var structured struct {
		StructuredContent json.RawMessage `json:"structuredContent"` // as it is spelled
	}
	result := new(mcp.CallToolResult)
	if err := errors.Join(json.Unmarshal(got.Raw, result), json.Unmarshal(got.Raw, &structured)); err != nil {
		return nil, fmt.Errorf("the result of tool %q: %w", req.Params.Name, err)
	}
	if structured.StructuredContent != nil {
		result.StructuredContent = structured.StructuredContent
	}
	return result, nil
}

// endSessions ends what MCP clients have open.
func (s *Toolserver) endSessions() {
	if s.mcp == nil {
		return // New has failed
	}
	for session := range s.mcp.Sessions() {
		_ = session.Close() // the client is gone, or learns that we are
	}
}
