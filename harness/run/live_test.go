// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/mockllm"
)

const liveScenario = `
scenario: live
servers: {WEATHER}
turns:
  - user: Paris?
    expect:
      - calls: [{weather.get_weather: {location: Paris}}]
      - answer: {contains: ["21"]}
`

// playLive plays a scenario against an endpoint.
func playLive(t *testing.T, endpoint http.Handler, scenario string) trials.Record {
	t.Helper()
	return playLiveBy(t, nil, endpoint, scenario)
}

func playLiveBy(t *testing.T, subject harness.Subject, endpoint http.Handler, scenario string) trials.Record {
	t.Helper()
	upstream := httptest.NewServer(endpoint)
	defer upstream.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	opts := run.Options{
		Mode: harness.ModeLive, BaseURL: upstream.URL + "/v1/", APIKey: "secret", Entries: run.Models("m"), Transport: transport,
		Subject: subject,
	}
	run.AllowLive(&opts)
	return one(t, write(t, scenario), opts)
}

func callsThenSays(location, text string) *mockllm.Mock {
	return newMock(mockllm.Script{Replies: []mockllm.Reply{
		{Calls: []mockllm.Call{{Tool: "get_weather", Args: map[string]any{"location": location}}}},
		{Say: text},
	}}, nil)
}

func TestLivePasses(t *testing.T) {
	mock := callsThenSays("Paris", "21 degrees.")
	rec := playLive(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer secret" {
			t.Errorf("authorization %q", got)
		}
		mock.ServeHTTP(w, r)
	}), liveScenario)
	wants(t, rec, harness.OutcomePassed, "")
	if rec.Counts.ModelCalls != 2 || rec.Counts.ToolCalls != 1 || rec.Tokens.Total() == 0 || len(rec.Answered) != 1 {
		t.Errorf("record %+v", rec)
	}
	if c := rec.Trajectory[0]; c.Name() != "weather.get_weather" || !c.Executed || c.Turn != 1 || c.Reply != 1 {
		t.Errorf("trajectory %+v", rec.Trajectory)
	}
}

func TestLiveModelIsWrong(t *testing.T) {
	rec := playLive(t, callsThenSays("Lyon", "15 degrees."), liveScenario)
	wants(t, rec, harness.OutcomeFailed, trials.CauseExpectation, `want "Paris", got "Lyon"`)
}

func TestLiveEndpointIsWrong(t *testing.T) {
	tests := []struct {
		name     string
		endpoint http.HandlerFunc
		want     string
	}{
		{"server error", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(`{"error":{"message":"out of GPUs"}}`))
		}, "out of GPUs"},
		{"hangs up", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "no answer from http://127.0.0.1:"},
		{"no completion", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, "an HTML page"},
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/login", http.StatusFound)
		}, "the endpoint redirects to \"/login\" (HTTP 302): use that address (request"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec := playLive(t, tt.endpoint, liveScenario)
			wants(t, rec, harness.OutcomeError, trials.CauseEndpoint, tt.want)
		})
	}
}

// TestLiveStopExpected holds that an endpoint that says no does what the
// scenario wants of it, and nothing else.
func TestLiveStopExpected(t *testing.T) {
	const scenario = `
scenario: refused
turns:
  - user: Paris?
    expect: [{stops: STOP}]
`
	refuses := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(`{"error":{"message":"no"}}`))
		}
	}
	tests := []struct {
		name     string
		stop     string
		endpoint http.HandlerFunc
		want     harness.Outcome
		cause    trials.CauseKind
	}{
		{"as expected", "bad_request", refuses(http.StatusBadRequest), harness.OutcomePassed, ""},
		{"any", "error", refuses(http.StatusBadRequest), harness.OutcomePassed, ""},
		{"another", "bad_request", refuses(http.StatusUnauthorized), harness.OutcomeError, trials.CauseEndpoint},
		{"no answer", "error", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, harness.OutcomeError, trials.CauseEndpoint},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec := playLive(t, tt.endpoint, strings.Replace(scenario, "STOP", tt.stop, 1))
			wants(t, rec, tt.want, tt.cause)
		})
	}
}

// TestLiveNothingListens holds that an endpoint that is not there has not
// answered anything.
func TestLiveNothingListens(t *testing.T) {
	const nobody = "http://127.0.0.1:1/v1" // a port that no system gives away
	opts := run.Options{Mode: harness.ModeLive, BaseURL: nobody, Entries: run.Models("m")}
	run.AllowLive(&opts)
	rec := one(t, write(t, liveScenario), opts)
	wants(t, rec, harness.OutcomeError, trials.CauseEndpoint, "no connection to "+nobody+": connection refused (request ")
	if strings.Contains(rec.Cause.Message, "502") {
		t.Errorf("the cause is %s", rec.Cause.Message)
	}
}

func TestLiveRetries(t *testing.T) {
	mock, n := callsThenSays("Paris", "21 degrees."), 0
	rec := playLive(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 1 {
			w.Header().Set("Retry-After-Ms", "20")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		mock.ServeHTTP(w, r)
	}), liveScenario+"      - retries: {min: 1, max: 1, honoured: true}\n")
	wants(t, rec, harness.OutcomePassed, "")
}

func TestLiveLimit(t *testing.T) {
	rec := playLive(t, callsThenSays("Paris", "21"), strings.Replace(liveScenario, "turns:", "limits: {model_calls: 1}\nturns:", 1))
	wants(t, rec, harness.OutcomeFailed, trials.CauseLimits, "model_calls: 2, the limit is 1")
}

func TestLiveNeedsExpectations(t *testing.T) {
	rec := playLive(t, newMock(mockllm.Script{Replies: []mockllm.Reply{{Say: "hi"}}}, nil), `
scenario: nothing expected
conduct_only: true
turns: [{user: hi}]
`)
	wants(t, rec, harness.OutcomeSkipped, trials.CauseScenario, "has none")
}

// TestLiveHandsOn holds that path, query, headers and body arrive as the
// subject sent them, but for the key.
func TestLiveHandsOn(t *testing.T) {
	var got []string
	endpoint := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, strings.Join([]string{
			r.Method, r.URL.EscapedPath(), r.URL.RawQuery, r.Header.Get("Authorization"), r.Header.Get("X-Goog-Api-Key"), r.Header.Get("X-Team"), string(body),
		}, " "))
		_, _ = io.WriteString(w, `{"candidates":[{"content":{"parts":[{"text":"21"}]},"finishReason":"STOP"}]}`)
	})
	subject := harness.SubjectFunc(func(_ context.Context, env *harness.Env) (harness.Session, error) {
		root := strings.TrimSuffix(env.Endpoint.BaseURL, "/v1")
		return doing(func(ctx context.Context) error {
			for _, address := range []string{
				root + "/v1beta/models/a%2Fb%20c:generateContent?key=" + env.Endpoint.APIKey + "&x=%2F",
				root + "/v1/models/argo:gemini:generateContent",
			} {
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(`{"contents":[]}`))
				if err != nil {
					return err
				}
				req.Header.Set("X-Team", "a")
				client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
				res, err := client.Do(req)
				if err != nil {
					return err
				}
				res.Body.Close()
			}
			return nil
		}), nil
	})
	upstream := httptest.NewServer(endpoint)
	defer upstream.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	opts := run.Options{Mode: harness.ModeLive, BaseURL: upstream.URL + "/v1beta", APIKey: "real key", Entries: run.Models("m"), Transport: transport, Subject: subject}
	run.AllowLive(&opts)
	rec := one(t, write(t, "scenario: s\nturns: [{user: Go., expect: [{that: 'requests.size() == 2 && requests.all(r, r.dialect == \"gemini\") && requests[0].path == \"/v1beta/models/a/b c:generateContent\"'}]}]"), opts)
	wants(t, rec, harness.OutcomePassed, "")
	want := []string{
		`POST /v1beta/models/a%2Fb%20c:generateContent x=%2F&key=real+key   a {"contents":[]}`,
		`POST /v1/models/argo:gemini:generateContent   real key a {"contents":[]}`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("requests (-want +got):\n%s", d)
	}
}

// doing is a session that does one thing.
type doing func(ctx context.Context) error

func (s doing) Send(ctx context.Context, _ string) (*harness.TurnReport, error) {
	return &harness.TurnReport{Answer: "21"}, s(ctx)
}

func (doing) Close() error { return nil }
