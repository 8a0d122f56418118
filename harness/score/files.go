// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package score

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// Files judges files of the trial's working folder, as a turn or the whole
// conversation leaves them.
type Files struct {
	List []FileText
	Pos  harness.Position
}

// FileText is what is expected of one file.
type FileText struct {
	Path string // in the working folder, with slashes
	// Absent expects that there is no such file.
	Absent bool
	// Text judges what is in it; nil where its existence is enough.
	Text *Answer
}

// after is a text behind what leads to it; empty where there is no text.
func after(lead, text string) string {
	if text == "" {
		return ""
	}
	return lead + text
}

// Score reads the files that were kept. Without one of them it is undecided.
func (s Files) Score(e *Evidence) trials.Verdict {
	v := e.verdict("files", s.Pos)
	var problems []string
	for _, want := range s.List {
		file, known := e.Files[want.Path]
		one := trials.Verdict{State: trials.Passed}
		switch {
		case !known:
			v.State, v.Message = trials.Undecided, fmt.Sprintf("file %q was not kept", want.Path)
			return v
		case file.Problem != "":
			v.State, v.Message = trials.Undecided, fmt.Sprintf("file %q: %s", want.Path, file.Problem)
			return v
		case want.Absent && !file.Absent:
			fail(&one, "want no such file%s", after(", but there is ", file.Instead))
		case want.Absent:
		case file.Absent:
			fail(&one, "want it, but it does not exist%s", after(": ", file.Instead))
		case want.Text == nil && !file.Astray:
		case file.Instead != "":
			fail(&one, "want a regular file, but there is %s", file.Instead)
		default:
			want.Text.judge(&one, e, file.Text, "the text", fmt.Sprintf("%q", prose.Shorten(file.Text, 600)))
		}
		v.Mismatches = append(v.Mismatches, one.Mismatches...)
		switch one.State {
		case trials.Undecided:
			one.Message = fmt.Sprintf("file %q: %s", want.Path, one.Message)
			v.State, v.Message = one.State, one.Message
			return v
		case trials.Failed:
			v.Pos = cmp.Or(firstPos(v.Mismatches), v.Pos)
			v.Files = append(v.Files, want.Path)
			problems = append(problems, fmt.Sprintf("file %q: %s", want.Path, one.Message))
		}
	}
	if v.Score = share(len(s.List)-len(problems), len(s.List)); len(problems) > 0 {
		fail(&v, "%s", strings.Join(problems, "; "))
	}
	return v
}
