// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"encoding/json"
	"fmt"
	"testing"
)

// TestReadings has the forms in which clients hand over what a tool said.
func TestReadings(t *testing.T) {
	const sunny = `{"sky":"sunny"}`
	block := `{"type":"text","text":"{\"sky\":\"sunny\"}"}`
	resource := `{"type":"resource","resource":{"uri":"a://b","mimeType":"application/json","text":"{\"sky\":\"sunny\"}"}}`
	encoded := func(s string) string { return string(quote(s)) }
	for _, tc := range []struct {
		name, text, want string
		failed           bool
		further          string // the second reading, if any
	}{
		{"plain", "sunny", `"sunny"`, false, ""},
		{"empty", "", `""`, false, ""},
		{"a number", "21", "21", false, ""},
		{"json", sunny, sunny, false, ""},
		{"json in lines", " {\n \"sky\": \"sunny\"\n}\n", "{\n \"sky\": \"sunny\"\n}", false, ""},
		{"json as a string", encoded(sunny), sunny, false, ""},
		{"json as a string of a string", encoded(encoded(sunny)), sunny, false, ""},
		{"a text as a string", `"sunny in Paris"`, `"sunny in Paris"`, false, ""},
		{"a string of digits", `"0042"`, `"0042"`, false, ""},
		{"a list of blocks", "[" + block + "]", sunny, false, ""},
		{"blocks of responses", `[{"type":"input_text","text":"{\"sky\":\"sunny\"}"}]`, sunny, false, ""},
		{"a block and a picture", `[{"type":"image","data":"AA=="},` + block + "]", sunny, false, ""},
		{"a list of blocks of text", `[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, `"a\nb"`, false, ""},
		{"a list of blocks as a string", encoded("[" + block + "]"), sunny, false, ""},
		{"a block", block, sunny, false, ""},
		{"a block with null members", `{"type":"text","text":"sunny","annotations":null,"meta":null}`, `"sunny"`, false, ""},
		{"a block beside its structure", `{"type":"text","text":"It is sunny.","structuredContent":` + sunny + `}`, sunny, false, ""},
		{"a result of MCP", `{"content":[` + block + `],"structuredContent":` + sunny + `,"isError":false}`, sunny, false, ""},
		{"a result with text alone", `{"content":[` + block + `]}`, sunny, false, ""},
		{"a result with a summary", `{"content":[{"type":"text","text":"one found"}],"structuredContent":` + sunny + `}`, sunny, false, ""},
		{"a result that failed", `{"content":[{"type":"text","text":"no such city"}],"isError":true}`, `"no such city"`, true, ""},
		{"a result of python", `{"meta":null,"content":[` + block + `],"structured_content":` + sunny + `,"is_error":true}`, sunny, true, ""},
		{"a result with structure alone", `{"content":[],"structuredContent":` + sunny + `}`, sunny, false, ""},
		{"a result with structure alone that failed", `{"structuredContent":` + sunny + `,"isError":true}`, sunny, true, ""},
		{"a structure beside data of the tool", `{"structuredContent":` + sunny + `,"more":1}`, `{"structuredContent":` + sunny + `,"more":1}`, false, ""},
		{"an embedded resource", "[" + resource + "]", sunny, false, ""},
		{"a result with an embedded resource", `{"content":[` + resource + `],"isError":false}`, sunny, false, ""},
		{"a line and an embedded resource", `[{"type":"text","text":"Found:"},` + resource + `]`, encoded("Found:\n" + sunny), false, sunny},
		{"json and an embedded resource", "[" + block + `,{"type":"resource","resource":{"uri":"a://b","text":"more"}}]`, sunny, false, ""},
		{"a resource of bytes", `[{"type":"resource","resource":{"uri":"a://b","blob":"AA=="}}]`, `[{"type":"resource","resource":{"uri":"a://b","blob":"AA=="}}]`, false, ""},
		{"a reply of MCP", `{"jsonrpc":"2.0","id":1,"result":{"content":[` + block + `]}}`, sunny, false, ""},
		{"an error of MCP", `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}`, `{"code":-32602,"message":"no"}`, true, ""},
		{"a byte order mark", "\ufeff" + sunny, sunny, false, ""},
		{"a byte order mark and blocks", " \ufeff [" + block + "]", sunny, false, ""},
		{"a result of Bedrock", `{"status":"success","content":[{"text":` + encoded(sunny) + `}]}`, sunny, false, ""},
		{"a result of Bedrock with an id", `{"toolUseId":"a","status":"error","content":[{"json":` + sunny + `}]}`, sunny, true, ""},
		{"a tool result of Bedrock", `{"toolResult":{"status":"success","content":[{"json":` + sunny + `}]}}`, `{"toolResult":{"status":"success","content":[{"json":` + sunny + `}]}}`, false, sunny},
		{"blocks without a type", `[{"text":` + encoded(sunny) + `}]`, `[{"text":` + encoded(sunny) + `}]`, false, sunny},
		{"a pair of langchain", "[[" + block + "],null]", sunny, false, ""},
		{"a pair of langchain with an artifact", "[[" + block + `],{"structured_content":` + sunny + "}]", sunny, false, ""},
		{"a text around", `{"text":` + encoded(sunny) + `}`, `{"text":` + encoded(sunny) + `}`, false, sunny},
		{"a list of one text", "[" + encoded(sunny) + "]", "[" + encoded(sunny) + "]", false, sunny},
		{"a list of texts", `["a","b"]`, `["a","b"]`, false, ""},
		{"content as python writes it", `[TextContent(type='text', text='{"sky":"sunny"}', annotations=None, meta=None)]`, sunny, false, ""},
		{"a result as python writes it", `meta=None content=[TextContent(type='text', text='It is sunny', annotations=None)] structuredContent={'sky': 'sunny'} isError=False`, `{"sky": "sunny"}`, false, ""},
		{"a failure as python writes it", `CallToolResult(meta=None, content=[TextContent(type='text', text="can't\n\x41")], structuredContent=None, isError=True)`, `"can't\nA"`, true, ""},
		{"a resource as python writes it", `[EmbeddedResource(type='resource', resource=TextResourceContents(uri=AnyUrl('a://b'), mimeType='application/json', text='{"sky":"sunny"}'))]`, sunny, false, ""},
		{"a text that speaks of python", `[TextContent(type='text', text='isError=True structuredContent={}')]`, `"isError=True structuredContent={}"`, false, ""},
		{"a dict as python writes it", `{'sky': "it's", 'n': [1, None, True, False]}`, encoded(`{'sky': "it's", 'n': [1, None, True, False]}`), false, `{"sky": "it's", "n": [1, null, true, false]}`},
		{"tags", "<untrusted_context>\n" + sunny + "\n</untrusted_context>", sunny, false, ""},
		{"tags with attributes", `<tool_result name="f">` + sunny + `</tool_result>`, sunny, false, ""},
		{"tags twice", "<untrusted_context>\na\n</untrusted_context>\n<untrusted_context>\nb\n</untrusted_context>", `"a\nb"`, false, ""},
		{"tags of the tool", "<p>sunny</p>", `"<p>sunny</p>"`, false, ""},
		{"a wall time", "Wall time: 0.0123 seconds\nOutput:\n" + sunny, sunny, false, ""},
		{"a wall time and blocks", "Exit code: 0\nWall time: 0.1 seconds\nTotal output lines: 3\nOutput:\n[" + block + "]", sunny, false, ""},
		{"an observation", "Observation:\n" + sunny, encoded("Observation:\n" + sunny), false, sunny},
		{"a result around", `{"result":` + sunny + `}`, `{"result":` + sunny + `}`, false, sunny},
		{"an output around", `{"output":` + encoded(sunny) + `}`, `{"output":` + encoded(sunny) + `}`, false, sunny},
		{"an output with tags", `{"output":"<untrusted_context>\n{\"sky\":\"sunny\"}\n</untrusted_context>"}`, `{"output":"<untrusted_context>\n{\"sky\":\"sunny\"}\n</untrusted_context>"}`, false, sunny},
		{"a structure around", `{"content":[{"type":"text","text":"21"}],"structuredContent":{"result":21}}`, `{"result":21}`, false, "21"},
		{"json behind a line", "Found:\n" + sunny, encoded("Found:\n" + sunny), false, sunny},
		{"json before a line", sunny + "\nThat is all.", encoded(sunny + "\nThat is all."), false, sunny},
		{"json in a fence", "```json\n" + sunny + "\n```", encoded("```json\n" + sunny + "\n```"), false, sunny},
		{"json in other tags", "<data>" + sunny + "</data>", encoded("<data>" + sunny + "</data>"), false, sunny},
		{"no json in a sentence", "see [1] for {x}", `"see [1] for {x}"`, false, ""},
		{"a list of the tool", `[{"type":"cat"},{"type":"text"}]`, `[{"type":"cat"},{"type":"text"}]`, false, ""},
		{"an object of the tool", `{"type":"text","text":"a","author":"b"}`, `{"type":"text","text":"a","author":"b"}`, false, ""},
		{"an answer of the tool", `{"result":1,"more":2}`, `{"result":1,"more":2}`, false, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := readings(tc.text)
			if string(got[0].result) != tc.want || got[0].failed != tc.failed {
				t.Errorf("%s, failed %v; want %s", got[0].result, got[0].failed, tc.want)
			}
			further := ""
			if len(got) > 1 {
				further = string(got[1].result)
			}
			if further != tc.further {
				t.Errorf("further reading %s, want %s", further, tc.further)
			}
		})
	}
}

func FuzzReadings(f *testing.F) {
	for _, s := range []string{
		"", "sunny", `"\"{}\""`, `[{"type":"text","text":"[{\"type\":\"text\",\"text\":\"{}\"}]"}]`, `{"result":{"output":{"result":null}}}`,
		"Wall time: 1\nOutput:\nObservation: <tool_result>{}</tool_result>", `{"content":[]}`, "x\n[1]\ny {\"a\":1}", "<tool_result></tool_output>", "\xff{}",
		`[TextContent(type='text', text='{"a":1}', meta=None)]`, `content=[] structuredContent={'a': "\U0001f600'"} isError=True`, "{'a': None, 'b': '\\x4'}", "[TextContent(text='",
		"\ufeff\ufeff{}", `{"jsonrpc":"2.0","result":{"content":[],"structuredContent":{}}}`, `{"status":"error","content":[{"json":{}},{"text":"a"}]}`,
		`[[{"type":"resource","resource":{"text":"{}"}}],null]`, `["{\"text\":\"{}\"}"]`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := readings(text)
		if len(got) == 0 {
			t.Fatal("no reading")
		}
		for _, r := range got {
			if !json.Valid(r.result) {
				t.Errorf("%q is read as %q", text, r.result)
			}
		}
		if fmt.Sprint(readings(text)) != fmt.Sprint(got) {
			t.Errorf("%q is read in two ways", text)
		}
	})
}
