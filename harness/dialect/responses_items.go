// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/toolname"
)

// maxItemCallID is the longest call_id that the endpoint takes back.
const maxItemCallID = 64

// itemReader turns input items into messages. What the model said at one time
// becomes one message: its reasoning, its text and its calls.
type itemReader struct {
	memory   Memory
	messages []harness.Message
	// thought is the id of a reasoning item that nothing follows yet.
	thought string
	open    bool // the last message is the model's and not complete
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
func (r *itemReader) read(path string, raw json.RawMessage) *Refusal {
	if raw[0] != '{' {
		return wrongType(path, "an input item", raw)
	}
	o := readObject(raw)
	kind := text(o["type"])
	if kind == "" && !absent(o["role"]) {
		kind = "message"
	}
	if !slices.Contains([]string{"function_call", "custom_tool_call", "reasoning"}, kind) && !(kind == "message" && text(o["role"]) == "assistant") && kind != "item_reference" {
		if refusal := r.lonely(); refusal != nil {
			return refusal
		}
	}
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
		return missing(path + ".type")
	}
	if !slices.Contains(itemTypes(), kind) {
		return invalid(path, "invalid_value", "Invalid value: '%s'. Supported values are: %s.", kind, wordList(itemTypes()))
	}
	return nil
}

func (r *itemReader) readMessage(path string, o object) *Refusal {
	role := text(o["role"])
	if absent(o["role"]) {
		return missing(path + ".role")
	}
	if refusal := oneOf(path+".role", o["role"], "assistant", "system", "developer", "user"); refusal != nil {
		return refusal
	}
	if refusal := itemID(path, o, "msg"); refusal != nil {
		return refusal
	}
	m := harness.Message{Role: harness.Role(role)}
	if role == "developer" {
		m.Role = harness.RoleSystem
	}
	content := o["content"]
	switch {
	case absent(content):
		return missing(path + ".content")
	case content[0] == '"':
		m.Text = text(content)
	case content[0] == '[':
		if refusal := readParts(path+".content", content, role, &m); refusal != nil {
			return refusal
		}
	default:
		return wrongType(path+".content", "one of an array of objects or string", content)
	}
	if m.Role == harness.RoleAssistant {
		r.thought = ""
		r.said(m)
	} else {
		r.add(m)
	}
	return nil
}

func partTypes() []string {
	return []string{"input_text", "input_image", "output_text", "refusal", "input_file", "computer_screenshot", "summary_text"}
}

// readParts reads the content parts of a message.
func readParts(path string, raw json.RawMessage, role string, m *harness.Message) *Refusal {
	list, _ := array(path, raw, "")
	var texts []string
	for i, part := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		if part[0] != '{' {
			return wrongType(at, "an object", part)
		}
		o := readObject(part)
		kind := text(o["type"])
		if absent(o["type"]) {
			return missing(at + ".type")
		}
		if !slices.Contains(partTypes(), kind) {
			return invalid(at+".type", "invalid_value", "Invalid value: '%s'. Supported values are: %s.", kind, wordList(partTypes()))
		}
		output := kind == "output_text" || kind == "refusal"
		if role == "assistant" && !output {
			return invalid(at, "invalid_value", "Invalid value: '%s'. Supported values are: 'output_text' and 'refusal'.", kind)
		}
		if role != "" && role != "assistant" && output {
			return invalid(at, "invalid_value", "Invalid value: '%s'. Supported values are: 'input_text', 'input_image', and 'input_file'.", kind)
		}
		switch kind {
		case "refusal":
			m.Refusal = joined(m.Refusal, text(o["refusal"]))
		case "input_text", "output_text":
			if absent(o["text"]) {
				return missing(at + ".text")
			}
			if refusal := str(at+".text", o["text"], nil); refusal != nil {
				return refusal
			}
			texts = append(texts, text(o["text"]))
		}
	}
	m.Text = strings.Join(texts, "\n")
	return nil
}

// readCallID reads the call_id of a call or its output.
func readCallID(path string, o object) (string, *Refusal) {
	if absent(o["call_id"]) {
		return "", missing(path + ".call_id")
	}
	var id string
	if refusal := str(path+".call_id", o["call_id"], &id); refusal != nil {
		return "", refusal
	}
	if n := len(id); n > maxItemCallID {
		return "", tooLong(path+".call_id", maxItemCallID, n)
	}
	return id, nil
}

func (r *itemReader) readCall(path string, o object, kind string) *Refusal {
	prefix, args := "fc", "arguments"
	if kind == "custom_tool_call" {
		prefix, args = "ctc", "input"
	}
	id, refusal := readCallID(path, o)
	if refusal != nil {
		return refusal
	}
	if refusal := itemID(path, o, prefix); refusal != nil {
		return refusal
	}
	for _, key := range []string{"name", args} {
		if absent(o[key]) {
			return missing(path + "." + key)
		}
		if refusal := str(path+"."+key, o[key], nil); refusal != nil {
			return refusal
		}
	}
	name := text(o["name"])
	if len(name) > 2*toolname.MaxLen {
		return tooLong(path+".name", 2*toolname.MaxLen, len(name))
	}
	if !toolname.Valid(name) {
		return badPattern(path + ".name")
	}
	r.thought = ""
	name = joinNamespace(text(o["namespace"]), name)
	r.said(harness.Message{Calls: []harness.ToolCall{{ID: id, Name: name, Arguments: text(o[args])}}})
	return nil
}

func (r *itemReader) readOutput(path string, o object) *Refusal {
	id, refusal := readCallID(path, o)
	if refusal != nil {
		return refusal
	}
	m := harness.Message{Role: harness.RoleTool, CallID: id}
	output := o["output"]
	switch {
	case absent(output):
		return missing(path + ".output")
	case output[0] == '"':
		m.Text = text(output)
	case output[0] == '[':
		if refusal := readParts(path+".output", output, "", &m); refusal != nil {
			return refusal
		}
	default:
		return wrongType(path+".output", "one of an array of objects or string", output)
	}
	r.add(m)
	return nil
}

func (r *itemReader) readReasoning(path string, o object) *Refusal {
	if absent(o["summary"]) {
		return missing(path + ".summary")
	}
	list, refusal := array(path+".summary", o["summary"], "an array of objects")
	if refusal != nil {
		return refusal
	}
	if refusal := itemID(path, o, "rs"); refusal != nil {
		return refusal
	}
	if refusal := r.lonely(); refusal != nil {
		return refusal
	}
	id := text(o["id"])
	if id != "" && absent(o["encrypted_content"]) {
		if _, ok := r.recall(id); !ok {
			return notPersisted(id)
		}
	}
	var texts []string
	for _, raw := range list {
		texts = append(texts, text(readObject(raw)["text"]))
	}
	r.thought = id
	r.said(harness.Message{Reasoning: strings.Join(texts, "\n")})
	return nil
}

func (r *itemReader) readReference(path string, o object) *Refusal {
	if absent(o["id"]) {
		return missing(path + ".id")
	}
	var id string
	if refusal := str(path+".id", o["id"], &id); refusal != nil {
		return refusal
	}
	m, ok := r.recall(id)
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

func (r *itemReader) recall(id string) (harness.Message, bool) {
	if r.memory == nil {
		return harness.Message{}, false
	}
	return r.memory.Item(id)
}

func notPersisted(id string) *Refusal {
	return &Refusal{
		Status: http.StatusNotFound, Type: "invalid_request_error", Param: "input",
		Message: fmt.Sprintf("Item with id '%s' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.", id),
	}
}

// lonely refuses a reasoning item that nothing of the model follows.
func (r *itemReader) lonely() *Refusal {
	if r.thought == "" {
		return nil
	}
	return invalid("input", "", "Item '%s' of type 'reasoning' was provided without its required following item.", r.thought)
}

// check says what the provider refuses about all items: calls without outputs
// and outputs without calls.
func (r *itemReader) check() *Refusal {
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
				return invalid("input", "", "No tool call found for function call output with call_id %s.", m.CallID)
			}
		}
	}
	for _, m := range r.messages {
		for _, c := range m.Calls {
			if !outputs[c.ID] {
				return invalid("input", "", "No tool output found for function call %s.", c.ID)
			}
		}
	}
	return nil
}

// itemID checks the id of an item, if it has one.
func itemID(path string, o object, prefix string) *Refusal {
	if absent(o["id"]) {
		return nil
	}
	var id string
	if r := str(path+".id", o["id"], &id); r != nil {
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
