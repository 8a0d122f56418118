// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package vcr

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"gopkg.in/yaml.v3"
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
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading cassette: %w", err)
	}
	if list, ok := parseFast(data, true); ok {
		f := &File{Path: path, Format: GoVCR1, Interactions: list}
		return f, f.takeMeta()
	}
	if data, err = os.ReadFile(path); err != nil {
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
			return nil, fmt.Errorf("%s: the file is empty", name)
		case trimmed[0] == '{' && isHAR(trimmed):
			f.Format = HAR
			f.Interactions, err = parseHAR(trimmed)
			if err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			}
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
			continue
		}
		if len(values) != 1 {
			return fmt.Errorf("%s: interaction %d: %s has %d values, not one", f.at(i), n+1, MetaHeader, len(values))
		}
		var err error
		i.Meta, i.Response.Trailer, err = decodeMeta(values[0])
		if err != nil {
			return fmt.Errorf("%s: interaction %d: %w", f.at(i), n+1, err)
		}
		delete(h, MetaHeader)
	}
	return nil
}

// at is where an interaction stands, for messages.
func (f *File) at(i *Interaction) string {
	if i.Line == 0 {
		return f.Path
	}
	return fmt.Sprintf("%s:%d", f.Path, i.Line)
}

// parseYAML reads files of go-vcr and of vcrpy.
func (f *File) parseYAML(data []byte) error {
	if line := conflict(data); line > 0 {
		return fmt.Errorf("%s:%d:1: the marks of a merge conflict are still in the file; choose one side, or record it anew", f.Path, line)
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%s: the file holds no document; was its writer stopped half-way?", f.Path)
	case err != nil:
		return fmt.Errorf("%s: not YAML: %s", f.Path, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	var second yaml.Node
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: there is a second document; a cassette is one", f.Path)
	}
	w := &walk{name: f.Path, budget: aliasBudget}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return w.errorf(root, "the document is null; was its writer stopped half-way?")
	}
	m, err := w.object(root, "the document")
	if err != nil {
		return err
	}
	version, err := w.version(m["version"], root)
	if err != nil {
		return err
	}
	list := m["interactions"]
	if list == nil {
		return w.errorf(root, "there is no key interactions: is this a cassette?")
	}
	if list.Kind == yaml.ScalarNode && list.Tag == "!!null" {
		list = &yaml.Node{Kind: yaml.SequenceNode}
	}
	if list.Kind != yaml.SequenceNode {
		return w.errorf(list, "interactions is no list")
	}
	f.Format = GoVCR1
	if version == 2 {
		f.Format = GoVCR2
	}
	for _, n := range list.Content {
		i, python, err := w.interaction(n, version)
		if err != nil {
			return err
		}
		if python {
			f.Format = VCRPy
		}
		f.Interactions = append(f.Interactions, i)
	}
	return nil
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
