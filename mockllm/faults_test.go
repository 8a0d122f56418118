// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

// skipping is a clock whose waits cost nothing.
type skipping struct{ harness.Clock }

func (skipping) Now() time.Time                                   { return time.Unix(1767225600, 0) }
func (skipping) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// variants are all the faults that there are: each kind in each of its forms,
// and the presets.
func variants() []fault.Fault {
	var out []fault.Fault
	for _, info := range fault.Kinds() {
		if len(info.Forms) == 0 {
			out = append(out, fault.Fault{Kind: info.Kind})
		}
		for _, form := range info.Forms {
			out = append(out, fault.Fault{Kind: info.Kind, Form: form.Name})
		}
	}
	for _, p := range fault.Presets() {
		f := p.Fault
		f.Times = 0
		out = append(out, f)
	}
	return out
}

// hangs reports whether a fault ends only when the client does.
func hangs(f fault.Fault) bool { return f.Kind == fault.Hang || f.Form == "held" }

// TestFaultsAreDifferent plays every fault on a call and on a text, and then
// asks again: the fault must show on the wire, and the reply come after it.
func TestFaultsAreDifferent(t *testing.T) {
	for _, f := range variants() {
		for _, stream := range []bool{true, false} {
			if !f.Applies(stream) || hangs(f) {
				continue
			}
			name := f.String() + " plain"
			if stream {
				name = f.String() + " stream"
			}
			t.Run(name, func(t *testing.T) {
				differs := false
				for _, reply := range []mockllm.Reply{
					{Calls: []mockllm.Call{{Tool: "a", Args: json.RawMessage(`{"city":"Zürich"}`)}, {Tool: "b", Args: json.RawMessage(`{"n":2}`)}}},
					{Say: "It is 18 °C in Zürich, and dry."},
				} {
					clean := ask(t, scripted(t, mockllm.Script{Replies: []mockllm.Reply{reply}}, nil), stream, f.Kind == fault.Usage)
					reply.Faults = []mockllm.Fault{f}
					m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{reply}}, &mockllm.Options{Clock: skipping{harness.SystemClock()}})
					struck, again := ask(t, m, stream, f.Kind == fault.Usage), ask(t, m, stream, f.Kind == fault.Usage)
					differs = differs || struck != clean
					if again != clean {
						t.Errorf("after the fault:\n%s\nwant\n%s", again, clean)
					}
					if err := m.Err(); err != nil {
						t.Error(err)
					}
					want := f.String()
					if info, _ := fault.Describe(f.Kind); info.Calls && len(reply.Calls) == 0 {
						want = "" // there is nothing to go wrong
					}
					if got := m.Journal()[0].Fault; got != want {
						t.Errorf("the journal has the fault %q, want %q", got, want)
					}
				}
				// Waits do not show, and [skipping] skips them.
				if slow := f.Kind == fault.SlowHeaders || f.Kind == fault.SlowStream || f.Kind == fault.Stall; !differs && !slow {
					if f.String() == "split_utf8/writes" {
						return // the bytes are the same
					}
					t.Error("the fault does not show")
				}
			})
		}
	}
}

// ask sends one request and returns all that comes back.
func ask(t *testing.T, m *mockllm.Mock, stream, usage bool) string {
	t.Helper()
	body := `{"model":"gpt-4o","messages":[{"role":"user","content":"Weather?"}],"stream":false,"tools":[` +
		`{"type":"function","function":{"name":"a"}},{"type":"function","function":{"name":"b"}}]}`
	if stream {
		body = strings.Replace(body, `"stream":false`, `"stream":true`, 1)
	}
	if stream && usage {
		body = strings.Replace(body, `"stream":true`, `"stream":true,"stream_options":{"include_usage":true}`, 1)
	}
	return allOf(t, m, "/chat/completions", body)
}

// allOf sends a body and returns all that comes back.
func allOf(t *testing.T, m *mockllm.Mock, path, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, m.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := m.Transport().RoundTrip(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	var b strings.Builder
	b.WriteString(resp.Status + "\n")
	resp.Header.Del("X-Request-Id")
	resp.Header.Del("Request-Id")
	resp.Header.Del("Date")
	if err := resp.Header.Write(&b); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(&b, resp.Body); err != nil {
		b.WriteString("\n" + err.Error())
	}
	return b.String()
}

// TestScriptFaults places faults from the script.
func TestScriptFaults(t *testing.T) {
	m := scripted(t, mockllm.Script{
		Arrival: true,
		Replies: []mockllm.Reply{{Say: "Yes.", Repeat: 6}},
		Faults: []mockllm.Fault{
			{Kind: fault.ServerError, At: fault.At{Request: 2}},
			{Kind: fault.Unauthorized, When: func(r *fault.Request) (bool, error) { return r.Full().Model == "gpt-4o" && r.Number == 4, nil }},
		},
	}, nil)
	var got []string
	for range 6 {
		got = append(got, ask(t, m, false, false)[:3])
	}
	if want := "200 500 200 401 200 200"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	for _, x := range m.Journal() {
		if x.Kind != harness.KindReply {
			t.Errorf("exchange %d is a %s: %s", x.Seq, x.Kind, x.Error)
		}
	}
}

// TestFaultsInOtherDialects plays every fault in the other dialects: whatever
// it does there, the request after it gets the reply.
func TestFaultsInOtherDialects(t *testing.T) {
	for _, d := range []struct{ name, path, plain, stream string }{
		{"messages", "/messages", `{"model":"claude","max_tokens":99,"messages":[{"role":"user","content":"Hi"}]}`, `{"model":"claude","max_tokens":99,"stream":true,"messages":[{"role":"user","content":"Hi"}]}`},
		{"responses", "/responses", `{"model":"gpt-5","input":"Hi"}`, `{"model":"gpt-5","stream":true,"input":"Hi"}`},
		{"completions", "/completions", `{"model":"m","prompt":"Hi"}`, `{"model":"m","stream":true,"prompt":"Hi"}`},
	} {
		t.Run(d.name, func(t *testing.T) {
			for _, f := range variants() {
				for stream, body := range map[bool]string{true: d.stream, false: d.plain} {
					if !f.Applies(stream) || hangs(f) {
						continue
					}
					reply := mockllm.Reply{Say: "It is 18 °C in Zürich, and dry."}
					clean := allOf(t, scripted(t, mockllm.Script{Replies: []mockllm.Reply{reply}}, nil), d.path, body)
					reply.Faults = []mockllm.Fault{f}
					m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{reply}}, &mockllm.Options{Clock: skipping{harness.SystemClock()}})
					allOf(t, m, d.path, body)
					if again := allOf(t, m, d.path, body); again != clean {
						t.Errorf("after %s:\n%s\nwant\n%s", f.String(), again, clean)
					}
				}
			}
		})
	}
}

// TestFaultsOfLines holds that a fault of the lines of a stream leaves the same
// lines in every dialect, also in Gemini's, which end with CR LF.
func TestFaultsOfLines(t *testing.T) {
	tests := []struct {
		fault fault.Fault
		holds func(body string) bool
	}{
		{fault.Fault{Kind: fault.CRLF}, func(s string) bool {
			return !strings.Contains(s, "\r\r") && strings.Count(s, "\n") == strings.Count(s, "\r\n")
		}},
		{fault.Fault{Kind: fault.CR}, func(s string) bool { return !strings.Contains(s, "\n") && !strings.Contains(s, "\r\r\r") }},
		{fault.Fault{Kind: fault.UnendedEvent}, func(s string) bool { return strings.HasSuffix(s, "}") }},
		{fault.Fault{Kind: fault.MalformedJSON, Form: "trailing"}, func(s string) bool {
			for line := range strings.Lines(strings.ReplaceAll(s, "\r", "\n")) {
				doc, is := strings.CutPrefix(strings.TrimRight(line, "\n"), "data: ")
				if is && !json.Valid([]byte(doc)) && json.Valid([]byte(strings.TrimSuffix(doc, "}"))) {
					return true
				}
			}
			return false
		}},
	}
	body := func(path, body string, f fault.Fault) string {
		t.Helper()
		m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{{Say: "It is 18 °C in Zürich, and dry.", Faults: []mockllm.Fault{f}}}}, nil)
		res, err := (&http.Client{Transport: m.Transport()}).Post(m.Root+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		raw, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Errorf("%s, %s: %d, %v\n%s", path, f.String(), res.StatusCode, err, raw)
		}
		return string(raw)
	}
	const gemini, asked = "/v1beta/models/gemini:streamGenerateContent", `{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}`
	for _, d := range []struct{ path, body string }{
		{"/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"Hi"}]}`},
		{"/v1/messages", `{"model":"claude","max_tokens":99,"stream":true,"messages":[{"role":"user","content":"Hi"}]}`},
		{"/v1/responses", `{"model":"gpt-5","stream":true,"input":"Hi"}`},
		{"/v1/completions", `{"model":"m","stream":true,"prompt":"Hi"}`},
		{gemini + "?alt=sse", asked},
	} {
		for _, tt := range tests {
			if got := body(d.path, d.body, tt.fault); !tt.holds(got) {
				t.Errorf("%s, %s:\n%q", d.path, tt.fault.String(), got)
			}
		}
	}
	list := body(gemini, asked, fault.Fault{Kind: fault.MalformedJSON, Form: "trailing"})
	if json.Valid([]byte(list)) {
		t.Errorf("a list, malformed_json/trailing:\n%s", list)
	}
}
