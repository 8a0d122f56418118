// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// markdownFailing is how many failing trials a summary explains: GitHub cuts
// a step summary at 1 MB, and a reader long before.
const markdownFailing = 30

// GitHub takes 65,536 characters as a comment. So much of a summary has been
// written when its parts end, and what is left is counted.
const (
	markdownRules   = 15_000
	markdownMatrix  = 30_000
	markdownDetails = 48_000
	markdownDrifts  = 54_000
	markdownAll     = 60_000
)

// Markdown writes the summary of a run in GitHub's Markdown, for a step
// summary or a comment on a pull request. It is short enough for a comment.
func Markdown(w io.Writer, run *Run) error {
	var b bytes.Buffer
	tab := arrange(run)
	fmt.Fprintf(&b, "# %s\n\n", mdText(cmp.Or(oneLine(run.Manifest.Name, 200), "rehearse")))
	fmt.Fprintf(&b, "%s **%s**\n", mdMark(tab.Outcome()), tab.Words())
	mdColumns(&b, tab)
	verdict, doubts := standingOf(tab, mdText)
	if verdict != nil {
		fmt.Fprintf(&b, "\n%s\n", strings.Join(verdict, " "))
	}
	for _, doubt := range doubts {
		fmt.Fprintf(&b, "\n⚠️ %s\n", doubt)
	}
	mdBlames(&b, tab)
	mdRules(&b, tab)
	mdMatrix(&b, tab)
	mdFailing(&b, tab)
	mdDrift(&b, tab)
	var warnings []string
	if run.Manifest.Interrupted {
		warnings = append(warnings, fmt.Sprintf("interrupted: %d of %s planned ended", len(run.Trials), prose.Count(run.Manifest.Planned, "trial")))
	}
	warnings = append(append(warnings, run.Manifest.Warnings...), run.Warnings...)
	if len(warnings) > 0 {
		b.WriteString("\n## Warnings\n\n")
		for i, text := range warnings {
			if b.Len() > markdownAll {
				fmt.Fprintf(&b, "- %d more, in the full report\n", len(warnings)-i)
				break
			}
			fmt.Fprintf(&b, "- %s\n", mdText(oneLine(text, 500)))
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

func mdColumns(b *bytes.Buffer, tab *table) {
	if len(tab.Columns) == 0 {
		return
	}
	b.WriteString("\n| model | pass rate | passed / judged | errors | skipped | tokens | median | slowest |\n")
	b.WriteString("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, c := range tab.Columns {
		y := c.Tally
		fmt.Fprintf(b, "| %s | %s | %d / %d | %d | %d | %s | %s | %s |\n", mdText(c.Label), y.Rate(), y.Passed, y.Judged(),
			y.Errors, y.Skipped, y.Tokens(), y.Median(), y.Slowest())
	}
}

// mdMatrix lists the scenarios in which not all trials passed.
func mdMatrix(b *bytes.Buffer, tab *table) {
	passed, left := 0, 0
	first := true
	for _, s := range tab.Scenarios {
		if s.Tally.Trials() == s.Tally.Passed {
			passed++
			continue
		}
		if b.Len() > markdownMatrix {
			left++
			continue
		}
		if first {
			first = false
			b.WriteString("\n## Scenarios that did not pass\n\n| scenario |")
			for _, c := range tab.Columns {
				fmt.Fprintf(b, " %s |", mdText(c.Label))
			}
			b.WriteString("\n| --- |" + strings.Repeat(" --- |", len(tab.Columns)) + "\n")
		}
		fmt.Fprintf(b, "| %s |", mdText(oneLine(s.Name(), 120)))
		for _, cell := range s.Cells {
			var y tally
			for _, t := range cell {
				y.add(t)
			}
			switch {
			case len(cell) == 0:
				b.WriteString(" |")
			case len(cell) == 1:
				fmt.Fprintf(b, " %s %s |", mdMark(cell[0].Outcome), mdText(oneLine(string(cell[0].Outcome), 20)))
			default:
				fmt.Fprintf(b, " %s %d / %d", mdMark(cellOutcome(y)), y.Passed, y.Judged())
				if y.Errors > 0 {
					fmt.Fprintf(b, ", %s", prose.Count(y.Errors, "error"))
				}
				if y.Skipped > 0 {
					fmt.Fprintf(b, ", %d skipped", y.Skipped)
				}
				if y.Flaky() {
					b.WriteString(" flaky")
				}
				b.WriteString(" |")
			}
		}
		b.WriteString("\n")
	}
	if left > 0 {
		fmt.Fprintf(b, "\n%s that did not pass, in the full report.\n", prose.Count(left, "more scenario"))
	}
	if !first && passed > 0 {
		fmt.Fprintf(b, "\n%s passed in all trials.\n", prose.Count(passed, "other scenario"))
	}
}

// cellOutcome is that of several attempts.
func cellOutcome(y tally) harness.Outcome {
	switch {
	case y.Failed > 0:
		return harness.OutcomeFailed
	case y.Errors > 0:
		return harness.OutcomeError
	case y.Passed > 0:
		return harness.OutcomePassed
	default:
		return harness.OutcomeSkipped
	}
}

func mdFailing(b *bytes.Buffer, tab *table) {
	shown, left := 0, 0
	said := map[string]string{}
	for t := range tab.trials() {
		if !failing(t.Trial) {
			continue
		}
		if shown == markdownFailing || b.Len() > markdownDetails {
			left++
			continue
		}
		if shown == 0 {
			b.WriteString("\n## What went wrong\n")
		}
		shown++
		p := &textPrinter{max: 500, said: said}
		p.trial(t)
		body := strings.TrimRight(p.b.String(), "\n")
		_, body, _ = strings.Cut(body, "\n")
		fence := mdFence(body)
		fmt.Fprintf(b, "\n<details><summary>%s %s</summary>\n\n%stext\n%s\n%s\n\n</details>\n",
			mdMark(t.Outcome), mdText(t.label(120)), fence, outdent(body, 6), fence)
	}
	if left > 0 {
		fmt.Fprintf(b, "\n%s more, in the full report.\n", prose.Count(left, "trial"))
	}
}

func outdent(s string, n int) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = l[min(n, len(l)-len(strings.TrimLeft(l, " "))):]
	}
	return strings.Join(lines, "\n")
}

func mdMark(o harness.Outcome) string {
	switch o {
	case harness.OutcomePassed:
		return "✅"
	case harness.OutcomeFailed:
		return "❌"
	case harness.OutcomeSkipped:
		return "⏭️"
	default:
		return "⚠️"
	}
}

// mdText shows a line as code, in which GitHub makes no mention and no issue
// link, and nothing in it is markup or the end of a table's cell. References
// instead of backslashes, since those stay visible inside HTML.
func mdText(s string) string {
	var b strings.Builder
	b.WriteString("<code>")
	for _, r := range s {
		if strings.ContainsRune("<>&\"'\\`*_[]|~@#:", r) {
			fmt.Fprintf(&b, "&#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	b.WriteString("</code>")
	return b.String()
}

// mdFence is longer than every run of backticks in s.
func mdFence(s string) string {
	longest, run := 2, 0
	for _, r := range s {
		if r == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	return strings.Repeat("`", longest+1)
}
