// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package recfile

import (
	"errors"
	"fmt"
	"io"
)

// ErrFull is the error of a line that would make a file larger than it may be.
var ErrFull = errors.New("the file may not become larger")

// File is what [Lines] needs of an [*os.File].
type File interface {
	io.WriteSeeker
	Truncate(size int64) error
}

// Lines appends lines to a file. A line that could not be written whole, as on
// a disk that is full for a moment, does not spoil the next one: what there is
// of it is taken back, and where it cannot be, it is ended before the next.
type Lines struct {
	File File
	// Most is how many bytes the file may hold; 0 means any number.
	Most int64

	torn bool // the file ends with a part of a line
}

// Append adds a line, which ends with its newline, in one write. It is not to
// be called concurrently.
func (l *Lines) Append(line []byte) error {
	end, err := l.File.Seek(0, io.SeekEnd)
	known := err == nil // a pipe has no end
	if known && l.Most > 0 && end+int64(len(line)) > l.Most {
		return fmt.Errorf("%w: it has %d bytes, and a line of %d is too long for the %d that can be read again", ErrFull, end, len(line), l.Most)
	}
	if l.torn {
		line = append([]byte{'\n'}, line...)
	}
	n, err := l.File.Write(line)
	if err == nil {
		l.torn = false
		return nil
	}
	if n > 0 && (!known || l.File.Truncate(end) != nil) {
		l.torn = true
	}
	return err
}
