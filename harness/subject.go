// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"
)

// Mode says what stands on the model's side.
type Mode string

// The modes.
const (
	ModeMock   Mode = "mock"   // a scripted mock model
	ModeReplay Mode = "replay" // a cassette
	ModeRecord Mode = "record" // a real endpoint, recorded
	ModeLive   Mode = "live"   // a real endpoint
)

// Real reports whether a real endpoint answers.
func (m Mode) Real() bool { return m == ModeLive || m == ModeRecord }

// Alone reports whether nothing outside of this computer takes part on the
// model's side: waits can be skipped, and two trials are the same.
func (m Mode) Alone() bool { return m == ModeMock || m == ModeReplay }

// Subject is the client under test. One that is a [SubjectInfo] too says what it
// needs.
type Subject interface {
	// Open starts one conversation. It is called once per trial, perhaps
	// concurrently with other trials. env is the subject's to read until the
	// session is closed.
	Open(ctx context.Context, env *Env) (Session, error)
}

// SubjectInfo is what a [Subject] may say of itself.
type SubjectInfo interface {
	// Asks names the path of the endpoint that the subject uses when it is to
	// speak a dialect ([Endpoint]), such as /v1/messages for messages; dialect is
	// empty where it may choose. A scenario whose mock model has no such path, and
	// a model entry with a dialect that has another path, are then refused
	// beforehand. Trials of a scenario are skipped where the subject asks the same
	// path for every dialect, since it cannot do otherwise. Empty for a subject
	// that may use any.
	Asks(dialect string) string
	// NeedsWorkdir reports whether the subject looks at [Env.Workdir]. For one
	// that does not, none may be made, which makes short trials cheaper.
	NeedsWorkdir() bool
}

// Session is one conversation of a [Subject].
type Session interface {
	// Send gives the subject one user message and waits for its answer. The
	// report may be nil when the subject reports nothing. An error that is a
	// [*StopError] is a stop the subject chose, and so is one beside a report
	// with a Stop; any other error means that the subject broke. When ctx ends,
	// Send returns soon, and another Send may follow; [ErrInterrupted] is the cause
	// where the user wants the turn to end.
	Send(ctx context.Context, text string) (*TurnReport, error)
	// Close ends the conversation and waits until nothing of it is left.
	Close() error
}

// ErrInterrupted is the cause with which the context of a turn ends that the user
// interrupts.
var ErrInterrupted = errors.New("the user interrupted the turn")

// SubjectFunc lets a function be a [Subject].
type SubjectFunc func(ctx context.Context, env *Env) (Session, error)

// Open calls f.
func (f SubjectFunc) Open(ctx context.Context, env *Env) (Session, error) { return f(ctx, env) }

// Env is what a subject is given for one trial.
type Env struct {
	Mode     Mode
	Endpoint Endpoint
	Settings Settings
	Servers  []Server
	// ConfigFile is the path of an mcp.json that names the same servers, when
	// the scenario asks for one. Empty otherwise.
	ConfigFile string
	// Grants are the servers that each agent may use, by the agent's name, where
	// the scenario says so; an agent that is not in it may use none. Nil means that
	// everyone may use all. ConfigFile has the same as agent_permissions.
	Grants map[string][]string
	// Turns is how many turns the scenario has; 0 where that is not known.
	Turns int
	// Interrupts says that the user interrupts a turn, see [ErrInterrupted].
	Interrupts bool
	// Approve is asked before each tool call whether it may run: with the name that
	// is offered, and the arguments as they are to be sent. An error means no, and
	// says why. It answers when somebody has decided, or when ctx ends. Nil means
	// that every call may run.
	Approve func(ctx context.Context, call ToolCall) error
	// Workdir is the trial's own empty folder; see [SubjectInfo].
	Workdir string
	// Seed is the trial's seed; zero is a seed like any other.
	Seed int64
	// Clock is what the subject should wait by. Nil means [SystemClock].
	Clock Clock
	// Logf takes a line for the log of the trial. Nil drops it.
	Logf func(format string, args ...any)
}

// Endpoint is where the model answers.
type Endpoint struct {
	BaseURL string // on loopback, ends in /v1
	APIKey  string // a placeholder; real keys stay with the runner
	Model   string // the model's name to ask for
	// Dialect is the API to speak, where the model entry says: chat, responses,
	// messages or gemini. Empty leaves it to the subject.
	Dialect string
	// Transport carries requests to BaseURL without a socket, which is
	// quicker; a subject need not use it. Nil means that there is no such
	// shortcut: use [http.DefaultTransport].
	Transport http.RoundTripper
}

// Settings are the scenario's settings for the subject and its requests, with
// those of the model entry over them.
type Settings struct {
	System      string
	Temperature *float64 // nil leaves it to the provider; zero is sent
	TopP        *float64
	MaxTokens   int // tokens of one reply; 0 leaves it to the provider
	// Seed is to be sent where the dialect has one: seed of chat completions,
	// generationConfig.seed of Gemini. Nil sends none.
	Seed *int64
	// Reasoning is the effort to ask for, as reasoning_effort of chat
	// completions. Empty asks for none in particular.
	Reasoning string
	Stream    bool
	// MaxModelCalls is the subject's own limit of model calls per turn.
	// 0 means the subject's default.
	MaxModelCalls int
	// TokenLimit bounds the tokens of a whole conversation, as a stop of the
	// subject's own. 0 means none.
	TokenLimit int
	// TimeLimit for one turn, as a stop of the subject's own. 0 means none.
	TimeLimit time.Duration
	// Extra holds the subject settings of the scenario that have no field
	// here, by name. A subject that does not know one returns an error from
	// Open.
	Extra map[string]any
}

// Server says how a subject reaches one MCP server: by URL, by Dial, or by
// starting Command. What is set leads to the same server:
//
//   - a mock server has URL and Dial, and a subject takes what its MCP client
//     can do; where the scenario says transport: http it has URL alone, where
//     it says stdio Dial alone
//   - a real server that the scenario gives by url has URL
//   - a real server that the scenario gives by command has Dial, a pipe to the
//     process that the runner starts
//   - where the scenario has an mcp_config, or the runner says that the subject
//     is another process, servers have URL
//
// Command is for those who make a Server themselves. harness/mcppool opens any
// Server.
type Server struct {
	Name string
	// URL with Transport "http" (streamable HTTP, the default), "sse" (the
	// HTTP+SSE of 2024-11-05) or "ws" (WebSocket, the default of ws://).
	URL       string
	Transport string
	Headers   map[string]string
	// DialContext opens the connections to URL. Nil means those of [net.Dialer]; a
	// subject need not use it. By one of the runner's, the [Clock] knows what of
	// the server's words the subject has yet to read.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
	// Command is a program with its arguments; Env adds to the environment,
	// as KEY=value.
	Command []string
	Env     []string
	// Dir is the working directory of Command. Empty means that of this process.
	Dir string
	// Dial opens a pipe that carries newline-delimited JSON-RPC, as stdio
	// does, to a server in this process. Each call is a new session.
	Dial func(ctx context.Context) (io.ReadWriteCloser, error)
	// Optional says that the subject may begin without the server when it cannot
	// be reached. The scenario says so by `required: false`.
	Optional bool
}

// StopReason says why a subject ended a turn without an answer.
type StopReason string

// The stops that a subject chooses (`stops:`).
const (
	StopModelCalls      StopReason = "model_calls"
	StopTime            StopReason = "time"
	StopTokens          StopReason = "tokens"
	StopContextOverflow StopReason = "context_overflow"
	StopEmptyReply      StopReason = "empty_reply"
	StopContentFilter   StopReason = "content_filter"
	StopRefusal         StopReason = "refusal"
	StopLength          StopReason = "length"
	StopRepeatedCall    StopReason = "repeated_call"
)

// StopInterrupted is the stop of a turn that the user interrupts, or whose subject
// is killed. The runner reports it.
const StopInterrupted StopReason = "interrupted"

// The stops that an endpoint brings about: the subject gave up since it got
// no answer that it could use, after as many attempts as it makes.
const (
	StopAuth       StopReason = "auth"        // the key is missing, wrong or not allowed
	StopNotFound   StopReason = "not_found"   // no such model or path
	StopBadRequest StopReason = "bad_request" // the endpoint will not take the request
	StopRateLimit  StopReason = "rate_limit"  // too many requests
	StopQuota      StopReason = "quota"       // the account is empty
	StopServer     StopReason = "server"      // the endpoint broke, or says so
	StopConnection StopReason = "connection"  // no reply at all
	StopTimeout    StopReason = "timeout"     // silence for too long
	StopReset      StopReason = "reset"       // the connection broke inside the reply
	StopCutStream  StopReason = "cut_stream"  // the reply ended in order, but before its end
	StopMalformed  StopReason = "malformed"   // the reply is not what the protocol says
	StopEmpty      StopReason = "empty"       // a reply in good order in which there is none
	StopTooLarge   StopReason = "too_large"   // the reply is longer than the subject reads
	// StopCircuitOpen: the subject did not ask, since the endpoint had failed again
	// and again.
	StopCircuitOpen StopReason = "circuit_open"
	// StopAnyError is any error, whatever is said of its reason. A scenario can
	// expect it; a subject does not report it.
	StopAnyError StopReason = "error"
)

// StopReasons lists every [StopReason], in the order of the documentation.
func StopReasons() []StopReason {
	return append([]StopReason{
		StopModelCalls, StopTime, StopTokens, StopContextOverflow, StopEmptyReply,
		StopContentFilter, StopRefusal, StopLength, StopRepeatedCall, StopInterrupted,
	}, append(endpointStops(), StopAnyError)...)
}

func endpointStops() []StopReason {
	return []StopReason{
		StopAuth, StopNotFound, StopBadRequest, StopRateLimit, StopQuota, StopServer, StopConnection,
		StopTimeout, StopReset, StopCutStream, StopMalformed, StopEmpty, StopTooLarge, StopCircuitOpen,
	}
}

// OfEndpoint reports whether it is the endpoint that brings the stop about.
// Such a turn may have ended in the middle of a reply.
func (r StopReason) OfEndpoint() bool { return slices.Contains(endpointStops(), r) }

// StopError is a stop that the subject chose. It carries the reason for
// expectations and reports.
type StopError struct {
	Reason StopReason
	// Detail says what was met, for a person: "10 model calls without an answer".
	Detail string
	// Err is the cause, where there is one.
	Err error
}

func (e *StopError) Error() string {
	s := fmt.Sprintf("stopped (%s)", e.Reason)
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *StopError) Unwrap() error { return e.Err }

// EndpointError marks an error that is the endpoint's fault and not the
// subject's: it was unreachable, or answered with an error after all
// retries. In live mode such a trial is an error, not a failure.
type EndpointError struct {
	// Status is the HTTP status, 0 when there was no reply.
	Status int
	// Err is what was wrong; nil where the status says it.
	Err error
}

func (e *EndpointError) Error() string {
	switch {
	case e.Err != nil:
		return e.Err.Error()
	case e.Status == 0:
		return "the endpoint was not reached"
	}
	return fmt.Sprintf("the endpoint answered with status %d", e.Status)
}

func (e *EndpointError) Unwrap() error { return e.Err }

var (
	// ErrUnable is in the error of a subject that cannot do what a scenario asks of
	// it: the trial is skipped, and the text of the error is the reason.
	// [Subject.Open] and [Session.Send] may return one.
	ErrUnable = errors.New("the subject cannot play this")
	// ErrUnavailable is in the error of a subject whose program cannot be started,
	// or whose server does not answer: the trial is an error, not a failure.
	ErrUnavailable = errors.New("there is no subject")
	// ErrMiss is in the error of a transport that has no answer to a request, such
	// as a cassette. It will have none next time, so that clients do not repeat.
	ErrMiss = errors.New("nothing scripted or recorded fits")
	// ErrGaveUp is in the error of a subject that was started and ended by itself
	// before it could be asked anything. It is an [ErrUnavailable], but for a
	// scenario that expects an error at the start.
	ErrGaveUp = fmt.Errorf("%w: it gave up at its start", ErrUnavailable)
)
