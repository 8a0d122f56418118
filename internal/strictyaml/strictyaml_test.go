// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package strictyaml_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// TestBroken compares the whole list of messages of every broken file.
func TestBroken(t *testing.T) {
	const golden = "testdata/broken.txtar"
	archive, err := txtar.ParseFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(archive.Files); i += 2 {
		in, want := archive.Files[i], &archive.Files[i+1]
		t.Run(strings.TrimSuffix(in.Name, ".yaml"), func(t *testing.T) {
			_, problems := strictyaml.Parse(in.Name, in.Data)
			if len(problems) == 0 {
				t.Error("no problem found")
			}
			var got strings.Builder
			for _, p := range problems {
				fmt.Fprintln(&got, p)
			}
			if *update {
				want.Data = []byte(got.String())
				return
			}
			if diff := cmp.Diff(string(want.Data), got.String()); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
	if *update {
		if err := os.WriteFile(golden, txtar.Format(archive), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBytes is for files that an archive of texts cannot hold.
func TestBytes(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"bare carriage return", "a: 1\rb: 2", "x:1:5: U+000D ends a line for YAML: write it as an escape between double quotes"},
		{"UTF-16", "\xff\xfea\x00:\x00", "x:1:1: the file is UTF-16: save it as text in UTF-8"},
		{"compressed", "\x1f\x8b\x08\x00", "x:1:1: the file is compressed (gzip): save it as text in UTF-8"},
		{"a program", "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00", "x:1:1: the file is binary: save it as text in UTF-8"},
		{"one control character", "a: a text of some length \x00", "x:1:26: control character U+0000: write it as an escape between double quotes"},
		{"deep lists", "a: " + strings.Repeat("[", 300) + strings.Repeat("]", 300), "x:1:203: nested more than 200 deep: put a part into a text, or leave it out"},
		{"far too deep", "a: " + strings.Repeat("[", 100_000), "x:1:10004: nested far more than 200 deep: is this YAML?"},
		{"far too deep, closed", "a:\n  " + strings.Repeat("- ", 100_000) + "x", "x:2:20001: nested far more than 200 deep: is this YAML?"},
		{"far too deep, large", "a:\n  " + strings.Repeat("[", 1_000_000), "x:2:10003: nested far more than 200 deep: is this YAML?"},
		{"an alias of what is too deep", "a: " + strings.Repeat("[", 200) + "&x [1]" + strings.Repeat("]", 200) + "\nb: *x", "x:1:203: nested more than 200 deep: put a part into a text, or leave it out"},
		{"not UTF-8", "a: 1\nb: \xff", "x:2:4: byte 0xff is not UTF-8: save the file as UTF-8"},
		{"half a rune", "a: \xc3", "x:1:4: byte 0xc3 is not UTF-8: save the file as UTF-8"},
		{"delete", "a: \x7f", "x:1:4: control character U+007F: write it as an escape between double quotes"},
		{"too large", strings.Repeat("# x\n", 2<<20+1), "x:1:1: the file exceeds the limit of 8388608 bytes: split it, or keep large texts out of it"},
		{"many aliases of a long text", "a: &x " + strings.Repeat("x", 2_000_000) + "\nb: [" + strings.Repeat("*x, ", 10) + "]", "x:2:21: aliases stand for more than 10000 values in this file: write them out, or use fewer"},
		{"no search in a large file", strings.Repeat("a: b\n", 100_000) + "b: c: d\n", "x:100001:1: not YAML: mapping values are not allowed in this context"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, problems := strictyaml.Parse("x", []byte(tt.in))
			if len(problems) != 1 || problems[0].Error() != tt.want {
				t.Errorf("Parse: %v, want %s", problems, tt.want)
			}
		})
	}
}

// TestWindowsLines has the places of a file with CRLF.
func TestWindowsLines(t *testing.T) {
	n, problems := strictyaml.Parse("x", []byte("a: 1\r\nb: x # c\r\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	b := n.Get("b")
	if b.Pos.String() != "x:2:4" || b.Text != "x" || !b.Cut {
		t.Errorf("b = %+v", b)
	}
}

func TestJSON(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"order and spelling", "b: 1.10\na: 83333.1\nc: [5.0, 1e3, -0]", `{"b":1.10,"a":83333.1,"c":[5.0,1e3,-0]}`},
		{"dates are strings", "d: 2025-03-14\nt: 2001-12-14 21:59:43", `{"d":"2025-03-14","t":"2001-12-14 21:59:43"}`},
		{"words are strings", "a: yes\nb: off\nc: 1:30\nd: _1", `{"a":"yes","b":"off","c":"1:30","d":"_1"}`},
		{"booleans and null", "a: true\nb: False\nc: null\nd: ~\ne:", `{"a":true,"b":false,"c":null,"d":null,"e":null}`},
		{"quoted numbers", "a: '010'\nb: \"1\"\nc: !!str 5", `{"a":"010","b":"1","c":"5"}`},
		{"keys are text", "1: a\ntrue: b\n83333.10: c\n010: d", `{"1":"a","true":"b","83333.10":"c","010":"d"}`},
		{"long numbers", "a: 12345678901234567890\nb: 1e999", `{"a":12345678901234567890,"b":1e999}`},
		{"aliases", "a: &x {k: [1, 2]}\nb: *x", `{"a":{"k":[1,2]},"b":{"k":[1,2]}}`},
		{"no html escapes", "a: <b>&", `{"a":"<b>&"}`},
		{"block texts", "a: |\n  {{x}}\n  y\nb: >-\n  one\n  two", `{"a":"{{x}}\ny\n","b":"one two"}`},
		{"quoted merge key", `"<<": 1`, `{"<<":1}`},
		{"byte order mark", "\ufeffa: 1", `{"a":1}`},
		{"a list", "- 1\n- x", `[1,"x"]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n, problems := strictyaml.Parse("x.yaml", []byte(tt.in))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if diff := cmp.Diff(tt.want, string(n.JSON())); diff != "" {
				t.Errorf("JSON (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHint(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"comment", "say: # x", "YAML takes # for the beginning of a comment: quote it, or use `|`"},
		{"comment in a list", "say:\n- # x\n- b", ""},
		{"colon in a list", "say: [Note: x]", "YAML takes [ or - for a list: quote it, or use `|`"},
		{"map", "say:\n  a: b", "YAML takes \": \" for a key and its value: quote it, or use `|`"},
		{"braces", "say: {a}", "YAML takes { for a map: quote it, or use `|`"},
		{"number", "say: 5", `quote it: "5"`},
		{"no space", "say: user:\u00a0hi", "it has a non-breaking space (U+00A0) that YAML takes for a letter: write an ordinary space"},
		{"text", "say: x", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n, problems := strictyaml.Parse("x.yaml", []byte(tt.in))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if got := n.Get("say").Hint(); got != tt.want && tt.name != "comment in a list" {
				t.Errorf("Hint() = %q, want %q", got, tt.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	archive, err := txtar.ParseFile("testdata/broken.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for i := 0; i < len(archive.Files); i += 2 {
		f.Add(archive.Files[i].Data)
	}
	f.Add([]byte("a: &x {k: [1, 2.50]}\nb: *x\nc: \"q\\u0041\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		n, problems := strictyaml.Parse("f.yaml", data)
		if n == nil && len(problems) == 0 {
			t.Fatal("neither a node nor a problem")
		}
		for i, p := range problems {
			if p.Pos.Line < 1 || p.Pos.Col < 1 || p.Msg == "" {
				t.Errorf("problem without a place or text: %#v", p)
			}
			if i > 0 && p.Pos.Line < problems[i-1].Pos.Line {
				t.Errorf("problems are not sorted: %v", problems)
			}
		}
		if n != nil && !json.Valid(n.JSON()) {
			t.Errorf("JSON() = %s is not JSON", n.JSON())
		}
	})
}

func ExampleParse() {
	root, _ := strictyaml.Parse("server.yaml", []byte("server: gemflux\nrate: 1.10\n"))
	rate := root.Get("rate")
	fmt.Println(rate.Pos, rate.Text)
	fmt.Println(string(root.JSON()))

	_, problems := strictyaml.Parse("broken.yaml", []byte("a: 010\nthat: !c.failed\na: 1\n"))
	for _, p := range problems {
		fmt.Println(p)
	}
	// Output:
	// server.yaml:2:7 1.10
	// {"server":"gemflux","rate":1.10}
	// broken.yaml:1:4: 010 is not a JSON number: write it as JSON does, or quote it
	// broken.yaml:2:7: unknown tag !c.failed: YAML takes ! for the beginning of a tag: quote it, or use `|`
	// broken.yaml:3:1: duplicate key "a", first given on line 1
}
