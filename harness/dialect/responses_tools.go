// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/harness"
)

// hosted are the tools that the provider runs itself. They have no name that
// a script could call.
func hosted() []string {
	return []string{
		"web_search", "web_search_preview", "web_search_2025_08_26", "web_search_preview_2025_03_11", "file_search", "computer", "computer_use_preview",
		"code_interpreter", "image_generation", "mcp", "local_shell", "shell", "apply_patch", "tool_search",
	}
}

func (d *responsesReader) readTools() *Refusal {
	list, first := array("tools", d.o["tools"], "an array of objects")
	seen := make(map[string]bool)
	for i, raw := range list {
		refusal := d.readTool(fmt.Sprintf("tools[%d]", i), raw, "", seen)
		if first == nil {
			first = refusal
		}
	}
	if len(list) > maxTools && first == nil {
		first = tooMany("tools", maxTools, len(list))
	}
	if choice := d.readChoice(seen); first == nil {
		first = choice
	}
	return first
}

// readTool reads one tool. All tools are read, whatever is wrong with one:
// the journal shows them.
func (d *responsesReader) readTool(path string, raw json.RawMessage, namespace string, seen map[string]bool) *Refusal {
	if raw[0] != '{' {
		return wrongType(path, "an object", raw)
	}
	o := readObject(raw)
	kind := text(o["type"])
	switch {
	case absent(o["type"]):
		return missing(path + ".type")
	case slices.Contains(hosted(), kind):
		return nil
	case kind == "namespace" && namespace == "":
		return d.readNamespace(path, o, seen)
	case kind != "function" && kind != "custom":
		return invalid(path+".type", "invalid_value", "Invalid value: '%s'. Supported values are: %s.", kind, wordList(append([]string{"function", "custom", "namespace"}, hosted()...)))
	}
	t := harness.Tool{Name: text(o["name"]), Description: text(o["description"])}
	var refusal *Refusal
	if kind == "custom" {
		if refusal = missingName(path, o); refusal == nil {
			refusal = checkName(path+".name", t.Name)
		}
	} else {
		if string(o["parameters"]) == "null" {
			delete(o, "parameters")
		}
		t, refusal = readFunction(path, o)
	}
	own := ToolName{Namespace: namespace, Name: t.Name, Custom: kind == "custom"}
	t.Name = joinNamespace(namespace, t.Name)
	if own.Namespace != "" || own.Custom {
		d.r.names[t.Name] = own
	}
	if refusal == nil && seen[t.Name] {
		refusal = invalid("tools", "invalid_value", "Invalid value for 'tools': duplicate function name '%s'. Tool names must be unique.", t.Name)
	}
	seen[t.Name] = true
	d.env.tools = append(d.env.tools, t)
	return refusal
}

func missingName(path string, o object) *Refusal {
	if absent(o["name"]) {
		return missing(path + ".name")
	}
	return str(path+".name", o["name"], nil)
}

func (d *responsesReader) readNamespace(path string, o object, seen map[string]bool) *Refusal {
	if r := missingName(path, o); r != nil {
		return r
	}
	list, first := array(path+".tools", o["tools"], "an array of objects")
	for i, raw := range list {
		if r := d.readTool(fmt.Sprintf("%s.tools[%d]", path, i), raw, text(o["name"]), seen); first == nil {
			first = r
		}
	}
	return first
}

func (d *responsesReader) readChoice(offered map[string]bool) *Refusal {
	raw, e := d.o["tool_choice"], d.env
	if absent(raw) {
		return nil
	}
	switch raw[0] {
	case '"':
		e.toolChoice = text(raw)
		if r := oneOf("tool_choice", raw, "none", "auto", "required"); r != nil {
			return r
		}
		if e.toolChoice == "required" && absent(d.o["tools"]) {
			return invalid("tool_choice", "", "Tool choice 'required' must be specified with 'tools' parameter.")
		}
		return nil
	case '{':
	default:
		return wrongType("tool_choice", "one of a string or object", raw)
	}
	c := readObject(raw)
	switch kind := text(c["type"]); {
	case absent(c["type"]):
		return missing("tool_choice.type")
	case kind == "allowed_tools":
		e.toolChoice = text(c["mode"])
		return nil
	case slices.Contains(hosted(), kind):
		e.toolChoice = "required"
		return nil
	case kind != "function" && kind != "custom":
		return invalid("tool_choice.type", "invalid_value", "Invalid value: '%s'. Supported values are: %s.", kind, wordList(append([]string{"allowed_tools", "function", "custom"}, hosted()...)))
	}
	if absent(c["name"]) {
		return missing("tool_choice.name")
	}
	if e.toolChoice = text(c["name"]); !offered[e.toolChoice] {
		return invalid("tool_choice", "", "Tool choice '%s' not found in 'tools' parameter.", e.toolChoice)
	}
	return nil
}
