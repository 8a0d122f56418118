// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package expr_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// nested is a condition of all() within all(), which takes 10 to the power of
// depth rounds.
func nested(depth int) string {
	body := "x0 >= 0"
	for i := range depth {
		body = fmt.Sprintf("[0,1,2,3,4,5,6,7,8,9].all(x%d, %s)", i, body)
	}
	return body
}

// grown is a value that is made out of ten of itself, depth times.
func grown(of, with string, depth int) string {
	out := of
	for i := range depth {
		out = fmt.Sprintf("[%s].map(v%d, %s)[0]", out, i, strings.ReplaceAll(with, "v", fmt.Sprintf("v%d", i)))
	}
	return out
}

// TestHostileExpressions stops what does not end, or makes too much of little.
func TestHostileExpressions(t *testing.T) {
	const ten = "v+v+v+v+v+v+v+v+v+v"
	long := value.StringOf(strings.Repeat("a", 1_000_000))
	tests := []struct{ name, src, want string }{
		{"loops", nested(10), ""},
		{"a text of itself", "size(" + grown("'x'", ten, 9) + ") > 5", ""},
		{"bytes of themselves", "size(" + grown("b'x'", ten, 9) + ") > 5", ""},
		{"a list of itself", "size(" + grown("[1]", ten, 9) + ") > 5", ""},
		{"a list in itself", grown("[1]", "[v, v, v, v]", 30) + " == " + grown("[1]", "[v, v, v, v]", 30), "more than 500000 items"},
		{"a map in itself", grown("{'a': 1}", "{'a': v, 'b': v, 'c': v}", 30) + " != " + grown("{'a': 1}", "{'a': v, 'b': v, 'c': v}", 30), "more than 500000 items"},
		{"a value of itself", "dyn(" + grown("dyn([1])", "[v, v, v, v]", 30) + ")", "more than 500000 items"},
		{"in itself", grown("dyn([1])", "[v, v, v, v]", 30) + " in [" + grown("dyn([1])", "[v, v, v, v]", 30) + "]", "more than 500000 items"},
		{"format of itself", "'%s'.format([" + grown("dyn([1])", "[v, v, v, v]", 30) + "]) == ''", "more than 500000 items"},
		{"indexOf", "result.indexOf(result.substring(500000) + 'b') == 1", "steps"},
		{"lastIndexOf", "result.lastIndexOf('b' + result.substring(500000)) == 1", "steps"},
		{"replace", "size(result.replace('a', result)) > 1", "more than 500000 items or 10 MB of text"},
		{"replace of nothing", "size(result.replace('', result)) > 1", "more than 500000 items or 10 MB of text"},
		{"join", "size(result.split('').join(result)) > 1", "more than 500000 items or 10 MB of text"},
		{"join, dyn", "size(dyn(result.split('')).join(result)) > 1", "more than 500000 items or 10 MB of text"},
		{"format of lists", "size(" + grown("'x'", "'%s%s%s%s%s%s%s%s%s%s'.format([v,v,v,v,v,v,v,v,v,v])", 9) + ") > 1", ""},
		{"sum of a long text", "size(" + strings.Repeat("result + ", 50) + "result) > 1", "10 MB of text"},
		{"pattern", "result.matches('" + strings.Repeat("(a|b|ab)*", 200) + "c')", "steps"},
	}
	env, err := expr.NewEnv(expr.That)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := env.CompileCondition(tt.src)
			if err != nil {
				t.Fatal(err)
			}
			p.Place(harness.Position{File: "f.yaml", Line: 3, Col: 7})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = p.Holds(&expr.Vars{Result: &long})
			runtime.ReadMemStats(&after)
			if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 2000 {
				t.Errorf("made %d MB in all", made)
			}
			var limit *expr.LimitError
			if !errors.As(err, &limit) || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "f.yaml:3:7: evaluating `") {
				t.Errorf("Holds() = %.300v, want a limit with %q", err, tt.want)
			}
			if err != nil && len(err.Error()) > 500 {
				t.Errorf("the message has %d bytes", len(err.Error()))
			}
			if errors.Is(err, expr.ErrMissing) {
				t.Error("it says that something is missing")
			}
		})
	}
}

// TestHostileTemplate repeats a long text in a short one.
func TestHostileTemplate(t *testing.T) {
	env, err := expr.NewEnv(expr.Reply)
	if err != nil {
		t.Fatal(err)
	}
	tmpl, err := env.CompileTemplate(strings.Repeat("{{result}}", 1000))
	if err != nil {
		t.Fatal(err)
	}
	long := value.StringOf(strings.Repeat("a", 1_000_000))
	var limit *expr.LimitError
	if _, err := tmpl.Render(&expr.Vars{Result: &long}); !errors.As(err, &limit) || !strings.Contains(err.Error(), "exceeds 64 MB") {
		t.Errorf("Render() = %v", err)
	}
}

// TestEvaluationEndsWithItsContext has nobody wait for a result any more.
func TestEvaluationEndsWithItsContext(t *testing.T) {
	env, err := expr.NewEnv(expr.That)
	if err != nil {
		t.Fatal(err)
	}
	p, err := env.CompileCondition(nested(5))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.True(&expr.Vars{Ctx: ctx}); !errors.Is(err, context.Canceled) {
		t.Errorf("True() = %v, want it given up", err)
	}
}

// TestLimitsLeaveRoom evaluates what is large, and no more than that.
func TestLimitsLeaveRoom(t *testing.T) {
	items := make([]value.Value, 20_000)
	for i := range items {
		items[i] = value.ObjectOf(value.Member{Key: "id", Value: value.IntOf(int64(i))})
	}
	big := value.ObjectOf(value.Member{Key: "items", Value: value.ArrayOf(items...)}, value.Member{Key: "text", Value: value.StringOf(strings.Repeat("x", 5_000_000))})
	env, err := expr.NewEnv(expr.That)
	if err != nil {
		t.Fatal(err)
	}
	for _, src := range []string{
		"result.items.all(i, i.id >= 0)",
		"result.items.map(i, i.id).size() == 20000",
		"result.items.filter(i, i.id % 2 == 0).size() == 10000",
		"result.text.contains('y') == false && result.text.size() == 5000000",
		"result.items == result.items",
		"result.text.matches('^x*$') && !result.text.matches('y' + '$')",
		"result.items in [result.items] && result != {}",
		"result.items.map(i, string(i.id)).join(',').size() == 108889",
		"[[[[[[[[[[1]]]]]]]]]].all(x, x == [[[[[[[[[1]]]]]]]]])",
		"[1, 2].map(i, {'a': [i, result.items]}).size() == 2",
		"[1, 2, 3].map(i, {'a': [i, result.items]}) != []", // what was given counts for less than what is made
	} {
		p, err := env.CompileCondition(src)
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := p.True(&expr.Vars{Result: &big}); !ok {
			t.Errorf("%s = %v, %v", src, ok, err)
		}
	}
}
