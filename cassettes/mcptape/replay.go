// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/filepos"
	"github.com/rehearse-dev/rehearse/internal/key"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// Options are settings of a [Tape]. Nil means all defaults.
type Options struct {
	// Speed is how fast to replay: 1 as it was, 2 twice as fast; 0 at once.
	Speed float64
	// Strict wants all requests in the order of the tape. Otherwise a request
	// is answered by the first of its method and parameters that was not
	// used.
	Strict bool
	// Ignore are paths into the parameters of requests that do not count, such
	// as arguments.date or **.trace, beside `_meta` and the client's version.
	Ignore []string
	// AllowUnused lets a replay end with requests that nobody sent.
	AllowUnused bool
	// MaxAge is how old a tape may be; 0 means any age, and of one that does
	// not say when it was recorded nobody knows. Stale says what an older one
	// does: "warn" (the default), by Logf, or "error".
	MaxAge time.Duration
	Stale  string
	// Secrets says what is taken out of requests before they are looked for.
	// Give those that the tape was recorded with. Nil means the defaults of
	// [Secrets].
	Secrets *Secrets
	// Clock paces the replay. Default [harness.SystemClock].
	Clock harness.Clock
	// Stderr gets what the server wrote to its stderr. Nil drops it.
	Stderr io.Writer
	// Logf takes a line for what is worth knowing and no error. Nil drops it.
	Logf func(format string, args ...any)
}

// Tape is a recorded server. It may be used concurrently.
type Tape struct {
	name    string
	opts    Options
	secrets *redact.Redactor
	scripts []*script
	http    bool            // how it was recorded
	ctx     context.Context // of all sessions
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex // guards what follows, and what of the scripts is used
	misses []error
	fits   map[string]bool // which of the paths that do not count are in a request
	closed bool
}

// Open reads a tape to replay it.
func Open(path string, opts *Options) (*Tape, error) {
	rec, err := Read(path)
	if err != nil {
		return nil, err
	}
	return New(path, rec, opts)
}

// checkAge warns of a tape that is too old, or refuses it.
func (t *Tape) checkAge(recorded time.Time) error {
	if t.opts.Stale != "" && t.opts.Stale != "warn" && t.opts.Stale != "error" {
		return fmt.Errorf("stale %q is unknown: want warn or error", t.opts.Stale)
	}
	if t.opts.MaxAge <= 0 || recorded.IsZero() || t.opts.Clock.Now().Sub(recorded) <= t.opts.MaxAge {
		return nil
	}
	err := fmt.Errorf("it was recorded on %s, more than %s ago; record it again", recorded.Format("2006-01-02"), vcr.Days(t.opts.MaxAge))
	if t.opts.Stale == "error" {
		return err
	}
	t.opts.Logf("tape %q: %v", t.name, err)
	return nil
}

// New returns a server that replays rec; name is for errors, which wrap what is
// wrong with it.
func New(name string, rec *Recording, opts *Options) (*Tape, error) {
	t, err := newTape(name, rec, opts)
	if err != nil {
		return nil, fmt.Errorf("opening tape %q: %w", name, err)
	}
	return t, nil
}

func newTape(name string, rec *Recording, opts *Options) (*Tape, error) {
	t := &Tape{name: name, fits: map[string]bool{}}
	if opts != nil {
		t.opts = *opts
	}
	if t.opts.Clock == nil {
		t.opts.Clock = harness.SystemClock()
	}
	if t.opts.Logf == nil {
		t.opts.Logf = func(string, ...any) {}
	}
	if t.opts.Stderr == nil {
		t.opts.Stderr = io.Discard
	}
	if t.opts.Speed < 0 {
		return nil, fmt.Errorf("speed %v is less than 0", t.opts.Speed)
	}
	if err := t.checkAge(rec.Recorded); err != nil {
		return nil, err
	}
	var err error
	if t.secrets, err = redact.New(t.opts.Secrets); err != nil {
		return nil, err
	}
	if err := (&key.Rules{Also: t.opts.Ignore}).Check(); err != nil {
		return nil, fmt.Errorf("paths to ignore: %w", err)
	}
	t.scripts = compile(rec.Frames, t.opts.Ignore)
	t.http = slices.ContainsFunc(rec.Frames, func(f Frame) bool { return f.Stream > 0 })
	if len(t.scripts) == 0 {
		return nil, errors.New("it has no frames")
	}
	if rec.Cut {
		t.opts.Logf("tape %q: its recording was interrupted; it has %d frames", name, len(rec.Frames))
	}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	return t, nil
}

// take returns the next session. What was recorded of a server that has none
// is there for all.
func (t *Tape) take() (*script, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, fmt.Errorf("replaying tape %q: it is closed", t.name)
	}
	s := t.free(func(s *script) bool { return true })
	if s == nil {
		for _, all := range t.scripts {
			if t.http && !all.named {
				s = all
			}
		}
	}
	if s == nil {
		err := fmt.Errorf("replaying tape %q: it has only %d sessions", t.name, len(t.scripts))
		t.misses = append(t.misses, err)
		return nil, err
	}
	t.running.Add(1)
	return s, nil
}

// free takes the first session that fits and that nobody has taken. The caller
// holds mu.
func (t *Tape) free(fits func(*script) bool) *script {
	for _, s := range t.scripts {
		if !s.taken && fits(s) {
			s.taken = true
			return s
		}
	}
	return nil
}

// OverHTTP reports whether the tape was recorded over HTTP.
func (t *Tape) OverHTTP() bool { return t.http }

// Dial opens the next session of the tape. It fits [harness.Server].
func (t *Tape) Dial(context.Context) (io.ReadWriteCloser, error) {
	s, err := t.take()
	if err != nil {
		return nil, err
	}
	client, server := mcpwire.Pipe()
	go func() {
		defer t.running.Done()
		defer server.Close()
		stop := context.AfterFunc(t.ctx, func() { server.Close() })
		defer stop()
		_ = t.serve(t.ctx, s, server, server) // the pipe says nothing else
	}()
	return client, nil
}

// ServeStdio replays the next session of the tape over in and out, until in or
// ctx ends or the recorded server did. It closes in when ctx ends, if it can.
func (t *Tape) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	s, err := t.take()
	if err != nil {
		return err
	}
	defer t.running.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.ctx, cancel)()
	if c, ok := in.(io.Closer); ok {
		defer context.AfterFunc(ctx, func() { c.Close() })()
	}
	return t.serve(ctx, s, in, out)
}

// Misses are the requests so far that fitted nothing recorded.
func (t *Tape) Misses() []error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.misses)
}

// Unused is an error for each recorded request that was not sent so far.
func (t *Tape) Unused() []error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []error
	for _, s := range t.scripts {
		for _, g := range s.requests {
			if !g.used && !g.silent {
				out = append(out, filepos.Mark(harness.Position{File: t.name, Line: g.line}, fmt.Errorf("line %d %s", g.line, g.name())))
			}
		}
	}
	return out
}

// Close ends all sessions. It returns the misses, or else an error that names
// what was not asked for.
func (t *Tape) Close() error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.cancel()
	t.running.Wait()
	if misses := t.Misses(); len(misses) > 0 {
		return errors.Join(misses...)
	}
	if unused := t.Unused(); len(unused) > 0 && !t.opts.AllowUnused {
		return fmt.Errorf("tape %q: not asked for: %s", t.name, prose.List(unused, "; "))
	}
	if paths := t.unfitting(); len(paths) > 0 {
		return fmt.Errorf("tape %q: no request has anything at %s, which --ignore names", t.name, strings.Join(paths, ", "))
	}
	return nil
}

// miss notes a miss and returns its text.
func (t *Tape) miss(format string, args ...any) string {
	text := "rehearse_miss: " + fmt.Sprintf(format, args...)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.misses = append(t.misses, fmt.Errorf("tape %q: %s", t.name, text))
	return text
}
