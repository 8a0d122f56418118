// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// weave returns a source with all its mutants in it: a copy of the function for
// each, and in the function, before anything else, a call of the copy whose
// mutant is on. Lines stay where they were.
//
//	func f(a int) bool { switch { case mutantIs(17): return mutant17f(a) }
func weave(path string, src []byte, list []*mutant) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var out, copies bytes.Buffer
	done := 0
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		w := &woven{src: src, fset: fset, f: f}
		begin, brace, end := w.at(f.Pos()), w.at(f.Body.Lbrace), w.at(f.End())
		var cases strings.Builder
		for _, m := range list {
			if m.start < begin || end <= m.start {
				continue
			}
			if cases.Len() == 0 {
				w.name()
			}
			name := fmt.Sprintf("mutant%d%s", m.n, f.Name.Name)
			if f.Type.Results.NumFields() > 0 {
				fmt.Fprintf(&cases, "case mutantIs(%d): return %s; ", m.n, w.call(name))
			} else {
				fmt.Fprintf(&cases, "case mutantIs(%d): %s; return; ", m.n, w.call(name))
			}
			fmt.Fprintf(&copies, "\n%s%s%s%s\n", w.head(name), src[brace:m.start], m.text, src[m.end:end])
		}
		if cases.Len() == 0 {
			continue
		}
		out.Write(src[done:begin])
		fmt.Fprintf(&out, "%s{ switch { %s}; ", w.head(f.Name.Name), cases.String())
		done = brace + 1
	}
	out.Write(src[done:])
	out.Write(copies.Bytes())
	return out.Bytes(), nil
}

// A woven is a function whose parameters all have names, so that it can pass them on.
type woven struct {
	src      []byte
	fset     *token.FileSet
	f        *ast.FuncDecl
	edits    []edit // of its head
	receiver string
	args     []string
}

// An edit replaces bytes of the source.
type edit struct {
	start, end int
	text       string
}

func (w *woven) at(p token.Pos) int { return w.fset.Position(p).Offset }

// name gives a name to the parameters that have none.
func (w *woven) name() {
	if w.f.Recv != nil {
		w.receiver = w.field(w.f.Recv.List[0])[0]
	}
	for _, field := range w.f.Type.Params.List {
		w.args = append(w.args, w.field(field)...)
		if _, ok := field.Type.(*ast.Ellipsis); ok {
			w.args[len(w.args)-1] += "..."
		}
	}
}

func (w *woven) field(f *ast.Field) []string {
	fresh := func() string { return fmt.Sprintf("mutantArg%d", len(w.edits)) }
	if len(f.Names) == 0 {
		name := fresh()
		w.edits = append(w.edits, edit{w.at(f.Type.Pos()), w.at(f.Type.Pos()), name + " "})
		return []string{name}
	}
	var names []string
	for _, id := range f.Names {
		name := id.Name
		if name == "_" {
			name = fresh()
			w.edits = append(w.edits, edit{w.at(id.Pos()), w.at(id.End()), name})
		}
		names = append(names, name)
	}
	return names
}

// head is everything before the body, for a function of this name.
func (w *woven) head(name string) string {
	edits := append([]edit{{w.at(w.f.Name.Pos()), w.at(w.f.Name.End()), name}}, w.edits...)
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	var out strings.Builder
	at := w.at(w.f.Pos())
	for _, e := range edits {
		out.Write(w.src[at:e.start])
		out.WriteString(e.text)
		at = e.end
	}
	out.Write(w.src[at:w.at(w.f.Body.Lbrace)])
	return out.String()
}

func (w *woven) call(name string) string {
	if w.receiver != "" {
		name = w.receiver + "." + name
	}
	if list := w.f.Type.TypeParams; list != nil {
		var names []string
		for _, field := range list.List {
			for _, id := range field.Names {
				names = append(names, id.Name)
			}
		}
		name += "[" + strings.Join(names, ", ") + "]"
	}
	return name + "(" + strings.Join(w.args, ", ") + ")"
}

// switches is the file that a package with mutants gets. The number of the mutant
// that is on stands in a file, not in the environment: processes that tests start
// have one of their own. With the number -1 none is on, and those that could
// have been are kept beside it.
func switches(pkg, path string) []byte {
	return fmt.Appendf(nil, `package %s

import (
	mutantOS "os"
	mutantNumbers "strconv"
	mutantSync "sync"
)

var (
	mutantOn = func() int {
		data, err := mutantOS.ReadFile(%q)
		if err != nil {
			panic(err)
		}
		n, err := mutantNumbers.Atoi(string(data))
		if err != nil {
			panic(err)
		}
		return n
	}()
	mutantMet mutantSync.Map
)

func mutantIs(n int) bool {
	if mutantOn == -1 {
		if _, met := mutantMet.LoadOrStore(n, true); !met {
			mutantMeets(n)
		}
	}
	return mutantOn == n
}

func mutantMeets(n int) {
	f, err := mutantOS.OpenFile(%q, mutantOS.O_APPEND|mutantOS.O_CREATE|mutantOS.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := f.WriteString(mutantNumbers.Itoa(n) + "\n"); err != nil {
		panic(err)
	}
}
`, pkg, path, path+".met")
}
