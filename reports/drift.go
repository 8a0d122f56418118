// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/prose"
)

// The tiers of a difference in shape, the worst first.
var tiers = [...]string{"breaking", "risky", "minor"}

// driftLine is a line of [trials.Record.Drift], taken apart.
type driftLine struct {
	Tier  string
	Class string // of the page
	Text  string
}

// driftLines takes the lines of a trial apart, the worst first. What names no
// tier counts as risky: nobody knows how much it matters.
func driftLines(lines []string) []driftLine {
	var out []driftLine
	for _, line := range lines {
		tier, text, ok := strings.Cut(line, ": ")
		if !ok || !slices.Contains(tiers[:], tier) {
			tier, text = "risky", line
		}
		out = append(out, driftLine{tier, tierClass(tier), oneLine(text, 500)})
	}
	slices.SortStableFunc(out, func(a, b driftLine) int {
		return slices.Index(tiers[:], a.Tier) - slices.Index(tiers[:], b.Tier)
	})
	return out
}

// tierClass is the class, and the icon, of a tier.
func tierClass(tier string) string {
	switch tier {
	case "breaking":
		return "failed"
	case "minor":
		return "skipped"
	}
	return "error"
}

// driftWords counts differences by tier: "1 breaking, 3 minor".
func driftWords(lines []driftLine) string {
	var parts []string
	for _, tier := range tiers {
		n := 0
		for _, l := range lines {
			if l.Tier == tier {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, tier))
		}
	}
	return strings.Join(parts, ", ")
}

// maxDrift is how many differences of one trial a report shows in a list.
const maxDrift = 20

// drift prints how the endpoint answers otherwise than it did.
func (p *textPrinter) drift(t *Trial) {
	lines := driftLines(t.Drift)
	if len(lines) == 0 {
		return
	}
	p.line(6, "drift against the recording before: %s", driftWords(lines))
	for n, l := range lines {
		if n == maxDrift {
			p.line(8, "and %d more", len(lines)-n)
			break
		}
		p.line(8, "%s: %s", l.Tier, l.Text)
	}
}

// drifted are the trials that drifted, in the order of the table.
func drifted(tab *table, each func(t place, lines []driftLine)) (all []driftLine) {
	for t := range tab.trials() {
		if lines := driftLines(t.Drift); len(lines) > 0 {
			all = append(all, lines...)
			each(t, lines)
		}
	}
	return all
}

// driftSum is the line at the end of a text.
func driftSum(tab *table) string {
	n := 0
	all := drifted(tab, func(place, []driftLine) { n++ })
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("drift against older recordings in %s: %s", prose.Count(n, "trial"), driftWords(all))
}

// markdownDrift is how many differences a summary lists.
const markdownDrift = 50

func mdDrift(b *bytes.Buffer, tab *table) {
	shown, left := 0, 0
	all := drifted(tab, func(t place, lines []driftLine) {
		for _, l := range lines {
			if shown == markdownDrift || b.Len() > markdownDrifts {
				left++
				continue
			}
			if shown == 0 {
				b.WriteString("\n## Drift against older recordings\n\n| trial | tier | difference |\n| --- | --- | --- |\n")
			}
			shown++
			fmt.Fprintf(b, "| %s | %s | %s |\n", mdText(t.label(120)), l.Tier, mdText(l.Text))
		}
	})
	if left > 0 {
		fmt.Fprintf(b, "\n%d more, in the full report.\n", left)
	}
	if len(all) > 0 {
		fmt.Fprintf(b, "\n%s.\n", driftWords(all))
	}
}

// junitDrift are the properties of a case whose endpoint answers otherwise
// than it did.
func junitDrift(cell []*Trial) []junitProperty {
	var out []junitProperty
	seen := map[string]bool{}
	for _, t := range cell {
		for _, l := range driftLines(t.Drift) {
			text := l.Tier + ": " + l.Text
			if !seen[text] && len(out) < maxDrift {
				out = append(out, junitProperty{"drift", text})
			}
			seen[text] = true
		}
	}
	if more := len(seen) - len(out); more > 0 {
		out = append(out, junitProperty{"drift", fmt.Sprintf("and %d more", more)})
	}
	return out
}

// driftView is a trial in the page's list of those that drifted.
type driftView struct {
	Link  linkView
	Words string
	Lines []driftLine
}

func (b *pageBuilder) drift() (out []driftView, words string) {
	all := drifted(b.tab, func(t place, lines []driftLine) {
		out = append(out, driftView{linkView{ID: t.id, Label: t.label(120)}, driftWords(lines), lines})
	})
	return out, driftWords(all)
}
