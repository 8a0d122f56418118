// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package score

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// StartError expects the subject to give up when it is opened, before the first
// turn, with an error that says why. Comparison is case-sensitive.
type StartError struct {
	Contains    []string
	NotContains []string
	Regex       []*regexp.Regexp
	Pos         harness.Position
}

// Score reads the error.
func (s StartError) Score(e *Evidence) trials.Verdict {
	v := e.verdict("start_error", s.Pos)
	if e.StartError == "" {
		fail(&v, "want an error at the start, but the subject opened without one")
		return v
	}
	var problems []string
	for _, want := range s.Contains {
		if !strings.Contains(e.StartError, want) {
			problems = append(problems, fmt.Sprintf("want it to contain %q", want))
		}
	}
	for _, not := range s.NotContains {
		if strings.Contains(e.StartError, not) {
			problems = append(problems, fmt.Sprintf("want it not to contain %q", not))
		}
	}
	for _, re := range s.Regex {
		if !re.MatchString(e.StartError) {
			problems = append(problems, fmt.Sprintf("want it to match the regular expression %q", re))
		}
	}
	if problems != nil {
		fail(&v, "%s, got %q", strings.Join(problems, "; "), prose.Shorten(e.StartError, 600))
	}
	return v
}
