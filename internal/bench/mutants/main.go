// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Command mutants changes one thing in the product at a time and prints which
// changes no test notices. The tree is not touched: the compiler is given
// the changed files in an overlay.
//
// Mutants are drawn with a seed: the same number from each of eight groups of
// packages that decide verdicts or keep secrets, the rest from the other
// packages. One that does not compile is drawn again. All are compiled into one
// build, which begins with no mutant on: that says how long tests take, and which
// mutants they meet; where they take long, one by one. Then each mutant is on in
// turn: the tests of its package run first, then those of the packages that import
// it, in both only those that meet it.
package main

import (
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// groups are the packages of which each group has its own number of mutants.
var groups = []group{
	{"conduct", []string{"internal/conduct"}},
	{"score", []string{"harness/score"}},
	{"trajectory", []string{"internal/trajectory"}},
	{"match", []string{"internal/match"}},
	{"redact", []string{"internal/redact"}},
	{"cassettes", []string{"cassettes"}},
	{"mcppool", []string{"harness/mcppool"}},
	{"faults", []string{"internal/faults", "mockllm/fault", "mockmcp/fault"}},
}

const rest = "the rest"

type group struct {
	name     string
	packages []string
}

// options say what is drawn and how it is tested.
type options struct {
	seed    uint64
	n, each int           // mutants in all, and in each of the groups
	only    []string      // these groups or packages alone, each mutants of each
	at      string        // every mutant of this FILE or FILE:LINE instead
	own     bool          // no tests of importers
	long    time.Duration // tests of a package that take longer run one by one
	timeout time.Duration
	memory  int // of a test, in MiB
}

func main() {
	o := options{long: long}
	flag.Uint64Var(&o.seed, "seed", 1, "draws the mutants")
	flag.IntVar(&o.n, "n", 300, "`mutants` in all")
	flag.IntVar(&o.each, "each", 25, "`mutants` of each of the eight groups")
	only := flag.String("only", "", "groups, packages or \"the rest\", separated by commas: -each mutants of each of these and no others")
	flag.StringVar(&o.at, "at", "", "try every mutant of this `FILE` or FILE:LINE instead")
	flag.BoolVar(&o.own, "own", false, "run the tests of a mutant's package alone: quick, and more survive")
	flag.DurationVar(&o.timeout, "timeout", 2*time.Minute, "a mutant whose tests take so much longer than without it, or four times as long, is killed")
	flag.IntVar(&o.memory, "memory", 8192, "address space of a test, in `MiB`; a mutant that exceeds it is killed")
	flag.Parse()
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	t, err := newTree(ctx)
	if err != nil {
		return err
	}
	rows, err := t.choose(o)
	if err != nil {
		return err
	}
	var all []*mutant
	for _, r := range rows {
		for _, s := range r.sites {
			all = append(all, &mutant{s, len(all) + 1})
		}
	}
	b, err := newBuild(ctx, t, all, o)
	if err != nil {
		return err
	}
	defer b.close()
	for _, r := range rows {
		for i := range r.sites {
			m := all[0]
			all = all[1:]
			end, err := b.try(ctx, m)
			if err != nil {
				return fmt.Errorf("%v: %w", m, err)
			}
			r.count(m.site, end)
			fmt.Fprintf(os.Stderr, "%s %d/%d: %s: %v\n", r.name, i+1, len(r.sites), end, m)
		}
	}
	if o.at == "" {
		fmt.Printf("seed %d\n", o.seed)
	}
	table(rows)
	return nil
}

// choose draws the mutants of each group, or takes all of one line.
func (t *tree) choose(o options) ([]*row, error) {
	if o.at != "" {
		r, err := t.line(o.at)
		return []*row{r}, err
	}
	list, err := t.plan(o)
	if err != nil {
		return nil, err
	}
	var rows []*row
	for _, g := range list {
		r, err := t.group(g, o.seed)
		if err != nil {
			return nil, fmt.Errorf("drawing mutants of %s: %w", g.name, err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// A share is a group and how many mutants it gets.
type share struct {
	group
	n int
}

// plan says how many mutants each group gets.
func (t *tree) plan(o options) ([]share, error) {
	others := group{name: rest}
	for name := range t.packages {
		if !slices.ContainsFunc(groups, func(g group) bool { return slices.Contains(g.packages, name) }) {
			others.packages = append(others.packages, name)
		}
	}
	slices.Sort(others.packages)
	var list []share
	if len(o.only) > 0 {
		for _, name := range o.only {
			i := slices.IndexFunc(groups, func(g group) bool { return g.name == name })
			switch {
			case i >= 0:
				list = append(list, share{groups[i], o.each})
			case name == rest:
				list = append(list, share{others, o.each})
			case t.packages[name] != nil:
				list = append(list, share{group{name, []string{name}}, o.each})
			default:
				return nil, fmt.Errorf("-only %s: no such group or package", name)
			}
		}
		return list, nil
	}
	for _, g := range groups {
		list = append(list, share{g, o.each})
	}
	if n := o.n - o.each*len(groups); n > 0 {
		list = append(list, share{others, n})
	}
	return list, nil
}

// draw returns the sites in the order in which they are tried: one of each
// kind in turn, at random among those of a kind.
func draw(all []site, seed uint64, name string) []site {
	h := fnv.New64a()
	h.Write([]byte(name))
	random := rand.New(rand.NewPCG(seed, h.Sum64()))
	byKind := map[string][]site{}
	for _, s := range all {
		byKind[s.kind] = append(byKind[s.kind], s)
	}
	for _, kind := range kinds {
		random.Shuffle(len(byKind[kind]), func(i, j int) {
			byKind[kind][i], byKind[kind][j] = byKind[kind][j], byKind[kind][i]
		})
	}
	var out []site
	for len(out) < len(all) {
		for _, kind := range kinds {
			if list := byKind[kind]; len(list) > 0 {
				out, byKind[kind] = append(out, list[0]), list[1:]
			}
		}
	}
	return out
}

// A row is the mutants of a group, and what became of them.
type row struct {
	name          string
	sites         []site
	mutants, slow int
	survivors     []string
}

// group draws mutants that compile.
func (t *tree) group(g share, seed uint64) (*row, error) {
	var all []site
	for _, name := range g.packages {
		for _, file := range t.packages[name].files {
			list, err := sitesOf(file)
			if err != nil {
				return nil, err
			}
			all = append(all, list...)
		}
	}
	r := &row{name: g.name}
	// A kind that compiles rarely would otherwise be drawn rarely.
	left := map[string]int{}
	for i, kind := range kinds {
		left[kind] = (g.n + len(kinds) - 1 - i) / len(kinds)
	}
	queue := draw(all, seed, g.name)
	for _, strict := range []bool{true, false} { // then whatever there is
		var later []site
		for _, s := range queue {
			if len(r.sites) == g.n {
				break
			}
			if strict && left[s.kind] == 0 {
				later = append(later, s)
				continue
			}
			if ok, err := t.compiles(s); err != nil {
				return nil, fmt.Errorf("%v: %w", s, err)
			} else if !ok {
				continue
			}
			left[s.kind]--
			r.sites = append(r.sites, s)
		}
		queue = later
	}
	return r, nil
}

func (r *row) count(s site, e end) {
	r.mutants++
	switch e {
	case survived:
		r.survivors = append(r.survivors, s.String())
	case unmet:
		r.survivors = append(r.survivors, s.String()+" (no test comes there)")
	case slow:
		r.slow++
	}
}

// line takes every mutant of one line, or of a file.
func (t *tree) line(at string) (*row, error) {
	file, number, one := strings.Cut(at, ":")
	n, err := strconv.Atoi(number)
	if one && err != nil {
		return nil, fmt.Errorf("-at %s: want FILE or FILE:LINE", at)
	}
	list, err := sitesOf(file)
	if err != nil {
		return nil, err
	}
	r := &row{name: at}
	for _, s := range list {
		if one && s.line != n {
			continue
		}
		if ok, err := t.compiles(s); err != nil {
			return nil, fmt.Errorf("%v: %w", s, err)
		} else if !ok {
			fmt.Printf("%s: %v\n", notCompiled, s)
			continue
		}
		r.sites = append(r.sites, s)
	}
	if len(r.sites) == 0 {
		return nil, fmt.Errorf("-at %s: nothing to change there", at)
	}
	return r, nil
}

func table(rows []*row) {
	var sum row
	for _, r := range rows {
		for _, s := range r.survivors {
			fmt.Println(s)
		}
	}
	fmt.Printf("\n%-16s %8s %8s %8s %9s %6s\n", "", "mutants", "killed", "of these", "survived", "share")
	fmt.Printf("%-16s %8s %8s %8s %9s %6s\n", "", "", "", "too slow", "", "")
	show := func(r *row) {
		n := len(r.survivors)
		fmt.Printf("%-16s %8d %8d %8d %9d %5.1f%%\n", r.name, r.mutants, r.mutants-n, r.slow, n, 100*float64(n)/float64(max(r.mutants, 1)))
	}
	for i, r := range rows {
		if r.name == rest && i > 0 {
			sum.name = "the groups"
			show(&sum)
		}
		show(r)
		sum.mutants, sum.slow, sum.survivors = sum.mutants+r.mutants, sum.slow+r.slow, append(sum.survivors, r.survivors...)
	}
	sum.name = "all"
	show(&sum)
}
