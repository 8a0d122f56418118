// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/plainfile"
	"github.com/rehearse-dev/rehearse/internal/project"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
)

// languageVersion is the newest `version` that this package reads.
const languageVersion = 1

// suiteFile is the name that a suite file must have.
const suiteFile = "suite.yaml"

// Load reads files and folders. The error is [Errors]: all mistakes of all
// files; the set then holds what could be read in spite of them. opts may be
// nil.
func Load(paths []string, opts *Options) (*Set, error) {
	l := newLoader(opts)
	for _, path := range paths {
		l.path(path)
	}
	return l.set()
}

// Parse reads one document as [Load] would read it from the file name, which
// need not be there: what it refers to is found from where that would be.
func Parse(name string, data []byte, opts *Options) (*Set, error) {
	l := newLoader(opts)
	l.document(filepath.Clean(name), data)
	l.path(name)
	return l.set()
}

// set compiles what was found.
func (l *loader) set() (*Set, error) {
	slices.SortStableFunc(l.found, func(a, b *document) int { return strings.Compare(a.path, b.path) })
	set := &Set{Notes: l.notes}
	for _, d := range l.found {
		switch d.kind {
		case "scenario":
			set.Scenarios = append(set.Scenarios, l.scenario(d)...)
		case "server":
			if script := l.serverScript(d); script != nil {
				set.Servers = append(set.Servers, &Server{
					Name: script.name, Pos: d.root.Key(d.kind).Pos, Mock: script.bind(emptyVars(), nil), Required: true, script: script,
				})
			}
		case "llm":
			set.LLMs = append(set.LLMs, l.llm(d))
		case "suite":
			set.Suites = append(set.Suites, d.path)
			l.suite(d)
		}
	}
	l.sameNames(set)
	l.knownTags(set)
	l.knownVariants(set)
	set.Files = l.files()
	if list := l.problems.sorted(); len(list) > 0 {
		set.broken = list
		return set, Errors(list)
	}
	return set, nil
}

// document is a file that was read.
type document struct {
	path string
	kind string           // one of kinds; empty for a file that is not ours
	why  string           // for one that is not ours
	mcp  bool             // it names MCP servers, and is read where it is named
	at   harness.Position // of why
	root *strictyaml.Node
	data []byte
	// server caches what a server file compiles to.
	server     *serverScript
	serverDone bool
}

// loader holds what is shared while a set is loaded.
type loader struct {
	compiler
	shapes *shapes
	lookup func(string) (string, bool)
	// offline allows variables of real servers that are not set.
	offline bool
	root    string   // see Options.Root
	heeded  []string // see Options.Settings
	docs    map[string]*document
	// projects are the settings of the projects of folders.
	projects map[string]*project.Project
	// mistaken are the files of projects whose mistakes were reported.
	mistaken map[string]bool
	found    []*document
	notes    []Note
	suites   []string // looked for
	tables   []string // of cases
	// Of the scenario that is being compiled: the settings of its judges, and
	// what they say in mode mock.
	judging *strictyaml.Node
	judges  map[harness.Position][]replyScript
}

// files are all that were read or looked for.
func (l *loader) files() []string {
	list := slices.Concat(slices.Collect(maps.Keys(l.docs)), l.suites, l.tables)
	slices.Sort(list)
	return slices.Compact(list)
}

func newLoader(opts *Options) *loader {
	l := &loader{lookup: os.LookupEnv, docs: map[string]*document{}, projects: map[string]*project.Project{}, mistaken: map[string]bool{}}
	if opts != nil {
		l.offline, l.root, l.heeded = opts.Offline, opts.Root, opts.Settings
		if opts.LookupEnv != nil {
			l.lookup = opts.LookupEnv
		}
	}
	l.problems = &problems{}
	l.shapes = &shapes{objects: map[string]*object{}, problems: l.problems}
	l.shapes.all = objects()
	for _, o := range l.shapes.all {
		l.shapes.objects[o.name] = o
	}
	return l
}

// path takes in a file or a folder that the user named.
func (l *loader) path(path string) {
	if l.docs[filepath.Clean(path)] != nil {
		l.take(path, true)
		return
	}
	info, err := os.Stat(path)
	if err != nil {
		l.problems.add(harness.Position{File: path}, "%s", reason(err))
		return
	}
	if !info.IsDir() {
		l.take(path, true)
		return
	}
	root := path + string(filepath.Separator) // the folder itself, where the path is that of a link
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			l.problems.add(harness.Position{File: name}, "%s", reason(err))
		case entry.IsDir() && name != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == CassettesDir):
			l.leftOut(name, entry)
			return fs.SkipDir
		case !entry.IsDir() && isYAML(name):
			l.take(name, false)
		default:
			l.leftOut(name, entry)
		}
		return nil
	})
	if err != nil {
		l.problems.add(harness.Position{File: path}, "%s", reason(err))
	}
}

// take adds a file to what was found. One that the user named must be ours.
func (l *loader) take(path string, named bool) {
	if filepath.Base(path) == project.File {
		l.projectFile(path)
		return
	}
	d := l.read(path)
	switch {
	case d.kind != "":
		if !slices.Contains(l.found, d) {
			l.found = append(l.found, d)
		}
	case named && d.why != "":
		l.problems.add(d.at, "%s; a rehearse file begins with one of the keys %s", d.why, strings.Join(kinds(), ", "))
	case d.why != "" && !d.mcp:
		l.note(path, d.why)
	}
}

// projectFile checks the settings of the project, which whoever plays scenarios
// reads.
func (l *loader) projectFile(path string) {
	if _, err := project.Load(path); err != nil {
		l.projectMistakes(path, err)
	}
}

// projectMistakes reports what is wrong with the settings of a project, once
// however many scenarios are played with them. file is who looked for them.
func (l *loader) projectMistakes(file string, err error) {
	var mistakes project.Errors
	if !errors.As(err, &mistakes) || len(mistakes) == 0 {
		l.problems.add(harness.Position{File: file}, "%s", reason(err))
		return
	}
	path := mistakes[0].Pos.File
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if !l.mistaken[path] {
		l.mistaken[path] = true
		l.problems.put(fromYAML(mistakes)...)
	}
}

// read reads a file once and checks its shape. Problems with a file that is
// ours are reported; a document that cannot be used has no kind.
func (l *loader) read(path string) *document {
	path = filepath.Clean(path)
	if d := l.docs[path]; d != nil {
		return d
	}
	data, err := l.readAny(path)
	if err != nil {
		d := &document{path: path}
		l.docs[path] = d
		at := harness.Position{File: path}
		if errors.Is(err, plainfile.ErrKind) {
			at.Line, at.Col = 1, 1 // where all that is wrong with a whole file stands
		}
		l.problems.add(at, "%s", reason(err))
		return d
	}
	return l.document(path, data)
}

// document takes data for the file at path.
func (l *loader) document(path string, data []byte) *document {
	d := &document{path: path, data: data}
	l.docs[path] = d
	root, found := strictyaml.Parse(filepath.ToSlash(path), data)
	d.at = harness.Position{File: path, Line: 1, Col: 1}
	first := firstKey(root, data)
	meant := prose.Suggest(first.Text, kinds())
	switch {
	case first.Text == "" && root != nil && root.Kind == strictyaml.String:
		d.why = fmt.Sprintf("it is the text %q, and no map", prose.Shorten(root.Text, 80))
		if ext := filepath.Ext(root.Text); ext == ".yaml" || ext == ".yml" {
			d.why += ": a path where the contents are wanted"
		}
	case first.Text == "":
		d.why = "it has no first key"
	case l.kindLater(root, first) != nil:
		late := l.kindLater(root, first)
		l.problems.put(fromYAML(found)...)
		l.problems.add(first.Pos, "%q must be the first key: it stands on line %d, after %q", late.Text, late.Pos.Line, first.Text)
	case !slices.Contains(kinds(), first.Text) && meant == "":
		d.why = fmt.Sprintf("its first key is %q", first.Text)
		d.mcp = slices.Contains([]string{"mcp", "mcpServers", "agent_permissions"}, first.Text)
		for _, kind := range kinds() {
			if late := root.Key(kind); late != nil {
				d.why += fmt.Sprintf(" (%q, on line %d, must be the first)", kind, late.Pos.Line)
			}
		}
	case root == nil:
		l.problems.put(fromYAML(found)...)
	case first.Text != meant:
		l.problems.add(harness.Position{File: path, Line: first.Pos.Line, Col: first.Pos.Col}, "unknown first key %q (did you mean %q?)", first.Text, meant)
	default:
		l.problems.put(fromYAML(found)...)
		if root.Kind == strictyaml.Map && l.versionKnown(root) {
			d.kind, d.root = first.Text, root
			l.shapes.check(root, objectOf(first.Text+" file"), first.Text)
		}
		return d
	}
	if d.why != "" && (root == nil || root.Kind == strictyaml.Invalid) && len(found) > 0 && first.Text == "" {
		d.why = strings.TrimPrefix(found[0].Msg, "not YAML: ")
		d.at.Line, d.at.Col = found[0].Pos.Line, found[0].Pos.Col
	}
	return d
}

// readFile reads as much of a file as is read of any, and a byte more.
func readFile(path string) ([]byte, error) {
	data, _, err := plainfile.Begin(path, strictyaml.MaxBytes+1)
	return data, err
}

var keyAtStart = regexp.MustCompile(`(?m)^([A-Za-z_][A-Za-z0-9_-]*)\s*:`)

// firstKey returns the first key of a document, version aside; of text that
// is no YAML, what looks like it.
func firstKey(root *strictyaml.Node, data []byte) *strictyaml.Node {
	if root == nil {
		for _, m := range keyAtStart.FindAllSubmatch(data, 2) {
			if key := string(m[1]); key != "version" {
				return &strictyaml.Node{Text: key}
			}
		}
		return &strictyaml.Node{}
	}
	for _, p := range root.Pairs {
		if p.Key.Text != "version" {
			return p.Key
		}
	}
	return &strictyaml.Node{}
}

// kindLater returns the key that says what a file is, of one that is ours and
// begins with another of its keys; else nil.
func (l *loader) kindLater(root, first *strictyaml.Node) *strictyaml.Node {
	for _, kind := range kinds() {
		known := func(k key) bool { return k.name == first.Text && k.name != kind }
		if v := root.Get(kind); v != nil && v.Kind == strictyaml.String && slices.ContainsFunc(l.shapes.objects[kind+" file"].keys, known) {
			return root.Key(kind)
		}
	}
	return nil
}

func (l *loader) versionKnown(root *strictyaml.Node) bool {
	v := root.Get("version")
	if v == nil || v.Kind != strictyaml.Number || v.Text == fmt.Sprint(languageVersion) {
		return true
	}
	if n := intOf(v); n > languageVersion {
		l.problems.add(v.Pos, "version %s is newer than this rehearse, which reads version %d", v.Text, languageVersion)
		return false
	}
	return true
}

// suite checks a suite file on its own.
func (l *loader) suite(d *document) {
	if filepath.Base(d.path) != suiteFile {
		l.problems.add(d.root.Pos, "a suite file must be named %s to be found", suiteFile)
	}
	l.expectations(d.root.Get("expect"), nil)
}

// suiteOf returns the defaults for the scenarios of a folder, or nil.
func (l *loader) suiteOf(d *document) *document {
	path := filepath.Join(filepath.Dir(d.path), suiteFile)
	if l.outside(nil, path) {
		return nil
	}
	l.suites = append(l.suites, path)
	if l.docs[filepath.Clean(path)] == nil {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	if s := l.read(path); s.kind == "suite" {
		return s
	}
	return nil
}

// merged lays a scenario over the defaults of its suite.
func merged(suite, scenario *strictyaml.Node) *strictyaml.Node {
	if suite == nil {
		return scenario
	}
	out := *scenario
	out.Pairs = slices.Clone(scenario.Pairs)
	for _, p := range suite.Pairs {
		name := p.Key.Text
		i := slices.IndexFunc(out.Pairs, func(q strictyaml.Pair) bool { return q.Key.Text == name })
		switch {
		case !slices.Contains([]string{"model", "servers", "limits", "subject", "grants", "live", "expect", "pass", "judge"}, name):
		case i < 0:
			out.Pairs = append(out.Pairs, p)
		case name == "pass": // one rule, not a mixture of two
		case name == "expect" && p.Value.Kind == strictyaml.List:
			both := *out.Pairs[i].Value
			both.Items = slices.Concat(p.Value.Items, both.Items)
			out.Pairs[i].Value = &both
		case name == "servers":
			out.Pairs[i].Value = overlay(p.Value, out.Pairs[i].Value, deepServer)
		case name == "subject":
			out.Pairs[i].Value = deepSubject(p.Value, out.Pairs[i].Value)
		default:
			out.Pairs[i].Value = deep(p.Value, out.Pairs[i].Value)
		}
	}
	return &out
}

// overlay merges two maps, keys of over first in rank and last in order;
// values that both have are merged by inner.
func overlay(base, over *strictyaml.Node, inner func(base, over *strictyaml.Node) *strictyaml.Node) *strictyaml.Node {
	if base.Kind != strictyaml.Map || over.Kind != strictyaml.Map {
		return over
	}
	out := *over
	out.Pairs = nil
	for _, p := range base.Pairs {
		if above := over.Get(p.Key.Text); above != nil {
			p = strictyaml.Pair{Key: over.Key(p.Key.Text), Value: inner(p.Value, above)}
		}
		out.Pairs = append(out.Pairs, p)
	}
	for _, p := range over.Pairs {
		if base.Get(p.Key.Text) == nil {
			out.Pairs = append(out.Pairs, p)
		}
	}
	return &out
}

// deep merges maps at every depth.
func deep(base, over *strictyaml.Node) *strictyaml.Node { return overlay(base, over, deep) }

// deepServer merges two entries of servers. One that says where its server
// comes from takes over nothing of that kind.
func deepServer(base, over *strictyaml.Node) *strictyaml.Node {
	from := []string{"mock", "tools", "command", "url", "config"}
	if base.Kind == strictyaml.Map && slices.ContainsFunc(from, func(k string) bool { return over.Get(k) != nil }) {
		rest := *base
		rest.Pairs = slices.DeleteFunc(slices.Clone(base.Pairs), func(p strictyaml.Pair) bool {
			return slices.Contains(append(append(from, "env", "headers", "transport", "waits", "protocol", "changes", "faults", "resources", "templates", "prompts", "completions"), "state", "instructions"), p.Key.Text)
		})
		base = &rest
	}
	return deep(base, over)
}

// sameNames refuses two scenarios of one name: reports tell them apart by it.
func (l *loader) sameNames(set *Set) {
	first := map[string]*Scenario{}
	for _, s := range set.Scenarios {
		if other := first[s.Name]; other != nil {
			l.problems.add(s.Pos, "the scenario %q already exists, at %s", s.Name, other.Pos)
			continue
		}
		first[s.Name] = s
	}
}

// reason is an error of the file system without the path, which stands before
// it in every message.
func reason(err error) string {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err.Error()
	}
	return err.Error()
}

// missing reports whether a file is there, and if not, hints at one that is.
func missing(path string) (hint string, ok bool) {
	if _, err := os.Stat(path); err == nil {
		return "", true
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return "", false
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return didYouMean(filepath.Base(path), names), false
}
