// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"bytes"
	"path/filepath"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/gate"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
)

// maxBelow bounds a file that a script from elsewhere refers to.
const maxBelow = 64 << 20

// outside reports whether the file at path may not be read, and says so where
// n, which refers to it, stands.
func (l *loader) outside(n *strictyaml.Node, path string) bool {
	if l.root == "" {
		return false
	}
	_, _, err := gate.Below(l.root, path)
	if err != nil && n != nil {
		l.problems.add(n.Pos, "%q %s", n.Text, err)
	}
	return err != nil
}

// beside is the path that n names, from the folder of the file in which it
// stands.
func beside(n *strictyaml.Node) string {
	path := filepath.FromSlash(n.Text)
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(filepath.FromSlash(n.Pos.File)), path)
}

// readAny reads a file that may be read.
func (l *loader) readAny(path string) ([]byte, error) {
	if l.root == "" {
		return readFile(path)
	}
	root, name, err := gate.Below(l.root, path)
	if err != nil {
		return nil, err
	}
	return gate.ReadBelow(root, name, strictyaml.MaxBytes+1)
}

// fileOf is the file that n names and that is read when it is asked for: a
// path or, where not all may be read, a name below a root.
func (l *loader) fileOf(n *strictyaml.Node) (root, name string) {
	if l.outside(n, beside(n)) {
		return "", ""
	}
	path := l.near(n)
	if l.root == "" || path == "" {
		return "", path
	}
	root, name, _ = gate.Below(l.root, path) // as outside has found it
	return root, name
}

// contentOf reads the file that n names: a text, or bytes.
func (l *loader) contentOf(n *strictyaml.Node) (string, []byte) {
	if l.root == "" {
		return l.content(n)
	}
	root, name := l.fileOf(n)
	if name == "" {
		return "", nil
	}
	data, err := gate.ReadBelow(root, name, maxBelow)
	if err != nil {
		l.problems.add(n.Pos, "%q: %s", n.Text, reason(err))
		return "", nil
	}
	if utf8.Valid(data) && !bytes.ContainsRune(data, 0) {
		return string(data), nil
	}
	return "", data
}
