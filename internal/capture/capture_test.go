// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package capture_test

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rehearse-dev/rehearse/cassettes/mcptape"
	"github.com/rehearse-dev/rehearse/internal/capture"
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/vcr"
	"github.com/rehearse-dev/rehearse/scenarios"
)

var update = flag.Bool("update", false, "rewrite testdata")

// exchange is a chat completion: messages, with tools if there are any, and the
// message that answered.
func exchange(system string, tools, messages, reply string) *vcr.Interaction {
	body := fmt.Sprintf(`{"model":"m","messages":[{"role":"system","content":%q},%s]%s}`, system, messages, tools)
	answer := fmt.Sprintf(`{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop","message":%s}]}`, reply)
	return &vcr.Interaction{
		Request:  vcr.Request{Method: "POST", URL: "http://127.0.0.1:1/v1/chat/completions", Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body)},
		Response: vcr.Response{Code: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(answer)},
		Meta:     vcr.Meta{Outcome: vcr.Complete},
	}
}

func tape(t *testing.T, lines ...string) *mcptape.Recording {
	t.Helper()
	text := `{"rehearse_tape":1}` + "\n"
	for n, line := range lines {
		dir := []string{"in", "out"}[n%2]
		text += fmt.Sprintf(`{"dir":%q,"at_ms":%d,"frame":%s}`+"\n", dir, n, line)
	}
	rec, err := mcptape.Parse("t.tape", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func call(id int, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}`, id, args)
}

func answer(id int, result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, id, result)
}

// TestOthers: a conversation beside that of the first request is told.
func TestOthers(t *testing.T) {
	user := func(text string) string { return fmt.Sprintf(`{"role":"user","content":%q}`, text) }
	calls := `{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"think","arguments":"{}"}}]}`
	told := "," + calls + `,{"role":"tool","tool_call_id":"1","content":"told"}`
	done := `{"role":"assistant","content":"Done."}`
	for name, tc := range map[string]struct {
		asked, replied []string
		want           string
	}{
		"one":              {[]string{user("a"), user("a") + told, user("a") + told + "," + done + "," + user("b")}, []string{calls, done, done}, ""},
		"two in turns":     {[]string{user("a"), user("b"), user("a") + told, user("b") + told}, []string{calls, calls, done, done}, "exchange 1 begins, and yet stand among its turns: 2, 4."},
		"two that are one": {[]string{user("a"), user("a"), user("a") + told, user("a") + told}, []string{calls, calls, done, done}, "exchange 1 begins, and yet stand among its turns: 2."},
		"no memory":        {[]string{user("a"), user("b")}, []string{done, done}, "exchange 1 begins, and yet stand among its turns: 2."},
	} {
		f := &vcr.File{}
		for i, messages := range tc.asked {
			f.Interactions = append(f.Interactions, exchange("Be brief.", "", messages, tc.replied[i]))
		}
		c, err := capture.Read("t", f, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(c.Notes, "\n")
		if told := strings.Contains(notes, "do not go on with"); told != (tc.want != "") || !strings.Contains(notes, tc.want) {
			t.Errorf("%s: %s", name, notes)
		}
	}
}

// TestFiles is a conversation with all that a conversation has: two turns, a
// retry, a title that is asked for beside it, tools in a style of their own,
// parallel calls, a tool of the agent's, results of every kind, and the folder in
// which it was recorded.
func TestFiles(t *testing.T) {
	work := redact.Mark("work")
	tools := `,"tools":[{"type":"function","function":{"name":"x.files_read","description":"Reads.","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}},{"type":"function","function":{"name":"think","parameters":{"type":"object","properties":{}}}}]`
	tools = strings.ReplaceAll(tools, "x.files_read", "X-files-read")
	user := func(text string) string { return fmt.Sprintf(`{"role":"user","content":%q}`, text) }
	calls := `{"role":"assistant","content":"I look.","tool_calls":[` +
		`{"id":"1","type":"function","function":{"name":"X-files-read","arguments":"{\"path\":\"` + work + `/a.txt\"}"}},` +
		`{"id":"2","type":"function","function":{"name":"X-files-read","arguments":"{\"path\":\"{{b}}\",\"$x\":1}"}},` +
		`{"id":"3","type":"function","function":{"name":"think","arguments":""}}]}`
	more := `{"role":"assistant","content":null,"tool_calls":[` +
		`{"id":"4","type":"function","function":{"name":"X-files-read","arguments":"{}"}},` +
		`{"id":"5","type":"function","function":{"name":"X-files-read","arguments":"{\"path\":\"none\"}"}},` +
		`{"id":"6","type":"function","function":{"name":"X-files-read","arguments":"{\"path\":\"image\"}"}},` +
		`{"id":"7","type":"function","function":{"name":"X-files-read","arguments":"{\"path\":\"wrong\"}"}}]}`
	told := func(ids ...string) (out string) {
		for _, id := range ids {
			out += fmt.Sprintf(`,{"role":"tool","tool_call_id":%q,"content":"told"}`, id)
		}
		return out
	}
	first := user("<context/>") + "," + user("Read the files.")
	second := first + "," + calls + told("1", "2", "3")
	third := second + "," + more + told("4", "5", "6", "7")
	bye := third + `,{"role":"assistant","content":"Done {{so}}."},` + user("Bye.")
	failed := exchange("Be brief.", tools, first, `{"role":"assistant","content":"x"}`)
	failed.Response.Code = 429
	cassette := &vcr.File{Interactions: []*vcr.Interaction{
		{Request: vcr.Request{Method: "GET", URL: "http://127.0.0.1:1/v1/models"}, Response: vcr.Response{Code: 200}},
		failed,
		exchange("Be brief.", tools, first, calls),
		exchange("Write a title.", "", user("Read the files."), `{"role":"assistant","content":"Files"}`),
		exchange("Be brief.", tools, second, more),
		exchange("Be brief.", tools, third, `{"role":"assistant","content":"Done {{so}}.","reasoning_content":"Hm."}`),
		exchange("Be brief.", tools, third, `{"role":"assistant","content":"Done {{so}}."}`),
		exchange("Be brief.", tools, bye, `{"role":"assistant","content":"It was in `+work+`."}`),
	}}
	long := strings.Repeat("line\\n", 1000)
	files := tape(
		t,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, answer(1, `"result":{"instructions":"Read first."}`),
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, answer(2, `"result":{"tools":[{"name":"read","title":"Read","description":"Reads.","inputSchema":{"type":"object","properties":{"path":{"type":"string","description":"a long text, so that the schema is not on one line but on several of them"}}},"annotations":{"readOnlyHint":true},"icons":[]}]}`),
		call(3, `{"name":"read","arguments":{"path":"`+work+`/a.txt"}}`), answer(3, `"result":{"content":[{"type":"text","text":"in `+work+`"}]}`),
		call(4, `{"name":"read","arguments":{"path":"{{b}}","$x":1}}`), answer(4, `"result":{"content":[{"type":"text","text":"{\"a\": [1, \"{{x}}\"]}"}],"structuredContent":{"a":[1,"{{x}}"]},"_meta":{"k":"v"}}`),
		call(5, `{"name":"read"}`), answer(5, `"result":{"content":[{"type":"text","text":"`+long+`"}]}`),
		call(6, `{"name":"read","arguments":{"path":"none"}}`), answer(6, `"result":{"isError":true,"content":[{"type":"text","text":"no such file"}]}`),
		call(7, `{"name":"read","arguments":{"path":"image"}}`), answer(7, `"result":{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"text","text":"an image"}]}`),
		call(8, `{"name":"read","arguments":{"path":"wrong"}}`), answer(8, `"error":{"code":-32602,"message":"wrong","data":{"d":1}}`),
		`{"jsonrpc":"2.0","id":9,"method":"resources/list"}`, answer(9, `"result":{"resources":[]}`),
	)
	again := tape(t, call(1, `{"name":"read","arguments":{"path":"unasked"}}`), answer(1, `"result":{"content":[{"type":"text","text":"x"}]}`))
	c, err := capture.Read("Files & more", cassette, []*capture.Heard{capture.Hear("files", []*mcptape.Recording{files, again})}, []string{"agent", "Read the files."})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Files(&capture.Setting{
		From: "A comment.", System: true, Cassette: &capture.Cassette{Asides: c.Mixed()},
		Subject: &capture.Subject{Command: []string{"agent", "{prompt}"}, MCPFile: map[string]string{"form": "codex"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var archive txtar.Archive
	add := func(name, text string) {
		archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(text)})
	}
	add("notes", strings.Join(c.Notes, "\n")+"\n")
	names := make([]string, 0, len(got))
	for name := range got {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		text := string(got[name])
		if strings.HasSuffix(name, ".txt") {
			text = fmt.Sprintf("%d bytes\n", len(text))
		}
		add(name, text)
	}
	golden := filepath.Join("testdata", "files.txtar")
	if *update {
		if err := os.WriteFile(golden, txtar.Format(&archive), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(txtar.Format(&archive))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCallsInAnotherOrder: each call of a reply is the one that its server heard
// with the same arguments, in whatever order, or else the next that is left.
func TestCallsInAnotherOrder(t *testing.T) {
	tools := `,"tools":[{"type":"function","function":{"name":"read","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}}]`
	first := `{"role":"user","content":"Read them."}`
	asked, told := "", ""
	for i, path := range []string{"a", "b", "c"} {
		asked += fmt.Sprintf(`,{"id":"%d","type":"function","function":{"name":"read","arguments":"{\"path\":\"%s\"}"}}`, i, path)
		told += fmt.Sprintf(`,{"role":"tool","tool_call_id":"%d","content":"told"}`, i)
	}
	calls := `{"role":"assistant","content":null,"tool_calls":[` + asked[1:] + `]}`
	cassette := &vcr.File{Interactions: []*vcr.Interaction{
		exchange("", tools, first, calls), exchange("", tools, first+","+calls+told, `{"role":"assistant","content":"Done."}`),
	}}
	const done = `"result":{"content":[{"type":"text","text":"done"}]}`
	heard := capture.Hear("files", []*mcptape.Recording{tape(
		t,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, answer(1, `"result":{"tools":[{"name":"read","inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}}]}`),
		call(2, `{"name":"read","arguments":{"path":"b"}}`), answer(2, done),
		call(3, `{"name":"read","arguments":{"path":"a"}}`), answer(3, done),
		call(4, `{"name":"read","arguments":{"path":"/work/c"}}`), answer(4, done),
	)})
	c, err := capture.Read("t", cassette, []*capture.Heard{heard}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, called := range c.Turns[0].Replies[0].Calls {
		if called.Heard == nil {
			got = append(got, "nothing")
			continue
		}
		got = append(got, string(called.Heard.Args))
	}
	if diff := cmp.Diff([]string{`{"path":"a"}`, `{"path":"b"}`, `{"path":"/work/c"}`}, got); diff != "" {
		t.Errorf("what was heard of the calls (-want +got):\n%s", diff)
	}
}

func TestReadRefuses(t *testing.T) {
	for name, list := range map[string][]*vcr.Interaction{
		"no exchange with a model was recorded":       {{Request: vcr.Request{Method: "GET", URL: "http://x/v1/models"}}},
		"no exchange that was recorded has a message": {exchange("s", "", `{"role":"system","content":"t"}`, `{"role":"assistant","content":"hi"}`)},
	} {
		if _, err := capture.Read("n", &vcr.File{Interactions: list}, nil, nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
	}
}

func ExampleEncode() {
	args, err := capture.Arguments(`{"city": "Paris", "days": 3}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	file, err := capture.Encode("A comment.", &capture.LLM{LLM: "weather", Turns: []*capture.Turn{{
		User: "What is the weather?", Replies: []*capture.Reply{{Calls: []map[string]any{{"weather.get": args}}}, {Say: "Sunny."}},
	}}})
	fmt.Printf("%s%v", file, err)
	// Output:
	// # A comment.
	// llm: weather
	// turns:
	//   - user: What is the weather?
	//     replies:
	//       - calls:
	//           - weather.get: {city: Paris, days: 3}
	//       - say: Sunny.
	// <nil>
}

// TestReadShipped reads the shipped recordings: what comes of each is a scenario
// that loads, and has what the model said.
func TestReadShipped(t *testing.T) {
	paths, err := filepath.Glob("../../cassettes/argo-proxy/3.3.3/*/*/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		f, err := vcr.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		c, err := capture.Read("shipped", f, nil, nil)
		if err != nil {
			continue // it has no conversation
		}
		files, err := c.Files(&capture.Setting{Subject: &capture.Subject{Command: []string{"agent", "{prompt}"}}})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		dir := t.TempDir()
		for name, data := range files {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := scenarios.Load([]string{dir}, nil); err != nil {
			t.Errorf("%s: %v\n%s", path, err, files[c.ScenarioFile()])
		}
		for _, turn := range c.Turns {
			for _, r := range turn.Replies {
				if r.Text == "" && len(r.Calls) == 0 && r.Reasoning == "" && r.Message.Refusal == "" {
					t.Errorf("%s: exchange %d says nothing", path, r.Number)
				}
			}
		}
	}
}

// TestReadDialects: a tool conversation is the same in every dialect.
func TestReadDialects(t *testing.T) {
	type pair struct{ asked, answered string }
	for name, tc := range map[string]struct {
		path      string
		exchanges []pair
	}{
		"messages": {"/v1/messages", []pair{
			{
				`{"model":"m","max_tokens":9,"system":"Be brief.","tools":[{"name":"read","input_schema":{"type":"object","properties":{}}}],"messages":[{"role":"user","content":"Read."}]}`,
				`{"id":"a","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"t","name":"read","input":{"path":"a"}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`,
			},
			{
				`{"model":"m","max_tokens":9,"system":"Be brief.","tools":[{"name":"read","input_schema":{"type":"object","properties":{}}}],"messages":[{"role":"user","content":"Read."},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"read","input":{"path":"a"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"milk"}]}]}`,
				`{"id":"b","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Milk."}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`,
			},
		}},
		"gemini": {"/v1beta/models/m:generateContent", []pair{
			{
				`{"systemInstruction":{"parts":[{"text":"Be brief."}]},"tools":[{"functionDeclarations":[{"name":"read","parameters":{"type":"OBJECT","properties":{}}}]}],"contents":[{"role":"user","parts":[{"text":"Read."}]}]}`,
				`{"candidates":[{"index":0,"finishReason":"STOP","content":{"role":"model","parts":[{"functionCall":{"name":"read","args":{"path":"a"}}}]}}],"modelVersion":"m"}`,
			},
			{
				`{"systemInstruction":{"parts":[{"text":"Be brief."}]},"tools":[{"functionDeclarations":[{"name":"read","parameters":{"type":"OBJECT","properties":{}}}]}],"contents":[{"role":"user","parts":[{"text":"Read."}]},{"role":"model","parts":[{"functionCall":{"name":"read","args":{"path":"a"}}}]},{"role":"user","parts":[{"functionResponse":{"name":"read","response":{"result":"milk"}}}]}]}`,
				`{"candidates":[{"index":0,"finishReason":"STOP","content":{"role":"model","parts":[{"text":"Milk."}]}}],"modelVersion":"m"}`,
			},
		}},
		"responses": {"/v1/responses", []pair{
			{
				`{"model":"m","instructions":"Be brief.","tools":[{"type":"function","name":"read","parameters":{"type":"object","properties":{}}}],"input":"Read."}`,
				`{"id":"resp_1","object":"response","status":"completed","model":"m","output":[{"type":"function_call","id":"fc_1","call_id":"t","name":"read","arguments":"{\"path\":\"a\"}","status":"completed"}]}`,
			},
			{
				`{"model":"m","instructions":"Be brief.","tools":[{"type":"function","name":"read","parameters":{"type":"object","properties":{}}}],"previous_response_id":"resp_1","input":[{"type":"function_call_output","call_id":"t","output":"milk"}]}`,
				`{"id":"resp_2","object":"response","status":"completed","model":"m","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Milk.","annotations":[]}]}]}`,
			},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := new(vcr.File)
			for _, x := range tc.exchanges {
				kind := http.Header{"Content-Type": {"application/json"}}
				f.Interactions = append(f.Interactions, &vcr.Interaction{
					Request:  vcr.Request{Method: "POST", URL: "http://h" + tc.path, Header: kind, Body: []byte(x.asked)},
					Response: vcr.Response{Code: 200, Header: kind, Body: []byte(x.answered)},
					Meta:     vcr.Meta{Outcome: vcr.Complete},
				})
			}
			c, err := capture.Read("n", f, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := []string{c.Model, c.System}
			for _, turn := range c.Turns {
				got = append(got, "user "+turn.User)
				for _, r := range turn.Replies {
					for _, call := range r.Calls {
						got = append(got, call.Name+" "+call.Arguments)
					}
				}
				got = append(got, "answer "+turn.Answer)
			}
			if diff := cmp.Diff([]string{"m", "Be brief.", "user Read.", `read {"path":"a"}`, "answer Milk."}, got); diff != "" || len(c.Notes) > 0 {
				t.Errorf("notes %q (-want +got):\n%s", c.Notes, diff)
			}
		})
	}
}
