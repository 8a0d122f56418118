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
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string into memory
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Data returns an event of a stream without a name.
func Data(data []byte) []byte {
	b := make([]byte, 0, len(data)+len("data: \n\n"))
	return append(append(append(b, "data: "...), data...), '\n', '\n')
}

// Event returns an event of a stream with a name.
func Event(name string, data []byte) []byte {
	b := make([]byte, 0, len(name)+len(data)+len("event: \ndata: \n\n"))
	b = append(append(append(b, "event: "...), name...), '\n')
	return append(append(append(b, "data: "...), data...), '\n', '\n')
}
