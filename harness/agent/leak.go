// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/exactjson"
)

// leak is a tool call that a model wrote into its text.
type leak struct {
	call       harness.ToolCall
	start, end int // in the text
}

// maxLeakSteps bounds the work on one text: each brace may begin a literal
// that turns out to be none only at its end.
const maxLeakSteps = 4 << 20

// findLeaks looks for calls of offered tools in a text. Some gateways turn a
// call into the repr of a Python dict at the end of the text, or several, in
// Anthropic's words (name, input) or OpenAI's (function, arguments), with the
// literals of Python and of JSON mixed; some models write JSON between tags, or
// tags alone.
func findLeaks(text string, offered []harness.Tool) []leak {
	known := make(map[string]bool, len(offered))
	for _, t := range offered {
		known[t.Name] = true
	}
	var leaks []leak
	p := literalParser{s: text, steps: maxLeakSteps}
	for i := 0; i < len(text); {
		next := strings.IndexByte(text[i:], '{')
		if next < 0 {
			break
		}
		i += next
		p.pos = i
		v, ok := p.value(0)
		if !ok {
			i++
			continue
		}
		call, ok := leakedCall(v, known)
		if !ok {
			i++ // a call may be inside
			continue
		}
		leaks = append(leaks, leak{call: call, start: i, end: p.pos})
		i = p.pos
	}
	return withTagged(leaks, text, known)
}

// withoutLeaks cuts the calls out of a text, with the tags around them.
func withoutLeaks(text string, leaks []leak) string {
	var sb strings.Builder
	from := 0
	for _, l := range leaks {
		before := strings.TrimRight(text[from:l.start], " \n")
		sb.WriteString(strings.TrimSuffix(before, "<tool_call>"))
		from = l.end
		if rest := strings.TrimLeft(text[from:], " \n"); strings.HasPrefix(rest, "</tool_call>") {
			from = len(text) - len(rest) + len("</tool_call>")
		}
	}
	sb.WriteString(text[from:])
	return strings.TrimSpace(sb.String())
}

// leakedCall reads a literal as a call of a known tool.
func leakedCall(v literal, known map[string]bool) (harness.ToolCall, bool) {
	id := v.get("id").text
	if f := v.get("function"); f.members != nil {
		v = f
	}
	call := harness.ToolCall{ID: id, Name: v.get("name").text}
	if !known[call.Name] {
		return call, false
	}
	for _, key := range []string{"input", "arguments", "args", "parameters"} {
		switch args := v.get(key); {
		case args.members != nil:
			call.Arguments = args.json
			return call, true
		case strings.HasPrefix(strings.TrimSpace(args.text), "{"):
			call.Arguments = args.text // arguments as a text, in OpenAI's way
			return call, true
		}
	}
	return call, false
}

// literal is a value of a Python or JSON literal.
type literal struct {
	json    string             // the value as JSON, numbers as spelled
	text    string             // of a string
	members map[string]literal // of a dict; not nil for an empty one
}

func (l literal) get(key string) literal { return l.members[key] }

// literalParser reads dicts as Python and JSON write them. It takes steps
// from a budget over all its attempts.
type literalParser struct {
	s     string
	pos   int
	steps int
}

const maxLiteralDepth = 64

// peek returns the next byte that is not white space, 0 at the end.
func (p *literalParser) peek() byte {
	for p.pos < len(p.s) && p.steps > 0 {
		switch c := p.s[p.pos]; c {
		case ' ', '\t', '\n', '\r':
			p.pos++
			p.steps--
		default:
			return c
		}
	}
	return 0
}

func (p *literalParser) value(depth int) (literal, bool) {
	c := p.peek()
	p.steps--
	if depth > maxLiteralDepth || p.steps <= 0 {
		return literal{}, false
	}
	switch c {
	case '{':
		return p.dict(depth)
	case '[':
		return p.list(depth)
	case '\'', '"':
		s, ok := p.str()
		return literal{json: quote(s), text: s}, ok
	}
	return p.word()
}

func (p *literalParser) dict(depth int) (literal, bool) {
	p.pos++
	out := literal{members: make(map[string]literal)}
	var sb strings.Builder
	for n := 0; ; n++ {
		c := p.peek()
		if c == '}' {
			p.pos++
			out.json = "{" + sb.String() + "}"
			return out, true
		}
		if c != '\'' && c != '"' {
			return out, false
		}
		key, ok := p.str()
		if !ok || p.peek() != ':' {
			return out, false
		}
		p.pos++
		v, ok := p.value(depth + 1)
		if !ok {
			return out, false
		}
		if n > 0 {
			sb.WriteByte(',')
		}
		sb.WriteString(quote(key) + ":" + v.json)
		out.members[key] = v
		if !p.comma('}') {
			return out, false
		}
	}
}

func (p *literalParser) list(depth int) (literal, bool) {
	p.pos++
	var sb strings.Builder
	for n := 0; ; n++ {
		if p.peek() == ']' {
			p.pos++
			return literal{json: "[" + sb.String() + "]"}, true
		}
		v, ok := p.value(depth + 1)
		if !ok {
			return literal{}, false
		}
		if n > 0 {
			sb.WriteByte(',')
		}
		sb.WriteString(v.json)
		if !p.comma(']') {
			return literal{}, false
		}
	}
}

// comma takes a comma, and otherwise wants to see the end.
func (p *literalParser) comma(end byte) bool {
	switch p.peek() {
	case ',':
		p.pos++
		return true
	case end:
		return true
	}
	return false
}

// str reads a string in single or double quotes.
func (p *literalParser) str() (string, bool) {
	end := p.s[p.pos]
	p.pos++
	var sb strings.Builder
	for p.pos < len(p.s) && p.steps > 0 {
		p.steps--
		c := p.s[p.pos]
		switch {
		case c == end:
			p.pos++
			return sb.String(), true
		case c != '\\':
			sb.WriteByte(c)
			p.pos++
			continue
		}
		if p.pos+1 >= len(p.s) {
			break
		}
		p.pos++
		if !p.escape(&sb) {
			return "", false
		}
	}
	return "", false
}

// escape reads what follows a backslash.
func (p *literalParser) escape(sb *strings.Builder) bool {
	c := p.s[p.pos]
	p.pos++
	switch c {
	case 'n', 't', 'r', 'b', 'f':
		sb.WriteByte(map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f'}[c])
	case 'x', 'u', 'U':
		n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
		if p.pos+n > len(p.s) {
			return false
		}
		v, err := strconv.ParseUint(p.s[p.pos:p.pos+n], 16, 32)
		if err != nil {
			return false
		}
		p.pos += n
		r := rune(v)
		if utf16.IsSurrogate(r) && strings.HasPrefix(p.s[p.pos:], `\u`) && p.pos+6 <= len(p.s) {
			low, _ := strconv.ParseUint(p.s[p.pos+2:p.pos+6], 16, 16)
			if pair := utf16.DecodeRune(r, rune(low)); pair != utf8.RuneError {
				r = pair
				p.pos += 6
			}
		}
		sb.WriteRune(r)
	case '\\', '\'', '"', '/':
		sb.WriteByte(c)
	default: // Python keeps an escape it does not know
		sb.WriteByte('\\')
		sb.WriteByte(c)
	}
	return true
}

// word reads a number or one of the words that both languages have.
func (p *literalParser) word() (literal, bool) {
	start := p.pos
	for p.pos < len(p.s) && (isAlnum(p.s[p.pos]) || strings.IndexByte("+-.", p.s[p.pos]) >= 0) {
		p.pos++
		p.steps--
	}
	switch w := p.s[start:p.pos]; w {
	case "None", "null":
		return literal{json: "null"}, true
	case "True", "true":
		return literal{json: "true"}, true
	case "False", "false":
		return literal{json: "false"}, true
	default:
		ok := w != "" && (w[0] == '-' || w[0] >= '0' && w[0] <= '9') && json.Valid([]byte(w))
		return literal{json: w}, ok
	}
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// quote writes a JSON string, and keeps < > & as they are.
func quote(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\ufffd")
	}
	return string(exactjson.Quote(s))
}
