// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package strictyaml

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/prose"
)

// slip finds a mistake that newcomers make, before the byte at which the
// parser stopped or at it, and says where it is and what to write; why is empty
// when there is none that is known.
func slip(data []byte, at int) (in int, why string) {
	for _, known := range []func([]byte, int) (int, string){tab, oddSpaces, escape, openText, glued, misplaced} {
		if in, why = known(data, at); why != "" {
			return in, why
		}
	}
	return at, ""
}

// tab finds a line that is indented with tabs.
func tab(data []byte, at int) (int, string) {
	if strings.HasPrefix(strings.TrimLeft(lineAt(data, at), " "), "\t") {
		return lineStart(data, at), "tabs are not allowed as indentation: indent with spaces"
	}
	return 0, ""
}

// oddSpace is a character that looks like a space, or like nothing, and is a
// letter to YAML.
const oddSpace = "[\u00a0\u1680\u2000-\u200b\u202f\u205f\u2060\u3000\ufeff]"

var (
	anyOddSpace = regexp.MustCompile(oddSpace)
	oddAtStart  = regexp.MustCompile(`(?m)^(\x{feff}?(?:[ \t]|- )*(?:[\w.-]+:|-)?[ \t]*)` + oddSpace)
)

// oddSpaces finds a space that is none for YAML where the file would need one.
func oddSpaces(data []byte, at int) (int, string) {
	if m := oddAtStart.FindSubmatchIndex(data); m != nil && lineStart(data, m[3]) <= at {
		return m[3], oddSpaceIn(string(data[m[3]:m[1]]))
	}
	return 0, ""
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

// escape finds an escape that is none.
func escape(data []byte, at int) (int, string) {
	if data[at] != '\\' || at+1 == len(data) {
		return 0, ""
	}
	r, _ := utf8.DecodeRune(data[at+1:])
	return at, fmt.Sprintf("\\%c is not an escape in double quotes: put the text between single quotes, in which \\ is an ordinary character, or write \\\\%c", r, r)
}

var (
	// blockLine is an item or a key of a block, by the look of it.
	blockLine = regexp.MustCompile(`^( *)(?:- |-$|[A-Za-z_][\w.-]*:(?: |$))`)
	// blockText is the line before a text in a block.
	blockText = regexp.MustCompile(`(?:^|[:-] )[|>][-+\d]*\s*(?:#.*)?$`)
)

// openText finds a quote or bracket without its end, up to the byte at which
// the parser stopped, and what cannot stand between brackets.
func openText(data []byte, at int) (int, string) {
	var open []int // brackets that are not closed
	text := -1     // where an unquoted text between brackets begins
	inside := false
	left := -1 // the bracket after which the block seems to go on
	for i := 0; i < len(data) && (i <= at || len(open) > 0); i++ {
		switch c := data[i]; {
		case c == '\n' && len(open) == 0:
			if blockText.MatchString(lineAt(data, i)) {
				i = blockEnd(data, i)
			}
		case c == '\n':
			if left < 0 && leaves(data, open[0], i+1) {
				left = open[len(open)-1]
			}
		case c == '#' && (i == 0 || strings.IndexByte(" \t\n", data[i-1]) >= 0):
			for i+1 < len(data) && data[i+1] != '\n' {
				i++
			}
		case (c == '"' || c == '\'') && text < 0 && opens(data, i):
			end := quotedEnd(data, i)
			if end < 0 {
				return i, fmt.Sprintf("the text that begins with %c does not end", c)
			}
			if swallows(string(data[i:end])) {
				line, _ := place(data, end)
				return i, fmt.Sprintf("the text that begins with %c here goes on to the next %c, on line %d: write its end", c, c, line)
			}
			i = end
		case (c == '{' || c == '[') && text >= 0 && left < 0:
			if why := missingColon(string(data[text:min(i+100, len(data))])); why != "" {
				return i, why
			}
			return i, fmt.Sprintf("%c inside an unquoted text between { } or [ ]; %s", c, advice)
		case (c == '{' || c == '[') && (len(open) > 0 || opens(data, i)):
			open = append(open, i)
		case len(open) == 0:
		case (c == '&' || c == '!') && text < 0: // an anchor or a tag, of what comes
			for i+1 < len(data) && strings.IndexByte(" \n\r\t,[]{}", data[i+1]) < 0 {
				i++
			}
		case c == '}' || c == ']':
			top := open[len(open)-1]
			if data[top] != c-2 && left < 0 {
				line, col := place(data, top)
				return i, fmt.Sprintf("%c does not close the %c of line %d, column %d: a %c is missing", c, data[top], line, col, data[top]+2)
			}
			if open, text = open[:len(open)-1], -1; len(open) == 0 && i <= at {
				left = -1
			}
		case c == ',' || c == ':' && (i+1 == len(data) || strings.IndexByte(" \n\r,}]", data[i+1]) >= 0):
			text = -1
		case c != ' ' && c != '\t' && c != '\r' && text < 0:
			text = i
		}
		inside = inside || i >= at && len(open) > 0
	}
	if left < 0 && len(open) > 0 {
		left = open[len(open)-1]
	}
	if left >= 0 {
		return left, fmt.Sprintf("the %c here is not closed; write its end, or quote the text that it belongs to", data[left])
	}
	if inside && data[at] != '*' { // that has a hint of its own
		return at, "this cannot stand between { } or [ ]; " + advice
	}
	return 0, ""
}

// opens reports whether a quote or bracket begins a value.
func opens(data []byte, at int) bool {
	before := bytes.TrimRight(data[lineStart(data, at):at], " ")
	return len(before) == 0 || strings.IndexByte(":-,[{", before[len(before)-1]) >= 0
}

// swallows reports whether a quoted text goes on over lines which are keys or
// items of their own.
func swallows(text string) bool {
	return slices.ContainsFunc(strings.Split(text, "\n")[1:], blockLine.MatchString)
}

// leaves reports whether the line at i belongs to what surrounds the bracket:
// an item or a key, indented no more than the line where that stands.
func leaves(data []byte, bracket, i int) bool {
	m := blockLine.FindStringSubmatch(lineAt(data, i))
	return m != nil && len(m[1]) <= indentOf(lineAt(data, bracket))
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// blockEnd is the newline before the first line after a text in a block, whose
// head ends at i.
func blockEnd(data []byte, i int) int {
	indent := indentOf(lineAt(data, i))
	for i+1 < len(data) {
		line := lineAt(data, i+1)
		if strings.TrimSpace(line) != "" && indentOf(line) <= indent {
			break
		}
		n := bytes.IndexByte(data[i+1:], '\n')
		if n < 0 {
			return len(data)
		}
		i += n + 1
	}
	return i
}

var (
	gluedDash  = regexp.MustCompile(`^(\s*(?:- )*)-([A-Za-z_]\w*:)(?:\s|$)`)
	gluedColon = regexp.MustCompile(`^(\s*(?:- )*)([A-Za-z_][\w-]*):([^\s/:'"\]},][^\s]*)`)
	// noColon is a name with the map behind it that was to be its value.
	noColon = regexp.MustCompile(`^([A-Za-z_][\w.-]*)\s*([{\[])`)
	mapKey  = regexp.MustCompile(`^\{\s*["']?[A-Za-z_][\w.-]*["']?\s*:`)
)

// glued finds a dash or a colon without the space behind it, on the line where
// the parser stopped or shortly before.
func glued(data []byte, at int) (int, string) {
	for range 3 {
		start, text := lineStart(data, at), lineAt(data, at)
		if m := gluedDash.FindStringSubmatch(text); m != nil {
			return start + len(m[1]), fmt.Sprintf("a - without a space begins no item of a list: write %q", "- "+m[2])
		}
		if m := gluedColon.FindStringSubmatch(text); m != nil {
			return start + len(m[1]), fmt.Sprintf("%q is one text: a key needs a space after its colon, as in %q", prose.Excerpt(m[2]+":"+m[3], maxQuoted), m[2]+": "+prose.Excerpt(m[3], maxQuoted))
		}
		if start == 0 {
			break
		}
		at = start - 1
	}
	return 0, ""
}

// misplaced finds that the line stands beside a block above and misses it by
// one space or two.
func misplaced(data []byte, at int) (int, string) {
	start, text := lineStart(data, at), lineAt(data, at)
	if !blockLine.MatchString(text) {
		return 0, ""
	}
	lines := strings.Split(string(data[:start]), "\n")
	indent := indentOf(text)
	item := text[indent] == '-'
	inner := 1 << 30   // the indentation of the innermost block that is left
	miss, why := 2, "" // more spaces are no slip
	for n := len(lines) - 1; n >= 0 && inner > 0; n-- {
		if !blockLine.MatchString(lines[n]) {
			continue
		}
		for _, c := range slices.Backward(columns(lines[n])) {
			if c.at >= inner {
				continue
			}
			inner = c.at
			d := max(c.at-indent, indent-c.at)
			if d == 0 && why == "" {
				return 0, ""
			}
			if c.item == item && d <= miss {
				miss, why = d, fmt.Sprintf("this line is indented by %s, but %q of line %d, which may be its neighbour, by %d", spaces(indent), c.name, n+1, c.at)
			}
		}
	}
	return start + indent, why
}

func spaces(n int) string {
	if n == 1 {
		return "1 space"
	}
	return fmt.Sprintf("%d spaces", n)
}

// column is where an item or a key of a block stands.
type column struct {
	at   int // from 0
	item bool
	name string
}

func columns(line string) (list []column) {
	at := indentOf(line)
	for ; strings.HasPrefix(line[at:], "- "); at += 1 + indentOf(line[at+1:]) {
		list = append(list, column{at, true, "-"})
	}
	if name, _, ok := strings.Cut(line[at:], ":"); ok {
		list = append(list, column{at, false, name})
	}
	return list
}

// missingColon says that a plain text was to be a name with a map behind it;
// empty when it does not look like that. rest is the text from the name on.
func missingColon(rest string) string {
	m := noColon.FindStringSubmatch(rest)
	if m == nil || m[2] == "{" && !mapKey.MatchString(rest[strings.IndexByte(rest, '{'):]) {
		return ""
	}
	return fmt.Sprintf(`a ": " is missing before the %s: write %q`, m[2], m[1]+": "+m[2])
}

// curlyQuote says that a text begins with a quote of print, which is a letter
// to YAML; empty when it does not.
func curlyQuote(text string) string {
	for _, q := range []string{"“", "”", "„", "‘", "’", "‚", "«"} {
		if strings.HasPrefix(text, q) || strings.HasSuffix(text, q) && q != "’" {
			return fmt.Sprintf("%s is a letter to YAML, and no quote: write \" in its place, or put the whole between ' '", q)
		}
	}
	return ""
}

// hints say what YAML takes a value for, by its look; the first that fits
// counts. %c stands for its first character.
var hints = []struct {
	value *regexp.Regexp
	says  string
}{
	{regexp.MustCompile(`^\{.*\{`), "YAML takes {{ for a map: " + advice},
	{regexp.MustCompile(`^["']`), "a text that begins with %c ends with the next %c: put the whole into the other kind of quotes, or use `|`"},
	{regexp.MustCompile(`^\*|[\[{,:] *\*`), "YAML takes * for an alias: " + advice},
	{regexp.MustCompile(`^[{\[]`), "YAML takes %c for a map or list: " + advice},
	{regexp.MustCompile(`^&`), "YAML takes & for an anchor: " + advice},
	{regexp.MustCompile(`^!`), "YAML takes ! for the beginning of a tag: " + advice},
	{regexp.MustCompile("^[@`%>|]"), "a text cannot begin with %c: " + advice},
	{regexp.MustCompile(`^- `), `YAML takes "- " for a list: ` + advice},
	{regexp.MustCompile(`: `), `YAML takes ": " for a key and its value: ` + advice},
}

// valueOf is the value on a line of a block.
var valueOf = regexp.MustCompile(`^[\s-]*(?:(?:"[^"]*"|'[^']*'|[^\s"'{\[#-][^:]*):\s+)?(.*)$`)

// hintFor says what was probably meant on the line where the parser stopped.
func hintFor(data []byte, at int) string {
	text := lineAt(data, at)
	m := valueOf.FindStringSubmatchIndex(text)
	value := text[m[2]:]
	for _, h := range hints {
		if lineStart(data, at)+m[2] <= at && h.value.MatchString(value) {
			return strings.ReplaceAll(h.says, "%c", value[:1])
		}
	}
	if !strings.Contains(text, ":") && !strings.HasPrefix(strings.TrimSpace(text), "-") {
		return `a key needs ": " and a value`
	}
	return "check the indentation"
}
