// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpwire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/redirect"
)

var (
	// ErrUnusable marks answers that cannot be used.
	ErrUnusable = errors.New("unusable answer")
	// ErrClosed says that a connection has ended.
	ErrClosed = errors.New("transport closed")
)

// DialOptions are settings of [Dial].
type DialOptions struct {
	// PassEnv, AllEnv, Stderr, Grace and Abort are those of [Command].
	PassEnv []string
	AllEnv  bool
	Stderr  io.Writer
	Grace   time.Duration
	Abort   <-chan struct{}
	// DialContext opens the connection of a WebSocket. Nil means the network's.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
	// Note takes a line for what is odd and does no harm. Nil drops it.
	Note func(format string, args ...any)
}

// Reachable says what is wrong with how a server is to be reached; nil for nothing.
func Reachable(server harness.Server) error {
	transports := []string{"http", "sse", "ws"}
	switch {
	case server.Dial != nil:
	case server.URL == "" && len(server.Command) == 0:
		return errors.New("nothing says how it is reached: want a URL, a Command or Dial")
	case server.URL != "" && server.Transport != "" && !slices.Contains(transports, server.Transport):
		return fmt.Errorf("transport %q is not known: want %s%s", server.Transport, prose.Or(transports), prose.DidYouMean(server.Transport, transports))
	}
	return nil
}

// IsSocket reports whether a server is reached over a WebSocket.
func IsSocket(server harness.Server) bool {
	scheme, _, _ := strings.Cut(server.URL, ":")
	return server.Transport == "ws" || server.Transport == "" && (scheme == "ws" || scheme == "wss")
}

// Dial opens a pipe of messages to a server that has one: its own, that of a
// child process, or a WebSocket.
func Dial(ctx context.Context, server harness.Server, opts DialOptions) (io.ReadWriteCloser, error) {
	switch {
	case server.Dial != nil:
		return server.Dial(ctx)
	case server.URL == "":
		return Start(Command{
			Args: server.Command, Env: server.Env, Dir: server.Dir, PassEnv: opts.PassEnv, AllEnv: opts.AllEnv, Stderr: opts.Stderr, Grace: opts.Grace, Abort: opts.Abort,
		})
	}
	header := http.Header{}
	for k, v := range server.Headers {
		header.Set(k, v)
	}
	ws, resp, err := websocket.Dial(ctx, server.URL, &websocket.DialOptions{
		HTTPClient: NewHTTPClient(opts.DialContext), HTTPHeader: header, Subprotocols: []string{Subprotocol},
	})
	switch {
	case err != nil && resp != nil && resp.StatusCode != http.StatusSwitchingProtocols:
		return nil, NewStatusError(resp)
	case err != nil:
		return nil, InURL(err)
	case ws.Subprotocol() != Subprotocol && opts.Note != nil:
		opts.Note("accepted the WebSocket but not its subprotocol %q", Subprotocol)
	}
	return NewSocket(ws), nil
}

// RedirectError says why a redirect is not followed.
type RedirectError struct{ Reason string }

func (e *RedirectError) Error() string { return e.Reason }

// NewHTTPClient returns a client with connections of its own, opened by dial,
// which follows redirects that keep the message, to the same server: another one,
// also on another port, gets neither the message nor the keys in its headers.
func NewHTTPClient(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Client {
	return &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, DialContext: dial},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			const hint = "if that is the server, give its URL"
			from, to := via[0].URL, r.URL
			switch {
			case r.Method != via[0].Method:
				return &RedirectError{fmt.Sprintf("it redirects to %s with HTTP %d, which drops the message: %s", prose.AddressOf(to), r.Response.StatusCode, hint)}
			case !redirect.Same(from, to) && !redirect.Secured(from, to):
				return &RedirectError{fmt.Sprintf("it redirects to %s, another server, which gets nothing that is meant for this one: %s", prose.AddressOf(to), hint)}
			case len(via) >= 10:
				return &RedirectError{"it redirects endlessly"}
			}
			return nil
		},
	}
}

// InURL is the error within one of [http.Client]: the caller says what was
// being done, and the URL may hold a secret.
func InURL(err error) error {
	var in *url.Error
	if errors.As(err, &in) {
		return in.Err
	}
	return err
}

// StatusError is an HTTP answer that is none of MCP.
type StatusError struct {
	Code int
	Auth string // the WWW-Authenticate header
	Body []byte // its beginning
	Hint string
}

func (e *StatusError) Error() string {
	s := fmt.Sprintf("HTTP %d %s", e.Code, http.StatusText(e.Code))
	if e.Auth != "" {
		s += fmt.Sprintf(" (it requires authorization: %s)", e.Auth)
	}
	if text := prose.Excerpt(bytes.TrimSpace(e.Body), 500); text != "" {
		s += ": " + text
	}
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Message is the JSON-RPC error that the body is, if it is one.
func (e *StatusError) Message() (m Message, ok bool) {
	m, err := Parse(e.Body)
	return m, err == nil && m.Error != nil
}

// NewStatusError reads what is worth quoting of an answer.
func NewStatusError(resp *http.Response) *StatusError {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // what can be read
	return &StatusError{
		Code: resp.StatusCode,
		Auth: prose.Excerpt(resp.Header.Get("WWW-Authenticate"), 300),
		Body: bytes.TrimPrefix(body, []byte("\ufeff")), // some servers begin with a byte order mark
	}
}
