// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/mockmcp/fault"
)

// object is a JSON object for changing.
type object map[string]json.RawMessage

func readObject(raw json.RawMessage) (object, bool) {
	var o object
	return o, json.Unmarshal(raw, &o) == nil && o != nil
}

// set puts a value; nil removes the member.
func (o object) set(name string, v any) {
	if v == nil {
		delete(o, name)
		return
	}
	o[name] = mcpwire.Marshal(v)
}

// mutate returns the reply with another content. One that it does not
// understand stays as it is.
func mutate(f *fault.Fault, form string, s *situation, frame []byte) []byte {
	m, err := mcpwire.Parse(frame)
	if err != nil {
		return frame
	}
	if f.Kind == fault.RPCError {
		if m.Error == nil {
			m.Result, m.Error = nil, rpcError(f)
		}
		return m.Encode()
	}
	result, ok := readObject(m.Result)
	if !ok {
		return frame
	}
	switch f.Kind {
	case fault.UnknownContent, fault.MissingContent, fault.SchemaMismatchOutput, fault.Huge:
		mutateResult(f, form, result)
	case fault.BadSchema:
		mutateList(f, form, result)
	case fault.CursorLoop:
		loopCursor(form, s, result)
	default:
		return frame
	}
	m.Result = mcpwire.Marshal(result)
	return m.Encode()
}

func rpcError(f *fault.Fault) *jsonrpc.Error {
	return &jsonrpc.Error{Code: cmp.Or(f.Code, -32603), Message: cmp.Or(f.Message, "Internal error"), Data: f.Data}
}

// answer is what a call is answered with in place of what the script has; nil
// when the fault has nothing to do with that.
func (st *strike) answer() *Answer {
	if st == nil {
		return nil
	}
	switch st.f.Kind {
	case fault.IsError:
		text := "Error: the tool failed: the upstream service answered 503 Service Unavailable"
		if st.f.FormOf() == "plausible" {
			text = "OK. The operation was completed."
		}
		return &Answer{Text: cmp.Or(st.f.Message, text), IsError: true}
	case fault.RPCError:
		return &Answer{RPCError: rpcError(st.f)}
	}
	return nil
}

func mutateResult(f *fault.Fault, form string, result object) {
	var content []json.RawMessage
	_ = json.Unmarshal(result["content"], &content)
	switch f.Kind {
	case fault.UnknownContent:
		block := json.RawMessage(`{"type":"hologram","uri":"holo://1","depth":3}`)
		if mcpwire.IsObject(json.RawMessage(f.Body)) {
			block = json.RawMessage(f.Body)
		}
		result.set("content", append([]json.RawMessage{block}, content...))
	case fault.MissingContent:
		switch form {
		case "null":
			result["content"] = json.RawMessage("null")
		case "structured":
			result["content"] = json.RawMessage("[]")
		case "empty":
			result["content"] = json.RawMessage("[]")
			result.set("structuredContent", nil)
		case "text":
			result.set("content", mcpwire.Text(content))
		default:
			result.set("content", nil)
		}
	case fault.SchemaMismatchOutput:
		structured, ok := readObject(result["structuredContent"])
		if !ok {
			structured = object{"unexpected": json.RawMessage("true")}
		}
		switch form {
		case "array":
			result.set("structuredContent", []object{structured})
		case "absent":
			result.set("structuredContent", nil)
		default:
			for name, v := range structured {
				structured[name] = otherType(v)
			}
			result.set("structuredContent", structured)
		}
	case fault.Huge:
		text := append([]byte(mcpwire.Text(content)), ' ')
		size := cmp.Or(f.Size, 1<<20)
		if len(text) < size {
			text = append(text, padding(size-len(text))...)
		}
		result.set("content", []textBlock{{"text", string(text)}})
	}
}

// otherType is a value of another type than v.
func otherType(v json.RawMessage) json.RawMessage {
	if bytes.HasPrefix(v, []byte(`"`)) {
		return json.RawMessage("12345")
	}
	return json.RawMessage(`"not what the schema says"`)
}

// padding is text of n bytes.
func padding(n int) []byte {
	const words = "0123456789abcdef "
	return bytes.Repeat([]byte(words), n/len(words)+1)[:n]
}

// mutateList gives one tool of a list an odd schema.
func mutateList(f *fault.Fault, form string, result object) {
	var tools []json.RawMessage
	if json.Unmarshal(result["tools"], &tools) != nil {
		return
	}
	for i, raw := range tools {
		tool, ok := readObject(raw)
		if !ok {
			continue
		}
		var name string
		_ = json.Unmarshal(tool["name"], &name)
		if f.Match.Tool != "" && f.Match.Tool != name {
			continue
		}
		oddSchema(form, tool)
		tools[i] = mcpwire.Marshal(tool)
		break
	}
	result.set("tools", tools)
}

func oddSchema(form string, tool object) {
	schema, ok := readObject(tool["inputSchema"])
	if !ok {
		schema = object{"type": json.RawMessage(`"object"`)}
	}
	switch form {
	case "true":
		tool["inputSchema"] = json.RawMessage("true")
	case "type_array":
		schema["type"] = json.RawMessage(`["object","null"]`)
		tool.set("inputSchema", schema)
	case "missing":
		delete(tool, "inputSchema")
	case "null":
		tool["inputSchema"] = json.RawMessage("null")
	case "string":
		tool.set("inputSchema", string(mcpwire.Marshal(schema)))
	case "output_without_type":
		tool["outputSchema"] = json.RawMessage(`{"properties":{"value":{"type":"number"}}}`)
	case "no_properties":
		tool["inputSchema"] = json.RawMessage(`{"type":"object"}`)
	case "bad_ref":
		tool["inputSchema"] = json.RawMessage(`{"type":"object","properties":{"city":{"$ref":"#/$defs/City"}}}`)
	default:
		tool.set("inputSchema", object{"anyOf": mcpwire.Marshal([]object{schema, {"type": json.RawMessage(`"object"`), "properties": json.RawMessage(`{"id":{"type":"integer"}}`)}})})
	}
}

// loopPrefix begins the cursors of a list without an end.
const loopPrefix = "rehearse-loop-"

// loopCursor gives a page another one behind it.
func loopCursor(form string, s *situation, result object) {
	switch form {
	case "same":
		result.set("nextCursor", loopPrefix+"0")
	case "empty":
		result.set("nextCursor", "")
	default:
		result.set("nextCursor", fmt.Sprintf("%s%d", loopPrefix, s.page))
	}
	if form == "no_tools" && s.page > 1 {
		result["tools"] = json.RawMessage("[]")
	}
}
