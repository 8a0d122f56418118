// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rehearse-dev/rehearse/cassettes/mcptape"
)

func FuzzParse(f *testing.F) {
	f.Add([]byte("{\"rehearse_tape\":1}\n{\"dir\":\"in\",\"at_ms\":1,\"frame\":{\"id\":1,\"method\":\"x\"}}\n{\"dir\":\"out\",\"frame\":[{\"id\":1,\"result\":{}}]}\n"))
	f.Add([]byte("{\"rehearse_tape\":1}\n{\"dir\":\"out\",\"frame\":{\"id\":\"s\",\"method\":\"roots/list\"}}\n{\"dir\":\"in\",\"frame\":{\"id\":\"s\",\"result\":{}}}\n{\"dir\":\"end\"}\n{\"dir\":\"er"))
	f.Add([]byte(`{"rehearse_tape":1}
{"dir":"in","stream":1,"http":{"method":"POST"},"at_ms":1,"frame":{"id":1,"method":"initialize"}}
{"dir":"out","stream":1,"http":{"status":200,"type":"application/json","session":true},"frame":{"id":1,"result":{}}}
{"dir":"in","stream":2,"http":{"method":"GET","session":true,"event":"e1"}}
{"dir":"out","stream":2,"http":{"status":405},"text":"no"}
{"dir":"in","stream":3,"http":{"method":"POST"},"frame":{"id":2,"method":"subscriptions/listen"}}
{"dir":"out","stream":3,"http":{"status":200,"type":"text/event-stream"}}
{"dir":"out","stream":3,"http":{"event":"e1","retry_ms":9,"name":"x"},"frame":{"method":"notifications/a"}}
{"dir":"in","stream":4,"http":{"method":"POST"},"frame":{"method":"notifications/cancelled","params":{"requestId":2}}}
{"dir":"out","stream":3,"frame":{"method":"notifications/b","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":2}}}}
{"dir":"end","stream":3,"text":"unexpected EOF"}
{"dir":"left","stream":4}
{"dir":"in","stream":5,"http":{"method":"DELETE"}}
{"dir":"out","stream":5,"http":{"status":204}}
`))
	f.Fuzz(func(t *testing.T, data []byte) {
		rec, err := mcptape.Parse("t", data)
		if err != nil {
			return
		}
		var in bytes.Buffer
		for _, frame := range rec.Frames {
			if frame.Frame != nil && !json.Valid(frame.Frame) {
				t.Fatalf("frame %q", frame.Frame)
			}
			if frame.Dir == mcptape.In && frame.Session == 0 {
				in.Write(frame.Frame)
				in.WriteByte('\n')
			}
		}
		tape, err := mcptape.New("t", rec, nil)
		if err != nil {
			return
		}
		if err := tape.ServeStdio(t.Context(), &in, io.Discard); err != nil {
			t.Errorf("ServeStdio() = %v", err)
		}
		_ = tape.Close() // misses, perhaps
		overHTTP(t, rec)
	})
}

// overHTTP has a client that does not wait say what is recorded over HTTP.
func overHTTP(t *testing.T, rec *mcptape.Recording) {
	tape, err := mcptape.New("t", rec, nil)
	if err != nil {
		return
	}
	h := tape.Handler()
	session := ""
	for _, frame := range rec.Frames {
		if frame.Dir != mcptape.In {
			continue
		}
		method := http.MethodPost
		if frame.HTTP != nil && (frame.HTTP.Method == http.MethodGet || frame.HTTP.Method == http.MethodDelete) {
			method = frame.HTTP.Method
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := httptest.NewRequestWithContext(ctx, method, "/mcp", bytes.NewReader(frame.Frame))
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		w := httptest.NewRecorder()
		func() {
			defer func() {
				if p := recover(); p != nil && p != http.ErrAbortHandler {
					panic(p)
				}
			}()
			h.ServeHTTP(w, r)
		}()
		if id := w.Header().Get("Mcp-Session-Id"); id != "" {
			session = id
		}
	}
	_ = tape.Close() // misses, perhaps
}

// FuzzRecordHTTP records answers of all kinds: what is written can be read.
func FuzzRecordHTTP(f *testing.F) {
	f.Add("application/json", 200, []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	f.Add("application/json; charset=utf-8", 500, []byte("[{\"id\":1,\n\"result\":{}}]"))
	f.Add("text/event-stream", 200, []byte("id: 1\nretry: 5\ndata:\n\ndata: {\"id\":1,\ndata: \"result\":{}}\n\nevent: x\ndata: y\n\n"))
	f.Add("text/html", 404, []byte("<html>\xff\n"))
	f.Fuzz(func(t *testing.T, kind string, status int, body []byte) {
		if status < 200 || status > 599 {
			return
		}
		path := filepath.Join(t.TempDir(), "a.tape")
		rec, err := mcptape.NewRecorder(path, &mcptape.RecordOptions{LookupEnv: noCI})
		if err != nil {
			t.Fatal(err)
		}
		server := rec.Transport(roundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: status, Request: r, ContentLength: -1, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(iotest.OneByteReader(bytes.NewReader(body))),
			}, nil
		}))
		r := httptest.NewRequest(http.MethodPost, "http://server/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		resp, err := server.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(got, body) {
			t.Errorf("the client got %q, %v", got, err)
		}
		resp.Body.Close()
		if err := rec.Close(); err != nil {
			return // a secret, perhaps
		}
		if _, err := mcptape.Read(path); err != nil {
			t.Error(err)
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
