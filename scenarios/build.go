// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/conduct"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// serverEntry is a server of a scenario before the vars of a case are bound.
type serverEntry struct {
	server     Server
	script     *serverScript // nil for a real server
	inline     bool          // the script stands in the scenario
	broken     bool          // reported already; nothing is known of it
	failedWhen *expr.Program
	grants     map[string][]string // of the configuration that it is from
	doubts     []Problem           // of that configuration
}

// scenario compiles a scenario file to one Scenario for each case.
func (l *loader) scenario(d *document) []*Scenario {
	l.exprs = nil
	root, suiteName := d.root, folderOf(d.path)
	var thresholds []trials.Threshold
	suite := l.suiteOf(d)
	if suite != nil {
		root, suiteName = merged(suite.root, d.root), textOf(suite.root.Get("suite"))
		thresholds = thresholdsOf(suite.root)
	}
	l.judging, l.judges = root.Get("judge"), map[harness.Position][]replyScript{}
	defer func() { l.judging, l.judges = nil, nil }()
	entries, used := l.servers(root.Get("servers"))
	model := l.modelScript(root, root.Get("model"))
	subject := subjectMap(root.Get("subject"))

	base := Scenario{
		Name:        textOf(root.Get("scenario")),
		Suite:       suiteName,
		Description: textOf(root.Get("description")),
		Pos:         d.root.Key(d.kind).Pos,
		Tags:        textsOf(root.Get("tags")),
		Critical:    boolOf(root.Get("critical")),
		Pass:        passOf(root.Get("pass")),
		Thresholds:  thresholds,
		LiveTrials:  intOf(root.Get("live").Get("trials")),
		Limits:      limits(root.Get("limits")),
		Settings:    l.settings(root.Get("model"), subject),
		Subject:     l.subject(subject, d.path),
		Profile:     textOf(root.Get("model").Get("profile")),
		ProfilePos:  posOf(root.Get("model").Get("profile")),
		Dialect:     DialectOf(textOf(root.Get("model").Get("provider"))),
		Expect:      l.expectations(root.Get("expect"), entries),
		Files:       l.filesOf(root.Get("files")),
		Names:       textMap(root.Get("names")),
		Conduct:     l.conduct(root.Get("conduct")),
		ConductOnly: boolOf(root.Get("conduct_only")),
		Fragments:   l.fragments(root.Get("model").Get("fragments")),
		Habits:      l.habits(root.Get("model").Get("habits")),
		Grants:      l.grants(root.Get("grants"), root.Get("servers"), entries),
		Approvals:   l.approvals(root.Get("approvals"), entries),
		MCPConfig:   textOf(root.Get("mcp_config")),
		Cassette:    l.cassette(root.Get("cassette")),
		Cues:        model.cues(),
		judges:      l.judges,
		model:       model,
		lint:        lintFacts{root: root, servers: entries},
	}
	turns := root.Get("turns")
	if turns != nil && turns.Kind == strictyaml.List && len(turns.Items) == 0 {
		l.problems.add(turns.Pos, "a scenario needs at least one turn")
	}
	if suite != nil {
		base.variants = l.variants(suite.root, root, entries)
	}
	played := l.turns(turns, entries)
	l.wholeTexts(model)
	l.singleCalls(turns)
	l.knownServers(root)
	l.knownCues(base.Cues, entries)
	rows := l.cases(root.Get("cases"))
	for _, e := range entries {
		if e.script != nil && e.inline {
			l.exprs = append(l.exprs, e.script.exprs...)
		}
	}
	l.knownVars(l.exprs, rows, "the scenario has no cases")
	base.lint.exprs, base.lint.rows = l.exprs, rows
	var out []*Scenario
	text := hashOf(root, used)
	for _, row := range rows {
		s := base
		s.Case, s.Vars = row.name, row.vars
		if row.name != "" {
			s.Name += "/" + row.name
		}
		for i, t := range model.turns {
			turn := played[i]
			turn.User, turn.SingleCall, turn.Pos = l.userText(t, i+1, row), t.single, t.pos
			s.Turns = append(s.Turns, turn)
		}
		for _, e := range entries {
			s.Servers = append(s.Servers, e.bind(row.vars))
		}
		s.Hash, s.ScorersHash, s.Parts = text.of(row)
		out = append(out, &s)
	}
	return out
}

// wholeTexts refuses parts of texts, where the subject is sent the whole.
func (l *loader) wholeTexts(model modelScript) {
	for _, t := range model.turns {
		if !t.part.IsZero() {
			l.problems.add(t.part, "in a scenario, user is the text that the subject is sent; contains and regex are for the turns of an llm file or of a lane")
		}
	}
}

// turns are what is done in the turns and expected of them.
func (l *loader) turns(list *strictyaml.Node, entries []*serverEntry) (out []Turn) {
	for _, n := range itemsOf(list) {
		if !usable(n) {
			continue
		}
		out = append(out, Turn{
			Interruption: l.interruption(n, entries), Pause: durationOf(n.Get("pause")),
			Approvals: l.approvals(n.Get("approvals"), entries), Expect: l.expectations(n.Get("expect"), entries),
		})
		for _, e := range itemsOf(n.Get("expect")) {
			if key := e.Key("start_error"); key != nil {
				l.problems.add(key.Pos, "start_error happens before the first turn: put it under expect of the whole scenario")
			}
		}
	}
	return out
}

// folderOf is the name of the folder of a file; empty where there is none.
func folderOf(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	if name := filepath.Base(filepath.Dir(abs)); name != string(filepath.Separator) {
		return name
	}
	return ""
}

// singleCalls checks the turns that end with one model call.
func (l *loader) singleCalls(turns *strictyaml.Node) {
	list := itemsOf(turns)
	for i, n := range list {
		if !usable(n) || !boolOf(n.Get("single_call")) {
			continue
		}
		if i+1 < len(list) {
			l.problems.add(n.Key("single_call").Pos, "single_call is for the last turn: the calls of this one have no results, and no endpoint accepts a conversation that goes on without them")
		}
		for k, reply := range itemsOf(n.Get("replies")) {
			switch repeat := reply.Get("repeat"); {
			case k == 1:
				l.problems.add(reply.Pos, "the turn ends with its first reply (single_call), so this one is never asked for")
			case k == 0 && intOf(repeat) > 1:
				l.problems.add(repeat.Pos, "the turn ends with its first reply (single_call) and cannot repeat it")
			}
		}
	}
}

func posOf(n *strictyaml.Node) harness.Position {
	if n == nil {
		return harness.Position{}
	}
	return n.Pos
}

func (e *serverEntry) bind(vars value.Value) *Server {
	server := e.server
	if e.script != nil {
		server.script = e.script
		server.Mock = e.script.bind(vars, e.failedWhen)
		server.Mock.Name = server.Name
	} else {
		server.FailedWhen = bindFailedWhen(e.failedWhen, vars)
	}
	return &server
}

// userText renders a user message; it can read vars alone.
func (l *loader) userText(t turnScript, turn int, row caseRow) string {
	if t.user == nil {
		return ""
	}
	text, err := t.user.Render(&expr.Vars{Turn: turn, Vars: row.vars})
	lacks := func(p *expr.Program) bool { return len(row.lacks(p)) > 0 } // reported already
	if err != nil && !row.broken && !slices.ContainsFunc(t.user.Programs(), lacks) {
		where := ""
		if row.name != "" {
			where = fmt.Sprintf(" in case %q", row.name)
		}
		l.problems.add(t.pos, "the user's text%s: %v", where, err)
	}
	return text
}

type caseRow struct {
	name   string
	vars   value.Value
	broken bool // reported already; nothing is known of its vars
}

// lacks returns the keys of vars that an expression reads and the row has not.
func (r caseRow) lacks(p *expr.Program) []string {
	if r.broken {
		return nil
	}
	return slices.DeleteFunc(p.Keys("vars"), func(k string) bool {
		_, ok := r.vars.Get(k)
		return ok
	})
}

func (l *loader) cases(list *strictyaml.Node) []caseRow {
	if !usable(list) {
		return []caseRow{{vars: emptyVars(), broken: list != nil}}
	}
	if list.Kind == strictyaml.Map {
		return l.tableOfCases(list)
	}
	var rows []caseRow
	names := map[string]bool{}
	for _, n := range itemsOf(list) {
		if !usable(n) || !usable(n.Get("name")) {
			continue
		}
		row := caseRow{name: textOf(n.Get("name")), vars: emptyVars()}
		if v, ok := l.value(n.Get("vars")); ok {
			row.vars = v
		} else {
			row.broken = n.Get("vars") != nil
		}
		if names[row.name] {
			l.problems.add(n.Get("name").Pos, "the case %q already exists", row.name)
			continue
		}
		names[row.name] = true
		rows = append(rows, row)
	}
	if len(list.Items) == 0 {
		l.problems.add(list.Pos, "cases has no row, so the scenario would not be played at all")
	}
	return rows
}

func limits(n *strictyaml.Node) Limits {
	if !usable(n) {
		return Limits{}
	}
	pos := map[string]harness.Position{}
	for _, p := range n.Pairs {
		pos[p.Key.Text] = p.Key.Pos
	}
	return Limits{
		Pos: pos, ToolCalls: intOf(n.Get("tool_calls")), ModelCalls: intOf(n.Get("model_calls")),
		Time: durationOf(n.Get("time")), Tokens: intOf(n.Get("tokens")),
	}
}

func (l *loader) settings(model, subject *strictyaml.Node) harness.Settings {
	s := harness.Settings{
		System:        l.expand(model.Get("system")),
		Temperature:   floatOf(model.Get("temperature")),
		TopP:          floatOf(model.Get("top_p")),
		MaxTokens:     intOf(model.Get("max_tokens")),
		Stream:        boolOf(model.Get("stream")),
		MaxModelCalls: intOf(subject.Get("max_model_calls")),
		TokenLimit:    intOf(subject.Get("token_limit")),
		TimeLimit:     durationOf(subject.Get("time_limit")),
	}
	if !usable(subject) {
		return s
	}
	for _, p := range subject.Pairs {
		if !usable(p.Value) || l.ownKey(p.Key.Text) {
			continue
		}
		l.heedable(p, subject)
		var v any
		if err := json.Unmarshal(p.Value.JSON(), &v); err != nil {
			l.problems.add(p.Value.Pos, "%q: %v", p.Key.Text, err)
			continue
		}
		if s.Extra == nil {
			s.Extra = map[string]any{}
		}
		s.Extra[p.Key.Text] = v
	}
	return s
}

// conduct checks the names and settings of conduct checks.
func (l *loader) conduct(n *strictyaml.Node) map[string]string {
	if !usable(n) {
		return nil
	}
	out := map[string]string{}
	for _, p := range n.Pairs {
		if !usable(p.Value) {
			continue
		}
		word := p.Value.Text
		if p.Value.Kind == strictyaml.Bool {
			word = map[string]string{"true": "on", "false": "off"}[word]
		}
		names := append(conduct.Names(), compaction)
		allowed := conductSettings(p.Key.Text)
		switch {
		case !slices.Contains(names, p.Key.Text):
			l.problems.add(p.Key.Pos, "unknown conduct check %q%s", p.Key.Text, didYouMean(p.Key.Text, names))
		case !slices.Contains(allowed, word):
			meant := didYouMean(word, allowed)
			if off := strings.ToLower(word); slices.Contains([]string{"no", "none", "never", "skip", "n"}, off) && slices.Contains(allowed, "off") {
				meant = ` (did you mean "off"?)` // which is spelled otherwise
			}
			l.problems.add(p.Value.Pos, "%q cannot be %q%s; it is one of %s", p.Key.Text, word, meant, strings.Join(allowed, ", "))
		default:
			out[p.Key.Text] = word
		}
	}
	return out
}

// compaction is a setting of the check history_grows.
const compaction = "compaction"

func conductSettings(name string) []string {
	switch name {
	case compaction:
		return []string{string(conduct.CompactionAllowed), string(conduct.CompactionRequired)}
	case conduct.Results:
		return []string{"on", "off", "capped"}
	default:
		return []string{"on", "off"}
	}
}

// servers compiles the entries of servers and returns the server files used.
func (l *loader) servers(n *strictyaml.Node) ([]*serverEntry, []*document) {
	if !usable(n) {
		return []*serverEntry{}, nil
	}
	entries := []*serverEntry{}
	var files []*document
	for _, p := range n.Pairs {
		if !usable(p.Value) {
			continue
		}
		if plain := strings.ReplaceAll(p.Key.Text, ".", "_"); plain != p.Key.Text {
			l.problems.add(p.Key.Pos, "the name of server %q has a dot, and in server.tool the first dot ends the name of the server: name it %q", p.Key.Text, plain)
		}
		entry, file := l.serverEntry(p.Key.Text, p.Value)
		entry.server.Name, entry.server.Pos = p.Key.Text, p.Key.Pos
		entries = append(entries, entry)
		if file != nil {
			files = append(files, file)
		}
	}
	return entries, files
}

// misplaced lists the keys of an entry that mean nothing beside its origin.
func misplaced(origin string) []string {
	offer := []string{"resources", "templates", "prompts", "completions"}
	script := append([]string{"state", "instructions", "protocol", "changes", "faults", "waits"}, offer...)
	switch origin {
	case "mock":
		return append([]string{"state", "instructions", "env", "headers"}, offer...)
	case "tools":
		return []string{"env", "headers"}
	case "command":
		return append(script, "headers")
	case "config":
		return append(script, "env", "headers", "transport")
	default:
		return append(script, "env")
	}
}

func (l *loader) serverEntry(name string, n *strictyaml.Node) (*serverEntry, *document) {
	o := l.shapes.objects["server entry"]
	l.shapes.choice(n, o)
	i := slices.IndexFunc(o.one, func(k string) bool { return n.Get(k) != nil })
	if i < 0 {
		return &serverEntry{broken: true}, nil
	}
	origin := o.one[i]
	for _, k := range misplaced(origin) {
		if key := n.Key(k); key != nil {
			l.problems.add(key.Pos, "%q has no effect beside %q", k, origin)
		}
	}
	entry := &serverEntry{failedWhen: l.condition(n.Get("failed_when"), expr.ToolResult)}
	entry.server.Required = n.Get("required") == nil || boolOf(n.Get("required"))
	entry.server.RealWaits = textOf(n.Get("waits")) == "real"
	entry.server.Transport = l.transport(n.Get("transport"), origin)
	if real := origin == "command" || origin == "url" || origin == "config"; real && entry.failedWhen != nil && entry.failedWhen.Reads("state") {
		l.problems.add(n.Get("failed_when").Pos, "the state of a real server is unknown; read result or args")
	}
	from := n.Get(origin)
	if !usable(from) {
		entry.broken = true
		return entry, nil
	}
	switch origin {
	case "mock":
		file := l.mockFile(from)
		if file == nil {
			entry.broken = true
			return entry, nil
		}
		if entry.script = l.serverScript(file); entry.script != nil {
			entry.script = l.beside(entry.script, n)
		}
		return entry, file
	case "config":
		l.configured(entry, name, from)
	case "tools":
		entry.script, entry.inline = l.mockServer(n, name), true
		entry.failedWhen = nil // it is the script's own
	case "command":
		entry.server.real = harness.Server{Name: name}
		if len(from.Items) == 0 {
			l.problems.add(from.Pos, "an empty command")
		}
		for _, item := range from.Items {
			entry.server.real.Command = append(entry.server.real.Command, l.expandServer(item))
		}
		for _, p := range pairsOf(n.Get("env")) {
			entry.server.real.Env = append(entry.server.real.Env, p.Key.Text+"="+l.expandServer(p.Value))
		}
	case "url":
		entry.server.real = harness.Server{Name: name, URL: l.expandServer(from), Transport: entry.server.Transport}
		for _, p := range pairsOf(n.Get("headers")) {
			if entry.server.real.Headers == nil {
				entry.server.real.Headers = map[string]string{}
			}
			entry.server.real.Headers[p.Key.Text] = l.expandServer(p.Value)
		}
	}
	return entry, nil
}

func pairsOf(n *strictyaml.Node) []strictyaml.Pair {
	if !usable(n) {
		return nil
	}
	return n.Pairs
}

// transport checks that a transport fits where the server comes from.
func (l *loader) transport(n *strictyaml.Node, origin string) string {
	mocks := []string{"stdio", "process", "http", "sse", "ws"}
	allowed := map[string][]string{
		"mock": mocks, "tools": mocks, "command": {"stdio"}, "url": {"http", "sse", "ws"},
	}[origin]
	word := textOf(n)
	if word != "" && !slices.Contains(allowed, word) {
		l.problems.add(n.Pos, "transport %s cannot be used with %q, only %s", word, origin, strings.Join(allowed, ", "))
	}
	if word == "" && origin == "command" {
		return "stdio"
	}
	if word == "" && origin == "url" {
		return "http"
	}
	return word
}

// mockFile reads the server file that an entry names, from the folder of the
// file in which the entry stands: that may be suite.yaml.
func (l *loader) mockFile(n *strictyaml.Node) *document {
	if l.outside(n, beside(n)) {
		return nil
	}

	path := filepath.Join(filepath.Dir(filepath.FromSlash(n.Pos.File)), filepath.FromSlash(n.Text))
	if filepath.IsAbs(n.Text) {
		path = n.Text
	}
	if l.docs[filepath.Clean(path)] == nil && !l.readable(n, path, math.MaxInt64) {
		return nil
	}
	d := l.read(path)
	if d.kind == "server" {
		return d
	}
	switch {
	case d.kind != "":
		l.problems.add(n.Pos, "%q is a %s file; mock needs a server file", n.Text, d.kind)
	case d.why != "":
		l.problems.add(n.Pos, "%q is not a server file: %s", n.Text, d.why)
	}
	return nil // what is wrong with the file was reported there
}

// llm compiles an llm file.
func (l *loader) llm(d *document) *LLM {
	if t := d.root.Key("turns"); t != nil && d.root.Get("replies") != nil {
		l.problems.add(t.Pos, "an llm file has turns or replies, not both")
	}
	l.exprs = nil
	model := l.modelScript(d.root, d.root)
	l.knownVars(l.exprs, []caseRow{{vars: emptyVars()}}, "an llm file has no cases")
	for _, c := range model.cues() {
		l.problems.add(c.Pos, "the cue cannot come: an llm file has no servers; hold until a name, which POST /rehearse/cue/NAME gives")
	}
	for i, t := range model.turns {
		l.userText(t, i+1, caseRow{vars: emptyVars()})
	}
	m := &LLM{Name: textOf(d.root.Get("llm")), Pos: d.root.Key(d.kind).Pos, root: d.root, exprs: l.exprs}
	m.Script = model.bind(emptyVars())
	m.Script.Profile = textOf(d.root.Get("profile"))
	m.Script.Fragments, m.Script.Habits = l.fragments(d.root.Get("fragments")), l.habits(d.root.Get("habits"))
	m.Script.Models = textsOf(d.root.Get("models"))
	m.Script.Seed = int64(intOf(d.root.Get("seed")))
	m.Script.Names = textMap(d.root.Get("names"))
	m.Script.Arrival = textOf(d.root.Get("order")) == "arrival"
	return m
}
