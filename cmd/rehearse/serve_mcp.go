// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/mockserver"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// mcpServer is what the flags of `serve mcp` say.
type mcpServer struct {
	http      httpServer
	mock      mockmcp.Options
	transport string
	admin     string // stdio only
}

func serveMCPCommand(p *process) *cobra.Command {
	var s mcpServer
	cmd := &cobra.Command{
		Use:   "mcp [FILE]",
		Short: "Serve a mock MCP server",
		Long: `mcp serves a server file: over streamable HTTP at "url", for clients of all
protocol versions at once, or over another --transport: the older HTTP with SSE, a
WebSocket (subprotocol mcp), or stdio as the child of a client. With stdio the
ready line goes to standard error, since standard output belongs to MCP. Without
FILE, which stdio needs, there are no tools until a file is sent to the admin API.

Tests that run at the same time each use a server of their own, with its state and
its journal: any ID in http://HOST:PORT/t/ID/mcp begins one. With --isolate key the
bearer token is the ID, with --isolate header:NAME a header.

The admin API at "admin", for the server ID below /t/ID/rehearse:
  GET journal         the calls and their results
  GET frames          every message on the wire, in and out, with its time
  GET state           the state; PUT replaces it
  GET state/diff      how the state has changed, as a JSON merge patch
  GET expectations    the number of calls, and the misses
  GET held/CUE        waits until a call is held for that cue
  GET conversations   the conversations that began
  GET health          also at /health
  GET live            the last calls and frames, as the page has them
  GET metrics         for Prometheus
  POST cue/CUE        gives a cue: what is held continues, scripted changes happen
  POST verify         judges an assertion in JSON: passed or not, and why
  POST load           plays another server file, sent as YAML, or refuses all of it;
                      ?name=PATH says which file it was read from
  POST reset          starts over: forgets journal, frames and misses, and restores
                      the state and the tools of the file
  DELETE conversation forgets a conversation
A browser shows the journal at "admin"/ as it grows: the calls with their results,
or why none fits, the frames, and the faults that struck.
The API accepts JSON as application/json and YAML as application/yaml; with
--admin-token it requires that token. A script that is sent reads files below the
folder of FILE, or below --files, and no environment variables. With stdio there is
an admin API only if --admin gives its address.

A hangup signal reloads FILE, and so does --watch when FILE changes; a broken file
leaves the previous one in place. Clients must connect again after a reload. The
mock refuses requests for a foreign host and requests of pages of another origin:
see --allow-host and --cors. The exit code is 1 if a call since the last reset
matched no scripted result.`,
		Example: `  rehearse serve mcp calculator.yaml
  rehearse serve mcp --transport stdio calculator.yaml
  rehearse serve mcp --transport ws --listen 127.0.0.1:8080 --watch 500ms calculator.yaml
  curl http://127.0.0.1:8080/t/my-test/rehearse/verify \
    -H 'Content-Type: application/json' -d '{"calls": [{"add": {"a": 2}}]}'`,
		Args: atMostOneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.check(cmd); err != nil {
				return err
			}
			s.mock.Logf = p.logf
			stderr := p.stderr
			ctx, cancel := s.http.begin(cmd.Context(), p)
			defer cancel()
			if s.transport == "stdio" {
				if len(args) == 0 {
					return errors.New("--transport stdio needs a server file, such as `rehearse serve mcp --transport stdio calculator.yaml`")
				}
				return s.serveStdio(ctx, p, stderr, args)
			}
			return s.serve(ctx, p, args)
		},
	}
	s.flags(cmd)
	return cmd
}

// mcpTransports are those of --transport.
var mcpTransports = [...]string{"http", "stdio", "sse", "ws"}

func (s *mcpServer) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	s.http.flags(f)
	f.StringVar(&s.transport, "transport", "http", "http, stdio, sse or ws")
	f.StringVar(&s.admin, "admin", "", "with stdio: address for the admin API to listen on")
}

func (s *mcpServer) check(cmd *cobra.Command) error {
	known := false
	for _, name := range mcpTransports {
		known = known || name == s.transport
	}
	if !known {
		return fmt.Errorf("--transport %q is not known: want http, stdio, sse or ws%s", s.transport, prose.DidYouMean(s.transport, mcpTransports[:]))
	}
	stdio := s.transport == "stdio"
	ofAdmin := []string{"allow-host", "cors", "admin-token"}
	for _, name := range append(ofAdmin, "listen", "files", "isolate", "tls-cert", "tls-key", "watch") {
		if stdio && cmd.Flags().Changed(name) && (s.admin == "" || !slices.Contains(ofAdmin, name)) {
			return fmt.Errorf("--%s has no effect with --transport stdio", name)
		}
	}
	return checkFlags(cmd, append(s.http.rules(), rule{"admin", stdio || s.admin == "", "--transport stdio beside it"})...)
}

func (s *mcpServer) serve(ctx context.Context, p *process, args []string) error {
	from := newScript(p, args, s.http.files, mcpScript)
	script, err := firstLoad(from.w, from.load)
	if err != nil {
		return err
	}
	token, err := s.http.adminToken()
	if err != nil {
		return err
	}
	server, err := mockserver.NewMCP(script, &mockserver.MCPOptions{
		Mock: s.mock, Transport: s.transport, Gate: s.http.gate(), AdminToken: token, Isolate: s.http.isolation(), Parse: from.parse,
		Grace: s.http.listening.Grace,
	})
	if err != nil {
		return fmt.Errorf("serving %s: %w", from.files(), err)
	}
	return serveHTTP(ctx, &s.http, from, server, func(host string) (url, admin string) {
		scheme := "http"
		if s.transport == "ws" {
			scheme = "ws"
		}
		host = s.http.secure() + "://" + host
		return scheme + host + server.Path(), "http" + host + "/rehearse"
	}, "call")
}

// serveStdio serves one session over the standard streams, and the admin API
// of it over HTTP where --admin says so.
// stderr is what a fault floods, which does wait for a reader.
func (s *mcpServer) serveStdio(ctx context.Context, p *process, stderr io.Writer, args []string) error {
	script, err := newScript(p, args, "", mcpScript).load()
	if err != nil {
		return err
	}
	token, err := s.http.adminToken()
	if err != nil {
		return err
	}
	server, err := mockserver.NewMCP(script, &mockserver.MCPOptions{Mock: s.mock, Gate: s.http.gate(), AdminToken: token})
	if err != nil {
		return fmt.Errorf("serving %s: %w", strings.Join(args, " "), err)
	}
	admin := ""
	var serving sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if s.admin != "" {
		listener, err := net.Listen("tcp", s.admin)
		if err != nil {
			server.Close()
			return fmt.Errorf("listening for the admin API: %w", err)
		}
		admin = "http://" + called(listener.Addr(), s.http.advertise) + "/rehearse"
		serving.Go(func() { _ = server.Serve(ctx, listener, &s.http.listening) }) // a listener of ours that fails is of no interest to MCP
	}
	p.ready(p.stderr, "stdio", admin)
	if admin != "" {
		p.logf("the journal as it grows, in a browser: %s/", admin)
	}
	mock := server.Default()
	err = mock.ServeProcess(ctx, stdioProcess{p, stderr})
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	unscripted := mock.Problems()
	cancel()
	serving.Wait()
	server.Close()
	return ended(err, unscripted, "call")
}

// stdioProcess is this process, which faults end and have outlive its client.
type stdioProcess struct {
	p      *process
	stderr io.Writer
}

func (s stdioProcess) Read(b []byte) (int, error)  { return s.p.stdin.Read(b) }
func (s stdioProcess) Write(b []byte) (int, error) { return unkept(s.p.stdout).Write(b) }
func (s stdioProcess) Stderr() io.Writer           { return s.stderr }
func (s stdioProcess) CloseStdin() error           { return closeStream(s.p.stdin) }
func (s stdioProcess) CloseStdout() error          { return closeStream(s.p.stdout) }

func (s stdioProcess) Exit(code int) {
	if s.p.exit != nil {
		s.p.exit(code)
	}
	_ = closeStream(s.p.stdout) // as it would be at the end
	_ = closeStream(s.p.stdin)
}

func (s stdioProcess) IgnoreEOF() {
	if s.p.stay != nil {
		s.p.stay()
	}
}

func closeStream(stream any) error {
	if c, ok := stream.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
