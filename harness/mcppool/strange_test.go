// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// Of two calls that are open, one is answered with an id that was never used.
// Which of them is known once the other has its answer; until then both wait.
func TestStrangeIDAmongTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := make(chan mcpwire.Message, 2)
		var server io.Writer
		s := open(t, harness.Server{Dial: func(context.Context) (io.ReadWriteCloser, error) {
			ours, theirs := mcpwire.Pipe()
			server = ours
			go func() {
				defer ours.Close()
				legacy(peer{"tools/call": {"CALL"}}).serveWith(ours, ours, func(m mcpwire.Message, _ io.Writer) { got <- m })
			}()
			return theirs, nil
		}}, nil)
		errs := map[string]chan error{"a": make(chan error, 1), "b": make(chan error, 1)}
		ids := map[string]string{}
		for name, err := range errs {
			go func() { _, e := s.Call(t.Context(), name, nil); err <- e }()
			ids[name] = string((<-got).ID)
		}
		_, _ = io.WriteString(server, `{"jsonrpc":"2.0","id":12345,"result":{"content":[]}}`+"\n")
		synctest.Wait()
		if len(errs["a"])+len(errs["b"]) > 0 {
			t.Errorf("a call ended although nothing says which was meant")
		}
		_, _ = io.WriteString(server, strings.ReplaceAll(result("ok"), "ID", ids["b"])+"\n")
		if err := <-errs["b"]; err != nil {
			t.Errorf("the call that was answered: %v", err)
		}
		err := <-errs["a"]
		if want := fmt.Sprintf("unusable answer: request %s was answered with the id 12345", ids["a"]); kindOf(t, err).Kind != mcppool.ErrMalformed || !strings.Contains(err.Error(), want) {
			t.Errorf("the other call: %v, want %s", err, want)
		}
		// Nobody is suspected of it any more.
		go func() { _, e := s.Call(t.Context(), "a", nil); errs["a"] <- e }()
		m := <-got
		synctest.Wait()
		_, _ = io.WriteString(server, strings.ReplaceAll(result("ok"), "ID", string(m.ID))+"\n")
		if err := <-errs["a"]; err != nil {
			t.Errorf("the call after it: %v", err)
		}
		s.Close()
	})
}

// Over HTTP, answers may begin with a byte order mark, and lines of a stream
// end with CR.
func TestHTTPAnswersOfOddText(t *testing.T) {
	for _, tt := range []struct{ name, contentType, body string }{
		{"JSON with a byte order mark", "application/json", "\ufeff" + result("ok")},
		{"a stream with one", "text/event-stream", "\ufeffdata: " + result("ok") + "\n\n"},
		{"a stream with CR", "text/event-stream", "event: message\rdata: " + result("ok") + "\r\r"},
		{"a stream with CR and data over several lines", "text/event-stream", "data: " + strings.Replace(result("ok"), ",", "\rdata: ,", 1) + "\r\r"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				m, _ := mcpwire.Parse(body)
				switch m.Method {
				case "server/discover":
					reply(w, m, discoverRefused)
				case "initialize":
					reply(w, m, initialized)
				case "tools/call":
					w.Header().Set("Content-Type", tt.contentType)
					reply(w, m, tt.body)
				default:
					w.WriteHeader(http.StatusAccepted)
				}
			})
			s := open(t, harness.Server{URL: url}, nil)
			if r, err := s.Call(t.Context(), "x", nil); err != nil || r.Text != "ok" {
				t.Errorf("Call() = %v, %v", r, err)
			}
			s.Close()
		})
	}
}
