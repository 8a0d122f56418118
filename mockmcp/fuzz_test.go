// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// FuzzServeStdio checks that whatever a client sends, the server answers in
// whole JSON-RPC frames, ends when its input does, and keeps its journal in
// order. It is seeded with the conversations in testdata.
func FuzzServeStdio(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("no conversations: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		var sent []byte
		for line := range bytes.Lines(txtar.Parse(data).Files[0].Data) {
			if frame, ok := bytes.CutPrefix(line, []byte("> ")); ok {
				f.Add(frame)
				sent = append(sent, frame...)
			}
		}
		f.Add(sent)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		s, err := mockmcp.New(world(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var out bytes.Buffer
		if err := s.ServeStdio(t.Context(), bytes.NewReader(in), &out); err != nil {
			t.Errorf("ServeStdio() = %v", err)
		}
		r := mcpwire.NewReader(&out, nil)
		for {
			if _, err := r.Next(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("the server wrote: %v", err)
			}
		}
		for i, x := range s.Journal() {
			if x.Seq != i+1 || x.Result == nil && x.RPCError == nil {
				t.Errorf("journal entry %d: %+v", i, x)
			}
		}
	})
}
