// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// explain says why a request is a miss: what was expected next, and how the
// conversation differs from the nearest one that would have fitted. m.mu is
// held.
func (m *Mock) explain(c *dialect.Chat, why string) string {
	var b strings.Builder
	b.WriteString("nothing scripted fits the request")
	if m.lane != "" {
		fmt.Fprintf(&b, " in lane %q", m.lane)
	}
	b.WriteString(": " + why)
	if c == nil { // it is no request to a model
		return b.String()
	}
	next, lines := m.expected()
	b.WriteString("\nexpected next: " + next)
	candidates := [][]string{lines}
	if last := m.state.last; last != nil {
		candidates = append(candidates, chatLines(last.chat))
	}
	got := chatLines(c)
	var best diff
	for i, want := range candidates {
		if d := compare(want, got); i == 0 || d.cost() < best.cost() {
			best = d
		}
	}
	if len(best.want)+len(best.got) > 0 {
		b.WriteString("\nthe conversation (- expected, + in the request):\n" + best.String())
	}
	return b.String()
}

// expected says what is due after the last position, and shows the
// conversation that would lead there.
func (m *Mock) expected() (string, []string) {
	turns := m.program.turns
	if m.program.Arrival {
		return m.expectedArrival(), nil
	}
	last := m.state.last
	if last == nil || m.state.turn > last.turn+1 {
		t := max(m.state.turn-1, 0)
		if len(turns) == 0 {
			return "nothing: the script has no turns", nil
		}
		if t >= len(turns) {
			return "nothing: the script has no such turn", nil
		}
		var lines []string
		if last != nil {
			lines = m.after(last)
		}
		return m.expectedTurn(t), append(lines, m.userLine(t)...)
	}
	lines := m.after(last)
	switch {
	case last.given == nil || last.delivered == 0:
		return fmt.Sprintf("the same request again at %s, whose reply was not delivered", m.placeOf(last)), chatLines(last.chat)
	case len(last.given.calls) > 0 && last.reply+1 < turns[last.turn].count:
		next := turns[last.turn].at(last.reply + 1)
		return place(last.turn+1, last.reply+2, next.Pos) + ", once its results are in the request", lines
	case m.program.bare && last.reply+1 < turns[last.turn].count:
		next := turns[last.turn].at(last.reply + 1)
		return place(last.turn+1, last.reply+2, next.Pos), append(lines, "user: (anything)")
	case last.turn+1 < len(turns):
		return m.expectedTurn(last.turn + 1), append(lines, m.userLine(last.turn+1)...)
	}
	return "nothing: the script is used up", lines
}

func (m *Mock) expectedArrival() string {
	n := m.state.queue
	for t := range m.program.turns {
		if n < m.program.turns[t].count {
			return place(t+1, n+1, m.program.turns[t].at(n).Pos)
		}
		n -= m.program.turns[t].count
	}
	return "nothing: the script is used up"
}

func (m *Mock) expectedTurn(t int) string {
	turn := m.program.turns[t]
	if turn.count == 0 {
		return fmt.Sprintf("nothing: turn %d has no replies", t+1)
	}
	return place(t+1, 1, turn.at(0).Pos)
}

func (m *Mock) userLine(t int) []string {
	turn := &m.program.turns[t]
	var wants []string
	for _, part := range turn.Contains {
		wants = append(wants, fmt.Sprintf("with %q", part))
	}
	if turn.Pattern != nil {
		wants = append(wants, fmt.Sprintf("that matches %q", turn.Pattern))
	}
	switch {
	case turn.User != "":
		return []string{"user: " + turn.User}
	case wants != nil:
		return []string{"user: a text " + strings.Join(wants, " and ")}
	}
	return []string{"user: (anything)"}
}

// after shows the conversation that the request after s would have.
func (m *Mock) after(s *served) []string {
	lines := chatLines(s.chat)
	if s.given == nil {
		return lines
	}
	lines = append(lines, messageLines(s.given.message())...)
	for _, c := range s.given.calls {
		lines = append(lines, resultLine(c.ID, "(the result of "+c.Name+")"))
	}
	return lines
}

func chatLines(c *dialect.Chat) []string {
	var lines []string
	if c == nil {
		return nil
	}
	for i := range c.Len() {
		lines = append(lines, messageLines(c.At(i).Message())...)
	}
	return lines
}

func messageLines(m harness.Message) []string {
	if m.Role == harness.RoleTool {
		return []string{resultLine(m.CallID, m.Text)}
	}
	var lines []string
	if m.Text != "" || len(m.Calls) == 0 {
		lines = append(lines, string(m.Role)+": "+m.Text)
	}
	for _, c := range m.Calls {
		lines = append(lines, fmt.Sprintf("%s calls %s(%s) as %s", m.Role, c.Name, c.Arguments, c.ID))
	}
	return lines
}

func resultLine(id, text string) string { return "tool " + id + ": " + text }

// diff is the part of two lists that differs, with the line before it.
type diff struct {
	skipped   int // equal lines at the start
	before    string
	want, got []string
	after     int // equal lines at the end
}

func (d diff) cost() int { return len(d.want) + len(d.got) }

// compare leaves out what two lists have in common at both ends. A line of
// want in parentheses after its name fits any text.
func compare(want, got []string) diff {
	n := min(len(want), len(got))
	i := 0
	for i < n && same(want[i], got[i]) {
		i++
	}
	j := 0
	for j < n-i && same(want[len(want)-1-j], got[len(got)-1-j]) {
		j++
	}
	d := diff{skipped: i, want: want[i : len(want)-j], got: got[i : len(got)-j], after: j}
	if i > 0 {
		d.before = got[i-1]
	}
	return d
}

func same(want, got string) bool {
	if want == got {
		return true
	}
	name, _, ok := strings.Cut(want, ": (")
	return ok && strings.HasSuffix(want, ")") && strings.HasPrefix(got, name+": ")
}

func (d diff) String() string {
	var b strings.Builder
	if d.skipped > 1 {
		fmt.Fprintf(&b, "    ... %d equal\n", d.skipped-1)
	}
	if d.before != "" {
		b.WriteString("    " + clip(d.before, 0) + "\n")
	}
	from := 0
	if len(d.want) > 0 && len(d.got) > 0 {
		from = commonStart(d.want[0], d.got[0])
	}
	for i, l := range d.want {
		b.WriteString("  - " + clip(l, from*(1-min(i, 1))) + "\n")
	}
	for i, l := range d.got {
		b.WriteString("  + " + clip(l, from*(1-min(i, 1))) + "\n")
	}
	if d.after > 0 {
		fmt.Fprintf(&b, "    ... %d equal\n", d.after)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func commonStart(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

const clipLen = 200

// clip shows a long line around the byte from, on one line.
func clip(s string, from int) string {
	s = strings.ReplaceAll(s, "\n", `\n`)
	if len(s) <= clipLen {
		return s
	}
	const name, before = 30, 50 // a line begins with what it is
	head := ""
	if from > name+before {
		head, _ = prose.Head(s, name)
	} else {
		from = 0
	}
	part, _ := prose.Around(s, from, min(from, before), clipLen-min(from, before))
	return fmt.Sprintf("%s%s (%d bytes)", head, part, len(s))
}
