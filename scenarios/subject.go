// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect/dialects"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/project"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
	"github.com/rehearse-dev/rehearse/internal/subjects"
	"github.com/rehearse-dev/rehearse/mockllm"
)

// Subject is a subject that a file or a command line describes, or one in Go
// with a name.
type Subject struct {
	// Name stands in records, and is a column of reports.
	Name string
	// Subject plays. Nil stands for the one of whoever runs the scenarios, such as
	// the agent of `rehearse run`.
	Subject harness.Subject
	// Foreign says that it is another process; see run.Options.
	Foreign bool
	// Settings go over those of scenarios.
	Settings harness.Settings
	// ToolNames is how it calls the tools of MCP servers when it offers them to the
	// model, with {server} and {tool}. Empty: as one of the known styles.
	ToolNames string
	// Asides answer what it asks a mock model beside the conversation. They are
	// tried before those of scenarios.
	Asides []mockllm.Rule
	// Excuses are conduct checks, by name, whose findings are what it does by design,
	// with the reason. Such a finding is a warning.
	Excuses map[string]string
	// Hash is of its description; empty where there is none.
	Hash string
	// Secrets are what its command, its environment and its headers hand over in
	// secret, by their names. Nothing that is written has them.
	Secrets []string
	// Files are the files that its command names, which stand beside its
	// description.
	Files []string
}

// rehearseAgent is the name under which the agent of rehearse stands in records.
const rehearseAgent = "rehearse-agent"

// SubjectOf reads what a command line names: the name of a subject of the
// rehearse.yaml of folder dir, or of the nearest one above it, or, where it is
// several words, a command, which is split as a shell does.
func SubjectOf(text, dir string) (Subject, error) {
	if strings.TrimSpace(text) == "" {
		return Subject{}, errors.New("want the name of a subject, or a command")
	}
	if strings.ContainsAny(text, " \t\n") {
		d, err := subjects.FromWords(text)
		if err != nil {
			return Subject{}, err
		}
		return described(d), nil
	}
	p, err := project.Find(dir)
	if err != nil {
		return Subject{}, err
	}
	return named(text, p)
}

// named is a subject of a project, or the agent of rehearse.
func named(name string, p *project.Project) (Subject, error) {
	var known []string
	for _, d := range p.Subjects {
		if known = append(known, d.Name); d.Name == name {
			return described(d), nil
		}
	}
	if name == subjects.Rehearse || name == rehearseAgent {
		return Subject{Name: rehearseAgent}, nil
	}
	if slices.Contains(subjects.PresetNames(), name) {
		d, err := subjects.FromPreset(name)
		if err != nil {
			return Subject{}, err
		}
		return described(d), nil
	}
	where := project.File + " has none"
	if p.Path == "" {
		where = "there is no " + project.File
	} else if len(known) > 0 {
		where = fmt.Sprintf("%s has %s", project.File, strings.Join(known, ", "))
	}
	return Subject{}, fmt.Errorf("no subject is named %q%s. A command of one word is written in a file: command: [%s]",
		name, subjects.Others(name, known, where), name)
}

func described(d *subjects.Definition) Subject {
	s := Subject{Name: d.Name, Settings: d.Settings, Hash: d.Hash(), ToolNames: d.Names, Excuses: d.Excuses, Secrets: d.Secrets(), Files: d.Sources()}
	if d.Agent == "" {
		s.Subject, s.Foreign = d, true
	}
	for _, a := range d.Asides {
		s.Asides = append(s.Asides, mockllm.Rule{Reply: mockllm.Reply{Say: a.Say, Pos: a.Pos}, Pos: a.Pos, When: func(ask *mockllm.Ask) (bool, error) {
			ok, err := a.When.Holds(&expr.Vars{Request: &ask.Request, User: ask.User, Turn: ask.Turn})
			return ok, at(a.Pos, err)
		}})
	}
	return s
}

// subject reads the subject that a scenario names, or else its project; nil where
// neither does. n are the settings of the scenario's subject.
func (l *loader) subject(n *strictyaml.Node, file string) *Subject {
	var p *project.Project
	find := func() bool {
		var err error
		if p, err = l.project(filepath.Dir(file)); err != nil {
			l.projectMistakes(file, err)
		}
		return err == nil
	}
	d := subjects.Read(n, subjects.Options{Shaped: true, Add: func(at harness.Position, msg string) { l.problems.add(at, "%s", msg) }})
	switch {
	case d == nil:
		if !find() || p.Subject == nil {
			return nil
		}
		s := described(p.Subject)
		return &s
	case d.Ref == "":
		s := described(d)
		s.Settings = harness.Settings{} // which are those of the scenario
		return &s
	default:
		if !find() {
			return nil
		}
	}
	s, err := named(d.Ref, p)
	if err != nil {
		l.problems.add(n.Get("name").Pos, "%s", err)
		return nil
	}
	return &s
}

// project are the settings of the project of a folder. What stands outside of a
// root is not read.
func (l *loader) project(dir string) (*project.Project, error) {
	if l.root != "" {
		return &project.Project{}, nil
	}
	if p := l.projects[dir]; p != nil {
		return p, nil
	}
	p, err := project.Find(dir)
	if err == nil {
		l.projects[dir] = p
	}
	return p, err
}

// files are the texts that are put into the working folder.
func (l *loader) filesOf(n *strictyaml.Node) map[string]string {
	for _, p := range pairsOf(n) {
		l.inWorkdir(p.Key)
	}
	return textMap(n)
}

// inWorkdir refuses a path that leads out of the working folder.
func (l *loader) inWorkdir(n *strictyaml.Node) {
	if !filepath.IsLocal(filepath.FromSlash(n.Text)) {
		l.problems.add(n.Pos, "files: %q is outside of the working folder: want a path such as notes/a.txt", n.Text)
	}
}

// ownKey reports whether a key of a subject has a meaning of its own, and is no
// setting that is passed to the subject by name.
func (l *loader) ownKey(name string) bool {
	return slices.ContainsFunc(l.shapes.objects["subject"].keys, func(k key) bool { return k.name == name })
}

// heedable refuses a setting of a subject that nobody who may play knows, and one
// of rehearse's own agent with a value that it refuses: no trial could be what
// the file says.
func (l *loader) heedable(setting strictyaml.Pair, subject *strictyaml.Node) {
	if l.heeded == nil {
		return
	}
	name := setting.Key.Text
	known := textsOf(subject.Get("knows"))
	if p, err := l.project(filepath.Dir(filepath.FromSlash(setting.Key.Pos.File))); err == nil { // its mistakes are told where its subject is read
		for _, d := range append(p.Subjects, p.Subject) {
			if d != nil {
				known = append(known, d.Knows...)
			}
		}
	}
	if slices.Contains(known, name) {
		return
	}
	if t, ok := agentSettings()[name]; ok {
		l.shapes.check(setting.Value, t, name)
		return
	}
	if slices.Contains(l.heeded, name) {
		return
	}
	var keys []string
	for _, k := range l.shapes.objects["subject"].keys {
		keys = append(keys, k.name)
	}
	if subject.Get("agent") != nil {
		keys = append(keys, subjects.AgentSettings()...)
	}
	described := slices.ContainsFunc([]string{"name", "agent", "preset", "command", "http"}, func(k string) bool { return subject.Get(k) != nil })
	if described && prose.Suggest(name, keys) != "" {
		return // whoever reads the description tells it
	}
	known = slices.Concat(known, l.heeded, keys)
	l.problems.add(setting.Key.Pos, "no subject knows the setting %q%s", name, prose.MeantOr(name, known,
		fmt.Sprintf(": rehearse's agent has %s; `knows: [%s]` says of a command or an API that it reads this one", strings.Join(subjects.AgentSettings(), ", "), name)))
}

// agentSettings are the kinds of the settings of rehearse's own agent.
func agentSettings() map[string]typ {
	out := map[string]typ{"as": filled(), "tool_names": enum("bare", "mcp", "dotted")}
	for _, name := range []string{"max_repeats", "max_result_bytes", "select_tools", "tool_concurrency"} {
		out[name] = whole()
	}
	for _, name := range []string{"close_grace", "connect_timeout", "discover_timeout", "tool_time_limit", "tool_timeout"} {
		out[name] = limit()
	}
	for _, name := range subjects.AgentSettings() {
		if _, ok := out[name]; !ok {
			out[name] = boolean()
		}
	}
	return out
}

// subjectMap is the value of subject as a map: a name stands for one with the key
// name.
func subjectMap(n *strictyaml.Node) *strictyaml.Node {
	if n == nil || n.Kind != strictyaml.String {
		return n
	}
	key := &strictyaml.Node{Kind: strictyaml.String, Text: "name", Pos: n.Pos, Plain: true}
	return &strictyaml.Node{Kind: strictyaml.Map, Pos: n.Pos, Pairs: []strictyaml.Pair{{Key: key, Value: n}}}
}

// deepSubject merges two maps of a subject. One that says what the subject is
// takes over nothing of that kind.
func deepSubject(base, over *strictyaml.Node) *strictyaml.Node {
	base, over = subjectMap(base), subjectMap(over)
	if base.Kind == strictyaml.Map && slices.ContainsFunc([]string{"name", "agent", "preset", "command", "http"}, func(k string) bool { return over.Get(k) != nil }) {
		rest := *base
		rest.Pairs = slices.DeleteFunc(slices.Clone(base.Pairs), func(p strictyaml.Pair) bool { return slices.Contains(subjects.Keys(), p.Key.Text) })
		base = &rest
	}
	return deep(base, over)
}

// subjectObject is what may stand under subject.
func subjectObjects() []*object {
	hands := " Placeholders: `{mcp_config}`, `{workdir}`, `{home}`, `{dir}` (the folder of the file that describes the subject), `{base_url}` (ends in /v1), `{endpoint}` (without /v1), `{api_key}`, `{model}`, `{system}`, `{settings}`, `{servers}`."
	words := either(list(either(text(), number(), boolean())), filled())
	return []*object{
		{
			name: "subject", open: true, doc: "The subject under test, and settings of it. At most one of `name`, `agent`, `command` and `http` says what it is, or a `preset`; otherwise it is the subject of `rehearse.yaml`, or whoever runs the scenarios. Keys that are not listed here are passed to the subject by name.",
			keys: []key{
				{name: "max_model_calls", typ: count(1), def: "the subject's", doc: "The subject's own limit of model calls in one turn."},
				{name: "token_limit", typ: count(1), def: "none", doc: "The subject's own limit of tokens in a conversation."},
				{name: "time_limit", typ: limit(), def: "none", doc: "The subject's own limit of time for a turn. A command is ended then."},
				{name: "name", typ: filled(), def: "none", doc: "The name of a subject of `rehearse.yaml`. `subject: NAME` is the same."},
				{name: "agent", typ: enum(subjects.Rehearse), def: "none", doc: "The agent of rehearse, or the Go subject of a test."},
				{name: "preset", typ: enum(subjects.PresetNames()...), def: "none", doc: "An agent that rehearse knows: what is not said here is as its preset has it. A preset of a library needs `command` beside it, which starts your script."},
				{name: "command", typ: words, def: "none", doc: "A program with its arguments, as a list or as a text that is split as a shell does; no shell runs. `{prompt}` is what the user says, `{prompt_file}` the path of a file with it. A word that is the path of a file beside the file that describes the subject is that file." + hands},
				{name: "resume", typ: words, def: "none: later turns are not played", doc: "With `command`: the command of the second turn and of later ones. `{session}` is what `session` found."},
				{name: "session", typ: objectOf("output lines"), def: "none", doc: "With `resume`: where the first turn's output names the session."},
				{name: "prompt", typ: enum("argument", "stdin", "lines", "json_lines"), def: "argument with {prompt} or {prompt_file}, else stdin", doc: "With `command`: how it gets what the user says. With `lines` and `json_lines` one process plays all turns: it reads a line for each, or `{\"prompt\": ...}`."},
				{name: "answer", typ: either(enum("stdout", "none"), objectOf("answer of a command")), def: "stdout", doc: "With `command`: where its answer is; `none` for one that reports none, so that the journal is the only witness."},
				{name: "stop", typ: objectOf("output lines"), def: "none: its exit status and its standard error", doc: "With `command`: where its output says why it gives up a turn. A text that is one of the reasons of `stops`, such as `rate_limit`, is that stop; any other is an error. A command that goes on running then plays the next turn."},
				{name: "http", typ: either(filled(), objectOf("http subject")), def: "none", doc: "An agent behind an HTTP API; a text is the address of one with the API of `rehearse serve agent`."},
				{name: "mcp_file", typ: objectOf("mcp file"), def: "the form of Claude, beside the home folder", doc: "The file of MCP servers that the subject reads. `{mcp_config}` and the variable MCP_CONFIG are its path."},
				{name: "env", typ: mapOf(either(text(), number(), boolean())), def: "none", doc: "Variables of its environment, with placeholders, over those that it is handed. Those are " + prose.And(subjects.Variables()) + ", and no others."},
				{name: "pass_env", typ: list(filled()), def: "none", doc: "Names of variables of your environment that it gets too. The value of one whose name says that it is secret, such as MY_API_TOKEN, is removed from recordings and run folders."},
				{name: "files", typ: mapOf(text()), def: "none", doc: "Files that are written before it begins: texts with placeholders, by paths in the working folder or behind `{home}/`."},
				{name: "dialect", typ: enum(dialects.Names()...), def: "not known", doc: "The only API that it asks models by. Scenarios whose profile lacks it are skipped."},
				{name: "knows", typ: list(filled()), def: "none", doc: "Subject settings that it reads from REHEARSE_SETTINGS, a JSON object with the settings of the trial. A scenario with another one, or with max_model_calls or token_limit, is skipped."},
				{name: "names", typ: filled(), def: "one of the styles that rehearse recognises", doc: "How it calls the tools of MCP servers when it offers them to the model: a text with `{server}` and `{tool}`, such as `mcp__{server}__{tool}`. `names` of a scenario goes over it."},
				{name: "asides", typ: list(objectOf("aside of a subject")), def: "none", doc: "Answers of the mock model to what it asks beside the conversation, such as a title. They are tried before `asides` of scenarios, and do not count as model calls."},
				{name: "excuses", typ: mapOf(filled()), def: "none", doc: "Conduct checks whose findings are what it does by design, each with the reason. Such a finding is a warning."},
			},
		},
		{
			name: "aside of a subject", doc: "An answer to a request that belongs to no turn.",
			keys: []key{
				{name: "when", typ: celText(), required: true, doc: "Holds for the requests that it answers; reads " + known(expr.Request) + "."},
				{name: "say", typ: filled(), required: true, doc: "The text of the reply."},
			},
		},
		{
			name: "answer of a command", doc: "Where the answer of a command is.", one: []string{"file", "jsonl"},
			keys: []key{
				{name: "file", typ: filled(), doc: "Path of the file with it, in the working folder, with placeholders."},
				{name: "jsonl", typ: objectOf("extract"), doc: "The last line of JSON on standard output that has it; of a command that goes on running, the first, which ends the turn. Other lines do not count, nor do those for which `when` or `text` cannot be evaluated or is null."},
			},
		},
		{
			name: "output lines", doc: "Lines of JSON on standard output.",
			keys: []key{{name: "jsonl", typ: objectOf("extract"), required: true, doc: "The last line that has it."}},
		},
		{
			name: "extract", doc: "A text in JSON values.",
			keys: []key{
				{name: "when", typ: celText(), def: "true", doc: "Holds for the values that count; reads `value`."},
				{name: "text", typ: celText(), required: true, doc: "The text; reads `value`. Any other value is written as JSON."},
			},
		},
		{
			name: "mcp file", doc: "A file of MCP servers, written for the subject. What else `files` puts into it stays.",
			keys: []key{
				{name: "form", typ: enum("claude", "codex", "gemini", "opencode", "vscode"), def: "claude", doc: "The program whose form it has. That of Codex is TOML, the others are JSON."},
				{name: "path", typ: filled(), def: "beside the home folder", doc: "Its path in the working folder, or behind `{home}/`."},
			},
		},
		{
			name: "http subject", doc: "An agent behind an HTTP API, which is sent one POST request for each turn." + hands,
			some: []string{"url", "start"},
			keys: []key{
				{name: "url", typ: filled(), def: "what start prints", doc: "Its address, with placeholders and `{port}`, a free port of loopback."},
				{name: "start", typ: words, def: "none: it runs already", doc: "The command that serves it, started for each trial with the environment of a command; may have `{port}`. Without `url` its first line on standard output is the address, alone or as `{\"url\": ...}`. It is asked once it takes connections."},
				{name: "send", typ: anything(), def: "{goal: \"{prompt}\"}", doc: "The body of the request: JSON whose texts have placeholders, `{prompt}` and `{session}` among them. A text that is `{servers}` or `{settings}` alone becomes their JSON."},
				{name: "headers", typ: mapOf(text()), def: "none", doc: "Headers of the request, with placeholders."},
				{name: "answer", typ: celText(), def: "final_answer, and what else the API of `rehearse serve agent` says", doc: "The answer; reads `value`, the JSON of the response, with `stream` the last event that has it, best one for which its `when` holds."},
				{name: "stream", typ: objectOf("extract"), def: "the response is whole", doc: "The response is a stream of server-sent events or of lines of JSON; `when` and `text` read `value.event`, the name, and `value.data`. The texts together are the answer, unless `answer` is given."},
				{name: "session", typ: celText(), def: "none: later turns are not played", doc: "What names the conversation in later requests, `{session}`; reads `value`."},
			},
		},
	}
}
