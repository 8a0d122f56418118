// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/plainfile"
	"github.com/rehearse-dev/rehearse/internal/recfile"
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// RecordOptions are settings of a [Recorder]. Nil means all defaults.
type RecordOptions struct {
	// Server is what the header says the tape is of. Default the command, for
	// [Record].
	Server string
	// Secrets says what is taken out. Nil means the defaults of
	// [Secrets].
	Secrets *Secrets
	// Clock times frames. Default [harness.SystemClock].
	Clock harness.Clock
	// Start is when the clock was set going that all recordings of one trial
	// share, the cassette of the model among them. Default: now.
	Start time.Time
	// LookupEnv finds CI, which forbids to record. Default [os.LookupEnv].
	LookupEnv func(string) (string, bool)
	// Force lets a recording replace one of another server, or one that has
	// more messages. Default: such a recording is refused at its end, and what
	// was recorded is in NAME.refused.tape, as all is that is refused.
	Force bool
	// Logf takes a line for what is worth knowing and no error. Nil drops it.
	Logf func(format string, args ...any)
	// Abort, once closed, has the server of [Record] killed at once. Nil
	// never does.
	Abort <-chan struct{}
}

// Recorder writes a tape while the traffic goes by. What it writes is in a
// file with .part behind its name until [Recorder.Close], which is locked: while
// it is recorded nobody else can record the tape. What a process that died left
// of one is put into NAME.cut.tape.
type Recorder struct {
	path    string
	file    *os.File
	lines   recfile.Lines // of file
	clock   harness.Clock
	start   time.Time
	secrets *redact.Redactor
	force   bool
	logf    func(format string, args ...any)
	done    chan struct{} // closed when the writer has ended

	mu       sync.Mutex // guards what follows
	change   *sync.Cond
	queue    []passing
	closed   bool // there are no more frames
	over     bool // the file is closed too
	sessions int
	web      web

	// Of the writer alone.
	kept   int
	doubts int // guesses about texts that look random
	doubt  string
	aside  string // where the recording is that was refused
	stays  bool   // where it was written, because it could be kept nowhere else
	secret error  // what looks like a secret was replaced, and the tape is refused
	eras   map[int]*era
	err    error     // of Stop as well, which waits for the writer
	short  error     // why the tape ends before the traffic did
	scan   sync.Once // of the whole
	texts  map[source]*redact.Lines
	raw    []byte // what came, as lines of a tape: up to maxRaw
}

// source is who says lines one after the other.
type source struct {
	dir     Dir
	session int
}

// passing is a line that went by, which is not in its frame yet.
type passing struct {
	Frame
	line []byte
	// asked are the address and the headers of the request it belongs to, whose
	// secrets a server may repeat.
	asked *vcr.Request
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
	if recfile.InCI(o.LookupEnv) {
		return nil, fmt.Errorf("recording tape %q: CI is set; record on your own machine and commit the file", path)
	}
	secrets, err := redact.New(o.Secrets)
	if err != nil {
		return nil, fmt.Errorf("recording tape %q: %w", path, err)
	}
	if o.Logf == nil {
		o.Logf = func(string, ...any) {}
	}
	if path, err = recfile.Resolve(path); err != nil {
		return nil, fmt.Errorf("recording tape %q: %w", path, err)
	}
	r := &Recorder{
		force: o.Force, logf: o.Logf, path: path, clock: o.Clock, start: o.Start, secrets: secrets,
		done: make(chan struct{}), eras: map[int]*era{}, texts: map[source]*redact.Lines{}, web: newWeb(),
	}
	r.change = sync.NewCond(&r.mu)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, fmt.Errorf("recording tape %q: %w", path, err)
	}
	if err := r.begin(); err != nil {
		return nil, fmt.Errorf("recording tape %q: %w", path, err)
	}
	h := Header{Version: version, Server: string(clean(secrets, []byte(o.Server), nil)), Recorded: r.start.UTC().Truncate(time.Microsecond)}
	head := mcpwire.Marshal(h)
	if certain(secrets.Scan(head)) != nil {
		h.Server = ""
		head = mcpwire.Marshal(h)
	}
	r.write(append(head, '\n'))
	go r.run()
	return r, nil
}

// clean takes the secrets out of a copy of a line, those of the request as well,
// which may be nil.
func clean(secrets *redact.Redactor, line []byte, asked *vcr.Request) []byte {
	kind := "text/plain"
	if mcpwire.IsObject(line) || len(line) > 0 && line[0] == '[' {
		kind = "application/json"
	}
	i := &vcr.Interaction{Response: vcr.Response{Header: http.Header{"Content-Type": {kind}}, Body: line}}
	if asked != nil {
		i.Request = *asked
	}
	return secrets.Interaction(i).Response.Body
}

// keep notes lines. It does not wait for the disk.
func (r *Recorder) keep(dir Dir, session int, line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note(Frame{Dir: dir, Session: session}, line, nil)
}

// note notes a line with all that is known of its frame. The caller holds mu.
func (r *Recorder) note(f Frame, line []byte, asked *vcr.Request) {
	if !r.closed {
		f.At = float64(r.clock.Now().Sub(r.start).Microseconds()) / 1000
		r.queue = append(r.queue, passing{f, r.web.anonymous(bytes.Clone(line)), asked})
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
	if r.err != nil || r.short != nil {
		return
	}
	f := p.Frame
	line := bytes.TrimSpace(p.line)
	r.hold(f, line)
	if !mcpwire.IsObject(line) {
		line = r.textOf(source{f.Dir, f.Session}).Line(line)
	}
	line = clean(r.secrets, line, p.asked)
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
	r.write(r.scanned(f.encode(), f.Dir))
	if message && r.short == nil {
		r.kept++
	}
}

// maxRaw bounds what of a recording is held as it came. In what comes later, a
// secret that is split over frames is found only where its beginning stands.
const maxRaw = 16 << 20

// hold keeps a line as it came, in memory alone: secrets that are split over
// lines can be told once all have come.
func (r *Recorder) hold(f Frame, line []byte) {
	if len(r.raw)+len(line) > maxRaw || len(line) == 0 {
		return
	}
	if mcpwire.IsObject(line) && json.Valid(line) {
		f.Frame = line
	} else {
		f.Text = strings.ToValidUTF8(string(line), "�")
	}
	r.raw = append(r.raw, f.encode()...)
}

// textOf is the text that a source says line by line, which a secret may go
// through.
func (r *Recorder) textOf(of source) *redact.Lines {
	if r.texts[of] == nil {
		r.texts[of] = r.secrets.Lines()
	}
	return r.texts[of]
}

// write adds a line. One that cannot be written ends the tape: a request that is
// missing would make another conversation of what comes after it.
func (r *Recorder) write(b []byte) {
	r.short = r.lines.Append(b)
}

// Stop ends the recording, which gets its name by [Recorder.Close] only. The
// error says why there will be no tape.
func (r *Recorder) Stop() error {
	r.mu.Lock()
	r.closed = true
	r.change.Signal()
	r.mu.Unlock()
	<-r.done
	if r.err == nil && r.short == nil && r.kept == 0 {
		return fmt.Errorf("tape %q is not written: no message was recorded", r.path)
	}
	r.scan.Do(r.scanWhole)
	switch {
	case r.err != nil || r.kept == 0:
		return fmt.Errorf("tape %q is not written: %w", r.path, cmp.Or(r.err, r.short))
	case r.secret != nil:
		return r.setAside(r.secret)
	case r.short != nil:
		return r.keepShort()
	}
	if err := r.spoils(); err != nil {
		return r.setAside(err)
	}
	return nil
}

// scanWhole looks at the bytes of the tape together: what stood in a line
// before it was known for a secret, and what is spread over lines.
func (r *Recorder) scanWhole() {
	if r.err != nil {
		return
	}
	data, err := plainfile.Read(r.file.Name(), plainfile.MaxRecording)
	if err != nil {
		r.err = err
		return
	}
	r.secrets.Split(r.raw)
	r.raw = nil
	if whole := r.secrets.Records(data); !bytes.Equal(whole, data) {
		if r.err = r.rewrite(whole); r.err != nil {
			return
		}
		data = whole
	}
	if f := certain(r.secrets.Scan(data)); f != nil && r.secret == nil {
		r.secret = fmt.Errorf("it still contains what looks like a secret: %s; if it is not a secret, keep it with --keep NAME (in rehearse.yaml: redact.keep)", f)
	}
	if r.doubts > 0 {
		r.logf("tape %q: texts that look random were written unchanged, since no rule knows them as secrets: %d; check the first: %s", r.path, r.doubts, r.doubt)
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
// written, or nothing went by, an older tape of that name stays; what came before
// is in NAME.cut.tape.
func (r *Recorder) Close() error {
	part, err := r.Stage()
	if err == nil && part != "" {
		if err = os.Rename(part, r.path); err == nil {
			err = recfile.Sync(filepath.Dir(r.path))
		} else {
			err = r.stay(err)
		}
		if err != nil {
			err = fmt.Errorf("tape %q is not written: %w", r.path, err)
		}
	}
	return errors.Join(err, r.Discard())
}

// lines are the lines of a session by who says them.
type lines struct{ in, out, err *mcpwire.Lines }

// session begins a session. end notes how it ended.
func (r *Recorder) session() (l lines, end func(how string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.sessions
	r.sessions++
	of := func(dir Dir) *mcpwire.Lines {
		return &mcpwire.Lines{Each: func(line []byte) { r.keep(dir, n, line) }}
	}
	return lines{of(In), of(Out), of(Err)}, func(how string) { r.keep(End, n, []byte(how)) }
}

// Wrap records a connection, which becomes a session of the tape: what is read
// from it is the server's. It closes inner when it is closed.
func (r *Recorder) Wrap(inner io.ReadWriteCloser) io.ReadWriteCloser {
	l, end := r.session()
	var t *mcpwire.Tap
	t = mcpwire.NewTap(inner, l.in, l.out, func() {
		l.out.Flush()
		end(t.Ending())
	})
	return t
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
	rules := redact.Rules{}
	if o.Secrets != nil {
		rules = *o.Secrets
	}
	rules.Literals = slices.Concat(rules.Literals, redact.ServerSecrets(nil, os.Environ(), command))
	o.Secrets = &rules
	rec, err := NewRecorder(path, &o)
	if err != nil {
		return 0, err
	}
	l, end := rec.session()
	var left atomic.Bool // the client has
	server, err := mcpwire.Start(mcpwire.Command{
		Args: command, AllEnv: true, Grace: time.Second, Abort: o.Abort,
		Stderr: io.MultiWriter(l.err, stdio.Err),
	})
	if err != nil {
		_ = rec.Close() // there is nothing in it
		return 0, err
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	go func() {
		_, _ = io.Copy(io.MultiWriter(l.in, server), stdio.In)
		left.Store(true)
		l.in.Flush()
		server.CloseWrite()
	}()
	_, err = io.Copy(io.MultiWriter(l.out, stdio.Out), server)
	if err != nil && ctx.Err() == nil { // the client is gone
		left.Store(true)
		server.Close()
	}
	l.out.Flush()
	<-server.Exited()
	how := server.Ending()
	l.err.Flush()
	if !left.Load() && ctx.Err() == nil {
		end(how)
	}
	server.Close()
	return server.ExitCode(), rec.Close()
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
