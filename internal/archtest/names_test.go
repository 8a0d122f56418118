// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// goName is a name of a package in a page, as in `mockllm.New`.
var goName = regexp.MustCompile("`([a-z][a-z0-9]*)\\.([A-Z]\\w*)")

// others are what stands before a dot in pages and is no package of ours.
var others = []string{"asked", "cmp", "env", "http", "pathlib", "recorder"}

// TestNames: a page names only what packages export. One that was renamed would
// be looked for in vain.
func TestNames(t *testing.T) {
	exported := map[string]map[string]bool{}
	pages := map[string][]byte{}
	files(t, func(path string, data []byte) {
		switch filepath.Ext(path) {
		case ".md":
			pages[path] = data
		case ".go":
			f, err := parser.ParseFile(token.NewFileSet(), path, data, parser.SkipObjectResolution)
			if err != nil {
				return // testdata
			}
			if exported[f.Name.Name] == nil {
				exported[f.Name.Name] = map[string]bool{}
			}
			for _, name := range declared(f) {
				exported[f.Name.Name][name] = true
			}
		}
	})
	for path, data := range pages {
		for _, m := range goName.FindAllSubmatch(data, -1) {
			pkg, name := string(m[1]), string(m[2])
			if !slices.Contains(others, pkg) && !exported[pkg][name] {
				t.Errorf("%s: no package of ours exports %s.%s", path, pkg, name)
			}
		}
	}
	if !exported["mockllm"]["New"] || exported["mockllm"]["Nothing"] || exported["openai"]["New"] {
		t.Error("the check finds what there is not, or not what there is")
	}
}

// declared are the names of a file's declarations, without those of methods.
func declared(f *ast.File) (names []string) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names = append(names, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					names = append(names, s.Name.Name)
				case *ast.ValueSpec:
					for _, n := range s.Names {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}
