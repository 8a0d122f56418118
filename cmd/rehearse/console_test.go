// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
)

// onConsole returns what comes to a terminal of what is written piece by piece.
func onConsole(t *testing.T, write func(c *console)) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	done := make(chan string)
	go func() {
		b, _ := io.ReadAll(r)
		done <- string(b)
	}()
	write(newConsole(w))
	w.Close()
	return <-done
}

func TestHostileTexts(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"colour":         {"a\x1b[31mb", `a\u001b[31mb`},
		"title":          {"\x1b]0;pwn\a", `\u001b]0;pwn\u0007`},
		"eight-bit CSI":  {"\u009b31m", `\u009b31m`},
		"direction":      {"\u202egnp.exe", `\u202egnp.exe`},
		"carriage":       {"safe\rrm -rf", `safe\u000drm -rf`},
		"backspace":      {"a\b\x7f", `a\u0008\u007f`},
		"windows lines":  {"a\r\nb\n", "a\nb\n"},
		"bytes":          {"a\xffb\xc3", "a\ufffdb"},
		"tags":           {"x\U000e0041", `x\udb40\udc41`},
		"text":           {"Zürich 東京 👩‍🚀\t|\n", "Zürich 東京 👩‍🚀\t|\n"},
		"an end of text": {"x\x1b", "x"},
		"half a mark":    {"\x1b<ABC>31mx", `\u001b<ABC>31mx`},
	} {
		t.Run(name, func(t *testing.T) {
			whole := onConsole(t, func(c *console) { io.WriteString(c, tt.in) })
			pieces := onConsole(t, func(c *console) {
				for i := range len(tt.in) {
					io.WriteString(c, tt.in[i:i+1])
				}
			})
			if whole != tt.want || strings.ReplaceAll(pieces, `\u000d`+"\n", "\n") != tt.want {
				t.Errorf("whole %q, in pieces %q, want %q", whole, pieces, tt.want)
			}
		})
	}
}

// TestConsoleKeepsJSON prints JSON with all kinds of characters: it means the
// same.
func TestConsoleKeepsJSON(t *testing.T) {
	var all strings.Builder
	for r := rune(0); r < 0x3000; r++ {
		all.WriteRune(r)
	}
	all.WriteString("\U000e0041👩")
	doc, err := json.Marshal(all.String())
	if err != nil {
		t.Fatal(err)
	}
	var got string
	if err := json.Unmarshal([]byte(onConsole(t, func(c *console) { c.Write(doc) })), &got); err != nil || got != all.String() {
		t.Errorf("the JSON means something else, %v", err)
	}
}

func TestConsoleKeepsOurColours(t *testing.T) {
	got := onConsole(t, func(c *console) {
		text := escape(c) + "31mFAIL" + escape(c) + "0m"
		for i := range len(text) {
			io.WriteString(c, text[i:i+1])
		}
	})
	if got != "\x1b[31mFAIL\x1b[0m" {
		t.Errorf("%q", got)
	}
}
