// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/model"
)

// newModel makes the client of a provider on a base URL that ends in /v1.
type newModel func(url string, rt http.RoundTripper, clock harness.Clock) model.Model

func chatModel(url string, rt http.RoundTripper, clock harness.Clock) model.Model {
	return model.NewOpenAI(model.Config{BaseURL: url, Transport: rt, Clock: clock})
}

func responsesModel(url string, rt http.RoundTripper, clock harness.Clock) model.Model {
	return model.NewResponses(model.Config{BaseURL: url, Transport: rt, Clock: clock})
}

func anthropicModel(url string, rt http.RoundTripper, clock harness.Clock) model.Model {
	return model.NewAnthropic(model.Config{BaseURL: url, Transport: rt, Clock: clock})
}

func geminiModel(url string, rt http.RoundTripper, clock harness.Clock) model.Model {
	return model.NewGemini(model.Config{BaseURL: strings.TrimSuffix(url, "/v1"), Transport: rt, Clock: clock})
}

// testedProvider is a provider beside chat completions.
type testedProvider struct {
	name string // of the dialect
	open newModel
	// model is one that thinks, and thoughts says that the API wants the text of
	// the thoughts back, not only what signs them.
	model    string
	thoughts bool
}

func providers() []testedProvider {
	return []testedProvider{
		{"responses", responsesModel, "gpt-5", true},
		{"messages", anthropicModel, "claude-sonnet-4-5", true},
		{"gemini", geminiModel, "gemini-3-pro", false},
	}
}

// pieces is how much was taken back, which depends on how a stream is cut.
var pieces = regexp.MustCompile(`\d+ characters? `)

// TestProviders holds the conversation of TestEveryFault with each provider,
// with each fault on each reply, streamed and not. What must hold for chat
// completions must hold for all, and where the user sees something else than
// over chat completions, testdata/providers.txt says so.
func TestProviders(t *testing.T) {
	host := newLoopback(t)
	var same int
	var rows strings.Builder
	for _, v := range append([]variant{{name: "no fault"}}, variants()...) {
		for _, stream := range []bool{true, false} {
			if v.fault.Kind != "" && !v.fault.Applies(stream) {
				continue
			}
			for reply, at := range []string{1: "call", 2: "answer"} {
				if at == "" || v.calls && reply == 2 {
					continue
				}
				want := converse(t, host, chatModel, v.fault, stream, reply).seen()
				for _, p := range providers() {
					c := converse(t, host, p.open, v.fault, stream, reply)
					c.provider = p.name
					c.check(t)
					if got := c.seen(); pieces.ReplaceAllString(got, "") != pieces.ReplaceAllString(want, "") {
						fmt.Fprintf(&rows, "%s, %s, %s, %s: %s\n\tchat: %s\n", v.name, map[bool]string{true: "stream", false: "plain"}[stream], at, p.name, got, want)
					} else {
						same++
					}
				}
			}
		}
	}
	checkProviders(t, fmt.Sprintf("the same as over chat completions: %d\n\n%s", same, rows.String()))
}

func checkProviders(t *testing.T, want string) {
	t.Helper()
	const path = "testdata/providers.txt"
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is stale; go test ./harness/agent -run Providers -update writes it (-want +got):\n%s", path, diff)
	}
}
