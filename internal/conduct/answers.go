// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package conduct

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/exactjson"
	"github.com/rehearse-dev/rehearse/internal/schema"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// answered pairs a reply with calls and the request that answers them.
type answered struct {
	reply harness.Exchange
	calls []harness.Call // from the trajectory
	// next is the first request that knows the calls; nil when there is none.
	next *harness.Exchange
	// texts are the tool messages of next for each call.
	texts [][]string
	// order are the calls (by index) in the order of their tool messages.
	order []int
	// strangers are ids of tool messages that match no call of the
	// conversation.
	strangers []string
	// names are what tool messages call the tool of each call, where they name it.
	names [][]string
}

// pairAnswers finds, for each reply with calls, how the next request answers
// them.
func (c *checker) pairAnswers() {
	known := map[string]int{} // calls of each id: some endpoints count from call_0 in every reply
	for _, call := range c.Trajectory {
		known[call.ID]++
	}
	for _, r := range c.replies {
		if len(r.Answer.Calls) == 0 {
			continue
		}
		a := answered{reply: r, texts: make([][]string, len(r.Answer.Calls)), names: make([][]string, len(r.Answer.Calls))}
		for _, call := range c.Trajectory {
			if call.Turn == r.Turn && call.Reply == r.Reply {
				a.calls = append(a.calls, call)
			}
		}
		if len(a.calls) != len(r.Answer.Calls) {
			continue // the trajectory was made without a model journal
		}
		for x := range c.later(&r) {
			if a.read(x, known) {
				a.next = x
				break
			}
		}
		c.answers = append(c.answers, a)
	}
}

// read takes the tool messages of a request that answer a's calls, and
// reports whether the request knows the calls at all.
func (a *answered) read(x *harness.Exchange, known map[string]int) bool {
	ids := map[string][]int{} // the calls of each id; an empty one names none
	for i, call := range a.calls {
		if call.ID != "" {
			ids[call.ID] = append(ids[call.ID], i)
		}
	}
	knows := false
	var unnamed []string
	for _, m := range x.Request.Messages {
		switch {
		case m.Role == harness.RoleAssistant:
			unnamed, a.strangers = nil, nil // of an earlier reply
			for _, tc := range m.Calls {
				same := ids[tc.ID]
				knows = knows || len(same) > 0
				if known[tc.ID] > 1 {
					for _, i := range same { // the results so far are those of an earlier call
						a.texts[i], a.names[i], a.order = nil, nil, nil
					}
				}
			}
		case m.Role != harness.RoleTool:
		case m.CallID == "":
			unnamed = append(unnamed, m.Text)
		default:
			if same := ids[m.CallID]; len(same) > 0 {
				knows = true
				// Where calls of a reply have one id, they are answered in their order.
				i := same[max(0, slices.IndexFunc(same, func(i int) bool { return len(a.texts[i]) == 0 }))]
				a.texts[i] = append(a.texts[i], m.Text)
				a.order = append(a.order, i)
				if m.Tool != "" {
					a.names[i] = append(a.names[i], m.Tool)
				}
			} else if known[m.CallID] == 0 {
				a.strangers = append(a.strangers, m.CallID)
			}
		}
	}
	// A client without ids answers in the order of the calls, as one does that
	// hands back calls without any.
	for i, call := range a.calls {
		if len(unnamed) > 0 && (!knows || call.ID == "") {
			a.texts[i], unnamed = append(a.texts[i], unnamed[0]), unnamed[1:]
		}
	}
	knows = knows || slices.ContainsFunc(a.texts, func(texts []string) bool { return len(texts) > 0 })
	if !knows {
		a.strangers = nil
	}
	return knows
}

// textual reports whether the client writes calls as plain text only, like
// agents that prompt for "Action:" and send "Observation:".
func (c *checker) textual() bool {
	later := false
	for _, x := range c.requests {
		for _, m := range x.Request.Messages {
			if m.Role == harness.RoleTool || len(m.Calls) > 0 {
				return false
			}
			later = later || m.Role == harness.RoleAssistant
		}
	}
	return later
}

const noToolMessages = "the client sends no tool messages"

func (c *checker) answeredOnce() (f finding) {
	if c.textual() {
		return skip(noToolMessages)
	}
	for _, a := range c.answers {
		if slices.Contains(c.Single, a.reply.Turn) {
			c.ranOn(a, &f)
			continue
		}
		c.unanswered(a, &f)
		for _, id := range a.strangers {
			f.add("request %d answers the call id %q, but no call has that id", a.next.Seq, id)
		}
		for i, call := range a.calls {
			if n := len(a.texts[i]); n > 1 {
				f.add("%s was answered %d times in request %d", callText(call), n, a.next.Seq)
			}
			for _, name := range a.names[i] {
				if offers(a.reply.Request, call.Offered) && strings.TrimSpace(name) != call.Offered {
					f.add("%s was answered under the name %s in request %d", callText(call), quote(name), a.next.Seq)
				}
			}
			if j := c.swapped(a, i); j >= 0 {
				f.add("%s was answered with the result of %s", callText(call), callText(a.calls[j]))
			} else if j := c.mixed(a, i); j >= 0 {
				f.add("%s was answered with the result of %s too", callText(call), callText(a.calls[j]))
			}
		}
	}
	for _, call := range c.Trajectory {
		if call.Retried && c.needless(call) {
			f.add("%s was executed again after it had succeeded", callText(call))
		}
	}
	return f
}

// ranOn finds what came of a reply that was to end its turn (single_call).
func (c *checker) ranOn(a answered, f *finding) {
	for _, call := range a.calls {
		if call.Executed {
			f.add("%s was executed, but its turn ends with the reply (single_call)", callText(call))
		}
	}
	if a.next != nil && a.next.Turn == a.reply.Turn {
		f.add("request %d answers the calls of a turn that ends with the reply (single_call)", a.next.Seq)
	}
}

// offers reports whether a request offers a tool of that name. A client has to
// guess the tool of a name that it did not offer.
func offers(r harness.Request, name string) bool {
	return slices.ContainsFunc(r.Tools, func(t harness.Tool) bool { return t.Name == name })
}

// unanswered finds the calls of a that no message answers.
func (c *checker) unanswered(a answered, f *finding) {
	if a.next == nil {
		if c.gaveUp(a.reply) && !(c.interrupted(a.reply.Turn) && c.wentOn(a.reply.Turn)) {
			return // which is judged elsewhere
		}
		last := c.requests[len(c.requests)-1].Seq == a.reply.Seq
		for _, call := range a.calls {
			if last {
				f.add("%s was never answered: the subject sent no further request", callText(call))
			} else {
				f.add("%s was never answered: later requests contain neither the call nor its result", callText(call))
			}
		}
		return
	}
	for i, call := range a.calls {
		if len(a.texts[i]) == 0 {
			f.add("%s was never answered: request %d contains no tool message for it", callText(call), a.next.Seq)
		}
	}
}

// gaveUp reports whether the subject ended its turn after this reply and
// reported a stop. Then it did not continue from the reply.
func (c *checker) gaveUp(reply harness.Exchange) bool {
	later := func(x harness.Exchange) bool {
		return x.Seq > reply.Seq && (x.Turn == reply.Turn || x.Turn == 0) // a miss has no turn
	}
	t := c.turn(reply.Turn)
	return t != nil && (t.Stop != "" || t.Error != "") && !slices.ContainsFunc(c.requests, later)
}

// interrupted reports whether the user interrupted a turn, or killed the subject
// in it. What was said until then stays in the history.
func (c *checker) interrupted(turn int) bool { return slices.Contains(c.Interrupted, turn) }

// wentOn reports whether a turn after this one was played.
func (c *checker) wentOn(turn int) bool {
	return slices.ContainsFunc(c.requests, func(x harness.Exchange) bool { return x.Turn > turn })
}

// swapped returns the other call of the reply whose result stands under call
// i, or -1.
func (c *checker) swapped(a answered, i int) int {
	if len(a.texts[i]) != 1 || !a.calls[i].Executed || c.spoiled(a.calls[i]) || c.faithful(a.calls[i], a.texts[i][0]) {
		return -1
	}
	for j, other := range a.calls {
		// An empty result is in every text and says nothing.
		if !c.silent(other) && c.faithful(other, a.texts[i][0]) {
			return j
		}
	}
	return -1
}

// mixedLength is how long a result must be so that it does not stand in another
// one by chance.
const mixedLength = 16

// mixed returns another call of the reply whose result stands beside that of
// call i, or -1.
func (c *checker) mixed(a answered, i int) int {
	if len(a.texts[i]) != 1 || !a.calls[i].Executed || c.spoiled(a.calls[i]) {
		return -1
	}
	own := c.said(a.calls[i])
	rest := strings.Replace(canonical(a.texts[i][0]), canonical(strings.TrimSpace(own)), "", 1)
	for j, other := range a.calls {
		said := strings.TrimSpace(c.said(other))
		if j != i && other.Executed && len(squeezed(said)) >= mixedLength && !tells(own, said) && !tells(said, own) &&
			!strings.Contains(string(a.calls[i].Args), said) && tells(rest, said) {
			return j
		}
	}
	return -1
}

func (c *checker) resultOrder() (f finding) {
	if c.textual() {
		return skip(noToolMessages)
	}
	for _, a := range c.answers {
		if slices.IsSorted(a.order) {
			continue
		}
		var got, want []string
		for _, i := range a.order {
			got = append(got, a.calls[i].Name()+" ("+a.calls[i].ID+")")
		}
		for _, call := range a.calls {
			want = append(want, call.Name()+" ("+call.ID+")")
		}
		f.add("request %d has the results in the order %s, but the calls came in the order %s", a.next.Seq, strings.Join(got, ", "), strings.Join(want, ", "))
	}
	return f
}

func (c *checker) results() (f finding) {
	for _, a := range c.answers {
		for i, call := range a.calls {
			texts := a.texts[i]
			if a.next == nil && c.textual() {
				texts = c.observations(a)
			}
			if len(texts) == 0 || c.swapped(a, i) >= 0 {
				continue // answered_once says so
			}
			if c.spoiled(call) {
				continue // the client cannot know the result
			}
			if !call.Executed {
				if !c.interrupted(call.Turn) && !c.refused(call) && c.callable(call) && !c.knocked(call) && !c.adrift(call) {
					f.add("%s was answered with %s, but the server was never called", callText(call), quote(texts[0]))
				}
				continue
			}
			if !slices.ContainsFunc(texts, func(s string) bool { return c.faithful(call, s) }) && !c.adrift(call) {
				said, told := c.said(call), texts[0]
				if c.Capped && len(told) < len(said) {
					f.add("the result of %s was changed: the server sent %s, the model got %s (`conduct: {results: capped}` allows its first bytes, at least %d)",
						callText(call), quote(said), quote(told), leastOf(said))
					continue
				}
				if capped(told, said) && len(told) < len(said) {
					f.add("the result of %s was shortened from %d bytes to %d (`conduct: {results: capped}` allows that): %s",
						callText(call), len(said), len(told), quote(told))
					continue
				}
				f.add("the result of %s was changed: the server sent %s, the model got %s",
					callText(call), quote(said), quote(told))
			}
		}
	}
	return f
}

// knocked reports whether a call reached its server but was not executed,
// because a fault answered it.
func (c *checker) knocked(call harness.Call) bool {
	for _, f := range c.Frames {
		if !f.In || f.Server != call.Server || f.Method != methodCall || f.Fault == "" {
			continue
		}
		var body struct {
			Params params `json:"params"`
		}
		if exactjson.Unmarshal([]byte(f.Body), &body) != nil || // unreadable
			body.Params.Name == call.Tool && sameArgs(body.Params.Args, call.Args) {
			return true
		}
	}
	return false
}

// callable reports whether a call has to be sent to a server: its tool is known,
// and its arguments are a JSON object that fits the tool's schema. The client
// itself may answer any other call, with an error for the model.
func (c *checker) callable(call harness.Call) bool {
	if call.Server == "" || call.Args == nil {
		return false
	}
	args, err := parseArgs(call.Args)
	if err != nil || args.Kind() != value.Object {
		return err != nil
	}
	for _, t := range c.Listed[call.Server] {
		if t.Name == call.Tool {
			return fits(t.Schema, args)
		}
	}
	return true
}

// fits reports whether a value fits a schema, or there is none that can be used.
func fits(raw json.RawMessage, v value.Value) bool {
	parsed, err := value.Parse(raw)
	if err != nil {
		return true
	}
	s, err := schema.Compile(parsed)
	return err != nil || s.Validate(v) == nil
}

// observations are the messages of the request after a reply, for a textual
// client.
func (c *checker) observations(a answered) []string {
	for _, x := range c.requests {
		if x.Seq <= a.reply.Seq {
			continue
		}
		var all []string
		for _, m := range x.Request.Messages {
			all = append(all, m.Text)
		}
		return []string{strings.Join(all, "\n")}
	}
	return nil
}

// executions are the executions whose result may answer a call: one, or several
// when it was repeated.
func (c *checker) executions(call harness.Call) []harness.ToolExchange {
	var out []harness.ToolExchange
	for _, x := range c.Tools {
		if x.Server == call.Server && x.Tool == call.Tool && (x.Seq == call.Exec || call.Retried && sameArgs(x.Args, call.Args)) {
			out = append(out, x)
		}
	}
	return out
}

// spoiled reports whether a fault of the server, or its slowness, kept the
// result of a call from the client.
func (c *checker) spoiled(call harness.Call) bool {
	return slices.ContainsFunc(c.executions(call), func(x harness.ToolExchange) bool { return x.Unsent || spoils(x.Fault) })
}

// needless reports whether a call was executed again after it had succeeded.
func (c *checker) needless(call harness.Call) bool {
	return slices.ContainsFunc(c.executions(call), func(x harness.ToolExchange) bool {
		ofAnother := slices.ContainsFunc(c.all, func(other harness.Call) bool {
			return other.Server == x.Server && other.Exec == x.Seq
		})
		return x.Seq != call.Exec && !x.Failed && !ofAnother
	})
}

// said is what the server answered, as text.
func (c *checker) said(call harness.Call) string {
	for _, x := range c.executions(call) {
		switch {
		case x.Seq != call.Exec:
		case x.RPCError != nil:
			return x.RPCError.Message
		case x.Text != "":
			return x.Text
		default:
			return string(x.Result)
		}
	}
	return ""
}

func (c *checker) silent(call harness.Call) bool {
	s := strings.TrimSpace(c.said(call))
	return s == "" || blank(json.RawMessage(s))
}

// faithful reports whether text holds the whole result of a call.
func (c *checker) faithful(call harness.Call, text string) bool {
	return slices.ContainsFunc(c.executions(call), func(x harness.ToolExchange) bool { return c.holds(text, x) })
}

// asksFor reports whether a call of the conversation led to an execution.
func (c *checker) asksFor(x harness.ToolExchange) bool {
	return slices.ContainsFunc(c.Trajectory, func(call harness.Call) bool {
		return call.Server == x.Server && call.Tool == x.Tool && (call.Exec == x.Seq || call.Retried && sameArgs(call.Args, x.Args))
	})
}

// begun reports whether the model had replied at all when x was executed.
func (c *checker) begun(x harness.ToolExchange) bool {
	return slices.ContainsFunc(c.replies, func(r harness.Exchange) bool { return r.Start.Before(x.Start) })
}

// answerBefore returns the answer in text after which x was executed, or nil
// when the last reply before x was none.
func (c *checker) answerBefore(x harness.ToolExchange) *harness.Exchange {
	var last *harness.Exchange
	for i := range c.replies {
		// Strictly: where a clock stands still nothing can be told.
		if c.replies[i].Start.Before(x.Start) {
			last = &c.replies[i]
		}
	}
	if last == nil || last.Answer.Text == "" && last.Answer.Refusal == "" || len(last.Answer.Calls) > 0 {
		return nil // a reply that says nothing is no answer
	}
	return last
}

func executionText(x harness.ToolExchange) string {
	return strings.TrimSpace(fmt.Sprintf("%s.%s %s", x.Server, x.Tool, shorten(string(x.Args))))
}

func callText(call harness.Call) string {
	args := string(call.Args)
	if call.Args == nil {
		args = call.ArgsText
	}
	text := fmt.Sprintf("call %s %s", call.Name(), shorten(args))
	if call.ID != "" {
		text += " (" + call.ID + ")"
	}
	return text
}
