// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpwire_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

func events(parts ...[]byte) []mcpwire.Event {
	var got []mcpwire.Event
	e := mcpwire.Events{Each: func(ev mcpwire.Event) {
		ev.Data = bytes.Clone(ev.Data)
		got = append(got, ev)
	}}
	for _, p := range parts {
		e.Add(p)
	}
	return got
}

func TestEvents(t *testing.T) {
	stream := []byte(": hello\n\nid: 1\nretry: 500\ndata: \n\nevent: message\r\nid: 2\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\ndata:x\n\ndata: cut off")
	want := []mcpwire.Event{
		{ID: "1", Retry: 500},
		{ID: "2", Name: "message", Data: []byte("{\"a\":\n1}")},
		{Data: []byte("x")},
	}
	if diff := cmp.Diff(want, events(stream)); diff != "" {
		t.Errorf("whole (-want +got):\n%s", diff)
	}
	var bytewise [][]byte
	for i := range stream {
		bytewise = append(bytewise, stream[i:i+1])
	}
	if diff := cmp.Diff(want, events(bytewise...)); diff != "" {
		t.Errorf("byte by byte (-want +got):\n%s", diff)
	}
	var again []byte
	for _, ev := range want {
		again = ev.Append(again)
	}
	if diff := cmp.Diff(want, events(again)); diff != "" {
		t.Errorf("written and read (-want +got):\n%s", diff)
	}
}

func TestExtent(t *testing.T) {
	for _, test := range []struct {
		name  string
		parts []string
		end   int // of which part; -1 for none
	}{
		{"object", []string{`{"a":`, `{}}`, `x`}, 1},
		{"braces in a text", []string{`{"a":"}`, `\"}"`, `}`}, 2},
		{"array", []string{`[{"a":1},`, `{}]`}, 1},
		{"cut off", []string{`{"a":`, `{}`}, -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			var x mcpwire.Extent
			end := -1
			for i, p := range test.parts {
				if x.Add([]byte(p)) {
					end = i
					break
				}
			}
			if end != test.end {
				t.Errorf("ends in part %d, want %d", end, test.end)
			}
		})
	}
}
