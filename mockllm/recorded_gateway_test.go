// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRecordedGateway asks the mock of the Argo Gateway what the real one was
// asked, and compares the answers by shape.
func TestRecordedGateway(t *testing.T) {
	dir := filepath.Join(recordedData(t), "argo-captures")
	metas, err := filepath.Glob(filepath.Join(dir, "*", "*.meta.json"))
	if err != nil || len(metas) == 0 {
		t.Fatalf("no captures in %s: %v", dir, err)
	}
	listed := exceptions(t)
	same, differs := 0, 0
	for _, meta := range metas {
		c := readCapture(t, meta)
		t.Run(c.name, func(t *testing.T) {
			got := play(t, "argo-gateway", c)
			got.closed = false // captures do not say
			diff := cmp.Diff(c.want.shape(), got.shape())
			name := "argo-gateway/" + c.name
			switch reason, known := listed[name]; {
			case diff == "" && known:
				t.Errorf("%s lists %s (%s), which is reproduced", notReproduced, name, reason)
			case diff == "":
				same++
			case known:
				differs++
			default:
				t.Errorf("differs from %s (-captured +mock):\n%s", meta, diff)
			}
		})
	}
	fmt.Printf("argo-gateway: %d captures reproduced, %d listed\n", same, differs)
}

// readCapture reads one capture as a case: what came back is both what is
// wanted and what the model is told to say.
func readCapture(t *testing.T, file string) *recordedCase {
	t.Helper()
	stem := strings.TrimSuffix(file, ".meta.json")
	var meta struct {
		URL     string
		Status  int                 `json:"status_code"`
		Headers map[string][]string `json:"response_headers"`
	}
	readJSON(t, file, &meta)
	u, err := url.Parse(meta.URL)
	if err != nil {
		t.Fatal(err)
	}
	want := &response{status: fmt.Sprintf("HTTP/1.1 %d %s", meta.Status, http.StatusText(meta.Status)), header: map[string]string{}}
	for k, v := range meta.Headers {
		want.header[strings.ToLower(k)] = v[0]
	}
	if want.body, err = os.ReadFile(stem + ".response.json"); err != nil {
		want.body, err = os.ReadFile(stem + ".stream.txt")
		want.chunked = true
		want.header["transfer-encoding"] = "chunked" // net/http took it away
	}
	if err != nil {
		t.Fatal(err)
	}
	c := &recordedCase{
		name: filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(stem), method: http.MethodPost, path: u.Path,
		want: want, gateway: []gatewayAnswer{{response: want}},
	}
	if strings.Contains(u.Path, "/models") {
		c.method = http.MethodGet
	} else {
		c.body = captureRequest(t, stem, u.Path)
	}
	c.request = fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", c.method, u.Path, len(c.body), c.body)
	return c
}

// captureRequest is the request of a capture: kept beside it, or made of what
// the case says.
func captureRequest(t *testing.T, stem, path string) string {
	t.Helper()
	dir := filepath.Dir(stem)
	target := strings.TrimSuffix(filepath.Base(stem), "-stream")
	var req map[string]any
	for _, file := range []string{stem + ".capture.request.json", stem + ".request.json", filepath.Join(dir, target+".request.json"), filepath.Join(dir, "ingress.json")} {
		if _, err := os.Stat(file); err == nil {
			readJSON(t, file, &req)
			break
		}
	}
	var info struct{ Models map[string]string }
	readJSON(t, filepath.Join(dir, "case.json"), &info)
	if m := info.Models[target]; m != "" {
		req["model"] = m
	}
	if strings.HasSuffix(path, "/messages") {
		req["max_tokens"] = 1024
		claudeTools(req)
	}
	delete(req, "tool_choice")
	req["stream"] = strings.HasSuffix(stem, "-stream")
	b, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// claudeTools spells the tools and the history of an OpenAI request as
// Anthropic has them.
func claudeTools(req map[string]any) {
	tools, _ := req["tools"].([]any)
	for i, tool := range tools {
		if f, ok := tool.(map[string]any)["function"].(map[string]any); ok {
			tools[i] = map[string]any{"name": f["name"], "description": f["description"], "input_schema": f["parameters"]}
		}
	}
	if tools != nil { // the history does not matter to the shape of the answer
		req["messages"] = []any{map[string]any{"role": "user", "content": "Weather in Chicago?"}}
	}
}

func readJSON(t *testing.T, file string, v any) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
