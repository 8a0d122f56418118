// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build real_llm

package live

import (
	"os"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/internal/project"
)

func TestLive(t *testing.T) {
	opts := &run.Options{Subject: agent.Subject(nil), Mode: harness.ModeLive, Name: "gotest", Trials: 1, Out: os.Getenv("REHEARSE_OUT")}
	suites := os.Getenv("REHEARSE_SUITES")
	if suites == "" {
		suites, opts.Tags = "../../scenarios/suites", []string{"utilities", "calendar"}
	}
	if file := os.Getenv("REHEARSE_MODELS"); file != "" {
		entries, err := project.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		opts.Entries, opts.Parallel = entries.Models, len(entries.Models)
	} else {
		base, model := os.Getenv("OPENAI_BASE_URL"), os.Getenv("REHEARSE_MODEL")
		if base == "" || model == "" {
			t.Skip("set OPENAI_BASE_URL and REHEARSE_MODEL to the endpoint and the model to play with, or REHEARSE_MODELS to a file of models")
		}
		opts.BaseURL, opts.Entries, opts.APIKey = base, run.Models(model), os.Getenv("OPENAI_API_KEY")
	}
	run.Test(t, suites, opts)
}
