// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/mockmcp"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// TestStructured: structured content beside a text that does not repeat it, and
// isError beside either.
func TestStructured(t *testing.T) {
	for _, tc := range []struct{ result, want, value string }{
		{`{json: {a: 1}}`, `{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}}`, `{"a":1}`},
		{`{json: {a: 1}, is_error: true}`, `{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1},"isError":true}`, `{"a":1}`},
		{`{text: 2 found, structured: {n: {$cel: args.n}}}`, `{"content":[{"type":"text","text":"2 found"}],"structuredContent":{"n":2}}`, `{"n":2}`},
		{`{text: no, is_error: true}`, `{"content":[{"type":"text","text":"no"}],"isError":true}`, `"no"`},
		{`{error: no such city, structured: {code: 404}}`, `{"content":[{"type":"text","text":"no such city"}],"structuredContent":{"code":404},"isError":true}`, `{"code":404}`},
		{`{content: [], structured: {code: 404}, is_error: true}`, `{"content":[],"structuredContent":{"code":404},"isError":true}`, `{"code":404}`},
		{`{content: [{type: text, text: a}], structured: {b: 1}}`, `{"content":[{"type":"text","text":"a"}],"structuredContent":{"b":1}}`, `{"b":1}`},
	} {
		t.Run(tc.result, func(t *testing.T) {
			set, err := scenarios.Parse("s.yaml", []byte("server: s\ntools:\n  - name: t\n    results: ["+tc.result+"]\n"), noEnv())
			if err != nil {
				t.Fatal(err)
			}
			server, err := mockmcp.New(*set.Servers[0].Mock, nil)
			if err != nil {
				t.Fatal(err)
			}
			c := talk(t, server)
			if got := c.ask("tools/call", `{"name":"t","arguments":{"n":2}}`); got != tc.want {
				t.Errorf("%s\nwant %s", got, tc.want)
			}
			x := server.Journal()[0]
			if string(x.Result) != tc.value || x.IsError != strings.Contains(tc.want, "isError") || x.Failed != x.IsError {
				t.Errorf("the journal has %s, failed %v", x.Result, x.Failed)
			}
		})
	}
	for result, want := range map[string]string{
		`{json: 1, structured: 2}`:                           `"json" is already structured content`,
		`{rpc_error: {code: 1, message: m}, structured: {}}`: `"structured" has no effect beside rpc_error and file`,
		`{rpc_error: {code: 1, message: m}, is_error: true}`: `"is_error" has no effect beside rpc_error and file`,
		`{text: a, structuredContent: {}}`:                   `did you mean "structured"?`,
	} {
		_, err := scenarios.Parse("s.yaml", []byte("server: s\ntools:\n  - name: t\n    results: ["+result+"]\n"), noEnv())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", result, err, want)
		}
	}
}
