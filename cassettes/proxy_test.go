// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/cassettes"
)

// TestProxy records a stream, an abort and a trailer through the proxy, and
// replays them to a client that knows nothing of it.
func TestProxy(t *testing.T) {
	step := make(chan struct{})
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/base/v1/stream":
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Trailer", "X-Request-Id")
			for n := range 3 {
				fmt.Fprintf(w, "data: %d %s\n\n", n, r.Header.Get("Accept-Encoding"))
				_ = http.NewResponseController(w).Flush()
				<-step // the client has it
			}
			w.Header().Set("X-Request-Id", "3")
		case "/base/v1/abort":
			fmt.Fprint(w, "half")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		default:
			http.NotFound(w, r)
		}
	}))
	defer endpoint.Close()
	upstream, _ := url.Parse(endpoint.URL + "/base")
	path := filepath.Join(t.TempDir(), "a.yaml")

	play := func(mode cassettes.Mode, upstream *url.URL, live bool) {
		t.Helper()
		rec := open(t, path, cassettes.Options{Mode: mode})
		proxy := httptest.NewServer(rec.Proxy(upstream))
		defer proxy.Close()
		resp, err := http.Get(proxy.URL + "/v1/stream?b=2&a=1")
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 100)
		var got strings.Builder
		for n := 0; live && n < 3; n++ { // each part is with the client before the next is sent
			k, err := resp.Body.Read(buf)
			if want := fmt.Sprintf("data: %d identity\n\n", n); err != nil || string(buf[:k]) != want {
				t.Errorf("part %d is %q, %v, want %q", n, buf[:k], err, want)
			}
			got.Write(buf[:k])
			step <- struct{}{}
		}
		rest, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		got.Write(rest)
		if err != nil || got.String() != "data: 0 identity\n\ndata: 1 identity\n\ndata: 2 identity\n\n" {
			t.Errorf("%s: got %q, %v", mode, got.String(), err)
		}
		if resp.Trailer.Get("X-Request-Id") != "3" || resp.Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%s: header %v, trailer %v", mode, resp.Header, resp.Trailer)
		}
		resp, err = http.Get(proxy.URL + "/v1/abort")
		if err != nil {
			t.Fatal(err)
		}
		half, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(half) != "half" || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: the abort reads as %q, %v", mode, half, err)
		}
		if !live {
			refused(t, proxy.URL)
		}
		_ = rec.Close()
	}
	play(cassettes.Record, upstream, true)
	play(cassettes.Replay, nil, false)
}

// refused checks what a client is told of a miss.
func refused(t *testing.T, base string) {
	t.Helper()
	resp, err := http.Post(base+"/v1/stream", "application/json", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var body struct {
		Error struct{ Type, Message string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusUnprocessableEntity || resp.Header.Get("X-Should-Retry") != "false" ||
		body.Error.Type != "rehearse_miss" || !strings.Contains(body.Error.Message, "method: recorded \"GET\", now \"POST\"") {
		t.Errorf("a miss is answered %d %v", resp.StatusCode, body)
	}
}

// TestProxyAddress: an endpoint's address may end with or without a slash, or
// in a path, and a recording that catches nothing leaves the file alone.
func TestProxyAddress(t *testing.T) {
	var asked, host string
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, host = r.URL.Path, r.Host
		fmt.Fprint(w, "fine")
	}))
	defer endpoint.Close()
	for _, end := range []string{"", "/", "/base", "/base/"} {
		path := filepath.Join(t.TempDir(), "a.yaml")
		upstream, _ := url.Parse(endpoint.URL + end)
		get := func(rec *cassettes.Recorder, upstream *url.URL) {
			proxy := httptest.NewServer(rec.Proxy(upstream))
			defer proxy.Close()
			resp, err := http.Get(proxy.URL + "/v1/models")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if body, _ := io.ReadAll(resp.Body); string(body) != "fine" {
				t.Errorf("%q: got %d %s", end, resp.StatusCode, body)
			}
			if err := rec.Close(); err != nil {
				t.Error(err)
			}
		}
		get(open(t, path, cassettes.Options{Mode: cassettes.Record}), upstream)
		if want := strings.TrimRight(end, "/") + "/v1/models"; asked != want || host != upstream.Host {
			t.Errorf("%q: the endpoint was asked for %q of %q, want %q of %q", end, asked, host, want, upstream.Host)
		}
		if err := open(t, path, cassettes.Options{Mode: cassettes.Record}).Close(); err != nil {
			t.Error(err)
		}
		get(open(t, path, cassettes.Options{}), nil)
	}
}

// TestProxyTooLarge: behind a limit a request that is larger is told so, and is not
// handed on.
func TestProxyTooLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	for body, want := range map[string]int{"0123456789": http.StatusOK, "0123456789a": http.StatusRequestEntityTooLarge} {
		rec := open(t, path, cassettes.Options{Mode: cassettes.Record, Upstream: echo(), Force: true})
		proxy := httptest.NewServer(http.MaxBytesHandler(rec.Proxy(&url.URL{Scheme: "http", Host: "127.0.0.1:1"}), 10))
		resp, err := http.Post(proxy.URL+"/v1/x", "text/plain", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		proxy.Close()
		large := want != http.StatusOK
		if resp.StatusCode != want || strings.Contains(string(got), "reading the request: the request is larger than 10 bytes") != large || rec.Asked() > 0 == large {
			t.Errorf("%d bytes: %d %s, asked %d times, want %d", len(body), resp.StatusCode, got, rec.Asked(), want)
		}
		if err := rec.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestUnreached leaves a recording alone when the endpoint is not there, which
// is no answer of it.
func TestUnreached(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	upstream, _ := url.Parse(gone.URL)
	gone.Close()
	path := filepath.Join(t.TempDir(), "a.yaml")
	record(t, path, echo(), `{"n":1}`)
	before, _ := os.ReadFile(path)
	for _, keep := range []bool{false, true} {
		rec := open(t, path, cassettes.Options{Mode: cassettes.Record, KeepErrors: keep})
		proxy := httptest.NewServer(rec.Proxy(upstream))
		resp, err := http.Get(proxy.URL + "/v1/models")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		proxy.Close()
		if err := rec.Close(); resp.StatusCode != http.StatusBadGateway || err != nil {
			t.Errorf("%d, %v", resp.StatusCode, err)
		}
		after, err := os.ReadFile(path)
		if err != nil || bytes.Equal(before, after) == keep {
			t.Errorf("KeepErrors %t: written %t, %v", keep, !bytes.Equal(before, after), err)
		}
		notes := strings.Join(rec.Notes(), "\n")
		if strings.Contains(notes, "did not reach the endpoint") == keep {
			t.Errorf("KeepErrors %t: %s", keep, notes)
		}
	}
}

// TestProxyHops: what an endpoint says of its connection is not said to the client.
func TestProxyHops(t *testing.T) {
	rec := open(t, filepath.Join(t.TempDir(), "a.yaml"), cassettes.Options{Mode: cassettes.Record, Upstream: endpoint(func(*http.Request) (*http.Response, error) {
		resp := respond(200, "text/plain", "hello")
		resp.Header.Set("Connection", "X-Hop")
		resp.Header.Set("X-Hop", "1")
		resp.Header.Set("Keep-Alive", "timeout=5")
		resp.Header.Set("X-Stays", "1")
		return resp, nil
	})})
	upstream, _ := url.Parse("http://127.0.0.1:1")
	w := httptest.NewRecorder()
	rec.Proxy(upstream).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1/v1/models", nil))
	if h := w.Result().Header; h.Get("X-Stays") != "1" || h.Get("X-Hop") != "" || h.Get("Keep-Alive") != "" || h.Get("Connection") != "" {
		t.Errorf("handed on: %v", h)
	}
	if err := rec.Close(); err != nil {
		t.Error(err)
	}
}
