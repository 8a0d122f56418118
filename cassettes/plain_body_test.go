// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// TestPlainBody: gzip is taken off what is kept, broken gzip and other codings
// stay and are named.
func TestPlainBody(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write([]byte(strings.Repeat("hello ", 1000)))
	_ = w.Close()
	whole := packed.Bytes()
	for _, tt := range []struct {
		name, coding string
		body         []byte
		outcome      vcr.Outcome
		want         string // the coding that is noted
		size         int
		chunks       int
	}{
		{"none", "", []byte("plain"), vcr.Complete, "", 5, 2},
		{"identity", "Identity", []byte("plain"), vcr.Complete, "", 5, 2},
		{"gzip", "gzip", whole, vcr.Complete, "", 6000, 1},
		{"gzip in old words", "X-GZIP", whole, vcr.Complete, "", 6000, 1},
		{"gzip that is none", "gzip", []byte("plain"), vcr.Complete, "gzip", 5, 2},
		{"gzip that is cut, and said to be whole", "gzip", whole[:len(whole)-4], vcr.Complete, "gzip", len(whole) - 4, 2},
		{"gzip that was cut", "gzip", whole[:len(whole)-4], vcr.Aborted, "", 6000, 1},
		{"gzip that was cut at its beginning", "gzip", whole[:4], vcr.Aborted, "gzip", 4, 2},
		{"another", "br", []byte("xyz"), vcr.Complete, "br", 3, 2},
		{"gzip and nothing", "gzip, identity", whole, vcr.Complete, "", 6000, 1},
		{"gzip and another", "gzip, br", whole, vcr.Complete, "gzip, br", len(whole), 2},
		{"an empty body", "gzip", []byte{}, vcr.Complete, "", 0, 2},
		{"an empty body in another", "br", []byte{}, vcr.Aborted, "", 0, 2},
	} {
		i := interactionOf("a")
		i.Response.Body = tt.body
		i.Response.Header = http.Header{"Content-Length": {"1"}, "Transfer-Encoding": {"chunked"}, "Connection": {"x"}, "Keep-Alive": {"x"}, "Etag": {"x"}}
		if tt.coding != "" {
			i.Response.Header.Set("Content-Encoding", tt.coding)
		}
		i.Meta.Outcome, i.Meta.Chunks = tt.outcome, []vcr.Chunk{{Size: 1, Gap: time.Second}, {Size: len(tt.body) - 1, Gap: time.Minute}}
		plainBody(i)
		if i.Meta.Coding != tt.want || len(i.Response.Body) != tt.size || len(i.Meta.Chunks) != tt.chunks {
			t.Errorf("%s: coding %q, %d bytes, chunks %v", tt.name, i.Meta.Coding, len(i.Response.Body), i.Meta.Chunks)
		}
		if tt.chunks == 1 && i.Meta.Chunks[0] != (vcr.Chunk{Size: tt.size, Gap: time.Second + time.Minute}) {
			t.Errorf("%s: chunks %v", tt.name, i.Meta.Chunks)
		}
		if broken := tt.want == "gzip"; !broken && len(i.Response.Header) > 1+len(tt.want) && tt.want == "" && tt.coding != "Identity" && tt.size > 0 {
			t.Errorf("%s: headers %v", tt.name, i.Response.Header)
		}
	}
}
