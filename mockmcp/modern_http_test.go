// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp_test

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/mockmcp"
)

// TestModernHTTP checks the statuses and headers of requests that a script has
// a say in, from 2026-07-28 on.
func TestModernHTTP(t *testing.T) {
	s := mockmcp.NewServer(t, mockmcp.Script{
		Name: "x",
		Tools: []mockmcp.Tool{
			{Name: "ask", Results: []mockmcp.Result{{Before: []mockmcp.Step{mockmcp.Ask{mockmcp.Sample("Hi.", 1)}}, Answer: answer(mockmcp.Answer{Text: "fine"})}}},
			{
				Name: "region", Input: raw(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`),
				Results: []mockmcp.Result{{Answer: answer(mockmcp.Answer{Text: "fine"})}},
			},
			{Name: "tell", Results: []mockmcp.Result{{Before: []mockmcp.Step{mockmcp.Progress{Value: 1}}, Answer: answer(mockmcp.Answer{Text: "fine"})}}},
		},
		Resources: []mockmcp.Resource{{URI: "x:r", Text: "read"}, {URI: "x:asks", Text: "read", Before: []mockmcp.Step{mockmcp.Ask{mockmcp.ListRoots()}}}},
		Prompts:   []mockmcp.Prompt{{Name: "p"}, {Name: "asks", Before: []mockmcp.Step{mockmcp.Ask{mockmcp.ListRoots()}}}},
	})
	meta := func(caps, more string) string {
		return `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + caps + more + `}`
	}
	for _, tt := range []struct {
		name, method, subject, params string
		headers                       []string
		status                        int
		want                          string
	}{
		{"asked", "tools/call", "ask", `"name":"ask",` + meta(`{"sampling":{}}`, ""), nil, 200, `"resultType":"input_required"`},
		{"cannot be asked", "tools/call", "ask", `"name":"ask",` + meta(`{}`, ""), nil, 400, `"code":-32021,"message":"Missing required client capability","data":{"requiredCapabilities":{"sampling":{}}}`},
		{"an argument in a header", "tools/call", "region", `"name":"region","arguments":{"region":"eu"},` + meta(`{}`, ""), []string{"Mcp-Param-Region", "eu"}, 200, "fine"},
		{"another in the header", "tools/call", "region", `"name":"region","arguments":{"region":"eu"},` + meta(`{}`, ""), []string{"Mcp-Param-Region", "us"}, 400, `"code":-32020`},
		{"none in the header", "tools/call", "region", `"name":"region","arguments":{"region":"eu"},` + meta(`{}`, ""), nil, 400, `"code":-32020`},
		{"progress is a stream", "tools/call", "tell", `"name":"tell",` + meta(`{}`, `,"progressToken":"p"`), nil, 200, `data: {"jsonrpc":"2.0","method":"notifications/progress"`},
		{"no progress is none", "tools/call", "tell", `"name":"tell",` + meta(`{}`, ""), nil, 200, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"fine"}]`},
		{"resource", "resources/read", "x:r", `"uri":"x:r",` + meta(`{}`, ""), nil, 200, `"ttlMs":0`},
		{"another resource in the header", "resources/read", "x:s", `"uri":"x:r",` + meta(`{}`, ""), nil, 400, `"code":-32020`},
		{"a resource that cannot ask", "resources/read", "x:asks", `"uri":"x:asks",` + meta(`{}`, ""), nil, 400, `"code":-32021,"message":"Missing required client capability","data":{"requiredCapabilities":{"roots":{}}}`},
		{"a prompt that cannot ask", "prompts/get", "asks", `"name":"asks",` + meta(`{}`, ""), nil, 400, `"code":-32021,"message":"Missing required client capability","data":{"requiredCapabilities":{"roots":{}}}`},
		{"prompt", "prompts/get", "p", `"name":"p",` + meta(`{}`, ""), nil, 200, `"messages":[]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			headers := append([]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", tt.method, "Mcp-Name", tt.subject}, tt.headers...)
			status, body, _ := post(t, s.URL, `{"jsonrpc":"2.0","id":1,"method":"`+tt.method+`","params":{`+tt.params+`}}`, headers...)
			if status != tt.status || !strings.Contains(body, tt.want) {
				t.Errorf("got %d %s\nwant %d %s", status, body, tt.status, tt.want)
			}
		})
	}
}
