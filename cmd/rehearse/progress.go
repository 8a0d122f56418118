// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// progress shows how a run goes on: a bar on a terminal, a line a trial where
// asked for, else nothing.
type progress struct {
	lines io.Writer // nil without --verbose
	err   io.Writer // for lines beside the bar
	total *mpb.Progress
	bar   *mpb.Bar
	// The bar is drawn by a goroutine of its own.
	failed, errors atomic.Int64
}

func newProgress(p *process, flags *runFlags) *progress {
	g := &progress{err: p.stderr}
	switch {
	case flags.verbose:
		g.lines = p.stderr
	case p.terminal(p.stderr):
		g.total = mpb.New(mpb.WithOutput(bare(p.stderr)), mpb.WithWidth(40))
		g.err = tamed{g.total}
	}
	return g
}

// Planned makes the bar.
func (g *progress) Planned(p run.Plan) {
	if line := planLine(p); line != "" {
		fmt.Fprintln(g.err, line)
	}
	if g.total == nil {
		return
	}
	g.bar = g.total.AddBar(int64(p.Trials),
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.CountersNoUnit("%d of %d trials")),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
			return fmt.Sprintf("%d failed, %d errors", g.failed.Load(), g.errors.Load())
		})))
}

// Ended counts a trial.
func (g *progress) Ended(r trials.Record) {
	switch r.Outcome {
	case harness.OutcomeFailed:
		g.failed.Add(1)
	case harness.OutcomeError:
		g.errors.Add(1)
	case harness.OutcomePassed, harness.OutcomeSkipped:
	}
	if g.bar != nil {
		g.bar.Increment()
	}
	if g.lines != nil {
		fmt.Fprintf(g.lines, "%-7s %s\n", r.Outcome, r.Key)
	}
	if r.Mode == harness.ModeRecord {
		fmt.Fprintln(g.err, recordingLine(r))
	}
}

// recordingLine says where a recording was written, or why not.
func recordingLine(r trials.Record) string {
	switch {
	case r.Written:
		return fmt.Sprintf("recorded  %s: %s", r.Cassette, prose.Count(r.Recorded, "interaction"))
	case r.Cassette != "":
		return fmt.Sprintf("unchanged %s: %s", r.Cassette, prose.Count(r.Recorded, "interaction"))
	}
	for _, w := range r.Warnings {
		if strings.HasPrefix(w, "nothing was recorded") {
			return fmt.Sprintf("warning: %s: %s", r.Key, w)
		}
	}
	if r.Outcome == harness.OutcomeError && r.Cause != nil { // it was refused, or could not be written
		why, _, _ := strings.Cut(r.Cause.Message, "\n")
		return fmt.Sprintf("warning: %s: nothing was recorded: %s", r.Key, why)
	}
	return fmt.Sprintf("warning: %s: nothing was recorded", r.Key)
}

func (g *progress) close() {
	if g.total == nil {
		return
	}
	if g.bar != nil {
		g.bar.Abort(true) // a run that was interrupted leaves the bar unfinished
	}
	g.total.Wait()
}
