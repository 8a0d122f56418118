// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/key"
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// TestMissInWords: a miss tells six differences and six candidates, of more
// the number.
func TestMissInWords(t *testing.T) {
	several := func(n int) (diff []key.Difference, refused []string) {
		for range n {
			diff, refused = append(diff, key.Difference{Path: "body.a", Recorded: "1", Now: "2"}), append(refused, "interaction 2: why")
		}
		return diff, refused
	}
	const head, line, why = `cassette "a.yaml" has no answer for POST /v1`, "\n    body.a: recorded 1, now 2", "\n  interaction 2: why"
	for _, tt := range []struct {
		nearest, n int
		want       string
	}{
		{0, 3, head + ": it is empty; record it"},
		{1, 0, head},
		{1, 1, head + "\n  interaction 1 is nearest, and differs:" + line + why},
		{1, 6, head + "\n  interaction 1 is nearest, and differs:" + strings.Repeat(line, 6) + strings.Repeat(why, 6)},
		{1, 8, head + "\n  interaction 1 is nearest, and differs:" + strings.Repeat(line, 6) + "\n    and 2 more" + strings.Repeat(why, 6) + "\n  and 2 more"},
	} {
		e := &MissError{Cassette: "a.yaml", Method: "POST", URL: "/v1", Nearest: tt.nearest}
		e.Differences, e.Refused = several(tt.n)
		if got := e.Error(); got != tt.want || !errors.Is(fmt.Errorf("asking: %w", e), harness.ErrMiss) {
			t.Errorf("%d of each:\n%s\nwant\n%s", tt.n, got, tt.want)
		}
	}
}

// TestNearest: of what is recorded the interaction is told that differs least;
// another method or path weighs more than any body, and an unused one goes
// first among equals.
func TestNearest(t *testing.T) {
	diff := func(paths ...string) (out []key.Difference) {
		for _, p := range paths {
			out = append(out, key.Difference{Path: p})
		}
		return out
	}
	for _, tt := range []struct {
		less, more []key.Difference
	}{
		{nil, diff("body")}, {diff("body"), diff("body", "query.n")}, {diff("body", "query.n", "body.a"), diff("path")}, {diff("body", "a"), diff("method")}, {diff("path"), diff("path", "method")},
	} {
		if a, b := weight(tt.less), weight(tt.more); a >= b {
			t.Errorf("%v weighs %d, %v weighs %d", tt.less, a, tt.more, b)
		}
	}
	path := filepath.Join(t.TempDir(), "a.yaml")
	asked := func(method, body string) *vcr.Interaction {
		i := interactionOf("v1")
		i.Request.Method, i.Request.Body = method, []byte(body)
		return i
	}
	if err := vcr.WriteFile(path, &vcr.File{Interactions: []*vcr.Interaction{asked("POST", `{"a":1,"b":1}`), asked("PUT", `{"a":2,"b":2}`), asked("POST", `{"a":1,"b":2}`), asked("POST", `{"a":1,"b":2}`)}}, 0); err != nil {
		t.Fatal(err)
	}
	ask := func(r *Recorder, body string) error {
		req := httptest.NewRequest("POST", "http://127.0.0.1/v1", strings.NewReader(body))
		resp, err := r.RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}
	for _, tt := range []struct {
		name    string
		order   Order
		first   []string
		body    string
		nearest int
		refused []string
	}{
		{"one member", Sequence, nil, `{"a":2,"b":2}`, 3, []string{"interaction 4: body.a: recorded 1, now 2", "interaction 1: body.a: recorded 1, now 2", `interaction 2: method: recorded "PUT", now "POST"`}},
		{"one that was not used", Sequence, []string{`{"a":1,"b":2}`}, `{"a":2,"b":2}`, 4, []string{"interaction 3: body.a: recorded 1, now 2", "interaction 1: body.a: recorded 1, now 2", `interaction 2: method: recorded "PUT", now "POST"`}},
		{"used up", Sequence, []string{`{"a":1,"b":1}`}, `{"a":1,"b":1}`, 1, []string{"interaction 1 is the same request, but was already used; record one answer for each, or use order repeat-last (rehearse proxy: --order repeat-last)", "interaction 3: body.b: recorded 2, now 1", "interaction 4: body.b: recorded 2, now 1", `interaction 2: method: recorded "PUT", now "POST"`}},
		{"out of order", Strict, nil, `{"a":1,"b":2}`, 3, []string{"interaction 3 is the same request, but order strict requires interaction 1 (line 4): POST http://127.0.0.1/v1 now", "interaction 4 is the same request, but order strict requires interaction 1 (line 4): POST http://127.0.0.1/v1 now", "interaction 1: body.b: recorded 1, now 2", `interaction 2: method: recorded "PUT", now "POST"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Open(path, &Options{Order: tt.order, AllowUnused: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, body := range tt.first {
				if err := ask(r, body); err != nil {
					t.Fatal(err)
				}
			}
			var miss *MissError
			if err := ask(r, tt.body); !errors.As(err, &miss) {
				t.Fatalf("got %v, want a miss", err)
			}
			if miss.Nearest != tt.nearest {
				t.Errorf("interaction %d is nearest, want %d", miss.Nearest, tt.nearest)
			}
			if d := cmp.Diff(tt.refused, miss.Refused); d != "" {
				t.Errorf("refused (-want +got):\n%s", d)
			}
			if len(r.Misses()) != 1 || r.Close() == nil {
				t.Error("the miss is not told at the end")
			}
		})
	}
	r, err := Open(path, &Options{Order: Strict})
	if err != nil {
		t.Fatal(err)
	}
	for r.strict = 0; r.strict < len(r.tape); r.strict++ {
		if got, want := r.due(), fmt.Sprintf("interaction %d (line ", r.strict+1); !strings.HasPrefix(got, want) {
			t.Errorf("due is %s", got)
		}
	}
	if got := r.due(); got != "no more requests" {
		t.Errorf("at the end %s is due", got)
	}
}

// TestMissesAreBounded: a miss is compared with two hundred interactions, and
// tells one candidate more than are shown.
func TestMissesAreBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	var texts []string
	for n := range 199 {
		texts = append(texts, fmt.Sprintf("far?a=%d&b=1&c=1", n))
	}
	writes(t, path, append(texts, "far?b=1", "v1?x=1", "v1?x=2")...) // the last two are nearest, and come too late
	r, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.RoundTrip(httptest.NewRequest("GET", "http://127.0.0.1/v1?x=9", nil))
	var miss *MissError
	if !errors.As(err, &miss) || miss.Nearest != 200 || len(miss.Refused) != maxShown+1 {
		t.Errorf("got %v", err)
	}
}

// TestMixedEarly: who adds to a recording is told at once that a request is of
// another conversation, and once.
func TestMixedEarly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	ask := func(r *Recorder, model string) {
		req := httptest.NewRequest("POST", "http://127.0.0.1/v1/chat/completions", strings.NewReader(`{"model":"`+model+`","messages":[{"role":"user","content":"hi"}]}`))
		req.Header.Set("Content-Type", "application/json")
		resp, err := r.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	for _, models := range [][]string{{"a"}, {"b", "c"}} {
		r, err := Open(path, &Options{Mode: RecordNew, Upstream: fixed{}, LookupEnv: noCI})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range models {
			ask(r, m)
		}
		notes := strings.Join(r.Notes(), "\n")
		if want := len(models) - 1; strings.Count(notes, "a request has") != want || want == 1 && !strings.Contains(notes, `a request has model "b" after "a"`) {
			t.Errorf("asked for %q: %s", models, notes)
		}
		if err := r.Close(); (err != nil) != (len(models) > 1) {
			t.Errorf("asked for %q: %v", models, err)
		}
	}
}

// TestNumbersInWords lists interactions by ranges.
func TestNumbersInWords(t *testing.T) {
	for want, of := range map[string][]int{
		"interaction 3":                                    {3},
		"interactions 1-2":                                 {1, 2},
		"interactions 1 and 3":                             {1, 3},
		"interactions 1-3, 5 and 7-8":                      {1, 2, 3, 5, 7, 8},
		"interactions 1, 3, 5, 7, 9 and 11":                {1, 3, 5, 7, 9, 11},
		"interactions 1, 3, 5, 7, 9, 11 and 2 more ranges": {1, 3, 5, 7, 9, 11, 13, 15, 16},
	} {
		if got := (&group{of: of}).numbers(); got != want {
			t.Errorf("%v is %s, want %s", of, got, want)
		}
	}
	var g groups
	for n, text := range []string{"a", "b", "a"} {
		g.add(text, n+1)
	}
	if len(g) != 2 || !slices.Equal(g[0].of, []int{1, 3}) || g[1].text != "b" {
		t.Errorf("groups %v", g)
	}
}

// TestFindingsInWords: what looks like a secret is told with its place and how
// to keep it.
func TestFindingsInWords(t *testing.T) {
	certain := redact.Finding{Rule: "sk", Excerpt: "sk-…", Interaction: 2, Place: "response body a.b"}
	guess := redact.Finding{Rule: "unknown", Excerpt: "zq…", Guess: true, Interaction: 1, Place: "request body c"}
	nowhere := redact.Finding{Rule: "sk", Excerpt: "x", Interaction: 1}
	list := []*vcr.Interaction{interactionOf("a?key=1"), interactionOf("b?key=2")}
	if err := secretLeft("a.yaml", list, []redact.Finding{guess}); err != nil {
		t.Errorf("a guess is %v", err)
	}
	for want, left := range map[string][]redact.Finding{
		`cassette "a.yaml" is not written: interaction 2 (GET http://127.0.0.1/b) still contains what looks like a secret: response body a.b: sk: sk-…; if it is not a secret, keep it with --keep 'a.b' (in rehearse.yaml: redact: {keep: ['a.b']})`: {guess, certain},
		`cassette "a.yaml" is not written: interaction 1 (GET http://127.0.0.1/a) still contains what looks like a secret: in an encoded part: sk: x; if it is not a secret, keep it with --keep 'PATH' (in rehearse.yaml: redact: {keep: ['PATH']})`: {nowhere, certain},
	} {
		if err := secretLeft("a.yaml", list, left); err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
	const warning = "texts that look random were written unchanged, since no rule knows them as secrets: 1; check the first: interaction 1, request body c: unknown: zq…; --keep 'c' (in rehearse.yaml: redact: {keep: ['c']}) ends this warning"
	if got := guesses([]redact.Finding{certain, guess}); got != warning {
		t.Errorf("guesses: %s", got)
	}
	if got := guesses([]redact.Finding{certain}); got != "" {
		t.Errorf("without guesses: %s", got)
	}
	path := filepath.Join(t.TempDir(), "a.yaml")
	list = []*vcr.Interaction{interactionOf("a"), interactionOf("b")}
	f := &vcr.File{Path: path, Interactions: list}
	if refused, doubts, err := Judge(f, noSecrets(t)); refused != "" || doubts != "" || err != nil {
		t.Errorf("a file without secrets: %q, %q, %v", refused, doubts, err)
	}
	bad := interactionOf("c")
	bad.Response.Body = []byte("it is " + "AKIA" + "IOSFODNN7EXAMPL2" + " here")
	f.Interactions = []*vcr.Interaction{list[0], bad}
	refused, _, err := Judge(f, noSecrets(t))
	if err == nil || refused != filepath.Join(filepath.Dir(path), "a.refused.yaml") {
		t.Fatalf("a file with a secret: %q, %v", refused, err)
	}
	kept, err := vcr.Read(refused)
	if err != nil || len(kept.Interactions) != 2 || string(kept.Interactions[0].Response.Body) != "a" || strings.Contains(string(kept.Interactions[1].Response.Body), "AKIA") || !strings.HasSuffix(string(kept.Interactions[1].Response.Body), " here") {
		t.Errorf("what is set aside: %v, %v", err, kept)
	}
}

// TestWhatFailed: which answers count as failures, of an endpoint and of an
// attempt.
func TestWhatFailed(t *testing.T) {
	for _, tt := range []struct {
		code            int
		outcome         vcr.Outcome
		answered, again bool
	}{
		{200, vcr.Complete, true, false},
		{399, vcr.Complete, true, false},
		{400, vcr.Complete, false, false},
		{404, vcr.Complete, false, false},
		{408, vcr.Complete, false, true},
		{429, vcr.Complete, false, true},
		{499, vcr.Complete, false, false},
		{500, vcr.Complete, false, true},
		{503, vcr.Complete, false, true},
		{200, vcr.Aborted, false, true},
		{0, vcr.UpstreamError, false, true},
		{200, vcr.ClientClosed, true, true},
		{0, vcr.ClientClosed, false, true},
		{200, vcr.Open, true, true},
	} {
		i := &vcr.Interaction{Response: vcr.Response{Code: tt.code}, Meta: vcr.Meta{Outcome: tt.outcome}}
		if got := succeeded(i); got != tt.answered {
			t.Errorf("%d, %s: answered %t", tt.code, tt.outcome, got)
		}
		if got := failedAttempt(i); got != tt.again {
			t.Errorf("%d, %s: a cause to ask again %t", tt.code, tt.outcome, got)
		}
	}
	named := interactionOf("a")
	named.Meta.Subject = "bot"
	if got := subjectOf([]*vcr.Interaction{interactionOf("b"), named}); got != "bot" {
		t.Errorf("the subject is %q", got)
	}
	if got := subjectOf([]*vcr.Interaction{interactionOf("b")}); got != "" {
		t.Errorf("of nobody: %q", got)
	}
}

// TestEnded: a stream is over when it says so, though its connection goes on.
func TestEnded(t *testing.T) {
	for body, want := range map[string]bool{
		"data: {}\n\ndata: [DONE]\n\n": true, "data:  [DONE] \n\n": true, "data: [DONE]\n": true, "data: [DONE]\n\ndata: {}\n\n": false, "": false, "data: {\"type\":\"message_stop\"}\n\n": true,
		"data: {\"type\":\"response.completed\"}\n\n": true, "data: {\"type\":\"response.failed\"}\n\n": true, "data: {\"type\":\"response.incomplete\"}\n\n": true, "data: {\"type\":\"message_start\"}\n\n": false, "data: {\"type\":\n\n": false,
	} {
		for kind, stream := range map[string]bool{"text/event-stream": true, "text/event-stream; charset=utf-8": true, "application/json": false, "": false} {
			if got := ended(http.Header{"Content-Type": {kind}}, []byte(body)); got != (want && stream) {
				t.Errorf("%q of %q is over: %t", body, kind, got)
			}
		}
	}
}

// TestReason is the last of the causes of an error.
func TestReason(t *testing.T) {
	inner := errors.New("connection refused")
	for want, err := range map[string]error{
		"connection refused": &url.Error{Op: "Post", URL: "http://h", Err: fmt.Errorf("dial: %w", inner)}, "alone": errors.New("alone"),
	} {
		if got := reason(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}

// TestSame: two recordings say the same when they differ in times, hosts and
// numbers of answers alone.
func TestSame(t *testing.T) {
	one := func(change func(i *vcr.Interaction)) []*vcr.Interaction {
		i := interactionOf("v1?q=1")
		i.Request.Body = []byte(`{"a":1}`)
		i.Response.Body, i.Response.Header = []byte(`{"id":"chatcmpl-1","created":123,"text":"x"}`), http.Header{"Content-Type": {"application/json"}, "Date": {"Mon"}}
		i.Meta.Outcome, i.Meta.Error, i.Meta.Model, i.Meta.Label = vcr.Complete, "e", "m", "l"
		change(i)
		return []*vcr.Interaction{i}
	}
	base := one(func(*vcr.Interaction) {})
	for name, change := range map[string]func(i *vcr.Interaction){
		"nothing":       func(*vcr.Interaction) {},
		"a host":        func(i *vcr.Interaction) { i.Request.URL = "http://10.0.0.1:8080/v1?q=1" },
		"an id":         func(i *vcr.Interaction) { i.Response.Body = []byte(`{"id":"chatcmpl-2","created":99,"text":"x"}`) },
		"a date":        func(i *vcr.Interaction) { i.Response.Header.Set("Date", "Tue") },
		"no date":       func(i *vcr.Interaction) { i.Response.Header.Del("Date") },
		"limits":        func(i *vcr.Interaction) { i.Response.Header.Set("X-Ratelimit-Left", "3") },
		"a request id":  func(i *vcr.Interaction) { i.Response.Header.Set("X-Request-Id", "3") },
		"a duration":    func(i *vcr.Interaction) { i.Response.Header.Set("Openai-Processing-Ms", "3") },
		"when it was":   func(i *vcr.Interaction) { i.Meta.Recorded = time.Unix(1, 0) },
		"how long":      func(i *vcr.Interaction) { i.Response.Duration = time.Second },
		"! a method":    func(i *vcr.Interaction) { i.Request.Method = "POST" },
		"! a path":      func(i *vcr.Interaction) { i.Request.URL = "http://127.0.0.1/v2?q=1" },
		"! a query":     func(i *vcr.Interaction) { i.Request.URL = "http://127.0.0.1/v1?q=2" },
		"! no URL":      func(i *vcr.Interaction) { i.Request.URL = "http://127.0.0.1/%zz" },
		"! a request":   func(i *vcr.Interaction) { i.Request.Body = []byte(`{"a":2}`) },
		"! an answer":   func(i *vcr.Interaction) { i.Response.Body = []byte(`{"id":"chatcmpl-1","created":123,"text":"y"}`) },
		"! a code":      func(i *vcr.Interaction) { i.Response.Code = 201 },
		"! an outcome":  func(i *vcr.Interaction) { i.Meta.Outcome = vcr.Aborted },
		"! an error":    func(i *vcr.Interaction) { i.Meta.Error = "" },
		"! a model":     func(i *vcr.Interaction) { i.Meta.Model = "n" },
		"! a label":     func(i *vcr.Interaction) { i.Meta.Label = "n" },
		"! a header":    func(i *vcr.Interaction) { i.Response.Header.Set("Content-Type", "text/plain") },
		"! more of one": func(i *vcr.Interaction) { i.Response.Header.Add("Content-Type", "text/plain") },
	} {
		if got := Same(base, one(change)); got == strings.HasPrefix(name, "!") {
			t.Errorf("%s differs: the same %t", name, got)
		}
	}
	if Same(base, append(base, base...)) || !Same(nil, nil) {
		t.Error("their numbers do not count")
	}
	if base[0].Response.Header.Get("Date") != "Mon" {
		t.Errorf("their headers were changed: %v", base[0].Response.Header)
	}
	bad := one(func(i *vcr.Interaction) { i.Request.URL = "http://127.0.0.1/%zz" })
	if !Same(bad, bad) {
		t.Error("an address that is none is not like itself")
	}
}

// TestSameIDs: ids that an endpoint or an agent numbers do not count, in any API;
// those of what a tool was told, or told, do.
func TestSameIDs(t *testing.T) {
	const event = `data: {"type":"response.completed","response":{"object":"response","id":"ID","output":[{"type":"function_call","call_id":"ID","arguments":"{}"}]}}` + "\n\n"
	for _, tt := range []struct {
		body string
		same bool
	}{
		{`{"content":[{"type":"tool_use","id":"ID","name":"get_user","input":{"a":1}}]}`, true},
		{`{"content":[{"type":"tool_result","tool_use_id":"ID","content":"no"}]}`, true},
		{`{"input":[{"type":"function_call_output","call_id":"ID","output":"{}"}]}`, true},
		{event, true},
		{event + event, true},
		{`{"tool_calls":[{"id":"ID","function":{"name":"f","arguments":{"a":{"b":2}}}}]}`, true},
		{`{"input":{"a":1},"id":"ID"}`, true},
		{`{"input":{"broken":`, true},
		{`{"content":[{"type":"tool_use","id":"x","name":"get_user","input":{"id":"ID"}}]}`, false},
		{`{"content":[{"type":"tool_use","id":"x","input": {"a":1}},{"id":"y","type":"tool_use","input":{"of":[{"id":"ID"}]}}]}`, false},
		{`{"parts":[{"functionCall":{"name":"get_user","args":{"created":1,"id":"ID"}}}]}`, false},
		{`{"parts":[{"functionResponse":{"name":"get_user","response":{"result":{"id":"ID"}}}}]}`, false},
		{`{"tool_calls":[{"id":"x","function":{"name":"f","arguments":{"call_id":"ID"}}}]}`, false},
		{`{"tool_calls":[{"id":"x","function":{"name":"f","arguments":"{\"id\":\"ID\"}"}}]}`, false},
	} {
		with := func(id string) []*vcr.Interaction {
			i := interactionOf("v1")
			i.Response.Body = []byte(strings.ReplaceAll(tt.body, "ID", id))
			return []*vcr.Interaction{i}
		}
		if got := Same(with("alice"), with("bob")); got != tt.same {
			t.Errorf("%s: the same %t", tt.body, got)
		}
	}
}

// TestTestOf: a request names its test in its path or in a header, which goes
// first.
func TestTestOf(t *testing.T) {
	for _, tt := range []struct{ path, header, name, rest string }{
		{"/test/one/v1/x", "", "one", "/v1/x"},
		{"/test/one", "", "one", "/"},
		{"/test/a%2Fb/x", "", "a/b", "/x"},
		{"/v1/x", "two", "two", "/v1/x"},
		{"/test/one/x", "two", "two", "/x"},
		{"/v1/x", "", "", "/v1/x"},
		{"/test/", "", "", "/test/"},
		{"/test//x", "", "", "/test//x"},
		{"/tests/one", "", "", "/tests/one"},
	} {
		req := httptest.NewRequest("GET", tt.path, nil)
		if tt.header != "" {
			req.Header.Set(TestHeader, tt.header)
		}
		if name, _, rest := testOf(req); name != tt.name || rest != tt.rest {
			t.Errorf("%s, %q: test %q of %q, want %q of %q", tt.path, tt.header, name, rest, tt.name, tt.rest)
		}
	}
}

// TestHops: what is of one connection is not handed on.
func TestHops(t *testing.T) {
	h := http.Header{
		"Connection": {"x-one, X-Two", "x-three"}, "X-One": {"1"}, "X-Two": {"1"}, "X-Three": {"1"}, "Keep-Alive": {"1"}, "Te": {"1"}, "Trailer": {"1"}, "Transfer-Encoding": {"1"},
		"Upgrade": {"1"}, "Proxy-Connection": {"1"}, "Proxy-Authenticate": {"1"}, "Proxy-Authorization": {"1"}, "Authorization": {"1"},
	}
	if dropHops(h); len(h) != 1 || h.Get("Authorization") != "1" {
		t.Errorf("left: %v", h)
	}
}

// TestMissAnswered: a miss is answered in the words of every SDK, so that none
// asks again.
func TestMissAnswered(t *testing.T) {
	w := httptest.NewRecorder()
	AnswerMiss(w, `no "answer"`)
	want := http.Header{"Content-Type": {"application/json"}, "X-Should-Retry": {"false"}}
	if d := cmp.Diff(want, w.Result().Header); d != "" || w.Code != http.StatusUnprocessableEntity {
		t.Errorf("%d, headers (-want +got):\n%s", w.Code, d)
	}
	if got, want := w.Body.String(), `{"error":{"code":"rehearse_miss","message":"no \"answer\"","param":null,"type":"rehearse_miss"}}`; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestOptionsInWords: what is no setting is told with what there is.
func TestOptionsInWords(t *testing.T) {
	noCI := func(string) (string, bool) { return "", false }
	ci := func(v string) func(string) (string, bool) { return func(string) (string, bool) { return v, true } }
	for _, tt := range []struct {
		opts Options
		want string
	}{
		{Options{}, ""},
		{Options{Mode: "play"}, `mode "play" is unknown: want one of [replay record record-new verify passthrough]`},
		{Options{Order: "odd"}, `order "odd" is unknown: want one of [sequence strict any repeat-last]`},
		{Options{Stale: "x"}, `stale "x" is unknown: want one of [warn error record]`},
		{Options{Speed: -1}, "speed -1 is less than 0"},
		{Options{Match: &key.Rules{Also: []string{"a["}}}, "paths to ignore: "},
		{Options{Mode: Record, LookupEnv: ci("true")}, "CI is set, and mode record makes recordings; record on your own machine and commit the file"},
		{Options{Mode: RecordNew, LookupEnv: ci("1")}, "CI is set, and mode record-new"},
		{Options{Mode: Record, LookupEnv: ci("false")}, ""},
		{Options{Mode: Record, LookupEnv: ci("0")}, ""},
		{Options{Mode: Record, LookupEnv: ci("")}, ""},
		{Options{Mode: Record, LookupEnv: noCI}, ""},
		{Options{Mode: Replay, LookupEnv: ci("true")}, ""},
		{Options{Mode: Verify, LookupEnv: ci("true")}, ""},
	} {
		got, err := tt.opts.withDefaults()
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want)) {
			t.Errorf("%+v: got %v, want %s", tt.opts, err, tt.want)
		}
		if err == nil && (got.Grace != 2*time.Second || got.Upstream == nil || got.Clock == nil || got.Start.IsZero() || got.Logf == nil || got.LookupEnv == nil || got.Order != Sequence || got.Stale != "warn") {
			t.Errorf("%+v: defaults %+v", tt.opts, got)
		}
		if tt.want != "" {
			if _, err := Open(filepath.Join(t.TempDir(), "a.yaml"), &tt.opts); err == nil || !strings.HasPrefix(err.Error(), "opening cassette ") {
				t.Errorf("opening with %+v: %v", tt.opts, err)
			}
		}
	}
	if _, err := Open("a.yaml", &Options{Secrets: &redact.Rules{Literals: []string{"x"}}}); err == nil || !strings.Contains(err.Error(), `opening cassette "a.yaml": literal 1`) {
		t.Errorf("a literal that is too short: %v", err)
	}
	for mode, want := range map[Mode][2]bool{Replay: {true, false}, Record: {false, true}, RecordNew: {true, true}, Verify: {true, false}, Passthrough: {false, false}} {
		if got := [2]bool{mode.reads(), mode.records()}; got != want {
			t.Errorf("%s reads, records: %v", mode, got)
		}
	}
}

// TestJournalsInWords: a journal that is broken says where.
func TestJournalsInWords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	one := string((&vcr.File{Interactions: []*vcr.Interaction{interactionOf("a")}}).Encode())
	two := string((&vcr.File{Interactions: []*vcr.Interaction{interactionOf("a"), interactionOf("b")}}).Encode())
	line := func(slot int, file string) string {
		return fmt.Sprintf(`{"slot":%d,"interaction":%q}`, slot, base64.StdEncoding.EncodeToString([]byte(file))) + "\n"
	}
	for _, tt := range []struct {
		name, text string
		n          int
		err        string
	}{
		{"no line", "", 0, ""},
		{"a heading", "{}\n", 0, ""},
		{"a heading that is cut", "{", 0, ""},
		{"no heading", "x\n", 0, "line 1: "},
		{"an exchange", "{}\n" + line(0, one), 1, ""},
		{"two, in another order", "{}\n" + line(1, strings.Replace(one, "127.0.0.1/a", "127.0.0.1/z", 1)) + line(0, one), 2, ""},
		{"one that is cut", "{}\n" + line(0, one) + strings.TrimSuffix(line(1, one), "\n"), 1, ""},
		{"one that is broken", "{}\nx\n", 0, "line 2: "},
		{"one of other JSON", "{}\n" + `{"slot":"0"}` + "\n", 0, "line 2: json: "},
		{"one of two", "{}\n" + line(0, two), 0, "line 2: it contains 2 interactions, not one"},
		{"one that is no file", "{}\n" + line(0, "x: ["), 0, "line 2: "},
	} {
		if err := os.WriteFile(journalPath(path), []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, found, err := readJournal(path)
		if len(found) != tt.n || tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), "reading journal ") || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s: %d exchanges, %v; want %d, %q", tt.name, len(found), err, tt.n, tt.err)
		}
		if tt.n == 2 && found[0].Request.URL != "http://127.0.0.1/a" {
			t.Errorf("%s: %s is first", tt.name, found[0].Request.URL)
		}
	}
	broken := io.MultiReader(strings.NewReader("{}\n"+line(0, one)), iotest.ErrReader(errors.New("input/output error")))
	if _, _, err := readLines(broken); err == nil || err.Error() != "line 3: input/output error" {
		t.Errorf("one that cannot be read to its end: %v", err)
	}
}
