// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package subjects

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/conduct"
	"github.com/rehearse-dev/rehearse/internal/dialect/dialects"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/mcpconfig"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
)

// sources are the keys of which a subject has at most one.
func sources() []string { return []string{"name", "agent", "command", "http"} }

// Keys are the keys of a description that are no settings of an agent.
func Keys() []string {
	return append(sources(), "preset", "resume", "session", "prompt", "answer", "stop", "mcp_file", "env", "pass_env", "files", "dialect", "knows", "names", "asides", "excuses")
}

// settingKeys are the settings that have a field in [harness.Settings].
func settingKeys() []string { return []string{"max_model_calls", "token_limit", "time_limit"} }

// AgentSettings are the names of the settings that rehearse's own agent has beside
// those of harness.Settings. They stand under subject of a scenario, a suite and in
// rehearse.yaml alike.
func AgentSettings() []string {
	return []string{
		"as", "breaker", "check_arguments", "close_grace", "connect_timeout", "connection_per_call", "discover_timeout", "drop_private",
		"error_objects", "max_repeats", "max_result_bytes", "open_end", "recover_leaked_calls", "select_tools", "send_reasoning",
		"tool_concurrency", "tool_names", "tool_prompt", "tool_time_limit", "tool_timeout",
	}
}

// Options are settings of [Read].
type Options struct {
	// Name stands in records. Default: the command, or the address.
	Name string
	// Add is told what is wrong.
	Add func(at harness.Position, msg string)
	// Shaped says that the kinds and the keys of nested maps were checked before.
	Shaped bool
}

// Read reads the description of a subject: a map of a file. It is nil where the
// map has settings of an agent alone. Nodes that are Invalid were told of.
func Read(n *strictyaml.Node, opts Options) *Definition {
	if n == nil || n.Kind != strictyaml.Map {
		return nil
	}
	r := &reader{Options: opts, failed: new(bool)}
	if n.Get("preset") != nil {
		if n = r.withPreset(n); *r.failed {
			return nil
		}
	}
	var given []string
	for _, name := range sources() {
		if n.Get(name) != nil {
			given = append(given, name)
		}
	}
	switch {
	case len(given) == 0:
		for _, name := range Keys() {
			if n.Get(name) != nil {
				r.add(n.Key(name).Pos, "%s goes with a command or http, and the subject has neither", name)
			}
		}
		return nil
	case len(given) > 1:
		r.add(n.Key(given[1]).Pos, "a subject takes exactly one of %s, but has both %q and %q", strings.Join(sources(), ", "), given[1], given[0])
		return nil
	}
	d := &Definition{Name: opts.Name, Dir: filepath.Dir(filepath.FromSlash(n.Pos.File)), text: string(n.JSON())}
	r.source(n, d)
	if len(d.Command) == 0 && d.HTTP == nil {
		for _, name := range Keys()[len(sources()):] {
			if at := n.Key(name); at != nil && (d.Agent != "" || d.Ref != "") {
				r.add(at.Pos, "%s goes with a command or http: %s has its own", name, given[0])
			}
		}
	}
	r.handed(n, d)
	r.habits(n, d)
	r.settings(n, d)
	if *r.failed {
		return nil
	}
	return d
}

type reader struct {
	Options
	failed *bool
}

func (r *reader) add(at harness.Position, format string, args ...any) {
	*r.failed = true
	r.Add(at, fmt.Sprintf(format, args...))
}

// source reads what the subject is.
func (r *reader) source(n *strictyaml.Node, d *Definition) {
	d.Ref = r.text(n.Get("name"), "name")
	if at := n.Get("agent"); at != nil {
		if d.Agent = r.text(at, "agent"); d.Agent != Rehearse && d.Agent != "" {
			r.add(at.Pos, "agent %q is not known: want %s", d.Agent, Rehearse)
		}
		d.Name = cmp.Or(d.Name, "rehearse-agent")
	}
	d.Name = cmp.Or(d.Name, r.text(n.Get("preset"), "preset"))
	d.Command = r.command(n.Get("command"), "command", commandPlaceholders())
	if len(d.Command) > 0 {
		d.Name = cmp.Or(d.Name, nameOf(d.Command))
	}
	if at := n.Get("http"); at != nil {
		if d.HTTP = r.http(at); d.HTTP != nil {
			d.Name = cmp.Or(d.Name, cmp.Or(d.HTTP.URL, nameOf(d.HTTP.Start)))
		}
	}
	for _, name := range []string{"resume", "prompt", "answer", "stop"} {
		if at := n.Key(name); at != nil && n.Get("http") != nil {
			r.add(at.Pos, "%s goes with a command: of http, send and answer stand below it", name)
		}
	}
	d.Resume = r.command(n.Get("resume"), "resume", commandPlaceholders())
	ways := []string{string(PromptArgument), string(PromptStdin), string(PromptLines), string(PromptJSONLines)}
	d.Prompt = Prompt(r.word(n.Get("prompt"), "prompt", ways))
	switch given := has(d.Command, "prompt", "prompt_file"); {
	case d.Prompt == PromptArgument && !given && len(d.Command) > 0:
		r.add(n.Get("prompt").Pos, "prompt: argument needs {prompt} or {prompt_file} in the command")
	case d.Prompt != "" && d.Prompt != PromptArgument && given:
		r.add(n.Get("prompt").Pos, "prompt: %s is for a command that reads its standard input, and this one has {prompt}", d.Prompt)
	case d.Prompt.stays() && len(d.Resume) > 0:
		r.add(n.Key("resume").Pos, "resume is for a command that ends with its turn, and prompt: %s keeps it running", d.Prompt)
	}
	d.Answer = r.answer(n.Get("answer"))
	if d.Prompt.stays() && d.Answer.File != "" {
		r.add(n.Get("answer").Pos, "a command that goes on running tells by its standard output when a turn has ended: want jsonl, or none of them for the next line")
	}
	if s := n.Get("stop"); s != nil {
		d.Stop = r.lines(s, "stop")
	}
	if s := n.Get("session"); s != nil {
		d.Session = r.lines(s, "session")
		if !has(d.Resume, "session") {
			r.add(s.Pos, "session finds {session}, and resume does not have it")
		}
	}
}

// handed reads what a command is handed.
func (r *reader) handed(n *strictyaml.Node, d *Definition) {
	if f := n.Get("mcp_file"); r.is(f, "mcp_file", strictyaml.Map) {
		r.known(f, "mcp_file", "form", "path")
		var forms []string
		for _, form := range mcpconfig.Forms() {
			forms = append(forms, string(form))
		}
		d.MCPFile = MCPFile{Form: mcpconfig.Form(r.word(f.Get("form"), "form", forms)), Path: r.text(f.Get("path"), "path")}
	}
	d.Env = r.texts(n.Get("env"), "env")
	d.PassEnv = r.list(n.Get("pass_env"), "pass_env")
	for i, name := range d.PassEnv {
		if slices.Contains(handedOver(), name) {
			r.add(n.Get("pass_env").Items[i].Pos, "pass_env: rehearse gives the subject its own %s, so that no key of yours reaches it; env: can set another", name)
		}
	}
	d.Files = r.texts(n.Get("files"), "files")
	for _, p := range pairs(n.Get("files")) {
		if name := p.Key.Text; !filepath.IsLocal(filepath.FromSlash(name)) {
			r.add(p.Key.Pos, "files: %q is outside of the trial's folders: want a path such as config/a.json, or {home}/.config/a.json", name)
		}
	}
	d.Dialect = r.word(n.Get("dialect"), "dialect", dialects.Names())
	d.Knows = r.list(n.Get("knows"), "knows")
}

// habits reads what is peculiar to the subject.
func (r *reader) habits(n *strictyaml.Node, d *Definition) {
	if at := n.Get("names"); at != nil {
		if d.Names = r.text(at, "names"); !strings.Contains(d.Names, "{tool}") || placeholder.MatchString(toolPlaceholders.Replace(d.Names)) {
			r.add(at.Pos, "names: want a text with {tool}, and {server} where its name is part of those that are offered, such as mcp__{server}__{tool}; got %q", d.Names)
		}
	}
	if at := n.Get("asides"); r.is(at, "asides", strictyaml.List) {
		for _, item := range at.Items {
			if r.is(item, "asides", strictyaml.Map) {
				r.known(item, "asides", "when", "say")
				if item.Get("when") == nil || item.Get("say") == nil {
					r.add(item.Pos, "an aside needs when and say")
					continue
				}
				d.Asides = append(d.Asides, Aside{When: r.compiled(item.Get("when"), "asides: when", expr.Request, true), Say: r.text(item.Get("say"), "asides: say"), Pos: item.Pos})
			}
		}
	}
	d.Excuses = r.texts(n.Get("excuses"), "excuses")
	for _, p := range pairs(n.Get("excuses")) {
		switch name := p.Key.Text; {
		case !slices.Contains(conduct.Names(), name):
			r.add(p.Key.Pos, "excuses: there is no conduct check %q%s", name,
				prose.MeantOr(name, conduct.Names(), "; there are "+strings.Join(conduct.Names(), ", ")))
		case p.Value.Kind == strictyaml.String && strings.TrimSpace(p.Value.Text) == "" && !r.Shaped:
			r.add(p.Value.Pos, "excuses: %s needs the reason why its findings are not the subject's fault", name)
		}
	}
}

// heeded refuses a setting that the settings of a project give to a subject which
// does not know it: it could play nothing. In a scenario the setting may be the
// scenario's, for whatever subject plays it.
func (r *reader) heeded(key *strictyaml.Node, d *Definition) {
	name := key.Text
	if r.Shaped || len(d.Command) == 0 && d.HTTP == nil || slices.Contains(append(Keys(), "time_limit"), name) || slices.Contains(d.Knows, name) {
		return
	}
	r.add(key.Pos, "%s is not a key of a subject%s, and none of the settings that it knows: knows: [%s] says that it reads this one from REHEARSE_SETTINGS",
		name, prose.DidYouMean(name, append(Keys(), settingKeys()...)), name)
}

// settings reads settings of agents, which go over those of scenarios.
func (r *reader) settings(n *strictyaml.Node, d *Definition) {
	for _, p := range n.Pairs {
		name, v := p.Key.Text, p.Value
		switch {
		case slices.Contains(Keys(), name) || v.Kind == strictyaml.Invalid:
		case name == "time_limit":
			limit, err := time.ParseDuration(v.Text)
			if v.Kind != strictyaml.String || err != nil || limit <= 0 {
				r.add(v.Pos, "%s: want a duration with its unit, such as 60s, got %s", name, v.Describe())
			}
			d.Settings.TimeLimit = limit
		case slices.Contains(settingKeys(), name):
			i, err := strconv.Atoi(v.Text)
			if v.Kind != strictyaml.Number || err != nil || i < 1 {
				r.add(v.Pos, "%s: want a whole number from 1, got %s", name, v.Describe())
			}
			if name == "max_model_calls" {
				d.Settings.MaxModelCalls = i
			} else {
				d.Settings.TokenLimit = i
			}
		default:
			known := append(Keys(), settingKeys()...)
			if d.Agent != "" {
				known = append(known, AgentSettings()...)
			}
			if near := prose.Suggest(name, known); near != "" && !slices.Contains(slices.Concat(d.Knows, AgentSettings()), name) {
				r.add(p.Key.Pos, "a subject has no key %q (did you mean %q?)", name, near)
				continue
			}
			var x any
			if err := json.Unmarshal(v.JSON(), &x); err != nil {
				r.add(v.Pos, "%q: %v", name, err)
				continue
			}
			if d.Settings.Extra == nil {
				d.Settings.Extra = map[string]any{}
			}
			d.Settings.Extra[name] = x
		}
		r.heeded(p.Key, d)
	}
}

// command reads words: a list of them, or a text that is split.
func (r *reader) command(n *strictyaml.Node, what string, known []string) []string {
	var words []string
	var err error
	switch {
	case n == nil:
		return nil
	case n.Kind == strictyaml.String:
		words, err = Words(n.Text)
	case n.Kind == strictyaml.List:
		words = r.list(n, what)
		if len(words) == 0 {
			err = errors.New("the command is empty")
		}
	default:
		r.is(n, what, strictyaml.List, strictyaml.String)
		return nil
	}
	if err == nil {
		err = knownPlaceholders(words, known)
	}
	if err != nil {
		r.add(n.Pos, "%s: %v", what, err)
		return nil
	}
	return words
}

// answer reads where an answer is.
func (r *reader) answer(n *strictyaml.Node) (a Answer) {
	switch {
	case n == nil:
	case n.Kind == strictyaml.String:
		a.None = r.word(n, "answer", []string{"stdout", "none"}) == "none"
	case r.is(n, "answer", strictyaml.Map, strictyaml.String):
		if n.Get("file") != nil && n.Get("jsonl") == nil {
			r.known(n, "answer", "file")
			a.File = r.text(n.Get("file"), "file")
			return a
		}
		a.Lines = r.lines(n, "answer")
	}
	return a
}

// lines reads {jsonl: {when, text}}.
func (r *reader) lines(n *strictyaml.Node, what string) *Extract {
	if !r.is(n, what, strictyaml.Map) {
		return nil
	}
	if r.known(n, what, "jsonl"); n.Get("jsonl") == nil {
		if r.Shaped {
			return nil
		}
		r.add(n.Pos, "%s: want jsonl: {when, text}, the lines of JSON to read it from", what)
		return nil
	}
	return r.extract(n.Get("jsonl"), what+": jsonl")
}

func (r *reader) extract(n *strictyaml.Node, what string) *Extract {
	if !r.is(n, what, strictyaml.Map) {
		return nil
	}
	r.known(n, what, "when", "text")
	x := &Extract{When: r.program(n.Get("when"), what+": when", true), Text: r.program(n.Get("text"), what+": text", false)}
	if n.Get("text") == nil && !r.Shaped {
		r.add(n.Pos, "%s needs text, the expression of what to read", what)
	}
	return x
}

// program compiles an expression that reads value.
func (r *reader) program(n *strictyaml.Node, what string, condition bool) *expr.Program {
	return r.compiled(n, what, expr.User|expr.Value, condition)
}

func (r *reader) compiled(n *strictyaml.Node, what string, scope expr.Scope, condition bool) *expr.Program {
	src := r.text(n, what)
	if src == "" {
		return nil
	}
	env, err := expr.NewEnv(scope)
	var p *expr.Program
	if err == nil && condition {
		p, err = env.CompileCondition(src)
	} else if err == nil {
		p, err = env.Compile(src)
	}
	if err != nil {
		r.add(n.Pos, "%s: %v", what, err)
		return nil
	}
	p.Place(n.Pos)
	return p
}

// http reads an agent behind an API; a text is the address of one with our own.
func (r *reader) http(n *strictyaml.Node) *HTTP {
	h := &HTTP{}
	if n.Kind == strictyaml.String {
		h.URL = r.address(n)
		return h
	}
	if !r.is(n, "http", strictyaml.Map, strictyaml.String) {
		return nil
	}
	r.known(n, "http", "url", "start", "send", "headers", "answer", "stream", "session")
	if u := n.Get("url"); u != nil {
		h.URL = r.address(u)
	}
	h.Start = r.command(n.Get("start"), "start", append([]string{"port"}, placePlaceholders()...))
	if n.Get("url") == nil && n.Get("start") == nil {
		r.add(n.Pos, "http needs url, the address of an agent, or start, the command of one")
	}
	if send := n.Get("send"); send != nil {
		v := send.Value()
		h.Send = &v
		if text := v.String(); !strings.Contains(text, "{prompt}") {
			r.add(send.Pos, "send: what the user says is not in it: want a text with {prompt}")
		}
	}
	h.Headers = r.texts(n.Get("headers"), "headers")
	h.Answer = r.program(n.Get("answer"), "http: answer", false)
	h.Session = r.program(n.Get("session"), "http: session", false)
	if s := n.Get("stream"); s != nil {
		h.Stream = r.extract(s, "http: stream")
	}
	return h
}

// address reads a URL, which may have placeholders.
func (r *reader) address(n *strictyaml.Node) string {
	text := r.text(n, "url")
	if text != "" && !strings.HasPrefix(text, "http://") && !strings.HasPrefix(text, "https://") {
		r.add(n.Pos, "url: want a URL with scheme and host, such as http://127.0.0.1:8002/agent/execute_task, got %q", text)
	}
	return text
}

// is reports whether a node is of one of the kinds, and tells where it is not.
func (r *reader) is(n *strictyaml.Node, what string, kinds ...strictyaml.Kind) bool {
	if n == nil || n.Kind == strictyaml.Invalid {
		*r.failed = *r.failed || n != nil
		return false
	}
	if slices.Contains(kinds, n.Kind) {
		return true
	}
	words := make([]string, len(kinds))
	for i, k := range kinds {
		words[i] = k.String()
	}
	r.add(n.Pos, "%s: want %s, got %s", what, strings.Join(words, " or "), n.Describe())
	return false
}

// known refuses other keys than those.
func (r *reader) known(n *strictyaml.Node, what string, keys ...string) {
	if r.Shaped {
		return
	}
	for _, p := range n.Pairs {
		if key := p.Key.Text; !slices.Contains(keys, key) {
			r.add(p.Key.Pos, "%s has no key %q%s", what, key, prose.DidYouMean(key, keys))
		}
	}
}

func (r *reader) text(n *strictyaml.Node, what string) string {
	if !r.is(n, what, strictyaml.String) {
		return ""
	}
	if n.Text == "" {
		r.add(n.Pos, "%s must not be empty", what)
	}
	return n.Text
}

func (r *reader) word(n *strictyaml.Node, what string, words []string) string {
	text := r.text(n, what)
	if text == "" || slices.Contains(words, text) {
		return text
	}
	r.add(n.Pos, "%s: want one of %s, got %q%s", what, strings.Join(words, ", "), text, prose.DidYouMean(text, words))
	return ""
}

// list reads texts; a number or a truth value is as it is written.
func (r *reader) list(n *strictyaml.Node, what string) []string {
	if !r.is(n, what, strictyaml.List) {
		return nil
	}
	out := make([]string, 0, len(n.Items))
	for _, item := range n.Items {
		if r.is(item, what, strictyaml.String, strictyaml.Number, strictyaml.Bool) {
			out = append(out, item.Text)
		}
	}
	return out
}

func (r *reader) texts(n *strictyaml.Node, what string) map[string]string {
	if !r.is(n, what, strictyaml.Map) {
		return nil
	}
	out := map[string]string{}
	for _, p := range n.Pairs {
		if r.is(p.Value, what+": "+p.Key.Text, strictyaml.String, strictyaml.Number, strictyaml.Bool) {
			out[p.Key.Text] = p.Value.Text
		}
	}
	return out
}

func pairs(n *strictyaml.Node) []strictyaml.Pair {
	if n == nil {
		return nil
	}
	return n.Pairs
}
