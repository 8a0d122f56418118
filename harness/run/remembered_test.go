// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/mockllm"
)

// remembered is a client that sends only what is new: the endpoint holds the
// rest. Its way is previous (OpenAI's previous_response_id), conversation
// (OpenAI's conversations) or thread (Anthropic's).
type remembered struct {
	way    string
	stream bool
	eager  bool // goes on at the last event of a stream
}

type rememberer struct {
	remembered
	loop         *looper
	last         string // id of the reply before
	conversation string
	open         []io.Closer
}

func (s remembered) Open(ctx context.Context, env *harness.Env) (harness.Session, error) {
	session, err := loop{}.Open(ctx, env)
	if err != nil {
		return nil, err
	}
	return &rememberer{remembered: s, loop: session.(*looper)}, nil
}

func (s *rememberer) Close() error {
	for _, body := range s.open {
		body.Close()
	}
	return s.loop.Close()
}

// do sends a request and returns the answer.
func (s *rememberer) do(ctx context.Context, method, path string, body tree) (tree, string, error) {
	var in io.Reader
	if body != nil {
		in = bytes.NewReader(encoded(body))
	}
	req, err := http.NewRequestWithContext(ctx, method, s.loop.env.Endpoint.BaseURL+path, in)
	if err != nil {
		return nil, "", err
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {"k"}, "Anthropic-Version": {"2023-06-01"}, "Authorization": {"Bearer k"}}
	res, err := s.loop.client.Do(req)
	if err != nil {
		return nil, "", &harness.EndpointError{Err: err}
	}
	var text []byte
	if s.eager && strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		s.open = append(s.open, res.Body)
		lines := bufio.NewReader(res.Body)
		for err == nil && !bytes.Contains(text, []byte(`"type":"response.completed"`)) && !bytes.Contains(text, []byte(`"type":"message_stop"`)) {
			var line []byte
			line, err = lines.ReadBytes('\n')
			text = append(text, line...)
		}
	} else {
		defer res.Body.Close()
		text, err = io.ReadAll(res.Body)
	}
	if err != nil || res.StatusCode != http.StatusOK {
		return nil, "", fmt.Errorf("%s %s: %d %s (%w)", method, path, res.StatusCode, text, err)
	}
	if !strings.HasPrefix(string(text), "{") {
		return nil, string(text), nil
	}
	v, err := decoded(text)
	if err != nil {
		return nil, "", err
	}
	return v.(tree), string(text), nil
}

// begin makes a conversation of an instruction and a message that is deleted.
func (s *rememberer) begin(ctx context.Context) error {
	made, _, err := s.do(ctx, http.MethodPost, "/conversations", tree{"items": []any{tree{"type": "message", "role": "developer", "content": "Be brief."}}})
	if err != nil {
		return err
	}
	s.conversation = made["id"].(string)
	at := "/conversations/" + s.conversation + "/items"
	for _, text := range []string{"Wrong.", "I like maps."} {
		if _, _, err := s.do(ctx, http.MethodPost, at, tree{"items": []any{tree{"type": "message", "role": "developer", "content": text}}}); err != nil {
			return err
		}
	}
	page, _, err := s.do(ctx, http.MethodGet, at, nil) // the latest first
	if err != nil {
		return err
	}
	_, _, err = s.do(ctx, http.MethodDelete, at+"/"+page["data"].([]any)[1].(tree)["id"].(string), nil)
	return err
}

func (s *rememberer) Send(ctx context.Context, text string) (*harness.TurnReport, error) {
	if s.way == "conversation" && s.conversation == "" {
		if err := s.begin(ctx); err != nil {
			return nil, err
		}
	}
	report := &harness.TurnReport{}
	news := any(text)
	if s.way == "thread" {
		news = []any{tree{"role": "user", "content": text}}
	}
	dialect := "responses"
	if s.way == "thread" {
		dialect = "messages"
	}
	for {
		report.ModelCalls++
		_, raw, err := s.do(ctx, http.MethodPost, "/"+dialect, s.body(news))
		if err != nil {
			return report, err
		}
		_, rest, _ := strings.Cut(raw, `"id":"`)
		s.last, _, _ = strings.Cut(rest, `"`)
		reply := &said{}
		if err := (&spoke{speaker: speaker{dialect: dialect}}).read(reply, bytes.TrimSpace([]byte(raw))); err != nil {
			return report, err
		}
		if len(reply.calls) == 0 {
			report.Answer = reply.text
			return report, nil
		}
		var results []any
		for i, c := range reply.calls {
			var tc toolCall
			tc.Function.Name, tc.Function.Arguments = c.name, c.arguments
			result := s.loop.execute(i, tc)
			report.Calls = append(report.Calls, harness.ReportedCall{ID: c.id, Tool: c.name, Arguments: c.arguments, Result: result})
			if s.way == "thread" {
				results = append(results, tree{"type": "tool_result", "tool_use_id": c.id, "content": result})
			} else {
				results = append(results, tree{"type": "function_call_output", "call_id": c.id, "output": result})
			}
		}
		if news = any(results); s.way == "thread" {
			news = []any{tree{"role": "user", "content": results}}
		}
	}
}

// body is a request that brings what is new.
func (s *rememberer) body(news any) tree {
	var tools []any
	for _, t := range s.loop.tools {
		f := t.(map[string]any)["function"].(map[string]any)
		if s.way == "thread" {
			tools = append(tools, tree{"name": f["name"], "description": f["description"], "input_schema": f["parameters"]})
		} else {
			tools = append(tools, tree{"type": "function", "name": f["name"], "description": f["description"], "parameters": f["parameters"], "strict": false})
		}
	}
	body := tree{"model": s.loop.env.Endpoint.Model, "stream": s.stream}
	switch s.way {
	case "thread":
		body["max_tokens"], body["messages"] = 100, news
		if s.last != "" {
			body["thread"] = tree{"type": "continue", "previous_message_id": s.last}
			return body
		}
		body["thread"], body["system"] = tree{"type": "create"}, "Be brief."
	case "conversation":
		body["input"], body["conversation"] = news, s.conversation
	case "previous":
		body["input"], body["instructions"] = news, "Be brief."
		if s.last != "" {
			body["previous_response_id"] = s.last
		}
	}
	body["tools"] = tools
	return body
}

const rememberedScenario = `
scenario: remembered
servers: {WEATHER}
turns:
  - user: Paris?
    replies:
      - say: Let me look.
        reasoning: Where is it?
        calls: [{weather.get_weather: {location: Paris}}]
      - calls: [{weather.get_weather: {location: Rome}}, {weather.get_weather: {location: Oslo}}]
      - say: Sunny.
    expect:
      - calls: [{weather.get_weather: {location: Paris}}, {weather.get_weather: {location: Rome}}, {weather.get_weather: {location: Oslo}}]
  - user: Thanks!
    replies: [{say: Welcome.}]
    expect:
      - that: requests[0].messages.map(m, m.role) == ["user", "assistant", "tool", "assistant", "tool", "tool", "assistant", "user"]
      - that: requests[0].messages.filter(m, m.role != "tool" && m.text != "").map(m, m.text) == ["Paris?", "Let me look.", "Sunny.", "Thanks!"]
      - that: requests[0].messages.map(m, m.calls.size()).filter(n, n > 0) == [1, 2]
      - that: requests[0].system == "TEXTS"
      - that: requests[0].tools.exists(t, t.name.contains("get_weather"))
`

// TestRemembered holds that the journal has the whole conversation in every
// mode where the endpoint holds it and the client sends only what is new.
func TestRemembered(t *testing.T) {
	for _, way := range []string{"previous", "conversation", "thread"} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stream %v", way, stream), func(t *testing.T) {
				texts := "Be brief."
				if way == "conversation" {
					texts = `Be brief.\nI like maps.`
				}
				list := write(t, strings.NewReplacer("TEXTS", texts).Replace(rememberedScenario))
				subject := remembered{way: way, stream: stream}
				call := func(place string) mockllm.Call {
					return mockllm.Call{Tool: "get_weather", Args: map[string]any{"location": place}}
				}
				r := recording{list: list, endpoint: func() http.Handler {
					return newMock(mockllm.Script{Turns: []mockllm.Turn{{Replies: []mockllm.Reply{
						{Say: "Let me look.", Reasoning: "Where is it?", Calls: []mockllm.Call{call("Paris")}},
						{Calls: []mockllm.Call{call("Rome"), call("Oslo")}},
						{Say: "Sunny."},
					}}, {Replies: []mockllm.Reply{{Say: "Welcome."}}}}}, nil)
				}}
				r.opts.Subject = subject
				mock := r.opts
				mock.Transport = noNetwork(t)
				wants(t, one(t, list, mock), harness.OutcomePassed, "")
				wants(t, only(t, r.record(t)), harness.OutcomePassed, "")
				wants(t, only(t, r.replay(t, list)), harness.OutcomePassed, "")
			})
		}
	}
}

// TestRememberedBeforeTheEnd holds that a request finds what the reply before
// it said, also while the endpoint has not ended that reply: a client that has
// read the last event does not wait for the end of the connection.
func TestRememberedBeforeTheEnd(t *testing.T) {
	for _, way := range []string{"previous", "conversation", "thread"} {
		t.Run(way, func(t *testing.T) {
			texts := "Be brief."
			if way == "conversation" {
				texts = `Be brief.\nI like maps.`
			}
			list := write(t, strings.NewReplacer("TEXTS", texts).Replace(`
scenario: early
servers: {WEATHER}
turns:
  - user: Paris?
    expect:
      - that: requests[1].messages.filter(m, m.role != "tool" && m.text != "").map(m, m.text) == ["Paris?"]
      - that: requests[1].system == "TEXTS"
      - that: requests[1].messages.exists(m, m.calls.size() == 1)
`))
			mock := newMock(mockllm.Script{Replies: []mockllm.Reply{
				{Calls: []mockllm.Call{{Tool: "get_weather", Args: map[string]any{"location": "Paris"}}}}, {Say: "Sunny."},
			}}, nil)
			calls := 0
			next := make(chan struct{})
			upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				model := strings.HasSuffix(r.URL.Path, "/responses") || strings.HasSuffix(r.URL.Path, "/messages")
				if model {
					if calls++; calls == 2 {
						close(next)
					}
				}
				first := model && calls == 1
				mock.ServeHTTP(w, r)
				if first {
					_ = http.NewResponseController(w).Flush()
					<-next // the second request comes before the first answer ends
				}
			}))
			defer upstream.Close()
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			opts := run.Options{Mode: harness.ModeLive, BaseURL: upstream.URL + "/v1", Entries: run.Models("m"), Transport: transport, Subject: remembered{way: way, stream: true, eager: true}}
			run.AllowLive(&opts)
			wants(t, one(t, list, opts), harness.OutcomePassed, "")
		})
	}
}
