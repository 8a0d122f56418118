// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/cassettes/mcptape"
)

// TestUnsoundAnswers: what a server answered that is no message, or whose id is
// spelled in another way, is played as it was.
func TestUnsoundAnswers(t *testing.T) {
	for _, test := range []struct{ name, recorded, want string }{
		{"a code that is a text", `{"id":1,"error":{"code":"E_BAD","message":"bad"}}`, `{"id":7,"error":{"code":"E_BAD","message":"bad"}}`},
		{"an error that is a text", `{"id":1,"error":"bad"}`, `{"id":7,"error":"bad"}`},
		{"half a code", `{"id":1,"error":{"code":-32000.5,"message":"x"}}`, `{"id":7,"error":{"code":-32000.5,"message":"x"}}`},
		{"a large code", `{"id":1,"error":{"code":99999999999999999999,"message":"x"}}`, `{"id":7,"error":{"code":99999999999999999999,"message":"x"}}`},
		{"neither result nor error", `{"id":1,"x":1}`, `{"id":7,"x":1}`},
		{"no id", `{"error":"bad"}`, `{"error":"bad"}`},
		{"a method that is a number", `{"id":1,"method":1}`, `{"id":1,"method":1}`},
		{"a text as the id", `{"id":"1","result":{}}`, `{"id":"7","result":{}}`},
		{"a fraction in the id", `{"id":1.0,"result":{}}`, `{"id":7.0,"result":{}}`},
		{"both", `{"id":"1","error":"bad"}`, `{"id":"7","error":"bad"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			script := `
	0 > {"id":1,"method":"tools/call","params":{"name":"x"}}
	1 < ` + test.recorded + `
	2 > {"id":2,"method":"tools/list"}
	3 < {"id":2,"result":{"tools":[]}}
	`
			tape := play(t, script, nil)
			c := dial(t, tape)
			c.say(`{"id":7,"method":"tools/call","params":{"name":"x"}}`)
			c.say(`{"id":8,"method":"tools/list"}`)
			if got := c.next(); got != `{"jsonrpc":"2.0",`+test.want[1:] { // which play adds
				t.Errorf("got %s, want %s", got, test.want)
			}
			if got := c.next(); !strings.Contains(got, `"id":8,"result"`) {
				t.Errorf("then %s", got)
			}
			if err := tape.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestUnsoundAnswerHTTP is the same over HTTP.
func TestUnsoundAnswerHTTP(t *testing.T) {
	rec, err := mcptape.Parse("t.tape", []byte(`{"rehearse_tape":1,"server":"s"}
{"dir":"in","stream":1,"http":{"method":"POST"},"at_ms":1,"frame":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}}
{"dir":"out","stream":1,"http":{"status":200,"type":"application/json"},"at_ms":2,"frame":{"jsonrpc":"2.0","id":"1","error":"bad"}}
{"dir":"end","stream":1,"at_ms":3}
`))
	if err != nil {
		t.Fatal(err)
	}
	tape, err := mcptape.New("t.tape", rec, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x"}}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	tape.Handler().ServeHTTP(w, r)
	if got := strings.TrimSpace(w.Body.String()); w.Code != 200 || got != `{"jsonrpc":"2.0","id":"7","error":"bad"}` {
		t.Errorf("status %d, %s", w.Code, got)
	}
	if err := tape.Close(); err != nil {
		t.Error(err)
	}
}
