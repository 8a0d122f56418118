// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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
	long    time.Duration // see [long]
	timeout time.Duration
	tests   map[string]*tests // by package
}

// tests are those of a package.
type tests struct {
	file  string
	units []unit
}

// newBuild compiles the tests of every package that may notice one of the mutants, and
// runs them once with none on.
func newBuild(ctx context.Context, t *tree, list []*mutant, o options) (_ *build, err error) {
	b := &build{tree: t, long: o.long, timeout: o.timeout, tests: map[string]*tests{}}
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
	units, err := b.units(ctx, p, file)
	return &tests{file, units}, err
}

// none is the number with which no mutant is on.
const none = -1

// run runs tests in the folder of their package, with this mutant on.
func (b *build) run(ctx context.Context, n int, p, file string, timeout time.Duration, args ...string) ([]byte, error) {
	if err := os.WriteFile(b.number(), []byte(strconv.Itoa(n)), 0o600); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(p)
	if err != nil {
		return nil, err
	}
	args = append([]string{file, "-test.failfast", "-test.paniconexit0", "-test.timeout=" + timeout.String()}, args...)
	return b.overlay.RunIn(ctx, dir, args...)
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
// it, so that an endless loop costs seconds, but no more than the timeout beyond it.
func (b *build) try(ctx context.Context, m *mutant) (end, error) {
	type job struct {
		file, dir, pattern string
		took               time.Duration
	}
	var list []job
	for _, p := range b.tree.packages[m.dir()].importers {
		if t := b.tests[p]; t != nil {
			if pattern, took, ok := t.meeting(m.n); ok {
				list = append(list, job{t.file, p, pattern, took})
			}
		}
	}
	cost := func(j job) time.Duration {
		if j.dir == m.dir() {
			return 0
		}
		return j.took
	}
	slices.SortFunc(list, func(x, y job) int { return cmp.Compare(cost(x), cost(y)) })
	for _, j := range list {
		out, err := b.run(ctx, m.n, j.dir, j.file, j.took+min(b.timeout, max(3*j.took, 20*time.Second)), "-test.run="+j.pattern)
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
