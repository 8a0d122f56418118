// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/harness/toolserver"
	"github.com/rehearse-dev/rehearse/internal/gate"
)

// adminTokenVariable is where the agent server finds the token of the tool
// server.
const adminTokenVariable = "REHEARSE_ADMIN_TOKEN"

func serveToolsCommand(p *process) *cobra.Command {
	var flags struct {
		listen, token string
		admits        gate.Rules
		grace, call   time.Duration
		schema        bool
		withParent    bool
	}
	cmd := &cobra.Command{
		Use:   "tools FILE",
		Short: "Serve tools in sets that an agent switches on and off",
		Long: `tools serves the tools of a registry (tool_registry.json): tools that other servers
have at an address, and those of MCP servers, in named sets. Of a file with MCP servers
(mcp.json) each server is a set, which is active.

  GET  /tools                 the active tools and all toolsets
  POST /tools/NAME            runs one; the body is a JSON object of arguments
  POST /mcp/admin/toolsets    {"action": "ACTIVATE" or "DEACTIVATE", "toolset_ids": [...]}
  DELETE /mcp/admin/views/V   forgets a view
  /mcp                        the active tools as an MCP server over HTTP

?view=V names a view, a set of active toolsets of its own; "view" in the body does
so for a change. A view begins with what is active in the default one.

The admin API wants a token, as Authorization: Bearer TOKEN: that of --admin-token,
else of ` + adminTokenVariable + `, else one that is made up and printed to standard
error.`,
		Example: `  rehearse serve tools tool_registry.json
  rehearse serve tools --listen 127.0.0.1:8001 --admin-token @token.txt tool_registry.json
  rehearse serve tools --schema > tool_registry.schema.json
  curl http://127.0.0.1:8001/tools/web_search -H 'Content-Type: application/json' -d '{"query": "go"}'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if flags.schema && len(args) == 0 {
				return nil
			}
			return oneFile("a tool registry")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.schema {
				_, err := p.stdout.Write(toolserver.RegistrySchema)
				return err
			}
			if err := checkFlags(cmd, rule{"grace", flags.grace >= 0, "0 or more, such as 5s"}, rule{"tool-timeout", flags.call > 0, "more than 0, such as 60s"}); err != nil {
				return err
			}
			registry, err := toolserver.ReadRegistry(args[0])
			if err != nil {
				return err
			}
			token, err := textOrFile("admin-token", flags.token)
			if err != nil {
				return err
			}
			if token == "" {
				token, _ = p.getenv(adminTokenVariable)
			}
			http := httpServer{withParent: flags.withParent}
			ctx, cancel := http.begin(cmd.Context(), p)
			defer cancel()
			if token == "" {
				token = strings.ToLower(rand.Text())
				p.logf("the token of the admin API is %s", token)
			}
			s, err := toolserver.New(ctx, registry, &toolserver.Options{AdminToken: token, Hosts: flags.admits.Hosts, Origins: flags.admits.Origins, CallTimeout: flags.call, Logf: p.logf})
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			defer s.Close()
			return serveHandler(ctx, flags.listen, flags.grace, s, func() { s.Close() }, func(host string) {
				p.ready(p.stdout, "http://"+host, "http://"+host+"/mcp/admin/toolsets")
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.listen, "listen", "127.0.0.1:0", "address to listen on; keep it on loopback, because whoever reaches it may run the tools")
	f.StringVar(&flags.token, "admin-token", "", "token that the admin API requires; @FILE reads it from a file, since other users see the flags of a process")
	f.DurationVar(&flags.grace, "grace", defaultGrace, "time for requests in progress to end after an interrupt")
	f.DurationVar(&flags.call, "tool-timeout", time.Minute, "how long a call may wait for an answer of an MCP server, or for word of its progress")
	f.BoolVar(&flags.schema, "schema", false, "print the JSON Schema of a tool registry and end")
	f.BoolVar(&flags.withParent, "with-parent", false, parentHelp)
	gateFlags(f, &flags.admits)
	return cmd
}
