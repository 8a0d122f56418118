// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Agents in Python often hand over str(x) of what they have: of a result of
// MCP, of its content, or of a dict.

// pythonResult begins the text that Python makes of a result or its content.
var pythonResult = regexp.MustCompile(`\A(?:\[(?:TextContent|EmbeddedResource|ImageContent)\(|TextContent\(|CallToolResult\(|(?:_?meta=(?:None|\{\}) )?content=\[)`)

// ofPython returns what stands in the text that Python makes of a result of
// MCP: its structured content, else its texts.
func ofPython(text string) (inner string, failed, ok bool) {
	if !pythonResult.MatchString(text) {
		return "", false, false
	}
	var texts []string
	tried := false
	for i := 0; i < len(text); {
		rest := text[i:]
		if rest[0] == '\'' || rest[0] == '"' {
			s, n, ok := pythonString(rest)
			if !ok {
				return "", false, false
			}
			if strings.HasSuffix(text[:i], " text=") || strings.HasSuffix(text[:i], "(text=") {
				texts = append(texts, s)
			}
			i += n
			continue
		}
		for _, key := range []string{"structuredContent=", "structured_content="} {
			if after, found := strings.CutPrefix(rest, key); found && !tried && strings.HasPrefix(after, "{") {
				tried = true // once, so that a hostile text takes no longer
				if v, _, ok := pythonValue(after); ok {
					inner = v
				}
			}
		}
		failed = failed || strings.HasPrefix(rest, "isError=True") || strings.HasPrefix(rest, "is_error=True")
		i++
	}
	if inner != "" {
		return inner, failed, true
	}
	return strings.Join(texts, "\n"), failed, texts != nil
}

// pythonJSON returns a dict or list as Python writes it as JSON.
func pythonJSON(text string) (string, bool) {
	if text == "" || text[0] != '{' && text[0] != '[' {
		return "", false
	}
	v, rest, ok := pythonValue(text)
	return v, ok && strings.TrimSpace(rest) == ""
}

// pythonValue turns the dict or list at the beginning of text into JSON, and
// returns what follows it.
func pythonValue(text string) (v, rest string, ok bool) {
	var b strings.Builder
	depth := 0
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\'' || c == '"':
			s, n, ok := pythonString(text[i:])
			if !ok {
				return "", "", false
			}
			b.Write(quote(s))
			i += n
			continue
		case strings.HasPrefix(text[i:], "True"):
			b.WriteString("true")
			i += len("True")
			continue
		case strings.HasPrefix(text[i:], "False"):
			b.WriteString("false")
			i += len("False")
			continue
		case strings.HasPrefix(text[i:], "None"):
			b.WriteString("null")
			i += len("None")
			continue
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		b.WriteByte(text[i])
		i++
		if depth == 0 {
			return b.String(), text[i:], json.Valid([]byte(b.String()))
		}
	}
	return "", "", false
}

// pythonString reads the string literal at the beginning of text, and returns
// how long it is there.
func pythonString(text string) (s string, n int, ok bool) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == text[0]:
			return b.String(), i + 1, true
		case c != '\\':
			b.WriteByte(c)
			continue
		}
		if i++; i == len(text) {
			break
		}
		digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[text[i]]
		switch c := text[i]; {
		case digits > 0:
			if i+digits >= len(text) {
				return "", 0, false
			}
			r, err := strconv.ParseUint(text[i+1:i+1+digits], 16, 32)
			if err != nil || !utf8.ValidRune(rune(r)) {
				return "", 0, false
			}
			b.WriteRune(rune(r))
			i += digits
		default:
			at := strings.IndexByte("nrtabfv", c)
			if at >= 0 {
				c = "\n\r\t\a\b\f\v"[at]
			}
			b.WriteByte(c)
		}
	}
	return "", 0, false
}
