// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
)

var searchAndRead = []harness.Tool{{Name: "search"}, {Name: "Read"}}

func TestFindLeaks(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []harness.ToolCall
		rest       string // the text without the calls
	}{
		{
			"Python repr at the end", `I'll look.{'id': 'toolu_vrtx_01A', 'input': {'q': 'ATP'}, 'name': 'search', 'type': 'tool_use', 'cache_control': None}`,
			[]harness.ToolCall{call("toolu_vrtx_01A", "search", `{"q":"ATP"}`)},
			"I'll look.",
		},
		{
			"other order of keys", `Now:{'type': 'tool_use', 'id': 'toolu_1', 'name': 'Read', 'input': {'file_path': '/tmp/example.txt'}}`,
			[]harness.ToolCall{call("toolu_1", "Read", `{"file_path":"/tmp/example.txt"}`)},
			"Now:",
		},
		{
			"several in a row", `{'id': 'a', 'name': 'search', 'input': {}}{'id': 'b', 'name': 'search', 'input': {'n': 1.10}}`,
			[]harness.ToolCall{call("a", "search", `{}`), call("b", "search", `{"n":1.10}`)},
			"",
		},
		{
			"literals of both languages", `{'name': 'search', 'input': {'a': True, 'b': false, 'c': None, 'd': null, 'e': [1, -2.5e3, "x",]}}`,
			[]harness.ToolCall{call("", "search", `{"a":true,"b":false,"c":null,"d":null,"e":[1,-2.5e3,"x"]}`)},
			"",
		},
		{
			"quotes and escapes", `{'name': 'search', 'input': {'q': "it's", 'r': 'say "a\tb"\x41\u00e9\ud83d\ude00\q'}}`,
			[]harness.ToolCall{call("", "search", `{"q":"it's","r":"say \"a\tb\"Aé😀\\q"}`)},
			"",
		},
		{
			"OpenAI's words", `{'id': 'c1', 'function': {'arguments': '{"q": "ATP"}', 'name': 'search'}, 'type': 'function'}`,
			[]harness.ToolCall{call("c1", "search", `{"q": "ATP"}`)},
			"",
		},
		{
			"JSON between tags", "Sure.\n<tool_call>\n{\"name\": \"search\", \"arguments\": {\"q\": \"ATP\"}}\n</tool_call>",
			[]harness.ToolCall{call("", "search", `{"q":"ATP"}`)},
			"Sure.",
		},
		{
			"text after the call", `A {'name': 'search', 'input': {'q': 1}} and B`,
			[]harness.ToolCall{call("", "search", `{"q":1}`)},
			"A and B",
		},
		{
			"inside something else", `{"tool": {"name": "search", "parameters": {"q": 1}}}`,
			[]harness.ToolCall{call("", "search", `{"q":1}`)},
			`{"tool":}`,
		},
		{
			"tags behind a dict", `{'name': 'search', 'input': {'n': 1}}<invoke name="Read"></invoke>`,
			[]harness.ToolCall{call("", "search", `{"n":1}`), call("", "Read", `{}`)},
			"",
		},
		{
			"a dict behind tags", `<invoke name="Read"></invoke>{'name': 'search', 'input': {'n': 1}}`,
			[]harness.ToolCall{call("", "Read", `{}`), call("", "search", `{"n":1}`)},
			"",
		},
		{
			"a dict within tags", `<invalid>{'name': 'search', 'input': {'n': 1}}</invalid>`,
			[]harness.ToolCall{call("", "search", `{"n":1}`)},
			"<invalid></invalid>",
		},
		{
			"half of a character", `{'name': 'search', 'input': {'q': '\ud83dabdc00'}}`,
			[]harness.ToolCall{call("", "search", `{"q":"�abdc00"}`)},
			"",
		},
		{"cut off within a character", `{'name': 'search', 'input': {'q': '\ud83d\ude`, nil, ""},
		{"a tool that is not offered", `{'name': 'delete', 'input': {}}`, nil, ""},
		{"no arguments", `{'name': 'search'}`, nil, ""},
		{"an example in prose", `Use {"q": "ATP"} as input of search.`, nil, ""},
		{"cut off", `{'name': 'search', 'input': {'q': 'AT`, nil, ""},
		{"cut off in an escape", `{'name': 'search', 'input': {'q': '\u00e`, nil, ""},
		{"cut off in a long escape", `{'name': 'search', 'input': {'q': '\U0001F60`, nil, ""},
		{"no literal", `f(x) = { x > 0 }`, nil, ""},
		{"many braces", strings.Repeat("{", 100_000), nil, ""},
		{"many unfinished dicts", strings.Repeat("{'a':", 100_000), nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			leaks := findLeaks(tc.text, searchAndRead)
			var got []harness.ToolCall
			for _, l := range leaks {
				got = append(got, l.call)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if rest := withoutLeaks(tc.text, leaks); len(leaks) > 0 && rest != tc.rest {
				t.Errorf("rest: got %q, want %q", rest, tc.rest)
			}
		})
	}
}

func TestLeakedCall(t *testing.T) {
	text := `I'll look.{'id': 'toolu_1', 'input': {'q': 'ATP'}, 'name': 'search', 'type': 'tool_use'}`
	t.Run("reported", func(t *testing.T) {
		c := New(Config{Model: &script{replies: [][]any{said(text)}}, Tools: box{"search": echo}}).Conversation()
		p := play(t.Context(), c, "go")
		want := []string{"delta " + text, "model stop 10", "notice the model wrote a call of search as text", "answer " + text}
		if diff := cmp.Diff(want, p.shown()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		n := p.events[2].(Notice)
		leaked := call("toolu_1", "search", `{"q":"ATP"}`)
		if diff := cmp.Diff(Notice{Text: n.Text, Leaked: &leaked}, n); diff != "" {
			t.Errorf("notice (-want +got):\n%s", diff)
		}
		if len(c.Calls()) != 0 {
			t.Errorf("the call was run: %+v", c.Calls())
		}
	})
	t.Run("recovered", func(t *testing.T) {
		c := New(Config{Model: &script{replies: [][]any{said(text), said("Found.")}}, Tools: box{"search": echo}, RecoverLeakedCalls: true}).Conversation()
		p := play(t.Context(), c, "go")
		if p.err != nil {
			t.Fatal(p.err)
		}
		want := []harness.Message{
			{Role: harness.RoleUser, Text: "go"},
			{Role: harness.RoleAssistant, Text: "I'll look.", Calls: []harness.ToolCall{call("toolu_1", "search", `{"q":"ATP"}`)}},
			{Role: harness.RoleTool, CallID: "toolu_1", Text: `got {"q":"ATP"}`},
			{Role: harness.RoleAssistant, Text: "Found."},
		}
		if diff := cmp.Diff(want, c.Messages()); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
	})
}

// TestRecordedLeak finds the call in a reply kept from a gateway.
func TestRecordedLeak(t *testing.T) {
	data := os.Getenv("REHEARSE_DATA")
	if data == "" {
		t.Skip("REHEARSE_DATA does not name the folder of recorded exchanges")
	}
	raw, err := os.ReadFile(filepath.Join(data, "argo-captures", "response-argo-embedded-tool-call", "argo.response.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Response struct{ Content string } }
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	if leaks := findLeaks(doc.Response.Content, searchAndRead); len(leaks) != 1 || leaks[0].call.Name != "Read" {
		t.Errorf("got %+v from %q", leaks, doc.Response.Content)
	}
}

func FuzzLeaks(f *testing.F) {
	for _, seed := range []string{
		`I'll look.{'id': 'toolu_vrtx_01A', 'input': {'q': 'ATP'}, 'name': 'search', 'type': 'tool_use', 'cache_control': None}`,
		`{'id': 'c1', 'function': {'arguments': '{"q": "ATP"}', 'name': 'search'}}`,
		"<tool_call>\n{\"name\": \"search\", \"arguments\": {\"q\": [1, -2.5e3, True, null]}}\n</tool_call>",
		`{"name":"search","input":{"a":"\ud83d\ude00\x41\U0001F600\'"}}`, "{'name':'search','input':{'\xff':'\\", `{{{}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		leaks := findLeaks(text, searchAndRead)
		at := 0
		for _, l := range leaks {
			if l.start < at || l.end <= l.start || l.end > len(text) {
				t.Errorf("call at %d to %d of %d bytes, after %d", l.start, l.end, len(text), at)
			}
			at = l.end
			if text[l.start] != '{' || l.call.Name != "search" && l.call.Name != "Read" {
				t.Errorf("got %+v", l.call)
			}
			if strings.HasPrefix(l.call.Arguments, "{") && !strings.Contains(text, l.call.Arguments) && !json.Valid([]byte(l.call.Arguments)) {
				t.Errorf("arguments are no JSON: %q", l.call.Arguments)
			}
		}
		_ = withoutLeaks(text, leaks)
	})
}
