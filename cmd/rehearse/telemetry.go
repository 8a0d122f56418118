// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/rehearse-dev/rehearse/harness/mcppool"
)

// telemetryHelp is what the help of commands says about spans and metrics.
const telemetryHelp = `Spans and metrics go to an OTLP collector over HTTP when OTEL_EXPORTER_OTLP_ENDPOINT is
set, or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or OTEL_EXPORTER_OTLP_METRICS_ENDPOINT for one
of the two. Messages and arguments are in them only with
OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true.`

// lastExport is how long the last spans and metrics may take at the end.
const lastExport = 5 * time.Second

// telemetry exports spans and metrics where the environment asks for it: into is nil
// where it does not. end exports what is left. An exporter that fails costs a
// warning.
func (p *process) telemetry(ctx context.Context, agent string) (into *mcppool.Telemetry, end func()) {
	env := func(name string) string {
		v, _ := p.getenv(name)
		return v
	}
	var mu sync.Mutex // guards stderr: two exporters may fail at once
	warn := func(what string, err error) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(p.stderr, "rehearse: %s are not exported: %v\n", what, err)
	}
	// at is where a signal goes; empty means nowhere.
	at := func(signal string) string {
		upper := strings.ToUpper(signal)
		if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") || env("OTEL_"+upper+"_EXPORTER") == "none" {
			return ""
		}
		name := "OTEL_EXPORTER_OTLP_" + upper + "_ENDPOINT"
		url := env(name)
		if base := env("OTEL_EXPORTER_OTLP_ENDPOINT"); url == "" && base != "" {
			name, url = "OTEL_EXPORTER_OTLP_ENDPOINT", strings.TrimRight(base, "/")+"/v1/"+signal
		}
		if url != "" && !wholeURL(url) {
			warn(signal, fmt.Errorf("%s is %q; want a URL with scheme and host, such as http://localhost:4318", name, env(name)))
			return ""
		}
		return url
	}
	traces, metrics := at("traces"), at("metrics")
	if traces == "" && metrics == "" {
		return nil, func() {}
	}
	into = &mcppool.Telemetry{Agent: agent, Contents: strings.EqualFold(env("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"), "true")}
	res, err := resource.New(ctx, resource.WithAttributes(semconv.ServiceName("rehearse")), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		warn("some attributes of the resource", err)
	}
	var ends []func(context.Context) error
	if traces != "" {
		if e, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(traces)); err != nil {
			warn("traces", err)
		} else {
			provider := trace.NewTracerProvider(trace.WithResource(res), trace.WithBatcher(&spanExporter{SpanExporter: e, failed: once(func(err error) { warn("traces", err) })}))
			into.TracerProvider, ends = provider, append(ends, provider.Shutdown)
		}
	}
	if metrics != "" {
		if e, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(metrics)); err != nil {
			warn("metrics", err)
		} else {
			reader := metric.NewPeriodicReader(&metricExporter{Exporter: e, failed: once(func(err error) { warn("metrics", err) })})
			provider := metric.NewMeterProvider(metric.WithResource(res), metric.WithReader(reader))
			into.MeterProvider, ends = provider, append(ends, provider.Shutdown)
		}
	}
	return into, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastExport)
		defer cancel()
		over := make(chan struct{})
		defer close(over)
		go func() {
			select {
			case <-p.abort:
				cancel()
			case <-over:
			}
		}()
		var wg sync.WaitGroup
		for _, end := range ends {
			wg.Go(func() { _ = end(ctx) }) // what fails was said
		}
		wg.Wait()
	}
}

// once has f called for the first error alone.
func once(f func(error)) func(error) {
	var first sync.Once
	return func(err error) { first.Do(func() { f(err) }) }
}

// spanExporter and metricExporter tell what fails to us instead of to everybody in
// the process.
type spanExporter struct {
	trace.SpanExporter
	failed func(error)
}

func (e *spanExporter) ExportSpans(ctx context.Context, spans []trace.ReadOnlySpan) error {
	if err := e.SpanExporter.ExportSpans(ctx, spans); err != nil {
		e.failed(err)
	}
	return nil
}

type metricExporter struct {
	metric.Exporter
	failed func(error)
}

func (e *metricExporter) Export(ctx context.Context, data *metricdata.ResourceMetrics) error {
	if err := e.Exporter.Export(ctx, data); err != nil && !errors.Is(err, metric.ErrExporterShutdown) {
		e.failed(err)
	}
	return nil
}
