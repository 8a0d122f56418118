// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package strictyaml

import (
	"bytes"
	"encoding/json"
	"regexp"
)

// jsonEscape is an escape of JSON: two for one character, or one.
var jsonEscape = regexp.MustCompile(`\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|.)`)

// FromJSON is valid JSON without what YAML would not read: tabs as white space, and
// escapes of a slash and of characters beyond 16 bits. Places stay in their lines.
func FromJSON(raw []byte) []byte {
	raw = bytes.ReplaceAll(raw, []byte("\t"), []byte(" "))
	return jsonEscape.ReplaceAllFunc(raw, func(found []byte) []byte {
		var text string
		if len(found) > 2 || found[1] == '/' {
			_ = json.Unmarshal([]byte(`"`+string(found)+`"`), &text) // it is valid
			return []byte(text)
		}
		return found
	})
}
