// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package llmwire

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/rehearse-dev/rehearse/mockllm/wire"
)

// Object appends a JSON object with the members that keys name. value returns
// the JSON of a member; nil is nothing to say.
func Object(b []byte, keys wire.Keys, value func(name string) []byte) []byte {
	b = append(b, '{')
	first := true
	for _, key := range keys {
		name, raw := key, []byte(nil)
		if i := strings.IndexByte(key, '='); i >= 0 {
			name, raw = key[:i], []byte(key[i+1:])
		} else {
			name = strings.TrimSuffix(key, "?")
			if raw = value(name); raw == nil {
				if len(name) < len(key) {
					continue
				}
				raw = []byte("null")
			}
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(append(b, '"'), name...)
		b = append(append(b, '"', ':'), raw...)
	}
	return append(b, '}')
}

// KeysOf returns the members of an object: what the style says, else usual.
func KeysOf(s *wire.Style, object string, usual wire.Keys) wire.Keys {
	if k, ok := s.Keys[object]; ok {
		return k
	}
	return usual
}

// Quote encodes s as JSON without escaping HTML, as the real endpoints do.
func Quote(s string) []byte {
	if plain(s) {
		return append(append(append(make([]byte, 0, len(s)+len(`""`)), '"'), s...), '"')
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string into memory
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// plain reports whether s needs no escapes.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// around returns an object but for the value of one member: what comes before
// that and what after.
func around(keys wire.Keys, hole string, value func(name string) []byte) (before, after []byte) {
	const mark = 0 // no JSON has it
	b := Object(nil, keys, func(name string) []byte {
		if name == hole {
			return []byte{mark}
		}
		return value(name)
	})
	before, after, _ = bytes.Cut(b, []byte{mark})
	return before, after
}

// Data returns an event of a stream without a name.
func Data(data []byte) []byte { return Event("", data) }

// Event returns an event of a stream. Data of several lines has a field for
// each; a reader joins them with LF, whatever ended them.
func Event(name string, data []byte) []byte {
	b := make([]byte, 0, len(name)+len(data)+len("event: \ndata: \n\n"))
	if name != "" {
		b = append(append(append(b, "event: "...), name...), '\n')
	}
	for {
		line, after, more := nextLine(data)
		b = append(append(append(b, "data: "...), line...), '\n')
		if !more {
			return append(b, '\n')
		}
		data = after
	}
}

// nextLine cuts b after its first line, which ends with CR, LF or both.
func nextLine(b []byte) (line, after []byte, more bool) {
	i := bytes.IndexAny(b, "\r\n")
	if i < 0 {
		return b, nil, false
	}
	n := i + 1
	if b[i] == '\r' && n < len(b) && b[n] == '\n' {
		n++
	}
	return b[:i], b[n:], true
}
