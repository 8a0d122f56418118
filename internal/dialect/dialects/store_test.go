// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialects_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/responses"
)

func readResponses(t *testing.T, s *dialect.Store, body string) *responses.Request {
	t.Helper()
	r, _ := responses.Read([]byte(body), s)
	if r == nil {
		t.Fatalf("%s is no request", body)
	}
	return r
}

// told writes the messages of a request, one after the other.
func told(messages []harness.Message) string {
	var out []string
	for _, m := range messages {
		s := string(m.Role) + " " + m.Text + m.CallID
		if m.Reasoning != "" {
			s += "(" + m.Reasoning + ")"
		}
		for _, c := range m.Calls {
			s += fmt.Sprintf("%s=%s%s", c.ID, c.Name, c.Arguments)
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

// TestItemsRead holds that what a real endpoint said is told by the
// conversation afterwards, whatever it names its items and tools.
func TestItemsRead(t *testing.T) {
	var s dialect.Store
	s.Create(func(n int) string { return fmt.Sprint("conv_", n) }, nil, nil)
	const tools = `"tools":[{"type":"custom","name":"raw"},{"type":"namespace","name":"ns","tools":[{"type":"function","name":"f"}]}]`
	ask := func(input string) string {
		return `{"model":"m",` + tools + `,"conversation":"conv_1","input":` + input + `}`
	}
	call := func(id, name, args string) harness.Message {
		return harness.Message{Role: harness.RoleAssistant, Calls: []harness.ToolCall{{ID: id, Name: name, Arguments: args}}}
	}
	first := readResponses(t, &s, ask(`"Weather?"`))
	s.Extend("conv_1", first.Chat.Body(), first.Items, responses.ItemsRead(first, []dialect.Item{
		{ID: "7", Message: harness.Message{Role: harness.RoleAssistant, Reasoning: "hm"}},
		{Message: harness.Message{Role: harness.RoleAssistant, Text: "Look."}},
		{ID: "web", Message: harness.Message{Role: harness.RoleAssistant}},
		{ID: "uuid-1", Message: call("a", "ns__f", `{"x":1}`)},
		{ID: "uuid-2", Message: call("b", "raw", `no JSON`)},
		{ID: "uuid-3", Message: call("c", "odd name", `{`)},
	}))
	want := "user Weather?; assistant Look.(hm)a=ns__f{\"x\":1}b=rawno JSONc=odd name{; tool a; user Thanks."
	next := ask(`[{"type":"function_call_output","call_id":"a","output":""},{"role":"user","content":"Thanks."}]`)
	if got := told(readResponses(t, &s, next).Chat.Request().Messages); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := told(readResponses(t, &s, ask(`"Weather?"`)).Chat.Request().Messages); got != "user Weather?" {
		t.Errorf("the same request again tells %s", got)
	}
	if !s.DeleteItem("conv_1", "uuid-2") || s.DeleteItem("conv_1", "uuid-2") {
		t.Error("an item is deleted once")
	}
	want = strings.Replace(want, "b=rawno JSON", "", 1)
	if got := told(readResponses(t, &s, next).Chat.Request().Messages); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s.Delete("conv_1")
	if got := told(readResponses(t, &s, next).Chat.Request().Messages); got != "tool a; user Thanks." {
		t.Errorf("a conversation that is not known: %s", got)
	}
}

// TestPassed holds that what an endpoint said while somebody looked on is told
// afterwards, by the id of the response and by its conversation; and that nothing
// is held of an answer without items.
func TestPassed(t *testing.T) {
	var s dialect.Store
	said := harness.Message{Role: harness.RoleAssistant, Text: "Sunny."}
	ask := func(more string) *responses.Request {
		return readResponses(t, &s, `{"model":"m",`+more+`}`)
	}
	ask(`"conversation":"conv_1","input":"Rain?"`).Passed(dialect.Received{ID: "resp_1", Message: said}, &s)
	if _, ok := s.Response("resp_1"); ok {
		t.Error("an answer without items is held")
	}
	ask(`"conversation":"conv_1","input":"Weather?"`).Passed(dialect.Received{
		ID: "resp_2", Message: said, Items: []dialect.Item{{ID: "msg_1", Message: said}},
	}, &s)
	const want = "user Weather?; assistant Sunny.; user Thanks."
	for _, before := range []string{`"previous_response_id":"resp_2"`, `"conversation":"conv_1"`} {
		if got := told(ask(before + `,"input":"Thanks."`).Chat.Request().Messages); got != want {
			t.Errorf("%s tells %s, want %s", before, got, want)
		}
	}
}

// TestListed holds that a conversation is as the endpoint lists it, one that
// nobody knew of and one that was known in part.
func TestListed(t *testing.T) {
	var s dialect.Store
	item := func(text string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"type":"message","role":"user","content":%q}`, text))
	}
	for _, items := range [][]json.RawMessage{{item("a")}, {item("a"), item("b")}} {
		s.Listed("conv_1", items)
		if got, ok := s.Conversation("conv_1", nil); !ok || len(got) != len(items) {
			t.Errorf("of %d items, %d are held", len(items), len(got))
		}
	}
}

// TestStoreForgets holds that the oldest are forgotten first, and nothing
// without a bound.
func TestStoreForgets(t *testing.T) {
	for _, tt := range []struct {
		bytes int
		want  []bool
	}{{0, []bool{true, true, true}}, {250, []bool{false, true, true}}, {1, []bool{false, false, true}}} {
		s := dialect.Store{Bytes: tt.bytes}
		var responses, threads []bool
		for i := range 3 {
			id := fmt.Sprint(i)
			s.Keep(&dialect.Response{ID: id, Size: 100, Items: []dialect.Item{{ID: "item " + id}}})
			s.KeepThread(id, "", make([]byte, 60), dialect.Thread{Messages: []json.RawMessage{make([]byte, 30)}}, json.RawMessage(`{"role":"assistant","content":[{"type":"text","text":"a"}]}`))
		}
		for i := range 3 {
			_, ok := s.Response(fmt.Sprint(i))
			_, item := s.Item(fmt.Sprint("item ", i))
			if ok != item {
				t.Errorf("%d bytes: response %d is held %v, its item %v", tt.bytes, i, ok, item)
			}
			_, thread := s.Thread(fmt.Sprint(i))
			responses, threads = append(responses, ok), append(threads, thread)
		}
		if d := cmp.Diff(tt.want, responses); d != "" {
			t.Errorf("%d bytes, responses (-want +got):\n%s", tt.bytes, d)
		}
		if tt.bytes != 250 {
			if d := cmp.Diff(tt.want, threads); d != "" {
				t.Errorf("%d bytes, threads (-want +got):\n%s", tt.bytes, d)
			}
		}
	}
}
