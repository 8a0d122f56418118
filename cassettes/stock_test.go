// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/dnaeon/go-vcr/v2/recorder"

	"github.com/rehearse-dev/rehearse/cassettes"
)

// rival is what docs/from-vcr.md says of go-vcr v2.0.1 and of us: each claim is
// a test of both.
type rival struct {
	name   string
	record func(t *testing.T, path string, upstream http.RoundTripper) (http.RoundTripper, func() error)
	replay func(t *testing.T, path string) (http.RoundTripper, func() error)
}

func rivals() (stock, ours rival) {
	open := func(t *testing.T, path string, mode recorder.Mode, upstream http.RoundTripper) (http.RoundTripper, func() error) {
		r, err := recorder.NewAsMode(strings.TrimSuffix(path, ".yaml"), mode, upstream)
		if err != nil {
			t.Fatal(err)
		}
		return r, r.Stop
	}
	stock = rival{
		"go-vcr",
		func(t *testing.T, path string, upstream http.RoundTripper) (http.RoundTripper, func() error) {
			return open(t, path, recorder.ModeRecording, upstream)
		},
		func(t *testing.T, path string) (http.RoundTripper, func() error) {
			return open(t, path, recorder.ModeReplaying, echo())
		},
	}
	with := func(t *testing.T, path string, o cassettes.Options) (http.RoundTripper, func() error) {
		o.LookupEnv = noCI
		r, err := cassettes.Open(path, &o)
		if err != nil {
			t.Fatal(err)
		}
		return r, r.Close
	}
	ours = rival{
		"rehearse",
		func(t *testing.T, path string, upstream http.RoundTripper) (http.RoundTripper, func() error) {
			return with(t, path, cassettes.Options{Mode: cassettes.Record, Upstream: upstream})
		},
		func(t *testing.T, path string) (http.RoundTripper, func() error) {
			return with(t, path, cassettes.Options{})
		},
	}
	return stock, ours
}

// postKey sends a body, with a key.
func postKey(rt http.RoundTripper, body string) (*http.Response, error) {
	req, err := http.NewRequest(http.MethodPost, "http://api/v1/chat", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer a-key-that-nobody-may-see")
	return rt.RoundTrip(req)
}

// said is the answer to a request, or the error.
func said(rt http.RoundTripper, body string) string {
	resp, err := postKey(rt, body)
	if err != nil {
		return "error: " + err.Error()
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return "error: " + err.Error()
	}
	return string(data)
}

// taken is a recording of one exchange by a rival.
func taken(t *testing.T, r rival) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "a.yaml")
	rt, stop := r.record(t, path, echo())
	if got := said(rt, `{"prompt":"a"}`); strings.HasPrefix(got, "error") {
		t.Fatal(got)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestAnotherPrompt is why a prompt can be changed without a test that fails.
func TestAnotherPrompt(t *testing.T) {
	stock, ours := rivals()
	rt, _ := stock.replay(t, taken(t, stock))
	if got := said(rt, `{"prompt":"b"}`); strings.HasPrefix(got, "error") {
		t.Errorf("go-vcr compares bodies now: %s", got)
	}
	if got := said(rt, `{"prompt":"c"}`); !strings.HasPrefix(got, "error") || strings.Contains(got, "/v1/chat") {
		t.Errorf("go-vcr's miss names the request now: %s", got)
	}
	rt, _ = ours.replay(t, taken(t, ours))
	got := said(rt, `{"prompt":"b"}`)
	for _, part := range []string{"POST http://api/v1/chat", `body.prompt: recorded "a", now "b"`} {
		if !strings.Contains(got, part) {
			t.Errorf("our miss lacks %q: %s", part, got)
		}
	}
	rt, _ = ours.replay(t, taken(t, stock))
	if got := said(rt, `{"prompt":"b"}`); !strings.Contains(got, `recorded "a", now "b"`) {
		t.Errorf("our miss in go-vcr's file: %s", got)
	}
}

// TestKeyInFile looks for the key in what was written without any setting.
func TestKeyInFile(t *testing.T) {
	stock, ours := rivals()
	for _, r := range []rival{stock, ours} {
		data, err := os.ReadFile(taken(t, r))
		if err != nil {
			t.Fatal(err)
		}
		if got := bytes.Contains(data, []byte("a-key-that-nobody-may-see")); got != (r.name == stock.name) {
			t.Errorf("%s: the key is in the file: %t", r.name, got)
		}
	}
}

// parts is a body that says, when its second part is read, whether the client
// has the answer.
type parts struct {
	n    int
	has  *atomic.Bool
	live *bool
}

func (p *parts) Read(b []byte) (int, error) {
	p.n++
	switch p.n {
	case 1:
		return copy(b, "data: one\n\n"), nil
	case 2:
		*p.live = p.has.Load()
		return copy(b, "data: two\n\n"), nil
	}
	return 0, io.EOF
}

func (*parts) Close() error { return nil }

// TestLiveStream has a client see the first part before the second is sent.
func TestLiveStream(t *testing.T) {
	stock, ours := rivals()
	for _, r := range []rival{stock, ours} {
		var has atomic.Bool
		var live bool
		upstream := endpoint(func(*http.Request) (*http.Response, error) {
			resp := respond(200, "text/event-stream", "")
			resp.Body, resp.ContentLength = &parts{has: &has, live: &live}, -1
			return resp, nil
		})
		rt, stop := r.record(t, filepath.Join(t.TempDir(), "a.yaml"), upstream)
		resp, err := postKey(rt, `{}`)
		if err != nil {
			t.Fatal(err)
		}
		has.Store(true)
		_, _ = io.ReadAll(resp.Body)
		resp.Body.Close()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if live != (r.name == ours.name) {
			t.Errorf("%s: the client has the first part before the second is sent: %t", r.name, live)
		}
	}
}

// TestNoFile replays what is not there.
func TestNoFile(t *testing.T) {
	stock, _ := rivals()
	path := filepath.Join(t.TempDir(), "none.yaml")
	rt, _ := stock.replay(t, path)
	if got := said(rt, `{}`); strings.HasPrefix(got, "error") {
		t.Errorf("go-vcr does not ask the endpoint any more: %s", got)
	}
	if _, err := cassettes.Open(path, nil); err == nil || !strings.Contains(err.Error(), "does not exist, and mode replay does not create it; record it") {
		t.Errorf("ours: %v", err)
	}
}

// TestBrokenAnswer records an answer that breaks off.
func TestBrokenAnswer(t *testing.T) {
	stock, ours := rivals()
	broken := endpoint(func(*http.Request) (*http.Response, error) {
		resp := respond(200, "text/event-stream", "")
		resp.Body = io.NopCloser(io.MultiReader(strings.NewReader("half"), &failing{}))
		resp.ContentLength = -1
		return resp, nil
	})
	for _, r := range []rival{stock, ours} {
		path := filepath.Join(t.TempDir(), "a.yaml")
		rt, stop := r.record(t, path, broken)
		if got := said(rt, `{}`); !strings.Contains(got, "reset") {
			t.Errorf("%s: recording: %s", r.name, got)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if r.name == stock.name {
			if _, err := os.Stat(path); err == nil {
				t.Error("go-vcr keeps what broke off now")
			}
			continue
		}
		rt, stop = r.replay(t, path)
		resp, err := postKey(rt, `{}`)
		if err != nil {
			t.Fatal(err)
		}
		half, err := io.ReadAll(resp.Body)
		if string(half) != "half" || !errors.Is(err, cassettes.ErrRecorded) {
			t.Errorf("replay: %q, %v", half, err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("reset") }

// TestLeftOver asks for nothing of what is recorded.
func TestLeftOver(t *testing.T) {
	stock, ours := rivals()
	for _, r := range []rival{stock, ours} {
		_, stop := r.replay(t, taken(t, r))
		if err := stop(); (err != nil) != (r.name == ours.name) {
			t.Errorf("%s: %v", r.name, err)
		}
	}
}
