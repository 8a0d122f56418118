// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/cassettes"
)

// leastKinds is how many kinds of secrets must be kept out of recordings.
const leastKinds = 75

// TestForeignSecrets plants a secret for each rule of gitleaks in recordings, in
// three places: in a message, in the arguments of a call, and split over the
// events of a stream. None is written. What needs a name to be known has the
// rule's.
func TestForeignSecrets(t *testing.T) {
	out, err := command(t, "go", "run", "-C", "secrets", ".").Output()
	if err != nil {
		t.Fatalf("making secrets: %v", err)
	}
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var asked struct{ Stream string }
		if json.Unmarshal(body, &asked) != nil || asked.Stream == "" {
			fmt.Fprint(w, `{"ok":true}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for text := asked.Stream; text != ""; {
			part := []byte(text[:min(len(text), 6)])
			text = text[len(part):]
			delta, _ := json.Marshal(string(part))
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", delta)
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	defer endpoint.Close()
	kinds, missed := 0, 0
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var kind struct{ Rule, Text, Secret string }
		if err := json.Unmarshal(lines.Bytes(), &kind); err != nil {
			t.Fatal(err)
		}
		if odd[kind.Rule] || strings.HasSuffix(kind.Rule, "-id") || strings.Contains(kind.Rule, "-pub-") {
			continue
		}
		kinds++
		var held []string
		for _, place := range []string{"message", "arguments", "stream"} {
			if text := planted(t, endpoint.URL, place, kind.Rule, kind.Secret, strings.HasPrefix(kind.Text, kind.Secret)); holdsSecret(text, kind.Secret) {
				held = append(held, place)
			}
		}
		if held != nil {
			missed++
			t.Errorf("%s: %q is written (%s)", kind.Rule, kind.Secret, strings.Join(held, ", "))
		}
	}
	t.Logf("%d kinds of secrets in 3 places: %d kinds written", kinds, missed)
	if kinds < leastKinds {
		t.Errorf("only %d kinds, want %d", kinds, leastKinds)
	}
}

// odd are the rules of which no text can be made that is a key: their regular
// expression has a dot where the issuer has a letter, or finds less than a key.
var odd = map[string]bool{
	"curl-auth-header": true, "curl-auth-user": true, "facebook-access-token": true, "freemius-secret-key": true, "grafana-api-key": true, "jwt": true, "jwt-base64": true,
	"microsoft-teams-webhook": true, "private-key": true, "sidekiq-sensitive-url": true, "slack-app-token": true, "slack-config-access-token": true,
	"slack-config-refresh-token": true, "slack-legacy-token": true, "slack-legacy-workspace-token": true, "slack-webhook-url": true, "sourcegraph-access-token": true,
}

// planted records an exchange with a secret in it and returns the cassette.
func planted(t *testing.T, endpoint, place, rule, secret string, shaped bool) string {
	t.Helper()
	name := strings.ReplaceAll(rule, "-", "_")
	text := "export " + strings.ToUpper(name) + "=" + secret + "\nand go on"
	arguments := map[string]string{name: secret}
	if shaped {
		text, arguments = "here it is: "+secret+" and so on", map[string]string{"note": secret}
	}
	inner, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	var body any
	switch place {
	case "message":
		body = map[string]any{"model": "m", "messages": []any{map[string]any{"role": "user", "content": text}}}
	case "arguments":
		body = map[string]any{"model": "m", "messages": []any{map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{"function": map[string]any{"name": "f", "arguments": string(inner)}}}}}}
	case "stream":
		body = map[string]any{"stream": text}
	}
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.yaml")
	rec, err := cassettes.Open(path, &cassettes.Options{Mode: cassettes.Record, LookupEnv: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint+"/v1/chat/completions", bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := rec.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if err := rec.Close(); err != nil {
		t.Errorf("%s: %v", rule, err)
	}
	out, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if place == "stream" { // as a client would have joined it
		var joined strings.Builder
		for line := range strings.Lines(string(out)) {
			var event struct {
				Choices []struct{ Delta struct{ Content string } }
			}
			if _, payload, ok := strings.Cut(line, "data: "); ok && json.Unmarshal([]byte(payload), &event) == nil && len(event.Choices) > 0 {
				joined.WriteString(event.Choices[0].Delta.Content)
			}
		}
		return string(out) + joined.String()
	}
	return string(out)
}

func holdsSecret(text, secret string) bool {
	quoted, _ := json.Marshal(secret)
	twice, _ := json.Marshal(string(quoted))
	for _, form := range []string{secret, strings.Trim(string(quoted), `"`), strings.Trim(string(twice), `"\`), base64.StdEncoding.EncodeToString([]byte(secret))} {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}
