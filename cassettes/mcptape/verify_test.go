// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/cassettes/mcptape"
	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// answers is a server that answers each method with a result, or an error
// where that begins with "error".
func answers(t *testing.T, results map[string]string) harness.Server {
	t.Helper()
	return harness.Server{Name: "s", Dial: func(context.Context) (io.ReadWriteCloser, error) {
		client, server := mcpwire.Pipe()
		go func() {
			defer server.Close()
			r := mcpwire.NewReader(server, nil)
			for {
				m, err := r.Next()
				if err != nil {
					return
				}
				if said, ok := results["after "+m.Method]; ok {
					fmt.Fprintln(server, said)
				}
				if !m.IsRequest() {
					continue
				}
				result, ok := results[m.Method]
				if strings.Contains(string(m.Params), `"cursor"`) {
					result = results[m.Method+" 2"]
				}
				key := "result"
				if text, isError := strings.CutPrefix(result, "error"); isError || !ok {
					key, result = "error", `{"code":-32601,"message":"no`+text+`"}`
				}
				fmt.Fprintf(server, `{"jsonrpc":"2.0","id":%s,%q:%s}`+"\n", m.ID, key, result)
			}
		}()
		return client, nil
	}}
}

func verify(t *testing.T, rec *mcptape.Recording, server harness.Server) []string {
	t.Helper()
	found, err := mcptape.Verify(t.Context(), rec, server, nil)
	var out []string
	var unasked *mcptape.UnaskedError
	switch {
	case errors.As(err, &unasked):
		out = append(out, "not sent: "+strings.Join(unasked.Requests, ", "))
	case err != nil:
		t.Fatal(err)
	}
	for _, d := range found {
		out = append(out, d.String())
	}
	return out
}

func TestVerifyTools(t *testing.T) {
	const tool = `{"name":"add","description":"Adds.","inputSchema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string","enum":["x","y"]}},"required":["a"]},"outputSchema":{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]}}`
	other := strings.NewReplacer // of the tool
	for _, test := range []struct {
		name string
		now  string // the tools
		want []string
	}{
		{"the same", tool, nil},
		{"removed", "", []string{"breaking: tool add: is gone"}},
		{"added", tool + `,{"name":"sub","inputSchema":{"type":"object"}}`, []string{"minor: tool sub: is new"}},
		{"description", other("Adds.", "Adds up.").Replace(tool), []string{"risky: tool add: description: has changed"}},
		{"type", other(`"a":{"type":"integer"}`, `"a":{"type":"string"}`).Replace(tool), []string{`breaking: tool add: inputSchema.a.type: was "integer", is "string"`}},
		{"wider type", other(`"a":{"type":"integer"}`, `"a":{"type":"number"}`).Replace(tool), []string{`minor: tool add: inputSchema.a.type: was "integer", is "number"`}},
		{"narrower enum", other(`["x","y"]`, `["x"]`).Replace(tool), []string{`breaking: tool add: inputSchema.b.enum: "y" is gone`}},
		{"wider enum", other(`["x","y"]`, `["x","y","z"]`).Replace(tool), []string{`minor: tool add: inputSchema.b.enum: "z" is new`}},
		{"required argument", other(`"required":["a"]`, `"required":["a","c"]`, `"a":{`, `"c":{},"a":{`).Replace(tool), []string{"breaking: tool add: inputSchema: argument c: is new and required"}},
		{"optional argument", other(`"a":{`, `"c":{},"a":{`).Replace(tool), []string{"minor: tool add: inputSchema: argument c: is new"}},
		{"required now", other(`"required":["a"]`, `"required":["a","b"]`).Replace(tool), []string{"breaking: tool add: inputSchema: argument b: is now required"}},
		{"optional now", other(`,"required":["a"]`, ``).Replace(tool), []string{"minor: tool add: inputSchema: argument a: is now optional"}},
		{"argument removed", other(`,"b":{"type":"string","enum":["x","y"]}`, ``).Replace(tool), []string{"breaking: tool add: inputSchema: argument b: is gone"}},
		{"closed", other(`"required":["a"]`, `"required":["a"],"additionalProperties":false`).Replace(tool), []string{"risky: tool add: inputSchema.additionalProperties: has changed"}},
		{"output type", other(`"sum":{"type":"integer"}`, `"sum":{"type":["integer","null"]}`).Replace(tool), []string{`breaking: tool add: outputSchema.sum.type: was "integer", is ["integer","null"]`}},
		{"output property", other(`"sum":{`, `"more":{},"sum":{`).Replace(tool), []string{"minor: tool add: outputSchema: property more: is new"}},
		{"output not sure", other(`,"required":["sum"]`, ``).Replace(tool), []string{"risky: tool add: outputSchema: property sum: may now be absent"}},
		{"annotations", other(`"description"`, `"annotations":{"readOnlyHint":true},"description"`).Replace(tool), []string{"risky: tool add: annotations: has changed"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			rec := script(t, `0 > {"id":1,"method":"tools/list"}
				1 < {"id":1,"result":{"tools":[`+tool+`]}}`)
			got := verify(t, rec, answers(t, map[string]string{"tools/list": `{"tools":[` + test.now + `]}`}))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestVerifyPages has the same tools on other pages.
func TestVerifyPages(t *testing.T) {
	rec := script(t, `0 > {"id":1,"method":"tools/list"}
		1 < {"id":1,"result":{"tools":[{"name":"a"},{"name":"b"}],"nextCursor":"2"}}
		2 > {"id":2,"method":"tools/list","params":{"cursor":"2"}}
		3 < {"id":2,"result":{"tools":[{"name":"c"}]}}`)
	got := verify(t, rec, answers(t, map[string]string{
		"tools/list": `{"tools":[{"name":"c"}],"nextCursor":"other"}`, "tools/list 2": `{"tools":[{"name":"b"},{"name":"d"}]}`,
	}))
	want := []string{"breaking: tool a: is gone", "minor: tool d: is new"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestVerifyResults(t *testing.T) {
	result := func(s string) string { return s }
	for _, test := range []struct {
		name, method, was, now string
		want                   []string
	}{
		{"another text", "tools/call", `{"content":[{"type":"text","text":"3"}]}`, `{"content":[{"type":"text","text":"4"}]}`, nil},
		{"fails", "tools/call", `{"content":[{"type":"text","text":"3"}]}`, `{"content":[{"type":"text","text":"no"}],"isError":true}`, []string{
			"breaking: line 2 tools/call add: succeeded, now fails: no", "minor: line 2 tools/call add: result.isError: was absent, is boolean",
		}},
		{"error", "tools/call", `{"content":[]}`, "error", []string{"breaking: line 2 tools/call add: was a result, is error -32601: no"}},
		{"no error", "tools/call", "error", `{"content":[]}`, []string{"risky: line 2 tools/call add: was error -32601, is a result"}},
		{"the same error", "tools/call", "error", "error", nil},
		{"structured", "tools/call", `{"content":[],"structuredContent":{"n":1}}`, `{"content":[],"structuredContent":{"n":"1"}}`, []string{"breaking: line 2 tools/call add: result.structuredContent.n: was number, is string"}},
		{"JSON in text", "tools/call", `{"content":[{"type":"text","text":"{\"n\":1}"}]}`, `{"content":[{"type":"text","text":"{\"m\":1}"}]}`, []string{
			"risky: line 2 tools/call add: text.n: was number, is absent", "minor: line 2 tools/call add: text.m: was absent, is number",
		}},
		{"kind of content", "tools/call", `{"content":[{"type":"text","text":"x"}]}`, `{"content":[{"type":"text","text":"x"},{"type":"resource_link","text":"y"}]}`, []string{"risky: line 2 tools/call add: result.content: was text, is text, resource_link"}},
		{"capability", "initialize", `{"protocolVersion":"1","capabilities":{"tools":{},"logging":{}}}`, `{"protocolVersion":"2","capabilities":{"tools":{}}}`, []string{
			"breaking: line 2 initialize add: result.capabilities.logging: was object, is absent", `risky: line 2 initialize add: result.protocolVersion: was "1", is "2"`,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			reply := `"result":` + result(test.was)
			if test.was == "error" {
				reply = `"error":{"code":-32601,"message":"nope"}`
			}
			rec := script(t, fmt.Sprintf(`0 > {"id":1,"method":%q,"params":{"name":"add"}}
				1 < {"id":1,%s}`, test.method, reply))
			got := verify(t, rec, answers(t, map[string]string{test.method: test.now}))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestVerifyUnasked compares what the server says and asks of its own accord.
func TestVerifyUnasked(t *testing.T) {
	rec := script(t, `0 > {"method":"notifications/initialized"}
		1 < {"id":"r","method":"roots/list"}
		2 > {"id":"r","result":{"roots":[]}}
		3 < {"method":"notifications/message","params":{}}
		4 > {"id":1,"method":"x"}
		5 < {"id":1,"result":{}}`)
	got := verify(t, rec, answers(t, map[string]string{
		"after notifications/initialized": `{"jsonrpc":"2.0","id":1,"method":"roots/list"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"sampling/createMessage"}`,
		"x":                               "{}",
	}))
	want := []string{"risky: notifications/message: the server no longer sends it", "risky: sampling/createMessage: the server now asks for it"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestVerifySendsNoPlaceholders: what stands for a secret is not what was
// recorded, and a real server must not get it.
func TestVerifySendsNoPlaceholders(t *testing.T) {
	rec := script(t, `0 > {"id":1,"method":"x","params":{"token":"REDACTED-json-0123abcd"}}
		1 < {"id":1,"result":{}}
		2 > {"method":"notifications/x","params":{"home":"REDACTED-home-0123abcd/x"}}
		3 > {"id":2,"method":"y","params":{"note":"REDACTED is a word"}}
		4 < {"id":2,"result":{}}`)
	var sent strings.Builder
	server := answers(t, map[string]string{"x": "{}", "y": "{}"})
	dial := server.Dial
	server.Dial = func(ctx context.Context) (io.ReadWriteCloser, error) {
		c, err := dial(ctx)
		return &overheard{c, &sent}, err
	}
	if diff := cmp.Diff([]string{"not sent: line 2 x"}, verify(t, rec, server)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if strings.Contains(sent.String(), "REDACTED-") || !strings.Contains(sent.String(), "REDACTED is a word") {
		t.Errorf("sent: %s", sent.String())
	}
}

// overheard is a connection whose writes are noted.
type overheard struct {
	io.ReadWriteCloser
	sent *strings.Builder
}

func (o *overheard) Write(p []byte) (int, error) {
	o.sent.Write(p)
	return o.ReadWriteCloser.Write(p)
}

// TestVerifyCommand records the child and holds another build against it, and
// one that dies.
func TestVerifyCommand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "child.tape")
	record(t, path, conversation)
	rec, err := mcptape.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	server := harness.Server{Name: "child", Command: []string{os.Args[0]}}
	// The call has a placeholder. Where it stands is a matter of when the child
	// answered what came before it.
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(data), `"tools/call"`)
	unasked := fmt.Sprintf("not sent: line %d tools/call add", 1+strings.Count(before, "\n"))
	if diff := cmp.Diff([]string{unasked}, verify(t, rec, server)); diff != "" {
		t.Errorf("against itself (-want +got):\n%s", diff)
	}
	t.Setenv("MCPTAPE_CHILD", "new")
	if diff := cmp.Diff([]string{unasked, "risky: tool add: description: has changed"}, verify(t, rec, server)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	dying := script(t, `0 > {"id":1,"method":"die"}
		1 < {"id":1,"result":{}}`)
	if _, err := mcptape.Verify(t.Context(), dying, server, nil); err == nil || !strings.Contains(err.Error(), "line 2 die: the server ended: exit status 3") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := mcptape.Verify(ctx, dying, answers(t, nil), nil); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
