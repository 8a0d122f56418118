// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package toolserver

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/filepos"
	"github.com/rehearse-dev/rehearse/internal/mcpconfig"
	"github.com/rehearse-dev/rehearse/internal/plainfile"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/toolname"
)

// RegistrySchema is the JSON Schema of tool_registry.json.
//
//go:embed registry.schema.json
var RegistrySchema []byte

// maxRegistry bounds the file of a registry.
const maxRegistry = 16 << 20

// ReadRegistry reads a registry from a JSON file. In the texts of servers,
// addresses and environments ${VAR} is the variable of that name, ${VAR:-DEFAULT}
// has a default for one that is not set, and $${ is the text ${. A variable that is
// set to nothing counts as set, as in files of MCP servers. Of such a file,
// mcp.json or the documents' YAML, each server is a toolset that is active and has
// its name.
func ReadRegistry(path string) (*Registry, error) {
	data, err := plainfile.Read(path, maxRegistry)
	if err != nil {
		return nil, fmt.Errorf("reading a tool registry: %w", err)
	}
	if namesServers.Match(data) {
		return ofServers(path, data)
	}
	r, err := parseRegistry(path, data)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, problem := range r.expand(os.LookupEnv) {
		errs = append(errs, filepos.Errorf(harness.Position{File: path}, "%s", problem))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if err := r.check(); err != nil {
		return nil, filepos.Errorf(harness.Position{File: path}, "%w", err)
	}
	return r, nil
}

// namesServers matches a file of MCP servers; no registry has these keys.
var namesServers = regexp.MustCompile(`(?m)"mcpServers"\s*:|^mcp:`)

// ofServers is the registry of a file of MCP servers.
func ofServers(path string, data []byte) (*Registry, error) {
	c, err := mcpconfig.Parse(path, data, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	if c.Grants != nil {
		return nil, filepos.Errorf(harness.Position{File: path}, "it has agent_permissions, and a tool server does not know who asks: leave them out, or serve the servers of one agent")
	}
	r := new(Registry)
	for _, w := range c.Warnings {
		r.Warnings = append(r.Warnings, w)
	}
	for i := range c.Servers {
		s := &c.Servers[i]
		env := map[string]string{}
		for _, pair := range s.Env {
			name, text, _ := strings.Cut(pair, "=")
			env[name] = text
		}
		r.Toolsets = append(r.Toolsets, Toolset{
			ID: s.Name, Description: "The tools of the MCP server " + s.Name + ".", Active: true,
			Server: &Server{Command: s.Command, Cwd: s.Dir, Env: env, URL: s.URL, Transport: s.Transport, Headers: s.Headers},
		})
	}
	if len(r.Toolsets) == 0 {
		return nil, filepos.Errorf(harness.Position{File: path}, "it names no MCP server")
	}
	return r, nil
}

func parseRegistry(path string, data []byte) (*Registry, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	r := new(Registry)
	err := dec.Decode(r)
	if err == nil {
		if _, more := dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is more behind the end of the registry")
		}
	}
	if err == nil {
		return r, nil
	}
	at := dec.InputOffset()
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &kind):
		at = kind.Offset
		err = fmt.Errorf("%s is %s, where %s is wanted", kind.Field, kind.Value, kind.Type)
	}
	line := 1 + bytes.Count(data[:min(at, int64(len(data)))], []byte("\n"))
	return nil, filepos.Errorf(harness.Position{File: path, Line: line}, "this is not a tool registry: %w", err)
}

// expand puts variables in their places. The problems say what could not be
// replaced, each once.
func (r *Registry) expand(lookup func(string) (string, bool)) (problems []string) {
	fill := func(text string) string {
		text, wrong := mcpconfig.Expand(text, lookup, false)
		problems = append(problems, wrong...)
		return text
	}
	for i := range r.Toolsets {
		set := &r.Toolsets[i]
		for j := range set.Tools {
			set.Tools[j].URL = fill(set.Tools[j].URL)
		}
		if s := set.Server; s != nil {
			for j := range s.Command {
				s.Command[j] = fill(s.Command[j])
			}
			s.URL = fill(s.URL)
			for name, text := range s.Env {
				s.Env[name] = fill(text)
			}
			for name, text := range s.Headers {
				s.Headers[name] = fill(text)
			}
		}
	}
	slices.Sort(problems) // maps have no order
	return slices.Compact(problems)
}

// check says what is wrong with a registry.
func (r *Registry) check() error {
	if len(r.Toolsets) == 0 {
		return errors.New("there is no toolset in \"toolsets\"")
	}
	seen := make(map[string]bool)
	for i, set := range r.Toolsets {
		switch {
		case set.ID == "":
			return fmt.Errorf("toolset %d has no id", i+1)
		case seen[set.ID]:
			return fmt.Errorf("two toolsets have the id %q", set.ID)
		case len(set.Tools) == 0 && set.Server == nil:
			return fmt.Errorf("toolset %q has neither tools nor a server", set.ID)
		case len(set.Only) > 0 && set.Server == nil:
			return fmt.Errorf("toolset %q: \"only\" chooses among the tools of a server, and it has none", set.ID)
		}
		seen[set.ID] = true
		if s := set.Server; s != nil && s.Dial.Dial == nil && (len(s.Command) > 0) == (s.URL != "") {
			return fmt.Errorf("toolset %q: its server needs a command or a url, and not both", set.ID)
		}
		for _, t := range set.Tools {
			if err := t.check(); err != nil {
				return fmt.Errorf("toolset %q: %w", set.ID, err)
			}
		}
	}
	return nil
}

func (t *Tool) check() error {
	if !toolname.Valid(t.Name) {
		return fmt.Errorf("%q is not a tool name: 1 to %d letters, digits, _ and -", t.Name, toolname.MaxLen)
	}
	if t.Name == ManageTool {
		return fmt.Errorf("the name %q is that of the tool by which a model switches toolsets", t.Name)
	}
	if (t.Run == nil) == (t.URL == "") {
		return fmt.Errorf("tool %q needs a url", t.Name)
	}
	if t.URL != "" {
		if _, ok := prose.WholeURL(t.URL); !ok {
			return fmt.Errorf("tool %q: its url is not an http address", t.Name) // it may hold a key
		}
	}
	return nil
}
