// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package messages

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// turn is one message as it came, while its order is checked.
type turn struct {
	role    string
	place   int      // among the messages of the request
	kinds   []string // of the blocks
	uses    []string // ids of tool_use
	results []string // ids of tool_result, with their places
	places  []int
	leading int // results before the first other block
	text    string
}

// messages reads the conversation.
func (a *reader) messages() {
	raw, ok := a.o["messages"]
	if !ok {
		a.fail("messages: Field required")
		return
	}
	list := a.list("messages", raw)
	if len(list) == 0 {
		a.fail("messages: at least one message is required")
	}
	var turns []turn
	for i, raw := range list {
		path := fmt.Sprintf("messages.%d", max(i-a.earlier, 0))
		if len(raw) == 0 || raw[0] != '{' {
			a.fail("%s: Input should be a valid dictionary", path)
			continue
		}
		o := dialect.ReadObject(raw)
		if dialect.TextOf(o["role"]) == string(harness.RoleSystem) {
			a.instruction(path, o, turns)
			list[i] = nil
			continue
		}
		t := a.message(path, o, i == len(list)-1)
		t.place = max(i-a.earlier, 0)
		turns = append(turns, t)
	}
	list = slices.DeleteFunc(list, func(raw json.RawMessage) bool { return raw == nil })
	if len(turns) == 0 || len(turns) < len(list) {
		return
	}
	a.order(turns)
	last := turns[len(turns)-1]
	a.out.Continues = len(last.results) > 0
	if last.role == "assistant" && last.text != strings.TrimRight(last.text, " \t\r\n") {
		a.fail("messages: final assistant content cannot end with trailing whitespace")
	}
	if a.out.Thinking == "enabled" {
		a.thoughtFirst(turns)
	}
}

// message reads one message and adds what it says to the request.
func (a *reader) message(path string, o dialect.Object, last bool) turn {
	for _, key := range []string{"name", "tool_calls", "tool_call_id", "function_call", "parts"} {
		if _, ok := o[key]; ok {
			a.fail("%s.%s: Extra inputs are not permitted", path, key)
		}
	}
	a.onlyKeys(path, o, "role", "content")
	t := turn{role: a.role(path, o["role"])}
	raw, ok := o["content"]
	switch {
	case !ok:
		a.fail("%s.content: Field required", path)
		return t
	case raw[0] == '"':
		t.text = dialect.TextOf(raw)
		t.kinds = []string{"text"}
		switch {
		case t.text == "" && !(last && t.role == "assistant"):
			a.fail("%s: all messages must have non-empty content except for the optional final assistant message", path)
		case t.text != "" && strings.TrimSpace(t.text) == "":
			a.fail("messages: text content blocks must contain non-whitespace text")
		}
		a.req.Messages = append(a.req.Messages, harness.Message{Role: harness.Role(t.role), Text: t.text})
		return t
	case raw[0] != '[':
		a.fail("%s.content: Input should be a valid list", path)
		return t
	}
	blocks := a.list(path+".content", raw)
	if len(blocks) == 0 && !(last && t.role == "assistant") {
		a.fail("%s: all messages must have non-empty content except for the optional final assistant message", path)
	}
	m := harness.Message{Role: harness.Role(t.role)}
	var texts []string
	for i, raw := range blocks {
		at := fmt.Sprintf("%s.content.%d", path, i)
		b := dialect.ReadObject(raw)
		if len(raw) == 0 || raw[0] != '{' {
			a.fail("%s: Input should be a valid dictionary", at)
			continue
		}
		if s, ok := a.block(at, i, b, &t, &m); ok {
			texts = append(texts, s)
		}
	}
	m.Text, m.Parts = strings.Join(texts, "\n"), dialect.Several(texts)
	t.text = m.Text
	if m.Role != harness.RoleUser || len(t.results) < len(t.kinds) || len(t.kinds) == 0 {
		a.req.Messages = append(a.req.Messages, m)
	}
	return t
}

func (a *reader) role(path string, raw json.RawMessage) string {
	if raw == nil {
		a.fail("%s.role: Field required", path)
		return ""
	}
	role := dialect.TextOf(raw)
	switch role {
	case "user", "assistant":
	default:
		a.fail("%s.role: Input should be 'user' or 'assistant'", path)
	}
	return role
}

// block reads one content block; ok says that it is text.
func (a *reader) block(path string, i int, b dialect.Object, t *turn, m *harness.Message) (s string, ok bool) {
	kind := dialect.TextOf(b["type"])
	t.kinds = append(t.kinds, kind)
	a.cacheMark(path, b)
	if t.leading == len(t.kinds)-1 && kind == "tool_result" {
		t.leading++
	}
	switch kind {
	case "text":
		s := a.required(path+".text.text", b["text"])
		switch {
		case s == "":
			a.fail("messages: text content blocks must be non-empty")
		case strings.TrimSpace(s) == "":
			a.fail("messages: text content blocks must contain non-whitespace text")
		}
		return s, true
	case "tool_use":
		a.toolUse(path, b, t, m)
	case "tool_result":
		a.toolResult(path, i, b, t)
	case "thinking":
		a.thought(path, b, t, m)
	case "redacted_thinking":
		a.only(path, "assistant", kind, t)
		a.required(path+".redacted_thinking.data", b["data"])
	case "image", "document":
		a.source(path+"."+kind, kind, b)
	case "":
		a.fail("%s.type: Field required", path)
	case "search_result", "container_upload", "server_tool_use", "mcp_tool_use", "compaction", "tool_reference", "fallback":
	default:
		if !strings.HasSuffix(kind, "_tool_result") {
			a.fail("%s: Input tag '%s' found using 'type' does not match any of the expected tags: "+
				"'document', 'image', 'redacted_thinking', 'search_result', 'server_tool_use', 'text', 'thinking', 'tool_result', 'tool_use'", path, kind)
		}
	}
	return "", false
}

// only refuses a block in a message of the other role.
func (a *reader) only(path, role, kind string, t *turn) {
	if t.role != role && t.role != "" {
		path = path[:strings.Index(path, ".content")]
		a.fail("%s: `%s` blocks can only be in `%s` messages", path, kind, role)
	}
}

// BackID is the id of a call as the API takes it back: letters, digits, _ and -.
// Others come from models of another provider.
func BackID(id string) string {
	if dialect.IsWord(id, "_-", len(id)) {
		return id
	}
	return fmt.Sprintf("toolu_%x", id)
}

func (a *reader) callID(path string, raw json.RawMessage) string {
	a.required(path, raw)
	return dialect.IDOf(raw)
}

func (a *reader) toolUse(path string, b dialect.Object, t *turn, m *harness.Message) {
	a.only(path, "assistant", "tool_use", t)
	id := a.callID(path+".tool_use.id", b["id"])
	name := a.required(path+".tool_use.name", b["name"])
	switch {
	case BackID(id) != id:
		a.fail("%s.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", path)
	case len(name) > maxCallName:
		a.fail("%s.tool_use.name: String should have at most %d characters", path, maxCallName)
	case b["input"] == nil:
		a.fail("%s.tool_use.input: Field required", path)
	case b["input"][0] != '{':
		a.fail("%s.tool_use.input: Input should be a valid dictionary", path)
	case a.ids[id]:
		a.fail("%s: `tool_use` ids must be unique", path)
	}
	a.ids[id] = true
	t.uses = append(t.uses, id)
	m.Calls = append(m.Calls, harness.ToolCall{ID: id, Name: name, Arguments: string(b["input"])})
}

func (a *reader) toolResult(path string, i int, b dialect.Object, t *turn) {
	a.only(path, "user", "tool_result", t)
	id := a.callID(path+".tool_result.tool_use_id", b["tool_use_id"])
	if BackID(id) != id {
		a.fail("%s.tool_result.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'", path)
	}
	a.boolean(path+".tool_result.is_error", b["is_error"])
	t.results = append(t.results, id)
	t.places = append(t.places, i)
	m := harness.Message{Role: harness.RoleTool, CallID: id}
	path += ".tool_result.content"
	switch raw := b["content"]; {
	case dialect.Absent(raw):
	case raw[0] == '"':
		m.Text = dialect.TextOf(raw)
	default:
		var texts []string
		for i, raw := range a.list(path, raw) {
			at := fmt.Sprintf("%s.%d", path, i)
			part := a.dict(at, raw)
			switch kind := dialect.TextOf(part["type"]); kind {
			case "text":
				texts = append(texts, a.text(at+".text", part["text"]))
			case "image", "document", "search_result", "tool_reference":
			default:
				a.fail("%s: Input tag '%s' found using 'type' does not match any of the expected tags: 'document', 'image', 'search_result', 'text', 'tool_reference'", at, kind)
			}
		}
		m.Text = strings.Join(texts, "\n")
	}
	a.req.Messages = append(a.req.Messages, m)
}

func (a *reader) thought(path string, b dialect.Object, t *turn, m *harness.Message) {
	a.only(path, "assistant", "thinking", t)
	if b["thinking"] == nil || b["signature"] == nil {
		field := "thinking"
		if b["thinking"] != nil {
			field = "signature"
		}
		a.fail("%s.thinking.%s: Field required", path, field)
		return
	}
	s := a.text(path+".thinking.thinking", b["thinking"])
	if !dialect.Signed(s, a.text(path+".thinking.signature", b["signature"])) {
		a.fail("%s: Invalid `signature` in `thinking` block", path)
	}
	if m.Reasoning != "" {
		m.Reasoning += "\n"
	}
	m.Reasoning += s
}

func (a *reader) source(path, kind string, b dialect.Object) {
	if b["source"] == nil {
		a.fail("%s.source: Field required", path)
		return
	}
	s := a.dict(path+".source", b["source"])
	images := []string{"image/jpeg", "image/png", "image/gif", "image/webp"}
	switch tag := dialect.TextOf(s["type"]); tag {
	case "base64":
		if media := dialect.TextOf(s["media_type"]); kind == "image" && !slices.Contains(images, media) {
			a.fail("%s.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'", path)
		}
		a.required(path+".source.base64.data", s["data"])
	case "url", "file", "text", "content":
	default:
		a.fail("%s.source: Input tag '%s' found using 'type' does not match any of the expected tags: 'base64', 'file', 'url'", path, tag)
	}
}

// order says what is wrong with the order of messages: roles that do not
// alternate, calls without results and results without calls.
func (a *reader) order(turns []turn) {
	for i, t := range turns {
		switch {
		case i == 0 && t.role != "user":
			a.fail(`messages: first message must use the "user" role`)
		case i > 0 && t.role == turns[i-1].role:
			a.fail(`messages: roles must alternate between "user" and "assistant", but found multiple %q roles in a row`, t.role)
		}
		var called []string
		if i > 0 {
			called = turns[i-1].uses
		}
		for n, id := range t.results {
			if !slices.Contains(called, id) {
				a.fail("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. "+
					"Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", t.place, t.places[n], id)
			}
			if slices.Contains(t.results[:n], id) {
				a.fail("messages.%d.content.%d: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", t.place, t.places[n], id)
			}
		}
		var given []string
		if i+1 < len(turns) {
			given = turns[i+1].results[:min(turns[i+1].leading, len(turns[i+1].results))]
		}
		var open []string
		for _, id := range t.uses {
			if !slices.Contains(given, id) {
				open = append(open, id)
			}
		}
		if open != nil {
			a.fail("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. "+
				"Each `tool_use` block must have a corresponding `tool_result` block in the next message.", t.place, strings.Join(open, ", "))
		}
	}
}

// thoughtFirst refuses a turn that goes on and did not begin with a thought,
// which the provider wants to see when thinking is enabled.
func (a *reader) thoughtFirst(turns []turn) {
	first := len(turns)
	for i := len(turns) - 1; i >= 0; i-- {
		if t := turns[i]; t.role == "user" && len(t.results) == 0 {
			break
		}
		if turns[i].role == "assistant" {
			first = i
		}
	}
	if first == len(turns) || len(turns[first].kinds) == 0 {
		return
	}
	if kind := turns[first].kinds[0]; kind != "thinking" && kind != "redacted_thinking" {
		a.fail("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. "+
			"When `thinking` is enabled, a final `assistant` message must start with a thinking block.", turns[first].place, kind)
	}
}
