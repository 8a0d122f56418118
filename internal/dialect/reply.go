// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
)

// signatureMark begins the signatures made here.
const signatureMark = "rehearse/1:"

// Signature is what a reply carries with a thought, or a call after one, and
// wants back unchanged. It is made from the text alone.
func Signature(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(append([]byte(signatureMark), sum[:]...))
}

// Signed reports whether a signature may stand beside text. One that was not
// made here may: a conversation can have begun elsewhere.
func Signed(text, signature string) bool {
	raw, ok := SignatureBytes(signature)
	if !ok {
		return false
	}
	if !strings.HasPrefix(string(raw), signatureMark) {
		return true
	}
	return base64.StdEncoding.EncodeToString(raw) == Signature(text)
}

// SignatureBytes decodes a signature, in either alphabet: some clients change
// it on the way.
func SignatureBytes(s string) ([]byte, bool) {
	s = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(s), "=")
	raw, err := base64.RawStdEncoding.DecodeString(s)
	return raw, err == nil && len(raw) > 0
}

// Reply is one reply of a model. A renderer does not change it.
type Reply struct {
	// ID is the id of the reply, made in the way of the dialect and style.
	ID      string
	Created int64
	Model   string // as it is to be echoed
	// Choices are usually one; more when the client asks for n.
	Choices []Choice
	Usage   harness.Usage
	// IncludeUsage says that the client asked for the usage in a stream.
	IncludeUsage bool
	// Fingerprint is system_fingerprint.
	Fingerprint string
	// Seed is what a renderer's own random choices derive from: further ids,
	// fragments.
	Seed uint64
	// Cut has texts that were cut before; nil has none.
	Cut Cutter
	// Request is a JSON object with settings of the request that the dialect
	// echoes (responses does); nil when there are none.
	Request json.RawMessage
}

// Clone copies a reply with its choices and their calls.
func (r *Reply) Clone() *Reply {
	out := *r
	out.Choices = slices.Clone(r.Choices)
	for i := range out.Choices {
		out.Choices[i].Calls = slices.Clone(out.Choices[i].Calls)
	}
	return &out
}

// Cutter has texts of a script, which many replies say.
type Cutter interface {
	// WordsOf returns what [Words] returns of a text; nil where it is not known.
	WordsOf(s string) []string
}

// Choice is one of the answers of a reply.
type Choice struct {
	Text      string
	Reasoning string
	Refusal   string
	Calls     []Call
	// Finish is the reason in OpenAI's words: stop, tool_calls, length,
	// content_filter. Renderers translate it.
	Finish string
	// Logprobs is the value of logprobs; nil is null.
	Logprobs json.RawMessage
	// Signature is what the provider wants back with the reasoning, if
	// anything.
	Signature string
	// Stopped is the stop text of the request that ended the text, if one
	// did.
	Stopped string
}

// Call is one tool call.
type Call struct {
	ID, Name string
	// Arguments is a text, usually a JSON object.
	Arguments string
	// Signature is what the provider wants back with the call, if anything.
	Signature string
	// Extra are further members of the call as a JSON object.
	Extra json.RawMessage
}

// Kind says what a frame tells.
type Kind int

// The kinds of frame.
const (
	KindOther Kind = iota
	KindPreamble
	KindRole
	KindText
	KindReasoning
	KindRefusal
	KindCallStart
	KindCallArgs
	KindFinish
	KindUsage
	KindDone
	KindFault // put there by a fault
)

// Then is what follows a frame.
type Then int

// What may follow a frame.
const (
	ThenNext  Then = iota // the next frame; after the last one, the proper end
	ThenHang              // nothing, until the client goes away or the mock closes
	ThenEnd               // the proper end of the body, at once
	ThenCut               // the connection is closed without the end of the body
	ThenReset             // the connection is reset
)

// Frame is a part of a body that is sent at one time: an event of a stream as
// a rule.
type Frame struct {
	// Data are the exact bytes, the blank line included.
	Data []byte
	Kind Kind
	// Choice and Call say whose it is; Call counts from 0 within the choice.
	Choice, Call int
	// Tokens is how many tokens were made for it: the writer waits so long
	// before it.
	Tokens int
	// Delay is waited before it beside that.
	Delay time.Duration
	// Raw writes Data to the connection as they are, outside of the framing
	// of the body (within a chunked body: not in a chunk).
	Raw bool
	// Flush sends it on its own even where events are joined.
	Flush bool
	Then  Then
}

// The headers of bodies. They are shared: who changes one makes a copy.
var (
	JSONHeader   = http.Header{"Content-Type": {"application/json"}}
	StreamHeader = http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}, "Cache-Control": {"no-cache"}}
)

// Body is an answer ready to be sent.
type Body struct {
	Status int
	// Header has what the dialect and the faults say; the writer adds to it.
	Header http.Header
	// Frames are the parts of the body: the events of a stream; a single
	// frame when not streamed.
	Frames []Frame
	// Stream says that the length is not to be told.
	Stream bool
	// HeadDelay is waited before anything is sent, beside the time to the
	// first token.
	HeadDelay time.Duration
	// Part says that the frames lack something of the reply: it does not
	// count as delivered.
	Part bool
	// EarlyHead sends the head at once, before the time to the first token.
	// Else it goes out with the first frame.
	EarlyHead bool
	// RawHead sends status and Header exactly as they are, wrong as they may
	// be (a content length that does not fit, say), past net/http.
	RawHead bool
	// Writes, above 0, cuts what goes to the network into pieces of 1 to so
	// many bytes.
	Writes int
}

// Buffers are what a body may be written into, and used for another one when
// that was sent. The zero Buffers are empty.
type Buffers struct {
	Body   Body
	Bytes  []byte
	Frames []Frame
}

// KeysOf returns the members of an object: what the style says, else usual.
func KeysOf(s *Style, object string, usual Keys) Keys {
	if k, ok := s.Keys[object]; ok {
		return k
	}
	return usual
}

// IsObject reports whether arguments are a JSON object, or none at all.
func IsObject(arguments string) bool {
	raw := bytes.TrimSpace([]byte(arguments))
	return len(raw) == 0 || raw[0] == '{' && json.Valid(raw)
}

// InputObject is the arguments as an object. What a model wrote that is none is
// kept under a name of its own, as gateways do.
func InputObject(arguments string) []byte {
	raw := bytes.TrimSpace([]byte(arguments))
	switch {
	case len(raw) == 0:
		return []byte("{}")
	case json.Valid(raw) && raw[0] == '{':
		var b bytes.Buffer
		_ = json.Compact(&b, raw) // it is valid
		return b.Bytes()
	}
	return append(append([]byte(`{"raw_arguments":`), Quote(arguments)...), '}')
}

// ChoiceOf is what a message of the model says, in the words of the wire.
func ChoiceOf(m harness.Message) Choice {
	c := Choice{Text: m.Text, Reasoning: m.Reasoning, Refusal: m.Refusal}
	if m.Reasoning != "" {
		c.Signature = Signature(m.Reasoning)
	}
	for _, call := range m.Calls {
		c.Calls = append(c.Calls, Call{ID: call.ID, Name: call.Name, Arguments: call.Arguments})
	}
	return c
}

// MessageOf is the message that a choice amounts to.
func MessageOf(c Choice) harness.Message {
	m := harness.Message{Role: harness.RoleAssistant, Text: c.Text, Reasoning: c.Reasoning, Refusal: c.Refusal}
	for _, call := range c.Calls {
		m.Calls = append(m.Calls, harness.ToolCall{ID: call.ID, Name: call.Name, Arguments: call.Arguments})
	}
	return m
}
