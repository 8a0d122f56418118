// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/mockllm"
)

// TestRules shows what somebody sees whose scenarios have rules, against an
// endpoint that gives the third answer to most of them wrong.
func TestRules(t *testing.T) {
	var replies []mockllm.Reply
	for range 4 * 3 { // scenarios and attempts
		replies = append(replies, mockllm.Reply{Say: "hello"})
	}
	replies[2].Say, replies[5].Say, replies[8].Say = "bye", "bye", "bye"
	mock := newMock(mockllm.Script{Replies: replies, Arrival: true}, nil)
	defer mock.Close()
	upstream := httptest.NewServer(mock)
	defer upstream.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	dir := t.TempDir()
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const turns = "\nturns: [{user: hi, expect: [{answer: {equals: hello}}]}]\n"
	put("suite.yaml", "suite: s\nthresholds: {by: {smoke: 0.9}}\n")
	put("a.yaml", "scenario: a\npass: {rate: 0.6}"+turns)
	put("b.yaml", "scenario: b\npass: {at_least: 3}"+turns)
	put("c.yaml", "scenario: c\ntags: [smoke]"+turns)
	put("d.yaml", "scenario: d"+turns)
	out := &strings.Builder{}
	ft := &fakeT{ctx: t.Context(), name: "TestAgent", out: out, state: "PASS"}
	opts := &run.Options{
		Subject: loop{}, Mode: harness.ModeLive, BaseURL: upstream.URL + "/v1", Entries: run.Models("gpt"), Trials: 3, Transport: transport, Out: filepath.Join(dir, "runs"),
	}
	run.AllowLive(opts)
	run.RunTest(ft, dir, opts)
	ft.end()
	runs, err := filepath.Glob(filepath.Join(dir, "runs", "*", "report.html"))
	if err != nil || len(runs) != 1 {
		t.Errorf("reports %q, %v", runs, err)
	}
	got := strings.ReplaceAll(filepath.ToSlash(out.String()), filepath.ToSlash(dir)+"/", "")
	got = regexp.MustCompile(`(?m)^    report: .*\n`).ReplaceAllString(got, "")
	golden(t, "testdata/rules.golden", got+ft.state+"\n")
}

// TestVariantsOfATest: the trials of each variant are subtests of their own and
// columns of their own, also where another suite of the test has none.
func TestVariantsOfATest(t *testing.T) {
	llama := func(a *mockllm.Ask) (bool, error) { return a.Request.Model == "llama", nil }
	mock := newMock(mockllm.Script{Rules: []mockllm.Rule{{When: llama, Reply: mockllm.Reply{Say: "bye"}}, {Reply: mockllm.Reply{Say: "hello"}}}}, nil)
	defer mock.Close()
	upstream := httptest.NewServer(mock)
	defer upstream.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	dir := t.TempDir()
	put := func(name, text string) {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const turns = "\nturns: [{user: hi, expect: [{answer: {equals: hello}}]}]\n"
	put("one/suite.yaml", "suite: one\n")
	put("one/a.yaml", "scenario: a"+turns)
	put("two/suite.yaml", "suite: two\nvariants: {terse: {system: Be brief.}, plain: {}}\n")
	put("two/b.yaml", "scenario: b"+turns)
	put("two/c.yaml", "scenario: c\npass: all"+turns)
	out := &strings.Builder{}
	ft := &fakeT{ctx: t.Context(), name: "TestAgent", out: out, state: "PASS"}
	opts := &run.Options{
		Subject: loop{}, Mode: harness.ModeLive, BaseURL: upstream.URL + "/v1", Entries: run.Models("gpt", "llama"), Trials: 2, Transport: transport, Out: filepath.Join(dir, "runs"),
	}
	run.AllowLive(opts)
	run.RunTest(ft, dir, opts)
	ft.end()
	manifests, err := filepath.Glob(filepath.Join(dir, "runs", "*", trials.ManifestFile))
	if err != nil || len(manifests) != 1 {
		t.Fatalf("manifests %q, %v", manifests, err)
	}
	m, err := trials.ReadManifest(filepath.Dir(manifests[0]))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"terse", "plain"}, m.Variants); diff != "" {
		t.Errorf("variants of the run (-want +got):\n%s", diff)
	}
	got := strings.ReplaceAll(filepath.ToSlash(out.String()), filepath.ToSlash(dir)+"/", "")
	got = regexp.MustCompile(`(?m)^    report: .*\n`).ReplaceAllString(got, "")
	golden(t, "testdata/variants.golden", got+ft.state+"\n")
}

// TestLiveTestKeepsItsRun: a test in mode live writes a run folder and a report
// without being told where, and one in mode mock does not.
func TestLiveTestKeepsItsRun(t *testing.T) {
	mock := newMock(mockllm.Script{Rules: []mockllm.Rule{{Reply: mockllm.Reply{Say: "hello"}}}}, nil)
	defer mock.Close()
	upstream := httptest.NewServer(mock)
	defer upstream.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	t.Chdir(t.TempDir())
	const text = "scenario: s\nturns: [{user: hi, replies: [{say: hello}], expect: [{answer: {equals: hello}}]}]\n"
	if err := os.WriteFile("s.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		mode harness.Mode
		want int
	}{{harness.ModeMock, 0}, {harness.ModeLive, 1}} {
		out := &strings.Builder{}
		ft := &fakeT{ctx: t.Context(), name: "TestAgent", out: out, state: "PASS"}
		opts := &run.Options{Subject: loop{}, Mode: tt.mode, Transport: transport}
		if tt.mode == harness.ModeLive {
			opts.BaseURL, opts.Entries = upstream.URL+"/v1", run.Models("gpt")
		}
		run.AllowLive(opts)
		run.RunTest(ft, "s.yaml", opts)
		ft.end()
		pages, err := filepath.Glob("runs/*/report.html")
		if err != nil || len(pages) != tt.want || ft.state != "PASS" {
			t.Errorf("mode %s: reports %q (%v), want %d; printed\n%s", tt.mode, pages, err, tt.want, out)
		}
	}
}
