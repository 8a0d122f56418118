// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package shape compares answers by their shape: which keys they have and of
// which types, how a stream is framed and in what order its events come, how a
// reply ends and how it calls tools. Texts, ids and numbers may differ. It is
// how a recording is held against the endpoint that it was made from.
//
//	for _, d := range shape.Diff(shape.Of(recorded), shape.Of(now)) {
//		fmt.Println(d) // breaking: body.choices[].message.content: was a string, is absent
//	}
package shape

import (
	"bytes"
	"fmt"
	"mime"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/sse"
	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// Shape is what of an answer a client depends on.
type Shape struct {
	code    int
	kind    string            // media type
	body    map[string]types  // by path, of JSON
	events  []string          // of a stream: what comes, runs of the same as one
	details map[string]types  // of a stream: paths into its events
	habits  map[string]string // how it ends and calls tools
}

// types are the JSON types seen at a path.
type types map[string]bool

func (t types) String() string {
	names := make([]string, 0, len(t))
	for n := range t {
		names = append(names, n)
	}
	slices.Sort(names)
	return strings.Join(names, " or ")
}

// Of returns the shape of the answer of an interaction.
func Of(i *vcr.Interaction) *Shape {
	s := &Shape{code: i.Response.Code, body: map[string]types{}, details: map[string]types{}, habits: map[string]string{}}
	s.kind, _, _ = mime.ParseMediaType(i.Response.Header.Get("Content-Type"))
	body := bytes.TrimSpace(i.Response.Body)
	if begins, _ := sse.Begins(body); begins || s.kind == "text/event-stream" {
		s.stream(i.Response.Body)
		return s
	}
	if v, err := value.Parse(body); err == nil {
		collect(s.body, "body", v)
		s.habitsOf(v)
	} else if len(body) > 0 {
		s.body["body"] = types{"text": true}
	}
	return s
}

// collect notes the types of a value and of all within; items of a list count
// as one.
func collect(into map[string]types, name string, v value.Value) {
	value.Walk(v, func(at value.Path, v value.Value) bool {
		path := name
		for _, step := range at {
			if key, ok := step.(string); ok {
				path += "." + key
			} else {
				path += "[]"
			}
		}
		// Arguments of calls and results of tools are the model's business.
		business := slices.Contains([]string{"arguments", "input", "args"}, at.Key())
		if into[path] == nil || business {
			into[path] = types{}
		}
		into[path][v.Kind().String()] = true
		return !business
	})
}

// stream reads server-sent events.
func (s *Shape) stream(body []byte) {
	p := sse.Parser{Max: len(body), All: true, Each: s.streamed}
	p.Add(body)
	p.End()
}

// streamed notes an event of a stream.
func (s *Shape) streamed(ev sse.Event) {
	switch {
	case ev.Stray:
	case ev.Bare && ev.Comment:
		s.event("a comment")
	case ev.Bare:
	case string(ev.Data) == "[DONE]":
		s.event("[DONE]")
	default:
		v, err := value.Parse(ev.Data)
		if err != nil {
			s.event("text")
			return
		}
		s.event(eventName(ev.Name, v))
		collect(s.details, "event", v)
		s.habitsOf(v)
	}
}

// event notes that something comes; runs of the same count once, since models
// say more or less.
func (s *Shape) event(what string) {
	if n := len(s.events); n == 0 || s.events[n-1] != what {
		s.events = append(s.events, what)
	}
}

// eventName tells the events of a stream apart by what they bring.
func eventName(name string, v value.Value) string {
	if name != "" {
		return name
	}
	if kind, ok := v.Get("type"); ok && kind.Kind() == value.String {
		return kind.Str()
	}
	var brings []string
	for _, c := range list(v, "choices") {
		if d, ok := c.Get("delta"); ok {
			for _, m := range d.Members() {
				if !m.Value.IsNull() && (m.Value.Kind() != value.String || m.Value.Str() != "") {
					brings = append(brings, m.Key)
				}
			}
		}
		if f, ok := c.Get("finish_reason"); ok && !f.IsNull() {
			brings = append(brings, "finish_reason")
		}
	}
	if u, ok := v.Get("usage"); ok && !u.IsNull() {
		brings = append(brings, "usage")
	}
	if e, ok := v.Get("error"); ok && !e.IsNull() {
		brings = append(brings, "error")
	}
	if len(brings) == 0 {
		return "an empty event"
	}
	return strings.Join(brings, "+")
}

func list(v value.Value, key string) []value.Value {
	if l, ok := v.Get(key); ok && l.Kind() == value.Array {
		return l.Items()
	}
	return nil
}

// habitsOf notes how a reply ends and how it calls tools.
func (s *Shape) habitsOf(v value.Value) {
	for _, c := range list(v, "choices") {
		if f, ok := c.Get("finish_reason"); ok && f.Kind() == value.String {
			s.habits["finish_reason"] = f.Str()
		}
		for _, key := range []string{"message", "delta"} {
			m, _ := c.Get(key)
			for _, call := range list(m, "tool_calls") {
				s.callForm(call)
			}
		}
	}
	for _, key := range []string{"stop_reason", "status"} {
		if f, ok := v.Get(key); ok && f.Kind() == value.String {
			s.habits[key] = f.Str()
		}
	}
	if d, ok := v.Get("delta"); ok {
		if f, ok := d.Get("stop_reason"); ok && f.Kind() == value.String {
			s.habits["stop_reason"] = f.Str()
		}
	}
	for _, c := range list(v, "candidates") {
		if f, ok := c.Get("finishReason"); ok && f.Kind() == value.String {
			s.habits["finishReason"] = f.Str()
		}
	}
}

// callForm notes the form of a tool call: the beginning of its id tells who
// made it, and some endpoints send all arguments at once.
func (s *Shape) callForm(call value.Value) {
	if id, ok := call.Get("id"); ok && id.Kind() == value.String && id.Str() != "" {
		prefix := id.Str()
		if n := strings.LastIndexAny(prefix[:min(len(prefix), 16)], "_-"); n > 0 {
			prefix = prefix[:n+1]
		} else {
			prefix = fmt.Sprintf("%d characters", len(prefix))
		}
		s.habits["tool call id"] = prefix
	}
	if _, ok := call.Get("index"); ok {
		s.habits["tool call index"] = "present"
	}
}
