// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// before puts the mutation between the agent and a server.
func (m mutant) before(t *testing.T, server harness.Server) harness.Server {
	dial := server.Dial
	if dial == nil && server.Command != nil {
		dial = func(context.Context) (io.ReadWriteCloser, error) {
			return mcpwire.Start(mcpwire.Command{Args: server.Command, Env: server.Env, Grace: 50 * time.Millisecond})
		}
	}
	switch {
	case m.child != nil && server.Command != nil:
		return harness.Server{Name: server.Name, Dial: func(context.Context) (io.ReadWriteCloser, error) { return m.child(t, server) }}
	case m.line != nil && dial != nil:
		return harness.Server{Name: server.Name, Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
			conn, err := dial(ctx)
			if err != nil {
				return nil, err
			}
			return newMITM(t, conn, m.line), nil
		}}
	case m.web != nil && server.URL != "":
		target, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		base := &http.Transport{}
		proxy := httptest.NewServer(&httputil.ReverseProxy{
			Rewrite:       func(r *httputil.ProxyRequest) { r.Out.URL, r.Out.Host = target, target.Host },
			Transport:     m.web(base),
			FlushInterval: -1,
			ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		})
		t.Cleanup(func() {
			proxy.CloseClientConnections()
			proxy.Close()
			base.CloseIdleConnections()
		})
		return harness.Server{Name: server.Name, URL: proxy.URL, Transport: server.Transport}
	}
	return server
}

// mitm stands between a client and a server that speak in lines.
type mitm struct {
	conn     io.ReadWriteCloser // to the server
	toClient *io.PipeWriter
	client   *io.PipeReader
	edit     func(c *mitm, line string, fromClient bool) []string

	mu    sync.Mutex // guards what is written to the server
	rest  []byte     // of a line of the client
	dead  bool       // the connection is to be ended
	count int
}

func newMITM(t *testing.T, conn io.ReadWriteCloser, edit func(*mitm, string, bool) []string) *mitm {
	c := &mitm{conn: conn, edit: edit}
	c.client, c.toClient = io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer c.toClient.Close()
		r := bufio.NewReader(conn)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			lines := c.edit(c, strings.TrimSuffix(line, "\n"), false)
			if lines == nil {
				conn.Close()
				return
			}
			for _, l := range lines {
				if _, err := io.WriteString(c.toClient, l+"\n"); err != nil {
					return
				}
			}
		}
	}()
	t.Cleanup(func() {
		c.Close()
		<-done
	})
	return c
}

func (c *mitm) Read(p []byte) (int, error) { return c.client.Read(p) }

func (c *mitm) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rest = append(c.rest, p...)
	for {
		line, rest, ok := bytes.Cut(c.rest, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		c.rest = bytes.Clone(rest)
		lines := c.edit(c, string(line), true)
		if lines == nil {
			c.dead = true
			c.toClient.Close()
			c.conn.Close()
		}
		if c.dead {
			return 0, io.ErrClosedPipe
		}
		for _, l := range lines {
			if _, err := io.WriteString(c.conn, l+"\n"); err != nil {
				return 0, err
			}
		}
	}
}

func (c *mitm) Close() error {
	c.client.Close()
	return c.conn.Close()
}

// send writes a line to the server that the client has not written.
func (c *mitm) send(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = io.WriteString(c.conn, line+"\n")
}

func strip(old, text string) func(*mitm, string, bool) []string {
	return func(_ *mitm, line string, _ bool) []string { return []string{strings.ReplaceAll(line, old, text)} }
}

// dropList makes a list empty that has a tool.
func dropList(tool string) func(*mitm, string, bool) []string {
	return func(_ *mitm, line string, fromClient bool) []string {
		if i := strings.Index(line, `"tools":[`); !fromClient && i >= 0 && strings.Contains(line, tool) {
			end := strings.LastIndex(line, "]")
			line = line[:i] + `"tools":[` + line[end:]
		}
		return []string{line}
	}
}

// storm answers the first list_changed by lists without end, whose answers it
// keeps.
func storm(c *mitm, line string, fromClient bool) []string {
	switch {
	case fromClient:
	case strings.Contains(line, "list_changed") && c.count == 0 && !strings.Contains(line, `"result"`):
		c.count++
		meta := ""
		if strings.Contains(line, "subscriptionId") {
			meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
		}
		list := `{"jsonrpc":"2.0","id":"storm","method":"tools/list","params":{` + meta + `}}`
		c.send(strings.TrimSuffix(strings.Repeat(list+"\n", 20), "\n"))
	case strings.Contains(line, `"id":"storm"`):
		return []string{}
	}
	return []string{line}
}

// killToCancel ends the server where the client would cancel.
func killToCancel(_ *mitm, line string, fromClient bool) []string {
	if fromClient && strings.Contains(line, "notifications/cancelled") {
		return nil
	}
	return []string{line}
}

// fragile ends the connection at the first line of the server that is no JSON.
func fragile(_ *mitm, line string, fromClient bool) []string {
	if !fromClient && !strings.HasPrefix(line, "{") {
		return nil
	}
	return []string{line}
}

// noFallback never says initialize.
func noFallback(_ *mitm, line string, fromClient bool) []string {
	if fromClient && strings.Contains(line, `"initialize"`) {
		return nil
	}
	return []string{line}
}

// neverAgain refuses to open a session after one was lost.
func neverAgain(next http.RoundTripper) http.RoundTripper {
	var mu sync.Mutex
	lost := false
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		if lost && r.Header.Get("Mcp-Session-Id") == "" {
			return nil, errors.New("the session is lost")
		}
		res, err := next.RoundTrip(r)
		lost = lost || err == nil && res.StatusCode == http.StatusNotFound
		return res, err
	})
}

// again makes a call once more when it got no answer.
func again(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodPost {
			return next.RoundTrip(r)
		}
		sent, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		for attempt := 1; ; attempt++ {
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(sent)), int64(len(sent))
			res, err := next.RoundTrip(r)
			if err == nil && bytes.Contains(sent, []byte("tools/call")) {
				var got []byte
				got, err = io.ReadAll(res.Body)
				res.Body = io.NopCloser(bytes.NewReader(got))
				if len(bytes.TrimSpace(got)) == 0 && err == nil {
					err = io.ErrUnexpectedEOF
				}
			}
			if err == nil || attempt == 2 {
				return res, err
			}
		}
	})
}

// loose is a process with nothing but its two ends.
type loose struct {
	io.Reader
	io.WriteCloser
}

// startDeaf starts a process whose stderr is never read.
func startDeaf(t *testing.T, server harness.Server) (io.ReadWriteCloser, error) {
	return startPlain(t, server, true)
}

// startLoose starts a process that is not waited for.
func startLoose(t *testing.T, server harness.Server) (io.ReadWriteCloser, error) {
	return startPlain(t, server, false)
}

func startPlain(t *testing.T, server harness.Server, stderr bool) (io.ReadWriteCloser, error) {
	cmd := exec.Command(server.Command[0], server.Command[1:]...)
	cmd.Env = append(mcpwire.CleanEnv(nil), server.Env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if stderr {
		if _, err := cmd.StderrPipe(); err != nil {
			return nil, err
		}
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return loose{out, in}, nil
}

// startTwice starts the process again when it ends in a call, and makes the
// call once more.
func startTwice(t *testing.T, server harness.Server) (io.ReadWriteCloser, error) {
	start := func() (io.ReadWriteCloser, error) {
		return mcpwire.Start(mcpwire.Command{Args: server.Command, Env: server.Env, Grace: 50 * time.Millisecond})
	}
	conn, err := start()
	if err != nil {
		return nil, err
	}
	s := &stubborn{conn: conn, start: start}
	t.Cleanup(func() { s.Close() })
	return s, nil
}

// stubborn repeats the last thing it wrote when the process is gone, once.
type stubborn struct {
	start func() (io.ReadWriteCloser, error)

	mu   sync.Mutex // guards what follows
	conn io.ReadWriteCloser
	last []byte
	old  []io.Closer
}

func (s *stubborn) now() io.ReadWriteCloser {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn
}

func (s *stubborn) Read(p []byte) (int, error) {
	n, err := s.now().Read(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil || !bytes.Contains(s.last, []byte("tools/call")) || s.old != nil {
		return n, err
	}
	conn, startErr := s.start()
	if startErr != nil {
		return n, err
	}
	s.old, s.conn = append(s.old, s.conn), conn
	if _, err := conn.Write(s.last); err != nil {
		return n, err
	}
	if n > 0 {
		return n, nil
	}
	return conn.Read(p)
}

func (s *stubborn) Write(p []byte) (int, error) {
	s.mu.Lock()
	s.last = bytes.Clone(p)
	conn := s.conn
	s.mu.Unlock()
	return conn.Write(p)
}

func (s *stubborn) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.old {
		c.Close()
	}
	return s.conn.Close()
}
