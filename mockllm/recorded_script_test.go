// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

// told is what a gateway said.
type told struct {
	text   string
	pieces int
	said   []string
	calls  []toldCall
	finish string
}

type toldCall struct{ name, args string }

// script is what a mock is told, so that it does as the recorded gateway did.
func (c *recordedCase) script(t *testing.T, profile string) mockllm.Script {
	t.Helper()
	s := mockllm.Script{Profile: profile, Arrival: true}
	if len(c.gateway) == 0 {
		s.Replies = []mockllm.Reply{{Say: "nobody asks"}}
		return s
	}
	a := c.gateway[len(c.gateway)-1]
	reply := mockllm.Reply{Say: "The molecular mass of glucose is 180.16 g/mol, and that is that."}
	f, ok := c.fault(a)
	switch {
	case ok && f.Kind != fault.MissingDone:
		reply.Fragments = &mockllm.Fragments{Unit: mockllm.UnitWhole}
		if w := a.told(); a.stream() && len(w.said) > 0 && (a.aborted || f.Kind == fault.InStreamError) {
			text, at := w.cuts()
			reply.Say, reply.Fragments = text, &mockllm.Fragments{Unit: mockllm.UnitRune, Cuts: at}
			if !c.want.chunked && f.Kind == fault.InStreamError {
				f.At = fault.At{Chunk: 1 + len(w.said)}
			}
		} else if f.Kind == fault.InStreamError {
			f.At = fault.At{Chunk: 1}
		}
		reply.Faults = []mockllm.Fault{f}
	default:
		w := a.told()
		reply = mockllm.Reply{Say: w.text, Finish: w.finish}
		if ok {
			reply.Faults = []mockllm.Fault{f}
		}
		for _, call := range w.calls {
			reply.Calls = append(reply.Calls, mockllm.Call{Tool: call.name, Args: json.RawMessage(call.args)})
		}
		if strings.Contains(c.body, `"json_object"`) {
			reply.Say = `{"mass": "180.16 g/mol"}` // as it was asked for, and the stand-in did not care
		}
		switch {
		case w.pieces == 1:
			reply.Fragments = &mockllm.Fragments{Unit: mockllm.UnitWhole}
		case a.stream() && len(w.said) > 1:
			n, at := 0, []int(nil)
			for _, p := range w.said {
				n += len([]rune(p))
				at = append(at, n)
			}
			reply.Fragments = &mockllm.Fragments{Unit: mockllm.UnitRune, Cuts: at}
		}
	}
	s.Replies = []mockllm.Reply{reply}
	if strings.HasPrefix(c.path, "/v1/embe") { // which no reply stands for
		s.Faults = reply.Faults
	}
	return s
}

// told reads what a gateway said in any of its dialects.
func (a gatewayAnswer) told() *told {
	w := &told{}
	if a.response == nil {
		return w
	}
	body := string(a.body)
	switch {
	case strings.HasPrefix(a.header["content-type"], "text/event-stream"):
		for event := range strings.SplitSeq(body, "\n\n") {
			if _, data, ok := strings.Cut("\n"+event, "\ndata: "); ok && json.Valid([]byte(data)) {
				w.event([]byte(data))
			}
		}
		for i := range w.calls {
			if w.calls[i].args == "" {
				w.calls[i].args = "{}"
			}
		}
	case strings.HasPrefix(strings.TrimSpace(body), "{"):
		w.object([]byte(body))
	default:
		w.text, w.pieces, w.said = body, len(a.chunks), a.chunks
	}
	return w
}

var finishes = map[string]string{"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length", "stop_sequence": "stop", "refusal": "content_filter"}

func (w *told) event(data []byte) {
	var e struct {
		Choices []struct {
			Finish string `json:"finish_reason"`
			Delta  struct {
				Content string
				Calls   []struct {
					ID       string
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
		}
		Block struct{ Type, Name string } `json:"content_block"`
		Delta struct {
			Text   string
			JSON   string `json:"partial_json"`
			Reason string `json:"stop_reason"`
		}
	}
	_ = json.Unmarshal(data, &e) // what is otherwise says nothing
	say := func(text string) {
		if text != "" {
			w.text, w.pieces, w.said = w.text+text, w.pieces+1, append(w.said, text)
		}
	}
	for _, ch := range e.Choices {
		say(ch.Delta.Content)
		for _, call := range ch.Delta.Calls {
			if call.ID != "" {
				w.calls = append(w.calls, toldCall{name: call.Function.Name})
			}
			if n := len(w.calls); n > 0 {
				w.calls[n-1].args += call.Function.Arguments
			}
		}
		if ch.Finish != "" {
			w.finish = ch.Finish
		}
	}
	if e.Block.Type == "tool_use" {
		w.calls = append(w.calls, toldCall{name: e.Block.Name})
	}
	say(e.Delta.Text)
	if n := len(w.calls); n > 0 {
		w.calls[n-1].args += e.Delta.JSON
	}
	if e.Delta.Reason != "" {
		w.finish = finishes[e.Delta.Reason]
	}
}

func (w *told) object(data []byte) {
	type call struct {
		Type     string
		Name     string
		Input    json.RawMessage
		Args     json.RawMessage
		Text     string
		Function struct{ Name, Arguments string }
	}
	var o struct {
		Choices []struct {
			Finish  string `json:"finish_reason"`
			Message struct {
				Content string
				Calls   []call `json:"tool_calls"`
			}
		}
		Content  []call
		Reason   string `json:"stop_reason"`
		Response json.RawMessage
	}
	_ = json.Unmarshal(data, &o)
	add := func(list []call) {
		for _, c := range list {
			switch {
			case c.Function.Name != "":
				w.calls = append(w.calls, toldCall{c.Function.Name, c.Function.Arguments})
			case c.Name != "" && c.Input != nil:
				w.calls = append(w.calls, toldCall{c.Name, string(c.Input)})
			case c.Name != "":
				w.calls = append(w.calls, toldCall{c.Name, string(c.Args)})
			default:
				w.text += c.Text
			}
		}
	}
	for _, ch := range o.Choices {
		w.text, w.finish = ch.Message.Content, ch.Finish
		add(ch.Message.Calls)
	}
	add(o.Content)
	if o.Reason != "" {
		w.finish = finishes[o.Reason]
	}
	if len(o.Response) > 0 && json.Unmarshal(o.Response, &w.text) != nil {
		var r struct {
			Content string
			Calls   json.RawMessage `json:"tool_calls"`
		}
		_ = json.Unmarshal(o.Response, &r)
		w.text = r.Content
		var list []call
		if json.Unmarshal(r.Calls, &list) == nil {
			add(list)
		} else {
			var one call
			_ = json.Unmarshal(r.Calls, &one)
			add([]call{one})
		}
	}
	w.pieces = 2
}

// fault is what went wrong at the gateway, if anything did.
func (c *recordedCase) fault(a gatewayAnswer) (mockllm.Fault, bool) {
	if a.response == nil {
		return mockllm.Fault{Kind: fault.Reset, Form: "before"}, true
	}
	body, typ := string(a.body), a.header["content-type"]
	status, _ := strconv.Atoi(strings.Fields(a.status)[1])
	switch {
	case a.reset:
		return mockllm.Fault{Kind: fault.Reset, Form: "during"}, true
	case a.aborted:
		return mockllm.Fault{Kind: fault.Cut}, true
	case status == http.StatusOK && a.stream():
		for event := range strings.SplitSeq(body, "\n\n") {
			_, data, _ := strings.Cut("\n"+event, "\ndata: ")
			var e struct {
				Type  string
				Error json.RawMessage
			}
			switch {
			case json.Unmarshal([]byte(data), &e) != nil || e.Error == nil:
			case e.Type == "error":
				return mockllm.Fault{Kind: fault.InStreamError, Form: "anthropic", Body: string(e.Error)}, true
			default:
				return mockllm.Fault{Kind: fault.InStreamError, Form: "object", Body: string(e.Error)}, true
			}
		}
		if isDialect(body, "chat.completion.chunk") && !strings.Contains(body, "data: [DONE]") || strings.Contains(body, "event: message_start") && !strings.Contains(body, "event: message_stop") {
			return mockllm.Fault{Kind: fault.MissingDone}, true
		}
	case strings.HasPrefix(typ, "text/html"):
		return mockllm.Fault{Kind: fault.HTMLPage, Status: status, Body: body}, true
	case status != http.StatusOK || a.wrong():
		return mockllm.Fault{Kind: fault.HTTPStatus, Status: status, Body: body}, true
	}
	return mockllm.Fault{}, false
}

// stream reports whether the gateway streamed: events, or plain text.
func (a gatewayAnswer) stream() bool {
	return a.response != nil && a.chunked
}

// wrong reports whether a body is no reply of any dialect of the gateway's.
func (a gatewayAnswer) wrong() bool {
	var o struct {
		Object    string
		Type      string
		Choices   []struct{ Message *json.RawMessage }
		Embedding []json.RawMessage
		Data      []json.RawMessage
		Response  json.RawMessage
	}
	if a.stream() {
		return false
	}
	if json.Unmarshal(a.body, &o) != nil {
		return true
	}
	var old struct {
		Calls json.RawMessage `json:"tool_calls"`
	}
	_ = json.Unmarshal(o.Response, &old) // a text has no calls
	switch {
	case strings.HasPrefix(string(old.Calls), "{"): // one call that is in no list
		return true
	case len(o.Choices) > 0:
		return o.Choices[0].Message == nil
	}
	return o.Type != "message" && o.Embedding == nil && o.Data == nil && (o.Response == nil || string(o.Response) == "null")
}

// isDialect reports whether a stream has objects of a kind.
func isDialect(body, object string) bool {
	return strings.Contains(body, `"object": "`+object+`"`) || strings.Contains(body, `"object":"`+object+`"`)
}

// cuts has a text cut so that the middle of it comes after as many pieces as
// the gateway sent before it broke off.
func (w *told) cuts() (text string, at []int) {
	n := 0
	for _, p := range w.said {
		n += len([]rune(p))
		at = append(at, n)
	}
	for range w.said[1:] {
		n++
		at = append(at, n)
	}
	return w.text + strings.Repeat(".", len(w.said)), at
}
