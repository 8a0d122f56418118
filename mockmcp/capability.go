// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"encoding/json"
	"slices"
)

// offers reports which kinds a script ever offers beside tools.
func (s *Server) offers() (resources, prompts, completions bool) {
	sc := &s.script
	resources, prompts = len(sc.Resources)+len(sc.Templates) > 0, len(sc.Prompts) > 0
	for _, ch := range sc.Changes {
		resources = resources || len(ch.AddResources)+len(ch.Updated) > 0 || slices.Contains(ch.Tell, "resources")
		prompts = prompts || len(ch.AddPrompts) > 0 || slices.Contains(ch.Tell, "prompts")
	}
	return resources, prompts, len(sc.Completions) > 0
}

// announces are the notifications that the server sends; URIs is not nil when
// clients can subscribe to resources.
func (s *Server) announces() filter {
	changed := s.script.Protocol.ListChanged || len(s.script.Changes) > 0
	resources, prompts, _ := s.offers()
	f := filter{Tools: changed, Prompts: prompts && changed, Resources: resources && changed}
	if resources {
		f.URIs = []string{}
	}
	return f
}

// capabilities are what the server says it can do, as the protocol has it.
type capabilities struct {
	Logging     *struct{}  `json:"logging,omitempty"`
	Prompts     *announced `json:"prompts,omitempty"`
	Resources   *announced `json:"resources,omitempty"`
	Tools       *announced `json:"tools"`
	Completions *struct{}  `json:"completions,omitempty"`
}

type announced struct {
	Subscribe   bool `json:"subscribe,omitempty"`
	ListChanged bool `json:"listChanged,omitempty"`
}

func (s *Server) capabilities() capabilities {
	f := s.announces()
	resources, prompts, completions := s.offers()
	c := capabilities{Tools: &announced{ListChanged: f.Tools}}
	if s.logs() {
		c.Logging = &struct{}{}
	}
	if resources {
		c.Resources = &announced{Subscribe: true, ListChanged: f.Resources}
	}
	if prompts {
		c.Prompts = &announced{ListChanged: f.Prompts}
	}
	if completions {
		c.Completions = &struct{}{}
	}
	return c
}

// logs reports whether the script may ever send a log message.
func (s *Server) logs() bool {
	return s.may(func(st Step) bool { _, ok := st.(Log); return ok })
}

// outlasts reports whether the work on a request may ever go on when its
// answer over HTTP has ended.
func (s *Server) outlasts() bool {
	struck := slices.ContainsFunc(s.script.Tools, func(t Tool) bool {
		return slices.ContainsFunc(t.Results, func(r Result) bool { return len(r.Faults) > 0 })
	})
	return struck || len(s.script.Faults) > 0 || s.script.Protocol.Retry > 0 || s.may(func(st Step) bool { _, ok := st.(CloseStream); return ok })
}

// may reports whether the script has a step that is so, or may compute one.
func (s *Server) may(is func(Step) bool) bool {
	sc := &s.script
	tools, resources, prompts := slices.Clone(sc.Tools), slices.Clone(sc.Resources), slices.Clone(sc.Prompts)
	for _, ch := range sc.Changes {
		tools, resources, prompts = append(tools, ch.AddTools...), append(resources, ch.AddResources...), append(prompts, ch.AddPrompts...)
	}
	has := func(steps []Step) bool { return slices.ContainsFunc(steps, is) }
	return slices.ContainsFunc(tools, func(t Tool) bool {
		return slices.ContainsFunc(t.Results, func(r Result) bool { return r.Plan != nil || has(r.Before) })
	}) ||
		slices.ContainsFunc(resources, func(r Resource) bool { return has(r.Before) }) ||
		slices.ContainsFunc(sc.Templates, func(t ResourceTemplate) bool { return has(t.Before) }) ||
		slices.ContainsFunc(prompts, func(p Prompt) bool { return has(p.Before) })
}

// capability is the client's capability that a request takes.
func capability(m QuestionMethod) string {
	switch m {
	case Sampling:
		return "sampling"
	case Elicitation:
		return "elicitation"
	}
	return "roots"
}

// missing returns what a client lacks that is to be asked, in the form of
// capabilities; nil when it lacks nothing.
func missing(q Question, caps json.RawMessage) map[string]any {
	var all map[string]map[string]json.RawMessage
	_ = json.Unmarshal(caps, &all) // what is odd in it is not supported
	name := capability(q.Method)
	has, ok := all[name]
	if !ok {
		return map[string]any{name: struct{}{}}
	}
	var p struct {
		Mode  string          `json:"mode"`
		Tools json.RawMessage `json:"tools"`
	}
	_ = json.Unmarshal(q.Params, &p)
	sub := ""
	switch {
	case q.Method == Sampling && len(p.Tools) > 0:
		sub = "tools"
	case q.Method == Elicitation && p.Mode == "url":
		sub = "url"
	case q.Method == Elicitation && len(has) > 0: // {} is form alone
		sub = "form"
	}
	if _, ok := has[sub]; sub == "" || ok {
		return nil
	}
	return map[string]any{name: map[string]any{sub: struct{}{}}}
}
