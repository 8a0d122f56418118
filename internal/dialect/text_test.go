// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"bytes"
	"encoding/json"
	"testing"
)

// TestInputObject: arguments that are no object stand in one of their own.
func TestInputObject(t *testing.T) {
	for arguments, want := range map[string]string{
		"": `{}`, " \n": `{}`, `{ "a": 1.10 }`: `{"a":1.10}`, " {}\n": `{}`,
		`[1]`: `{"raw_arguments":"[1]"}`, `7`: `{"raw_arguments":"7"}`, `{"a":`: `{"raw_arguments":"{\"a\":"}`, `hi`: `{"raw_arguments":"hi"}`,
	} {
		if got := string(InputObject(arguments)); got != want {
			t.Errorf("%q is written as %s, want %s", arguments, got, want)
		}
	}
}

// FuzzText checks that a text in one piece or in two ends as encoding/json
// reads the whole: a journal that is kept by the one must not differ from a
// history that is kept by the other.
func FuzzText(f *testing.F) {
	for _, seed := range []string{"a\xff\xfeb", "\xe2\x82", "\xe2\x82\xac", `\ud83d\ude00`, `\ud800b`, `\udc00\ud800`, `\u0000`, "\xf0\x9f\x98"} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, in []byte, at int) {
		if bytes.IndexByte(in, 0xed) >= 0 {
			return // half a pair as bytes counts as half a pair here
		}
		raw := append(append([]byte{'"'}, in...), '"')
		var want string
		if json.Unmarshal(raw, &want) != nil {
			return
		}
		var whole Pending
		whole.Add(Text(unquote(raw)))
		if got := whole.end(); got != want {
			t.Errorf("%q is read as %q, want %q", in, got, want)
		}
		if at < 0 || at > len(in) {
			return
		}
		first, second := append([]byte{'"'}, in[:at]...), append([]byte{'"'}, in[at:]...)
		first, second = append(first, '"'), append(second, '"')
		if !json.Valid(first) || !json.Valid(second) {
			return // cut inside an escape
		}
		var two Pending
		two.Add(Text(unquote(first)))
		two.Add(Text(unquote(second)))
		if got := two.end(); got != want {
			t.Errorf("%q, cut at %d, is read as %q, want %q", in, at, got, want)
		}
	})
}
