// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package expr

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// objectType is one row of the tables in the documentation: a value whose
// fields are known, so that a misspelt one is found when a file is loaded.
type objectType struct {
	name   string
	cel    *cel.Type
	fields []field
}

// field reads one field of an object. get returns what [adapter] knows: a
// Go scalar, a value.Value, an *object or a []any of these; nil when the
// field is missing.
type field struct {
	name string
	typ  *cel.Type
	get  func(x any) any
}

func (t *objectType) field(name string) (field, bool) {
	for _, f := range t.fields {
		if f.name == name {
			return f, true
		}
	}
	return field{}, false
}

func (t *objectType) fieldNames() []string {
	names := make([]string, len(t.fields))
	for i, f := range t.fields {
		names[i] = f.name
	}
	return names
}

// schema is the set of object types. It is built once with the first Env.
type schema struct {
	request, message, messageCall, tool, call, journal, transcript, sent *objectType
}

func (s *schema) all() []*objectType {
	return []*objectType{s.request, s.message, s.messageCall, s.tool, s.call, s.journal, s.transcript, s.sent}
}

// of makes a field getter of a function on the object's Go type.
func of[T any](get func(T) any) func(any) any {
	return func(x any) any { return get(x.(T)) }
}

func newType(name string, fields ...field) *objectType {
	return &objectType{name: name, cel: cel.ObjectType(name), fields: fields}
}

func newSchema() *schema {
	type (
		request = *harness.Request
		message = *harness.Message
		tool    = *harness.Tool
		call    = *harness.Call
		written = *harness.ToolCall
		journal = *Journal
	)
	strings := cel.ListType(cel.StringType)
	s := &schema{}
	s.tool = newType("tool",
		field{"name", cel.StringType, of(func(t tool) any { return t.Name })},
		field{"description", cel.StringType, of(func(t tool) any { return t.Description })},
		field{"schema", cel.DynType, of(func(t tool) any { return rawJSON(t.Schema) })},
	)
	s.messageCall = newType("call",
		field{"id", cel.StringType, of(func(c written) any { return c.ID })},
		field{"name", cel.StringType, of(func(c written) any { return c.Name })},
		field{"args", cel.DynType, of(func(c written) any { return writtenArgs(c.Arguments) })},
	)
	s.message = newType("message",
		field{"role", cel.StringType, of(func(m message) any { return string(m.Role) })},
		field{"text", cel.StringType, of(func(m message) any { return m.Text })},
		field{"calls", cel.ListType(s.messageCall.cel), of(func(m message) any { return objects(s.messageCall, m.Calls) })},
		field{"call_id", cel.StringType, of(func(m message) any { return m.CallID })},
	)
	s.request = newType("request",
		field{"model", cel.StringType, of(func(r request) any { return r.Model })},
		field{"system", cel.StringType, of(func(r request) any { return systemText(r) })},
		field{"messages", cel.ListType(s.message.cel), of(func(r request) any { return objects(s.message, spoken(r)) })},
		field{"tools", cel.ListType(s.tool.cel), of(func(r request) any { return objects(s.tool, r.Tools) })},
		field{"tool_choice", cel.StringType, of(func(r request) any { return r.ToolChoice })},
		field{"temperature", cel.DoubleType, of(func(r request) any {
			if r.Temperature == nil {
				return nil
			}
			return *r.Temperature
		})},
		field{"stream", cel.BoolType, of(func(r request) any { return r.Stream })},
	)
	s.call = newType("trajectory call",
		field{"server", cel.StringType, of(func(c call) any { return c.Server })},
		field{"tool", cel.StringType, of(func(c call) any { return c.Tool })},
		field{"name", cel.StringType, of(func(c call) any { return c.Name() })},
		field{"offered", cel.StringType, of(func(c call) any { return c.Offered })},
		field{"args", cel.DynType, of(func(c call) any {
			if c.Args == nil {
				return writtenArgs(c.ArgsText)
			}
			return rawJSON(c.Args)
		})},
		field{"result", cel.DynType, of(func(c call) any { return rawJSON(c.Result) })},
		field{"failed", cel.BoolType, of(func(c call) any { return c.Failed })},
		field{"lane", cel.StringType, of(func(c call) any { return c.Lane })},
		field{"turn", cel.IntType, of(func(c call) any { return c.Turn })},
		field{"reply", cel.IntType, of(func(c call) any { return c.Reply })},
		field{"index", cel.IntType, of(func(c call) any { return c.Index })},
		field{"duration_ms", cel.IntType, of(func(c call) any { return int(c.Duration.Milliseconds()) })},
		field{"retried", cel.BoolType, of(func(c call) any { return c.Retried })},
		field{"executed", cel.BoolType, of(func(c call) any { return c.Executed })},
		field{"unasked", cel.BoolType, of(func(c call) any { return c.Unasked })},
	)
	s.journal = newType("journal",
		field{"model_calls", cel.IntType, of(func(j journal) any { return j.ModelCalls })},
		field{"retries", cel.IntType, of(func(j journal) any { return j.Retries })},
		field{"tool_calls", cel.IntType, of(func(j journal) any { return j.ToolCalls })},
		field{"tokens", cel.IntType, of(func(j journal) any { return j.Tokens })},
		field{"answers", strings, of(func(j journal) any { return j.Answers })},
		field{"told", strings, of(func(j journal) any { return j.Told })},
		field{"stops", strings, of(func(j journal) any { return j.Stops })},
	)
	s.transcript = transcriptType()
	s.sent = s.sentType()
	return s
}

// sentType is a request with where it went, as the journal has it.
func (s *schema) sentType() *objectType {
	type sent = *harness.Exchange
	fields := []field{
		{"path", cel.StringType, of(func(x sent) any { return x.Path })},
		{"dialect", cel.StringType, of(func(x sent) any { return x.Dialect })},
		{"headers", cel.MapType(cel.StringType, cel.StringType), of(func(x sent) any {
			members := make([]value.Member, 0, len(x.Headers))
			for _, name := range slices.Sorted(maps.Keys(x.Headers)) {
				members = append(members, value.Member{Key: name, Value: value.StringOf(x.Headers[name])})
			}
			return value.ObjectOf(members...)
		})},
	}
	for _, f := range s.request.fields {
		if f.name == "stream" {
			continue // scenarios say what a model does, and not how it is sent
		}
		fields = append(fields, field{f.name, f.typ, of(func(x sent) any { return f.get(&x.Request) })})
	}
	return newType("sent request", fields...)
}

func transcriptType() *objectType {
	type report = *harness.Transcript
	return newType("transcript",
		field{"model_calls", cel.IntType, of(func(t report) any {
			return sum(t, func(r *harness.TurnReport) int { return r.ModelCalls })
		})},
		field{"tool_calls", cel.IntType, of(func(t report) any {
			return sum(t, func(r *harness.TurnReport) int { return len(r.Calls) })
		})},
		field{"answers", cel.ListType(cel.StringType), of(func(t report) any {
			answers := make([]string, len(t.Turns))
			for i := range t.Turns {
				answers[i] = t.Turns[i].Answer
			}
			return answers
		})},
		field{"stop", cel.StringType, of(func(t report) any {
			if len(t.Turns) == 0 {
				return ""
			}
			return string(t.Turns[len(t.Turns)-1].Stop)
		})},
	)
}

func objects[T any](t *objectType, items []T) []any {
	list := make([]any, len(items))
	for i := range items {
		list[i] = &object{t, &items[i]}
	}
	return list
}

func rawJSON(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	v, err := value.Parse(raw)
	if err != nil {
		return value.StringOf(string(raw))
	}
	return v
}

// writtenArgs reads the arguments that a model wrote: none is an empty
// object, and what is not JSON stays text.
func writtenArgs(text string) any {
	if strings.TrimSpace(text) == "" {
		return value.ObjectOf()
	}
	return rawJSON(json.RawMessage(text))
}

func systemText(r *harness.Request) string {
	var parts []string
	for i := range r.Messages {
		if r.Messages[i].Role == harness.RoleSystem {
			parts = append(parts, r.Messages[i].Text)
		}
	}
	return strings.Join(parts, "\n")
}

// spoken returns the messages without the system's, which request.system has.
func spoken(r *harness.Request) []harness.Message {
	list := make([]harness.Message, 0, len(r.Messages))
	for i := range r.Messages {
		if r.Messages[i].Role != harness.RoleSystem {
			list = append(list, r.Messages[i])
		}
	}
	return list
}

// lastMessage is spoken's last, without making the list.
func lastMessage(r *harness.Request) (*harness.Message, bool) {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role != harness.RoleSystem {
			return &r.Messages[i], true
		}
	}
	return nil, false
}

func sum(t *harness.Transcript, f func(*harness.TurnReport) int) int {
	n := 0
	for i := range t.Turns {
		n += f(&t.Turns[i])
	}
	return n
}
