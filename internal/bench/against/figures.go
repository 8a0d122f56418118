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

// measurement is a command of both versions. Its figures are those that it
// prints, or what the process used.
type measurement struct {
	name    string
	program string
	args    []string
	// more are flags that one version may not know; it goes without.
	more []string
	// times is how often the processor time of the whole process is taken;
	// 0 reads what it prints.
	times int
	dir   string // it runs there
}

// measurements are those of `make bench`, made short. Both versions play the
// suites of the base.
func measurements(base string) []measurement {
	suites := []string{"run", "--trials", "10", "--out", os.TempDir() + "/against-runs"}
	for _, name := range []string{"calendar", "gemflux", "utilities"} { // those of the wire wait for timeouts
		suites = append(suites, filepath.Join(base, "scenarios/suites", name))
	}
	return []measurement{
		{name: "start of rehearse", program: "rehearse", args: []string{"version"}, times: 10},
		{name: "start of a program with mockllm", program: "mockllm", args: []string{"-serve", "alone"}, times: 10},
		{name: "start of a program with mockmcp", program: "mockmcp", args: []string{"-serve", "mock"}, times: 10},
		{name: "trials of shipped suites", program: "rehearse", args: suites, times: 1},
		{name: "mockllm", program: "mockllm", args: strings.Fields("-requests 5000 -paced 0.2 -streams 50 -seconds 0.1 -rounds 5")},
		{name: "mockmcp", program: "mockmcp", args: strings.Fields("-seconds 0.1 -rounds 5 -sessions 50 -calls 5000"), more: []string{"-agents", "2"}},
		{name: "cassettes", program: "cassettes", args: strings.Fields("-rounds 1 -interactions 5000 -bytes 20000000 -events 100")},
		{name: "agent loop", program: "bench", more: strings.Fields("-rounds 101 -only chat"), dir: base},
	}
}

// figures makes the measurement once.
func (m measurement) figures(ctx context.Context, v version) ([]figure, error) {
	path := filepath.Join(v.bin, m.program)
	if m.times > 0 {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		var used []float64
		for range m.times {
			c := exec.CommandContext(ctx, path, m.args...)
			if out, err := c.CombinedOutput(); err != nil {
				return nil, fmt.Errorf("%w\n%s", err, out)
			}
			used = append(used, float64(c.ProcessState.UserTime()+c.ProcessState.SystemTime())/float64(time.Millisecond))
		}
		return []figure{{m.name + ", CPU ms", median(used)}, {m.name + ", MB of program", float64(info.Size()) / 1e6}}, nil
	}
	args := m.args
	if help, _ := exec.CommandContext(ctx, path, "-h").CombinedOutput(); len(m.more) > 0 && bytes.Contains(help, []byte("\n  "+m.more[0]+" ")) {
		args = append(slices.Clone(args), m.more...)
	}
	var out, errs bytes.Buffer
	c := exec.CommandContext(ctx, path, args...)
	c.Dir, c.Stdout, c.Stderr = m.dir, &out, &errs
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, &errs)
	}
	return read(m.name, out.String()), nil
}

var (
	gaps = regexp.MustCompile(`\s{2,}`)
	// measured is the head of a column that is compared.
	measured = regexp.MustCompile(`^(CPU|us/request|(MiB|KiB) )|RSS MiB`)
	// control is a row that is not ours.
	control = regexp.MustCompile(`, (bare|mcp-go|go-vcr|aimock)(,|$)|^(mcp-go|aimock)$|go-vcr that`)
	// other is a cell that is no figure, and a part of the row's name.
	other = regexp.MustCompile(`[^0-9.]`)
	loop  = regexp.MustCompile(`(?m)^agent loop / (?:chat|go-openai and mcp-go) +([0-9.]+) times the time of a conversation, (\w+)`)
)

// read takes the figures of all tables out of what was printed: a row's name
// is what stands before its first figure.
func read(name, text string) []figure {
	var list []figure
	var head []string
	for line := range strings.Lines(text) {
		cells := gaps.Split(strings.TrimSpace(line), -1)
		if slices.ContainsFunc(cells, measured.MatchString) {
			head = cells
			continue
		}
		if len(cells) < 3 {
			head = nil
		}
		list = append(list, readRow(name, head, cells)...)
	}
	for _, m := range loop.FindAllStringSubmatch(text, -1) {
		if v, err := strconv.ParseFloat(m[1], 64); err == nil {
			list = append(list, figure{name + ", " + m[2] + ", of a loop by hand", v})
		}
	}
	return list
}

func readRow(name string, head, cells []string) (list []figure) {
	first := slices.IndexFunc(head, measured.MatchString)
	if first < 0 || len(cells) <= first {
		return nil
	}
	title := cells[0]
	if strings.Contains(head[0], "connection") {
		title = head[0] + ", " + title
	}
	for i, cell := range cells[1:first] {
		if other.MatchString(cell) || head[i+1] == "interactions" {
			title += ", " + cell
		}
	}
	if control.MatchString(title) || control.MatchString(cells[0]) {
		return nil
	}
	// The same work of somebody else, done in turns with ours, is on the same
	// machine: where there is a share of that, processor time is not compared.
	share := slices.ContainsFunc(head, func(h string) bool { return strings.HasPrefix(h, "CPU, of ") })
	for i := first; i < min(len(head), len(cells)); i++ {
		v, err := strconv.ParseFloat(cells[i], 64)
		if err != nil || !measured.MatchString(head[i]) || share && strings.HasPrefix(head[i], "CPU us") || slices.Contains(head[:i], head[i]) {
			continue
		}
		if v < 10 && !strings.Contains(cells[i], ".") { // one digit says nothing
			continue
		}
		list = append(list, figure{name + ", " + title + ", " + head[i], v})
	}
	return list
}
