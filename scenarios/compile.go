// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/match"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// compiler turns nodes into expressions, values and matchers. All of its
// methods take a nil or Invalid node and then return nothing.
type compiler struct {
	problems *problems
	exprs    []placed // all that were compiled, for checks across them
}

// placed is an expression with its place in the file.
type placed struct {
	pos  harness.Position
	prog *expr.Program
	// lenient says that what is missing is no error here, as in when.
	lenient bool
	// condition says that it is one, and scope of which.
	condition bool
	scope     expr.Scope
}

// keep notes the expressions of a node, which come in the order of the file.
// Their places are looked for nearby, so that a long list costs no more than
// its length; one that is not found stands where the node does.
func (c *compiler) keep(n *strictyaml.Node, list []*expr.Program) {
	if len(list) == 0 {
		return
	}
	const near = 100
	texts := textNodes(nil, n)
	at := 0
	for _, p := range list {
		place := n.Pos
		for i := range min(near, len(texts)) {
			if k := (at + i) % len(texts); strings.Contains(texts[k].Text, p.String()) {
				place, at = texts[k].Pos, k
				break
			}
		}
		p.Place(place)
		c.exprs = append(c.exprs, placed{pos: place, prog: p})
	}
}

// textNodes appends the texts in a node, keys too, in the order of the file.
func textNodes(list []*strictyaml.Node, n *strictyaml.Node) []*strictyaml.Node {
	if !usable(n) {
		return list
	}
	if n.Kind == strictyaml.String {
		return append(list, n)
	}
	for _, item := range n.Items {
		list = textNodes(list, item)
	}
	for _, p := range n.Pairs {
		list = textNodes(textNodes(list, p.Key), p.Value)
	}
	return list
}

func usable(n *strictyaml.Node) bool { return n != nil && n.Kind != strictyaml.Invalid }

func (c *compiler) env(scope expr.Scope) *expr.Env {
	env, err := expr.NewEnv(scope)
	if err != nil {
		panic(fmt.Sprintf("scenarios: environment of expressions: %v", err)) // unreachable: scopes are constants
	}
	return env
}

func (c *compiler) template(n *strictyaml.Node, scope expr.Scope) *expr.Template {
	if !usable(n) {
		return nil
	}
	t, err := c.env(scope).CompileTemplate(n.Text)
	if err != nil {
		c.problems.add(n.Pos, "%v", err)
		return nil
	}
	c.keep(n, t.Programs())
	return t
}

// condition compiles a CEL condition.
func (c *compiler) condition(n *strictyaml.Node, scope expr.Scope) *expr.Program {
	if !usable(n) {
		return nil
	}
	p, err := c.env(scope).CompileCondition(n.Text)
	if err != nil {
		c.problems.add(n.Pos, "%v", err)
		return nil
	}
	p.Place(n.Pos)
	c.exprs = append(c.exprs, placed{n.Pos, p, scope != expr.That, true, scope})
	return p
}

// tree compiles a value in which only {{ }}, $cel and $literal compute.
func (c *compiler) tree(n *strictyaml.Node, scope expr.Scope) *expr.Tree {
	v, ok := c.value(n)
	if !ok {
		return nil
	}
	t, err := c.env(scope).CompileValue(v)
	if err == nil {
		c.keep(n, t.Programs())
		return t
	}
	var list expr.Errors
	if !errors.As(err, &list) {
		c.problems.add(n.Pos, "%v", err)
	}
	for _, e := range list {
		at := *e
		at.Path = nil // the position says it
		c.problems.add(n.Walk(e.Path...).Pos, "%v", &at)
	}
	return nil
}

// matcher compiles a value with operators.
func (c *compiler) matcher(n *strictyaml.Node, opts match.Options) *match.Matcher {
	v, ok := c.value(n)
	if !ok {
		return nil
	}
	opts.Pos = func(p value.Path) harness.Position { return n.Walk(p...).Pos }
	m, err := match.Compile(v, &opts)
	if err == nil {
		c.keep(n, m.Programs())
		return m
	}
	var list match.Problems
	if !errors.As(err, &list) {
		c.problems.add(n.Pos, "%v", err)
	}
	for _, p := range list {
		c.problems.add(n.Walk(p.Path...).Pos, "%s", p.Msg)
	}
	return nil
}

func (c *compiler) value(n *strictyaml.Node) (value.Value, bool) {
	if !usable(n) {
		return value.Value{}, false
	}
	return n.Value(), true
}

func textOf(n *strictyaml.Node) string {
	if !usable(n) {
		return ""
	}
	return n.Text
}

func intOf(n *strictyaml.Node) int {
	i, _ := strconv.Atoi(textOf(n)) // shapes have checked it
	return i
}

func boolOf(n *strictyaml.Node) bool { return textOf(n) == "true" }

func floatOf(n *strictyaml.Node) *float64 {
	if !usable(n) {
		return nil
	}
	f, err := strconv.ParseFloat(n.Text, 64)
	if err != nil {
		return nil
	}
	return &f
}

func durationOf(n *strictyaml.Node) time.Duration {
	d, _ := time.ParseDuration(textOf(n)) // shapes have checked it
	return d
}

func textsOf(n *strictyaml.Node) []string {
	var out []string
	for _, item := range itemsOf(n) {
		if usable(item) {
			out = append(out, item.Text)
		}
	}
	return out
}

func textMap(n *strictyaml.Node) map[string]string {
	if !usable(n) || len(n.Pairs) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, p := range n.Pairs {
		out[p.Key.Text] = textOf(p.Value)
	}
	return out
}

// itemsOf returns the items of a list, or the one node itself.
func itemsOf(n *strictyaml.Node) []*strictyaml.Node {
	switch {
	case !usable(n):
		return nil
	case n.Kind == strictyaml.List:
		return n.Items
	default:
		return []*strictyaml.Node{n}
	}
}

func rawOf(n *strictyaml.Node) json.RawMessage {
	if !usable(n) {
		return nil
	}
	return n.JSON()
}

func emptyVars() value.Value { return value.ObjectOf() }
