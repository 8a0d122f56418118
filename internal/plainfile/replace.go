// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package plainfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// Replace writes a file whole or not at all, in a folder that somebody else may
// have made: it writes beside the path, and gives the new file its name. What
// had the name, such as a link or a pipe, is neither followed nor opened.
func Replace(path string, mode fs.FileMode, write func(io.Writer) error) (err error) {
	tmp, err := beside(path, mode)
	if err != nil {
		return fmt.Errorf("writing %q: %w", path, reason(err))
	}
	defer func() {
		if err != nil {
			_, _ = tmp.Close(), os.Remove(tmp.Name()) // the first reason counts
			err = fmt.Errorf("writing %q: %w", path, reason(err))
		}
	}()
	out := bufio.NewWriter(tmp)
	if err := write(out); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// reason is an error without the name of the file beside the path, of which
// nobody knows.
func reason(err error) error {
	var file *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &file) && strings.HasSuffix(file.Path, temporary):
		return file.Err
	case errors.As(err, &link) && strings.HasSuffix(link.Old, temporary):
		return link.Err
	}
	return err
}

// temporary ends the names of files that are being written.
const temporary = ".tmp"

// beside makes a file in the folder of another, of a name that nobody has.
func beside(path string, mode fs.FileMode) (*os.File, error) {
	for n := 0; ; n++ {
		name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%08x%s", filepath.Base(path), rand.Uint32(), temporary))
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode) // less what the umask says
		if err == nil || n == 100 || !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// ReplaceBytes is [Replace] with data that is there.
func ReplaceBytes(path string, mode fs.FileMode, data []byte) error {
	return Replace(path, mode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// MakeFolder makes a folder, where there is none, in one that somebody else may
// have made. A link in its place is an error, whatever it leads to.
func MakeFolder(path string, mode fs.FileMode) error {
	err := os.Mkdir(path, mode)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(path)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "mkdir", Path: path, Err: errNoFolder}
	}
	return err
}

var errNoFolder = errors.New("it is not a folder, and links are not followed here")
