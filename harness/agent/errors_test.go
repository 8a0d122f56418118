// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/harness/tools"
)

func TestErrorObjects(t *testing.T) {
	fails := func(r tools.Result) func(context.Context, string) (tools.Result, error) {
		r.IsError = true
		return func(context.Context, string) (tools.Result, error) { return r, nil }
	}
	pool := func(kind mcppool.ErrorKind) func(context.Context, string) (tools.Result, error) {
		err := &mcppool.Error{Kind: kind, Server: "s", Op: "calling \"x\" on", Err: errors.New("why")}
		return fails(tools.Result{Server: "s", Err: err, Text: "Error: " + err.Error()})
	}
	b := box{
		"ok": echo, "own": fails(tools.Result{Text: `Error: {"success":false}`}), "tool": fails(tools.Result{Text: "Error: no \"file\""}),
		"schema": fails(tools.Result{Err: errors.New("do not fit"), Text: "Error: do not fit"}),
		"rpc":    pool(mcppool.ErrRPC), "closed": pool(mcppool.ErrClosed), "late": pool(mcppool.ErrTimeout), "garbled": pool(mcppool.ErrMalformed), "gone": pool(mcppool.ErrTransport), "open": pool(mcppool.ErrOpen), "cancelled": pool(mcppool.ErrCancelled),
		"slow": func(ctx context.Context, _ string) (tools.Result, error) {
			<-ctx.Done()
			return tools.Result{}, context.Cause(ctx)
		},
		"long": fails(tools.Result{Text: strings.Repeat("x", 300)}),
	}
	want := map[string]string{
		"ok": "got {}", "own": `{"success":false}`, "tool": `{"status":"error","message":"no \"file\"","error_type":"tool_error"}`,
		"schema":    `{"status":"error","message":"do not fit","error_type":"bad_arguments"}`,
		"rpc":       `{"status":"error","message":"calling \"x\" on server \"s\": why","error_type":"protocol"}`,
		"closed":    `{"status":"error","message":"calling \"x\" on server \"s\": why","error_type":"connection"}`,
		"late":      `{"status":"error","message":"calling \"x\" on server \"s\": why","error_type":"timeout"}`,
		"garbled":   `{"status":"error","message":"calling \"x\" on server \"s\": why","error_type":"protocol"}`,
		"gone":      `{"status":"error","message":"calling \"x\" on server \"s\": why","error_type":"connection"}`,
		"open":      `{"status":"error","message":"calling \"x\" on server \"s\": why","error_type":"connection"}`,
		"cancelled": `{"status":"error","message":"calling \"x\" on server \"s\": why","error_type":"failed"}`,
		"slow":      `{"status":"error","message":"slow did not answer within 1s","error_type":"timeout"}`,
		"none":      `{"status":"error","message":"there is no tool \"none\"; the tools are TOOLS","error_type":"no_such_tool"}`,
		"denied":    `{"status":"error","message":"not yours","error_type":"not_permitted"}`,
		"bad":       `{"status":"error","message":"the arguments of ok are not a JSON object: ...","error_type":"bad_arguments"}`,
		"long":      `{"status":"error","message":"` + strings.Repeat("x", 150) + `\n[... 100 of 300 bytes left out ...]\n` + strings.Repeat("x", 50) + `","error_type":"tool_error"}`,
	}
	synctest.Test(t, func(t *testing.T) {
		for name, want := range want {
			asked := call("c", name, "{}")
			if name == "bad" {
				asked = call("c", "ok", "[]")
			}
			m := &script{replies: [][]any{called(asked), said("done")}}
			c := New(Config{Model: m, Tools: b, ErrorObjects: true, ToolTimeout: time.Second, MaxResultBytes: 200, Denied: func(tool string) error {
				if tool == "denied" {
					return errors.New("not yours")
				}
				return nil
			}}).Conversation()
			for _, err := range c.Send(t.Context(), "go") {
				if err != nil {
					t.Fatal(err)
				}
			}
			messages := c.Messages()
			got := messages[len(messages)-2]
			offered, _ := b.Tools(t.Context())
			text := strings.ReplaceAll(got.Text, names(offered), "TOOLS")
			if i, j := strings.Index(text, "object: "), strings.Index(text, "; write"); i > 0 {
				text = text[:i+8] + "..." + text[strings.Index(text[j:], `"`)+j:]
			}
			if d := cmp.Diff(want, text); d != "" || got.Role != harness.RoleTool {
				t.Errorf("%s (-want +got):\n%s", name, d)
			}
		}
	})
}
