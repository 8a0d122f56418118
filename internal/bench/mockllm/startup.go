// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"
)

// program is a server that is started again and again.
type program struct {
	name string
	argv []string
	aims string // for its start and its memory
}

// startups prints how long each program takes from exec to its first answer,
// and how much memory it then has.
func (b *bench) startups(out io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	programs := []program{
		{name: "a program that embeds mockllm alone", argv: []string{self, "-serve", alone}, aims: "15 ms, 15 MiB"},
	}
	if b.rehearse != "" {
		dir, err := os.MkdirTemp("", "bench")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		script := filepath.Join(dir, "weather.yaml")
		if err := os.WriteFile(script, []byte("llm: weather\nreplies:\n  - say: Sunny.\n"), 0o600); err != nil {
			return err
		}
		programs = append(programs, program{name: "rehearse serve llm", argv: []string{b.rehearse, "serve", "llm", script}, aims: "40 ms, 30 MiB"})
	}
	if b.peers {
		programs = append(programs, program{name: aimock, argv: []string{"node", peerScript, `{"content":"Sunny."}`, strconv.Itoa(len(chunk))}})
	}
	const starts = 9
	took := make([][]time.Duration, len(programs))
	memory, own := make([][]float64, len(programs)), make([][]float64, len(programs))
	for range starts {
		for i, p := range programs {
			s, err := p.start()
			if err != nil {
				return err
			}
			took[i], memory[i], own[i] = append(took[i], s.took), append(memory[i], s.memory), append(own[i], s.own)
		}
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "median of %d starts\tms to the first 200\tleast\tmost\tidle RSS MiB\tof it not in files\taims\t\n", starts)
	for i, p := range programs {
		slices.Sort(took[i])
		slices.Sort(memory[i])
		slices.Sort(own[i])
		fmt.Fprintf(w, "%s\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%s\t\n", p.name, microseconds(took[i], 0.5)/1e3, microseconds(took[i], 0)/1e3,
			microseconds(took[i], 1)/1e3, memory[i][starts/2], own[i][starts/2], p.aims)
	}
	return w.Flush()
}

// started is one start: the time to the first answer, and the memory after it.
type started struct {
	took        time.Duration
	memory, own float64
}

func (p program) start() (s started, err error) {
	begin := time.Now()
	c, err := start(p.name, p.argv...)
	if err != nil {
		return s, err
	}
	defer c.stop()
	l := &load{server: c, fixture: fixture{body: request(`{"role":"user","content":"Hello."}`, "")}, requests: 1}
	if err := l.run(1); err != nil {
		return s, err
	}
	s.took = time.Since(begin)
	if s.memory, err = c.memory("VmRSS"); err != nil {
		return s, err
	}
	s.own, err = c.memory("RssAnon")
	return s, err
}

// journal prints the memory of a mock that has answered many requests.
func (b *bench) journal(out io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c, err := start(alone, self, "-serve", alone)
	if err != nil {
		return err
	}
	defer c.stop()
	l := &load{server: c, fixture: fixtures()[1], requests: b.requests}
	if err := l.run(32); err != nil {
		return err
	}
	now, err := c.memory("VmRSS")
	if err != nil {
		return err
	}
	peak, err := c.memory("VmHWM")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "RSS after %d requests with the journal on: %.0f MiB, at most %.0f MiB (aim: under 60 MiB after a million)\n", b.requests, now, peak)
	return nil
}
