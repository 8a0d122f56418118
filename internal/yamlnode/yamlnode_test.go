// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package yamlnode_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/rehearse-dev/rehearse/internal/strictyaml"
	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/internal/yamlnode"
)

// odd are texts that a writer of YAML gets wrong, or its reader refuses.
func odd() []string {
	return []string{
		"", " ", "\t", "\n", "\r", "\n\n", "\t\n", "\tx", "\tx\n", "\tx\n\ty", " x", "  x\ny", "x ", "x\t", "x\n", "x\n\n", "x\n\n\n", "\nx", "\n x", "a\n\tb\n", "a\n\t\nb", "a\n \nb", "a \nb", "a\r\nb",
		"\x00", "a\x01b", "\x1b[0m", "\x7f", "\u0080", "\u0085", "a\u0085b\n", "\ufeff", "\ufeffx", "a\n\ufeffb", "a\u2028b", "\u2029", "\u00a0", "a\u00a0b", "\u200b", "\ufffe", "\uffff", "\ufffd", "\U0001F600", "\U0001F600\nb", "\U0010FFFF", "é", "e\u0301", "中文\n中",
		"~", "null", "Null", "true", "yes", "on", "y", "n", "1", "-1", "1.5", "1e3", "1e400", "-1e400", "0x1", "0o7", "1_000", "012", ".inf", ".nan", "1:30", "2026-01-01", "=", "<<", "<<: x",
		"- x", "-", "--", "---", "--- x", "...", "a\n---\nb", "---\na", "? x", "?", "#", "# x", "# x\ny", "x # y", "x #", ": x", "x:", "x: y", ":", "a\nb: c", "*x", "&x", "!x", "!!str", "|", ">", "|\nx", "%x", "@x", "`x`", "[", "]", "{", "}", "[a]", "{a: b}", "{{x}}", "a, b", ",",
		"'", "\"", "'x'", "\"x\"", "it's", "\\", "\\n", "“Hello”", "‘x’", "«x»", "Hello”", "“a\nb”", "x ‘y’ z",
		strings.Repeat("x", 200), strings.Repeat("x ", 1000) + "y", strings.Repeat("x", 200) + "\n", strings.Repeat("line\n", 2000), strings.Repeat("\t", 300), "$literal", "a.b", "a b", "key{", "a:b", "a:{b}",
	}
}

// written is a value with a text in each place that a text may have, as it is
// written, and as it is read again.
func written(text string) (data []byte, wrong error) {
	flow := yamlnode.Of([]string{text, text})
	flow.Style = yaml.FlowStyle
	member := value.ObjectOf(value.Member{Key: text, Value: value.StringOf(text)})
	type item struct {
		Say  string         `yaml:"say"`
		Map  map[string]any `yaml:"map"`
		Flow *yaml.Node     `yaml:"flow"`
		JSON *yaml.Node     `yaml:"json"`
		End  string         `yaml:"end"`
	}
	type file struct {
		Text string `yaml:"text"`
		List []item `yaml:"list"`
	}
	f := file{text, []item{
		{text, map[string]any{text: text}, flow, yamlnode.JSON(member), text},
		{text, map[string]any{text: []any{text}}, flow, yamlnode.JSON(value.ArrayOf(member, value.StringOf(strings.Repeat("long", 30)))), text},
	}}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(yamlnode.Of(f)), enc.Close()); err != nil {
		return b.Bytes(), err
	}
	root, problems := strictyaml.Parse("f.yaml", b.Bytes())
	if len(problems) > 0 {
		return b.Bytes(), problems[0]
	}
	s := value.StringOf(strings.ToValidUTF8(text, "\ufffd"))
	member = value.ObjectOf(value.Member{Key: s.Str(), Value: s})
	want := func(in, json value.Value) value.Value {
		return value.ObjectOf(
			value.Member{Key: "say", Value: s}, value.Member{Key: "map", Value: value.ObjectOf(value.Member{Key: s.Str(), Value: in})},
			value.Member{Key: "flow", Value: value.ArrayOf(s, s)}, value.Member{Key: "json", Value: json}, value.Member{Key: "end", Value: s},
		)
	}
	all := value.ObjectOf(value.Member{Key: "text", Value: s}, value.Member{Key: "list", Value: value.ArrayOf(
		want(s, member), want(value.ArrayOf(s), value.ArrayOf(member, value.StringOf(strings.Repeat("long", 30)))),
	)})
	if got := root.Value(); !value.Equal(all, got) {
		return b.Bytes(), fmt.Errorf("it is read as %v", got)
	}
	return b.Bytes(), nil
}

// TestTexts: a text is read as it was given, as a value and as a key.
func TestTexts(t *testing.T) {
	for _, text := range append(odd(), "a\xffb", "\xff\xfe", "\xed\xa0\x80") {
		if data, err := written(text); err != nil {
			t.Errorf("%q: %v\n%.300s", text, err, data)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, text := range odd() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if data, err := written(text); err != nil {
			t.Errorf("%q: %v\n%s", text, err, data)
		}
	})
}

// TestReadable: texts as people write them stay as they are.
func TestReadable(t *testing.T) {
	for text, want := range map[string]string{
		"It is 3.":                    "It is 3.",
		"Title: x":                    "'Title: x'",
		"3":                           `"3"`,
		"yes":                         `"yes"`,
		"# Title\n\n- a\n\n\tcode\n":  "|\n    # Title\n\n    - a\n\n    \tcode",
		"Grüße, “so” und 中文 im Satz.": "Grüße, “so” und 中文 im Satz.",
	} {
		data, err := yaml.Marshal(map[string]*yaml.Node{"k": yamlnode.Text(text)})
		if got := strings.TrimSpace(strings.TrimPrefix(string(data), "k:")); err != nil || got != want {
			t.Errorf("%q is written %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	const text = `{"a":1e400,"b":12345678901234567890,"c":-0,"d":1.10,"e":[true,null,1E5],"f":{},"g":[]}`
	v, err := value.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	data, err := yaml.Marshal(yamlnode.JSON(v))
	root, problems := strictyaml.Parse("f.yaml", data)
	if err != nil || len(problems) > 0 || root.Value().String() != v.String() {
		t.Errorf("%s: %v %v", data, err, problems)
	}
}

func ExampleOf() {
	type reply struct {
		Say   string           `yaml:"say,omitempty"`
		Calls []map[string]any `yaml:"calls,omitempty"`
	}
	data, err := yaml.Marshal(yamlnode.Of([]reply{
		{Calls: []map[string]any{{"note": map[string]any{"<<": "\tx\n"}}}},
		{Say: "“Hello”"},
	}))
	fmt.Printf("%s%v", data, err)
	// Output:
	// - calls:
	//     - note:
	//         "<<": "\tx\n"
	// - say: "“Hello”"
	// <nil>
}
