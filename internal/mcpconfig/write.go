// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpconfig

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/exactjson"
	"github.com/rehearse-dev/rehearse/internal/plainfile"
)

// Form is the form of a file of MCP servers, by the program that reads it.
type Form string

// The forms.
const (
	Claude   Form = "claude"   // JSON with mcpServers, which many programs read
	Codex    Form = "codex"    // TOML with tables mcp_servers
	Gemini   Form = "gemini"   // JSON with mcpServers, a URL under httpUrl
	OpenCode Form = "opencode" // JSON with mcp
	VSCode   Form = "vscode"   // JSON with servers
)

// Forms lists every [Form].
func Forms() []Form { return []Form{Claude, Codex, Gemini, OpenCode, VSCode} }

// Ext is how the name of such a file ends.
func (f Form) Ext() string {
	if f == Codex {
		return ".toml"
	}
	return ".json"
}

// entry is a server as a form has it. What a form does not know is empty.
type entry struct {
	Type        string            `json:"type,omitempty"`
	URL         string            `json:"url,omitempty"`
	HTTPURL     string            `json:"httpUrl,omitempty"`
	Headers     map[string]string `json:"headers,omitempty"`
	Command     any               `json:"command,omitempty"` // a text, or all words
	Args        []string          `json:"args,omitempty"`
	Env         map[string]string `json:"env,omitempty"`
	Environment map[string]string `json:"environment,omitempty"`
	Enabled     bool              `json:"enabled,omitempty"`
}

// entry is a server in the form.
func (f Form) entry(s harness.Server) entry {
	e := entry{Headers: s.Headers}
	if s.URL != "" {
		e.URL, e.Type = s.URL, cmp.Or(s.Transport, "http")
		switch {
		case f == OpenCode:
			e.Type, e.Enabled = "remote", true
		case f == Gemini && e.Type == "http":
			e.URL, e.HTTPURL, e.Type = "", s.URL, ""
		case f == Gemini:
			e.Type = ""
		}
		return e
	}
	env := map[string]string{}
	for _, pair := range s.Env {
		k, v, _ := strings.Cut(pair, "=")
		env[k] = v
	}
	switch f {
	case OpenCode:
		e.Type, e.Command, e.Environment, e.Enabled = "local", s.Command, env, true
	case VSCode:
		e.Type = "stdio"
		fallthrough
	default:
		e.Command, e.Args, e.Env = s.Command[0], s.Command[1:], env
	}
	return e
}

// Write writes the servers, and which of them each agent may use, into a file.
// What else is in a file that is there stays; servers of the same names are
// replaced, but not in TOML, where the servers are put at the end.
func Write(path string, form Form, servers []harness.Server, grants map[string][]string) error {
	was, err := plainfile.Read(path, plainfile.MaxSettings)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("writing MCP servers: %w", err)
	}
	for _, s := range servers {
		if s.URL == "" && len(s.Command) == 0 {
			return fmt.Errorf("writing MCP servers: %q has neither a URL nor a command", s.Name)
		}
	}
	var data []byte
	if form == Codex {
		data, err = tomlFile(was, servers)
	} else {
		data, err = form.json(was, servers, grants)
	}
	if err != nil {
		return fmt.Errorf("writing MCP servers to %q: %w", path, err)
	}
	return plainfile.ReplaceBytes(path, 0o600, data)
}

func (f Form) json(was []byte, servers []harness.Server, grants map[string][]string) ([]byte, error) {
	file := map[string]any{}
	if len(was) > 0 {
		if err := json.Unmarshal(was, &file); err != nil {
			return nil, fmt.Errorf("the file already exists, and it is not a JSON object: %w", err)
		}
	}
	key := map[Form]string{OpenCode: "mcp", VSCode: "servers"}[f]
	key = cmp.Or(key, "mcpServers")
	entries, _ := file[key].(map[string]any)
	if entries == nil {
		entries = map[string]any{}
	}
	for _, s := range servers {
		entries[s.Name] = f.entry(s)
	}
	file[key] = entries
	if grants != nil && f == Claude {
		type permission struct {
			Servers []string `json:"allowed_servers"`
		}
		permissions := map[string]permission{}
		for agent, allowed := range grants {
			permissions[agent] = permission{allowed}
		}
		file["agent_permissions"] = permissions
	}
	return exactjson.MarshalIndent(file, "  ")
}

// tomlFile puts tables of servers behind what is there.
func tomlFile(was []byte, servers []harness.Server) ([]byte, error) {
	b := bytes.NewBuffer(slices.Clone(was))
	for _, s := range servers {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		table := "mcp_servers." + tomlKey(s.Name)
		fmt.Fprintf(b, "[%s]\n", table)
		if s.URL != "" {
			if t := cmp.Or(s.Transport, "http"); t != "http" {
				return nil, fmt.Errorf("server %q is reached by %s, and codex knows streamable HTTP alone", s.Name, t)
			}
			fmt.Fprintf(b, "url = %s\n", tomlText(s.URL))
			tomlTable(b, table+".http_headers", s.Headers)
			continue
		}
		e := Claude.entry(s)
		args := make([]string, len(e.Args))
		for i, word := range e.Args {
			args[i] = tomlText(word)
		}
		fmt.Fprintf(b, "command = %s\nargs = [%s]\n", tomlText(s.Command[0]), strings.Join(args, ", "))
		tomlTable(b, table+".env", e.Env)
	}
	return b.Bytes(), nil
}

func tomlTable(b *bytes.Buffer, name string, values map[string]string) {
	if len(values) == 0 {
		return
	}
	fmt.Fprintf(b, "[%s]\n", name)
	for _, k := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(b, "%s = %s\n", tomlKey(k), tomlText(values[k]))
	}
}

// bareKey matches a key that TOML has without quotes.
var bareKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func tomlKey(s string) string {
	if bareKey.MatchString(s) {
		return s
	}
	return tomlText(s)
}

// tomlText is a basic string of TOML: the escapes of JSON are among its own, and
// the delete character must be escaped too.
func tomlText(s string) string {
	return strings.ReplaceAll(string(exactjson.Quote(s)), "\x7f", `\u007f`)
}
