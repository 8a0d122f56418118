// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/harness/tools"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// recorded is what a test's agent recorded.
type recorded struct {
	spans  *tracetest.InMemoryExporter
	reader *sdkmetric.ManualReader
	into   *mcppool.Telemetry
}

func recording(t *testing.T) *recorded {
	r := &recorded{spans: tracetest.NewInMemoryExporter(), reader: sdkmetric.NewManualReader()}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSyncer(r.spans))
	mp := sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.reader))
	t.Cleanup(func() {
		if err := errors.Join(tp.Shutdown(context.Background()), mp.Shutdown(context.Background())); err != nil {
			t.Error(err)
		}
	})
	r.into = &mcppool.Telemetry{TracerProvider: tp, MeterProvider: mp}
	return r
}

// tree is all spans, each below its parent, with their attributes and how they
// ended. Ids of answers are ID.
func (r *recorded) tree() string {
	all := r.spans.GetSpans()
	slices.SortStableFunc(all, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	var b strings.Builder
	var below func(parent tracetest.SpanStub, indent string)
	below = func(parent tracetest.SpanStub, indent string) {
		for _, s := range all {
			if s.Parent.SpanID() != parent.SpanContext.SpanID() {
				continue
			}
			fmt.Fprintf(&b, "%s%s [%v] %v\n", indent, s.Name, s.SpanKind, strings.TrimSpace(fmt.Sprint(s.Status.Code, " ", s.Status.Description)))
			for _, a := range s.Attributes {
				value := a.Value.String()
				if a.Key == "gen_ai.response.id" || a.Key == "jsonrpc.request.id" {
					value = "ID"
				}
				fmt.Fprintf(&b, "%s  %s=%s\n", indent, a.Key, value)
			}
			for _, e := range s.Events {
				fmt.Fprintf(&b, "%s  ! %s %s\n", indent, e.Name, attributes(e.Attributes))
			}
			below(s, indent+"    ")
		}
	}
	below(tracetest.SpanStub{}, "")
	return b.String()
}

func attributes(attrs []attribute.KeyValue) string {
	var out []string
	for _, a := range attrs {
		out = append(out, fmt.Sprintf("%s=%s", a.Key, a.Value.String()))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// metrics are the points of all metrics: how many values there were, their sum where it does not
// depend on time, and the bounds of their buckets.
func (r *recorded) metrics(t *testing.T) string {
	var data metricdata.ResourceMetrics
	if err := r.reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch h := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range h.DataPoints {
					out = append(out, fmt.Sprintf("%s %s n=%d bounds=%v %s", m.Name, m.Unit, p.Count, p.Bounds, attributes(p.Attributes.ToSlice())))
				}
			case metricdata.Histogram[int64]:
				for _, p := range h.DataPoints {
					out = append(out, fmt.Sprintf("%s %s n=%d sum=%d bounds=%v %s", m.Name, m.Unit, p.Count, p.Sum, p.Bounds, attributes(p.Attributes.ToSlice())))
				}
			}
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n") + "\n"
}

const secret = "sk-0123456789abcdef"

// traced plays a turn with a retry, a call with a secret among its arguments, and an
// answer.
func traced(t *testing.T, set func(*mcppool.Telemetry)) (*recorded, *mockmcp.Server) {
	r := recording(t)
	set(r.into)
	weather := weatherServer(t)
	env, _ := mockEnv(t,
		mockllm.Reply{
			Calls:  []mockllm.Call{{Tool: "get_weather", Args: json.RawMessage(`{"key":"` + secret + `"}`)}},
			Faults: []mockllm.Fault{{Kind: mockllm.RateLimit, RetryAfter: 5 * time.Second}},
		},
		mockllm.Reply{Say: "Sunny, " + secret + "."})
	env.Servers = []harness.Server{{Name: "weather", Dial: weather.Dial}}
	env.Endpoint.APIKey = secret
	warm := 0.5
	if _, err := send(t, env, &Config{Telemetry: r.into, Temperature: &warm, MaxTokens: 100}, "What is "+secret+"?"); err != nil {
		t.Fatal(err)
	}
	return r, weather
}

func TestTelemetry(t *testing.T) {
	r, weather := traced(t, func(o *mcppool.Telemetry) { o.Agent = "guide" })
	const file = "testdata/telemetry.txt"
	got := r.tree() + "\n" + r.metrics(t)
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if strings.Contains(got, secret) {
		t.Errorf("a secret was recorded:\n%s", got)
	}
	// The call carries on the trace of its own span.
	var called tracetest.SpanStub
	for _, s := range r.spans.GetSpans() {
		if s.Name == "tools/call get_weather" {
			called = s
		}
	}
	traceparent := fmt.Sprintf(`"traceparent":"00-%s-%s-01"`, called.SpanContext.TraceID(), called.SpanContext.SpanID())
	sent := false
	for _, f := range weather.Frames() {
		sent = sent || strings.Contains(f.Body, traceparent) && strings.Contains(f.Body, `"progressToken"`)
	}
	if !sent {
		t.Errorf("no frame has %s beside its progress token", traceparent)
	}
}

// TestTelemetryContents: messages, arguments and results are recorded when somebody
// wants them.
// TestTelemetryWrapped: a model that wraps a client has its provider.
func TestTelemetryWrapped(t *testing.T) {
	wrapped := struct{ *model.Client }{model.NewAnthropic(model.Config{})}
	for want, o := range map[string]mcppool.Telemetry{"anthropic": {}, "mine": {Provider: "mine"}} {
		r := recording(t)
		r.into.Provider = o.Provider
		c := Config{Model: wrapped, Telemetry: r.into, Clock: harness.SystemClock()}
		c.record()
		_, turn := c.recorder.Turn(t.Context(), "")
		turn.End("", nil)
		if got := r.tree(); !strings.Contains(got, "gen_ai.provider.name="+want) {
			t.Errorf("want %s:\n%s", want, got)
		}
	}
}

func TestTelemetryContents(t *testing.T) {
	r, _ := traced(t, func(o *mcppool.Telemetry) { o.Contents = true })
	for _, want := range []string{
		`gen_ai.input.messages=[{"role":"user","parts":[{"type":"text","content":"What is ` + secret + `?"}]}]`,
		`{"type":"tool_call_response","id":`,
		`gen_ai.output.messages=[{"role":"assistant","parts":[{"type":"text","content":"Sunny, ` + secret + `."}],"finish_reason":"stop"}]`,
		`gen_ai.tool.call.arguments={"key":"` + secret + `"}`, "gen_ai.tool.call.result=sunny",
	} {
		if n := strings.Count(r.tree(), want); n != 1 {
			t.Errorf("%s is there %d times:\n%s", want, n, r.tree())
		}
	}
}

// TestTelemetryFailures: what ends a turn, a model call and a tool is named, and not
// described.
func TestTelemetryFailures(t *testing.T) {
	answered := func(text string, err error) tools.Result { return tools.Result{Text: text, IsError: true, Err: err} }
	calls := func(args string) []any {
		return []any{model.Done{Message: harness.Message{Role: harness.RoleAssistant, Calls: []harness.ToolCall{{ID: "1", Name: "t", Arguments: args}}}, FinishReason: "tool_calls"}}
	}
	for _, tc := range []struct {
		name    string
		replies [][]any
		result  tools.Result
		broken  bool
		want    string
	}{
		{"endpoint", [][]any{{&model.Error{Kind: model.KindServer, Message: secret}}}, tools.Result{}, false, "invoke_agent server, chat m server"},
		{"stop", [][]any{{&model.Error{Kind: model.KindContentFilter, Message: secret}}}, tools.Result{}, false, "invoke_agent content_filter, chat m content_filter"},
		{"unknown", nil, tools.Result{}, false, "invoke_agent _OTHER, chat m _OTHER"},
		{"cancelled", [][]any{{context.Canceled}}, tools.Result{}, false, "invoke_agent cancelled, chat m cancelled"},
		{"too late", [][]any{{context.DeadlineExceeded}}, tools.Result{}, false, "invoke_agent timeout, chat m timeout"},
		{"broken off", [][]any{{model.TextDelta{Text: "I"}, pause{}}}, tools.Result{}, true, "invoke_agent cancelled, chat m cancelled"},
		{"tool", [][]any{calls(`{}`), said("a")}, answered(secret, nil), false, "invoke_agent , chat m , execute_tool t tool_error, chat m "},
		{"arguments", [][]any{calls(`[`), said("a")}, tools.Result{}, false, "invoke_agent , chat m , execute_tool t bad_arguments, chat m "},
		{"server", [][]any{calls(`{}`), said("a")}, answered(secret, &mcppool.Error{Kind: mcppool.ErrTimeout, Err: errors.New(secret)}), false, "invoke_agent , chat m , execute_tool t timeout, chat m "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := recording(t)
			c := New(Config{Name: "m", Model: &script{replies: tc.replies}, Tools: oneTool{tc.result}, Telemetry: r.into}).Conversation()
			for event := range c.Send(t.Context(), "hi") {
				if _, delta := event.(Delta); delta && tc.broken {
					break
				}
			}
			var got []string
			spans := r.spans.GetSpans()
			slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int {
				if order := a.StartTime.Compare(b.StartTime); order != 0 {
					return order
				}
				return strings.Compare(b.Name, a.Name) // the turn
			})
			for _, s := range spans {
				kind := ""
				for _, a := range s.Attributes {
					if a.Key == "error.type" {
						kind = a.Value.AsString()
					}
				}
				if (kind == "") != (s.Status.Code == 0) || s.Status.Description != "" {
					t.Errorf("%s: %q, and status %v", s.Name, kind, s.Status)
				}
				got = append(got, s.Name+" "+kind)
			}
			if d := cmp.Diff(tc.want, strings.Join(got, ", ")); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if strings.Contains(r.tree(), secret) {
				t.Errorf("a secret was recorded:\n%s", r.tree())
			}
		})
	}
}

// oneTool is a toolbox with the tool t.
type oneTool struct{ result tools.Result }

func (oneTool) Tools(context.Context) ([]harness.Tool, error) {
	return []harness.Tool{{Name: "t"}}, nil
}

func (o oneTool) Call(context.Context, string, string) (tools.Result, error) { return o.result, nil }

// TestTelemetryClient: one setting of a client is for its servers too.
func TestTelemetryClient(t *testing.T) {
	r := recording(t)
	client, err := NewClient(&ClientOptions{
		Agent:   Config{Model: &script{replies: [][]any{said("a")}}, Telemetry: r.into},
		Servers: []harness.Server{{Name: "weather", Dial: weatherServer(t).Dial}}, Dir: t.TempDir(), LookupEnv: noEnv,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	told(t, client.Conversation())
	if got := r.tree(); !strings.Contains(got, "\n    tools/list [client]") {
		t.Errorf("the turn has no tools/list:\n%s", got)
	}
}

// BenchmarkTelemetry sets turns that are recorded against turns that are not.
func BenchmarkTelemetry(b *testing.B) {
	for name, into := range map[string]*mcppool.Telemetry{"off": nil, "on": {TracerProvider: sdktrace.NewTracerProvider(), MeterProvider: sdkmetric.NewMeterProvider()}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c := New(Config{Model: &script{replies: [][]any{said("a")}}, Telemetry: into}).Conversation()
				for range c.Send(b.Context(), "hi") {
				}
			}
		})
	}
}
