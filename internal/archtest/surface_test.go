// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/doc"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/surface.md anew")

// maxPublic is how many packages users may import.
const maxPublic = 25

// exported is a package as the compiler left it.
type exported struct {
	ImportPath, Export, Dir, Doc string
	Module                       *struct{ Main bool }
}

// public reports whether users may import a package, and it is one of ours.
func (p exported) public() bool {
	name, own := strings.CutPrefix(p.ImportPath, module)
	return own && !strings.Contains("/"+name+"/", "/internal/") && !strings.HasPrefix(name, "cmd/")
}

// surface loads the public packages with the types of what they export.
func surface(t *testing.T) (list []exported, packages map[string]*types.Package) {
	t.Helper()
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export,Dir,Doc,Module", "./...")
	cmd.Dir = "../.."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p exported
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if files[p.ImportPath] = p.Export; p.public() {
			list = append(list, p)
		}
	}
	load := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
	packages = map[string]*types.Package{}
	for _, p := range list {
		if packages[p.ImportPath], err = load.Import(p.ImportPath); err != nil {
			t.Fatal(err)
		}
	}
	slices.SortFunc(list, func(a, b exported) int { return cmp.Compare(a.ImportPath, b.ImportPath) })
	return list, packages
}

// page is docs/surface.md.
func page(list []exported, packages map[string]*types.Package) string {
	var b strings.Builder
	b.WriteString("# What users can import\n\n" +
		"`go test ./internal/archtest -update` writes this page: each public package with its types and functions.\n")
	for _, p := range list {
		scope := packages[p.ImportPath].Scope()
		var kinds, funcs []string
		for _, name := range scope.Names() {
			switch o := scope.Lookup(name); {
			case !o.Exported():
			default:
				switch o.(type) {
				case *types.TypeName:
					kinds = append(kinds, "`"+name+"`")
				case *types.Func:
					funcs = append(funcs, "`"+name+"`")
				}
			}
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", strings.TrimPrefix(p.ImportPath, module), new(doc.Package).Synopsis(p.Doc))
		for _, part := range []struct {
			title string
			names []string
		}{{"types", kinds}, {"functions", funcs}} {
			if len(part.names) > 0 {
				fmt.Fprintf(&b, "\n%d %s: %s\n", len(part.names), part.title, strings.Join(part.names, ", "))
			}
		}
	}
	return b.String()
}

func TestSurface(t *testing.T) {
	const file = "../../docs/surface.md"
	list, packages := surface(t)
	if len(list) > maxPublic {
		t.Errorf("%d packages are public, %d are the most", len(list), maxPublic)
	}
	got := page(list, packages)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != got {
		t.Errorf("docs/surface.md is not what the packages export (%v); go test ./internal/archtest -update", err)
	}
	n := 0
	for _, name := range packages[module+"harness"].Scope().Names() {
		if o, ok := packages[module+"harness"].Scope().Lookup(name).(*types.TypeName); ok && o.Exported() {
			n++
		}
	}
	if n > 30 {
		t.Errorf("harness exports %d types, 30 are the most", n)
	}
	for _, bad := range unnameable(packages) {
		t.Error(bad)
	}
}

// unnameable lists what is exported with a type of an internal package that no
// public package has another name for: users cannot write it.
func unnameable(packages map[string]*types.Package) []string {
	named := map[*types.TypeName]bool{}
	for _, pkg := range packages {
		for _, name := range pkg.Scope().Names() {
			if o, ok := pkg.Scope().Lookup(name).(*types.TypeName); ok && o.IsAlias() && o.Exported() {
				if n, ok := types.Unalias(o.Type()).(*types.Named); ok {
					named[n.Obj()] = true
				}
			}
		}
	}
	var bad []string
	for _, path := range slices.Sorted(maps.Keys(packages)) {
		scope := packages[path].Scope()
		for _, name := range scope.Names() {
			o := scope.Lookup(name)
			if !o.Exported() {
				continue
			}
			w := walker{named: named, seen: map[types.Type]bool{}}
			w.object(o)
			for _, of := range w.found {
				bad = append(bad, fmt.Sprintf("%s.%s: users cannot name the type %s", strings.TrimPrefix(path, module), name, of))
			}
		}
	}
	return bad
}

// walker looks through what an exported name leads to.
type walker struct {
	named map[*types.TypeName]bool
	seen  map[types.Type]bool
	found []string
}

func (w *walker) object(o types.Object) {
	tn, ok := o.(*types.TypeName)
	if !ok {
		w.typ(o.Type())
		return
	}
	w.typ(o.Type().Underlying())
	if n, ok := types.Unalias(o.Type()).(*types.Named); ok && !tn.IsAlias() {
		for m := range n.Methods() {
			if m.Exported() {
				w.typ(m.Type())
			}
		}
	}
}

func (w *walker) typ(t types.Type) {
	if w.seen[t] {
		return
	}
	w.seen[t] = true
	switch t := t.(type) {
	case *types.Named:
		o := t.Obj()
		if o.Pkg() != nil && strings.HasPrefix(o.Pkg().Path(), module+"internal/") && !w.named[o] {
			w.found = append(w.found, o.Pkg().Name()+"."+o.Name())
		}
		for arg := range t.TypeArgs().Types() {
			w.typ(arg)
		}
	case *types.Alias:
		for arg := range t.TypeArgs().Types() {
			w.typ(arg)
		}
		if o := t.Obj(); o.Pkg() == nil || strings.HasPrefix(o.Pkg().Path(), module+"internal/") {
			w.typ(types.Unalias(t))
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				w.typ(f.Type())
			}
		}
	case *types.Signature:
		w.typ(t.Params())
		w.typ(t.Results())
	case *types.Tuple:
		for v := range t.Variables() {
			w.typ(v.Type())
		}
	case *types.Interface:
		for m := range t.Methods() {
			w.typ(m.Type())
		}
	case *types.Map:
		w.typ(t.Key())
		w.typ(t.Elem())
	case *types.Pointer:
		w.typ(t.Elem())
	case *types.Slice:
		w.typ(t.Elem())
	case *types.Array:
		w.typ(t.Elem())
	case *types.Chan:
		w.typ(t.Elem())
	}
}

// TestUnnameable makes sure that the check can fail.
func TestUnnameable(t *testing.T) {
	hidden := types.NewPackage(module+"internal/hidden", "hidden")
	named := func(name string) *types.Named {
		return types.NewNamed(types.NewTypeName(token.NoPos, hidden, name, nil), types.NewStruct(nil, nil), nil)
	}
	secret, known := named("Secret"), named("Known")
	open := types.NewPackage(module+"open", "open")
	field := func(of types.Type) *types.Struct {
		return types.NewStruct([]*types.Var{types.NewField(token.NoPos, open, "Field", of, false)}, nil)
	}
	for name, of := range map[string]types.Type{"Bad": types.NewSlice(types.NewPointer(secret)), "Good": known} {
		o := types.NewTypeName(token.NoPos, open, name, nil)
		types.NewNamed(o, field(of), nil)
		open.Scope().Insert(o)
	}
	alias := types.NewTypeName(token.NoPos, open, "Alias", nil)
	types.NewAlias(alias, known)
	open.Scope().Insert(alias)
	open.Scope().Insert(types.NewVar(token.NoPos, open, "hidden", secret))
	got := unnameable(map[string]*types.Package{module + "open": open})
	if want := []string{"open.Bad: users cannot name the type hidden.Secret"}; !slices.Equal(got, want) {
		t.Errorf("unnameable = %q, want %q", got, want)
	}
}
