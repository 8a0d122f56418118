// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package vcr

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/filepos"
	"github.com/rehearse-dev/rehearse/internal/plainfile"
	"github.com/rehearse-dev/rehearse/internal/recfile"
)

// DefaultMaxBody is the longest body that stands in the file itself.
const DefaultMaxBody = 4 << 20

// WriteFile writes f to a path that ends in .yaml, so that a crash at any
// moment leaves the old file or the new one: it writes a file beside it, reads
// that again, compares, syncs and renames. If the content is unchanged, it
// leaves the file alone. The files can be read by their owner only.
//
// A body longer than maxBody bytes (0 means [DefaultMaxBody], less than 0 no
// limit) goes into a file of its own in the folder PATH.bodies, named by its
// hash. A plain go-vcr replays such a body as empty. Where the file would become
// too large to be read again, shorter ones go there, too, and what cannot be read
// again is an error.
//
// A file of go-vcr version 2 is not overwritten, since fields of it would be
// lost.
func WriteFile(path string, f *File, maxBody int) error {
	path, err := recfile.Resolve(path)
	if err != nil {
		return fmt.Errorf("writing cassette: %w", err)
	}
	tmp, err := Stage(path, f, maxBody)
	if err != nil || tmp == "" {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return errors.Join(fmt.Errorf("writing cassette %q: %w", path, err), os.Remove(tmp))
	}
	return recfile.Sync(filepath.Dir(path))
}

// Stage writes f like [WriteFile], but leaves the old file: it returns the path
// of a file beside it that is whole, and is to be renamed; empty where path
// holds f already.
func Stage(path string, f *File, maxBody int) (string, error) {
	return stageWithin(path, f, maxBody, plainfile.MaxRecording)
}

// stageWithin is [Stage] of files of at most so many bytes.
func stageWithin(path string, f *File, maxBody, most int) (string, error) {
	if maxBody == 0 {
		maxBody = DefaultMaxBody
	}
	outside, bodies, data, err := f.fit(path, maxBody, most)
	if err != nil {
		return "", fmt.Errorf("writing cassette %q: %w", path, err)
	}
	old, err := plainfile.Read(path, plainfile.MaxRecording)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", fmt.Errorf("writing cassette: %w", err)
	case bytes.Equal(old, data) && present(path, bodies):
		return "", nil
	default:
		if before, err := Parse(path, old); err == nil && before.Format != GoVCR1 {
			return "", fmt.Errorf("writing cassette %q: it is in the format of %s and would lose fields; write to another file", path, before.Format)
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fmt.Errorf("writing cassette: %w", err)
	}
	for name, body := range bodies {
		if err := os.MkdirAll(bodyDir(path), 0o700); err != nil {
			return "", fmt.Errorf("writing cassette: %w", err)
		}
		if err := replace(filepath.Join(bodyDir(path), name), body); err != nil {
			return "", fmt.Errorf("writing a body of cassette %q: %w", path, err)
		}
	}
	tmp, err := stage(path, data, outside.same)
	if err != nil {
		return "", fmt.Errorf("writing cassette %q: %w", path, err)
	}
	return tmp, nil
}

// bodyDir is the folder with the bodies of a file: beside the file that a link
// leads to, where it has one.
func bodyDir(path string) string {
	if to, err := recfile.Resolve(path); err == nil && to != path {
		if _, err := os.Stat(to + BodiesSuffix); err == nil {
			return to + BodiesSuffix
		}
	}
	return path + BodiesSuffix
}

func present(path string, bodies map[string][]byte) bool {
	for name := range bodies {
		if _, err := os.Stat(filepath.Join(bodyDir(path), name)); err != nil {
			return false
		}
	}
	return true
}

// leastMoved is the shortest body that is put beside a file that is too large.
const leastMoved = 1 << 10

// fit splits f so that each file has at most so many bytes, and encodes what
// stands in the file itself. That has a quarter of room, for what is added to it
// would move all of its bodies else.
func (f *File) fit(path string, maxBody, most int) (outside *File, bodies map[string][]byte, data []byte, err error) {
	for {
		outside, bodies = f.split(path, maxBody)
		data = outside.Encode()
		if len(data) <= most/4*3 || maxBody < 2*leastMoved {
			break
		}
		maxBody /= 2
	}
	if len(data) > most {
		return nil, nil, nil, fmt.Errorf("it would have %d bytes, but files above %d bytes are not read; record it in parts", len(data), most)
	}
	for n, i := range f.Interactions {
		if longest := max(len(i.Request.Body), len(i.Response.Body)); longest > most {
			return nil, nil, nil, fmt.Errorf("interaction %d (%s %s) has a body of %d bytes, but files above %d bytes are not read", n+1, i.Request.Method, i.Request.URL, longest, most)
		}
	}
	return outside, bodies, data, nil
}

// split returns f with its long bodies taken out, and those by file name.
func (f *File) split(path string, maxBody int) (*File, map[string][]byte) {
	if maxBody < 0 {
		return f, nil
	}
	out := &File{Path: path, Format: GoVCR1}
	bodies := map[string][]byte{}
	take := func(body *[]byte, name *string) {
		if len(*body) > maxBody {
			sum := sha256.Sum256(*body)
			*name = hex.EncodeToString(sum[:16])
			bodies[*name] = *body
			*body = nil
		}
	}
	for _, i := range f.Interactions {
		if len(i.Request.Body) > maxBody || len(i.Response.Body) > maxBody {
			clone := *i
			i = &clone
			take(&i.Request.Body, &i.Meta.requestBody)
			take(&i.Response.Body, &i.Meta.responseBody)
		}
		out.Interactions = append(out.Interactions, i)
	}
	return out, bodies
}

// readBodies puts the bodies that stand beside the file back.
func (f *File) readBodies() error {
	read := func(i *Interaction, name *string, body *[]byte) error {
		if *name == "" {
			return nil
		}
		if filepath.Base(*name) != *name {
			return filepos.Errorf(f.at(i), "the body file %q is outside its folder", *name)
		}
		data, err := plainfile.Read(filepath.Join(bodyDir(f.Path), *name), plainfile.MaxRecording)
		if err != nil {
			return filepos.Errorf(f.at(i), "reading a body that stands beside the file: %w", err)
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:16]) != *name {
			return filepos.Errorf(f.at(i), "the content of the body file %q differs from the recording", *name)
		}
		*body, *name = data, ""
		return nil
	}
	for _, i := range f.Interactions {
		err := errors.Join(
			read(i, &i.Meta.requestBody, &i.Request.Body),
			read(i, &i.Meta.responseBody, &i.Response.Body))
		if err != nil {
			return err
		}
	}
	return nil
}

// same reports whether data, which is what the file at path holds, reads as f
// again. It spends data.
func (f *File) same(path string, data []byte) error {
	again := &File{Path: f.Path, Format: GoVCR1}
	var ok bool
	var err error
	if again.Interactions, ok = parseFast(data, true); ok {
		err = again.takeMeta()
	} else {
		again, err = read(path)
	}
	if err != nil {
		return fmt.Errorf("the written file is unreadable: %w", err)
	}
	if len(again.Interactions) != len(f.Interactions) {
		return fmt.Errorf("the written file has %d interactions, not %d", len(again.Interactions), len(f.Interactions))
	}
	for n, i := range again.Interactions {
		if !equal(i, f.Interactions[n]) {
			return fmt.Errorf("the written file differs at interaction %d", n+1)
		}
	}
	return nil
}

// equal compares what matters of two interactions without allocating for
// their bodies.
func equal(a, b *Interaction) bool {
	x, y := *a, *b
	// A file that we did not write does not say how an exchange ended.
	x.Meta.Outcome, y.Meta.Outcome = cmp.Or(x.Meta.Outcome, Complete), cmp.Or(y.Meta.Outcome, Complete)
	if !bytes.Equal(x.Request.Body, y.Request.Body) || !bytes.Equal(x.Response.Body, y.Response.Body) {
		return false
	}
	x.Request.Body, y.Request.Body, x.Response.Body, y.Response.Body = nil, nil, nil, nil
	one, other := &File{Interactions: []*Interaction{&x}}, &File{Interactions: []*Interaction{&y}}
	return bytes.Equal(one.Encode(), other.Encode())
}

// holds makes sure that a file holds data.
func holds(path string, data []byte) error {
	f, err := plainfile.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, 64<<10)
	for at := 0; ; {
		n, err := f.Read(buf)
		if n > len(data)-at || !bytes.Equal(buf[:n], data[at:at+n]) {
			return errors.New("the content of the file differs from what was written")
		}
		at += n
		switch {
		case errors.Is(err, io.EOF) && at == len(data):
			return nil
		case errors.Is(err, io.EOF):
			return fmt.Errorf("the file has %d of %d bytes", at, len(data))
		case err != nil:
			return err
		}
	}
}

// replace writes a file so that at no moment half of it is there.
func replace(path string, data []byte) error {
	tmp, err := stage(path, data, nil)
	if err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return recfile.Sync(filepath.Dir(path))
}

// stage writes a file beside path. check looks at what was written, and may
// spend data.
func stage(path string, data []byte, check func(path string, data []byte) error) (name string, err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp") // mode 0600
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = tmp.Close()
			_ = os.Remove(tmp.Name())
		}
	}()
	if _, err = tmp.Write(data); err != nil {
		return "", err
	}
	if err = tmp.Sync(); err != nil {
		return "", err
	}
	if err = tmp.Close(); err != nil {
		return "", err
	}
	if err = holds(tmp.Name(), data); err != nil {
		return "", err
	}
	if check != nil {
		if err = check(tmp.Name(), data); err != nil {
			return "", err
		}
	}
	return tmp.Name(), nil
}
