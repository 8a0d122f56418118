// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/strictyaml"
)

const pageHead = `# Scenario reference

<!-- Written by "go test ./scenarios -update" from scenarios/keys.go and scenarios/operators.go. -->

Four kinds of YAML file, told apart by their first key: ` + "`scenario`, `server`, `llm`, `suite` (`version`" + ` may
stand before it). In a folder, other YAML is left alone with a note. Every mistake of a file is reported at
once, as ` + "`file:line:col: message`" + `.

- Numbers are JSON numbers: ` + "`010`, `0x1f`, `1_000`, `.inf`" + ` are errors. Dates are texts. Durations have a unit.
- Duplicate keys, unknown keys, tags, merge keys and second documents are errors. Aliases work, within a budget.
- Quote a text, or write it as a block with ` + "`|`" + `, when it begins with ` + "`{ [ ! & * > | % @` or a backtick, contains `: ` or ` #`" + `,
  or stands between ` + "`{ }` or `[ ]` and contains one of `{ } [ ] , ?`." + `
- ` + "`${NAME}` and `${NAME:-default}`" + ` are environment variables, in model settings and in command, env, url and headers of
  servers; ` + "`$${` is the text `${`." + `
- ` + "`{{ }}`" + ` holds a CEL expression and makes a text; ` + "`{$cel: ...}`" + ` keeps the type. A plain path such as ` + "`result.a[0].b`" + `
  gives the stored value, spelling and all.
- A call is ` + "`server.tool: {arguments}`" + `; a name without a dot is the name that the subject offers.
`

// Reference returns the reference page of the language, in Markdown.
func Reference() string {
	var b strings.Builder
	b.WriteString(pageHead)
	for _, o := range objects() {
		fmt.Fprintf(&b, "\n## %s\n\n%s", o.name, o.doc)
		switch {
		case len(o.one) > 0:
			fmt.Fprintf(&b, " It has exactly one of %s", codes(o.one))
			if len(o.unless) > 0 {
				fmt.Fprintf(&b, ", or none beside %s", codes(o.unless))
			}
			b.WriteString(".")
		case len(o.some) > 0:
			fmt.Fprintf(&b, " It has at least one of %s.", codes(o.some))
		}
		b.WriteString("\n\n| key | type | default | |\n| --- | --- | --- | --- |\n")
		for _, k := range o.keys {
			def := k.def
			if k.required {
				def = "*required*"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.name, cell(k.typ.describe()), cell(def), cell(k.doc))
		}
	}
	b.WriteString("\n## Operators\n\nWhere a value is expected, a map with one key that begins with `$`. In replies, results and `set` only `$cel`\nand `$literal`. A map that is no operator matches when the keys that it names match; lists match item by item.\n")
	writeEntries(&b, "operator", operators())
	b.WriteString("\n## Names in expressions\n")
	writeEntries(&b, "name", names())
	b.WriteString("\n## Names by place\n\n`value` is known under `$that` besides. A condition (`when`, `failed_when`, `that`, `$that`) and `$cel` are CEL as they stand,\nwithout `{{ }}`.\n\n| place | names |\n| --- | --- |\n")
	for _, p := range places() {
		fmt.Fprintf(&b, "| %s | %s |\n", p.where, known(p.scope))
	}
	fmt.Fprintf(&b, "\n## Reserved keys\n\nRefused for now: %s.\n", codes(reserved()))
	return b.String()
}

func writeEntries(b *strings.Builder, what string, entries []entry) {
	fmt.Fprintf(b, "\n| %s | example | |\n| --- | --- | --- |\n", what)
	for _, e := range entries {
		fmt.Fprintf(b, "| `%s` | `%s` | %s |\n", e.name, cell(e.example), cell(e.doc))
	}
}

func codes(words []string) string { return "`" + strings.Join(words, "`, `") + "`" }

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// describe is the type in words, with links to the objects of the page.
func (t typ) describe() string {
	switch {
	case len(t.alts) > 0:
		var words []string
		for _, a := range t.alts {
			words = append(words, a.describe())
		}
		return strings.Join(words, ", or ")
	case t.object != "":
		return fmt.Sprintf("[%s](#%s)", t.object, strings.ReplaceAll(t.object, " ", "-"))
	case t.onePair:
		return "a tool with its arguments"
	case t.elem != nil && slices.Contains(t.kinds, strictyaml.List):
		return "list of " + strings.TrimPrefix(t.elem.describe(), "a ")
	case t.elem != nil:
		return "map of " + strings.TrimPrefix(t.elem.describe(), "a ")
	default:
		return t.words
	}
}

// JSONSchema returns a JSON Schema of the files, for editors.
func JSONSchema() []byte {
	defs := map[string]any{}
	for _, o := range objects() {
		defs[o.name] = o.jsonSchema()
	}
	var byKind []any
	for _, k := range kinds() {
		byKind = append(byKind, map[string]any{
			"if": map[string]any{"required": []string{k}}, "then": map[string]any{"$ref": "#/$defs/" + escaped(k+" file")},
		})
	}
	root := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "rehearse",
		"type": "object", "allOf": byKind, "$defs": defs,
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil {
		panic(fmt.Sprintf("scenarios: encoding the schema: %v", err)) // unreachable: maps of plain values
	}
	return b.Bytes()
}

func escaped(name string) string { return strings.ReplaceAll(name, " ", "%20") }

func (o *object) jsonSchema() map[string]any {
	properties := map[string]any{}
	var required []string
	for _, k := range o.keys {
		s := k.typ.jsonSchema()
		s["description"] = k.doc
		properties[k.name] = s
		if k.required {
			required = append(required, k.name)
		}
	}
	s := map[string]any{"type": "object", "description": o.doc, "properties": properties}
	if required != nil {
		s["required"] = required
	}
	if !o.open {
		s["additionalProperties"] = false
	}
	return s
}

func (t typ) jsonSchema() map[string]any {
	if len(t.alts) > 0 {
		var alts []any
		for _, a := range t.alts {
			alts = append(alts, a.jsonSchema())
		}
		return map[string]any{"anyOf": alts}
	}
	if t.object != "" {
		return map[string]any{"$ref": "#/$defs/" + escaped(t.object)}
	}
	s := map[string]any{}
	var types []string
	for _, k := range t.kinds {
		types = append(types, map[strictyaml.Kind]string{
			strictyaml.Bool: "boolean", strictyaml.Number: "number", strictyaml.String: "string",
			strictyaml.List: "array", strictyaml.Map: "object",
		}[k])
	}
	if t.integer {
		types = []string{"integer"}
	}
	switch len(types) {
	case 0:
	case 1:
		s["type"] = types[0]
	default:
		s["type"] = types
	}
	if t.oneOf != nil && len(types) == 1 {
		s["enum"] = t.oneOf
	}
	if t.pattern != "" {
		s["pattern"] = t.pattern
	}
	if t.elem != nil {
		elem := t.elem.jsonSchema()
		if slices.Contains(t.kinds, strictyaml.List) {
			s["items"] = elem
		} else {
			s["additionalProperties"] = elem
		}
	}
	if t.onePair {
		s["minProperties"], s["maxProperties"] = 1, 1
	}
	return s
}
