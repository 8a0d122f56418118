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
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/dialects"
	"github.com/rehearse-dev/rehearse/mockllm"
)

// TestJournalsAlike holds that a reply is the same in the mock's journal, which
// knows the script, and to the reader of replies, which has the bytes: so that
// a scenario is judged alike against a mock and against a real endpoint.
func TestJournalsAlike(t *testing.T) {
	call := func(a int) mockllm.Call { return mockllm.Call{Tool: "add", Args: map[string]int{"a": a}} }
	replies := []struct {
		name  string
		reply mockllm.Reply
		not   string // the dialects that cannot say it
	}{
		{name: "text", reply: mockllm.Reply{Say: "One two \U0001f600 three."}},
		{name: "calls", reply: mockllm.Reply{Calls: []mockllm.Call{call(1), call(2)}}},
		{name: "text and calls", reply: mockllm.Reply{Say: "Wait.", Calls: []mockllm.Call{call(1)}}},
		{name: "reasoning", reply: mockllm.Reply{Reasoning: "Hm, well.", Say: "Yes."}, not: "responses messages gemini"}, // only where a request asks for it
		{name: "length", reply: mockllm.Reply{Say: "One two", Finish: "length"}},
		{name: "filter", reply: mockllm.Reply{Say: "One", Finish: "content_filter"}},
		{name: "nothing", reply: mockllm.Reply{Say: ""}},
	}
	const tools = `"name":"add","description":"adds"`
	asks := []struct{ name, path, stream, body string }{
		{"chat", "/v1/chat/completions", "/v1/chat/completions", `{"model":"gpt-4o","stream":%v,"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{` + tools + `}}]}`},
		{"responses", "/v1/responses", "/v1/responses", `{"model":"gpt-4o","stream":%v,"input":"hi","tools":[{"type":"function",` + tools + `,"parameters":{"type":"object","properties":{}}}]}`},
		{"messages", "/v1/messages", "/v1/messages", `{"model":"claude-sonnet-4-5","max_tokens":99,"stream":%v,"messages":[{"role":"user","content":"hi"}],"tools":[{` + tools + `,"input_schema":{"type":"object"}}]}`},
		{"gemini", "/v1beta/models/gemini-3-pro:generateContent", "/v1beta/models/gemini-3-pro:streamGenerateContent", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[{` + tools + `}]}]}`},
	}
	for _, d := range asks {
		for _, r := range replies {
			if strings.Contains(r.not, d.name) {
				continue // the dialect cannot say it unasked
			}
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %s stream=%v", d.name, r.name, stream), func(t *testing.T) {
					m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{r.reply}}, nil)
					defer m.Close()
					path, body := d.path, d.body
					if stream {
						path = d.stream
					}
					if strings.Contains(body, "%v") {
						body = fmt.Sprintf(body, stream)
					}
					res, err := (&http.Client{Transport: m.Transport()}).Post(m.Root+path, "application/json", strings.NewReader(body))
					if err != nil {
						t.Fatal(err)
					}
					defer res.Body.Close()
					raw, err := io.ReadAll(res.Body)
					if err != nil || res.StatusCode != http.StatusOK {
						t.Fatalf("%d, %v: %s", res.StatusCode, err, raw)
					}
					got, err := dialect.ReadAll(dialects.Named(d.name), res.Header, raw, nil, dialect.Limits{})
					if err != nil {
						t.Fatalf("%v: %s", err, raw)
					}
					want := m.Journal()[0]
					if want.Dialect != d.name {
						t.Errorf("dialect %q, want %q", want.Dialect, d.name)
					}
					usage := want.Usage
					if d.name == "chat" && stream {
						usage = harness.Usage{} // it was not asked for
					}
					for i := range got.Message.Calls {
						got.Message.Calls[i].Extra = "" // signatures
					}
					type alike struct {
						Message       harness.Message
						Finish, Model string
						Usage         harness.Usage
					}
					if diff := cmp.Diff(alike{want.Answer, want.FinishReason, want.Model, usage}, alike{got.Message, got.Finish, got.Model, got.Usage}); diff != "" {
						t.Errorf("journal, reader (-journal +reader):\n%s\n%s", diff, raw)
					}
				})
			}
		}
	}
}

// scripted is a mock without a socket.
func scripted(t testing.TB, script mockllm.Script, opts *mockllm.Options) *mockllm.Mock {
	t.Helper()
	m, err := mockllm.New(script, opts)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
