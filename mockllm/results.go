// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
)

// A mock that stands alone knows no more of a result than what the client put
// into its history, and clients put it there in many forms: the text, the text
// as a JSON string, the parts of an MCP result, the whole of it, an object
// around it, tags around it, a line of times before it. readings takes off what
// is certainly the client's, and offers what may be.

// maxPeels bounds how many forms may stand around each other.
const maxPeels = 12

// reading is what a result may be.
type reading struct {
	result json.RawMessage
	failed bool // the client says that the tool failed
}

// ReadResult returns what a tool said, of a result as a client has it in its
// history: JSON, or a text as a JSON string. What is certainly the client's,
// such as an MCP result around it or tags, is taken off.
func ReadResult(text string) json.RawMessage { return readings(text)[0].result }

// readings returns what a result that a client gave as text is. The first is
// to be taken; the others are for expressions that read what it has not.
func readings(text string) []reading {
	var out []reading
	failed := false
	add := func(v json.RawMessage) { out = append(out, reading{v, failed}) }
	for range maxPeels {
		text = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "\ufeff"))
		raw := json.RawMessage(text)
		if !json.Valid(raw) {
			if inner, ok := ofTags(text); ok {
				text = inner
				continue
			}
			if inner, bad, ok := ofPython(text); ok {
				text, failed = inner, failed || bad
				continue
			}
			add(quote(text))
			if v, ok := pythonJSON(text); ok {
				text = v
				continue
			}
			inner, ok := behindText(text)
			if !ok {
				return out
			}
			text = inner
			continue
		}
		switch inner, certain, bad := ofJSON(raw); {
		case inner == nil:
			add(raw)
			return out
		case !certain:
			add(raw)
			text = *inner
		default:
			failed = failed || bad
			text = *inner
		}
	}
	add(asJSON(text))
	return out
}

// ofJSON returns what stands in a JSON value: nil where that is no form of a
// client. It is certain where no tool would say so itself.
func ofJSON(raw json.RawMessage) (inner *string, certain, failed bool) {
	switch raw[0] {
	case '"':
		var s string
		_ = json.Unmarshal(raw, &s) // it is valid
		// A text that is a number, say, is that text.
		if t := strings.TrimSpace(s); t == "" || !strings.ContainsAny(t[:1], `{["<`) && !wallTime.MatchString(t) {
			return nil, false, false
		}
		return &s, true, false
	case '[':
		return ofList(raw)
	case '{':
		return ofObject(raw)
	}
	return nil, false, false
}

// ofList returns what stands in a list: blocks, the pair of blocks and artifact
// that langchain makes of a result, or one text.
func ofList(raw json.RawMessage) (inner *string, certain, failed bool) {
	if text, ok := ofBlocks(raw); ok {
		return &text, true, false
	}
	var list []json.RawMessage
	_ = json.Unmarshal(raw, &list) // it is valid
	if len(list) == 2 && (string(list[1]) == "null" || list[1][0] == '{') {
		if text, ok := ofBlocks(list[0]); ok {
			return &text, true, false
		}
	}
	if text, ok := ofUntyped(raw); ok {
		return &text, false, false
	}
	if len(list) == 1 && list[0][0] == '"' {
		text := string(list[0])
		return &text, false, false
	}
	return nil, false, false
}

// ofObject returns what stands in an object: a reply of MCP, a result of it, a
// block of one, or the only member of an object that some clients put around
// every result.
func ofObject(raw json.RawMessage) (inner *string, certain, failed bool) {
	var o map[string]json.RawMessage
	_ = json.Unmarshal(raw, &o) // it is valid
	text := func(s string) *string { return &s }
	if string(o["jsonrpc"]) == `"2.0"` {
		if v, ok := o["result"]; ok {
			return text(string(v)), true, false
		}
		if v, ok := o["error"]; ok {
			return text(string(v)), true, true
		}
	}
	blocks, isResult := ofBlocks(o["content"])
	isBlock := textBlock(o)
	if !isResult {
		isResult = structureAlone(o)
	}
	if isResult || isBlock {
		failed = string(o["isError"]) == "true" || string(o["is_error"]) == "true"
		for _, key := range []string{"structuredContent", "structured_content"} {
			if s := o[key]; len(s) > 0 && s[0] == '{' {
				return text(string(s)), true, failed
			}
		}
		if isBlock {
			_ = json.Unmarshal(o["text"], &blocks) // a string
		}
		return text(blocks), true, failed
	}
	if said, ok := ofUntyped(o["content"]); ok { // of Bedrock's Converse, whose results have a status
		status := string(o["status"])
		return text(said), status == `"success"` || status == `"error"`, status == `"error"`
	}
	if len(o) != 1 {
		return nil, false, false
	}
	if v := o["text"]; len(v) > 0 && v[0] == '"' {
		return text(string(v)), false, false
	}
	for _, key := range []string{"result", "output", "return_value", "content", "structuredContent", "toolResult", "tool_result"} {
		if v, ok := o[key]; ok {
			return text(string(v)), false, false
		}
	}
	return nil, false, false
}

// structureAlone reports whether o is a result of MCP that has structured
// content and no block, or blocks without a text.
func structureAlone(o map[string]json.RawMessage) bool {
	var structure json.RawMessage
	for key, v := range o {
		switch key {
		case "structuredContent", "structured_content":
			structure = v
		case "content", "isError", "is_error", "_meta", "meta", "resultType":
		default:
			return false
		}
	}
	var blocks []map[string]json.RawMessage
	content, ok := o["content"]
	ok = !ok || json.Unmarshal(content, &blocks) == nil
	for _, b := range blocks {
		ok = ok && mediaBlock(b)
	}
	return ok && len(o) > 1 && len(structure) > 0 && structure[0] == '{'
}

// ofUntyped returns the texts of a list of blocks that have a text, or JSON,
// and nothing else: Bedrock's and Gemini's.
func ofUntyped(raw json.RawMessage) (string, bool) {
	var list []map[string]json.RawMessage
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &list) != nil {
		return "", false
	}
	var texts []string
	for _, b := range list {
		var s string
		switch {
		case len(b) == 1 && b["json"] != nil:
			s = string(b["json"])
		case len(b) == 1 && len(b["text"]) > 0 && b["text"][0] == '"':
			_ = json.Unmarshal(b["text"], &s) // a string
		default:
			return "", false
		}
		texts = append(texts, s)
	}
	return strings.Join(texts, "\n"), texts != nil
}

// ofBlocks returns the texts of a list of blocks, as MCP and the providers
// have them. The text of an embedded resource is one where no block has any,
// or where it is JSON and they are not.
func ofBlocks(raw json.RawMessage) (string, bool) {
	var list []map[string]json.RawMessage
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return "", false
	}
	var texts, embedded []string
	for _, b := range list {
		switch {
		case string(b["type"]) == `"resource"`:
			var r struct{ Text *string }
			if json.Unmarshal(b["resource"], &r) == nil && r.Text != nil {
				embedded = append(embedded, *r.Text)
			}
		case textBlock(b):
			var s string
			_ = json.Unmarshal(b["text"], &s) // a string
			texts = append(texts, s)
		case !mediaBlock(b):
			return "", false
		}
	}
	if said := strings.Join(texts, "\n"); texts == nil || !json.Valid([]byte(said)) && slices.ContainsFunc(embedded, func(s string) bool { return json.Valid([]byte(s)) }) {
		texts = append(texts, embedded...)
	}
	return strings.Join(texts, "\n"), texts != nil
}

// textBlock reports whether o is a block of text. Members beside its text are
// those that blocks have.
func textBlock(o map[string]json.RawMessage) bool {
	kinds := []string{`"text"`, `"input_text"`, `"output_text"`}
	if !slices.Contains(kinds, string(o["type"])) || len(o["text"]) == 0 || o["text"][0] != '"' {
		return false
	}
	for key := range o {
		switch key {
		case "type", "text", "annotations", "_meta", "meta", "structuredContent", "structured_content", "isError", "is_error", "cache_control", "citations", "id":
		default:
			return false
		}
	}
	return true
}

func mediaBlock(o map[string]json.RawMessage) bool {
	switch string(o["type"]) {
	case `"image"`, `"image_url"`, `"input_image"`, `"audio"`, `"input_audio"`, `"resource"`, `"resource_link"`, `"file"`, `"input_file"`, `"document"`:
		return true
	}
	return false
}

var (
	// tagged is a text between tags that clients put around what tools say.
	tagged = regexp.MustCompile(`(?s)\A<(untrusted_context|tool_result|tool_response|tool_output)(?:\s[^>]*)?>\s*(.*?)\s*</(untrusted_context|tool_result|tool_response|tool_output)>`)
	// wallTime is a head that says how long a call took and how it ended.
	wallTime = regexp.MustCompile(`(?s)\A(?:(?:Exit code|Chunk ID|Wall time|Process exited|Original token count|Total output lines)\b[^\n]*\n)+Output:\n`)
	// observation is how agents that send results as text begin them.
	observation = regexp.MustCompile(`\A(?:Observation|Tool result|Tool output):\s*`)
)

// ofTags takes off what clients write around a text.
func ofTags(text string) (string, bool) {
	if at := wallTime.FindStringIndex(text); at != nil {
		return text[at[1]:], true
	}
	var parts []string
	for rest := text; rest != ""; {
		m := tagged.FindStringSubmatchIndex(rest)
		if m == nil || rest[m[2]:m[3]] != rest[m[6]:m[7]] {
			return "", false
		}
		parts = append(parts, rest[m[4]:m[5]])
		rest = strings.TrimSpace(rest[m[1]:])
	}
	return strings.Join(parts, "\n"), parts != nil
}

// behindText returns what follows a word that agents put before a result, or
// the JSON object or list that stands in a text on lines of its own, or between
// tags.
func behindText(text string) (string, bool) {
	if at := observation.FindStringIndex(text); at != nil {
		return text[at[1]:], true
	}
	for at := range len(text) {
		if c := text[at]; c != '{' && c != '[' || at > 0 && text[at-1] != '\n' && text[at-1] != ' ' && text[at-1] != '>' {
			continue
		}
		d := json.NewDecoder(strings.NewReader(text[at:]))
		var v json.RawMessage
		if d.Decode(&v) != nil {
			continue
		}
		rest := strings.TrimLeft(text[at+int(d.InputOffset()):], " \t\r")
		if rest == "" || rest[0] == '\n' || strings.HasPrefix(rest, "</") {
			return string(bytes.TrimSpace(v)), true
		}
	}
	return "", false
}

// Reading returns the request with the n-th further reading of the results, and
// whether there is one. A mock that stands alone has results in the forms that
// clients give them, and cannot always tell what a client has put around one:
// what is not found in Calls is looked for there. n is from 1.
func (a *Ask) Reading(n int) (*Ask, bool) {
	other := *a
	other.Calls = slices.Clone(a.Calls)
	found := false
	for i, list := range a.readings {
		if n < len(list) {
			other.Calls[i].Result, found = list[n].result, true
		}
	}
	return &other, found
}

// read fills in the results of calls from what the client gave, and returns
// the readings of each.
func read(calls []harness.Call, texts []*string) [][]reading {
	out := make([][]reading, len(calls))
	for i, text := range texts {
		if text == nil {
			continue
		}
		out[i] = readings(*text)
		calls[i].Executed, calls[i].Result, calls[i].Failed = true, out[i][0].result, out[i][0].failed
	}
	return out
}
