// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockserver

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/harness"
)

// metrics counts what was asked. The zero metrics is ready for use.
type metrics struct {
	mu       sync.Mutex // guards what follows
	requests map[request]int
	kinds    map[string]int
	faults   map[string]int
	tools    map[string]int // calls of an MCP server
	inFlight int
	read     int64
	written  int64
}

type request struct {
	route, method string
	status        int
}

func (m *metrics) observe(kind harness.ExchangeKind, fault string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kinds == nil {
		m.kinds, m.faults = map[string]int{}, map[string]int{}
	}
	m.kinds[string(kind)]++
	if fault != "" {
		m.faults[fault]++
	}
}

// underWay is how many requests are being answered.
func (m *metrics) underWay() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.inFlight
}

// called counts a call of a tool.
func (m *metrics) called(tool string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tools == nil {
		m.tools = map[string]int{}
	}
	m.tools[tool]++
}

// measured is a request while it is answered.
type measured struct {
	http.ResponseWriter
	m      *metrics
	r      *http.Request
	status int // 0 when the connection was taken over or nothing was said
	bytes  int64
}

func (m *metrics) begin(w http.ResponseWriter, r *http.Request) *measured {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inFlight++
	return &measured{ResponseWriter: w, m: m, r: r}
}

func (w *measured) end() {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	if w.m.requests == nil {
		w.m.requests = map[request]int{}
	}
	w.m.inFlight--
	w.m.read += max(w.r.ContentLength, 0)
	w.m.written += w.bytes
	w.m.requests[request{route(w.r.URL.Path), method(w.r.Method), w.status}]++
}

func (w *measured) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *measured) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// Unwrap lets [http.ResponseController] reach what lies beneath.
func (w *measured) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// routes are what requests are counted by: the paths come from outside, and
// there is no end of them.
var routes = [...]string{
	"/v1/chat/completions", "/v1/responses", "/v1/completions", "/v1/embeddings", "/v1/messages", "/v1/messages/count_tokens", "/v1/models",
	"/mcp", "/sse", "/message", "/ws",
}

func route(path string) string {
	for _, known := range routes {
		if path == known {
			return known
		}
	}
	for _, known := range []string{"/v1/models/", "/v1/responses/", "/v1beta/models/", "/api/v1/"} {
		if strings.HasPrefix(path, known) {
			return known
		}
	}
	return "other"
}

func method(name string) string {
	if name == http.MethodGet || name == http.MethodPost || name == http.MethodDelete || name == http.MethodHead {
		return name
	}
	return "other"
}

// metricsType is the media type of metrics.
const metricsType = "text/plain; version=0.0.4; charset=utf-8"

// write writes the counts in the text format of Prometheus.
func (m *metrics) write(w http.ResponseWriter, conversations int) {
	w.Header().Set("Content-Type", metricsType)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writeRequests(w)
	head(w, "exchanges_total", "counter", "Exchanges in the journals, by what they were to the script; a miss is one of them.")
	for _, kind := range slices.Sorted(maps.Keys(m.kinds)) {
		fmt.Fprintf(w, "rehearse_exchanges_total{kind=%q} %d\n", kind, m.kinds[kind])
	}
	head(w, "misses_total", "counter", "Requests that nothing scripted fits.")
	fmt.Fprintf(w, "rehearse_misses_total %d\n", m.kinds[string(harness.KindMiss)])
	head(w, "faults_total", "counter", "Faults played.")
	for _, fault := range slices.Sorted(maps.Keys(m.faults)) {
		fmt.Fprintf(w, "rehearse_faults_total{fault=%q} %d\n", fault, m.faults[fault])
	}
	m.writeLoad(w, conversations)
}

// writeMCP is write for an MCP server. misses and faults are those of the
// conversations that are kept.
func (m *metrics) writeMCP(w http.ResponseWriter, conversations, misses int, faults map[string]int) {
	w.Header().Set("Content-Type", metricsType)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writeRequests(w)
	head(w, "tool_calls_total", "counter", "Calls, by tool; other is a tool that the script does not have.")
	for _, tool := range slices.Sorted(maps.Keys(m.tools)) {
		fmt.Fprintf(w, "rehearse_tool_calls_total{tool=%q} %d\n", tool, m.tools[tool])
	}
	head(w, "misses", "gauge", "Calls in the journals that nothing scripted fits.")
	fmt.Fprintf(w, "rehearse_misses %d\n", misses)
	head(w, "faulty_frames", "gauge", "Frames in the logs that a fault struck.")
	for _, fault := range slices.Sorted(maps.Keys(faults)) {
		fmt.Fprintf(w, "rehearse_faulty_frames{fault=%q} %d\n", fault, faults[fault])
	}
	m.writeLoad(w, conversations)
}

func head(w io.Writer, name, kind, help string) {
	fmt.Fprintf(w, "# HELP rehearse_%s %s\n# TYPE rehearse_%s %s\n", name, help, name, kind)
}

func (m *metrics) writeRequests(w io.Writer) {
	head(w, "requests_total", "counter", "Requests answered; status 0 is a connection that a fault took over.")
	var lines []string
	for r, n := range m.requests {
		lines = append(lines, fmt.Sprintf("rehearse_requests_total{route=%q,method=%q,status=\"%d\"} %d\n", r.route, r.method, r.status, n))
	}
	slices.Sort(lines)
	_, _ = io.WriteString(w, strings.Join(lines, "")) // the client is gone
}

func (m *metrics) writeLoad(w io.Writer, conversations int) {
	head(w, "requests_in_flight", "gauge", "Requests being answered.")
	fmt.Fprintf(w, "rehearse_requests_in_flight %d\n", m.inFlight)
	head(w, "conversations", "gauge", "Conversations that are kept.")
	fmt.Fprintf(w, "rehearse_conversations %d\n", conversations)
	head(w, "request_bytes_total", "counter", "Bytes of the requests' bodies whose length was said.")
	fmt.Fprintf(w, "rehearse_request_bytes_total %d\n", m.read)
	head(w, "response_bytes_total", "counter", "Bytes of the answers' bodies.")
	fmt.Fprintf(w, "rehearse_response_bytes_total %d\n", m.written)
}
