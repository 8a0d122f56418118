// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/dnaeon/go-vcr/v2/recorder"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// TestMain lets the test binary be the process that a test kills.
func TestMain(m *testing.M) {
	if path := os.Getenv("CASSETTES_CHILD"); path != "" {
		child(path)
		return
	}
	goleak.VerifyTestMain(m)
}

// endpoint answers requests in memory.
type endpoint func(*http.Request) (*http.Response, error)

func (f endpoint) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func respond(code int, kind, body string) *http.Response {
	return &http.Response{
		Status: fmt.Sprintf("%d %s", code, http.StatusText(code)), StatusCode: code, ContentLength: int64(len(body)),
		Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}

// echo answers with a count and what it was asked.
func echo() endpoint {
	n := 0
	return func(r *http.Request) (*http.Response, error) {
		n++
		body, _ := io.ReadAll(r.Body)
		return respond(200, "application/json", fmt.Sprintf(`{"n":%d,"asked":%q}`, n, body)), nil
	}
}

// stream answers with events at times, and ends with err.
func stream(gap time.Duration, events []string, err error) endpoint {
	return func(r *http.Request) (*http.Response, error) {
		pr, pw := io.Pipe()
		go func() {
			for _, e := range events {
				select {
				case <-time.After(gap):
				case <-r.Context().Done():
					pw.CloseWithError(r.Context().Err())
					return
				}
				if _, err := pw.Write([]byte(e)); err != nil {
					return
				}
			}
			pw.CloseWithError(err)
		}()
		return &http.Response{
			Status: "200 OK", StatusCode: 200, ContentLength: -1,
			Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: pr,
		}, nil
	}
}

func noCI(string) (string, bool) { return "", false }

func open(t *testing.T, path string, opts cassettes.Options) *cassettes.Recorder {
	t.Helper()
	opts.LookupEnv = noCI
	r, err := cassettes.Open(path, &opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func post(t *testing.T, rt http.RoundTripper, body string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:1/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	return string(got), err
}

func want(t *testing.T, rt http.RoundTripper, body, answer string) {
	t.Helper()
	got, err := post(t, rt, body)
	if err != nil || got != answer {
		t.Errorf("asked %s: got %q, %v, want %q", body, got, err, answer)
	}
}

func record(t *testing.T, path string, upstream http.RoundTripper, bodies ...string) {
	t.Helper()
	r := open(t, path, cassettes.Options{Mode: cassettes.Record, Upstream: upstream, Force: true})
	for _, b := range bodies {
		_, _ = post(t, r, b)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestReplay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	record(t, path, echo(), `{"q":1}`, `{"q":2}`, `{"q":1}`)
	r := open(t, path, cassettes.Options{})
	want(t, r, `{"q":2}`, `{"n":2,"asked":"{\"q\":2}"}`)
	want(t, r, `{ "q": 1 }`, `{"n":1,"asked":"{\"q\":1}"}`)
	if got := r.Unused(); len(got) != 1 || !strings.Contains(got[0].Error(), "interaction 3") {
		t.Errorf("unused: %v", got)
	}
	want(t, r, `{"q":1}`, `{"n":3,"asked":"{\"q\":1}"}`)
	_, err := post(t, r, `{"q":1}`)
	var miss *cassettes.MissError
	if !errors.As(err, &miss) {
		t.Fatalf("a fourth request is answered: %v", err)
	}
	wantText := fmt.Sprintf(`cassette %q has no answer for POST http://127.0.0.1:1/v1/chat/completions
  interaction 1 is the same request, but was already used; record one answer for each, or use order repeat-last (rehearse proxy: --order repeat-last)
  interaction 3 is the same request, but was already used; record one answer for each, or use order repeat-last (rehearse proxy: --order repeat-last)
  interaction 2: body.q: recorded 2, now 1`, path)
	if diff := cmp.Diff(wantText, miss.Error()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := r.Close(); !errors.As(err, &miss) {
		t.Errorf("Close says %v", err)
	}
}

func TestOrders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	record(t, path, echo(), `1`, `2`, `1`)
	one, three, two := `{"n":1,"asked":"1"}`, `{"n":3,"asked":"1"}`, `{"n":2,"asked":"2"}`
	t.Run("strict", func(t *testing.T) {
		r := open(t, path, cassettes.Options{Order: cassettes.Strict})
		if _, err := post(t, r, `2`); err == nil || !strings.Contains(err.Error(), "interaction 2 is the same request, but order strict requires interaction 1") {
			t.Errorf("got %v", err)
		}
		want(t, r, `1`, one)
		want(t, r, `2`, two)
		want(t, r, `1`, three)
	})
	t.Run("any", func(t *testing.T) {
		r := open(t, path, cassettes.Options{Order: cassettes.Any})
		want(t, r, `1`, one)
		want(t, r, `1`, one)
	})
	t.Run("repeat-last", func(t *testing.T) {
		r := open(t, path, cassettes.Options{Order: cassettes.RepeatLast})
		want(t, r, `1`, one)
		want(t, r, `1`, three)
		want(t, r, `1`, three)
	})
}

func TestUnusedFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	record(t, path, echo(), `1`, `2`)
	r := open(t, path, cassettes.Options{})
	want(t, r, `1`, `{"n":1,"asked":"1"}`)
	err := r.Close()
	if err == nil || !strings.Contains(err.Error(), "1 of 2 interactions were not asked for: interaction 2 (line ") {
		t.Errorf("got %v", err)
	}
	r = open(t, path, cassettes.Options{AllowUnused: true})
	if err := r.Close(); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestModes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	t.Run("replay without a file", func(t *testing.T) {
		_, err := cassettes.Open(path, nil)
		if err == nil || !strings.Contains(err.Error(), "does not exist, and mode replay does not create it; record it with") || !strings.Contains(err.Error(), path) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no recording in CI", func(t *testing.T) {
		for _, mode := range []cassettes.Mode{cassettes.Record, cassettes.RecordNew} {
			_, err := cassettes.Open(path, &cassettes.Options{Mode: mode, LookupEnv: func(string) (string, bool) { return "true", true }})
			if err == nil || !strings.Contains(err.Error(), "CI is set") {
				t.Errorf("%s: got %v", mode, err)
			}
		}
	})
	t.Run("replay has no network", func(t *testing.T) {
		record(t, path, echo(), `1`)
		r := open(t, path, cassettes.Options{Upstream: endpoint(func(*http.Request) (*http.Response, error) {
			t.Error("the endpoint was asked")
			return nil, errors.New("no")
		})})
		if _, err := post(t, r, `other`); err == nil {
			t.Error("no miss")
		}
	})
	t.Run("record new", func(t *testing.T) {
		record(t, path, echo(), `1`)
		r := open(t, path, cassettes.Options{Mode: cassettes.RecordNew, Upstream: echo()})
		want(t, r, `1`, `{"n":1,"asked":"1"}`)
		want(t, r, `2`, `{"n":1,"asked":"2"}`)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		r = open(t, path, cassettes.Options{})
		want(t, r, `1`, `{"n":1,"asked":"1"}`)
		want(t, r, `2`, `{"n":1,"asked":"2"}`)
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("verify writes nothing", func(t *testing.T) {
		record(t, path, echo(), `1`)
		before, _ := os.ReadFile(path)
		r := open(t, path, cassettes.Options{Mode: cassettes.Verify, Upstream: endpoint(func(*http.Request) (*http.Response, error) {
			return respond(404, "application/json", `{}`), nil
		})})
		want(t, r, `1`, `{}`)
		if got := r.Drift(); len(got) == 0 || !strings.Contains(got[0], "interaction 1: breaking: status: was 200, is 404") {
			t.Errorf("drift: %v", got)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if after, _ := os.ReadFile(path); string(after) != string(before) {
			t.Error("the file has changed")
		}
	})
	t.Run("verify without an answer judges nothing", func(t *testing.T) {
		record(t, path, echo(), `1`, `2`, `3`)
		r := open(t, path, cassettes.Options{Mode: cassettes.Verify, Upstream: endpoint(func(req *http.Request) (*http.Response, error) {
			if err := req.Context().Err(); err != nil {
				return nil, err
			}
			if body, _ := io.ReadAll(req.Body); string(body) == `1` {
				return nil, syscall.ECONNREFUSED
			}
			resp := respond(200, "application/json", "")
			resp.Body = io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF))
			return resp, nil
		})})
		for _, body := range []string{`1`, `2`} {
			_, _ = post(t, r, body)
		}
		ctx, leave := context.WithCancel(t.Context())
		leave()
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1:1/v1/chat/completions", strings.NewReader(`3`))
		req.Header.Set("Content-Type", "application/json")
		_, _ = r.RoundTrip(req)
		const what = "POST http://127.0.0.1:1/v1/chat/completions: interaction "
		want := []string{
			what + "1: not compared: the endpoint did not answer: connection refused", what + "2: not compared: the answer broke off: unexpected EOF",
			what + "3: not compared: the client left before the endpoint answered",
		}
		if diff := cmp.Diff(want, r.Unjudged()); diff != "" || len(r.Drift()) > 0 {
			t.Errorf("drift %v, unjudged (-want +got):\n%s", r.Drift(), diff)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("wrong words", func(t *testing.T) {
		for _, o := range []cassettes.Options{{Mode: "x"}, {Order: "x"}, {Stale: "x"}, {Speed: -1}} {
			if _, err := cassettes.Open(path, &o); err == nil {
				t.Errorf("%+v is taken", o)
			}
		}
	})
}

// TestErrorsAreNotKept: an answer that a retry was meant for would be replayed
// for ever.
func TestErrorsAreNotKept(t *testing.T) {
	flaky := func() endpoint {
		n := 0
		return func(*http.Request) (*http.Response, error) {
			if n++; n == 1 {
				return respond(503, "text/plain", "busy"), nil
			}
			return respond(200, "text/plain", "fine"), nil
		}
	}
	for _, keep := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "a.yaml")
		r := open(t, path, cassettes.Options{Mode: cassettes.Record, Upstream: flaky(), KeepErrors: keep})
		want(t, r, `1`, "busy")
		want(t, r, `1`, "fine")
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := vcr.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(f.Interactions); keep && (n != 2 || f.Interactions[1].Meta.Attempt != 2) || !keep && n != 1 {
			t.Errorf("keep %v: %d interactions", keep, n)
		}
	}
}

func TestUpstreamError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	record(t, path, endpoint(func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }), `1`)
	r := open(t, path, cassettes.Options{})
	_, err := post(t, r, `1`)
	if !errors.Is(err, cassettes.ErrRecorded) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v", err)
	}
}

func TestMissDiff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	record(t, path, echo(), `{"messages":[{"role":"user","content":"Weather in Paris?"}],"temperature":0}`, `{"other":true}`)
	r := open(t, path, cassettes.Options{})
	_, err := post(t, r, `{"messages":[{"role":"user","content":"Weather in Rome?"}],"temperature":0}`)
	wantText := fmt.Sprintf(`cassette %q has no answer for POST http://127.0.0.1:1/v1/chat/completions
  interaction 1 is nearest, and differs:
    body.messages[0].content: recorded "Weather in Paris?", now "Weather in Rome?"
  interaction 2: body.other: recorded true, now absent`, path)
	if err == nil || err.Error() != wantText {
		t.Errorf("(-want +got):\n%s", cmp.Diff(wantText, fmt.Sprint(err)))
	}
}

// TestStock replays our file with go-vcr itself.
func TestStock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	record(t, path, echo(), `1`)
	stock, err := recorder.NewAsMode(strings.TrimSuffix(path, ".yaml"), recorder.ModeReplaying, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer stock.Stop()
	want(t, stock, `1`, `{"n":1,"asked":"1"}`)
}

// TestOrderOfStart: requests stand in the file in the order in which they
// began.
func TestOrderOfStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	synctest.Test(t, func(t *testing.T) {
		slow := endpoint(func(r *http.Request) (*http.Response, error) {
			body, _ := io.ReadAll(r.Body)
			d, _ := time.ParseDuration(string(body))
			time.Sleep(d)
			return respond(200, "text/plain", string(body)), nil
		})
		r := open(t, path, cassettes.Options{Mode: cassettes.Record, Upstream: slow})
		done := make(chan struct{}, 3)
		for _, d := range []string{"3s", "2s", "1s"} {
			go func() {
				_, _ = post(t, r, d)
				done <- struct{}{}
			}()
			synctest.Wait()
		}
		for range 3 {
			<-done
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	})
	f, err := vcr.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, i := range f.Interactions {
		got = append(got, string(i.Request.Body))
	}
	if diff := cmp.Diff([]string{"3s", "2s", "1s"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCoding: what the client asks for in gzip is kept readable, and what
// cannot be read is not kept.
func TestCoding(t *testing.T) {
	var packed bytes.Buffer
	zw := gzip.NewWriter(&packed)
	fmt.Fprint(zw, "plain text")
	zw.Close()
	for _, coding := range []string{"gzip", "br"} {
		path := filepath.Join(t.TempDir(), coding+".yaml")
		r := open(t, path, cassettes.Options{Mode: cassettes.Record, Upstream: endpoint(func(r *http.Request) (*http.Response, error) {
			if got := r.Header.Get("Accept-Encoding"); got != "gzip" {
				t.Errorf("the endpoint is asked for %q", got)
			}
			resp := respond(200, "text/plain", packed.String())
			resp.Header.Set("Content-Encoding", coding)
			return resp, nil
		})})
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:1/", nil)
		req.Header.Set("Accept-Encoding", "br, gzip")
		resp, err := r.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(got) != packed.String() || req.Header.Get("Accept-Encoding") != "br, gzip" {
			t.Errorf("%s: the live exchange was touched", coding)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if coding == "br" {
			if _, err := os.Stat(path); err == nil || !strings.Contains(strings.Join(r.Notes(), "\n"), "answered in br, in which secrets cannot be found; it is not recorded") {
				t.Errorf("it is kept, or nothing says so: %q", r.Notes())
			}
			continue
		}
		f, err := vcr.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(f.Interactions[0].Response.Body) != "plain text" || f.Interactions[0].Response.Header.Get("Content-Encoding") != "" {
			t.Errorf("kept %+v", f.Interactions[0].Response)
		}
	}
}

// TestSecrets: a key in the header, the address and the body is not in the
// file, and another key replays it.
func TestSecrets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	ask := func(rt http.RoundTripper, key string) (string, error) {
		body := fmt.Sprintf(`{"q":1,"api_key":%q}`, key)
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:1/v1?key="+key, strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+key)
		req.Header.Set("Content-Type", "application/json")
		resp, err := rt.RoundTrip(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		return string(got), err
	}
	first, second := "hunter2"+strings.Repeat("Ab3", 8), "another"+strings.Repeat("Xy9", 8)
	r := open(t, path, cassettes.Options{Mode: cassettes.Record, Upstream: endpoint(func(r *http.Request) (*http.Response, error) {
		if r.Header.Get("Authorization") != "Bearer "+first || r.URL.Query().Get("key") != first {
			t.Error("the live request was touched")
		}
		return respond(200, "text/plain", "fine"), nil
	})})
	if _, err := ask(r, first); err != nil {
		t.Fatal(err)
	}
	journal, _ := os.ReadFile(path + ".journal")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(path)
	if strings.Contains(string(data)+string(journal), first) || len(journal) == 0 {
		t.Errorf("the key was written:\n%s", data)
	}
	r = open(t, path, cassettes.Options{})
	if got, err := ask(r, second); got != "fine" {
		t.Errorf("replayed with another key: %q, %v", got, err)
	}
}
