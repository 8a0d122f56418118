// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"text/tabwriter"
	"time"
)

// A way is a way to reach a server.
type way struct {
	name string
	here bool // in this process
	// open returns what measures the server of a kind, and what ends it.
	open func(kind string) (func(time.Duration) (result, error), func(), error)
}

// ways are those of the first table.
func ways() []way {
	return []way{
		{"in process", true, func(kind string) (func(time.Duration) (result, error), func(), error) { return overPipe(kind, 1) }},
		{"in process, 8 calls under way", true, func(kind string) (func(time.Duration) (result, error), func(), error) { return overPipe(kind, 8) }},
		{"stdio", false, func(kind string) (func(time.Duration) (result, error), func(), error) { return overStdio(kind, 1) }},
		{"stdio, 8 calls under way", false, func(kind string) (func(time.Duration) (result, error), func(), error) { return overStdio(kind, 8) }},
		{"HTTP 2025-11-25, 1 session", false, func(kind string) (func(time.Duration) (result, error), func(), error) {
			return overHTTP(kind, 1, false)
		}},
		{"HTTP 2025-11-25, 8 sessions", false, func(kind string) (func(time.Duration) (result, error), func(), error) {
			return overHTTP(kind, 8, false)
		}},
		{"HTTP 2026-07-28, 1 connection", false, func(kind string) (func(time.Duration) (result, error), func(), error) { return overHTTP(kind, 1, true) }},
		{"HTTP 2026-07-28, 8 connections", false, func(kind string) (func(time.Duration) (result, error), func(), error) { return overHTTP(kind, 8, true) }},
	}
}

func overPipe(kind string, window int) (func(time.Duration) (result, error), func(), error) {
	conn, err := pipe(kind)
	if err != nil {
		return nil, nil, err
	}
	c, err := newLineCaller(conn, window)
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return func(d time.Duration) (result, error) { return measure([]caller{c}, d) }, func() { conn.Close() }, nil
}

func overStdio(kind string, window int) (func(time.Duration) (result, error), func(), error) {
	server, err := start(kind, true)
	if err != nil {
		return nil, nil, err
	}
	stop := func() { _ = server.Close() } // what it answers nobody is no failure
	c, err := newLineCaller(server, window)
	if err != nil {
		stop()
		return nil, nil, err
	}
	return func(d time.Duration) (result, error) { return measureChild(server, []caller{c}, d) }, stop, nil
}

func overHTTP(kind string, sessions int, modern bool) (func(time.Duration) (result, error), func(), error) {
	server, err := start(kind, false)
	if err != nil {
		return nil, nil, err
	}
	var callers []caller
	stop := func() {
		for _, c := range callers {
			c.Close()
		}
		_ = server.Close() // as above
	}
	for range sessions {
		c, err := newHTTPCaller(server.addr, modern)
		if err != nil {
			stop()
			return nil, nil, err
		}
		callers = append(callers, c)
	}
	return func(d time.Duration) (result, error) { return measureChild(server, callers, d) }, stop, nil
}

// rates prints what each server makes of each way.
func (b *bench) rates(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "calls of one tool\tcalls/s\tp50 us\tp99 us\tCPU us\tcalls/s, of mcp-go\tCPU, of mcp-go\tCPU, of before\taim\t\n")
	for _, way := range ways() {
		if err := b.row(w, way); err != nil {
			return fmt.Errorf("measuring %s: %w", way.name, err)
		}
	}
	return w.Flush()
}

// crowd prints the same for many sessions at once.
func (b *bench) crowd(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\nmany sessions\tcalls/s\tp50 us\tp99 us\tCPU us\tcalls/s, of mcp-go\tCPU, of mcp-go\tCPU, of before\taim\t\n")
	many := way{fmt.Sprintf("HTTP 2025-11-25, %d sessions", b.sessions), false, func(kind string) (func(time.Duration) (result, error), func(), error) {
		return overHTTP(kind, b.sessions, false)
	}}
	if err := b.row(w, many); err != nil {
		return fmt.Errorf("measuring %s: %w", many.name, err)
	}
	return w.Flush()
}

// row measures both in turns and prints the medians, and those of the ratios.
func (b *bench) row(w io.Writer, way way) error {
	kinds := []string{bare, mock}
	if b.before != "" && !way.here {
		kinds = append(kinds, before+b.before)
	}
	var measures []func(time.Duration) (result, error)
	for _, kind := range kinds {
		measure, stop, err := way.open(kind)
		if err != nil {
			return err
		}
		defer stop()
		if _, err := measure(b.round); err != nil { // warm-up
			return err
		}
		measures = append(measures, measure)
	}
	results := make([][]result, len(kinds))
	for r := range b.rounds {
		// In any order, so that none is always measured after the same other.
		random := rand.New(rand.NewPCG(1, uint64(r)))
		for _, i := range random.Perm(len(kinds)) {
			res, err := measures[i](b.round)
			if err != nil {
				return err
			}
			results[i] = append(results[i], res)
		}
	}
	for i, kind := range kinds {
		m := medians(results[i])
		rate, cpu := medianRatios(results[i], results[0])
		ofBefore := 0.0
		if len(kinds) > 2 && kind == mock {
			_, ofBefore = medianRatios(results[i], results[2])
		}
		aim := ""
		if kind == mock {
			aim = "0.90"
		}
		fmt.Fprintf(w, "%s, %s\t%.0f\t%.0f\t%.0f\t%s\t%.2f\t%s\t%s\t%s\t\n", way.name, kind, m.rate, m.p50, m.p99, known("%.0f", m.cpu), rate, known("%.2f", cpu), known("%.2f", ofBefore), aim)
	}
	return nil
}

// known prints a figure, unless it was not measured.
func known(format string, v float64) string {
	if v > 0 {
		return fmt.Sprintf(format, v)
	}
	return "-"
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func medians(list []result) result {
	of := func(field func(result) float64) float64 {
		var values []float64
		for _, r := range list {
			values = append(values, field(r))
		}
		return median(values)
	}
	return result{
		rate: of(func(r result) float64 { return r.rate }), cpu: of(func(r result) float64 { return r.cpu }),
		p50: of(func(r result) float64 { return r.p50 }), p99: of(func(r result) float64 { return r.p99 }),
	}
}

// medianRatios compare rounds that were measured one after the other.
func medianRatios(list, of []result) (rate, cpu float64) {
	var rates, cpus []float64
	for i, r := range list {
		rates = append(rates, r.rate/of[i].rate)
		if of[i].cpu > 0 {
			cpus = append(cpus, r.cpu/of[i].cpu)
		}
	}
	if len(cpus) > 0 {
		cpu = median(cpus)
	}
	return median(rates), cpu
}
