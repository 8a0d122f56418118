// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/vcr"
)

func quote(s string) string {
	b, _ := json.Marshal(s) // a string can be marshalled
	return string(b)
}

func nest(n int) string {
	s := `{"password":"` + word + `"}`
	for range n {
		s = `{"a":` + quote(s) + `}`
	}
	return s
}

// twoChoices interleaves two answers, one of which has a secret.
func twoChoices() string {
	var b strings.Builder
	for i := 0; i < len(skKey); i += 3 {
		fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", skKey[i:min(len(skKey), i+3)])
		b.WriteString("data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"abc def\"}}]}\n\n")
	}
	return b.String()
}

// namedAfter puts the index of a choice behind its delta.
func namedAfter(events string) string {
	return regexp.MustCompile(`("index":\d),("delta":\{[^}]*\})`).ReplaceAllString(events, "$2,$1")
}

func zip(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

// disguises are more of the table: encodings in each other, languages, the
// streams of other APIs.
func disguises() []planted {
	return []planted{
		{"nest5", word, post(nest(5))},
		{"thrice", odd + "x", at("https://g/?n=" + url.QueryEscape(url.QueryEscape(url.QueryEscape("a&token="+odd+"x"))))},
		{"b64 in b64", skKey, post(`{"d":"` + b64("xx "+b64("key is "+skKey+" ok")) + `"}`)},
		{"b64 url-encoded", skKey, at("https://g/?n=" + url.QueryEscape(b64("key is "+skKey+" ok?>~~")))},
		{"escaped for a URL from the first letter on", skKey, post("%73" + skKey[1:])},
		{"unicode esc", skKey, post(`{"d":"` + strings.ReplaceAll(skKey, "-", "\\u002d") + `"}`)},
		{"pretty", word, post("{\n  \"auth\": {\n    \"api-key\" :\n \"" + word + "\"\n  }\n}")},
		{"truncated json", word, post(`{"a":1,"password":"` + word + `","b":"cut`)},
		{"truncated in secret", word, post(`{"a":1,"password":"` + word)},
		{"json after text", word, post(`result: {"password": "` + word + `"}`)},
		{"json array rpc", word, post(`[{"jsonrpc":"2.0","params":{"arguments":{"apiKey":"` + word + `"}}}]`)},
		{"env", odd, post("OPENAI_API_KEY=" + odd + "\nX=1")},
		{"yaml text", odd, post("db:\n  password: " + odd + "\n")},
		{"cookie in text", odd, post(`{"content":"Set-Cookie: sid=` + odd + `; Path=/"}`)},
		{"curl", odd, post(`{"content":"curl -H 'X-Api-Key: ` + odd + `' https://x"}`)},
		{"curl -u", word, post(`{"content":"curl https://bob:` + word + `@x.example/y"}`)},
		{"dsn", word, post(`{"content":"postgres://bob:` + word + `@db:5432/x"}`)},
		{"html esc", literal, post(`{"content":"a Tr0ub4dor/&amp;3 &#34;quoted&#34; b"}`)},
		{"sse two choices", skKey, sse(twoChoices())},
		{"sse two choices, named after what they say", skKey, sse(namedAfter(twoChoices()))},
		{"responses api", word, sse(deltas("event: response.function_call_arguments.delta\ndata: {\"type\":\"response.function_call_arguments.delta\",\"item_id\":\"fc_1\",\"output_index\":0,\"delta\":%q}\n\n", `{"api_key":"`+word+`"}`, 3))},
		{"anthropic partial_json", word, sse(deltas("data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":%q}}\n\n", `{"password": "`+word+`", "n": 3}`, 4))},
		{"gemini", skKey, sse(deltas("data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": %q}],\"role\": \"model\"}}]}\n\n", "k "+skKey+" e", 4))},
		{"number split", "48151623", sse(deltas("data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":%q}}\n\n", `{"otp": 48151623, "n": 3}`, 4))},
		{"home split", "rstevens", sse(deltas(chat, "see /Users/rstevens/x", 4))},
		{"sse crlf", skKey, sse(strings.ReplaceAll(deltas(chat, "k "+skKey, 4), "\n", "\r\n"))},
		{"sse cr", skKey, sse(strings.ReplaceAll(deltas(chat, "k "+skKey, 4), "\n", "\r"))},
		{"sse cr, in two fields", word, sse("id: 1\rdata: {\"a\":1}\r\rdata: {\"password\":\"" + word + "\"}\r\r")},
		{"sse behind a byte order mark", word, answer("", "\ufeffdata: {\"password\":\""+word+"\"}\n\n")},
		{"a name with escapes", word, answer("application/json", `{"pass\u0077ord":"`+word+`"}`)},
		{"a name with escapes in a stream", word, sse(`data: {"\u0050assword":"` + word + `"}` + "\n\n")},
		{"a name with escapes beside a value", "abcd-1234-EFGH-5678", answer("application/json", `{"\u006eame":"API\u005fKEY","v\u0061lue":"abcd-1234-EFGH-5678"}`)},
		{"sse that is called json", "48151623", answer("application/json", "data: {\"token\":48151623}\n\n")},
		{"sse behind an empty line", "48151623", answer("text/plain", "\r\ndata: {\"token\":48151623}\n\n")},
		{"yaml that begins like sse", "MIIEvQIBADANBgkq", answer("text/yaml", "id: x\nkey: |\n  -----BEGIN PRIVATE KEY-----\n  MIIEvQIBADANBgkq\n  hkiG9w0=\n  -----END PRIVATE KEY-----\n")},
		{"jsonrpc sse", word, sse("event: message\ndata: {\"jsonrpc\":\"2.0\",\"result\":{\"structuredContent\":{\"token\":\"" + word + "\"}}}\n\n")},
		{"bom", odd, post("\ufeff{\"password\":\"" + odd + "\"}")},
		{"array under secret", word, post(`{"passwords":["` + word + `"]}`)},
		{"plural tokens", githubKey, post(`{"tokens":["` + githubKey + `"]}`)},
		{"header list value", word, header("X-Amz-Security-Token", word)},
		{"home in header", "rstevens", header("User-Agent", "x /Users/rstevens/bin")},
		{"azure sig", odd, at("https://x.blob/?sv=1&sig=" + odd)},
		{"bearer lower in json", "abcd1234efgh5678ijkl", post(`{"headers":{"x":"bearer abcd1234efgh5678ijkl"}}`)},
		{"python repr headers", "abcd1234efgh5678ijkl", post(`{"c":"{'Authorization': 'Bearer abcd1234efgh5678ijkl'}"}`)},
		{"meta label", skKey, with(func(i *vcr.Interaction) { i.Meta.Label = "x " + skKey })},
		{"www-auth", odd, with(func(i *vcr.Interaction) {
			i.Response.Header = http.Header{"Www-Authenticate": {"Bearer token=\"" + odd + "\""}}
		})},
		{"invalid utf8", literal, answer("application/octet-stream", "\xff\xfe"+literal+"\x00")},
		{"key of object", skKey, post(`{"` + skKey + `":1}`)},
		{"xml attr", odd, post(`<c password="` + odd + `"/>`)},
	}
}
