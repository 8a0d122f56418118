// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// TestKeepWire: with KeepWire, and not without, a transcript has the requests
// and answers of the model and the messages of servers as they were on the wire:
// in memory and by URL, whole and streamed, of mocks and of real ones.
func TestKeepWire(t *testing.T) {
	const mocked = `
scenario: s
servers: {WEATHER}
turns:
  - user: Paris?
    replies: [{calls: [{weather.get_weather: {location: Paris}}]}, {say: 21 degrees.}]
    expect: [{calls: [{weather.get_weather: {location: Paris}}]}]
`
	upstream := httptest.NewServer(callsThenSays("Paris", "21 degrees."))
	defer upstream.Close()
	server := mockmcp.NewServer(t, mockmcp.Script{Name: "weather", Tools: []mockmcp.Tool{{
		Name: "get_weather", Input: []byte(`{"type":"object","properties":{"location":{"type":"string"}}}`), Results: []mockmcp.Result{{Answer: func(*mockmcp.Call) (*mockmcp.Answer, error) { return &mockmcp.Answer{Text: "21"}, nil }}},
	}}})
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	live := run.Options{Mode: harness.ModeLive, BaseURL: upstream.URL + "/v1", APIKey: "the-live-key", Entries: run.Models("m"), Transport: transport}
	run.AllowLive(&live)
	tests := []struct {
		name, scenario string
		opts           run.Options
	}{
		{"in memory", mocked, run.Options{}},
		{"in memory, streamed", strings.Replace(mocked, "turns:", "model: {stream: true}\nturns:", 1), run.Options{}},
		{"by URL", mocked, run.Options{Subject: agent.Subject(nil), Foreign: true}},
		{"live", mocked, live},
		{"a real server", strings.Replace(mocked, "WEATHER", fmt.Sprintf("weather: {url: %q, transport: http}", server.URL), 1), run.Options{Subject: agent.Subject(nil)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.opts.Out, tt.opts.KeepWire = t.TempDir(), true
			d := detailOf(t, tt.scenario, tt.opts)
			if len(d.Wire) != 2 {
				t.Fatalf("%d requests were kept", len(d.Wire))
			}
			for i, x := range d.Wire {
				says := []string{"get_weather", "21 degrees."}[i]
				if x.Method != "POST" || !strings.HasSuffix(x.Path, "/chat/completions") || x.Status != 200 || x.BodySize != len(x.Body) || x.AnswerSize != len(x.Answer) {
					t.Errorf("request %d: %+v", i+1, x)
				}
				if !strings.Contains(x.Body, "Paris?") || !strings.Contains(x.Answer, says) || !strings.HasPrefix(x.AnswerHeaders["content-type"], "application/json") && !strings.Contains(x.Answer, "data: [DONE]") {
					t.Errorf("request %d:\n%s\n%v\n%s", i+1, x.Body, x.AnswerHeaders, x.Answer)
				}
				for name, value := range x.Headers {
					if strings.Contains(value, "rehearse-key") || name == "authorization" && strings.Contains(value, "Bearer r") {
						t.Errorf("header %s: %s", name, value)
					}
				}
			}
			asked, told := false, false
			for _, f := range d.Frames {
				asked = asked || f.In && f.Method == "tools/call" && strings.Contains(f.Body, `"Paris"`) && f.Server == "weather"
				told = told || !f.In && asked && strings.Contains(f.Body, "result") && strings.Contains(f.Body, "21")
			}
			if !asked || !told {
				t.Errorf("of %d messages none asks (%v) or none answers (%v)", len(d.Frames), asked, told)
			}
			tt.opts.Out, tt.opts.KeepWire = t.TempDir(), false
			if d := detailOf(t, tt.scenario, tt.opts); d.Wire != nil || d.Frames != nil {
				t.Errorf("without being asked %d requests and %d messages were kept", len(d.Wire), len(d.Frames))
			}
		})
	}
}

func detailOf(t *testing.T, scenario string, opts run.Options) trials.Detail {
	t.Helper()
	res := play(t, write(t, scenario), opts)
	if o := res.Records[0].Outcome; o != harness.OutcomePassed {
		t.Fatalf("outcome %s: %+v", o, res.Records[0].Cause)
	}
	d, err := trials.ReadDetail(res.Dir, res.Records[0])
	if err != nil {
		t.Fatal(err)
	}
	return d
}
