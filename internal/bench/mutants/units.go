// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A unit is what can be run alone: a test, or a part of one that takes long.
type unit struct {
	pattern string // for -test.run; "" is all tests of the package
	took    time.Duration
	met     map[int]bool // the mutants that it meets when none is on
}

// long is how long the tests of a package take that are worth dividing; of one test
// it is a quarter.
const long = 10 * time.Second

// units runs the tests of a package with no mutant on, all at once and, if that takes
// long, each alone.
func (b *build) units(ctx context.Context, p, file string) ([]unit, error) {
	all, _, err := b.unit(ctx, p, file, "", patience)
	if err != nil || all.took < b.long {
		return []unit{all}, err
	}
	out, err := b.run(ctx, none, p, file, b.timeout, "-test.list=.")
	if err != nil {
		return nil, fmt.Errorf("listing the tests of %s: %w\n%s", p, err, out)
	}
	fmt.Fprintf(os.Stderr, "the tests of %s took %v: now each alone\n", p, all.took.Round(time.Second))
	var list []unit
	for _, name := range topLevel.FindAllString(string(out), -1) {
		one, out, err := b.unit(ctx, p, file, exactly(name), patience)
		if err != nil {
			return nil, err
		}
		list = append(list, b.parts(ctx, p, file, one, out)...)
	}
	return list, ctx.Err()
}

// parts are those of a test that takes long, or the test where they do not pass without
// each other, or that is not worth it: what comes before them may take long too, and is
// done before each.
func (b *build) parts(ctx context.Context, p, file string, whole unit, out []byte) []unit {
	names := partOf.FindAllStringSubmatch(string(out), -1)
	if whole.took < b.long/4 || len(names) < 2 {
		return []unit{whole}
	}
	var list []unit
	for _, m := range names {
		u, _, err := b.unit(ctx, p, file, whole.pattern+"/"+exactly(m[1]), 2*whole.took+long)
		if list = append(list, u); err != nil || list[0].took*time.Duration(len(names)) > 3*whole.took {
			return []unit{whole}
		}
	}
	return list
}

var (
	topLevel = regexp.MustCompile(`(?m)^(Test|Example|Fuzz)\w*$`)
	partOf   = regexp.MustCompile(`(?m)^    --- PASS: \w+/(\S+) \(`)
)

// exactly is a pattern for a test or a part, the levels of whose name slashes separate.
func exactly(name string) string {
	return "^" + strings.ReplaceAll(regexp.QuoteMeta(name), "/", "$/^") + "$"
}

// patience bounds tests that are known to end.
const patience = 10 * time.Minute

// unit runs tests of a package with no mutant on, for that long at most.
func (b *build) unit(ctx context.Context, p, file, pattern string, most time.Duration) (unit, []byte, error) {
	u := unit{pattern: pattern, met: map[int]bool{}}
	met := b.number() + ".met"
	if err := os.Remove(met); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return u, nil, err
	}
	begun := time.Now()
	out, err := b.run(ctx, none, p, file, most, "-test.v", "-test.run="+pattern)
	if err != nil {
		return u, nil, fmt.Errorf("the tests of %s fail without a mutant: %s: %w\n%s", p, pattern, err, out)
	}
	u.took = time.Since(begun)
	data, err := os.ReadFile(met)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return u, nil, err
	}
	for line := range strings.Lines(string(data)) {
		n, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			return u, nil, fmt.Errorf("%s: %w", met, err)
		}
		u.met[n] = true
	}
	return u, out, nil
}

// meeting returns a pattern for the tests that meet a mutant, and how long they take.
func (t *tests) meeting(n int) (pattern string, took time.Duration, ok bool) {
	var patterns []string
	for _, u := range t.units {
		if u.met[n] {
			patterns = append(patterns, u.pattern)
			took += u.took
		}
	}
	return strings.Join(patterns, "|"), took, len(patterns) > 0
}
