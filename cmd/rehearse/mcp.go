// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/harness/tools"
	"github.com/rehearse-dev/rehearse/internal/mcpargs"
	"github.com/rehearse-dev/rehearse/internal/plainfile"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

const mcpExits = `Exit codes: 0 done; 1 the tool or the server reported failure; 2 wrong use; 3 the
server cannot be reached, or did not answer; 130 interrupted.`

func mcpCommand(p *process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp list|call",
		Short: "List and call the tools of an MCP server, real or mock",
		Long: `mcp is a small MCP client for the terminal. The server is a URL, or a command after
--, which mcp starts and ends. The command gets only the environment variables that
every program needs, and those of --env.

` + mcpExits,
		Example: `  rehearse mcp list http://127.0.0.1:8080/mcp
  rehearse mcp call http://127.0.0.1:8080/mcp add a=2 b=3
  rehearse mcp call add a=2 b=3 -- npx -y @modelcontextprotocol/server-everything`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(mcpListCommand(p), mcpCallCommand(p))
	return cmd
}

// mcpClient is what the flags of `mcp` say.
type mcpClient struct {
	p         *process
	config    string
	transport string
	headers   []string
	env       []string
	timeout   time.Duration
	era       string
	raw       bool
	verbose   bool
}

func (c *mcpClient) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&c.config, "config", "", "mcp.json, or YAML with mcp.client, that has the server; the first word is then its name")
	f.StringVar(&c.transport, "transport", "", "http, sse, ws or stdio (default: ws for ws:// and wss://; for other URLs http, or else sse; stdio for a command after --)")
	f.StringArrayVar(&c.headers, "header", nil, "header for the server at a URL, such as 'Authorization: Bearer $TOKEN' with an environment variable; may be repeated")
	f.StringArrayVar(&c.env, "env", nil, "environment variable for the command, as NAME=VALUE, or NAME to pass on the current value; may be repeated")
	f.DurationVar(&c.timeout, "timeout", 60*time.Second, "time limit for the server to start, and for each answer or progress message")
	f.StringVar(&c.era, "era", "auto", "protocol to speak: legacy (initialize, up to 2025-11-25), modern (2026-07-28) or auto")
	f.BoolVar(&c.raw, "raw", false, "print the JSON that the server sent, byte for byte")
	f.BoolVarP(&c.verbose, "verbose", "v", false, "print the server's name, log, progress and irregularities to standard error")
}

// server reads what server is meant, and returns the other words before --.
func (c *mcpClient) server(cmd *cobra.Command, args []string) (harness.Server, []string, error) {
	if err := checkFlags(cmd, rule{"timeout", c.timeout > 0, "more than 0, such as 30s"}); err != nil {
		return harness.Server{}, nil, err
	}
	known := []string{"http", "sse", "ws", "stdio"}
	if c.transport != "" && !slices.Contains(known, c.transport) {
		return harness.Server{}, nil, fmt.Errorf("--transport %q is not known: want http, sse, ws or stdio%s", c.transport, prose.DidYouMean(c.transport, known))
	}
	if eras := []string{"auto", "legacy", "modern"}; !slices.Contains(eras, c.era) {
		return harness.Server{}, nil, fmt.Errorf("--era %q is not known: want auto, legacy or modern%s", c.era, prose.DidYouMean(c.era, eras))
	}
	dash := cmd.ArgsLenAtDash()
	if c.config != "" {
		return c.configured(args, dash)
	}
	switch {
	case dash >= 0 && len(args) == dash:
		return harness.Server{}, nil, errors.New("want a command after --")
	case dash >= 0 && c.transport != "" && c.transport != "stdio":
		return harness.Server{}, nil, fmt.Errorf("--transport %s wants a URL, and a command is given after --", c.transport)
	case dash >= 0 && len(c.headers) > 0:
		return harness.Server{}, nil, errors.New("--header needs a URL, but a command is given after --")
	case dash > 0 && wholeServer(args[0]):
		return harness.Server{}, nil, fmt.Errorf("%q is the URL of a server, and %q after -- would be its command: leave out --", args[0], args[dash])
	case dash > 0 && !isProgram(args[dash]) && !strings.ContainsRune(args[dash], filepath.Separator), dash > 0 && swapped(args[:dash], args[dash:]):
		return harness.Server{}, nil, fmt.Errorf("%q is the server's command, since it comes after --; put the tool and its arguments before --\nfor example:\n%s",
			args[dash], cmd.Example)
	case dash >= 0:
		return harness.Server{Name: filepath.Base(args[dash]), Command: args[dash:], Env: c.ownEnv()}, args[:dash], nil
	case len(args) == 0:
		return harness.Server{}, nil, fmt.Errorf("no server: give its URL, or its command after --\nfor example:\n%s", cmd.Example)
	case c.transport == "stdio":
		return harness.Server{}, nil, errors.New("--transport stdio needs the server's command after --")
	case len(c.env) > 0:
		return harness.Server{}, nil, errors.New("--env needs a command after --")
	}
	if !wholeServer(args[0]) {
		return harness.Server{}, nil, fmt.Errorf("%q is not the URL of a server; put a command after --", args[0])
	}
	u, _ := url.Parse(args[0]) // as it could be before
	if ws := strings.HasPrefix(u.Scheme, "ws"); ws && c.transport != "" && c.transport != "ws" {
		return harness.Server{}, nil, fmt.Errorf("--transport %s cannot be used with %s://", c.transport, u.Scheme)
	}
	s := harness.Server{Name: prose.AddressOf(u), URL: args[0], Headers: map[string]string{}}
	if c.transport != "http" {
		s.Transport = c.transport
	}
	header, err := headersOf(c.p, c.headers)
	if err != nil {
		return harness.Server{}, nil, err
	}
	for name, values := range header {
		s.Headers[name] = strings.Join(values, ", ")
	}
	return s, args[1:], nil
}

// wholeServer reports whether a word is the URL of a server.
func wholeServer(word string) bool {
	u, err := url.Parse(word)
	return err == nil && u.Hostname() != "" && slices.Contains([]string{"http", "https", "ws", "wss"}, u.Scheme)
}

func isProgram(word string) bool {
	_, err := exec.LookPath(word)
	return err == nil
}

// swapped reports whether what comes before -- is a command, and what comes
// after it a call of a tool: a tool may well have the name of a program.
func swapped(before, after []string) bool {
	if !isProgram(before[0]) || len(after) == 1 {
		return false
	}
	for _, word := range after[1:] {
		if strings.HasPrefix(word, "-") || !strings.Contains(word, "=") {
			return false
		}
	}
	return true
}

func (c *mcpClient) ownEnv() (env []string) {
	for _, e := range c.env {
		if strings.Contains(e, "=") {
			env = append(env, e)
		} else if v, ok := c.p.getenv(e); ok {
			env = append(env, e+"="+v)
		}
	}
	return env
}

// open connects to the server.
func (c *mcpClient) open(ctx context.Context, server harness.Server) (*mcppool.Session, error) {
	opts := &mcppool.Options{
		CallTimeout: c.timeout, ConnectTimeout: c.timeout, DiscoverTimeout: c.p.discover, MaxRestarts: -1, Abort: c.p.abort,
		Era: map[string]mcppool.Era{"legacy": mcppool.EraLegacy, "modern": mcppool.EraModern}[c.era],
	}
	if c.verbose {
		opts.LogLevel, opts.Logf, opts.Notified = "debug", c.p.logf, c.tell
	}
	s, err := mcppool.Open(ctx, server, opts)
	if err != nil && ctx.Err() == nil && c.transport == "" && strings.HasPrefix(server.URL, "http") {
		s, err = c.openOlder(ctx, server, opts, err)
	}
	if err != nil {
		return nil, outOfReach(err)
	}
	if info := s.Info(); c.verbose {
		c.p.logf("%s %s speaks MCP %s", info.Name, info.Version, info.Protocol)
	}
	return s, nil
}

// openOlder tries the older HTTP+SSE on a server that does not speak streamable
// HTTP, as the protocol has it for clients. first is the error of that, which
// stands when it is of no use.
func (c *mcpClient) openOlder(ctx context.Context, server harness.Server, opts *mcppool.Options, first error) (*mcppool.Session, error) {
	var e *mcppool.Error
	if !errors.As(first, &e) || e.Kind != mcppool.ErrRPC && e.Kind != mcppool.ErrTransport || c.era == "modern" {
		return nil, first
	}
	older := *opts
	older.ConnectTimeout = min(older.ConnectTimeout, olderTimeout)
	server.Transport = "sse"
	s, err := mcppool.Open(ctx, server, &older)
	if err != nil {
		return nil, first
	}
	c.p.logf("the server speaks only the older HTTP+SSE; use --transport sse to skip the first attempt")
	return s, nil
}

// olderTimeout is how long a server may take to show that it speaks HTTP+SSE.
const olderTimeout = 5 * time.Second

// tell shows what the server tells on the way.
func (c *mcpClient) tell(_, method string, params json.RawMessage) {
	var told struct {
		Progress json.Number     `json:"progress"`
		Total    json.Number     `json:"total"`
		Message  string          `json:"message"`
		Level    string          `json:"level"`
		Data     json.RawMessage `json:"data"`
	}
	err := json.Unmarshal(params, &told)
	switch {
	case err == nil && method == "notifications/progress":
		line := "progress " + told.Progress.String()
		if told.Total != "" {
			line += " of " + told.Total.String()
		}
		if told.Message != "" {
			line += ": " + told.Message
		}
		c.p.logf("%s", line)
	case err == nil && method == "notifications/message":
		text := string(told.Data)
		var plain string
		if json.Unmarshal(told.Data, &plain) == nil {
			text = plain
		}
		c.p.logf("%s: %s", told.Level, text)
	default:
		c.p.logf("%s %s", method, params)
	}
}

// outOfReach gives an error the exit code that it deserves.
func outOfReach(err error) error {
	var e *mcppool.Error
	switch {
	case !errors.As(err, &e):
	case e.Kind == mcppool.ErrRPC, e.Kind == mcppool.ErrMalformed:
		return &codeError{exitFailed, err}
	case e.Kind == mcppool.ErrCancelled:
		return &codeError{exitKilled, fmt.Errorf("interrupted while %s server %q", e.Op, e.Server)}
	case e.Kind == mcppool.ErrTimeout:
		err = fmt.Errorf("%w; --timeout allows more", err)
	}
	return &codeError{exitUnjudged, err}
}

func mcpListCommand(p *process) *cobra.Command {
	c := &mcpClient{p: p}
	cmd := &cobra.Command{
		Use:   "list URL | -- COMMAND... | --config FILE [SERVER]",
		Short: "List the tools of an MCP server",
		Long: `list prints the tools of a server with their arguments; optional arguments are in
brackets. With --raw it prints one tool per line, as the server sent it.

` + mcpExits,
		Example: `  rehearse mcp list http://127.0.0.1:8080/mcp
  rehearse mcp list --raw ws://127.0.0.1:8080/ws
  rehearse mcp list --config mcp.json
  rehearse mcp list -- rehearse serve mcp --transport stdio calculator.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.config != "" && len(args) == 0 {
				return c.listAll(cmd.Context())
			}
			server, rest, err := c.server(cmd, args)
			if err == nil && len(rest) > 0 {
				err = fmt.Errorf("list takes only a server, not %q; put a command after --", strings.Join(rest, " "))
			}
			if err != nil {
				return err
			}
			s, err := c.open(cmd.Context(), server)
			if err != nil {
				return err
			}
			defer s.Close()
			listed, warnings, err := s.Tools(cmd.Context())
			if err != nil {
				return outOfReach(err)
			}
			for _, w := range warnings {
				p.logf("%s", w)
			}
			return c.print(listed)
		},
	}
	c.flags(cmd)
	return cmd
}

// print prints a list of tools.
func (c *mcpClient) print(listed []mcppool.Tool) error {
	for _, t := range listed {
		if c.raw {
			if _, err := fmt.Fprintf(c.p.stdout, "%s\n", t.Raw); err != nil {
				return err
			}
			continue
		}
		line := t.Name
		if args := mcpargs.Usage(t.Schema); args != "" {
			line += " " + args
		}
		if d, _, _ := strings.Cut(strings.TrimSpace(t.Description), "\n"); d != "" {
			line += "\n    " + d
		}
		if _, err := fmt.Fprintln(c.p.stdout, line); err != nil {
			return err
		}
	}
	return nil
}

func mcpCallCommand(p *process) *cobra.Command {
	c := &mcpClient{p: p}
	var whole string
	cmd := &cobra.Command{
		Use:   "call URL TOOL [KEY=VALUE...] | TOOL [KEY=VALUE...] -- COMMAND... | --config FILE SERVER TOOL [KEY=VALUE...]",
		Short: "Call a tool of an MCP server",
		Long: `call calls one tool and prints the result. It reads arguments by the tool's input
schema: the VALUE of KEY=VALUE stays text where the schema says string, and is JSON
where it says number, boolean, array or object. Give an array item by item by
repeating the KEY. KEY:=JSON is taken as JSON, KEY@=FILE reads the value from a
file, and --json gives all arguments at once, unchecked.

With --raw it prints the result as the server sent it.

` + mcpExits,
		Example: `  rehearse mcp call http://127.0.0.1:8080/mcp add a=2 b=3
  rehearse mcp call http://127.0.0.1:8080/mcp find id=007 tags=new tags=old
  rehearse mcp call ws://127.0.0.1:8080/ws add --json '{"a": 2, "b": 3}'
  rehearse mcp call add a=2 b=3 --raw -- rehearse serve mcp --transport stdio calculator.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			server, rest, err := c.server(cmd, args)
			switch {
			case err != nil:
				return err
			case len(rest) == 0:
				return fmt.Errorf("no tool: `rehearse mcp list` prints the tools\nfor example:\n%s", cmd.Example)
			case len(rest) > 1 && cmd.Flags().Changed("json"):
				return fmt.Errorf("--json gives all arguments; remove %q", rest[1])
			}
			if cmd.Flags().Changed("json") {
				if whole, err = c.whole(whole); err != nil {
					return err
				}
			}
			return c.call(cmd.Context(), server, rest[0], rest[1:], whole)
		},
	}
	c.flags(cmd)
	cmd.Flags().StringVar(&whole, "json", "", "all arguments, as a JSON object; @FILE reads it from a file, @- from standard input")
	return cmd
}

// whole reads the value of --json.
func (c *mcpClient) whole(text string) (string, error) {
	if name, ok := strings.CutPrefix(text, "@"); ok {
		var raw []byte
		var err error
		if name == "-" {
			raw, err = io.ReadAll(io.LimitReader(c.p.stdin, plainfile.MaxResult))
		} else {
			raw, err = plainfile.ReadResult(name)
		}
		if err != nil {
			return "", fmt.Errorf("--json: %w", err)
		}
		text = string(raw)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
		return "", fmt.Errorf("--json: want a JSON object: %w", err)
	}
	return text, nil
}

// call calls a tool with words, or with whole if that is not empty.
func (c *mcpClient) call(ctx context.Context, server harness.Server, name string, words []string, whole string) error {
	s, err := c.open(ctx, server)
	if err != nil {
		return err
	}
	defer s.Close()
	args := json.RawMessage(whole)
	// Also where the schema is not needed: what of the arguments belongs into
	// HTTP headers is known from the list alone.
	listed, _, err := s.Tools(ctx)
	if whole == "" {
		if err != nil {
			return outOfReach(err)
		}
		if args, err = arguments(listed, name, words); err != nil {
			return err
		}
	}
	r, err := s.Call(ctx, name, args)
	if err != nil {
		return outOfReach(err)
	}
	out := []byte(tools.Text(r))
	if c.raw {
		out = r.Raw
	}
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, '\n')
	}
	if _, err := c.p.stdout.Write(out); err != nil {
		return err
	}
	if r.IsError {
		return &codeError{exitFailed, fmt.Errorf("%s reported failure", name)}
	}
	return nil
}

// arguments reads words by the schema of a tool.
func arguments(listed []mcppool.Tool, name string, words []string) (json.RawMessage, error) {
	var known []string
	for _, t := range listed {
		if t.Name == name {
			return mcpargs.Read(t.Schema, words, plainfile.ReadResult)
		}
		known = append(known, t.Name)
	}
	tools := fmt.Sprintf("; the tools are %s (--json calls an unlisted tool)", strings.Join(known, ", "))
	return nil, fmt.Errorf("the server has no tool %q%s", name, prose.MeantOr(name, known, tools))
}
