// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
)

// tagged finds calls that are spelled in tags: Anthropic's prompt format, and
// what argo-proxy 2 writes where it could not read a call.
func tagged() (invoke, parameter, invalid *regexp.Regexp) {
	return regexp.MustCompile(`(?s)<(?:antml:)?invoke name=["']([^"']+)["']>(.*?)</(?:antml:)?invoke>`),
		regexp.MustCompile(`(?s)<(?:antml:)?parameter name=["']([^"']+)["']>(.*?)</(?:antml:)?parameter>`),
		regexp.MustCompile(`(?s)<invalid>\s*(\{\s*["']name["']\s*:\s*["']([^"']+)["'].*?)</invalid>`)
}

// withTagged adds the calls in tags to those found before.
func withTagged(leaks []leak, text string, known map[string]bool) []leak {
	if !strings.Contains(text, "invoke name=") && !strings.Contains(text, "<invalid>") {
		return leaks
	}
	add := func(l leak) {
		overlaps := func(o leak) bool { return l.start < o.end && o.start < l.end }
		if known[l.call.Name] && !slices.ContainsFunc(leaks, overlaps) {
			leaks = append(leaks, l)
		}
	}
	invoke, parameter, invalid := tagged()
	for _, at := range invoke.FindAllStringSubmatchIndex(text, -1) {
		var members []string
		for _, p := range parameter.FindAllStringSubmatch(text[at[4]:at[5]], -1) {
			members = append(members, quote(p[1])+":"+tagValue(p[2]))
		}
		add(leak{
			call:  harness.ToolCall{Name: text[at[2]:at[3]], Arguments: "{" + strings.Join(members, ",") + "}"},
			start: at[0], end: at[1],
		})
	}
	for _, at := range invalid.FindAllStringSubmatchIndex(text, -1) {
		// The arguments are no JSON: the call is reported, and refused if run.
		add(leak{call: harness.ToolCall{Name: text[at[4]:at[5]], Arguments: text[at[2]:at[3]]}, start: at[0], end: at[1]})
	}
	slices.SortFunc(leaks, func(x, y leak) int { return x.start - y.start })
	return leaks
}

// tagValue is the JSON of a parameter: texts stand bare in their tags.
func tagValue(text string) string {
	if trimmed := strings.TrimSpace(text); json.Valid([]byte(trimmed)) {
		return trimmed
	}
	return quote(text)
}
