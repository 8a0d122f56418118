// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package subjects plays agents that are no Go functions: a command of any
// language, and an agent behind an HTTP API. A file describes one (see [Read]),
// or a command line does (see [Words]):
//
//	theirs: {command: [python3, agent.py, "{prompt}"]}
//	api:    {http: {url: "http://127.0.0.1:8080/ask", send: {goal: "{prompt}"}, answer: value.final_answer}}
//
// A [Definition] is a [harness.Subject]. Each trial has folders of its own: the
// working folder, which the runner makes, and a home folder with HOME and TMPDIR,
// which is removed with the session. The environment of a command is PATH and
// LANG, those folders, the endpoint and the MCP servers of the trial, and what the
// definition names; so no key of ours reaches it. When a session is closed, nothing
// of the command runs any more.
//
// Words: a placeholder is {prompt} and the like in a word of a command, in a text
// of files, env and send; a word stays one argument whatever is put into it.
package subjects

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect/dialects"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/mcpconfig"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// Rehearse is the agent that is known by name.
const Rehearse = "rehearse"

// Definition is a subject as it is described. Exactly one of Agent, Command and
// HTTP is set, or, in a reference to another one, Ref.
type Definition struct {
	// Name stands in records.
	Name string
	// Ref is the name of a subject of rehearse.yaml.
	Ref string
	// Agent is [Rehearse]: the subject of whoever runs the scenarios.
	Agent   string
	Command []string // words with placeholders
	HTTP    *HTTP

	// Resume is the command of the second turn and of later ones; empty for a
	// subject that cannot go on, unless Prompt keeps the first running.
	Resume []string
	// Session finds {session} in the output of the first turn; nil for none.
	Session *Extract
	Prompt  Prompt
	Answer  Answer
	// Stop finds in the output of a command why it gives up a turn; nil for one
	// that says so by its exit status alone.
	Stop *Extract
	// MCPFile is the file of MCP servers that the subject reads. Default: one in
	// the form of Claude beside the home folder.
	MCPFile MCPFile
	// Env are variables with placeholders, and PassEnv names those of ours that the
	// command gets too.
	Env     map[string]string
	PassEnv []string
	// Files are texts with placeholders by their paths, which begin with a folder
	// placeholder or are relative to the working folder.
	Files map[string]string
	// Dialect is the API that the subject speaks: chat, responses, messages or
	// gemini. Empty: any, or it is not known.
	Dialect string
	// Knows are the settings of scenarios that the subject reads from
	// REHEARSE_SETTINGS. Of the others, those that it could not do without make it
	// unable to play.
	Knows []string
	// Names is how the subject calls the tools of MCP servers when it offers them,
	// with {server} and {tool}. Empty: as one of the known styles.
	Names string
	// Asides answer what the subject asks beside the conversation.
	Asides []Aside
	// Excuses are conduct checks whose findings are what the subject does by
	// design, with the reason.
	Excuses map[string]string
	// Settings go over those of scenarios.
	Settings harness.Settings
	// Dir is the folder of the file that describes the subject.
	Dir string

	text string // as it is described, for Hash
}

// Aside is an answer to a request that belongs to no turn, such as one for a
// title.
type Aside struct {
	When *expr.Program // reads the request
	Say  string
	Pos  harness.Position
}

// MCPFile is a file of MCP servers.
type MCPFile struct {
	Form mcpconfig.Form
	Path string // with placeholders; relative to the working folder
}

// Prompt says how a command is given what the user says.
type Prompt string

// The ways. Empty is PromptArgument where the command has a placeholder for the
// prompt, and else PromptStdin.
const (
	PromptArgument  Prompt = "argument"   // by {prompt} or {prompt_file}
	PromptStdin     Prompt = "stdin"      // the whole standard input
	PromptLines     Prompt = "lines"      // a line for each turn; the command goes on running
	PromptJSONLines Prompt = "json_lines" // the same, each line {"prompt": "..."}
)

// stays reports whether one command plays all turns.
func (p Prompt) stays() bool { return p == PromptLines || p == PromptJSONLines }

// Answer says where the answer of a command is. The zero value is the standard
// output: all of it, or the next line of a command that goes on running.
type Answer struct {
	None  bool     // it reports none
	File  string   // a file, with placeholders
	Lines *Extract // lines of JSON on standard output
}

// Extract finds a text in JSON values. The last value for which When holds
// counts.
type Extract struct {
	When *expr.Program // nil holds always
	Text *expr.Program
}

// HTTP is an agent behind an API.
type HTTP struct {
	// URL with placeholders. Without a Start the server runs already.
	URL string
	// Start is a command that is started for each trial, and answers at URL; an
	// empty URL is then read from its first line on standard output.
	Start []string
	// Send is the body: JSON whose texts have placeholders. Nil is {"goal": PROMPT}.
	Send    *value.Value
	Headers map[string]string // with placeholders
	// Answer reads the text of the response; nil is final_answer.
	Answer *expr.Program
	// Stream reads the texts of the events of a streamed response; nil for one that
	// is whole. The texts are joined, unless Answer is set: the value of the last
	// event is then the response.
	Stream *Extract
	// Session reads {session} of a response, for later turns; nil for an API that
	// knows single turns alone.
	Session *expr.Program
}

// Hash names what the subject is; empty where nothing describes it.
func (d *Definition) Hash() string {
	if d.text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(d.text))
	return hex.EncodeToString(sum[:16])
}

// FromWords is the subject that a command line is, as it was typed in a folder.
func FromWords(text string) (*Definition, error) {
	words, err := Words(text)
	if err == nil {
		err = knownPlaceholders(words, commandPlaceholders())
	}
	if err != nil {
		return nil, err
	}
	return &Definition{Name: nameOf(words), Command: words, Dir: ".", text: text}, nil
}

// nameOf is what a command is called where nobody gave it a name: its words
// without folders, placeholders and secrets.
func nameOf(words []string) string {
	secrets := redact.CommandSecrets(words)
	var out []string
	for _, word := range words {
		for _, secret := range secrets {
			word = strings.ReplaceAll(word, secret, "…")
		}
		switch {
		case placeholder.MatchString(word):
			continue
		case !strings.ContainsAny(word, " \t\n"):
			word = filepath.Base(word)
		}
		out = append(out, word)
	}
	if len(out) == 0 { // the program itself is put together
		out = words[:min(1, len(words))]
	}
	return prose.Shorten(strings.Join(out, " "), 60)
}

// Secrets are what the subject's commands, environment and headers hand over in
// secret, by their names.
func (d *Definition) Secrets() []string {
	var env []string
	for name, v := range d.Env {
		env = append(env, name+"="+v)
	}
	for _, name := range d.PassEnv {
		env = append(env, name+"="+os.Getenv(name))
	}
	out := slices.Concat(redact.ServerSecrets(nil, env, d.Command), redact.ServerSecrets(nil, nil, d.Resume))
	if d.HTTP != nil {
		out = append(out, redact.ServerSecrets(d.HTTP.Headers, nil, d.HTTP.Start)...)
	}
	return slices.DeleteFunc(out, placeholder.MatchString)
}

// Asks implements [harness.SubjectInfo].
func (d *Definition) Asks(dialect string) string {
	own, ok := dialects.Find(d.Dialect)
	if !ok {
		return ""
	}
	return own.ClientPath // which is all that it speaks
}

// NeedsWorkdir implements [harness.SubjectInfo].
func (d *Definition) NeedsWorkdir() bool { return true }

// Open implements [harness.Subject].
func (d *Definition) Open(ctx context.Context, env *harness.Env) (harness.Session, error) {
	if err := d.able(env); err != nil {
		return nil, err
	}
	p, err := d.place(env)
	if err != nil {
		return nil, err
	}
	var session harness.Session
	if d.HTTP != nil {
		session, err = openHTTP(ctx, d, p, env)
	} else {
		session, err = &commandSession{def: d, place: p, env: env}, nil
	}
	if err != nil {
		p.remove()
		return nil, err
	}
	return session, nil
}

// able says what of a scenario the subject cannot do.
func (d *Definition) able(env *harness.Env) error {
	switch {
	case env.Approve != nil:
		return fmt.Errorf("%w: the scenario has approvals, and a command or an API is not asked for them", harness.ErrUnable)
	case env.Interrupts:
		return fmt.Errorf("%w: the scenario interrupts a turn, and a command or an API has no agreed way to be told", harness.ErrUnable)
	case env.Turns < 2:
	case d.HTTP != nil && d.HTTP.Session == nil:
		return fmt.Errorf("%w: the scenario has %d turns, and its API knows no second one: want session:, which reads what names the conversation", harness.ErrUnable, env.Turns)
	case d.HTTP == nil && len(d.Resume) == 0 && !d.Prompt.stays():
		return fmt.Errorf("%w: the scenario has %d turns, and its command knows no second one: want resume:, a command that goes on with the session, or prompt: lines", harness.ErrUnable, env.Turns)
	}
	var asked []string
	s := env.Settings
	if s.MaxModelCalls > 0 {
		asked = append(asked, "max_model_calls")
	}
	if s.TokenLimit > 0 {
		asked = append(asked, "token_limit")
	}
	for name := range s.Extra {
		asked = append(asked, name)
	}
	slices.Sort(asked)
	asked = slices.DeleteFunc(asked, func(name string) bool { return slices.Contains(d.Knows, name) })
	if len(asked) == 0 {
		return nil
	}
	return fmt.Errorf("%w: it does not know the subject setting %s (knows: lists those that it does)", harness.ErrUnable, strings.Join(asked, ", "))
}

// settings is what REHEARSE_SETTINGS holds.
func settings(env *harness.Env) string {
	s := env.Settings
	out := map[string]any{}
	put := func(name string, v any, set bool) {
		if set {
			out[name] = v
		}
	}
	for name, v := range s.Extra {
		out[name] = v
	}
	put("system", s.System, s.System != "")
	put("temperature", s.Temperature, s.Temperature != nil)
	put("top_p", s.TopP, s.TopP != nil)
	put("max_tokens", s.MaxTokens, s.MaxTokens > 0)
	put("seed", s.Seed, s.Seed != nil)
	put("reasoning", s.Reasoning, s.Reasoning != "")
	put("stream", s.Stream, true)
	put("max_model_calls", s.MaxModelCalls, s.MaxModelCalls > 0)
	put("token_limit", s.TokenLimit, s.TokenLimit > 0)
	put("time_limit", s.TimeLimit.String(), s.TimeLimit > 0)
	put("dialect", env.Endpoint.Dialect, env.Endpoint.Dialect != "")
	text, err := json.Marshal(out)
	if err != nil {
		return "{}" // settings are JSON
	}
	return string(text)
}

// servers is what {servers} stands for.
func servers(env *harness.Env) string {
	type server struct {
		Name      string            `json:"name"`
		URL       string            `json:"url,omitempty"`
		Transport string            `json:"transport,omitempty"`
		Headers   map[string]string `json:"headers,omitempty"`
		Command   []string          `json:"command,omitempty"`
		Optional  bool              `json:"optional,omitempty"` // the agent is to begin without it
	}
	list := []server{}
	for _, s := range env.Servers {
		list = append(list, server{s.Name, s.URL, s.Transport, s.Headers, s.Command, s.Optional})
	}
	text, err := json.Marshal(list)
	if err != nil {
		return "[]" // texts
	}
	return string(text)
}

// beside is a path of the file that describes the subject.
func (d *Definition) beside(path string) string {
	abs, err := filepath.Abs(filepath.Join(d.Dir, path))
	if err != nil {
		return path
	}
	return abs
}
