// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rehearse-dev/rehearse/internal/gate"
)

func TestReadAnnounced(t *testing.T) {
	broken := errors.New("broken")
	long := strings.Repeat("0123456789", 30_000)
	for _, tt := range []struct {
		name      string
		body      io.Reader
		announced int64
		want      string
		err       error
		most      int // of the buffer
	}{
		{"nothing", strings.NewReader(""), 0, "", nil, 0},
		{"short", strings.NewReader("abc"), 3, "abc", nil, 64 << 10},
		{"long", strings.NewReader(long), int64(len(long)), long, nil, 4 * len(long)},
		{"in small pieces", iotest.OneByteReader(strings.NewReader(long)), int64(len(long)), long, nil, 4 * len(long)},
		{"more than announced", strings.NewReader("abcdef"), 3, "abc", nil, 64 << 10},
		{"announced alone", strings.NewReader(""), 60_000_000, "", io.ErrUnexpectedEOF, 64 << 10},
		{"ten bytes of many", strings.NewReader(long[:10]), 60_000_000, long[:10], io.ErrUnexpectedEOF, 64 << 10},
		{"some of many", strings.NewReader(long), 60_000_000, long, io.ErrUnexpectedEOF, 5 * len(long)},
		{"broken off", io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(broken)), 60_000_000, "abc", broken, 64 << 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := gate.ReadAnnounced(&b, tt.body, tt.announced); !errors.Is(err, tt.err) {
				t.Errorf("error %v, want %v", err, tt.err)
			}
			if b.String() != tt.want {
				t.Errorf("read %d bytes, want %d", b.Len(), len(tt.want))
			}
			if b.Cap() > tt.most {
				t.Errorf("the buffer has %d bytes for %d, want at most %d", b.Cap(), b.Len(), tt.most)
			}
		})
	}
}
