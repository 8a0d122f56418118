// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// prompt finds what a prompts/get gets.
func (o *offer) prompt(params json.RawMessage) (*found, *Query, *jsonrpc.Error) {
	var p struct {
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, nil, invalid("Invalid params: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	prompt, ok := o.prompts.byName[p.Name]
	if !ok {
		return nil, nil, invalid("Prompt %s not found", p.Name)
	}
	for _, a := range prompt.Arguments {
		if _, ok := p.Arguments[a.Name]; a.Required && !ok {
			return nil, nil, invalid("Missing required argument: %s", a.Name)
		}
	}
	return &found{
		what: "prompt", name: p.Name, before: prompt.Before,
		answer: func(q *Query) (map[string]any, error) {
			messages := prompt.Messages
			if prompt.Func != nil {
				var err error
				if messages, err = prompt.Func(q); err != nil {
					return nil, err
				}
			}
			return promptResult(prompt.Description, messages)
		},
	}, &Query{Vars: p.Arguments}, nil
}

func invalid(format string, args ...any) *jsonrpc.Error {
	return &jsonrpc.Error{Code: mcpwire.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

func promptResult(description string, messages []PromptMessage) (map[string]any, error) {
	type message struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	list := make([]message, 0, len(messages))
	for i, m := range messages {
		content := m.Content
		switch {
		case len(content) == 0:
			content = mcpwire.Marshal(textBlock{"text", m.Text})
		case !mcpwire.IsObject(content):
			return nil, fmt.Errorf("the content of message %d is not a JSON object: %s", i+1, prose.Excerpt(content, 60))
		}
		role := m.Role
		if role == "" {
			role = "user"
		}
		list = append(list, message{role, content})
	}
	result := map[string]any{"messages": list}
	if description != "" {
		result["description"] = description
	}
	return result, nil
}

// maxValues is how many values an answer to completion/complete may have.
const maxValues = 100

// complete answers a completion/complete.
func (s *Server) complete(params json.RawMessage) (any, *jsonrpc.Error) {
	var p struct {
		Ref struct {
			Type string `json:"type"`
			Name string `json:"name"`
			URI  string `json:"uri"`
		} `json:"ref"`
		Argument struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"argument"`
		Context struct {
			Arguments map[string]string `json:"arguments"`
		} `json:"context"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, invalid("Invalid params: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	o := s.offer.Load()
	known := false
	switch p.Ref.Type {
	case "ref/prompt":
		_, known = o.prompts.byName[p.Ref.Name]
	case "ref/resource":
		_, isTemplate := o.templates.byName[p.Ref.URI]
		_, isResource := o.resources.byName[p.Ref.URI]
		known = isTemplate || isResource
	}
	i := slices.IndexFunc(s.script.Completions, func(c Completion) bool {
		return c.Argument == p.Argument.Name &&
			(p.Ref.Type == "ref/prompt" && c.Prompt == p.Ref.Name || p.Ref.Type == "ref/resource" && c.Template == p.Ref.URI)
	})
	if i < 0 && !known {
		return nil, invalid("Unknown reference: %s%s", p.Ref.Name, p.Ref.URI)
	}
	values := []string{}
	if i >= 0 {
		c := &s.script.Completions[i]
		q := &Query{Vars: p.Context.Arguments, Typed: p.Argument.Value}
		s.fill(q)
		if c.Func != nil {
			got, err := guard(func() ([]string, error) { return c.Func(q) })
			if err != nil {
				return nil, s.scriptError("completing "+c.Argument+" of "+p.Ref.Name+p.Ref.URI, err)
			}
			values = append(values, got...)
		} else {
			for _, v := range c.Values {
				if strings.HasPrefix(v, p.Argument.Value) {
					values = append(values, v)
				}
			}
		}
	}
	total := len(values)
	return map[string]any{"values": values[:min(total, maxValues)], "total": total, "hasMore": total > maxValues}, nil
}

// scriptError notes an error of the script and makes an answer of it.
func (s *Server) scriptError(doing string, err error) *jsonrpc.Error {
	reason := fmt.Sprintf("%s of %s: %v", doing, s.script.Name, err)
	s.mu.Lock()
	if len(s.broke) < maxProblems {
		s.broke = append(s.broke, errors.New(reason))
	}
	s.mu.Unlock()
	s.opts.Logf("%s", reason)
	return &jsonrpc.Error{Code: codeBroken, Message: "rehearse_script: " + reason}
}

// fill fills in what a query says of the present.
func (s *Server) fill(q *Query) {
	s.mu.Lock()
	q.State = s.stateJSON()
	s.mu.Unlock()
	if s.opts.Turn != nil {
		q.Turn = s.opts.Turn()
	}
	if s.opts.User != nil {
		q.User = s.opts.User()
	}
}
