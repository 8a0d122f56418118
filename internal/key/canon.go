// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package key

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/value"
)

// compileRules reads the paths that do not count. What is wrong with one is told by
// [Rules.Check]; here it fits nothing.
func compileRules(r *Rules) []*Path {
	paths := r.Ignore
	switch {
	case paths == nil && len(r.Also) == 0:
		return defaultRules()
	case paths == nil:
		paths = Defaults()
	}
	return compilePaths(slices.Concat(paths, r.Also))
}

// defaultRules are for all requests for which nobody says anything else.
var defaultRules = sync.OnceValue(func() []*Path { return compilePaths(Defaults()) })

func compilePaths(paths []string) []*Path {
	var rules []*Path
	for _, p := range paths {
		if rule, err := ParsePath(p); err == nil {
			rules = append(rules, rule)
		}
	}
	return rules
}

// canon brings a body into canonical form.
type canon struct {
	rules []*Path
	path  []string          // of the value that is looked at
	ids   map[string]string // of tool calls, to their number
	alias map[string]string // of numbers of calls, to that of the first call of the reply that each equals
	// unnamed has, of the last calls, which is the first that each equals.
	unnamed []int
	tools   []string
	fits    []string // paths of rules that fitted something
}

// enter steps into a value, unless that does not count.
func (c *canon) enter(step string) bool {
	c.path = append(c.path, step)
	for _, r := range c.rules {
		if r.pattern == nil && r.Fits(c.path) {
			c.fitted(r)
			c.leave()
			return false
		}
	}
	return true
}

// fitted notes that a path was of use.
func (c *canon) fitted(r *Path) {
	if !slices.Contains(c.fits, r.text) {
		c.fits = append(c.fits, r.text)
	}
}

// text is a text without what the patterns of its place fit.
func (c *canon) text(s string) string {
	for _, r := range c.rules {
		if r.pattern != nil && r.Fits(c.path) && r.pattern.MatchString(s) {
			c.fitted(r)
			s = r.pattern.ReplaceAllLiteralString(s, ignoredText)
		}
	}
	return s
}

func (c *canon) leave() { c.path = c.path[:len(c.path)-1] }

func (c *canon) value(v value.Value) value.Value {
	switch v.Kind() {
	case value.Object:
		return c.object(v)
	case value.Array:
		items := v.Items()
		c.alike(items)
		out := make([]value.Value, 0, len(items))
		for i, item := range items {
			if c.enter(strconv.Itoa(i)) {
				out = append(out, c.value(item))
				c.leave()
			}
		}
		if listsTools(c.path) {
			c.sortTools(out)
		}
		c.sortAlike(out)
		return value.ArrayOf(out...)
	case value.String:
		if text := c.text(v.Str()); text != v.Str() {
			return value.StringOf(text)
		}
	case value.Number:
		return v.Exact()
	}
	return v
}

// listsTools reports whether the tools of a request stand at path. Gemini's
// are one level deeper.
func listsTools(path []string) bool {
	switch len(path) {
	case 1:
		return path[0] == "tools"
	case 3:
		return path[0] == "tools" && (path[2] == "functionDeclarations" || path[2] == "function_declarations")
	}
	return false
}

// sortTools notes the order of the tools and sorts them by their text.
func (c *canon) sortTools(tools []value.Value) {
	for _, t := range tools {
		if name := toolName(t); name != "" {
			c.tools = append(c.tools, name)
		}
	}
	texts := make([]string, len(tools))
	order := make([]int, len(tools))
	for i, t := range tools {
		texts[i], order[i] = string(t.Append(nil)), i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(texts[a], texts[b]) })
	unsorted := slices.Clone(tools)
	for i, from := range order {
		tools[i] = unsorted[from]
	}
}

// toolName is the name of an offered tool in any dialect; empty of a list
// of Gemini's, which has names of its own.
func toolName(t value.Value) string {
	for _, list := range []string{"functionDeclarations", "function_declarations"} {
		if _, ok := t.Get(list); ok {
			return ""
		}
	}
	if f, ok := t.Get("function"); ok {
		t = f
	}
	if name, ok := t.Get("name"); ok {
		return name.Str()
	}
	if kind, ok := t.Get("type"); ok {
		return kind.Str()
	}
	return "?"
}

// object sorts keys, drops what does not count and numbers ids of calls.
func (c *canon) object(v value.Value) value.Value {
	in := v.Members()
	// Ids are numbered in the order of the text, so before sorting.
	out := make([]value.Member, 0, len(in))
	for _, m := range in {
		if !c.enter(m.Key) {
			continue
		}
		if m.Value.Kind() == value.String && isCallID(v, m.Key) {
			m.Value = value.StringOf(c.number(m.Value.Str()))
		} else {
			had := m.Value.Len()
			m.Value = c.value(m.Value)
			if m.Value.Kind() == value.Object && m.Value.Len() == 0 && had > 0 {
				c.leave()
				continue // it had nothing that counts
			}
		}
		c.leave()
		out = append(out, m)
	}
	slices.SortStableFunc(out, byKey)
	return value.ObjectOf(out...)
}

func (c *canon) number(id string) string {
	if id == "" {
		return ""
	}
	n, ok := c.ids[id]
	if !ok {
		n = "call " + strconv.Itoa(len(c.ids)+1)
		c.ids[id] = n
	}
	return n
}

// isCallID reports whether the key of an object holds the id of a tool call,
// in the words of OpenAI, Anthropic or Gemini.
func isCallID(object value.Value, key string) bool {
	switch key {
	case "tool_call_id", "tool_use_id", "call_id":
		return true
	case "id":
		if kind, ok := object.Get("type"); ok {
			switch kind.Str() {
			case "function", "tool_use", "server_tool_use", "function_call", "function_call_output", "custom_tool_call":
				return true
			}
			return false
		}
		// A call of a client that leaves the type out, or Gemini's.
		_, function := object.Get("function")
		_, args := object.Get("args")
		_, response := object.Get("response")
		return function || args || response
	}
	return false
}
