// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpwire_test

import (
	"testing"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// TestExactNames reads messages with members beside those of the protocol that
// differ in letter case alone.
func TestExactNames(t *testing.T) {
	m, err := mcpwire.Parse([]byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[]},"Result":{"content":[5]},"ID":2,"Method":"x","ERROR":{"code":1}}`))
	if err != nil || string(m.Result) != `{"content":[]}` || string(m.ID) != "1" || m.Method != "" || m.Error != nil {
		t.Errorf("read %+v, %v", m, err)
	}
	if m, err = mcpwire.Parse([]byte(`{"jsonrpc":"2.0","id":1,"Result":{}}`)); err == nil {
		t.Errorf("a message without a result was read: %+v", m)
	}
	m, err = mcpwire.Parse([]byte(`{"id":1,"error":{"code":-1,"Code":7,"message":"no","Message":"yes"}}`))
	if err != nil || m.Error == nil || m.Error.Code != -1 || m.Error.Message != "no" {
		t.Errorf("read %+v, %v", m.Error, err)
	}
	r, err := mcpwire.ParseResult([]byte(`{"content":[{"type":"text","text":"bye","Text":"hello"}],"Content":[],"isError":false,"IsError":true,"isERROR":true}`))
	if err != nil || r.IsError || r.Text() != "bye" {
		t.Errorf("read %+v with the text %q, %v", r, r.Text(), err)
	}
}

// TestIDOf looks for the id in messages that cannot be decoded.
func TestIDOf(t *testing.T) {
	for _, tt := range []struct{ name, line, want string }{
		{"cut off", `{"jsonrpc":"2.0","id":7,"result":{"te`, "7"},
		{"cut off within the id", `{"jsonrpc":"2.0","id":7`, ""},
		{"of letters", ` {"id" : "a-1" ,"jsonrpc":"2.0","result":[`, `"a-1"`},
		{"behind a quote in a text", `{"jsonrpc":"2.0","method":"5\" wide","id":7,"params":{`, "7"},
		{"behind a backslash in a text", `{"jsonrpc":"2.0","method":"C:\\","id":7,"params":{`, "7"},
		{"in a text", `{"jsonrpc":"2.0","method":"\"id\":5,","params":{`, ""},
		{"inside another member", `{"jsonrpc":"2.0","result":{"id":5},"id":7,`, "7"},
		{"a value", `{"jsonrpc":"2.0","method":"id","params":{`, ""},
		{"null", `{"jsonrpc":"2.0","id":null,"result":{`, ""},
		{"a log", `{"level":"info","id":7,"msg":"`, ""},
		{"no object", `"jsonrpc" "id":7,`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(mcpwire.IDOf([]byte(tt.line))); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
