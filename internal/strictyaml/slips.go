// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package strictyaml

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// This file knows slips of the pen after which the parser stops elsewhere, or
// not at all.

var (
	gluedDash  = regexp.MustCompile(`^(\s*(?:- )*)-([A-Za-z_]\w*:(?:\s|$))`)
	gluedColon = regexp.MustCompile(`^(\s*(?:- )*)([A-Za-z_][\w-]*):([^\s/:'"\]},][^\s]*)`)
	// noColon is a name with the map behind it that was to be its value.
	noColon = regexp.MustCompile(`^([A-Za-z_][\w.-]*)\s*([{\[])`)
	mapKey  = regexp.MustCompile(`^\{\s*["']?[A-Za-z_][\w.-]*["']?\s*:`)
)

// slip finds a mistake on the line where the parser stopped, or before it, that
// explains why it did.
func slip(file string, data []byte, stopped int) (Problem, bool) {
	lines := strings.SplitN(string(bytes.TrimPrefix(data, []byte("\ufeff"))), "\n", stopped+1)
	if len(lines) > stopped {
		lines = lines[:stopped]
	}
	if line, col, q, end := openQuote(lines); line > 0 {
		return problemAt(file, line, col, "not YAML: the text that begins with %c here goes on to the next %c, on line %d: write its end", q, q, end), true
	}
	const near = 3 // lines back
	for i := len(lines) - 1; i >= 0 && i >= len(lines)-near; i-- {
		text := strings.TrimRight(lines[i], "\r")
		if m := gluedDash.FindStringSubmatch(text); m != nil {
			return problemAt(file, i+1, len(m[1])+1, "not YAML: a - without a space begins no item of a list: write %q", "- "+strings.TrimSpace(m[2])), true
		}
		if m := gluedColon.FindStringSubmatch(text); m != nil {
			return problemAt(file, i+1, len(m[1])+1, "not YAML: %q is one text: a key needs a space after its colon, as in %q", shorten(m[2]+":"+m[3]), m[2]+": "+shorten(m[3])), true
		}
	}
	if col, why := misplaced(lines); why != "" {
		return problemAt(file, stopped, col, "not YAML: %s", why), true
	}
	return Problem{}, false
}

// openQuote finds a quoted text that goes on over lines which are keys or items
// of their own, by the look of them: its end is missing.
func openQuote(lines []string) (line, col int, quote byte, end int) {
	all := strings.Join(lines, "\n")
	at := 0 // of the line
	for i := 0; i < len(lines); i++ {
		text := lines[i]
		for j := 0; j < len(text); j++ {
			c := text[j]
			if c == '#' && (j == 0 || text[j-1] == ' ') {
				break
			}
			if c != '"' && c != '\'' || !opens(text[:j]) {
				continue
			}
			stop := quotedEnd([]byte(all), at+j)
			if stop < 0 {
				break // the parser says so
			}
			inside := all[at+j : stop]
			n := strings.Count(inside, "\n")
			if n == 0 {
				j = stop - at
				continue
			}
			for _, swallowed := range strings.Split(inside, "\n")[1:] {
				if blockLine.MatchString(swallowed) {
					return i + 1, len([]rune(text[:j])) + 1, c, i + 1 + n
				}
			}
			// A text over several lines: go on after it.
			for range n {
				at += len(lines[i]) + 1
				i++
			}
			text, j = lines[i], stop-at
		}
		at += len(lines[i]) + 1
	}
	return 0, 0, 0, 0
}

// opens reports whether a quote after such a beginning of a line begins a text.
func opens(before string) bool {
	before = strings.TrimRight(before, " ")
	return before == "" || strings.IndexByte(":-,[{", before[len(before)-1]) >= 0
}

// column is where an item or a key of a block stands.
type column struct {
	at, line int // column from 0, line from 1
	item     bool
	name     string
}

// misplaced says why the last line stands where no block of those above has a
// place for it.
func misplaced(lines []string) (col int, why string) {
	var open []column
	for i, text := range lines {
		text = strings.TrimRight(text, "\r")
		rest := strings.TrimLeft(text, " ")
		indent := len(text) - len(rest)
		if rest == "" || rest[0] == '#' || !blockLine.MatchString(text) {
			continue
		}
		before := open
		for len(open) > 0 && open[len(open)-1].at > indent {
			open = open[:len(open)-1]
		}
		if i == len(lines)-1 {
			return nextTo(before, open, indent, strings.HasPrefix(rest, "-"))
		}
		open = append([]column(nil), open...)
		for strings.HasPrefix(rest, "- ") {
			open = push(open, column{at: len(text) - len(rest), line: i + 1, item: true, name: "-"})
			rest = strings.TrimLeft(rest[2:], " ")
		}
		if name, _, ok := strings.Cut(rest, ":"); ok {
			open = push(open, column{at: len(text) - len(rest), line: i + 1, name: name})
		}
	}
	return 0, ""
}

func push(open []column, c column) []column {
	if n := len(open); n > 0 && open[n-1].at == c.at {
		open[n-1] = c
		return open
	}
	return append(open, c)
}

// nextTo names the block that a line misses by one space or two.
func nextTo(before, open []column, indent int, item bool) (int, string) {
	if len(before) == 0 || len(open) > 0 && open[len(open)-1].at == indent {
		return 0, ""
	}
	best := column{line: -1}
	miss := 3 // spaces that are no slip any more
	for _, c := range before {
		d := max(c.at-indent, indent-c.at)
		if c.item == item && d < miss {
			best, miss = c, d
		}
	}
	if best.line < 0 || miss == 0 {
		return 0, ""
	}
	spaces := fmt.Sprintf("%d spaces", indent)
	if indent == 1 {
		spaces = "1 space"
	}
	return indent + 1, fmt.Sprintf("this line is indented by %s, and %q of line %d, beside which it may belong, by %d", spaces, best.name, best.line, best.at)
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
