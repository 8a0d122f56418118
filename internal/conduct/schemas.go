// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package conduct

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// parameters compares the parameters of a tool as they are offered with those
// that its server lists. Clients write schemas in the words of their provider:
// they resolve references, join allOf, make null a type or a flag, require all
// that may be null, and leave out keys that say little. So only what a model
// needs to write a call is compared: types, enums, required names and
// descriptions. wrong is what misleads it, and lost is what it is not told.
func parameters(listed, offered harness.Tool) (wrong, lost []string) {
	own, err := value.Parse(listed.Schema)
	if err != nil {
		return nil, nil // there is none
	}
	got, err := value.Parse(offered.Schema)
	if err != nil {
		return nil, nil // the provider refuses it
	}
	budget := 10_000
	c := &comparison{own: schemaReader{own, &budget}, got: schemaReader{got, &budget}, described: offered.Description}
	c.members("", c.own.read(own), c.got.read(got))
	return c.wrong, c.lost
}

// comparison goes through two schemas at once.
type comparison struct {
	own, got    schemaReader
	described   string // what the tool is offered with may describe its parameters
	wrong, lost []string
}

// members compares the parameters of an object; path is that of the object, with
// a dot, or empty.
func (c *comparison) members(path string, own, got said) {
	if got.open {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(own.props)) {
		at := fmt.Sprintf("%q", path+name)
		offered, ok := got.props[name]
		if !ok {
			c.lost = append(c.lost, at+" is left out")
			continue
		}
		was := c.own.read(own.props[name])
		if own.required[name] && !got.required[name] && !was.defaults {
			c.lost = append(c.lost, at+" is not required")
		}
		c.one(path+name, was, c.got.read(offered))
	}
}

// one compares a parameter, or the items of one.
func (c *comparison) one(path string, own, got said) {
	if own.open || got.open {
		return
	}
	at := fmt.Sprintf("%q", path)
	known := func(kind string) bool {
		return got.kinds[kind] || numeric(kind) && (got.kinds["integer"] || got.kinds["number"])
	}
	switch kinds := slices.Sorted(maps.Keys(own.kinds)); {
	case len(kinds) == 0:
	case len(got.kinds) == 0:
		c.lost = append(c.lost, fmt.Sprintf("%s has no type, not %s", at, strings.Join(kinds, " or ")))
	case !slices.ContainsFunc(kinds, known):
		told := fmt.Sprintf("%s is %s, not %s", at, strings.Join(slices.Sorted(maps.Keys(got.kinds)), " or "), strings.Join(kinds, " or "))
		if own.plain { // not for clients that take the first type they know of a schema in parts
			c.wrong = append(c.wrong, told)
		} else {
			c.lost = append(c.lost, told)
		}
		return // the rest is about other values
	}
	if len(own.values) > 0 && !got.mixed && !maps.Equal(own.values, got.values) {
		if len(got.values) == 0 {
			c.lost = append(c.lost, at+" has no enum")
		} else {
			c.lost = append(c.lost, fmt.Sprintf("%s has the enum %s, not %s", at, enumText(got.values), enumText(own.values)))
		}
	}
	if !describes(got.text+" "+c.described, own.own) {
		c.lost = append(c.lost, fmt.Sprintf("%s has the description %s, not %s", at, quote(got.text), quote(own.own)))
	}
	if own.mixed || got.mixed {
		return
	}
	c.members(path+".", own, got)
	if !own.items.IsNull() {
		c.one(path+"[]", c.own.read(own.items), c.got.read(got.items))
	}
}

func numeric(kind string) bool { return kind == "integer" || kind == "number" }

func enumText(set map[string]bool) string {
	return "[" + shorten(strings.Join(slices.Sorted(maps.Keys(set)), ", ")) + "]"
}

// said is what a schema says of a value, wherever in it that stands; null is
// left out everywhere.
type said struct {
	kinds    map[string]bool // none: any
	plain    bool            // the kinds are those of `type` alone
	values   map[string]bool // of an enum or a const, when all are texts
	text     string          // all descriptions
	own      string          // the description that counts
	required map[string]bool
	props    map[string]value.Value
	items    value.Value
	defaults bool
	mixed    bool // one of several schemas holds
	open     bool // it cannot be told
}

// schemaReader reads schemas that may refer to others of the same root. budget
// ends what refers to itself.
type schemaReader struct {
	root   value.Value
	budget *int
}

func (r schemaReader) read(v value.Value) said {
	s := said{plain: true, kinds: map[string]bool{}, values: map[string]bool{}, required: map[string]bool{}, props: map[string]value.Value{}}
	r.add(&s, v)
	if own, _ := v.Get("description"); own.Str() != "" || s.mixed {
		s.own = own.Str()
	} else {
		s.own = s.text
	}
	delete(s.kinds, "any") // as some clients write it
	return s
}

// add takes up what a schema says.
func (r schemaReader) add(s *said, v value.Value) {
	if *r.budget--; *r.budget < 0 {
		s.open = true
		return
	}
	for _, m := range v.Members() {
		switch m.Key {
		case "type":
			for _, t := range oneOrMany(m.Value) {
				if kind := strings.ToLower(t.Str()); kind != "" && kind != "null" {
					s.kinds[kind] = true
				}
			}
		case "enum":
			s.enumerate(m.Value.Items())
		case "const":
			s.enumerate([]value.Value{m.Value})
		case "description":
			s.text = strings.TrimSpace(s.text + " " + m.Value.Str())
		case "default":
			s.defaults = true
		case "required":
			for _, name := range m.Value.Items() {
				s.required[name.Str()] = true
			}
		case "properties":
			for _, p := range m.Value.Members() {
				s.props[p.Key] = p.Value
			}
		case "items":
			s.items = m.Value
		case "$ref":
			s.plain = false
			to, ok := r.referred(m.Value.Str())
			if !ok {
				s.open = true
				return
			}
			r.add(s, to)
		case "allOf":
			s.plain = false
			for _, part := range m.Value.Items() {
				r.add(s, part)
			}
		case "anyOf", "oneOf":
			s.plain = false
			r.either(s, m.Value.Items())
		}
	}
	switch { // what has no type says it by what it has
	case len(s.kinds) > 0:
	case len(s.props) > 0:
		s.kinds["object"] = true
	case !s.items.IsNull():
		s.kinds["array"] = true
	case len(s.values) > 0:
		s.kinds["string"] = true
	}
}

// either takes up schemas of which one holds. One beside null is as if it stood
// alone, and several that list their values are one list.
func (r schemaReader) either(s *said, branches []value.Value) {
	isNull := func(v value.Value) bool { t, _ := v.Get("type"); return t.Str() == "null" }
	branches = slices.DeleteFunc(slices.Clone(branches), isNull)
	if len(branches) == 1 {
		r.add(s, branches[0])
		return
	}
	values := map[string]bool{}
	for _, b := range branches {
		one := r.read(b)
		maps.Copy(s.kinds, one.kinds)
		maps.Copy(values, one.values)
		s.text = strings.TrimSpace(s.text + " " + one.text)
		s.mixed = s.mixed || len(one.values) == 0
		s.open = s.open || one.open || len(one.kinds) == 0
	}
	if !s.mixed {
		maps.Copy(s.values, values)
	}
}

// enumerate takes up the values of an enum. Some providers take texts alone.
func (s *said) enumerate(list []value.Value) {
	list = slices.DeleteFunc(slices.Clone(list), value.Value.IsNull)
	if slices.ContainsFunc(list, func(v value.Value) bool { return v.Kind() != value.String }) {
		return
	}
	for _, v := range list {
		s.values[v.Str()] = true
	}
}

func (r schemaReader) referred(ref string) (value.Value, bool) {
	path, ok := strings.CutPrefix(ref, "#")
	to := r.root
	for _, key := range strings.Split(path, "/")[1:] {
		if ok {
			to, ok = to.Get(strings.NewReplacer("~1", "/", "~0", "~").Replace(key))
		}
	}
	return to, ok
}

// oneOrMany are the items of a list, or the one value.
func oneOrMany(v value.Value) []value.Value {
	if v.Kind() == value.Array {
		return v.Items()
	}
	return []value.Value{v}
}
