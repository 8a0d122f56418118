// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package strictyaml

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// The parser stops at the first syntax error, gives at most a line, and that
// is often the line of the surrounding block. This file finds the place
// itself, and slips.go says what was probably meant.

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

// parserLine is what the parser says of the place, which it has no other form
// for.
var parserLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// syntaxProblem says where a file breaks, and why.
func syntaxProblem(file string, data []byte, err error) Problem {
	said := parserLine.FindStringSubmatch(err.Error())
	what := strings.TrimPrefix(err.Error(), said[0])
	at := breakingByte(data, err.Error())
	if at < 0 {
		line, _ := strconv.Atoi(said[1])
		return problemAt(file, max(line, 1), 1, "not YAML: %s", what)
	}
	if strings.HasPrefix(what, "exceeded max depth") {
		line, col := place(data, at)
		return problemAt(file, line, col, "nested far more than %d deep: is this YAML?", maxDepth)
	}
	if in, why := slip(data, at); why != "" {
		at, what = in, why
	} else if hint := hintFor(data, at); hint != "" {
		what += "; " + hint
	}
	line, col := place(data, at)
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

func place(data []byte, at int) (line, col int) {
	before := string(data[:min(at, len(data))])
	start := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(strings.TrimPrefix(before[start:], "\ufeff")) + 1
}

// lineStart is where the line of the byte at begins.
func lineStart(data []byte, at int) int { return bytes.LastIndexByte(data[:at], '\n') + 1 }

// lineAt is the line of the byte at.
func lineAt(data []byte, at int) string {
	line, _, _ := bytes.Cut(data[lineStart(data, at):], []byte("\n"))
	return strings.TrimSuffix(string(line), "\r")
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
