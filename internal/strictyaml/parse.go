// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package strictyaml

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// MaxBytes of a file: far above any scenario, and parsed in a second.
const MaxBytes = 8 << 20

const (
	// aliasBudget is how many nodes the aliases of a file may stand for.
	aliasBudget = 10_000
	// bytesPerNode of a long text count as one more node.
	bytesPerNode = 1000
	// maxDepth of nesting, aliases followed.
	maxDepth = 200
)

// Parse reads the one document in data; file is the name used in positions.
// The node is nil when there is nothing to go on with: no YAML, or an empty
// document. Problems are sorted by place. Of data beyond [MaxBytes] nothing is
// read.
func Parse(file string, data []byte) (*Node, []Problem) {
	if len(data) > MaxBytes {
		return nil, []Problem{problemAt(file, 1, 1, "the file exceeds the limit of %d bytes: split it, or keep large texts out of it", MaxBytes)}
	}
	if p, bad := badText(file, data); bad {
		return nil, []Problem{p}
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, []Problem{problemAt(file, 1, 1, "the file is empty")}
		}
		return nil, []Problem{syntaxProblem(file, data, err)}
	}
	r := &reader{
		file: file,
		rest: bytes.TrimPrefix(data, []byte("\ufeff")),
		line: 1,
		col:  1,
		done: map[*yaml.Node]*measured{},
	}
	root := r.node(doc.Content[0], 1).node
	r.secondDocument(dec, data)
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	return root, r.problems
}

// secondDocument reports what follows the first document.
func (r *reader) secondDocument(dec *yaml.Decoder, data []byte) {
	var second yaml.Node
	err := dec.Decode(&second)
	switch {
	case errors.Is(err, io.EOF):
	case err != nil:
		r.problems = append(r.problems, syntaxProblem(r.file, data, err))
	default:
		r.problem(&second, "a second document: a file holds one; put it into a file of its own")
	}
}

// reader turns yaml nodes into ours and collects what is wrong with them.
type reader struct {
	file     string
	problems []Problem
	// rest is the file from line and col on. Nodes are read in the order of
	// the file, so that finding the text of one never goes back.
	rest      []byte
	line, col int
	done      map[*yaml.Node]*measured // nil while the node is being read
	aliased   int                      // nodes that aliases stand for, so far
}

// measured is a node with its size and height, aliases followed, so that an
// alias costs one addition and not a walk.
type measured struct {
	node         *Node
	size, height int
}

func (r *reader) problem(y *yaml.Node, format string, args ...any) {
	r.problems = append(r.problems, problemAt(r.file, max(y.Line, 1), max(y.Column, 1), format, args...))
}

func problemAt(file string, line, col int, format string, args ...any) Problem {
	return Problem{harness.Position{File: file, Line: line, Col: col}, fmt.Sprintf(format, args...)}
}

func (r *reader) pos(y *yaml.Node) harness.Position {
	return harness.Position{File: r.file, Line: y.Line, Col: y.Column}
}

// node reads y, which is depth levels below the document.
func (r *reader) node(y *yaml.Node, depth int) *measured {
	if y.Kind == yaml.AliasNode {
		return r.alias(y, depth)
	}
	if depth > maxDepth {
		r.tooDeep(y)
		return r.skip(y)
	}
	r.done[y] = nil
	m := &measured{node: &Node{Pos: r.pos(y), Comment: y.LineComment}, size: 1, height: 1}
	switch {
	case !r.tagAllowed(y):
		// Invalid.
	case y.Kind == yaml.SequenceNode:
		m.node.Kind = List
		for _, c := range y.Content {
			m.node.Items = append(m.node.Items, m.add(r.node(c, depth+1)))
		}
	case y.Kind == yaml.MappingNode:
		r.mapping(y, m, depth)
	default:
		r.scalar(y, m.node)
		m.size += len(y.Value) / bytesPerNode
	}
	r.done[y] = m
	return m
}

func (r *reader) tooDeep(y *yaml.Node) {
	r.problem(y, "nested more than %d deep: put a part into a text, or leave it out", maxDepth)
}

// skip passes over what is not read. Aliases of what is inside find it
// invalid.
func (r *reader) skip(y *yaml.Node) *measured {
	for _, c := range y.Content {
		r.skip(c)
	}
	m := invalid(&Node{Pos: r.pos(y)})
	r.done[y] = m
	return m
}

// add counts a child and returns its node.
func (m *measured) add(child *measured) *Node {
	m.size += child.size
	m.height = max(m.height, child.height+1)
	return child.node
}

func invalid(at *Node) *measured {
	return &measured{node: &Node{Pos: at.Pos}, size: 1, height: 1}
}

func (r *reader) alias(y *yaml.Node, depth int) *measured {
	at := &Node{Pos: r.pos(y)}
	m, seen := r.done[y.Alias]
	switch {
	case !seen || m == nil:
		r.problem(y, "alias *%s stands inside the value it names", y.Value)
		return invalid(at)
	case depth+m.height-1 > maxDepth:
		r.tooDeep(y)
		return invalid(at)
	case r.aliased > aliasBudget: // reported already
		return invalid(at)
	}
	r.aliased += m.size
	if r.aliased > aliasBudget {
		r.problem(y, "aliases stand for more than %d values in this file: write them out, or use fewer", aliasBudget)
		return invalid(at)
	}
	return m
}

func (r *reader) mapping(y *yaml.Node, m *measured, depth int) {
	m.node.Kind = Map
	if swallowedBraces(y) {
		r.problem(y, "YAML takes {{ for a map: %s", advice)
		m.node.Kind = Invalid
		return
	}
	const many = 64
	if len(y.Content) > 2*many {
		m.node.index = make(map[string]int, len(y.Content)/2)
	}
	first := map[string]int{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		k := y.Content[i]
		key := r.key(k)
		value := m.add(r.node(y.Content[i+1], depth+1))
		if value.Kind == Null && value.Comment == "" {
			value.Comment = k.LineComment // where the parser puts the comment of an empty value
		}
		if key == nil && k.Kind == yaml.ScalarNode && missingColon(k.Value+":") != "" {
			m.node.Kind = Invalid // nothing is known of what was meant
		}
		if key == nil {
			continue
		}
		if line, dup := first[key.Text]; dup {
			r.problem(k, "duplicate key %q, first given on line %d", key.Text, line)
			continue
		}
		first[key.Text] = k.Line
		if m.node.index != nil {
			m.node.index[key.Text] = len(m.node.Pairs)
		}
		m.node.Pairs = append(m.node.Pairs, Pair{key, value})
	}
}

// swallowedBraces reports whether y is what the parser makes of {{x}}: a map
// whose one key is a map.
func swallowedBraces(y *yaml.Node) bool {
	return y.Style&yaml.FlowStyle != 0 && len(y.Content) == 2 && y.Content[0].Kind == yaml.MappingNode
}

func (r *reader) key(k *yaml.Node) *Node {
	switch {
	case k.Kind == yaml.AliasNode:
		r.problem(k, "an alias as a key: write the key out")
	case k.Kind != yaml.ScalarNode:
		r.problem(k, "a list or map as a key: quote the key")
	case k.Tag == "!!merge":
		r.problem(k, "merge keys are not supported: write the keys out, or put defaults into suite.yaml")
	case k.Tag == "!!null" && k.Value == "":
		r.problem(k, "an empty key")
	case isPlain(k) && missingColon(k.Value+":") != "": // in the map that follows it
		r.problem(k, "%s", missingColon(k.Value+":"))
	case isPlain(k) && curlyQuote(k.Value) != "":
		r.problem(k, "%s", curlyQuote(k.Value))
	case isPlain(k) && oddSpaceIn(k.Value) != "":
		r.problem(k, "the key %q has %s, or quote the key", k.Value, oddSpaceIn(k.Value))
	case r.tagAllowed(k):
		return &Node{
			Kind: String, Pos: r.pos(k),
			Text: k.Value, Plain: isPlain(k), Comment: k.LineComment,
		}
	}
	return nil
}

// tagAllowed refuses every written tag except !!str.
func (r *reader) tagAllowed(y *yaml.Node) bool {
	bare := r.at(y.Line, y.Column) == '!' // a lone ! leaves no trace in the node
	if !bare && y.Style&yaml.TaggedStyle == 0 {
		return true
	}
	if y.Kind == yaml.ScalarNode && y.Tag == "!!str" && y.Style&yaml.TaggedStyle != 0 {
		return true
	}
	switch {
	case y.Style&yaml.TaggedStyle == 0:
		r.problem(y, "unknown tag !: YAML takes ! for the beginning of a tag: %s", advice)
	case strings.HasPrefix(y.Tag, "!!"):
		r.problem(y, "unknown tag %s: the only tag is !!str", y.Tag)
	default:
		r.problem(y, "unknown tag %s: YAML takes ! for the beginning of a tag: %s", y.Tag, advice)
	}
	return false
}

// at returns the first byte of the text at a place that is not before the
// last one asked for; 0 when there is none.
func (r *reader) at(line, col int) byte {
	for ; r.line < line; r.line, r.col = r.line+1, 1 {
		i := bytes.IndexByte(r.rest, '\n')
		if i < 0 {
			return 0
		}
		r.rest = r.rest[i+1:]
	}
	for ; r.col < col && len(r.rest) > 0; r.col++ {
		_, size := utf8.DecodeRune(r.rest)
		r.rest = r.rest[size:]
	}
	if r.line != line || r.col != col || len(r.rest) == 0 {
		return 0
	}
	return r.rest[0]
}

func isPlain(y *yaml.Node) bool {
	return y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
}

func (r *reader) scalar(y *yaml.Node, n *Node) {
	n.Kind, n.Text, n.Plain = String, y.Value, isPlain(y)
	n.Block = y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
	if !n.Plain || y.Style&yaml.TaggedStyle != 0 {
		return
	}
	// tagAllowed has just found the place of y.
	n.Cut = y.LineComment != "" && bytes.HasPrefix(bytes.TrimPrefix(r.rest, []byte(y.Value)), []byte(" #"))
	switch why := curlyQuote(y.Value); {
	case why != "":
		r.problem(y, "%s", why)
		n.Kind = Invalid
	case y.Tag == "!!null":
		n.Kind = Null
	case y.Tag == "!!bool":
		n.Kind, n.Text = Bool, strings.ToLower(y.Value)
	case value.ValidNumber(y.Value): // before the tag: 1e999 is a string to the parser
		n.Kind = Number
	case y.Tag == "!!int" || y.Tag == "!!float":
		r.problem(y, "%s is not a JSON number: write it as JSON does, or quote it", y.Value)
		n.Kind = Invalid
	}
}
