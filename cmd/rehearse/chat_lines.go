// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// lines are what somebody types, or what comes from a pipe.
type lines struct {
	fd     int // of the terminal
	editor *term.Terminal
	pipe   *bufio.Reader
	read   chan result // of the line that is being read; it outlives the wait for it
	busy   bool
}

type result struct {
	line string
	err  error
}

// openLines reads with an editor and a prompt where both ends are a terminal.
func openLines(p *process) *lines {
	l := &lines{read: make(chan result, 1)}
	in, ok := p.stdin.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) || !p.terminal(p.stdout) {
		l.pipe = bufio.NewReader(p.stdin)
		return l
	}
	l.fd = int(in.Fd())
	prompt := "> "
	if p.colour(p.stdout) {
		prompt = "\x1b[1m> \x1b[0m"
	}
	l.editor = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{in, bare(p.stdout)}, prompt)
	return l
}

// next returns the next line. The error is io.EOF at the end of the input and
// at a Ctrl-C that was typed, and that of ctx when it ends.
func (l *lines) next(ctx context.Context) (string, error) {
	if l.editor != nil {
		before, err := term.MakeRaw(l.fd)
		if err != nil {
			return "", fmt.Errorf("preparing the terminal: %w", err)
		}
		defer term.Restore(l.fd, before)
		if width, height, err := term.GetSize(l.fd); err == nil {
			_ = l.editor.SetSize(width, height)
		}
	}
	if !l.busy {
		l.busy = true
		go func() {
			var r result
			if l.editor != nil {
				r.line, r.err = l.editor.ReadLine()
			} else if r.line, r.err = l.pipe.ReadString('\n'); r.err == io.EOF && r.line != "" {
				r.err = nil // the last line has no end
			}
			l.read <- r
		}()
	}
	select {
	case r := <-l.read:
		l.busy = false
		return r.line, r.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
