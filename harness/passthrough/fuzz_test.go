// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package passthrough

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// FuzzEvents checks that a stream of events is handed on as it came, and that
// the messages seen in it do not depend on the pieces in which it came.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("event: message\r\nid: 1\r\ndata: {\"id\":1,\r\ndata: \"result\":{}}\r\n\r\n"))
	f.Add([]byte(": ping\n\ndata:{}\n\ndata:\n\n\ndata: last"))
	f.Add([]byte("data\ndata:\xff\n\n\r\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		read := func(r io.Reader) (frames []string) {
			w := &eventWatcher{watcher: watcher{body: io.NopCloser(r), each: func(frame []byte) { frames = append(frames, string(frame)) }, end: func(string) {}}}
			if out, err := io.ReadAll(w); err != nil || !bytes.Equal(out, in) {
				t.Fatalf("handed on %q, %v", out, err)
			}
			return frames
		}
		whole, pieces := read(bytes.NewReader(in)), read(iotest.OneByteReader(bytes.NewReader(in)))
		if diff := cmp.Diff(whole, pieces); diff != "" {
			t.Errorf("whole, in pieces (-want +got):\n%s", diff)
		}
	})
}
