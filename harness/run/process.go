// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/conduct"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// processes are the child processes of one server in a trial: the one that the
// subject starts, and those that it starts when that has ended.
type processes struct {
	server string
	// speak has the server speak through a child until either has ended.
	speak    func(context.Context, *process) error
	listener net.Listener
	token    string
	logf     func(string, ...any)
	serving  sync.WaitGroup

	mu       sync.Mutex // guards what follows
	closed   bool
	children []*process
}

// process is one child process, as its server sees it.
type process struct {
	conn  net.Conn
	out   *messages
	pid   int
	stdin *io.PipeReader
	gone  chan struct{} // closed when the process has ended
}

// startProcesses waits for the children of a server.
func startProcesses(name string, speak func(context.Context, *process) error, logf func(string, ...any)) (*processes, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &processes{server: name, speak: speak, listener: l, token: rand.Text(), logf: logf}
	p.serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			p.serving.Go(func() { p.serve(conn) })
		}
	})
	return p, nil
}

// reach is how a subject starts a child.
func (p *processes) reach(command []string) harness.Server {
	return harness.Server{Name: p.server, Command: command, Env: []string{childVariable + "=" + p.listener.Addr().String() + " " + p.token}}
}

// serve has the server speak through a child.
func (p *processes) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	kind, hello, err := readMessage(in)
	token, pid, _ := strings.Cut(string(hello), " ")
	if err != nil || kind != msgHello || subtle.ConstantTimeCompare([]byte(token), []byte(p.token)) != 1 {
		return // no child of ours
	}
	_ = conn.SetReadDeadline(time.Time{})
	r, w := io.Pipe()
	child := &process{conn: conn, out: &messages{w: conn}, stdin: r, gone: make(chan struct{})}
	child.pid, _ = strconv.Atoi(pid)
	if !p.add(child) {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p.serving.Go(func() {
		defer close(child.gone)
		defer cancel()
		child.receive(in, w)
	})
	if err := p.speak(ctx, child); err != nil && ctx.Err() == nil {
		p.logf("server %q, process %d: %v", p.server, child.pid, err)
	}
	_ = r.Close() // nobody reads any more
	child.Exit(0) // what ended otherwise has ended already
	<-child.gone
}

func (p *processes) add(child *process) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.children = append(p.children, child)
	return true
}

// ended says which children are gone, and waits a little for the last of them.
func (p *processes) ended(grace time.Duration) []conduct.Child {
	p.mu.Lock()
	children := p.children
	p.mu.Unlock()
	late := time.NewTimer(grace)
	defer late.Stop()
	var out []conduct.Child
	for _, child := range children {
		ended := true
		select {
		case <-child.gone:
		default:
			select {
			case <-child.gone:
			case <-late.C:
				ended = false
				late.Reset(0) // no more patience with the others
			}
		}
		out = append(out, conduct.Child{Server: p.server, PID: child.pid, Ended: ended})
	}
	return out
}

// kill ends the children that there are, at once.
func (p *processes) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, child := range p.children {
		_ = child.conn.Close() // the process exits then, whatever it was told to ignore
	}
}

// close ends what is left of the children.
func (p *processes) close() error {
	p.mu.Lock()
	p.closed = true
	children := p.children
	p.mu.Unlock()
	err := p.listener.Close()
	for _, child := range children {
		_ = child.conn.Close() // the process exits then, whatever it was told to ignore
	}
	p.serving.Wait()
	return err
}

// receive takes what comes from the child until it has ended.
func (c *process) receive(in io.Reader, stdin *io.PipeWriter) {
	defer stdin.Close()
	for {
		kind, body, err := readMessage(in)
		if err != nil {
			return
		}
		switch kind {
		case msgStdin:
			if _, err := stdin.Write(body); err != nil {
				continue // nobody reads any more, but the end is still to come
			}
		case msgStdinEnd:
			_ = stdin.Close()
		}
	}
}

var _ mockmcp.Process = (*process)(nil)

func (c *process) Read(b []byte) (int, error) { return c.stdin.Read(b) }

func (c *process) Write(b []byte) (int, error) {
	if err := c.out.write(msgStdout, b); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (c *process) Stderr() io.Writer { return stderrOf{c} }

type stderrOf struct{ c *process }

func (s stderrOf) Write(b []byte) (int, error) {
	if err := s.c.out.write(msgStderr, b); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (c *process) CloseStdin() error {
	_ = c.stdin.Close()
	return c.out.write(msgCloseIn, nil)
}

func (c *process) CloseStdout() error { return c.out.write(msgCloseOut, nil) }

func (c *process) Exit(code int) {
	_ = c.out.write(msgExit, fmt.Append(nil, code)) // it has ended where that fails
}

func (c *process) IgnoreEOF() { _ = c.out.write(msgIgnoreEOF, nil) }

// through has a real server speak through a child: what dial opens is its pipe.
func through(dial func(context.Context) (io.ReadWriteCloser, error)) func(context.Context, *process) error {
	return func(ctx context.Context, c *process) error {
		pipe, err := dial(ctx)
		if err != nil {
			_, _ = c.Stderr().Write([]byte(err.Error() + "\n")) // the trial logs it too
			c.Exit(1)
			return err
		}
		var said sync.WaitGroup
		said.Go(func() {
			_, _ = io.Copy(c, pipe) // until the server has ended, or nobody hears it
			_ = c.CloseStdout()
			_ = c.stdin.Close() // no more is sent to it
		})
		_, _ = io.Copy(pipe, c)
		err = pipe.Close()
		said.Wait()
		return err
	}
}
