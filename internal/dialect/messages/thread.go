// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package messages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// ThreadRequest is what a request asks of a thread.
type ThreadRequest struct {
	// Previous is the id of the response that is continued; empty for a thread
	// that begins.
	Previous string
	// Held is what is to be held under the id of the reply, without it.
	Held dialect.Thread
	// Body is the request itself.
	Body []byte
}

// thread reads the thread of a request and puts what it holds before what the
// request brings.
func (a *reader) thread(store *dialect.Store, body []byte) {
	if dialect.Absent(a.o["thread"]) {
		return
	}
	t := a.dict("thread", a.o["thread"])
	if t == nil {
		return
	}
	var unsupported []string
	for _, key := range []string{"cache_control", "context_management", "fallbacks", "thinking"} {
		if raw := a.o[key]; !dialect.Absent(raw) && !(key == "thinking" && dialect.TextOf(dialect.ReadObject(raw)["type"]) == "disabled") {
			unsupported = append(unsupported, key)
		}
	}
	if unsupported != nil {
		a.refuseThread(http.StatusBadRequest, "thread_unsupported_request", unsupported,
			"thread: cannot be combined with %s", strings.Join(unsupported, ", "))
	}
	req := &ThreadRequest{Body: bytes.Clone(body)}
	switch kind := dialect.TextOf(t["type"]); kind {
	case "create":
	case "continue":
		req.Previous = a.required("thread.continue.previous_message_id", t["previous_message_id"])
		a.resume(store, req)
	case "":
		a.fail("thread: Unable to extract tag using discriminator 'type'")
		return
	default:
		a.fail("thread: Input tag '%s' found using 'type' does not match any of the expected tags: 'continue', 'create'", kind)
		return
	}
	req.Held.System, req.Held.Tools = a.o["system"], a.o["tools"]
	_ = json.Unmarshal(a.o["messages"], &req.Held.Messages) // anything that is not a list is refused later
	a.out.Thread = req
}

// resume puts what a thread holds into the request.
func (a *reader) resume(store *dialect.Store, req *ThreadRequest) {
	held, known := store.Thread(req.Previous)
	if !known {
		a.refuseThread(http.StatusNotFound, "thread_not_found", nil,
			"thread: no thread was found for previous_message_id %q", req.Previous)
		return
	}
	if held.Continued != nil && !bytes.Equal(held.Continued, req.Body) {
		a.refuseThread(http.StatusBadRequest, "thread_already_continued", nil,
			"thread: the response %q was continued already; continue from the latest response", req.Previous)
	}
	for _, key := range []string{"system", "tools"} {
		if !dialect.Absent(a.o[key]) {
			a.refuseThread(http.StatusBadRequest, "thread_fingerprint_mismatch", nil,
				"%s: cannot be given when a thread is continued, which keeps the one that it was created with", key)
		}
	}
	var more []json.RawMessage
	if raw := a.o["messages"]; !dialect.Absent(raw) && json.Unmarshal(raw, &more) != nil {
		return // refused later
	}
	a.earlier = len(held.Messages)
	for key, raw := range map[string]json.RawMessage{
		"system": held.System, "tools": held.Tools, "messages": joinArray(slices.Concat(held.Messages, more)),
	} {
		if raw != nil {
			a.o[key] = raw
		}
	}
}

// joinArray is the JSON array of items.
func joinArray(items []json.RawMessage) json.RawMessage {
	parts := make([][]byte, len(items))
	for i, item := range items {
		parts[i] = item
	}
	return slices.Concat([]byte{'['}, bytes.Join(parts, []byte{','}), []byte{']'})
}

// refuseThread refuses with a code that clients go by.
func (a *reader) refuseThread(status int, code string, unsupported []string, format string, args ...any) {
	if a.refusal != nil {
		return
	}
	a.refusal = newRefusal(status, format, args...)
	// Strings always marshal.
	a.refusal.Details, _ = json.Marshal(struct {
		Code        string   `json:"error_code"`
		Unsupported []string `json:"unsupported,omitempty"`
	}{code, unsupported})
}

// instruction reads a message with the role system, which comes after a user
// turn and says what holds from there on: a text, and tools that come or go.
func (a *reader) instruction(path string, o dialect.Object, turns []turn) {
	switch {
	case len(turns) == 0:
		a.fail(`%s: a "system" message cannot be the first one; use the top-level 'system' parameter`, path)
	case turns[len(turns)-1].role != "user":
		a.fail(`%s: a "system" message must come after a "user" message`, path)
	}
	a.onlyKeys(path, o, "role", "content", "clear_at", "output_config")
	if at := o["clear_at"]; !dialect.Absent(at) {
		if s := a.text(path+".clear_at", at); s != "never" && s != "next_user_message" {
			a.fail("%s.clear_at: Input should be 'next_user_message' or 'never'", path)
		}
	}
	a.dict(path+".output_config", o["output_config"])
	raw := o["content"]
	switch {
	case dialect.Absent(raw):
		if dialect.Absent(o["output_config"]) {
			a.fail("%s.content: Field required", path)
		}
	case raw[0] == '"':
		s := dialect.TextOf(raw)
		if strings.TrimSpace(s) == "" {
			a.fail("%s.content: text content blocks must contain non-whitespace text", path)
		}
		a.req.Messages = append(a.req.Messages, harness.Message{Role: harness.RoleSystem, Text: s})
	default:
		var texts []string
		for i, raw := range a.list(path+".content", raw) {
			at := fmt.Sprintf("%s.content.%d", path, i)
			b := a.dict(at, raw)
			a.cacheMark(at, b)
			switch kind := dialect.TextOf(b["type"]); kind {
			case "text":
				texts = append(texts, a.required(at+".text.text", b["text"]))
			case "tool_addition", "tool_removal":
				a.changeTool(at+"."+kind, kind == "tool_addition", a.dict(at+"."+kind+".tool", b["tool"]))
			default:
				a.fail("%s: Input tag '%s' found using 'type' does not match any of the expected tags: 'text', 'tool_addition', 'tool_removal'", at, kind)
			}
		}
		if texts != nil {
			a.req.Messages = append(a.req.Messages, harness.Message{Role: harness.RoleSystem, Text: strings.Join(texts, "\n")})
		}
	}
}

// changeTool takes a tool into the offer, or out of it.
func (a *reader) changeTool(path string, add bool, o dialect.Object) {
	name := dialect.TextOf(o["name"])
	has := func(t harness.Tool) bool { return t.Name == name }
	switch kind := dialect.TextOf(o["type"]); {
	case kind == "tool_definition" && add:
		t := a.tool(path+".tool.definition", a.dict(path+".tool.definition", o["definition"]))
		name = t.Name
		a.req.Tools = append(slices.DeleteFunc(slices.Clone(a.req.Tools), has), t)
		a.defined = append(a.defined, t)
	case kind == "tool_reference":
		known := slices.IndexFunc(a.defined, has)
		if known < 0 {
			a.fail("%s: Tool '%s' not found in provided tools", path, name)
			return
		}
		a.req.Tools = slices.DeleteFunc(slices.Clone(a.req.Tools), has)
		if add {
			a.req.Tools = append(a.req.Tools, a.defined[known])
		}
	case kind == "":
		a.fail("%s.tool: Unable to extract tag using discriminator 'type'", path)
	}
}

// onlyKeys notes other members, which the provider itself refuses.
func (a *reader) onlyKeys(path string, o dialect.Object, known ...string) {
	if path != "" {
		path += "."
	}
	for _, key := range dialect.SortedKeys(o) {
		if a.extra == nil && !slices.Contains(known, key) {
			a.extra = newRefusal(http.StatusBadRequest, "%s%s: Extra inputs are not permitted", path, key)
		}
	}
}
