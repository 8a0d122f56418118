// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/mockllm"
)

// TestOtherClients plays the conversation of TestOpenAIClients to the official
// clients of other providers, and of OpenAI for Go.
func TestOtherClients(t *testing.T) {
	bin := t.TempDir()
	build := command(t, "go", "build", "-C", "goclients", "-o", bin+"/", "./...")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the clients for Go: %v\n%s", err, out)
	}
	for _, client := range []struct {
		name, model string
		argv        []string
		modes       [][]string
	}{
		{"anthropic", "rehearse-mock", []string{".venv/bin/python", "clients/anthropic.py"}, [][]string{{}, {"thinking"}}},
		{"anthropic-go", "rehearse-mock", []string{filepath.Join(bin, "anthropic")}, [][]string{{}, {"thinking"}}},
		{"openai-go", "rehearse-mock", []string{filepath.Join(bin, "openai")}, [][]string{{}, {"responses"}}},
		{"genai-go", "models/rehearse-mock", []string{filepath.Join(bin, "genai")}, [][]string{{"gemini-3-pro-preview"}, {"gemini-2.5-flash"}}},
		{"genai", "models/rehearse-mock", []string{".venv/bin/python", "clients/genai.py"}, [][]string{
			{"gemini-3-pro-preview"}, {"gemini-2.5-flash"}, {"gemini-3-pro-preview", "chat"}, {"gemini-2.5-flash", "chat"},
		}},
	} {
		t.Run(client.name+"/refused", func(t *testing.T) {
			m := newMock(t, mockllm.Script{}, nil)
			defer m.Close()
			host, err := mockllm.NewHost("")
			if err != nil {
				t.Fatal(err)
			}
			defer host.Close()
			host.Mount(m)
			argv := slices.Concat(client.argv, []string{m.Root, "refused"})
			if out, err := command(t, argv[0], argv[1:]...).CombinedOutput(); err != nil {
				t.Errorf("%v: %v\n%s", argv, err, out)
			}
			if j := m.Journal(); len(j) != 1 || j[0].Kind != harness.KindRefusal {
				t.Errorf("journal %+v", j)
			}
		})
		for _, mode := range client.modes {
			for _, way := range []string{"plain", "stream"} {
				t.Run(client.name+"/"+way+"/"+strings.Join(mode, "/"), func(t *testing.T) {
					r := serve(t, "llm", "clients/weather.yaml")
					argv := slices.Concat(client.argv, []string{strings.TrimSuffix(r.URL, "/v1"), way}, mode)
					cmd := command(t, argv[0], argv[1:]...)
					var stderr bytes.Buffer
					cmd.Stderr = &stderr
					out, err := cmd.Output()
					if err != nil {
						t.Fatalf("%v: %v\n%s", argv, err, stderr.String())
					}
					want := `{"models": ["` + client.model + `"], "said": "Looking it up.",
						"calls": [{"location": "Paris"}, {"location": "Zürich"}], "answer": "Paris is sunny, Zürich is foggy. ☀🌫"}`
					if diff := cmp.Diff(decode(t, []byte(want)), decode(t, out)); diff != "" {
						t.Errorf("what the client saw (-want +got):\n%s", diff)
					}
					if n := len(journal(t, r)); n != 2 {
						t.Errorf("the journal has %d exchanges, want 2", n)
					}
				})
			}
		}
	}
}

// newMock is a mock model without a socket.
func newMock(t testing.TB, script mockllm.Script, opts *mockllm.Options) *mockllm.Mock {
	t.Helper()
	m, err := mockllm.New(script, opts)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
