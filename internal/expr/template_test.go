// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package expr_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/value"
)

func TestTemplate(t *testing.T) {
	for _, test := range []struct{ name, src, want string }{
		{"none", `just text } { }}`, `just text } { }}`},
		{"empty", ``, ``},
		{"path", `Built {{result.m.z}} of {{ user }}.`, `Built 1 of hi.`},
		{"spelling", `{{result.a[0].b}}`, `1.10`},
		{"JSON", `{{result.m}}`, `{"z":1,"y":2.50}`},
		{"brackets in the expression", `{{ {"a": {"b": 1}}}}`, `{"a":{"b":1}}`},
		{"brackets in a string", `{{"}}"}}`, `}}`},
		{"the brackets themselves", `{{"{{"}}x}}`, `{{x}}`},
		{"side by side", `{{user}}{{turn}}`, `hi2`},
		{"double", `{{6.0 / 2.0}}`, `3.0`},
	} {
		t.Run(test.name, func(t *testing.T) {
			tmpl, err := newEnv(t, expr.Reply).CompileTemplate(test.src)
			if err != nil {
				t.Fatal(err)
			}
			got, err := tmpl.Render(sample(t))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if text, ok := tmpl.Literal(); ok != !strings.Contains(test.src, "{{") || (ok && text != got) {
				t.Errorf("Literal = %q, %t", text, ok)
			}
		})
	}
}

func TestTemplateErrors(t *testing.T) {
	for _, test := range []struct{ name, src, want string }{
		{"not closed", `Built {{result.x`, "there is no }} to this {{ (for the text itself write {{\"{{\"}})\n    Built {{result.x\n          ^"},
		{"not closed before the next", `It is {{result.sky} in {{result.city}}.`, "there is no }} to this {{ before the next one\n    It is {{result.sky} in {{result.city}}.\n          ^"},
		{"braces in a literal of one that is wrong", `{{ "{{" + }}`, "the expression is incomplete\n    {{ \"{{\" + }}\n              ^"},
		{"empty", `x {{ }}`, "the expression is empty\n    x {{ }}\n         ^"},
		{"cut short", `{{ turn + }} and {{ user }}`, "the expression is incomplete\n    {{ turn + }} and {{ user }}\n              ^"},
		{"unknown name", `é {{resutl.x}}`, "unknown name \"resutl\" (did you mean \"result\"?)\n    é {{resutl.x}}\n        ^"},
		{"after brackets", `{{ {"a": 1}}} {{ vras }}`, "unknown name \"vras\" (did you mean \"vars\"?)\n    {{ {\"a\": 1}}} {{ vras }}\n                     ^"},
		{"many ends", `{{ ` + strings.Repeat("}}", 1000), "the expression is empty"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := newEnv(t, expr.Reply).CompileTemplate(test.src)
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
}

func TestTree(t *testing.T) {
	for _, test := range []struct {
		name, src, want string
		literal         bool
	}{
		{"literal", `{"b":1.0,"a":[null,"x"]}`, `{"b":1.0,"a":[null,"x"]}`, true},
		{"text", `{"say":"{{user}}!"}`, `{"say":"hi!"}`, false},
		{"key", `{"models":{"{{result.s}}":{"n":1}}}`, `{"models":{"x":{"n":1}}}`, false},
		{"cel keeps types", `[{"$cel":"result.n"},{"$cel":"result.id"},{"$cel":"result.n + 1"}]`, `[1,12345678901234567890,2]`, false},
		{"text makes strings", `"{{result.n}}"`, `"1"`, false},
		{"quoted", `{"a":{"$literal":{"$x":"{{user}}"}}}`, `{"a":{"$x":"{{user}}"}}`, true},
		{"null stays", `{"{{user}}":null}`, `{"hi":null}`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			tree, err := newEnv(t, expr.Reply).CompileValue(parse(t, test.src))
			if err != nil {
				t.Fatal(err)
			}
			got, err := tree.Expand(sample(t))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.String()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if v, ok := tree.Literal(); ok != test.literal || (ok && v.String() != test.want) {
				t.Errorf("Literal = %s, %t", v, ok)
			}
		})
	}
}

func TestTreeErrors(t *testing.T) {
	src := parse(t, `{
		"a": {"$regex": "x"},
		"b": ["{{resutl}}", {"$cel": 5}, {"$cell": "1"}],
		"c": {"$cel": "1", "x": 2},
		"{{": 1
	}`)
	_, err := newEnv(t, expr.Reply).CompileValue(src)
	want := `a.$regex: "$regex" is unknown here, only $cel and $literal are allowed; matchers belong in expectations
b[0]: unknown name "resutl" (did you mean "result"?)
    {{resutl}}
      ^
b[1].$cel: $cel needs an expression in a string, not a value of type number
b[2].$cell: unknown operator "$cell" (did you mean "$cel"?)
c: "$cel" has other keys beside it, but an operator must be the only key; if the map is data, write {$literal: {...}} around it
["{{"]: there is no }} to this {{ (for the text itself write {{"{{"}})
    {{
    ^`
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, ok := err.(expr.Errors); !ok {
		t.Errorf("the error is a %T", err)
	}
}

func TestExpandErrors(t *testing.T) {
	for _, test := range []struct{ src, want string }{
		{`{"a":["x",{"$cel":"result.idd"}]}`, "a[1]: evaluating `result.idd`: result has no key \"idd\" (did you mean \"id\"?)"},
		{`{"{{result.idd}}":1}`, "[\"{{result.idd}}\"]: evaluating `result.idd`: result has no key \"idd\" (did you mean \"id\"?)"},
		{`{"x":{"hi":1,"{{user}}":2}}`, "x: two keys became equal"},
	} {
		tree, err := newEnv(t, expr.Reply).CompileValue(parse(t, test.src))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tree.Expand(sample(t)); err == nil || err.Error() != test.want {
			t.Errorf("%s: error %v, want %s", test.src, err, test.want)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{
		`Built {{result.model_id}} with {{result.num_reactions}} reactions.`, `{{`, `}}`, `{{}}`, `{{ {"a":{"b":1}}}}`,
		`{{"}}"}}`, `{{ results("s.t")[0].x }}`, `{{ result.a. }}`, `{{ result['a'] }}`, "{{ \xff }}", `{{ 1 +`, `{{user}}{{turn}}`,
		`{{ result.a[99999999999999999999] }}`, `{{ [1,2].all(x, x > turn) }}`,
	} {
		f.Add(seed)
	}
	env := newEnv(f, expr.Reply)
	vars := sample(f)
	f.Fuzz(func(t *testing.T, src string) {
		tmpl, err := env.CompileTemplate(src)
		if err != nil {
			var e *expr.Error
			if !errors.As(err, &e) || e.Offset < 0 || e.Offset > len(src) || e.Msg == "" {
				t.Fatalf("%q: %#v", src, err)
			}
			return
		}
		if text, ok := tmpl.Literal(); ok && text != src {
			t.Fatalf("%q became %q", src, text)
		}
		_, _ = tmpl.Render(vars) // must not panic
	})
}

func Example() {
	env, err := expr.NewEnv(expr.Reply)
	if err != nil {
		fmt.Println(err)
		return
	}
	say, err := env.CompileTemplate(`Built {{result.model_id}}: {{result.reactions.size()}} reactions.`)
	if err != nil {
		fmt.Println(err)
		return
	}
	result, _ := value.Parse([]byte(`{"model_id": "ecoli", "reactions": ["r1", "r2"]}`))
	fmt.Println(say.Render(&expr.Vars{Result: &result}))

	_, err = env.CompileCondition(`resutl.model_id = "ecoli"`)
	fmt.Println(err)
	// Output:
	// Built ecoli: 2 reactions. <nil>
	// = is not a comparison: write ==
	//     resutl.model_id = "ecoli"
	//                     ^
}
