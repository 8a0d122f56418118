// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/tools"
)

// gemflux is a toolbox with the tools of a server of metabolic models.
type gemflux struct{}

func (gemflux) Tools(context.Context) ([]harness.Tool, error) {
	return []harness.Tool{
		{Name: "build_media", Description: "Create a growth medium of compounds."},
		{Name: "build_model", Description: "Build a metabolic model of protein sequences or a genome."},
		{Name: "gapfill_model", Description: "Add reactions so that a model grows on a medium."},
		{Name: "run_fba", Description: "Run flux balance analysis on a model and a medium."},
		{Name: "getCompoundName", Description: "Name, formula and mass of a compound."},
		{Name: "search_compounds", Description: "Search compounds by text."},
		{Name: "list_models", Description: "List the models."},
	}, nil
}

func (gemflux) Call(_ context.Context, name, _ string) (tools.Result, error) {
	return tools.Result{Server: "gemflux", Text: "ran " + name}, nil
}

func TestSelectTools(t *testing.T) {
	m := &script{replies: [][]any{
		called(call("c1", "build_model", "{}")), said("built"),
		called(call("c2", "run_fba", "{}")), called(call("c3", "run_fba", `{"a":1}`)), said("grows"),
		called(call("c4", "no_tool", "{}")), said("no"),
	}}
	c := New(Config{Model: m, Name: "m", Tools: gemflux{}, SelectTools: 2}).Conversation()
	var notices []string
	send := func(text string) {
		t.Helper()
		for event, err := range c.Send(t.Context(), text) {
			if err != nil {
				t.Fatal(err)
			}
			if n, ok := event.(Notice); ok {
				notices = append(notices, n.Text)
			}
		}
	}
	send("Build a model for the E. coli genome.")
	send("Which compounds have this formula?")
	send("Go on.")
	var offered []string
	for _, asked := range m.asked {
		var names []string
		for _, tool := range asked.Tools {
			names = append(names, tool.Name)
		}
		offered = append(offered, strings.Join(names, " "))
	}
	if d := cmp.Diff([]string{
		"build_model list_models", "build_model list_models",
		"build_model getCompoundName",
		"run_fba getCompoundName", "run_fba getCompoundName", // what was asked for comes, and stays for the turn
		"build_model getCompoundName", "build_model getCompoundName",
	}, offered); d != "" {
		t.Errorf("offered (-want +got):\n%s", d)
	}
	var results []string
	for _, r := range c.Calls() {
		results = append(results, r.Result)
	}
	if d := cmp.Diff([]string{
		"ran build_model", `Error: the tool "run_fba" was not offered; it is offered now`, "ran run_fba",
		`Error: there is no tool "no_tool"; the tools are build_model, getCompoundName`,
	}, results); d != "" {
		t.Errorf("results (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{
		"2 of 7 tools are offered: build_model, list_models", "2 of 7 tools are offered: build_model, getCompoundName",
		"2 of 7 tools are offered: run_fba, getCompoundName", "2 of 7 tools are offered: build_model, getCompoundName",
	}, notices); d != "" {
		t.Errorf("notices (-want +got):\n%s", d)
	}
	c.Reset()
	m.replies = [][]any{said("x")}
	send("List all models.")
	if got := m.asked[len(m.asked)-1].Tools; len(got) != 2 || got[1].Name != "list_models" {
		t.Errorf("after a reset: %v", got)
	}
}

func TestFitting(t *testing.T) {
	all, _ := gemflux{}.Tools(t.Context())
	for _, tc := range []struct {
		name       string
		said, keep []string
		most       int
		want       string
	}{
		{"a word of the name", []string{"Please gapfill it"}, nil, 1, "gapfill_model"},
		{"a rare word over a common one", []string{"the model and its fluxes: fba"}, nil, 1, "run_fba"},
		{"a plural, and small letters", []string{"MASS OF THE COMPOUND"}, nil, 1, "getCompoundName"},
		{"the last message over earlier ones", []string{"gapfill", "formula mass"}, nil, 1, "getCompoundName"},
		{"earlier messages count", []string{"gapfill", "ok"}, nil, 1, "gapfill_model"},
		{"nothing fits", []string{"hi"}, nil, 2, "build_media build_model"},
		{"kept", []string{"gapfill"}, []string{"list_models"}, 2, "gapfill_model list_models"},
		{"more are kept than may be", []string{"x"}, []string{"list_models", "run_fba", "build_media"}, 2, "build_media run_fba"},
		{"fewer than may be", []string{"x"}, nil, 99, "build_media build_model gapfill_model run_fba getCompoundName search_compounds list_models"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for range 20 { // the same each time
				var names []string
				for _, tool := range fitting(all, tc.said, tc.keep, tc.most) {
					names = append(names, tool.Name)
				}
				if got := strings.Join(names, " "); got != tc.want {
					t.Fatalf("got %s, want %s", got, tc.want)
				}
			}
		})
	}
}
