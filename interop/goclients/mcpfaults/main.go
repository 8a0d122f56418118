// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Command mcpfaults tells what the official Go SDK does with a server that has
// a fault:
//
//	mcpfaults legacy|auto MILLISECONDS URL
//	mcpfaults legacy|auto MILLISECONDS COMMAND ARGUMENT...
//
// Each request has that long. It prints what came of each step as one JSON
// object.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type step struct {
	Step    string   `json:"step"`
	Error   string   `json:"error,omitempty"`
	Code    int64    `json:"code,omitempty"`
	IsError bool     `json:"is_error,omitempty"`
	Text    string   `json:"text,omitempty"`
	Tools   []string `json:"tools,omitempty"`
}

func main() {
	ms, err := strconv.Atoi(os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "mcpfaults:", err)
		os.Exit(2)
	}
	steps := run(os.Args[1], time.Duration(ms)*time.Millisecond, os.Args[3:])
	_ = json.NewEncoder(os.Stdout).Encode(steps)
}

func run(mode string, limit time.Duration, target []string) (steps []step) {
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: target[0]}
	if !strings.HasPrefix(target[0], "http") {
		cmd := exec.Command(target[0], target[1:]...)
		cmd.Stderr = io.Discard
		transport = &mcp.CommandTransport{Command: cmd}
	}
	var options *mcp.ClientSessionOptions
	if mode == "legacy" {
		options = &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "faults", Version: "1.0.0"}, &mcp.ClientOptions{Logger: slog.New(slog.DiscardHandler)})
	var session *mcp.ClientSession
	do := func(name string, f func(context.Context) (step, error)) bool {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		s, err := f(ctx)
		s.Step = name
		if err != nil {
			s.Error = err.Error()
			var rpc *jsonrpc.Error
			if errors.As(err, &rpc) {
				s.Code = rpc.Code
			}
		}
		steps = append(steps, s)
		return err == nil
	}
	if !do("open", func(ctx context.Context) (step, error) {
		var err error
		session, err = client.Connect(ctx, transport, options)
		return step{}, err
	}) {
		return steps
	}
	do("list", func(ctx context.Context) (s step, err error) {
		for tool, err := range session.Tools(ctx, nil) {
			if err != nil {
				return s, err
			}
			if !slices.Contains(s.Tools, tool.Name) {
				s.Tools = append(s.Tools, tool.Name)
			}
		}
		slices.Sort(s.Tools)
		return s, nil
	})
	call := func(name string, args any) bool {
		return do(name, func(ctx context.Context) (step, error) {
			r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
			if err != nil {
				return step{}, err
			}
			s := step{IsError: r.IsError}
			for _, c := range r.Content {
				if t, ok := c.(*mcp.TextContent); ok {
					s.Text += t.Text[:min(len(t.Text), 200)]
				}
			}
			return s, nil
		})
	}
	call("charge", map[string]any{"order": "A-1", "amount": 30})
	call("look", map[string]any{"order": "A-1"})
	closed := make(chan error, 1)
	go func() { closed <- session.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			steps = append(steps, step{Step: "close", Error: err.Error()})
		}
	case <-time.After(10 * time.Second):
		steps = append(steps, step{Step: "close", Error: "hangs"})
	}
	return steps
}
