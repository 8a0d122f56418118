// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness/trials"
	requests "github.com/rehearse-dev/rehearse/internal/key"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
)

// Cassette are a scenario's settings of its recordings. The zero value means
// all defaults.
type Cassette struct {
	// Order says which of several equal recorded requests answers: sequence
	// (when empty), strict, any or repeat-last.
	Order string
	// Ignore are further paths into the JSON of requests that do not count.
	Ignore []string
	// AllowUnused lets a replay end with recordings that nobody asked for.
	AllowUnused bool
	// KeepErrors records answers of 429 and of 500 and above.
	KeepErrors bool
	// Speed is how fast a replay is: 1 as it was, 0 at once.
	Speed float64
	// Asides allows requests beside the conversation, with another prompt or
	// model.
	Asides bool
	// MaxAge is how old a recording may be; 0 means any age. Stale says what
	// an older one is in replay: warn (when empty) or error.
	MaxAge time.Duration
	Stale  string
}

// CassettesDir is the folder, beside the scenario files, in which their
// cassettes are. [Load] leaves such folders below a folder that it reads
// alone.
const CassettesDir = "cassettes"

// CassettePath is the file that holds the recording of a trial, from 1, of the
// scenario with a model:
//
//	<dir>/<file without .yaml>/<scenario>[@<variant>].<model>[+<trial>].yaml
//
// dir is the folder "cassettes" beside the scenario's file when it is empty.
// Names become what can be part of a file's name, in lower case.
func (s *Scenario) CassettePath(dir, model string, trial int) string {
	n := ""
	if trial > 1 {
		n = fmt.Sprintf("+%d", trial) // no model has a + in its part of the name
	}
	return s.cassettePrefix(dir) + slug(model, "model") + n + ".yaml"
}

// CassetteTrial is the trial of the scenario with a model that is recorded at
// path; 0 when path is no cassette of them.
func (s *Scenario) CassetteTrial(dir, path, model string) int {
	trial := 1
	if _, n, ok := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".yaml"), "+"); ok {
		trial, _ = strconv.Atoi(n) // anything that is not a number is no trial
	}
	if trial < 1 || path != s.CassettePath(dir, model, trial) {
		return 0
	}
	return trial
}

// Cassettes are the files that may be cassettes of the scenario, sorted: those
// of other scenarios can be among them, whose name begins in the same way.
func (s *Scenario) Cassettes(dir string) []string {
	list, _ := filepath.Glob(literalGlob(s.cassettePrefix(dir)) + "*.yaml") // the pattern is sound
	return list
}

// literalGlob quotes a path for [filepath.Glob].
func literalGlob(path string) string {
	return strings.NewReplacer(`[`, `[[]`, `*`, `[*]`, `?`, `[?]`).Replace(path)
}

func (s *Scenario) cassettePrefix(dir string) string {
	file := filepath.FromSlash(s.Pos.File)
	if dir == "" {
		dir = filepath.Join(filepath.Dir(file), CassettesDir)
	}
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	of := slug(s.Name, "scenario")
	if s.Variant != "" {
		of += "@" + slug(s.Variant, "variant") // no scenario has an @ in its part of the name
	}
	return filepath.Join(dir, name, of) + "."
}

// TapePath is the file that holds what went between the subject and a real
// server in the trial whose cassette is at path.
func TapePath(cassette, server string) string {
	return strings.TrimSuffix(cassette, ".yaml") + "." + slug(server, "server") + ".tape"
}

// JudgePath is the file that holds what the LLM judges were asked, and said, of
// the trial whose cassette is at path.
func JudgePath(cassette string) string { return strings.TrimSuffix(cassette, ".yaml") + ".judge" }

func slug(name, none string) string { return strings.ToLower(trials.FileName(name, none)) }

func cassetteObject() *object {
	return &object{
		name: "cassette", doc: "How the scenario is recorded, and replayed in mode replay.",
		keys: []key{
			{name: "order", typ: enum("sequence", "strict", "any", "repeat-last"), def: "sequence", doc: "Which of equal recorded requests answers: each once, one after the other (`sequence`); all requests in the order of the file (`strict`); always the first (`any`); the last again when all were used (`repeat-last`)."},
			{name: "ignore", typ: list(filled()), def: "none", doc: "Further paths in a request's JSON to ignore when matching, as a miss prints them, such as `messages[0].content`, `metadata.trace` or `**.date`; `*` is any key or index, a leading `**` any depth. With a regular expression after `=~`, only what it matches in the texts there is ignored: `messages[0].content =~ \\d{4}-\\d\\d-\\d\\d`. For tool calls that a tape answers: paths into the parameters, such as `arguments.date`."},
			{name: "allow_unused", typ: boolean(), def: "false", doc: "Does not fail a replay for recorded requests that nobody sent."},
			{name: "keep_errors", typ: boolean(), def: "false", doc: "Also records answers of 429 and of 500 and above, so that a replay has the retries."},
			{name: "asides", typ: boolean(), def: "false", doc: "Allows requests beside the conversation with another system prompt or model (for titles, or of sub-agents); otherwise a recording that mixes two is refused."},
			{name: "speed", typ: number(), def: "0", doc: "Replay speed: 1 as recorded, 2 twice as fast, 0 at once."},
			{name: "max_age", typ: duration(), def: "any age", doc: "The maximum age of a recording, such as `720h`."},
			{name: "stale", typ: enum("warn", "error"), def: "warn", doc: "How a recording older than `max_age` is reported."},
		},
	}
}

func (l *loader) cassette(n *strictyaml.Node) Cassette {
	if !usable(n) {
		return Cassette{}
	}
	c := Cassette{
		Order: textOf(n.Get("order")), Ignore: textsOf(n.Get("ignore")), AllowUnused: boolOf(n.Get("allow_unused")),
		KeepErrors: boolOf(n.Get("keep_errors")), MaxAge: durationOf(n.Get("max_age")), Stale: textOf(n.Get("stale")),
		Asides: boolOf(n.Get("asides")),
	}
	for _, item := range itemsOf(n.Get("ignore")) {
		if !usable(item) {
			continue
		}
		if _, err := requests.ParsePath(item.Text); err != nil {
			l.problems.add(item.Pos, "%v", err)
		}
	}
	if speed := floatOf(n.Get("speed")); speed != nil {
		if c.Speed = *speed; c.Speed < 0 {
			l.problems.add(n.Get("speed").Pos, "a speed of %v: want 0 (at once) or more", c.Speed)
		}
	}
	if n.Get("stale") != nil && c.MaxAge == 0 {
		l.problems.add(n.Key("stale").Pos, `"stale" has no effect without "max_age"`)
	}
	return c
}
