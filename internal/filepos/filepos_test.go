// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package filepos_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/filepos"
)

func TestOf(t *testing.T) {
	pos := harness.Position{File: "a.yaml", Line: 3}
	for _, tt := range []struct {
		name, text string
		err        error
		want       harness.Position
	}{
		{"error", "a.yaml:3: no key: EOF", filepos.Errorf(pos, "no key: %w", io.EOF), pos},
		{"wrapped", "reading: a.yaml:3: EOF", fmt.Errorf("reading: %w", &filepos.Error{Pos: pos, Err: io.EOF}), pos},
		{"marked", "EOF", filepos.Mark(pos, io.EOF), pos},
		{"marked with nothing", "EOF", filepos.Mark(harness.Position{}, io.EOF), harness.Position{}},
		{"another", "EOF", io.EOF, harness.Position{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := filepos.Of(tt.err); got != tt.want || tt.err.Error() != tt.text || !errors.Is(tt.err, io.EOF) {
				t.Errorf("%v is at %v, want %q at %v", tt.err, got, tt.text, tt.want)
			}
		})
	}
}
