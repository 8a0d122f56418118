// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package mcpargs reads the arguments of a tool as people type them, by the
// tool's input schema.
//
//	args, err := mcpargs.Read(schema, []string{"id=007", "count=3"}, os.ReadFile)
//	// {"id":"007","count":3} where the schema says string and integer
//
// A word is one of
//
//	key=text    read as the schema has it: a string stays as it was typed,
//	            whatever it looks like; numbers, true, false and null are
//	            those of JSON, and so are arrays and objects
//	key:=JSON   taken as it is, whatever the schema says
//	key@=file   what is in the file, read like text
//
// An array may also be given item by item, each with the key. Where a schema
// allows several types the first of null, boolean, number, array, object and
// string is taken that the text is one of; where it says nothing, all are
// allowed.
//
// Nothing is checked beyond what reading takes: a call that lacks an argument
// is the server's to refuse.
package mcpargs

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/exactjson"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// Read reads words by a schema, which may be null, into a JSON object.
// readFile is asked for the files that words name.
func Read(schema json.RawMessage, words []string, readFile func(name string) ([]byte, error)) (json.RawMessage, error) {
	r := &reader{root: schema}
	var order []string
	given := map[string][]word{}
	for _, typed := range words {
		w, err := split(typed)
		if err != nil {
			return nil, err
		}
		if w.op == "@=" {
			content, err := readFile(w.text)
			if err != nil {
				return nil, fmt.Errorf("argument %q: %w", w.key, err)
			}
			w.text = string(content)
		}
		if given[w.key] == nil {
			order = append(order, w.key)
		}
		given[w.key] = append(given[w.key], w)
	}
	out := []byte("{")
	for i, key := range order {
		v, err := r.argument(key, given[key])
		if err != nil {
			return nil, fmt.Errorf("argument %q: %w", key, err)
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, exactjson.Quote(key)...), ':'), v...)
	}
	return append(out, '}'), nil
}

// Usage shows what arguments a schema has, in its order: "a=integer [b=string]",
// those in brackets being optional.
func Usage(schema json.RawMessage) string {
	r := &reader{root: schema}
	root := object(r.follow(schema, 0))
	var required []string
	_ = json.Unmarshal(root["required"], &required) // absent is fine
	var usage []string
	properties, _ := value.Parse(root["properties"]) // what cannot be read has none
	for _, m := range properties.Members() {
		key := m.Key
		r.visits = 0
		s := r.allowed(object(root["properties"])[key], 0)
		arg := key + "=" + s.name()
		if !slices.Contains(required, key) {
			arg = "[" + arg + "]"
		}
		usage = append(usage, arg)
	}
	return strings.Join(usage, " ")
}

// word is one word as it was typed.
type word struct{ key, op, text string }

func split(typed string) (word, error) {
	key, text, ok := strings.Cut(typed, "=")
	op := "="
	for _, long := range []string{":=", "@="} {
		if before, found := strings.CutSuffix(key, long[:1]); found && ok {
			key, op = before, long
		}
	}
	if !ok || key == "" {
		return word{}, fmt.Errorf("%q is not an argument: want key=value", typed)
	}
	return word{key, op, text}, nil
}

// reader reads by one schema.
type reader struct {
	root json.RawMessage
	// visits counts the schemas looked at for one argument.
	visits int
}

// argument reads all that was given for one key.
func (r *reader) argument(key string, words []word) (json.RawMessage, error) {
	r.visits = 0
	schema, err := r.property(key)
	if err != nil {
		return nil, err
	}
	s := r.allowed(schema, 0)
	if len(words) == 1 {
		return r.word(words[0], s)
	}
	if !s.types["array"] && len(s.types) > 0 {
		return nil, fmt.Errorf("it is given %d times, but is not an array", len(words))
	}
	items := r.allowed(s.items, 0)
	out := []byte("[")
	for i, w := range words {
		v, err := r.word(w, items)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, ']'), nil
}

func (r *reader) word(w word, s allowed) (json.RawMessage, error) {
	if w.op != ":=" {
		return r.read(w.text, s)
	}
	if !json.Valid([]byte(w.text)) {
		return nil, fmt.Errorf("%s is not JSON", short(w.text))
	}
	return json.RawMessage(w.text), nil
}

// read reads what was typed as the first of the allowed types that it is.
func (r *reader) read(typed string, s allowed) (json.RawMessage, error) {
	if slices.Contains(s.texts, typed) {
		return exactjson.Quote(typed), nil // one of an enum, such as "1"
	}
	any := len(s.types) == 0
	raw := json.RawMessage(strings.TrimSpace(typed))
	kind := ""
	if json.Valid(raw) {
		kind = kindOf(raw)
	}
	switch {
	case kind == "integer" && (any || s.types["number"] || s.types["integer"]),
		kind == "number" && (any || s.types["number"]),
		kind != "" && kind != "string" && kind != "integer" && kind != "number" && (any || s.types[kind]):
		return raw, nil
	case any || s.types["string"]:
		return exactjson.Quote(typed), nil
	case s.types["array"] && (len(raw) == 0 || raw[0] != '['):
		v, err := r.read(typed, r.allowed(s.items, 0))
		if err != nil {
			return nil, fmt.Errorf("as the only item of an array: %w", err)
		}
		return slices.Concat([]byte("["), v, []byte("]")), nil
	}
	return nil, fmt.Errorf("%s is not of type %s", short(typed), s)
}

// kindOf is the type, as schemas name it, of a JSON value.
func kindOf(raw json.RawMessage) string {
	switch raw[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	// An integer may be spelled 1.0, and one like 1e3 is too.
	digits, exponent, _ := strings.Cut(strings.ToLower(string(raw)), "e")
	_, fraction, _ := strings.Cut(digits, ".")
	if strings.Trim(fraction, "0") == "" && !strings.HasPrefix(exponent, "-") {
		return "integer"
	}
	return "number"
}

func short(typed string) string { return string(exactjson.Quote(prose.Excerpt(typed, 60))) }

// object reads the members of what should be a schema. There are none of true,
// false, and anything that is not a schema at all.
func object(schema json.RawMessage) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(schema, &members) // as above
	return members
}

// property is the schema of an argument. It is null where none is said, and an
// error where the schema rules the argument out.
func (r *reader) property(key string) (json.RawMessage, error) {
	root := object(r.follow(r.root, 0))
	properties := object(root["properties"])
	if schema, ok := properties[key]; ok {
		return schema, nil
	}
	if string(root["additionalProperties"]) != "false" || root["patternProperties"] != nil {
		return root["additionalProperties"], nil
	}
	var known []string
	for name := range properties {
		known = append(known, name)
	}
	slices.Sort(known)
	has := ""
	if len(known) > 0 {
		has = "; it has " + strings.Join(known, ", ")
	}
	return nil, fmt.Errorf("the tool has no such argument%s", prose.MeantOr(key, known, has))
}

// References and alternatives may go in circles, and in several at once.
const (
	deepest   = 16
	maxVisits = 1000
)

// follow resolves a reference within the whole schema.
func (r *reader) follow(schema json.RawMessage, depth int) json.RawMessage {
	var ref string
	if json.Unmarshal(object(schema)["$ref"], &ref) != nil || depth > deepest {
		return schema
	}
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return schema
	}
	at := r.root
	for _, step := range strings.Split(strings.TrimPrefix(path, "/"), "/") {
		if step != "" {
			at = object(at)[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
		}
	}
	return r.follow(at, depth+1)
}

// allowed is what a schema allows, as far as reading needs it.
type allowed struct {
	types map[string]bool // none means all
	texts []string        // of an enum
	items json.RawMessage // the schema of an array's items
}

// String names the types that can be told apart by what is typed.
func (a allowed) String() string {
	var names []string
	for _, name := range []string{"null", "boolean", "integer", "number", "array", "object"} {
		if a.types[name] {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

// name is what a user is told to write.
func (a allowed) name() string {
	if len(a.texts) > 0 {
		return strings.Join(a.texts, "|")
	}
	var names []string
	for t := range a.types {
		names = append(names, t)
	}
	slices.Sort(names)
	if len(names) == 0 {
		return "any"
	}
	return strings.Join(names, "|")
}

// allowed finds what a schema allows: its types, those of its values, and
// those of its alternatives.
func (r *reader) allowed(schema json.RawMessage, depth int) allowed {
	a := allowed{types: map[string]bool{}}
	if r.visits++; depth > deepest || r.visits > maxVisits {
		return a
	}
	s := object(r.follow(schema, 0))
	a.items = s["items"]
	var one string
	var several []string
	if json.Unmarshal(s["type"], &one) == nil {
		a.types[one] = true
	} else if json.Unmarshal(s["type"], &several) == nil {
		for _, t := range several {
			a.types[t] = true
		}
	}
	var values []json.RawMessage
	_ = json.Unmarshal(s["enum"], &values) // absent is fine, here and below
	if c, ok := s["const"]; ok {
		values = append(values, c)
	}
	typed := len(a.types) > 0
	if typed && string(s["nullable"]) == "true" { // as in OpenAPI
		a.types["null"] = true
	}
	for _, v := range values {
		var t string
		if json.Unmarshal(v, &t) == nil && v[0] == '"' {
			a.texts = append(a.texts, t)
		}
		if !typed {
			a.types[kindOf(v)] = true
		}
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		var alternatives []json.RawMessage
		_ = json.Unmarshal(s[keyword], &alternatives)
		for _, alternative := range alternatives {
			b := r.allowed(alternative, depth+1)
			a.texts = append(a.texts, b.texts...)
			if a.items == nil {
				a.items = b.items
			}
			if !typed {
				for t := range b.types {
					a.types[t] = true
				}
			}
		}
	}
	return a
}
