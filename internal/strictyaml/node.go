// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package strictyaml reads one YAML document the strict way: every node has
// its place in the file, and what YAML lets pass in silence is a mistake.
//
//	root, problems := strictyaml.Parse("weather.yaml", data)
//
// Refused are duplicate keys, merge keys, tags, second documents, aliases
// that contain themselves or grow beyond a budget, keys that are no plain
// text, and numbers that JSON does not know (010, 0x1f, 1_000, .inf). Dates
// are strings. All mistakes are collected; only text that is no YAML at all
// ends at the first, since the parser says no more.
//
// Words: a node is one value with its place; a path is a place inside a
// value, as in turns[0].user.
package strictyaml

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// Kind is the type of a [Node].
type Kind int

// The kinds. A node is Invalid when a problem with it was reported already.
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	String
	List
	Map
)

// String returns the kind in words: "a text", "a map".
func (k Kind) String() string {
	switch k {
	case Null:
		return "nothing"
	case Bool:
		return "true or false"
	case Number:
		return "a number"
	case String:
		return "a text"
	case List:
		return "a list"
	case Map:
		return "a map"
	default:
		return "a mistake"
	}
}

// Node is one value of a document. Nodes are shared where aliases are used
// and must not be changed after [Parse], except to mark one as Invalid.
type Node struct {
	Kind Kind
	// Pos is where the value begins. Columns count characters.
	Pos harness.Position
	// Text is a string's text, a number's spelling, true or false.
	Text string
	// Plain says that a scalar was written without quotes.
	Plain bool
	// Block says that a scalar was written as a block, with | or >.
	Block bool
	// Comment is the comment on the line of a scalar, with its #.
	Comment string
	// Cut says that a plain text ends one space before a comment, which may
	// have been meant as text.
	Cut   bool
	Items []*Node // of a list
	Pairs []Pair  // of a map, in the order of the file

	// index has the places of the keys of a map with many, when it was read.
	// A node that was made of another may have other pairs.
	index map[string]int
}

// Pair is one entry of a map.
type Pair struct {
	Key   *Node // Kind String
	Value *Node
}

// Get returns the value of key, or nil. A nil node has no keys.
func (n *Node) Get(key string) *Node {
	if p := n.pair(key); p != nil {
		return p.Value
	}
	return nil
}

// Key returns the node of the key itself, or nil.
func (n *Node) Key(key string) *Node {
	if p := n.pair(key); p != nil {
		return p.Key
	}
	return nil
}

func (n *Node) pair(key string) *Pair {
	if n == nil || n.Kind != Map {
		return nil
	}
	if i, ok := n.index[key]; ok && i < len(n.Pairs) && n.Pairs[i].Key.Text == key {
		return &n.Pairs[i]
	}
	for i := range n.Pairs {
		if n.Pairs[i].Key.Text == key {
			return &n.Pairs[i]
		}
	}
	return nil
}

// Value returns the value with its key order and the spelling of its numbers.
// An Invalid node is null.
func (n *Node) Value() value.Value {
	switch n.Kind {
	case Bool:
		return value.BoolOf(n.Text == "true")
	case Number:
		return value.NumberOf(n.Text)
	case String:
		return value.StringOf(n.Text)
	case List:
		items := make([]value.Value, len(n.Items))
		for i, item := range n.Items {
			items[i] = item.Value()
		}
		return value.ArrayOf(items...)
	case Map:
		members := make([]value.Member, len(n.Pairs))
		for i, p := range n.Pairs {
			members[i] = value.Member{Key: p.Key.Text, Value: p.Value.Value()}
		}
		return value.ObjectOf(members...)
	default:
		return value.Value{}
	}
}

// JSON returns [Node.Value] as compact JSON.
func (n *Node) JSON() json.RawMessage { return n.Value().Append(nil) }

// Walk follows a path, each step a key (string) or an index (int), and
// returns the deepest node it reaches: the place to name in a message about
// the value there.
func (n *Node) Walk(path ...any) *Node {
	for _, step := range path {
		var next *Node
		switch step := step.(type) {
		case string:
			next = n.Get(step)
		case int:
			if n.Kind == List && step >= 0 && step < len(n.Items) {
				next = n.Items[step]
			}
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

// Describe says what the node is, for a message: the number 5, a map.
func (n *Node) Describe() string {
	switch n.Kind {
	case Bool:
		return n.Text
	case Number:
		return "the number " + n.Text
	case String:
		return "the text " + strconv.Quote(prose.Excerpt(n.Text, maxQuoted))
	default:
		return n.Kind.String()
	}
}

// Hint says what YAML may have swallowed where a text was meant, with advice,
// and is empty when there is no such suspicion.
func (n *Node) Hint() string {
	switch n.Kind {
	case Null:
		if strings.HasPrefix(n.Comment, "#") {
			return "YAML takes # for the beginning of a comment: " + advice
		}
		if n.Text != "" && n.Text != "~" {
			return fmt.Sprintf("quote it: %q", n.Text)
		}
	case Number, Bool:
		return fmt.Sprintf("quote it: %q", n.Text)
	case String:
		if odd := oddSpaceIn(n.Text); n.Plain && odd != "" {
			return "it has " + odd
		}
		if m := gluedColon.FindStringSubmatch(n.Text); n.Plain && m != nil {
			return fmt.Sprintf("a key needs a space after its colon, as in %q", m[2]+": "+prose.Excerpt(m[3], maxQuoted))
		}
	case Map:
		if len(n.Pairs) == 1 && n.Pairs[0].Key.Plain {
			if n.Pairs[0].Value.Kind == Null && n.Pairs[0].Value.Text == "" {
				return "YAML takes { for a map: " + advice
			}
			return "YAML takes \": \" for a key and its value: " + advice
		}
	case List:
		return "YAML takes [ or - for a list: " + advice
	}
	return ""
}

const advice = "quote it, or use `|`"

// maxQuoted bounds what a message quotes of a text, in bytes.
const maxQuoted = 40

// Problem is one mistake in a file.
type Problem struct {
	Pos harness.Position
	Msg string
}

func (p Problem) Error() string { return p.Pos.String() + ": " + p.Msg }
