// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"encoding/base64"
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

func (*ended) Planned(run.Plan)        {}
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
		{"base64 over lines", strings.Repeat("Zq7Xv2Lm9Rt4", 8), func(key string) http.Handler { return callsThenSays(folded(key), "21, says "+folded(key)) }, harness.OutcomeFailed},
		{"tool that is not there", "sk-live-0123456789abcdef", func(key string) http.Handler {
			return newMock(mockllm.Script{Replies: []mockllm.Reply{{Calls: []mockllm.Call{{Tool: key, Unoffered: true, Args: map[string]any{key: []any{key}}}}}, {Say: "21"}}}, nil)
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
				Mode: harness.ModeLive, BaseURL: upstream.URL + "/v1", APIKey: tt.key, Entries: run.Models("m"), Transport: transport,
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
			coded := base64.StdEncoding.EncodeToString([]byte(tt.key))
			forms := []string{coded[8:], coded[:20], tt.key, inJSON, strings.Trim(string(twice), `"`), tt.key[:12]}
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

// folded is a key as the program base64 prints it.
func folded(key string) string {
	coded := base64.StdEncoding.EncodeToString([]byte(key))
	return coded[:76] + "\n" + coded[76:] + "\n"
}

// TestKeyIsAWord plays with a key that is also a word of the report's own.
func TestKeyIsAWord(t *testing.T) {
	upstream := httptest.NewServer(callsThenSays("Paris", "21 degrees, passed."))
	defer upstream.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	opts := run.Options{Mode: harness.ModeLive, BaseURL: upstream.URL + "/v1", APIKey: "passed", Entries: run.Models("passed"), Transport: transport}
	run.AllowLive(&opts)
	rec := one(t, write(t, liveScenario), opts)
	wants(t, rec, harness.OutcomePassed, "")
	if rec.Model != "passed" || len(rec.Answers) != 1 || strings.Contains(rec.Answers[0], "passed") {
		t.Errorf("record %+v", rec)
	}
}

// TestShapesStayOut: what has the known shape of a key is not in the run folder,
// wherever it came from, unless that is asked for; a text that looks random is.
func TestShapesStayOut(t *testing.T) {
	shapes := []string{"sk-" + "proj-9fK2mXv7LpQ4tRw8YbN3cJ6hD0", "ghp" + "_16C7e42F292c6912E7710c838347Ae178B4a", "AKIA" + "IOSFODNN7EXAMPL2", "swordfish77"}
	text := "key " + shapes[0] + ", " + shapes[1] + " or " + shapes[2] + "; the password is " + shapes[3] + ". Zq7Xv2Lm9Rt4Kp8Ws3Nd6Yb1Hc5Jf0G"
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	list := write(t, fmt.Sprintf(`
scenario: s
servers: {kit: {tools: [{name: tell, input: {type: object, properties: {note: {type: string}}}, results: [{text: %s}]}]}}
turns:
  - user: go
    replies: [{calls: [{kit.tell: {note: %s}}]}, {say: %s}]
    expect: [{answer: {contains: [something else]}}]
`, quoted, quoted, quoted))
	folder := func(opts run.Options) string {
		opts.Out = t.TempDir()
		res := play(t, list, opts)
		var all strings.Builder
		err := filepath.WalkDir(res.Dir, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				var data []byte
				data, err = os.ReadFile(path)
				all.Write(data)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all.String()
	}
	without, with := folder(run.Options{KeepWire: true}), folder(run.Options{KeepWire: true, ShowSecrets: true})
	for _, shape := range shapes {
		if strings.Contains(without, shape) || !strings.Contains(with, shape) {
			t.Errorf("%s: in the run folder %v, and %v where it is to be seen", shape, strings.Contains(without, shape), strings.Contains(with, shape))
		}
	}
	if !strings.Contains(without, "Zq7Xv2Lm9Rt4Kp8Ws3Nd6Yb1Hc5Jf0G") {
		t.Error("a guess is taken out")
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(list[0].Pos.File), "rehearse.yaml"), []byte("redact: {runs: false}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(folder(run.Options{}), shapes[0]) {
		t.Error("rehearse.yaml does not turn it off")
	}
}
