// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
)

// The wire format is written here and not taken from a client's package: a
// fake must not share the mistakes of what it fakes for. Replies are appended
// from parts encoded beforehand, since encoding each chunk would cost more
// than all else.

type wireModel struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func newWireModel(id string) wireModel {
	return wireModel{ID: id, Object: "model", Created: epoch, OwnedBy: "rehearse"}
}

// answer gives a reply. After an error nothing has been sent.
func (m *Mock) answer(x *exchange, sp *spoken) error {
	adjust := m.adjust(x, sp)
	if adjust != nil || x.met != nil || !x.speech.quick || x.habits.style != nil || sp.fragments != nil {
		return m.answerRendered(x, sp, adjust)
	}
	x.spoken, x.status, x.quick = sp, http.StatusOK, true
	d := &delivery{m: m, w: x.w, ctx: x.r.Context(), x: x, sp: sp, draft: drafts.Get().(*draft)}
	defer d.draft.done()
	if m.paced() {
		m.record(x.entry, nil)
		d.head()
		d.flusher = http.NewResponseController(x.w)
		var cancel context.CancelFunc
		d.ctx, cancel = context.WithCancel(d.ctx)
		defer cancel()
		defer context.AfterFunc(m.ctx, cancel)()
		if m.opts.Jitter > 0 {
			d.random = m.source(sp.id + strconv.Itoa(x.attempt))
		}
	}
	var err error
	if x.chat.Stream() {
		err = d.stream()
	} else {
		err = d.whole()
	}
	if err != nil && m.ctx.Err() != nil {
		panic(http.ErrAbortHandler) // a reply cut short must not look whole
	}
	return nil
}

// draft is a reply while it is written.
type draft struct {
	out  []byte // written, but not sent
	ends []int  // of the events in out that are to be sent alone
	// prefix and suffix are of each chunk of a stream.
	prefix []byte
	suffix string
}

// drafts are those to use again.
var drafts = sync.Pool{New: func() any { return new(draft) }}

func (d *draft) done() {
	if cap(d.out) <= maxPooled {
		d.out, d.ends, d.prefix = d.out[:0], d.ends[:0], d.prefix[:0]
		drafts.Put(d)
	}
}

func (m *Mock) paced() bool { return m.opts.TimeToFirstToken > 0 || m.opts.TokensPerSecond > 0 }

// delivery is one reply on its way.
type delivery struct {
	m      *Mock
	w      http.ResponseWriter
	ctx    context.Context
	x      *exchange
	sp     *spoken
	random *rand.Rand // for jitter; nil without
	pace   pace
	// flusher sends what was written so far, at a pace. Nil sends the reply
	// with its head when all of it is written.
	flusher *http.ResponseController
	*draft
}

// wait lets d pass, give or take the jitter.
func (d *delivery) wait(t time.Duration) error {
	if d.random != nil {
		t = time.Duration(float64(t) * (1 + d.m.opts.Jitter*(2*d.random.Float64()-1)))
	}
	if t <= 0 {
		return nil
	}
	return d.pace.sleep(d.ctx, d.m.opts.Clock, t)
}

// pace says when the next piece is due. It is counted from the first one, so
// that what sleeping and writing take too long does not add up.
type pace struct{ due time.Time }

// sleep lets t pass since the piece before was due.
func (p *pace) sleep(ctx context.Context, clock harness.Clock, t time.Duration) error {
	now := clock.Now()
	if p.due.IsZero() {
		p.due = now
	}
	p.due = p.due.Add(t)
	if t = p.due.Sub(now); t <= 0 {
		return ctx.Err()
	}
	return clock.Sleep(ctx, t)
}

// tokenTime is how long one piece takes.
func (m *Mock) tokenTime() time.Duration {
	if m.opts.TokensPerSecond <= 0 {
		return 0
	}
	return time.Duration(float64(time.Second) / m.opts.TokensPerSecond)
}

// whole sends the reply as one JSON object.
func (d *delivery) whole() error {
	if err := d.wait(d.m.opts.TimeToFirstToken); err != nil {
		return err
	}
	if err := d.wait(d.m.tokenTime() * time.Duration(d.sp.content.pieces())); err != nil {
		return err
	}
	b := d.appendStart(d.out, "chat.completion")
	b = append(b, `,"choices":[{"index":0,"message":{"role":"assistant","content":`...)
	b = d.appendMessage(b)
	b = append(b, `,"annotations":[]},"logprobs":null,"finish_reason":`...)
	b = appendString(b, d.sp.content.finish)
	b = append(b, `}],"usage":`...)
	b = appendUsage(b, d.x.usage(d.sp.content))
	b = d.appendFingerprint(append(b, `,"service_tier":"default"`...))
	b = append(b, "}\n"...)
	d.out = b
	return d.last()
}

// head sets the headers.
func (d *delivery) head() {
	d.m.common(d.x)
	h := d.w.Header()
	if d.x.chat.Stream() {
		h["Content-Type"], h["Cache-Control"] = d.m.headers.sse, d.m.headers.noCache
		// Said here, since net/http would find out the length of a short stream.
		h["Transfer-Encoding"] = d.m.headers.chunked
		return
	}
	h["Content-Type"] = d.m.headers.json
}

// pieces returns the number of pieces that the reply is streamed in.
func (c *content) pieces() int {
	n := len(c.reasoning.pieces) + len(c.say.pieces) + len(c.refusal.pieces)
	for _, call := range c.calls {
		n += len(call.args.pieces)
	}
	return n
}

func (d *delivery) appendStart(b []byte, object string) []byte {
	b = append(b, `{"id":"`...)
	b = append(b, d.sp.id...)
	b = append(b, `","object":"`...)
	b = append(b, object...)
	b = append(b, `","created":`...)
	b = strconv.AppendInt(b, d.sp.created, 10)
	b = append(b, `,"model":`...)
	return appendString(b, d.x.chat.Model())
}

func (d *delivery) appendFingerprint(b []byte) []byte {
	b = append(b, `,"system_fingerprint":"fp_`...)
	const digits = "0123456789abcdef"
	for i, h := 0, d.m.program.hash; i < 10; i, h = i+1, h>>4 {
		b = append(b, digits[h&15])
	}
	return append(b, '"')
}

// appendMessage appends the message from its content on.
func (d *delivery) appendMessage(b []byte) []byte {
	c := d.sp.content
	if c.say.empty() && (len(c.calls) > 0 || !c.refusal.empty()) {
		b = append(b, "null"...)
	} else {
		b = append(b, c.say.quoted...)
	}
	if !c.reasoning.empty() {
		b = append(append(b, `,"reasoning_content":`...), c.reasoning.quoted...)
	}
	if len(c.calls) > 0 {
		b = append(b, `,"tool_calls":[`...)
		for i, call := range d.sp.calls {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, `{"id":"`...), call.ID...)
			b = append(b, `","type":"function","function":{"name":`...)
			b = appendString(b, call.Name)
			b = append(append(b, `,"arguments":`...), c.calls[i].args.quoted...)
			b = append(b, "}}"...)
		}
		b = append(b, ']')
	}
	b = append(b, `,"refusal":`...)
	if c.refusal.empty() {
		return append(b, "null"...)
	}
	return append(b, c.refusal.quoted...)
}

func appendUsage(b []byte, u harness.Usage) []byte {
	b = strconv.AppendInt(append(b, `{"prompt_tokens":`...), int64(u.PromptTokens), 10)
	b = strconv.AppendInt(append(b, `,"completion_tokens":`...), int64(u.CompletionTokens), 10)
	b = strconv.AppendInt(append(b, `,"total_tokens":`...), int64(u.TotalTokens), 10)
	b = strconv.AppendInt(append(b, `,"prompt_tokens_details":{"cached_tokens":`...), int64(u.CachedTokens), 10)
	b = append(b, `,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":`...)
	b = strconv.AppendInt(b, int64(u.ReasoningTokens), 10)
	return append(b, `,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`...)
}

// appendString appends s as JSON.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			return append(b, quote(s)...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// stream sends the reply as server-sent events.
func (d *delivery) stream() error {
	d.prefix = d.appendStart(append(d.prefix, "data: "...), "chat.completion.chunk")
	d.prefix = d.appendFingerprint(append(d.prefix, `,"service_tier":"default"`...))
	start := len(d.prefix)
	d.prefix = append(d.prefix, `,"choices":[{"index":0,"delta":`...)
	d.suffix = "}]}\n\n"
	if d.x.chat.IncludeUsage() {
		d.suffix = `}],"usage":null}` + "\n\n"
	}
	if err := d.wait(d.m.opts.TimeToFirstToken); err != nil {
		return err
	}
	if err := d.deltas(); err != nil {
		return err
	}
	if d.x.chat.IncludeUsage() {
		b := append(append(d.out, d.prefix[:start]...), `,"choices":[],"usage":`...)
		d.out = append(appendUsage(b, d.x.usage(d.sp.content)), "}\n\n"...)
		if err := d.eventDone(); err != nil {
			return err
		}
	}
	d.out = append(d.out, "data: [DONE]\n\n"...)
	return d.last()
}

// deltas sends the chunks of the message.
func (d *delivery) deltas() error {
	c := d.sp.content
	content := `""`
	if c.say.empty() && len(c.calls) > 0 {
		content = "null"
	}
	d.open(`{"role":"assistant","content":`)
	if err := d.event(content, `,"refusal":null}`); err != nil {
		return err
	}
	for _, part := range []struct {
		open   string
		pieces [][]byte
	}{
		{`{"reasoning_content":`, c.reasoning.pieces}, {`{"content":`, c.say.pieces}, {`{"refusal":`, c.refusal.pieces},
	} {
		if err := d.pieces(part.open, part.pieces, "}"); err != nil {
			return err
		}
	}
	for i, call := range d.sp.calls {
		index := `{"tool_calls":[{"index":` + strconv.Itoa(i)
		d.open(index)
		d.out = append(append(append(d.out, `,"id":"`...), call.ID...), `","type":"function","function":{"name":`...)
		d.out = appendString(d.out, call.Name)
		if err := d.event("", `,"arguments":""}}]}`); err != nil {
			return err
		}
		if err := d.pieces(index+`,"function":{"arguments":`, c.calls[i].args.pieces, "}}]}"); err != nil {
			return err
		}
	}
	d.open(`{},"logprobs":null,"finish_reason":`)
	d.out = append(appendString(d.out, c.finish), d.suffix...)
	return d.eventDone()
}

// pieces sends one chunk for each piece of a text.
func (d *delivery) pieces(open string, pieces [][]byte, end string) error {
	t := d.m.tokenTime()
	for _, p := range pieces {
		if t > 0 {
			if err := d.flush(); err != nil {
				return err
			}
			if err := d.wait(t); err != nil {
				return err
			}
		}
		d.open(open)
		d.out = append(d.out, p...)
		if err := d.event("", end); err != nil {
			return err
		}
	}
	return nil
}

// open begins a chunk.
func (d *delivery) open(delta string) {
	d.out = append(append(d.out, d.prefix...), delta...)
}

// event ends a chunk with the rest of its delta.
func (d *delivery) event(rest, end string) error {
	d.out = append(append(append(d.out, rest...), end...), `,"logprobs":null,"finish_reason":null`...)
	d.out = append(d.out, d.suffix...)
	return d.eventDone()
}

func (d *delivery) eventDone() error {
	switch {
	case !d.m.opts.FlushEvents:
		return nil
	case d.flusher == nil:
		d.ends = append(d.ends, len(d.out))
		return nil
	}
	return d.flush()
}

// flush sends what was written.
func (d *delivery) flush() error {
	if len(d.out) == 0 {
		return nil
	}
	if _, err := d.w.Write(d.out); err != nil {
		return err
	}
	d.out = d.out[:0]
	return d.push()
}

// push hands what was sent to the network. A writer that cannot is left to
// its own pace.
func (d *delivery) push() error {
	err := d.flusher.Flush()
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// last sends the end of the reply. It counts as delivered before it is sent,
// since the client may ask again before this goroutine runs on.
func (d *delivery) last() error {
	if err := d.ctx.Err(); err != nil {
		if d.flusher == nil {
			d.m.record(d.x.entry, nil)
		}
		return err
	}
	rest := d.out
	switch {
	case d.flusher != nil:
		d.x.settle(true)
	case len(d.ends) > 0:
		d.m.record(d.x.entry, nil)
		d.head()
		if err := d.sendEvents(); err != nil {
			return err
		}
		rest = rest[d.ends[len(d.ends)-1]:]
		d.x.settle(true)
	default:
		d.m.recordDelivered(d.x)
		d.head()
	}
	whole := !d.x.chat.Stream()
	if whole {
		d.w.Header()["Content-Length"] = []string{strconv.Itoa(len(rest))}
	}
	_, err := d.w.Write(rest)
	if err == nil && whole {
		// The length is known: nothing is left to write after this.
		err = responseLine{d.w}.flush()
	}
	if err != nil {
		d.x.settle(false)
	}
	return err
}

// sendEvents sends the events of a stream that are to be sent alone.
func (d *delivery) sendEvents() error {
	d.flusher = http.NewResponseController(d.w)
	from := 0
	for _, end := range d.ends {
		if _, err := d.w.Write(d.out[from:end]); err != nil {
			return err
		}
		if err := d.push(); err != nil {
			return err
		}
		from = end
	}
	return d.ctx.Err()
}
