// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/internal/key"
	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/mockllm"
)

// TestProvidersAndSDKs holds one conversation as the vendor's SDK holds it and
// as our provider does, plain and streamed. Their requests are the same but for
// the differences that are listed here.
func TestProvidersAndSDKs(t *testing.T) {
	bin := t.TempDir()
	if out, err := command(t, "go", "build", "-C", "goclients", "-o", bin+"/", "./...").CombinedOutput(); err != nil {
		t.Fatalf("building the clients for Go: %v\n%s", err, out)
	}
	sizes(t, bin)
	type provider struct {
		name, program string
		args          []string
		request       model.Request
		open          func(root string) model.Model
		// differ are the beginnings of paths that may differ, and why. What the
		// messages mean is the same there too.
		differ map[string]string
	}
	const (
		open   = `{"type":"object","properties":{"location":{"type":"string"}},"required":["location"]}`
		closed = `{"type":"object","properties":{"location":{"type":"string"}},"required":["location"],"additionalProperties":false}`
		stored = "the SDK's program has the endpoint keep the conversation"
	)
	tool := func(schema string) []harness.Tool {
		return []harness.Tool{{Name: "get_weather", Description: "The weather of a city.", Schema: json.RawMessage(schema)}}
	}
	inMessages := map[string]string{"body.messages[2].content": "the SDK writes a result as a list of one text, and says that it is no error"}
	inGemini := map[string]string{
		"body.generationConfig": "the SDK sends one without settings",
		"body.contents[":        "the SDK sends back thoughts that nobody signed, a stream in the pieces in which it came, and no ids of its own",
	}
	newAnthropic := func(root string) model.Model {
		return model.NewAnthropic(model.Config{BaseURL: root, APIKey: "unused"})
	}
	newGemini := func(root string) model.Model { return model.NewGemini(model.Config{BaseURL: root, APIKey: "unused"}) }
	for _, p := range []provider{
		{"messages", "anthropic", nil, model.Request{Model: "mock", MaxTokens: 2048, Tools: tool(open)}, newAnthropic, inMessages},
		{"messages, thinking", "anthropic", []string{"thinking"}, model.Request{Model: "mock", MaxTokens: 1024, Reasoning: "minimal", Tools: tool(open)}, newAnthropic, inMessages},
		{"gemini", "genai", []string{"gemini-3-pro-preview"}, model.Request{Model: "gemini-3-pro-preview", Tools: tool(open)}, newGemini, inGemini},
		{"gemini, no ids", "genai", []string{"gemini-2.5-flash"}, model.Request{Model: "gemini-2.5-flash", Tools: tool(open)}, newGemini, inGemini},
		{
			"chat", "openai", nil,
			model.Request{Model: "mock", Tools: tool(closed)},
			func(root string) model.Model {
				return model.NewOpenAI(model.Config{BaseURL: root + "/v1", APIKey: "unused"})
			},
			map[string]string{"body.stream": "ours says also that it wants no stream"},
		},
		{
			"responses", "openai",
			[]string{"responses"},
			model.Request{Model: "mock", Tools: tool(closed)},
			func(root string) model.Model {
				return model.NewResponses(model.Config{BaseURL: root + "/v1", APIKey: "unused"})
			},
			map[string]string{"body.input": stored, "body.previous_response_id": stored, "body.tools[0].strict": "the SDK's program wants it; ours takes any schema"},
		},
	} {
		used := map[string]bool{}
		for _, way := range []string{"plain", "stream"} {
			t.Run(p.name+", "+way, func(t *testing.T) {
				theirs := askedOf(t, func(root string) {
					argv := append([]string{root, way}, p.args...)
					if out, err := command(t, filepath.Join(bin, p.program), argv...).CombinedOutput(); err != nil {
						t.Fatalf("%v: %v\n%s", argv, err, out)
					}
				})
				ours := askedOf(t, func(root string) { converseOver(t, p.open(root), p.request, way == "stream") })
				if len(theirs) != 2 || len(ours) != 2 {
					t.Fatalf("%d requests of the SDK, %d of ours", len(theirs), len(ours))
				}
				for i := range ours {
					var left []string
					for _, d := range key.Diff(requestKey(theirs[i]), requestKey(ours[i])) {
						listed := false
						for path := range p.differ {
							if strings.HasPrefix(d.Path, path) {
								listed, used[path] = true, true
							}
						}
						if !listed {
							left = append(left, d.String())
						}
					}
					if diff := cmp.Diff(meaning(theirs[i]), meaning(ours[i])); diff != "" {
						t.Errorf("request %d means something else (-SDK +ours):\n%s", i+1, diff)
					}
					if left != nil {
						t.Errorf("request %d, recorded by the SDK, now ours:\n%s\nSDK:  %s\nours: %s", i+1, strings.Join(left, "\n"), theirs[i].Body, ours[i].Body)
					}
				}
			})
		}
		for path := range p.differ {
			if !used[path] {
				t.Errorf("%s: %s is listed as different and is the same", p.name, path)
			}
		}
	}
}

// askedOf are the requests of a conversation with a mock model.
func askedOf(t *testing.T, converse func(root string)) []harness.Exchange {
	t.Helper()
	city := func(name string) mockllm.Call {
		return mockllm.Call{Tool: "get_weather", Args: map[string]string{"location": name}}
	}
	m := newMock(t, mockllm.Script{Turns: []mockllm.Turn{{User: weatherQuestion, Replies: []mockllm.Reply{
		{Say: "Looking it up.", Reasoning: "Two cities.", Calls: []mockllm.Call{city("Paris"), city("Zürich")}},
		{Say: "Paris is sunny, Zürich is foggy."},
	}}}}, nil)
	defer m.Close()
	host, err := mockllm.NewHost("")
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	host.Mount(m)
	converse(m.Root)
	if err := m.Err(); err != nil {
		t.Error(err)
	}
	return m.Journal()
}

const weatherQuestion = "What is the weather in Paris and in Zürich?"

// converseOver holds the conversation of the SDKs' programs.
func converseOver(t *testing.T, m model.Model, req model.Request, stream bool) {
	t.Helper()
	req.Stream = stream
	req.Messages = []harness.Message{{Role: harness.RoleUser, Text: weatherQuestion}}
	weather := map[string]string{"Paris": "sunny", "Zürich": "foggy"}
	for range 2 {
		for event, err := range m.Generate(t.Context(), &req) {
			if err != nil {
				t.Fatal(err)
			}
			done, ok := event.(model.Done)
			if !ok {
				continue
			}
			req.Messages = append(req.Messages, done.Message)
			for _, c := range done.Message.Calls {
				var args struct{ Location string }
				_ = json.Unmarshal([]byte(c.Arguments), &args)
				req.Messages = append(req.Messages, harness.Message{Role: harness.RoleTool, CallID: c.ID, Text: weather[args.Location]})
			}
		}
	}
	if last := req.Messages[len(req.Messages)-1].Text; last != "Paris is sunny, Zürich is foggy." {
		t.Errorf("the answer is %q", last)
	}
}

// meaning is what a request says, whatever ids calls have. The thoughts of a
// model are compared by what the endpoint accepts.
func meaning(x harness.Exchange) (out []string) {
	ids := map[string]string{}
	number := func(id string) string {
		if ids[id] == "" {
			ids[id] = fmt.Sprint("call ", len(ids)+1)
		}
		return ids[id]
	}
	for _, m := range x.Request.Messages {
		line := fmt.Sprintf("%s: %q", m.Role, m.Text)
		for _, c := range m.Calls {
			line += fmt.Sprintf(" %s %s(%s)", number(c.ID), c.Name, value.Compact([]byte(c.Arguments)))
		}
		if m.Role == harness.RoleTool {
			line += " of " + number(m.CallID)
		}
		out = append(out, line)
	}
	return out
}

func requestKey(x harness.Exchange) *key.Key {
	return key.Of(http.MethodPost, x.Path, http.Header{"Content-Type": {"application/json"}}, x.Body, nil)
}

// sizes prints what an SDK adds to a program that asks one question.
func sizes(t *testing.T, bin string) {
	t.Helper()
	plain := filepath.Join(bin, "plain")
	if out, err := command(t, "go", "build", "-C", "goclients", "-o", plain, "./plain").CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	base, err := os.Stat(plain)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"anthropic", "genai", "openai"} {
		info, err := os.Stat(filepath.Join(bin, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %.1f times the size of a program that sends JSON with net/http", name, float64(info.Size())/float64(base.Size()))
	}
}
