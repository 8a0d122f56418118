// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package capture_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/rehearse-dev/rehearse/cassettes/mcptape"
	"github.com/rehearse-dev/rehearse/internal/capture"
	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/internal/vcr"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// wrote captures a conversation of one call, and fails unless it loads and has the
// texts as they were.
func wrote(t *testing.T, user, say, args, result string) (file, notes string) {
	t.Helper()
	js := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	tools := `,"tools":[{"type":"function","function":{"name":"ask","parameters":{"type":"object","properties":{}}}}]`
	first := fmt.Sprintf(`{"role":"user","content":%s}`, js(user))
	calls := fmt.Sprintf(`{"role":"assistant","content":"I look.","tool_calls":[{"id":"1","type":"function","function":{"name":"ask","arguments":%s}},{"id":"2","type":"function","function":{"name":"nosuch","arguments":"{}"}},{"id":"3","type":"function","function":{"name":"s.nosuch","arguments":"{}"}}]}`, js(args))
	told := `,{"role":"tool","tool_call_id":"1","content":"told"},{"role":"tool","tool_call_id":"2","content":"told"},{"role":"tool","tool_call_id":"3","content":"told"}`
	cassette := &vcr.File{Interactions: []*vcr.Interaction{
		exchange("", tools, first, calls), exchange("", tools, first+","+calls+told, fmt.Sprintf(`{"role":"assistant","content":%s}`, js(say))),
	}}
	heardArgs := args
	if !json.Valid([]byte(args)) {
		heardArgs = "{}"
	}
	heard := capture.Hear("s", []*mcptape.Recording{tape(
		t,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, answer(1, `"result":{"tools":[{"name":"ask","inputSchema":{"type":"object","properties":{}}}]}`),
		call(2, `{"name":"ask","arguments":`+heardArgs+`}`), answer(2, fmt.Sprintf(`"result":{"content":[{"type":"text","text":%s}]}`, js(result))),
	)})
	c, err := capture.Read("t", cassette, []*capture.Heard{heard}, nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := c.Files(&capture.Setting{Subject: &capture.Subject{Command: []string{"agent", "{prompt}"}}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, data := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"t.yaml", capture.ModelFile} {
		if _, err := scenarios.Load([]string{filepath.Join(dir, name)}, &scenarios.Options{Offline: true}); err != nil {
			t.Fatalf("it does not load: %v\n%s", err, files["t.yaml"])
		}
	}
	var read struct {
		Turns []struct {
			User    string
			Replies []struct {
				Say       string
				Unoffered bool
				Calls     []map[string]any
			}
		}
	}
	if err := yaml.Unmarshal(files["t.yaml"], &read); err != nil || len(read.Turns) != 1 || len(read.Turns[0].Replies) != 2 {
		t.Fatalf("%v\n%s", err, files["t.yaml"])
	}
	turn := read.Turns[0]
	if turn.User != capture.Literal(user) || turn.Replies[1].Say != capture.Literal(say) || !turn.Replies[0].Unoffered {
		t.Errorf("it is written %+v", turn)
	}
	v, err := value.Parse([]byte(args))
	if calls := turn.Replies[0].Calls; len(calls) != map[bool]int{true: 2, false: 1}[err == nil && v.Kind() == value.Object] {
		t.Errorf("its calls are %v", calls)
	}
	return string(files["t.yaml"]), strings.Join(c.Notes, "\n")
}

// odd are texts and arguments that a scenario, or YAML, reads in its own way.
func odd() (texts, args []string) {
	return []string{"x", "\tx := 1\n\ty", "\tx\n", "\n", " x ", "\x00\x1b", "\ufeff", "\u2028", "“x”", "~", "1e400", "<<", "- x", "{{turn}}", "# x\n", strings.Repeat("x\n", 5000)},
		[]string{`{}`, `{"text":"{{turn}}"}`, `{"$literal":1}`, `{"a":{"$or":[]}}`, `{"<<":{"a":1}}`, `{"\t":"\tx\n"}`, `{"“":"”"}`, `{"\u0024x":1}`, `{"a":1e400}`, `{"":null}`, `{"a":`, `[1]`, `1`, `"x"`}
}

// TestWritten: whatever was said, called and answered, what is written loads and says
// it again; what a scenario cannot have is told.
func TestWritten(t *testing.T) {
	texts, args := odd()
	for i, text := range texts {
		wrote(t, "u"+text, "s"+text, args[i%len(args)], text)
		wrote(t, text+"u", text+"s", args[i%len(args)], "x"+text)
	}
	_, notes := wrote(t, "u", "s", `{"a":`, "x")
	for _, want := range []string{
		`exchange 1 of the cassette calls s.ask with {"a":: the call is left out, since its arguments are not a JSON object`,
		`exchange 1 of the cassette calls s.nosuch with {}: the call is left out, since there is no such tool`,
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes %s, want %s", notes, want)
		}
	}
}

func FuzzWritten(f *testing.F) {
	texts, args := odd()
	for i, text := range texts {
		f.Add(text, texts[(i+1)%len(texts)], args[i%len(args)], texts[(i+2)%len(texts)])
	}
	f.Fuzz(func(t *testing.T, user, say, args, result string) {
		if strings.ToValidUTF8(user+say+args+result, "") != user+say+args+result || strings.TrimSpace(user) == "" || strings.TrimSpace(say) == "" || strings.TrimSpace(args) == "" || strings.Count(args, "[")+strings.Count(args, "{") > 100 {
			return
		}
		wrote(t, user, say, args, result)
	})
}
