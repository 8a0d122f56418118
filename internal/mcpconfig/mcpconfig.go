// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package mcpconfig reads the files in which MCP servers are named.
//
//	config, err := mcpconfig.Read("mcp.json", os.LookupEnv)
//
// Two forms are known, each as JSON or YAML. One is that of editors and chat
// programs, with servers by name. Other keys of a server have no effect: there is a
// warning, unless they only say how a server is shown or when somebody is asked:
//
//	{"mcpServers": {"files": {"command": "mcp-files", "args": ["/tmp"], "env": {"KEY": "${KEY}"}},
//	                "search": {"type": "http", "url": "http://127.0.0.1:3002/mcp", "headers": {}, "disabled": true}},
//	 "agent_permissions": {"alice": {"allowed_servers": ["files"]}}}
//
// The other is a list:
//
//	mcp:
//	  client:
//	    enabled: true                    # the default; false means no servers
//	    servers:
//	      - {name: files, transport: stdio, command: [mcp-files, /tmp], env: {KEY: "${KEY}"}}
//	      - {name: search, transport: websocket, url: "ws://127.0.0.1:3002/mcp"}
//	    agent_permissions:
//	      alice: {allowed_servers: [files]}
//
// A transport is stdio, http (also streamable-http), sse or websocket (also ws).
// ${NAME} stands for an environment variable in what is run, sent and connected
// to, ${NAME:-text} gives it a default, and $${ is the text ${. cwd is the working
// directory of a command; a relative one starts at the folder of the file. With
// agent_permissions, an agent that is not listed may use no server.
package mcpconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/filepos"
	"github.com/rehearse-dev/rehearse/internal/plainfile"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
)

// Config is what a file says.
type Config struct {
	Servers []harness.Server // without those that are disabled, in the file's order
	// Grants are the servers that each agent may use. nil: everyone may use all.
	Grants map[string][]string
	// Warnings name keys of servers that have no effect, with their places.
	Warnings []Warning
}

// Warning is about a server.
type Warning struct {
	Server string
	error
}

// Unwrap returns the error with the place.
func (w Warning) Unwrap() error { return w.error }

// Read reads a file. lookup is [os.LookupEnv], or as that. The error has all of
// the file's mistakes with their places.
func Read(path string, lookup func(string) (string, bool)) (*Config, error) {
	raw, err := plainfile.Read(path, plainfile.MaxSettings)
	if err != nil {
		return nil, fmt.Errorf("reading MCP servers: %w", err)
	}
	return Parse(path, raw, lookup)
}

// Parse is [Read] of a text; path is for messages.
func Parse(path string, raw []byte, lookup func(string) (string, bool)) (*Config, error) {
	r := &reader{lookup: lookup, folder: filepath.Dir(path)}
	if json.Valid(raw) {
		raw = strictyaml.FromJSON(raw)
	}
	root, problems := strictyaml.Parse(path, raw)
	for _, p := range problems {
		r.add(p.Pos, "%s", p.Msg)
	}
	config := new(Config)
	if root != nil && len(problems) == 0 {
		config = r.config(root)
	} else if len(problems) == 0 {
		r.add(harness.Position{File: path}, "it names no MCP servers: want mcpServers, or mcp with client")
	}
	if err := errors.Join(r.problems...); err != nil {
		return nil, err
	}
	return config, nil
}

type reader struct {
	lookup   func(string) (string, bool)
	folder   string // of the file
	problems []error
	warnings []Warning
}

func (r *reader) add(pos harness.Position, format string, args ...any) {
	r.problems = append(r.problems, filepos.Errorf(pos, format, args...))
}

func (r *reader) config(root *strictyaml.Node) *Config {
	c := new(Config)
	client, at := root.Get("mcp").Get("client"), root
	servers := root.Get("mcpServers")
	switch {
	case servers != nil && client != nil:
		r.add(root.Key("mcp").Pos, "the file has both mcpServers and mcp.client; keep one")
		return c
	case servers != nil:
		r.byName(c, servers)
	case client != nil && r.is(client, strictyaml.Map, "mcp.client"):
		at = client
		r.known(client, "mcp.client", "enabled", "servers", "agent_permissions")
		if !r.flag(client.Get("enabled"), "enabled", true) {
			return c
		}
		r.listed(c, client.Get("servers"))
	case client == nil:
		r.add(root.Pos, "it names no MCP servers: want mcpServers, or mcp with client")
	}
	r.permissions(c, at)
	c.Warnings = r.warnings
	c.Servers = slices.DeleteFunc(c.Servers, func(s harness.Server) bool { return s.URL == "" && len(s.Command) == 0 }) // disabled, or wrong
	return c
}

// byName reads servers that are the entries of a map.
func (r *reader) byName(c *Config, n *strictyaml.Node) {
	if !r.is(n, strictyaml.Map, "mcpServers") {
		return
	}
	for _, p := range n.Pairs {
		c.Servers = append(c.Servers, r.server(p.Key.Text, p.Value))
		if !r.off(p.Value) {
			r.heeded(p.Key.Text, p.Value)
		}
	}
}

// listed reads servers that are a list.
func (r *reader) listed(c *Config, n *strictyaml.Node) {
	if n == nil || !r.is(n, strictyaml.List, "servers") {
		return
	}
	for _, item := range n.Items {
		if !r.is(item, strictyaml.Map, "a server") {
			continue
		}
		r.known(item, "a server", "name", "transport", "type", "command", "args", "env", "cwd", "url", "headers", "disabled", "description")
		name := r.text(item.Get("name"))
		switch {
		case name == "":
			r.add(item.Pos, "the server has no name")
			continue
		case slices.ContainsFunc(c.Servers, func(s harness.Server) bool { return s.Name == name }):
			r.add(item.Get("name").Pos, "there are two servers named %q", name)
			continue
		}
		c.Servers = append(c.Servers, r.server(name, item))
	}
}

// server reads one server. A disabled one has no more than its name.
func (r *reader) server(name string, n *strictyaml.Node) harness.Server {
	s := harness.Server{Name: name}
	if !r.is(n, strictyaml.Map, fmt.Sprintf("server %q", name)) || r.off(n) {
		return s
	}
	command, url := n.Get("command"), n.Get("url")
	if (command == nil) == (url == nil) {
		r.add(n.Pos, "server %q needs either a command or a url", name)
		return s
	}
	s.Transport = r.transport(name, n, command != nil)
	if url != nil {
		s.URL = r.expanded(url)
		for _, p := range r.pairs(n.Get("headers"), "headers") {
			if s.Headers == nil {
				s.Headers = map[string]string{}
			}
			s.Headers[p.Key.Text] = r.expanded(p.Value)
		}
		return s
	}
	words := []*strictyaml.Node{command}
	if command.Kind == strictyaml.List {
		words = command.Items
	}
	if args := n.Get("args"); args != nil && r.is(args, strictyaml.List, "args") {
		words = append(slices.Clone(words), args.Items...)
	}
	for _, word := range words {
		s.Command = append(s.Command, r.expanded(word))
	}
	if len(s.Command) == 0 {
		r.add(command.Pos, "the command of server %q is empty", name)
	}
	for _, p := range r.pairs(n.Get("env"), "env") {
		s.Env = append(s.Env, p.Key.Text+"="+r.expanded(p.Value))
	}
	slices.Sort(s.Env)
	if cwd := n.Get("cwd"); cwd != nil && cwd.Kind != strictyaml.Null {
		if s.Dir = r.expanded(cwd); s.Dir != "" && !filepath.IsAbs(s.Dir) {
			s.Dir = filepath.Join(r.folder, s.Dir)
		}
	}
	return s
}

// off reports whether a server is switched off.
func (r *reader) off(n *strictyaml.Node) bool {
	return r.flag(n.Get("disabled"), "disabled", false) || !r.flag(n.Get("enabled"), "enabled", true)
}

// heeded warns of keys of a server that have no effect, and would have one in the
// editor that they were written for.
func (r *reader) heeded(name string, n *strictyaml.Node) {
	read := []string{"command", "args", "env", "cwd", "url", "headers", "type", "transport", "disabled", "enabled"}
	// They say how the editor shows a server, and which calls it does not ask about.
	// Who is asked here is up to the flags.
	known := append(read, "description", "name", "title", "icon", "version", "gallery", "autoApprove", "alwaysAllow", "trust")
	for _, p := range n.Pairs {
		if key := p.Key.Text; !slices.Contains(known, key) && !strings.HasPrefix(key, "_") && !strings.HasPrefix(key, "$") && !strings.HasPrefix(key, "//") {
			r.warnings = append(r.warnings, Warning{name, filepos.Errorf(p.Key.Pos, "server %q has the key %q, which has no effect%s", name, key, prose.DidYouMean(key, read))})
		}
	}
}

// transport reads the transport of a server; the default is
// streamable HTTP.
func (r *reader) transport(name string, n *strictyaml.Node, process bool) string {
	at := n.Get("transport")
	if at == nil {
		at = n.Get("type")
	}
	word := r.text(at)
	byURL := map[string]string{
		"http": "", "streamable-http": "", "streamable_http": "", "streamableHttp": "", "sse": "sse", "websocket": "ws", "ws": "ws",
	}
	transport, known := byURL[word]
	switch {
	case word == "":
	case word != "stdio" && !known:
		r.add(at.Pos, "server %q has the unknown transport %q; want stdio, http, sse or websocket%s",
			name, word, prose.DidYouMean(word, []string{"stdio", "http", "sse", "websocket"}))
	case process && word != "stdio":
		r.add(at.Pos, "server %q has a command, and transport %s needs a url", name, word)
	case !process && word == "stdio":
		r.add(at.Pos, "server %q has a url, and transport stdio needs a command", name)
	}
	return transport
}

// permissions reads which servers each agent may use.
func (r *reader) permissions(c *Config, n *strictyaml.Node) {
	at := n.Get("agent_permissions")
	if at == nil {
		return
	}
	c.Grants = map[string][]string{}
	var names []string
	for _, s := range c.Servers {
		names = append(names, s.Name)
	}
	for _, agent := range r.pairs(at, "agent_permissions") {
		what := fmt.Sprintf("agent %q", agent.Key.Text)
		c.Grants[agent.Key.Text] = []string{}
		if !r.is(agent.Value, strictyaml.Map, what) {
			continue
		}
		r.known(agent.Value, what, "allowed_servers")
		allowed := agent.Value.Get("allowed_servers")
		if allowed == nil || !r.is(allowed, strictyaml.List, "allowed_servers") {
			continue
		}
		for _, item := range allowed.Items {
			name := r.text(item)
			if !slices.Contains(names, name) {
				r.add(item.Pos, "%s may use server %q, which the file does not have%s", what, name, prose.DidYouMean(name, names))
			}
			c.Grants[agent.Key.Text] = append(c.Grants[agent.Key.Text], name)
		}
	}
}

// is reports whether a node is of a kind, and tells where it is not.
func (r *reader) is(n *strictyaml.Node, kind strictyaml.Kind, what string) bool {
	if n.Kind != kind {
		r.add(n.Pos, "%s must be %v, not %v", what, kind, n.Kind)
	}
	return n.Kind == kind
}

func (r *reader) known(n *strictyaml.Node, what string, keys ...string) {
	for _, p := range n.Pairs {
		if key := p.Key.Text; !slices.Contains(keys, key) {
			r.add(p.Key.Pos, "%s has no key %q%s", what, key, prose.DidYouMean(key, keys))
		}
	}
}

func (r *reader) pairs(n *strictyaml.Node, what string) []strictyaml.Pair {
	if n == nil || n.Kind == strictyaml.Null || !r.is(n, strictyaml.Map, what) {
		return nil
	}
	return n.Pairs
}

func (r *reader) flag(n *strictyaml.Node, what string, otherwise bool) bool {
	if n == nil || !r.is(n, strictyaml.Bool, what) {
		return otherwise
	}
	return n.Text == "true"
}

// text is a text as it is, or a number or a truth value as it is written.
func (r *reader) text(n *strictyaml.Node) string {
	switch {
	case n == nil:
		return ""
	case n.Kind == strictyaml.String, n.Kind == strictyaml.Number, n.Kind == strictyaml.Bool:
		return n.Text
	}
	r.is(n, strictyaml.String, "this")
	return ""
}

// expanded is a text with its environment variables.
func (r *reader) expanded(n *strictyaml.Node) string {
	text, problems := Expand(r.text(n), r.lookup, false)
	for _, p := range problems {
		r.add(n.Pos, "%s", p)
	}
	return text
}
