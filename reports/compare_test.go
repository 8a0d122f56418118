// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"
)

func comparison() *Comparison {
	return &Comparison{
		Schema: 1, Against: "http://127.0.0.1:8000", At: time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC),
		Files: []ComparedFile{
			{
				File: "a.yaml", Recorded: time.Date(2025, 12, 24, 0, 0, 0, 0, time.UTC),
				Interactions: []Compared{
					{Number: 1, Method: "POST", Path: "/v1/chat/completions"},
					{Number: 2, Method: "POST", Path: "/v1/chat/completions", Differences: []Difference{
						{Tier: "breaking", Path: "body.choices[].message.content", Text: "was string, is null"},
						{Tier: "minor", Path: "body.usage.details", Text: "was absent, is object"},
						{Tier: "answer", Text: `was "Hi", is "` + hostile + `"`},
					}},
				},
			},
			{File: hostile, Other: "c.yaml", Interactions: []Compared{{Number: 1, Method: "GET", Path: "/" + hostile, Error: hostile}}},
		},
	}
}

func TestCompare(t *testing.T) {
	for format, write := range map[string]func(io.Writer, *Comparison) error{"txt": CompareText, "html": CompareHTML} {
		var b bytes.Buffer
		if err := write(&b, comparison()); err != nil {
			t.Fatal(err)
		}
		golden(t, "compare."+format, b.Bytes())
		if format == "html" {
			if err := checkHTML(b.Bytes()); err != nil {
				t.Error(err)
			}
		}
		var again bytes.Buffer
		if _ = write(&again, comparison()); again.String() != b.String() {
			t.Errorf("%s differs from time to time", format)
		}
		if strings.Contains(b.String(), "\x1b") || strings.Contains(b.String(), "\u202e") {
			t.Errorf("%s: what cannot be seen is not spelled out", format)
		}
	}
}

func TestWorst(t *testing.T) {
	c := comparison()
	if got := c.Worst(); got != "breaking" {
		t.Errorf("got %q", got)
	}
	c.Files[0].Interactions[1].Differences = c.Files[0].Interactions[1].Differences[1:]
	if got := c.Worst(); got != "minor" {
		t.Errorf("got %q", got)
	}
	c.Files = c.Files[1:]
	if got, n := c.Worst(), c.Errors(); got != "" || n != 1 {
		t.Errorf("got %q, %d errors", got, n)
	}
}
