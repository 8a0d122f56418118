// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/vcr"
)

func TestExchange(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		parts      []string // | between, of the body with MARK
		want       []string
	}{
		{"none", "/x", []string{"ab", "c"}, []string{"ab", "c"}},
		{"in a part", "/long/er", []string{"a MARK b", "c"}, []string{"a /long/er b", "c"}},
		{"shorter", "/", []string{"a", "MARKMARK", "MARK!"}, []string{"a", "//", "/!"}},
		{"over a border", "/long/er", []string{"a MA", "RK b", "c"}, []string{"a /long/er", " b", "c"}},
		{"over two borders", "/x", []string{"aM", "AR", "K", "MARK"}, []string{"a/x", "", "", "/x"}},
		{"at a border", "/long/er", []string{"a ", "MARK", " b"}, []string{"a ", "/long/er", " b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var chunks []vcr.Chunk
			for _, p := range tt.parts {
				chunks = append(chunks, vcr.Chunk{Size: len(p)})
			}
			body, chunks := exchange([]byte(strings.Join(tt.parts, "")), chunks, []byte("MARK"), []byte(tt.text))
			var got []string
			for _, c := range chunks {
				got = append(got, string(body[:c.Size]))
				body = body[c.Size:]
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || len(body) > 0 {
				t.Errorf("parts (-want +got):\n%s\nleft over: %q", diff, body)
			}
		})
	}
}
