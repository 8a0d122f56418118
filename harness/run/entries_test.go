// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// TestEntries plays one model at two endpoints and with two settings: each entry
// has its own endpoint, key and settings, and is a column of its own.
func TestEntries(t *testing.T) {
	var asked []string
	endpoint := func(name string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var body struct {
				Model       string
				Temperature *float64
				MaxTokens   int    `json:"max_tokens"`
				Reasoning   string `json:"reasoning_effort"`
				Seed        *int64
			}
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				t.Error(err)
			}
			line := fmt.Sprintf("%s %s %s %d %q", name, r.Header.Get("Authorization"), body.Model, body.MaxTokens, body.Reasoning)
			if body.Temperature != nil {
				line += fmt.Sprint(" temperature ", *body.Temperature)
			}
			switch {
			case body.Seed == nil:
				line += " no seed"
			case *body.Seed == 7:
				line += " seed 7"
			default:
				line += " seed"
			}
			asked = append(asked, line)
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hello"}}],
				"usage":{"prompt_tokens":1000000,"completion_tokens":500000,"total_tokens":1500000}}`)
		}))
		t.Cleanup(server.Close)
		return server.URL + "/v1"
	}
	zero, seven := 0.0, int64(7)
	opts := run.Options{
		Subject: agent.Subject(nil), Mode: harness.ModeLive, BaseURL: endpoint("one"), APIKey: "common", Out: t.TempDir(),
		LookupEnv: func(name string) (string, bool) { return "key of two", name == "TWO" },
		Entries: []trials.Model{
			{Label: "plain", Name: "m"},
			{Label: "set", Name: "m", Settings: trials.Settings{Temperature: &zero, MaxTokens: 9, Reasoning: "low", Seed: &seven}},
			{Label: "other", Name: "m", BaseURL: endpoint("two"), Key: "TWO", Settings: trials.Settings{NoSeed: true}, Price: &trials.Price{Input: 2, Output: 4}},
		},
	}
	run.AllowLive(&opts)
	list := several(t, "a")
	res := play(t, list, opts)
	slices.Sort(asked) // in which order they are asked follows from the seed
	slices.SortFunc(res.Records, func(a, b trials.Record) int { return strings.Compare(a.Model, b.Model) })
	if d := cmp.Diff([]string{
		`one Bearer common m 0 "" seed`,
		`one Bearer common m 9 "low" temperature 0 seed 7`,
		`two Bearer key of two m 0 "" no seed`,
	}, asked); d != "" {
		t.Errorf("requests (-want +got):\n%s", d)
	}
	var labels, hashes []string
	for _, rec := range res.Records {
		labels, hashes = append(labels, rec.Model), append(hashes, rec.Hashes.Entry)
		if (rec.Cost != nil) != (rec.Model == "other") || rec.Cost != nil && *rec.Cost != 4 {
			t.Errorf("%s costs %v", rec.Model, rec.Cost)
		}
	}
	slices.Sort(hashes)
	if d := cmp.Diff([]string{"other", "plain", "set"}, labels); d != "" || len(slices.Compact(hashes)) != 3 {
		t.Errorf("hashes %q, columns (-want +got):\n%s", hashes, d)
	}
	text := read(t, res.Dir+"/"+trials.ManifestFile) + read(t, res.Dir+"/"+trials.RecordsFile)
	if strings.Contains(text, "key of two") || !strings.Contains(text, `"key": "TWO"`) {
		t.Errorf("want the name of the variable and not the key in:\n%s", text)
	}

	opts.LookupEnv = noCI
	if _, err := run.Run(t.Context(), list, &opts); err == nil || err.Error() != `model "other" takes its key from the environment variable TWO, which is not set` {
		t.Errorf("without the key: %v", err)
	}
	opts.Entries, opts.Subject = []trials.Model{{Name: "m", Dialect: "messages"}}, chatOnly{opts.Subject}
	if _, err := run.Run(t.Context(), list, &opts); err == nil || !strings.Contains(err.Error(), `has the dialect messages, and this subject speaks only chat`) {
		t.Errorf("a dialect that the agent does not speak: %v", err)
	}
}

// chatOnly is a subject that speaks one dialect.
type chatOnly struct{ harness.Subject }

func (chatOnly) Asks(string) string { return "/v1/chat/completions" }
func (chatOnly) NeedsWorkdir() bool { return false }
