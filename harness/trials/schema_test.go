// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trials_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/samplerun"
	"github.com/rehearse-dev/rehearse/internal/schema"
	"github.com/rehearse-dev/rehearse/internal/value"
)

var update = flag.Bool("update", false, "rewrite docs/trials.md and docs/trials.schema.json")

// recordDoc is what the Go source says of a type that is in records, and of
// its fields or values.
type recordDoc struct {
	text   string
	fields map[string]string // a comment by the name of a field
	values [][2]string       // of an enumeration: value, comment
}

// sources reads the comments of the packages whose types are in records.
func sources(t *testing.T) map[string]*recordDoc {
	t.Helper()
	out := map[string]*recordDoc{}
	of := func(name string) *recordDoc {
		if out[name] == nil {
			out[name] = &recordDoc{fields: map[string]string{}}
		}
		return out[name]
	}
	comment := func(groups ...*ast.CommentGroup) string {
		for _, g := range groups {
			if g != nil {
				return strings.Join(strings.Fields(g.Text()), " ")
			}
		}
		return ""
	}
	for pkg, dir := range map[string]string{"trials": ".", "harness": ".."} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				decl, ok := d.(*ast.GenDecl)
				if !ok {
					continue
				}
				for _, s := range decl.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						doc := of(pkg + "." + s.Name.Name)
						doc.text = comment(s.Doc, decl.Doc)
						if st, ok := s.Type.(*ast.StructType); ok {
							for _, f := range st.Fields.List {
								for _, n := range f.Names {
									doc.fields[n.Name] = comment(f.Doc, f.Comment)
								}
							}
						}
					case *ast.ValueSpec:
						kind, ok := s.Type.(*ast.Ident)
						if !ok || decl.Tok != token.CONST || len(s.Values) != 1 {
							continue
						}
						if lit, ok := s.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
							v, _ := strconv.Unquote(lit.Value)
							doc := of(pkg + "." + kind.Name)
							doc.values = append(doc.values, [2]string{v, comment(s.Doc, s.Comment)})
						}
					}
				}
			}
		}
	}
	return out
}

// recordField is a key of an object in a record.
type recordField struct {
	key, text string
	kind      string // for the page
	always    bool
	schema    map[string]any
}

// recordTypes are the objects of a record, in the order in which they are met.
type recordTypes struct {
	docs    map[string]*recordDoc
	order   []string
	fields  map[string][]recordField
	missing []string // fields that nothing is said of
}

var special = map[reflect.Type]func() (string, map[string]any){
	reflect.TypeFor[time.Time](): func() (string, map[string]any) {
		return "time", map[string]any{"type": "string", "format": "date-time"}
	},
	reflect.TypeFor[time.Duration](): func() (string, map[string]any) { return "nanoseconds", map[string]any{"type": "integer"} },
	reflect.TypeFor[json.RawMessage](): func() (string, map[string]any) {
		return "any JSON", map[string]any{}
	},
}

// of describes a type for the page and for the schema.
func (r *recordTypes) of(t reflect.Type) (string, map[string]any) {
	if f := special[t]; f != nil {
		return f()
	}
	name := strings.TrimPrefix(t.String(), "*")
	switch t.Kind() {
	case reflect.Pointer:
		return r.of(t.Elem())
	case reflect.Struct:
		r.add(t)
		key := strings.ToLower(t.Name())
		return fmt.Sprintf("[%s](#%s)", key, key), map[string]any{"$ref": "#/$defs/" + key}
	case reflect.Slice:
		kind, items := r.of(t.Elem())
		return "list of " + kind, map[string]any{"type": "array", "items": items}
	case reflect.Bool:
		return "true or false", map[string]any{"type": "boolean"}
	case reflect.Float64:
		return "number", map[string]any{"type": "number"}
	case reflect.Int, reflect.Int64:
		return "whole number", map[string]any{"type": "integer"}
	case reflect.String:
		doc := r.docs[name]
		if doc == nil || len(doc.values) == 0 {
			return "text", map[string]any{"type": "string"}
		}
		var list []string
		for _, v := range doc.values {
			list = append(list, v[0])
		}
		return "`" + strings.Join(list, "`, `") + "`", map[string]any{"enum": list}
	}
	panic("no description of " + t.String())
}

// add describes a struct.
func (r *recordTypes) add(t reflect.Type) {
	key := strings.ToLower(t.Name())
	if slices.Contains(r.order, key) {
		return
	}
	r.order = append(r.order, key)
	r.fields[key] = r.fieldsOf(t)
}

func (r *recordTypes) fieldsOf(t reflect.Type) (out []recordField) {
	doc := r.docs[t.String()]
	keys := map[string]string{}
	for i := range t.NumField() {
		f := t.Field(i)
		keys[f.Name], _, _ = strings.Cut(f.Tag.Get("json"), ",")
	}
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		switch {
		case tag == "-":
			continue
		case f.Anonymous:
			out = append(out, r.fieldsOf(f.Type)...)
			continue
		}
		key, options, _ := strings.Cut(tag, ",")
		text := forReaders(doc.fields[f.Name], keys)
		if text == "" {
			r.missing = append(r.missing, t.String()+"."+f.Name)
		}
		kind, s := r.of(f.Type)
		optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		if f.Type.Kind() == reflect.Slice && !optional && special[f.Type] == nil {
			s["type"] = []string{"array", "null"}
		}
		s["description"] = text
		out = append(out, recordField{key, text, kind, !optional, s})
	}
	return out
}

var goLink = regexp.MustCompile(`\[([A-Z]\w*)\]`)

// forReaders makes of a comment in Go a sentence for those who read the file:
// fields are called by their keys, and links to Go are none.
func forReaders(text string, keys map[string]string) string {
	words := strings.Fields(text)
	for i, w := range words {
		bare := strings.TrimRight(w, ".,:;")
		if key := keys[bare]; key != "" && key != "-" && bare != "" {
			words[i] = "`" + key + "`" + w[len(bare):]
		}
		words[i] = strings.ReplaceAll(words[i], "|", `\|`)
	}
	if len(words) > 2 && strings.HasPrefix(words[0], "`") && (words[1] == "is" || words[1] == "are") {
		words = words[2:]
	}
	out := goLink.ReplaceAllString(strings.Join(words, " "), "$1")
	out = strings.ReplaceAll(out, "; nil ", "; absent ")
	if out == "" {
		return ""
	}
	return strings.ToUpper(out[:1]) + strings.TrimSuffix(out[1:], ".") + "."
}

func recordsOf(t *testing.T) *recordTypes {
	t.Helper()
	r := &recordTypes{docs: sources(t), fields: map[string][]recordField{}}
	r.add(reflect.TypeFor[trials.Record]())
	return r
}

// jsonSchema is the schema of a line of trials.jsonl.
func (r *recordTypes) jsonSchema(t *testing.T) []byte {
	t.Helper()
	object := func(name string) map[string]any {
		props, required := map[string]any{}, []string{}
		for _, f := range r.fields[name] {
			props[f.key] = f.schema
			if f.always {
				required = append(required, f.key)
			}
		}
		out := map[string]any{"type": "object", "additionalProperties": false, "properties": props}
		if len(required) > 0 {
			out["required"] = required
		}
		return out
	}
	root := object("record")
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "A line of trials.jsonl: one trial and how it was judged"
	root["properties"].(map[string]any)["schema"].(map[string]any)["const"] = trials.Schema
	defs := map[string]any{}
	for _, name := range r.order[1:] {
		defs[name] = object(name)
	}
	root["$defs"] = defs
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const pageHead = `# trials.jsonl

A run folder holds ` + "`trials.jsonl`" + `: one JSON object in each line, one line for each trial, appended and synced as the trial ends. Everything
else that rehearse prints of a run, it computes from this file, from ` + "`run.json`" + ` and from the transcripts. This page describes schema %d and is
written from the Go types by ` + "`go test ./harness/trials -update`" + `; [trials.schema.json](trials.schema.json) is the same as a JSON Schema. Go programs
read the file with ` + "`trials.ReadFile`" + `, which also reads schema 1.

- A trial is identified by the keys from ` + "`suite`" + ` to ` + "`attempt`" + `. A later line of the same trial replaces an earlier one whose outcome is ` + "`error`" + `; of
  any other trial, a second line is a mistake.
- The last line may be incomplete when the run was killed. Leave it out.
- A key that is empty, false or 0 may be missing, unless the table says "always". No other keys occur: a new key is a new schema.
- A text longer than 1 MiB is cut, and says so. API keys, and what has the shape of one, are replaced.
- Times are RFC 3339. Durations are whole nanoseconds, and their keys end in ` + "`_ns`" + `.
`

// page is the same for people.
func (r *recordTypes) page() string {
	var b strings.Builder
	fmt.Fprintf(&b, pageHead, trials.Schema)
	for _, name := range r.order {
		fmt.Fprintf(&b, "\n## %s\n\n| key | value | always | |\n| --- | --- | --- | --- |\n", name)
		for _, f := range r.fields[name] {
			always := ""
			if f.always {
				always = "yes"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.key, f.kind, always, f.text)
		}
	}
	b.WriteString("\n## Values\n\n| value | of | |\n| --- | --- | --- |\n")
	for _, e := range []struct{ name, key string }{
		{"harness.Mode", "mode"},
		{"harness.Outcome", "outcome"},
		{"trials.CauseKind", "cause.kind"},
		{"trials.Blame", "cause.blame"},
		{"trials.State", "verdicts.state"},
		{"trials.AlignmentStatus", "verdicts.alignment.rows.status"},
	} {
		for _, v := range r.docs[e.name].values {
			text := v[1]
			if text == "" {
				r.missing = append(r.missing, e.name+" "+v[0])
			}
			fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", v[0], e.key, text)
		}
	}
	return b.String()
}

// TestRecordDocs holds docs/trials.md and docs/trials.schema.json to the types:
// what Go says of a field is what they say, and it says something of each.
func TestRecordDocs(t *testing.T) {
	r := recordsOf(t)
	for name, want := range map[string]string{"../../docs/trials.md": r.page(), "../../docs/trials.schema.json": string(r.jsonSchema(t))} {
		if *update {
			if err := os.WriteFile(name, []byte(want), 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, string(got)); d != "" {
			t.Errorf("%s is stale; go test ./harness/trials -update writes it (-want +got):\n%s", name, d)
		}
	}
	for _, name := range r.missing {
		t.Errorf("nothing is said of %s: give it a comment", name)
	}
}

// TestRecordsFitTheirSchema: the lines of a run that has everything fit, and no
// line does that has a key too many or one too few.
func TestRecordsFitTheirSchema(t *testing.T) {
	data, err := os.ReadFile("../../docs/trials.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := value.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	s, err := schema.Compile(v)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := samplerun.Write(dir, &samplerun.Options{Scenarios: 20, Attempts: 3}); err != nil {
		t.Fatal(err)
	}
	lines, err := os.ReadFile(filepath.Join(dir, trials.RecordsFile))
	if err != nil {
		t.Fatal(err)
	}
	fits := func(line []byte) error {
		v, err := value.Parse(line)
		if err != nil {
			return err
		}
		return s.Validate(v)
	}
	var first []byte
	for line := range bytes.Lines(lines) {
		if err := fits(line); err != nil {
			t.Fatalf("%v\n%s", err, line)
		}
		if first == nil && bytes.Contains(line, []byte(`"alignment"`)) && bytes.Contains(line, []byte(`"mismatches"`)) {
			first = line
		}
	}
	// Every object of a record with a key too many; every key that is always
	// there, gone.
	keys, broken := 0, func(doc any) {
		line, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		if fits(line) == nil {
			t.Errorf("this line fits:\n%s", line)
		}
	}
	var doc any
	if err := json.Unmarshal(first, &doc); err != nil {
		t.Fatal(err)
	}
	record := doc.(map[string]any)
	for at, object := range map[string]map[string]any{
		"record": record, "cause": object(record, "cause"), "verdict": object(record, "verdicts"), "call": object(record, "trajectory"),
		"counts": object(record, "counts"), "tokens": object(record, "tokens"), "hashes": object(record, "hashes"), "position": object(record, "pos"),
		"alignmentrow": object(object(object(record, "verdicts"), "alignment"), "rows"),
	} {
		object["colour"] = "red"
		broken(doc)
		delete(object, "colour")
		for _, f := range recordsOf(t).fields[at] {
			if old, ok := object[f.key]; ok && f.always {
				keys++
				delete(object, f.key)
				broken(doc)
				object[f.key] = old
			}
		}
	}
	if keys < 20 {
		t.Errorf("%d keys were taken away", keys)
	}
	for key, wrong := range map[string]any{"schema": 1, "outcome": "won", "mode": "dream", "start": 5, "seed": "one", "duration_ns": 0.5} {
		old := record[key]
		record[key] = wrong
		broken(doc)
		record[key] = old
	}
}

// object is a member, or the first of its list.
func object(of map[string]any, key string) map[string]any {
	switch v := of[key].(type) {
	case map[string]any:
		return v
	case []any:
		return v[0].(map[string]any)
	}
	panic("no " + key)
}
