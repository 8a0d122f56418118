// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package telemetry records what an agent and its MCP sessions do, as spans and
// metrics of OpenTelemetry.
//
//	r := telemetry.New(&telemetry.Options{TracerProvider: tp, MeterProvider: mp}, time.Now)
//	ctx, turn := r.Turn(ctx, "gpt-5")
//	answer, err := ask(ctx)
//	turn.End(kindOf(err), err)
//
// Names, attributes, units and bucket boundaries are those of the semantic
// conventions of OpenTelemetry, version 1.41.0, for generative AI and for MCP:
// https://github.com/open-telemetry/semantic-conventions/tree/v1.41.0/docs/gen-ai
// (gen-ai-agent-spans.md, gen-ai-spans.md, gen-ai-metrics.md, mcp.md). Two things
// differ:
//
//   - What may hold a secret is recorded only with [Options.Contents]: the texts of
//     errors and the URIs of resources too, not only messages and arguments.
//   - A call of an MCP tool by the agent has two spans, execute_tool and within it
//     tools/call, since one call may take several requests. The inner one has no
//     gen_ai.operation.name then, so that a call is counted once.
//
// A nil [Recorder] and a nil [Operation] do nothing, and allocate nothing.
package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	nometrics "go.opentelemetry.io/otel/metric/noop"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"
	"go.opentelemetry.io/otel/semconv/v1.41.0/mcpconv"
	"go.opentelemetry.io/otel/trace"
	nospans "go.opentelemetry.io/otel/trace/noop"
)

// Options say where spans and metrics go. nil means nowhere.
type Options struct {
	// TracerProvider makes the spans. nil means that there are none.
	TracerProvider trace.TracerProvider
	// MeterProvider makes the metrics. nil means that there are none.
	MeterProvider metric.MeterProvider
	// Agent is the name of the agent, for the spans of its turns. Empty means that
	// it has none.
	Agent string
	// Provider is gen_ai.provider.name. Empty means that of a model that is a
	// model.Provider, as each client is: openai, anthropic, gcp.gemini. Others have
	// _OTHER.
	Provider string
	// Contents records messages, arguments, results, URIs of resources and the texts
	// of errors too. They may hold secrets. Default: they are not recorded.
	Contents bool
}

// scope is the name under which spans and metrics are recorded.
const scope = "github.com/rehearse-dev/rehearse"

// Recorder makes operations. It is safe for use by several goroutines.
type Recorder struct {
	agent, provider string
	contents        bool
	tracing         bool // there are spans
	now             func() time.Time
	tracer          trace.Tracer
	asked           metric.Float64Histogram
	tokens          metric.Int64Histogram
	requested       metric.Float64Histogram
}

// New makes a recorder whose times are those of now. It is nil when there is
// nothing to record for.
func New(o *Options, now func() time.Time) *Recorder {
	if o == nil || o.TracerProvider == nil && o.MeterProvider == nil {
		return nil
	}
	r := &Recorder{agent: o.Agent, provider: o.Provider, contents: o.Contents, tracing: o.TracerProvider != nil, now: now}
	var spans trace.TracerProvider = nospans.NewTracerProvider()
	if r.tracing {
		spans = o.TracerProvider
	}
	var metrics metric.MeterProvider = nometrics.NewMeterProvider()
	if o.MeterProvider != nil {
		metrics = o.MeterProvider
	}
	r.tracer = spans.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL))
	meter := metrics.Meter(scope, metric.WithSchemaURL(semconv.SchemaURL))
	// Where one cannot be made, what is returned beside the error records nothing.
	asked, _ := genaiconv.NewClientOperationDuration(meter, metric.WithExplicitBucketBoundaries(
		0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92))
	tokens, _ := genaiconv.NewClientTokenUsage(meter, metric.WithExplicitBucketBoundaries(
		1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864))
	requested, _ := mcpconv.NewClientOperationDuration(meter, metric.WithExplicitBucketBoundaries(
		0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300))
	r.asked, r.tokens, r.requested = asked.Inst(), tokens.Inst(), requested.Inst()
	return r
}

// Operation is something under way that has a span, and perhaps a duration among
// the metrics.
type Operation struct {
	recorder *Recorder
	ctx      context.Context // with the span, for exemplars
	span     trace.Span
	begun    time.Time
	duration metric.Float64Histogram // nil means that it is not measured
	labels   []attribute.KeyValue    // of the duration
	nested   bool                    // in an execute_tool that has its contents
}

// begin begins an operation. The labels are attributes of the span and of the
// duration; more are of the span alone.
func (r *Recorder) begin(ctx context.Context, name string, kind trace.SpanKind, duration metric.Float64Histogram, labels []attribute.KeyValue, more ...attribute.KeyValue) (context.Context, *Operation) {
	o := &Operation{recorder: r, begun: r.now(), duration: duration, labels: labels}
	o.ctx, o.span = r.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithTimestamp(o.begun), trace.WithAttributes(labels...), trace.WithAttributes(more...))
	return o.ctx, o
}

// label adds attributes to the span and to the duration.
func (o *Operation) label(attrs ...attribute.KeyValue) {
	o.labels = append(o.labels, attrs...)
	o.span.SetAttributes(attrs...)
}

// End ends the operation. failure is what kind of thing went wrong, of few kinds;
// empty means nothing. err says more.
func (o *Operation) End(failure string, err error) {
	if o == nil {
		return
	}
	text := ""
	if failure != "" && err != nil && o.recorder.contents {
		text = err.Error()
	}
	o.end(failure, text)
}

func (o *Operation) end(failure, text string) {
	if failure != "" {
		o.label(semconv.ErrorTypeKey.String(failure))
		o.span.SetStatus(codes.Error, text)
	}
	now := o.recorder.now()
	if o.duration != nil {
		o.duration.Record(o.ctx, now.Sub(o.begun).Seconds(), metric.WithAttributes(o.labels...))
	}
	o.span.End(trace.WithTimestamp(now))
}
