// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package expr

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"

	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// ErrMissing is met when an expression reads what is not there.
var ErrMissing = errors.New("missing")

type missingError struct{ msg string }

func (e *missingError) Error() string        { return e.msg }
func (e *missingError) Is(target error) bool { return target == ErrMissing }

func missingf(format string, args ...any) error {
	return &missingError{fmt.Sprintf(format, args...)}
}

// Error is a mistake in an expression.
type Error struct {
	// Path leads to the string in the value; nil outside of values.
	Path value.Path
	// Src is the whole string or expression, Offset the byte in it.
	Src    string
	Offset int
	// Msg says what is wrong, with a hint where there is one.
	Msg string
}

// Error returns the message, and below it the line of the source with a caret.
func (e *Error) Error() string {
	msg := e.Msg
	if len(e.Path) > 0 {
		msg = e.Path.String() + ": " + msg
	}
	if e.Src == "" {
		return msg
	}
	line, offset := around(e.Src, min(max(e.Offset, 0), len(e.Src)))
	pad := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, line[:offset])
	return fmt.Sprintf("%s\n    %s\n    %s^", msg, line, pad)
}

// around returns the line of src with the byte at offset, and where in it
// that byte is. Of a long line it is the part that a terminal can show.
func around(src string, offset int) (line string, at int) {
	start := strings.LastIndexByte(src[:offset], '\n') + 1
	line, _, _ = strings.Cut(src[start:], "\n")
	return prose.Around(line, offset-start, 100, 60)
}

// Errors are all mistakes in a value, in document order.
type Errors []*Error

func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// issue turns what CEL says into an [Error]: its first complaint, in words
// that somebody can use who never heard of CEL's overloads.
func (e *Env) issue(src string, issues *cel.Issues) *Error {
	first := issues.Errors()[0]
	err := &Error{Src: src, Offset: offsetOf(src, first.Location.Line(), first.Location.Column()), Msg: first.Message}
	if m := typeAsName.FindStringSubmatch(first.Message); m != nil {
		err.Offset = strings.Index(src, m[1])
	}
	if hint := e.hint(src, err.Offset, first.Message); hint != "" {
		err.Msg = hint
	}
	if err.Msg == bracesHint {
		err.Offset = strings.Index(src, "{{")
	}
	return err
}

// offsetOf converts a line (from 1) and a column (in characters, from 0).
func offsetOf(src string, line, col int) int {
	offset := 0
	for ; line > 1; line-- {
		i := strings.IndexByte(src[offset:], '\n')
		if i < 0 {
			return len(src)
		}
		offset += i + 1
	}
	for ; col > 0 && offset < len(src); col-- {
		_, size := utf8.DecodeRuneInString(src[offset:])
		offset += size
	}
	return offset
}

// typeAsName is how CEL reads a name of another scope that is also the name of
// its type, as message is.
var typeAsName = regexp.MustCompile(`type\((request|message|journal|transcript)\)`)

// hint says a complaint of CEL in plain words; empty when it has none.
func (e *Env) hint(src string, offset int, msg string) string {
	if rest, ok := strings.CutPrefix(msg, "undeclared reference to '"); ok {
		name, _, _ := strings.Cut(rest, "'")
		name = strings.TrimPrefix(name, ".")
		return e.unknownName(src, offset, name)
	}
	if m := typeAsName.FindStringSubmatch(msg); m != nil {
		if _, known := e.variable(m[1]); !known {
			return e.unknownName(src, strings.Index(src, m[1]), m[1])
		}
	}
	if rest, ok := strings.CutPrefix(msg, "undefined field '"); ok {
		name, _, _ := strings.Cut(rest, "'")
		return e.unknownField(src, name)
	}
	if rest, ok := strings.CutPrefix(msg, "found no matching overload for '"); ok {
		return overloadHint(rest, msg)
	}
	if syntax, ok := strings.CutPrefix(msg, "Syntax error: "); ok {
		return syntaxHint(src, offset, syntax)
	}
	return ""
}

func (e *Env) unknownName(src string, offset int, name string) string {
	known := sortedNames(e.vars)
	msg := fmt.Sprintf("unknown name %q", name)
	called := isCalled(src, offset, name)
	switch {
	case name == "results" && slices.Contains(known, name):
		return `results is a function: write results("server.tool")[0], or last() for the last one`
	case called && name == "result" && slices.Contains(known, "results"):
		return `result is not a function: write result, or results("server.tool")[0]`
	case called && slices.Contains(known, name):
		return name + " is not a function: write it without ( )"
	case !called && e.cel.Functions()[name] != nil:
		return fmt.Sprintf("%s is a function: write x.%s() or %s(x)", name, name, name)
	}
	for _, scope := range []Scope{Request, Reply, ToolResult, That, Value} {
		for _, v := range scopeVars(e.schema, scope) {
			if v.name == name {
				return fmt.Sprintf("%q is unknown here; known are %s", name, strings.Join(known, ", "))
			}
		}
	}
	if meant := prose.DidYouMean(name, known); meant != "" {
		return msg + meant
	}
	functions := make([]string, 0, 64)
	for f := range e.cel.Functions() {
		functions = append(functions, f)
	}
	slices.Sort(functions)
	if meant := prose.DidYouMean(name, functions); called && meant != "" {
		return msg + meant
	}
	if called {
		return fmt.Sprintf("there is no function %q", name)
	}
	return fmt.Sprintf("%s; known are %s", msg, strings.Join(known, ", "))
}

// isCalled reports whether name is used as a function at a place. CEL's place
// of a call is its bracket, that of a name its first letter.
func isCalled(src string, offset int, name string) bool {
	if offset < 0 || offset > len(src) {
		return false
	}
	rest := strings.TrimPrefix(src[offset:], name)
	return strings.HasPrefix(strings.TrimLeft(rest, " \t\r\n"), "(")
}

// unknownField compiles once more with a provider that takes notes, since
// CEL's message does not say which type lacks the field.
func (e *Env) unknownField(src, name string) string {
	var misses []fieldMiss
	base, ok := e.cel.CELTypeProvider().(*provider)
	if !ok {
		return ""
	}
	env, err := e.cel.Extend(cel.CustomTypeProvider(&provider{base.Provider, e.schema, &misses}))
	if err != nil {
		return ""
	}
	_, _ = env.Compile(src) // for the misses alone
	for _, miss := range misses {
		if miss.name == name {
			return miss.typ.noField(name)
		}
	}
	return ""
}

func (t *objectType) noField(name string) string {
	known := t.fieldNames()
	return fmt.Sprintf("%s has no field %q%s", t.name, name, prose.MeantOr(name, known, "; it has "+strings.Join(known, ", ")))
}

const mixHint = "ints and doubles do not mix in + - * / (write double(x) or int(x))"

// overloadHint explains "found no matching overload for '_+_' applied to
// '(int, double)'", of which it gets what follows the first quote.
func overloadHint(rest, msg string) string {
	op, rest, _ := strings.Cut(rest, "'")
	args := strings.Trim(strings.TrimSpace(strings.TrimPrefix(rest, " applied to ")), "'")
	if strings.Contains("_+_ _-_ _*_ _/_ _%_", op) && (args == "(int, double)" || args == "(double, int)") {
		return mixHint
	}
	if slices.Contains([]string{"_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"}, op) && (args == "(int, double)" || args == "(double, int)") {
		return "int and double are different types: write double(x) or int(x), or 1.0 for 1"
	}
	name := strings.Trim(strings.Trim(op, "_"), "@")
	switch name {
	case "":
		return msg
	case "results":
		return fmt.Sprintf(`results takes the name of one tool: results("server.tool"), not %s`, args)
	}
	return fmt.Sprintf("%s cannot be applied to %s", name, args)
}

var wordOperators = regexp.MustCompile(`(?i)\b(and|or|not)\b`)

const bracesHint = "this is already an expression: write it without {{ }}"

// withoutLiterals has a letter for each byte of the string literals of src.
func withoutLiterals(src string) string {
	return stringLiterals.ReplaceAllStringFunc(src, func(s string) string { return strings.Repeat("x", len(s)) })
}

func syntaxHint(src string, offset int, syntax string) string {
	blank := withoutLiterals(src)
	if strings.Contains(blank, "{{") {
		return bracesHint
	}
	if i := singleEquals(blank); i >= 0 {
		return "= is not a comparison: write =="
	}
	if m := wordOperators.FindString(blank); m != "" {
		return fmt.Sprintf("%s is not an operator: write %s", m, map[string]string{"and": "&&", "or": "||", "not": "!"}[strings.ToLower(m)])
	}
	switch {
	case strings.TrimSpace(src) == "":
		return "the expression is empty"
	case strings.Contains(syntax, "input '<EOF>'"), offset >= len(strings.TrimRight(src, " \t\r\n")):
		return "the expression is incomplete"
	case strings.HasPrefix(syntax, "token recognition error"):
		return "this is not an expression (an open quote?)"
	}
	if m := unexpected.FindStringSubmatch(syntax); m != nil {
		return fmt.Sprintf("%s is not expected here", m[1])
	}
	return "the expression is unreadable here"
}

var (
	stringLiterals = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`)
	unexpected     = regexp.MustCompile(`(?:mismatched|extraneous) input ('.*?') `)
)

// singleEquals finds a = that is part of no ==, !=, <= or >=.
func singleEquals(s string) int {
	for i := range len(s) {
		if s[i] != '=' || (i+1 < len(s) && s[i+1] == '=') || (i > 0 && strings.IndexByte("=!<>", s[i-1]) >= 0) {
			continue
		}
		return i
	}
	return -1
}

// ofType is a type in words with its article: "an int", "a list(dyn)".
func ofType(name string) string {
	if name != "" && strings.ContainsRune("aeiou", rune(name[0])) {
		return "an " + name
	}
	return "a " + name
}

// evalError says that an expression could not be evaluated. It stays what it
// was for errors.Is.
func evalError(src string, err error) error {
	text := err.Error()
	switch {
	case errors.Is(err, ErrMissing):
	case strings.HasPrefix(text, "no such key"), strings.HasPrefix(text, "index out of bounds"), strings.HasPrefix(text, "no such attribute"):
		// These come from CEL's own resolver as text.
		err = &missingError{text}
	case strings.HasPrefix(text, "no such overload"):
		text = "an operator or function does not accept these types"
		if strings.ContainsAny(src, "+-*/%") {
			text += "; " + mixHint
		}
		err = errors.New(text)
	}
	return fmt.Errorf("evaluating %#q: %w", src, err)
}
