// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// firstView prints how long a browser takes from the click to the first view:
// until the overview is painted, and until the page does what it is asked.
func firstView(ctx context.Context, page string, o *options, out io.Writer) error {
	const what = "first view in Chromium: "
	if _, err := os.Stat(o.chromium); err != nil {
		fmt.Fprintf(out, "%snot measured: there is no %s (install chromium)\n", what, o.chromium)
		return nil
	}
	if _, err := os.Stat(filepath.Join(o.peers, "node_modules", "playwright-core")); err != nil {
		fmt.Fprintf(out, "%snot measured: make bench-peers installs what drives it\n", what)
		return nil
	}
	cmd := exec.CommandContext(ctx, "node", "view.mjs", page, o.chromium)
	cmd.Dir, cmd.Stderr = o.peers, os.Stderr
	data, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("view.mjs: %w", err)
	}
	var t struct{ Painted, Ready, Elements float64 }
	if err := json.Unmarshal(data, &t); err != nil {
		return fmt.Errorf("view.mjs wrote %q: %w", data, err)
	}
	fmt.Fprintf(out, "%spainted after %.0f ms, ready after %.0f ms, %.0f elements (aim: under 1 s; median of 5)\n", what, t.Painted, t.Ready, t.Elements)
	return nil
}
