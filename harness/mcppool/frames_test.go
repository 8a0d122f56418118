// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

var update = flag.Bool("update", false, "rewrite golden files")

// TestFrames holds what a session sends in either era, byte for byte: the
// handshake, lists, calls, answers to what the server asks, and the headers.
func TestFrames(t *testing.T) {
	const golden = "testdata/frames.txt"
	var b strings.Builder
	for _, modern := range []mockmcp.Modern{mockmcp.ModernOn, mockmcp.ModernOff, mockmcp.ModernReject} {
		for _, over := range []string{"pipe", "http", "sse", "ws"} {
			if over == "sse" && modern == mockmcp.ModernOn {
				continue
			}
			fmt.Fprintf(&b, "== modern %s, over %s\n", modern, over)
			for _, f := range framesOf(t, modern, over) {
				b.WriteString(f)
			}
		}
	}
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("frames of the client (-want +got):\n%s", diff)
	}
}

func framesOf(t *testing.T, modern mockmcp.Modern, over string) []string {
	t.Helper()
	mock := mockmcp.NewServer(t, mockmcp.Script{
		Name:     "shop",
		Protocol: mockmcp.Protocol{Modern: modern, PageSize: 1, ListChanged: true},
		Tools: []mockmcp.Tool{
			{Name: "ask", Results: []mockmcp.Result{{
				Before: []mockmcp.Step{
					mockmcp.Log{Data: json.RawMessage(`"asking"`)},
					mockmcp.Ask{mockmcp.Form("Sure?", json.RawMessage(`{"type":"object","properties":{}}`)), mockmcp.ListRoots()},
					mockmcp.Ask{mockmcp.Sample("Sum it up.", 10)},
				},
				Answer: func(c *mockmcp.Call) (*mockmcp.Answer, error) { return &mockmcp.Answer{JSON: c.Asked}, nil },
			}}},
			{Name: "find", Input: json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`), Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) {
				return &mockmcp.Answer{Text: "found"}, nil
			}},
		},
	})
	server := map[string]harness.Server{
		"pipe": {Dial: mock.Dial}, "http": {URL: mock.URL}, "sse": {URL: mock.SSE, Transport: "sse"}, "ws": {URL: mock.WS},
	}[over]
	handler := func(result string) mcppool.Handler {
		return func(context.Context, json.RawMessage) (json.RawMessage, error) { return json.RawMessage(result), nil }
	}
	s, err := mcppool.Open(t.Context(), server, &mcppool.Options{
		LogLevel:    "warning",
		Sampling:    handler(`{"role":"assistant","content":{"type":"text","text":"summed"},"model":"m","stopReason":"endTurn"}`),
		Elicitation: handler(`{"action":"accept","content":{"n":1.50}}`),
		Roots:       handler(`{"roots":[{"uri":"file:///w"}]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Info().Name; got != "shop" {
		t.Errorf("the server is called %q", got)
	}
	if _, _, err := s.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, call := range [][2]string{{"ask", `{}`}, {"find", `{"region":"<北>", "n":1.0}`}, {"none", ``}} {
		if _, err := s.Call(t.Context(), call[0], json.RawMessage(call[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, f := range mock.Frames() {
		if !f.In || f.Kind == jsonrpc.FrameOpen || f.Kind == jsonrpc.FrameEnd || f.Method == "notifications/cancelled" {
			continue // the server may not see what is said at the end
		}
		line := f.HTTP
		for _, name := range slices.Sorted(maps.Keys(f.Header)) {
			value := f.Header[name]
			if name == "mcp-session-id" {
				value = "ID"
			}
			line += " " + name + "=" + value
		}
		said = append(said, strings.TrimSpace(line+" "+f.Body)+"\n")
	}
	// Answers to what is asked together come in any order, and so does the GET
	// of what is listened to.
	slices.SortStableFunc(said, func(a, b string) int {
		return strings.Compare(rank(a), rank(b))
	})
	return said
}

// rank sorts what has no order of its own behind all else.
func rank(line string) string {
	if strings.HasPrefix(line, "GET") || !strings.Contains(line, `"method"`) {
		return "1" + line
	}
	return "0"
}

// What cannot be agreed on is refused with the server's own words for it.
func TestVersionsThatAreNotSpoken(t *testing.T) {
	for _, tt := range []struct{ name, result, want string }{
		{"an old one", `{"protocolVersion":"2024-10-07","capabilities":{}}`, `connecting to server "p": the server answered with the unsupported protocol version "2024-10-07"`},
		{"no object", `[]`, `connecting to server "p": unusable answer: reading the answer to initialize: `},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := legacy(peer{"initialize": {`{"jsonrpc":"2.0","id":ID,"result":` + tt.result + `}`}})
			_, err := mcppool.Open(t.Context(), harness.Server{Name: "p", Dial: p.dial}, nil)
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// A server that has a log is asked for the level, and used all the same where it
// refuses; one that has none is not asked.
func TestLogLevel(t *testing.T) {
	for _, tt := range []struct {
		name, initialized string
		note              []string
	}{
		{"a log", strings.Replace(initialized, `"tools":`, `"logging":{},"tools":`, 1), []string{`server "p": did not set its log level: MCP error -32601: Method not found`}},
		{"no log", initialized, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opts := *patient
			opts.LogLevel = "warning"
			s := openPeer(t, legacy(peer{"initialize": {tt.initialized}, "logging/setLevel": {discoverRefused}}), &opts)
			if diff := cmp.Diff(tt.note, s.Notes()); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			s.Close()
		})
	}
}

// In the new era the level goes with each request, and to a server with a log alone.
func TestLogLevelOfRequests(t *testing.T) {
	p := &scripted{modern: true, answer: func(m mcpwire.Message, out *mcpwire.Writer) {
		if m.Method == "tools/call" {
			say(out, m, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","content":[]}}`)
		}
	}}
	s := open(t, harness.Server{Dial: p.dial}, &mcppool.Options{LogLevel: "warning"})
	if _, err := s.Call(t.Context(), "x", nil); err != nil {
		t.Error(err)
	}
	if got := p.last("tools/call"); got == "" || strings.Contains(got, "logLevel") {
		t.Errorf("a server without a log is asked %s", got)
	}
	s.Close()
}
