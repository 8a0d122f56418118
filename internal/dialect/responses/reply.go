// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package responses

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// item is an item of the output of a response, as far as it came.
type item struct {
	index           dialect.Number
	id, callID      dialect.Text
	kind            string
	namespace, name dialect.Text
	text, refusal   parts
	summary         parts
	arguments       grown
	done            bool // a whole item came

	// said, thought and asked are what was shown of it; number is that of a call,
	// in the order of beginning, once one is shown.
	said, thought, asked shown
	number               int
	// sealed is a reasoning item that the provider wants back.
	sealed dialect.Members
}

// items are the items of a response in the order of its output.
type items struct{ list []*item }

// ref is how an event names an item: what it says of its place and ids, and what
// the item is, where the event has the whole of it.
type ref struct {
	index       dialect.Number
	id, callID  dialect.Text
	kind        string
	name, words dialect.Text
}

// agrees compares two ids: more than 0 when they are the same, less when they
// differ, 0 when one of them is not there.
func agrees(a, b dialect.Text) int {
	switch {
	case a == "" || b == "":
		return 0
	case a == b:
		return 1
	}
	return -1
}

// fit says how well an event fits an item: the more, the better.
type fit int

const (
	unfit fit = iota
	// byPlaceAlone is the index of the item, with other ids or other words: some
	// endpoints give an item another id in each event.
	byPlaceAlone
	// byIDAlone is an id of the item, with another one that is not or with other
	// words.
	byIDAlone
	// byWords is what came of the item, where the ids cannot be compared.
	byWords
	// byPlace is the index of the item, where the ids cannot be compared.
	byPlace
	// byID is the ids of the item with another index: some endpoints number all
	// items 0, or count anew when they end.
	byID
	// byAll is the ids of the item, and nothing at odds.
	byAll
)

func (it *item) fits(ref ref) fit {
	id, callID, words := agrees(it.id, ref.id), agrees(it.callID, ref.callID), it.says(ref)
	same, other := id > 0 || callID > 0, id < 0 || callID < 0
	here := it.index.Set && it.index == ref.index
	switch {
	case same && (other || words < 0):
		return byIDAlone
	case same && it.index.Set && ref.index.Set && !here:
		return byID
	case same:
		return byAll
	case it.kind != "" && ref.kind != "" && it.kind != ref.kind:
		return unfit
	case here && (other || words < 0):
		return byPlaceAlone
	case here:
		return byPlace
	case words > 0 && !other:
		return byWords
	}
	return unfit
}

// says compares what came of the item with the whole of one: more than 0 when it
// is the same, less when the whole does not go on from it.
func (it *item) says(ref ref) int {
	words := it.words()
	switch {
	case agrees(it.name, ref.name) < 0:
		return -1
	case agrees(words, ref.words) < 0 && strings.HasPrefix(string(ref.words), string(words)):
		return 0
	}
	return agrees(words, ref.words)
}

// words are what came of a call, or of a message.
func (it *item) words() dialect.Text {
	return over(dialect.Text(it.text.all.text), dialect.Text(it.arguments.text))
}

// find returns the item that an event is about, the latest of those that it
// fits best; nil if it is about none yet. A beginning, and the end of an item that
// is over, only repeats what it fits well, whatever it says.
func (l *items) find(ref ref, how itemState) *item {
	var best *item
	most := unfit
	for _, it := range slices.Backward(l.list) {
		about, repeats := ref, how == begun || how == ended && it.done
		if repeats {
			about.name, about.words = "", ""
		}
		f := it.fits(about)
		if f > most && (!repeats || f == byAll || f == byPlace) {
			best, most = it, f
		}
	}
	return best
}

// piece returns the item that a piece belongs to; nil if none has begun.
func (l *items) piece(ref ref) *item {
	it := l.find(ref, inPieces)
	if it == nil && !ref.index.Set && len(l.list) > 0 {
		it = l.list[len(l.list)-1]
	}
	return it
}

// nameless returns the item whose pieces came without an index and without an
// id: the first whole one after them is it.
func (l *items) nameless() *item {
	for _, it := range l.list {
		if !it.index.Set && it.id == "" && it.callID == "" && !it.done {
			return it
		}
	}
	return nil
}

// itemState says where an item stands: in the event of its beginning, of a
// piece, of its end, or in the output of a response.
type itemState int

const (
	begun itemState = iota
	inPieces
	ended
	final
)

// begin returns a new item.
func (l *items) begin(index dialect.Number) *item {
	it := &item{index: index}
	l.list = append(l.list, it)
	return it
}

// set takes a whole item, over what came of it in pieces.
func (it *item) set(o dialect.Members) {
	it.id, it.callID = over(it.id, o.Text("id")), over(it.callID, o.Text("call_id"))
	if kind := o.Text("type"); kind != "" {
		it.kind = string(kind)
	}
	it.namespace, it.name = over(it.namespace, o.Text("namespace")), over(it.name, o.Text("name"))
	it.arguments.over(o.Text("arguments", "input"))
	if it.kind == "reasoning" && o.Text("encrypted_content") != "" {
		it.sealed = o
	}
	var said, refused, summed []part
	for i, raw := range o.List("content") {
		text, refusal := readPart(raw)
		said, refused = append(said, part{index: i, text: grown{text: string(text)}}), append(refused, part{index: i, text: grown{text: string(refusal)}})
	}
	for i, o := range o.Objects("summary") {
		summed = append(summed, part{index: i, text: grown{text: string(o.Text("text"))}})
	}
	it.text.set(said)
	it.refusal.set(refused)
	it.summary.set(summed)
}

// readPart reads a part of a message: a text, or an object with one.
func readPart(raw json.RawMessage) (said, refused dialect.Text) {
	if len(raw) > 0 && raw[0] == '"' {
		_ = said.UnmarshalJSON(raw) // it was decoded before
		return said, ""
	}
	var part dialect.Members
	_ = json.Unmarshal(raw, &part) // likewise
	switch part.Text("type") {
	case "refusal":
		return "", part.Text("refusal")
	case "", "output_text", "text":
		return part.Text("text"), ""
	}
	return "", ""
}

// over is what was said last, if anything was.
func over(before, now dialect.Text) dialect.Text {
	if now != "" {
		return now
	}
	return before
}

// parser puts a response together.
type parser struct {
	items items
	calls int // that were shown
}

// Add takes a response, or an event of one. Its name is in the data
// as a rule, and some endpoints have it in the event field alone.
func (p *parser) Add(r *dialect.Reader, d dialect.Document) error {
	var o dialect.Members
	if err := json.Unmarshal(d.Data, &o); err != nil {
		return err
	}
	kind := string(o.Text("type"))
	if kind == "" || !strings.Contains(kind, ".") && d.Name != "" {
		kind = d.Name
	}
	switch kind {
	case "response.created", "response.in_progress", "response.queued", "response.completed", "response.incomplete", "response.done", "response.failed":
		return p.addResponse(r, o.Object("response"), kind)
	case "response.output_item.added", "response.output_item.done":
		how := begun
		if kind == "response.output_item.done" {
			how = ended
		}
		return p.setItem(r, o.Number("output_index"), o.Object("item"), how)
	}
	if !strings.HasPrefix(kind, "response.") {
		if o["output"] != nil || o["status"] != nil || o.Text("object") == "response" {
			return p.addResponse(r, o, "")
		}
		return nil // an event that tells nothing of the reply
	}
	return p.addItemEvent(r, kind, o)
}

// addItemEvent takes a piece of an item, or the whole of what came in pieces.
func (p *parser) addItemEvent(r *dialect.Reader, kind string, o dialect.Members) error {
	what, how, _ := strings.Cut(strings.TrimPrefix(kind, "response."), ".")
	if i := strings.LastIndexByte(how, '.'); i >= 0 {
		how = how[i+1:]
	}
	about := ref{
		index: o.Number("output_index"), id: o.Text("item_id"), callID: o.Text("call_id"),
		name: o.Text("name"), words: o.Text("arguments", "input"),
	}
	it := p.items.piece(about)
	if it == nil {
		it = p.items.begin(about.index)
		it.id = about.id
	}
	var text *parts
	var whole dialect.Text
	index := o.Number("content_index")
	switch what {
	case "output_text":
		text, whole = &it.text, o.Text("text")
	case "refusal":
		text, whole = &it.refusal, o.Text("refusal")
	case "reasoning_summary_text":
		text, whole, index = &it.summary, o.Text("text"), o.Number("summary_index")
	case "reasoning_text", "reasoning":
		text, whole = &it.summary, o.Text("text")
	case "function_call_arguments":
		whole = o.Text("arguments")
		it.name, it.callID = over(it.name, o.Text("name")), over(it.callID, o.Text("call_id"))
	case "custom_tool_call_input":
		whole = o.Text("input")
	default:
		return nil
	}
	r.Answered = true
	piece := string(o.Text("delta"))
	switch {
	case text != nil && how == "delta":
		text.add(index, piece)
	case text != nil && how == "done":
		text.end(index, string(whole))
	case how == "delta":
		it.arguments.add(piece)
	case how == "done":
		it.arguments.over(whole)
	}
	if len(it.arguments.text) > r.Limits.Arguments {
		return r.LongArguments(it.name)
	}
	p.show(r, it)
	return nil
}

// setItem takes an item as it begins or as it ends.
func (p *parser) setItem(r *dialect.Reader, index dialect.Number, o dialect.Members, how itemState) error {
	if o == nil {
		return nil
	}
	var whole item
	whole.set(o)
	it := p.items.find(ref{index, whole.id, whole.callID, whole.kind, whole.name, whole.words()}, how)
	if it == nil && how != begun {
		it = p.items.nameless()
	}
	if it == nil || how == begun && it.done {
		it = p.items.begin(index)
	}
	if !it.index.Set {
		it.index = index
	}
	it.done = it.done || how != begun
	it.set(o)
	if it.kind == "message" || strings.HasSuffix(it.kind, "_call") {
		r.Answered = true
	}
	if len(p.items.list) > dialect.MaxCalls {
		return &dialect.Fault{Kind: dialect.TooLong, Message: "too many items in one response"}
	}
	if len(it.arguments.text) > r.Limits.Arguments {
		return r.LongArguments(it.name)
	}
	p.show(r, it)
	return nil
}

// addResponse takes a response object. One at the end has the whole output.
func (p *parser) addResponse(r *dialect.Reader, o dialect.Members, kind string) error {
	r.SetID(o.Text("id"), o.Text("model"))
	if raw := o.Get("usage"); raw != nil {
		var u dialect.OpenAIUsage
		_ = u.UnmarshalJSON(raw) // it was decoded before
		r.SetUsage(u.Total())
	}
	status := string(o.Text("status"))
	switch {
	case kind == "response.failed", status == "failed", status == "cancelled":
		w, ok := o.ErrorObject(nil)
		if !ok {
			w = dialect.ErrorObject{Message: "the response has the status " + cmp.Or(status, "failed")}
		}
		return &dialect.Fault{Kind: dialect.Refused, Object: &w}
	case kind == "response.created", kind == "response.in_progress", kind == "response.queued":
		return nil
	}
	r.Ended = kind != ""
	how := final
	if len(p.items.list) == 0 {
		how = begun // there is nothing that it could be another sight of
	}
	for i, it := range o.Objects("output") {
		if err := p.setItem(r, dialect.Number{N: i, Set: true}, it, how); err != nil {
			return err
		}
	}
	switch reason := string(o.Object("incomplete_details").Text("reason")); {
	case reason != "":
		r.Finish, r.Answered = reason, true
	case status == "incomplete", kind == "response.incomplete":
		r.Finish, r.Answered = "max_output_tokens", true
	case status != "" && status != "in_progress" && status != "queued":
		r.Finish = status
	case kind == "response.completed":
		r.Finish = "completed"
	}
	return nil
}

// End puts the items into the reply, in the order of the output.
func (p *parser) End(r *dialect.Reader) {
	l := &p.items

	slices.SortStableFunc(l.list, func(x, y *item) int { return x.index.N - y.index.N })
	for _, it := range l.list {
		if it.isCall() {
			r.Calls = append(r.Calls, it.call())
			continue
		}
		r.Said.Add(dialect.Text(it.text.all.text))
		r.Refusal.Add(dialect.Text(it.refusal.all.text))
		r.Reasoning.Add(dialect.Text(it.summary.all.text))
	}
	r.Items = l.messages()
	r.Extra = l.back()
}

// isCall reports whether the item is a call of a tool of the client's.
func (it *item) isCall() bool {
	return it.kind == "function_call" || it.kind == "custom_tool_call" || it.kind == "" && it.name != ""
}

// named is the call that an item is, without its arguments.
func (it *item) named() *dialect.PendingCall {
	return &dialect.PendingCall{ID: string(over(it.id, it.callID)), Name: joinNamespace(string(it.namespace), string(it.name))}
}

// call is the call that an item is.
func (it *item) call() *dialect.PendingCall {
	c := it.named()
	c.Arguments.Add(dialect.Text(it.arguments.text))
	return c
}

// messages are the items, each as a message of its own; nil for dialects that
// have none.
func (l *items) messages() []dialect.Item {
	var out []dialect.Item
	for _, it := range l.list {
		m := harness.Message{Role: harness.RoleAssistant, Text: dialect.ToValid(it.text.all.text), Refusal: dialect.ToValid(it.refusal.all.text), Reasoning: dialect.ToValid(it.summary.all.text)}
		if it.name != "" {
			m.Calls = []harness.ToolCall{it.call().Whole()}
		}
		out = append(out, dialect.Item{ID: dialect.ToValid(string(it.id)), Message: m})
	}
	return out
}
