// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package harness

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
)

// Request is a model request in whatever dialect it came, normalised.
type Request struct {
	Model       string    `json:"model"`
	Messages    []Message `json:"messages"` // system messages included, in order
	Tools       []Tool    `json:"tools,omitempty"`
	ToolChoice  string    `json:"tool_choice,omitempty"` // none, auto, required, or a tool's name
	Temperature *float64  `json:"temperature,omitempty"`
	MaxTokens   int       `json:"max_tokens,omitempty"`
	Stream      bool      `json:"stream,omitempty"`
}

// ExchangeKind says what an [Exchange] was to the script.
type ExchangeKind string

// The kinds of exchange.
const (
	KindReply   ExchangeKind = "reply"   // took a position in the conversation
	KindAside   ExchangeKind = "aside"   // outside the conversation; not a model call
	KindProbe   ExchangeKind = "probe"   // a client tried what the endpoint can do; not a model call
	KindRule    ExchangeKind = "rule"    // answered by a rule
	KindMiss    ExchangeKind = "miss"    // nothing scripted fits
	KindRefusal ExchangeKind = "refusal" // the provider would have refused it
	KindLive    ExchangeKind = "live"    // answered by a real endpoint
	KindScript  ExchangeKind = "script"  // the script itself failed (Error says how)
)

// Outside reports whether the exchange is no part of the conversation, and no
// model call.
func (k ExchangeKind) Outside() bool { return k == KindAside || k == KindProbe }

// Exchange is one model request with its answer, as the model side saw it.
type Exchange struct {
	Seq  int          `json:"seq"` // from 1, in order of arrival
	Kind ExchangeKind `json:"kind"`
	// Turn and Reply are the position in the script, or in the conversation
	// with a real endpoint, from 1; 0 where the exchange has none.
	Turn  int `json:"turn,omitempty"`
	Reply int `json:"reply,omitempty"`
	// Lane names the conversation beside the main one that it belongs to.
	Lane string `json:"lane,omitempty"`
	// Pos is where the reply is written, as far as that is known.
	Pos Position `json:"pos,omitzero"`
	// Attempt counts requests at the same position, from 1.
	Attempt int `json:"attempt,omitempty"`
	// Path is that of the request, without its query.
	Path string `json:"path,omitempty"`
	// Dialect is the API that is spoken there: chat, completions, responses,
	// messages or gemini; empty where no model answers.
	Dialect string `json:"dialect,omitempty"`
	// Headers are those of the request, their names in lower case. The value of
	// one that may be secret is left out.
	Headers map[string]string `json:"headers,omitempty"`
	Request Request           `json:"request"`
	// Body is the request as it came; shortened bodies are not valid JSON
	// and are left out.
	Body json.RawMessage `json:"body,omitempty"`
	// Answer is what was answered; zero for a miss or refusal.
	Answer       Message `json:"answer"`
	FinishReason string  `json:"finish_reason,omitempty"`
	Model        string  `json:"model,omitempty"` // as answered
	Usage        Usage   `json:"usage"`
	Status       int     `json:"status"` // HTTP status of the answer
	// Fault is the kind of the fault played on this attempt, if any.
	Fault string `json:"fault,omitempty"`
	// RetryAfter is what the answer asked the client to wait.
	RetryAfter time.Duration `json:"retry_after_ns,omitempty"`
	// Error is the text of a miss, a refusal, or a broken upstream, or says
	// that the request was held until its client went away.
	Error string `json:"error,omitempty"`
	// Unoffered is the tool, as the script names it, that the reply calls and
	// that is not among those that the client offers: Error is about it.
	Unoffered string `json:"unoffered,omitempty"`
	// Delivered says that the whole answer was written to the client.
	Delivered bool `json:"delivered"`
	// Stray says that the request went to a path or by a method where no model
	// answers: it is no model call.
	Stray bool `json:"stray,omitempty"`
	// Compacted says that the client had shortened its history.
	Compacted bool `json:"compacted,omitempty"`
	// Repeated says that the request was equal to one already answered in
	// full (conduct finding repeated_request).
	Repeated bool          `json:"repeated,omitempty"`
	Start    time.Time     `json:"start"`
	Duration time.Duration `json:"duration_ns"`
}

// ToolExchange is one tools/call as the tool side saw it.
type ToolExchange struct {
	Seq    int    `json:"seq"` // from 1, in order of arrival at this server
	Server string `json:"server"`
	Tool   string `json:"tool"` // the tool's own name on its server
	// Args are the arguments as they came; null when there were none.
	Args json.RawMessage `json:"args,omitempty"`
	// Result is the structured content, else the text parsed as JSON, else
	// the text as a JSON string; nil as long as the client was not told.
	Result json.RawMessage `json:"result,omitempty"`
	// Text is the text of the result, parts joined with a newline.
	Text string `json:"text,omitempty"`
	// Content is the result object as it was sent, whole.
	Content  json.RawMessage `json:"content,omitempty"`
	IsError  bool            `json:"is_error,omitempty"`
	RPCError *jsonrpc.Error  `json:"rpc_error,omitempty"`
	// Failed is IsError, or a protocol error, or what failed_when says, or that
	// the client was never told the result.
	Failed bool `json:"failed,omitempty"`
	// Miss says why a call fits no scripted result. It fails the trial.
	Miss string `json:"miss,omitempty"`
	// ScriptError is an error of the script itself, met while answering. It
	// names the tool.
	ScriptError string `json:"script_error,omitempty"`
	// ScriptPos is where the expression or the result stands that ScriptError is
	// about; zero when that is not known.
	ScriptPos Position `json:"script_pos,omitzero"`
	// Unsent says that the client was never told the result: it had given up, or
	// a fault kept the answer back.
	Unsent bool `json:"unsent,omitempty"`
	// Fault is the fault that struck this call, if any.
	Fault    string        `json:"fault,omitempty"`
	Start    time.Time     `json:"start"`
	Duration time.Duration `json:"duration_ns"`
}

// Call is one entry of the trajectory: a call that the model made, joined
// with its execution; or an execution that the model did not ask for.
type Call struct {
	Server string `json:"server"` // empty when the offered name fits no server
	Tool   string `json:"tool"`   // its name on that server
	// Offered is the name that the subject offered to the model.
	Offered string `json:"offered,omitempty"`
	// ID of the call, as the model gave it.
	ID string `json:"id,omitempty"`
	// Args are the arguments the model wrote; nil when they are not JSON, and
	// then ArgsText has them.
	Args json.RawMessage `json:"args,omitempty"`
	// ArgsText is what the model wrote as arguments where that is not JSON.
	ArgsText string `json:"args_text,omitempty"`
	// Result is the structured content, else the text parsed as JSON, else the
	// text as a JSON string; nil when the call was not executed, and null when
	// no result came.
	Result json.RawMessage `json:"result,omitempty"`
	// Failed says that the tool, its server or the way there reported an error,
	// or that the answer never came.
	Failed bool `json:"failed,omitempty"`
	// Executed says that the call reached a server.
	Executed bool `json:"executed"`
	// Unasked says that it was executed and no reply asks for it. Reply is then
	// the last one of the turn before it, 0 for none, after whose calls it stands.
	Unasked bool `json:"unasked,omitempty"`
	// Lane names the conversation beside the main one in which it was made.
	Lane  string `json:"lane,omitempty"`
	Turn  int    `json:"turn"`  // from 1
	Reply int    `json:"reply"` // the model call of the turn, from 1
	Index int    `json:"index"` // within the reply, from 0
	// Duration from the request of the client to the answer of the server.
	Duration time.Duration `json:"duration_ns,omitempty"`
	// Retried says that the call was executed more than once.
	Retried bool `json:"retried,omitempty"`
	// Exec is the number of the execution among those of its server, the Seq of
	// its [ToolExchange]; 0 when not executed.
	Exec int `json:"exec,omitempty"`
}

// Name returns server.tool, or the offered name when there is no server.
func (c Call) Name() string {
	if c.Server == "" {
		return c.Offered
	}
	return c.Server + "." + c.Tool
}

// Is reports whether the call is to a tool: server.tool, the name that was
// offered, or the tool's own name on its server.
func (c Call) Is(tool string) bool {
	return c.Name() == tool || c.Offered == tool || c.Tool == tool && !strings.Contains(tool, ".")
}

// Transcript is what the subject says it did, turn by turn.
type Transcript struct {
	Turns []TurnReport `json:"turns"`
}

// TurnReport is a subject's account of one turn.
type TurnReport struct {
	User       string         `json:"user"`
	Answer     string         `json:"answer"`
	Calls      []ReportedCall `json:"calls,omitempty"`
	ModelCalls int            `json:"model_calls"`
	Usage      Usage          `json:"usage"`
	// Stop is why the turn ended without an answer, where the subject can say.
	Stop  StopReason `json:"stop,omitempty"`
	Error string     `json:"error,omitempty"`
	Notes []string   `json:"notes,omitempty"` // warnings, leaked calls, withdrawn text
}

// ReportedCall is a tool call as the subject reports it.
type ReportedCall struct {
	ID        string        `json:"id,omitempty"`
	Server    string        `json:"server,omitempty"`
	Tool      string        `json:"tool"` // the offered name
	Arguments string        `json:"arguments,omitempty"`
	Result    string        `json:"result,omitempty"` // as sent to the model
	Error     string        `json:"error,omitempty"`
	Duration  time.Duration `json:"duration_ns,omitempty"`
}
