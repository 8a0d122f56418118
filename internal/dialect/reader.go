// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/exactjson"
)

// Received is what an endpoint replied.
type Received struct {
	ID, Model string
	// Message is the reply as far as it came. The ids of calls are as the
	// endpoint sent them: they may be empty, and may repeat.
	Message harness.Message
	// Finish is the reason for which the reply ended, in the words of chat
	// completions (stop, tool_calls, length, content_filter); a reason that
	// has none is as the endpoint says it. Empty when it says nothing.
	Finish string
	Usage  harness.Usage
	// Items are the items of a response in their order, which later requests
	// may name; nil in other dialects.
	Items []Item
}

// Item is an item of a response.
type Item struct {
	ID string // empty when the endpoint gave none
	// Message is what it says, as a message of its own.
	Message harness.Message
}

// Delta is what a document says about a reply.
type Delta struct {
	Kind DeltaKind
	// Text is a piece of the text, of the reasoning, or of a call's arguments:
	// whole characters.
	Text string
	// Call counts calls from 0 in the order in which they were begun.
	Call int
	// ID and Name of the call, once they are known.
	ID, Name string
}

// DeltaKind says what a [Delta] is a piece of.
type DeltaKind int

// The kinds of delta.
const (
	TextDelta DeltaKind = iota
	ReasoningDelta
	CallDelta
)

// MaxCalls bounds the tool calls of one reply; the API itself allows 128.
const MaxCalls = 1024

// Reader puts the documents of one reply together. The zero Reader is not
// usable; see [NewReader].
type Reader struct {
	dialect *Dialect
	parser  Parser
	Limits  Limits
	Choice  int // the index of the answer that is read

	id, model string
	Usage     harness.Usage
	Finish    string
	Ended     bool // the dialect's own mark of the end came
	Answered  bool // a message came, or a reason for there being none

	Said, Reasoning, Refusal Pending
	Calls                    []*PendingCall
	byIndex                  map[int]*PendingCall // the last call begun at an index
	Extra                    string               // members of the message that the endpoint may want back
	Items                    []Item
	deltas                   []Delta
	shown                    strings.Builder // text of [Reader.Show]
}

// NewReader reads a reply in a dialect.
func NewReader(d *Dialect, limits Limits) *Reader {
	return &Reader{dialect: d, parser: d.Parse(), Limits: limits.orDefault()}
}

// Add takes a document and returns what it tells, until the next one. A
// document of b that is not understood is a [*Fault].
func (r *Reader) Add(b *Documents, d Document) ([]Delta, error) {
	r.deltas = r.deltas[:0]
	err := r.parser.Add(r, d)
	if f := (*Fault)(nil); err != nil && !errors.As(err, &f) {
		err = b.bad(d, err)
	}
	return r.deltas, err
}

// Over reports whether the dialect's own mark of the end came: what follows it
// is no part of the reply, and some endpoints never end the stream.
func (r *Reader) Over(b *Documents) bool { return r.Ended && !b.Single }

// Text returns the text so far.
func (r *Reader) Text() string {
	if r.Said.Sb.Len() == 0 {
		return r.shown.String()
	}
	return r.Said.Sb.String()
}

// Show tells a delta of a reply that is put together at its end.
func (r *Reader) Show(d Delta) {
	r.deltas = append(r.deltas, d)
	if d.Kind == TextDelta {
		r.shown.WriteString(d.Text)
	}
}

// End says what the end of a body makes of the reply: nil when it is whole.
// Err is what [Body.Next] ended with. Notes tell what is odd about a reply
// that counts as whole.
//
// Some endpoints never say why a reply ended. Such a stream counts as whole
// with openEnd, or when its usage and its [DONE] came. Calls with all their
// arguments are no sign: another may be missing, and some proxies end a stream
// that was cut off with [DONE].
func (r *Reader) End(b *Documents, err error, openEnd bool) (notes []string, _ error) {
	inOrder := errors.Is(err, io.EOF)
	switch {
	case inOrder && !r.Answered:
		return nil, &Fault{Kind: Empty, Message: "the reply has no " + r.dialect.Part}
	case r.gaveUp():
		return nil, &Fault{Kind: GaveUp, Message: fmt.Sprintf("the endpoint gave up the reply: finish_reason %q", r.Finish)}
	case r.Finish != "" || r.Ended:
		var f *Fault
		switch {
		case inOrder && r.Finish == "":
			notes = append(notes, "the reply has no finish_reason")
		case inOrder:
		case errors.As(err, &f) && f.Kind != Cut:
			return nil, err
		default:
			notes = append(notes, fmt.Sprintf("the stream broke after its finish_reason: %v", err))
		}
	case !inOrder:
		return nil, err
	case b.Single, b.Marked && r.Usage != (harness.Usage{}), openEnd:
		notes = append(notes, "the reply has no finish_reason")
	default:
		return nil, &Fault{Kind: Cut, Message: "the stream ends without a finish_reason: the reply is cut off"}
	}
	return notes, nil
}

// gaveUp reports whether the endpoint says that it could not go on, or that what
// the model wrote was no call.
func (r *Reader) gaveUp() bool {
	switch r.Finish {
	case "error", "error_finish":
		return true
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE":
		return r.dialect.Own
	}
	return false
}

// Reply returns the reply as far as it came. The calls are in the order of
// their indexes, where the endpoint numbers them. It is asked for once.
func (r *Reader) Reply() Received {
	r.parser.End(r)
	m := harness.Message{
		Role:      harness.RoleAssistant,
		Text:      r.Said.end(),
		Reasoning: r.Reasoning.end(),
		Refusal:   r.Refusal.end(),
		Extra:     r.Extra,
	}
	slices.SortStableFunc(r.Calls, func(x, y *PendingCall) int { return x.index.N - y.index.N })
	for _, c := range r.Calls {
		m.Calls = append(m.Calls, c.Whole())
	}
	return Received{ID: r.id, Model: r.model, Message: m, Finish: r.finishWord(len(m.Calls) > 0), Usage: r.Usage, Items: r.Items}
}

// Pending is text that comes bit by bit.
type Pending struct {
	joiner
	Sb strings.Builder
}

// Add returns what can be shown now.
func (p *Pending) Add(s Text) string {
	out := p.joiner.add(string(s))
	p.Sb.WriteString(out)
	return out
}

func (p *Pending) end() string {
	p.Sb.WriteString(p.flush())
	return p.Sb.String()
}

// PendingCall is a tool call that comes bit by bit.
type PendingCall struct {
	number    int // in the order of beginning
	index     Number
	ID, Name  string
	Arguments Pending
	Initial   Text            // the arguments, where no pieces bring them
	extra     json.RawMessage // extra_content
	// Extra is a JSON object of further members, for dialects that have others.
	Extra string
}

// complete reports whether the argument text is a whole JSON object: a call
// that has one takes no more of it.
func (c *PendingCall) complete() bool {
	s := strings.TrimSpace(c.Arguments.Sb.String())
	return strings.HasPrefix(s, "{") && strings.HasSuffix(s, "}") && json.Valid([]byte(s))
}

// Whole is the call as far as it came. White space around a name is no part of
// it: no tool's name has any.
func (c *PendingCall) Whole() harness.ToolCall {
	if c.Arguments.Sb.Len() == 0 {
		c.Arguments.Add(c.Initial)
	}
	out := harness.ToolCall{ID: ToValid(c.ID), Name: strings.TrimSpace(ToValid(c.Name)), Arguments: c.Arguments.end(), Extra: c.Extra}
	if c.extra != nil {
		out.Extra = `{"extra_content":` + string(c.extra) + `}`
	}
	return out
}

// Piece is a part of a call, or a whole one.
type Piece struct {
	Index     Number
	ID, Name  Text
	Arguments Text
	Extra     json.RawMessage
}

// AddCall takes a piece of c, or of a new call when c is nil.
func (r *Reader) AddCall(c *PendingCall, d Piece) error {
	if c == nil {
		if len(r.Calls) == MaxCalls {
			return &Fault{Kind: TooLong, Message: fmt.Sprintf("more than %d tool calls in one reply", MaxCalls)}
		}
		c = &PendingCall{number: len(r.Calls), index: d.Index}
		r.Calls = append(r.Calls, c)
	}
	if d.Index.Set {
		if r.byIndex == nil {
			r.byIndex = make(map[int]*PendingCall)
		}
		r.byIndex[d.Index.N] = c
		if !c.index.Set {
			c.index = d.Index
		}
	}
	if c.ID == "" {
		c.ID = string(d.ID)
	}
	switch name := string(d.Name); {
	case c.Name == "":
		c.Name = name
	case name != c.Name && c.Arguments.Sb.Len() == 0:
		c.Name += name // a name in pieces
	}
	if len(d.Extra) > 0 && string(d.Extra) != "null" {
		c.extra = d.Extra
	}
	if c.Arguments.Sb.Len()+len(d.Arguments) > r.Limits.Arguments {
		return &Fault{Kind: TooLong, Message: fmt.Sprintf("arguments of tool call %q are longer than %d bytes", c.Name, r.Limits.Arguments)}
	}
	text := c.Arguments.Add(d.Arguments)
	r.deltas = append(r.deltas, Delta{Kind: CallDelta, Call: c.number, ID: c.ID, Name: strings.TrimSpace(c.Name), Text: text})
	return nil
}

// Find returns the call that d continues, nil if it begins one. The index
// tells, but some endpoints number every call 0, or none.
func (r *Reader) Find(d Piece) *PendingCall {
	var c *PendingCall
	if d.Index.Set {
		c = r.byIndex[d.Index.N]
		if c == nil && d.ID == "" && d.Name == "" {
			c = r.unnumbered()
		}
	} else if len(r.Calls) > 0 {
		c = r.Calls[len(r.Calls)-1]
		if i := slices.IndexFunc(r.Calls, func(o *PendingCall) bool { return o.ID == string(d.ID) }); i >= 0 && d.ID != "" {
			c = r.Calls[i]
		}
	}
	if c == nil || d.Name == "" {
		return c // a piece without a name never begins a second call
	}
	switch {
	case d.ID != "" && c.ID != "":
		if string(d.ID) != c.ID {
			return nil
		}
	case !d.Index.Set && string(d.Name) != c.Name,
		d.Arguments != "" && c.complete():
		return nil
	}
	return c
}

// unnumbered returns the last call, where it was begun without an index and wants
// more: some endpoints number a call in its later pieces only.
func (r *Reader) unnumbered() *PendingCall {
	if n := len(r.Calls); n > 0 && !r.Calls[n-1].index.Set && !r.Calls[n-1].complete() {
		return r.Calls[n-1]
	}
	return nil
}

// AddText takes a piece of the text.
func (r *Reader) AddText(s Text) {
	if shown := r.Said.Add(s); shown != "" {
		r.deltas = append(r.deltas, Delta{Kind: TextDelta, Text: shown})
	}
}

// AddReasoning takes a piece of the reasoning.
func (r *Reader) AddReasoning(s Text) {
	if shown := r.Reasoning.Add(s); shown != "" {
		r.deltas = append(r.deltas, Delta{Kind: ReasoningDelta, Text: shown})
	}
}

// SetID keeps the last id and model that were said.
func (r *Reader) SetID(id, model Text) {
	if id != "" {
		r.id = ToValid(string(id))
	}
	if model != "" {
		r.model = ToValid(string(model))
	}
}

// SetUsage takes a usage. In a stream each counts from the beginning, so that
// one which counts less than one before takes nothing back.
func (r *Reader) SetUsage(u harness.Usage) {
	r.Usage = harness.Usage{
		PromptTokens:     max(r.Usage.PromptTokens, u.PromptTokens),
		CompletionTokens: max(r.Usage.CompletionTokens, u.CompletionTokens),
		TotalTokens:      max(r.Usage.TotalTokens, u.TotalTokens),
		ReasoningTokens:  max(r.Usage.ReasoningTokens, u.ReasoningTokens),
		CachedTokens:     max(r.Usage.CachedTokens, u.CachedTokens),
		CacheWriteTokens: max(r.Usage.CacheWriteTokens, u.CacheWriteTokens),
	}.Counted()
}

// finishWord is the reason in the words of chat completions.
func (r *Reader) finishWord(calls bool) string {
	f := FinishWord(ToValid(r.Finish))
	if f == "stop" && calls && r.dialect.Own && !r.dialect.EndsInCalls {
		return "tool_calls"
	}
	return f
}

// FinishWord is a reason to end in the words of chat completions; one that has
// none is as it was. Gateways hand the words of other APIs on, in any case.
func FinishWord(reason string) string {
	switch strings.ReplaceAll(strings.ToLower(reason), "-", "_") {
	case "stop", "end_turn", "stop_sequence", "completed":
		return "stop"
	case "tool_calls", "tool_use":
		return "tool_calls"
	case "length", "max_tokens", "max_output_tokens", "model_length", "token_limit", "model_context_window_exceeded":
		return "length"
	case "content_filter", "content_filtered", "guardrail_intervened", "refusal", "safety", "prohibited_content", "blocklist", "spii", "recitation",
		"image_safety", "image_prohibited_content", "image_recitation":
		return "content_filter"
	}
	return reason
}

// OpenAIUsage is that of chat completions and of responses, which name the same
// things differently.
type OpenAIUsage struct {
	PromptTokens     Count `json:"prompt_tokens"`
	InputTokens      Count `json:"input_tokens"`
	CompletionTokens Count `json:"completion_tokens"`
	OutputTokens     Count `json:"output_tokens"`
	TotalTokens      Count `json:"total_tokens"`
	PromptDetails    struct {
		CachedTokens Count `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	InputDetails struct {
		CachedTokens Count `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	CompletionDetails struct {
		ReasoningTokens Count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	OutputDetails struct {
		ReasoningTokens Count `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// UnmarshalJSON takes any JSON value; what does not count is left out.
func (u *OpenAIUsage) UnmarshalJSON(b []byte) error {
	type plain OpenAIUsage
	var odd *json.UnmarshalTypeError // after which decoding goes on
	if err := exactjson.Unmarshal(b, (*plain)(u)); err != nil && !errors.As(err, &odd) {
		return err
	}
	return nil
}

func (u *OpenAIUsage) Total() harness.Usage {
	return harness.Usage{
		PromptTokens:     int(max(u.PromptTokens, u.InputTokens)),
		CompletionTokens: int(max(u.CompletionTokens, u.OutputTokens)),
		TotalTokens:      int(u.TotalTokens),
		ReasoningTokens:  int(max(u.CompletionDetails.ReasoningTokens, u.OutputDetails.ReasoningTokens)),
		CachedTokens:     int(max(u.PromptDetails.CachedTokens, u.InputDetails.CachedTokens)),
	}
}

func (r *Reader) Begun() bool {
	return r.Said.Sb.Len() > 0 || r.Reasoning.Sb.Len() > 0 || len(r.Calls) > 0
}

func (r *Reader) LongArguments(name Text) error {
	return &Fault{Kind: TooLong, Message: fmt.Sprintf("arguments of tool call %q are longer than %d bytes", name, r.Limits.Arguments)}
}
