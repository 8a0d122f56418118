// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/internal/subjects"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// quickClock never waits and remembers what it was asked to.
type quickClock struct {
	harness.Clock
	mu    sync.Mutex
	now   time.Time
	slept []time.Duration
}

func (c *quickClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *quickClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.slept = append(c.slept, d)
	return context.Cause(ctx)
}

// weatherServer is a server with one tool, in this process.
func weatherServer(t *testing.T) *mockmcp.Server {
	t.Helper()
	s, err := mockmcp.New(mockmcp.Script{Name: "weather", Tools: []mockmcp.Tool{{
		Name: "get_weather",
		Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) {
			return &mockmcp.Answer{Text: "sunny"}, nil
		},
	}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// mockEnv is an environment of mocks.
func mockEnv(t *testing.T, replies ...mockllm.Reply) (*harness.Env, *mockllm.Mock) {
	t.Helper()
	llm := newMock(t, mockllm.Script{Replies: replies}, nil)
	t.Cleanup(llm.Close)
	return &harness.Env{
		Mode:     harness.ModeMock,
		Endpoint: harness.Endpoint{BaseURL: llm.URL, APIKey: "none", Model: "gpt-5", Transport: llm.Transport()},
		Servers:  []harness.Server{{Name: "weather", Dial: weatherServer(t).Dial}},
		Clock:    &quickClock{Clock: harness.SystemClock(), now: time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)},
	}, llm
}

func send(t *testing.T, env *harness.Env, cfg *Config, text string) (*harness.TurnReport, error) {
	t.Helper()
	session, err := Subject(cfg).Open(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := session.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	}()
	report, err := session.Send(t.Context(), text)
	if report == nil {
		t.Fatal("no report")
	}
	for i := range report.Calls {
		report.Calls[i].Duration = 0
	}
	return report, err
}

func TestSubject(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		t.Run(map[bool]string{false: "plain", true: "stream"}[streaming], func(t *testing.T) {
			env, llm := mockEnv(t,
				mockllm.Reply{
					Calls:  []mockllm.Call{{Tool: "get_weather", Args: json.RawMessage(`{"city":"Paris"}`)}},
					Faults: []mockllm.Fault{{Kind: mockllm.RateLimit, RetryAfter: 5 * time.Second}},
				},
				mockllm.Reply{Say: "Sunny."})
			env.Settings = harness.Settings{System: "Be brief.", Stream: streaming}
			report, err := send(t, env, nil, "Weather in Paris?")
			if err != nil {
				t.Fatal(err)
			}
			id := llm.Journal()[1].Answer.Calls[0].ID
			want := &harness.TurnReport{
				User: "Weather in Paris?", Answer: "Sunny.", ModelCalls: 2,
				Calls: []harness.ReportedCall{{ID: id, Server: "weather", Tool: "get_weather", Arguments: `{"city":"Paris"}`, Result: "sunny"}},
			}
			if len(report.Notes) != 1 || !strings.Contains(report.Notes[0], "retried after 5s: rate_limit (HTTP 429)") {
				t.Errorf("notes: got %q", report.Notes)
			}
			if report.Usage.TotalTokens == 0 {
				t.Error("no usage")
			}
			report.Notes, report.Usage = nil, harness.Usage{}
			if diff := cmp.Diff(want, report); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]time.Duration{5 * time.Second}, env.Clock.(*quickClock).slept); diff != "" {
				t.Errorf("waits (-want +got):\n%s", diff)
			}
			if err := llm.Err(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSubjectMiss has a request that nobody scripted: asked once, and told
// whole.
func TestSubjectMiss(t *testing.T) {
	env, llm := mockEnv(t)
	report, err := send(t, env, nil, "hi")
	var e *model.Error
	var endpoint *harness.EndpointError
	if !errors.As(err, &e) || e.Kind != model.KindMiss || errors.As(err, &endpoint) {
		t.Fatalf("got %v", err)
	}
	if n := len(llm.Journal()); n != 1 {
		t.Errorf("asked %d times, want once", n)
	}
	if why := llm.Journal()[0].Error; !strings.Contains(report.Error, why) || why == "" {
		t.Errorf("the report says\n%s\nand not all of\n%s", report.Error, why)
	}
}

func TestSubjectStops(t *testing.T) {
	env, _ := mockEnv(t, mockllm.Reply{Calls: []mockllm.Call{{Tool: "get_weather"}}})
	env.Settings.MaxModelCalls = 1
	report, err := send(t, env, nil, "hi")
	var stop *harness.StopError
	if !errors.As(err, &stop) || stop.Reason != harness.StopModelCalls || report.Stop != harness.StopModelCalls || report.Error == "" {
		t.Errorf("got %v and %+v", err, report)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestBlame(t *testing.T) {
	env, _ := mockEnv(t)
	env.Endpoint.Transport = roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("no route") })
	_, err := send(t, env, nil, "hi")
	var endpoint *harness.EndpointError
	if !errors.As(err, &endpoint) || endpoint.Status != 0 || !strings.Contains(err.Error(), "no route (after 3 attempts)") {
		t.Errorf("unreachable: got %v", err)
	}
	for _, tc := range []struct {
		name string
		err  error
		want bool // the endpoint's fault
	}{
		{"rate limit", &model.Error{Kind: model.KindRateLimit, Status: 429}, true},
		{"cut stream", &model.Error{Kind: model.KindCutStream}, true},
		{"key refused", &model.Error{Kind: model.KindAuth, Status: 401}, true},
		{"bad request", &model.Error{Kind: model.KindBadRequest, Status: 400}, false},
		{"miss", &model.Error{Kind: model.KindMiss, Status: 422}, false},
		{"a stop after an endpoint error", &harness.StopError{Err: &model.Error{Kind: model.KindServer}}, false},
		{"cancelled", context.Canceled, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var endpoint *harness.EndpointError
			if got := errors.As(blame(tc.err), &endpoint); got != tc.want {
				t.Errorf("endpoint's fault: got %v", got)
			}
		})
	}
}

func TestSubjectSettings(t *testing.T) {
	for _, tc := range []struct {
		name  string
		extra map[string]any
		want  string // of the error
	}{
		{"known", map[string]any{"max_result_bytes": 10, "max_repeats": int64(2), "tool_concurrency": 1.0, "recover_leaked_calls": true, "send_reasoning": false, "open_end": true, "error_objects": true, "select_tools": 6, "connection_per_call": true}, ""},
		{"times", map[string]any{"tool_timeout": "3m", "tool_time_limit": "1m", "connect_timeout": "500ms", "discover_timeout": "1s", "close_grace": "1s"}, ""},
		{"not a time", map[string]any{"tool_timeout": 5}, `subject setting "tool_timeout" is 5; want a duration such as 30s`},
		{"no time at all", map[string]any{"close_grace": "0s"}, `want a duration such as 30s`},
		{"unknown", map[string]any{"max_result_byte": 10}, `unknown subject setting "max_result_byte"; the agent knows ` + strings.Join(subjects.AgentSettings(), ", ")},
		{"not whole", map[string]any{"max_repeats": 1.5}, `subject setting "max_repeats" is 1.5; want a whole number`},
		{"nothing", map[string]any{"max_repeats": nil}, "want a whole number"},
		{"not a bool", map[string]any{"open_end": "yes"}, "want true or false"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			env, _ := mockEnv(t)
			env.Settings.Extra = tc.extra
			session, err := Subject(nil).Open(t.Context(), env)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if err == nil {
				if err := session.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestConfigFile has a scenario that hands its servers over as a file.
func TestConfigFile(t *testing.T) {
	server := mockmcp.NewServer(t, mockmcp.Script{Name: "weather", Tools: []mockmcp.Tool{{Name: "from_file", Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) {
		return &mockmcp.Answer{Text: "ok"}, nil
	}}}})
	env, llm := mockEnv(t, mockllm.Reply{Say: "hi"})
	env.ConfigFile = filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(env.ConfigFile, []byte(`{"mcpServers": {"weather": {"url": "`+server.URL+`"}}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := send(t, env, nil, "hi"); err != nil {
		t.Fatal(err)
	}
	offered := llm.Journal()[0].Request.Tools
	if !slices.ContainsFunc(offered, func(o harness.Tool) bool { return o.Name == "from_file" }) {
		t.Errorf("offered: %+v", offered)
	}
}

func TestServerCannotBeOpened(t *testing.T) {
	env, _ := mockEnv(t)
	env.Servers = append(env.Servers, harness.Server{Name: "gone", Command: []string{filepath.Join(t.TempDir(), "no-such-program")}})
	_, err := Subject(nil).Open(t.Context(), env)
	var endpoint *harness.EndpointError
	if !errors.As(err, &endpoint) || !strings.Contains(err.Error(), "gone") {
		t.Errorf("got %v", err)
	}
}

// newMock is a mock model without a socket.
func newMock(t testing.TB, script mockllm.Script, opts *mockllm.Options) *mockllm.Mock {
	t.Helper()
	m, err := mockllm.New(script, opts)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestSubjectAsks: each dialect is asked at its own path, and chat completions
// where none is named.
func TestSubjectAsks(t *testing.T) {
	info, ok := Subject(nil).(harness.SubjectInfo)
	if !ok {
		t.Fatal("it does not say what it asks")
	}
	for dialect, want := range map[string]string{
		"": "/v1/chat/completions", "chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages",
		"gemini": "/v1beta/models/any:generateContent",
	} {
		if got := info.Asks(dialect); got != want {
			t.Errorf("asks %q at %q, want %q", dialect, got, want)
		}
	}
}
