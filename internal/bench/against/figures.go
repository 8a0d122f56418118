// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// figure is one that is better when it is less.
type figure struct {
	name  string
	value float64
}

// measurement is a command. Its figures are those that it prints, or what its
// process used.
type measurement struct {
	name    string
	program string
	args    []string
	// more are flags that one version may not know; it goes without.
	more []string
	// columns are those that are compared; nil takes the processor time of the
	// process, and that many turns of it for one of others.
	columns *regexp.Regexp
	turns   int
	// beside has the new version start servers of both, which take turns: what it
	// prints are ratios.
	beside bool
	// rehearse hands it the whole program of its version.
	rehearse bool
	dir      string // it runs there
}

var (
	cpu    = regexp.MustCompile(`^CPU (us|ms)|^us/request`)
	memory = regexp.MustCompile(`MiB|KiB|^of it not in files$`)
	ratio  = regexp.MustCompile(`, of before$`)
	// noColumn is for what prints no table.
	noColumn = regexp.MustCompile(`^\z.`)
)

// measurements are those of `make bench`, made short. Both versions play the
// suites of the base; their runs go into the folder runs.
func measurements(base, runs string) []measurement {
	suites := []string{"run", "--trials", "10", "--out", runs}
	for _, name := range []string{"calendar", "gemflux", "utilities"} { // those of the wire wait for timeouts
		suites = append(suites, filepath.Join(base, "scenarios/suites", name))
	}
	const fast = "-seconds 0.05 -rounds 21"
	return []measurement{
		{name: "start of rehearse", program: "rehearse", args: []string{"version"}, turns: 10},
		{name: "start of a program with mockllm", program: "mockllm", args: []string{"-serve", "alone"}, turns: 10},
		{name: "start of a program with mockmcp", program: "mockmcp", args: []string{"-serve", "mock"}, turns: 10},
		{name: "trials of shipped suites", program: "rehearse", args: suites, turns: 1},
		{name: "mockllm", program: "mockllm", args: strings.Fields("-requests 100 -paced 0.1 -streams 1 -conns 32 " + fast), beside: true, columns: ratio},
		{name: "mockmcp", program: "mockmcp", args: strings.Fields("-calls 100 -agents 1 -sessions 50 " + fast), beside: true, columns: ratio},
		{name: "memory of mockllm", program: "mockllm", args: strings.Fields("-requests 20000 -paced 0.1 -streams 1 -conns 1 -seconds 0.01 -rounds 1"), rehearse: true, columns: memory},
		{name: "memory of mockmcp", program: "mockmcp", args: strings.Fields("-calls 5000 -sessions 50 -seconds 0.01 -rounds 1"), more: []string{"-agents", "1"}, columns: memory},
		{name: "cassettes", program: "cassettes", args: strings.Fields("-rounds 1 -interactions 5000 -bytes 20000000 -events 100"), columns: cpu},
		{name: "agent loop", program: "bench", args: []string{"-only", "go-openai and mcp-go", "-rounds", "101"}, dir: base, columns: noColumn},
	}
}

// pair makes the measurement once with each version; order says which is first.
func (m measurement) pair(ctx context.Context, versions [2]version, order int) (now, before []figure, err error) {
	if m.beside {
		m.args = append(slices.Clone(m.args), "-before", filepath.Join(versions[1].bin, m.program))
		now, err = m.figures(ctx, versions[0])
		for _, f := range now {
			before = append(before, figure{f.name, 1})
		}
		return now, before, err
	}
	var got [2][]figure
	for k := range got {
		i := (k + order) % 2
		if got[i], err = m.figures(ctx, versions[i]); err != nil {
			return nil, nil, err
		}
	}
	return got[0], got[1], nil
}

// figures makes the measurement once with one version.
func (m measurement) figures(ctx context.Context, v version) ([]figure, error) {
	path := filepath.Join(v.bin, m.program)
	if m.rehearse {
		m.args = append(slices.Clone(m.args), "-rehearse", filepath.Join(v.bin, "rehearse"))
	}
	out, used, err := m.play(ctx, path, slices.Concat(m.args, m.more))
	if err != nil && len(m.more) > 0 && strings.Contains(err.Error(), "flag provided but not defined") {
		out, used, err = m.play(ctx, path, m.args)
	}
	if err != nil || m.columns != nil {
		return m.read(out), err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	return []figure{
		{m.name + ", CPU ms", float64(used) / float64(time.Millisecond)},
		{m.name + ", MB of program", float64(info.Size()) / 1e6},
	}, nil
}

// play runs a program, and returns what it printed and the processor time that it
// used.
func (m measurement) play(ctx context.Context, path string, args []string) (string, time.Duration, error) {
	var out, errs bytes.Buffer
	c := exec.CommandContext(ctx, path, args...)
	c.Dir, c.Stdout, c.Stderr = m.dir, &out, &errs
	if err := c.Run(); err != nil {
		return "", 0, fmt.Errorf("%s: %w\n%s", c, err, &errs)
	}
	return out.String(), c.ProcessState.UserTime() + c.ProcessState.SystemTime(), nil
}

var (
	gaps = regexp.MustCompile(`\s{2,}`)
	// control is a row that is not ours.
	control = regexp.MustCompile(`, (bare|mcp-go|go-vcr|aimock)(,|$)|^(mcp-go|aimock)$|go-vcr that`)
	// words is a cell that is no figure, and a part of the row's name.
	words = regexp.MustCompile(`[^0-9.]`)
	loop  = regexp.MustCompile(`(?m)^agent loop / go-openai and mcp-go +([0-9.]+) times the time of a conversation, (\w+)`)
	rss   = regexp.MustCompile(`(?m)^RSS after \d+ requests with the journal on: (\d+) MiB`)
)

// read takes the figures of all tables out of what was printed: a row's name
// is what stands before its first figure.
func (m measurement) read(text string) (list []figure) {
	var head []string
	for line := range strings.Lines(text) {
		cells := gaps.Split(strings.TrimSpace(line), -1)
		switch {
		case slices.ContainsFunc(cells, m.columns.MatchString) && !slices.ContainsFunc(cells, number):
			head = cells
		case len(cells) < 3:
			head = nil
		default:
			list = append(list, m.readRow(head, cells)...)
		}
	}
	for _, found := range loop.FindAllStringSubmatch(text, -1) {
		v, _ := strconv.ParseFloat(found[1], 64) // digits and a dot
		list = append(list, figure{m.name + ", " + found[2] + ", of a loop by hand", v})
	}
	if found := rss.FindStringSubmatch(text); found != nil && m.columns == memory {
		v, _ := strconv.ParseFloat(found[1], 64)
		list = append(list, figure{m.name + ", MiB after many requests", v})
	}
	return list
}

func number(cell string) bool {
	_, err := strconv.ParseFloat(cell, 64)
	return err == nil
}

func (m measurement) readRow(head, cells []string) (list []figure) {
	first := slices.IndexFunc(head, m.columns.MatchString)
	if first < 0 || control.MatchString(cells[0]) {
		return nil
	}
	title := m.name + ", " + cells[0]
	for i, cell := range cells[1:min(first, len(cells))] {
		switch {
		case control.MatchString(", " + cell):
			return nil
		case words.MatchString(cell) && cell != "-" || head[i+1] == "interactions":
			title += ", " + cell
		}
	}
	for i := first; i < min(len(head), len(cells)); i++ {
		v, err := strconv.ParseFloat(cells[i], 64)
		// One digit says nothing, and the second column of a name is a ratio.
		if err != nil || !m.columns.MatchString(head[i]) || slices.Contains(head[:i], head[i]) || v < 10 && !strings.Contains(cells[i], ".") {
			continue
		}
		list = append(list, figure{title + ", " + head[i], v})
	}
	return list
}
