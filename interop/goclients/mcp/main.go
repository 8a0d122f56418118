// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Command mcp prints what the official Go SDK makes of a mock MCP server:
//
//	mcp auto|legacy URL
//	mcp auto|legacy COMMAND ARGUMENT...
//
// It prints what it saw as one JSON object; anything unexpected is an error.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type seen struct {
	Protocol string   `json:"protocol"`
	Tools    []string `json:"tools"`
	Sum      any      `json:"sum"`
	Work     string   `json:"work"`
	Quiet    string   `json:"quiet"`
	Progress [][3]any `json:"progress"`
	Greet    string   `json:"greet"`
	Grow     string   `json:"grow"`
	Changes  int      `json:"changes"`
	Grown    []string `json:"grown"`
}

func main() {
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "mcp:", err)
		os.Exit(1)
	}
}

func run(mode string, target []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: target[0]}
	if strings.HasSuffix(target[0], "/sse") {
		transport = &mcp.SSEClientTransport{Endpoint: target[0]}
	} else if !strings.HasPrefix(target[0], "http") {
		cmd := exec.Command(target[0], target[1:]...)
		cmd.Stderr = os.Stderr
		transport = &mcp.CommandTransport{Command: cmd}
	}
	var options *mcp.ClientSessionOptions
	if mode == "legacy" {
		options = &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"}
	}
	var mu sync.Mutex // guards s.Progress and s.Changes
	s := seen{Progress: [][3]any{}}
	changed := make(chan struct{}, 10)
	client := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1.0.0"}, &mcp.ClientOptions{
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			mu.Lock()
			s.Changes++
			mu.Unlock()
			changed <- struct{}{}
		},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": r.Params.Message + " Ada"}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			mu.Lock()
			s.Progress = append(s.Progress, [3]any{r.Params.Progress, r.Params.Total, r.Params.Message})
			mu.Unlock()
		},
	})
	session, err := client.Connect(ctx, transport, options)
	if err != nil {
		return err
	}
	s.Protocol = session.InitializeResult().ProtocolVersion
	if s.Tools, err = names(ctx, session); err != nil {
		return err
	}
	call := func(name string, args any, meta mcp.Meta) (string, any, error) {
		r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args, Meta: meta})
		if err != nil {
			return "", nil, err
		}
		text, ok := r.Content[0].(*mcp.TextContent)
		if !ok || r.IsError {
			return "", nil, fmt.Errorf("%s answered with %v", name, r)
		}
		return text.Text, r.StructuredContent, nil
	}
	if _, s.Sum, err = call("add", map[string]int{"a": 2, "b": 3}, nil); err != nil {
		return err
	}
	if s.Work, _, err = call("work", nil, mcp.Meta{"progressToken": "p"}); err != nil {
		return err
	}
	if s.Quiet, _, err = call("work", nil, nil); err != nil {
		return err
	}
	if s.Greet, _, err = call("greet", nil, nil); err != nil {
		return err
	}
	if s.Grow, _, err = call("grow", nil, nil); err != nil {
		return err
	}
	select {
	case <-changed:
	case <-ctx.Done():
		return errors.New("not told that the list has changed")
	}
	if s.Grown, err = names(ctx, session); err != nil {
		return err
	}
	if err := session.Close(); err != nil {
		return fmt.Errorf("closing: %w", err)
	}
	mu.Lock()
	defer mu.Unlock()
	return json.NewEncoder(os.Stdout).Encode(s)
}

func names(ctx context.Context, session *mcp.ClientSession) ([]string, error) {
	var list []string
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		list = append(list, tool.Name)
	}
	slices.Sort(list)
	return list, nil
}
