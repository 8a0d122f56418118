// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
)

// passOf is the rule of a scenario; nil for none.
func passOf(n *strictyaml.Node) *trials.Pass {
	if !usable(n) {
		return nil
	}
	p := &trials.Pass{Pos: n.Pos}
	if n.Kind == strictyaml.Map {
		p.AtLeast = intOf(n.Get("at_least"))
		if rate := floatOf(n.Get("rate")); rate != nil {
			p.Rate = *rate
		}
	}
	return p
}

// thresholdsOf are those of a suite file.
func thresholdsOf(suite *strictyaml.Node) []trials.Threshold {
	n := suite.Get("thresholds")
	if !usable(n) {
		return nil
	}
	var out []trials.Threshold
	add := func(tag string, n *strictyaml.Node) {
		if rate := floatOf(n); rate != nil {
			out = append(out, trials.Threshold{Suite: textOf(suite.Get("suite")), Tag: tag, Rate: *rate, Pos: n.Pos})
		}
	}
	add("", n.Get("overall"))
	for _, p := range pairsOf(n.Get("by")) {
		add(p.Key.Text, p.Value)
	}
	return out
}

// knownTags refuses thresholds of tags that no scenario of the suite has. It can
// tell only when the whole folder was loaded.
func (l *loader) knownTags(set *Set) {
	for _, path := range set.Suites {
		folder := filepath.Dir(path)
		var known []string
		for _, s := range set.Scenarios {
			if filepath.Dir(filepath.FromSlash(s.Pos.File)) == folder {
				known = append(known, s.Tags...)
			}
		}
		slices.Sort(known)
		known = slices.Compact(known)
		for _, p := range pairsOf(l.docs[filepath.Clean(path)].root.Get("thresholds").Get("by")) {
			if !slices.Contains(known, p.Key.Text) {
				l.problems.add(p.Key.Pos, "no scenario of the suite has the tag %q%s; the tags are %s", p.Key.Text, didYouMean(p.Key.Text, known), cmp.Or(strings.Join(known, ", "), "none"))
			}
		}
	}
}
