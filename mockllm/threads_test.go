// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

// threadClient sends what is new alone, as the tool runners of the current
// SDKs do.
type threadClient struct {
	t      *testing.T
	m      *mockllm.Mock
	last   string // id of the reply before
	stream bool
}

// body is the request with new messages; from is the reply to go on from.
func (c *threadClient) body(from string, messages ...string) string {
	thread := `"thread":{"type":"create"},"tools":[{"name":"get_weather","input_schema":{"type":"object"}},{"name":"list_cities","input_schema":{"type":"object"}}]`
	if from != "" {
		thread = fmt.Sprintf(`"thread":{"type":"continue","previous_message_id":%q}`, from)
	}
	return fmt.Sprintf(`{"model":"claude-sonnet-4-6","max_tokens":99,"stream":%v,%s,"messages":[%s]}`, c.stream, thread, strings.Join(messages, ","))
}

func (c *threadClient) ask(messages ...string) harness.Message {
	c.t.Helper()
	w := send(c.m, "/v1/messages", c.body(c.last, messages...))
	if w.Code != http.StatusOK {
		c.t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	said, _ := readMessages(c.t, c.stream, w.Body.String())
	_, rest, _ := strings.Cut(w.Body.String(), `"id":"msg_`)
	id, _, _ := strings.Cut(rest, `"`)
	c.last = "msg_" + id
	return said
}

// TestThreads plays a conversation that the endpoint holds.
func TestThreads(t *testing.T) {
	s := speakers()["anthropic"]
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprint(stream), func(t *testing.T) {
			m := scripted(t, twoPlaces(), nil)
			defer m.Close()
			c := &threadClient{t: t, m: m, stream: stream}
			said := c.ask(s.user("How is the weather?"))
			first := c.last
			said = c.ask(s.result(said.Calls, "sun", "rain"))
			c.ask(s.result(said.Calls, "Paris, Rome"))
			if said = c.ask(s.user("Thanks!")); said.Text != "You are welcome." {
				t.Errorf("last reply %+v", said)
			}
			if err := m.Err(); err != nil {
				t.Error(err)
			}
			checkJournal(t, m)
			if w := send(m, "/v1/messages", c.body(first, s.user("Again?"))); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "thread_already_continued") {
				t.Errorf("continued twice: %d %s", w.Code, w.Body)
			}
			m.Reset()
			if w := send(m, "/v1/messages", c.body(first, s.user("Again?"))); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "thread_not_found") {
				t.Errorf("after a reset: %d %s", w.Code, w.Body)
			}
		})
	}
}

// TestThreadAfterFault: what met a fault may be sent again, and what a fault
// made of a reply is what is held.
func TestThreadAfterFault(t *testing.T) {
	s := speakers()["anthropic"]
	for _, kind := range []fault.Kind{fault.RateLimit, fault.Cut, fault.BadArguments} {
		t.Run(string(kind), func(t *testing.T) {
			script := twoPlaces()
			script.Turns[0].Replies[1].Calls[0].Args = json.RawMessage(`{"country":"IT"}`)
			script.Turns[0].Replies[1].Faults = []mockllm.Fault{{Kind: kind}}
			m := scripted(t, script, nil)
			defer m.Close()
			c := &threadClient{t: t, m: m}
			said := c.ask(s.user("How is the weather?"))
			results := s.result(said.Calls, "sun", "rain")
			if kind != fault.BadArguments {
				func() {
					defer func() { _ = recover() }() // a connection that is cut
					send(m, "/v1/messages", c.body(c.last, results))
				}()
			}
			said = c.ask(results)
			if said = c.ask(s.result(said.Calls, "Rome")); said.Text != "Sunny in both." {
				t.Errorf("last reply %+v", said)
			}
			if err := m.Err(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestWarm: a request without room for a reply fills the cache; it is no call
// of the model, and the conversation begins after it.
func TestWarm(t *testing.T) {
	s := speakers()["anthropic"]
	m := scripted(t, twoPlaces(), nil)
	defer m.Close()
	for _, stream := range []bool{false, true} {
		body := strings.Replace(s.body(stream, []string{s.user("How is the weather?")}), `"max_tokens":2048`, `"max_tokens":0`, 1)
		w := send(m, "/v1/messages", strings.Replace(body, `"enabled","budget_tokens":1024`, `"disabled"`, 1))
		if w.Code != http.StatusOK {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
		if said, _ := readMessages(t, stream, w.Body.String()); said.Text != "" || said.Calls != nil || !strings.Contains(w.Body.String(), `"stop_reason":"max_tokens"`) {
			t.Errorf("answer %s", w.Body)
		}
	}
	w := send(m, "/v1/messages", s.body(false, []string{s.user("How is the weather?")}))
	if said, _ := readMessages(t, false, w.Body.String()); said.Text != "Let me look." {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	journal := m.Journal()
	if len(journal) != 3 || !journal[0].Kind.Outside() || journal[0].Usage.CompletionTokens != 0 || journal[2].Kind != harness.KindReply {
		t.Errorf("journal %+v", journal)
	}
}
