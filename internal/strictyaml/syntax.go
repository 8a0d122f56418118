// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package strictyaml

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// The parser stops at the first syntax error, gives at most a line, and that
// is often the line of the surrounding block. This file finds the place
// itself and says what was probably meant.

// badText finds bytes that no YAML file may have.
func badText(file string, data []byte) (Problem, bool) {
	if what := binary(data); what != "" {
		return problemAt(file, 1, 1, "the file is %s: save it as text in UTF-8", what), true
	}
	line, col := 1, 1
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return problemAt(file, line, col, "byte 0x%02x is not UTF-8: save the file as UTF-8", data[i]), true
		case r == '\r' && (i+1 == len(data) || data[i+1] != '\n'), r == 0x85, r == 0x2028, r == 0x2029:
			return problemAt(file, line, col, "U+%04X ends a line for YAML: write it as an escape between double quotes", r), true
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r == 0x7f, r == 0xfffe, r == 0xffff, r >= 0x80 && r < 0xa0:
			return problemAt(file, line, col, "control character U+%04X: write it as an escape between double quotes", r), true
		case r == '\n':
			line, col = line+1, 0
		}
		i, col = i+size, col+1
	}
	return Problem{}, false
}

// binary says what kind of file this is that is no text, by its beginning: by
// a mark of another encoding, or by many control characters. A few in a text
// are each a mistake of their own.
func binary(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return "UTF-16"
	case bytes.HasPrefix(data, []byte("\x1f\x8b")):
		return "compressed (gzip)"
	}
	const share = 10 // every tenth character
	head := data[:min(len(data), 1024)]
	odd := 0
	for _, c := range head {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != 0x1b {
			odd++
		}
	}
	if odd > 1 && odd*share > len(head) {
		return "binary"
	}
	return ""
}

var lineInError = regexp.MustCompile(`^yaml: (line \d+: )?`)

func syntaxProblem(file string, data []byte, err error) Problem {
	full := err.Error()
	what := lineInError.ReplaceAllString(full, "")
	at := breakingByte(data, full)
	if strings.HasPrefix(what, "exceeded max depth") {
		line, col := 1, 1
		if at >= 0 {
			line, col = place(data, at)
		} else {
			fmt.Sscanf(full, "yaml: line %d:", &line)
		}
		return problemAt(file, line, col, "nested far more than %d deep: is this YAML?", maxDepth)
	}
	if at < 0 {
		line := 1
		fmt.Sscanf(full, "yaml: line %d:", &line)
		return problemAt(file, line, 1, "not YAML: %s", what)
	}
	inFlow := false
	if strings.HasPrefix(what, "did not find expected ',' or") || what == "did not find expected node content" {
		if in, why := flowMistake(data, at); why != "" {
			at, what, inFlow = in, why, true
		}
	}
	line, col := place(data, at)
	if p, found := oddIndent(file, data, line); found {
		return p
	}
	if !strings.Contains(what, "escape character") && !strings.Contains(what, "tab character") {
		if p, found := slip(file, data, line); found && (!inFlow || p.Pos.Line < line) {
			return p
		}
	}
	text := lineText(data, line)
	if strings.Contains(what, "escape character") {
		return problemAt(file, line, col, "not YAML: %s", noEscape(data, at))
	}
	if hint := hintFor(what, text, col); hint != "" {
		what += "; " + hint
	}
	return problemAt(file, line, col, "not YAML: %s", what)
}

// breakingByte returns the index of the first byte with which the file breaks
// the way it does. The parser reads from front to back, so a beginning of the
// file that holds that byte gives the same error, and a shorter one does not.
// It is -1 when the error does not come early in a file too large for a search.
func breakingByte(data []byte, full string) int {
	const searchable = 256 << 10
	if len(data) > searchable {
		if data = data[:searchable]; firstError(data).Error() != full {
			return -1
		}
	}
	lo, hi := 0, len(data) // the error needs more than lo bytes, and hi bytes suffice
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		if firstError(data[:mid]).Error() == full {
			hi = mid
		} else {
			lo = mid
		}
	}
	at := hi - 1
	for at > 0 && (data[at] == '\n' || data[at] == '\r' || data[at] == ' ') {
		at--
	}
	return max(at, 0)
}

// firstError reads all documents up to the first error, which is io.EOF when
// there is no other.
func firstError(data []byte) error {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var n yaml.Node
		if err := dec.Decode(&n); err != nil {
			return err
		}
	}
}

// noEscape says which escape at or before a place is none.
func noEscape(data []byte, at int) string {
	i := bytes.LastIndexByte(data[:min(at+1, len(data))], '\\')
	if i < 0 || i+1 >= len(data) {
		return "found unknown escape character"
	}
	r, _ := utf8.DecodeRune(data[i+1:])
	return fmt.Sprintf("\\%c is no escape between double quotes: put the text between single quotes, in which \\ is an ordinary character, or write \\\\%c", r, r)
}

func place(data []byte, at int) (line, col int) {
	before := string(data[:min(at, len(data))])
	start := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(strings.TrimPrefix(before[start:], "\ufeff")) + 1
}

func lineText(data []byte, line int) string {
	lines := strings.SplitN(string(data), "\n", line+1)
	if line > len(lines) {
		return ""
	}
	return strings.TrimSuffix(lines[line-1], "\r")
}

// flowMistake finds the { } or [ ] that the byte at stands in, and returns
// the place of the first thing that cannot stand there, in words; without
// words when it finds none.
func flowMistake(data []byte, at int) (int, string) {
	nearest := bytes.LastIndexAny(data[:min(at+1, len(data))], "{[")
	if nearest < 0 {
		return at, ""
	}
	start := bytes.LastIndexByte(data[:nearest], '\n') + 1
	for open := start; open <= nearest; {
		if c := data[open]; c != '{' && c != '[' || open > start && strings.IndexByte(" {[,", data[open-1]) < 0 {
			if c == '"' || c == '\'' {
				if end := quotedEnd(data[:nearest], open); end > 0 {
					open = end
				}
			}
			open++
			continue
		}
		f := flow{data: data, text: -1}
		in, why := f.scan(open)
		if why != "" || in >= at {
			return in, why
		}
		open = in + 1
	}
	return at, ""
}

// flow is what has been read of a { } or [ ].
type flow struct {
	data     []byte
	open     []int // the brackets that are not closed
	text     int   // where the plain text being read begins, or -1
	colons   int   // ": " met since the last , or bracket
	complete bool  // a quoted text or bracket has just ended
	empty    bool  // nothing stands since the last , or bracket
}

// scan reads from the bracket at start on and returns the place of the first
// mistake in words, or without words that of the last bracket.
func (f *flow) scan(start int) (int, string) {
	for i := start; i < len(f.data); i++ {
		switch c := f.data[i]; {
		case c == '\n' && f.left(i+1):
			return f.notClosed()
		case c == ' ' || c == '\n' || c == '\r' || c == '\t':
		case c == '#' && i > 0 && (f.data[i-1] == ' ' || f.data[i-1] == '\n'):
			for i+1 < len(f.data) && f.data[i+1] != '\n' {
				i++
			}
		case (c == '&' || c == '!') && f.text < 0 && !f.complete: // an anchor or a tag, of what comes
			for i+1 < len(f.data) && strings.IndexByte(" \n\r\t,[]{}", f.data[i+1]) < 0 {
				i++
			}
			f.empty = false
		case (c == '"' || c == '\'') && f.text < 0 && !f.complete:
			end := quotedEnd(f.data, i)
			if end < 0 {
				return i, fmt.Sprintf("the text that begins with %c does not end", c)
			}
			i, f.complete, f.empty = end, true, false
		default:
			if why := f.take(i, c); why != "" {
				return i, why
			}
			if len(f.open) == 0 {
				return i, ""
			}
		}
	}
	return f.notClosed()
}

// take reads one character and says what is wrong with it.
func (f *flow) take(i int, c byte) string {
	switch {
	case c == '{' || c == '[':
		if f.text >= 0 || f.complete {
			if f.text >= 0 {
				if why := missingColon(string(f.data[f.text:min(i+100, len(f.data))])); why != "" {
					return why
				}
			}
			return fmt.Sprintf("%c inside an unquoted text between { } or [ ]", c)
		}
		f.open, f.colons, f.empty = append(f.open, i), 0, true
	case c == '?': // the parser takes it for a key, wherever it stands
		return "? inside an unquoted text between { } or [ ]"
	case c == '}' || c == ']':
		if top := f.open[len(f.open)-1]; f.data[top] != c-2 {
			line, col := place(f.data, top)
			return fmt.Sprintf("%c does not close the %c of line %d, column %d: a %c is missing", c, f.data[top], line, col, f.data[top]+2)
		}
		f.open, f.text, f.colons, f.complete, f.empty = f.open[:len(f.open)-1], -1, 0, true, false
	case c == ',' && f.empty:
		return "nothing stands before this comma: take it out, or quote the text that it belongs to"
	case c == ',':
		f.text, f.colons, f.complete, f.empty = -1, 0, false, true
	case c == ':' && (f.complete || i+1 == len(f.data) || strings.IndexByte(" \n\r,}]", f.data[i+1]) >= 0):
		if f.colons++; f.colons > 1 {
			return `a second ": " in one entry`
		}
		f.text, f.complete, f.empty = -1, false, false
	case f.complete:
		return "text after a value that has ended, between { } or [ ]"
	case f.text < 0:
		f.text, f.empty = i, false
	}
	return ""
}

func (f *flow) notClosed() (int, string) {
	top := f.open[len(f.open)-1]
	return top, fmt.Sprintf("the %c here is not closed", f.data[top])
}

var blockLine = regexp.MustCompile(`^( *)(?:- |-$|[A-Za-z_][\w.-]*:(?: |$))`)

// left reports whether the line at i belongs to what surrounds the brackets:
// an item or a key, indented no more than the line where they began.
func (f *flow) left(i int) bool {
	line, _, _ := bytes.Cut(f.data[i:], []byte("\n"))
	m := blockLine.FindSubmatch(bytes.TrimRight(line, "\r"))
	if m == nil || len(f.open) == 0 {
		return false
	}
	first := f.data[bytes.LastIndexByte(f.data[:f.open[0]], '\n')+1:]
	return len(m[1]) <= len(first)-len(bytes.TrimLeft(first, " "))
}

// quotedEnd returns the index of the quote that ends the text that begins at
// i, or -1.
func quotedEnd(data []byte, i int) int {
	q := data[i]
	for j := i + 1; j < len(data); j++ {
		switch {
		case q == '"' && data[j] == '\\':
			j++
		case data[j] == q && q == '\'' && j+1 < len(data) && data[j+1] == q:
			j++
		case data[j] == q:
			return j
		}
	}
	return -1
}

// oddSpace is a character that looks like a space, or like nothing, and is a
// letter to YAML.
const oddSpace = "[\u00a0\u1680\u2000-\u200b\u202f\u205f\u2060\u3000\ufeff]"

var (
	anyOddSpace = regexp.MustCompile(oddSpace)
	oddAtStart  = regexp.MustCompile(`(?m)^((?:[ \t]|- )*(?:[\w.-]+:|-)?[ \t]*)` + oddSpace)
)

// oddIndent finds a space that is none for YAML where the file would need one,
// up to the line where the parser stopped.
func oddIndent(file string, data []byte, last int) (Problem, bool) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	m := oddAtStart.FindSubmatchIndex(data)
	if m == nil {
		return Problem{}, false
	}
	line, col := place(data, m[3])
	if line > last {
		return Problem{}, false
	}
	return problemAt(file, line, col, "%s", oddSpaceIn(string(data[m[3]:m[1]]))), true
}

// oddSpaceIn says which odd space a text has; empty when it has none.
func oddSpaceIn(text string) string {
	found := anyOddSpace.FindString(text)
	if found == "" {
		return ""
	}
	r, _ := utf8.DecodeRuneInString(found)
	name := "a space"
	switch r {
	case 0xa0, 0x202f:
		name = "a non-breaking space"
	case 0x200b, 0x2060, 0xfeff:
		name = "an invisible character"
	}
	return fmt.Sprintf("%s (U+%04X) that YAML takes for a letter: write an ordinary space", name, r)
}

var (
	keyValue = regexp.MustCompile(`^[\s-]*(?:"[^"]*"|'[^']*'|[^\s"'{\[#][^:]*):\s+(.*)$`)
	listItem = regexp.MustCompile(`^\s*-\s+(.*)$`)
)

// whole reports whether a value is a quoted text, or a { } or [ ], with nothing
// behind it: it is not to blame for what comes after it.
func whole(value string) bool {
	data, end := []byte(value), -1
	switch value[0] {
	case '"', '\'':
		end = quotedEnd(data, 0)
	case '{', '[':
		f := flow{data: data, text: -1}
		if in, why := f.scan(0); why == "" {
			end = in
		}
	}
	if end < 0 {
		return false
	}
	rest := strings.TrimSpace(value[end+1:])
	return rest == "" || rest[0] == '#'
}

// hintFor says what was probably meant on the line where the parser stopped.
func hintFor(what, text string, col int) string {
	if strings.Contains(what, "tab character") || strings.HasPrefix(strings.TrimLeft(text, " "), "\t") {
		return "indent with spaces"
	}
	value := text
	if m := keyValue.FindStringSubmatch(text); m != nil {
		value = m[1]
	} else if m := listItem.FindStringSubmatch(text); m != nil {
		value = m[1]
	}
	first := byte(0)
	if value != "" && !whole(value) {
		first = value[0]
	}
	switch {
	case strings.Contains(what, "is not closed"):
		return "write its end, or quote the text that it belongs to"
	case strings.Contains(what, "this comma") || strings.Contains(what, "is missing"):
		return ""
	case strings.Contains(what, "between { }") || strings.Contains(what, "in one entry"):
		return advice
	case strings.Contains(value, "{{") && first == '{':
		return "YAML takes {{ for a map: " + advice
	case (first == '"' || first == '\'') && quotedEnd([]byte(value), 0) < 0:
		return fmt.Sprintf("the text that begins with %c does not end", first)
	case first == '"' || first == '\'':
		return fmt.Sprintf("a text that begins with %c ends with the next %c: put the whole into the other kind of quotes, or use `|`", first, first)
	case first == '*' || strings.Contains(value, "[*") || strings.Contains(what, "unknown anchor"):
		return "YAML takes * for an alias: " + advice
	case first == '{' || first == '[':
		return fmt.Sprintf("YAML takes %c for a map or list: %s", first, advice)
	case first == '&':
		return "YAML takes & for an anchor: " + advice
	case first == '!':
		return "YAML takes ! for the beginning of a tag: " + advice
	case first == '@' || first == '`' || first == '%' || first == '>' || first == '|':
		return fmt.Sprintf("a text cannot begin with %c: %s", first, advice)
	case strings.Contains(value, ": ") && strings.Contains(what, "mapping values"):
		return "YAML takes \": \" for a key and its value: " + advice
	case strings.Contains(what, "block sequence entries"):
		return "YAML takes \"- \" for a list: " + advice
	case strings.Contains(what, "mapping values") || strings.Contains(what, "expected key") || strings.Contains(what, "'-' indicator"):
		return "check the indentation"
	case strings.Contains(what, "expected ':'"):
		return "a key needs \": \" and a value"
	}
	return ""
}
