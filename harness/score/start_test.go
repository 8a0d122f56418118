// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package score_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness/score"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

func TestStartError(t *testing.T) {
	const said = `connecting to server "lab": exit status 3`
	for _, test := range []struct {
		name string
		want score.StartError
		got  string
		says string // empty: it passes
	}{
		{"contained", score.StartError{Contains: []string{"lab"}, Regex: []*regexp.Regexp{regexp.MustCompile(`status \d`)}}, said, ""},
		{"not contained", score.StartError{Contains: []string{"lab", "no such file"}}, said, `want it to contain "no such file"`},
		{"too much said", score.StartError{NotContains: []string{"exit"}}, said, `want it not to contain "exit"`},
		{"not matched", score.StartError{Regex: []*regexp.Regexp{regexp.MustCompile("^lab")}}, said, "regular expression"},
		{"no error", score.StartError{Contains: []string{"lab"}}, "", "subject opened without one"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := test.want.Score(&score.Evidence{StartError: test.got})
			if (test.says == "") != (v.State == trials.Passed) || !strings.Contains(v.Message, test.says) {
				t.Errorf("%s: %s", v.State, v.Message)
			}
		})
	}
}
