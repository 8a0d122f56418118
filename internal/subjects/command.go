// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package subjects

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/plainfile"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

const (
	// maxOutput bounds what is read of a command's output in one turn.
	maxOutput = 16 << 20
	// grace is how long a command may take to end once it was told to, and how
	// long one that goes on running may take after the end of its input.
	grace = time.Second
)

// commandSession is one conversation of a command.
type commandSession struct {
	def     *Definition
	place   *place
	env     *harness.Env
	turn    int
	session string
	stays   *mcpwire.Process // that goes on running; nil for none
	lines   *bufio.Reader    // of its output
	unread  error            // why a line of this turn may have been its answer and is none
	over    error            // why we ended it before the conversation; nil where we did not
}

var errTimeLimit = errors.New("the time limit of the turn is over")

// Send implements [harness.Session].
func (s *commandSession) Send(ctx context.Context, text string) (*harness.TurnReport, error) {
	s.turn++
	s.unread = nil
	ctx, stop := limited(ctx, s.env)
	defer stop()
	var answer string
	var err error
	if s.def.Prompt.stays() {
		answer, err = s.say(ctx, text)
	} else {
		answer, err = s.once(ctx, text)
	}
	switch {
	case err != nil:
		what := "the command was ended"
		if s.unread != nil {
			what = fmt.Sprintf("no line was its answer (%v), and %s", s.unread, what)
		}
		return nil, stopped(ctx, s.env, err, what)
	case s.def.Answer.None:
		return nil, nil
	}
	return &harness.TurnReport{Answer: answer}, nil
}

// limited bounds a turn by the subject's time limit.
func limited(ctx context.Context, env *harness.Env) (context.Context, context.CancelFunc) {
	if limit := env.Settings.TimeLimit; limit > 0 {
		return context.WithTimeoutCause(ctx, limit, errTimeLimit)
	}
	return context.WithCancel(ctx)
}

// stopped is the error of a turn, which is another one when the time limit has
// ended it.
func stopped(ctx context.Context, env *harness.Env, err error, what string) error {
	if !errors.Is(context.Cause(ctx), errTimeLimit) {
		return err
	}
	return &harness.StopError{Reason: harness.StopTime, Detail: fmt.Sprintf("%s after %s", what, env.Settings.TimeLimit)}
}

// once runs a command for one turn.
func (s *commandSession) once(ctx context.Context, text string) (string, error) {
	words := s.def.Command
	if s.turn > 1 {
		if words = s.def.Resume; len(words) == 0 {
			return "", fmt.Errorf("%w: its command knows no second turn", harness.ErrUnable)
		}
	}
	values := maps.Clone(s.place.values)
	values["prompt"], values["session"] = text, s.session
	if has(words, "prompt_file") {
		values["prompt_file"] = filepath.Join(s.place.own, fmt.Sprintf("prompt-%d.txt", s.turn))
		if err := s.place.write(values["prompt_file"], text); err != nil {
			return "", err
		}
	}
	file := s.answerFile(values)
	if file != "" { // that of the turn before is no answer
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	p, err := s.start(words, values)
	if err != nil {
		return "", err
	}
	defer context.AfterFunc(ctx, func() { _ = p.Close() })()
	defer p.Close()
	go func() {
		if s.def.prompt(words) == PromptStdin {
			_, _ = io.WriteString(p, text) // who does not read it says so otherwise
		}
		_ = p.CloseWrite()
	}()
	out, err := readOutput(p)
	if err != nil {
		return "", err
	}
	<-p.Exited()
	if ctx.Err() != nil {
		return "", fmt.Errorf("the command was ended: %w", context.Cause(ctx))
	}
	if err := s.def.gaveUp(strings.Lines(out)); err != nil {
		return "", err
	}
	if code := p.ExitCode(); code != 0 {
		return "", ended(p)
	}
	if s.def.Session != nil && s.turn == 1 {
		if s.session, err = s.def.Session.last(out); err != nil {
			return "", fmt.Errorf("reading the session of the command: %w", err)
		}
	}
	return s.answer(out, file)
}

// readOutput reads all that a command writes.
func readOutput(p *mcpwire.Process) (string, error) {
	out, err := io.ReadAll(io.LimitReader(p, maxOutput+1))
	switch {
	case len(out) > maxOutput:
		return "", fmt.Errorf("the command wrote more than %d MiB to its standard output", maxOutput>>20)
	case err != nil && !errors.Is(err, os.ErrClosed):
		return "", fmt.Errorf("reading the output of the command: %w", err)
	}
	return string(out), nil
}

// prompt is how a command is given the prompt.
func (d *Definition) prompt(words []string) Prompt {
	if d.Prompt == "" && !has(words, "prompt", "prompt_file") {
		return PromptStdin
	}
	return d.Prompt
}

// start starts a command in the trial's folder.
func (s *commandSession) start(words []string, values map[string]string) (*mcpwire.Process, error) {
	return s.def.start(s.place, words, values)
}

func (d *Definition) start(p *place, words []string, values map[string]string) (*mcpwire.Process, error) {
	args := d.located(words)
	for i := range args {
		args[i] = filled(args[i], values)
	}
	if name := scriptOf(args); name != "" && !filepath.IsAbs(name) {
		if _, err := os.Stat(filepath.Join(p.workdir, name)); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w: the command names the script %s, which is neither in the folder %s nor in that of the trial", harness.ErrUnavailable, name, d.beside(""))
		}
	}
	if err := fits(words, args, p.environ); err != nil {
		return nil, err
	}
	if _, err := os.Stat(p.workdir); errors.Is(err, fs.ErrNotExist) {
		return nil, errNoFolder
	}
	child, err := mcpwire.Start(mcpwire.Command{Args: args, Env: p.environ, Bare: true, Dir: p.workdir, Grace: grace})
	if errors.Is(err, syscall.E2BIG) {
		return nil, tooLong(words, args, p.environ)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", harness.ErrUnavailable, err)
	}
	return child, nil
}

// ended says how a command ended that should not have, with the end of what it
// wrote to its standard error.
func ended(p *mcpwire.Process) error {
	message := "the command ended with " + cmp.Or(p.Ending(), "no status")
	if says := p.Stderr(); says != "" {
		const most = 12
		lines := strings.Split(says, "\n")
		message += "; its stderr ends: " + strings.Join(lines[max(0, len(lines)-most):], "\n")
	}
	return errors.New(message)
}

// answerFile is the path of the file with the answer; empty for none.
func (s *commandSession) answerFile(values map[string]string) string {
	if s.def.Answer.File == "" {
		return ""
	}
	path := filled(s.def.Answer.File, values)
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.place.workdir, path)
	}
	return path
}

// answer is that of a command that has ended.
func (s *commandSession) answer(out, file string) (string, error) {
	switch {
	case s.def.Answer.None:
		return "", nil
	case file != "":
		data, err := plainfile.Read(file, maxOutput)
		if errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("the command wrote no answer to %q", s.def.Answer.File)
		}
		return trimmed(string(data)), err
	case s.def.Answer.Lines != nil:
		answer, err := s.def.Answer.Lines.last(out)
		if err != nil {
			return "", fmt.Errorf("reading the answer of the command: %w", err)
		}
		return answer, nil
	}
	return trimmed(out), nil
}

// gaveUp is why a command gives up a turn, as a line of its output says: a stop
// where that is one of the reasons, and else an error with the text. It is nil where
// no line says so.
func (d *Definition) gaveUp(lines iter.Seq[string]) error {
	if d.Stop == nil {
		return nil
	}
	for line := range lines {
		text, found, _ := d.Stop.of(line) // a line of which it cannot be said does not count
		switch reason := harness.StopReason(text); {
		case found && slices.Contains(harness.StopReasons(), reason) && reason != harness.StopAnyError:
			return &harness.StopError{Reason: reason, Detail: "the command says so"}
		case found:
			return fmt.Errorf("the command gave up: %s", prose.Shorten(text, 2000))
		}
	}
	return nil
}

// trimmed is a text without the line breaks at its end, which programs put there.
func trimmed(text string) string { return strings.TrimRight(text, "\r\n") }

// say gives a command that goes on running the next prompt.
func (s *commandSession) say(ctx context.Context, text string) (string, error) {
	line := text
	if s.def.Prompt == PromptJSONLines {
		data, err := json.Marshal(map[string]string{"prompt": text})
		if err != nil {
			return "", err
		}
		line = string(data)
	} else if strings.ContainsAny(text, "\r\n") {
		return "", fmt.Errorf("%w: it reads a prompt of one line, and the user says several: want prompt: json_lines", harness.ErrUnable)
	}
	if s.over != nil {
		return "", fmt.Errorf("the command does not run any more: %w", s.over)
	}
	if s.stays == nil {
		p, err := s.start(s.def.Command, s.place.values)
		if err != nil {
			return "", err
		}
		s.stays, s.lines = p, bufio.NewReader(p)
	}
	p := s.stays
	defer context.AfterFunc(ctx, func() { _ = p.Close() })()
	if _, err := io.WriteString(p, line+"\n"); err != nil {
		return "", s.left(ctx)
	}
	for read := 0; ; {
		out, err := s.lines.ReadString('\n')
		if err != nil && out == "" || ctx.Err() != nil { // what is written as it is ended is no answer
			return "", s.left(ctx)
		}
		if read += len(out); read > maxOutput {
			return "", fmt.Errorf("the command wrote more than %d MiB to its standard output in one turn", maxOutput>>20)
		}
		if err := s.def.gaveUp(slices.Values([]string{out})); err != nil {
			return "", err
		}
		if s.def.Answer.Lines == nil {
			return trimmed(out), nil
		}
		answer, found, err := s.def.Answer.Lines.of(out)
		if found {
			return answer, nil
		}
		if err != nil {
			s.unread = fmt.Errorf("reading the answer of the command: %w", err)
		}
	}
}

// left says why a command that should go on running does not.
func (s *commandSession) left(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		s.over = fmt.Errorf("rehearse ended it in turn %d: %w", s.turn, context.Cause(ctx))
		return fmt.Errorf("the command was ended: %w", errors.Join(context.Cause(ctx), s.unread))
	case s.unread != nil:
		return fmt.Errorf("%w; %w", s.unread, ended(s.stays))
	}
	return fmt.Errorf("no answer: %w", ended(s.stays))
}

// Close implements [harness.Session].
func (s *commandSession) Close() error {
	defer s.place.remove()
	if s.stays == nil {
		return nil
	}
	err := s.stays.Close()
	if s.env.Logf != nil && s.stays.ExitCode() != 0 {
		s.env.Logf("closing the subject: %s", prose.Shorten(ended(s.stays).Error(), 2000))
	}
	return err
}
