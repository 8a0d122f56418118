// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/vcr"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestKept holds what exactly is written in place of each planted secret, and
// what the scan says of it: what stands around a secret is to stay. The golden
// files have no secrets in them.
func TestKept(t *testing.T) {
	var out strings.Builder
	for _, c := range table() {
		r := newRedactor(t, rules())
		got := r.Interaction(c.i)
		fmt.Fprintf(&out, "== %s\n", c.name)
		for _, part := range []string{got.Request.URL, headers(got.Request.Header), body(got.Request.Body), got.Response.Status, headers(got.Response.Header), body(got.Response.Body), headers(got.Response.Trailer), got.Meta.Error, got.Meta.Label} {
			if part != "" && part != "200 OK" && part != "http://127.0.0.1:9/v1/chat/completions" && part != "Content-Type: application/json\n" && part != `{"ok":true}` {
				fmt.Fprintf(&out, "%s\n", strings.TrimRight(part, "\n"))
			}
		}
		list := []*vcr.Interaction{c.i}
		_, left := newRedactor(t, rules()).Review(list)
		for _, f := range left {
			fmt.Fprintf(&out, "-- %s, guess %t, at %q\n", f, f.Guess, f.Place)
		}
	}
	golden(t, "planted.golden", out.String())
}

// TestTexts is the same for texts in which something looks like a secret, or
// like what stands before one.
func TestTexts(t *testing.T) {
	var out strings.Builder
	r := newRedactor(t, &Rules{Users: []string{"annlogin"}, Places: []Place{{"home", "/home/annlogin"}}})
	for n, text := range texts() {
		i := r.Interaction(post(text))
		got := string(i.Request.Body)
		if got == text {
			got = "(stays)"
		}
		fmt.Fprintf(&out, "== %d\n%s\n", n, strings.TrimRight(got, "\n"))
		if again := string(r.Interaction(post(string(i.Request.Body))).Request.Body); again != string(i.Request.Body) {
			t.Errorf("text %d: %s\nbecomes another the second time\n%s", n, i.Request.Body, again)
		}
		for _, f := range newRedactor(t, &Rules{Users: []string{}, Places: []Place{}}).Scan([]byte(text)) {
			fmt.Fprintf(&out, "-- %s, guess %t\n", f, f.Guess)
		}
	}
	golden(t, "texts.golden", out.String())
}

func headers(h http.Header) string {
	var out strings.Builder
	for name, values := range h {
		fmt.Fprintf(&out, "%s: %s\n", name, strings.Join(values, ", "))
	}
	lines := strings.Split(out.String(), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func body(b []byte) string {
	if plain, ok := unzip(b); ok {
		return "gzip of " + string(plain)
	}
	return strings.ToValidUTF8(string(b), "?")
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", path, d)
	}
}

// texts are put together here, so that no scanner of sources takes them for
// real secrets. Their places in the list are the numbers in the golden file:
// new ones come at the end.
func texts() []string {
	rnd := rand.New(rand.NewPCG(11, 12))
	hash, key := chars(rnd, 32, hexChars), bytes64(rnd, 64)
	some := func(n int) string { return chars(rnd, n, alnumChars) }
	strange := "zq9fK2mXv7LpQ4tRw8YbN3cJ6hD"
	const pw = "hunter2024"
	list := []string{
		// Names before values.
		"password=" + pw, "password = " + pw + ";", "password  = " + pw, "'password': '" + pw + "', n", `"password":"` + pw + `"`, `\"password\":\"` + pw + `\"`, `\\\"password\\\": \\\"` + pw + `\\\" x`,
		"password: plain", `"password": "plain"`, `"password": 'plain'`, `"password" = "plain"`, `"password": "string"`, `"password": "two words"`, "?password=plain", "&key=plain&x=1", "x&token=plain", "key=" + pw, "?key=" + pw + " y",
		"<password>" + pw + "</password>", "<ns:password>" + pw + "</ns:password>", "a>password>" + pw, "token: Bearer " + pw, `token: "Bearer ` + pw + ` x"`, "token=Basic " + pw, "pw=" + pw, "xx=" + pw, "apiKey=" + pw + ", secret=" + pw + "2",
		"password=" + pw + "\nnext=" + pw, "password='" + pw + "\nnext'", "password=\"" + pw + "\\\" more\" end", "password=" + strings.Repeat("a1", 3000), "auth=" + b64("ann:swordfish"), "_auth = " + b64("ann:swordfish") + " x", "auth=" + b64("an n:swordfish"), "authx=" + b64("ann:swordfish"),
		"password=$" + pw, "password=(" + pw + ")", "password=" + pw + "|cat", "password=" + pw + "`", "password=***", "password=true", "password=", "password=\"\"", "a_password=" + pw + " b-password=" + pw + " c.password=" + pw,
		`"token":"` + pw + `","logprob":-1`, `"logprob":-1,"token":"` + pw + `"`, `{"logprob":-1},{"token":"` + pw + `"}`, `{"token":"` + pw + `"},{"logprob":-1}`, `"token":"` + pw + `"` + strings.Repeat(" ", 500) + `"logprob":-1`, `"log_prob":1,"token":"` + pw + `"`,
		// Schemes.
		"Bearer " + some(15), "Bearer " + some(15) + "1", "bearer  " + some(20) + "1.", "Bearer " + strings.Repeat("abcdefgh", 5), "Bearer " + strings.Repeat("abcdefgh", 5)[:39], "Basic " + b64("a:b"), "basic " + b64("rick") + " x", "BASIC   " + b64("rick:"+pw) + ".", "Basics " + b64("rick:"+pw), "Basic:" + b64("rick:"+pw),
		// URLs.
		"https://a:b@h.example/x", "https://" + pw + "@h.example", "https://word@h.example", "https://h.example/a:b@c", "https://a:b@", "ftp://@h", "see https://a:b@h and http://c:d@i", "https://h.example/" + githubKey + "?x=" + githubKey + "#" + githubKey, "//a:b@h",
		"https://h.example/x%20" + githubKey[:10] + "%5F" + githubKey[10:], "%4", "100%", "100% of", "%zz " + githubKey, "a%2Fb", "%41%4", strings.ReplaceAll(githubKey, "_", "%5f") + " and %22" + googleKey + "%22",
		"https://hooks.slack.com/services/" + some(19) + "1", "https://hooks.slack.com/services/short1", "https://x.webhook.office.com/webhookb2/" + some(30) + "1?x", "https://discord.com/api/webhooks/123456/" + some(40), "https://hooks.zapier.com/hooks/catch/1234567/" + some(10), "https://api.telegram.org/bot" + "123456789:" + "AA" + some(33) + "/getMe", "https://hooks.slack.com/services/" + strings.Repeat("abcde/", 5),
		// Private keys.
		"-----BEGIN RSA PRIVATE KEY-----\n" + some(40) + "\n-----END RSA PRIVATE KEY-----\nafter", "-----BEGIN PRIVATE KEY-----\n" + some(40), "-----BEGIN CERTIFICATE-----\n" + some(40) + "\n-----END CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----\nx\n-----END PUBLIC KEY-----\n-----BEGIN PRIVATE KEY-----\ny\n-----END PRIVATE KEY----- z",
		some(64) + "\n" + some(64) + "\n-----END PRIVATE KEY-----\nafter", "word\n" + some(20) + "\n-----END PRIVATE KEY-----", "REDACTED-pem-12345678\n" + some(64) + "\n" + some(20) + "\n\nafter", "text -----END PRIVATE KEY-----",
		// Logins of commands and files.
		"curl -u ann:" + pw + " https://h", "curl -uann:" + pw, "curl --user 'ann:" + pw + "' x", "curl -u ann", "curl -u ann:", "curl -u :" + pw, "curl -u ann:$PW", "curl -u ann:***", "curl -u http://x", "x-u ann:" + pw + " https://h", "docker -u ann:" + pw, "(curl) -u ann:" + pw, "wget -u ann:" + pw + " https://h\n-u bob:" + pw,
		"ls\ncurl \\\n -s \\\n -u ann:" + pw, "ls\ncurl -s\n -u ann:" + pw, "curl " + strings.Repeat("x", 700) + " -u ann:" + pw, "-u ann:" + pw + " curl", "-u ann:" + pw + " " + strings.Repeat("x", 700) + " curl",
		"machine h login a password " + pw, "machine h\nlogin a\naccount b\nport 1\npassword " + pw + "\nmachine i passwd " + pw, "default login a password " + pw + "\" x", "machine h and password " + pw, "machine password " + pw, "machine h login a password ***", "machine h password", "default password \"" + pw + "\"",
		// Sentences.
		"my password is " + pw + ".", "My Password is: " + pw, "my password was \"a b\" then", "the password was 'a b'", "the password is plainword", "my password is plainword", "my password is required", "my password is abc", "my password is abcd", "the pin is 123", "the pin is 1234", "my pin code is 12ab", "the password is 12345", "her password is a!b@c",
		"the password is a!b@c", "the API key is " + some(8) + "1", "the api key is ab1", "the secret is " + some(14) + "1", "the secret is " + some(15) + "1", "my key is " + strings.Repeat("ab1", 6), "Password: plainword", "Password:plainword", "password:\n" + pw, "Passwort for the db is " + pw, "password about the db is " + pw, "mypassword is " + pw, "passwords is " + pw,
		"my password is “a b”", "my password is «" + pw + "» x", "my password is „" + pw + "“", "my password is `" + pw + "`!", "my password is \"" + pw, "my password is <x>", "my password is $X1234", "my password is https://h.example/x1", "my password is " + strings.Repeat("a1", 65), "my password is", "my password is   ", "a. password is " + pw, "the token. it is " + pw,
		"your password of admin is " + pw, "PIN: 4711", "the credentials are lost; credentials is " + pw, "*Password*: " + pw, "my password is {x1}", "my password is [x1y2]",
		// Encodings.
		b64("password=" + pw), b64("just a text of words, 12"), b64("key " + skKey)[:20], b64("xx"+skKey) + "." + b64("yy"+githubKey), "/path/to/a/file/" + b64("the key is "+skKey), base64Lines("a long text, over lines: "+skKey+" and it goes on and on after that", 60, "\n"), base64Lines("a long text, over lines: "+skKey+" and it goes on and on after that", 64, "\r\n  "), base64Lines("a long text, over lines: "+skKey+" and it goes on", 40, "\n"),
		strings.ReplaceAll(strings.ReplaceAll(b64("??>>~~ "+skKey+" ??>>~~"), "+", "-"), "/", "_"), strings.TrimRight(b64("key: "+skKey+" "), "="), fmt.Sprintf("%x", "password="+pw+"!"), fmt.Sprintf("0x%x", "password="+pw+"!"), fmt.Sprintf("%x0", "password="+pw+"!"), fmt.Sprintf("%x", "password=a1")[:22], fmt.Sprintf("%x", "only words in this text"),
		`text with \"password\": \"` + pw + `\" in it`, `a \u0070assword=` + pw, `{"a":"` + strings.ReplaceAll(`{"b":"`+strings.ReplaceAll(`{"password":"`+pw+`"}`, `"`, `\"`)+`"}`, `"`, `\"`) + `"}`,
		// Folded lines.
		"the key is " + skKey[:15] + "\n" + skKey[15:] + " so", "| " + skKey[:15] + " |\n| " + skKey[15:] + " |", "> " + githubKey[:20] + "\n> " + githubKey[20:] + "\n> after", "x " + skKey[:15] + "\\\n" + skKey[15:], "│ /home/ann │\n│ login/x │", "/home/ann\nlogin", "a " + githubKey + "\nword", "a " + githubKey + "\nABC12", "key\n" + strings.Repeat("x", 30),
		// Keys of a fixed form.
		hash + "-us1", hash + "-us12", hash + "-us123", hash + "-usx", hash + "-" + hash[:8] + "-" + hash[8:16], hash + "-" + hash[:8] + "-" + hash[8:15], hash[1:] + "-us1", "1/" + "1234567890123" + ":" + hash, "1/" + "123456789012" + ":" + hash, "12/1234567890123:" + hash, "2/1234567890123/1234567890123:" + hash, "1/2/3/4/1234567890123:" + hash, "//1/1234567890123:" + hash,
		"12345678:aB" + some(33), "1234567:aB" + some(33), "1234567890123:aB" + some(33), "123456789:aB" + some(32), "123456789:aB" + some(34), "bot123456789:aB" + some(33), "x123456789:aB" + some(33), "xbot123456789:aB" + some(33),
		"M" + some(22) + "." + some(6) + "." + some(27), "M" + some(21) + "." + some(6) + "." + some(27), "M" + some(27) + "." + some(6) + "." + some(38), "M" + some(28) + "." + some(6) + "." + some(27), "M" + some(22) + "." + some(5) + "." + some(27), "M" + some(22) + "." + some(6) + "." + some(26), "M" + some(22) + "." + some(6) + "." + some(41), "N" + some(22) + "." + some(6), "P" + some(22) + "." + some(6) + "." + some(27), "xM" + some(22) + "." + some(6) + "." + some(27),
		key, "x/" + key, "x+" + key, "AccountKey=" + key + ";", key + "=", key + "x", key[:87] + "A", "signature: " + key, `{"sig":"` + key + `"}`, `{"v":"` + key + `"}`, "base64," + key, "https://h.example/a/" + key, some(50) + "/" + key, "abc/" + key,
		// What only looks random.
		"it is " + strange, "id: " + strange, "request_id=" + strange, "call_" + strange, "x-" + strange, strange[:19], strange + "+/" + some(10), "base64," + strange, "\\n" + strange, strange + strange + strange + strange + strange, "sha256:" + strange, `{"etag":"` + strange + `"}`, "chatcmpl-" + strange + " and tok_" + strange, "_" + strange,
		// JSON.
		`{"password":"` + pw + `","n":1}`, `{"password":["` + pw + `",{"a":"` + pw + `"}],"b":"x"}`, `{"password":{"a":12345,"b":null,"c":true,"d":"***"}}`, `{"user":"jdoe42","metadata":{"user_id":"jdoe43"},"a":{"user":"jdoe44"}}`, `{"response":{"user":"jdoe45","metadata":{"user_id":"jdoe46"}}}`, `{"safety_identifier":"jdoe47","messages":[{"user":"jdoe48"}]}`, `["curl","-u","ann:` + pw + `","x"]`, `["curl","-s","ann:` + pw + `"]`, `["/usr/bin/curl","--user","ann:$PW"]`, `["wget","-u","ann:` + pw + `"]`, `["curl","-u",":` + pw + `"]`,
		`{"properties":{"password":{"default":"` + pw + `"}}}`, `{"properties":{"password":"` + pw + `"}}`, `{"$defs":{"token":{"a":"` + pw + `"}},"token":{"a":"` + pw + `"}}`, `{"logprobs":{"token":"` + pw + `"}}`, `{"top_logprobs":[{"token":"` + pw + `"}],"token":"` + pw + `"}`, `{"token":"` + pw + `","logprob":-1}`, `{"auth":"` + b64("ann:"+pw) + `"}`, `{"auth":"` + b64("annlo") + `"}`, `{"auth":{"x":"` + b64("ann:"+pw) + `"}}`, `{"auth":12345}`,
		`{"password":"` + pw + `"`, `{"password":"` + pw, `{"a":1,}{"password":"` + pw + `"}`, `{"a":1} {"password":"` + pw + `"} trailing password=` + pw, `[]` + `{"token":48151623}`, `{}`, `[ ]`, `{"a" 1,"password":"` + pw + `"}`, `{"a":1 "password":"` + pw + `"}`, `{"a":"b\\","password":"` + pw + `"}`, `{"a":"b\\\"","password":"` + pw + `"}`, `{"` + githubKey + `":{"` + githubKey + `":1}}`, `{"password":-1.5e3}`, `{"password":x}`, strings.Repeat("[", 600) + `{"password":"` + pw + `"}`,
		// Streams.
		"data: {\"delta\":\"" + githubKey[:9] + "\"}\n\ndata: {\"delta\":\"" + githubKey[9:] + "\"}\n\n", "data: {\"id\":1,\"delta\":\"" + githubKey[:9] + "\"}\n\ndata: {\"other\":\"" + githubKey[9:] + "\"}\n\n", "data: " + githubKey[:9] + "\n\ndata: " + githubKey[9:] + "\n\n", "data:" + githubKey[:9] + "\ndata:" + githubKey[9:] + "\n", githubKey[:9] + "\n" + "{}\n" + githubKey[9:],
		"data: {\"index\":0,\"text\":\"" + githubKey[:9] + "\"}\n\ndata: {\"index\":1,\"text\":\"x\"}\n\ndata: {\"index\":0,\"text\":\"" + githubKey[9:] + "\"}\n\n", "data: {\"text\":\"p\\u0061ssword=\"}\n\ndata: {\"text\":\"" + pw + "\\n\"}\n\n",
	}
	list = append(list,
		"password is "+pw, "key "+githubKey+", my password is", "key "+githubKey+", my password is \""+pw, `"password": " x"`, githubKey+" Bearer REDACTED-sk-12345678", githubKey+" token: x", githubKey+" Basic "+b64("rick")+" x", githubKey+" https://h.example", githubKey+" -----BEGIN PUBLIC KEY-----",
		githubKey+" 0x"+strings.Repeat("00", 20), githubKey+" "+b64("\x00\x01\x02 noise and more of it"), githubKey+" login -u ann", githubKey+" default password", githubKey+"\n\nlines\nof text", githubKey+" 100%", githubKey+" -----END ", githubKey+" a:b", githubKey+" hooks.slack.com/x://", githubKey+" auth=none",
	)
	for _, name := range slices.Sorted(maps.Keys(fixedKeys(rnd))) {
		list = append(list, "Use this: "+fixedKeys(rnd)[name]+" please", `{"v":"`+fixedKeys(rnd)[name]+`"}`)
	}
	return list
}

// base64Lines folds the base64 of a text after n characters.
func base64Lines(text string, n int, end string) string {
	s := b64(text)
	var out strings.Builder
	for len(s) > n {
		out.WriteString(s[:n] + end)
		s = s[n:]
	}
	return out.String() + s
}
