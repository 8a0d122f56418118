// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpconfig

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/pelletier/go-toml/v2"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/exactjson"
)

// FormOf tells the form of a file by its name and its keys. A file that several
// programs could read has that of Claude.
func FormOf(path string, raw []byte) Form {
	if filepath.Ext(path) == ".toml" {
		return Codex
	}
	var file map[string]any
	_ = json.Unmarshal(raw, &file) // whoever reads it says what is wrong
	for form, key := range map[Form]string{OpenCode: "mcp", VSCode: "servers"} {
		if _, ok := file[key].(map[string]any); ok && file["mcpServers"] == nil {
			return form
		}
	}
	if filepath.Base(filepath.Dir(path)) == ".gemini" {
		return Gemini
	}
	entries, _ := file["mcpServers"].(map[string]any)
	for _, e := range entries {
		if e, ok := e.(map[string]any); ok && e["httpUrl"] != nil {
			return Gemini
		}
	}
	return Claude
}

// key is the key under which a form has the servers.
func (f Form) key() string {
	return cmp.Or(map[Form]string{OpenCode: "mcp", VSCode: "servers", Codex: "mcp_servers"}[f], "mcpServers")
}

// Copy returns a copy of a file in which other commands and addresses stand. swap
// is given each server as it is written, its variables too, and returns it with
// another command or URL, or another name; what else is said of it stays. Servers
// that are switched off stay as they are. path is for messages.
func Copy(path string, raw []byte, form Form, swap func(harness.Server) (harness.Server, error)) ([]byte, error) {
	file, err := form.decode(path, raw)
	if err != nil {
		return nil, err
	}
	entries, ok := file[form.key()].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("reading MCP servers of %q: it has no %s, where files in the form of %s have them", path, form.key(), form)
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		e, ok := entries[name].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s: server %q is not a map", path, name)
		}
		if e["disabled"] == true || e["enabled"] == false {
			continue
		}
		now, err := form.swap(name, e, swap)
		if err != nil {
			return nil, fmt.Errorf("%s: server %q: %w", path, name, err)
		}
		delete(entries, name)
		entries[now] = e
	}
	return form.encode(file)
}

// Rest is what a file says besides its servers; empty where that is nothing.
func Rest(path string, raw []byte, form Form) ([]byte, error) {
	file, err := form.decode(path, raw)
	delete(file, form.key())
	if err != nil || len(file) == 0 {
		return nil, err
	}
	return form.encode(file)
}

func (f Form) decode(path string, raw []byte) (map[string]any, error) {
	file := map[string]any{}
	var err error
	if f == Codex {
		err = toml.Unmarshal(raw, &file)
	} else {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber() // numbers stay as they are spelled
		err = dec.Decode(&file)
	}
	if err != nil {
		return nil, fmt.Errorf("reading MCP servers of %q, in the form of %s: %w", path, f, err)
	}
	return file, nil
}

func (f Form) encode(file map[string]any) ([]byte, error) {
	if f == Codex {
		return toml.Marshal(file)
	}
	return exactjson.MarshalIndent(file, "  ")
}

// swap replaces the command or the address of an entry, and returns its name.
func (f Form) swap(name string, e map[string]any, swap func(harness.Server) (harness.Server, error)) (string, error) {
	s := harness.Server{Name: name, Headers: texts(e["headers"])}
	for _, key := range []string{"env", "environment"} {
		for k, v := range texts(e[key]) {
			s.Env = append(s.Env, k+"="+v)
		}
	}
	slices.Sort(s.Env)
	for k, v := range texts(e["http_headers"]) {
		if s.Headers == nil {
			s.Headers = map[string]string{}
		}
		s.Headers[k] = v
	}
	at := "url"
	if _, ok := e["httpUrl"]; ok {
		at = "httpUrl"
	}
	s.URL, _ = e[at].(string)
	if s.URL != "" {
		kind, _ := e["type"].(string)
		transport, _ := e["transport"].(string)
		s.Transport = cmp.Or(kind, transport)
		if f == Gemini && at == "url" {
			s.Transport = "sse"
		}
		out, err := swap(s)
		e[at] = out.URL
		return out.Name, err
	}
	list, whole := e["command"].([]any)
	if word, ok := e["command"].(string); ok {
		list = []any{word}
	}
	args, _ := e["args"].([]any)
	for _, word := range slices.Concat(list, args) {
		text, ok := word.(string)
		if !ok {
			return "", fmt.Errorf("its command has %v, which is not a text", word)
		}
		s.Command = append(s.Command, text)
	}
	if len(s.Command) == 0 {
		return "", fmt.Errorf("it has neither a command nor a url")
	}
	out, err := swap(s)
	if err != nil {
		return "", err
	}
	if whole {
		e["command"] = out.Command
		delete(e, "args")
		return out.Name, nil
	}
	e["command"], e["args"] = out.Command[0], out.Command[1:]
	return out.Name, nil
}

// texts are the members of a map that are texts.
func texts(v any) map[string]string {
	members, _ := v.(map[string]any)
	var out map[string]string
	for k, v := range members {
		if text, ok := v.(string); ok {
			if out == nil {
				out = map[string]string{}
			}
			out[k] = text
		}
	}
	return out
}
