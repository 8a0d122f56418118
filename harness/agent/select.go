// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/rehearse-dev/rehearse/harness"
)

// selectTools is what Config.SelectTools leaves of the tools that there are.
func (t *turn) selectTools(all []harness.Tool) []harness.Tool {
	most := t.cfg.SelectTools
	t.mu.Lock()
	t.left = nil
	if most <= 0 || len(all) <= most {
		t.mu.Unlock()
		return all
	}
	var said, keep []string
	for _, m := range t.messages {
		if m.Role == harness.RoleUser {
			said, keep = append(said, m.Text), nil
		}
		for _, call := range m.Calls {
			keep = append(keep, call.Name)
		}
	}
	t.mu.Unlock()
	chosen := fitting(all, said, keep, most)
	var names, left []string
	for _, tool := range all {
		if slices.ContainsFunc(chosen, func(c harness.Tool) bool { return c.Name == tool.Name }) {
			names = append(names, tool.Name)
		} else {
			left = append(left, tool.Name)
		}
	}
	t.mu.Lock()
	t.left = left
	t.mu.Unlock()
	if told := strings.Join(names, ", "); told != t.told {
		t.told = told
		t.yield(Notice{Text: fmt.Sprintf("%d of %d tools are offered: %s", len(chosen), len(all), told)})
	}
	return chosen
}

// leftOut reports whether there is a tool that was not offered. Its call has it
// offered next.
func (t *turn) leftOut(tool string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Contains(t.left, tool)
}

// fitting is the most tools that fit what was said best, in their order. A word
// that a tool shares with it counts one over the number of tools with that word;
// words of the last message count twice. Tools to keep come first, the last one
// before all, and of equal ones the one that is listed first.
func fitting(all []harness.Tool, said, keep []string, most int) []harness.Tool {
	weights := map[string]float64{}
	for i, text := range said {
		for word := range wordsOf(text) {
			weights[word] = max(weights[word], 1)
			if i == len(said)-1 {
				weights[word] = 2
			}
		}
	}
	having := map[string]float64{}
	for _, tool := range all {
		for word := range wordsOf(tool.Name + " " + tool.Description) {
			having[word]++
		}
	}
	type scored struct {
		at, kept int
		score    float64
	}
	list := make([]scored, len(all))
	for i, tool := range all {
		list[i].at = i
		for n, name := range keep {
			if name == tool.Name {
				list[i].kept = n + 1
			}
		}
		for _, word := range slices.Sorted(maps.Keys(wordsOf(tool.Name + " " + tool.Description))) { // floats add up differently in another order
			list[i].score += weights[word] / having[word]
		}
	}
	slices.SortStableFunc(list, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.kept, a.kept), cmp.Compare(b.score, a.score))
	})
	list = list[:min(most, len(list))]
	slices.SortFunc(list, func(a, b scored) int { return cmp.Compare(a.at, b.at) })
	out := make([]harness.Tool, len(list))
	for i, s := range list {
		out[i] = all[s.at]
	}
	return out
}

// wordsOf are the words of a text of three letters or more, in small letters and
// without the s of a plural. buildModel and build_model are two words.
func wordsOf(text string) map[string]bool {
	words := map[string]bool{}
	var word []rune
	end := func() {
		if len(word) > 2 {
			w := strings.ToLower(string(word))
			if len(word) > 3 {
				w = strings.TrimSuffix(w, "s")
			}
			words[w] = true
		}
		word = word[:0]
	}
	for _, c := range text {
		switch {
		case !unicode.IsLetter(c) && !unicode.IsDigit(c):
			end()
			continue
		case unicode.IsUpper(c) && len(word) > 0 && unicode.IsLower(word[len(word)-1]):
			end()
		}
		word = append(word, c)
	}
	end()
	return words
}
