// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trials

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/filepos"
	"github.com/rehearse-dev/rehearse/internal/plainfile"
)

// Span is where a record stands in the file of a run: bytes from its beginning.
type Span struct {
	Offset int64
	Size   int
}

// Scan calls each with every record of a file, in the order of the file, and
// holds no more than a few hundred of them at a time. A record whose key came
// before replaces an error, as for [Read]. A torn last line is left
// out, as [Salvage] does. An error of each ends the scan and is returned.
func Scan(name string, each func(Record, Span) error) (torn bool, err error) {
	f, err := plainfile.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	wrong := func(line int, err error) error {
		return &filepos.Error{Pos: harness.Position{File: name, Line: line}, Err: err}
	}
	known := cases{}
	torn, err = scan(f, wrong, func(r Record, _ Span, wrote int) error {
		if wrote != 1 {
			return errNotOld
		}
		known.add(r.File, r.Scenario)
		return nil
	})
	if err == nil || errors.Is(err, errNotOld) {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return false, fmt.Errorf("reading %q: %w", name, err)
		}
		torn, err = scan(f, wrong, func(r Record, s Span, wrote int) error {
			if wrote == 1 {
				r.Scenario, r.Case = known.split(r.File, r.Scenario)
			}
			return each(r, s)
		})
	}
	var inner eachError
	switch {
	case errors.As(err, &inner):
		return torn, inner.error
	case err != nil && filepos.Of(err).IsZero():
		return torn, fmt.Errorf("reading %q: %w", name, err)
	}
	return torn, err
}

// errNotOld ends the look at the records of schema 1 that a file begins with:
// what their cases are only all of them tell.
var errNotOld = errors.New("not of schema 1")

// ReadSpan reads the record of a trial in a run folder again. It is an error when
// the file no longer has it there.
func ReadSpan(dir string, s Span, k Key) (Record, error) {
	name := filepath.Join(dir, RecordsFile)
	f, err := os.Open(name)
	if err != nil {
		return Record{}, err
	}
	defer f.Close()
	line := make([]byte, s.Size)
	if _, err := f.ReadAt(line, s.Offset); err != nil {
		return Record{}, fmt.Errorf("reading %q at byte %d: %w", name, s.Offset, err)
	}
	r, wrote, err := decode(line)
	if wrote == 1 && r.Name() == k.Name() {
		r.Scenario, r.Case = k.Scenario, k.Case
	}
	if err == nil && r.Key != k {
		err = fmt.Errorf("it has %s instead of %s", r.Key, k)
	}
	if err != nil {
		return Record{}, fmt.Errorf("reading %q at byte %d: the file has changed: %w", name, s.Offset, err)
	}
	return r, nil
}

// eachError is an error of the caller, which is not one of the file.
type eachError struct{ error }

func (e eachError) Unwrap() error { return e.error }

// scanLine is one line on its way: read by one goroutine, decoded by several.
type scanLine struct {
	text   []byte
	span   Span
	number int
	open   bool // the line has no newline
	record Record
	schema int // in which it was written
	err    error
}

// scanBatch is how many lines are decoded together.
const scanBatch = 256

// scan reads lines in batches, decodes the lines of one at the same time, and
// hands the records out in order. A trial may come again after an error alone.
func scan(r io.Reader, wrong func(line int, err error) error, each func(Record, Span, int) error) (torn bool, err error) {
	br := bufio.NewReaderSize(r, 1<<16)
	var at int64
	known := map[Key]ended{}
	for number, last := 1, false; !last; {
		var batch []scanLine
		for len(batch) < scanBatch && !last {
			line, err := br.ReadBytes('\n')
			last = errors.Is(err, io.EOF)
			if err != nil && !last {
				return false, err
			}
			if text := bytes.TrimSpace(line); len(text) > 0 {
				batch = append(batch, scanLine{text: text, span: Span{at + int64(bytes.Index(line, text)), len(text)}, number: number, open: last})
			}
			at += int64(len(line))
			number++
		}
		decodeAll(batch)
		for i := range batch {
			l := &batch[i]
			switch {
			case l.err == nil:
				if err := known[l.record.Key].replaces(l.record); err != nil {
					return false, wrong(l.number, err)
				}
				known[l.record.Key] = ended{l.number, l.record.Outcome}
				if err := each(l.record, l.span, l.schema); err != nil {
					return false, eachError{err}
				}
			case !l.open || errors.Is(l.err, errSchema) || errors.Is(l.err, errValue):
				return false, wrong(l.number, l.err)
			default:
				torn = true
			}
		}
	}
	return torn, nil
}

// decodeAll decodes lines, by as many goroutines as there are processors.
func decodeAll(batch []scanLine) {
	n := min(runtime.GOMAXPROCS(0), 1+len(batch)/16)
	var wait sync.WaitGroup
	for w := range n {
		wait.Go(func() {
			for i := w; i < len(batch); i += n {
				batch[i].record, batch[i].schema, batch[i].err = decode(batch[i].text)
			}
		})
	}
	wait.Wait()
}
