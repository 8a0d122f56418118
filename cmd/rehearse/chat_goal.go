// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/harness/agentserver"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/redirect"
	"github.com/rehearse-dev/rehearse/internal/sse"
)

// goalChat gives goals to an agent server.
type goalChat struct {
	p   *process
	url string
}

func (g *goalChat) command(_ context.Context, name, _ string) error {
	return fmt.Errorf("%s is not a command here: an agent server takes goals", name)
}

func (g *goalChat) say(ctx context.Context, line string) error {
	if !utf8.ValidString(line) { // JSON would carry another goal
		return errors.New("the goal is not UTF-8; it was not sent")
	}
	body, err := json.Marshal(map[string]any{"goal": line, "stream": true})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+"/agent/execute_task", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := (&http.Client{CheckRedirect: redirect.None}).Do(req)
	if err != nil {
		return fmt.Errorf("asking the agent server: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(res.Body, 1<<16)) // as much as comes
		return fmt.Errorf("the agent server answered with status %d: %s", res.StatusCode, prose.OneLine(string(said), 500))
	}
	for events := sse.NewReader(bufio.NewReader(res.Body), 16<<20); ; {
		e, err := events.Next()
		if errors.Is(err, io.EOF) {
			return errors.New("the agent server broke off")
		}
		if err != nil {
			return fmt.Errorf("reading what the agent server sends: %w", err)
		}
		switch e.Name {
		case "tool_finished":
			var c agentserver.Call
			if err := json.Unmarshal(e.Data, &c); err != nil {
				return err
			}
			g.p.logf("%s %s -> %s", c.Tool, prose.OneLine(c.Arguments, 200), prose.OneLine(c.Result, 200))
		case "result":
			var r agentserver.Result
			if err := json.Unmarshal(e.Data, &r); err != nil {
				return err
			}
			if r.Status != agentserver.Completed {
				return fmt.Errorf("%s: %s", r.Status, r.Error)
			}
			fmt.Fprintln(g.p.stdout, r.FinalAnswer)
			return nil
		}
	}
}
