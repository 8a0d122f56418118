// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/mockllm"
)

// TestTwoRuns: two servers of one script give the same bytes to the same
// requests, heads and all, in every dialect.
func TestTwoRuns(t *testing.T) {
	const contents = `"contents":[{"role":"user","parts":[{"text":"Hello"}]}]`
	const messages = `"messages":[{"role":"user","content":"Hello"}]`
	requests := []struct{ path, body string }{
		{"/v1/chat/completions", `{"model":"m",` + messages + `}`},
		{"/v1/chat/completions", `{"model":"m","stream":true,` + messages + `}`},
		{"/v1/responses", `{"model":"m","stream":true,"input":"Hello"}`},
		{"/v1/messages", `{"model":"m","max_tokens":99,"stream":true,` + messages + `}`},
		{"/v1beta/models/m:generateContent", `{` + contents + `}`},
		{"/v1beta/models/m:streamGenerateContent?alt=sse", `{` + contents + `}`},
		{"/v1/completions", `{"model":"m","prompt":"Hello"}`},
		{"/v1/embeddings", `{"model":"m","input":"Hello"}`},
	}
	play := func() []string {
		h, err := mockllm.NewHost("")
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		m := scripted(t, mockllm.Script{
			Arrival: true, Fragments: &mockllm.Fragments{Seed: 5, Unit: mockllm.UnitByte, Max: 6, Writes: 9},
			Replies: []mockllm.Reply{{Say: "Hello to you, Zürich.", Reasoning: "Be kind.", Repeat: len(requests) + 1}},
		}, &mockllm.Options{Seed: 7})
		defer m.Close()
		base, _ := h.Mount(m)
		root := strings.TrimSuffix(strings.TrimPrefix(base, "http://"+h.Addr()), "/v1")
		var out []string
		for _, r := range requests {
			out = append(out, exchange(t, h.Addr(), "POST", root+r.path, r.body))
		}
		var journal []map[string]any
		raw, err := json.Marshal(m.Journal())
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &journal); err != nil {
			t.Fatal(err)
		}
		for _, x := range journal { // what is measured
			delete(x, "start")
			delete(x, "duration_ns")
		}
		raw, err = json.Marshal(journal)
		if err != nil {
			t.Fatal(err)
		}
		return append(out, string(raw))
	}
	first, second := play(), play()
	if d := cmp.Diff(first, second); d != "" {
		t.Errorf("two runs differ:\n%s", d)
	}
	for i, answer := range first[:len(requests)] {
		if !strings.Contains(answer, " 200 OK") {
			t.Errorf("%s: %s", requests[i].path, answer)
		}
	}
}
