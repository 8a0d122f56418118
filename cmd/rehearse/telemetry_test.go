// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
)

// collector is an OTLP collector over HTTP.
type collector struct {
	*httptest.Server
	status int // of its answers; 0 means 200

	mu  sync.Mutex // guards got
	got []string   // names of services, spans and metrics
	raw strings.Builder
}

func newCollector() *collector {
	c := &collector{}
	c.Server = httptest.NewServer(c)
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		body, _ = gzip.NewReader(r.Body)
	}
	data, err := io.ReadAll(body)
	if err == nil && c.status != 0 {
		w.WriteHeader(c.status)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Write(data)
	if r.URL.Path == "/v1/traces" {
		var req tracepb.ExportTraceServiceRequest
		err = proto.Unmarshal(data, &req)
		for _, res := range req.ResourceSpans {
			for _, scope := range res.ScopeSpans {
				for _, span := range scope.Spans {
					c.got = append(c.got, "span "+span.Name)
				}
			}
			for _, a := range res.Resource.Attributes {
				if a.Key == "service.name" {
					c.got = append(c.got, "service "+a.Value.GetStringValue())
				}
			}
		}
	} else {
		var req metricspb.ExportMetricsServiceRequest
		err = proto.Unmarshal(data, &req)
		for _, res := range req.ResourceMetrics {
			for _, scope := range res.ScopeMetrics {
				for _, m := range scope.Metrics {
					c.got = append(c.got, "metric "+m.Name)
				}
			}
		}
	}
	if err != nil {
		c.got = append(c.got, fmt.Sprintf("%s: %v", r.URL.Path, err))
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// told is all that the collector got, each once.
func (c *collector) told() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.Sort(c.got)
	return slices.Compact(c.got)
}

// collectors is the key of the collectors of a script.
type collectors struct{}

// collect serves a collector to the rest of the script, and writes what it has got:
// collect URL, collect URL FILE.
func collect(ts *testscript.TestScript, neg bool, args []string) {
	open := ts.Value(collectors{}).(map[string]*collector)
	switch {
	case !neg && len(args) == 1:
		c := newCollector()
		ts.Defer(c.Close)
		open[args[0]] = c
		ts.Setenv(args[0], c.URL)
	case !neg && len(args) == 2 && open[args[0]] != nil:
		var text strings.Builder
		for _, line := range open[args[0]].told() {
			fmt.Fprintln(&text, line)
		}
		ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text.String()), 0o666))
	default:
		ts.Fatalf("usage: collect NAME, collect NAME FILE")
	}
}

// talkTo has a chat with a collector, which Ctrl-C ends before the end of its
// input. That it says so is left out of what it said.
func talkTo(t *testing.T, c *collector, env map[string]string) (said string) {
	t.Helper()
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Here I am."},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`)
	}))
	defer endpoint.Close()
	env["OPENAI_API_KEY"] = "sk-0123456789abcdef"
	k := newTalk(t, func(name string) (string, bool) { v, ok := env[name]; return v, ok }, "--model=m", "--no-stream", "--base-url="+endpoint.URL+"/v1")
	k.line("Are you sk-0123456789abcdef?")
	k.expect("Here I am.")
	k.line("") // is read when the answer is over
	k.p.interrupt.pass()
	if code := <-k.ended; code != exitKilled {
		t.Errorf("exit code %d", code)
	}
	k.in.Close() // who reads lines is told
	c.CloseClientConnections()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	said, ok := strings.CutSuffix(k.err.String(), "rehearse: interrupted before the end of the input\n")
	if !ok {
		t.Errorf("the interrupt is not told: %q", said)
	}
	return said
}

// TestTelemetryEnds: what was recorded is exported when Ctrl-C ends the chat, without
// what may be a secret, and nothing is left running.
func TestTelemetryEnds(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	c := newCollector()
	defer c.Close()
	if said := talkTo(t, c, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL}); said != "" {
		t.Errorf("told %q", said)
	}
	want := []string{"metric gen_ai.client.operation.duration", "metric gen_ai.client.token.usage", "service rehearse", "span chat m", "span invoke_agent rehearse"}
	if d := cmp.Diff(want, c.told()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if strings.Contains(c.raw.String(), "sk-0123456789abcdef") || strings.Contains(c.raw.String(), "Here I am") {
		t.Error("messages were exported")
	}
}

// TestTelemetryAsked: one signal alone, messages too, and nothing where something
// says so.
func TestTelemetryAsked(t *testing.T) {
	const all = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for _, tc := range []struct {
		name string
		env  map[string]string // URL stands for the collector's
		want []string
	}{
		{"nothing", map[string]string{}, nil},
		{"disabled", map[string]string{all: "URL", "OTEL_SDK_DISABLED": "true"}, nil},
		{"none", map[string]string{all: "URL", "OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}, nil},
		{"traces", map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "URL/v1/traces"}, []string{"service rehearse", "span chat m", "span invoke_agent rehearse"}},
		{"metrics", map[string]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "URL/v1/metrics"}, []string{"metric gen_ai.client.operation.duration", "metric gen_ai.client.token.usage"}},
		{"messages", map[string]string{all: "URL", "OTEL_METRICS_EXPORTER": "none", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"}, []string{"service rehearse", "span chat m", "span invoke_agent rehearse"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			// One of its own: the exporters of a process share their connections, and
			// talkTo closes those of the collector.
			c := newCollector()
			defer c.Close()
			for name, v := range tc.env {
				tc.env[name] = strings.Replace(v, "URL", c.URL, 1)
			}
			if said := talkTo(t, c, tc.env); said != "" {
				t.Errorf("told %q", said)
			}
			if d := cmp.Diff(tc.want, c.told()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if messages := strings.Contains(c.raw.String(), "Here I am"); messages != (tc.name == "messages") {
				t.Errorf("messages were exported: %v", messages)
			}
		})
	}
}

// TestTelemetryFails: an exporter that fails is said once, and the chat passes.
func TestTelemetryFails(t *testing.T) {
	refuses := newCollector()
	refuses.status = http.StatusUnauthorized
	defer refuses.Close()
	gone := newCollector()
	gone.Close()
	for _, tc := range []struct{ name, url, want string }{
		{"refuses", refuses.URL, "401 Unauthorized"},
		{"gone", gone.URL, "refused"},
		{"no URL", "localhost:4318", `OTEL_EXPORTER_OTLP_ENDPOINT is "localhost:4318"; want a URL with scheme and host, such as http://localhost:4318`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			said := talkTo(t, refuses, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": tc.url})
			for _, what := range []string{"traces", "metrics"} {
				if n := strings.Count(said, "rehearse: "+what+" are not exported: "); n != 1 {
					t.Errorf("%s: said %d times", what, n)
				}
			}
			if strings.Count(said, tc.want) != 2 || strings.Count(said, "\n") != 2 {
				t.Errorf("told %q", said)
			}
		})
	}
}

// TestTelemetryServed: an agent server exports its tasks, at the latest when it ends.
func TestTelemetryServed(t *testing.T) {
	c := newCollector()
	defer c.Close()
	file := filepath.Join(t.TempDir(), "llm.yaml")
	write(t, file, "llm: l\nreplies: [{say: Lima.}]\n")
	llm := serveArgs(t, &process{}, "serve", "llm", file)
	env := map[string]string{"ARGO_BASE_URL": llm.URL, "OTEL_EXPORTER_OTLP_ENDPOINT": c.URL}
	agent := serveArgs(t, &process{getenv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}, "serve", "agent", "--model=gpt-5")
	if answer := agent.ask("POST", agent.URL, `{"goal":"Name the capital of Peru."}`); !strings.Contains(answer, "Lima.") {
		t.Error(answer)
	}
	if code, stderr := agent.end(); code != exitPassed {
		t.Errorf("it ended with %d: %s", code, stderr)
	}
	llm.end()
	want := []string{"metric gen_ai.client.operation.duration", "metric gen_ai.client.token.usage", "service rehearse", "span chat gpt-5", "span invoke_agent rehearse"}
	if d := cmp.Diff(want, c.told()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
