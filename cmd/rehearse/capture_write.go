// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/cassettes/mcptape"
	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/capture"
	"github.com/rehearse-dev/rehearse/internal/mcpconfig"
	"github.com/rehearse-dev/rehearse/internal/plainfile"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/vcr"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// write writes the folder.
func (c *captured) write(cassette string) error {
	secrets, err := redact.New(c.redacting())
	if err != nil {
		return err
	}
	f, err := vcr.Read(cassette)
	if err != nil {
		return err
	}
	for n, i := range f.Interactions { // again: secrets may have become known later
		f.Interactions[n] = secrets.Interaction(i)
	}
	_, doubts, err := cassettes.Judge(f, secrets)
	if err != nil {
		return err // what it refused is kept without the secret
	}
	if doubts != "" {
		c.p.logf("rehearse: warning: %s", doubts)
	}
	if err = c.writeFiles(f, secrets); err == nil {
		return nil
	}
	return errors.Join(err, c.keep(f, secrets))
}

// writeFiles writes the scenario with its servers and its recording.
func (c *captured) writeFiles(f *vcr.File, secrets *redact.Redactor) error {
	heard, err := c.heard(secrets, marksOf(f))
	if err != nil {
		return err
	}
	prompts := make([]string, len(c.command))
	for i, word := range c.command {
		prompts[i] = secrets.Text(word)
	}
	talk, err := capture.Read(c.name, f, heard, prompts)
	if err != nil {
		return err
	}
	c.own = talk.Own()
	setting, err := c.setting(talk, secrets)
	if err != nil {
		return err
	}
	files, err := talk.Files(setting)
	if err != nil {
		return err
	}
	for _, note := range talk.Notes {
		c.p.logf("rehearse: note: %s", note)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if found := secrets.Secret(files[name]); found != nil {
			return fmt.Errorf("no scenario is written: line %d of %s has something that looks like a secret (%s)", found.Line, name, found.Rule)
		}
	}
	if err := c.loads(talk, files); err != nil {
		setting.NoResults = true
		plainer, err2 := talk.Files(setting)
		if err2 != nil || c.loads(talk, plainer) != nil {
			return fmt.Errorf("what was captured makes no scenario that can be loaded; please report this:\n%w", err)
		}
		c.p.logf("rehearse: note: what results are expected to be is left out, since it does not load; please report this:\n%v", err)
		files = plainer
	}
	if err := writeTree(c.flags.out, files); err != nil {
		return err
	}
	return c.writeCassette(f, talk)
}

// writeTree writes files into a folder.
func writeTree(dir string, files map[string][]byte) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := plainfile.ReplaceBytes(path, 0o600, files[name]); err != nil {
			return err
		}
	}
	return nil
}

// loads is why files do not load. They are looked at in a folder beside their own,
// so that nothing which does not load takes the place of what does.
func (c *captured) loads(talk *capture.Conversation, files map[string][]byte) error {
	above := filepath.Dir(filepath.Clean(c.flags.out))
	if err := os.MkdirAll(above, 0o777); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(above, ".rehearse-capture-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := writeTree(dir, files); err != nil {
		return err
	}
	for _, name := range []string{talk.ScenarioFile(), capture.ModelFile} {
		if _, err := scenarios.Load([]string{filepath.Join(dir, name)}, &scenarios.Options{LookupEnv: c.p.getenv, Offline: true}); err != nil {
			return errors.New(strings.ReplaceAll(err.Error(), dir, c.flags.out))
		}
	}
	return nil
}

// refused keeps what recorders refused to write, from which they have taken what
// looked like a secret. err is what went wrong.
func (c *captured) refused(err error) error {
	list, _ := filepath.Glob(filepath.Join(c.dir, "*.refused.*")) // the pattern is sound
	files := map[string][]byte{}
	for _, path := range list {
		data, err2 := plainfile.Read(path, plainfile.MaxRecording)
		if err2 != nil {
			return errors.Join(err, err2)
		}
		files[filepath.Base(path)] = data
	}
	dir := filepath.Join(c.flags.out, keptFolder)
	if err2 := writeTree(dir, files); err2 != nil {
		return errors.Join(err, err2)
	}
	switch {
	case len(files) == 0:
		return err
	case err == nil:
		c.p.logf("rehearse: warning: recordings that were refused, since something in them looks like a secret, are in %q without that: %s", dir, strings.Join(slices.Sorted(maps.Keys(files)), ", "))
		return nil
	}
	return errors.New(strings.ReplaceAll(err.Error(), c.dir, dir))
}

// keptFolder is the folder of recordings that make no scenario.
const keptFolder = "recorded"

// keep writes the recordings alone, where they make no scenario: a live session is
// not to be had again.
func (c *captured) keep(f *vcr.File, secrets *redact.Redactor) error {
	dir := filepath.Join(c.flags.out, keptFolder)
	files := map[string][]byte{}
	marks := marksOf(f)
	here, err := c.asTaped()
	if err != nil {
		return err
	}
	for n, name := range c.servers {
		for k, path := range c.tapes(n) {
			data, err := plainfile.Read(path, plainfile.MaxRecording)
			if err != nil {
				return err
			}
			var clean []byte
			for line := range bytes.Lines(data) {
				clean = append(append(clean, c.cleaned(bytes.TrimRight(line, "\n"), here, secrets, marks)...), '\n')
			}
			file := strings.ToLower(trials.FileName(name, "server"))
			if k > 0 {
				file = fmt.Sprintf("%s+%d", file, k+1)
			}
			if found := secrets.Secret(clean); found != nil {
				c.p.logf("rehearse: warning: the tape of server %q is not kept: line %d has something that looks like a secret (%s)", name, found.Line, found.Rule)
				continue
			}
			files[file+".tape"] = clean
		}
	}
	if err := writeTree(dir, files); err != nil {
		return err
	}
	f.Path = filepath.Join(dir, "model.yaml")
	if err := vcr.WriteFile(f.Path, f, 0); err != nil {
		return err
	}
	return fmt.Errorf("what was recorded is in %q: the cassette model.yaml, for rehearse proxy, and %s", dir, prose.Count(len(files), "tape"))
}

// writeCassette puts the recording where a replay of the scenario looks for it.
func (c *captured) writeCassette(f *vcr.File, talk *capture.Conversation) error {
	set, err := scenarios.Load([]string{filepath.Join(c.flags.out, talk.ScenarioFile())}, &scenarios.Options{LookupEnv: c.p.getenv, Offline: true})
	if err != nil {
		return err
	}
	s := set.Scenarios[0]
	c.scenario = s.Pos.File
	for _, i := range f.Interactions {
		i.Meta.Subject, i.Meta.Model, i.Meta.Label = s.Subject.Name, talk.Model, s.Name
		i.Meta.Base = capture.Base(i)
	}
	path := s.CassettePath("", talk.Model, 1)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f.Path = path
	return vcr.WriteFile(path, f, 0)
}

// marksOf are the marks of a cassette by the hash of what they stand for. One
// recorder may know a secret by its header and another by its looks.
func marksOf(f *vcr.File) map[string]string {
	marks := map[string]string{}
	for _, i := range f.Interactions {
		for _, body := range [][]byte{i.Request.Body, i.Response.Body} {
			_, found := redact.Split(string(body))
			for _, mark := range found {
				marks[mark[len(mark)-8:]] = mark
			}
		}
	}
	return marks
}

// heard reads the tapes, without what has become known to be secret.
func (c *captured) heard(secrets *redact.Redactor, marks map[string]string) ([]*capture.Heard, error) {
	var out []*capture.Heard
	here, err := c.asTaped()
	if err != nil {
		return nil, err
	}
	for n, name := range c.servers {
		var tapes []*mcptape.Recording
		for _, path := range c.tapes(n) {
			t, err := mcptape.Read(strings.TrimSuffix(path, ".part"))
			if err != nil {
				return nil, fmt.Errorf("server %q: %w", name, err)
			}
			for i := range t.Frames {
				if frame := t.Frames[i].Frame; frame != nil {
					t.Frames[i].Frame = c.cleaned(frame, here, secrets, marks)
				}
			}
			tapes = append(tapes, t)
		}
		slices.SortStableFunc(tapes, func(a, b *mcptape.Recording) int { return a.Recorded.Compare(b.Recorded) })
		if len(tapes) == 0 {
			c.p.logf("rehearse: note: the command did not start server %q: it is left out", name)
			continue
		}
		out = append(out, capture.Hear(name, tapes))
	}
	return out, nil
}

// tapes are the paths of the tapes of a server, those of recorders that have not
// ended among them.
func (c *captured) tapes(n int) []string {
	whole, _ := filepath.Glob(c.tape(n)) // the pattern is sound
	parts, _ := filepath.Glob(c.tape(n) + ".part")
	return append(whole, parts...)
}

// cleaned is JSON of a tape without what has become known to be secret. here is the
// working folder as a tape has it.
func (c *captured) cleaned(frame []byte, here string, secrets *redact.Redactor, marks map[string]string) []byte {
	clean := secrets.Interaction(&vcr.Interaction{Response: vcr.Response{Header: map[string][]string{"Content-Type": {"application/json"}}, Body: frame}}).Response.Body
	if here != "" {
		clean = bytes.ReplaceAll(clean, []byte(here), []byte(redact.Mark("work")))
	}
	return []byte(redact.Remark(string(clean), func(mark string) string { return cmp.Or(marks[mark[len(mark)-8:]], mark) }))
}

// asTaped is how a tape has the working folder, of whose role it does not know.
func (c *captured) asTaped() (string, error) {
	n := slices.IndexFunc(c.rules.Places, func(p redact.Place) bool { return p.Name == "work" })
	if n < 0 {
		return "", nil
	}
	r, err := redact.New(&redact.Rules{Places: redact.Here()})
	if err != nil {
		return "", err
	}
	return r.Text(c.rules.Places[n].Path), nil
}

// setting is what the scenario says besides the conversation.
func (c *captured) setting(talk *capture.Conversation, secrets *redact.Redactor) (*capture.Setting, error) {
	s := &capture.Setting{Subject: &capture.Subject{PassEnv: c.flags.passEnv}}
	settings, _ := c.p.getenv("REHEARSE_SETTINGS")
	s.System = strings.Contains(settings, `"system"`)
	prompted, given := false, false // the model is
	for _, name := range []string{"OPENAI_MODEL", "ANTHROPIC_MODEL", "GEMINI_MODEL"} {
		v, _ := c.p.getenv(name)
		given = given || v == talk.Model
	}
	first := talk.Turns[0].User
	prompt := c.promptWord(first, secrets, &talk.Notes)
	for i, word := range c.command {
		clean := secrets.Text(word)
		switch {
		case c.isMCPFile(word):
			clean = "{mcp_config}"
		case talk.System != "" && clean == talk.System:
			clean, s.System = "{system}", true
		case clean == talk.Model || strings.HasSuffix(clean, "="+talk.Model):
			clean, given = strings.TrimSuffix(clean, talk.Model)+"{model}", true
		case i == prompt:
			clean, prompted = strings.ReplaceAll(clean, first, "{prompt}"), true
		default:
			file, err := c.beside(word, i == 0)
			if err != nil {
				return nil, err
			}
			clean = cmp.Or(file, clean)
		}
		s.Subject.Command = append(s.Subject.Command, clean)
	}
	if !prompted && len(talk.Turns) > 1 {
		s.Subject.Prompt, c.lines = "lines", true
	}
	if prompted && len(talk.Turns) > 1 {
		talk.Notes = append(talk.Notes, fmt.Sprintf("the conversation has %d turns, and the command is told one: add resume and session to the subject of %s", len(talk.Turns), talk.ScenarioFile()))
	}
	s.Subject.Answer, s.Reports = c.answer(talk, secrets)
	c.settings(s.Subject, secrets)
	for at, text := range s.Subject.Files {
		for _, quote := range []string{`"`, `'`} {
			if model := quote + talk.Model + quote; strings.Contains(text, model) {
				text, given = strings.ReplaceAll(text, model, quote+"{model}"+quote), true
			}
		}
		s.Subject.Files[at] = text
	}
	s.OwnModel = !given
	set := capture.Cassette{Ignore: c.flags.ignore, KeepErrors: c.flags.keepErrors, Asides: talk.Mixed()}
	if len(set.Ignore) > 0 || set.KeepErrors || set.Asides {
		s.Cassette = &set
	}
	s.From = fmt.Sprintf("Captured from a conversation of %s with %s.\n`rehearse run` of this folder plays it against the mocks, with --mode replay against the recording.",
		secrets.Text(filepath.Base(c.command[0])), cmp.Or(secrets.Text(talk.Model), "a model"))
	return s, nil
}

// promptWord is the number of the word that has what the user said; -1 for none.
// Of several that is the last one that is nothing else, since a prompt stands
// behind the flags, and a note says so.
func (c *captured) promptWord(first string, secrets *redact.Redactor, notes *[]string) int {
	var same, within []int
	for i, word := range c.command {
		switch clean := secrets.Text(word); {
		case clean == first:
			same = append(same, i)
		case len(first) > shortestWithin && strings.Contains(clean, first):
			within = append(within, i)
		}
	}
	found := slices.Concat(within, same)
	if len(found) == 0 {
		return -1
	}
	word := found[len(found)-1]
	if len(found) > 1 {
		*notes = append(*notes, fmt.Sprintf("%d words of the command have what the user said: {prompt} stands in the place of number %d of them, the others stay as they are; edit the command if it is another", len(found), slices.Index(slices.Sorted(slices.Values(found)), word)+1))
	}
	return word
}

// shortestWithin is the length of a prompt that is looked for within longer words.
const shortestWithin = 8

// settings are the file of MCP servers as the subject has it, with what else is in
// it.
func (c *captured) settings(s *capture.Subject, secrets *redact.Redactor) {
	if c.form == "" || c.form == mcpconfig.Claude && c.mcpRest == nil {
		return
	}
	at := "{home}/" + filepath.Base(c.mcpFile)
	if file, err := filepath.Abs(c.mcpFile); err == nil {
		home, _ := c.p.getenv("HOME")
		if rel, err := filepath.Rel(home, file); err == nil && filepath.IsLocal(rel) && home != "" {
			at = "{home}/" + filepath.ToSlash(rel)
		}
	}
	s.MCPFile = map[string]string{"form": string(c.form), "path": at}
	if c.mcpRest == nil {
		return
	}
	kind := "application/json"
	if c.form == mcpconfig.Codex {
		kind = "text/plain"
	}
	base := "{base_url}"
	if strings.Trim(c.upstream.Path, "/") == "" {
		base = "{endpoint}"
	}
	rest := c.withEndpoint(c.mcpRest, base, "{endpoint}")
	clean := secrets.Interaction(&vcr.Interaction{Response: vcr.Response{Header: map[string][]string{"Content-Type": {kind}}, Body: rest}}).Response.Body
	s.Files = map[string]string{at: string(clean)}
}

// beside is the path of a file that a word names, from the folder that is
// written; empty for a word that names none, or a program of the system.
func (c *captured) beside(word string, program bool) (string, error) {
	if program && !strings.Contains(word, "/") {
		return "", nil
	}
	info, err := os.Stat(word)
	if err != nil || !info.Mode().IsRegular() {
		return "", nil
	}
	file, err := filepath.Abs(word)
	if err != nil {
		return "", err
	}
	inPlace := slices.ContainsFunc(c.rules.Places, func(p redact.Place) bool {
		rel, err := filepath.Rel(p.Path, file)
		return err == nil && filepath.IsLocal(rel)
	})
	if filepath.IsAbs(word) && !inPlace {
		return word, nil
	}
	dir, err := filepath.Abs(c.flags.out)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(dir, file)
	return filepath.ToSlash(rel), err
}

// relative is what to do about a file of the folder of capture that is named
// within a longer word, as in the script of a shell: such a word is not read, and
// the scenario plays in another folder. It is empty where there is none.
func (c *captured) relative() string {
	for _, word := range c.command {
		parts := strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune(" \t\n'\"`;&|<>()=", r) })
		for _, part := range parts {
			if part == word || filepath.IsAbs(part) || !strings.ContainsAny(part, "./") {
				continue
			}
			if info, err := os.Stat(part); err == nil && info.Mode().IsRegular() {
				return fmt.Sprintf("A scenario plays in the working folder of its trial, and %s is a file of the folder where capture ran: give it as a word of its own, as in sh -c 'python3 \"$0\" \"$1\"' agent.py 'the prompt', or write its whole path.\n", part)
			}
		}
	}
	return ""
}

// answer is where the answer of the command is, by what it has written.
func (c *captured) answer(talk *capture.Conversation, secrets *redact.Redactor) (any, capture.Report) {
	out := strings.TrimRight(secrets.Text(c.stdout.String()), "\r\n")
	var answers []string
	for _, t := range talk.Turns {
		answers = append(answers, t.Answer)
	}
	last := answers[len(answers)-1]
	lines := strings.Split(out, "\n")
	if out == strings.Join(answers, "\n") {
		return nil, capture.Equal
	}
	for _, line := range slices.Backward(lines) {
		var members map[string]json.RawMessage
		if json.Unmarshal([]byte(line), &members) != nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			var text string
			if !identifier.MatchString(name) || json.Unmarshal(members[name], &text) != nil || text != last {
				continue
			}
			when := "has(value." + name + ")"
			if kind := members["type"]; json.Unmarshal(kind, &text) == nil {
				when = fmt.Sprintf("has(value.type) && value.type == %s", kind)
			}
			return map[string]any{"jsonl": map[string]string{"when": when, "text": "value." + name}}, capture.Equal
		}
	}
	if len(answers) == 1 && strings.Contains(out, strings.TrimSpace(last)) {
		return nil, capture.Contains
	}
	return "none", capture.Silent
}

// inJSON reports whether the scenario reproduces with a command that reads its
// turns as lines of JSON, and leaves it so where it does: nobody sees what a command
// reads from a terminal.
func (c *captured) inJSON(ctx context.Context) bool {
	was, err := plainfile.Read(c.scenario, plainfile.MaxSettings)
	if err != nil {
		return false
	}
	now := bytes.Replace(was, []byte("\n  prompt: lines\n"), []byte("\n  prompt: json_lines\n"), 1)
	if plainfile.ReplaceBytes(c.scenario, 0o600, now) != nil {
		return false
	}
	if c.play(ctx) == nil {
		return true
	}
	_ = plainfile.ReplaceBytes(c.scenario, 0o600, was) // of the same size
	return false
}

// identifier matches a member that an expression may name as it is.
var identifier = regexp.MustCompile(`^[a-z][A-Za-z0-9_]*$`)

// slowest bounds a play of what was captured: a command may take long to start.
const slowest = 5 * time.Minute

// play plays what was written, without endpoint and servers.
func (c *captured) play(ctx context.Context) error {
	p := c.p
	c.plays++
	var bad []string
	for _, mode := range []harness.Mode{harness.ModeMock, harness.ModeReplay} {
		set, err := scenarios.Load([]string{c.flags.out}, &scenarios.Options{LookupEnv: p.getenv, Offline: true})
		if err != nil {
			return err
		}
		opts := &run.Options{
			Subject: agent.Subject(nil), SubjectName: "rehearse-agent", FromScenarios: true, Version: version(), Child: self(), Mode: mode,
			Out: filepath.Join(c.dir, fmt.Sprintf("runs-%d", c.plays)), Name: string(mode), Timeout: slowest, Keep: c.flags.keep, Abort: p.abort, ServerGrace: p.grace, LookupEnv: p.getenv,
		}
		result, err := func() (*run.Result, error) {
			defer p.adopt()()
			return run.Run(ctx, set.Scenarios, opts)
		}()
		if err != nil {
			return fmt.Errorf("playing %q in mode %s: %w", c.flags.out, mode, err)
		}
		for _, r := range result.Records {
			switch {
			case r.Outcome == harness.OutcomePassed:
				continue
			case r.Cause != nil:
				bad = append(bad, fmt.Sprintf("mode %s: %s: %s: %s", mode, r.Outcome, r.Cause.Kind, r.Cause.Text()))
			default:
				bad = append(bad, fmt.Sprintf("mode %s: %s", mode, r.Outcome))
			}
		}
	}
	if len(bad) > 0 {
		return &codeError{exitFailed, fmt.Errorf("%q is written, but it does not reproduce what was seen:\n  %s\n%sto look at it: rehearse run %s --mode replay",
			c.flags.out, strings.ReplaceAll(strings.Join(bad, "\n"), "\n", "\n  "), c.relative(), prose.ShellWord(c.flags.out))}
	}
	fmt.Fprintf(p.stderr, "%s is written, and reproduces: it passes in the modes mock and replay\n", c.flags.out)
	return nil
}
