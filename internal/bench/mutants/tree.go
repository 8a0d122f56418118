// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/bench/overlay"
)

const module = "github.com/rehearse-dev/rehearse"

// excluded are packages of the module that check the tree: they are not the
// product, and their tests do not hold it. What measures and what meets peers is in
// modules of its own.
var excluded = []string{"internal/archtest"}

// A pkg is a package, its files and the packages that import it.
type pkg struct {
	files, importers []string
}

// A tree is the module as it is on disk, and with the change that is tried.
type tree struct {
	packages       map[string]*pkg
	plain, changed *overlay.Overlay
	timeout        time.Duration
	took           map[string]time.Duration // by the tests of packages, which passed without a mutant
}

// within is a package's path below the module.
func within(importPath string) string {
	return strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
}

func newTree(ctx context.Context, o options) (*tree, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-json=ImportPath,GoFiles,Imports,TestGoFiles,XTestGoFiles", "./...")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing packages: %w", err)
	}
	t := &tree{packages: map[string]*pkg{}, timeout: o.timeout, took: map[string]time.Duration{}}
	imports := map[string][]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath                                  string
			GoFiles, Imports, TestGoFiles, XTestGoFiles []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("listing packages: %w", err)
		}
		own := within(p.ImportPath)
		if slices.ContainsFunc(excluded, func(e string) bool { return own == e || strings.HasPrefix(own, e+"/") }) {
			continue
		}
		t.packages[own] = &pkg{}
		for _, f := range p.GoFiles {
			t.packages[own].files = append(t.packages[own].files, filepath.Join(own, f))
		}
		if len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 {
			imports[own] = p.Imports
		}
	}
	for own, list := range imports {
		if o.own {
			break
		}
		for _, i := range list {
			if p := t.packages[within(i)]; p != nil && strings.HasPrefix(i, module) {
				p.importers = append(p.importers, own)
			}
		}
	}
	for _, p := range t.packages {
		slices.Sort(p.importers)
	}
	if t.plain, err = overlay.New(o.memory); err != nil {
		return nil, err
	}
	t.changed, err = overlay.New(o.memory)
	return t, err
}

func (t *tree) close() error { return errors.Join(t.plain.Close(), t.changed.Close()) }

// An end is what became of a mutant.
type end string

const (
	notCompiled end = "did not compile"
	killed      end = "killed"
	slow        end = "killed, too slow"
	survived    end = "SURVIVED"
)

// try compiles a mutant and runs the tests that ought to notice it.
func (t *tree) try(ctx context.Context, s site) (end, error) {
	src, err := os.ReadFile(s.file)
	if err != nil {
		return "", err
	}
	if err := t.changed.Put(s.file, s.apply(src)); err != nil {
		return "", err
	}
	own := filepath.ToSlash(filepath.Dir(s.file))
	if t.packages[own] == nil {
		return "", fmt.Errorf("%s is not a package of the product", own)
	}
	if _, err := t.changed.Run(ctx, "go", "build", "-o", os.DevNull, "./"+own); ctx.Err() != nil {
		return "", ctx.Err()
	} else if err != nil {
		return notCompiled, nil
	}
	importers := slices.Clone(t.packages[own].importers)
	slices.SortStableFunc(importers, func(a, b string) int { return cmp.Compare(t.took[a], t.took[b]) })
	for _, p := range append([]string{own}, importers...) {
		if err := t.check(ctx, p); err != nil {
			return "", err
		}
		out, err := t.test(ctx, p)
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case err != nil && bytes.Contains(out, []byte("panic: test timed out")):
			return slow, nil
		case err != nil:
			return killed, nil
		}
	}
	return survived, nil
}

// check makes sure once that the tests of a package pass without a mutant:
// otherwise they kill everything.
func (t *tree) check(ctx context.Context, p string) error {
	if t.took[p] > 0 {
		return nil
	}
	begun := time.Now()
	if out, err := t.plain.Run(ctx, "go", "test", "-count=1", "-vet=off", "./"+p); err != nil {
		return fmt.Errorf("the tests of %s fail without a mutant: %w\n%s", p, err, out)
	}
	t.took[p] = time.Since(begun)
	return nil
}

// test gives a mutant a multiple of the time that the tests took without it,
// so that an endless loop costs seconds.
func (t *tree) test(ctx context.Context, p string) ([]byte, error) {
	timeout := min(t.timeout, max(4*t.took[p], 20*time.Second))
	return t.changed.Run(ctx, "go", "test", "-failfast", "-vet=off", "-timeout", timeout.String(), "./"+p)
}
