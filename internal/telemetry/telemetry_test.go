// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/model"
)

// everything records one of everything.
func everything(r *Recorder, req *model.Request, done *model.Done, call harness.ToolCall, err error) map[string]string {
	ctx, turn := r.Turn(context.Background(), "m")
	_, chat := r.Chat(ctx, req)
	chat.Retried("busy", time.Second)
	chat.Answered(done)
	chat.End("", nil)
	ctx, tool := r.Tool(ctx, call)
	_, request := r.Request(ctx, Request{Method: "tools/call", Tool: "t", Arguments: json.RawMessage(call.Arguments)})
	carried := request.Context()
	request.In("s")
	request.Returned(nil)
	request.Refused(-32602, err)
	tool.Executed("", "failed", "why")
	turn.Spent(done.Usage)
	turn.End("_OTHER", err)
	return carried
}

// TestNothing: without providers nothing is done, and nothing allocated.
func TestNothing(t *testing.T) {
	for _, o := range []*Options{nil, {Agent: "a", Contents: true}} {
		if r := New(o, time.Now); r != nil {
			t.Errorf("New(%+v) records", o)
		}
	}
	req, done, call, err := &model.Request{Model: "m"}, &model.Done{Usage: harness.Usage{TotalTokens: 1}}, harness.ToolCall{Name: "t"}, errors.New("e")
	if n := testing.AllocsPerRun(100, func() { everything(nil, req, done, call, err) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestOneOfTwo: spans without metrics, and metrics without spans, whose requests
// carry no trace on.
func TestOneOfTwo(t *testing.T) {
	spans, reader := tracetest.NewInMemoryExporter(), metric.NewManualReader()
	done := &model.Done{Model: "m-1", ID: "1", FinishReason: "stop", Usage: harness.Usage{PromptTokens: 2, CompletionTokens: 1}}
	play := func(o Options) map[string]string {
		return everything(New(&o, time.Now), &model.Request{Model: "m"}, done, harness.ToolCall{Name: "t"}, errors.New("e"))
	}
	if carried := play(Options{TracerProvider: trace.NewTracerProvider(trace.WithSyncer(spans))}); !strings.HasPrefix(carried["traceparent"], "00-") {
		t.Errorf("a request carries %v", carried)
	}
	if n := len(spans.GetSpans()); n != 4 {
		t.Errorf("%d spans", n)
	}
	if carried := play(Options{MeterProvider: metric.NewMeterProvider(metric.WithReader(reader))}); carried != nil {
		t.Errorf("a request carries %v without spans", carried)
	}
	var data metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &data); err != nil || len(data.ScopeMetrics) != 1 || len(data.ScopeMetrics[0].Metrics) != 3 {
		t.Errorf("metrics %+v, %v", data, err)
	}
}

// TestWritten: a call whose arguments are not JSON is a text.
func TestWritten(t *testing.T) {
	got := written([]harness.Message{
		{Role: harness.RoleAssistant, Calls: []harness.ToolCall{{ID: "1", Name: "a", Arguments: `{"x":1}`}, {ID: "2", Name: "b", Arguments: `{`}}},
		{Role: harness.RoleTool, CallID: "1", Text: "r"},
		{Role: harness.RoleAssistant, Refusal: "no"},
	}, "")
	want := `[{"role":"assistant","parts":[{"type":"tool_call","id":"1","name":"a","arguments":{"x":1}},{"type":"tool_call","id":"2","name":"b","arguments":"{"}]},` +
		`{"role":"tool","parts":[{"type":"tool_call_response","id":"1","response":"r"}]},{"role":"assistant","parts":[{"type":"text","content":"no"}]}]`
	if got != want {
		t.Errorf("%s", got)
	}
}
