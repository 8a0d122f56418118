// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package conduct_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/conduct"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
)

// schemaListed is what a server lists in [TestParametersOffered].
const schemaListed = `{"type": "object", "properties": {
	"k": {"type": "string", "enum": ["a", "b"], "description": "The key."},
	"n": {"type": "integer", "default": 3, "minimum": 0, "format": "int32"},
	"opt": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": null, "title": "Opt"},
	"to": {"$ref": "#/$defs/Place", "description": "Where to."},
	"tags": {"type": "array", "items": {"type": "string", "description": "A tag."}}
}, "required": ["k", "to"], "$defs": {"Place": {"type": "object", "properties": {"city": {"type": "string"}, "when": {"type": "string", "format": "date"}}, "required": ["city"]}}}`

func TestParametersOffered(t *testing.T) {
	replaced := func(old, new string) string {
		if !strings.Contains(schemaListed, old) {
			t.Fatalf("no %s in the schema", old)
		}
		return strings.Replace(schemaListed, old, new, 1)
	}
	const place = `{"type": "object", "additionalProperties": false, "required": ["city", "when"], "properties": {"city": {"type": "string"}, "when": {"type": ["string", "null"]}}`
	for _, tt := range []struct{ name, offered, want string }{
		{"as it is", schemaListed, "passed"},
		{"spelled otherwise", replaced(`"opt"`, `"o\u0070t"`), "passed"},
		{
			"strict, as OpenAI wants it", `{"type": "object", "additionalProperties": false, "required": ["k", "n", "opt", "to", "tags"], "properties": {
			"k": {"type": "string", "enum": ["a", "b"], "description": "The key."}, "n": {"type": ["integer", "null"]}, "opt": {"anyOf": [{"type": "number"}, {"type": "null"}]},
			"to": ` + place + `, "description": "Where to."}, "tags": {"anyOf": [{"type": "array", "items": {"type": "string", "description": "A tag."}}, {"type": "null"}]}}}`, "passed",
		},
		{
			"as Gemini wants it", `{"type": "OBJECT", "required": ["k", "to"], "properties": {
			"k": {"type": "STRING", "enum": ["a", "b"], "description": "The key."}, "n": {"type": "INTEGER", "nullable": true}, "opt": {"type": "NUMBER", "nullable": true},
			"to": {"type": "OBJECT", "description": "Where to.", "required": ["city"], "properties": {"city": {"type": "STRING"}, "when": {"type": "STRING"}}},
			"tags": {"type": "ARRAY", "items": {"type": "STRING", "description": "A tag."}}}}`, "passed",
		},
		{
			"through another language's types", `{"type": "object", "required": ["k", "to"], "title": "Args", "properties": {
			"k": {"title": "K", "description": "The key.", "anyOf": [{"const": "a"}, {"const": "b"}]}, "n": {"type": "number"}, "opt": {"type": "number"},
			"to": {"allOf": [{"$ref": "#/definitions/P"}], "description": "Where to."}, "tags": {"type": "array", "items": {"type": "string", "description": "A tag."}}},
			"definitions": {"P": ` + place + `}}}`, "passed",
		},
		{"no description", replaced(`, "description": "The key."`, ""), `warning: request 1: tool "weather.get" is offered with other parameters than its server lists: "k" has the description "", not "The key."`},
		{"another type", replaced(`"type": "integer"`, `"type": "string"`), `failed: request 1: tool "weather.get" is offered with other parameters than its server lists: "n" is string, not integer`},
		{"another type of items", replaced(`"items": {"type": "string"`, `"items": {"type": "boolean"`), `failed: …: "tags[]" is boolean, not string`},
		{"another type below", replaced(`"city": {"type": "string"}`, `"city": {"type": "number"}`), `failed: …: "to.city" is number, not string`},
		{"another type of what may be null", replaced(`{"type": "number"}`, `{"type": "string"}`), `warning: …: "opt" is string, not number`},
		{"no type", replaced(`"type": "integer", `, ""), `warning: …: "n" has no type, not integer`},
		{"any type", replaced(`"type": "integer"`, `"type": "any"`), `warning: …: "n" has no type, not integer`},
		{"an object without a type", replaced(`{"type": "object", "properties": {"city"`, `{"properties": {"city"`), "passed"},
		{"a list without a type", replaced(`"type": "array", `, ""), "passed"},
		{"an enum of texts without a type", replaced(`"type": "string", "enum"`, `"enum"`), "passed"},
		{"no enum", replaced(`"enum": ["a", "b"], `, ""), `warning: …: "k" has no enum`},
		{"another enum", replaced(`["a", "b"]`, `["a"]`), `warning: …: "k" has the enum [a], not [a, b]`},
		{"not required", replaced(`"required": ["k", "to"]`, `"required": ["to"]`), `warning: …: "k" is not required`},
		{"nothing required below", replaced(`"required": ["city"]`, `"required": []`), `warning: …: "to.city" is not required`},
		{"less below", replaced(`"when"`, `"where"`), `warning: …: "to.when" is left out`},
		{"another description", replaced("Where to.", "Who."), `warning: …: "to" has the description "Who.", not "Where to."`},
		{"nothing that refers to itself ends it", replaced(`"city": {"type": "string"}`, `"city": {"$ref": "#/$defs/Place/properties/city"}`), "passed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			in.Listed = map[string][]harness.Tool{"weather": slices.Clone(tools)}
			in.Listed["weather"][0].Schema = json.RawMessage(schemaListed)
			for i := range in.Exchanges {
				in.Exchanges[i].Request.Tools = slices.Clone(tools)
				in.Exchanges[i].Request.Tools[0].Schema = json.RawMessage(tt.offered)
			}
			want := strings.Replace(tt.want, "…", `request 1: tool "weather.get" is offered with other parameters than its server lists`, 1)
			if got := verdictOf(conduct.Config{}, in, conduct.ToolsOffered); got != want {
				t.Errorf("tools_offered is %s\nwant %s", got, want)
			}
			in.Frames = []jsonrpc.Frame{{Seq: 1, Server: "weather", Kind: jsonrpc.FrameNotification, Method: "notifications/tools/list_changed"}}
			if got := verdictOf(conduct.Config{}, in, conduct.ToolsOffered); got != "passed" {
				t.Errorf("after the server announced others, tools_offered is %s", got)
			}
		})
	}
	// What describes a tool may describe its parameters.
	in := honest()
	in.Listed = map[string][]harness.Tool{"weather": slices.Clone(tools)}
	in.Listed["weather"][0].Schema = json.RawMessage(schemaListed)
	for i := range in.Exchanges {
		in.Exchanges[i].Request.Tools = slices.Clone(tools)
		in.Exchanges[i].Request.Tools[0].Description += " k: The key."
		in.Exchanges[i].Request.Tools[0].Schema = json.RawMessage(replaced(`, "description": "The key."`, ""))
	}
	if got := verdictOf(conduct.Config{}, in, conduct.ToolsOffered); got != "passed" {
		t.Errorf("described by the tool, tools_offered is %s", got)
	}
}

// TestParameterOffered: one parameter x, as the server lists it and as the client
// offers it.
func TestParameterOffered(t *testing.T) {
	for _, tt := range []struct{ name, listed, offered, want string }{
		{"an integer for a number", `{"type": "number"}`, `{"type": "integer"}`, "passed"},
		{"a number for a text", `{"type": "string"}`, `{"type": "number"}`, `failed: "x" is number, not string`},
		{"of several types one", `{"type": ["string", "integer"]}`, `{"type": "integer"}`, "passed"},
		{"of several types none", `{"type": ["string", "integer"]}`, `{"type": "boolean"}`, `failed: "x" is boolean, not integer or string`},
		{"another type, where null is one", `{"type": ["integer", "null"]}`, `{"type": "string"}`, `failed: "x" is string, not integer`},
		{"another type, where null is the only one", `{"type": "null"}`, `{"type": "string"}`, "passed"},
		{"another type of what stands elsewhere", `{"$ref": "#/$defs/D"}`, `{"type": "integer"}`, `warning: "x" is integer, not string`},
		{"another type of what is joined", `{"allOf": [{"type": "string"}]}`, `{"type": "integer"}`, `warning: "x" is integer, not string`},
		{"another type than either of two", `{"anyOf": [{"type": "string"}, {"type": "integer"}]}`, `{"type": "boolean"}`, `warning: "x" is boolean, not integer or string`},
		{"one of two types", `{"oneOf": [{"type": "string"}, {"type": "integer"}]}`, `{"type": "string"}`, "passed"},
		{"a type for one of two that are any", `{"anyOf": [{"type": "string"}, {}]}`, `{"type": "integer"}`, "passed"},
		{"a type for one of two that cannot be told", `{"anyOf": [{"type": "string"}, {"type": "integer", "$ref": "#/$defs/None"}]}`, `{"type": "boolean"}`, "passed"},
		{"a reference to nothing", `{"type": "string"}`, `{"$ref": "#/$defs/None"}`, "passed"},
		{"a reference to another document", `{"type": "string"}`, `{"$ref": "https://example.com/s.json"}`, "passed"},

		{"an enum of its own", `{"type": "string"}`, `{"type": "string", "enum": ["a"]}`, "passed"},
		{"an enum with another type beside it", `{"type": "string", "enum": ["a"]}`, `{"anyOf": [{"const": "a"}, {"type": "string"}]}`, "passed"},
		{"no enum, where any text will do as well", `{"anyOf": [{"enum": ["a"]}, {"type": "string"}]}`, `{"type": "string"}`, "passed"},
		{"no enum, where all of several are listed", `{"anyOf": [{"const": "a"}, {"const": "b"}]}`, `{"type": "string"}`, `warning: "x" has no enum`},
		{"less of an enum with null", `{"enum": ["a", "b", null]}`, `{"enum": ["a"]}`, `warning: "x" has the enum [a], not [a, b]`},
		{"an enum with null, without null", `{"enum": ["a", "b", null]}`, `{"enum": ["a", "b"]}`, "passed"},
		{"no enum of numbers, which some providers refuse", `{"type": "integer", "enum": [1, 2]}`, `{"type": "integer"}`, "passed"},

		{"without the description of what stands elsewhere", `{"$ref": "#/$defs/D", "description": "An x."}`, `{"type": "string", "description": "An x."}`, "passed"},
		{"with the description of what stands elsewhere", `{"$ref": "#/$defs/D"}`, `{"type": "string", "description": "Any."}`, "passed"},
		{"without the only description, which stands elsewhere", `{"$ref": "#/$defs/D"}`, `{"type": "string"}`, `warning: "x" has the description "", not "Any."`},
		{"without the descriptions of either", `{"anyOf": [{"type": "string", "description": "A."}, {"type": "integer", "description": "B."}]}`, `{"type": ["string", "integer"]}`, "passed"},
		{"with the description at one of two", `{"type": "string", "enum": ["a", "b"], "description": "An x."}`, `{"anyOf": [{"const": "a", "description": "An x."}, {"const": "b"}]}`, "passed"},

		{"one of two objects", `{"anyOf": [{"type": "object", "properties": {"y": {"type": "string"}}}, {"type": "object"}], "properties": {"z": {"type": "string"}}}`, `{"type": "object"}`, "passed"},
		{"an object as one of two", `{"type": "object", "properties": {"y": {"type": "string"}}}`, `{"anyOf": [{"type": "object", "properties": {"y": {"type": "string"}}}, {"type": "object"}]}`, "passed"},
		{"another object below", `{"type": "object", "properties": {"y": {"type": "object", "properties": {"z": {"type": "string"}}}}}`, `{"type": "object", "properties": {"y": {"type": "object"}}}`, `warning: "x.y.z" is left out`},
		{"a list without its items", `{"type": "array", "items": {"type": "string"}}`, `{"type": "array"}`, `warning: "x[]" has no type, not string`},
		{"a list without its items, which may be anything", `{"type": "array", "items": {}}`, `{"type": "array"}`, "passed"},
		{"items that the server does not list", `{"type": "array"}`, `{"type": "array", "items": {"type": "string"}}`, "passed"},
		{"items of items", `{"type": "array", "items": {"type": "array", "items": {"type": "string"}}}`, `{"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}`, `failed: "x[][]" is integer, not string`},
		{"a default in place of being required", `{"type": "string", "default": "a"}`, `{"type": "string"}`, "passed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			schema := func(x, required string) json.RawMessage {
				return json.RawMessage(`{"type": "object", "properties": {"x": ` + x + `}, "required": [` + required + `], "$defs": {"D": {"type": "string", "description": "Any."}}}`)
			}
			required := `"x"`
			if strings.Contains(tt.listed, `"default"`) {
				required = "" // only what has a default need not be
			}
			in.Listed = map[string][]harness.Tool{"weather": slices.Clone(tools)}
			in.Listed["weather"][0].Schema = schema(tt.listed, `"x"`)
			for i := range in.Exchanges {
				in.Exchanges[i].Request.Tools = slices.Clone(tools)
				in.Exchanges[i].Request.Tools[0].Schema = schema(tt.offered, required)
			}
			got := strings.Replace(verdictOf(conduct.Config{}, in, conduct.ToolsOffered), `request 1: tool "weather.get" is offered with other parameters than its server lists: `, "", 1)
			if got != tt.want {
				t.Errorf("tools_offered is %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestParametersOfAnother: a tool that is offered with other parameters may be
// another one than it seems, where one that is offered has its description and its
// parameters; and it may have changed, where its server said so.
func TestParametersOfAnother(t *testing.T) {
	const (
		listed = `{"type": "object", "properties": {"m": {"type": "string"}, "n": {"type": "integer"}}}`
		wrong  = `{"type": "object", "properties": {"m": {"type": "string"}, "n": {"type": "string"}}}`
		both   = `{"type": "object", "properties": {"m": {}, "n": {"type": "string"}}}`
		failed = `failed: request 1: tool "weather.get" is offered with other parameters than its server lists: `
	)
	const one, two = failed + `"n" is string, not integer`, failed + `"n" is string, not integer; "m" has no type, not string`
	const changed = "notifications/tools/list_changed"
	for _, tt := range []struct {
		name           string
		offered        string
		beside, schema string // the description and the parameters of another tool
		server         string // of a frame
		in             bool
		method         string
		want           string
	}{
		{"no other", wrong, "", "", "", false, "", one},
		{"one lost, and one of another type", both, "", "", "", false, "", two},
		{"the other is it", wrong, "Get it.", listed, "", false, "", "passed"},
		{"the other is described otherwise", wrong, "Fetch it.", listed, "", false, "", one},
		{"the other is wrong, too", wrong, "Get it.", wrong, "", false, "", one},
		{"the other is wrong, too, and has lost something", wrong, "Get it.", both, "", false, "", one},
		{"its server said that it changed", wrong, "", "", "weather", false, changed, "passed"},
		{"another server said so", wrong, "", "", "mail", false, changed, one},
		{"the client said so", wrong, "", "", "weather", true, changed, one},
		{"its server said something else", wrong, "", "", "weather", false, "notifications/message", one},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			in.Listed = map[string][]harness.Tool{"weather": {{Name: "get", Description: "Get it.", Schema: json.RawMessage(listed)}}}
			offered := []harness.Tool{{Name: "get", Description: "Get it.", Schema: json.RawMessage(tt.offered)}}
			if tt.beside != "" {
				offered = append(offered, harness.Tool{Name: "fetch", Description: tt.beside, Schema: json.RawMessage(tt.schema)})
			}
			in.Exchanges[0].Request.Tools, in.Exchanges[1].Request.Tools = offered, offered
			if tt.server != "" {
				in.Frames = []jsonrpc.Frame{{Seq: 1, Server: tt.server, In: tt.in, Kind: jsonrpc.FrameNotification, Method: tt.method}}
			}
			if got := verdictOf(conduct.Config{}, in, conduct.ToolsOffered); got != tt.want {
				t.Errorf("tools_offered is %s\nwant %s", got, tt.want)
			}
		})
	}
}
