// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/redact"
)

// TestSecretOverLines: a secret whose parts are in several lines of standard
// error, or in several messages, is not on the tape, and the scan of a tape
// that has it finds it.
func TestSecretOverLines(t *testing.T) {
	body := []string{
		"MIIEpAIBAAKCAQEAq7BFUpkGp3+LQmlQYx2eqzDV+xeG8kx/sQFV18S5JhzGeIJN", "A72wSeukEPojtqUyX2J0CciPBh7eqclQ2zpAswgisq4+zrIXfGtEnCsy6A8tBHR1",
		"kXqQ8sJcVw2vYl5b0T3hWm7ZrPdNfUaLxOiKeGyD4MzStBpCj9RuHnIv6Qo1EgA+", "0ld4LUQ9bG5S0w==",
	}
	pem := slices.Concat([]string{"-----BEGIN RSA PRIVATE KEY-----"}, body, []string{"-----END RSA PRIVATE KEY-----"})
	logs := make([]string, len(pem))
	for n, line := range pem {
		logs[n] = "2026-01-02 INFO " + line
	}
	notes := func(lines []string) []string {
		out := make([]string, len(lines))
		for n, line := range lines {
			data, _ := json.Marshal(line)
			out[n] = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":` + string(data) + `}}`
		}
		return out
	}
	token := "ghp" + "_16C7e42F292c6912E7710c838347Ae178B4a"
	for _, test := range []struct {
		name   string
		dir    Dir
		lines  []string
		secret []string
	}{
		{"key", Err, pem, body},
		{"key with dates", Err, logs, body},
		{"key of PGP", Err, slices.Concat([]string{"-----BEGIN PGP PRIVATE KEY BLOCK-----", ""}, body, []string{"=njUN", "-----END PGP PRIVATE KEY BLOCK-----"}), body},
		{"encrypted", Err, slices.Concat([]string{pem[0], "Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,3F17F5316E2BAC89"}, pem[1:]), body},
		{"key in two", Err, []string{strings.Join(pem[:2], `\n`), strings.Join(pem[2:], `\n`)}, body},
		{"key without an end", Err, pem[:4], body[:3]},
		{"key on standard output", Out, pem, body},
		{"messages", Out, notes(pem), body},
		{"messages of parts", Out, notes([]string{strings.Join(pem[:3], "\n") + "\n", strings.Join(pem[3:], "\n")}), body},
		{"token in two lines", Err, []string{"the token is " + token[:20], token[20:] + " as you see"}, []string{token[20:]}},
		{"token in two messages", Out, notes([]string{"x " + token[:15], token[15:]}), []string{token[15:]}},
		{"password in the next line", Err, []string{"Password:", "hunter2Zq9", "ok"}, []string{"hunter2Zq9"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.tape")
			r, err := NewRecorder(path, &RecordOptions{LookupEnv: func(string) (string, bool) { return "", false }})
			if err != nil {
				t.Fatal(err)
			}
			var raw strings.Builder
			raw.WriteString(`{"rehearse_tape":1,"recorded":"2026-01-02T03:04:05Z"}` + "\n")
			lines := slices.Concat([]string{"starting with the file config.json"}, test.lines, []string{"listening now", "all is well"})
			r.keep(In, 0, []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
			for n, line := range lines {
				dir := test.dir
				if n == 0 || n > len(test.lines) {
					dir = Err
				}
				r.keep(dir, 0, []byte(line))
				r.keep(Err, 1, []byte("of another session"))
				f := Frame{Dir: dir, Text: line}
				if dir == Out && line[0] == '{' {
					f.Text, f.Frame = "", []byte(line)
				}
				raw.Write(f.encode())
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range test.secret {
				if quoted, _ := json.Marshal(s); strings.Contains(string(data), strings.Trim(string(quoted), `"`)) {
					t.Errorf("the tape has %s:\n%s", s, data)
				}
			}
			for _, s := range []string{"starting with the file config.json", "listening now", "all is well"} {
				if !strings.Contains(string(data), s) {
					t.Errorf("the tape has no %q:\n%s", s, data)
				}
			}
			if n := strings.Count(string(data), "of another session"); n != len(lines) {
				t.Errorf("%d lines of another session, want %d:\n%s", n, len(lines), data)
			}
			if _, err := Read(path); err != nil {
				t.Error(err)
			}
			secrets, err := redact.New(nil)
			if err != nil {
				t.Fatal(err)
			}
			if f := certain(secrets.Scan(data)); f != nil {
				t.Errorf("the scan of the tape finds %s", f)
			}
			if certain(secrets.Scan([]byte(raw.String()))) == nil {
				t.Errorf("the scan finds nothing in\n%s", raw.String())
			}
		})
	}
}
