// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestJournalPage has the page of the journal open in a browser: a miss appears
// without a reload, with its difference; ids filter; what is copied as a scenario
// is one; a token goes into no address; a page of another origin sees nothing.
func TestJournalPage(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	llm := file("llm.yaml", "llm: weather\nturns:\n"+
		"  - user: Weather?\n    replies: [{say: It is sunny.}]\n"+
		"  - user: And in Rome?\n    replies: [{say: It rains.}]\n")
	mcp := file("mcp.yaml", "server: counter\nfaults: [{kind: rpc_error, match: {tool: add, nth: 3}}]\n"+
		"tools: [{name: add, input: {type: object, properties: {by: {type: integer}}}, results: [{when: args.by < 10, text: added}]}]\n")
	const token = "sesame+/open%20&="
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>a page of another origin</title><body></body>"))
	}))
	defer pages.Close()
	model, server := launch(t, binary, false, "serve", "llm", llm), launch(t, binary, false, "serve", "mcp", mcp)
	guarded := launch(t, binary, false, "serve", "llm", "--admin-token", "@"+file("token", token), llm)
	at, err := json.Marshal(map[string]string{
		"llm": base(model.URL), "mcp": base(server.URL), "guarded": base(guarded.URL), "token": token, "stranger": pages.URL,
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := command(t, node, "clients/journal.mjs", string(at)).Output()
	if err != nil {
		t.Fatalf("journal.mjs: %v\n%s", told(err), got)
	}
	var found struct {
		Wrong    []string
		Scenario string
	}
	if err := json.Unmarshal(got, &found); err != nil {
		t.Fatalf("journal.mjs wrote %q: %v", got, err)
	}
	for _, w := range found.Wrong {
		t.Error(w)
	}
	// The turn that was a miss waits for its reply, which check says.
	out, err := command(t, binary, "check", file("copied.yaml", found.Scenario)).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "the mock model has no answer here\n1 scenario, 0 server files, 0 llm files: 1 warning") || !strings.Contains(found.Scenario, "And in Rme?") {
		t.Errorf("what was copied is no scenario of the conversation: %v\n%s\n%s", err, out, found.Scenario)
	}
}
