// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/term"
)

// console is a terminal that all we print goes to. Much of that is from
// outside: names of files and tools, what a server said. It must not move the
// cursor, set the title or turn the text round, so all that does such a thing
// is written out, as JSON writes it: \u001b. In JSON that changes nothing.
//
// Colours are our own. They begin with a mark that nobody else can know.
type console struct {
	file *os.File
	mark string

	mu   sync.Mutex // guards rest
	rest []byte     // the beginning of a character or of the mark
}

// onTerminal returns f, or a console for it when it is a terminal.
func onTerminal(f *os.File) io.Writer {
	if !term.IsTerminal(int(f.Fd())) {
		return f
	}
	return newConsole(f)
}

func newConsole(f *os.File) *console { return &console{file: f, mark: "\x1b<" + rand.Text() + ">"} }

// bare is what w writes to, for what draws on the terminal itself and shows
// nothing from outside, and for programs that we start.
func bare(w io.Writer) io.Writer {
	w = unkept(w)
	if c, ok := w.(*console); ok {
		return c.file
	}
	return w
}

// escape is what begins a colour in a text for w.
func escape(w io.Writer) string {
	if c, ok := unkept(w).(*console); ok {
		return c.mark
	}
	return "\x1b["
}

func (c *console) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text, rest := harmless(append(c.rest, b...), c.mark)
	c.rest = bytes.Clone(rest)
	if _, err := c.file.Write(text); err != nil {
		return 0, err
	}
	return len(b), nil
}

// tamed writes harmlessly to anything that is not a terminal of ours: a bar
// that lines are printed above.
type tamed struct{ w io.Writer }

func (t tamed) Write(b []byte) (int, error) {
	text, rest := harmless(b, "")
	text = append(text, bytes.ToValidUTF8(rest, []byte("\ufffd"))...)
	if _, err := t.w.Write(text); err != nil {
		return 0, err
	}
	return len(b), nil
}

// harmless is a text without anything that a terminal obeys but line ends and
// tabs, and the mark as the beginning of a colour. rest is the end of b that
// cannot be told from the beginning of more.
func harmless(b []byte, mark string) (text, rest []byte) {
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		if mark != "" && b[0] == mark[0] {
			if bytes.HasPrefix(b, []byte(mark)) {
				out, b = append(out, "\x1b["...), b[len(mark):]
				continue
			}
			if bytes.HasPrefix([]byte(mark), b) {
				return out, b
			}
		}
		r, size := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && size == 1 && !utf8.FullRune(b):
			return out, b
		case r == utf8.RuneError && size == 1:
			out = append(out, "\ufffd"...)
		case r == '\r' && len(b) > 1 && b[1] == '\n':
			// The line ends anyway.
		case commands(r) && r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		case commands(r):
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = append(out, b[:size]...)
		}
		b = b[size:]
	}
	return out, nil
}

// commands reports whether a terminal obeys a character in place of showing it,
// or shows what follows it in another order or not at all.
func commands(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r < 0xa0: // C0, DEL, C1
		return true
	case r == 0x061c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // directions
		return true
	case r == 0x2028, r == 0x2029, r == 0xfeff, r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe007f: // line ends and what is not seen
		return true
	}
	return false
}
