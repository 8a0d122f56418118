// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package conduct judges how a client behaves, whatever the scenario expects:
// whether each tool call of the model is answered once, in order, with its own
// result, and so on. The checks read the two sides of the journal and what
// the subject reports.
//
//	verdicts := conduct.Check(conduct.Config{}, &conduct.Input{Exchanges: ..., Tools: ...})
//
// The checks, in the order of their verdicts; each can be switched off:
//
//	answered_once         every call of the model is executed and answered once, under its own id, and nothing else is executed; in a turn of one model call, none is
//	result_order          results go back in the order of the calls
//	results               the text of a result reaches the model whole: as it is, or wrapped; `capped` also allows its beginning, at least 64 bytes (half of a result below 128)
//	tools_offered         the tools that the servers list are offered to the model, with their descriptions and the same parameters: as another type is a failure; without type, enum, description or being required, a warning
//	model_asked           every request asks for the model that the subject was given
//	user_sent             what the user says in a turn is in a request of that turn: as a message, or within one (a warning where only its beginning is, where it comes twice, and where the client adds messages of the user)
//	history_grows         each request holds the messages of the one before it, and the reply to that as the model gave it
//	stable_prefix         tools and system prompt are the same from request to request (a warning)
//	witnesses_agree       what the subject reports is what the mocks saw (a warning where its answer is some part of the model's, or what arrived of a reply that broke off); the server got the arguments that the model wrote
//	no_call_after_answer  no tool is called once the model has answered in text
//	provider_accepts      no request is one that the provider would refuse
//	limits                the limits of the scenario are kept
//	grants                no tool of a server that the agent may not use is offered or called (a warning where the model asked for one and was refused)
//	approved              with approvals, what is executed is what was approved, in tool and arguments, and once
//	all_replies_reached   every scripted reply was asked for
//	repeated_request      no request is sent again that was answered in full
//	faults_struck         every fault of the model's side struck a request (a warning)
//
// Further checks judge how the client speaks MCP. They read the frames that
// mock servers saw, and apply only when the situation arises:
//
//	initialize_first      a session begins with initialize, and nothing comes before its answer and notifications/initialized
//	version_headers       over HTTP, requests have the headers of the version: accept, mcp-protocol-version, mcp-method, mcp-name
//	cancelled_sent        when the client gives up on a request, it sends notifications/cancelled
//	session_renewed       when the server answers 404 for a session, the client opens a new one by initialize without a session id
//	sessions_ended        in one turn, a client that opens another session with a server over HTTP ends the one before, by DELETE
//	tools_relisted        after notifications/tools/list_changed the tools are listed again before the next model request
//	lists_bounded         the client stops listing at some point, even if each list announces a change
//	progress_token        a call of a tool that reports progress has a progressToken
//	no_double_effect      a call of the model is not sent twice, unless the tool says idempotentHint or readOnlyHint, or it was refused before it ran
//	unknown_tolerated     an unknown notification does no harm
//	server_answered       every request of the server is answered: a ping with a result, any other with a result or an error
//	children_ended        a server that the client started as a process ends with the client
//
// In the modes live and record a finding is a warning, since no script says
// what should have happened; only limits, grants and approved fail.
package conduct

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/toolname"
	"github.com/rehearse-dev/rehearse/internal/trajectory"
)

// The names of the checks.
const (
	AnsweredOnce      = "answered_once"
	ResultOrder       = "result_order"
	Results           = "results"
	ToolsOffered      = "tools_offered"
	ModelAsked        = "model_asked"
	UserSent          = "user_sent"
	HistoryGrows      = "history_grows"
	StablePrefix      = "stable_prefix"
	WitnessesAgree    = "witnesses_agree"
	NoCallAfterAnswer = "no_call_after_answer"
	ProviderAccepts   = "provider_accepts"
	Limits            = "limits"
	Grants            = "grants"
	Approved          = "approved"
	AllRepliesReached = "all_replies_reached"
	RepeatedRequest   = "repeated_request"
	FaultsStruck      = "faults_struck"

	InitializeFirst  = "initialize_first"
	VersionHeaders   = "version_headers"
	CancelledSent    = "cancelled_sent"
	SessionRenewed   = "session_renewed"
	SessionsEnded    = "sessions_ended"
	ToolsRelisted    = "tools_relisted"
	ListsBounded     = "lists_bounded"
	ProgressToken    = "progress_token"
	NoDoubleEffect   = "no_double_effect"
	UnknownTolerated = "unknown_tolerated"
	ServerAnswered   = "server_answered"
	ChildrenEnded    = "children_ended"
)

// Names returns the names of the checks, in order.
func Names() []string {
	return []string{
		AnsweredOnce, ResultOrder, Results, ToolsOffered, ModelAsked, UserSent, HistoryGrows, StablePrefix, WitnessesAgree,
		NoCallAfterAnswer, ProviderAccepts, Limits, Grants, Approved, AllRepliesReached, RepeatedRequest, FaultsStruck,
		InitializeFirst, VersionHeaders, CancelledSent, SessionRenewed, SessionsEnded, ToolsRelisted, ListsBounded, ProgressToken,
		NoDoubleEffect, UnknownTolerated, ServerAnswered, ChildrenEnded,
	}
}

// Config are the settings of the checks. The zero Config has all of them on.
type Config struct {
	// Off are the checks that are switched off, by name.
	Off map[string]bool
	// Capped lets a subject shorten results, as long as their beginning reaches
	// the model: at least 64 bytes, or half of a result with fewer than 128.
	// Default: that is a change.
	Capped bool
	// Compaction says whether the subject may shorten its history.
	Compaction Compaction
}

// Compaction says how a shortened history is judged.
type Compaction string

// The rules of compaction.
const (
	CompactionForbidden Compaction = "" // a finding of history_grows
	CompactionAllowed   Compaction = "allowed"
	CompactionRequired  Compaction = "required" // its absence is one
)

// Configure reads the `conduct:` settings of a scenario: a check's name with
// on or off, `results: capped`, and `compaction: allowed | required`.
func Configure(settings map[string]string) (Config, error) {
	c := Config{Off: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		set := settings[name]
		switch {
		case name == "compaction" && (set == string(CompactionAllowed) || set == string(CompactionRequired)):
			c.Compaction = Compaction(set)
		case name == "compaction":
			return c, fmt.Errorf("conduct setting %q: want allowed or required, got %q", name, set)
		case !slices.Contains(Names(), name):
			return c, fmt.Errorf("unknown conduct check %q: want one of %s, or compaction", name, strings.Join(Names(), ", "))
		case name == Results && set == "capped":
			c.Capped = true
		case set == "off":
			c.Off[name] = true
		case set != "on":
			return c, fmt.Errorf("conduct check %q: want on or off, got %q", name, set)
		}
	}
	return c, nil
}

// Input is what the checks read.
type Input struct {
	Mode       harness.Mode
	Exchanges  []harness.Exchange
	Tools      []harness.ToolExchange
	Trajectory []harness.Call
	// Transcript is nil when the subject reports nothing.
	Transcript *harness.Transcript
	// Users are the texts of the user, by turn.
	Users []string
	// Model is the model that the subject was given to ask for. Empty: any.
	Model string
	// Listed are the tools that the servers list, by server.
	Listed map[string][]harness.Tool
	// Grants are the servers that each agent may use, and As is the agent. nil
	// means that everyone may use all.
	Grants map[string][]string
	As     string
	// Approvals are the calls that the subject asked about, in order; nil where
	// the scenario has no approvals.
	Approvals []Approval
	// Optional are the servers that may be missing when the conversation begins.
	Optional map[string]bool
	// Names are the scenario's own offered names, by server.tool.
	Names map[string]string
	// Single are the turns that end with one model call, whose tools are not
	// run, from 1.
	Single []int
	// Interrupted are the turns that the user interrupted, or in which the subject
	// was killed, and Killed the latter, from 1.
	Interrupted, Killed []int
	// Remaining are the scripted replies that were never asked for, and that
	// nothing excuses.
	Remaining []Unreached
	// Idle says which faults struck no request, and why.
	Idle []IdleFault
	// Limits says which limits were exceeded, and by how much.
	Limits []string
	// Frames are what the mock servers saw on the wire, in order. Empty: the
	// checks of the wire do not apply.
	Frames []jsonrpc.Frame
	// Progress has the tools that report progress, and Repeatable those that
	// their annotations allow to be called twice, as server.tool.
	Progress, Repeatable map[string]bool
	// Children are the servers that the client had to start as processes.
	Children []Child
}

// Child is a server that a client started as a process.
type Child struct {
	Server string
	PID    int
	// Ended says that it was gone when the client had closed.
	Ended bool
}

// IdleFault is a scripted fault that struck no request.
type IdleFault struct {
	Fault string // its name
	Why   string
	Pos   harness.Position
}

// Unreached is a scripted reply that was never asked for, or a recorded one.
type Unreached struct {
	Name string // of a recorded one
	Lane string // empty for the main conversation
	Turn int    // of the lane
	Pos  harness.Position
}

// Check runs all checks and returns a verdict for each, in order.
func Check(config Config, in *Input) []trials.Verdict {
	in = in.asked()
	lanes := byLane(config, in)
	c := newChecker(config, in).listen()
	c.all = in.Trajectory
	checks := map[string]func() finding{
		AnsweredOnce:      lanes.answeredOnce,
		ResultOrder:       lanes.all((*checker).resultOrder),
		Results:           lanes.all((*checker).results),
		ToolsOffered:      lanes[0].toolsOffered,
		ModelAsked:        lanes[0].modelAsked,
		UserSent:          lanes[0].userSent,
		HistoryGrows:      lanes.all((*checker).historyGrows),
		StablePrefix:      lanes.all((*checker).stablePrefix),
		WitnessesAgree:    lanes.witnessesAgree,
		NoCallAfterAnswer: lanes.noCallAfterAnswer,
		ProviderAccepts:   c.providerAccepts,
		Limits:            func() finding { return finding{problems: in.Limits} },
		Grants:            c.grants,
		Approved:          c.approved,
		AllRepliesReached: c.allRepliesReached,
		RepeatedRequest:   c.repeatedRequest,
		FaultsStruck:      c.faultsStruck,

		InitializeFirst:  c.wireCheck("no client with initialize connected", c.initializeFirst),
		VersionHeaders:   c.wireCheck("no server was reached over streamable HTTP", c.versionHeaders),
		CancelledSent:    c.wireCheck("the client did not give up on any request", c.cancelledSent),
		SessionRenewed:   c.wireCheck("no session was lost", c.sessionRenewed),
		SessionsEnded:    c.wireCheck("no client opened several sessions with a server in one turn", c.sessionsEnded),
		ToolsRelisted:    c.wireCheck("no client was notified of changed tools in time to act on it", c.toolsRelisted),
		ListsBounded:     c.wireCheck("no tools were listed", c.listsBounded),
		ProgressToken:    c.wireCheck("no tool that reports progress was called", c.progressToken),
		NoDoubleEffect:   c.wireCheck("no tool was called that must not be called twice", c.noDoubleEffect),
		UnknownTolerated: c.wireCheck("no server sent an unknown notification", c.unknownTolerated),
		ServerAnswered:   c.wireCheck("no server sent a request to the client", c.serverAnswered),
		ChildrenEnded:    c.childrenEnded,
	}
	if len(lanes) > 1 {
		for _, name := range []string{CancelledSent, ToolsRelisted, SessionRenewed} { // which conversation went on is not known
			checks[name] = func() finding { return skip("there are lanes") }
		}
	}
	out := make([]trials.Verdict, 0, len(checks))
	for _, name := range Names() {
		v := trials.Verdict{Check: name, Conduct: true, State: trials.Passed}
		if config.Off[name] {
			v.State, v.Message = trials.Skipped, "switched off"
			out = append(out, v)
			continue
		}
		f := checks[name]()
		switch {
		case f.skipped != "":
			v.State, v.Message = trials.Skipped, f.skipped
		case len(f.problems)+len(f.notes) > 0:
			v.State, v.Message, v.Pos = trials.Failed, joined(slices.Concat(f.problems, f.notes)), f.pos
			if len(f.problems) == 0 || f.mild || name == StablePrefix || name == FaultsStruck || in.Mode.Real() && name != Limits && name != Grants && name != Approved {
				v.State = trials.Warned
			}
		}
		out = append(out, v)
	}
	return out
}

// asked is the input with the calls alone that the model asked for: what else
// was executed the checks find by themselves.
func (in *Input) asked() *Input {
	out := *in
	out.Trajectory = slices.DeleteFunc(slices.Clone(in.Trajectory), func(c harness.Call) bool { return c.Unasked })
	return &out
}

// finding is what one check found; without problems it passed.
type finding struct {
	skipped  string // why it does not apply
	problems []string
	notes    []string // what is a warning, beside problems
	pos      harness.Position
	mild     bool // it is a warning
}

func skip(why string) finding { return finding{skipped: why} }

func (f *finding) add(format string, args ...any) {
	f.problems = append(f.problems, fmt.Sprintf(format, args...))
}

func (f *finding) note(format string, args ...any) {
	f.notes = append(f.notes, fmt.Sprintf(format, args...))
}

func joined(problems []string) string {
	if n := len(problems); n > 4 {
		problems = append(slices.Clone(problems[:4]), fmt.Sprintf("and %d more", n-4))
	}
	return strings.Join(problems, "; ")
}

// checker holds what several checks look up.
type checker struct {
	Config
	*Input
	lane     string             // empty for the main conversation
	all      []harness.Call     // the trajectory of all conversations
	requests []harness.Exchange // all but asides
	replies  []harness.Exchange // in which the model really answered
	answers  []answered         // one for each reply with calls
	resolver *toolname.Resolver
	wire     []*conversation // with each mock server
}

func newChecker(config Config, in *Input) *checker {
	c := &checker{Config: config, Input: in, resolver: toolname.NewResolver(in.Listed, in.Names)}
	for _, x := range in.Exchanges {
		if !x.Kind.Outside() {
			c.requests = append(c.requests, x)
		}
	}
	c.replies = trajectory.Replies(c.requests, c.Tools)
	c.adoptIDs()
	c.pairAnswers()
	return c
}

// listen reads the frames, once.
func (c *checker) listen() *checker {
	c.wire = converse(c.Frames)
	return c
}

// turn returns the subject's report of a turn, or nil.
func (c *checker) turn(n int) *harness.TurnReport {
	if c.Transcript == nil || n < 1 || n > len(c.Transcript.Turns) {
		return nil
	}
	return &c.Transcript.Turns[n-1]
}

// later are the requests behind a reply.
func (c *checker) later(reply *harness.Exchange) iter.Seq[*harness.Exchange] {
	return func(yield func(*harness.Exchange) bool) {
		for i := range c.requests {
			if x := &c.requests[i]; x.Seq > reply.Seq && !yield(x) {
				return
			}
		}
	}
}

func (c *checker) providerAccepts() (f finding) {
	for _, x := range c.requests {
		if x.Kind == harness.KindRefusal {
			f.add("the provider would have refused request %d: %s", x.Seq, x.Error)
		}
	}
	return f
}

func (c *checker) allRepliesReached() (f finding) {
	if c.Mode.Real() {
		return skip("no script in mode " + string(c.Mode))
	}
	if c.Mode == harness.ModeReplay {
		return c.allRecordingsUsed()
	}
	var lanes []string
	left := map[string]int{}
	for _, u := range c.Remaining {
		if f.pos.IsZero() {
			f.pos = u.Pos
		}
		if left[u.Lane]++; left[u.Lane] == 1 {
			lanes = append(lanes, u.Lane)
		}
	}
	for _, lane := range lanes {
		what := prose.CountOf(left[lane], "scripted reply", "scripted replies")
		if lane != "" {
			what += " of lane " + lane
		}
		f.add("%s not reached", what)
	}
	if len(lanes) > 0 && len(c.Exchanges) == 0 {
		f.add("the model was asked nothing: does the agent use the base URL that it is given (OPENAI_BASE_URL)?")
	}
	return f
}

// allRecordingsUsed is about what was recorded in place of what is scripted.
func (c *checker) allRecordingsUsed() (f finding) {
	if len(c.Remaining) == 0 {
		return finding{}
	}
	f.pos = c.Remaining[0].Pos
	var names []string
	for _, u := range c.Remaining {
		names = append(names, u.Name)
	}
	f.add("%s not asked for: %s", prose.CountOf(len(names), "recorded exchange", "recorded exchanges"), joined(names))
	return f
}

func (c *checker) repeatedRequest() (f finding) {
	for _, x := range c.requests {
		if x.Repeated {
			f.add("request %d repeats one that was already answered in full", x.Seq)
		}
	}
	return f
}

func (c *checker) faultsStruck() (f finding) {
	if c.Mode.Real() || c.Mode == harness.ModeReplay {
		return skip("no script in mode " + string(c.Mode))
	}
	for _, idle := range c.Idle {
		if f.pos.IsZero() {
			f.pos = idle.Pos
		}
		f.add("the fault %s at %s struck no request: %s", idle.Fault, idle.Pos, idle.Why)
	}
	return f
}

func quote(s string) string { return fmt.Sprintf("%q", shorten(s)) }

// shorten keeps messages readable. It cuts between runes.
func shorten(s string) string { return prose.Shorten(s, 160) }
