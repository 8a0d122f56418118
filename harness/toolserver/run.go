// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package toolserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/harness/tools"
)

// maxResult bounds what a tool may answer.
const maxResult = 16 << 20

// runner runs a tool. Its error is one of ctx; what goes wrong with the tool is
// a result.
type runner = func(ctx context.Context, args json.RawMessage) (tools.Result, error)

// function runs a Go function.
func function(f func(context.Context, json.RawMessage) (any, error)) runner {
	return func(ctx context.Context, args json.RawMessage) (_ tools.Result, err error) {
		defer func() {
			if p := recover(); p != nil { // it would end the program, or the connection
				err = fmt.Errorf("the tool panicked: %v", p)
			}
		}()
		got, err := f(ctx, args)
		if ctx.Err() != nil {
			return tools.Result{}, context.Cause(ctx)
		}
		if err != nil {
			return tools.Failure(err), nil
		}
		if text, ok := got.(string); ok {
			return tools.Result{Text: text}, nil
		}
		data, err := json.Marshal(got)
		if err != nil {
			return tools.Failure(fmt.Errorf("the tool's result cannot be written as JSON: %w", err)), nil
		}
		return tools.Result{Text: string(data)}, nil
	}
}

// post runs a tool that another server has. What it says of the address is the
// server alone: the rest may hold a key, and a model reads it.
func (s *Toolserver) post(to *url.URL) runner {
	where := to.Scheme + "://" + to.Host
	return func(ctx context.Context, args json.RawMessage) (tools.Result, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(args))
		if err != nil {
			return tools.Failure(fmt.Errorf("the address of the tool at %s cannot be asked", where)), nil
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := s.opts.Client.Do(req)
		if err != nil {
			if ctx.Err() != nil {
				return tools.Result{}, context.Cause(ctx)
			}
			if e := (*url.Error)(nil); errors.As(err, &e) {
				err = e.Err
			}
			return tools.Failure(fmt.Errorf("asking the tool at %s: %w", where, err)), nil
		}
		defer res.Body.Close()
		body, err := io.ReadAll(io.LimitReader(res.Body, maxResult+1))
		switch {
		case ctx.Err() != nil:
			return tools.Result{}, context.Cause(ctx)
		case err != nil:
			return tools.Failure(fmt.Errorf("reading the tool's answer: %w", err)), nil
		case len(body) > maxResult:
			return tools.Failure(fmt.Errorf("the tool's answer is longer than %d bytes", maxResult)), nil
		case res.StatusCode >= 300 && res.StatusCode < 400:
			return tools.Failure(fmt.Errorf("the tool at %s redirects, with status %d, which is not followed", where, res.StatusCode)), nil
		case res.StatusCode >= 400:
			return tools.Failure(fmt.Errorf("the tool answered with status %d: %s", res.StatusCode, strings.TrimSpace(string(body)))), nil
		}
		return tools.Result{Text: string(body)}, nil
	}
}

// remote runs a tool of an MCP server.
func remote(session *mcppool.Session, name string) runner {
	return func(ctx context.Context, args json.RawMessage) (tools.Result, error) {
		got, err := session.Call(ctx, name, args)
		if err != nil {
			if ctx.Err() != nil {
				return tools.Result{}, context.Cause(ctx)
			}
			return tools.Failure(err), nil
		}
		return tools.Result{Text: tools.Text(got), IsError: got.IsError, Raw: got.Raw}, nil
	}
}

// harness is the server as a session is opened to it.
func (s *Server) harness(id string) harness.Server {
	if s.Dial.Dial != nil {
		return s.Dial
	}
	server := harness.Server{Name: id, URL: s.URL, Transport: s.Transport, Headers: s.Headers, Command: s.Command, Dir: s.Cwd}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		server.Env = append(server.Env, name+"="+s.Env[name])
	}
	return server
}
