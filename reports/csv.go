// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// csvColumns are the names of the columns of [CSV].
func csvColumns() []string {
	return []string{
		"suite", "scenario", "case", "file", "line", "tags", "critical", "subject", "model", "variant", "mode", "attempt", "outcome", "cause", "blame", "message", "message_at",
		"checks", "checks_failed", "model_calls", "retries", "tool_calls",
		"tokens_input", "tokens_cached", "tokens_cache_write", "tokens_output", "tokens_reasoning", "cost_usd", "first_token_ms",
		"answered_by", "seed", "start", "duration_ms", "hash_scenario", "hash_scorers", "hash_tools", "hash_entry", "transcript",
	}
}

// CSV writes a run as comma-separated values: a head, and a row for each trial,
// in the order of the other reports. Times are in UTC (RFC 3339), durations in
// milliseconds, and first_token_ms is that of the first model call. A text that a spreadsheet would take for a formula begins with
// an apostrophe, which spreadsheets do not show.
func CSV(w io.Writer, run *Run) error {
	out := csv.NewWriter(w)
	_ = out.Write(csvColumns()) // Error tells
	for t := range arrange(run).trials() {
		_ = out.Write(csvRow(t.scenario, t.Trial))
	}
	out.Flush()
	return out.Error()
}

func csvRow(s *scenario, t *Trial) []string {
	failed := 0
	for _, v := range t.Verdicts {
		if !v.Conduct && v.State == trials.Failed {
			failed++
		}
	}
	cause := trials.Cause{}
	if t.Cause != nil {
		cause = *t.Cause
	}
	line, start := "", ""
	if t.Pos.Line > 0 {
		line = strconv.Itoa(t.Pos.Line)
	}
	if !t.Start.IsZero() {
		start = t.Start.UTC().Format(time.RFC3339Nano)
	}
	cost, first := "", ""
	if t.Cost != nil && !t.Uncounted() {
		cost = strconv.FormatFloat(*t.Cost, 'f', -1, 64)
	}
	if len(t.TTFT) > 0 {
		first = milliseconds(t.TTFT[0])
	}
	n, tokens := strconv.Itoa, strconv.Itoa
	if t.Uncounted() {
		tokens = func(int) string { return "" } // not known, which is not 0
	}
	return []string{
		csvText(s.Suite), csvText(s.Scenario), csvText(s.Case), csvText(s.File), line, csvText(strings.Join(s.Tags, " ")), strconv.FormatBool(t.Critical), csvText(t.Subject),
		csvText(t.Model), csvText(t.Variant), csvText(string(t.Mode)), n(t.Attempt), csvText(string(t.Outcome)), csvText(string(cause.Kind)), csvText(string(blameOf(t))), csvText(cause.Message), csvPlace(cause.Pos),
		n(t.Counts.Checks), n(failed), n(t.Counts.ModelCalls), n(t.Counts.Retries), n(t.Counts.ToolCalls),
		tokens(t.Tokens.Input), tokens(t.Tokens.Cached), tokens(t.Tokens.CacheWrite), tokens(t.Tokens.Output), tokens(t.Tokens.Reasoning), cost, first,
		csvText(strings.Join(t.Answered, " ")), strconv.FormatInt(t.Seed, 10), start,
		milliseconds(t.Duration), csvText(t.Hashes.Scenario), csvText(t.Hashes.Scorers), csvText(t.Hashes.Tools), csvText(t.Hashes.Entry), csvText(t.Detail),
	}
}

func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', -1, 64)
}

func csvPlace(p harness.Position) string {
	if p.IsZero() {
		return ""
	}
	return csvText(p.String())
}

// csvText is a text in one line that no spreadsheet computes. What begins a
// formula is as in OWASP's page on CSV injection; a full-width sign counts, which
// some programs read as the plain one.
func csvText(s string) string {
	s = oneLine(s, 1000)
	if s != "" && strings.ContainsRune("=+-@|%＝＋－＠", []rune(s)[0]) {
		s = "'" + s
	}
	return s
}
