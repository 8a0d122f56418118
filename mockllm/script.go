// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"encoding/json"
	"regexp"
	"sync/atomic"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

// Script is what a mock says. The zero Script answers nothing.
type Script struct {
	// Profile names the wire habits of the endpoint; docs/profiles.md lists them,
	// and so does the error of an unknown one. Empty means openai. A profile that
	// stands before the models, as argo-proxy does, shows some faults in its own
	// way, as things that go wrong behind it: errors by status, Reset, Cut,
	// InStreamError and MissingDone.
	Profile string
	// Turns are the conversation. Set Turns or Replies, not both.
	Turns []Turn
	// Replies are a conversation whose user texts do not matter: any request
	// fits until they are used up.
	Replies []Reply
	// Asides are tried first, in order. They stand outside the conversation:
	// title requests, probes.
	Asides []Rule
	// Rules are tried, in order, for a request that fits no position.
	Rules []Rule
	// Lanes are further conversations under the same base URL, tried in order
	// for a request that is no aside.
	Lanes []Lane
	// Names maps server.tool to the name that the client offers it under,
	// for clients with a style of their own.
	Names map[string]string
	// Servers are the tools of the scenario's servers, by server name. They
	// tell which offered tool is meant by server.tool; with servers, a
	// request that offers no tools takes no position before the first call.
	Servers map[string][]harness.Tool
	// Arrival makes the replies a plain queue in the order of requests.
	Arrival bool
	// Fragments cut the replies that are streamed and have none of their own.
	// Nil cuts them as the profile does.
	Fragments *Fragments
	// Habits are odd ways to spell the replies that have none of their own. Nil
	// is the profile's.
	Habits *Habits
	// ContextWindow is how many tokens a request may have, those of its
	// max_tokens included where the provider counts them. A longer one is
	// refused in the words of its dialect and takes no position; the same
	// request again counts as a mistake of the client. 0 means no limit.
	ContextWindow int
	// Echo names fields of the model's chat messages that must come back in
	// the history as they were sent: reasoning_content, reasoning_details,
	// extra_content. The latter two are sent, then, with every reply that has
	// something to put there. Some profiles want the first for calls.
	Echo []string
	// Models are the ids that the endpoint knows; a request for another is
	// refused. Empty means that every model is known, and that rehearse-mock
	// is listed.
	Models []string
	// Faults may strike any request but those of asides. A fault of the reply
	// itself comes first.
	Faults []Fault
	// Results fills in Result and Failed of the calls issued so far, in
	// script order, from the tool side. Nil reads the request's messages.
	Results func(issued []harness.Call) ([]harness.Call, error)
	// Seed goes into what Chance draws, beside the seed of [Options]. Zero is a
	// seed like any other.
	Seed int64
}

// Turn is one user message with the replies that follow it.
type Turn struct {
	// User is the text of the user message: of all of it, or of one of its
	// parts. Empty fits any.
	User string
	// Contains are texts that the message has, for a client that writes more
	// around what the user says; User is empty then.
	Contains []string
	// Pattern is found in the message. Nil is no pattern.
	Pattern *regexp.Regexp
	Replies []Reply
	Pos     harness.Position
}

// Reply is what the model says to one request.
type Reply struct {
	Say   string
	Calls []Call
	// Reasoning is sent as reasoning_content.
	Reasoning string
	// Refusal is sent as the message's refusal.
	Refusal string
	// Finish is the finish_reason. Empty means tool_calls when there are
	// calls, else stop.
	Finish string
	// Logprobs is sent as logprobs to a request that asks for them. Empty is
	// null.
	Logprobs json.RawMessage
	// Choices are the texts of the second and further choices, for a request
	// that asks for several. Where there are none, the reply is repeated.
	Choices []string
	// Func computes the reply: what it returns stands for Say, Calls,
	// Reasoning, Refusal and Finish. It runs once for each position; nil
	// leaves the fields as they are.
	Func func(*Ask) (Reply, error)
	// NoCalls says that what Func returns calls no tools, so that faults of
	// calls pass the reply by.
	NoCalls bool
	// Fragments cut the reply when it is streamed. Nil leaves it to the
	// script's.
	Fragments *Fragments
	// Habits are odd ways to spell the reply. Nil leaves it to the script's.
	Habits *Habits
	// Faults are played, one after the other, before the reply is given as
	// scripted. Where Fault.At names a request, a turn or a reply, all of it
	// must fit.
	Faults []Fault
	// Hold names a cue: the reply is not given before [Mock.Cue] gives it.
	// A fault in place of the reply is not held.
	Hold string
	// Repeat gives the reply n times at the most, each a position of its own. 0
	// means 1. It was asked for when it was asked for once.
	Repeat int
	// Pos is where the reply is written, for messages.
	Pos harness.Position
}

// Call is one tool call of a reply.
type Call struct {
	// Tool is server.tool, or an offered name when there is no dot. A client
	// that offers tools, and none of that name, is a miss.
	Tool string
	// Unoffered calls Tool as it is spelled, offered or not, as a model does
	// that makes up a tool.
	Unoffered bool
	// Args are the arguments. A json.RawMessage is sent as spelled, whatever
	// it holds; nil means {}; anything else is encoded as JSON.
	Args any
}

// Ask is a request, as a [Rule] or a reply's Func sees it.
type Ask struct {
	Request harness.Request
	// User is the text of the turn's user message: the script's, or the
	// request's last when the script lacks a part.
	User string
	// Turn and Reply are the position, from 1; 0 for asides and rules, whose
	// Turn is the one being played, if that is known.
	Turn, Reply int
	// Calls are the calls issued so far, in script order over all turns.
	Calls []harness.Call
	// readings are those of the results of Calls; nil where the tool side told.
	readings [][]reading
}

// Rule is a reply for the requests that it applies to.
type Rule struct {
	// When reports whether the rule applies. Nil means always.
	When func(*Ask) (bool, error)
	// Chance is the probability, from 0 to 1, with which it applies to a request
	// that When holds for. 0 means 1. What is drawn follows from the seeds of
	// [Script] and [Options], the rule's place among asides and rules, and the request's
	// model, seed (seed of chat completions, generationConfig.seed of Gemini) and
	// messages, without the ids of calls. So a request that is repeated meets the
	// same rule, whatever was asked before it.
	//
	// Times and Every of its reply's faults count for each such request by
	// itself.
	Chance float64
	Reply  Reply
	Pos    harness.Position
}

// Fault is a misbehaviour. Package fault has the catalogue.
type Fault = fault.Fault

// RateLimit is the most frequent kind of fault.
const RateLimit = fault.RateLimit

// Options are the settings of a [Mock]. Nil means the defaults.
type Options struct {
	// Clock is what pacing waits by and journals tell the time by. Nil means
	// [harness.SystemClock].
	Clock harness.Clock
	// Seed goes into ids, times and jitter. Zero is a seed like any other.
	Seed int64
	// TimeToFirstToken is waited before the first byte of a reply. Zero
	// means no wait.
	TimeToFirstToken time.Duration
	// TokensPerSecond paces the pieces of a reply; a reply that is not
	// streamed waits as long as its pieces would take. Zero means no wait.
	TokensPerSecond float64
	// Jitter makes each wait longer or shorter by a share of at most this
	// much, from 0 to 1. Zero means none.
	Jitter float64
	// FlushEvents sends every event of a stream in a write of its own. False
	// joins the events that are due at the same time, which is much cheaper.
	FlushEvents bool
	// JournalEntries bounds the exchanges in the journal; the oldest go first,
	// and the numbers of the others tell that they did. 0 means 1,000: what is
	// kept costs time at every collection of garbage.
	JournalEntries int
	// JournalBytes bounds the memory of the journal; the oldest exchanges go
	// first. 0 means 32 MiB.
	JournalBytes int
	// MaxBodyBytes bounds one request; a larger one is answered 413. 0 means
	// 64 MiB.
	MaxBodyBytes int
	// UpgradeStatus is answered to a client that tries a WebSocket on
	// /v1/responses. 0 means 426.
	UpgradeStatus int
	// Memory is shared by the mocks of conversations that are likely to begin
	// alike, as trials of one scenario do. Nil shares nothing.
	Memory *Memory
	// Observe is told of each exchange when it has entered the journal; fault
	// is empty where none was played. Nil tells nobody.
	Observe func(kind harness.ExchangeKind, fault string)
	// Logf takes a line for each miss, refusal and script error. Nil drops it.
	Logf func(format string, args ...any)
}

// Memory holds the request that was read last: one that begins like it is
// cheaper to read, and its tokens are counted already. The zero Memory is
// ready for use, by several mocks at once.
type Memory struct{ last atomic.Pointer[dialect.Chat] }
