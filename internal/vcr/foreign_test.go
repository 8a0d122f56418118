// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package vcr_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/vcr"
)

func squeeze(t *testing.T, coding, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "zlib":
		w = zlib.NewWriter(&b)
	default:
		w, _ = flate.NewWriter(&b, 5)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// python writes a cassette of vcrpy with one answer.
func python(headers, body string) string {
	return "interactions:\n- request:\n    body: null\n    headers: {}\n    method: GET\n    uri: http://h/x\n  response:\n    body:\n      string: " +
		body + "\n    headers: {" + headers + "}\n    status: {code: 200, message: OK}\nversion: 1\n"
}

// TestCompressed: what a foreign recorder kept compressed is read plain, and
// what cannot be read says so.
func TestCompressed(t *testing.T) {
	const text = "héllo there, \"you\" 😀"
	binary := func(b []byte) string { return "!!binary " + base64.StdEncoding.EncodeToString(b) }
	latin := func(b []byte) string {
		var out strings.Builder
		for _, c := range b {
			fmt.Fprintf(&out, `\x%02X`, c)
		}
		return `"` + out.String() + `"`
	}
	zipped := squeeze(t, "gzip", text)
	for _, test := range []struct{ name, headers, body, want, coding string }{
		{"gzip", "content-encoding: [gzip]", binary(zipped), text, ""},
		{"deflate with a head", "content-encoding: [deflate]", binary(squeeze(t, "zlib", text)), text, ""},
		{"deflate without", "content-encoding: [deflate]", binary(squeeze(t, "flate", text)), text, ""},
		{"twice", "content-encoding: ['deflate, gzip']", binary(squeeze(t, "gzip", string(squeeze(t, "zlib", text)))), text, ""},
		{"undone by the recorder", "content-encoding: [gzip]", `"plain"`, "plain", ""},
		{"undone by the recorder, br", "content-encoding: [br]", `"plain"`, "plain", ""},
		{"characters for bytes", "content-encoding: [gzip]", latin(zipped), text, ""},
		{"characters for bytes, by their length", "content-type: [text/plain], content-length: ['2']", `"\xE9\xFF"`, "\xe9\xff", ""},
		{"characters for bytes, of a picture", "content-type: [image/png]", `"\x89PNG\x00\xFF"`, "\x89PNG\x00\xff", ""},
		{"letters, by their length", "content-type: [text/plain], content-length: ['2']", `"\xE9"`, "é", ""},
		{"letters", "content-type: [application/json]", `"\"h\xE9\""`, `"hé"`, ""},
		{"br", "content-encoding: [br]", binary([]byte{0x0b, 0x02, 0x80, 0xff, 0x03}), "\x0b\x02\x80\xff\x03", "br"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, err := vcr.Parse("p.yaml", []byte(python(test.headers, test.body)))
			if err != nil {
				t.Fatal(err)
			}
			i := f.Interactions[0]
			if string(i.Response.Body) != test.want || i.Meta.Coding != test.coding || i.Response.Header.Get("Content-Encoding") != "" {
				t.Errorf("got %q, coding %q, header %v", i.Response.Body, i.Meta.Coding, i.Response.Header)
			}
			if err := i.Readable(); (err != nil) != (test.coding != "") {
				t.Errorf("readable: %v", err)
			}
		})
	}
}

// TestJSONCassette: a cassette in JSON is read as its texts are.
func TestJSONCassette(t *testing.T) {
	for _, body := range []string{"😀", "a\u2028b\u0085c\ufeffd", "\x7f\u009f", "tab\tline\nquote\"slash\\ / é", "half \ufffd", strings.Repeat("long ", 3000)} {
		for _, ascii := range []bool{false, true} {
			inner, _ := json.Marshal(body)
			if ascii { // as Python writes it
				var out strings.Builder
				for _, r := range string(inner) {
					switch {
					case r < 0x7f:
						out.WriteRune(r)
					case r > 0xffff:
						fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
					default:
						fmt.Fprintf(&out, `\u%04x`, r)
					}
				}
				inner = []byte(out.String())
			}
			data := fmt.Sprintf("{\n\t\"version\": 1,\n\t\"interactions\": [\n\t\t{\"request\": {\"method\": \"POST\", \"uri\": \"http:\\/\\/h/x\", \"body\": %s, \"headers\": {}},\n\t\t \"response\": {\"body\": {\"string\": %s}, \"headers\": {}, \"status\": {\"code\": 200, \"message\": \"OK\"}}}\n\t]\n}\n", inner, inner)
			f, err := vcr.Parse("c.json", []byte(data))
			if err != nil {
				t.Errorf("%q: %v", body, err)
				continue
			}
			i := f.Interactions[0]
			if string(i.Request.Body) != body || string(i.Response.Body) != body || i.Request.URL != "http://h/x" || i.Line != 4 {
				t.Errorf("%q: got %q, %q, %s, line %d", body, i.Request.Body, i.Response.Body, i.Request.URL, i.Line)
			}
		}
	}
	if f, err := vcr.Parse("c.json", []byte(`{"version":1,"interactions":[{"request":{"uri":"u","body":"\ud83d x"},"response":{"status":{"code":200}}}]}`)); err != nil || string(f.Interactions[0].Request.Body) != "\ufffd x" {
		t.Errorf("half a character: %v", err)
	}
}

// TestParsedBodies: a body that stands as what it says is JSON again; what
// cannot be carried over is refused with its place.
func TestParsedBodies(t *testing.T) {
	file := func(request, response string) string {
		return "version: 1\ninteractions:\n- request:\n    uri: http://h/x\n    method: POST\n" + request + "  response:\n    status: {code: 200, message: OK}\n" + response
	}
	for _, test := range []struct{ name, text, want, err string }{
		{
			"json", file("    parsed_body: {b: [1, 2.50, 1e3, -0], a: null, t: true, s: 'no', d: 2026-01-01, e: ''}\n", "    parsed_body: [x]\n"),
			`{"b":[1,2.50,1e3,-0],"a":null,"t":true,"s":"no","d":"2026-01-01","e":""} ["x"]`, "",
		},
		{"none", file("    parsed_body: null\n", "    body: {string: ''}\n"), " ", ""},
		{"base64", file("", "    body: {base64_string: aGk=}\n"), " hi", ""},
		{"text under parsed_body", file("    parsed_body: hi\n", ""), `"hi" `, ""},
		{"both", file("    body: x\n    parsed_body: {a: 1}\n", ""), "", "p.yaml:7:18: the body of a request is duplicated"},
		{"hexadecimal", file("    parsed_body: {a: 0x1F}\n", ""), "", "p.yaml:6:22: 0x1F is not a JSON number"},
		{"not a number", file("", "    parsed_body: {a: .nan}\n"), "", "p.yaml:8:22: .nan is not a JSON number"},
		{"bytes", file("    parsed_body: {a: !!binary aGk=}\n", ""), "", "p.yaml:6:22: bytes are not JSON"},
		{"another key", file("", "    body_file: x.bin\n"), "", "p.yaml:8:16: the body of a response is under body_file"},
		{"another map", file("", "    body: {text: x}\n"), "", "p.yaml:8:11: the body of a response has neither string nor base64_string"},
		{"twice", file("    parsed_body: {a: 1, a: 2}\n", ""), "", `p.yaml:6:25: duplicate key "a"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, err := vcr.Parse("p.yaml", []byte(test.text))
			if test.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), test.err) {
					t.Errorf("got %v, want %s", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := string(f.Interactions[0].Request.Body) + " " + string(f.Interactions[0].Response.Body); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// TestMergeKeys: `<<` takes over what it names, as the libraries of go-vcr and
// vcrpy have it.
func TestMergeKeys(t *testing.T) {
	const head = `version: 1
interactions:
- request: &q
    body: '{"q":1}'
    headers: &h
      Content-Type: [application/json]
      Accept: [a]
    url: http://h/x
    method: POST
  response: &r
    body: '{"a":1}'
    headers: *h
    status: 200 OK
    code: 200
    duration: 1s
- request:
`
	const tail = "  response: {<<: *r}\n"
	second := func(t *testing.T, text string) *vcr.Interaction {
		f, err := vcr.Parse("m.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return f.Interactions[1]
	}
	for _, test := range []struct{ name, request, want string }{
		{"all", "    <<: *q\n", `POST http://h/x {"q":1} [a] []`},
		{"its own goes before", "    url: http://h/y\n    <<: *q\n    body: ''\n", `POST http://h/y  [a] []`},
		{"inside", "    <<: *q\n    headers: {<<: *h, Accept: [b], X-Note: [c]}\n", `POST http://h/x {"q":1} [b] [c]`},
		{"the first of several goes before", "    <<: [{url: http://h/z}, *q]\n", `POST http://h/z {"q":1} [a] []`},
		{"in what is merged", "    <<: {<<: *q, method: PUT}\n", `PUT http://h/x {"q":1} [a] []`},
		{"in a body", "    <<: {url: http://h/x, headers: *h, method: POST}\n    parsed_body: {<<: {a: 1, b: 2}, b: 3}\n", `POST http://h/x {"a":1,"b":3} [a] []`},
		{"a word", "    {url: http://h/x, headers: *h, method: POST, parsed_body: {'<<': 1}}\n", `POST http://h/x {"<<":1} [a] []`},
	} {
		t.Run(test.name, func(t *testing.T) {
			i := second(t, head+test.request+tail)
			q := i.Request
			if got := fmt.Sprint(q.Method, " ", q.URL, " ", string(q.Body), " ", q.Header["Accept"], " ", q.Header["X-Note"]); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if string(i.Response.Body) != `{"a":1}` || i.Response.Header.Get("Accept") != "a" || i.Response.Duration != time.Second {
				t.Errorf("the answer is %+v", i.Response)
			}
		})
	}
	for _, test := range []struct{ name, request, err string }{
		{"twice", "    <<: *q\n    <<: *h\n", `m.yaml:18:5: duplicate key "<<"; the first is at line 17`},
		{"no map", "    <<: 1\n", "m.yaml:17:9: what `<<` merges is not a map"},
		{"itself", "    <<: &a {<<: *a}\n", "m.yaml:17:17: the file has more than 1000 aliases"},
		{"a key that nobody writes", "    {url: http://h/x, method: POST, headers: {}, bodi: x}\n", `m.yaml:17:50: a request has no body, but has "bodi", which is unknown`},
		{"no headers", "    {url: http://h/x, method: POST, header: {}, body: x}\n", `m.yaml:17:37: a request has no headers, but has "header", which is unknown`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := vcr.Parse("m.yaml", []byte(head+test.request+tail)); err == nil || !strings.HasPrefix(err.Error(), test.err) {
				t.Errorf("got %v, want %s", err, test.err)
			}
		})
	}
	later := "    {url: http://h/x, method: POST, headers: {}, body: '', of_a_later_version: 1}\n"
	if i := second(t, head+later+tail); i.Request.URL != "http://h/x" {
		t.Errorf("beside a key of a later version: %+v", i.Request)
	}
}

// TestHARWithoutContent: what a HAR file leaves out is not empty.
func TestHARWithoutContent(t *testing.T) {
	entry := func(request, response string) string {
		return `{"request":{"method":"POST","url":"http://h/x","headers":[]` + request + `},"response":{"headers":[],` + response + `}}`
	}
	good := entry("", `"status":200,"content":{"size":2,"text":"hi"}`)
	file := func(second string) string {
		return "{\n \"log\": {\"version\":\"1.2\",\"pages\":[{\"entries\":1}],\n \"entries\": [\n  " + good + ",\n  " + second + "\n ]}\n}"
	}
	for _, test := range []struct{ name, entry, err string }{
		{"whole", good, ""},
		{"nothing to say", entry("", `"status":204,"content":{"size":0}`), ""},
		{"a size that nobody knows", entry("", `"status":200,"bodySize":-1,"content":{"size":-1,"text":null}`), "f.har:5: entry 2: the content of the answer to POST http://h/x is not in the file, nor its size"},
		{"an empty text", entry("", `"status":200,"bodySize":-1,"content":{"size":-1,"text":""}`), ""},
		{"an empty answer", entry("", `"status":200,"bodySize":0,"content":{"size":0}`), ""},
		{"an empty answer, by its header", `{"request":{"method":"POST","url":"http://h/x"},"response":{"headers":[{"name":"content-length","value":"0"}],"status":200,"content":{"size":-1}}}`, ""},
		{"a redirection", entry("", `"status":302,"bodySize":-1,"content":{"size":-1}`), ""},
		{"no text, by the header", `{"request":{"method":"POST","url":"http://h/x"},"response":{"headers":[{"name":"content-length","value":"512"}],"status":200,"content":{"size":0,"text":""}}}`, "f.har:5: entry 2: the answer to POST http://h/x has 512 bytes"},
		{"nothing, compressed", `{"request":{"method":"POST","url":"http://h/x"},"response":{"headers":[{"name":"content-encoding","value":"gzip"}],"status":200,"bodySize":20,"content":{"size":0,"text":""}}}`, ""},
		{"half a text", entry("", `"status":200,"content":{"size":2000000,"text":"{\"a\":1}"}`), "f.har:5: entry 2: the answer to POST http://h/x has 2000000 bytes, of which 7 are in the file"},
		{"a little that was compressed", entry("", `"status":200,"content":{"size":27,"text":"{\"a\":1}"}`), ""},
		{"UTF-16", entry("", `"status":200,"content":{"size":4000,"mimeType":"text/html; charset=UTF-16","text":"`+strings.Repeat("x", 2000)+`"}`), ""},
		{"not modified", entry("", `"status":304,"content":{"size":120}`), ""},
		{"no text", entry("", `"status":200,"content":{"size":120,"mimeType":"text/plain"}`), "f.har:5: entry 2: the answer to POST http://h/x has 120 bytes, which are not in the file"},
		{"no text, by the body's size", entry("", `"status":200,"bodySize":7,"content":{"size":0}`), "f.har:5: entry 2: the answer"},
		{"no answer", entry("", `"status":0,"statusText":"","content":{"size":0}`), "f.har:5: entry 2: POST http://h/x got no answer (status 0)"},
		{"no request", entry(`,"bodySize":12`, `"status":200,"content":{"size":0}`), "f.har:5: entry 2: the request POST http://h/x has 12 bytes"},
		{"no request, by the header", `{"request":{"method":"POST","url":"http://h/x","bodySize":-1,"headers":[{"name":"content-length","value":"300"}]},"response":{"status":200,"content":{"size":0}}}`, "f.har:5: entry 2: the request POST http://h/x has 300 bytes"},
		{"an empty request", entry(`,"bodySize":12,"postData":{"mimeType":"text/plain","text":""}`, `"status":200,"content":{"size":0}`), "f.har:5: entry 2: the request POST http://h/x has 12 bytes"},
		{"a form", entry(`,"bodySize":3,"postData":{"mimeType":"application/x-www-form-urlencoded","params":[{"name":"k","value":"v"}]}`, `"status":200,"content":{"size":0}`), ""},
		{"a form in parts", entry(`,"bodySize":300,"postData":{"mimeType":"multipart/form-data; boundary=x","params":[{"name":"k","value":"v"}]}`, `"status":200,"content":{"size":0}`), "f.har:5: entry 2: the request POST http://h/x: its form is in the file as parameters, and not as the text that was sent"},
		{"a file in a form", entry(`,"bodySize":300,"postData":{"params":[{"name":"file","fileName":"a.txt"}]}`, `"status":200,"content":{"size":0}`), "f.har:5: entry 2: the request POST http://h/x: its form"},
		{"an odd status", entry("", `"status":12345,"content":{"size":0}`), "f.har:5: entry 2: 12345 is not a status code"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, err := vcr.Parse("f.har", []byte(file(test.entry)))
			if test.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), test.err) {
					t.Errorf("got %v, want %s", err, test.err)
				}
				return
			}
			if err != nil || len(f.Interactions) != 2 || f.Interactions[1].Line != 5 {
				t.Errorf("got %+v, %v", f, err)
			}
		})
	}
}

// TestHARAsItIs: contents become plain, entries come in the order of their
// times, and a file may have a comment.
func TestHARAsItIs(t *testing.T) {
	entry := func(at, headers, content string) string {
		return `{"startedDateTime":"` + at + `","request":{"method":"GET","url":"http://h/x","headers":[]},"response":{"headers":[` + headers + `],"status":200,"content":{` + content + `}}}`
	}
	coded := func(coding, kind string, body []byte) string {
		return entry("2026-01-01T00:00:00Z", `{"name":"content-encoding","value":"`+coding+`"},{"name":"content-type","value":"`+kind+`"}`,
			`"size":7,"encoding":"base64","text":"`+base64.StdEncoding.EncodeToString(body)+`"`)
	}
	br := []byte{0x0b, 0x02, 0x80, 0xff, 0x03}
	picture := []byte("\x89PNG\x00\xff")
	for _, test := range []struct {
		name, coding string
		entries      []string
		want         string
	}{
		{"gzip", "", []string{coded("gzip", "application/json", squeeze(t, "gzip", `{"a":1}`))}, `{"a":1}`},
		{"deflate", "", []string{coded("deflate", "application/json", squeeze(t, "zlib", `{"a":1}`))}, `{"a":1}`},
		{"plain", "", []string{coded("gzip", "application/json", []byte(`{"a":1}`))}, `{"a":1}`},
		{"a plain picture", "", []string{coded("br", "image/png", picture)}, string(picture)},
		{"br", "br", []string{coded("br", "application/json", br)}, string(br)},
		{"the later first", "", []string{
			entry("2026-01-01T00:00:05.5Z", "", `"size":1,"text":"3"`), entry("2026-01-01T01:00:01+01:00", "", `"size":1,"text":"1"`), entry("2026-01-01T00:00:05.25Z", "", `"size":1,"text":"2"`),
		}, "123"},
		{"at one time", "", []string{entry("2026-01-01T00:00:05Z", "", `"size":1,"text":"2"`), entry("2026-01-01T00:00:05Z", "", `"size":1,"text":"1"`)}, "21"},
		{"one without a time", "", []string{entry("2026-01-01T00:00:05Z", "", `"size":1,"text":"2"`), entry("", "", `"size":1,"text":"1"`)}, "21"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, err := vcr.Parse("f.har", []byte(`{"comment":{"log":1},"log":{"version":"1.2","entries":[`+strings.Join(test.entries, ",")+`]}}`))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, i := range f.Interactions {
				got += string(i.Response.Body)
				if i.Meta.Coding != test.coding || i.Response.Header.Get("Content-Encoding") != "" {
					t.Errorf("coding %q, header %v", i.Meta.Coding, i.Response.Header)
				}
			}
			if f.Format != vcr.HAR || got != test.want {
				t.Errorf("%s: got %q, want %q", f.Format, got, test.want)
			}
		})
	}
}

// TestArgoRequests: each target of a capture has a request of its own dialect.
func TestArgoRequests(t *testing.T) {
	const base = "https://apps.example.gov/argoapi"
	addresses := map[string]string{
		"argo": base + "/api/v1/resource/chat/", "argo-openai": base + "/v1/chat/completions", "argo-openai-stream": base + "/v1/chat/completions",
		"argo-anthropic": base + "/v1/messages", "argo-anthropic-stream": base + "/v1/messages",
	}
	chat := `{"model":"x","messages":[{"role":"system","content":"be short"},{"role":"user","content":"w?"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1.50}"}}]},{"role":"tool","tool_call_id":"c1","content":"18"}],"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}}],"tool_choice":"auto","max_tokens":9,"stream":false}`
	messages := `{"model":"x","max_tokens":9,"system":"be short","messages":[{"role":"user","content":"w?"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{"a":1.50}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"18"}]}],"tools":[{"name":"f","description":"d","input_schema":{"type":"object"}}],"tool_choice":{"type":"auto"}}`
	for _, family := range []string{"openai", "anthropic"} {
		dir := t.TempDir()
		put := func(name, text string) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		put("case.json", `{"ingress_family":"`+family+`","argo_user":"fixture-user","models":{"argo":"m-argo","argo-openai":"m-openai","argo-anthropic":"m-anthropic"}}`)
		put("ingress.json", map[string]string{"openai": chat, "anthropic": messages}[family])
		for target, address := range addresses {
			put(target+".meta.json", `{"url":"`+address+`","status_code":200}`)
			put(target+".response.json", "{}")
		}
		f, err := vcr.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Interactions {
			target := filepath.Base(i.Meta.Label)
			var body struct {
				Model, User string
				Stream      bool
				Messages    []json.RawMessage
				System      json.RawMessage
			}
			if err := json.Unmarshal(i.Request.Body, &body); err != nil {
				t.Fatal(err)
			}
			text := string(i.Request.Body)
			plain := strings.TrimSuffix(target, "-stream")
			anthropic := strings.Contains(target, "anthropic")
			if body.Model != map[string]string{"argo": "m-argo", "argo-openai": "m-openai", "argo-anthropic": "m-anthropic"}[plain] || body.Stream != (plain != target) || i.Meta.Base != "/argoapi" ||
				anthropic != strings.Contains(text, `"tool_use"`) || anthropic == strings.Contains(text, `"tool_calls"`) || anthropic != strings.Contains(text, "input_schema") ||
				(target == "argo") != (body.User != "") || !strings.Contains(text, "1.50") || len(body.Messages) != map[bool]int{true: 3, false: 4}[anthropic] {
				t.Errorf("%s, of %s: base %q, %s", target, family, i.Meta.Base, text)
			}
		}
		put("ingress.json", `{"model":"x","messages":[{"role":"user","content":[{"type":"image","source":{}}]}]}`)
		if _, err := vcr.Read(dir); err == nil || !strings.Contains(err.Error(), `a block of type "image" has no counterpart`) {
			t.Errorf("%s with a picture: %v", family, err)
		}
		if err := os.Remove(filepath.Join(dir, "ingress.json")); err != nil {
			t.Fatal(err)
		}
		if _, err := vcr.Read(dir); err == nil || !strings.Contains(err.Error(), "the request is unknown") {
			t.Errorf("%s without a request: %v", family, err)
		}
	}
}
