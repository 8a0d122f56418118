// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package gate

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ErrOutside is said of a file that a stranger may not read, whether there is
// one or not.
var ErrOutside = errors.New("is outside the folder that may be read")

// Below returns a folder without links, and the name below it, without links,
// of the file at path. The error is [ErrOutside] where that leads elsewhere. A
// file that is not there is where its folder is.
func Below(folder, path string) (root, name string, err error) {
	if root, err = resolve(folder); err != nil {
		return "", "", fmt.Errorf("finding the folder that may be read: %w", err)
	}
	real, err := resolve(path)
	if err != nil {
		return "", "", ErrOutside
	}
	name, err = filepath.Rel(root, real)
	if err != nil || !filepath.IsLocal(name) {
		return "", "", ErrOutside
	}
	return root, name, nil
}

// resolve is a path without links. What of it is not there is left as it is.
func resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	dir := filepath.Dir(path)
	if !errors.Is(err, fs.ErrNotExist) || dir == path {
		return real, err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", ErrOutside // a link to nothing
	}
	real, err = resolve(dir)
	return filepath.Join(real, filepath.Base(path)), err
}

// ReadBelow reads a file that [Below] has named, or its first limit bytes.
// Links that have changed meanwhile do not lead out of the folder, and anything
// that is not a regular file is not read.
func ReadBelow(root, name string, limit int64) ([]byte, error) {
	folder, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	f, err := folder.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe without a writer would not open
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("is not a regular file")}
	}
	return io.ReadAll(io.LimitReader(f, limit))
}
