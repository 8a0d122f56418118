// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package score_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/score"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

func TestFiles(t *testing.T) {
	files := map[string]trials.File{
		"a.txt": {Text: "sunny\n"}, "b.txt": {Absent: true}, "c.bin": {Problem: "input/output error"},
		"dir": {Instead: "a folder"}, "away": {Instead: "the link \"away\", which leads out of the working folder", Astray: true},
		"lost": {Absent: true, Instead: "the working folder is gone"},
	}
	text := func(contains string) *score.Answer { return &score.Answer{Contains: templates(t, contains)} }
	for _, tt := range []struct {
		name    string
		list    []score.FileText
		want    trials.State
		message string
	}{
		{"exists", []score.FileText{{Path: "a.txt"}}, trials.Passed, ""},
		{"does not exist", []score.FileText{{Path: "b.txt"}}, trials.Failed, `file "b.txt": want it, but it does not exist`},
		{"absent", []score.FileText{{Path: "b.txt", Absent: true}}, trials.Passed, ""},
		{"absent, and exists", []score.FileText{{Path: "a.txt", Absent: true}}, trials.Failed, `file "a.txt": want no such file`},
		{"text", []score.FileText{{Path: "a.txt", Text: text("sun")}}, trials.Passed, ""},
		{"another text", []score.FileText{{Path: "a.txt", Text: text("rain")}}, trials.Failed, `file "a.txt": want it to contain "rain", got "sunny\n"`},
		{"text of none", []score.FileText{{Path: "b.txt", Text: text("rain")}}, trials.Failed, "does not exist"},
		{"two", []score.FileText{{Path: "a.txt"}, {Path: "b.txt"}}, trials.Failed, `file "b.txt"`},
		{"unreadable", []score.FileText{{Path: "c.bin", Text: text("x")}}, trials.Undecided, `file "c.bin": input/output error`},
		{"nobody knows whether it exists", []score.FileText{{Path: "c.bin"}}, trials.Undecided, "input/output error"},
		{"a folder exists", []score.FileText{{Path: "dir"}}, trials.Passed, ""},
		{"a folder has no text", []score.FileText{{Path: "dir", Text: text("x")}}, trials.Failed, `file "dir": want a regular file, but there is a folder`},
		{"a folder is not absent", []score.FileText{{Path: "dir", Absent: true}}, trials.Failed, `file "dir": want no such file, but there is a folder`},
		{"a link that leads out is no file", []score.FileText{{Path: "away"}}, trials.Failed, `file "away": want a regular file, but there is the link "away", which leads out`},
		{"a link that leads out is not absent", []score.FileText{{Path: "away", Absent: true}}, trials.Failed, `but there is the link "away"`},
		{"its folder is gone", []score.FileText{{Path: "lost", Text: text("x")}}, trials.Failed, `file "lost": want it, but it does not exist: the working folder is gone`},
		{"absent with its folder", []score.FileText{{Path: "lost", Absent: true}}, trials.Passed, ""},
		{"not kept", []score.FileText{{Path: "d.txt", Absent: true}}, trials.Undecided, `file "d.txt" was not kept`},
		{"cannot be computed", []score.FileText{{Path: "a.txt", Text: text("{{1/0}}")}}, trials.Undecided, `file "a.txt": `},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := score.Files{List: tt.list}.Score(&score.Evidence{Files: files})
			if v.Check != "files" || v.State != tt.want || !strings.Contains(v.Message, tt.message) {
				t.Errorf("%s %s %q, want %s with %q", v.Check, v.State, v.Message, tt.want, tt.message)
			}
		})
	}
}

// TestPartOfTheFiles: each file that is as wanted counts, and the verdict stands
// where that stands which one of them has not.
func TestPartOfTheFiles(t *testing.T) {
	files := map[string]trials.File{"a.json": {Text: `{"n":1}`}, "b.json": {Text: `{"n":2}`}, "c.json": {Text: `{"n":3}`}}
	list := func(names ...string) score.Files {
		s := score.Files{Pos: harness.Position{File: "a.yaml", Line: 1}}
		for i, name := range names {
			s.List = append(s.List, score.FileText{Path: name, Text: &score.Answer{JSON: placed(t, `{"n":1}`, name, 7+i)}})
		}
		return s
	}
	for _, tt := range []struct {
		name       string
		s          score.Files
		score      float64
		line       int
		mismatches int
		failed     []string
	}{
		{"all", list("a.json"), 1, 1, 0, nil},
		{"one of two", list("a.json", "b.json"), 0.5, 8, 1, []string{"b.json"}},
		{"none", list("b.json", "c.json"), 0, 7, 2, []string{"b.json", "c.json"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := tt.s.Score(&score.Evidence{Files: files})
			if *v.Score != tt.score || v.Pos.Line != tt.line || len(v.Mismatches) != tt.mismatches {
				t.Errorf("the score %v, line %d, %d mismatches; want %v, line %d, %d mismatches", *v.Score, v.Pos.Line, len(v.Mismatches), tt.score, tt.line, tt.mismatches)
			}
			if !slices.Equal(v.Files, tt.failed) {
				t.Errorf("failed files %q, want %q", v.Files, tt.failed)
			}
		})
	}
}

// TestStopsOfSilence has subjects that report nothing: the journal says whether
// they were left without an answer.
func TestStopsOfSilence(t *testing.T) {
	exchange := func(status int, fault, text string) []harness.Exchange {
		return []harness.Exchange{{Kind: harness.KindReply, Turn: 1, Attempt: 1, Status: status, Fault: fault, Delivered: text != "", Answer: harness.Message{Text: text}}}
	}
	for _, tt := range []struct {
		name   string
		reason harness.StopReason
		last   []harness.Exchange
		want   trials.State
	}{
		{"a 401", harness.StopAuth, exchange(401, "unauthorized", ""), trials.Passed},
		{"a 404 for a 401", harness.StopAuth, exchange(404, "model_not_found", ""), trials.Failed},
		{"an answer", harness.StopAuth, exchange(200, "", "hello"), trials.Failed},
		{"any", harness.StopAnyError, exchange(401, "unauthorized", ""), trials.Passed},
		{"any, and an answer", harness.StopAnyError, exchange(200, "", "hello"), trials.Failed},
		{"a stop of its own", harness.StopModelCalls, exchange(401, "unauthorized", ""), trials.Skipped},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if v := (score.Stops{Reason: tt.reason}).Score(&score.Evidence{Turn: 1, Exchanges: tt.last}); v.State != tt.want {
				t.Errorf("%s %q, want %s", v.State, v.Message, tt.want)
			}
		})
	}
}
