// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// The planted secrets. They are put together here so that no scanner of
// sources takes them for real ones.
var (
	skKey     = "sk-" + "proj-9fK2mXv7LpQ4tRw8YbN3cJ6hD0"
	antKey    = "sk-" + "ant-api03-Zx81kQpLm55TtRr0bVn2"
	googleKey = "AIza" + "SyD3fGh1JkLmN0pQrStUvWxYz12345678"
	githubKey = "ghp" + "_16C7e42F292c6912E7710c838347Ae178B4a"
	awsKey    = "AKIA" + "IOSFODNN7EXAMPL2"
	jwtKey    = "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9"
	odd       = "Kd8-vex.42!mole"         // of no shape: found by its name or as a literal
	word      = "correcthorsebattery"     // a word: found by its name alone
	literal   = "Tr0ub4dor/&3 \"quoted\"" // hard to write in any encoding
)

func rules() *Rules {
	return &Rules{
		Literals: []string{literal},
		Users:    []string{"rstevens"},
		Places: []Place{
			{"work", "/var/folders/x9/T/trial-77"}, {"temp", "/var/folders/x9/T"}, {"home", "/Users/rstevens"},
		},
	}
}

func newRedactor(t testing.TB, rules *Rules) *Redactor {
	t.Helper()
	r, err := New(rules)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func post(body string) *vcr.Interaction {
	return &vcr.Interaction{
		Request: vcr.Request{
			Method: "POST", URL: "http://127.0.0.1:9/v1/chat/completions",
			Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body),
		},
		Response: vcr.Response{Status: "200 OK", Code: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(`{"ok":true}`)},
		Meta:     vcr.Meta{Outcome: vcr.Complete, Attempt: 1},
	}
}

func answer(kind, body string) *vcr.Interaction {
	i := post(`{"model":"m","messages":[]}`)
	i.Response.Header.Set("Content-Type", kind)
	i.Response.Body = []byte(body)
	return i
}

func with(change func(i *vcr.Interaction)) *vcr.Interaction {
	i := post(`{"model":"m"}`)
	change(i)
	return i
}

// deltas streams a text in pieces of n bytes as content, or by the format.
func deltas(format, text string, n int) string {
	var b strings.Builder
	for len(text) > 0 {
		n := min(n, len(text))
		fmt.Fprintf(&b, format, text[:n])
		text = text[n:]
	}
	return b.String() + "data: [DONE]\n\n"
}

const chat = "data: {\"id\":\"chatcmpl-1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n"

func sse(body string) *vcr.Interaction { return answer("text/event-stream", body) }

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func header(name, v string) *vcr.Interaction {
	return with(func(i *vcr.Interaction) { i.Request.Header[name] = []string{v} })
}

func at(u string) *vcr.Interaction { return with(func(i *vcr.Interaction) { i.Request.URL = u }) }

func form(body string) *vcr.Interaction {
	i := post(body)
	i.Request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return i
}

func multipart(name, v string) *vcr.Interaction {
	i := post("--b0\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper\r\n--b0\r\nContent-Disposition: form-data; name=\"" + name +
		"\"\r\n\r\n" + v + "\r\n--b0--\r\n")
	i.Request.Header.Set("Content-Type", "multipart/form-data; boundary=b0")
	return i
}

type planted struct {
	name   string
	secret string // must not be in what is written, nor any of its plain encodings
	i      *vcr.Interaction
}

func table() []planted {
	twice := url.QueryEscape(url.QueryEscape(literal))
	wrapped := b64("a text before, so long that lines are folded: " + skKey + " and one after")
	wrapped = wrapped[:76] + "\r\n" + wrapped[76:]
	even := b64("a text before, so long that lines are folded: " + skKey + strings.Repeat(".", 3-(46+len(skKey))%3))
	return append(disguises(), []planted{
		{"authorization bearer", skKey, header("Authorization", "Bearer "+skKey)},
		{"authorization basic", b64("rick:" + word), header("Authorization", "Basic "+b64("rick:"+word))},
		{"x-api-key in odd case", word, header("x-aPi-KEY", word)},
		{"x-goog-api-key", googleKey, header("X-Goog-Api-Key", googleKey)},
		{"cookie", odd, header("Cookie", "theme=dark; sid="+odd)},
		{"header nobody knows", word, header("X-Internal-Pass", word)},
		{"kept header with a shape", githubKey, header("User-Agent", "curl/8 "+githubKey)},
		{"kept header with a secret name", odd, header("Mcp-Session-Id", odd)},
		{"query key", googleKey, at("https://g.example/v1?key=" + googleKey + "&alt=sse")},
		{"query with a word", word, at("https://g.example/v1?alt=sse&access_token=" + word)},
		{"query escaped twice", literal, at("https://g.example/v1?next=" + twice)},
		{"query in a query", odd, at("https://g.example/v1?next=" + url.QueryEscape("/cb?a=1&api_key="+odd))},
		{"url userinfo", word, at("https://rick:" + word + "@g.example/v1")},
		{"path of a url", githubKey, at("https://g.example/hooks/" + githubKey + "/x")},
		{"json key", word, post(`{"model":"m","api_key":"` + word + `"}`)},
		{"json key, camel case", word, post(`{"model":"m","githubAccessToken":"` + word + `"}`)},
		{"json key, nested", word, post(`{"a":[{"credentials":{"login":"` + word + `","n":1}}]}`)},
		{"json number", "48151623", post(`{"otp":48151623}`)},
		{"json escapes", literal, post(`{"note":"it is Tr0ub4dor\u002f\u00263 \"quoted\" here"}`)},
		{"json in json", word, post(`{"messages":[{"tool_calls":[{"function":{"arguments":"{\"password\":\"` + word + `\"}"}}]}]}`)},
		{"json in json in json", word, post(`{"a":"{\"b\":\"{\\\"client_secret\\\":\\\"` + word + `\\\"}\"}"}`)},
		{"number in json in json", "48151623", post(`{"arguments":"{\"pin_code\": 48151623}"}`)},
		{"tool result", jwtKey, post(`{"messages":[{"role":"tool","content":"logged in, token ` + jwtKey + `"}]}`)},
		{"tool result in python", odd, post(`{"messages":[{"role":"tool","content":"{'password': '` + odd + `', 'n': 1}"}]}`)},
		{"prompt", awsKey, post(`{"messages":[{"role":"user","content":"use ` + awsKey + `."}]}`)},
		{"base64 in json", skKey, post(`{"data":"` + b64("config: key "+skKey) + `"}`)},
		{"base64 of json", word, post(`{"data":"` + b64(`{"password":"`+word+`"}`) + `"}`)},
		{"base64 over lines", skKey, answer("text/plain", "-- \r\n"+wrapped+"\r\n")},
		{"base64 over lines, without padding", skKey, answer("text/plain", "-- \n"+even[:76]+"\n"+even[76:]+"\n")},
		{"literal in base64 of noise", b64("\x00\xff\x01" + literal)[6:20], post(`{"data":"` + b64("\x00\xff\x01"+literal+"\xfe\x00") + `"}`)},
		{"literal in hex", fmt.Sprintf("%x", literal), post(fmt.Sprintf(`{"data":"%x"}`, literal))},
		{"form body", word, form("grant_type=client_credentials&client_id=rehearse&client_secret=" + word)},
		{"form code", word, form("grant_type=authorization_code&code=" + word)},
		{"flag of curl in the line after an empty one", word, answer("text/plain", "\n-u rick:"+word+" https://g.example/v1")},
		{"multipart", word, multipart("api_key", word)},
		{"multipart file", githubKey, multipart("file", "export T="+githubKey+"\n")},
		{"gzip", word, post(zip(`{"password":"` + word + `"}`))},
		{"set-cookie", odd, with(func(i *vcr.Interaction) { i.Response.Header["Set-Cookie"] = []string{"s=" + odd + "; Path=/"} })},
		{"location", word, with(func(i *vcr.Interaction) { i.Response.Header["Location"] = []string{"/cb?token=" + word} })},
		{"trailer", githubKey, with(func(i *vcr.Interaction) { i.Response.Trailer = http.Header{"Trailer": {githubKey}, "X-Token": {word}} })},
		{"token endpoint", word, answer("application/json", `{"access_token":"`+word+`","token_type":"bearer","expires_in":3600}`)},
		{"token endpoint, form", word, answer("application/x-www-form-urlencoded", "access_token="+word+"&scope=repo")},
		{"error text", skKey, answer("application/json", `{"error":{"message":"Incorrect API key provided: `+skKey+`. Find it at https://x.example"}}`)},
		{"error text repeats a header", word, with(func(i *vcr.Interaction) {
			i.Request.Header["X-Api-Key"] = []string{word}
			i.Response.Body = []byte("no such key: " + word)
		})},
		{"transport error", googleKey, with(func(i *vcr.Interaction) {
			i.Meta.Outcome, i.Meta.Error = vcr.UpstreamError, `Post "https://g.example/v1?key=`+googleKey+`": EOF`
		})},
		{"xml", odd, answer("application/xml", "<r><Secret>"+odd+"</Secret></r>")},
		{"private key", "MIIEvQIBADANBgkq", post(`{"text":"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0=\n-----END PRIVATE KEY-----\n"}`)},
		{"split over sse chunks", skKey, sse(deltas(chat, "the key is "+skKey+", keep it", 5))},
		{"split over sse chunks, literal", literal, sse(deltas(chat, "it is "+literal+".", 3))},
		{"split arguments", word, sse(deltas("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":%q}}]}}]}\n\n",
			`{"user":"x","password": "`+word+`"}`, 4))},
		{"split in anthropic's words", antKey, sse(deltas("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":%q}}\n\n",
			"key "+antKey, 6))},
		{"split in lines of json", skKey, answer("application/x-ndjson", strings.ReplaceAll(deltas("{\"message\":{\"content\":%q}}\n", "key "+skKey, 6), "data: [DONE]\n\n", ""))},
		{"split in plain events", skKey, sse(deltas("data: %s\n\n", "key:"+skKey+".", 7))},
		{"user of a request", "jbezos", post(`{"model":"gpt4o","user":"jbezos","messages":[]}`)},
		{"user in an error", "jbezos", with(func(i *vcr.Interaction) {
			i.Request.Body = []byte(`{"user":"jbezos"}`)
			i.Response.Body = []byte(`{"detail":"user jbezos is not allowed"}`)
		})},
		{"login name", "rstevens", post(`{"messages":[{"content":"mail RStevens@anl.gov, see rstevens_1"}]}`)},
		{"home", "/Users/", post(`{"messages":[{"content":"read /Users/rstevens/notes.txt"}]}`)},
		{"temp with private", "/private", post(`{"messages":[{"content":"wrote /private/var/folders/x9/T/trial-77/out.sbml"}]}`)},
		{"home in a url", "rstevens", at("https://g.example/v1?file=" + url.QueryEscape("/Users/rstevens/x"))},
		{"home in python text", "/Users", post(`{"content":"Traceback: File \"/Users/rstevens/a.py\", line 3"}`)},
	}...)
}

// TestPlanted has a secret for each place and each disguise.
func TestPlanted(t *testing.T) {
	for _, c := range table() {
		t.Run(c.name, func(t *testing.T) {
			r := newRedactor(t, rules())
			before := deepCopy(c.i)
			got := r.Interaction(c.i)
			if diff := cmp.Diff(before, c.i, same); diff != "" {
				t.Errorf("the live exchange was changed (-before +after):\n%s", diff)
			}
			data := (&vcr.File{Interactions: []*vcr.Interaction{got}}).Encode()
			for _, form := range forms(c.secret) {
				if bytes.Contains(bytes.ToLower(data), bytes.ToLower([]byte(form))) {
					t.Errorf("%q is in what is written:\n%s", form, data)
				}
			}
			if plain, ok := unzip(got.Request.Body); ok && bytes.Contains(plain, []byte(c.secret)) {
				t.Errorf("%q is in the compressed %q", c.secret, plain)
			}
			if text := said(got.Response.Body); strings.Contains(text, c.secret) {
				t.Errorf("%q is in the joined text:\n%s", c.secret, data)
			}
			if found := r.Scan(data); len(found) > 0 {
				t.Errorf("the scan finds %v in\n%s", found, data)
			}
			if diff := cmp.Diff(got, r.Interaction(got), same); diff != "" {
				t.Errorf("not the same when done twice (-once +twice):\n%s", diff)
			}
			if diff := cmp.Diff(got.Request, r.Request(c.i.Request), same); diff != "" {
				t.Errorf("a request that comes in is not what was recorded (-recorded +incoming):\n%s", diff)
			}
		})
	}
}

// TestScanPlanted looks for the same secrets in files that nobody cleaned.
func TestScanPlanted(t *testing.T) {
	hidden := map[string]bool{ // what a scan cannot know
		"header nobody knows": true, "user of a request": true, "user in an error": true,
		"error text repeats a header": false, "form code": false,
	}
	for _, c := range table() {
		t.Run(c.name, func(t *testing.T) {
			data := (&vcr.File{Interactions: []*vcr.Interaction{c.i}}).Encode()
			found := newRedactor(t, rules()).Scan(data)
			if len(found) == 0 && !hidden[c.name] {
				t.Errorf("nothing found in\n%s", data)
			}
			for _, f := range found {
				if strings.Contains(f.String(), c.secret) {
					t.Errorf("%s tells the secret", f)
				}
			}
		})
	}
}

var same = cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(vcr.Meta{})}

func deepCopy(i *vcr.Interaction) *vcr.Interaction {
	c := *i
	c.Request.Header, c.Response.Header, c.Response.Trailer = i.Request.Header.Clone(), i.Response.Header.Clone(), i.Response.Trailer.Clone()
	c.Request.Body, c.Response.Body = bytes.Clone(i.Request.Body), bytes.Clone(i.Response.Body)
	c.Meta.Chunks = append([]vcr.Chunk(nil), i.Meta.Chunks...)
	return &c
}

// forms are the encodings of a secret that anybody can read.
func forms(secret string) []string {
	quoted := fmt.Sprintf("%q", secret)
	list := []string{secret, url.QueryEscape(secret), url.QueryEscape(url.QueryEscape(secret)), quoted[1 : len(quoted)-1]}
	if len(secret) > 10 {
		for pad := range 3 {
			text := []byte(strings.Repeat("-", pad) + secret)
			list = append(list, base64.StdEncoding.EncodeToString(text[:len(text)/3*3])[4:])
		}
	}
	return list
}

// said joins the strings of a stream.
func said(body []byte) string {
	var b strings.Builder
	p := &pass{r: &Redactor{}}
	for s := range payloads(body) {
		line := body[s.start:s.end]
		w := &walker{Scanner: value.Scanner{Data: line}, p: p}
		w.leaf = func(at *path, start, end int) {
			if at.isPart() {
				b.Write(unescape(line[start:end]).text)
			}
		}
		w.all()
	}
	return b.String()
}

// TestMatch is about requests with other secrets and from other machines.
func TestMatch(t *testing.T) {
	there := newRedactor(t, &Rules{Users: []string{"kbeattie"}, Places: []Place{{"home", "/home/kbeattie"}, {"work", "/tmp/other"}}})
	here := newRedactor(t, rules())
	ask := func(home, work, login string) vcr.Request {
		return vcr.Request{Method: "POST", URL: "http://h/v1", Body: []byte(`{"user":"` + login + `","content":"` + home + `/a and ` + work + `/b of ` + login + `"}`)}
	}
	a := here.Request(ask("/Users/rstevens", "/private/var/folders/x9/T/trial-77", "rstevens"))
	b := there.Request(ask("/home/kbeattie", "/tmp/other", "kbeattie"))
	if diff := cmp.Diff(string(a.Body), string(b.Body)); diff != "" {
		t.Errorf("requests of two machines differ (-here +there):\n%s", diff)
	}
	key := func(k string) vcr.Request {
		return here.Request(vcr.Request{URL: "https://g/v1?key=" + k + "&alt=sse"})
	}
	one, two := key("first-key-1"), key("other-key-2")
	if one.URL == two.URL {
		t.Errorf("two secrets have one placeholder: %s", one.URL)
	}
	if got, want := Neutral(one.URL), Neutral(two.URL); got != want || !strings.Contains(got, "key=REDACTED-query&") {
		t.Errorf("without hashes: %q and %q", got, want)
	}
}

// TestChunks checks that the sizes of parts fit a body that was changed.
func TestChunks(t *testing.T) {
	i := sse("")
	for n := range len(skKey) {
		event := fmt.Sprintf(chat, skKey[n:n+1])
		i.Response.Body = append(i.Response.Body, event...)
		i.Meta.Chunks = append(i.Meta.Chunks, vcr.Chunk{Size: len(event), Gap: time.Millisecond})
	}
	tail := fmt.Sprintf(chat, " done")
	i.Response.Body = append(i.Response.Body, tail...)
	i.Meta.Chunks = append(i.Meta.Chunks, vcr.Chunk{Size: len(tail), Gap: time.Second})
	got := newRedactor(t, nil).Interaction(i)
	if len(got.Meta.Chunks) != len(i.Meta.Chunks) {
		t.Fatalf("%d chunks, want %d", len(got.Meta.Chunks), len(i.Meta.Chunks))
	}
	rest := got.Response.Body
	for n, c := range got.Meta.Chunks {
		part := rest[:c.Size]
		rest = rest[c.Size:]
		if !bytes.HasPrefix(part, []byte("data: ")) || !bytes.HasSuffix(part, []byte("\n\n")) {
			t.Fatalf("chunk %d is %q", n, part)
		}
		if n == len(got.Meta.Chunks)-1 && string(part) != tail {
			t.Errorf("the last chunk is %q, want %q", part, tail)
		}
	}
	if len(rest) > 0 {
		t.Errorf("%q is in no chunk", rest)
	}
	// A secret in one raw body, with a border of chunks in it.
	i = answer("text/plain", "key "+skKey+" end")
	i.Meta.Chunks = []vcr.Chunk{{Size: 10}, {Size: 10}, {Size: len(i.Response.Body) - 20}}
	got = newRedactor(t, nil).Interaction(i)
	mark := len("REDACTED-sk-12345678")
	if diff := cmp.Diff([]vcr.Chunk{{Size: 4 + mark}, {}, {Size: 4}}, got.Meta.Chunks); diff != "" {
		t.Errorf("chunks (-want +got):\n%s", diff)
	}
}

// TestChunksOfGzip: a body that is compressed anew comes in one chunk, after
// all the time that it took.
func TestChunksOfGzip(t *testing.T) {
	i := answer("application/json", zip(`{"password":"`+word+`"}`))
	i.Meta.Chunks = []vcr.Chunk{{Size: 10, Gap: time.Second}, {Size: len(i.Response.Body) - 10, Gap: time.Millisecond}}
	got := newRedactor(t, nil).Interaction(i)
	want := []vcr.Chunk{{Size: len(got.Response.Body), Gap: time.Second + time.Millisecond}}
	if diff := cmp.Diff(want, got.Meta.Chunks); diff != "" {
		t.Errorf("chunks (-want +got):\n%s", diff)
	}
	if i.Meta.Chunks = nil; newRedactor(t, nil).Interaction(i).Meta.Chunks != nil {
		t.Error("a body of which no chunks are known has got some")
	}
}

// TestUnchanged has texts that only look as if they held secrets.
func TestUnchanged(t *testing.T) {
	for _, c := range []struct{ name, body string }{
		{"counts of tokens", `{"usage":{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15},"max_tokens":100}`},
		{"log probabilities", `{"logprobs":{"content":[{"token":"Hello","logprob":-0.1,"top_logprobs":[{"token":"Hi","logprob":-2}]}]}}`},
		{"a schema", `{"parameters":{"type":"object","properties":{"password":{"type":"string","description":"the password"},"api_key":{"type":"string"}},"required":["password"]}}`},
		{"progress", `{"method":"tools/call","params":{"_meta":{"progressToken":7}}}`},
		{"pages", `{"next_page_token":"abc","pageToken":"def"}`},
		{"null and nothing", `{"api_key":null,"token":""}`},
		{"masked", `{"api_key":"***","token":"<redacted>","password":"xxxxxxxx"}`},
		{"prose", `{"content":"The password: please choose one. Bearer authentication is used; basic idea: token = next()"}`},
		{"format", "{ \"b\" : 1.50 ,\n\t\"a\":[ 1e3, true ] }\n"},
		{"ids", `{"id":"chatcmpl-DVhtvLS0zueNmeYCiPLZKwkNbmTFf","tool_call_id":"call_ZfBKBgbVH9hVb84RkRUWury1","trace":"4bf92f3577b34da6a3ce929d0e0e4736"}`},
		{"words", `{"content":"task-management-system risk-assessment-2024-report disk-1234567890123456789"}`},
		{"a place in a longer name", `{"content":"/Users/rstevensen/x and /opt/Users/rstevens2"}`},
		{"image", `{"url":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}`},
		{"base64 of a text", `{"data":"` + b64("an ordinary sentence of words, and 17 numbers") + `"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRedactor(t, rules())
			i := answer("application/json", c.body)
			i.Request.Body = []byte(c.body)
			i.Meta.Chunks = []vcr.Chunk{{Size: len(c.body)}}
			got := r.Interaction(i)
			if diff := cmp.Diff(c.body, string(got.Request.Body)); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.body, string(got.Response.Body)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if found := r.Scan((&vcr.File{Interactions: []*vcr.Interaction{got}}).Encode()); len(found) > 0 {
				t.Errorf("the scan finds %v", found)
			}
			got.Request.Body[0], got.Response.Body[0], got.Meta.Chunks[0].Size = '!', '!', 0
			if string(i.Request.Body) != c.body || string(i.Response.Body) != c.body || i.Meta.Chunks[0].Size != len(c.body) {
				t.Error("what is returned is no copy")
			}
		})
	}
}

// TestScan is about what no rule knows, and about lines.
func TestScan(t *testing.T) {
	strange := "zq_9fK2mXv7LpQ4tRw8YbN3cJ6hD"
	for _, c := range []struct {
		name, text, rule string
		line             int
	}{
		{"unknown shape", "a: b\nnote: use " + strange + " there\n", "unknown", 2},
		{"unknown shape in json", "{\"content\":\"it is Xk29dmQpL0vTz81nBq4RwY7e\"}\n", "unknown", 1},
		{"unknown base64", "x: 'abJ3k+Zq9/LmT0pQ2xWv8RnY5cD1sF7gH4jK6'\n", "unknown", 1},
		{"folded", "a: \"text " + skKey[:12] + "\\\n    \\" + skKey[12:] + "\"\n", "sk", 1},
		{"literal over lines", "a: |\n  " + literal[:7] + "\n  " + literal[7:] + "\n", "literal", 2},
		{"literal broken behind its blank", "a: |\n  " + literal[:13] + "\n  " + literal[13:] + "\n", "literal", 2},
		{"literal broken before its blank, as PyYAML does", "a: \"a word more " + literal[:12] + "\\\n  \\ \\\"quoted\\\" and more\"\n", "literal", 1},
		{"literal broken behind its blank, on Windows", "a: |\r\n\t" + literal[:13] + "\r\n\t" + literal[13:] + "\r\n", "literal", 2},
		{"json line", "  - \"x\"\n  {\"password\":\"" + word + "\"}\n", "value", 2},
		{"yaml quoted", `body: "{\"password\":\"` + word + "\\\"}\\n\"\n", "value", 1},
		{"a password in the next record", "{\"line\":\"your password?\"}\n{\"line\":\"password:\"}\n{\"line\":\"hunter2024\"}\n", "said", 3},
		{"windows line", "a\r\nb " + githubKey + "\r\n", "github", 2},
		{"an empty file", "", "", 0},
		{"nothing", "a: b\nid: 7f3c8a\nname: TestClient_Scoreboard_GPT4oMini\n", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := newRedactor(t, rules()).Scan([]byte(c.text))
			if c.rule == "" {
				if len(found) > 0 {
					t.Errorf("found %v", found)
				}
				return
			}
			if len(found) == 0 || found[0].Rule != c.rule || found[0].Line != c.line {
				t.Errorf("found %v, want rule %s on line %d", found, c.rule, c.line)
			}
		})
	}
	r := newRedactor(t, nil)
	r.Interaction(post(`{"password":"` + odd + `"}`))
	if found := r.Scan([]byte("later: " + odd)); len(found) != 1 || found[0].Rule != "json" {
		t.Errorf("what was taken out before is found as %v", found)
	}
}

func TestNew(t *testing.T) {
	for _, c := range []struct {
		name  string
		rules Rules
		want  string
	}{
		{"short literal", Rules{Literals: []string{"abc"}}, "literal 1 of the secrets has 3 bytes and could match any text; the minimum is 6 bytes"},
		{"name of a place", Rules{Places: []Place{{"My Home", "/home/x"}}}, `place "/home/x": "My Home" is not a name of lower-case letters`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := New(&c.rules)
			if err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}
