// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/strictyaml"
)

const pageHead = `# Scenario reference

<!-- Written by "go test ./scenarios -update" from scenarios/keys.go and scenarios/operators.go. -->

Four kinds of YAML file, told apart by their first key: ` + "`scenario`, `server`, `llm`, `suite` (`version`" + ` may
stand before it). In a folder, other YAML is left alone with a note. Folders named ` + "`cassettes`" + `, hidden ones and links to
folders are not looked into; files of these kinds in the first and the last, and those that end in ` + "`.YAML`" + `, are noted too. Every
mistake of a file is reported at once, as ` + "`file:line:col: message`" + `.

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

// reference returns the reference page of the language, in Markdown.
func reference() string {
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
	b.WriteString("\n## Operators\n\nWhere a value is expected, a map with one key that begins with `$`. In replies, results and `set` only `$cel`\nand `$literal`. A map that is not an operator matches when the keys that it names match; lists match item by item.\n")
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
