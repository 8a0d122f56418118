// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcphttp

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/sse"
)

type answer struct {
	contentType string
	body        io.Reader
}

func (a answer) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {a.contentType}}, Body: io.NopCloser(a.body), ContentLength: -1, Request: r}, nil
}

// seen is what a tap shows.
type seen []string

func (s *seen) Head(resp *http.Response) { *s = append(*s, resp.Header.Get("Content-Type")) }
func (s *seen) Body(body []byte)         { *s = append(*s, string(body)) }
func (s *seen) Event(ev sse.Event)       { *s = append(*s, fmt.Sprintf("%+v %s", ev, ev.Data)) }
func (s *seen) Failed(err error)         { *s = append(*s, fmt.Sprint("failed ", err)) }
func (s *seen) End(err error)            { *s = append(*s, fmt.Sprint(err)) }

// FuzzTap checks that an answer is handed on as it came, and that what is seen
// of it does not depend on the pieces in which it came.
func FuzzTap(f *testing.F) {
	for _, stream := range []string{
		"event: message\r\nid: 1\r\ndata: {\"id\":1,\r\ndata: \"result\":{}}\r\n\r\n", ": ping\n\ndata:{}\n\ndata:\n\n\ndata: last", "data\ndata:\xff\n\n\r\r\n",
	} {
		f.Add("text/event-stream", []byte(stream))
	}
	f.Add("application/json", []byte(`{"jsonrpc":"2.0","id":1,"result":{"a":"}\""}} `))
	f.Add("text/html", []byte("<p>"))
	f.Fuzz(func(t *testing.T, contentType string, in []byte) {
		read := func(body io.Reader) seen {
			var s seen
			tap := &Tap{Inner: answer{contentType, body}, Begin: func(*http.Request, []byte) Watcher { return &s }}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://server/", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := tap.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if out, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(out, in) {
				t.Fatalf("handed on %q, %v", out, err)
			}
			return s
		}
		whole, pieces := read(bytes.NewReader(in)), read(iotest.OneByteReader(bytes.NewReader(in)))
		if contentType == "application/json" {
			return // what is seen ends with the value, what is behind it may come along
		}
		if diff := cmp.Diff(whole, pieces); diff != "" {
			t.Errorf("whole, in pieces (-want +got):\n%s", diff)
		}
	})
}
