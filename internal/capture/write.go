// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package capture

import (
	"bytes"
	"errors"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/internal/yamlnode"
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
		Content    any            `yaml:"content,omitempty"` // a list, which may be empty
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
		Unoffered bool             `yaml:"unoffered,omitempty"`
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

// Comment implements [yamlnode.Commented].
func (r *Reply) Comment() string { return r.From }

// Comment implements [yamlnode.Commented].
func (r *Result) Comment() string { return r.From }

// Encode writes one of the files, below a comment.
func Encode(comment string, file any) ([]byte, error) {
	var b bytes.Buffer
	for line := range strings.Lines(comment) {
		line = strings.Map(func(r rune) rune {
			if !unicode.IsPrint(r) {
				return ' ' // what a comment cannot have
			}
			return r
		}, line)
		b.WriteString(strings.TrimRight("# "+line, " ") + "\n")
	}
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	err := errors.Join(enc.Encode(yamlnode.Of(file)), enc.Close())
	return b.Bytes(), err
}

// Literal keeps a text from being read as a template.
func Literal(text string) string { return strings.ReplaceAll(text, "{{", `{{"{{"}}`) }

// Decoded is JSON as YAML writes it, numbers as they are spelled: short maps and
// lists on one line.
func Decoded(text string) (*yaml.Node, error) {
	v, err := value.Parse([]byte(text))
	if err != nil {
		return nil, err
	}
	return yamlnode.JSON(v), nil
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
// operators and no templates, however they are escaped.
func plain(text string) bool {
	if v, err := value.Parse([]byte(text)); err == nil {
		text = v.String()
	}
	return !strings.Contains(text, "{{") && !strings.Contains(text, `"$`)
}

func literally(n *yaml.Node) map[string]any { return map[string]any{"$literal": n} }
