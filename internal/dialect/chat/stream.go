// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package chat

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/sse"
)

// Write is OpenAI's chat completions.
//
// The objects for the keys of a style are chat.completion, chat.choice,
// chat.message, chat.call and chat.function of a whole answer; chat.chunk,
// chat.chunk.usage, chat.chunk.choice, chat.delta, chat.delta.role,
// chat.delta.calls, chat.delta.last, chat.call.delta and chat.function.delta
// of a stream; chat.usage, chat.usage.prompt and chat.usage.completion.
func Write(r *dialect.Reply, style *dialect.Style, stream bool) *dialect.Body {
	return write(r, style, stream, new(dialect.Buffers))
}

// write is Write into buffers.
func write(r *dialect.Reply, style *dialect.Style, stream bool, into *dialect.Buffers) *dialect.Body {
	w := writers.Get().(*writer)
	defer writers.Put(w)
	w.r, w.style, w.out, w.frames = r, style, into.Bytes[:0], into.Frames[:0]
	w.list, w.parts, w.head, w.split, w.now = w.list[:0], w.parts[:0], w.head[:0], 0, nil
	if usual := len(style.Keys) == 0 && style.Habits == (dialect.Habits{}); !usual || !w.usual {
		w.templates, w.usual = w.templates[:0], usual
	}
	into.Body = dialect.Body{Status: http.StatusOK, Header: dialect.JSONHeader}
	body := &into.Body
	if stream {
		w.stream()
		body.Stream, body.Header, body.EarlyHead, body.Writes = true, dialect.StreamHeader, style.EarlyHead, style.Fragments.Writes
	} else {
		w.whole()
	}
	body.Frames = w.frames
	into.Bytes, into.Frames = w.out, w.frames
	w.r, w.style, w.out, w.frames = nil, nil, nil, nil
	return body
}

// writers are those to use again.
var writers = sync.Pool{New: func() any { return new(writer) }}

type writer struct {
	r      *dialect.Reply
	style  *dialect.Style
	out    []byte // all that is written; the data of the frames are parts of it
	frames []dialect.Frame
	list   []delta     // of the choice that is written
	parts  []callDelta // what they say about calls
	// Most events of a stream differ from others in their texts: templates are
	// what stands around these. Those of the usual style serve later replies too.
	templates []*template
	usual     bool
	now       *template // the last one, of which event is the whole event
	event     []byte
	shift     int
	// head is a chunk with a mark at split for its choices.
	head  []byte
	split int
}

// template is the choice of a chunk without the texts that stand at holes.
type template struct {
	sort
	text  []byte
	holes []hole
}

type hole struct {
	at   int
	slot slot
}

// sort tells deltas apart that differ in more than their texts.
type sort struct {
	kind          dialect.Kind
	choice, index int
	forms         uint64 // of its values, and whether it has the role
}

// object appends an object with the members that the style has.
func (w *writer) object(b []byte, o object, add func(b []byte, member string) []byte) []byte {
	if len(w.style.Keys) == 0 {
		return dialect.AppendMembers(b, usual()[o], add)
	}
	return dialect.Append(b, w.keys(o), add)
}

// usual are the members that OpenAI sends.
var usual = sync.OnceValue(func() *[len(objects)][]dialect.Member {
	var list [len(objects)][]dialect.Member
	for o := range objects {
		list[o] = dialect.MembersOf(objects[o].keys)
	}
	return &list
})

func (w *writer) keys(o object) dialect.Keys {
	if k, ok := w.style.Keys[objects[o].name]; ok {
		return k
	}
	switch o {
	case chatUsageChunk:
		return w.keys(chatChunk)
	case chatCallDelta:
		return w.keys(chatDelta)
	}
	return objects[o].keys
}

func quoteIf(b []byte, s string) []byte {
	if s == "" {
		return b
	}
	return dialect.AppendQuote(b, s)
}

// shared is a member that answers and chunks have.
func (w *writer) shared(b []byte, member string) []byte {
	switch member {
	case "id":
		return dialect.AppendQuote(b, w.r.ID)
	case "model":
		return dialect.AppendQuote(b, w.r.Model)
	case "system_fingerprint":
		return quoteIf(b, w.r.Fingerprint)
	}
	return b
}

// silent reports whether the content of a choice is null: an empty text beside
// something else.
func (w *writer) silent(ch *dialect.Choice, other bool) bool {
	return ch.Text == "" && !w.style.EmptyContent && (len(ch.Calls) > 0 || other)
}

// stream writes the answer as server-sent events.
func (w *writer) stream() {
	s, r := w.style, w.r
	for _, data := range s.Preflight {
		w.send(dialect.Frame{Kind: dialect.KindPreamble}, func(b []byte) []byte { return append(b, data...) })
	}
	for i := range r.Choices {
		w.choiceChunks(i)
	}
	if s.Usage == dialect.WhenAlways || s.Usage == dialect.WhenAsked && r.IncludeUsage {
		w.send(dialect.Frame{Kind: dialect.KindUsage}, w.usageChunk)
	}
	if !s.NoDone {
		w.send(dialect.Frame{Kind: dialect.KindDone}, func(b []byte) []byte { return append(b, "[DONE]"...) })
	}
}

const dataField = "data: "

// send adds an event with the data that write appends.
func (w *writer) send(f dialect.Frame, write func(b []byte) []byte) {
	from := len(w.out)
	w.out = write(append(w.out, dataField...))
	if data := w.out[from+len(dataField):]; severalLines(data) { // in values that are sent as they are spelled
		w.out = append(w.out[:from], sse.Data("", data)...)
	} else {
		w.out = append(w.out, "\n\n"...)
	}
	f.Data = w.out[from:len(w.out):len(w.out)]
	w.frames = append(w.frames, f)
}

func severalLines(b []byte) bool {
	return bytes.IndexByte(b, '\n') >= 0 || bytes.IndexByte(b, '\r') >= 0
}

// ofChunk is a member of a chunk.
func (w *writer) ofChunk(b []byte, member string) []byte {
	r := w.r
	switch {
	case member == "id" && w.style.ChunkIDs:
		return dialect.AppendQuote(b, chunkID(r, w.style, len(w.frames)))
	case member == "object":
		return append(b, chunkObject...)
	case member == "created" && w.style.CreatedZero:
		return append(b, '0')
	case member == "created":
		return strconv.AppendInt(b, r.Created, 10)
	case member == "usage" && r.IncludeUsage:
		return append(b, "null"...)
	}
	return w.shared(b, member)
}

// choiceChunks writes the chunks of one choice.
func (w *writer) choiceChunks(n int) {
	ch := &w.r.Choices[n]
	w.deltas(ch)
	w.placeRole()
	w.placeFinish(ch)
	logprobs := ch.Logprobs // with the first text
	for i := range w.list {
		d := &w.list[i]
		f := dialect.Frame{Kind: d.kind, Choice: n, Call: d.first(), Tokens: d.tokens, Delay: d.delay}
		if d.kind == dialect.KindText && logprobs != nil {
			w.send(f, func(b []byte) []byte { return w.chunk(b, n, d, logprobs) })
			logprobs = nil
			continue
		}
		if !w.template(n, d) {
			w.send(f, func(b []byte) []byte { return w.chunk(b, n, d, nil) })
			continue
		}
		from, done := len(w.out), 0
		for _, h := range w.now.holes {
			w.out = dialect.AppendQuote(append(w.out, w.event[done:h.at+w.shift]...), d.value(h.slot).text)
			done = h.at + w.shift
		}
		w.out = append(w.out, w.event[done:]...)
		f.Data = w.out[from:len(w.out):len(w.out)]
		w.frames = append(w.frames, f)
	}
}

// sortOf is the sort of a delta; ok is false where it has more than texts.
func (w *writer) sortOf(n int, d *delta) (s sort, ok bool) {
	if w.style.ChunkIDs || d.kind == dialect.KindReasoning && w.style.Habits.ReasoningDetails {
		return s, false
	}
	forms := uint64(d.text.form) | uint64(d.finish.form)<<8
	if d.role {
		forms |= 1 << 16
	}
	if len(d.calls) == 0 {
		return sort{kind: d.kind, choice: n, forms: forms}, true
	}
	c := &d.calls[0]
	forms |= uint64(c.id.form)<<24 | uint64(c.name.form)<<32 | uint64(c.kind.form)<<40 | uint64(c.args.form)<<48
	return sort{d.kind, n, c.index, forms}, len(d.calls) == 1 && c.extra == nil && c.args.form != raw
}

// mark stands for a text in a template, before its slot: no JSON has it.
const mark = 0

// template makes now and event of a delta. It reports false where there is
// none: the delta differs in more than texts, or the event is more than one line.
func (w *writer) template(n int, d *delta) bool {
	like, ok := w.sortOf(n, d)
	if !ok {
		return false
	}
	if w.now != nil && w.now.sort == like {
		return true
	}
	w.open()
	if w.split < 0 {
		return false
	}
	w.now = w.templateOf(like, d)
	w.shift = len(dataField) + w.split + len("[")
	b := append(append(append(w.event[:0], dataField...), w.head[:w.split]...), '[')
	b = append(append(append(b, w.now.text...), ']'), w.head[w.split+1:]...)
	if severalLines(b) {
		w.now = nil
		return false
	}
	w.event = append(b, "\n\n"...)
	return true
}

// templateOf returns the template of deltas like d. A new one replaces all where
// they are many, as they are with many choices or calls.
func (w *writer) templateOf(like sort, d *delta) *template {
	for _, t := range w.templates {
		if t.sort == like {
			return t
		}
	}
	const many = 16
	all := len(w.templates) % many
	w.templates = slices.Grow(w.templates[:all], 1)[:all+1]
	if w.templates[all] == nil {
		w.templates[all] = new(template)
	}
	t := w.templates[all]
	t.sort, t.text, t.holes = like, t.text[:0], t.holes[:0]
	blank := *d
	blank.calls = slices.Clone(d.calls)
	for slot := range slots {
		if v := blank.value(slot); v != nil && v.form == quoted {
			*v = value{marked, string(rune(slot))}
		}
	}
	b := w.choice(nil, like.choice, &blank, nil)
	for at := bytes.IndexByte(b, mark); at >= 0; at = bytes.IndexByte(b, mark) {
		t.text = append(t.text, b[:at]...)
		t.holes = append(t.holes, hole{len(t.text), slot(b[at+1])})
		b = b[at+2:]
	}
	t.text = append(t.text, b...)
	return t
}

// slot is a text of a delta.
type slot int

const (
	slotText slot = iota
	slotFinish
	slotID
	slotName
	slotType
	slotArgs
	slots
)

// value is the text in a slot; nil is none.
func (d *delta) value(s slot) *value {
	switch {
	case s == slotText:
		return &d.text
	case s == slotFinish:
		return &d.finish
	case len(d.calls) == 0:
		return nil
	}
	c := &d.calls[0]
	return [...]*value{slotID: &c.id, slotName: &c.name, slotType: &c.kind, slotArgs: &c.args}[s]
}

// chunk appends a chunk with one delta.
func (w *writer) chunk(b []byte, n int, d *delta, logprobs json.RawMessage) []byte {
	w.open()
	if w.split < 0 {
		return append(b, w.head...)
	}
	b = append(append(b, w.head[:w.split]...), '[')
	b = w.choice(b, n, d, logprobs)
	return append(append(b, ']'), w.head[w.split+1:]...)
}

// open makes the head. Its split is negative in a style without choices.
func (w *writer) open() {
	if len(w.head) > 0 && !w.style.ChunkIDs {
		return
	}
	w.head = w.object(w.head[:0], chatChunk, func(b []byte, member string) []byte {
		if member == "choices" {
			return append(b, mark)
		}
		return w.ofChunk(b, member)
	})
	w.split = bytes.IndexByte(w.head, mark)
}

// choice appends a choice of a chunk.
func (w *writer) choice(b []byte, n int, d *delta, logprobs json.RawMessage) []byte {
	return w.object(b, chatChoice, func(b []byte, member string) []byte {
		switch member {
		case "index":
			return strconv.AppendInt(b, int64(n), 10)
		case "delta":
			return w.delta(b, d)
		case "logprobs":
			return append(b, logprobs...)
		case "finish_reason":
			return d.finish.append(b)
		}
		return b
	})
}

// functionCall is the member that chat completions had before tools; nil is
// none.
func (w *writer) functionCall() string {
	switch w.style.Habits.FunctionCall {
	case dialect.FunctionEmpty:
		return `{"name":"","arguments":""}`
	case dialect.FunctionObject:
		return "{}"
	case dialect.FunctionNull:
		return "null"
	}
	return ""
}

// Request is a request of chat completions.
type Request struct{ dialect.Plain }

// Write writes the reply to it.
func (Request) Write(r *dialect.Reply, w dialect.Writing) *dialect.Body {
	into := w.Buffers
	if into == nil {
		into = new(dialect.Buffers)
	}
	return write(r, w.Style, w.Stream, into)
}

// value is a JSON value of a delta, which is encoded when it is written.
type value struct {
	form form
	text string
}

// form says what a value is.
type form uint8

const (
	absent form = iota // not there
	null
	quoted // a text
	raw    // JSON
	marked // the place of a text in a template
)

func (v value) append(b []byte) []byte {
	switch v.form {
	case null:
		return append(b, "null"...)
	case quoted:
		return dialect.AppendQuote(b, v.text)
	case raw:
		return append(b, v.text...)
	case marked:
		return append(append(b, mark), v.text...)
	}
	return b
}

func textValue(s string) value { return value{quoted, s} }

func textIf(s string) value {
	if s == "" {
		return value{}
	}
	return textValue(s)
}

// delta is one delta of a choice before it is encoded.
type delta struct {
	kind   dialect.Kind
	role   bool
	text   value // content, reasoning or refusal, by kind
	last   bool  // of the pieces of that
	calls  []callDelta
	finish value
	tokens int
	delay  time.Duration
}

func (d *delta) first() int {
	if len(d.calls) == 0 {
		return 0
	}
	return d.calls[0].call
}

// delta appends a delta.
func (w *writer) delta(b []byte, d *delta) []byte {
	o := chatDelta
	switch d.kind {
	case dialect.KindRole:
		o = chatRoleDelta
	case dialect.KindFinish:
		o = chatLastDelta
	case dialect.KindCallStart, dialect.KindCallArgs:
		o = chatCallDelta
	}
	return w.object(b, o, func(b []byte, member string) []byte {
		switch {
		case member == "content" && d.kind != dialect.KindReasoning && d.kind != dialect.KindRefusal,
			member == "reasoning_content" && d.kind == dialect.KindReasoning,
			member == "refusal" && d.kind == dialect.KindRefusal:
			return d.text.append(b)
		case member == "role" && d.role:
			return append(b, `"assistant"`...)
		case member == "function_call" && d.kind == dialect.KindRole:
			return append(b, w.functionCall()...)
		case member == "reasoning_details" && d.kind == dialect.KindReasoning:
			return w.details(b, d.text.text, d.last)
		case member == "tool_calls" && o == chatCallDelta:
			for i := range d.calls {
				b = w.callDelta(append(b, "[,"[min(i, 1)]), &d.calls[i])
			}
			return append(b, ']')
		}
		return b
	})
}

// deltas lists what a choice says, without role and finish reason.
func (w *writer) deltas(ch *dialect.Choice) {
	w.list = w.list[:0]
	if w.style.Role == dialect.RoleOwn {
		head := delta{kind: dialect.KindRole}
		if !w.silent(ch, false) {
			head.text = textValue("")
		}
		w.list = append(w.list, head)
	}
	calls := len(ch.Calls) > 0
	if calls && w.style.CallsFirst {
		w.callDeltas(ch)
	}
	w.pieces(dialect.KindReasoning, ch.Reasoning)
	w.pieces(dialect.KindText, ch.Text)
	w.pieces(dialect.KindRefusal, ch.Refusal)
	if calls && !w.style.CallsFirst {
		w.callDeltas(ch)
	}
}

// pieces lists the pieces of a text.
func (w *writer) pieces(kind dialect.Kind, text string) {
	if text == "" {
		return
	}
	pieces, words := w.cut(text, w.r.Seed^uint64(kind))
	tokens := share(words, len(pieces))
	for i, p := range pieces {
		d := delta{kind: kind, text: textValue(p), tokens: tokens(i), last: i == len(pieces)-1}
		if i > 0 {
			d.delay = w.style.PiecePause
		}
		w.list = append(w.list, d)
	}
}

// cut returns the pieces of a text, and the number of its words.
func (w *writer) cut(text string, seed uint64) (pieces []string, words int) {
	if w.r.Cut != nil && w.style.Fragments.Unit == "" && w.style.PieceRunes == 0 {
		if pieces = w.r.Cut.WordsOf(text); pieces != nil {
			return pieces, len(pieces)
		}
	}
	return dialect.Pieces(text, w.style, seed), dialect.CountWords(text)
}

// share shares n tokens among so many pieces.
func share(n, pieces int) func(i int) int {
	return func(i int) int { return n*(i+1)/pieces - n*i/pieces }
}

// placeRole says the role where the style does.
func (w *writer) placeRole() {
	for i := range w.list {
		switch w.style.Role {
		case dialect.RoleNever:
		case dialect.RoleEvery:
			w.list[i].role = true
		default:
			w.list[i].role = i == 0
		}
	}
}

// placeFinish says the finish reason where the style does.
func (w *writer) placeFinish(ch *dialect.Choice) {
	where := w.style.Finish
	if f := w.style.Fragments.Finish; f != "" {
		where = f
	}
	deltas := w.list
	last := len(deltas) - 1
	switch where {
	case dialect.FinishNever:
	case dialect.FinishLast:
		if last >= 0 {
			deltas[last].finish = textIf(ch.Finish)
			break
		}
		fallthrough
	case dialect.FinishOwn:
		w.list = append(deltas, delta{kind: dialect.KindFinish, finish: textIf(ch.Finish)})
	case dialect.FinishEachCall:
		for i := range deltas {
			if len(deltas[i].calls) > 0 {
				deltas[i].finish = textValue("tool_calls")
			}
		}
		if last >= 0 && deltas[last].kind != dialect.KindRole {
			deltas[last].finish = textIf(ch.Finish)
		}
	}
}
