// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/mockllm"
)

// ended notes the records that an observer is told of.
type ended []trials.Record

func (*ended) Planned(int)             {}
func (e *ended) Ended(r trials.Record) { *e = append(*e, r) }

// TestKeyStaysOut plays against endpoints that repeat the key, and finds it
// nowhere in the run folder, nor in what an observer is told.
func TestKeyStaysOut(t *testing.T) {
	refuses := func(text string) func(string) http.Handler {
		return func(key string) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusUnauthorized)
				_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"message": fmt.Sprintf(text, key)}})
			})
		}
	}
	tests := []struct {
		name, key string
		endpoint  func(key string) http.Handler
		want      harness.Outcome
	}{
		{"error", "sk-live-0123456789abcdef", refuses("Incorrect API key provided: %s."), harness.OutcomeError},
		{"error that is cut", "sk-live-" + strings.Repeat("0123456789abcdef", 10), refuses("Incorrect API key provided: %s. " + strings.Repeat("Ask for another. ", 9)), harness.OutcomeError},
		{"error, key with quotes", `sk-"live"<a/b>&\0123`, refuses("Incorrect API key provided: %s."), harness.OutcomeError},
		{"answer, call and result", `sk-live-"0123456789abcdef`, func(key string) http.Handler { return callsThenSays(key, "21, says "+key) }, harness.OutcomeFailed},
		{"tool that is not there", "sk-live-0123456789abcdef", func(key string) http.Handler {
			return mockllm.New(mockllm.Script{Replies: []mockllm.Reply{{Calls: []mockllm.Call{{Tool: key, Args: map[string]any{key: []any{key}}}}}, {Say: "21"}}}, nil)
		}, harness.OutcomeFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			upstream := httptest.NewServer(tt.endpoint(tt.key))
			defer upstream.Close()
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			var seen ended
			opts := run.Options{
				Mode: harness.ModeLive, BaseURL: upstream.URL + "/v1", APIKey: tt.key, Models: []string{"m"}, Transport: transport,
				Out: t.TempDir(), Observer: &seen,
			}
			run.AllowLive(&opts)
			res := play(t, write(t, liveScenario), opts)
			if len(seen) != 1 || seen[0].Outcome != tt.want {
				t.Fatalf("told of %+v, want one that is %s", seen, tt.want)
			}
			told, err := json.Marshal([]any{seen, res.Records})
			if err != nil {
				t.Fatal(err)
			}
			files := map[string]string{"told": string(told)}
			err = filepath.WalkDir(res.Dir, func(path string, entry fs.DirEntry, err error) error {
				if err == nil && !entry.IsDir() {
					var data []byte
					data, err = os.ReadFile(path)
					files[path] = string(data)
				}
				return err
			})
			if err != nil || len(files) < 4 {
				t.Fatalf("%d files: %v", len(files), err)
			}
			quoted, _ := json.Marshal(tt.key)
			inJSON := strings.Trim(string(quoted), `"`)
			twice, _ := json.Marshal(inJSON)
			forms := []string{tt.key, inJSON, strings.Trim(string(twice), `"`), tt.key[:12]}
			for path, text := range files {
				for _, form := range forms {
					if i := strings.Index(text, form); i >= 0 {
						t.Errorf("%s: the key is in ...%s", path, text[max(0, i-80):min(len(text), i+80)])
						break
					}
				}
			}
			if !strings.Contains(files["told"], "REDACTED-literal-") {
				t.Errorf("no placeholder in %s", files["told"])
			}
		})
	}
}

// TestKeyIsAWord plays with a key that is also a word of the report's own.
func TestKeyIsAWord(t *testing.T) {
	upstream := httptest.NewServer(callsThenSays("Paris", "21 degrees, passed."))
	defer upstream.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	opts := run.Options{Mode: harness.ModeLive, BaseURL: upstream.URL + "/v1", APIKey: "passed", Models: []string{"passed"}, Transport: transport}
	run.AllowLive(&opts)
	rec := one(t, write(t, liveScenario), opts)
	wants(t, rec, harness.OutcomePassed, "")
	if rec.Model != "passed" || len(rec.Answers) != 1 || strings.Contains(rec.Answers[0], "passed") {
		t.Errorf("record %+v", rec)
	}
}
