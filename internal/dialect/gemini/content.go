// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package gemini

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// content is one content as it came.
type content struct {
	model     bool
	texts     []string
	thoughts  []string
	calls     []geminiCall
	responses []geminiResponse
}

type geminiCall struct {
	harness.ToolCall
	signed bool
}

type geminiResponse struct{ id, name, text string }

func (g *reader) system() {
	raw := g.o.Field("systemInstruction")
	if dialect.Absent(raw) {
		return
	}
	c := g.content("system_instruction", raw)
	g.req.Messages = append(g.req.Messages, harness.Message{Role: harness.RoleSystem, Text: strings.Join(c.texts, "\n")})
}

// contents reads the conversation.
func (g *reader) contents() {
	list := g.list(g.o["contents"])
	if len(list) == 0 {
		g.fail("* %s: contents is not specified\n", request("contents"))
		return
	}
	contents := make([]content, len(list))
	for i, raw := range list {
		contents[i] = g.content(fmt.Sprintf("contents[%d]", i), raw)
	}
	g.order(contents)
	if !older(g.query.Model) && strings.HasPrefix(g.query.Model, "gemini-") {
		g.signatures(contents)
	}
	g.out.Continues = len(contents[len(contents)-1].responses) > 0
	g.normalise(contents)
}

// content reads one content.
func (g *reader) content(path string, raw json.RawMessage) content {
	var c content
	if raw[0] == '"' && path == "system_instruction" {
		raw = append(append([]byte(`{"parts":{"text":`), raw...), "}}"...)
	}
	o := g.dict(path, raw)
	g.known(path, o, "parts", "role")
	role := g.text(path+".role", o["role"])
	switch role {
	case "", "user", "function":
	case "model":
		c.model = true
	default:
		if path != "system_instruction" {
			g.fail("Please use a valid role: user, model.")
		}
	}
	parts := g.list(o["parts"])
	if len(parts) == 0 {
		g.fail("* %s.parts: contents.parts must not be empty.\n", request(path))
	}
	for i, raw := range parts {
		g.part(fmt.Sprintf("%s.parts[%d]", path, i), raw, &c)
	}
	return c
}

// data are the fields of a part of which it has one.
func data() []string {
	return []string{
		"text", "functionCall", "functionResponse", "inlineData", "fileData", "executableCode", "codeExecutionResult",
		"toolCall", "toolResponse",
	}
}

func (g *reader) part(path string, raw json.RawMessage, c *content) {
	o := g.dict(path, raw)
	g.known(path, o, append(data(), "thought", "thoughtSignature", "videoMetadata", "partMetadata", "mediaResolution")...)
	var kind string
	for _, name := range data() {
		if dialect.Absent(o.Field(name)) {
			continue
		}
		if kind != "" {
			g.wrong(path, "Invalid value at '%s' (oneof), oneof field 'data' is already set. Cannot set '%s'", path, name)
		}
		kind = name
	}
	thought := g.boolean(path+".thought", o["thought"])
	signature := g.text(path+".thought_signature", o.Field("thoughtSignature"))
	if signature != "" {
		if _, ok := dialect.SignatureBytes(signature); !ok {
			g.wrong(path, "Invalid value at '%s.thought_signature' (TYPE_BYTES), Base64 decoding failed for %q", path, signature)
		}
	}
	switch kind {
	case "text":
		s := g.text(path+".text", o["text"])
		if thought {
			c.thoughts = append(c.thoughts, s)
		} else {
			c.texts = append(c.texts, s)
		}
	case "inlineData":
		inner := path + ".inline_data"
		g.known(inner, g.dict(inner, o.Field(kind)), "mimeType", "data", "displayName")
	case "fileData":
		inner := path + ".file_data"
		g.known(inner, g.dict(inner, o.Field(kind)), "mimeType", "fileUri", "displayName")
	case "executableCode":
		inner := path + ".executable_code"
		g.known(inner, g.dict(inner, o.Field(kind)), "id", "language", "code")
	case "codeExecutionResult":
		inner := path + ".code_execution_result"
		g.known(inner, g.dict(inner, o.Field(kind)), "id", "outcome", "output")
	case "functionCall":
		call := g.call(path+".function_call", o.Field(kind))
		call.signed = signature != ""
		c.calls = append(c.calls, call)
	case "functionResponse":
		c.responses = append(c.responses, g.response(path+".function_response", o.Field(kind)))
	case "":
		g.fail("* %s.data: required oneof field 'data' must have one initialized field\n", request(path))
	}
}

func (g *reader) call(path string, raw json.RawMessage) geminiCall {
	o := g.dict(path, raw)
	g.known(path, o, "id", "name", "args", "partialArgs", "willContinue")
	c := geminiCall{ToolCall: harness.ToolCall{ID: g.callID(path+".id", o["id"]), Name: g.name(path, o), Arguments: "{}"}}
	if args := o["args"]; !dialect.Absent(args) {
		g.structure(path+".args", args)
		c.Arguments = string(args)
	}
	return c
}

func (g *reader) response(path string, raw json.RawMessage) geminiResponse {
	o := g.dict(path, raw)
	g.known(path, o, "id", "name", "response", "willContinue", "scheduling", "parts")
	r := geminiResponse{id: g.callID(path+".id", o["id"]), name: g.name(path, o)}
	if dialect.Absent(o["response"]) {
		return r
	}
	g.structure(path+".response", o["response"])
	r.text = resultText(o["response"])
	return r
}

func (g *reader) callID(path string, raw json.RawMessage) string {
	g.text(path, raw)
	return dialect.IDOf(raw)
}

func (g *reader) name(path string, o dialect.Object) string {
	name := g.text(path+".name", o["name"])
	if name == "" {
		g.fail("* %s.name: Name cannot be empty.\n", request(path))
	}
	return name
}

// structure refuses anything that is not an object.
func (g *reader) structure(path string, raw json.RawMessage) {
	switch raw[0] {
	case '{':
	case '[':
		at := strings.LastIndexByte(path, '.')
		g.wrong(path[:at], "Invalid JSON payload received. Unknown name %q at '%s': Proto field is not repeating, cannot start list.", path[at+1:], path[:at])
	default:
		g.wrong(path, "Invalid value at '%s' (type.googleapis.com/google.protobuf.Struct), %s", path, raw)
	}
}

// resultText is the result in a function response. It must be an object, so
// that clients wrap a text as the only member.
func resultText(raw json.RawMessage) string {
	o := dialect.ReadObject(raw)
	if len(o) == 1 {
		for _, key := range []string{"result", "output", "error", "content", "return_value"} {
			if v := o[key]; len(v) > 0 && v[0] == '"' {
				return dialect.TextOf(v)
			}
			if v, ok := o[key]; ok {
				return string(v)
			}
		}
	}
	return string(raw)
}

// order says what is wrong with the order of contents. Contents of the model
// in a row are one turn: clients send back a stream in its chunks.
func (g *reader) order(contents []content) {
	const (
		misplacedCall     = "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
		misplacedResponse = "Please ensure that function response turn comes immediately after a function call turn."
		miscounted        = "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."
	)
	open := 0 // calls of the model's turn that has just ended
	for i := 0; i < len(contents); i++ {
		c := &contents[i]
		if !c.model {
			switch {
			case len(c.calls) > 0:
				g.fail(misplacedCall)
			case len(c.responses) != open && open > 0:
				g.fail(miscounted)
			case len(c.responses) > 0 && open == 0:
				g.fail(misplacedResponse)
			}
			open = 0
			continue
		}
		first := i
		for ; ; i++ {
			if len(contents[i].responses) > 0 {
				g.fail(misplacedResponse)
			}
			open += len(contents[i].calls)
			if i+1 == len(contents) || !contents[i+1].model {
				break
			}
		}
		if open > 0 && first == 0 {
			g.fail(misplacedCall)
		}
	}
	if open > 0 {
		g.fail(miscounted)
	}
	if contents[len(contents)-1].model {
		g.fail("Please ensure that multiturn requests end with a user role or a function response.")
	}
}

// signatures refuses calls of the current turn that come back without the
// signature of the thought before them. Only the first call of a turn has one.
func (g *reader) signatures(contents []content) {
	first := len(contents)
	for first > 0 && (contents[first-1].model || len(contents[first-1].responses) > 0) {
		first--
	}
	began := false // the model's turn has a call
	for i, c := range contents[first:] {
		if len(c.calls) > 0 && !began && !c.calls[0].signed {
			g.fail("Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly. "+
				"Additional data, function call `default_api:%s` , position %d.", c.calls[0].Name, first+i+1)
		}
		began = c.model && (began || len(c.calls) > 0)
	}
}

// normalise adds the contents to the request as messages.
func (g *reader) normalise(contents []content) {
	var asked []geminiCall // calls of the last message of the model, with the ids of the wire
	var ids []string       // their ids
	first := 0
	for i := range contents {
		c := &contents[i]
		if c.model {
			if i+1 < len(contents) && contents[i+1].model {
				continue
			}
			asked, ids = g.said(contents[first : i+1])
			first = i + 1
			continue
		}
		first = i + 1
		answered := make([]bool, len(asked))
		for _, r := range c.responses {
			m := harness.Message{Role: harness.RoleTool, Text: r.text, CallID: r.id, Tool: r.name}
			if n := answers(r, asked, ids, answered); n >= 0 {
				answered[n] = true
				m.CallID = ids[n]
			}
			g.req.Messages = append(g.req.Messages, m)
		}
		if len(c.responses) == 0 || len(c.texts) > 0 {
			g.req.Messages = append(g.req.Messages, harness.Message{Role: harness.RoleUser, Text: strings.Join(c.texts, "\n"), Parts: dialect.Several(c.texts)})
		}
	}
}

// said adds what the model said in contents that stand in a row. A stream
// comes back in the pieces that it came in.
func (g *reader) said(contents []content) (calls []geminiCall, ids []string) {
	m := harness.Message{Role: harness.RoleAssistant}
	for _, c := range contents {
		m.Text += strings.Join(c.texts, "")
		m.Reasoning += strings.Join(c.thoughts, "")
		calls = append(calls, c.calls...)
	}
	for _, c := range calls {
		m.Calls = append(m.Calls, c.ToolCall)
	}
	if len(m.Calls) > 0 && g.query.IDs != nil {
		if given := g.query.IDs(m.Calls); len(given) == len(m.Calls) {
			for i, id := range given {
				m.Calls[i].ID = id
			}
		}
	}
	for i := range m.Calls {
		if m.Calls[i].ID == "" {
			m.Calls[i].ID = fmt.Sprintf("call_%d_%d", len(g.req.Messages), i)
		}
		ids = append(ids, m.Calls[i].ID)
	}
	g.req.Messages = append(g.req.Messages, m)
	return calls, ids
}

// answers returns the call that a response is for, of calls that have ids: the
// one with its id, as the client or the endpoint has it; below 0 is none. A
// response without an id is for the first open call of its name, else the first
// open one, and so is one whose id is the client's own, of a call that it sends
// back without an id.
func answers(r geminiResponse, calls []geminiCall, ids []string, answered []bool) int {
	twice := -1
	for i, c := range calls {
		if r.id == "" || c.ID != r.id && ids[i] != r.id {
			continue
		}
		if !answered[i] {
			return i
		}
		twice = i
	}
	if twice >= 0 {
		return twice
	}
	open := -1
	for i, c := range calls {
		if answered[i] || r.id != "" && c.ID != "" {
			continue
		}
		if c.Name == r.name {
			return i
		}
		if open < 0 {
			open = i
		}
	}
	return open
}
