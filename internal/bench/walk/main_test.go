// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import "testing"

// TestWalks: every walk can be gone, with coverage or without.
func TestWalks(t *testing.T) {
	for _, walk := range walks() {
		t.Run(walk.name, func(t *testing.T) {
			do, done, err := walk.open()
			if err != nil {
				t.Fatal(err)
			}
			defer done()
			if err := do(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
