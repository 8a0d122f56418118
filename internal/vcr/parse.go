// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package vcr

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/filepos"
	"github.com/rehearse-dev/rehearse/internal/plainfile"
)

// Read reads a file, or the captures in a folder of the Argo layout. The
// format is told from the content.
func Read(path string) (*File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading cassette: %w", err)
	}
	if info.IsDir() {
		return readArgo(path)
	}
	f, err := read(path)
	if err != nil {
		return nil, err
	}
	return f, f.readBodies()
}

// read reads a file in which the bodies are that stand in it.
func read(path string) (*File, error) {
	data, err := plainfile.Read(path, plainfile.MaxRecording)
	if err != nil {
		return nil, fmt.Errorf("reading cassette: %w", err)
	}
	if list, ok := parseFast(data, true); ok {
		f := &File{Path: path, Format: GoVCR1, Interactions: list}
		return f, f.takeMeta()
	}
	if data, err = plainfile.Read(path, plainfile.MaxRecording); err != nil {
		return nil, fmt.Errorf("reading cassette: %w", err)
	}
	return Parse(path, data)
}

// Parse reads the content of a file; name is for messages, which are
// `name:line:column: what is wrong`.
func Parse(name string, data []byte) (*File, error) {
	f := &File{Path: name, Format: GoVCR1}
	var ok bool
	if f.Interactions, ok = parseFast(data, false); !ok {
		trimmed := bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF")), " \t\r\n")
		var err error
		switch {
		case len(trimmed) == 0:
			return nil, filepos.Errorf(harness.Position{File: name, Line: 1}, "the file is empty")
		case trimmed[0] == '{' && isHAR(trimmed):
			f.Format = HAR
			f.Interactions, err = parseHAR(name, data)
		case trimmed[0] == '{' && json.Valid(trimmed):
			err = f.parseYAML(yamlOfJSON(data))
		default:
			err = f.parseYAML(data)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := f.takeMeta(); err != nil {
		return nil, err
	}
	return f, nil
}

// takeMeta moves our additions out of the headers.
func (f *File) takeMeta() error {
	for n, i := range f.Interactions {
		h := i.Response.Header
		values, ok := h[MetaHeader]
		if !ok {
			if i.Meta.Outcome == "" {
				i.Meta.Outcome = Complete
			}
			i.Meta.Attempt = max(1, i.Meta.Attempt)
			if f.Format != HAR { // which has seen to it
				plainInteraction(i)
			}
			continue
		}
		if len(values) != 1 {
			return filepos.Errorf(f.at(i), "interaction %d: %s has %d values, not one", n+1, MetaHeader, len(values))
		}
		var err error
		i.Meta, i.Response.Trailer, err = decodeMeta(values[0])
		if err != nil {
			return filepos.Errorf(f.at(i), "interaction %d: %w", n+1, err)
		}
		delete(h, MetaHeader)
	}
	return nil
}

// at is where an interaction stands.
func (f *File) at(i *Interaction) harness.Position {
	return harness.Position{File: f.Path, Line: i.Line}
}

// parseYAML reads files of go-vcr and of vcrpy.
func (f *File) parseYAML(data []byte) error {
	if line := conflict(data); line > 0 {
		return filepos.Errorf(harness.Position{File: f.Path, Line: line, Col: 1}, "the file contains merge conflict markers; choose one side, or record it again")
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return filepos.Errorf(harness.Position{File: f.Path, Line: 1}, "the file contains no YAML document; was the recording interrupted?")
	case err != nil:
		return f.notYAML(err, data)
	}
	var second yaml.Node
	switch err := dec.Decode(&second); {
	case err == nil:
		return filepos.Errorf(harness.Position{File: f.Path, Line: second.Line}, "a cassette must hold exactly one YAML document, but this file has more")
	case !errors.Is(err, io.EOF):
		return f.notYAML(err, data)
	}
	w := &walk{name: f.Path, budget: aliasBudget}
	w.document(f, doc.Content[0])
	return w.err
}

// notYAML is an error of the reader of YAML at its line. It names none for what
// is in the first line, and for bytes that are no text.
func (f *File) notYAML(err error, data []byte) error {
	at := harness.Position{File: f.Path, Line: 1}
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if number, why, ok := strings.Cut(rest, ": "); ok {
			at.Line, _ = strconv.Atoi(number)
			text = why
		}
	} else {
		n := 0
		for line := range bytes.Lines(data) {
			if n++; !utf8.Valid(line) || bytes.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' }) {
				at.Line = n
				break
			}
		}
	}
	return filepos.Errorf(at, "not YAML: %s", text)
}

func (w *walk) document(f *File, root *yaml.Node) {
	if isNull(root) {
		w.fail(root, "the document is null; was the recording interrupted?")
	}
	m := w.object(root, "the document")
	version := w.version(m["version"], root)
	list := m["interactions"]
	switch {
	case list == nil:
		w.fail(root, "the key interactions is missing: is this a cassette?")
	case isNull(list):
		list = &yaml.Node{Kind: yaml.SequenceNode}
	case list.Kind != yaml.SequenceNode:
		w.fail(list, "interactions is not a list")
	}
	if w.err != nil {
		return
	}
	f.Format = GoVCR1
	if version == 2 {
		f.Format = GoVCR2
	}
	for _, n := range list.Content {
		i, python := w.interaction(n, version)
		if w.err != nil {
			return
		}
		if python {
			f.Format = VCRPy
		}
		f.Interactions = append(f.Interactions, i)
	}
}

// conflict returns the first line with a mark of a merge conflict, from 1.
func conflict(data []byte) int {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if bytes.HasPrefix(line, []byte("<<<<<<< ")) || bytes.HasPrefix(line, []byte(">>>>>>> ")) {
			return n
		}
	}
	return 0
}
