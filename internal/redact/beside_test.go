// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"net/http"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// TestNamedBeside: what stands behind a flag, or beside a name, that says secret is
// taken out where it looks like one; nothing else is changed.
func TestNamedBeside(t *testing.T) {
	const secret = "Tr0ub327a6c"
	clean := func(kind, body string) string {
		i := &vcr.Interaction{Response: vcr.Response{Header: http.Header{"Content-Type": {kind}}, Body: []byte(body)}}
		r, err := New(&Rules{Users: []string{}, Places: []Place{}})
		if err != nil {
			t.Fatal(err)
		}
		return string(r.Interaction(i).Response.Body)
	}
	for _, text := range []string{
		`gh auth login --token SECRET now`,
		`tool --password "SECRET" --verbose`,
		`tool --client-secret 'SECRET'`,
		`["tool", "--api-key", "SECRET"]`,
		`--access_token	SECRET`,
		`PGPASSWORD=SECRET psql -h db`,
		`'password' => 'SECRET',`,
		"api_key: `SECRET`",
	} {
		want := text[strings.Index(text, "SECRET")+len("SECRET"):]
		got := clean("text/plain", strings.ReplaceAll(text, "SECRET", secret))
		if strings.Contains(got, secret) || !strings.HasSuffix(got, want) || !strings.HasPrefix(got, text[:strings.Index(text, "SECRET")]) {
			t.Errorf("%s is %s", text, got)
		}
	}
	for _, body := range []string{
		`{"args":["run","--api-key","SECRET"]}`,
		`{"args":["run","-token","SECRET","--x"]}`,
		`{"env":[{"name":"API_KEY","value":"SECRET"}]}`,
		`{"env":[{"value":"SECRET","name":"API_KEY"}]}`,
		`{"Tags":[{"Key":"db-password","Value":"SECRET"}]}`,
		`{"headers":[{"header":"X-Api-Key","value":"SECRET"}]}`,
		`{"headers":[["authorization","Bearer SECRET"],["accept","*/*"]]}`,
		`{"pass":"SECRET"}`,
		`{"login":{"bearer":"SECRET"}}`,
	} {
		got := clean("application/json", strings.ReplaceAll(body, "SECRET", secret))
		at := strings.Index(body, "SECRET")
		if strings.Contains(got, secret) || !strings.HasPrefix(got, body[:at]) || !strings.HasSuffix(got, body[at+len("SECRET"):]) {
			t.Errorf("%s is %s", body, got)
		}
	}
	for _, body := range []string{
		`{"text":"use --token to log in, or --password-file /srv/k3y12345"}`,
		`{"text":"rehearse run --max-tokens 4096 a--token Tr0ub327a6c"}`,
		`{"text":"--token $TOKEN12345 --secret -v12345678"}`,
		`{"args":["--api-key","--verbose1234","--token","none"]}`,
		`{"args":["--model","gpt4-turbo-128k","token","abc12345678","x"]}`,
		`{"names":["token","abc12345","def12345"]}`,
		`{"env":[{"name":"MODEL","value":"gpt4-turbo-128k"},{"name":"API_KEY","value":"string"}]}`,
		`{"env":[{"name":"API_KEY","kind":"Tr0ub327a6c"}]}`,
		`{"pass":"all of them","bearer":"12"}`,
		`{"pass":true,"passes":"run1of2now"}`,
		`{"value":"Tr0ub327a6c","name":{"token":null}}`,
	} {
		if got := clean("application/json", body); got != body {
			t.Errorf("%s is %s", body, got)
		}
	}
}
