// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/shape"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// listing is a kind of list: the method that asks for it, the key of the
// result that holds it, and what entries are known by.
type listing struct{ method, key, one, name string }

// listOf is the kind of list that a method asks for; nil for other methods.
func listOf(method string) *listing {
	for _, l := range []listing{
		{"tools/list", "tools", "tool", "name"},
		{"prompts/list", "prompts", "prompt", "name"},
		{"resources/list", "resources", "resource", "uri"},
		{"resources/templates/list", "resourceTemplates", "resource template", "uriTemplate"},
	} {
		if l.method == method {
			return &l
		}
	}
	return nil
}

// items are the entries of a page, and the cursor of the next one if any.
func (l *listing) items(result json.RawMessage) (items []json.RawMessage, cursor json.RawMessage) {
	start, end := member(result, l.key)
	_ = json.Unmarshal(result[start:end], &items) // else there are none
	start, end = member(result, "nextCursor")
	if c := result[start:end]; end > 0 && string(c) != "null" && string(c) != `""` {
		cursor = c
	}
	return items, cursor
}

// pages are the entries of a first page and of those that follow in the
// recording.
func (l *listing) pages(first mcpwire.Message, rest []Frame, method string) []json.RawMessage {
	items, cursor := l.items(first.Result)
	for cursor != nil {
		next := nextPage(rest, method, cursor)
		if next == nil {
			break
		}
		var more []json.RawMessage
		before := string(cursor)
		more, cursor = l.items(next)
		items = append(items, more...)
		if string(cursor) == before {
			break
		}
	}
	return items
}

// nextPage is the recorded answer to the request with a cursor.
func nextPage(frames []Frame, method string, cursor json.RawMessage) json.RawMessage {
	id := ""
	for i := range frames {
		for _, m := range frames[i].messages() {
			start, end := member(m.Params, "cursor")
			switch {
			case frames[i].Dir == In && m.IsRequest() && m.Method == method && string(m.Params[start:end]) == string(cursor):
				id = m.Key()
			case frames[i].Dir == Out && m.IsResponse() && id != "" && m.Key() == id:
				return m.Result
			}
		}
	}
	return nil
}

// withCursor sets the cursor of parameters.
func withCursor(params, cursor json.RawMessage) json.RawMessage {
	v, err := value.Parse(params)
	c, err2 := value.Parse(cursor)
	if err != nil || err2 != nil {
		return params
	}
	members := append(slices.Clone(v.Members()), value.Member{Key: "cursor", Value: c})
	return value.ObjectOf(members...).Append(nil)
}

// list compares two lists entry by entry.
func (v *verifier) list(l *listing, was, is []json.RawMessage) {
	old, now := l.byName(was), l.byName(is)
	for _, name := range shape.KeysOf(old, now) {
		a, had := old[name]
		b, has := now[name]
		path := fmt.Sprintf("%s %s", l.one, name)
		switch {
		case !has:
			v.tell(shape.Breaking, path, "is gone")
		case !had:
			v.tell(shape.Minor, path, "is new")
		default:
			v.entry(path, a, b)
		}
	}
}

func (l *listing) byName(items []json.RawMessage) map[string]value.Value {
	m := map[string]value.Value{}
	for _, item := range items {
		if v, err := value.Parse(item); err == nil {
			name, _ := v.Get(l.name)
			m[name.Str()] = v
		}
	}
	return m
}

// entry compares two entries of a list with the same name.
func (v *verifier) entry(path string, was, is value.Value) {
	for _, key := range memberNames(was, is) {
		a, had := was.Get(key)
		b, has := is.Get(key)
		at := path + ": " + key
		switch {
		case key == "_meta" || had && has && value.Equal(a, b):
		case key == "inputSchema":
			v.schema(at, a, b, true)
		case key == "outputSchema":
			switch {
			case !has:
				v.tell(shape.Breaking, at, "is gone")
			case !had:
				v.tell(shape.Minor, at, "is new")
			default:
				v.schema(at, a, b, false)
			}
		case key == "title" || key == "icons":
			v.tell(shape.Minor, at, "has changed")
		case key == "arguments": // of a prompt
			v.promptArguments(path, a, b)
		default: // the model reads descriptions, clients act on annotations
			v.tell(shape.Risky, at, "has changed")
		}
	}
}

// promptArguments compares the arguments of a prompt.
func (v *verifier) promptArguments(path string, was, is value.Value) {
	byName := func(list value.Value) map[string]bool {
		m := map[string]bool{}
		for _, a := range list.Items() {
			name, _ := a.Get("name")
			required, _ := a.Get("required")
			m[name.Str()] = required.Bool()
		}
		return m
	}
	v.arguments(path, byName(was), byName(is))
}

// arguments compares which arguments there are, and which must be given.
func (v *verifier) arguments(path string, old, now map[string]bool) {
	for _, name := range shape.KeysOf(old, now) {
		must, had := old[name]
		mustNow, has := now[name]
		at := fmt.Sprintf("%s: argument %s", path, name)
		switch {
		case !has:
			v.tell(shape.Breaking, at, "is gone")
		case !had && mustNow:
			v.tell(shape.Breaking, at, "is new and required")
		case !had:
			v.tell(shape.Minor, at, "is new")
		case !must && mustNow:
			v.tell(shape.Breaking, at, "is now required")
		case must && !mustNow:
			v.tell(shape.Minor, at, "is now optional")
		}
	}
}

// schema compares two schemas: of what clients send, or of what they get.
func (v *verifier) schema(path string, was, is value.Value, sent bool) {
	for _, key := range memberNames(was, is) {
		a, had := was.Get(key)
		b, has := is.Get(key)
		at := path + "." + key
		if had && has && value.Equal(a, b) {
			continue
		}
		switch key {
		case "type":
			v.types(at, a, b, sent)
		case "properties":
			v.properties(path, was, is, sent)
		case "required":
			if _, ok := was.Get("properties"); !ok {
				v.properties(path, was, is, sent)
			} else if now, _ := is.Get("properties"); value.Equal(now, mustGet(was, "properties")) {
				v.properties(path, was, is, sent)
			}
		case "items":
			if had && has {
				v.schema(path+"[]", a, b, sent)
			} else {
				v.tell(shape.Risky, at, "has changed")
			}
		case "enum":
			v.enum(at, a, b, had, has, sent)
		case "title", "$schema", "examples", "$id", "$comment":
			v.tell(shape.Minor, at, "has changed")
		default:
			v.tell(shape.Risky, at, "has changed")
		}
	}
}

func mustGet(v value.Value, key string) value.Value {
	got, _ := v.Get(key)
	return got
}

// types compares types. One more is harmless for what is sent, one less for
// what is got.
func (v *verifier) types(at string, was, is value.Value, sent bool) {
	old, now := names(was), names(is)
	lost := func(from, to []string) bool {
		return slices.ContainsFunc(from, func(t string) bool {
			return !slices.Contains(to, t) && !(t == "integer" && slices.Contains(to, "number"))
		})
	}
	tier := shape.Minor
	if sent && (len(old) == 0 || lost(old, now)) && len(now) > 0 || !sent && (len(now) == 0 || lost(now, old)) && len(old) > 0 {
		tier = shape.Breaking
	}
	v.tell(tier, at, "was %s, is %s", orAbsent(was), orAbsent(is))
}

func orAbsent(v value.Value) string {
	if v.IsNull() {
		return "absent"
	}
	return v.String()
}

// names are the texts of a list, or of one text.
func names(v value.Value) []string {
	if v.Kind() == value.String {
		return []string{v.Str()}
	}
	var list []string
	for _, item := range v.Items() {
		list = append(list, item.Str())
	}
	return list
}

func (v *verifier) enum(at string, was, is value.Value, had, has, sent bool) {
	has2 := func(list value.Value, x value.Value) bool {
		return slices.ContainsFunc(list.Items(), func(y value.Value) bool { return value.Equal(x, y) })
	}
	if !had || !has {
		tier := shape.Minor
		if has == sent {
			tier = shape.Breaking
		}
		v.tell(tier, at, "was %s, is %s", orAbsent(was), orAbsent(is))
		return
	}
	for _, x := range was.Items() {
		if !has2(is, x) {
			tier := shape.Minor
			if sent {
				tier = shape.Breaking
			}
			v.tell(tier, at, "%s is gone", x)
		}
	}
	for _, x := range is.Items() {
		if !has2(was, x) {
			tier := shape.Minor
			if !sent {
				tier = shape.Risky
			}
			v.tell(tier, at, "%s is new", x)
		}
	}
}

// properties compares the properties of two objects.
func (v *verifier) properties(path string, was, is value.Value, sent bool) {
	of := func(s value.Value) (value.Value, map[string]bool) {
		props, m := mustGet(s, "properties"), map[string]bool{}
		for _, p := range props.Members() {
			m[p.Key] = false
		}
		for _, name := range names(mustGet(s, "required")) {
			m[name] = true
		}
		return props, m
	}
	oldProps, old := of(was)
	nowProps, now := of(is)
	if sent {
		v.arguments(path, old, now)
	} else {
		for _, name := range shape.KeysOf(old, now) {
			must, had := old[name]
			mustNow, has := now[name]
			at := fmt.Sprintf("%s: property %s", path, name)
			switch {
			case !has:
				v.tell(shape.Breaking, at, "is gone")
			case !had:
				v.tell(shape.Minor, at, "is new")
			case must && !mustNow:
				v.tell(shape.Risky, at, "may now be absent")
			case !must && mustNow:
				v.tell(shape.Minor, at, "is now always present")
			}
		}
	}
	for _, p := range oldProps.Members() {
		if b, ok := nowProps.Get(p.Key); ok && !value.Equal(p.Value, b) {
			v.schema(path+"."+p.Key, p.Value, b, sent)
		}
	}
}

// memberNames are the keys of both, in the order of the first.
func memberNames(a, b value.Value) []string {
	var list []string
	for _, v := range []value.Value{a, b} {
		for _, m := range v.Members() {
			if !slices.Contains(list, m.Key) {
				list = append(list, m.Key)
			}
		}
	}
	return list
}
