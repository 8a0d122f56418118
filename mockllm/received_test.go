// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

// TestJournalHasTheWire has that the journal tells what a client was sent, and
// not what a fault has made it lose.
func TestJournalHasTheWire(t *testing.T) {
	calls := mockllm.Reply{Calls: []mockllm.Call{
		{Tool: "add", Args: map[string]int{"a": 1}}, {Tool: "add", Args: map[string]int{"a": 2}},
	}}
	text := mockllm.Reply{Say: "One two three four five."}
	tests := []struct {
		name  string
		reply mockllm.Reply
		fault mockllm.Fault
		want  string // the text, then name and arguments of each call
	}{
		{"none", text, mockllm.Fault{Kind: fault.ConnectionClose}, "One two three four five."},
		{"arguments", calls, mockllm.Fault{Kind: fault.BadArguments, Form: "trailing_comma"}, `|add {"a":1,}|add {"a":2}`},
		{"tool", calls, mockllm.Fault{Kind: fault.UnknownTool}, `|no_such_tool {"a":1}|add {"a":2}`},
		{"name", calls, mockllm.Fault{Kind: fault.MissingName}, `| {"a":1}|add {"a":2}`},
		{"ids", calls, mockllm.Fault{Kind: fault.MissingID, Form: "absent"}, `|add {"a":1}|add {"a":2}`},
		{"leak", calls, mockllm.Fault{Kind: fault.LeakedCall, Form: "json"}, "I'll look.\n{\"name\": \"add\", \"arguments\": {\"a\":1}}\n{\"name\": \"add\", \"arguments\": {\"a\":2}}"},
		{"ignored", calls, mockllm.Fault{Kind: fault.ToolsIgnored, Body: "No tools."}, "No tools."},
		{"both", calls, mockllm.Fault{Kind: fault.TextAndCalls, Body: "Wait."}, `Wait.|add {"a":1}|add {"a":2}`},
		{"other text", text, mockllm.Fault{Kind: fault.OtherText, Body: "Notice."}, "Notice."},
		{"empty", text, mockllm.Fault{Kind: fault.EmptyReply}, ""},
		{"garbage", text, mockllm.Fault{Kind: fault.MalformedJSON, Form: "garbage"}, ""},
		{"NaN", calls, mockllm.Fault{Kind: fault.MalformedJSON, Form: "nan"}, `|add {"a":1}|add {"a":2}`}, // Python reads it
		{"bytes", text, mockllm.Fault{Kind: fault.InvalidUTF8}, "One two thre\ufffd(\ufffde four five."},
		{"twice", text, mockllm.Fault{Kind: fault.DuplicateChunk}, "One two three four four five."},
		{"order", text, mockllm.Fault{Kind: fault.ReorderedChunks}, "One two three five four."},
	}
	for _, tt := range tests {
		for _, stream := range []bool{true, false} {
			if !tt.fault.Applies(stream) {
				continue
			}
			t.Run(fmt.Sprintf("%s stream=%v", tt.name, stream), func(t *testing.T) {
				reply := tt.reply
				reply.Faults = []mockllm.Fault{tt.fault}
				m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{reply}}, nil)
				defer m.Close()
				client := &http.Client{Transport: m.Transport()}
				body := fmt.Sprintf(`{"model":"m","stream":%v,"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"add"}}]}`, stream)
				res, err := client.Post(m.URL+"/chat/completions", "application/json", strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				if _, err := io.Copy(io.Discard, res.Body); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, saidIn(m.Journal()[0].Answer)); diff != "" {
					t.Errorf("the journal's answer (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func saidIn(m harness.Message) string {
	out := m.Text
	for _, c := range m.Calls {
		out += "|" + c.Name + " " + c.Arguments
	}
	return out
}

// TestJournalHasTheWireOfAllDialects holds the same for what a fault does to
// the frames of the other dialects: the journal has what their clients read.
func TestJournalHasTheWireOfAllDialects(t *testing.T) {
	for _, tt := range []struct{ path, body, want string }{
		{"/v1/messages", `{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"hi"}]}`, "One two three four four five."},
		{"/v1beta/models/m:streamGenerateContent?alt=sse", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`, "One two three four four five."},
		// The text comes once more at the end, and that is what clients go by.
		{"/v1/responses", `{"model":"m","stream":true,"input":"hi"}`, "One two three four five."},
	} {
		m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{{Say: "One two three four five.", Faults: []mockllm.Fault{{Kind: fault.DuplicateChunk}}}}}, nil)
		client := &http.Client{Transport: m.Transport()}
		res, err := client.Post(m.Root+tt.path, "application/json", strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d, %v: %s", tt.path, res.StatusCode, err, raw)
		}
		x := m.Journal()[0]
		if x.Answer.Text != tt.want {
			t.Errorf("%s: journal has %q, want %q, of\n%s", tt.path, x.Answer.Text, tt.want, raw)
		}
		if path, _, _ := strings.Cut(tt.path, "?"); x.Path != path || x.Dialect == "" || x.Headers["content-type"] != "application/json" {
			t.Errorf("%s: journal has path %q, dialect %q, headers %v", tt.path, x.Path, x.Dialect, x.Headers)
		}
		m.Close()
	}
}

// TestUsageOfChanged: the journal counts a reply whose ids are left out, also in
// a stream that does not tell its usage.
func TestUsageOfChanged(t *testing.T) {
	m := scripted(t, mockllm.Script{
		Replies:   []mockllm.Reply{{Calls: []mockllm.Call{{Tool: "find"}}}},
		Fragments: &mockllm.Fragments{ID: mockllm.PlaceNever},
	}, nil)
	defer m.Close()
	res, err := (&http.Client{Transport: m.Transport()}).Post(m.URL+"/chat/completions", "application/json",
		strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if x := m.Journal()[0]; x.Usage.PromptTokens == 0 || x.Usage.CompletionTokens == 0 || x.Answer.Calls[0].ID != "" {
		t.Errorf("usage %+v, calls %+v", x.Usage, x.Answer.Calls)
	}
}
