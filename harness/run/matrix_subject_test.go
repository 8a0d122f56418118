// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
)

// speaker is a client of one dialect. It reads replies with code of its own,
// generic JSON and none of the product's decoders, as leniently as the clients
// of that dialect: so what it runs is a second opinion on what was sent.
type speaker struct {
	dialect string
	// byQuery sends Google's key in the query.
	byQuery bool
}

// said is what a speaker makes of a reply.
type said struct {
	text  string
	calls []*saidCall
	ended bool // the reply says that it is over
}

type saidCall struct{ id, name, arguments, index string }

// spoke is one conversation of a speaker.
type spoke struct {
	speaker
	loop    *looper // for its servers
	history []any
}

func (s speaker) Open(ctx context.Context, env *harness.Env) (harness.Session, error) {
	session, err := loop{}.Open(ctx, env)
	if err != nil {
		return nil, err
	}
	return &spoke{speaker: s, loop: session.(*looper)}, nil
}

func (s *spoke) Close() error { return s.loop.Close() }

func (s *spoke) Send(ctx context.Context, text string) (*harness.TurnReport, error) {
	report := &harness.TurnReport{}
	s.history = append(s.history, s.user(text))
	for {
		reply, err := s.ask(ctx, report, strings.Contains(text, "stream"))
		if err != nil {
			return report, err
		}
		if len(reply.calls) == 0 {
			report.Answer = reply.text
			return report, nil
		}
		results := make([]string, len(reply.calls))
		for i, c := range reply.calls {
			taken := slices.ContainsFunc(reply.calls[:i], func(o *saidCall) bool { return o.id == c.id })
			if c.id == "" || taken {
				c.id = fmt.Sprintf("own_%d_%d", len(s.history), i)
			}
			var tc toolCall
			tc.Function.Name, tc.Function.Arguments = c.name, c.arguments
			results[i] = s.loop.execute(i, tc)
			report.Calls = append(report.Calls, harness.ReportedCall{ID: c.id, Tool: c.name, Arguments: c.arguments, Result: results[i]})
		}
		s.tell(reply, results)
	}
}

// ask asks until there is a whole reply, without waiting in between.
func (s *spoke) ask(ctx context.Context, report *harness.TurnReport, stream bool) (*said, error) {
	var err error
	for range 4 {
		report.ModelCalls++
		var reply *said
		if reply, err = s.once(ctx, stream); err == nil {
			return reply, nil
		}
	}
	return nil, err
}

var errBroken = errors.New("no whole reply")

func (s *spoke) once(ctx context.Context, stream bool) (*said, error) {
	req, err := s.request(ctx, stream)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept-Encoding", "identity") // so that nothing is inflated on the way
	res, err := s.loop.client.Do(req)
	if err != nil {
		return nil, &harness.EndpointError{Err: err}
	}
	defer res.Body.Close()
	body, readErr := io.ReadAll(res.Body)
	if bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		if zr, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
			if body, err = io.ReadAll(zr); err != nil {
				return nil, err
			}
		}
	}
	if res.StatusCode != http.StatusOK {
		return nil, &harness.EndpointError{Status: res.StatusCode, Err: fmt.Errorf("HTTP %d: %s", res.StatusCode, body)}
	}
	reply := &said{}
	if err := s.read(reply, bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff")))); err != nil {
		return nil, err
	}
	if !reply.ended {
		return nil, fmt.Errorf("%w: %w", errBroken, readErr)
	}
	for _, c := range reply.calls {
		c.name = strings.TrimSpace(c.name)
	}
	return reply, nil
}

// read takes a body apart: a list, a document, or the events of a stream.
func (s *spoke) read(reply *said, body []byte) error {
	if bytes.HasPrefix(body, []byte("[")) {
		list, err := decoded(body)
		if err != nil {
			return err
		}
		for _, item := range list.([]any) {
			s.take(reply, "", item)
		}
		return nil
	}
	if bytes.HasPrefix(body, []byte("{")) {
		v, err := decoded(body)
		if err != nil {
			return err
		}
		return s.take(reply, "", v)
	}
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(body))
	for _, block := range strings.Split(text, "\n\n") {
		var name string
		var data []string
		for _, line := range strings.Split(block, "\n") {
			field, value, _ := strings.Cut(line, ":")
			switch value = strings.TrimPrefix(value, " "); field {
			case "event":
				name = value
			case "data":
				data = append(data, value)
			}
		}
		switch joined := strings.TrimSpace(strings.Join(data, "\n")); {
		case joined == "[DONE]":
			return nil
		case joined == "", joined[0] == ':':
		default:
			v, err := decoded([]byte(joined))
			if err != nil {
				return nil // an event that was cut off
			}
			if err := s.take(reply, name, v); err != nil {
				return err
			}
		}
	}
	return nil
}

func decoded(b []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("%w: %w", errBroken, err)
	}
	return v, nil
}

// take takes one document.
func (s *spoke) take(reply *said, name string, v any) error {
	o, _ := v.(tree)
	kind := text(o["type"])
	if kind == "" || !strings.ContainsAny(kind, "._") && name != "" {
		kind = name
	}
	if e := o["error"]; e != nil || kind == "error" || kind == "response.failed" {
		return fmt.Errorf("%w: %s", errBroken, encoded(o))
	}
	switch s.dialect {
	case "chat":
		reply.takeChat(o)
	case "responses":
		reply.takeResponse(kind, o)
	case "messages":
		reply.takeMessage(kind, o)
	case "gemini":
		reply.takeGemini(o)
	}
	return nil
}

// text is a text, or what else is there as it is spelled.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case []any:
		var b strings.Builder
		for _, item := range v {
			if o, ok := item.(tree); ok {
				b.WriteString(text(o["text"]))
			} else {
				b.WriteString(text(item))
			}
		}
		return b.String()
	}
	return string(encoded(v))
}

// digits is the number in a value; empty for none.
func digits(v any) string {
	s, _, _ := strings.Cut(strings.TrimSpace(text(v)), ".")
	return s
}

func (r *said) takeChat(o tree) {
	for _, c := range members(o, "choices") {
		if i := digits(c["index"]); i != "" && i != "0" {
			continue
		}
		r.ended = r.ended || text(c["finish_reason"]) != ""
		m, whole := c["message"].(tree)
		if d, ok := c["delta"].(tree); ok {
			m, whole = d, false
		}
		r.text += text(m["content"])
		for _, e := range members(m, "tool_calls") {
			f, _ := e["function"].(tree)
			p := saidCall{text(e["id"]), text(f["name"]), text(f["arguments"]), digits(e["index"])}
			if c := r.same(p); c != nil && !whole {
				c.join(p)
			} else if p.name != "" || p.id != "" {
				r.calls = append(r.calls, &p)
			}
		}
	}
}

// same finds the call that a piece goes on with.
func (r *said) same(p saidCall) *saidCall {
	var found *saidCall
	for _, c := range r.calls {
		if p.index == "" || c.index == p.index {
			found = c
		}
	}
	for _, c := range r.calls {
		if p.index == "" && p.id != "" && c.id == p.id {
			found = c
		}
	}
	if found == nil || p.name == "" {
		return found
	}
	over := json.Valid([]byte(found.arguments)) && p.arguments != ""
	if p.id != "" && found.id != "" && p.id != found.id || over && (p.id == "" || found.id == "") {
		return nil
	}
	return found
}

func (c *saidCall) join(p saidCall) {
	if c.id == "" {
		c.id = p.id
	}
	if p.name != c.name && c.arguments == "" {
		c.name += p.name
	}
	if c.name == "" {
		c.name = p.name
	}
	c.arguments += p.arguments
}

// takeResponse goes by the items that are over and, where there is one, by the
// output at the end, as the clients do.
func (r *said) takeResponse(kind string, o tree) {
	switch {
	case kind == "response.output_item.done":
		item, _ := o["item"].(tree)
		r.takeItem(item)
	case kind == "response.completed", kind == "response.incomplete":
		r.ended = true
		if all := members(o, "response", "output"); len(all) > 0 {
			r.calls, r.text = nil, ""
			for _, item := range all {
				r.takeItem(item)
			}
		}
	case o["output"] != nil:
		r.ended = true
		for _, item := range members(o, "output") {
			r.takeItem(item)
		}
	}
}

func (r *said) takeItem(item tree) {
	switch text(item["type"]) {
	case "message":
		r.text += text(item["content"])
	case "function_call":
		id := text(item["call_id"])
		if id == "" {
			id = text(item["id"])
		}
		r.calls = append(r.calls, &saidCall{id: id, name: text(item["name"]), arguments: text(item["arguments"])})
	}
}

func (r *said) takeMessage(kind string, o tree) {
	switch kind {
	case "content_block_start":
		b, _ := o["content_block"].(tree)
		r.takeBlock(b, digits(o["index"]), true)
	case "content_block_delta":
		d, _ := o["delta"].(tree)
		r.text += text(d["text"])
		part := text(d["partial_json"])
		for i := len(r.calls) - 1; i >= 0 && part != ""; i-- {
			if c := r.calls[i]; c.index == digits(o["index"]) || digits(o["index"]) == "" {
				c.arguments += part
				break
			}
		}
	case "message_delta":
		d, _ := o["delta"].(tree)
		r.ended = r.ended || text(d["stop_reason"]) != ""
	case "message_stop":
		r.ended = true
	default:
		if o["content"] == nil {
			return
		}
		r.ended = true
		if s, ok := o["content"].(string); ok {
			r.text += s
		}
		for _, b := range members(o, "content") {
			r.takeBlock(b, "", false)
		}
	}
}

func (r *said) takeBlock(b tree, index string, begun bool) {
	switch text(b["type"]) {
	case "text":
		r.text += text(b["text"])
	case "tool_use":
		input := text(b["input"])
		if begun && (input == "{}" || input == "") {
			input = ""
		}
		r.calls = append(r.calls, &saidCall{text(b["id"]), text(b["name"]), input, index})
	}
}

func (r *said) takeGemini(o tree) {
	for _, c := range members(o, "candidates") {
		if i := digits(c["index"]); i != "" && i != "0" {
			continue
		}
		for _, key := range []string{"finishReason", "finish_reason"} {
			r.ended = r.ended || text(c[key]) != ""
		}
		for _, p := range members(c, "content", "parts") {
			for _, key := range []string{"functionCall", "function_call"} {
				if f, ok := p[key].(tree); ok {
					r.calls = append(r.calls, &saidCall{id: text(f["id"]), name: text(f["name"]), arguments: text(f["args"])})
				}
			}
			if p["thought"] != true {
				r.text += text(p["text"])
			}
		}
	}
}

func (s *spoke) user(text string) any {
	switch s.dialect {
	case "gemini":
		return tree{"role": "user", "parts": []any{tree{"text": text}}}
	}
	return tree{"role": "user", "content": text}
}

// tell adds a reply and the results of its calls to the history.
func (s *spoke) tell(r *said, results []string) {
	var calls, answers []any
	if r.text != "" {
		switch s.dialect {
		case "responses":
			calls = append(calls, tree{"role": "assistant", "content": r.text})
		case "messages":
			calls = append(calls, tree{"type": "text", "text": r.text})
		case "gemini":
			calls = append(calls, tree{"text": r.text})
		}
	}
	for i, c := range r.calls {
		args, err := decoded([]byte(c.arguments))
		if err != nil {
			args = tree{}
		}
		switch s.dialect {
		case "chat":
			calls = append(calls, tree{"id": c.id, "type": "function", "function": tree{"name": c.name, "arguments": c.arguments}})
			answers = append(answers, tree{"role": "tool", "tool_call_id": c.id, "content": results[i]})
		case "responses":
			calls = append(calls, tree{"type": "function_call", "call_id": c.id, "name": c.name, "arguments": c.arguments})
			answers = append(answers, tree{"type": "function_call_output", "call_id": c.id, "output": results[i]})
		case "messages":
			calls = append(calls, tree{"type": "tool_use", "id": c.id, "name": c.name, "input": args})
			answers = append(answers, tree{"type": "tool_result", "tool_use_id": c.id, "content": results[i]})
		case "gemini":
			calls = append(calls, tree{"functionCall": tree{"id": c.id, "name": c.name, "args": args}})
			answers = append(answers, tree{"functionResponse": tree{"id": c.id, "name": c.name, "response": tree{"output": results[i]}}})
		}
	}
	switch s.dialect {
	case "chat":
		s.history = append(append(s.history, tree{"role": "assistant", "content": r.text, "tool_calls": calls}), answers...)
	case "responses":
		s.history = append(append(s.history, calls...), answers...)
	case "messages":
		s.history = append(s.history, tree{"role": "assistant", "content": calls}, tree{"role": "user", "content": answers})
	case "gemini":
		s.history = append(s.history, tree{"role": "model", "parts": calls}, tree{"role": "user", "parts": answers})
	}
}

// request writes a request as the provider's own client does, with the key
// where that puts it.
func (s *spoke) request(ctx context.Context, stream bool) (*http.Request, error) {
	e := s.loop.env.Endpoint
	root := strings.TrimSuffix(e.BaseURL, "/v1")
	var declared, tools []any
	for _, t := range s.loop.tools {
		f := t.(map[string]any)["function"].(map[string]any)
		declared = append(declared, tree{"name": f["name"], "description": f["description"], "parameters": f["parameters"]})
		switch s.dialect {
		case "responses":
			tools = append(tools, tree{"type": "function", "name": f["name"], "description": f["description"], "parameters": f["parameters"], "strict": false})
		case "messages":
			tools = append(tools, tree{"name": f["name"], "description": f["description"], "input_schema": f["parameters"]})
		}
	}
	header := http.Header{"Content-Type": {"application/json"}, "X-Team": {"a"}}
	address := e.BaseURL
	var body tree
	switch s.dialect {
	case "chat":
		address += "/chat/completions"
		body = tree{"model": e.Model, "messages": s.history, "tools": s.loop.tools, "stream": stream}
		header.Set("Authorization", "Bearer "+e.APIKey)
	case "responses":
		address += "/responses"
		body = tree{"model": e.Model, "input": s.history, "tools": tools, "stream": stream, "store": false}
		header.Set("Authorization", "Bearer "+e.APIKey)
	case "messages":
		address = root + "/v1/messages"
		body = tree{"model": e.Model, "messages": s.history, "tools": tools, "stream": stream, "max_tokens": 100}
		header.Set("X-Api-Key", e.APIKey)
		header.Set("Anthropic-Version", "2023-06-01")
	case "gemini":
		address = root + "/v1beta/models/" + e.Model + ":generateContent?"
		if stream {
			address = root + "/v1beta/models/" + e.Model + ":streamGenerateContent?alt=sse&"
		}
		body = tree{"contents": s.history, "tools": []any{tree{"functionDeclarations": declared}}}
		if s.byQuery {
			address += "key=" + url.QueryEscape(e.APIKey)
		} else {
			header.Set("X-Goog-Api-Key", e.APIKey)
		}
		address = strings.TrimRight(address, "?&")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(encoded(body)))
	if err != nil {
		return nil, err
	}
	req.Header = header
	return req, nil
}
