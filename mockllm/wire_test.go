// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	openai "github.com/sashabaranov/go-openai"

	"github.com/rehearse-dev/rehearse/mockllm"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const tools = `"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{}}}}]`

func wireScript() mockllm.Script {
	return mockllm.Script{Replies: []mockllm.Reply{{
		Reasoning: "Two calls.",
		Calls: []mockllm.Call{
			{Tool: "get_weather", Args: map[string]any{"location": "Zürich <1>"}},
			{Tool: "get_weather"},
		},
		Repeat: 10,
		Faults: []mockllm.Fault{{Kind: mockllm.RateLimit, RetryAfter: time.Second}},
	}, {Say: "Sunny in \"Zürich\" 🌞."}}, Arrival: true}
}

// TestWire sends raw bytes over a socket and compares raw bytes.
func TestWire(t *testing.T) {
	h, err := mockllm.NewHost("")
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for _, tc := range []struct{ name, method, path, body string }{
		{"fault", "POST", "/v1/chat/completions", `{"model":"gpt-4o","messages":[{"role":"user","content":"Weather?"}]}`},
		{"calls", "POST", "/v1/chat/completions", `{"model":"gpt-4o","messages":[{"role":"user","content":"Weather?"}],` + tools + `}`},
		{"calls_stream", "POST", "/v1/chat/completions", `{"model":"gpt-4o","stream":true,"messages":[{"role":"user","content":"Weather?"}],` + tools + `}`},
		{"text", "POST", "/v1/chat/completions", `{"model":"gpt-4o","messages":[{"role":"user","content":"Weather?"}]}`},
		{"text_stream_usage", "POST", "/v1/chat/completions", `{"model":"gpt-4o","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Weather?"}]}`},
		{"miss", "POST", "/v1/chat/completions", `{"model":"gpt-4o","messages":[{"role":"user","content":"Weather?"}]}`},
		{"refusal", "POST", "/v1/chat/completions", `{"model":"gpt-4o"}`},
		{"other_endpoint", "POST", "/v1/audio/speech", `{}`},
		{"unknown_path", "GET", "/v2", ``},
		{"wrong_method", "GET", "/v1/chat/completions", ``},
		{"models", "GET", "/v1/models", ``},
	} {
		t.Run(tc.name, func(t *testing.T) {
			script := wireScript()
			switch {
			case tc.name == "miss":
				script = mockllm.Script{}
			case strings.HasPrefix(tc.name, "text"):
				script.Replies = script.Replies[1:]
			case strings.HasPrefix(tc.name, "calls"):
				script.Replies[0].Faults = nil
			}
			m := scripted(t, script, nil)
			base, unmount := h.Mount(m)
			defer unmount()
			got := exchange(t, h.Addr(), tc.method, strings.TrimSuffix(strings.TrimPrefix(base, "http://"+h.Addr()), "/v1")+tc.path, tc.body)
			golden(t, filepath.Join("testdata", tc.name+".http"), got)
		})
	}
}

// exchange returns the raw answer, with the date masked and chunks joined.
func exchange(t *testing.T, addr, method, path, body string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", method, path, len(body), body)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := httputil.DumpResponse(resp, false)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	head := regexp.MustCompile(`Date: [^\r]*`).ReplaceAllString(string(raw), "Date: DATE")
	return strings.ReplaceAll(head, "\r\n", "\n") + string(b)
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", file, d)
	}
}

// TestGoOpenAI lets a real client do both forms of a tool loop.
func TestGoOpenAI(t *testing.T) {
	m := mockllm.NewServer(t, mockllm.Script{Turns: []mockllm.Turn{
		{User: "one", Replies: []mockllm.Reply{weather(), say("Sunny.")}},
		{User: "two", Replies: []mockllm.Reply{weather(), say("Rainy.")}},
	}})
	cfg := openai.DefaultConfig("sk-none")
	cfg.BaseURL = m.URL
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	cfg.HTTPClient = &http.Client{Transport: transport}
	client := openai.NewClientWithConfig(cfg)
	req := openai.ChatCompletionRequest{Model: "gpt-4o", Tools: []openai.Tool{{
		Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{Name: "get_weather", Parameters: map[string]any{"type": "object", "properties": map[string]any{}}},
	}}}
	add := func(m openai.ChatCompletionMessage) { req.Messages = append(req.Messages, m) }

	add(openai.ChatCompletionMessage{Role: "user", Content: "one"})
	for i, want := range []string{"", "Sunny."} {
		resp, err := client.CreateChatCompletion(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		msg := resp.Choices[0].Message
		if msg.Content != want || resp.Usage.PromptTokens == 0 || resp.Usage.TotalTokens != resp.Usage.PromptTokens+resp.Usage.CompletionTokens {
			t.Errorf("reply %d: %+v %+v", i, msg, resp.Usage)
		}
		add(msg)
		for _, c := range msg.ToolCalls {
			add(openai.ChatCompletionMessage{Role: "tool", ToolCallID: c.ID, Content: "21C"})
		}
	}
	add(openai.ChatCompletionMessage{Role: "user", Content: "two"})
	req.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	for i, want := range []string{"", "Rainy."} {
		msg, usage := readStream(t, client, req)
		if msg.Content != want || usage == nil || usage.CompletionTokens == 0 {
			t.Errorf("stream %d: %+v %+v", i, msg, usage)
		}
		add(msg)
		for _, c := range msg.ToolCalls {
			if c.Function.Arguments != `{"location":"Paris"}` {
				t.Errorf("arguments %s", c.Function.Arguments)
			}
			add(openai.ChatCompletionMessage{Role: "tool", ToolCallID: c.ID, Content: "21C"})
		}
	}
}

func readStream(t *testing.T, client *openai.Client, req openai.ChatCompletionRequest) (openai.ChatCompletionMessage, *openai.Usage) {
	t.Helper()
	stream, err := client.CreateChatCompletionStream(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	msg := openai.ChatCompletionMessage{Role: "assistant"}
	var usage *openai.Usage
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return msg, usage
		}
		if err != nil {
			t.Fatal(err)
		}
		if chunk.Usage != nil {
			usage = chunk.Usage
		}
		for _, choice := range chunk.Choices {
			msg.Content += choice.Delta.Content
			for _, c := range choice.Delta.ToolCalls {
				if c.ID != "" {
					msg.ToolCalls = append(msg.ToolCalls, c)
					continue
				}
				msg.ToolCalls[*c.Index].Function.Arguments += c.Function.Arguments
			}
		}
	}
}

// TestTiming reads a paced stream in virtual time.
func TestTiming(t *testing.T) {
	pieces := len([]string{"Sunny", " in", " Paris", "."})
	for _, tc := range []struct {
		name   string
		opts   mockllm.Options
		stream bool
		first  time.Duration // until the first byte
		total  time.Duration
	}{
		{"zero means zero", mockllm.Options{}, true, 0, 0},
		{"stream", mockllm.Options{TimeToFirstToken: time.Second, TokensPerSecond: 4}, true, time.Second, 2 * time.Second},
		{"whole", mockllm.Options{TimeToFirstToken: time.Second, TokensPerSecond: 4}, false, 2 * time.Second, 2 * time.Second},
		{"rate alone", mockllm.Options{TokensPerSecond: 4}, true, 0, time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{say("Sunny in Paris.")}}, &tc.opts)
				start := time.Now()
				resp, err := post(m, tc.stream, t.Context())
				if err != nil {
					t.Fatal(err)
				}
				b := make([]byte, 1)
				if _, err := io.ReadFull(resp.Body, b); err != nil {
					t.Fatal(err)
				}
				if got := time.Since(start); got != tc.first {
					t.Errorf("first byte after %v, want %v", got, tc.first)
				}
				rest, err := io.ReadAll(resp.Body)
				if err != nil {
					t.Fatal(err)
				}
				if got := time.Since(start); got != tc.total {
					t.Errorf("took %v, want %v", got, tc.total)
				}
				if n := strings.Count(string(rest), `"delta":{"content":`); tc.stream && n != pieces {
					t.Errorf("%d pieces:\n%s", n, rest)
				}
				m.Close()
			})
		})
	}
}

func TestJitterIsSeeded(t *testing.T) {
	took := func(seed int64) (d time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{say("Sunny in Paris.")}},
				&mockllm.Options{Seed: seed, TimeToFirstToken: time.Second, Jitter: 0.5})
			start := time.Now()
			resp, err := post(m, false, t.Context())
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			d = time.Since(start)
			m.Close()
		})
		return d
	}
	a, b, other := took(1), took(1), took(2)
	if a != b || a == other || a < 500*time.Millisecond || a > 1500*time.Millisecond {
		t.Errorf("took %v, %v and %v", a, b, other)
	}
}

func post(m *mockllm.Mock, stream bool, ctx context.Context) (*http.Response, error) {
	body := fmt.Sprintf(`{"model":"gpt-4o","stream":%v,"messages":[{"role":"user","content":"Weather?"}]}`, stream)
	req, err := http.NewRequestWithContext(ctx, "POST", m.URL+"/chat/completions", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	return m.Transport().RoundTrip(req)
}

// TestCutByClient: a reply that was not read to its end is given again, and
// is no repeated request.
func TestCutByClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{say("Sunny in Paris.")}}, &mockllm.Options{TokensPerSecond: 1})
		resp, err := post(m, true, t.Context())
		if err != nil {
			t.Fatal(err)
		}
		io.ReadFull(resp.Body, make([]byte, 10))
		resp.Body.Close()
		resp, err = post(m, true, t.Context())
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		synctest.Wait()
		wantJournal(t, m, "reply 200 1.1/1", "reply 200 1.1/2 delivered")
		m.Close()
	})
}

// TestCloseCutsReplies: a closed mock ends a paced reply, and not as if it
// were whole.
func TestCloseCutsReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{say("Sunny.")}}, &mockllm.Options{TokensPerSecond: 0.001})
		resp, err := post(m, true, t.Context())
		if err != nil {
			t.Fatal(err)
		}
		go m.Close()
		if _, err := io.ReadAll(resp.Body); err == nil {
			t.Error("the stream ended as if it were whole")
		}
		synctest.Wait()
		resp, err = post(m, true, t.Context())
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("got %d after Close", resp.StatusCode)
		}
	})
}

// TestSameBytes: two runs of one script and seed give the same bytes.
func TestSameBytes(t *testing.T) {
	run := func(seed int64) string {
		m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{weather()}}, &mockllm.Options{Seed: seed})
		defer m.Close()
		resp, err := post(m, true, t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if a, b := run(1), run(1); a != b {
		t.Errorf("two runs differ:\n%s\n%s", a, b)
	}
	if a, b := run(1), run(2); a == b {
		t.Error("two seeds give the same bytes")
	}
}

func TestFlushEvents(t *testing.T) {
	for _, tc := range []struct {
		name  string
		flush bool
		want  int
	}{{"joined", false, 1}, {"each event", true, 5}} {
		t.Run(tc.name, func(t *testing.T) {
			m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{say("Sunny.")}}, &mockllm.Options{FlushEvents: tc.flush})
			defer m.Close()
			w := &countingWriter{header: make(http.Header)}
			body := `{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}`
			req, _ := http.NewRequestWithContext(t.Context(), "POST", "/v1/chat/completions", strings.NewReader(body))
			m.ServeHTTP(w, req)
			if w.writes != tc.want {
				t.Errorf("%d writes, want %d", w.writes, tc.want)
			}
		})
	}
}

type countingWriter struct {
	header http.Header
	writes int
}

func (w *countingWriter) Header() http.Header         { return w.header }
func (w *countingWriter) WriteHeader(int)             {}
func (w *countingWriter) Write(p []byte) (int, error) { w.writes++; return len(p), nil }
func (w *countingWriter) Flush()                      {}

// fakeTB is a test that is allowed to fail.
type fakeTB struct {
	errors   []string
	cleanups []func()
}

func (f *fakeTB) Helper() {}
func (f *fakeTB) Errorf(format string, args ...any) {
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}
func (f *fakeTB) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (f *fakeTB) Cleanup(c func())                  { f.cleanups = append(f.cleanups, c) }

func TestNewServerFails(t *testing.T) {
	f := &fakeTB{}
	m := mockllm.NewServer(f, mockllm.Script{Turns: []mockllm.Turn{{User: "Weather?", Replies: []mockllm.Reply{weather(), say("Sunny.")}}}})
	transport := &http.Transport{}
	c := &http.Client{Transport: transport}
	for _, text := range []string{"Weather?", "Something else"} {
		resp, err := c.Post(m.URL+"/chat/completions", "", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"`+text+`"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	transport.CloseIdleConnections()
	for _, c := range f.cleanups {
		c()
	}
	if len(f.errors) != 2 || !strings.Contains(f.errors[0], "miss: nothing scripted fits") || f.errors[1] != "mockllm: never asked for: turn 1, reply 2" {
		t.Errorf("errors: %q", f.errors)
	}
}

// TestHost plays two scripts under one listener at once.
func TestHost(t *testing.T) {
	h, err := mockllm.NewHost("")
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	var wg sync.WaitGroup
	for i := range 8 {
		m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{say(fmt.Sprint(i))}}, nil)
		url, unmount := h.Mount(m)
		wg.Go(func() {
			defer unmount()
			c := &client{t: t, http: &http.Client{Transport: transport}, url: url, model: "m"}
			c.say("user", "x")
			wantText(t, c.ask(), fmt.Sprint(i))
			resp, err := c.http.Get(m.Root + "/rehearse/journal")
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			b, _ := io.ReadAll(resp.Body)
			if !strings.HasPrefix(string(b), `[{"seq":1,"kind":"reply","turn":1,"reply":1,"attempt":1,"path":"/v1/chat/completions","dialect":"chat",`) {
				t.Errorf("journal: %s", b)
			}
			resp, err = c.http.Post(m.Root+"/rehearse/reset", "", nil)
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
			if n := len(m.Journal()); n != 0 {
				t.Errorf("%d exchanges after the reset", n)
			}
		})
	}
	wg.Wait()
	transport.CloseIdleConnections()
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

func TestJournalBudget(t *testing.T) {
	for _, tc := range []struct {
		name string
		opts mockllm.Options
		most int
	}{
		{"bytes", mockllm.Options{JournalBytes: 10_000}, 25},
		{"entries", mockllm.Options{JournalEntries: 7}, 7},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{{Say: "x", Repeat: 1000}}, Arrival: true}, &tc.opts)
			c := newClient(t, m)
			c.say("user", strings.Repeat("long ", 100))
			for range 100 {
				c.send()
			}
			j := m.Journal()
			if len(j) == 0 || len(j) > tc.most || j[len(j)-1].Seq != 100 {
				t.Errorf("%d exchanges, the last is %d", len(j), j[len(j)-1].Seq)
			}
		})
	}
}

func TestBodyLimit(t *testing.T) {
	m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{say("x")}}, &mockllm.Options{MaxBodyBytes: 1000})
	c := newClient(t, m)
	c.say("user", strings.Repeat("x", 1000))
	if a, _ := c.send(); a.status != http.StatusRequestEntityTooLarge || !strings.Contains(a.msg, "larger than 1000 bytes") {
		t.Errorf("got %+v", a)
	}
}

// FuzzStream: whatever is said, the pieces of a stream make it up again, and
// each is whole text.
func FuzzStream(f *testing.F) {
	for _, s := range []string{"", "Sunny in Paris.", `{"a": "Zürich \u0000", "b":[1,2]}`, "  \n\t", "\xff\xfe", "🌞🌞🌞🌞🌞🌞🌞🌞🌞🌞", strings.Repeat("x", 100)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{{Say: text, Calls: []mockllm.Call{{Tool: "f", Args: json.RawMessage(text)}}}}}, nil)
		defer m.Close()
		resp, err := post(m, true, t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		var content, args string
		for line := range strings.Lines(string(b)) {
			data, ok := strings.CutPrefix(line, "data: {")
			if !ok {
				continue
			}
			var chunk struct {
				Choices []struct {
					Delta struct {
						Content   string
						ToolCalls []struct{ Function struct{ Arguments string } } `json:"tool_calls"`
					}
				}
			}
			if err := json.Unmarshal([]byte("{"+data), &chunk); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			content += chunk.Choices[0].Delta.Content
			for _, c := range chunk.Choices[0].Delta.ToolCalls {
				args += c.Function.Arguments
			}
		}
		want := string([]rune(text)) // each invalid byte is U+FFFD
		if content != want || args != want {
			t.Errorf("said %q, got %q and %q", want, content, args)
		}
	})
}

// TestScriptPanics: a function of the script that panics is a problem of the script,
// in memory too, where nobody else could recover.
func TestScriptPanics(t *testing.T) {
	for name, script := range map[string]mockllm.Script{
		"reply": {Replies: []mockllm.Reply{{Func: func(*mockllm.Ask) (mockllm.Reply, error) { panic("a bug") }}}},
		"rule":  {Rules: []mockllm.Rule{{When: func(*mockllm.Ask) (bool, error) { panic("a bug") }, Reply: say("x")}}},
		"lane":  {Lanes: []mockllm.Lane{{Name: "l", When: func(*mockllm.Ask) (bool, error) { panic("a bug") }, Replies: []mockllm.Reply{say("x")}}}},
	} {
		t.Run(name, func(t *testing.T) {
			m := scripted(t, script, nil)
			resp, err := post(m, false, t.Context())
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode < 400 || !strings.Contains(string(text), "panic: a bug") {
				t.Errorf("status %d: %s", resp.StatusCode, text)
			}
			if err := m.Err(); err == nil || !strings.Contains(err.Error(), "panic: a bug") {
				t.Errorf("problems: %v", err)
			}
		})
	}
}
