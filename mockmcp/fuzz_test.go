// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// FuzzServeStdio checks that whatever a client sends, the server answers in
// whole JSON-RPC frames, ends when its input does, and keeps its journal in
// order. It is seeded with the conversations in testdata.
func FuzzServeStdio(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("no conversations: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		var sent []byte
		for line := range bytes.Lines(txtar.Parse(data).Files[0].Data) {
			if frame, ok := bytes.CutPrefix(line, []byte("> ")); ok {
				f.Add(frame)
				sent = append(sent, frame...)
			}
		}
		f.Add(sent)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		s, err := mockmcp.New(world(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var out bytes.Buffer
		if err := s.ServeStdio(t.Context(), bytes.NewReader(in), &out); err != nil {
			t.Errorf("ServeStdio() = %v", err)
		}
		r := mcpwire.NewReader(&out, nil)
		for {
			if _, err := r.Next(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("the server wrote: %v", err)
			}
		}
		for i, x := range s.Journal() {
			if x.Seq != i+1 || x.Result == nil && x.RPCError == nil {
				t.Errorf("journal entry %d: %+v", i, x)
			}
		}
	})
}

// FuzzHandler checks that whatever is POSTed, the answer is whole: JSON-RPC,
// events of JSON-RPC, or a refusal in words, and that every session id leads
// somewhere. It is seeded with the conversations in testdata/talks.
func FuzzHandler(f *testing.F) {
	files, err := filepath.Glob("testdata/talks/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("no conversations: %v", err)
	}
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		head := ""
		for line := range strings.Lines(string(ar.Files[len(ar.Files)-1].Data)) {
			switch sent, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "> "); {
			case !ok:
			case strings.HasPrefix(sent, "POST "):
				head = sent
			default:
				f.Add(head, sent)
			}
		}
	}
	f.Fuzz(func(t *testing.T, head, body string) {
		s, err := mockmcp.New(workshop(mockmcp.Protocol{Sessions: mockmcp.SessionsOptional, Settle: new(time.Duration)}), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		ctx, cancel := context.WithCancel(t.Context())
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(body)).WithContext(ctx)
		r.Header.Set("Content-Type", "application/json")
		_, headers, _ := strings.Cut(strings.TrimPrefix(head, "POST "), " ")
		for h := range strings.SplitSeq(headers, " | ") {
			k, v, _ := strings.Cut(h, ": ")
			r.Header.Set(k, v)
		}
		w := httptest.NewRecorder()
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.Handler().ServeHTTP(w, r)
		}()
		if strings.Contains(body, "subscriptions") || strings.Contains(body, "ask") {
			cancel() // these wait for more
		}
		<-done
		cancel()
		answer := w.Body.Bytes()
		switch kind, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";"); kind {
		case "application/json":
			if _, err := mcpwire.Parse(answer); err != nil {
				t.Errorf("%d %s: %v", w.Code, answer, err)
			}
		case "text/event-stream":
			for line := range strings.Lines(string(answer)) {
				data, ok := strings.CutPrefix(line, "data: ")
				if _, err := mcpwire.Parse([]byte(data)); ok && err != nil {
					t.Errorf("%s: %v", line, err)
				}
			}
		case "text/plain", "":
			if w.Code < 400 && w.Code != http.StatusAccepted && len(answer) > 0 {
				t.Errorf("%d %s", w.Code, answer)
			}
		default:
			t.Errorf("%d %s %s", w.Code, kind, answer)
		}
	})
}
