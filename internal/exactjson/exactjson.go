// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package exactjson decodes and encodes JSON as the clients in other languages do.
//
// In what a peer sent, names of members count letter by letter, and of several
// members of one name the last counts alone. [json.Unmarshal] takes "Tool_Calls"
// for tool_calls, and merges objects of one name, so that it reads another reply
// than the one that a client acts on.
//
//	err := exactjson.Unmarshal(frame, &message)
//
// In what is written, <, > and & stay as they are. [json.Marshal] escapes them,
// which changes texts inside of texts, and is hard to read.
package exactjson

import (
	"bytes"
	"encoding"
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/value"
)

// Unmarshal is [json.Unmarshal], but for names of members: one that is not
// exactly that of a field is as if it were unknown, and of members of the same
// name the last counts. A type with an UnmarshalJSON of its own has to see to
// what is in it.
func Unmarshal(data []byte, v any) error {
	if t := reflect.TypeOf(v); t != nil && t.Kind() == reflect.Pointer {
		if p := planOf(t.Elem()); p != nil {
			data = p.exact(data)
		}
	}
	return json.Unmarshal(data, v)
}

// Marshal is [json.Marshal] that keeps <, > and & as they are, as the encoders of
// other languages do.
func Marshal(v any) ([]byte, error) {
	b, err := MarshalIndent(v, "")
	return bytes.TrimSuffix(b, []byte("\n")), err
}

// MarshalIndent is [Marshal] with a member or an item on each line, below an
// indent for each level, and a line end behind the last: a file.
func MarshalIndent(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	err := e.Encode(v)
	return b.Bytes(), err
}

// Write writes what [Marshal] returns and a line end.
func Write(w io.Writer, v any) error {
	b, err := MarshalIndent(v, "")
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// Quote is a text as a JSON string.
func Quote(text string) []byte {
	b, _ := Marshal(text) // a text can be encoded
	return b
}

// plan is what is to be looked at in a value that a type is decoded from. It is
// nil where nothing is.
type plan struct {
	fields []field // of an object
	items  *plan   // of each item of a list, or member of a map
}

type field struct {
	name string
	plan *plan
}

// plans has what was found out about types. It is a cache: what is in it does
// not depend on who asked.
var plans sync.Map // reflect.Type to *plan

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p := (&planner{known: map[reflect.Type]*plan{}}).of(t)
	plans.Store(t, p)
	return p
}

// planner makes plans; known has those that are begun, for types that hold
// themselves.
type planner struct{ known map[reflect.Type]*plan }

func (b *planner) of(t reflect.Type) *plan {
	if p, ok := b.known[t]; ok {
		return p
	}
	if pointer := reflect.PointerTo(t); pointer.Implements(reflect.TypeFor[json.Unmarshaler]()) || pointer.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return b.of(t.Elem())
	case reflect.Slice, reflect.Array, reflect.Map:
		p := &plan{}
		b.known[t] = p
		p.items = b.of(t.Elem())
		if p.items == nil {
			b.known[t] = nil
		}
		return b.known[t]
	case reflect.Struct:
		p := &plan{}
		b.known[t] = p
		p.fields = b.fields(t)
		return p
	}
	return nil
}

func (b *planner) fields(t reflect.Type) (out []field) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _ := f.Tag.Lookup("json")
		name, _, _ := strings.Cut(tag, ",")
		held := f.Type
		if held.Kind() == reflect.Pointer {
			held = held.Elem()
		}
		switch {
		case tag == "-":
		case f.Anonymous && name == "" && held.Kind() == reflect.Struct:
			out = append(out, b.fields(held)...) // it has no custom decoding, or its holder has it too
		case !f.IsExported():
		case name == "":
			out = append(out, field{f.Name, b.of(f.Type)})
		default:
			out = append(out, field{name, b.of(f.Type)})
		}
	}
	return out
}

// exact returns data without the members that do not count: their names are
// blanked, in a copy. What is not JSON is left for the decoder to refuse.
func (p *plan) exact(data []byte) []byte {
	w := walker{Scanner: value.Scanner{Data: data}}
	if !w.value(p) || len(w.drop) == 0 {
		return data
	}
	out := bytes.Clone(data)
	for _, key := range w.drop {
		for i := key.start; i < key.end; i++ {
			out[i] = ' '
		}
	}
	return out
}

// span is where the name of a member stands, without its quotes.
type span struct{ start, end int }

// walker goes through JSON. Its methods report false for what is none.
type walker struct {
	value.Scanner
	drop []span
}

func (w *walker) value(p *plan) bool {
	switch c := w.Next(); {
	case c == '{' && p != nil:
		return w.object(p)
	case c == '[' && p != nil && p.items != nil:
		for more, ok := w.Open(']'), true; more; {
			if !w.value(p.items) {
				return false
			}
			if more, ok = w.More(']'); !ok {
				return false
			}
		}
		return true
	}
	return w.Skip()
}

// object walks through an object, from its brace.
func (w *walker) object(p *plan) bool {
	var few [16]span // none where the start is 0
	seen := few[:]
	if len(p.fields) > len(few) {
		seen = make([]span, len(p.fields))
	}
	for more := w.Open('}'); more; {
		start, end, ok := w.Key()
		if !ok {
			return false
		}
		key := span{start, end}
		inner := p.items
		if p.fields != nil {
			i, exactly := p.find(w.name(key))
			switch {
			case i >= 0 && !exactly:
				w.drop, inner = append(w.drop, key), nil
			case i >= 0:
				if seen[i].start > 0 {
					w.drop = append(w.drop, seen[i])
				}
				seen[i], inner = key, p.fields[i].plan
			}
		}
		if !w.value(inner) {
			return false
		}
		if more, ok = w.More('}'); !ok {
			return false
		}
	}
	return true
}

// find returns the field that encoding/json would decode a member into, and
// whether its name is exactly that; -1 for none.
func (p *plan) find(name []byte) (i int, exactly bool) {
	for i := range p.fields {
		if string(name) == p.fields[i].name {
			return i, true
		}
	}
	if len(name) == 0 {
		return -1, false
	}
	first := name[0] | 0x20
	for i := range p.fields {
		f := p.fields[i].name
		if f == "" || first|f[0] < utf8.RuneSelf && first != f[0]|0x20 {
			continue // the usual case
		}
		if strings.EqualFold(string(name), f) {
			return i, false
		}
	}
	return -1, false
}

// name is that of a member, without escapes.
func (w *walker) name(key span) []byte {
	raw := w.Data[key.start:key.end]
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	var s string
	_ = json.Unmarshal(w.Data[key.start-1:key.end+1], &s) // anything that is not a text is refused later
	return []byte(s)
}
