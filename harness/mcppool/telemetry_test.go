// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// spansOf has a session with a server recorded and returns its spans: names, and
// those attributes that are asked for.
func spansOf(t *testing.T, server harness.Server, opts mcppool.Options, use func(*mcppool.Session), keys ...string) (spans []string, all string) {
	t.Helper()
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	if opts.Telemetry == nil {
		opts.Telemetry = new(mcppool.Telemetry)
	}
	opts.Telemetry.TracerProvider = provider
	s, err := mcppool.Open(t.Context(), server, &opts)
	if err != nil {
		t.Fatal(err)
	}
	use(s)
	s.Close()
	for _, span := range exporter.GetSpans() {
		text := span.Name
		for _, key := range keys {
			for _, a := range span.Attributes {
				if string(a.Key) == key {
					text += " " + a.Value.String()
				}
			}
		}
		spans = append(spans, text)
		all += fmt.Sprintln(span.Name, span.Attributes, span.Status)
	}
	if err := provider.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	return spans, all
}

const hidden = "sk-0123456789abcdef"

// TestTelemetry: over HTTP, in the older era, a tool that fails, one
// that is refused, and a resource. What they were given and said is not recorded.
func TestTelemetry(t *testing.T) {
	server, err := mockmcp.New(mockmcp.Script{
		Name: "s",
		Tools: []mockmcp.Tool{
			{Name: "fails", Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) {
				return &mockmcp.Answer{Text: hidden, IsError: true}, nil
			}},
			{Name: "refuses", Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) {
				return &mockmcp.Answer{RPCError: &jsonrpc.Error{Code: -32000, Message: hidden}}, nil
			}},
		},
		Resources: []mockmcp.Resource{{URI: "file:///" + hidden, Text: hidden}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	web := httptest.NewServer(server.Handler())
	defer web.Close()
	use := func(s *mcppool.Session) {
		args := json.RawMessage(`{"key":"` + hidden + `"}`)
		if _, err := s.Call(t.Context(), "fails", args); err != nil {
			t.Error(err)
		}
		if _, err := s.Call(t.Context(), "refuses", args); err == nil {
			t.Error("it is not refused")
		}
		if _, err := s.ReadResource(t.Context(), "file:///"+hidden); err != nil {
			t.Error(err)
		}
	}
	at := harness.Server{Name: "s", URL: web.URL}
	got, all := spansOf(t, at, mcppool.Options{Era: mcppool.EraLegacy}, use,
		"mcp.method.name", "mcp.protocol.version", "gen_ai.operation.name", "network.transport", "network.protocol.name", "server.address", "rpc.response.status_code", "error.type")
	want := []string{
		"initialize initialize tcp http 127.0.0.1",
		"tools/call fails tools/call 2025-11-25 execute_tool tcp http 127.0.0.1 tool_error",
		"tools/call refuses tools/call 2025-11-25 execute_tool tcp http 127.0.0.1 -32000 -32000",
		"resources/read resources/read 2025-11-25 tcp http 127.0.0.1",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if strings.Contains(all, hidden) {
		t.Errorf("a secret was recorded:\n%s", all)
	}
	if n := strings.Count(all, `"mcp.session.id":"mcp-session-`); n != len(want) {
		t.Errorf("%d spans have a session:\n%s", n, all)
	}
	for _, f := range server.Frames() {
		if f.In && f.Method == "tools/call" && (!strings.Contains(f.Body, `"traceparent":"00-`) || !strings.Contains(f.Body, `"progressToken":`)) {
			t.Errorf("a call carries no trace on: %s", f.Body)
		}
	}
	got, all = spansOf(t, at, mcppool.Options{Era: mcppool.EraLegacy, Telemetry: &mcppool.Telemetry{Contents: true}}, use,
		"gen_ai.tool.call.arguments", "mcp.resource.uri")
	want = []string{
		"initialize", `tools/call fails {"key":"` + hidden + `"}`, `tools/call refuses {"key":"` + hidden + `"}`, "resources/read file:///" + hidden,
	}
	if d := cmp.Diff(want, got); d != "" || !strings.Contains(all, "{Error "+hidden+"}") {
		t.Errorf("(-want +got):\n%s\n%s", d, all)
	}
}

// TestTelemetryRestart: a request to a server that dies, and the next one, for which
// it is started again.
func TestTelemetryRestart(t *testing.T) {
	p := &mortal{}
	got, _ := spansOf(t, harness.Server{Name: "p", Dial: p.dial}, mcppool.Options{}, func(s *mcppool.Session) {
		if _, err := s.Call(t.Context(), "die", nil); err == nil {
			t.Error("it lives")
		}
		if _, err := s.Call(t.Context(), "live", nil); err != nil {
			t.Error(err)
		}
	}, "error.type", "network.transport")
	var calls []string
	for _, s := range got {
		if strings.HasPrefix(s, "tools/call") {
			calls = append(calls, s)
		}
	}
	if d := cmp.Diff([]string{"tools/call die closed pipe", "tools/call live pipe"}, calls); d != "" {
		t.Errorf("(-want +got):\n%s\n%s", d, strings.Join(got, "\n"))
	}
}

// TestTelemetryGivenUp: calls that nobody waits for any more, and one that is not
// sent since nobody ever did.
func TestTelemetryGivenUp(t *testing.T) { synctest.Test(t, testTelemetryGivenUp) }

func testTelemetryGivenUp(t *testing.T) {
	began := make(chan struct{}, 1)
	server, err := mockmcp.New(mockmcp.Script{Name: "s", Tools: []mockmcp.Tool{{Name: "hangs", Handler: func(ctx context.Context, _ *mockmcp.Call) (*mockmcp.Answer, error) {
		began <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	hang := func(cancelled bool, opts mcppool.Options, want ...string) {
		t.Helper()
		got, _ := spansOf(t, harness.Server{Name: "s", Dial: server.Dial}, opts, func(s *mcppool.Session) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if cancelled {
				go func() {
					<-began
					cancel()
				}()
			}
			if _, err := s.Call(ctx, "hangs", nil); err == nil {
				t.Error("it answers")
			}
			if cancelled {
				_, _ = s.Call(ctx, "hangs", nil) // is not sent
			}
		}, "error.type")
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
	hang(true, mcppool.Options{Era: mcppool.EraLegacy}, "initialize", "tools/call hangs cancelled")
	hang(false, mcppool.Options{Era: mcppool.EraLegacy, CallTimeout: time.Second}, "initialize", "tools/call hangs timeout")
}

// TestNoTelemetry: what is not recorded carries nothing on.
func TestNoTelemetry(t *testing.T) {
	server, err := mockmcp.New(mockmcp.Script{Name: "s", Tools: []mockmcp.Tool{{Name: "t", Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) { return &mockmcp.Answer{Text: "r"}, nil }}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	s, err := mcppool.Open(t.Context(), harness.Server{Name: "s", Dial: server.Dial}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Call(t.Context(), "t", nil); err != nil {
		t.Error(err)
	}
	for _, f := range server.Frames() {
		if strings.Contains(f.Body, "traceparent") {
			t.Error(f.Body)
		}
	}
}
