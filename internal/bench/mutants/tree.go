// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const module = "github.com/rehearse-dev/rehearse"

// excluded are packages of the module that check the tree: they are not the
// product, and their tests do not hold it. What measures and what meets peers is in
// modules of its own.
var excluded = []string{"internal/archtest"}

// A pkg is a package, its files and the packages with tests that import it.
type pkg struct {
	name             string
	files, importers []string
	parsed           []*ast.File
}

// A tree is the module as it is on disk.
type tree struct {
	packages map[string]*pkg
	fset     *token.FileSet
	importer types.Importer
	version  string // of the language
}

// within is a package's path below the module.
func within(importPath string) string {
	return strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
}

// newTree reads the packages of the module. Each has itself among its importers
// if it has tests.
func newTree(ctx context.Context) (*tree, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-export", "-deps", "-json=ImportPath,Name,Export,DepOnly,Module,GoFiles,Imports,TestGoFiles,XTestGoFiles", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing packages: %w", err)
	}
	t := &tree{packages: map[string]*pkg{}, fset: token.NewFileSet()}
	exports, imports := map[string]string{}, map[string][]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Name, Export                    string
			DepOnly                                     bool
			Module                                      struct{ GoVersion string }
			GoFiles, Imports, TestGoFiles, XTestGoFiles []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("listing packages: %w", err)
		}
		exports[p.ImportPath] = p.Export
		own := within(p.ImportPath)
		if p.DepOnly || slices.ContainsFunc(excluded, func(e string) bool { return own == e || strings.HasPrefix(own, e+"/") }) {
			continue
		}
		t.version = "go" + p.Module.GoVersion
		t.packages[own] = &pkg{name: p.Name}
		for _, f := range p.GoFiles {
			t.packages[own].files = append(t.packages[own].files, filepath.Join(own, f))
		}
		if len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 {
			imports[own] = append(p.Imports, p.ImportPath)
		}
	}
	for own, list := range imports {
		for _, i := range list {
			if p := t.packages[within(i)]; p != nil && strings.HasPrefix(i, module) {
				p.importers = append(p.importers, own)
			}
		}
	}
	for _, p := range t.packages {
		slices.Sort(p.importers)
	}
	t.importer = importer.ForCompiler(t.fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	return t, nil
}

// compiles checks the types of a package with a mutant in it.
func (t *tree) compiles(s site) (bool, error) {
	own := s.dir()
	p := t.packages[own]
	if p == nil {
		return false, fmt.Errorf("%s is not a package of the product", own)
	}
	for _, name := range p.files[len(p.parsed):] {
		f, err := parser.ParseFile(t.fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return false, err
		}
		p.parsed = append(p.parsed, f)
	}
	src, err := os.ReadFile(s.file)
	if err != nil {
		return false, err
	}
	f, err := parser.ParseFile(t.fset, s.file, s.apply(src), parser.SkipObjectResolution)
	if err != nil {
		return false, nil
	}
	files := slices.Clone(p.parsed)
	files[slices.Index(p.files, s.file)] = f
	config := types.Config{Importer: t.importer, GoVersion: t.version}
	_, err = config.Check(module+"/"+own, t.fset, files, nil)
	return err == nil, nil
}
