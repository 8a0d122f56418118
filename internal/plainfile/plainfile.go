// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package plainfile reads files that somebody else named, in a scenario, on a
// command line or beside a recording: regular ones, up to a size. A pipe would
// be waited for, a device can have no end, and opening one can do something.
//
//	data, err := plainfile.Read("weather.yaml", plainfile.MaxResult)
//
// It also writes files into folders that somebody else may have made, where a
// link could lead anywhere: see [Replace].
package plainfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// What is read of a file at most, in bytes.
const (
	// MaxSettings is for what people write: mcp.json, arguments of a tool.
	MaxSettings = 8 << 20
	// MaxResult is for what one MCP message can carry.
	MaxResult = 64 << 20
	// MaxRecording is for cassettes, tapes, and records of a run.
	MaxRecording = 256 << 20
)

// ErrKind is met by the error for a file that is not a regular one.
var ErrKind = errors.New("not a regular file")

// ErrSize is met by the error for a file that is larger than is read.
var ErrSize = errors.New("too large")

// kindError says what a file is in place of a regular one.
type kindError struct{ kind string }

func (e *kindError) Error() string        { return "it is " + e.kind + ", and only regular files are read" }
func (e *kindError) Is(target error) bool { return target == ErrKind }

// sizeError says that a file is larger than is read.
type sizeError struct{ most int64 }

func (e *sizeError) Error() string {
	return fmt.Sprintf("it exceeds the limit of %d bytes", e.most)
}
func (e *sizeError) Is(target error) bool { return target == ErrSize }

// Open opens a regular file for reading. The error is an [*fs.PathError].
func Open(path string) (*os.File, error) {
	// Before it is opened: opening a device can do something.
	info, err := os.Stat(path)
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: failed.Err}
	}
	if err != nil {
		return nil, err
	}
	if err := regular(path, info); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, err
	}
	// It may have become another one meanwhile.
	if info, err = f.Stat(); err == nil {
		err = regular(path, info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Read reads a regular file of at most so many bytes. The error is an
// [*fs.PathError].
func Read(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var data []byte
	whole := info.Size() <= most
	if whole {
		data, whole, err = begin(f, most)
	}
	if err == nil && !whole {
		return nil, &fs.PathError{Op: "read", Path: path, Err: &sizeError{most}}
	}
	return data, err
}

// ReadResult is [Read] of what one MCP message can carry.
func ReadResult(path string) ([]byte, error) { return Read(path, MaxResult) }

// Begin reads the beginning of a regular file, at most so many bytes, and says
// whether that was the whole of it.
func Begin(path string, most int64) (data []byte, whole bool, err error) {
	f, err := Open(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	return begin(f, most)
}

func begin(f *os.File, most int64) (data []byte, whole bool, err error) {
	info, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	// In one piece where the size is known, and a byte more, to find the end.
	data = make([]byte, 0, min(info.Size(), most)+1)
	for {
		if int64(len(data)) > most {
			return data[:most], false, nil
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := f.Read(data[len(data):min(int64(cap(data)), most+1)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			return data, true, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
}

// regular says what is wrong with a file that is not a regular one.
func regular(path string, info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return &fs.PathError{Op: "read", Path: path, Err: errFolder}
	default:
		return &fs.PathError{Op: "open", Path: path, Err: &kindError{Kind(mode)}}
	}
}

// Kind is what a file of a mode is called in a message.
func Kind(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "a regular file"
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeSymlink != 0:
		return "a link"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file (" + mode.Type().String() + ")"
}
