// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package mcpmatrix is the matrix of MCP faults: a small server that has one
// fault, the cases in which clients meet it, and words for what came of each.
// Tests of our own agent and of foreign clients share it.
//
//	for _, c := range mcpmatrix.Cases(mcpmatrix.Columns()) {
//		server, err := mockmcp.New(mcpmatrix.Script(c, nil), nil)
//		...
//		fmt.Println(c, outcome.Cell())
//	}
//
// The server has a tool with a side effect, charge, which the fault strikes
// once when it strikes calls, and one without, look, by which a client shows
// that it can go on.
package mcpmatrix

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/mockmcp"
	"github.com/rehearse-dev/rehearse/mockmcp/fault"
)

// Column is a way in which clients meet a server.
type Column struct {
	Name      string
	Transport string // as in package fault
	Modern    bool   // the client is one of 2026-07-28
}

// Columns are the ways in which every client meets the server.
func Columns() []Column {
	return []Column{
		{"stdio", fault.Stdio, false},
		{"HTTP legacy", fault.HTTP, false},
		{"HTTP modern", fault.HTTP, true},
	}
}

// OtherColumns are ways in which only our own agent meets it.
func OtherColumns() []Column {
	return []Column{
		{"in process", fault.Pipe, false},
		{"HTTP+SSE", fault.SSE, false},
		{"WebSocket", fault.WS, true},
	}
}

// Subjects are the foreign clients.
func Subjects() []string { return []string{"Go SDK", "TypeScript SDK"} }

// Case is one fault in one column.
type Case struct {
	Fault  fault.Fault
	Column Column
}

func (c Case) String() string { return c.Fault.String() + ", " + c.Column.Name }

// Faults are the rows of the matrix: every form of every kind, with what is
// needed for a quick run.
func Faults() []fault.Fault {
	var all []fault.Fault
	for _, info := range fault.Kinds() {
		forms := []string{""}
		if len(info.Forms) > 0 {
			forms = nil
			for _, form := range info.Forms {
				forms = append(forms, form.Name)
			}
		}
		for _, form := range forms {
			all = append(all, row(info, form))
		}
	}
	return all
}

func row(info fault.Info, form string) fault.Fault {
	f := fault.Fault{Kind: info.Kind, Form: form}
	if len(info.On) == 0 || slices.Equal(info.On, []string{"tools/call"}) {
		f.Match.Tool = "charge"
	}
	if info.Kind == fault.StderrFlood {
		f.Size = 200_000
	}
	if info.Kind == fault.ToolDrift {
		f.Match = fault.Match{Method: "tools/call", Tool: "charge"}
	}
	return f
}

// Applies reports whether the fault strikes in the column.
func Applies(f fault.Fault, c Column) bool {
	info, ok := fault.Describe(f.Kind)
	switch {
	case !ok || !slices.Contains(info.Transports, c.Transport):
		return false
	case info.Era == fault.Legacy && c.Modern, info.Era == fault.Modern && !c.Modern:
		return false
	// The half is a whole message there, and whether the client hears first of
	// it or of the end is left to chance.
	case f.Kind == fault.TruncateFrame && f.Form == "exit" && c.Transport == fault.WS:
		return false
	// Only a client that opens with the new era asks for it.
	case f.Kind == fault.DiscoverError && c.Transport == fault.HTTP && !c.Modern:
		return false
	}
	return true
}

// Cases are all cases in the columns.
func Cases(columns []Column) []Case {
	var all []Case
	for _, f := range Faults() {
		for _, c := range columns {
			if Applies(f, c) {
				all = append(all, Case{f, c})
			}
		}
	}
	return all
}

// Probes reports whether the client of a case begins with 2026-07-28.
func (c Case) Probes() bool { return c.Column.Modern || c.Fault.Kind == fault.DiscoverError }

// Silent reports whether something in the case is never answered, so that a
// client can only give up.
func (c Case) Silent() bool {
	form := c.Fault.FormOf()
	switch c.Fault.Kind {
	case fault.Hang, fault.LateReply, fault.CloseStdout, fault.WrongID, fault.StringID, fault.NullID, fault.MissingID,
		fault.BatchReply, fault.PrettyJSON, fault.ContentLength, fault.BadUTF8, fault.SSERetry, fault.AbortConnection, fault.Exit:
		return true
	case fault.TruncateFrame:
		return form != "exit" || c.Column.Transport == fault.HTTP
	case fault.SSEEndWithoutReply:
		return true
	case fault.JunkLine, fault.ServerRequest, fault.SlowStart:
		return true
	case fault.DiscoverError:
		return form == "silent" || form == "null_id"
	case fault.WrongContentType:
		return true
	}
	return false
}

// Answers of the tools when nothing goes wrong.
const (
	Charged = `{"receipt":"R-1","total":30}`
	Looked  = `{"status":"open"}`
)

// Script is the server of a case. charged is called for each charge that is
// made; nil is allowed.
func Script(c Case, charged func()) mockmcp.Script {
	answer := func(text string) *mockmcp.Answer { return &mockmcp.Answer{JSON: json.RawMessage(text)} }
	modern := mockmcp.ModernOn
	if !c.Column.Modern {
		modern = mockmcp.ModernOff
	}
	return mockmcp.Script{
		Name:     "shop",
		Protocol: mockmcp.Protocol{Modern: modern, ListChanged: true},
		Faults:   []fault.Fault{c.Fault},
		Tools: []mockmcp.Tool{
			{
				Name: "charge", Description: "Charge a card for an order.",
				Input:       json.RawMessage(`{"type":"object","properties":{"order":{"type":"string"},"amount":{"type":"number"}},"required":["order","amount"]}`),
				Output:      json.RawMessage(`{"type":"object","properties":{"receipt":{"type":"string"},"total":{"type":"number"}},"required":["receipt","total"]}`),
				Annotations: json.RawMessage(`{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false}`),
				Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) {
					if charged != nil {
						charged()
					}
					return answer(Charged), nil
				},
			},
			{
				Name: "look", Description: "Look at an order.",
				Input:       json.RawMessage(`{"type":"object","properties":{"order":{"type":"string"}},"required":["order"]}`),
				Annotations: json.RawMessage(`{"readOnlyHint":true}`),
				Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) {
					return answer(Looked), nil
				},
			},
		},
	}
}

// Step is what came of one step of a client: open, list, charge, look, close.
type Step struct {
	Step    string   `json:"step"`
	Error   string   `json:"error,omitempty"`
	Code    any      `json:"code,omitempty"`
	IsError bool     `json:"is_error,omitempty"`
	Text    string   `json:"text,omitempty"`
	Tools   []string `json:"tools,omitempty"`
}

// Outcome is what a client did in a case.
type Outcome struct {
	Steps   []Step
	Charges int    // how often the side effect took place
	Lists   int    // how often the list was asked for
	Crash   string // how the client's process ended, when it did not end well
	Hangs   bool   // the client had to be killed
}

func (o *Outcome) step(name string) (Step, bool) {
	for _, s := range o.Steps {
		if s.Step == name {
			return s, true
		}
	}
	return Step{}, false
}

// manyLists is more lists than a client asks for that has heard of a few
// changes.
const (
	manyLists    = 20
	endlessLists = 500
)

// Cell summarises the outcome in a few words.
func (o *Outcome) Cell() string {
	switch {
	case o.Hangs:
		return "**hangs**"
	case o.Crash != "":
		return "**crashes**: " + Short(o.Crash)
	}
	var parts []string
	if s, ok := o.step("open"); ok && s.Error != "" {
		return "does not connect: " + Short(s.Error)
	}
	if s, ok := o.step("list"); ok {
		switch {
		case s.Error != "":
			parts = append(parts, "no tools: "+Short(s.Error))
		case !slices.Contains(s.Tools, "charge") && !slices.Contains(s.Tools, "charge_v2"), !slices.Contains(s.Tools, "look"):
			parts = append(parts, "tools: "+cmp.Or(strings.Join(s.Tools, ", "), "none"))
		}
	}
	if s, ok := o.step("charge"); ok {
		parts = append(parts, s.words(Charged))
	}
	if s, ok := o.step("look"); ok {
		switch w := s.words(Looked); {
		case s.Error != "":
			// How it fails may hang on which of two things a client hears first.
			parts = append(parts, "the next call fails")
		case w != "answer":
			parts = append(parts, "the next call: "+w)
		}
	}
	if s, ok := o.step("close"); ok && s.Error != "" {
		parts = append(parts, "closing: "+Short(s.Error))
	}
	if o.Charges > 1 {
		parts = append(parts, fmt.Sprintf("**charges %d times**", o.Charges))
	}
	switch {
	case o.Lists > endlessLists:
		parts = append(parts, "**lists without end**")
	case o.Lists > manyLists:
		parts = append(parts, fmt.Sprintf("%d lists", o.Lists))
	}
	return strings.Join(parts, "; ")
}

// words says what came of a call that is to be answered with want.
func (s Step) words(want string) string {
	switch {
	case s.Error != "" && timedOut.MatchString(s.Error):
		return "times out"
	case s.Error != "":
		return "error: " + Short(s.Error)
	case s.IsError:
		return "a failed result"
	case s.Text == want:
		return "answer"
	case s.Text == "":
		return "an empty answer"
	}
	return "another answer"
}

var (
	timedOut = regexp.MustCompile(`(?i)timed? ?out|deadline exceeded|no answer within`)
	changing = []*regexp.Regexp{
		regexp.MustCompile(`127\.0\.0\.1:\d+|\[::1\]:\d+`),
		regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}`),
		regexp.MustCompile(`(?i)mcp-session-[0-9a-z-]+`),
		regexp.MustCompile(`/tmp/[^\s"']+`),
	}
	ids    = regexp.MustCompile(`(request |the id |"id":)[1-9]\b`)
	spaces = regexp.MustCompile(`\s+`)
)

// Short is the beginning of a message on one line, without what differs from
// run to run.
func Short(message string) string {
	message = spaces.ReplaceAllString(strings.TrimSpace(message), " ")
	for _, re := range changing {
		message = re.ReplaceAllString(message, "…")
	}
	message = ids.ReplaceAllString(message, "${1}N")
	const limit = 110
	if r := []rune(message); len(r) > limit {
		message = string(r[:limit]) + "…"
	}
	return message
}
