// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"golang.org/x/term"
)

// lines are what somebody types, or what comes from a pipe.
type lines struct {
	out    io.Writer // of questions, where there is no editor
	fd     int       // of the terminal
	typed  bool      // by somebody at a terminal
	prompt string
	ends   io.ReadWriter // of the terminal
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
	l := &lines{out: p.stderr, read: make(chan result, 1)}
	in, ok := p.stdin.(*os.File)
	l.typed = ok && term.IsTerminal(int(in.Fd()))
	if !l.typed || !p.terminal(p.stdout) {
		l.pipe = bufio.NewReader(p.stdin)
		return l
	}
	l.fd, l.prompt = int(in.Fd()), "> "
	if p.colour(p.stdout) {
		l.prompt = "\x1b[1m> \x1b[0m"
	}
	l.ends = struct {
		io.Reader
		io.Writer
	}{in, bare(p.stdout)}
	l.editor = term.NewTerminal(l.ends, l.prompt)
	l.editor.History = &messages{History: l.editor.History}
	return l
}

// messages is a history without answers to questions.
type messages struct {
	term.History
	asking atomic.Bool
}

func (m *messages) Add(line string) {
	if !m.asking.Load() {
		m.History.Add(line)
	}
}

// ask returns the answer to a question, which may have texts from outside; the
// error is that of next.
func (l *lines) ask(ctx context.Context, question string) (string, error) {
	if l.editor == nil {
		fmt.Fprint(l.out, question)
		return l.next(ctx)
	}
	shown, _ := harmless([]byte(question), "")
	l.editor.SetPrompt(string(shown))
	history := l.editor.History.(*messages)
	history.asking.Store(true)
	line, err := l.next(ctx)
	history.asking.Store(false)
	if errors.Is(err, io.EOF) { // the editor keeps what ended it, and would end again
		l.editor = term.NewTerminal(l.ends, l.prompt)
		l.editor.History = history
	}
	l.editor.SetPrompt(l.prompt)
	return line, err
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
