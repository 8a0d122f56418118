// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// problems collects mistakes of several files. A mistake in a file that
// several scenarios share is met several times and counts once.
type problems struct {
	list []Problem
	seen map[Problem]bool
}

func (p *problems) add(pos harness.Position, format string, args ...any) {
	p.put(Problem{pos, fmt.Sprintf(format, args...)})
}

func (p *problems) put(list ...Problem) {
	if p.seen == nil {
		p.seen = map[Problem]bool{}
	}
	for _, one := range list {
		one.Msg = brief(one.Msg)
		if !p.seen[one] {
			p.seen[one] = true
			p.list = append(p.list, one)
		}
	}
}

func (p *problems) sorted() []Problem {
	slices.SortStableFunc(p.list, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Col, b.Pos.Col), cmp.Compare(a.Msg, b.Msg),
		)
	})
	return p.list
}

// brief shortens the lines of a message that quotes too much of a file, in
// their middle: advice stands at the end.
func brief(msg string) string {
	const head, tail = 300, 200
	if len(msg) <= head+tail {
		return msg
	}
	lines := strings.Split(msg, "\n")
	for i, line := range lines {
		lines[i] = prose.Middle(line, head, tail)
	}
	return strings.Join(lines, "\n")
}
