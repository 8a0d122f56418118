// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package responses

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/toolname"
)

// maxItemCallID is the longest call_id that the endpoint takes back.
const maxItemCallID = 64

// itemReader turns input items into messages. What the model said at one time
// becomes one message: its reasoning, its text and its calls.
type itemReader struct {
	memory   *dialect.Store
	messages []harness.Message
	// thought is the id of a reasoning item that nothing follows yet.
	thought string
	open    bool // the last message is the model's and not complete
	// held says that the items are those of a conversation, with the ids that
	// the endpoint itself gave them.
	held bool
}

// add adds a message that is not the model's.
func (r *itemReader) add(m harness.Message) {
	r.messages = append(r.messages, m)
	r.open = false
}

// model returns the message that the model's next item belongs to.
func (r *itemReader) model(begins bool) *harness.Message {
	if !r.open || begins {
		r.messages = append(r.messages, harness.Message{Role: harness.RoleAssistant})
		r.open = true
	}
	return &r.messages[len(r.messages)-1]
}

// said adds an item of the model.
func (r *itemReader) said(m harness.Message) {
	last := harness.Message{}
	if r.open {
		last = r.messages[len(r.messages)-1]
	}
	spoke := last.Text != "" || last.Refusal != "" || len(last.Calls) > 0
	switch {
	case m.Reasoning != "" && m.Text == "" && m.Refusal == "" && len(m.Calls) == 0:
		to := r.model(spoke)
		to.Reasoning = joined(to.Reasoning, m.Reasoning)
	case len(m.Calls) > 0:
		to := r.model(false)
		to.Calls = append(slices.Clip(to.Calls), m.Calls...)
	default:
		to := r.model(spoke)
		to.Text, to.Refusal = m.Text, m.Refusal
	}
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n" + b
}

func itemTypes() []string {
	return []string{
		"message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning", "item_reference",
		"file_search_call", "computer_call", "computer_call_output", "web_search_call", "image_generation_call", "code_interpreter_call",
		"local_shell_call", "local_shell_call_output", "shell_call", "shell_call_output", "apply_patch_call", "apply_patch_call_output",
		"mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "mcp_call", "compaction", "tool_search_call", "tool_search_output",
	}
}

// read reads the item at path.
func (r *itemReader) read(path string, raw json.RawMessage) *dialect.Refusal {
	if raw[0] != '{' {
		return dialect.WrongType(path, "an input item", raw)
	}
	o := dialect.ReadObject(raw)
	kind := dialect.TextOf(o["type"])
	if kind == "" && !dialect.Absent(o["role"]) {
		kind = "message"
	}
	var first *dialect.Refusal
	if !slices.Contains([]string{"function_call", "custom_tool_call", "reasoning"}, kind) && !(kind == "message" && dialect.TextOf(o["role"]) == "assistant") && kind != "item_reference" {
		first, r.thought = r.lonely(), ""
	}
	return cmp.Or(first, r.readKind(path, o, kind))
}

// readKind reads an item of a kind.
func (r *itemReader) readKind(path string, o dialect.Object, kind string) *dialect.Refusal {
	switch kind {
	case "message":
		return r.readMessage(path, o)
	case "function_call", "custom_tool_call":
		return r.readCall(path, o, kind)
	case "function_call_output", "custom_tool_call_output":
		return r.readOutput(path, o)
	case "reasoning":
		return r.readReasoning(path, o)
	case "item_reference":
		return r.readReference(path, o)
	case "":
		return dialect.Missing(path + ".type")
	}
	if !slices.Contains(itemTypes(), kind) {
		return dialect.Invalid(path, "invalid_value", "Invalid value: '%s'. Supported values are: %s.", kind, dialect.WordList(itemTypes()))
	}
	return nil
}

func (r *itemReader) readMessage(path string, o dialect.Object) *dialect.Refusal {
	role := dialect.TextOf(o["role"])
	if dialect.Absent(o["role"]) {
		return dialect.Missing(path + ".role")
	}
	if refusal := dialect.OneOf(path+".role", o["role"], "assistant", "system", "developer", "user"); refusal != nil {
		return refusal
	}
	first := r.itemID(path, o, "msg")
	m := harness.Message{Role: harness.Role(role)}
	if role == "developer" {
		m.Role = harness.RoleSystem
	}
	content := o["content"]
	switch {
	case dialect.Absent(content):
		return dialect.Missing(path + ".content")
	case content[0] == '"':
		m.Text = dialect.TextOf(content)
	case content[0] == '[':
		first = cmp.Or(first, readParts(path+".content", content, role, &m))
	default:
		return dialect.WrongType(path+".content", "one of an array of objects or string", content)
	}
	if m.Role == harness.RoleAssistant {
		r.thought = ""
		r.said(m)
	} else {
		r.add(m)
	}
	return first
}

func partTypes() []string {
	return []string{"input_text", "input_image", "output_text", "refusal", "input_file", "computer_screenshot", "summary_text"}
}

// readParts reads the content parts of a message.
func readParts(path string, raw json.RawMessage, role string, m *harness.Message) *dialect.Refusal {
	list, _ := array(path, raw, "")
	var texts []string
	defer func() { m.Text, m.Parts = strings.Join(texts, "\n"), dialect.Several(texts) }()
	for i, part := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		if part[0] != '{' {
			return dialect.WrongType(at, "an object", part)
		}
		o := dialect.ReadObject(part)
		kind := dialect.TextOf(o["type"])
		if dialect.Absent(o["type"]) {
			return dialect.Missing(at + ".type")
		}
		if !slices.Contains(partTypes(), kind) {
			return dialect.Invalid(at+".type", "invalid_value", "Invalid value: '%s'. Supported values are: %s.", kind, dialect.WordList(partTypes()))
		}
		output := kind == "output_text" || kind == "refusal"
		if role == "assistant" && !output {
			return dialect.Invalid(at, "invalid_value", "Invalid value: '%s'. Supported values are: 'output_text' and 'refusal'.", kind)
		}
		if role != "" && role != "assistant" && output {
			return dialect.Invalid(at, "invalid_value", "Invalid value: '%s'. Supported values are: 'input_text', 'input_image', and 'input_file'.", kind)
		}
		switch kind {
		case "refusal":
			m.Refusal = joined(m.Refusal, dialect.TextOf(o["refusal"]))
		case "input_text", "output_text":
			if dialect.Absent(o["text"]) {
				return dialect.Missing(at + ".text")
			}
			if refusal := dialect.CheckString(at+".text", o["text"], nil); refusal != nil {
				return refusal
			}
			texts = append(texts, dialect.TextOf(o["text"]))
		}
	}
	return nil
}

// readCallID reads the call_id of a call or its output.
func readCallID(path string, o dialect.Object) (string, *dialect.Refusal) {
	if dialect.Absent(o["call_id"]) {
		return "", dialect.Missing(path + ".call_id")
	}
	id := dialect.IDOf(o["call_id"])
	if refusal := dialect.CheckString(path+".call_id", o["call_id"], nil); refusal != nil {
		return id, refusal
	}
	if n := len(id); n > maxItemCallID {
		return id, dialect.TooLongString(path+".call_id", maxItemCallID, n)
	}
	return id, nil
}

func (r *itemReader) readCall(path string, o dialect.Object, kind string) *dialect.Refusal {
	prefix, args := "fc", "arguments"
	if kind == "custom_tool_call" {
		prefix, args = "ctc", "input"
	}
	id, first := readCallID(path, o)
	first = cmp.Or(first, r.itemID(path, o, prefix))
	for _, key := range []string{"name", args} {
		if dialect.Absent(o[key]) {
			return cmp.Or(first, dialect.Missing(path+"."+key))
		}
		first = cmp.Or(first, dialect.CheckString(path+"."+key, o[key], nil))
	}
	name := dialect.TextOf(o["name"])
	switch {
	case first != nil:
	case len(name) > 2*toolname.MaxLen:
		first = dialect.TooLongString(path+".name", 2*toolname.MaxLen, len(name))
	case !toolname.Valid(name):
		first = dialect.BadPattern(path + ".name")
	}
	r.thought = ""
	name = joinNamespace(dialect.TextOf(o["namespace"]), name)
	r.said(harness.Message{Calls: []harness.ToolCall{{ID: id, Name: name, Arguments: dialect.TextOf(o[args])}}})
	return first
}

func (r *itemReader) readOutput(path string, o dialect.Object) *dialect.Refusal {
	id, first := readCallID(path, o)
	m := harness.Message{Role: harness.RoleTool, CallID: id}
	output := o["output"]
	switch {
	case dialect.Absent(output):
		first = cmp.Or(first, dialect.Missing(path+".output"))
	case output[0] == '"':
		m.Text = dialect.TextOf(output)
	case output[0] == '[':
		first = cmp.Or(first, readParts(path+".output", output, "", &m))
	default:
		first = cmp.Or(first, dialect.WrongType(path+".output", "one of an array of objects or string", output))
	}
	r.add(m)
	return first
}

func (r *itemReader) readReasoning(path string, o dialect.Object) *dialect.Refusal {
	if dialect.Absent(o["summary"]) {
		return dialect.Missing(path + ".summary")
	}
	list, refusal := array(path+".summary", o["summary"], "an array of objects")
	if refusal != nil {
		return refusal
	}
	first := cmp.Or(r.itemID(path, o, "rs"), r.lonely())
	id := dialect.TextOf(o["id"])
	if first == nil && id != "" && dialect.Absent(o["encrypted_content"]) && !r.held {
		if _, ok := r.memory.Item(id); !ok {
			first = notPersisted(id)
		}
	}
	var texts []string
	for _, raw := range list {
		texts = append(texts, dialect.TextOf(dialect.ReadObject(raw)["text"]))
	}
	r.thought = id
	r.said(harness.Message{Reasoning: strings.Join(texts, "\n")})
	return first
}

func (r *itemReader) readReference(path string, o dialect.Object) *dialect.Refusal {
	if dialect.Absent(o["id"]) {
		return dialect.Missing(path + ".id")
	}
	var id string
	if refusal := dialect.CheckString(path+".id", o["id"], &id); refusal != nil {
		return refusal
	}
	m, ok := r.memory.Item(id)
	if !ok {
		return notPersisted(id)
	}
	r.thought = ""
	if m.Reasoning != "" {
		r.thought = id
	}
	r.said(m)
	return nil
}

func notPersisted(id string) *dialect.Refusal {
	return &dialect.Refusal{
		Status: http.StatusNotFound, Type: "invalid_request_error", Param: "input",
		Message: fmt.Sprintf("Item with id '%s' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.", id),
	}
}

// lonely refuses a reasoning item that nothing of the model follows.
func (r *itemReader) lonely() *dialect.Refusal {
	if r.thought == "" {
		return nil
	}
	return dialect.Invalid("input", "", "Item '%s' of type 'reasoning' was provided without its required following item.", r.thought)
}

// check says what the provider refuses about all items: calls without outputs
// and outputs without calls.
func (r *itemReader) check() *dialect.Refusal {
	if refusal := r.lonely(); refusal != nil {
		return refusal
	}
	calls, outputs := make(map[string]bool), make(map[string]bool)
	for _, m := range r.messages {
		for _, c := range m.Calls {
			calls[c.ID] = true
		}
		if m.Role == harness.RoleTool {
			outputs[m.CallID] = true
			if !calls[m.CallID] {
				return dialect.Invalid("input", "", "No tool call found for function call output with call_id %s.", m.CallID)
			}
		}
	}
	for _, m := range r.messages {
		for _, c := range m.Calls {
			if !outputs[c.ID] {
				return dialect.Invalid("input", "", "No tool output found for function call %s.", c.ID)
			}
		}
	}
	return nil
}

// itemID checks the id of an item, if it has one.
func (r *itemReader) itemID(path string, o dialect.Object, prefix string) *dialect.Refusal {
	if dialect.Absent(o["id"]) || r.held {
		return nil
	}
	var id string
	if r := dialect.CheckString(path+".id", o["id"], &id); r != nil {
		return r
	}
	return checkID(path+".id", id, prefix)
}

// joinNamespace is the name by which a [Chat] knows a tool of a namespace.
func joinNamespace(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "__" + name
}

// checkItems says what is wrong with items that are put into a conversation.
// Calls need no outputs there yet.
func checkItems(raw json.RawMessage, held *dialect.Store) ([]json.RawMessage, *dialect.Refusal) {
	list, refusal := array("items", raw, "an array of items")
	if refusal != nil {
		return nil, refusal
	}
	r := itemReader{memory: held}
	for i, item := range list {
		if refusal := r.read(fmt.Sprintf("items[%d]", i), item); refusal != nil {
			return nil, refusal
		}
	}
	return list, nil
}

// ReadConversation reads the body of a request to create or change a
// conversation: its metadata, nil when it has none, and its items.
func ReadConversation(body []byte, held *dialect.Store) (meta json.RawMessage, items []json.RawMessage, refusal *dialect.Refusal) {
	o, refusal := dialect.ReadBody(body)
	if refusal != nil {
		return nil, nil, refusal
	}
	for _, key := range dialect.SortedKeys(o) {
		if key != "items" && key != "metadata" {
			return nil, nil, dialect.Invalid(key, "unknown_parameter", "Unknown parameter: '%s'.", key)
		}
	}
	if refusal := metadata(o["metadata"]); refusal != nil {
		return nil, nil, refusal
	}
	if !dialect.Absent(o["metadata"]) {
		meta = o["metadata"]
	}
	items, refusal = checkItems(o["items"], held)
	return meta, items, refusal
}
