// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package score

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/match"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/trajectory"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// Calls judges tool calls. Its four settings are independent.
type Calls struct {
	// AnyOrder lets the calls come in any order. Default: in the order listed.
	AnyOrder bool
	// AllowExtra permits other calls in between. Default: fail.
	AllowExtra bool
	// AllowMissing permits listed calls to be absent. Default: fail.
	AllowMissing bool
	// Arguments says how arguments are compared. Default: ArgumentsMatch.
	Arguments Arguments
	List      []CallPattern
	Pos       harness.Position
}

// Arguments is a way to compare the arguments of calls.
type Arguments string

// The ways. Named or exact is a property of the matcher.
const (
	ArgumentsMatch  Arguments = ""       // by the pattern's matcher
	ArgumentsIgnore Arguments = "ignore" // any arguments
	ArgumentsSchema Arguments = "schema" // any that the tool's schema accepts
)

// CallPattern is one expected call.
type CallPattern struct {
	// Tool is server.tool, or the offered name.
	Tool string
	// Args is nil for any arguments.
	Args *match.Matcher
	Pos  harness.Position
}

func (p CallPattern) String() string {
	if p.Args == nil {
		return p.Tool
	}
	return p.Tool + " " + prose.Shorten(p.Args.String(), 300)
}

// text is the expected call with the values of what its arguments compute.
func (p CallPattern) text(vars *expr.Vars) string {
	if p.Args == nil {
		return p.Tool
	}
	return p.Tool + " " + prose.Shorten(p.Args.Text(vars), 300)
}

// Score aligns the expected calls with those that were made. First it matches
// as many as possible. Then it pairs the rest by tool, so that a wrong argument
// is shown as such, and not as one call missing and another unexpected.
func (s Calls) Score(e *Evidence) trials.Verdict {
	v := e.verdict("calls", s.Pos)
	a := aligner{Calls: s, e: e}
	a.calls, a.index = e.calls()
	if err := a.compare(); err != nil {
		broken(&v, err)
		return v
	}
	a.pair()
	v.Alignment = a.rows()
	s.judge(&v)
	return v
}

type aligner struct {
	Calls
	e     *Evidence
	calls []harness.Call
	index []int                 // of calls, in the whole trajectory
	diff  [][][]trials.Mismatch // by pattern and call; nil matches
	same  [][]bool              // pattern and call are of one tool
	actual,
	expected []int // the other side of each pattern and call, or -1
	status []trials.AlignmentStatus // of each pattern that is paired
}

// compare fills diff and same.
func (a *aligner) compare() error {
	vars := make([]*expr.Vars, len(a.calls))
	for k := range a.calls {
		vars[k] = a.e.vars(a.index[k])
	}
	for _, p := range a.List {
		diff := make([][]trials.Mismatch, len(a.calls))
		same := make([]bool, len(a.calls))
		for k, c := range a.calls {
			if same[k] = c.Is(p.Tool); !same[k] {
				continue
			}
			var err error
			if diff[k], err = a.arguments(p, c, vars[k]); err != nil {
				return err
			}
		}
		a.diff, a.same = append(a.diff, diff), append(a.same, same)
	}
	return nil
}

func (a *aligner) arguments(p CallPattern, c harness.Call, vars *expr.Vars) ([]trials.Mismatch, error) {
	m := p.Args
	switch {
	case a.Arguments == ArgumentsIgnore:
		return nil, nil
	case a.Arguments == ArgumentsSchema:
		schema, ok := a.e.Schemas[c.Name()]
		if !ok {
			return nil, fmt.Errorf("the schema of %q is unknown", c.Name())
		}
		var err error
		if m, err = schemaMatcher(schema); err != nil {
			return nil, fmt.Errorf("the schema of %q: %w", c.Name(), err)
		}
	case m == nil:
		return nil, nil
	}
	if c.Args == nil {
		return []trials.Mismatch{{Path: "args", Rule: "json", Want: "a JSON object", Got: prose.Shorten(c.ArgsText, 200)}}, nil
	}
	got, err := value.Parse(c.Args)
	if err != nil {
		return nil, err
	}
	diff, err := m.Match(got, vars)
	switch {
	case errors.Is(err, expr.ErrMissing):
		// The pattern may belong to a later call, when what it reads exists.
		return []trials.Mismatch{{Path: "args", Rule: "expression", Want: p.Args.String(), Got: err.Error()}}, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	return diff, nil
}

func schemaMatcher(schema json.RawMessage) (*match.Matcher, error) {
	v, err := value.Parse(schema)
	if err != nil {
		return nil, err
	}
	v = value.ObjectOf(value.Member{Key: "$schema", Value: v})
	return match.Compile(v, &match.Options{Scope: expr.Expectation, Root: "args"})
}

// pair decides which pattern goes with which call.
func (a *aligner) pair() {
	a.actual, a.expected = minusOnes(len(a.List)), minusOnes(len(a.calls))
	a.status = make([]trials.AlignmentStatus, len(a.List))
	matches := func(i, k int) float64 {
		if a.same[i][k] && a.diff[i][k] == nil {
			return 0
		}
		return math.Inf(1)
	}
	if a.AnyOrder {
		a.assign(trials.AlignMatched, matches)
	} else {
		a.inOrder(matches)
		a.assign(trials.AlignOutOfOrder, matches)
	}
	if a.AllowExtra && a.AllowMissing {
		return // a call that differs is extra, which is allowed
	}
	a.assign(trials.AlignMismatched, func(i, k int) float64 {
		if !a.same[i][k] {
			return math.Inf(1)
		}
		// The distance in the list decides last, so that repeated calls of one
		// tool are shown in order.
		return float64(len(a.diff[i][k])) + math.Abs(float64(i-k))/1e6
	})
}

// assign pairs what is left of both sides.
func (a *aligner) assign(status trials.AlignmentStatus, cost func(i, k int) float64) {
	var rows, cols []int
	for i, k := range a.actual {
		if k < 0 {
			rows = append(rows, i)
		}
	}
	for k, i := range a.expected {
		if i < 0 {
			cols = append(cols, k)
		}
	}
	costs := make([][]float64, len(rows))
	for r, i := range rows {
		costs[r] = make([]float64, len(cols))
		for c, k := range cols {
			costs[r][c] = cost(i, k)
		}
	}
	for r, c := range trajectory.Assign(costs) {
		if c >= 0 {
			a.join(rows[r], cols[c], status)
		}
	}
}

// inOrder pairs the longest common subsequence, as early as possible.
func (a *aligner) inOrder(cost func(i, k int) float64) {
	n, m := len(a.List), len(a.calls)
	longest := make([][]int, n+1)
	for i := range longest {
		longest[i] = make([]int, m+1)
	}
	for i := n - 1; i >= 0; i-- {
		for k := m - 1; k >= 0; k-- {
			longest[i][k] = max(longest[i+1][k], longest[i][k+1])
			if cost(i, k) == 0 {
				longest[i][k] = max(longest[i][k], longest[i+1][k+1]+1)
			}
		}
	}
	for i, k := 0, 0; i < n && k < m; {
		switch {
		case cost(i, k) == 0 && longest[i][k] == longest[i+1][k+1]+1:
			a.join(i, k, trials.AlignMatched)
			i, k = i+1, k+1
		case longest[i][k] == longest[i][k+1]:
			k++
		default:
			i++
		}
	}
}

func (a *aligner) join(i, k int, status trials.AlignmentStatus) {
	a.actual[i], a.expected[k], a.status[i] = k, i, status
}

// rows lists the pairs in the order of the calls, each missing call after the
// expected one before it.
func (a *aligner) rows() *trials.Alignment {
	out := &trials.Alignment{}
	missing := func(i int) {
		for ; i < len(a.List) && a.actual[i] < 0; i++ {
			out.Rows = append(out.Rows, trials.AlignmentRow{
				Status: trials.AlignMissing, Expected: a.List[i].text(a.e.vars(len(a.e.Trajectory))), Tool: a.List[i].Tool, Call: -1, Pos: a.List[i].Pos,
			})
		}
	}
	missing(0)
	for k, c := range a.calls {
		row := trials.AlignmentRow{Status: trials.AlignExtra, Actual: callText(c), Call: a.index[k]}
		i := a.expected[k]
		if i >= 0 {
			p := a.List[i]
			row.Status, row.Expected, row.Tool = a.status[i], p.text(a.e.vars(a.index[k])), p.Tool
			row.Pos, row.Mismatches = p.Pos, a.diff[i][k]
		}
		out.Rows = append(out.Rows, row)
		if i >= 0 {
			missing(i + 1)
		}
	}
	return out
}

// judge settles the verdict from its alignment. The position of the verdict is
// that of the first wrong argument or call.
func (s Calls) judge(v *trials.Verdict) {
	var problems []string
	var pos harness.Position
	matched := 0
	for _, row := range v.Alignment.Rows {
		switch row.Status {
		case trials.AlignMatched:
			matched++
			continue
		case trials.AlignMissing:
			if s.AllowMissing {
				continue
			}
			problems = append(problems, "missing call "+row.Expected)
		case trials.AlignExtra:
			if s.AllowExtra {
				continue
			}
			problems = append(problems, "unexpected call "+row.Actual)
		case trials.AlignOutOfOrder:
			problems = append(problems, "out of order: "+row.Actual)
		case trials.AlignMismatched:
			texts := make([]string, len(row.Mismatches))
			for i, m := range row.Mismatches {
				texts[i] = m.String()
			}
			problems = append(problems, fmt.Sprintf("wrong arguments in %s: %s", row.Actual, strings.Join(texts, "; ")))
		}
		if pos.IsZero() {
			pos = cmp.Or(firstPos(row.Mismatches), row.Pos)
		}
	}
	v.Score = share(matched, matched+len(problems))
	if len(problems) == 0 {
		return
	}
	if len(problems) > 4 {
		problems = append(problems[:4], fmt.Sprintf("and %d more", len(problems)-4))
	}
	if !pos.IsZero() {
		v.Pos = pos
	}
	fail(v, "%s", strings.Join(problems, "; "))
}

// Never forbids tools.
type Never struct {
	// Tools are globs over server.tool or the offered name: gemflux.*
	Tools []string
	Pos   harness.Position
}

// Score fails when a forbidden tool was called, or executed without a call.
func (s Never) Score(e *Evidence) trials.Verdict {
	v := e.verdict("never", s.Pos)
	calls, index := e.calls()
	joined := map[string]bool{}
	for _, c := range e.Trajectory {
		joined[fmt.Sprint(c.Server, "\x00", c.Exec)] = true
	}
	if e.Turn == 0 {
		// Executed, but in no trajectory that was joined from the model's side
		// alone.
		for _, x := range e.Tools {
			if !joined[fmt.Sprint(x.Server, "\x00", x.Seq)] {
				calls = append(calls, harness.Call{Server: x.Server, Tool: x.Tool, Args: x.Args})
				index = append(index, -1)
			}
		}
	}
	v.Alignment = &trials.Alignment{}
	var found []string
	for k, c := range calls {
		for _, glob := range s.Tools {
			if match.Glob(glob, c.Name()) || c.Offered != "" && match.Glob(glob, c.Offered) {
				v.Alignment.Rows = append(v.Alignment.Rows, trials.AlignmentRow{
					Status: trials.AlignForbidden, Expected: "never " + glob, Actual: callText(c), Call: index[k], Pos: s.Pos,
				})
				found = append(found, callText(c))
				break
			}
		}
	}
	if len(found) > 0 {
		fail(&v, "want no call of %s, got %s", strings.Join(s.Tools, ", "), strings.Join(found, ", "))
	} else {
		v.Alignment = nil
	}
	return v
}

func minusOnes(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = -1
	}
	return out
}
