// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockmcp"
	"github.com/rehearse-dev/rehearse/scenarios"
)

const listenHelp = "address to listen on; the mocks check no key, so leave it on loopback"

func serveCommand(p *process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve llm|mcp FILE",
		Short: "Serve one mock by itself, for clients in any language",
		Long: `serve starts one mock and prints one line of JSON when it is ready:
{"url": "...", "admin": "..."}. It runs until it is interrupted.`,
		Example: "  rehearse serve llm assistant.yaml\n  rehearse serve mcp --transport stdio server.yaml",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("serve what? %q is neither llm nor mcp", args[0])
			}
			return errors.New("serve what? `rehearse serve llm FILE` or `rehearse serve mcp FILE`")
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(serveLLMCommand(p), serveMCPCommand(p))
	return cmd
}

// ended is how a mock ends: with an error of its own, or a count of what was
// not as scripted, each of which was printed when it happened.
func ended(err, unscripted error, what string) error {
	if err != nil {
		return err
	}
	list, _ := unscripted.(interface{ Unwrap() []error })
	if unscripted == nil {
		return nil
	}
	n := 1
	if list != nil {
		n = len(list.Unwrap())
	}
	return &codeError{exitFailed, fmt.Errorf("%s not answered as scripted; see above", count(n, what))}
}

// llmScript is the one script that a set holds.
func llmScript(set *scenarios.Set) (mockllm.Script, error) {
	switch {
	case len(set.LLMs) == 1:
		return set.LLMs[0].Script, nil
	case len(set.LLMs) == 0 && len(set.Scenarios) == 1:
		return set.Scenarios[0].ModelScript(), nil
	}
	return mockllm.Script{}, fmt.Errorf("want one llm file or one scenario, found %s and %s",
		count(len(set.LLMs), "llm file"), count(len(set.Scenarios), "scenario"))
}

func serveMCPCommand(p *process) *cobra.Command {
	var listen, transport string
	cmd := &cobra.Command{
		Use:   "mcp FILE",
		Short: "Serve a mock MCP server",
		Long: `mcp serves a server file over streamable HTTP, or with --transport stdio as the
child of a client. "admin" answers GET journal (the calls so far), GET state (the
state now) and POST reset (start over: the journal and the misses so far are
forgotten, the state is the file's again). With stdio there is no admin, and the
ready line goes to standard error, since standard output belongs to MCP.

When it ends, the exit code is 1 if a call since the last reset fitted no
scripted result.`,
		Example: "  rehearse serve mcp calculator.yaml\n  rehearse serve mcp --transport stdio calculator.yaml",
		Args:    minArgs(1, "a server file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch transport {
			case "http", "stdio":
				if transport == "stdio" && cmd.Flags().Changed("listen") {
					return errors.New("--listen goes with --transport http")
				}
				return serveMCP(cmd.Context(), p, args, listen, transport == "stdio")
			}
			return errors.New(unknown(fmt.Sprintf("--transport %q is not known: want http or stdio", transport), transport, []string{"http", "stdio"}))
		},
	}
	f := cmd.Flags()
	f.StringVar(&listen, "listen", "127.0.0.1:0", listenHelp)
	f.StringVar(&transport, "transport", "http", "http or stdio")
	return cmd
}

func serveMCP(ctx context.Context, p *process, args []string, listen string, stdio bool) error {
	set, err := scenarios.Load(args, &scenarios.Options{LookupEnv: p.getenv})
	if err != nil {
		return err
	}
	if len(set.Servers) != 1 {
		return fmt.Errorf("serving %s: want one server file, found %d", strings.Join(args, " "), len(set.Servers))
	}
	server, err := mockmcp.New(*set.Servers[0].Mock, &mockmcp.Options{Logf: p.logf})
	if err != nil {
		return err
	}
	if stdio {
		p.ready(p.stderr, "stdio", "")
		err = server.ServeStdio(ctx, p.stdin, p.stdout)
		if errors.Is(err, context.Canceled) {
			err = nil
		}
	} else {
		err = serveMCPOverHTTP(ctx, p, server, listen)
	}
	return ended(errors.Join(err, server.Close()), server.Err(), "call")
}

func serveMCPOverHTTP(ctx context.Context, p *process, server *mockmcp.Server, listen string) error {
	mux := http.NewServeMux()
	mux.Handle("/mcp", server.Handler())
	mux.HandleFunc("GET /rehearse/journal", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		calls := server.Journal()
		if calls == nil {
			calls = []harness.ToolExchange{}
		}
		_ = json.NewEncoder(w).Encode(calls) // the client is gone
	})
	mux.HandleFunc("GET /rehearse/state", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(server.State()) // as above
	})
	mux.HandleFunc("POST /rehearse/reset", func(w http.ResponseWriter, _ *http.Request) {
		server.Reset()
		w.WriteHeader(http.StatusNoContent)
	})
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	base := "http://" + listener.Addr().String()
	p.ready(p.stdout, base+"/mcp", base+"/rehearse")
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(listener) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		// Streams that clients hold open would keep Shutdown waiting.
		err := srv.Close()
		<-done
		return err
	}
}

// ready prints the line that a parent process waits for.
func (p *process) ready(w io.Writer, url, admin string) {
	line, _ := json.Marshal(struct {
		URL   string `json:"url"`
		Admin string `json:"admin,omitempty"`
	}{url, admin})
	fmt.Fprintf(w, "%s\n", line)
}

func (p *process) logf(format string, args ...any) {
	fmt.Fprintf(p.stderr, format+"\n", args...)
}
