// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/match"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// TestReference fails when a page under docs is not what the table of keys
// says.
func TestReference(t *testing.T) {
	for path, want := range map[string]string{
		"../docs/scenario-reference.md": reference(),
		"../docs/scenario.schema.json":  string(JSONSchema()),
	} {
		if flag.Lookup("update").Value.String() == "true" {
			if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s is stale; go test ./scenarios -update writes it (-want +got):\n%s", path, diff)
		}
	}
}

// TestTable checks that every definition says what it must and refers to one
// that there is.
func TestTable(t *testing.T) {
	known := map[string]bool{}
	for _, o := range objects() {
		if known[o.name] {
			t.Errorf("object %q is defined twice", o.name)
		}
		known[o.name] = true
	}
	var refers func(where string, ty typ)
	refers = func(where string, ty typ) {
		if ty.object != "" && !known[ty.object] {
			t.Errorf("%s refers to %q", where, ty.object)
		}
		if ty.elem != nil {
			refers(where, *ty.elem)
		}
		for _, a := range ty.alts {
			refers(where, a)
		}
	}
	for _, o := range objects() {
		for _, k := range o.keys {
			where := o.name + "." + k.name
			if !strings.HasSuffix(k.doc, ".") || k.typ.words == "" {
				t.Errorf("%s: doc %q, type %q", where, k.doc, k.typ.words)
			}
			refers(where, k.typ)
		}
		for _, name := range append(o.one, o.some...) {
			if !strings.Contains(" "+o.keyNames()+" ", " "+name+" ") {
				t.Errorf("%s has no key %q", o.name, name)
			}
		}
	}
}

func (o *object) keyNames() string {
	var names []string
	for _, k := range o.keys {
		names = append(names, k.name)
	}
	return strings.Join(names, " ")
}

// TestPageExamples compiles the examples of the operators and names.
func TestPageExamples(t *testing.T) {
	for _, e := range operators() {
		n, problems := strictyaml.Parse(e.name, []byte("x: "+e.example+"\n"))
		if len(problems) > 0 {
			t.Error(problems)
			continue
		}
		v, err := value.Parse(n.Get("x").JSON())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := match.Compile(v, &match.Options{Scope: expr.Expectation}); err != nil {
			t.Errorf("%s: %v", e.name, err)
		}
	}
	for _, e := range names() {
		ok := false
		for _, scope := range []expr.Scope{expr.Request, expr.Reply, expr.Tool, expr.ToolResult, expr.That, expr.Expectation | expr.Value} {
			env, err := expr.NewEnv(scope)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := env.Compile(e.example); err == nil {
				ok = true
			}
		}
		if !ok {
			t.Errorf("%s: %s compiles nowhere", e.name, e.example)
		}
	}
}

// TestJSONSchema holds the schema to the files that load.
func TestJSONSchema(t *testing.T) {
	var s jsonschema.Schema
	if err := json.Unmarshal(JSONSchema(), &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"testdata/spec/build-and-gapfill.yaml", "testdata/spec/gemflux.yaml", "testdata/spec/weather.yaml", "suites/gemflux/suite.yaml", "suites/mcp-field/16-cancel-kills-server.yaml", "suites/mcp-field/11-list-changed-ignored.yaml"} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		n, problems := strictyaml.Parse(path, data)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		var v any
		if err := json.Unmarshal(n.JSON(), &v); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(v); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := resolved.Validate(map[string]any{"scenario": "s", "turns": []any{map[string]any{"usr": "hi"}}}); err == nil {
		t.Error("the schema takes a misspelt key")
	}
}

// TestConfusions keeps the list of confusions true: what is meant is a key,
// and no word is one itself.
func TestConfusions(t *testing.T) {
	for name, words := range confusions() {
		i := slices.IndexFunc(objects(), func(o *object) bool { return o.name == name })
		if i < 0 {
			t.Errorf("there is no object %q", name)
			continue
		}
		known := strings.Fields(objects()[i].keyNames())
		seen := map[string]string{}
		for meant, list := range words {
			if !slices.Contains(known, meant) {
				t.Errorf("%s has no key %q", name, meant)
			}
			for _, w := range strings.Fields(list) {
				if slices.Contains(known, w) {
					t.Errorf("%s has a key %q of its own", name, w)
				}
				if other, twice := seen[w]; twice {
					t.Errorf("%s: %q is taken for both %q and %q", name, w, other, meant)
				}
				seen[w] = meant
			}
		}
	}
}

// TestPlaces holds the table of names by place to what compiles there: each
// name does, and one of another place does not.
func TestPlaces(t *testing.T) {
	source := func(name string) string {
		if name == "results" {
			return `results("a.b")`
		}
		return name
	}
	for _, p := range places() {
		env, err := expr.NewEnv(p.scope)
		if err != nil {
			t.Fatal(err)
		}
		names := expr.Names(p.scope)
		for _, name := range expr.Names(expr.That) {
			_, err := env.Compile(source(name))
			if slices.Contains(names, name) != (err == nil) {
				t.Errorf("%s: %s: %v, and the table has %s", p.where, name, err, names)
			}
		}
	}
}
