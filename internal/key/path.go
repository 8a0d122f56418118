// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package key

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Path is a place in a JSON body, or many.
type Path struct {
	text     string
	anywhere bool // it began with `**`
	body     bool // its first word is body or params, which may be the whole or a key of it
	steps    []string
	pattern  *regexp.Regexp // of a part of the text at the place; nil for all of it
}

// ignoredText stands for the part of a text that does not count.
const ignoredText = "…"

// ParsePath reads a path: keys with dots between, an index as a key or in
// brackets, `*` for any key or index, `**` at the front for any depth. A key
// that has dots or brackets in it is quoted: metadata["a.b"]. It may begin with
// body, as the paths of a [Difference] do, or with params, as those of a call:
//
//	messages.0.content
//	body.messages[0].content
//	**.cache_control
//	messages[0].content =~ \d{4}-\d{2}-\d{2}
//
// What is behind `=~` is a regular expression, and the path then is about the
// parts of texts that it fits.
func ParsePath(text string) (*Path, error) {
	p := &Path{text: text}
	place, pattern, partly := strings.Cut(text, "=~")
	if partly {
		var err error
		if p.pattern, err = regexp.Compile(strings.TrimSpace(pattern)); err != nil {
			return nil, fmt.Errorf("path %q: after =~: %w", text, err)
		}
		if strings.TrimSpace(pattern) == "" || p.pattern.MatchString("") {
			return nil, fmt.Errorf("path %q: the pattern after =~ matches the empty text", text)
		}
	}
	rest := strings.TrimSpace(place)
	if rest == "" {
		return nil, fmt.Errorf("path %q is empty: want one such as messages[0].content or **.date", text)
	}
	for first := true; rest != ""; first = false {
		step, after, err := nextStep(rest, first)
		if err != nil {
			return nil, fmt.Errorf("path %q: %w", text, err)
		}
		rest = after
		switch {
		case step == "**" && first:
			p.anywhere = true
		case step == "**":
			return nil, fmt.Errorf("path %q: ** is allowed only at the beginning", text)
		default:
			p.steps = append(p.steps, step)
		}
	}
	if len(p.steps) == 0 && p.pattern == nil {
		return nil, fmt.Errorf("path %q: want a key after **, such as **.date", text)
	}
	p.body = !p.anywhere && len(p.steps) > 1 && (p.steps[0] == "body" || p.steps[0] == "params")
	return p, nil
}

// nextStep takes the first step off a path.
func nextStep(s string, first bool) (step, rest string, err error) {
	switch {
	case strings.HasPrefix(s, `["`):
		quoted, err := strconv.QuotedPrefix(s[1:])
		if err != nil || !strings.HasPrefix(s[1+len(quoted):], "]") {
			return "", "", fmt.Errorf("a key in brackets is not closed: %s", s)
		}
		step, err = strconv.Unquote(quoted)
		return step, s[len(quoted)+2:], err
	case s[0] == '[':
		step, rest, ok := strings.Cut(s[1:], "]")
		if !ok || step == "" {
			return "", "", fmt.Errorf("an index in brackets is not closed: %s", s)
		}
		return step, rest, nil
	case s[0] == '.' && !first:
		s = s[1:]
	case !first:
		return "", "", fmt.Errorf("want a dot or a bracket before %q", s)
	}
	n := strings.IndexAny(s, ".[")
	if n < 0 {
		n = len(s)
	}
	if n == 0 {
		return "", "", fmt.Errorf("a key is empty")
	}
	return s[:n], s[n:], nil
}

// String is the path as it was written.
func (p *Path) String() string { return p.text }

// Whole reports whether the path is about whole values, and not about parts of
// texts.
func (p *Path) Whole() bool { return p.pattern == nil }

// Fits reports whether the path is about the place at steps: keys, and
// indexes as numbers from 0.
func (p *Path) Fits(steps []string) bool {
	return p.fits(steps, p.steps) || p.body && p.fits(steps, p.steps[1:])
}

func (p *Path) fits(path, steps []string) bool {
	if p.anywhere {
		path = path[max(0, len(path)-len(steps)):]
	}
	if len(path) != len(steps) {
		return false
	}
	for i, s := range steps {
		if s != "*" && s != path[i] {
			return false
		}
	}
	return true
}

// step is a key as it stands in a path, behind what is before it.
func step(key string) string {
	if key == "" || strings.ContainsAny(key, `.[]"*`) || strings.Contains(key, "=~") {
		return "[" + strconv.Quote(key) + "]"
	}
	return "." + key
}
