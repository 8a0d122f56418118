// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build real_llm

package live

import (
	"os"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
)

func TestLive(t *testing.T) {
	base, model := os.Getenv("OPENAI_BASE_URL"), os.Getenv("REHEARSE_MODEL")
	if base == "" || model == "" {
		t.Skip("set OPENAI_BASE_URL and REHEARSE_MODEL to the endpoint and the model to play with")
	}
	for _, suite := range []string{"utilities", "calendar"} {
		t.Run(suite, func(t *testing.T) {
			run.Test(t, "../../scenarios/suites/"+suite, &run.Options{
				Subject: agent.Subject(nil),
				Mode:    harness.ModeLive,
				BaseURL: base,
				APIKey:  os.Getenv("OPENAI_API_KEY"),
				Models:  run.Models(model),
				Trials:  1,
			})
		})
	}
}
