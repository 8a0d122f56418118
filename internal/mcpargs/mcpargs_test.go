// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpargs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/mcpargs"
)

const schema = `{"type":"object","additionalProperties":false,"properties":{
	"id":{"type":"string"},"n":{"type":"integer"},"x":{"type":"number"},"b":{"type":"boolean"},
	"list":{"type":"array","items":{"type":"string"}},"counts":{"type":"array","items":{"type":"integer"}},
	"o":{"type":"object"},"maybe":{"type":["string","null"]},"nn":{"type":"integer","nullable":true},"either":{"anyOf":[{"type":"number"},{"type":"string"}]},
	"level":{"enum":["1","2"]},"size":{"enum":[1,2,"all"]},"ref":{"$ref":"#/$defs/a~1b"},"loop":{"$ref":"#/$defs/loop"},
	"any":{},"yes":true,"const":{"const":5},"nested":{"allOf":[{"$ref":"#/$defs/a~1b"},{"minimum":1}]}},
	"$defs":{"a/b":{"type":"integer"},"loop":{"anyOf":[{"$ref":"#/$defs/loop"},{"$ref":"#/$defs/loop"}]}}}`

func files(name string) ([]byte, error) {
	if name == "f.txt" {
		return []byte("007\n"), nil
	}
	return nil, errors.New("no such file")
}

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		name, words string // words are separated by |
		want        string // JSON, or an error that begins with "argument"
	}{
		{"nothing", "", `{}`},
		{"a string that looks like a number", "id=007", `{"id":"007"}`},
		{"a string that looks like JSON", `id={"a":1}`, `{"id":"{\"a\":1}"}`},
		{"a string in quotes keeps them", `id="a"`, `{"id":"\"a\""}`},
		{"an empty string", "id=", `{"id":""}`},
		{"a string with =", "id=a=b", `{"id":"a=b"}`},
		{"angle brackets", "id=<a&b>", `{"id":"<a&b>"}`},
		{"an integer", "n=7", `{"n":7}`},
		{"a large one", "n=12345678901234567890", `{"n":12345678901234567890}`},
		{"one with a fraction of nothing", "n=7.0", `{"n":7.0}`},
		{"with an exponent", "n=1e3", `{"n":1e3}`},
		{"with an exponent that makes it small", "n=1e-3", `argument "n": "1e-3" is not of type integer`},
		{"an integer with zeros", "n=007", `argument "n": "007" is not of type integer`},
		{"a fraction", "n=7.5", `argument "n": "7.5" is not of type integer`},
		{"a number", "x=1.10", `{"x":1.10}`},
		{"not a number", "x=ten", `argument "x": "ten" is not of type number`},
		{"a boolean", "b=true", `{"b":true}`},
		{"not a boolean", "b=yes", `argument "b": "yes" is not of type boolean`},
		{"an array", `list=["a", 1]`, `{"list":["a", 1]}`},
		{"an array, item by item", "list=1|n=2|list=b", `{"list":["1","b"],"n":2}`},
		{"an array of one item", "list=a,b", `{"list":["a,b"]}`},
		{"numbers, item by item", "counts=1|counts=2", `{"counts":[1,2]}`},
		{"a wrong item", "counts=1|counts=b", `argument "counts": "b" is not of type integer`},
		{"a wrong single item", "counts=b", `argument "counts": as the only item of an array: "b" is not of type integer`},
		{"a broken array", "counts=[1", `argument "counts": "[1" is not of type array`},
		{"an object", `o={"a": 1.10}`, `{"o":{"a": 1.10}}`},
		{"not an object", `o=[1]`, `argument "o": "[1]" is not of type object`},
		{"null where it may be", "maybe=null", `{"maybe":null}`},
		{"null where OpenAPI's word allows it", "nn=null", `{"nn":null}`},
		{"text where null may be", "maybe=7", `{"maybe":"7"}`},
		{"a number first", "either=7", `{"either":7}`},
		{"a string where no number is", "either=007", `{"either":"007"}`},
		{"an enum of strings", "level=1", `{"level":"1"}`},
		{"an enum of both", "size=1|any=2", `{"size":1,"any":2}`},
		{"a reference", "ref=7", `{"ref":7}`},
		{"a reference, wrong", "ref=a", `argument "ref": "a" is not of type integer`},
		{"a reference in a circle", "loop=a", `{"loop":"a"}`},
		{"all of", "nested=7", `{"nested":7}`},
		{"a constant", "const=5", `{"const":5}`},
		{"anything", "any=[true]|yes=a", `{"any":[true],"yes":"a"}`},
		{"anything, twice", "any=1|any=b", `{"any":[1,"b"]}`},
		{"JSON whatever the schema says", `id:=7|n:="x"`, `{"id":7,"n":"x"}`},
		{"JSON that is none", `n:=x`, `argument "n": "x" is not JSON`},
		{"a file", "id@=f.txt", `{"id":"007\n"}`},
		{"no file", "id@=g.txt", `argument "id": no such file`},
		{"given twice", "n=1|n=2", `argument "n": it is given 2 times, but is not an array`},
		{"unknown", "lst=1", `argument "lst": the tool has no such argument (did you mean "list"?)`},
		{"very unknown", "qqqqqqqq=1", `argument "qqqqqqqq": the tool has no such argument; it has any, b,`},
		{"no value", "n", `"n" is not an argument: want key=value`},
		{"no key", "=1", `"=1" is not an argument: want key=value`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var words []string
			if tt.words != "" {
				words = strings.Split(tt.words, "|")
			}
			got, err := mcpargs.Read(json.RawMessage(schema), words, files)
			text := string(got)
			if err != nil {
				text = err.Error()
			}
			if text != tt.want && (err == nil || !strings.HasPrefix(text, tt.want)) {
				t.Errorf("got %s, want %s", text, tt.want)
			}
		})
	}
}

// A type is found behind 17 references, which is as many as are followed.
func TestReadByManyReferences(t *testing.T) {
	for n, want := range map[int]string{1: `{"a":"7"}`, 17: `{"a":"7"}`, 18: `{"a":7}`} {
		defs := `"d0":{"type":"string"}`
		for i := 1; i < n; i++ {
			defs += fmt.Sprintf(`,"d%d":{"$ref":"#/$defs/d%d"}`, i, i-1)
		}
		schema := fmt.Sprintf(`{"properties":{"a":{"$ref":"#/$defs/d%d"}},"$defs":{%s}}`, n-1, defs)
		if got, err := mcpargs.Read(json.RawMessage(schema), []string{"a=7"}, files); err != nil || string(got) != want {
			t.Errorf("%d references: %s, %v, want %s", n, got, err, want)
		}
	}
}

// Without a schema, or with one that is none, the text says what it is.
func TestReadWithoutASchema(t *testing.T) {
	for _, schema := range []string{"", "null", "true", "[1]", `{"type":"object"}`, `{"properties":[]}`, `{"properties":{"a":{"type":7}},"additionalProperties":{}}`} {
		got, err := mcpargs.Read(json.RawMessage(schema), []string{"a=007", "b=7", "c=x", "d=null"}, files)
		if want := `{"a":"007","b":7,"c":"x","d":null}`; err != nil || string(got) != want {
			t.Errorf("by %q: %s, %v, want %s", schema, got, err, want)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, tt := range []struct{ name, schema, want string }{
		{"none", `{"type":"object"}`, ""},
		{"no schema", `true`, ""},
		{
			"some", `{"properties":{"z":{"type":"integer"},"a":{"type":["string","null"]},"m":{"enum":["x","y"]},"n":{}},"required":["z"]}`,
			"z=integer [a=null|string] [m=x|y] [n=any]",
		},
		{"by reference", `{"$ref":"#/$defs/t","$defs":{"t":{"properties":{"a":{"type":"number"}},"required":["a"]}}}`, "a=number"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := mcpargs.Usage(json.RawMessage(tt.schema)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func Example() {
	schema := json.RawMessage(`{"properties":{"id":{"type":"string"},"count":{"type":"integer"}}}`)
	args, err := mcpargs.Read(schema, []string{"id=007", "count=3"}, nil)
	fmt.Println(string(args), err)
	// Output: {"id":"007","count":3} <nil>
}

// What is read is a JSON object, and a string is what was typed.
func FuzzRead(f *testing.F) {
	for _, word := range []string{"id=007", "n=1e3", `o={"a":1}`, "any=[", `x:="`, "a=b=c", "=", "id@=f.txt", "list=\xff"} {
		f.Add(schema, word, word)
	}
	f.Add(`{"properties":{"a":{"$ref":"#"}}}`, "a=1", "a=2")
	f.Add(`{"$ref":"#/x","x":{"$ref":"#/x"}}`, "a=1", "b=2")
	f.Add(`{"properties":{"a":{"enum":[]}}}`, "a=1", "b=")
	f.Fuzz(func(t *testing.T, schema, first, second string) {
		_ = mcpargs.Usage(json.RawMessage(schema))
		got, err := mcpargs.Read(json.RawMessage(schema), []string{first, second}, files)
		if err != nil {
			return
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(got, &object); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		asText, err := mcpargs.Read(json.RawMessage(`{"properties":{"s":{"type":"string"}}}`), []string{"s=" + first}, files)
		var back struct{ S string }
		if err != nil || json.Unmarshal(asText, &back) != nil || utf8.ValidString(first) && back.S != first {
			t.Fatalf("%q became %s, %v", first, asText, err)
		}
	})
}
