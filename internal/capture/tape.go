// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package capture

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/cassettes/mcptape"
	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/exactjson"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// Heard is what was heard of a server.
type Heard struct {
	Name         string
	Instructions string
	// Tools are the tools as they were listed, JSON objects.
	Tools []json.RawMessage
	Calls []*HeardCall
	// Others are the methods of other requests, which a scenario does not have.
	Others []string
}

// HeardCall is a call that a server answered.
type HeardCall struct {
	Tool   string
	Args   json.RawMessage
	Answer mcpwire.Message
	Number int // of the calls of the server, from 1

	taken bool // by a call of the model
}

// Hear reads the tapes of a server, which a client may have started several
// times.
func Hear(name string, tapes []*mcptape.Recording) *Heard {
	h := &Heard{Name: name}
	for _, t := range tapes {
		asked := map[string]mcpwire.Message{}
		for i := range t.Frames {
			f := &t.Frames[i]
			if f.Dir != mcptape.In && f.Dir != mcptape.Out {
				continue
			}
			for _, m := range mcpwire.Messages(f.Frame) {
				id := fmt.Sprint(f.Session, " ", m.Key())
				switch {
				case f.Dir == mcptape.In && m.IsRequest():
					asked[id] = m
				case f.Dir == mcptape.Out && m.IsResponse():
					if q, ok := asked[id]; ok {
						delete(asked, id)
						h.answered(q, m)
					}
				}
			}
		}
	}
	return h
}

// answered takes a request with its answer.
func (h *Heard) answered(q, m mcpwire.Message) {
	var params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Cursor    string          `json:"cursor"`
	}
	_ = exactjson.Unmarshal(q.Params, &params) // there may be none
	var result struct {
		Instructions string            `json:"instructions"`
		Tools        []json.RawMessage `json:"tools"`
	}
	_ = exactjson.Unmarshal(m.Result, &result) // nor one of these
	switch q.Method {
	case "initialize", "server/discover":
		if result.Instructions != "" {
			h.Instructions = result.Instructions
		}
	case "tools/list":
		if params.Cursor == "" && m.Error == nil {
			h.Tools = nil // anew
		}
		h.Tools = append(h.Tools, result.Tools...)
	case "tools/call":
		if len(params.Arguments) == 0 {
			params.Arguments = json.RawMessage("{}")
		}
		h.Calls = append(h.Calls, &HeardCall{Tool: params.Name, Args: params.Arguments, Answer: m, Number: len(h.Calls) + 1})
	case "ping", "logging/setLevel", "notifications/initialized":
	default:
		if m.Error == nil && !slices.Contains(h.Others, q.Method) {
			h.Others = append(h.Others, q.Method)
		}
	}
}

// listed are the tools as a client offers them.
func (h *Heard) listed() []harness.Tool {
	var out []harness.Tool
	for _, raw := range h.Tools {
		t := readTool(raw)
		out = append(out, harness.Tool{Name: t.Name, Description: t.Description, Schema: t.Input})
	}
	return out
}

// heardTool is a tool as a server lists it.
type heardTool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"inputSchema"`
	Output      json.RawMessage `json:"outputSchema"`
	Annotations json.RawMessage `json:"annotations"`
}

func readTool(raw json.RawMessage) heardTool {
	var t heardTool
	_ = exactjson.Unmarshal(raw, &t) // what is not there is empty
	return t
}

// server is the mock of a server: its tools as they were listed, each with the
// results that were seen. Long texts become files of their own, which keep takes
// with what their names are to be made of.
func (h *Heard) server(keep func(name, text string) string) (*Server, error) {
	s := &Server{Server: h.Name, Instructions: h.Instructions}
	for _, raw := range h.Tools {
		t := readTool(raw)
		tool := &Tool{Name: t.Name, Title: t.Title, Description: t.Description}
		for _, part := range []struct {
			raw  json.RawMessage
			into *any
		}{{t.Input, &tool.Input}, {t.Output, &tool.Output}, {t.Annotations, &tool.Annotations}, {others(raw), &tool.Extra}} {
			if len(part.raw) == 0 || string(part.raw) == "null" {
				continue
			}
			n, err := Decoded(string(part.raw))
			if err != nil {
				return nil, fmt.Errorf("tool %q of server %q: %w", t.Name, h.Name, err)
			}
			*part.into = n
		}
		if err := h.results(s, tool, keep); err != nil {
			return nil, fmt.Errorf("tool %q of server %q: %w", t.Name, h.Name, err)
		}
		s.Tools = append(s.Tools, tool)
	}
	return s, nil
}

// others are the members of a listed tool that have no key of their own.
func others(raw json.RawMessage) json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	for _, name := range []string{"name", "title", "description", "inputSchema", "outputSchema", "annotations"} {
		delete(all, name)
	}
	if len(all) == 0 {
		return nil
	}
	out, err := json.Marshal(all)
	if err != nil {
		return nil
	}
	return out
}

// unseen is what a tool answers that nobody has called.
const unseen = "this call was not captured"

// results are those of a tool. Equal calls that were answered differently are
// counted by the state of the server.
func (h *Heard) results(s *Server, tool *Tool, keep func(name, text string) string) error {
	var groups [][]*HeardCall // by arguments, in the order of the first call
	for _, c := range h.Calls {
		if c.Tool != tool.Name || !mcpwire.IsObject(c.Args) { // a mock refuses other arguments by itself
			continue
		}
		i := slices.IndexFunc(groups, func(g []*HeardCall) bool { return equal(g[0].Args, c.Args) })
		if i < 0 {
			i = len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], c)
	}
	if len(groups) == 0 {
		text := unseen
		tool.Results = []*Result{{Error: &text}}
		return nil
	}
	for n, group := range groups {
		args, err := Decoded(string(group[0].Args))
		if err != nil {
			return err
		}
		counter := tool.Name
		if n > 0 {
			counter = fmt.Sprintf("%s_%d", tool.Name, n+1)
		}
		varied := slices.ContainsFunc(group, func(c *HeardCall) bool { return !sameAnswer(c.Answer, group[0].Answer) })
		for k, c := range group {
			r, err := resultOf(c.Answer, func(text string) string { return keep(fmt.Sprintf("%s-%d", tool.Name, c.Number), text) })
			if err != nil {
				return err
			}
			r.From = fmt.Sprintf("call %d of this server", c.Number)
			loosen(args)
			if r.Args = args; !plain(string(c.Args)) || slices.ContainsFunc(groups, func(o []*HeardCall) bool { return wider(c.Args, o[0].Args) }) {
				r.Args = literally(args)
			}
			if varied {
				if s.State == nil {
					s.State = map[string]int{}
				}
				s.State[counter] = 0
				if k < len(group)-1 {
					r.When = fmt.Sprintf("state[%q] == %d", counter, k)
					r.Set = map[string]int{counter: k + 1}
				}
			}
			tool.Results = append(tool.Results, r)
			if !varied {
				break
			}
		}
	}
	return nil
}

// wider reports whether arguments that are only looked at by their names would
// fit another call too.
func wider(args, other json.RawMessage) bool {
	var a, b map[string]json.RawMessage
	if json.Unmarshal(args, &a) != nil || json.Unmarshal(other, &b) != nil || len(a) >= len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || !equal(v, w) {
			return false
		}
	}
	return true
}

func sameAnswer(a, b mcpwire.Message) bool {
	if a.Error != nil || b.Error != nil {
		return a.Error != nil && b.Error != nil && a.Error.Code == b.Error.Code && a.Error.Message == b.Error.Message
	}
	return equal(a.Result, b.Result)
}

// longText is the longest text that stands in the file of its server.
const longText = 4 << 10

// resultOf is an answer as a mock gives it.
func resultOf(m mcpwire.Message, keep func(text string) string) (*Result, error) {
	if e := m.Error; e != nil {
		r := &Result{RPCError: &RPCError{Code: e.Code, Message: Literal(e.Message)}}
		if len(e.Data) > 0 {
			data, err := given(e.Data)
			if err != nil {
				return nil, err
			}
			r.RPCError.Data = data
		}
		return r, nil
	}
	res, err := mcpwire.ParseResult(m.Result)
	if err != nil {
		return nil, err
	}
	r := new(Result)
	if res.Structured != nil {
		if r.Structured, err = given(res.Structured); err != nil {
			return nil, err
		}
	}
	var more struct {
		Meta json.RawMessage `json:"_meta"`
	}
	if _ = exactjson.Unmarshal(m.Result, &more); len(more.Meta) > 2 {
		if r.Meta, err = given(more.Meta); err != nil {
			return nil, err
		}
	}
	text, only := onlyText(res.Content)
	switch {
	case only && res.IsError:
		text = Literal(text)
		r.Error = &text
	case only && len(text) > longText && r.Structured == nil:
		r.File = keep(text)
	case only:
		text = Literal(text)
		r.Text = &text
	default:
		r.IsError = res.IsError
		content := []any{}
		for _, block := range res.Content {
			v, err := given(block)
			if err != nil {
				return nil, err
			}
			content = append(content, v)
		}
		r.Content = content
	}
	return r, nil
}

// given is JSON where a mock may compute something.
func given(raw json.RawMessage) (any, error) {
	n, err := Decoded(string(raw))
	if err != nil || plain(string(raw)) {
		return n, err
	}
	return literally(n), nil
}

// onlyText is the text of a result that is one text and nothing else.
func onlyText(content []json.RawMessage) (string, bool) {
	if len(content) != 1 {
		return "", false
	}
	var block map[string]any
	if json.Unmarshal(content[0], &block) != nil || len(block) != 2 || block["type"] != "text" {
		return "", false
	}
	text, ok := block["text"].(string)
	return text, ok && !strings.ContainsAny(text, "\x00")
}
