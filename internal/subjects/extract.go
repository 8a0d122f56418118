// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package subjects

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// of reads the text of a line, if it has it. A line that is not JSON has none:
// programs write logs between.
func (x *Extract) of(line string) (text string, found bool, err error) {
	v, err := value.Parse([]byte(strings.TrimSpace(line)))
	if err != nil {
		return "", false, nil
	}
	return x.in(v)
}

// in reads the text of a value, if it has it. The error is why that could not be
// said: such a value does not count, and where none counts, it is the reason.
func (x *Extract) in(v value.Value) (text string, found bool, err error) {
	vars := &expr.Vars{Value: v}
	if x.When != nil {
		if holds, err := x.When.Holds(vars); err != nil || !holds {
			return "", false, err
		}
	}
	text, err = textOf(x.Text, v)
	return text, err == nil, err
}

// textOf evaluates an expression; anything that is not a text is JSON, and null is
// none.
func textOf(p *expr.Program, v value.Value) (string, error) {
	out, err := p.Eval(&expr.Vars{Value: v})
	switch {
	case err != nil:
		return "", err
	case out.IsNull():
		return "", fmt.Errorf("%s is null and not a text", p)
	}
	return out.Text(), nil
}

// last reads the text of the last line that has one.
func (x *Extract) last(out string) (string, error) {
	text, found := "", false
	var why error
	for line := range strings.Lines(out) {
		t, ok, err := x.of(line)
		if ok {
			text, found = t, true
		}
		if err != nil {
			why = err
		}
	}
	switch {
	case found:
		return text, nil
	case why != nil:
		return "", why
	}
	if strings.TrimSpace(out) == "" {
		return "", errors.New("it wrote nothing to its standard output")
	}
	what := "a line of JSON"
	if x.When != nil {
		what = fmt.Sprintf("a line of JSON for which %q holds", x.When)
	}
	return "", fmt.Errorf("want %s on its standard output, which ends: %s", what, prose.Middle(strings.TrimSpace(out), 0, 300))
}
