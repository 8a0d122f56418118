// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/telemetry"
)

// Conversation is one history with one model. Its methods may be called by
// several goroutines, but only one Send runs at a time: another one is an error.
type Conversation struct {
	cfg *Config

	mu       sync.Mutex // guards all below
	sending  bool
	messages []harness.Message // without the system message
	calls    []harness.ReportedCall
	tokens   int
	warned   map[string]bool // warnings that were told
	circuits int             // how many changes of circuits were told
	name     string          // of the model; empty means that of the configuration
}

// Send gives the agent one user message and yields what happens. It starts when
// the sequence is ranged over; breaking off the loop ends the turn, and waits
// for the tools that run.
func (c *Conversation) Send(ctx context.Context, text string) iter.Seq2[Event, error] {
	return c.send(ctx, text, false)
}

// SendOnce is Send with one model call: the turn ends with the first reply,
// whose text is the [Answer]. The tools that it calls are not run, and the
// history has the reply without them; [Conversation.Calls] has them.
func (c *Conversation) SendOnce(ctx context.Context, text string) iter.Seq2[Event, error] {
	return c.send(ctx, text, true)
}

func (c *Conversation) send(ctx context.Context, text string, once bool) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		c.mu.Lock()
		busy := c.sending
		c.sending = true
		c.mu.Unlock()
		if busy {
			yield(nil, errors.New("sending a message: the conversation is still answering another one"))
			return
		}
		defer func() {
			c.mu.Lock()
			c.sending = false
			c.mu.Unlock()
		}()
		// Tools that run are stopped when the caller breaks off.
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		t := &turn{Conversation: c, once: once, start: c.cfg.Clock.Now()}
		t.yield = func(e Event) {
			if !t.broken && !yield(e, nil) {
				t.broken = true
				stop()
			}
		}
		ctx, span := c.cfg.recorder.Turn(ctx, c.model())
		err := t.run(ctx, text)
		span.Spent(t.spent)
		span.End(failure(err, t.broken), err)
		if err != nil && !t.broken {
			yield(nil, err)
		}
	}
}

// Reset empties the history and the log of calls, and counts tokens from
// zero.
func (c *Conversation) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.messages, c.calls, c.tokens = nil, nil, 0
}

// Resume replaces the history by one that was kept, such as that of
// [Conversation.Messages], of a program that has ended. A call in it that has no
// result gets one that says that nobody knows whether it took effect; it is not
// run again. System messages, and results without a call, are left out, and bytes
// that are not UTF-8 are replaced by U+FFFD: no request could carry them.
func (c *Conversation) Resume(history []harness.Message) {
	var messages, results []harness.Message
	var calls []harness.ToolCall // whose results are looked for
	settle := func() {
		for _, call := range calls {
			result := harness.Message{
				Role: harness.RoleTool, CallID: call.ID,
				Text: mcpwire.ErrorMark + fmt.Sprintf("the conversation broke off during the call of %s; whether it took effect is not known", call.Name),
			}
			if i := slices.IndexFunc(results, func(m harness.Message) bool { return m.CallID == call.ID }); i >= 0 {
				result = results[i]
			}
			messages = append(messages, result)
		}
		calls, results = nil, nil
	}
	for _, m := range history {
		m = validUTF8(m)
		switch m.Role {
		case harness.RoleSystem:
		case harness.RoleTool:
			results = append(results, m)
		default:
			settle()
			messages, calls = append(messages, m), m.Calls
		}
	}
	settle()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.messages = messages
}

// SetModel has the conversation ask another model of the same endpoint, from the
// next model call on. Empty means that of the configuration.
func (c *Conversation) SetModel(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.name = name
}

func (c *Conversation) model() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return cmp.Or(c.name, c.cfg.Name)
}

// Messages returns a copy of the history, without the system message. While tools
// run, it ends with the calls, whose results are to come.
func (c *Conversation) Messages() []harness.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.messages)
}

// Calls returns a copy of the log of tool calls, in the model's order. One that
// was asked for and not run has an Error that says why.
func (c *Conversation) Calls() []harness.ReportedCall {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

func (c *Conversation) append(messages ...harness.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.messages = append(c.messages, messages...)
}

// turn is one user message on its way to an answer.
type turn struct {
	*Conversation
	yield   func(Event)
	once    bool // the first reply ends the turn
	broken  bool // the caller wants no more
	start   time.Time
	spent   harness.Usage       // by the model calls of the turn
	repeats map[string]*repeats // by tool
	left    []string            // names of tools that were not offered, for SelectTools
	told    string              // of those that were, in the last notice
}

// withTimeout is [context.WithTimeoutCause] by a clock.
func withTimeout(ctx context.Context, clock harness.Clock, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := clock.AfterFunc(d, harness.Deadline, func() { cancel(cause) })
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

// run plays the turn. It returns nil when there is an answer, or when the
// caller broke off.
func (t *turn) run(ctx context.Context, text string) error {
	if limit := t.cfg.TimeLimit; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = withTimeout(ctx, t.cfg.Clock, limit, t.stopTime(nil))
		defer cancel()
	}
	// No request can carry it, and none that came later could with it in the history.
	if good := len(prefixUTF8(text)); good < len(text) {
		return &model.Error{Kind: model.KindInvalid, Message: fmt.Sprintf("the message is not UTF-8 at byte %d; it was not sent", good)}
	}
	t.append(harness.Message{Role: harness.RoleUser, Text: text})
	for calls := 1; ; calls++ {
		if err := t.mayAsk(calls); err != nil {
			return err
		}
		var offered []harness.Tool
		if t.cfg.Tools != nil {
			var err error
			if offered, err = t.cfg.Tools.Tools(ctx); err != nil {
				return t.ended(ctx, fmt.Errorf("listing tools: %w", err))
			}
			t.warn()
			offered = t.selectTools(offered)
		}
		done, err := t.ask(ctx, offered)
		t.tellCircuits()
		if err != nil || t.broken {
			return err
		}
		m, err := t.judge(done, offered)
		if err != nil || t.broken {
			return err
		}
		if t.once && len(m.Calls) > 0 {
			t.refuse(m.Calls, errors.New("the turn ends with one model call"))
			if m.Calls = nil; m.Text == "" {
				t.yield(Answer{})
				return nil
			}
		}
		if len(m.Calls) == 0 {
			t.append(m)
			t.yield(Answer{Text: m.Text})
			return nil
		}
		if err := t.countRepeats(m.Calls); err != nil {
			t.refuse(m.Calls, err)
			return err
		}
		t.append(m) // first: whoever keeps the history knows of the calls
		t.append(t.runCalls(ctx, m, offered)...)
		t.tellCircuits()
		if t.broken {
			return nil
		}
		if err := context.Cause(ctx); err != nil {
			return t.ended(ctx, fmt.Errorf("running tools: %w", err))
		}
	}
}

// warn yields the warnings that were not told before.
func (t *turn) warn() {
	if t.cfg.Warnings == nil {
		return
	}
	for _, w := range t.cfg.Warnings() {
		t.mu.Lock()
		told := t.warned[w]
		if t.warned == nil {
			t.warned = map[string]bool{}
		}
		t.warned[w] = true
		t.mu.Unlock()
		if !told {
			t.yield(Notice{Text: w})
		}
	}
}

// mayAsk stops the turn when a limit forbids another model call, the calls-th
// of the turn.
func (t *turn) mayAsk(calls int) error {
	if limit := t.cfg.MaxModelCalls; limit > 0 && calls > limit {
		return &harness.StopError{Reason: harness.StopModelCalls, Detail: fmt.Sprintf("no answer after %d model calls", limit)}
	}
	if limit := t.cfg.TimeLimit; limit > 0 && t.cfg.Clock.Now().Sub(t.start) >= limit {
		return t.stopTime(nil)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if limit := t.cfg.TokenLimit; limit > 0 && t.tokens >= limit {
		return &harness.StopError{Reason: harness.StopTokens, Detail: fmt.Sprintf("%d tokens used, %d allowed", t.tokens, limit)}
	}
	return nil
}

func (t *turn) stopTime(err error) error {
	return &harness.StopError{Reason: harness.StopTime, Detail: fmt.Sprintf("no answer within %v", t.cfg.TimeLimit), Err: err}
}

// ended prefers the reason for which ctx ended to the error that this caused.
func (t *turn) ended(ctx context.Context, err error) error {
	var stop *harness.StopError
	if ctx.Err() != nil && errors.As(context.Cause(ctx), &stop) {
		return stop
	}
	return err
}

// ask makes one model call.
func (t *turn) ask(ctx context.Context, offered []harness.Tool) (*model.Done, error) {
	req := &model.Request{
		Model:       t.model(),
		Tools:       offered,
		Temperature: t.cfg.Temperature,
		TopP:        t.cfg.TopP,
		MaxTokens:   t.cfg.MaxTokens,
		Seed:        t.cfg.Seed,
		Reasoning:   t.cfg.Reasoning,
		Stream:      t.cfg.Stream,
	}
	if t.cfg.System != "" {
		req.Messages = []harness.Message{{Role: harness.RoleSystem, Text: t.cfg.System}}
	}
	t.mu.Lock()
	req.Messages = slices.Concat(req.Messages, t.messages)
	left := t.cfg.TokenLimit - t.tokens
	t.mu.Unlock()
	ctx, span := t.cfg.recorder.Chat(ctx, req)
	done, err := t.hear(ctx, req, left, span)
	span.Answered(done)
	span.End(failure(err, t.broken && done == nil), err)
	return done, err
}

// hear takes the reply to a request; left is how many tokens it may have.
func (t *turn) hear(ctx context.Context, req *model.Request, left int, span *telemetry.Operation) (*model.Done, error) {
	var done *model.Done
	streamed := 0 // bytes
	for event, err := range t.cfg.Model.Generate(ctx, req) {
		if err != nil {
			return nil, t.ended(ctx, t.stopOf(err))
		}
		switch e := event.(type) {
		case model.TextDelta:
			streamed += len(e.Text)
			t.yield(Delta{Text: e.Text})
		case model.ReasoningDelta:
			streamed += len(e.Text)
			t.yield(Delta{Reasoning: e.Text})
		case model.CallDelta:
			streamed += len(e.Arguments)
		case model.Withdrawn:
			streamed = 0
			span.Retried(failure(e.Err, false), e.Wait)
			t.yield(Withdrawn{Text: e.Text, Err: e.Err, Wait: e.Wait})
			// Waiting longer than the turn may last is no use.
			if limit := t.cfg.TimeLimit; limit > 0 && t.cfg.Clock.Now().Add(e.Wait).Sub(t.start) >= limit {
				return nil, t.stopTime(e.Err)
			}
		case model.Done:
			done = &e
		}
		if t.broken {
			return nil, nil
		}
		if t.cfg.TokenLimit > 0 && done == nil && streamed > left*bytesPerToken {
			return nil, t.stopStream(streamed)
		}
	}
	if stop := t.ended(ctx, nil); stop != nil {
		return nil, stop // the reply came too late
	}
	if done == nil {
		return nil, errors.New("model ended its reply without a finish reason")
	}
	t.mu.Lock()
	t.tokens += done.Usage.Counted().TotalTokens
	t.mu.Unlock()
	t.spent = t.spent.Add(done.Usage.Counted())
	t.yield(ModelCalled{Message: done.Message, FinishReason: done.FinishReason, Model: done.Model, Usage: done.Usage})
	for _, note := range done.Notes {
		t.yield(Notice{Text: note})
	}
	return done, nil
}

// bytesPerToken is more than a token of any text has, but for long runs of
// blanks and the like: what a stream costs is not known before its end.
const bytesPerToken = 8

// stopStream ends a turn whose reply is longer than the tokens that are left,
// and takes them for used up.
func (t *turn) stopStream(streamed int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	used := t.tokens
	t.tokens = t.cfg.TokenLimit
	return &harness.StopError{Reason: harness.StopTokens, Detail: fmt.Sprintf("%d tokens used, %d allowed, and the reply was %d bytes long when it was stopped", used, t.cfg.TokenLimit, streamed)}
}

// stopOf makes a stop of the model's errors that are one: asking again with
// the same history would come to the same.
func (t *turn) stopOf(err error) error {
	var e *model.Error
	if errors.As(err, &e) {
		switch e.Kind {
		case model.KindContextOverflow:
			return &harness.StopError{Reason: harness.StopContextOverflow, Detail: t.takeBack(), Err: err}
		case model.KindContentFilter:
			return &harness.StopError{Reason: harness.StopContentFilter, Err: err}
		case model.KindInvalid: // not sent, and no later request would be with it
			t.takeBackUnsent()
		}
	}
	return err
}

// takeBackUnsent removes the user's message of a request that was not sent.
func (t *turn) takeBackUnsent() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last := len(t.messages) - 1; last >= 0 && t.messages[last].Role == harness.RoleUser {
		t.messages = t.messages[:last:last]
	}
}

// validUTF8 is a message with U+FFFD in the place of bytes that are not UTF-8.
func validUTF8(m harness.Message) harness.Message {
	m.Text = strings.ToValidUTF8(m.Text, "\ufffd")
	m.Calls = slices.Clone(m.Calls)
	for i := range m.Calls {
		m.Calls[i].Arguments = strings.ToValidUTF8(m.Calls[i].Arguments, "\ufffd")
	}
	return m
}

// prefixUTF8 is the part of a text before its first byte that is no UTF-8.
func prefixUTF8(text string) string {
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd") {
			return text[:i]
		}
	}
	return text
}

// takeBack makes the history as short as it was when the endpoint took it last,
// or nearly: else no later message would fit either. It says what it did.
func (t *turn) takeBack() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := len(t.messages) - 1
	if t.messages[last].Role == harness.RoleUser {
		t.messages = t.messages[:last:last]
		return "the message was removed from the conversation"
	}
	for i := last; i >= 0 && t.messages[i].Role == harness.RoleTool; i-- {
		note := fmt.Sprintf("[a result of %d bytes was left out: with it, the conversation exceeded the model's context window]", len(t.messages[i].Text))
		if len(note) < len(t.messages[i].Text) {
			t.messages[i].Text = note
		}
	}
	return "the last results were removed from the conversation"
}

// refuse reports calls that are not run.
func (t *turn) refuse(calls []harness.ToolCall, why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, call := range calls {
		t.calls = append(t.calls, harness.ReportedCall{ID: call.ID, Tool: call.Name, Arguments: call.Arguments, Error: "not run: " + why.Error()})
	}
}

// judge decides whether the model's reply can be used, as answer or for its
// calls. What was said before a stop stays in the history, calls excepted:
// they never run.
func (t *turn) judge(done *model.Done, offered []harness.Tool) (harness.Message, error) {
	m := done.Message
	stop := func(reason harness.StopReason, detail string) error {
		err := &harness.StopError{Reason: reason, Detail: detail}
		t.refuse(m.Calls, err)
		if m.Text != "" || m.Refusal != "" {
			m.Calls = nil
			t.append(m)
		}
		return err
	}
	switch {
	case done.FinishReason == "content_filter":
		return m, stop(harness.StopContentFilter, "the endpoint's content filter withheld the reply")
	case done.FinishReason == "length":
		return m, stop(harness.StopLength, fmt.Sprintf("the reply was cut at the token limit, after %d characters of text", len([]rune(m.Text))))
	case m.Refusal != "" && len(m.Calls) == 0:
		return m, stop(harness.StopRefusal, m.Refusal)
	case len(m.Calls) > 0:
		return m, nil
	case strings.TrimSpace(m.Text) == "":
		return m, stop(harness.StopEmptyReply, "the model returned neither text nor calls")
	}
	leaks := findLeaks(m.Text, offered)
	if len(leaks) == 0 {
		return m, nil
	}
	for i, l := range leaks {
		if l.call.ID == "" {
			l.call.ID = fmt.Sprintf("leaked_%d_%d", len(t.Messages()), i)
		}
		leaks[i] = l
		call := l.call
		t.yield(Notice{
			Text:   fmt.Sprintf("the model wrote a call of %s as text", call.Name),
			Leaked: &call, Recovered: t.cfg.RecoverLeakedCalls,
		})
	}
	if t.cfg.RecoverLeakedCalls {
		m.Text = withoutLeaks(m.Text, leaks)
		for _, l := range leaks {
			m.Calls = append(m.Calls, l.call)
		}
	}
	return m, nil
}

// countRepeats stops a turn that asks for the same call again and again.
func (t *turn) countRepeats(calls []harness.ToolCall) error {
	if t.cfg.MaxRepeats < 0 {
		return nil
	}
	if t.repeats == nil {
		t.repeats = make(map[string]*repeats)
	}
	for _, call := range calls {
		r := t.repeats[call.Name]
		if r == nil {
			r = new(repeats)
			t.repeats[call.Name] = r
		}
		if n := r.add(call.Arguments); n >= t.cfg.MaxRepeats {
			return &harness.StopError{Reason: harness.StopRepeatedCall, Detail: fmt.Sprintf("call %d of %s with the arguments %s", n, call.Name, prose.Excerpt(call.Arguments, 200))}
		}
	}
	return nil
}

// repeats counts calls of one tool by their arguments. Most tools are called
// once in a turn: arguments are read from the second call on.
type repeats struct {
	called bool
	first  string         // the arguments of the first call
	n      map[string]int // by canonical arguments; nil before the second call
}

// add counts a call and returns how often it has been asked for.
func (r *repeats) add(args string) int {
	if !r.called {
		r.called, r.first = true, args
		return 1
	}
	if r.n == nil {
		r.n = map[string]int{canonical(r.first): 1}
	}
	args = canonical(args)
	r.n[args]++
	return r.n[args]
}
