// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/prose"
)

// clean makes the text of a model or tool safe to show: what cannot be seen
// but changes how the rest is read (terminal escapes, bidi marks, zero-width
// and tag characters) is spelled out, so that it neither acts nor hides. It
// does not escape for HTML or XML; the writers do.
func clean(s string) string {
	if plainASCII(s) {
		return s
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if strings.IndexFunc(s, unseen) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, "⟨0x%02X⟩", s[i])
		case unseen(r):
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// plainASCII reports whether s has nothing but letters, signs and spaces of
// ASCII, tabs and newlines, as almost every text.
func plainASCII(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' || c > '~') && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// unseen reports whether clean spells r out. The two joiners stay: emoji and
// several scripts need them.
func unseen(r rune) bool {
	switch r {
	case '\n', '\t', '\u200c', '\u200d':
		return false
	case '\u2028', '\u2029', '\u3164', '\u115f', '\u1160':
		return true
	}
	// Private use is here because a font may draw anything for it, and
	// noncharacters because XML has no way to carry them.
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Noncharacter_Code_Point)
}

// cut returns at most about max bytes of s, whole runes, and how many bytes it
// left out. Max of 0 or less cuts nothing.
func cut(s string, max int) (head string, left int) {
	if max <= 0 {
		return s, 0
	}
	return prose.Head(s, max)
}

// oneLine is clean and cut for a place that has room for one line.
func oneLine(s string, max int) string {
	head, left := cut(s, max)
	head = strings.Join(strings.Fields(clean(head)), " ")
	if left > 0 {
		head += "… (" + bytesText(left) + " more)"
	}
	return head
}

// maxIndentDepth is how deep JSON may nest and still be indented: the
// indentation of hostile nesting would be quadratic.
const maxIndentDepth = 40

// prettyJSON indents raw, or returns it as it is when it is short, no JSON, or
// nested beyond reason. Key order and number spelling are kept.
func prettyJSON(raw []byte) string {
	raw = bytes.TrimSpace(raw)
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	if b.Len() <= 60 || tooDeep(raw) {
		return b.String()
	}
	b.Reset()
	// Cannot err: Compact has read it.
	_ = json.Indent(&b, raw, "", "  ")
	return b.String()
}

// tooDeep counts brackets, those in strings too, which is good enough for a
// question of taste.
func tooDeep(raw []byte) bool {
	depth := 0
	for _, c := range raw {
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth > maxIndentDepth {
			return true
		}
	}
	return false
}

// durationText prints d with its unit and about three digits.
func durationText(d time.Duration) string {
	switch {
	case d <= 0:
		return "0 ms"
	case d < time.Millisecond:
		return fmt.Sprintf("%.2f ms", float64(d)/1e6)
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/1e6)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	default:
		d = d.Round(time.Second)
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	}
}

// bytesText prints a number of bytes with its unit.
func bytesText(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000*1000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	default:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
}

// thousands prints n in groups of three digits.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
