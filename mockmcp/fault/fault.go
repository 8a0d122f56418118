// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package fault is the catalogue of what an MCP server can do wrong: every
// [Kind] of misbehaviour that was seen at a real one, which request it strikes,
// on which transports, and how often. It only describes and decides; package
// mockmcp carries it out.
//
//	mockmcp.Script{Name: "weather", Tools: tools, Faults: []fault.Fault{
//		{Kind: fault.RPCError, Code: -32050, Match: fault.Match{Tool: "get_weather"}},
//		{Kind: fault.Exit, ExitCode: 3, Match: fault.Match{Nth: 2}},
//	}}
//
// # Terms
//
// A kind may have forms: variants of the same misbehaviour. A preset is a fault
// under an unknown name, as one server was seen to have it; [Lookup] knows
// kinds and presets alike.
//
// A fault strikes an event: a request, the start of a connection, or the end of
// the client's input. It strikes those that its [Match] fits, counted by Every,
// Times and Probability. Without a method it strikes the requests of its kind,
// usually tool calls. A kind that makes no sense on a transport ignores that
// transport: its events do not count.
package fault

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/faults"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// Kind names a misbehaviour.
type Kind string

// Fault is one misbehaviour: what, where, and how often. Only Kind is
// required.
type Fault struct {
	Kind Kind
	// Form chooses among the kind's forms. Empty means the first.
	Form string
	// Match says which events it strikes. The zero Match is any that the kind
	// is about.
	Match Match
	// Times is how often it strikes. 0 means once, or without end when Every
	// or Probability is set or the kind is one that lasts; a negative value
	// means without end.
	Times int
	// Every strikes only each so-manieth of the events that it fits: with 3
	// the third, the sixth. 0 means each one.
	Every int
	// Probability is the chance with which it strikes an event that it fits.
	// 0 means 1.
	Probability float64
	// Seed is what chance is drawn from. Two faults of one server draw
	// differently from the same seed.
	Seed int64

	// Code, Message and Data are those of a JSON-RPC error; Message is also
	// the text of a result that is an error. 0 and empty mean the kind's own.
	Code    int
	Message string
	Data    json.RawMessage
	// Status, Headers and Body are those of an HTTP answer; Body is also the
	// text of a line that is none of the protocol's. 0 and empty mean the
	// kind's own.
	Status  int
	Headers map[string]string
	Body    string
	// Delay is the wait of a slow fault. 0 means the kind's own.
	Delay time.Duration
	// Size is how many bytes are sent, of text or to stderr. 0 means the
	// kind's own.
	Size int
	// Count is how many notifications, lines or pages are sent. 0 means the
	// kind's own.
	Count int
	// Bytes is how many bytes of a frame come before it breaks off or is
	// split; a negative one counts from its end. 0 means half of it.
	Bytes int
	// ExitCode is the code that a process ends with. 0 means the kind's own.
	ExitCode int
	// Stderr is what a process says before it ends. Empty means the kind's
	// own.
	Stderr string
	// Pos is where the fault is written, for messages.
	Pos harness.Position
}

// Match says which events a fault strikes. Fields that are zero do not
// matter.
type Match struct {
	// Method is the method of the request; over HTTP also GET and DELETE, for
	// the requests that carry no message.
	Method string
	// Tool is the tool that is called. For a kind about the list of tools it
	// is the tool that goes wrong in it; empty is the first of the list.
	Tool string
	// Nth is the place among the events that the rest fits, from 1.
	Nth int
	// Args reports whether the arguments of a call fit. An error is an error
	// of the script.
	Args func(args json.RawMessage) (bool, error)
}

// The events that are no requests, as an [Event] has them for a method.
const (
	Start = "start" // of a connection, before its first request
	End   = "end"   // of the client's input
)

// Methods returns the methods that a fault can be matched with: those of the
// requests that clients make, those of HTTP requests that carry no message, and
// Start and End.
func Methods() []string {
	return []string{
		methodInitialize, methodDiscover, "ping", methodList, methodCall,
		"resources/list", "resources/templates/list", "resources/read", "resources/subscribe", "resources/unsubscribe",
		"prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "subscriptions/listen", http.MethodGet, http.MethodDelete, Start, End,
	}
}

// The transports, as frames and faults name them.
const (
	Pipe  = "pipe"  // in process
	Stdio = "stdio" // of a child process
	HTTP  = "http"  // streamable HTTP
	SSE   = "sse"   // HTTP with SSE, of 2024-11-05
	WS    = "ws"    // WebSocket
)

// Transports returns all of them, in order.
func Transports() []string { return []string{Pipe, Stdio, HTTP, SSE, WS} }

// Event is what a placement looks at.
type Event struct {
	Method    string // of the request, or Start or End
	Tool      string // of a call
	Args      json.RawMessage
	Transport string
	Modern    bool // the request is one of 2026-07-28
}

// Endless reports whether the fault strikes again and again.
func (f *Fault) Endless() bool {
	info, _ := Describe(f.Kind)
	return f.schedule(&info).IsEndless()
}

func (f *Fault) schedule(info *Info) faults.Schedule {
	return faults.Schedule{Times: f.Times, Every: f.Every, Nth: f.Match.Nth, Probability: f.Probability, Endless: info.Lasts && f.Match.Nth == 0}
}

// String names the fault for messages: its kind, and its form after a slash.
func (f *Fault) String() string { return faults.Name(string(f.Kind), f.Form) }

// Check reports what is wrong with the fault as it is written: an unknown
// kind or form, a value out of range, a setting that the kind has no use for.
func (f *Fault) Check() error {
	info, ok := Describe(f.Kind)
	if !ok {
		return faults.Unknown(string(f.Kind), Names())
	}
	check := faults.Check{Kind: string(f.Kind)}
	check.Form(f.Form, faults.Names(info.Forms))
	check.Uses(info.Uses, []faults.Setting{
		{"code", f.Code != 0},
		{"message", f.Message != ""},
		{"data", f.Data != nil},
		{"status", f.Status != 0},
		{"headers", f.Headers != nil},
		{"body", f.Body != ""},
		{"delay", f.Delay != 0},
		{"size", f.Size != 0},
		{"count", f.Count != 0},
		{"bytes", f.Bytes != 0},
		{"exit_code", f.ExitCode != 0},
		{"stderr", f.Stderr != ""},
	})
	f.checkMatch(&info, check.Report)
	check.Between("status", f.Status, 200, 599)
	check.Between("exit code", f.ExitCode, 0, 255)
	check.Schedule(f.Probability, f.Every < 0 || f.Delay < 0 || f.Size < 0 || f.Count < 0 || f.Match.Nth < 0)
	if f.Data != nil && !json.Valid(f.Data) {
		check.Report("the data of fault %s is not JSON", f.Kind)
	}
	return check.Err()
}

func (f *Fault) checkMatch(info *Info, report func(string, ...any)) {
	m := f.Match
	if m.Method != "" && len(info.On) > 0 && !slices.Contains(info.On, m.Method) {
		report("fault %s strikes %s, but never %q%s", f.Kind, info.Where(), m.Method, prose.DidYouMean(m.Method, info.On))
	}
	called := m.Method == "" && (len(info.On) == 0 || slices.Contains(info.On, methodCall)) || m.Method == methodCall
	if m.Tool != "" && !called && !info.aboutList() {
		report("fault %s does not strike calls here: match does not use tool", f.Kind)
	}
	if m.Args != nil && !called {
		report("fault %s does not strike calls here: match does not use args", f.Kind)
	}
}
