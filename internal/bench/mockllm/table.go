// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

const aimock = "aimock"

// table prints what each server makes of each fixture.
func (b *bench) table(out io.Writer, conns int) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s\treq/s\tp50 us\tp99 us\tCPU us\treq/s, of bare\tCPU, of bare\treq/s, of aimock\tCPU, of aimock\tCPU, of before\taims\t\n", connections(conns))
	for i, f := range fixtures() {
		if err := b.row(w, i, f, conns); err != nil {
			return fmt.Errorf("measuring %q: %w", f.name, err)
		}
	}
	return w.Flush()
}

func connections(n int) string {
	if n == 1 {
		return "1 connection"
	}
	return strconv.Itoa(n) + " connections"
}

// row measures the servers in turns and prints the medians, and those of the
// ratios.
func (b *bench) row(w io.Writer, n int, f fixture, conns int) error {
	kinds := []string{bare, mock}
	if f.stream {
		kinds = append(kinds, flushed)
	}
	if b.before != "" {
		for _, kind := range slices.Clone(kinds[1:]) {
			kinds = append(kinds, kind+before)
		}
	}
	if b.peers {
		kinds = append(kinds, aimock)
	}
	servers := make([]*child, len(kinds))
	for i, kind := range kinds {
		c, err := b.start(kind, n)
		if err != nil {
			return err
		}
		defer c.stop()
		servers[i] = c
		if _, err := c.measure(f, conns, b.round); err != nil { // warm-up
			return err
		}
	}
	results := make([][]result, len(kinds))
	for r := range b.rounds {
		// In any order, so that none is always measured after the same other.
		random := rand.New(rand.NewPCG(1, uint64(r)))
		for _, i := range random.Perm(len(kinds)) {
			res, err := servers[i].measure(f, conns, b.round)
			if err != nil {
				return err
			}
			results[i] = append(results[i], res)
		}
	}
	for i, kind := range kinds {
		m, ofBare := median(results[i]), median(ratios(results[i], results[0]))
		fmt.Fprintf(w, "%s, %s\t%.0f\t%.0f\t%.0f\t%.0f\t%.2f\t%.2f\t", f.name, kind, m.rate, m.p50, m.p99, m.cpu, ofBare.rate, ofBare.cpu)
		if b.peers {
			ofPeer := median(ratios(results[i], results[len(kinds)-1]))
			fmt.Fprintf(w, "%.2f\t%.2f\t", ofPeer.rate, ofPeer.cpu)
		} else {
			fmt.Fprint(w, "-\t-\t")
		}
		if k := slices.Index(kinds, kind+before); k > 0 {
			fmt.Fprintf(w, "%.2f\t", median(ratios(results[i], results[k])).cpu)
		} else {
			fmt.Fprint(w, "-\t")
		}
		fmt.Fprintf(w, "%s\t\n", f.aims(kind, conns))
	}
	return nil
}

// aims are for many connections: at one, the rate is the latency of waking up.
func (f fixture) aims(kind string, conns int) string {
	var list []string
	aim := func(format string, v float64) {
		if v > 0 {
			list = append(list, fmt.Sprintf(format, v))
		}
	}
	switch {
	case conns == 1:
	case kind == mock:
		aim("%.2f of bare", f.bareRate)
		aim("%.1f of aimock", f.peerRate)
		aim("CPU %.2f of aimock", f.peerCPU)
	case kind == flushed:
		aim("%.2f of bare", f.flushedRate)
	}
	return strings.Join(list, ", ")
}

func ratios(list, of []result) []result {
	out := make([]result, len(list))
	for i, r := range list {
		out[i] = r.ratio(of[i])
	}
	return out
}

func median(list []result) result {
	of := func(field func(result) float64) float64 {
		var values []float64
		for _, r := range list {
			values = append(values, field(r))
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	return result{
		rate: of(func(r result) float64 { return r.rate }), cpu: of(func(r result) float64 { return r.cpu }),
		p50: of(func(r result) float64 { return r.p50 }), p99: of(func(r result) float64 { return r.p99 }),
	}
}

// start starts a server of a fixture.
func (b *bench) start(kind string, n int) (*child, error) {
	if kind == aimock {
		response, err := peerReply(fixtures()[n])
		if err != nil {
			return nil, err
		}
		return start(kind, "node", peerScript, response, strconv.Itoa(len(chunk)))
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if served, ok := strings.CutSuffix(kind, before); ok {
		return start(kind, b.before, "-serve", served, "-fixture", strconv.Itoa(n))
	}
	return start(kind, self, "-serve", kind, "-fixture", strconv.Itoa(n))
}

const (
	peerScript  = "internal/bench/peers/aimock.mjs"
	peerPackage = "internal/bench/peers/node_modules/@copilotkit/aimock"
)

// peerReply is the reply of a fixture as aimock has it.
func peerReply(f fixture) (string, error) {
	response := map[string]any{"content": f.reply.Say}
	if len(f.reply.Calls) > 0 {
		c := f.reply.Calls[0]
		response = map[string]any{"toolCalls": []map[string]any{{"name": c.Tool, "arguments": c.Args}}}
	}
	text, err := json.Marshal(response)
	return string(text), err
}

// seconds is a flag's value.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
