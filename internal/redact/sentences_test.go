// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// TestContexts: what stands before a value says that it is secret.
func TestContexts(t *testing.T) {
	sid := "AC" + strings.Repeat("0123456789abcdef", 2)
	for _, test := range []struct{ name, secret, text string }{
		{"curl -u", "swordfish", "curl -s -u admin:swordfish https://h.example/x"},
		{"curl -u, quoted", "sword&fish", `curl -u "admin:sword" && curl -u 'admin:sword&fish' https://h.example`},
		{"curl to its output", "swordfish", "curl -u admin:swordfish https://h.example/x -o -"},
		{"curl --user=", "swordfish", "curl \\\n  --user=admin:swordfish \\\n  https://h.example"},
		{"curl as a list", "swordfish", `["curl", "-u", "admin:swordfish", "https://h.example"]`},
		{"curl behind a proxy", "swordfish", "curl --proxy-user admin:swordfish https://h.example"},
		{"netrc", "swordfish", "machine h.example login ann password swordfish"},
		{"netrc over lines", "sWord-99-fish", "machine h.example\n  login ann\n  password " + "sWord-99-fish" + "\nmachine other"},
		{"netrc, in another order", "swordfish", "default password swordfish login ann"},
		{"docker", b64("ann:swordfish"), `{"auths":{"h.example":{"auth":"` + b64("ann:swordfish") + `"}}}`},
		{"docker in a text", b64("ann:swordfish"), `the file has "auth": "` + b64("ann:swordfish") + `" in it`},
		{"npm", b64("ann:swordfish"), "//h.example/:_auth=" + b64("ann:swordfish")},
		{"hex of a key", hex.EncodeToString([]byte(skKey)), "key in hex: " + hex.EncodeToString([]byte(skKey))},
		{"hex in capitals", strings.ToUpper(hex.EncodeToString([]byte(githubKey))), "0x" + strings.ToUpper(hex.EncodeToString([]byte(githubKey)))},
		{"a sentence", "swordfish", "Please log in: my password is swordfish."},
		{"a sentence, with signs", "sw0rdf!sh", "the password for the router is sw0rdf!sh, thanks"},
		{"a sentence, quoted", "sword", "Her passphrase was \"sword\"."},
		{"a sentence, quoted with blanks", "correct horse battery", "my passphrase is 'correct horse battery'"},
		{"a sentence about a key", "ab12cd34ef", "our API key is ab12cd34ef"},
		{"a number", "4711", "the PIN is 4711"},
		{"a label", "hunter2", "User: ann\nPassword: hunter2\n"},
		{"markdown", "hunter2", "**Password:** `hunter2`"},
		{"Twilio", sid, "TWILIO " + sid + " is the account"},
		{"Slack's webhook", "T0AAAAAA1/B0BBBBBB2/cccccccccccccccccccccccc", "post to https://hooks.slack.com/services/T0AAAAAA1/B0BBBBBB2/cccccccccccccccccccccccc now"},
		{"Azure", "uAo2Q~np1RT8FmjEKEzI~XTipJifIjrgZeKf_", "it is uAo2Q~np1RT8FmjEKEzI~XTipJifIjrgZeKf_ for now"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRedactor(t, &Rules{Users: []string{}, Places: []Place{}})
			quoted, _ := json.Marshal(test.text)
			for _, body := range []string{string(quoted), `{"messages":[{"content":` + string(quoted) + `}]}`, test.text} {
				got := string(r.Interaction(post(body)).Request.Body)
				if strings.Contains(got, test.secret) || !strings.Contains(got, markStart) && !strings.HasPrefix(test.name, "hex") {
					t.Errorf("%s\nbecomes\n%s", body, got)
				}
				if again := string(r.Interaction(post(got)).Request.Body); again != got {
					t.Errorf("%s\nbecomes another the second time\n%s", got, again)
				}
			}
			for n := 1; n < 9; n += 3 {
				got := string(r.Interaction(sse(deltas(chat, test.text, n))).Response.Body)
				if joined := joinedText(got); strings.Contains(joined, test.secret) {
					t.Errorf("in parts of %d bytes: %s", n, joined)
				}
			}
		})
	}
}

// joinedText is what a client makes of a stream of [chat].
func joinedText(body string) string {
	var out strings.Builder
	for line := range strings.Lines(body) {
		var e struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &e) == nil && len(e.Choices) > 0 {
			out.WriteString(e.Choices[0].Delta.Content)
		}
	}
	return out.String()
}

// innocent are texts that speak of secrets, or look like them, and are none.
func innocent() []string {
	list := []string{
		"The password is required.", "My password is wrong!", "the password is not stored anywhere", "your password is too short, it must be at least 8 characters",
		"The token is expired", "the secret is being rotated now", "the key is missing in the map", "An API key is needed to go on", "my password is expired",
		"her password was reset yesterday", "The PIN is optional", "password: required, string", "token: the number of tokens", "Password:\n", "Passwort: ",
		"docker run --user 1000:1000 alpine", "docker run -u app:app alpine id", "git push -u origin main", "chown -R -u ann:staff .", "sort -u a:b",
		"curl -u $USER:$PASSWORD https://h.example", "curl -u \"$USER:$PASS\" https://h.example", "curl -s https://h.example -o out", "sudo -u postgres psql",
		"the machine is on, login as usual, and the password field stays empty", "default login page with password reset", "machine learning login flow",
		"see https://h.example/docs#access-token and https://h.example/docs#sk-and-other-words-1", "[the key](#api-key-2)", "https://h.example/guide?topic=tokens#password-2024",
		"const token = await getToken()", "password = os.environ[\"PASSWORD\"]", "api_key=None", "secret: true", "token=true", "auth: false", "auth: basic", "auth=oauth2",
		"apiKey: process.env.API_KEY", "password: str", "def login(user: str, password: str) -> Token:", "--password-stdin", "max_tokens: 1024", "tokens: 12", "token_type: bearer",
		"sk-" + "your-key-goes-here-please", "sk-" + strings.Repeat("x", 32), "AKIA" + strings.Repeat("X", 16), "ghp" + "_your_token_here_and_nothing_else_at_all", "Bearer token", "Authorization: Bearer <token>",
		"the line ends in sk-\nand goes on", "| name | value |\n| --- | --- |\n| token | the count |", "a\nb\nc\nd", "home/annlo\nand more", "AC/DC and SK Telecom", "pat the dog, sat on the mat",
		"API-first design with API-2 and API-3", "pull request pul-1", "ops_are_fine", "EAAA is a prefix", "see sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		"commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "0x48656c6c6f20776f726c642c20686f7720617265", "48656c6c6f20776f726c642c20686f7720617265", "uuid 550e8400-e29b-41d4-a716-446655440000",
		`{"token":"Hello","logprob":-0.31,"bytes":[72,101],"top_logprobs":[]}`,
		"{\n  \"content\": [\n    {\n      \"token\": \"Hello123world\",\n      \"logprob\": -0.31,\n      \"bytes\": [\n        72,\n        101\n      ]\n    }\n  ]\n}",
		"{\n            \"bytes\": [\n              72\n            ],\n            \"logprob\": -1.5,\n            \"token\": \"pass1234word\"\n}",
		`{"chosenCandidates":[{"token":"ab12cd34","tokenId":1,"logProbability":-0.1}]}`, `{"prompt_logprobs":{"1":{"logprob":-1,"rank":1,"decoded_token":"ab12cd34"}}}`,
		`{"has_password":true,"requires_token":false,"api_key":null,"secret":""}`, `{"type":"object","properties":{"password":{"type":"string"},"token":{"type":"string","description":"the token"}}}`,
		`{"auth":"none"}`, `{"auth":"bearer"}`, `{"auth":{"type":"basic"}}`, `{"role":"user","content":"user"}`, `{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}`,
		"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
		"version v1.0-beta-2 and v1.0-rc-1", "a Q~A list", "x.atlasv1.y", "T1.M. Jones",
	}
	subjects := []string{"password", "secret", "token", "API key", "passphrase", "access token", "credential", "key"}
	says := []string{
		"The %s is required for this.", "Where is the %s kept?", "Never share your %s.", "The %s was changed by ann on Monday.", "An invalid %s is an error.", "Set the %s in the settings page.",
		"The %s of the form is empty", "%s rotation is done every 90 days", "there is no %s here", "the %s is in the vault", "a %s is a text", "my %s is missing", "The %s is valid until 2027-01-01",
		"use %s=... in the file", "%s: see above", "the %s, which is long, is fine",
	}
	for _, s := range subjects {
		for _, f := range says {
			list = append(list, fmt.Sprintf(f, s))
		}
	}
	return list
}

// TestInnocent: texts that are no secrets stay as they are, and nothing is found
// in them.
func TestInnocent(t *testing.T) {
	r := newRedactor(t, &Rules{Users: []string{"annlogin"}, Places: []Place{{"home", "/home/annlogin"}}})
	list, bad := innocent(), 0
	if len(list) < 200 {
		t.Errorf("only %d texts", len(list))
	}
	for _, text := range list {
		quoted, _ := json.Marshal(text)
		for _, body := range []string{text, `{"messages":[{"role":"user","content":` + string(quoted) + `}]}`} {
			i := r.Interaction(post(body))
			if got := string(i.Request.Body); got != body {
				t.Errorf("%s\nbecomes\n%s", body, got)
				bad++
			}
			for _, f := range r.Scan((&vcr.File{Interactions: []*vcr.Interaction{i}}).Encode()) {
				if !f.Guess {
					t.Errorf("%s\nfound: %s", body, f)
					bad++
				}
			}
		}
	}
	t.Logf("%d innocent texts: %d changed or refused", len(list), bad)
	for name, v := range map[string]string{"X-Requires-Token": "true", "X-Has-Secret": "false", "Www-Authenticate": "Bearer", "X-Reset-Token": "0"} {
		i := answer("application/json", "{}")
		i.Response.Header.Set(name, v)
		for _, f := range r.Scan((&vcr.File{Interactions: []*vcr.Interaction{i}}).Encode()) {
			t.Errorf("%s: %s: found %s", name, v, f)
		}
	}
}
