// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/harness"
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
