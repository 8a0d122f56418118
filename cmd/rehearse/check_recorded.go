// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/cassettes/mcptape"
	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/filepos"
	"github.com/rehearse-dev/rehearse/internal/plainfile"
	"github.com/rehearse-dev/rehearse/internal/recfile"
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/vcr"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// The kinds of files that recordings are made of.
type recordedKind int

const (
	noRecording recordedKind = iota
	aCassette
	aTape
	aJournal // of a cassette that is being recorded, or was
	aPart    // of a tape, likewise
	aBody    // of a cassette, beside it
	aJudge   // what judges said of the trial of a cassette
)

// kindOf tells by its name, and where that does not do by its beginning, what
// a file is.
func kindOf(path string) recordedKind {
	switch {
	case strings.HasSuffix(filepath.Dir(path), vcr.BodiesSuffix):
		return aBody
	case strings.HasSuffix(path, ".journal"):
		return aJournal
	case strings.HasSuffix(path, ".tape.part"):
		return aPart
	case strings.HasSuffix(path, ".tape"):
		return aTape
	case strings.HasSuffix(path, ".judge"):
		return aJudge
	case strings.HasSuffix(path, ".har"):
		return aCassette
	case filepath.Ext(path) != ".yaml" && filepath.Ext(path) != ".yml":
		return noRecording
	}
	head, _, err := plainfile.Begin(path, 4<<10)
	if err != nil {
		return noRecording // whoever reads it next will say why
	}
	if bytes.HasPrefix(head, []byte("interactions:")) || bytes.Contains(head, []byte("\ninteractions:")) {
		return aCassette
	}
	return noRecording
}

// recordings looks at recorded traffic.
type recordings struct {
	secrets  *redact.Redactor
	dir      string // of --cassettes
	maxAge   time.Duration
	stale    string
	now      time.Time
	files    map[string]recordedKind
	models   map[string]string // of the cassettes that could be read
	unknown  map[string]bool   // files that name no model: they do not load, or hold nothing
	mistakes scenarios.Errors
	doubts   []scenarios.Problem
}

func (r *recordings) mistake(path string, line int, format string, args ...any) {
	r.mistakes = append(r.mistakes, scenarios.Problem{Pos: harness.Position{File: path, Line: line}, Msg: fmt.Sprintf(format, args...)})
}

func (r *recordings) doubt(path, format string, args ...any) {
	r.doubts = append(r.doubts, scenarios.Problem{Pos: harness.Position{File: path}, Msg: fmt.Sprintf(format, args...)})
}

// split takes the recordings out of what the user named. What is left may hold
// scenarios.
func (r *recordings) split(args []string) (rest []string) {
	for _, arg := range args {
		info, err := os.Stat(arg)
		switch {
		case err == nil && info.IsDir():
			r.walk(arg)
			rest = append(rest, arg)
		case err == nil && kindOf(arg) != noRecording:
			r.files[filepath.Clean(arg)] = kindOf(arg)
		default:
			rest = append(rest, arg)
		}
	}
	return rest
}

// walk collects the recordings of a folder.
func (r *recordings) walk(dir string) {
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case entry.IsDir() && path != dir && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		if kind := kindOf(path); kind != noRecording {
			r.files[filepath.Clean(path)] = kind
		}
		return nil
	})
	if err != nil {
		r.mistake(dir, 0, "looking for recordings: %v", err)
	}
}

// played are the scenarios in each of their variants.
func played(set *scenarios.Set) []*scenarios.Scenario {
	var out []*scenarios.Scenario
	for _, s := range set.Scenarios {
		out = append(out, s.Played()...)
	}
	return out
}

// home is the folder of the recordings of a scenario's file.
func (r *recordings) home(s *scenarios.Scenario) string {
	file := filepath.FromSlash(s.Pos.File)
	dir := r.dir
	if dir == "" {
		dir = filepath.Join(filepath.Dir(file), scenarios.CassettesDir)
	}
	return filepath.Join(dir, strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)))
}

// beside collects what is recorded of the scenarios.
func (r *recordings) beside(set *scenarios.Set) {
	if r.dir != "" {
		r.walk(r.dir)
	}
	for _, s := range played(set) {
		r.walk(r.home(s))
		for _, path := range s.Cassettes(r.dir) { // by their name, whatever they hold
			if info, err := os.Stat(path); r.files[path] == noRecording && (err != nil || info.Mode().IsRegular()) {
				r.files[path] = aCassette
			}
		}
	}
}

// paths are the files in order.
func (r *recordings) paths() []string {
	var out []string
	for path := range r.files {
		out = append(out, path)
	}
	slices.Sort(out)
	return out
}

// count is the number of cassettes and tapes.
func (r *recordings) count() int {
	n := 0
	for _, kind := range r.files {
		if kind == aCassette || kind == aTape {
			n++
		}
	}
	return n
}

// check looks at all files. Whether a file belongs to a scenario is known only
// where all scenarios could be read.
func (r *recordings) check(set *scenarios.Set, whole bool) {
	owners := map[string]*scenarios.Scenario{}
	for _, path := range r.paths() {
		r.scan(path)
		if r.files[path] == aCassette {
			r.cassette(path, set, owners)
		}
	}
	for _, path := range r.paths() {
		switch r.files[path] {
		case aTape:
			r.tape(path, set)
		case aJournal:
			r.doubt(path, "a recording of %s was interrupted or is still running; the next recording completes it or sets it aside", strings.TrimSuffix(path, ".journal"))
		case aPart:
			r.doubt(path, "a recording of %s was interrupted or is still running", strings.TrimSuffix(path, ".part"))
		case aBody:
			if owner := strings.TrimSuffix(filepath.Dir(path), vcr.BodiesSuffix); r.files[owner] != aCassette {
				r.doubt(path, "this body belongs to no cassette: %s does not exist", owner)
			}
		default:
		}
	}
	if whole {
		r.orphans(set, owners)
		r.missing(set, owners)
	}
	slices.SortStableFunc(r.doubts, func(a, b scenarios.Problem) int { return strings.Compare(a.Pos.File, b.Pos.File) })
}

// scan looks for secrets in the bytes of a file.
func (r *recordings) scan(path string) {
	data, err := plainfile.Read(path, plainfile.MaxRecording)
	if err != nil {
		r.mistake(path, 0, "%v", err)
		return
	}
	for _, f := range r.secrets.Scan(data) {
		if f.Guess { // whoever recorded it was told
			continue
		}
		r.mistake(path, f.Line, "this looks like a secret (%s): %s", f.Rule, f.Excerpt)
	}
}

func (r *recordings) cassette(path string, set *scenarios.Set, owners map[string]*scenarios.Scenario) {
	f, err := vcr.Read(path)
	if err != nil {
		r.unreadable(path, err)
		return
	}
	if len(f.Interactions) == 0 {
		r.unknown[path] = true
		r.doubt(path, "it contains no interaction, so a replay answers nothing")
		return
	}
	model := modelOf(f)
	r.models[path] = model
	for _, s := range played(set) {
		if s.CassetteTrial(r.dir, path, model) > 0 {
			owners[path] = s
		}
	}
	r.age(path, oldest(f), owners[path])
	unused, err := vcr.UnusedBodies(f)
	if err != nil {
		r.mistake(path, 0, "%v", err)
	}
	for _, body := range unused {
		r.doubt(body, "%s does not refer to this body; an older recording left it", path)
	}
}

// modelOf is the model that a cassette was recorded with.
func modelOf(f *vcr.File) string {
	for _, i := range f.Interactions {
		if i.Meta.Model != "" {
			return i.Meta.Model
		}
	}
	for _, i := range f.Interactions { // recorded by another program
		var body struct{ Model string }
		if json.Unmarshal(i.Request.Body, &body) == nil && body.Model != "" {
			return body.Model
		}
	}
	return ""
}

func (r *recordings) tape(path string, set *scenarios.Set) {
	rec, err := mcptape.Read(path)
	if err != nil {
		r.unreadable(path, err)
		return
	}
	if rec.Cut {
		r.doubt(path, "the recording was interrupted")
	}
	// What a replay refuses is a mistake here too.
	tape, err := mcptape.New(path, rec, nil)
	if err != nil {
		r.unknown[path] = true
		r.mistake(path, 0, "it cannot be replayed: %v", errors.Unwrap(err))
		return
	}
	_ = tape.Close() // of one that nobody replayed
	_, owner := r.cassetteOf(path, set)
	r.age(path, rec.Recorded, owner)
}

// unreadable reports a file that does not load.
func (r *recordings) unreadable(path string, err error) {
	r.unknown[path] = true
	for _, err := range filepos.All(err) {
		if at := (*filepos.Error)(nil); errors.As(err, &at) && at.Pos.File == path {
			r.mistake(path, at.Pos.Line, "%v", at.Err)
		} else {
			r.mistake(path, 0, "%v", err)
		}
	}
}

// age says that a recording is too old: by --max-age, or else by its scenario.
func (r *recordings) age(path string, recorded time.Time, s *scenarios.Scenario) {
	limit, stale := r.maxAge, r.stale
	if limit == 0 && s != nil {
		limit, stale = s.Cassette.MaxAge, s.Cassette.Stale
	}
	if limit <= 0 || recorded.IsZero() || r.now.Sub(recorded) <= limit {
		return
	}
	text := fmt.Sprintf("it was recorded on %s, more than %s ago; record it again", recorded.Format("2006-01-02"), vcr.Days(limit))
	if stale == "error" {
		r.mistake(path, 0, "%s", text)
	} else {
		r.doubt(path, "%s", text)
	}
}

// orphans lists the recordings where those of scenarios are, which no scenario
// refers to.
func (r *recordings) orphans(set *scenarios.Set, owners map[string]*scenarios.Scenario) {
	for _, path := range r.paths() {
		if kind := r.files[path]; (kind == aCassette || kind == aTape) && owners[path] == nil {
			switch recfile.Fate(path) {
			case recfile.Refused:
				r.doubt(path, "a recording that was refused; delete it when you have seen why")
				continue
			case recfile.Cut:
				r.doubt(path, "the part of a recording that was interrupted; delete it when you have what you need")
				continue
			}
		}
		if !r.kept(path, set) || r.unknown[path] {
			continue
		}
		switch r.files[path] {
		case aCassette:
			if owners[path] == nil {
				r.doubt(path, "no scenario refers to this cassette: its name fits no scenario, model and trial")
			}
		case aTape:
			cassette, owner := r.cassetteOf(path, set)
			switch {
			case r.unknown[cassette]: // and so are its scenario and its model
			case cassette == "":
				r.doubt(path, "this tape belongs to no cassette: none beside it has its name")
			case owner == nil && owners[cassette] != nil:
				r.doubt(path, "no scenario refers to this tape: %q has no real server of this name", owners[cassette].Name)
			case owner == nil:
				r.doubt(path, "no scenario refers to this tape")
			}
		default:
		}
	}
}

// missing lists what is not recorded beside what is: scenarios of a file of
// which others are, models that other scenarios of the folder are recorded
// with, and tapes of real servers.
func (r *recordings) missing(set *scenarios.Set, owners map[string]*scenarios.Scenario) {
	models := map[string][]string{} // by the folder of recordings, of a file and of all
	recorded := map[*scenarios.Scenario][]string{}
	for _, path := range r.paths() {
		s := owners[path]
		if s == nil {
			continue
		}
		model := r.models[path]
		recorded[s] = append(recorded[s], model)
		for _, dir := range []string{r.home(s), filepath.Dir(r.home(s))} {
			if !slices.Contains(models[dir], model) {
				models[dir] = append(models[dir], model)
			}
		}
		for _, server := range s.Servers {
			if tape := scenarios.TapePath(path, server.Name); server.Mock == nil && r.files[tape] != aTape {
				r.doubt(path, "the tape of the real server %q is missing: %s", server.Name, tape)
			}
		}
	}
	for _, s := range played(set) {
		if slices.ContainsFunc(s.Cassettes(r.dir), func(path string) bool { return r.unknown[path] }) {
			continue // that may be the one
		}
		dir, others := r.home(s), "of this file"
		if len(recorded[s]) > 0 {
			dir, others = filepath.Dir(dir), "beside it"
		}
		for _, model := range models[dir] {
			if !slices.Contains(recorded[s], model) {
				r.doubts = append(r.doubts, scenarios.Problem{Pos: s.Pos, Msg: fmt.Sprintf("%q is not recorded for model %s, but others %s are", s.Name, cmp.Or(model, `""`), others)})
			}
		}
	}
}

// kept reports whether a file is where the recordings of scenarios are kept:
// in --cassettes, or in a folder of that name beside scenarios that were all
// read.
func (r *recordings) kept(path string, set *scenarios.Set) bool {
	within := func(dir string) bool {
		rel, err := filepath.Rel(dir, path)
		return err == nil && filepath.IsLocal(rel)
	}
	if r.dir != "" {
		return within(r.dir)
	}
	return slices.ContainsFunc(played(set), func(s *scenarios.Scenario) bool { return within(filepath.Dir(r.home(s))) })
}

// cassetteOf is the cassette to which a tape belongs, and the scenario whose
// server the tape is of.
func (r *recordings) cassetteOf(tape string, set *scenarios.Set) (cassette string, owner *scenarios.Scenario) {
	for base := strings.TrimSuffix(tape, ".tape"); ; {
		n := strings.LastIndexByte(base, '.')
		if n <= strings.LastIndexByte(base, filepath.Separator) {
			return cassette, nil
		}
		base = base[:n]
		path := base + ".yaml"
		if r.files[path] != aCassette {
			continue
		}
		cassette = path
		for _, s := range played(set) {
			if s.CassetteTrial(r.dir, path, r.models[path]) > 0 && hasServer(s, path, tape) {
				return path, s
			}
		}
	}
}

func hasServer(s *scenarios.Scenario, cassette, tape string) bool {
	return slices.ContainsFunc(s.Servers, func(server *scenarios.Server) bool {
		return server.Mock == nil && scenarios.TapePath(cassette, server.Name) == tape
	})
}
