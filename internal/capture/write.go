// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package capture

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"gopkg.in/yaml.v3"
)

// What is written, in the order of its keys.
type (
	// Scenario is a scenario file.
	Scenario struct {
		From     string             `yaml:"-"` // a comment, as every From
		Scenario string             `yaml:"scenario"`
		Subject  *Subject           `yaml:"subject,omitempty"`
		Model    *Model             `yaml:"model,omitempty"`
		Cassette *Cassette          `yaml:"cassette,omitempty"`
		Names    map[string]string  `yaml:"names,omitempty"`
		Servers  map[string]*Server `yaml:"servers,omitempty"`
		Conduct  map[string]string  `yaml:"conduct,flow,omitempty"`
		Asides   []*Rule            `yaml:"asides,omitempty"`
		Turns    []*Turn            `yaml:"turns"`
	}
	// Subject is a command.
	Subject struct {
		Command []string          `yaml:"command,flow"`
		Prompt  string            `yaml:"prompt,omitempty"`
		Answer  any               `yaml:"answer,omitempty"`
		MCPFile map[string]string `yaml:"mcp_file,flow,omitempty"`
		Files   map[string]string `yaml:"files,omitempty"`
		PassEnv []string          `yaml:"pass_env,flow,omitempty"`
	}
	// Model is the model side of a scenario.
	Model struct {
		System string `yaml:"system"`
	}
	// Cassette are settings of a replay.
	Cassette struct {
		Ignore     []string `yaml:"ignore,omitempty"`
		KeepErrors bool     `yaml:"keep_errors,omitempty"`
		Asides     bool     `yaml:"asides,omitempty"`
	}
	// Server is a mock server: a file of its own, which has a name, or an entry
	// of a scenario, with tools or the path of the file.
	Server struct {
		From         string         `yaml:"-"`
		Server       string         `yaml:"server,omitempty"`
		Mock         string         `yaml:"mock,omitempty"`
		Instructions string         `yaml:"instructions,omitempty"`
		State        map[string]int `yaml:"state,flow,omitempty"`
		Tools        []*Tool        `yaml:"tools,omitempty"`
	}
	// Tool is a tool of a mock server.
	Tool struct {
		Name        string    `yaml:"name"`
		Title       string    `yaml:"title,omitempty"`
		Description string    `yaml:"description,omitempty"`
		Input       any       `yaml:"input,omitempty"`
		Output      any       `yaml:"output,omitempty"`
		Annotations any       `yaml:"annotations,omitempty"`
		Extra       any       `yaml:"extra,omitempty"`
		Results     []*Result `yaml:"results"`
	}
	// Result is an answer of a tool.
	Result struct {
		From       string         `yaml:"-"`
		Args       any            `yaml:"args,omitempty"`
		When       string         `yaml:"when,omitempty"`
		Text       *string        `yaml:"text,omitempty"`
		File       string         `yaml:"file,omitempty"`
		Content    []any          `yaml:"content,omitempty"`
		Error      *string        `yaml:"error,omitempty"`
		RPCError   *RPCError      `yaml:"rpc_error,omitempty"`
		Structured any            `yaml:"structured,omitempty"`
		IsError    bool           `yaml:"is_error,omitempty"`
		Meta       any            `yaml:"meta,omitempty"`
		Set        map[string]int `yaml:"set,flow,omitempty"`
	}
	// RPCError is an error of the protocol.
	RPCError struct {
		Code    int    `yaml:"code"`
		Message string `yaml:"message"`
		Data    any    `yaml:"data,omitempty"`
	}
	// Turn is a turn of a scenario, or of an llm file, which expects nothing.
	Turn struct {
		User    string           `yaml:"user"`
		Replies []*Reply         `yaml:"replies"`
		Expect  []map[string]any `yaml:"expect,omitempty"`
	}
	// Reply is what the model says.
	Reply struct {
		From      string           `yaml:"-"`
		Say       string           `yaml:"say,omitempty"`
		Reasoning string           `yaml:"reasoning,omitempty"`
		Refusal   string           `yaml:"refusal,omitempty"`
		Finish    string           `yaml:"finish,omitempty"`
		Calls     []map[string]any `yaml:"calls,omitempty"`
	}
	// Rule is an aside.
	Rule struct {
		When  string `yaml:"when"`
		Reply *Reply `yaml:"reply"`
	}
	// LLM is an llm file.
	LLM struct {
		From   string            `yaml:"-"`
		LLM    string            `yaml:"llm"`
		Names  map[string]string `yaml:"names,omitempty"`
		Asides []*Rule           `yaml:"asides,omitempty"`
		Turns  []*Turn           `yaml:"turns"`
	}
)

// MarshalYAML implements [yaml.Marshaler].
func (r *Reply) MarshalYAML() (any, error) {
	type plain Reply
	return commented(r.From, (*plain)(r))
}

// MarshalYAML implements [yaml.Marshaler].
func (r *Result) MarshalYAML() (any, error) {
	type plain Result
	return commented(r.From, (*plain)(r))
}

// commented is a value with a comment before it.
func commented(comment string, v any) (*yaml.Node, error) {
	n := new(yaml.Node)
	err := n.Encode(v)
	if comment != "" && len(n.Content) > 0 {
		n.Content[0].HeadComment = "# " + comment
	}
	return n, err
}

// Encode writes one of the files, below a comment.
func Encode(comment string, file any) ([]byte, error) {
	var b bytes.Buffer
	for line := range strings.Lines(comment) {
		b.WriteString(strings.TrimRight("# "+line, " \n") + "\n")
	}
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	err := errors.Join(enc.Encode(file), enc.Close())
	return b.Bytes(), err
}

// Literal keeps a text from being read as a template.
func Literal(text string) string { return strings.ReplaceAll(text, "{{", `{{"{{"}}`) }

// Decoded is JSON as YAML writes it, numbers as they are spelled: short maps and
// lists on one line.
func Decoded(text string) (*yaml.Node, error) {
	if !json.Valid([]byte(text)) {
		return nil, errors.New("not JSON")
	}
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil { // JSON is YAML
		return nil, err
	}
	n := document.Content[0]
	return n, tidy(n)
}

// oneLine is the longest map or list that stands on one line.
const oneLine = 100

// tidy has texts without quotes where YAML needs none, and what is long in lines
// of its own.
func tidy(n *yaml.Node) error {
	size, lines := 0, false
	for _, c := range n.Content {
		if err := tidy(c); err != nil {
			return err
		}
		size += sizeOf(c)
		lines = lines || strings.Contains(c.Value, "\n") || c.Kind != yaml.ScalarNode && c.Style&yaml.FlowStyle == 0
	}
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!str":
		value := n.Value
		n.Style = 0
		return n.Encode(value) // which knows what needs quotes
	case n.Kind == yaml.ScalarNode:
	case len(n.Content) == 0 || size <= oneLine && !lines:
		n.Style = yaml.FlowStyle
	default:
		n.Style = 0
	}
	return nil
}

func sizeOf(n *yaml.Node) int {
	size := len(n.Value) + 2
	for _, c := range n.Content {
		size += sizeOf(c)
	}
	return size
}

// Arguments are the arguments of a call, as a reply or an expectation has them:
// as they are where that says the same.
func Arguments(text string) (any, error) {
	n, err := Decoded(text)
	if err != nil || plain(text) {
		return n, err
	}
	return literally(n), nil
}

// plain reports whether JSON says the same as a value of a scenario: it has no
// operators and no templates.
func plain(text string) bool { return !strings.Contains(text, "{{") && !strings.Contains(text, `"$`) }

func literally(n *yaml.Node) map[string]any { return map[string]any{"$literal": n} }
