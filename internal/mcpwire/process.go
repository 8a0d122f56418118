// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpwire

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/prose"
)

// Command says how to start a server as a child process.
type Command struct {
	Args []string // the program and its arguments
	Env  []string // KEY=value, beside the variables that every program needs
	// PassEnv names further variables of our environment to hand on.
	PassEnv []string
	// Bare says that Env is the whole environment.
	Bare bool
	// AllEnv hands on the whole of it, for a program that stands around a
	// server and is to make no difference.
	AllEnv bool
	// Stderr gets what the child writes to its stderr, as it comes. Nil keeps
	// the end of it only.
	Stderr io.Writer
	// Dir is the working directory; empty means ours.
	Dir string
	// Grace is how long Close waits for the child to end after its input was
	// closed, and again after the signal to terminate. Default 2 s.
	Grace time.Duration
	// Abort, once closed, has the child killed at once with all that it
	// started. Nil never does.
	Abort <-chan struct{}
}

// stderrKept bounds how much of a child's stderr is kept: its end.
const stderrKept = 16 << 10

// Process is a child process whose stdin and stdout carry messages. It has a
// process group of its own, which is killed when the child ends: a launcher
// such as npx leaves its real server behind otherwise. On Linux what has left
// the group is killed too, as long as it kept its environment: the child gets
// a variable that marks it and all that it starts. There the child is also killed
// when this process is, though not what the child has started.
//
// The streams of a child end with it. A process that it left behind may hold
// them open, and would keep everybody waiting.
type Process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *outlet
	grace  time.Duration

	stderr     tail
	stderrDone chan struct{} // closed when the child's stderr has ended
	ended      chan struct{} // closed when the child has ended
	exited     chan struct{} // closed when what it left behind has ended too
	closeOnce  sync.Once
}

// Start starts a child process. Its environment is [CleanEnv] of c.PassEnv
// with c.Env: what else we have in ours, keys of model endpoints included, is
// none of a tool server's business.
func Start(c Command) (*Process, error) {
	if len(c.Args) == 0 || c.Args[0] == "" {
		return nil, errors.New("no command to start")
	}
	grace := c.Grace
	if grace <= 0 {
		grace = 2 * time.Second
	}
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Env = append(CleanEnv(c.PassEnv), c.Env...)
	switch {
	case c.AllEnv:
		cmd.Env = append(os.Environ(), c.Env...)
	case c.Bare:
		cmd.Env = append(slices.Clone(c.Env), marks()...)
	}
	cmd.Dir = c.Dir
	ownGroup(cmd)
	var mark string
	if !c.AllEnv {
		mark = markPrefix + rand.Text()
		cmd.Env = append(cmd.Env, mark+"=1")
	}

	// Pipes of our own, not StdoutPipe: Wait would close those while the last
	// answer is still in them.
	var files []*os.File
	pipe := func() (r, w *os.File, err error) {
		r, w, err = os.Pipe()
		if err == nil {
			files = append(files, r, w)
		}
		return r, w, err
	}
	inR, inW, err1 := pipe()
	outR, outW, err2 := pipe()
	errR, errW, err3 := pipe()
	err := errors.Join(err1, err2, err3)
	if err == nil {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, errW
	}
	var wait func() error
	if err == nil {
		wait, err = StartBound(cmd)
	}
	if err != nil {
		for _, f := range files {
			f.Close()
		}
		return nil, fmt.Errorf("starting %q: %w", prose.Shorten(c.Args[0], 300), err) // an argument may be a secret
	}
	inR.Close()
	outW.Close()
	errW.Close()

	p := &Process{
		cmd: cmd, stdin: inW, stdout: newOutlet(outR), grace: grace,
		stderrDone: make(chan struct{}), ended: make(chan struct{}), exited: make(chan struct{}),
	}
	stderr := newOutlet(errR)
	go func() {
		defer close(p.stderrDone)
		defer errR.Close()
		p.stderr.fill(stderr, c.Stderr)
	}()
	go func() {
		defer close(p.exited)
		_ = wait() // the state is read from cmd.ProcessState
		close(p.ended)
		killGroup(cmd)
		endMarked(mark)
		p.stdout.end()
		stderr.end()
	}()
	if c.Abort != nil {
		go func() {
			select {
			case <-c.Abort:
				killGroup(cmd)
			case <-p.exited:
			}
		}()
	}
	return p, nil
}

// StartBound starts a child that does not outlive this process on Linux, even when
// that is killed, and returns what waits for it, in place of cmd.Wait. The system
// kills the child when the thread ends that started it, so that this one waits.
func StartBound(cmd *exec.Cmd) (wait func() error, err error) {
	endWithUs(cmd)
	started, ended := make(chan error), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			ended <- cmd.Wait()
		}
	}()
	return func() error { return <-ended }, <-started
}

// markPrefix begins the name of the variable that marks a child.
const markPrefix = "REHEARSE_PROCESS_"

// outlet is a stream that a child writes to. It ends with the child, after all
// that the child wrote.
type outlet struct {
	file *os.File
	left int // bytes that are read after the end of the child at most
}

// latestBytes is more than a pipe holds.
const latestBytes = 2 << 20

func newOutlet(f *os.File) *outlet { return &outlet{file: f, left: latestBytes} }

// end tells that the child has ended: what it wrote is in the pipe, and nothing
// more is waited for.
func (o *outlet) end() {
	if err := o.file.SetReadDeadline(time.Unix(1, 0)); err != nil {
		_ = o.file.Close() // where a pipe cannot be read without waiting
	}
}

func (o *outlet) Read(b []byte) (int, error) {
	n, err := o.file.Read(b)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	if o.left <= 0 {
		return 0, io.EOF // somebody else goes on writing
	}
	n, err = readNow(o.file, b[:min(len(b), o.left)])
	o.left -= n
	return n, err
}

func (o *outlet) Close() error { return o.file.Close() }

// Read reads from the child's stdout.
func (p *Process) Read(b []byte) (int, error) { return p.stdout.Read(b) }

// Write writes to the child's stdin.
func (p *Process) Write(b []byte) (int, error) { return p.stdin.Write(b) }

// CloseWrite ends the child's stdin and leaves the rest open.
func (p *Process) CloseWrite() error { return p.stdin.Close() }

// ExitCode is what the child ended with, 128 and the signal where it was one.
// Call it after [Process.Exited] is closed.
func (p *Process) ExitCode() int { return ExitCode(p.cmd.ProcessState) }

// ExitCode is what a process ended with, 128 and the signal where it was one, as
// shells have it.
func ExitCode(s *os.ProcessState) int {
	code := s.ExitCode()
	if code < 0 {
		code = 128 + signalOf(s)
	}
	return code
}

// ProcessConn is a connection that may lead to a process, and knows what is known
// of it beyond its messages: a [Process], or what wraps one.
type ProcessConn interface {
	io.ReadWriteCloser
	Ending() string // how it ended; "" when it has not, or is none
	Stderr() string // the end of what it wrote there
}

// Exited is closed when the child has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Ending describes how the child ended: "exit status 3". It waits at most a
// grace period for the end, and returns "" when the child is still running.
// Call it after stdout has ended, to say why.
func (p *Process) Ending() string {
	t := time.NewTimer(p.grace)
	defer t.Stop()
	select {
	case <-p.ended:
	case <-t.C:
		return ""
	}
	select {
	case <-p.stderrDone:
	case <-t.C:
	}
	return p.cmd.ProcessState.String()
}

// Stderr returns the end of what the child wrote to its stderr.
func (p *Process) Stderr() string { return p.stderr.String() }

// Terminate tells the child to end, with all of its group: one that does not look
// at its stdin. [Process.Close] waits for it.
func (p *Process) Terminate() {
	select {
	case <-p.ended:
	default:
		terminateGroup(p.cmd)
	}
}

// Close closes the child's stdin, waits for it to end, tells it to terminate
// when it does not, and kills it when it still does not. When Close returns,
// the child has ended and what it left behind has been killed, see [Process].
func (p *Process) Close() error {
	p.closeOnce.Do(func() {
		p.stdin.Close()
		if !p.wait() {
			terminateGroup(p.cmd)
			if !p.wait() {
				killGroup(p.cmd)
				<-p.exited
			}
		}
		p.stdout.Close()
		<-p.stderrDone
	})
	return nil
}

func (p *Process) wait() bool {
	t := time.NewTimer(p.grace)
	defer t.Stop()
	select {
	case <-p.exited:
		return true
	case <-t.C:
		return false
	}
}

// CleanEnv returns the variables of our environment that every program needs
// and those named in pass.
func CleanEnv(pass []string) []string {
	names := []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "TZ", "TMPDIR",
		// Windows:
		"APPDATA", "LOCALAPPDATA", "USERPROFILE", "SYSTEMROOT", "SYSTEMDRIVE", "TEMP", "TMP", "PATHEXT", "COMSPEC", "PROGRAMFILES",
	}
	var env []string
	for _, name := range append(names, pass...) {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return append(env, marks()...)
}

// marks are those of whoever started us.
func marks() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return !strings.HasPrefix(v, markPrefix) })
}

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex // guards buf
	buf []byte
}

func (t *tail) fill(r io.Reader, also io.Writer) {
	chunk := make([]byte, 4096)
	for {
		n, err := r.Read(chunk)
		if also != nil && n > 0 {
			_, _ = also.Write(chunk[:n]) // the child must not wait for it
		}
		t.mu.Lock()
		t.buf = append(t.buf, chunk[:n]...)
		if cut := len(t.buf) - stderrKept; cut > 0 {
			t.buf = append(t.buf[:0], t.buf[cut:]...)
		}
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(strings.TrimSpace(string(t.buf)), "�")
}
