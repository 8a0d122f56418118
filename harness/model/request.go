// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/harness"
)

// Invalid is the error of a request that cannot be sent as it is.
func invalid(format string, args ...any) error {
	return &Error{Kind: KindInvalid, Message: fmt.Sprintf(format, args...)}
}

// checkText refuses text that JSON cannot carry: it would arrive changed.
func checkText(req *Request) error {
	for i, m := range req.Messages {
		if at := invalidAt(m.Text, m.Refusal, m.Reasoning, m.CallID, m.Extra); at >= 0 {
			return invalid("message %d (%s) is not UTF-8 at byte %d", i+1, m.Role, at)
		}
		for _, call := range m.Calls {
			if at := invalidAt(call.Arguments, call.ID, call.Name); at >= 0 {
				return invalid("call of %q in message %d is not UTF-8 at byte %d", call.Name, i+1, at)
			}
		}
	}
	for _, t := range req.Tools {
		at := invalidAt(t.Name, t.Description)
		if at < 0 && !utf8.Valid(t.Schema) {
			at = invalidAt(string(t.Schema))
		}
		if at >= 0 {
			return invalid("tool %q is not UTF-8 at byte %d", t.Name, at)
		}
	}
	return nil
}

// invalidAt returns where the first of the texts that is no UTF-8 breaks, or
// -1.
func invalidAt(texts ...string) int {
	for _, s := range texts {
		if utf8.ValidString(s) {
			continue
		}
		for i := 0; ; {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				return i
			}
			i += n
		}
	}
	return -1
}

// addExtra adds the extra fields of a request; own are those that have a place
// of their own.
func addExtra(more []byte, req *Request, own ...string) ([]byte, error) {
	for _, key := range slices.Sorted(maps.Keys(req.Extra)) {
		if slices.Contains(own, key) {
			return nil, invalid("extra field %q has a place of its own in a request", key)
		}
		if !json.Valid(req.Extra[key]) {
			return nil, invalid("extra field %q is not JSON", key)
		}
		more = addMember(more, key, req.Extra[key])
	}
	return more, nil
}

// addMember writes a member with the comma before it. Values are made here or
// known to be JSON.
func addMember(out []byte, key string, value any) []byte {
	k, _ := json.Marshal(key)
	v, _ := json.Marshal(value)
	return fmt.Appendf(out, ",%s:%s", k, v)
}

// addMembers adds ,"key":value members to a JSON object.
func addMembers(object, members []byte) []byte {
	if len(members) == 0 {
		return object
	}
	return slices.Concat(object[:len(object)-1], members, []byte("}"))
}

// toolNameOf is a name that the endpoint takes back. A model may have called a
// tool that there is not, by a name that no tool could have; it would be
// refused in the history for ever after.
func toolNameOf(name string) string {
	const longest = 64
	name = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	return name[:min(len(name), longest)]
}

// Schema is the schema of a tool's arguments. null is refused everywhere, so
// that a tool without parameters says so.
func schemaOf(t harness.Tool) (json.RawMessage, error) {
	switch {
	case len(t.Schema) == 0, string(t.Schema) == "null":
		return json.RawMessage(`{"type":"object","properties":{}}`), nil
	case !json.Valid(t.Schema):
		return nil, invalid("schema of tool %q is not JSON", t.Name)
	}
	return t.Schema, nil
}
