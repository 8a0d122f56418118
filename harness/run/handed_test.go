// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// TestHandedStaysOut: what a subject is handed of our environment under a name that
// says secret is in no recording and in no run folder, and what it is handed under
// another name stays.
func TestHandedStaysOut(t *testing.T) {
	t.Setenv("MY_API_TOKEN", "plainsecretWORD7781")
	t.Setenv("MY_PLACE", "plainplaceWORD7781")
	r := recording{
		list: write(t, "scenario: s\nturns: [{user: hi, expect: [{answer: {contains: plainplaceWORD7781}}]}]\n"),
		endpoint: func() http.Handler {
			return newMock(mockllm.Script{Replies: []mockllm.Reply{{Say: "plainsecretWORD7781 at plainplaceWORD7781"}}}, nil)
		},
		opts: run.Options{Out: t.TempDir(), Subjects: []scenarios.Subject{{Name: "a", Subject: agent.Subject(nil), PassEnv: []string{"MY_API_TOKEN", "MY_PLACE"}}}},
	}
	res := r.record(t)
	rec := only(t, res)
	all := files(t, filepath.Dir(rec.Cassette))
	maps.Copy(all, files(t, res.Dir))
	placed := 0
	for name, text := range all {
		if strings.Contains(text, "plainsecretWORD7781") {
			t.Errorf("the secret is in %s:\n%s", name, text)
		}
		if strings.Contains(text, "plainplaceWORD7781") {
			placed++
		}
	}
	if len(all) < 3 || placed < 3 {
		t.Errorf("%d files, of which %d have what is not secret", len(all), placed)
	}
}
