// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

const (
	methodSubscribe   = "resources/subscribe"
	methodUnsubscribe = "resources/unsubscribe"
)

// methods are those that the server has, by name.
func (s *Server) methods() map[string]method {
	all := map[string]method{
		mcpwire.MethodInitialize: legacyOnly(s.initialize), mcpwire.MethodDiscover: s.discover, mcpwire.MethodPing: legacyOnly(pong),
		mcpwire.MethodCall: s.call, mcpwire.MethodTools: s.list, mcpwire.MethodListen: s.listen,
	}
	resources, prompts, completions := s.offers()
	if s.logs() {
		all[mcpwire.MethodSetLevel] = legacyOnly(setLevel)
	}
	if resources {
		all[methodResources], all[methodTemplates], all[methodRead] = s.list, s.list, s.look
		all[methodSubscribe], all[methodUnsubscribe] = legacyOnly(subscribe), legacyOnly(subscribe)
	}
	if prompts {
		all[methodPrompts], all[methodGet] = s.list, s.look
	}
	if completions {
		all[methodComplete] = s.completion
	}
	return all
}

// legacyOnly is a method that 2026-07-28 has no more.
func legacyOnly(f method) method {
	return func(ctx context.Context, r *request) *outcome {
		if r.era == modern {
			return removed(r.Method)
		}
		return f(ctx, r)
	}
}

func removed(method string) *outcome {
	return fails(mcpwire.CodeNoMethod, "%q was removed in protocol version %s", method, mcpwire.FirstModern)
}

// lacking is the error about a method that the server does not have.
func (r *request) lacking() *outcome {
	if r.era == modern && early(r.Method) {
		return removed(r.Method)
	}
	area, _, _ := strings.Cut(r.Method, "/")
	switch area {
	case "resources", "prompts", "tasks", "logging":
	case "completion":
		area = "completions"
	default:
		return fails(mcpwire.CodeNoMethod, "Method %s not found", r.Method)
	}
	return fails(mcpwire.CodeNoMethod, "%s not supported", area)
}

// unparsable is the error about a request whose params are of the wrong type.
func unparsable(method string, err error) *outcome {
	text := strings.TrimPrefix(err.Error(), "json: ")
	if typed, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		text = strings.TrimSuffix("params."+typed.Field, ".") + " is of the wrong type: " + typed.Value
	}
	return fails(mcpwire.CodeInvalidRequest, "unparsable %s request: %s", method, text)
}

// read reads the params of a request into v.
func (r *request) read(v any) *outcome {
	if len(r.Params) == 0 {
		return nil
	}
	if err := json.Unmarshal(r.Params, v); err != nil {
		return unparsable(r.Method, err)
	}
	return nil
}

// implementation is how the protocol names a program.
type implementation struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// initialize opens a session, with the version that the client asks for or the
// newest that is offered.
func (s *Server) initialize(_ context.Context, r *request) *outcome {
	var asked struct {
		Version      string          `json:"protocolVersion"`
		Capabilities json.RawMessage `json:"capabilities"`
	}
	if wrong := r.read(&asked); wrong != nil {
		return wrong
	}
	version := asked.Version
	if !slices.Contains(s.legacyVersions, version) {
		version = s.legacyVersions[0]
	}
	r.client.mu.Lock()
	r.client.version, r.client.caps = version, asked.Capabilities
	r.client.mu.Unlock()
	return &outcome{result: mcpwire.Marshal(struct {
		Version      string         `json:"protocolVersion"`
		Capabilities capabilities   `json:"capabilities"`
		Server       implementation `json:"serverInfo"`
		Instructions string         `json:"instructions,omitempty"`
	}{version, s.capabilities(), implementation{s.script.Name, s.script.Version}, s.script.Instructions})}
}

// discover says what the server is to a client of 2026-07-28.
func (s *Server) discover(context.Context, *request) *outcome {
	return &outcome{cached: true, result: mcpwire.Marshal(struct {
		Versions     []string     `json:"supportedVersions"`
		Capabilities capabilities `json:"capabilities"`
		Instructions string       `json:"instructions,omitempty"`
	}{s.versions(), s.capabilities(), s.script.Instructions})}
}

func pong(_ context.Context, r *request) *outcome {
	if wrong := r.read(new(map[string]json.RawMessage)); wrong != nil {
		return wrong
	}
	return &outcome{}
}

func setLevel(_ context.Context, r *request) *outcome {
	var p struct {
		Level string `json:"level"`
	}
	if wrong := r.read(&p); wrong != nil {
		return wrong
	}
	if !slices.Contains(levels(), p.Level) {
		return fails(mcpwire.CodeInvalidParams, "invalid logging level '%s'", p.Level)
	}
	r.client.mu.Lock()
	defer r.client.mu.Unlock()
	r.client.level = p.Level
	return &outcome{}
}

func subscribe(_ context.Context, r *request) *outcome {
	var p struct {
		URI string `json:"uri"`
	}
	if wrong := r.read(&p); wrong != nil {
		return wrong
	}
	if p.URI == "" {
		return fails(mcpwire.CodeInvalidParams, "uri is required")
	}
	c := r.client
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.subscribed == nil {
		c.subscribed = make(map[string]bool)
	}
	c.subscribed[p.URI] = r.Method == methodSubscribe
	return &outcome{}
}

// unsupported refuses the version of a modern request.
func (s *Server) unsupported(r *request) *outcome {
	o := fails(mcpwire.CodeUnsupportedVersion, "unsupported protocol version: %q (supported: %v)", r.params.Meta.Version, s.versions())
	o.rpc.Data = mcpwire.Marshal(struct {
		Supported []string `json:"supported"`
		Requested string   `json:"requested"`
	}{s.versions(), r.params.Meta.Version})
	return o
}

// versions are all that are offered, newest first.
func (s *Server) versions() []string { return slices.Concat(s.modernVersions, s.legacyVersions) }

// fails is an outcome that is an error.
func fails(code int, format string, args ...any) *outcome {
	return &outcome{rpc: &jsonrpc.Error{Code: code, Message: fmt.Sprintf(format, args...)}}
}
