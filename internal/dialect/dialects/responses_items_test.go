// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialects

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/responses"
)

// numbering is how an endpoint numbers the items of a response.
type numbering struct {
	name string
	of   func(n int) string // the member for the item n
}

func numberings() []numbering {
	plus := func(d int) func(int) string {
		return func(n int) string { return fmt.Sprintf(`"output_index":%d,`, max(0, n+d)) }
	}
	return []numbering{
		{"right", plus(0)},
		{"one less", plus(-1)},
		{"one more", plus(1)},
		{"all 0", func(int) string { return `"output_index":0,` }},
		{"none", func(int) string { return "" }},
	}
}

// numbered is the stream of a text and two calls, whose items are numbered one
// way until they end and another way from then on.
type numbered struct {
	begins, ends           numbering
	ids                    string // what the calls have of ids
	interleaved, wholeLast bool
}

const (
	itemIDs = "ids"
	callIDs = "call ids alone"
	sameIDs = "the same ids"
	noIDs   = "no ids"
)

func (s numbered) String() string {
	return fmt.Sprintf("%s then %s, %s, interleaved %v, whole %v", s.begins.name, s.ends.name, s.ids, s.interleaved, s.wholeLast)
}

// id is the call_id of a call.
func (s numbered) id(call string) string {
	switch s.ids {
	case sameIDs:
		return "call_A"
	case noIDs:
		return ""
	}
	return "call_" + call
}

func (s numbered) body() string {
	const message = `{"type":"message","id":"msg_1","role":"assistant","content":[%s]}`
	const text = `{"type":"output_text","text":"hm"}`
	itemID := func(id string) string {
		if s.ids == callIDs {
			return ""
		}
		return strings.ReplaceAll(s.id(id), "call", "fc")
	}
	call := func(id, arguments string) string {
		return fmt.Sprintf(`{"type":"function_call","id":%q,"call_id":%q,"name":"note","arguments":%q}`, itemID(id), s.id(id), arguments)
	}
	about := func(id string) string {
		if s.ids == callIDs {
			return fmt.Sprintf(`"call_id":%q,`, s.id(id))
		}
		return fmt.Sprintf(`"item_id":%q,`, itemID(id))
	}
	begin := func(n int, id, arguments string) []string {
		return []string{
			fmt.Sprintf(`{"type":"response.output_item.added",%s"item":%s}`, s.begins.of(n), call(id, "")),
			fmt.Sprintf(`{"type":"response.function_call_arguments.delta",%s%s"delta":%q}`, s.begins.of(n), about(id), arguments),
		}
	}
	end := func(n int, id, arguments string) []string {
		return []string{
			fmt.Sprintf(`{"type":"response.function_call_arguments.done",%s%s"arguments":%q}`, s.ends.of(n), about(id), arguments),
			fmt.Sprintf(`{"type":"response.output_item.done",%s"item":%s}`, s.ends.of(n), call(id, arguments)),
		}
	}
	docs := []string{
		fmt.Sprintf(`{"type":"response.output_item.added",%s"item":%s}`, s.begins.of(0), fmt.Sprintf(message, "")),
		fmt.Sprintf(`{"type":"response.output_text.delta",%s"item_id":"msg_1","content_index":0,"delta":"hm"}`, s.begins.of(0)),
		fmt.Sprintf(`{"type":"response.output_item.done",%s"item":%s}`, s.ends.of(0), fmt.Sprintf(message, text)),
	}
	const x, y = `{"text":"x"}`, `{"text":"y"}`
	if s.interleaved {
		docs = append(docs, append(begin(1, "A", x), begin(2, "B", y)...)...)
		docs = append(docs, append(end(1, "A", x), end(2, "B", y)...)...)
	} else {
		docs = append(docs, append(begin(1, "A", x), end(1, "A", x)...)...)
		docs = append(docs, append(begin(2, "B", y), end(2, "B", y)...)...)
	}
	var output []string
	if s.wholeLast {
		output = []string{fmt.Sprintf(message, text), call("A", x), call("B", y)}
	}
	return stream(append(docs, fmt.Sprintf(`{"type":"response.completed","response":{"status":"completed","output":[%s]}}`, strings.Join(output, ",")))...)
}

// TestItemsNumberedAnew holds that the ids tell an item, and what came of it where
// they do not: endpoints number the same one differently where it begins, where
// it ends and in the output.
func TestItemsNumberedAnew(t *testing.T) {
	var streams []numbered
	for bits := range 4 {
		for _, begins := range numberings() {
			for _, ends := range numberings() {
				for _, ids := range []string{itemIDs, callIDs} {
					streams = append(streams, numbered{begins, ends, ids, bits&1 > 0, bits&2 > 0})
				}
			}
		}
		// argo-proxy 3.1, beside a text, with calls that it was given so
		before, after := numberings()[1], numberings()[0]
		streams = append(streams, numbered{before, after, sameIDs, bits&1 > 0, bits&2 > 0}, numbered{before, after, noIDs, bits&1 > 0, bits&2 > 0})
	}
	for _, s := range streams {
		t.Run(s.String(), func(t *testing.T) {
			got, err := dialect.ReadAll(responses.Dialect, nil, []byte(s.body()), nil, dialect.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			want := harness.Message{Role: harness.RoleAssistant, Text: "hm", Calls: []harness.ToolCall{
				aCall(s.id("A"), "note", `{"text":"x"}`), aCall(s.id("B"), "note", `{"text":"y"}`),
			}}
			if d := cmp.Diff(want, got.Message); d != "" {
				t.Errorf("message (-want +got):\n%s\n%s", d, s.body())
			}
		})
	}
}

// TestPartsOfItems holds that the end of a part is no end of the text: an item may
// have several parts, and no event with the whole of it.
func TestPartsOfItems(t *testing.T) {
	// A piece, or the end, of the part that an endpoint numbers n, or of one
	// without a number.
	event := func(what, index, n, member, text string) string {
		if n != "" {
			n = fmt.Sprintf(`,%q:%s`, index, n)
		}
		how := map[string]string{"delta": "delta"}[member]
		if how == "" {
			how = "done"
		}
		return fmt.Sprintf(`{"type":"response.%s.%s","item_id":"i","output_index":0%s,%q:%q}`, what, how, n, member, text)
	}
	for _, kind := range []struct {
		what, index, whole string
		of                 func(harness.Message) string
	}{
		{"output_text", "content_index", "text", func(m harness.Message) string { return m.Text }},
		{"refusal", "content_index", "refusal", func(m harness.Message) string { return m.Refusal }},
		{"reasoning_text", "content_index", "text", func(m harness.Message) string { return m.Reasoning }},
		{"reasoning_summary_text", "summary_index", "text", func(m harness.Message) string { return m.Reasoning }},
	} {
		piece := func(n, text string) string { return event(kind.what, kind.index, n, "delta", text) }
		end := func(n, text string) string { return event(kind.what, kind.index, n, kind.whole, text) }
		for name, events := range map[string][]string{
			"one part":             {piece("0", "he"), piece("0", "llo"), end("0", "hello")},
			"one that is replaced": {piece("0", "hell"), end("0", "hello"), end("0", "hello")},
			"two parts":            {piece("0", "h"), piece("0", "el"), end("0", "hel"), piece("1", "l"), piece("1", "o"), end("1", "lo")},
			"numbered 0":           {piece("0", "hel"), end("0", "hel"), piece("0", "lo"), end("0", "lo")},
			"without numbers":      {piece("", "he"), piece("", "l"), end("", "hel"), piece("", "lo"), end("", "lo")},
			"without pieces":       {end("0", "hel"), end("1", "lo")},
			"without ends":         {piece("0", "hel"), piece("1", "lo")},
			"that end together":    {piece("0", "he"), piece("1", "l"), end("0", "hel"), end("1", "lo")},
			"that end empty":       {piece("0", "hel"), end("0", ""), piece("1", "lo"), end("1", "")},
		} {
			body := stream(append(events, `{"type":"response.completed","response":{"status":"completed","output":[]}}`)...)
			got, err := dialect.ReadAll(responses.Dialect, nil, []byte(body), nil, dialect.Limits{})
			if err != nil || kind.of(got.Message) != "hello" {
				t.Errorf("%s, %s: %+v, %v\n%s", kind.what, name, got.Message, err, body)
			}
		}
	}
}
