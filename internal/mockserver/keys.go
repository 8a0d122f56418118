// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockserver

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// knownKeys refuses an expectation of what is made of typ that names a key
// which that never has: it would be a claim that fails for no good reason, or
// with $absent one that cannot fail.
func knownKeys(v value.Value, typ reflect.Type, path string) error {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice && v.Kind() != value.Array {
		typ = typ.Elem()
	}
	switch {
	case v.Kind() == value.Array && typ.Kind() == reflect.Slice:
		for i, item := range v.Items() {
			if err := knownKeys(item, typ.Elem(), fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
		return nil
	case v.Kind() != value.Object || typ.Kind() != reflect.Struct || typ == reflect.TypeFor[time.Time](), typ == reflect.TypeFor[harness.Position]():
		return nil
	}
	fields := jsonFields(typ)
	for _, m := range v.Members() {
		if strings.HasPrefix(m.Key, "$") {
			continue
		}
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == m.Key })
		if i < 0 {
			var names []string
			for _, f := range fields {
				names = append(names, f.name)
			}
			return fmt.Errorf("%s has no key %q%s", path, m.Key, prose.MeantOr(m.Key, names, "; there are "+strings.Join(names, ", ")))
		}
		if err := knownKeys(m.Value, fields[i].typ, path+"."+m.Key); err != nil {
			return err
		}
	}
	return nil
}

// field is a member of what a type is in JSON.
type field struct {
	name string
	typ  reflect.Type
}

func jsonFields(typ reflect.Type) []field {
	var out []field
	for f := range typ.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			out = append(out, jsonFields(f.Type)...)
		case !f.IsExported() || name == "-":
		case name == "":
			out = append(out, field{f.Name, f.Type})
		default:
			out = append(out, field{name, f.Type})
		}
	}
	return out
}
