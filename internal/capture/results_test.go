// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package capture_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/rehearse-dev/rehearse/cassettes/mcptape"
	"github.com/rehearse-dev/rehearse/internal/capture"
	"github.com/rehearse-dev/rehearse/internal/vcr"
	"github.com/rehearse-dev/rehearse/mockmcp"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// asked is what a mock server answers to a call of its tool.
func asked(t *testing.T, script *mockmcp.Script) json.RawMessage {
	t.Helper()
	server := mockmcp.NewServer(t, *script)
	conn, err := server.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	lines := bufio.NewReader(conn)
	var m struct{ Result json.RawMessage }
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","arguments":{}}}`,
	} {
		if _, err := io.WriteString(conn, line+"\n"); err != nil {
			t.Fatal(err)
		}
		text, err := lines.ReadBytes('\n')
		if err := errors.Join(err, json.Unmarshal(text, &m)); err != nil {
			t.Fatal(err)
		}
	}
	return m.Result
}

// played is a scenario of one call that a server answered so, as it is captured
// and loaded.
func played(t *testing.T, server, result string) (files map[string][]byte, notes string) {
	t.Helper()
	tools := `,"tools":[{"type":"function","function":{"name":"ask","parameters":{"type":"object","properties":{}}}}]`
	calls := `{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"ask","arguments":"{}"}}]}`
	first := `{"role":"user","content":"Go."}`
	cassette := &vcr.File{Interactions: []*vcr.Interaction{
		exchange("", tools, first, calls),
		exchange("", tools, first+","+calls+`,{"role":"tool","tool_call_id":"1","content":"told"}`, `{"role":"assistant","content":"Done."}`),
	}}
	heard := capture.Hear(server, []*mcptape.Recording{tape(
		t,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, answer(1, `"result":{"tools":[{"name":"ask","inputSchema":{"type":"object","properties":{}}}]}`),
		call(2, `{"name":"ask","arguments":{}}`), answer(2, `"result":`+result),
	)})
	c, err := capture.Read("t", cassette, []*capture.Heard{heard}, nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err = c.Files(&capture.Setting{Subject: &capture.Subject{Command: []string{"agent", "{prompt}"}}})
	if err != nil {
		t.Fatal(err)
	}
	return files, strings.Join(c.Notes, "\n")
}

// TestResults: whatever a server answers, what is written loads, expects it as far
// as an expression can, and has a mock say the same again.
func TestResults(t *testing.T) {
	text := func(s string) string { return fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, s) }
	js := func(s string) string { return text(strconv.Quote(s)) }
	const none = "" // nothing is expected
	for name, tc := range map[string]struct{ result, that, note string }{
		"null":              {js(`null`), `results("s.ask")[0] == null`, ""},
		"true":              {js(`true`), `results("s.ask")[0] == true`, ""},
		"text":              {text(`"a \"b\""`), `results("s.ask")[0] == "a \"b\""`, ""},
		"whole number":      {js(`12345678901234567890`), none, "result 1 of s.ask is not expected: no expression holds a number beyond 64 bits"},
		"least number":      {js(`-9223372036854775808`), `results("s.ask")[0] == -9223372036854775808`, ""},
		"float":             {js(`1e400`), none, "result 1 of s.ask is not expected"},
		"a text, no number": {`{"content":[],"structuredContent":{"1e400":"1e400","a":"12345678901234567890"}}`, `results("s.ask")[0] == {"1e400": "1e400", "a": "12345678901234567890"}`, ""},
		"numbers":           {js(`{"a": 12345678901234567890, "b": 1e400, "c": 1.10, "d": [1, -1e400, "x"]}`), `results("s.ask")[0].size() == 4 && results("s.ask")[0]["c"] == 1.10 && results("s.ask")[0]["d"].size() == 3 && results("s.ask")[0]["d"][0] == 1 && results("s.ask")[0]["d"][2] == "x"`, "result 1 of s.ask is expected in part"},
		"nothing":           {`{"content":[]}`, `results("s.ask")[0] == ""`, ""},
		"nothing, failed":   {`{"content":[],"isError":true}`, `results("s.ask")[0] == ""`, ""},
		"structured":        {`{"content":[],"structuredContent":{"a":1}}`, `results("s.ask")[0] == {"a": 1}`, ""},
		"control":           {text(`"\u0000\u0001\u001b\u007f\u0085\u2028\ufeff\ufffe\ud83d\ude00"`), `results("s.ask")[0] == "\u0000\u0001\u001b`, ""},
		"control and line":  {text(`"a\n\u0007\r\n\tb"`), `results("s.ask")[0] == "a\n\u0007\r\n\tb"`, ""},
		"half":              {text(`"x\ud800y"`), `results("s.ask")[0] == "x�y"`, ""},
		"pairs":             {`{"content":[{"type":"text","text":"\ud83d\ude00"},{"type":"text","text":"b"}],"structuredContent":{"\ud83d\ude00":"\u0001"}}`, `results("s.ask")[0] == {"😀": "\u0001"}`, ""},
		"a key twice":       {js(`{"a":1,"a":2}`), `results("s.ask")[0] == {"a": 2}`, ""},
		"an operator":       {`{"content":[{"type":"text","text":"x"}],"structuredContent":{"\u0024cel":"1 +"}}`, `results("s.ask")[0] == {"$cel": "1 +"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			files, notes := played(t, "s", tc.result)
			dir := t.TempDir()
			for name, data := range files {
				path := filepath.Join(dir, filepath.FromSlash(name))
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := scenarios.Load([]string{dir}, &scenarios.Options{Offline: true}); err != nil {
				t.Fatalf("%v\n%s", err, files["servers/s.yaml"])
			}
			set, err := scenarios.Load([]string{filepath.Join(dir, "servers/s.yaml")}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var file struct {
				Turns []struct{ Expect []map[string]any }
			}
			if err := yaml.Unmarshal(files["t.yaml"], &file); err != nil {
				t.Fatal(err)
			}
			that, _ := file.Turns[0].Expect[1]["that"].(string)
			if !strings.HasPrefix(that, tc.that) || (tc.that == none) != (that == "") {
				t.Errorf("that: %s\nwant: %s", that, tc.that)
			}
			if !strings.Contains(notes, tc.note) || (tc.note == "") != (notes == "") {
				t.Errorf("notes %q, want %q", notes, tc.note)
			}
			said := asked(t, set.Servers[0].Mock)
			var want, got struct {
				Content           []map[string]any
				StructuredContent map[string]any
				IsError           bool
			}
			if err := errors.Join(json.Unmarshal([]byte(tc.result), &want), json.Unmarshal(said, &got)); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("the mock (-want +got):\n%s", d)
			}
		})
	}
}

// TestComment: what a comment cannot have does not break the file.
func TestComment(t *testing.T) {
	text, err := capture.Encode("of \x1b[1mm\x07\u0085\nand more", map[string]string{"scenario": "s"})
	if err != nil {
		t.Fatal(err)
	}
	if want := "# of  [1mm\n# and more\nscenario: s\n"; string(text) != want {
		t.Errorf("%q, want %q", text, want)
	}
}

// TestBase: a replay of a scenario asks for what stands behind the version.
func TestBase(t *testing.T) {
	for _, tt := range []struct{ url, base, want string }{
		{"https://h/v1/chat/completions", "", "/v1"},
		{"https://h/v1/chat/completions", "/v1", "/v1"},
		{"https://h/v1/messages", "", "/v1"},
		{"https://h/api/v1/messages", "/api", "/api/v1"},
		{"https://h/anthropic/v1/messages", "/anthropic", "/anthropic/v1"},
		{"https://h/v1beta/models/m:generateContent", "", "/v1beta"},
		{"https://h/v1beta/openai/chat/completions", "/v1beta/openai", "/v1beta/openai"},
		{"https://h/v1/models", "", "/v1"},
	} {
		i := exchange("", "", `{"role":"user","content":"hi"}`, `{"role":"assistant","content":"Hi."}`)
		i.Request.URL, i.Meta.Base = tt.url, tt.base
		if got := capture.Base(i); got != tt.want {
			t.Errorf("%s behind %q: %q, want %q", tt.url, tt.base, got, tt.want)
		}
		if strings.HasSuffix(tt.url, "/chat/completions") {
			if _, err := capture.Read("t", &vcr.File{Interactions: []*vcr.Interaction{i}}, nil, nil); err != nil {
				t.Errorf("%s: %v", tt.url, err)
			}
		}
	}
}
