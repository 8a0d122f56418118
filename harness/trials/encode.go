// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trials

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// maxNesting is how deep the JSON of a run folder goes. Decoders refuse what
// nests 10,000 deep, and the indentation of what nests 1,000 deep is larger
// than all else.
const maxNesting = 300

// maxText is how long one text of a run folder is, a tool's result for
// instance. A report shows far less of it.
const maxText = 1 << 20

// encode is [json.Marshal], except that of what came from outside texts that
// are too long for a file are cut, visibly, and values that nest too deep
// become texts of their JSON.
func encode(v any) ([]byte, error) {
	data, _, err := encodeWhole(v)
	return data, err
}

// encodeWhole is [encode], and tells whether nothing was cut or turned.
func encodeWhole(v any) (data []byte, whole bool, err error) {
	short, cut := bound(reflect.ValueOf(v), maxText)
	if data, err = json.Marshal(short.Interface()); err != nil {
		return nil, false, err
	}
	flat := shallow(data, maxNesting)
	return flat, !cut && len(flat) == len(data), nil
}

// bound returns v with each text in it cut to limit bytes, and whether that
// changed anything. v itself stays as it is.
func bound(v reflect.Value, limit int) (_ reflect.Value, changed bool) {
	switch v.Kind() {
	case reflect.String:
		if v.Len() > limit {
			return reflect.ValueOf(cut(v.String(), limit)).Convert(v.Type()), true
		}
	case reflect.Struct:
		out := v
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				continue
			}
			field, ok := bound(v.Field(i), limit)
			if ok && !changed {
				out = reflect.New(v.Type()).Elem()
				out.Set(v)
			}
			if ok {
				out.Field(i).Set(field)
				changed = true
			}
		}
		return out, changed
	case reflect.Slice:
		if raw, ok := v.Interface().(json.RawMessage); ok {
			if len(raw) <= limit {
				return v, false
			}
			text, _ := json.Marshal(cut(string(raw), limit)) // a string always has a form
			return reflect.ValueOf(json.RawMessage(text)), true
		}
		out := v
		for i := range v.Len() {
			item, ok := bound(v.Index(i), limit)
			if ok && !changed {
				out = reflect.MakeSlice(v.Type(), v.Len(), v.Len())
				reflect.Copy(out, v)
			}
			if ok {
				out.Index(i).Set(item)
				changed = true
			}
		}
		return out, changed
	case reflect.Map:
		out := v
		for key, value := range v.Seq2() {
			item, ok := bound(value, limit)
			if ok && !changed {
				out = reflect.MakeMap(v.Type())
				for k, other := range v.Seq2() {
					out.SetMapIndex(k, other)
				}
			}
			if ok {
				out.SetMapIndex(key, item)
				changed = true
			}
		}
		return out, changed
	case reflect.Pointer:
		if v.IsNil() {
			return v, false
		}
		if item, ok := bound(v.Elem(), limit); ok {
			out := reflect.New(item.Type())
			out.Elem().Set(item)
			return out, true
		}
	}
	return v, false
}

// cut shortens a text and says so.
func cut(s string, limit int) string {
	head, left := prose.Head(s, limit)
	return fmt.Sprintf("%s\n[... %d of %d bytes are left out of this file]", head, left, len(s))
}

// shallow writes what nests deeper than limit in compact JSON as texts.
func shallow(data []byte, limit int) []byte {
	var out []byte // nil as long as nothing is changed
	depth, from := 0, 0
	for scan := (value.Scanner{Data: data}); scan.At < len(data); {
		at := scan.At
		switch data[at] {
		case '"':
			scan.Text()
			continue
		case '{', '[':
			if depth++; depth > limit {
				scan.Skip()
				text, _ := json.Marshal(string(data[at:scan.At])) // a string always has a form
				out = append(append(out, data[from:at]...), text...)
				from, depth = scan.At, depth-1
				continue
			}
		case '}', ']':
			depth--
		}
		scan.At++
	}
	if from == 0 {
		return data
	}
	return append(out, data[from:]...)
}
