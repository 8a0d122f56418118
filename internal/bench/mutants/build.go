// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/bench/overlay"
)

// A mutant is a site and its number in a build.
type mutant struct {
	site
	n int
}

// A build has all mutants in it, of which a file says which one is on, if any.
// So the tests of a package are compiled and linked once for all.
type build struct {
	tree    *tree
	overlay *overlay.Overlay
	timeout time.Duration
	tests   map[string]*tests // by package
}

// tests are those of a package: how long they take, and which mutants they meet,
// when none is on.
type tests struct {
	file string
	took time.Duration
	met  map[int]bool
}

// newBuild compiles the tests of every package that may notice one of the mutants, and
// runs them once with none on.
func newBuild(ctx context.Context, t *tree, list []*mutant, o options) (_ *build, err error) {
	b := &build{tree: t, timeout: o.timeout, tests: map[string]*tests{}}
	if b.overlay, err = overlay.New(o.memory); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	byFile, files := map[string][]*mutant{}, map[string][]byte{}
	for _, m := range list {
		byFile[m.file] = append(byFile[m.file], m)
		own := m.dir()
		files[filepath.Join(own, "mutants_on.go")] = switches(t.packages[own].name, b.number())
		for _, p := range t.packages[own].importers {
			if !o.own || p == own {
				b.tests[p] = nil
			}
		}
	}
	for file, list := range byFile {
		src, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if files[file], err = weave(file, src, list); err != nil {
			return nil, err
		}
	}
	if err := b.overlay.Put(files); err != nil {
		return nil, err
	}
	for i, p := range slices.Sorted(maps.Keys(b.tests)) {
		fmt.Fprintf(os.Stderr, "%d/%d: the tests of %s with no mutant on\n", i+1, len(b.tests), p)
		if b.tests[p], err = b.compile(ctx, i, p); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (b *build) close() error { return b.overlay.Close() }

// number is the file that says which mutant is on.
func (b *build) number() string { return b.overlay.Path("number") }

func (b *build) compile(ctx context.Context, i int, p string) (*tests, error) {
	file := b.overlay.Path(strconv.Itoa(i) + ".test")
	if out, err := b.overlay.Run(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-w", "-o", file, "./"+p); err != nil {
		return nil, fmt.Errorf("building the tests of %s: %w\n%s", p, err, out)
	}
	met := b.number() + ".met"
	if err := os.Remove(met); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	begun := time.Now()
	if out, err := b.run(ctx, -1, p, file, 10*time.Minute); err != nil {
		return nil, fmt.Errorf("the tests of %s fail without a mutant: %w\n%s", p, err, out)
	}
	t := &tests{file: file, took: time.Since(begun), met: map[int]bool{}}
	data, err := os.ReadFile(met)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(data)) {
		n, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", met, err)
		}
		t.met[n] = true
	}
	return t, nil
}

// run runs tests in the folder of their package, with this mutant on.
func (b *build) run(ctx context.Context, n int, p, file string, timeout time.Duration) ([]byte, error) {
	if err := os.WriteFile(b.number(), []byte(strconv.Itoa(n)), 0o600); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(p)
	if err != nil {
		return nil, err
	}
	return b.overlay.RunIn(ctx, dir, file, "-test.failfast", "-test.paniconexit0", "-test.timeout="+timeout.String())
}

// An end is what became of a mutant.
type end string

const (
	notCompiled end = "did not compile"
	killed      end = "killed"
	slow        end = "killed, too slow"
	survived    end = "SURVIVED"
	unmet       end = "SURVIVED, no test comes there"
)

// try runs the tests that come to a mutant: those of its package, then those of the
// packages that import it. They have a multiple of the time that they took without
// it, so that an endless loop costs seconds.
func (b *build) try(ctx context.Context, m *mutant) (end, error) {
	own := m.dir()
	list := slices.Clone(b.tree.packages[own].importers)
	list = slices.DeleteFunc(list, func(p string) bool { return b.tests[p] == nil || !b.tests[p].met[m.n] })
	cost := func(p string) time.Duration {
		if p == own {
			return 0
		}
		return b.tests[p].took
	}
	slices.SortFunc(list, func(x, y string) int { return cmp.Compare(cost(x), cost(y)) })
	for _, p := range list {
		tests := b.tests[p]
		out, err := b.run(ctx, m.n, p, tests.file, min(b.timeout, max(4*tests.took, 20*time.Second)))
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case err != nil && bytes.Contains(out, []byte("panic: test timed out")):
			return slow, nil
		case err != nil:
			return killed, nil
		}
	}
	if len(list) == 0 {
		return unmet, nil
	}
	return survived, nil
}
