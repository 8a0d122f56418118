// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package responses

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// hosted are the tools that the provider runs itself. They have no name that
// a script could call.
func hosted() []string {
	return []string{
		"web_search", "web_search_preview", "web_search_2025_08_26", "web_search_preview_2025_03_11", "file_search", "computer", "computer_use_preview",
		"code_interpreter", "image_generation", "mcp", "local_shell", "shell", "apply_patch", "tool_search",
	}
}

func (d *reader) readTools() *dialect.Refusal {
	list, first := array("tools", d.o["tools"], "an array of objects")
	seen := make(map[string]bool)
	for i, raw := range list {
		refusal := d.readTool(fmt.Sprintf("tools[%d]", i), raw, "", seen)
		if first == nil {
			first = refusal
		}
	}
	if len(list) > dialect.MaxTools && first == nil {
		first = dialect.TooMany("tools", dialect.MaxTools, len(list))
	}
	if choice := d.readChoice(seen); first == nil {
		first = choice
	}
	return first
}

// readTool reads one tool. All tools are read, whatever is wrong with one:
// the journal shows them.
func (d *reader) readTool(path string, raw json.RawMessage, namespace string, seen map[string]bool) *dialect.Refusal {
	if raw[0] != '{' {
		return dialect.WrongType(path, "an object", raw)
	}
	o := dialect.ReadObject(raw)
	kind := dialect.TextOf(o["type"])
	switch {
	case dialect.Absent(o["type"]):
		return dialect.Missing(path + ".type")
	case slices.Contains(hosted(), kind):
		return nil
	case kind == "namespace" && namespace == "":
		return d.readNamespace(path, o, seen)
	case kind != "function" && kind != "custom":
		return dialect.Invalid(path+".type", "invalid_value", "Invalid value: '%s'. Supported values are: %s.", kind, dialect.WordList(append([]string{"function", "custom", "namespace"}, hosted()...)))
	}
	t := harness.Tool{Name: dialect.TextOf(o["name"]), Description: dialect.TextOf(o["description"])}
	var refusal *dialect.Refusal
	if kind == "custom" {
		if refusal = missingName(path, o); refusal == nil {
			refusal = dialect.CheckName(path+".name", t.Name)
		}
	} else {
		if string(o["parameters"]) == "null" {
			delete(o, "parameters")
		}
		t, refusal = dialect.ReadFunction(path, o)
	}
	own := ToolName{Namespace: namespace, Name: t.Name, Custom: kind == "custom"}
	t.Name = joinNamespace(namespace, t.Name)
	if own.Namespace != "" || own.Custom {
		d.r.names[t.Name] = own
	}
	if refusal == nil && seen[t.Name] {
		refusal = dialect.Invalid("tools", "invalid_value", "Invalid value for 'tools': duplicate function name '%s'. Tool names must be unique.", t.Name)
	}
	seen[t.Name] = true
	d.env.Tools = append(d.env.Tools, t)
	return refusal
}

func missingName(path string, o dialect.Object) *dialect.Refusal {
	if dialect.Absent(o["name"]) {
		return dialect.Missing(path + ".name")
	}
	return dialect.CheckString(path+".name", o["name"], nil)
}

func (d *reader) readNamespace(path string, o dialect.Object, seen map[string]bool) *dialect.Refusal {
	if r := missingName(path, o); r != nil {
		return r
	}
	list, first := array(path+".tools", o["tools"], "an array of objects")
	for i, raw := range list {
		if r := d.readTool(fmt.Sprintf("%s.tools[%d]", path, i), raw, dialect.TextOf(o["name"]), seen); first == nil {
			first = r
		}
	}
	return first
}

func (d *reader) readChoice(offered map[string]bool) *dialect.Refusal {
	raw, e := d.o["tool_choice"], d.env
	if dialect.Absent(raw) {
		return nil
	}
	switch raw[0] {
	case '"':
		e.ToolChoice = dialect.TextOf(raw)
		if r := dialect.OneOf("tool_choice", raw, "none", "auto", "required"); r != nil {
			return r
		}
		if e.ToolChoice == "required" && dialect.Absent(d.o["tools"]) {
			return dialect.Invalid("tool_choice", "", "Tool choice 'required' must be specified with 'tools' parameter.")
		}
		return nil
	case '{':
	default:
		return dialect.WrongType("tool_choice", "one of a string or object", raw)
	}
	c := dialect.ReadObject(raw)
	switch kind := dialect.TextOf(c["type"]); {
	case dialect.Absent(c["type"]):
		return dialect.Missing("tool_choice.type")
	case kind == "allowed_tools":
		e.ToolChoice = dialect.TextOf(c["mode"])
		return nil
	case slices.Contains(hosted(), kind):
		e.ToolChoice = "required"
		return nil
	case kind != "function" && kind != "custom":
		return dialect.Invalid("tool_choice.type", "invalid_value", "Invalid value: '%s'. Supported values are: %s.", kind, dialect.WordList(append([]string{"allowed_tools", "function", "custom"}, hosted()...)))
	}
	if dialect.Absent(c["name"]) {
		return dialect.Missing("tool_choice.name")
	}
	if e.ToolChoice = dialect.TextOf(c["name"]); !offered[e.ToolChoice] {
		return dialect.Invalid("tool_choice", "", "Tool choice '%s' not found in 'tools' parameter.", e.ToolChoice)
	}
	return nil
}
