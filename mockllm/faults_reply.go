// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

// say makes a reply one of text alone.
func say(r *dialect.Reply, text, finish string) {
	for i := range r.Choices {
		r.Choices[i] = dialect.Choice{Text: text, Finish: finish}
	}
}

// onCalls is an effect on choices that call tools.
func onCalls(change func(c *dialect.Choice)) effects {
	return effects{reply: func(_ *exchange, r *dialect.Reply) {
		for i := range r.Choices {
			if len(r.Choices[i].Calls) > 0 {
				change(&r.Choices[i])
			}
		}
	}}
}

// onEachCall is an effect on every call; n counts from 0.
func onEachCall(change func(n int, c *dialect.Call)) effects {
	return onCalls(func(c *dialect.Choice) {
		for n := range c.Calls {
			change(n, &c.Calls[n])
		}
	})
}

// callEffects are those of tool calls.
func (m *Mock) callEffects(f *Fault, form string) (effects, bool) {
	switch f.Kind {
	case fault.BadArguments:
		e := onCalls(func(c *dialect.Choice) {
			if form != "object" {
				c.Calls[0].Arguments = badArguments(form, c.Calls[0].Name, c.Calls[0].Arguments)
			}
		})
		if form == "object" {
			e.style = func(_ *exchange, s *dialect.Style) { s.Fragments.Args = dialect.ArgsObject }
		}
		return e, true
	case fault.UnknownTool:
		return onCalls(func(c *dialect.Choice) {
			if form == "prefixed" {
				c.Calls[0].Name = "default_api:" + c.Calls[0].Name
			} else {
				c.Calls[0].Name = "no_such_tool"
			}
		}), true
	case fault.DuplicateIDs:
		return onCalls(func(c *dialect.Choice) {
			for i := range c.Calls {
				c.Calls[i].ID = c.Calls[0].ID
			}
		}), true
	case fault.ReusedIDs:
		return onEachCall(func(n int, c *dialect.Call) { c.ID = "call_" + strconv.Itoa(n) }), true
	case fault.MissingID:
		e := onEachCall(func(_ int, c *dialect.Call) { c.ID = "" })
		e.body = callMember(form, "id")
		return e, true
	case fault.MissingName:
		e := onCalls(func(c *dialect.Choice) { c.Calls[0].Name = "" })
		e.body = callMember("empty", "function", "name")
		return e, true
	case fault.IndexZero:
		return onStyle(func(s *dialect.Style) {
			s.Fragments.Index = dialect.IndexZero
			if form == "absent" {
				s.Fragments.Index = dialect.IndexMissing
			}
		}), true
	case fault.NullDeltas:
		return onStyle(func(s *dialect.Style) {
			s.Fragments.ID, s.Fragments.Name, s.Fragments.Type = dialect.PlaceNull, dialect.PlaceNull, dialect.PlaceNull
		}), true
	case fault.FinishEachCall:
		e := onStyle(func(s *dialect.Style) {
			s.CallsFirst, s.WholeCalls, s.Finish, s.Fragments.Finish, s.NoDone = true, true, dialect.FinishEachCall, "", true
		})
		e.reply = onCalls(func(c *dialect.Choice) { c.Text = cmp.Or(c.Text, "I am looking that up.") }).reply
		return e, true
	case fault.FinishStop:
		return onCalls(func(c *dialect.Choice) { c.Finish = "stop" }), true
	case fault.LeakedCall:
		return onCalls(func(c *dialect.Choice) {
			c.Text, c.Calls, c.Finish = leaked(form, cmp.Or(c.Text, "I'll look."), c.Calls), nil, "stop"
		}), true
	case fault.TextAndCalls:
		return onCalls(func(c *dialect.Choice) { c.Text = cmp.Or(f.Body, c.Text, "Let me look that up.") }), true
	case fault.ToolsIgnored:
		return onCalls(func(c *dialect.Choice) {
			c.Text, c.Calls, c.Finish = cmp.Or(f.Body, "I have no tools to look that up with."), nil, "stop"
		}), true
	}
	return effects{}, false
}

// callMember makes a member of every call that begins empty, null or absent.
func callMember(form string, path ...string) func(*exchange, *dialect.Body) {
	return func(_ *exchange, b *dialect.Body) {
		message := "message"
		if b.Stream {
			message = "delta"
		}
		change := drop
		switch form {
		case "empty":
			change = set(value.StringOf(""))
		case "null":
			change = set(value.Value{})
		}
		at := append([]string{"choices", "*", message, "tool_calls", "*"}, path...)
		for i := range b.Frames {
			if b.Stream && b.Frames[i].Kind != dialect.KindCallStart {
				continue
			}
			one := dialect.Body{Frames: b.Frames[i : i+1]}
			edit(&one, at, func(v value.Value) (value.Value, bool) {
				if v.Str() != "" {
					return v, true // that of another call
				}
				return change(v)
			})
		}
	}
}

// badArguments spells arguments in one of the wrong ways.
func badArguments(form, name, args string) string {
	switch form {
	case "cut":
		return args[:len(args)/2]
	case "python":
		return string(python([]byte(args)))
	case "trailing_comma":
		if i := strings.LastIndexByte(args, '}'); i >= 0 {
			return args[:i] + "," + args[i:]
		}
		return args + ","
	case "double_encoded":
		return string(quote(args))
	case "empty":
		return ""
	case "null":
		return "null"
	case "array":
		v, err := value.Parse([]byte(args))
		if err != nil {
			return "[]"
		}
		var items []value.Value
		for _, m := range v.Members() {
			items = append(items, m.Value)
		}
		return value.ArrayOf(items...).String()
	case "string":
		return name
	}
	return "Here are the arguments: " + args // prose
}

// leaked writes calls into a text.
func leaked(form, text string, calls []dialect.Call) string {
	var b strings.Builder
	b.WriteString(text)
	for i, c := range calls {
		if i > 0 && form == "invalid" {
			break
		}
		args := string(python([]byte(c.Arguments)))
		switch form {
		case "type_first":
			fmt.Fprintf(&b, "{'type': 'tool_use', 'id': '%s', 'name': '%s', 'input': %s, 'cache_control': None}", c.ID, c.Name, args)
		case "mixed":
			fmt.Fprintf(&b, "{'id': '%s', 'input': %s, 'name': '%s', 'type': 'tool_use', 'cache_control': null, 'citations': false}", c.ID, args, c.Name)
		case "openai":
			fmt.Fprintf(&b, "{'id': '%s', 'type': 'function', 'function': {'name': '%s', 'arguments': '%s'}}", c.ID, c.Name, c.Arguments)
		case "xml":
			fmt.Fprintf(&b, "\n<tool_call>\n{\"name\": %s, \"arguments\": %s}\n</tool_call>", quote(c.Name), c.Arguments)
		case "invoke":
			fmt.Fprintf(&b, "\n<invoke name=%s>\n", quote(c.Name))
			if v, err := value.Parse([]byte(c.Arguments)); err == nil {
				for _, m := range v.Members() {
					fmt.Fprintf(&b, "<parameter name=%s>%s</parameter>\n", quote(m.Key), cmp.Or(m.Value.Str(), m.Value.String()))
				}
			}
			b.WriteString("</invoke>")
		case "invalid":
			fmt.Fprintf(&b, "\n<invalid>{\"name\": %s, \"arguments\": %s</invalid>", quote(c.Name), strings.TrimSuffix(c.Arguments, "}"))
		case "json":
			fmt.Fprintf(&b, "\n{\"name\": %s, \"arguments\": %s}", quote(c.Name), c.Arguments)
		default: // python, several, text_after
			block := fmt.Sprintf("{'id': '%s', 'input': %s, 'name': '%s', 'type': 'tool_use', 'cache_control': None}", c.ID, args, c.Name)
			b.WriteString(block)
			if form == "several" && len(calls) == 1 {
				b.WriteString(strings.Replace(block, c.ID, c.ID+"b", 1))
			}
		}
	}
	if form == "text_after" {
		b.WriteString(" That will tell us.")
	}
	return b.String()
}

// replyEffects are those of what a reply says.
func (m *Mock) replyEffects(f *Fault, form string) (effects, bool) {
	switch f.Kind {
	case fault.EmptyReply:
		return emptyReply(form), true
	case fault.LongReply:
		size := cmp.Or(f.Size, 1<<20)
		e := onStyle(func(s *dialect.Style) { s.PieceRunes, s.Fragments.Unit = max(s.PieceRunes, 1000), "" })
		e.reply = func(_ *exchange, r *dialect.Reply) {
			for i := range r.Choices {
				r.Choices[i].Text = longText(cmp.Or(r.Choices[i].Text, "And so on."), size)
			}
		}
		return e, true
	case fault.Repetition:
		return effects{reply: func(_ *exchange, r *dialect.Reply) {
			say(r, longText("Wait, let me check that once more. ", cmp.Or(f.Size, 8<<10)), "length")
		}}, true
	case fault.Usage:
		return oddUsage(form), true
	case fault.WrongModel:
		return effects{reply: func(_ *exchange, r *dialect.Reply) { r.Model = cmp.Or(f.Body, "gpt-3.5-turbo-0125") }}, true
	case fault.OtherText:
		return effects{reply: func(_ *exchange, r *dialect.Reply) {
			say(r, cmp.Or(f.Body, "Service notice: this deployment will be switched off on Friday."), "stop")
		}}, true
	}
	return effects{}, false
}

// longText repeats a text, with a space between, until it has size bytes.
func longText(text string, size int) string {
	if text == "" || size <= 0 {
		return ""
	}
	n := size/(len(text)+1) + 1
	return strings.ToValidUTF8(strings.Repeat(text+" ", n)[:size], "")
}

// emptyReply says nothing.
func emptyReply(form string) effects {
	e := effects{reply: func(_ *exchange, r *dialect.Reply) {
		switch form {
		case "blank":
			say(r, "\n\n", "stop")
		case "length":
			say(r, "", "length")
		case "thinking":
			say(r, "", "stop")
			for i := range r.Choices {
				r.Choices[i].Reasoning = "The user wants to know. I know the answer."
			}
		default:
			say(r, "", "stop")
		}
	}}
	switch form {
	case "null":
		e.body = func(_ *exchange, b *dialect.Body) {
			edit(b, []string{"choices", "*", "message", "content"}, set(value.Value{}))
		}
	case "length":
		e.body = func(_ *exchange, b *dialect.Body) {
			if !b.Stream {
				edit(b, []string{"choices", "*", "message"}, set(value.Value{}))
			}
		}
	case "no_choices":
		e.body = func(_ *exchange, b *dialect.Body) { edit(b, []string{"choices"}, set(value.ArrayOf())) }
	}
	return e
}

// oddUsage counts wrong, or not at all.
func oddUsage(form string) effects {
	e := onStyle(func(s *dialect.Style) {
		s.Usage = dialect.WhenAlways
		if form == "absent" {
			s.Usage = dialect.WhenNever
		}
	})
	all := func(v value.Value) (value.Value, bool) { return v, !v.IsNull() }
	switch form {
	case "absent":
		all = drop
	case "null":
		all = set(value.Value{})
	case "null_members":
		all = each(value.Value{})
	case "zero":
		all = zero
	case "number":
		all = set(value.NumberOf("12"))
	case "flat_details":
		all = member("prompt_tokens_details", value.NumberOf("0"))
	case "negative":
		all = member("completion_tokens", value.NumberOf("-1"))
	case "huge":
		all = member("completion_tokens", value.NumberOf("123456789012345678901234567890"))
	}
	e.body = func(_ *exchange, b *dialect.Body) {
		for i := range b.Frames {
			if !b.Stream || b.Frames[i].Kind == dialect.KindUsage {
				edit(&dialect.Body{Frames: b.Frames[i : i+1]}, []string{"usage"}, all)
			}
		}
	}
	return e
}

// each is a change of every member of an object.
func each(to value.Value) func(value.Value) (value.Value, bool) {
	return func(v value.Value) (value.Value, bool) {
		var members []value.Member
		for _, m := range v.Members() {
			members = append(members, value.Member{Key: m.Key, Value: to})
		}
		return value.ObjectOf(members...), true
	}
}

// zero makes 0 of every number.
func zero(v value.Value) (value.Value, bool) {
	return value.Map(v, func(_ value.Path, v value.Value) (value.Value, bool) {
		if v.Kind() != value.Object {
			return value.NumberOf("0"), false
		}
		return v, true
	}), true
}

// member is a change of one member of an object.
func member(key string, to value.Value) func(value.Value) (value.Value, bool) {
	return func(v value.Value) (value.Value, bool) { return editValue(v, []string{key}, set(to)), true }
}
