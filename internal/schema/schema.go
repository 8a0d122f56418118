// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package schema checks values against JSON Schemas (draft 2020-12 and 7).
//
//	s, err := schema.Compile(value.From(...))
//	err = s.Validate(v)
//
// Nothing is loaded from elsewhere, and no schema makes it run for ever.
package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rehearse-dev/rehearse/internal/value"
)

// Schema is a compiled JSON Schema (draft 2020-12 or 7).
type Schema struct {
	resolved *jsonschema.Resolved
	source   value.Value
	plain    bool // floats hold all of its numbers
}

// Compile compiles a JSON Schema. Nothing is loaded from elsewhere: a
// $ref out of the schema is an error, and so is one that leads back to
// itself without going down into the value.
func Compile(v value.Value) (*Schema, error) {
	resolved, err := resolve(v)
	if err != nil {
		return nil, err
	}
	if loop := findLoop(v); loop != "" {
		return nil, fmt.Errorf("this JSON Schema cannot be used: the $ref to %q leads back to itself", loop)
	}
	// The library would say so of every value.
	switch draft := resolved.Schema().Schema; draft {
	case "", "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema":
	default:
		return nil, fmt.Errorf("$schema is %q; draft-07 and 2020-12 can be checked", draft)
	}
	_, plain := numbers(v)
	return &Schema{resolved, v, plain}, nil
}

func resolve(v value.Value) (*jsonschema.Resolved, error) {
	schema := new(jsonschema.Schema)
	if err := json.Unmarshal(v.Append(nil), schema); err != nil {
		return nil, fmt.Errorf("this is not a JSON Schema: %w", err)
	}
	// A base makes a relative $id fine.
	resolved, err := schema.Resolve(&jsonschema.ResolveOptions{BaseURI: "rehearse:schema"})
	if err != nil {
		return nil, fmt.Errorf("this JSON Schema cannot be used: %w", err)
	}
	return resolved, nil
}

// Floats is the validator, which reads numbers as floats; nil where they do not
// hold all of those of the schema.
func (s *Schema) Floats() *jsonschema.Resolved {
	if s.plain {
		return s.resolved
	}
	return nil
}

// Validate returns what is wrong with a value, nil when it fits. Numbers are
// compared exactly.
func (s *Schema) Validate(v value.Value) error {
	err := s.resolved.Validate(v.Any())
	if some, plain := numbers(v); some && !(plain && s.plain) {
		err = s.validateExactly(v, err)
	}
	if err == nil {
		return nil
	}
	return errors.New(strings.TrimPrefix(err.Error(), "validating root: "))
}

// findLoop returns a $ref that is followed for ever on one and the same
// value, "" when there is none. The validator would end the whole process
// with a stack overflow, which nothing can recover.
func findLoop(root value.Value) string {
	l := loopFinder{root: root, done: make(map[string]bool), onWay: make(map[string]bool)}
	l.collect()
	for _, at := range l.all {
		if loop := l.follow(at); loop != "" {
			return loop
		}
	}
	return ""
}

type loopFinder struct {
	root        value.Value
	all         []value.Path          // every subschema
	named       map[string]value.Path // by $anchor and $id
	done, onWay map[string]bool       // by path
}

func (l *loopFinder) collect() {
	value.Walk(l.root, func(at value.Path, v value.Value) bool {
		switch at.Key() {
		case "enum", "const", "default", "examples": // data
			return false
		case "$anchor", "$dynamicAnchor", "$id":
			if l.named == nil {
				l.named = make(map[string]value.Path)
			}
			l.named[strings.TrimPrefix(v.Str(), "#")] = slices.Clone(at[:len(at)-1])
			return false
		}
		if v.Kind() == value.Object {
			l.all = append(l.all, slices.Clone(at))
		}
		return true
	})
}

// follow goes on to the schemas that apply to the same value as the one at
// this path.
func (l *loopFinder) follow(at value.Path) string {
	key := at.String()
	schema, ok := value.Lookup(l.root, at)
	if !ok || l.done[key] {
		return ""
	}
	l.onWay[key] = true
	defer func() { delete(l.onWay, key); l.done[key] = true }()
	var next []value.Path
	for _, m := range schema.Members() {
		below := at.Join(m.Key)
		switch m.Key {
		case "$ref", "$dynamicRef":
			target, ok := l.target(m.Value.Str())
			if ok && l.onWay[target.String()] {
				return m.Value.Str()
			}
			if ok {
				next = append(next, target)
			}
		case "not", "if", "then", "else":
			next = append(next, below)
		case "allOf", "anyOf", "oneOf":
			for i := range m.Value.Items() {
				next = append(next, below.Join(i))
			}
		case "dependentSchemas", "dependencies":
			for _, d := range m.Value.Members() {
				next = append(next, below.Join(d.Key))
			}
		}
	}
	for _, p := range next {
		if loop := l.follow(p); loop != "" {
			return loop
		}
	}
	return ""
}

// target resolves a reference within the schema.
func (l *loopFinder) target(ref string) (value.Path, bool) {
	fragment := strings.TrimPrefix(ref, "#")
	if fragment == "" {
		return nil, true
	}
	if !strings.HasPrefix(fragment, "/") {
		at, ok := l.named[fragment]
		return at, ok
	}
	var at value.Path
	here := l.root
	for _, token := range strings.Split(fragment[1:], "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		var step any = token
		if here.Kind() == value.Array {
			n, err := strconv.Atoi(token)
			if err != nil {
				return nil, false
			}
			step = n
		}
		at = at.Join(step)
		var ok bool
		if here, ok = value.Lookup(l.root, at); !ok {
			return nil, false
		}
	}
	return at, true
}
