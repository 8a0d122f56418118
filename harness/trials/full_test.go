// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trials

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/recfile/recfiletest"
)

// TestFullDisk: a record that did not fit costs no other.
func TestFullDisk(t *testing.T) {
	name := filepath.Join(t.TempDir(), RecordsFile)
	w, err := Append(name)
	if err != nil {
		t.Fatal(err)
	}
	w.lines.File = &recfiletest.FullOnce{File: w.f}
	first := Record{Key: Key{Scenario: "a", Mode: harness.ModeMock, Attempt: 1}, Outcome: harness.OutcomePassed}
	second := first
	second.Attempt = 2
	if err := w.Write(first); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v", err)
	}
	if err := w.Write(second); err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	got, torn, err := Salvage(name)
	if err != nil || torn || len(got) != 1 || got[0].Attempt != 2 {
		t.Errorf("read %+v, torn %v, %v; want the second record", got, torn, err)
	}
}
