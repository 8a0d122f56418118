// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/cassettes/mcptape"
)

// TestRecordCommand: the tape has none of the secrets of the command and of the
// environment that the server is given.
func TestRecordCommand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "child.tape")
	t.Setenv("MCPTAPE_CHILD", "plain")
	command := []string{os.Args[0], "--token", "tokenWORD7781", "--password=wordWORD7781", "--port", "portWORD80"}
	t.Setenv("MY_API_TOKEN", "givenWORD7781")
	said := strings.ReplaceAll(conversation, "\n", "\n"+`{"jsonrpc":"2.0","method":"notifications/x","params":{"said":"givenWORD7781"}}`+"\n")
	if _, err := mcptape.Record(t.Context(), path, command, mcptape.Stdio{In: strings.NewReader(said), Out: io.Discard, Err: io.Discard}, &mcptape.RecordOptions{LookupEnv: noCI}); err != nil {
		t.Fatal(err)
	}
	tape, err := os.ReadFile(path)
	if err != nil || bytes.Contains(tape, []byte("WORD7781")) || !bytes.Contains(tape, []byte("portWORD80")) {
		t.Errorf("%v, the tape:\n%s", err, tape)
	}
}

// TestRecordWhatWasSent: a server that repeats the headers or the address of a request
// has no key on the tape, whoever sent it.
func TestRecordWhatWasSent(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":{"asked":"%s with %s and %s"}}`, r.URL.RawQuery, r.Header.Get("Authorization"), r.Header.Get("X-Api-Key"))
	}))
	defer srv.Close()
	path := recordHTTP(t, srv.URL+"/mcp?api_key=flagWORD7781", http.Header{"X-Api-Key": {"givenWORD7781"}}, nil, func(url string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"?token=queryWORD7781", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer clientWORD7781")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if got := strings.Count(string(body), "WORD7781"); got != 4 || err != nil {
			t.Errorf("the client got %s, %v", body, err)
		}
	})
	tape, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(tape, []byte(`"asked"`)) || bytes.Contains(tape, []byte("WORD7781")) {
		t.Errorf("%v, the tape:\n%s", err, tape)
	}
}
