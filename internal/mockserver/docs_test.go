// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockserver_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/mockllm"
)

// TestDocsAssertions sends every assertion of docs/serving.md to the mock that
// it is about.
func TestDocsAssertions(t *testing.T) {
	text, err := os.ReadFile("../../docs/serving.md")
	if err != nil {
		t.Fatal(err)
	}
	llm := open(t, mockllm.Script{Replies: []mockllm.Reply{{Say: "Hello."}}}, nil)
	mcp := openMCP(t, counter(), nil)
	shown := 0
	for line := range strings.Lines(string(text)) {
		_, rest, sent := strings.Cut(line, "-d '")
		if sent {
			line, _, sent = strings.Cut(rest, "'")
		}
		if !sent && !strings.HasPrefix(line, `    {"`) {
			continue
		}
		var assertion map[string]json.RawMessage
		if json.NewDecoder(strings.NewReader(line)).Decode(&assertion) != nil {
			continue
		}
		claims := false
		for _, key := range []string{"that", "calls", "requests", "done", "state", "frames"} {
			claims = claims || assertion[key] != nil
		}
		if !claims {
			continue
		}
		shown++
		body, _ := json.Marshal(assertion)
		judged, why := llm.ask("POST", "/rehearse/verify", string(body))
		if assertion["state"] != nil || assertion["frames"] != nil {
			judged, why = mcp.ask("POST", "/rehearse/verify", string(body))
		}
		if judged != 200 {
			t.Errorf("%s: %d %s", body, judged, why)
		}
	}
	if shown < 11 {
		t.Errorf("docs/serving.md shows %d assertions: are they written differently now?", shown)
	}
}
