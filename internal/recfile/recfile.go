// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package recfile is what the files of recordings and of runs have in common:
// their names, and the locks that keep two writers apart.
//
//	path, err := recfile.Resolve("link.yaml") // two names of a file are one recording
//	f, err := recfile.Create(path + ".part")
//	if errors.Is(err, recfile.ErrBusy) {
//		return fmt.Errorf("recording %q: another process records it", path)
//	}
//	defer recfile.Remove(f) // while the lock holds
//
// A lock is one of the operating system on an open file: it ends with the
// process, however that ends, and a file that is there without a lock was left
// by a dead process. On systems without such locks every file counts as left.
package recfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// ErrBusy is the error of a file that another process holds.
var ErrBusy = errors.New("another process holds it")

// maxLinks bounds how many symbolic links lead to a file.
const maxLinks = 40

// InCI reports whether the environment is that of continuous integration, where
// nobody looks at what is recorded or rewritten. lookup is [os.LookupEnv], or as
// that.
func InCI(lookup func(string) (string, bool)) bool {
	v, ok := lookup("CI")
	return ok && v != "" && v != "false" && v != "0"
}

// Resolve returns the path of the file that path stands for, where its last
// part is a symbolic link, also of a file that is not there.
func Resolve(path string) (string, error) {
	start := path
	for range maxLinks {
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode()&fs.ModeSymlink == 0 {
			return path, nil
		}
		if err != nil {
			return "", err // names the file
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", fmt.Errorf("%s: too many symbolic links", start)
}

// Create makes a file and locks it. One that is there is an error that is
// [fs.ErrExist], and one that somebody else took is [ErrBusy].
func Create(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	if err := Lock(f); err != nil { // somebody took the new file for one that was left
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Take opens a file that was left by a dead process, and locks it. One that
// another process holds is [ErrBusy].
func Take(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err := Lock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Lock locks an open file until it is closed. A file that another process
// holds, or that is no longer the one under its name, is [ErrBusy].
func Lock(f *os.File) error {
	for n := 0; !tryLock(f, false); n++ {
		if n == 20 { // who only looks whether it is locked holds it for a moment
			return ErrBusy
		}
		time.Sleep(time.Millisecond)
	}
	if !Mine(f) {
		return ErrBusy
	}
	return nil
}

// Mine reports whether an open file is still the one under its name.
func Mine(f *os.File) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(mine, there)
}

// Live reports whether a process holds a file now.
func Live(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return !tryLock(f, true)
}

// Sync makes what was renamed in a folder last, as far as the system allows.
func Sync(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync() // some systems refuse it; the files themselves are safe
	return d.Close()
}
