// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/internal/yamlnode"
)

// command is the line for a shell that plays just this trial's scenario again,
// with the same model. It is empty where no line can: the subject is not
// rehearse's own agent, or the file is not known.
func (b *pageBuilder) command(t *Trial) string {
	if t.File == "" || t.Subject != "" && t.Subject != "agent" {
		return ""
	}
	args := []string{"rehearse", "run", t.File, "--run", "^" + regexp.QuoteMeta(t.Name()) + "$"}
	if t.Mode != "" && t.Mode != harness.ModeMock {
		args = append(args, "--mode", string(t.Mode))
	}
	if t.Model != "" && t.Mode != harness.ModeMock {
		args = append(args, "--model", b.entry(t))
	}
	if t.Seed != 0 && !t.Mode.Real() {
		args = append(args, "--seed", fmt.Sprint(b.manifest(t).Seed))
	}
	for i, a := range args {
		args[i] = shellWord(a)
	}
	return clean(strings.Join(args, " "))
}

// manifest is that of the run in which a trial was played.
func (b *pageBuilder) manifest(t *Trial) *trials.Manifest {
	switch {
	case b.diff != nil && t.side == sideA:
		return &b.diff.A.Manifest
	case b.diff != nil && t.side == sideB:
		return &b.diff.B.Manifest
	}
	return &b.run.Manifest
}

// entry is what --model is given: a label alone where it is a name, too.
func (b *pageBuilder) entry(t *Trial) string {
	for _, m := range b.manifest(t).Models {
		if m.Label != t.Model || !t.Mode.Real() {
			continue
		}
		switch {
		case m.BaseURL != "":
			return m.Label + "=" + m.Name + "@" + m.BaseURL
		case m.Name != m.Label:
			return m.Label + "=" + m.Name
		}
	}
	return t.Model
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=@%+,-]+$`)

// shellWord quotes a word for a POSIX shell, where it must be.
func shellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// AsScenario writes what happened in a trial as a scenario: what the user said,
// what the model did, and its calls as an expectation. It reads the name, the
// trajectory and the [Trial.Witness] of the trial. It is empty where nobody said
// anything, and where the trial made calls and has no trajectory: [Load] drops that
// of a trial that passed, and [trials.ReadFile] has it. It names no servers: the
// suite has them.
func AsScenario(t *Trial) string {
	turns := map[int]*yaml.Node{}
	var order []int
	if t.Witness == nil || t.Witness.Transcript == nil || len(t.Trajectory) == 0 && t.Counts.ToolCalls > 0 {
		return ""
	}
	for i, r := range t.Witness.Transcript.Turns {
		turn := mapNode()
		put(turn, "user", textNode(r.User))
		turns[i+1] = turn
		order = append(order, i+1)
	}
	replies, expect := map[int]*yaml.Node{}, map[int]*yaml.Node{}
	args := make([]*yaml.Node, len(t.Trajectory)) // each stands twice
	for i := range t.Trajectory {
		args[i] = jsonNode(t.Trajectory[i].Args)
	}
	for i := range t.Witness.Exchanges {
		x := &t.Witness.Exchanges[i]
		if turns[x.Turn] == nil || x.Kind.Outside() || !x.Delivered {
			continue
		}
		reply := mapNode()
		if calls := callNodes(t.Trajectory, args, x.Turn, x.Reply); calls != nil {
			put(reply, "calls", calls)
		}
		if x.Answer.Text != "" {
			put(reply, "say", textNode(x.Answer.Text))
		}
		if len(reply.Content) == 0 {
			continue
		}
		if replies[x.Turn] == nil {
			replies[x.Turn] = &yaml.Node{Kind: yaml.SequenceNode}
		}
		replies[x.Turn].Content = append(replies[x.Turn].Content, reply)
	}
	for _, n := range order {
		calls := callNodes(t.Trajectory, args, n, 0)
		if calls == nil {
			calls = &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		}
		item := mapNode()
		put(item, "calls", calls)
		expect[n] = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{item}}
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, n := range order {
		if replies[n] != nil {
			put(turns[n], "replies", replies[n])
		}
		put(turns[n], "expect", expect[n])
		list.Content = append(list.Content, turns[n])
	}
	if len(list.Content) == 0 {
		return ""
	}
	doc := mapNode()
	put(doc, "scenario", plainText(t.Name()+", as it went"))
	put(doc, "turns", list)
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(doc); err != nil {
		return ""
	}
	return clean(b.String())
}

// callNodes are the calls of a reply with their arguments, of all replies of the
// turn with 0.
func callNodes(calls []harness.Call, args []*yaml.Node, turn, reply int) *yaml.Node {
	var out *yaml.Node
	for i := range calls {
		c := &calls[i]
		if c.Turn != turn || c.Unasked || reply != 0 && c.Reply != reply {
			continue
		}
		if out == nil {
			out = &yaml.Node{Kind: yaml.SequenceNode}
		}
		item := mapNode()
		put(item, c.Name(), args[i])
		out.Content = append(out.Content, item)
	}
	return out
}

func mapNode() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode} }

func put(m *yaml.Node, key string, v *yaml.Node) {
	m.Content = append(m.Content, yamlnode.Key(clean(key)), v)
}

func plainText(s string) *yaml.Node { return yamlnode.Text(clean(s)) }

// textNode is a text of which nothing is computed: what would begin an
// expression is the value of one.
func textNode(s string) *yaml.Node {
	return plainText(strings.ReplaceAll(s, "{{", `{{"{{"}}`))
}

func literal(n *yaml.Node) *yaml.Node {
	m := mapNode()
	put(m, "$literal", n)
	return m
}

// jsonNode is a JSON value as YAML, which any JSON is; values that have
// operators or templates in them are literal.
func jsonNode(raw json.RawMessage) *yaml.Node {
	if len(raw) == 0 || tooDeep(raw) {
		return mapNode()
	}
	v, err := value.Parse(raw)
	if err != nil {
		return mapNode()
	}
	n := valueNode(v)
	if text := v.String(); strings.Contains(text, `"$`) || strings.Contains(text, "{{") { // however they were escaped
		return literal(n)
	}
	return n
}

// valueNode writes a value as JSON has it: in braces, and with quotes.
func valueNode(v value.Value) *yaml.Node {
	quoted := func(s string) *yaml.Node {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: clean(s)}
	}
	switch v.Kind() {
	case value.Object:
		n := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
		for _, m := range v.Members() {
			n.Content = append(n.Content, quoted(m.Key), valueNode(m.Value))
		}
		return n
	case value.Array:
		n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, item := range v.Items() {
			n.Content = append(n.Content, valueNode(item))
		}
		return n
	case value.String:
		return quoted(v.Str())
	default:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: v.String()}
	}
}
