// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rehearse-dev/rehearse/cassettes/redact"
	"github.com/rehearse-dev/rehearse/cassettes/vcr"
	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// RecordOptions are settings of a [Recorder]. Nil means all defaults.
type RecordOptions struct {
	// Server is what the header says the tape is of. Default the command, for
	// [Record].
	Server string
	// Secrets says what is taken out. Nil means the defaults of package
	// redact.
	Secrets *redact.Rules
	// Clock times frames. Default [harness.SystemClock].
	Clock harness.Clock
	// Start is when the clock was set going that all recordings of one trial
	// share, the cassette of the model among them. Default: now.
	Start time.Time
	// LookupEnv finds CI, which forbids to record. Default [os.LookupEnv].
	LookupEnv func(string) (string, bool)
	// Abort, once closed, has the server of [Record] killed at once. Nil
	// never does.
	Abort <-chan struct{}
}

// Recorder writes a tape while the traffic goes by. What it writes is in a
// file with .part behind its name until [Recorder.Close].
type Recorder struct {
	path    string
	file    *os.File
	clock   harness.Clock
	start   time.Time
	secrets *redact.Redactor
	done    chan struct{} // closed when the writer has ended

	mu       sync.Mutex // guards what follows
	change   *sync.Cond
	queue    []passing
	closed   bool // there are no more frames
	over     bool // the file is closed too
	sessions int
	web      web

	// Of the writer alone.
	kept int
	eras map[int]*era
	err  error     // of Stop as well, which waits for the writer
	scan sync.Once // of the whole
}

// passing is a line that went by, which is not in its frame yet.
type passing struct {
	Frame
	line []byte
}

// NewRecorder begins a tape.
func NewRecorder(path string, opts *RecordOptions) (*Recorder, error) {
	var o RecordOptions
	if opts != nil {
		o = *opts
	}
	if o.Clock == nil {
		o.Clock = harness.SystemClock()
	}
	if o.Start.IsZero() {
		o.Start = o.Clock.Now()
	}
	if o.LookupEnv == nil {
		o.LookupEnv = os.LookupEnv
	}
	if ci, ok := o.LookupEnv("CI"); ok && ci != "" && ci != "false" && ci != "0" {
		return nil, fmt.Errorf("recording tape %q: CI is set; record on your own machine and commit the file", path)
	}
	secrets, err := redact.New(o.Secrets)
	if err != nil {
		return nil, fmt.Errorf("recording tape %q: %w", path, err)
	}
	r := &Recorder{
		path: path, clock: o.Clock, start: o.Start, secrets: secrets,
		done: make(chan struct{}), eras: map[int]*era{}, web: newWeb(),
	}
	r.change = sync.NewCond(&r.mu)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, fmt.Errorf("recording tape %q: %w", path, err)
	}
	if err := os.Remove(partPath(path)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("recording tape %q: %w", path, err)
	}
	r.file, err = os.OpenFile(partPath(path), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("recording tape %q: %w", path, err)
	}
	h := Header{Version: version, Server: string(clean(secrets, []byte(o.Server))), Recorded: r.start.UTC().Truncate(time.Microsecond)}
	head := mcpwire.Marshal(h)
	if len(secrets.Scan(head)) > 0 {
		h.Server = ""
		head = mcpwire.Marshal(h)
	}
	r.write(append(head, '\n'))
	go r.run()
	return r, nil
}

// clean takes the secrets out of a copy of a line.
func clean(secrets *redact.Redactor, line []byte) []byte {
	kind := "text/plain"
	if mcpwire.IsObject(line) || len(line) > 0 && line[0] == '[' {
		kind = "application/json"
	}
	i := &vcr.Interaction{Response: vcr.Response{Header: http.Header{"Content-Type": {kind}}, Body: line}}
	return secrets.Interaction(i).Response.Body
}

// keep notes lines. It does not wait for the disk.
func (r *Recorder) keep(dir Dir, session int, line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note(Frame{Dir: dir, Session: session}, line)
}

// note notes a line with all that is known of its frame. The caller holds mu.
func (r *Recorder) note(f Frame, line []byte) {
	if !r.closed {
		f.At = float64(r.clock.Now().Sub(r.start).Microseconds()) / 1000
		r.queue = append(r.queue, passing{f, r.web.anonymous(bytes.Clone(line))})
		r.change.Signal()
	}
}

// run writes what was noted, until the recorder is closed.
func (r *Recorder) run() {
	defer close(r.done)
	for {
		r.mu.Lock()
		for len(r.queue) == 0 && !r.closed {
			r.change.Wait()
		}
		list := r.queue
		r.queue = nil
		r.mu.Unlock()
		if len(list) == 0 {
			return
		}
		for _, p := range list {
			r.add(p)
		}
	}
}

// add writes one line, without its secrets.
func (r *Recorder) add(p passing) {
	if r.err != nil {
		return
	}
	f := p.Frame
	line := clean(r.secrets, bytes.TrimSpace(p.line))
	message := f.Dir == In || f.Dir == Out
	switch {
	case len(line) == 0 && message && f.HTTP != nil:
	case len(line) == 0 && (message || f.Dir == Err):
		return
	case message && (mcpwire.IsObject(line) || line[0] == '[') && json.Valid(line):
		f.Frame = line
		if r.eras[f.Session] == nil {
			r.eras[f.Session] = &era{asked: map[string]string{}}
		}
		f.Era = r.eras[f.Session].of(&f)
	default:
		f.Text = strings.ToValidUTF8(string(line), "�")
	}
	b := f.encode()
	if found := r.secrets.Scan(b); len(found) > 0 {
		r.err = fmt.Errorf("frame %d (%s) still holds what looks like a secret: %s; add a rule for it", r.kept+1, f.Dir, found[0])
		return
	}
	r.write(b)
	if message {
		r.kept++
	}
}

func (r *Recorder) write(b []byte) {
	if _, err := r.file.Write(b); err != nil && r.err == nil {
		r.err = err
	}
}

// Stop ends the recording, which gets its name by [Recorder.Close] only. The
// error says why there will be no tape.
func (r *Recorder) Stop() error {
	r.mu.Lock()
	r.closed = true
	r.change.Signal()
	r.mu.Unlock()
	<-r.done
	if r.err == nil && r.kept == 0 {
		return fmt.Errorf("tape %q is not written: nothing went by", r.path)
	}
	r.scan.Do(r.scanWhole)
	if r.err != nil {
		return fmt.Errorf("tape %q is not written: %w", r.path, r.err)
	}
	return nil
}

// scanWhole looks at the bytes of the tape together: what stood in a line
// before it was known for a secret, and what is spread over lines.
func (r *Recorder) scanWhole() {
	if r.err != nil {
		return
	}
	data, err := os.ReadFile(r.file.Name())
	if err != nil {
		r.err = err
		return
	}
	if found := r.secrets.Scan(data); len(found) > 0 {
		r.err = fmt.Errorf("it still holds what looks like a secret: %s; add a rule for it", found[0])
	}
}

// finish reports whether it is called for the first time.
func (r *Recorder) finish() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := !r.over
	r.over = true
	return first
}

// Close ends the tape and gives it its name. Where something could not be
// written, or nothing went by, an older tape of that name stays.
func (r *Recorder) Close() error {
	err := r.Stop()
	if !r.finish() {
		return nil
	}
	if err != nil {
		return errors.Join(err, r.drop())
	}
	err = r.file.Sync()
	mine, err2 := r.file.Stat()
	there, err3 := os.Lstat(partPath(r.path))
	err = errors.Join(err, err2, r.file.Close())
	switch {
	case err3 != nil || !os.SameFile(mine, there):
		err = errors.Join(err, fmt.Errorf("%q was taken away, or another process is recording", partPath(r.path)))
	case err != nil:
		_ = os.Remove(partPath(r.path)) // it is no tape
	default:
		err = os.Rename(partPath(r.path), r.path)
	}
	if err != nil {
		return fmt.Errorf("tape %q is not written: %w", r.path, err)
	}
	return nil
}

// session begins a session.
func (r *Recorder) session() *tap {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := &tap{}
	for dir, l := range map[Dir]*lines{In: &t.in, Out: &t.out, Err: &t.err} {
		n := r.sessions
		l.each = func(line []byte) { r.keep(dir, n, line) }
	}
	n := r.sessions
	t.end = func(how string) { r.keep(End, n, []byte(how)) }
	r.sessions++
	return t
}

// Wrap records a connection, which becomes a session of the tape: what is read
// from it is the server's. It closes inner when it is closed.
func (r *Recorder) Wrap(inner io.ReadWriteCloser) io.ReadWriteCloser {
	return &wrapped{ReadWriteCloser: inner, tap: r.session()}
}

// Dial records the connections that dial opens, see [Recorder.Wrap]. It fits
// [harness.Server].
func (r *Recorder) Dial(dial func(context.Context) (io.ReadWriteCloser, error)) func(context.Context) (io.ReadWriteCloser, error) {
	return func(ctx context.Context) (io.ReadWriteCloser, error) {
		inner, err := dial(ctx)
		if err != nil {
			return nil, err
		}
		return r.Wrap(inner), nil
	}
}

// tap is where a session's traffic is looked at.
type tap struct {
	in, out, err lines
	end          func(how string)
	left         atomic.Bool // the client has
}

type wrapped struct {
	io.ReadWriteCloser
	tap *tap
}

func (w *wrapped) Read(p []byte) (int, error) {
	n, err := w.ReadWriteCloser.Read(p)
	w.tap.out.add(p[:n])
	if err != nil && !w.tap.left.Swap(true) {
		w.tap.out.flush()
		w.tap.end(w.Ending())
	}
	return n, err
}

func (w *wrapped) Write(p []byte) (int, error) {
	w.tap.in.add(p)
	return w.ReadWriteCloser.Write(p)
}

func (w *wrapped) Close() error {
	w.tap.left.Store(true)
	return w.ReadWriteCloser.Close()
}

// Ending and Stderr say why a process went away, if it is one that can.

func (w *wrapped) Ending() string {
	if p, ok := w.ReadWriteCloser.(interface{ Ending() string }); ok {
		return p.Ending()
	}
	return ""
}

func (w *wrapped) Stderr() string {
	if p, ok := w.ReadWriteCloser.(interface{ Stderr() string }); ok {
		return p.Stderr()
	}
	return ""
}

// lines cuts a stream into lines.
type lines struct {
	each func(line []byte)
	mu   sync.Mutex // guards part: the streams of a process end in their own time
	part []byte
}

func (l *lines) add(p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte{'\n'})
		// Of a line that is longer than a frame may be, the beginning is kept.
		l.part = append(l.part, line[:min(len(line), mcpwire.DefaultMaxFrame-len(l.part))]...)
		if !ended {
			return
		}
		l.each(l.part)
		l.part, p = l.part[:0], rest
	}
}

// flush takes what is left for a line.
func (l *lines) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.part) > 0 {
		l.each(l.part)
		l.part = nil
	}
}

// Stdio are the streams of a process.
type Stdio struct {
	In       io.Reader
	Out, Err io.Writer
}

// Record runs a server as a child process between the streams of ours, hands
// on every byte at once, and writes a tape of it. It returns the exit code of
// the server. The server has our environment; when ctx ends, it is told to end
// as well, which is no error. A read of In may be under way when Record
// returns.
func Record(ctx context.Context, path string, command []string, stdio Stdio, opts *RecordOptions) (int, error) {
	var o RecordOptions
	if opts != nil {
		o = *opts
	}
	if o.Server == "" {
		o.Server = strings.Join(command, " ")
	}
	rec, err := NewRecorder(path, &o)
	if err != nil {
		return 0, err
	}
	t := rec.session()
	server, err := mcpwire.Start(mcpwire.Command{
		Args: command, AllEnv: true, Grace: time.Second, Abort: o.Abort,
		Stderr: tee{stdio.Err, &t.err},
	})
	if err != nil {
		_ = rec.Close() // there is nothing in it
		return 0, err
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	go func() {
		_, _ = io.Copy(tee{server, &t.in}, stdio.In)
		t.left.Store(true)
		t.in.flush()
		server.CloseWrite()
	}()
	_, err = io.Copy(tee{stdio.Out, &t.out}, server)
	if err != nil && ctx.Err() == nil { // the client is gone
		t.left.Store(true)
		server.Close()
	}
	t.out.flush()
	<-server.Exited()
	how := server.Ending()
	t.err.flush()
	if !t.left.Load() && ctx.Err() == nil {
		t.end(how)
	}
	server.Close()
	return server.ExitCode(), rec.Close()
}

// tee notes what is written before it goes on.
type tee struct {
	to    io.Writer
	lines *lines
}

func (t tee) Write(p []byte) (int, error) {
	t.lines.add(p)
	return t.to.Write(p)
}

// era tells the eras of a session's frames.
type era struct {
	now   string
	asked map[string]string // by the stream and id of a request of the client
}

func (e *era) of(f *Frame) string {
	for _, m := range f.messages() {
		id := fmt.Sprint(f.Stream, " ", m.Key())
		switch {
		case f.Dir == Out && m.IsResponse():
			if then, ok := e.asked[id]; ok {
				delete(e.asked, id)
				return then
			}
		case f.Dir == In:
			switch {
			case m.Method == "initialize":
				e.now = "legacy"
			case m.Method == "server/discover" || bytes.Contains(m.Params, []byte(`"io.modelcontextprotocol/protocolVersion"`)):
				e.now = "modern"
			}
			if m.IsRequest() {
				e.asked[id] = e.now
			}
		}
	}
	return e.now
}
