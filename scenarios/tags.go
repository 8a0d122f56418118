// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/prose"
)

// Tagged returns those of some scenarios that tags select: each that has one of
// the tags, and none of those that stand behind ! or -. Where all stand behind
// one, it is each that has none of them. A tag that no scenario of the list has
// is an error, and so is a choice that leaves nothing.
func Tagged(list []*Scenario, tags []string) ([]*Scenario, error) {
	if len(tags) == 0 {
		return list, nil
	}
	var known []string
	for _, s := range list {
		known = append(known, s.Tags...)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	var with, without []string
	for _, tag := range tags {
		tag = strings.TrimSpace(tag)
		name, excluded := tag, false
		if rest := strings.TrimLeft(tag, "!-"); len(rest) == len(tag)-1 {
			name, excluded = strings.TrimSpace(rest), true
		}
		switch {
		case name == "":
			return nil, errors.New("an empty tag")
		case len(known) == 0:
			return nil, fmt.Errorf("no scenario has the tag %q; no scenario has any tag", name)
		case !slices.Contains(known, name):
			return nil, fmt.Errorf("no scenario has the tag %q%s; the tags are %s", name, prose.DidYouMean(name, known), strings.Join(known, ", "))
		case excluded:
			without = append(without, name)
		default:
			with = append(with, name)
		}
	}
	has := func(s *Scenario, tags []string) bool {
		return slices.ContainsFunc(tags, func(t string) bool { return slices.Contains(s.Tags, t) })
	}
	var out []*Scenario
	for _, s := range list {
		if (len(with) == 0 || has(s, with)) && !has(s, without) {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("the tags %s leave no scenario to play", strings.Join(tags, ","))
	}
	return out, nil
}
