// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// logEvery is the time after which a log that is no terminal says how far the run
// has come.
const logEvery = time.Minute

// progress shows how a run goes on: a bar on a terminal, a line a minute
// elsewhere, and a line a trial where asked for.
type progress struct {
	lines io.Writer // nil without --verbose
	err   io.Writer // for lines beside the bar
	total *mpb.Progress
	bar   *mpb.Bar
	now   func() time.Time

	mu             sync.Mutex // guards the rest: the bar is drawn by a goroutine of its own
	start, told    time.Time
	all, done      int // trials of this run
	failed, errors int
	real           bool // an endpoint is asked, so that tokens count
	spent          trials.Spend
}

func newProgress(p *process, flags *runFlags) *progress {
	g := &progress{err: p.stderr, now: time.Now, real: harness.Mode(flags.mode).Real()}
	switch {
	case flags.verbose:
		g.lines = p.stderr
	case p.terminal(p.stderr):
		g.total = mpb.New(mpb.WithOutput(bare(p.stderr)), mpb.WithWidth(20))
		g.err = tamed{g.total}
	}
	return g
}

// Planned makes the bar.
func (g *progress) Planned(p run.Plan) {
	if line := planLine(p); line != "" {
		fmt.Fprintln(g.err, line)
	}
	g.mu.Lock()
	g.start = g.now()
	g.told, g.all, g.spent = g.start, p.Trials, p.Spent
	g.mu.Unlock()
	if g.total == nil {
		return
	}
	g.bar = g.total.AddBar(int64(p.Trials),
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.CountersNoUnit("%d of %d trials")),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return g.status() })))
}

// Ended counts a trial.
func (g *progress) Ended(r trials.Record) {
	g.count(&r)
	if g.bar != nil {
		g.bar.Increment()
	}
	if g.lines != nil {
		fmt.Fprintf(g.lines, "%-7s %s\n", r.Outcome, r.Key)
	}
	if r.Mode == harness.ModeRecord {
		fmt.Fprintln(g.err, recordingLine(r))
	}
	if g.bar == nil {
		g.log()
	}
}

func (g *progress) count(r *trials.Record) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.done++
	g.spent = g.spent.Add(trials.SpendOf(r))
	switch r.Outcome {
	case harness.OutcomeFailed:
		g.failed++
	case harness.OutcomeError:
		g.errors++
	case harness.OutcomePassed, harness.OutcomeSkipped:
	}
}

// log says how far the run has come, now and then.
func (g *progress) log() {
	g.mu.Lock()
	due := g.now().Sub(g.told) >= logEvery && g.done < g.all
	if due {
		g.told = g.now()
	}
	done, all := g.done, g.all
	g.mu.Unlock()
	if due {
		fmt.Fprintf(g.err, "%d of %s, %s\n", done, prose.Count(all, "trial"), g.status())
	}
}

// status is what became of the trials so far, how long the others may take, and
// what was used: in a narrow terminal the end is cut off.
func (g *progress) status() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	parts := []string{fmt.Sprintf("%d failed", g.failed), prose.Count(g.errors, "error")}
	if left := g.all - g.done; g.done > 0 && left > 0 {
		took := g.now().Sub(g.start)
		parts = append(parts, "about "+roughly(time.Duration(float64(took)/float64(g.done)*float64(left)))+" left")
	}
	if g.real && g.spent.Tokens > 0 {
		if g.spent.Unpriced == 0 {
			parts = append(parts, fmt.Sprintf("$%.2f", g.spent.Dollars))
		}
		parts = append(parts, tokensText(g.spent.Tokens))
	}
	return strings.Join(parts, ", ")
}

// tokensText is a number of tokens in about three digits.
func tokensText(n int) string {
	switch {
	case n < 10_000:
		return prose.Count(n, "token")
	case n < 10_000_000:
		return fmt.Sprintf("%dk tokens", (n+500)/1000)
	}
	return fmt.Sprintf("%.1fM tokens", float64(n)/1e6)
}

// roughly is a duration in its largest units.
func roughly(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds())+1)
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()+0.5))
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// recordingLine says where a recording was written, or why not. The tapes of
// servers have lines of their own.
func recordingLine(r trials.Record) string {
	if r.Cassette != "" {
		how := "unchanged"
		if r.Written {
			how = "recorded "
		}
		line := fmt.Sprintf("%s %s: %s", how, r.Cassette, prose.Count(r.Recorded, "interaction"))
		for _, tape := range r.Tapes {
			line += fmt.Sprintf("\n%s %s", how, tape)
		}
		return line
	}
	for _, w := range r.Warnings {
		if strings.HasPrefix(w, "nothing was recorded") {
			return fmt.Sprintf("warning: %s: %s", r.Key, w)
		}
	}
	if r.Outcome == harness.OutcomeError && r.Cause != nil { // it was refused, or could not be written
		return fmt.Sprintf("warning: %s: %s", r.Key, strings.ReplaceAll(r.Cause.Message, "\n", "; "))
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
