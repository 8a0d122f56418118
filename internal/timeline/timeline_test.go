// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package timeline_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/cassettes/mcptape"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/timeline"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

// model answers a stream: a call first, a text when it was made.
type model struct{}

func (model) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	parts := []string{
		`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"get_weather","arguments":""}}]}}]}` + "\n\n",
		`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n",
	}
	if strings.Contains(string(body), "sunny") {
		parts = []string{`data: {"choices":[{"delta":{"content":"It is "}}]}` + "\n\n", `data: {"choices":[{"delta":{"content":"sunny."},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"}
	}
	time.Sleep(300 * ms)
	pr, pw := io.Pipe()
	go func() {
		for _, p := range parts {
			time.Sleep(50 * ms)
			if _, err := io.WriteString(pw, p); err != nil {
				return
			}
		}
		pw.Close()
	}()
	return &http.Response{StatusCode: 200, Status: "200 OK", Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: pr, Request: r}, nil
}

// weather is a server that takes its time.
func weather(context.Context) (io.ReadWriteCloser, error) {
	a, b := mcpwire.Pipe()
	go func() {
		defer b.Close()
		lines := bufio.NewScanner(b)
		for lines.Scan() {
			time.Sleep(100 * ms)
			m, _ := mcpwire.Parse(lines.Bytes())
			fmt.Fprintf(b, `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`+"\n")
			time.Sleep(20 * ms)
			fmt.Fprintf(b, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"sunny"}]}}`+"\n", m.ID)
		}
	}()
	return a, nil
}

// agent asks the model, calls the tool, asks again, and says when what was
// done. It thinks a little between.
func agent(t *testing.T, transport http.RoundTripper, dial func(context.Context) (io.ReadWriteCloser, error)) (diary []string) {
	t.Helper()
	start := time.Now()
	done := func(what string) { diary = append(diary, fmt.Sprintf("%v %s", time.Since(start), what)) }
	ask := func(messages string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://model/v1/chat/completions", strings.NewReader(`{"model":"m","messages":[`+messages+`]}`))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		done("model answers")
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		done("model is done")
	}
	conn, err := dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ask(`{"role":"user","content":"weather?"}`)
	time.Sleep(7 * ms)
	fmt.Fprintln(conn, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_weather","arguments":{"city":"Paris"}}}`)
	lines := bufio.NewScanner(conn)
	for lines.Scan() && !strings.Contains(lines.Text(), "sunny") {
		done("tool tells")
	}
	done("tool is done")
	ask(`{"role":"user","content":"weather?"},{"role":"tool","content":"sunny"}`)
	return diary
}

// record records a run of the agent, both sides with one clock.
func record(t *testing.T, cassette, tape string) []string {
	t.Helper()
	start := time.Now()
	noCI := func(string) (string, bool) { return "", false }
	time.Sleep(time.Second) // the model's side is opened later
	c, err := cassettes.Open(cassette, &cassettes.Options{Mode: cassettes.Record, Upstream: model{}, Start: start, LookupEnv: noCI})
	if err != nil {
		t.Fatal(err)
	}
	m, err := mcptape.NewRecorder(tape, &mcptape.RecordOptions{Start: start, LookupEnv: noCI})
	if err != nil {
		t.Fatal(err)
	}
	diary := agent(t, c, m.Dial(weather))
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return diary
}

// TestOneClock records both sides of a run, prints them in order, and replays
// them in their pace and others.
func TestOneClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		cassette, tape := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "a.weather.tape")
		recorded := record(t, cassette, tape)

		file, err := vcr.Read(cassette)
		if err != nil {
			t.Fatal(err)
		}
		rec, err := mcptape.Read(tape)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := timeline.Write(&b, timeline.Of(timeline.Tape("weather", tape, rec), timeline.Cassette(file))); err != nil {
			t.Fatal(err)
		}
		want := `     0.000 s  model   -> POST /v1/chat/completions, 1 message
     0.400 s  model   <- [get_weather {}]
     0.407 s  weather -> tools/call get_weather {"city":"Paris"}
     0.507 s  weather <- notifications/message
     0.527 s  weather <- tools/call get_weather: sunny
     0.527 s  model   -> POST /v1/chat/completions, 2 messages
     0.927 s  model   <- It is sunny.
`
		if d := cmp.Diff(want, b.String()); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}

		replay := func(speed float64) []string {
			c, err := cassettes.Open(cassette, &cassettes.Options{Speed: speed})
			if err != nil {
				t.Fatal(err)
			}
			m, err := mcptape.Open(tape, &mcptape.Options{Speed: speed})
			if err != nil {
				t.Fatal(err)
			}
			diary := agent(t, c, m.Dial)
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
			return diary
		}
		if d := cmp.Diff(recorded, replay(1)); d != "" {
			t.Errorf("as it was (-want +got):\n%s", d)
		}
		want2 := []string{"150ms model answers", "200ms model is done", "257ms tool tells", "267ms tool is done", "417ms model answers", "467ms model is done"}
		if d := cmp.Diff(want2, replay(2)); d != "" {
			t.Errorf("twice as fast, and the agent as before (-want +got):\n%s", d)
		}
		want0 := []string{"0s model answers", "0s model is done", "7ms tool tells", "7ms tool is done", "7ms model answers", "7ms model is done"}
		if d := cmp.Diff(want0, replay(0)); d != "" {
			t.Errorf("at once (-want +got):\n%s", d)
		}
	})
}

// TestTapeEvents names what a tape over HTTP has beside messages.
func TestTapeEvents(t *testing.T) {
	rec, err := mcptape.Parse("x", []byte(`{"rehearse_tape":1,"recorded":"2026-11-28T07:00:00.5Z"}
{"dir":"in","stream":1,"http":{"method":"GET","session":true},"at_ms":1}
{"dir":"out","stream":1,"http":{"status":405,"type":"text/plain"},"at_ms":1.4,"text":"no\nGET"}
{"dir":"in","stream":2,"http":{"method":"POST"},"at_ms":2,"frame":{"id":1,"method":"tools/call","params":{"name":"a"}}}
{"dir":"in","stream":3,"http":{"method":"POST"},"at_ms":3,"frame":{"id":1,"method":"resources/read","params":{"uri":"x:y"}}}
{"dir":"out","stream":3,"http":{"status":200,"type":"text/event-stream"},"at_ms":4}
{"dir":"out","stream":3,"at_ms":5,"frame":{"id":7,"method":"roots/list"}}
{"dir":"in","stream":4,"http":{"method":"POST"},"at_ms":6,"frame":{"id":7,"result":{"roots":[]}}}
{"dir":"out","stream":4,"http":{"status":202},"at_ms":6}
{"dir":"out","stream":2,"http":{"status":200,"type":"application/json"},"at_ms":7,"frame":{"id":1,"error":{"code":-32000,"message":"no"}}}
{"dir":"out","stream":3,"at_ms":8,"frame":{"id":1,"result":{"contents":[]}}}
{"dir":"end","stream":3,"at_ms":9}
{"dir":"end","stream":5,"at_ms":10,"text":"unexpected EOF"}
{"dir":"left","stream":6,"at_ms":11}
{"dir":"err","at_ms":12,"text":"warning"}
{"dir":"in","stream":7,"http":{"method":"DELETE"},"at_ms":13}
{"dir":"end","at_ms":14,"text":"exit status 1"}
`))
	if err != nil {
		t.Fatal(err)
	}
	events := timeline.Tape("s", "x.tape", rec)
	if events[0].Line != 2 || events[0].File != "x.tape" || events[0].At.Nanosecond() != 501_000_000 {
		t.Errorf("the first event is %+v", events[0])
	}
	var b strings.Builder
	if err := timeline.Write(&b, events); err != nil {
		t.Fatal(err)
	}
	want := `     0.000 s  s -> listens
     0.000 s  s <- HTTP 405 no GET
     0.001 s  s -> tools/call a
     0.002 s  s -> resources/read x:y
     0.004 s  s <- roots/list
     0.005 s  s -> roots/list: result
     0.006 s  s <- tools/call a: error -32000: no
     0.007 s  s <- resources/read x:y: result
     0.009 s  s <- breaks off: unexpected EOF
     0.010 s  s -> hangs up
     0.011 s  s <- stderr: warning
     0.012 s  s -> ends the session
     0.013 s  s <- ends: exit status 1
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestOf merges recordings in which time stands still in places.
func TestOf(t *testing.T) {
	at := func(n int, out bool, text string) timeline.Event {
		return timeline.Event{At: time.Unix(int64(n), 0), Out: out, Text: text}
	}
	got := timeline.Of(
		[]timeline.Event{at(2, false, "tool is called"), at(2, true, "tool answers"), at(3, true, "tool tells")},
		nil,
		[]timeline.Event{at(1, false, "model is asked"), at(2, true, "model answers"), at(2, false, "model is asked again")},
	)
	var texts []string
	for _, e := range got {
		texts = append(texts, e.Text)
	}
	want := []string{"model is asked", "model answers", "tool is called", "tool answers", "model is asked again", "tool tells"}
	if d := cmp.Diff(want, texts); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
