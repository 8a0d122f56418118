// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package capture

import (
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/yamledit"
	"github.com/rehearse-dev/rehearse/internal/yamlnode"
)

// textNow is what was expected of a text with that text: what held stays, a text
// that it is not, or does not contain, becomes it. note says which operator cannot
// hold a text, so that equals stands in its place.
func textNow(was *yaml.Node, text string) (part *yaml.Node, with any, note string) {
	wrong, can := wrongTexts(was, text)
	switch {
	case !can || text == "": // which every text contains
		var others []string
		for _, key := range []string{"contains", "not_contains", "regex", "json"} {
			if yamledit.Get(was, key) != nil {
				others = append(others, key)
			}
		}
		if len(others) > 0 {
			note = "equals stands in the place of " + prose.And(others) + ", since no pattern or other value follows from a text"
		}
		with := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{scalar("equals"), scalar(Literal(text))}}
		if was.Kind == yaml.MappingNode && len(was.Content) > 0 {
			with.Style = was.Style
			noted(with.Content[0], was.Content[0])
			noted(with.Content[1], was.Content[1])
		}
		return was, with, note
	case len(wrong) == 1:
		return wrong[0], noted(scalar(Literal(text)), wrong[0]), ""
	}
	return was, replaced(was, wrong, text), ""
}

// wrongTexts are the texts that are expected and that an answer is not, or does
// not contain. It is not so where another operator is wrong.
func wrongTexts(was *yaml.Node, text string) (wrong []*yaml.Node, can bool) {
	var computed []*yaml.Node
	add := func(n *yaml.Node, holds func(text, want string) bool) {
		switch {
		case n.Kind != yaml.ScalarNode:
		case strings.Contains(n.Value, "{{"):
			computed = append(computed, n)
		case !holds(text, n.Value):
			wrong = append(wrong, n)
		}
	}
	for _, n := range items(yamledit.Get(was, "contains")) {
		add(n, strings.Contains)
	}
	for _, n := range items(yamledit.Get(was, "equals")) {
		add(n, func(text, want string) bool { return text == want })
	}
	for _, n := range items(yamledit.Get(was, "not_contains")) {
		if strings.Contains(text, n.Value) {
			return nil, false
		}
	}
	for _, n := range items(yamledit.Get(was, "regex")) {
		if re, err := regexp.Compile(n.Value); err != nil || !re.MatchString(text) {
			return nil, false
		}
	}
	if len(wrong) == 0 && yamledit.Get(was, "json") == nil {
		wrong = computed // what they come to is not known here, and something is wrong
	}
	return wrong, len(wrong) > 0
}

// items are the nodes of a list, or the one that stands in place of a list.
func items(n *yaml.Node) []*yaml.Node {
	switch {
	case n == nil:
		return nil
	case n.Kind == yaml.SequenceNode:
		return n.Content
	}
	return []*yaml.Node{n}
}

// replaced is a node with a text in the place of the first of some in each list,
// and without the others.
func replaced(n *yaml.Node, wrong []*yaml.Node, text string) *yaml.Node {
	if slices.Contains(wrong, n) {
		return noted(scalar(Literal(text)), n)
	}
	out := *n
	out.Content = nil
	done := false
	for _, c := range n.Content {
		if n.Kind == yaml.SequenceNode && slices.Contains(wrong, c) {
			if done {
				continue
			}
			done = true
		}
		out.Content = append(out.Content, replaced(c, wrong, text))
	}
	return &out
}

func scalar(text string) *yaml.Node { return yamlnode.Text(text) }

// noted gives a node the comments of the one in whose place it stands.
func noted(n, was *yaml.Node) *yaml.Node {
	n.HeadComment, n.LineComment, n.FootComment = was.HeadComment, was.LineComment, was.FootComment
	return n
}
