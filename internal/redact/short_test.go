// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// TestPasswordOfBasic: of an Authorization header that is not kept the
// password alone is a secret too, wherever it comes back.
func TestPasswordOfBasic(t *testing.T) {
	const password = "k7Qx9zPw3Lm"
	r, err := redact.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	i := r.Interaction(&vcr.Interaction{
		Request: vcr.Request{
			Method: "POST", URL: "http://127.0.0.1/v1",
			Header: http.Header{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte("rick:"+password))}},
		},
		Response: vcr.Response{Code: 401, Body: []byte(`{"error":{"message":"rick may not come in with ` + password + `"}}`)},
	})
	if text := string((&vcr.File{Interactions: []*vcr.Interaction{i}}).Encode()); strings.Contains(text, password) {
		t.Errorf("the password is written:\n%s", text)
	}
}

// TestFoundLater: what the end of an answer shows to be secret is taken out of
// its beginning.
func TestFoundLater(t *testing.T) {
	const secret = "k7Qx9zPw3Lm"
	r, err := redact.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	i := r.Interaction(&vcr.Interaction{
		Request:  vcr.Request{Method: "POST", URL: "http://127.0.0.1/v1"},
		Response: vcr.Response{Code: 401, Status: "401 no " + secret, Body: []byte(`{"note":"it was ` + secret + ` before","password":"` + secret + `"}`)},
	})
	if text := string((&vcr.File{Interactions: []*vcr.Interaction{i}}).Encode()); strings.Contains(text, secret) {
		t.Errorf("the secret is written:\n%s", text)
	}
}

// TestShortKey: a key of a header is found in bodies from six bytes on.
func TestShortKey(t *testing.T) {
	for _, test := range []struct {
		name, header, value, key string
		kept                     bool
	}{
		{"six", "Authorization", "Bearer k7Qx9z", "k7Qx9z", false},
		{"a word", "Authorization", "Bearer ollama", "ollama", true},
		{"sixteen letters", "Authorization", "Bearer kwqxvzkwqxvzkwqx", "kwqxvzkwqxvzkwqx", false},
		{"seven, no scheme", "Authorization", "k7Qx9zP", "k7Qx9zP", false},
		{"eight, with a sign", "X-Api-Key", "k7-Qx9zP", "k7-Qx9zP", false},
		{"ten", "Authorization", "Bearer k7Qx9zPw3L", "k7Qx9zPw3L", false},
		{"eleven", "Authorization", "Bearer k7Qx9zPw3Lm", "k7Qx9zPw3Lm", false},
		{"five", "Authorization", "Bearer k7Qx9", "k7Qx9", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := redact.New(nil)
			if err != nil {
				t.Fatal(err)
			}
			i := r.Interaction(&vcr.Interaction{
				Request: vcr.Request{
					Method: "POST", URL: "http://127.0.0.1/v1?q=" + test.key, Header: http.Header{test.header: {test.value}},
					Body: []byte(`{"messages":[{"role":"user","content":"is ` + test.key + ` mine?"}]}`),
				},
				Response: vcr.Response{Code: 401, Body: []byte(`{"error":{"message":"Incorrect key provided: ` + test.key + `."}}`)},
			})
			text := string((&vcr.File{Interactions: []*vcr.Interaction{i}}).Encode())
			if got := strings.Contains(text, test.key); got != test.kept {
				t.Errorf("the key is there: %v, want %v\n%s", got, test.kept, text)
			}
		})
	}
}
