// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/look"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// clean is [look.Clean].
func clean(s string) string { return look.Clean(s) }

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
