// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package vcr

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// BodiesSuffix ends the name of the folder with the bodies that stand beside
// a file.
const BodiesSuffix = ".bodies"

// UnusedBodies are the files beside a file that [Read] has read, which no body
// of it is in: those of an older recording, as a rule.
func UnusedBodies(f *File) ([]string, error) {
	dir := bodyDir(f.Path)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the bodies of cassette %q: %w", f.Path, err)
	}
	used := map[string]bool{}
	for _, i := range f.Interactions {
		for _, body := range [][]byte{i.Request.Body, i.Response.Body} {
			sum := sha256.Sum256(body)
			used[hex.EncodeToString(sum[:16])] = true
		}
	}
	var out []string
	for _, e := range entries {
		if !used[e.Name()] {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out, nil
}
