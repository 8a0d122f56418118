// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package project

import (
	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
)

// Client is what clients of models and MCP servers use where neither a flag nor
// the environment names it.
type Client struct {
	BaseURL       Setting // of the model's endpoint
	Model         Setting // its name, as the endpoint knows it
	Config        Setting // file with MCP servers; relative to the folder of rehearse.yaml
	ServerCommand Setting // command line of an MCP server
	ServerURL     Setting // address of an MCP or tool server
}

// Setting is a text and where it stands. The zero Setting is not set.
type Setting struct {
	Text string
	Pos  harness.Position
}

func (r *reader) client(n *strictyaml.Node, into *Client) {
	keys := map[string]func(*strictyaml.Node){}
	key := func(name string, into *Setting, read func(*strictyaml.Node, string) string) {
		keys[name] = func(n *strictyaml.Node) { *into = Setting{read(n, "client: "+name), n.Pos} }
	}
	key("base_url", &into.BaseURL, r.address)
	key("model", &into.Model, r.text)
	key("mcp_config", &into.Config, r.text)
	key("mcp_server_command", &into.ServerCommand, r.text)
	key("mcp_server_url", &into.ServerURL, r.address)
	r.object(n, "client", keys)
}
