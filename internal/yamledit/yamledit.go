// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package yamledit replaces values in a YAML file and leaves every other byte of
// it alone.
//
//	f, err := yamledit.Parse("weather.yaml", data)
//	if err != nil {
//		return err
//	}
//	f.Set(f.At(7, 9), "Warm.")
//	data, err = f.Bytes()
//
// yaml.v3 knows comments and styles, but not where a value ends, and writes a whole
// document in a layout of its own. So an edit is a span of the text: it begins where
// the parser says, and its end is found in the text.
package yamledit

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// File is a file that is edited.
type File struct {
	name  string
	src   []byte
	lines []int // where each begins
	root  *yaml.Node
	edits []edit
}

type edit struct {
	from, to int
	text     string
	of       *yaml.Node
	value    yaml.Node
}

// Parse reads one document.
func Parse(name string, src []byte) (*File, error) {
	f := &File{name: name, src: src, lines: []int{0}, root: new(yaml.Node)}
	for i, c := range src {
		if c == '\n' {
			f.lines = append(f.lines, i+1)
		}
	}
	if err := yaml.Unmarshal(src, f.root); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// At is the map that begins at a place, both from 1; nil when there is none.
func (f *File) At(line, column int) *yaml.Node {
	var find func(n *yaml.Node) *yaml.Node
	find = func(n *yaml.Node) *yaml.Node {
		if n.Kind == yaml.MappingNode && n.Line == line && n.Column == column {
			return n
		}
		for _, c := range n.Content {
			if found := find(c); found != nil {
				return found
			}
		}
		return nil
	}
	return find(f.root)
}

// ItemAt is the item that a place is in, of a list that is the value of a key, at
// any depth; nil when there is none.
func (f *File) ItemAt(key string, line, column int) *yaml.Node {
	before := func(n *yaml.Node) bool { return n.Line < line || n.Line == line && n.Column <= column }
	var found *yaml.Node
	for n, list := f.root, false; n != nil; {
		var next *yaml.Node
		for i, c := range n.Content {
			if !before(c) {
				break
			}
			if next = c; n.Kind == yaml.MappingNode {
				list = i%2 == 1 && c.Kind == yaml.SequenceNode && n.Content[i-1].Value == key
			}
		}
		if n.Kind == yaml.SequenceNode && list && found == nil {
			found = next
		}
		n = next
	}
	return found
}

// Get is the value of a key of a map; nil when it has none.
func Get(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// Set puts another value in the place of one. It may have nodes of the file, which
// keep their comments and styles.
func (f *File) Set(n *yaml.Node, value any) error {
	from, to, err := f.span(n)
	if err != nil {
		return err
	}
	with, ok := value.(*yaml.Node)
	if !ok {
		with = new(yaml.Node)
		if err := with.Encode(value); err != nil {
			return err
		}
	}
	top := *with
	top.HeadComment, top.LineComment, top.FootComment = "", "", ""
	text, err := f.render(n, &top)
	if err != nil {
		return err
	}
	if from == to {
		text = " " + text // behind a colon
	}
	f.edits = append(f.edits, edit{from, to, text, n, *with})
	return nil
}

// Bytes are the file with what was set. It is an error when anything else would
// be changed. The file cannot be edited afterwards.
func (f *File) Bytes() ([]byte, error) {
	slices.SortFunc(f.edits, func(a, b edit) int { return a.from - b.from })
	var out bytes.Buffer
	at := 0
	for _, e := range f.edits {
		if e.from < at {
			return nil, fmt.Errorf("%s: two edits are of the same place", f.name)
		}
		out.Write(f.src[at:e.from])
		out.WriteString(e.text)
		at = e.to
	}
	out.Write(f.src[at:])
	for _, e := range f.edits {
		*e.of = e.value
	}
	var want, got any
	if err := errors.Join(f.root.Decode(&want), yaml.Unmarshal(out.Bytes(), &got)); err != nil {
		return nil, fmt.Errorf("%s: an edit would break the file: %w", f.name, err)
	}
	if !reflect.DeepEqual(want, got) {
		return nil, fmt.Errorf("%s: an edit would change more than its value", f.name)
	}
	return out.Bytes(), nil
}

// Lost are the comments of a document that another one does not have.
func Lost(was, now []byte) []string {
	comments := func(src []byte) (out []string) {
		var walk func(n *yaml.Node)
		walk = func(n *yaml.Node) {
			for _, text := range []string{n.HeadComment, n.LineComment, n.FootComment} {
				for line := range strings.Lines(text) {
					if line = strings.TrimSpace(line); line != "" {
						out = append(out, line)
					}
				}
			}
			for _, c := range n.Content {
				walk(c)
			}
		}
		var root yaml.Node
		if yaml.Unmarshal(src, &root) == nil {
			walk(&root)
		}
		return out
	}
	left := comments(now)
	var lost []string
	for _, text := range comments(was) {
		if i := slices.Index(left, text); i >= 0 {
			left = slices.Delete(left, i, i+1)
			continue
		}
		lost = append(lost, text)
	}
	return lost
}

// offset is where a place of the parser is in the text.
func (f *File) offset(line, column int) int {
	at := f.lines[line-1]
	for range column - 1 {
		_, size := utf8.DecodeRune(f.src[at:])
		at += size
	}
	return at
}

var errSpan = errors.New("its end is not found")

// span is where a value stands in the text.
func (f *File) span(n *yaml.Node) (from, to int, err error) {
	if n.Line == 0 || n.Kind == yaml.DocumentNode || n.Anchor != "" || n.Kind == yaml.AliasNode {
		return 0, 0, fmt.Errorf("%s:%d: an anchor, an alias and a whole document are not edited", f.name, n.Line)
	}
	from = f.offset(n.Line, n.Column)
	if to, err = f.end(n, from); err != nil {
		return 0, 0, fmt.Errorf("%s:%d:%d: editing: %w", f.name, n.Line, n.Column, err)
	}
	return from, to, nil
}

// end finds the end of a value that begins at a place.
func (f *File) end(n *yaml.Node, from int) (int, error) {
	switch {
	case n.Kind == yaml.AliasNode:
		return from + 1 + len(n.Value), nil
	case n.Kind == yaml.ScalarNode:
		return f.endOfScalar(n, from)
	case n.Style&yaml.FlowStyle != 0:
		return f.endOfFlow(from)
	case len(n.Content) == 0:
		return 0, errSpan
	}
	last := n.Content[len(n.Content)-1]
	start := f.offset(last.Line, last.Column)
	if last.Kind == yaml.ScalarNode && last.Value == "" && last.Style == 0 {
		return f.endOfLine(start), nil
	}
	end, err := f.end(last, start)
	if err != nil {
		return 0, err
	}
	if rest := strings.TrimLeft(string(f.src[end:f.endOfLine(end)]), " \t"); strings.HasPrefix(rest, "#") {
		return f.endOfLine(end), nil // its comment goes with it
	}
	return end, nil
}

func (f *File) endOfLine(at int) int {
	if i := bytes.IndexByte(f.src[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(f.src)
}

func (f *File) endOfScalar(n *yaml.Node, from int) (int, error) {
	switch {
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		return f.endOfQuoted(from)
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return f.endOfBlock(from), nil
	}
	// White space of a plain text may be folded, and nothing else differs.
	at := from
	for i, word := range strings.Fields(n.Value) {
		if i > 0 {
			at += len(f.src[at:]) - len(bytes.TrimLeft(f.src[at:], " \t\r\n"))
		}
		if !bytes.HasPrefix(f.src[at:], []byte(word)) {
			return 0, errSpan
		}
		at += len(word)
	}
	return at, nil
}

// endOfQuoted is behind the quote that closes the one at from.
func (f *File) endOfQuoted(from int) (int, error) {
	quote := f.src[from]
	for i := from + 1; i < len(f.src); i++ {
		switch c := f.src[i]; {
		case c == '\\' && quote == '"':
			i++
		case c == quote && quote == '\'' && i+1 < len(f.src) && f.src[i+1] == quote:
			i++
		case c == quote:
			return i + 1, nil
		}
	}
	return 0, errSpan
}

// endOfBlock is the end of the last line of a block scalar.
func (f *File) endOfBlock(from int) int {
	end := f.endOfLine(from)
	indent := -1
	for at := end + 1; at < len(f.src); {
		stop := f.endOfLine(at)
		line := strings.TrimRight(string(f.src[at:stop]), " \r")
		spaces := len(line) - len(strings.TrimLeft(line, " "))
		switch {
		case line == "":
		case indent < 0 || spaces >= indent:
			if indent < 0 {
				indent = spaces
			}
			end = stop
		default:
			return end
		}
		at = stop + 1
	}
	return end
}

// endOfFlow is behind the bracket that closes the one at from.
func (f *File) endOfFlow(from int) (int, error) {
	depth := 0
	for i := from; i < len(f.src); i++ {
		switch c := f.src[i]; c {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1, nil
			}
		case '"', '\'':
			// Only where a value begins: an apostrophe in a word is none.
			if before := bytes.TrimRight(f.src[from:i], " \t\r\n"); !bytes.ContainsAny(before[len(before)-1:], "[{,:") {
				continue
			}
			end, err := f.endOfQuoted(i)
			if err != nil {
				return 0, err
			}
			i = end - 1
		case '#':
			if prev := f.src[i-1]; prev == ' ' || prev == '\t' || prev == '\n' {
				i = f.endOfLine(i) - 1
			}
		}
	}
	return 0, errSpan
}

// render is a value as it stands in the place of another.
func (f *File) render(place, value *yaml.Node) (string, error) {
	block := place.Kind != yaml.ScalarNode && place.Style&yaml.FlowStyle == 0
	literal := place.Kind == yaml.ScalarNode && place.Style&yaml.LiteralStyle != 0 && value.Kind == yaml.ScalarNode && value.Style&yaml.DoubleQuotedStyle == 0 && strings.Contains(value.Value, "\n")
	switch {
	case literal:
		value.Style = yaml.LiteralStyle
		out, err := encode(map[string]*yaml.Node{"k": value})
		text, _ := strings.CutPrefix(out, "k: ")
		head, rest, _ := strings.Cut(text, "\n")
		indent := strings.Repeat(" ", f.indent(place))
		lines := strings.Split(rest, "\n")
		for i, line := range lines {
			if line != "" {
				lines[i] = indent + line
			}
		}
		return head + "\n" + strings.Join(lines, "\n"), err
	case block && len(value.Content) > 0:
		value.Style &^= yaml.FlowStyle
		value.Content = slices.Clone(value.Content)
		value.Content[0] = begun(value.Content[0])
		out, err := encode(value)
		return strings.ReplaceAll(out, "\n", "\n"+strings.Repeat(" ", place.Column-1)), err
	}
	flow := *value
	if flow.Kind != yaml.ScalarNode {
		flow.Style |= yaml.FlowStyle
	}
	out, err := encode(&yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle, Content: []*yaml.Node{&flow}})
	out = strings.TrimSuffix(strings.TrimPrefix(out, "["), "]")
	return out, err
}

// begun is a node without the comments before it, which stand before the span.
func begun(n *yaml.Node) *yaml.Node {
	out := *n
	out.HeadComment = ""
	if len(n.Content) > 0 {
		out.Content = slices.Clone(n.Content)
		out.Content[0] = begun(n.Content[0])
	}
	return &out
}

// indent is that of the line on which a node begins.
func (f *File) indent(n *yaml.Node) int {
	line := f.src[f.lines[n.Line-1]:f.offset(n.Line, n.Column)]
	return len(line) - len(bytes.TrimLeft(line, " -"))
}

func encode(v any) (string, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	err := errors.Join(enc.Encode(v), enc.Close())
	return strings.TrimSuffix(b.String(), "\n"), err
}
