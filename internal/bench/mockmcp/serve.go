// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/rehearse-dev/rehearse/mockmcp"
)

// The servers.
const (
	bare = "mcp-go"
	mock = "mock"
	// before precedes the path of another build of this program, whose mock it is.
	before = "mock before: "
)

// The tool that both have.
const (
	tool   = "get_weather"
	schema = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`
	said   = "Sunny in "
)

// newBare is the library, which checks arguments as the mock does.
func newBare() *server.MCPServer {
	s := server.NewMCPServer("weather", "1.0.0", server.WithToolCapabilities(false), server.WithInputSchemaValidation())
	s.AddTool(mcp.NewToolWithRawSchema(tool, "Tells the weather.", json.RawMessage(schema)), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		city, err := r.RequireString("city")
		if err != nil {
			return nil, err
		}
		return mcp.NewToolResultText(said + city), nil
	})
	return s
}

func newMock() (*mockmcp.Server, error) {
	return mockmcp.New(mockmcp.Script{Name: "weather", Tools: []mockmcp.Tool{{
		Name: tool, Description: "Tells the weather.", Input: json.RawMessage(schema),
		Results: []mockmcp.Result{{Answer: func(c *mockmcp.Call) (*mockmcp.Answer, error) {
			var args struct{ City string }
			if err := json.Unmarshal(c.Args, &args); err != nil {
				return nil, err
			}
			return &mockmcp.Answer{Text: said + args.City}, nil
		}}},
	}}}, nil)
}

// serveStdio is what a child process does until its input ends.
func serveStdio(kind string, stdin io.Reader, stdout io.Writer) error {
	if kind == bare {
		return server.NewStdioServer(newBare()).Listen(context.Background(), stdin, stdout)
	}
	s, err := newMock()
	if err != nil {
		return err
	}
	defer s.Close()
	return s.ServeStdio(context.Background(), stdin, stdout)
}

// serveHTTP is the same over HTTP. It says its address first.
func serveHTTP(kind string, stdin io.Reader, stdout io.Writer) error {
	var handler http.Handler = server.NewStreamableHTTPServer(newBare(),
		server.WithStateful(true), server.WithStreamableHTTPLogger(slog.New(slog.DiscardHandler)))
	if kind == mock {
		s, err := newMock()
		if err != nil {
			return err
		}
		defer s.Close()
		handler = s.Handler()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, l.Addr())
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() {
		_, _ = io.Copy(io.Discard, stdin) // ends with the parent
		srv.Close()
	}()
	if err := srv.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// pipe serves one session in this process.
func pipe(kind string) (io.ReadWriteCloser, error) {
	if kind == mock {
		s, err := newMock()
		if err != nil {
			return nil, err
		}
		conn, err := s.Dial(context.Background())
		return both{conn, conn, func() error { return s.Close() }}, err
	}
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.NewStdioServer(newBare()).Listen(ctx, in, out) // ends with the pipe
	}()
	return both{fromServer, toServer, func() error {
		cancel()
		toServer.Close()
		fromServer.Close()
		<-done
		return nil
	}}, nil
}

// both is two streams and what ends them.
type both struct {
	io.Reader
	io.Writer
	close func() error
}

func (b both) Close() error { return b.close() }
