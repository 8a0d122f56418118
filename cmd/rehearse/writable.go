// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/plainfile"
)

// check refuses reports that cannot be written, before anything is done that
// would be lost from view.
func (f files) check() error {
	for _, r := range []struct{ flag, name string }{{"junit", f.junit}, {"markdown", f.markdown}, {"html", f.html}, {"csv", f.csv}} {
		if err := writable(r.flag, r.name); err != nil {
			return err
		}
	}
	if f.summary == "" {
		return nil
	}
	err := mayOpen(f.summary)
	if errors.Is(err, fs.ErrNotExist) {
		err = mayCreate(filepath.Dir(f.summary))
	}
	if err != nil {
		return fmt.Errorf("--summary cannot append to %q: %w", f.summary, err)
	}
	return nil
}

// writable says why a file that a flag names cannot be written, as far as that
// can be known before. Folders that are missing are made later.
func writable(flag, name string) error {
	if name == "" || name == stdout {
		return nil
	}
	err := mayWrite(name)
	if err != nil {
		return fmt.Errorf("--%s cannot write to %q: %w", flag, name, err)
	}
	return nil
}

func mayWrite(name string) error {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir(), os.IsPathSeparator(name[len(name)-1]):
		return errFolder
	case err == nil && !info.Mode().IsRegular():
		return mayOpen(name)
	}
	// A file is replaced by one beside it.
	dir := filepath.Dir(name)
	for {
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			return fmt.Errorf("%q is not a folder", dir)
		}
		if err == nil {
			return mayCreate(dir)
		}
		up := filepath.Dir(dir)
		if up == dir || errors.Is(err, fs.ErrPermission) {
			return bareCause(err)
		}
		dir = up
	}
}

var errFolder = errors.New("it is a folder")

// mayOpen opens what is there for writing, and writes nothing. A pipe is left
// alone: to open one waits for its reader.
func mayOpen(name string) error {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return errFolder
	case info.Mode()&fs.ModeNamedPipe != 0:
		return nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return bareCause(err)
	}
	return f.Close()
}

// mayCreate makes a file in a folder, and removes it.
func mayCreate(dir string) error {
	f, err := os.CreateTemp(dir, ".rehearse-*")
	if err != nil {
		return fmt.Errorf("no file can be made in %q: %w", dir, bareCause(err))
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// bareCause is an error without the path, which its message has.
func bareCause(err error) error {
	if path := new(fs.PathError); errors.As(err, &path) {
		return path.Err
	}
	return err
}

// unshown is the end of a command that has a run, and could not show the whole.
// This is no wrong use: the exit code of the run counts, and else 3.
func unshown(code int, dir string, err error) error {
	if code == int(exitPassed) {
		code = int(exitUnjudged)
	}
	return &codeError{exitCode(code), fmt.Errorf("the run is in %q, but not all of it could be shown: %w", dir, err)}
}

// writeFile writes a file that a flag names. A pipe or a device is written to,
// such as /dev/stdout; anything else of that name is replaced, not what a link
// leads to.
func writeFile(name string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode().IsRegular() || info.IsDir() {
		return plainfile.Replace(name, 0o644, write)
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("writing %q: %w", name, err)
	}
	return nil
}
