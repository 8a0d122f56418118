// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package settings finds what a client of models and MCP servers is told: by
// flags, by the environment, and by files. Each setting knows where it came
// from.
//
//	s, err := settings.Load(settings.Sources{
//		Given:  []settings.Setting{{Name: settings.Model, Text: flags.model, From: "--model"}},
//		Lookup: os.LookupEnv,
//	})
//	if err != nil {
//		return err
//	}
//	fmt.Println(s.Model.Text, "from", s.Model.From)
//
// The earlier in this list wins:
//
//  1. flags, or whatever the caller has
//  2. the environment: ARGO_BASE_URL or else OPENAI_BASE_URL, ARGO_DEFAULT_MODEL,
//     MCP_SERVER_COMMAND, MCP_SERVER_URL, and the keys
//  3. the file .env of the working folder, for variables that are not set
//  4. client in the rehearse.yaml of the project
//  5. ~/.gem-flux-mcp/config.json: argo_base_url, default_model, mcp_server_command
//  6. http://localhost:8000/v1 for the endpoint; there is no default of the others
//
// Servers are those of the first source that names any. Other keys of the last
// file are another program's.
package settings

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/filepos"
	"github.com/rehearse-dev/rehearse/internal/mcpconfig"
	"github.com/rehearse-dev/rehearse/internal/plainfile"
	"github.com/rehearse-dev/rehearse/internal/project"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
	"github.com/rehearse-dev/rehearse/internal/subjects"
)

// The names of settings; a key has the name of its variable.
const (
	BaseURL       = "base_url"
	Model         = "model"
	Config        = "mcp_config"
	ServerCommand = "mcp_server_command"
	ServerURL     = "mcp_server_url"
)

// DefaultBaseURL is where argo-proxy is by default, as its clients have it.
const DefaultBaseURL = "http://localhost:8000/v1"

// Setting is a text and where it came from.
type Setting struct {
	Name string
	Text string // empty means that it is not set
	// From is a flag, a variable, or a place in a file; empty when it is not set.
	From string
	// Secret texts must not be printed.
	Secret bool

	level level
}

// level is the number of a source; the lower one wins.
type level int

const (
	given level = iota + 1
	environment
	ofDotenv
	ofProject
	ofHome
	byDefault
)

// Default reports whether nobody has set it.
func (s Setting) Default() bool { return s.level == byDefault || s.Text == "" }

// Shown is the text as it may be printed.
func (s Setting) Shown() string {
	if s.Secret && s.Text != "" {
		return "set"
	}
	if s.Name == BaseURL || s.Name == ServerURL {
		return prose.Address(s.Text)
	}
	if program, _, more := strings.Cut(s.Text, " "); s.Name == ServerCommand && s.level == ofDotenv && more {
		return program + " ..."
	}
	return s.Text
}

// Sources are where settings are looked for.
type Sources struct {
	// Given are those of flags, with From. Empty ones are not set.
	Given []Setting
	// Lookup is the environment. nil means [os.LookupEnv].
	Lookup func(name string) (string, bool)
	// Dir is the folder with .env. Empty means the working folder.
	Dir string
	// Project is the folder whose rehearse.yaml counts, or that of the nearest
	// folder above. Empty means Dir.
	Project string
}

// Settings are what was found.
type Settings struct {
	BaseURL, Model                   Setting
	Config, ServerCommand, ServerURL Setting
	// Keys are those of the providers, by their variables, in a fixed order.
	Keys []Setting

	lookup func(string) (string, bool)
	env    *dotenv
}

// keyVariables are where the keys of providers are.
func keyVariables() []string {
	return []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"}
}

// Load reads all sources. The error has the places of what is wrong in them.
func Load(from Sources) (*Settings, error) {
	s := &Settings{lookup: from.Lookup}
	if s.lookup == nil {
		s.lookup = os.LookupEnv
	}
	var err error
	if s.env, err = readDotenv(filepath.Join(from.Dir, ".env")); err != nil {
		return nil, err
	}
	p, err := project.Find(cmp.Or(from.Project, from.Dir))
	if err != nil {
		return nil, err
	}
	home, err := s.home()
	if err != nil {
		return nil, err
	}
	file := func(setting project.Setting) Setting {
		return Setting{Text: setting.Text, From: line(setting.Pos), level: ofProject}
	}
	s.BaseURL = first(BaseURL, from.Given, s.variable("ARGO_BASE_URL", "OPENAI_BASE_URL"), file(p.Client.BaseURL), home["argo_base_url"], Setting{Text: DefaultBaseURL, From: "default", level: byDefault})
	s.Model = first(Model, from.Given, s.variable("ARGO_DEFAULT_MODEL"), file(p.Client.Model), home["default_model"])
	config := file(p.Client.Config)
	if config.Text != "" && !filepath.IsAbs(config.Text) {
		config.Text = filepath.Join(filepath.Dir(p.Path), config.Text)
	}
	s.Config = first(Config, from.Given, config)
	s.ServerCommand = first(ServerCommand, from.Given, s.variable("MCP_SERVER_COMMAND"), file(p.Client.ServerCommand), home["mcp_server_command"])
	s.ServerURL = first(ServerURL, from.Given, s.variable("MCP_SERVER_URL"), file(p.Client.ServerURL))
	for _, name := range keyVariables() {
		key := s.variable(name)
		key.Name, key.Secret = name, true
		if key.Text = wholeKey(key.Text); !httpguts.ValidHeaderFieldValue(key.Text) { // and the value is not repeated
			return nil, fmt.Errorf("%s has a line break or another control character inside, which no HTTP header can carry", key.From)
		}
		s.Keys = append(s.Keys, key)
	}
	if u, err := url.Parse(s.BaseURL.Text); err == nil && u.RawQuery != "" { // it may be a key, and is not repeated
		return nil, fmt.Errorf("%s: a query does not belong in a base URL: a key goes into OPENAI_API_KEY", s.BaseURL.From)
	}
	for _, address := range []Setting{s.BaseURL, s.ServerURL} {
		switch want := "a URL with scheme and host, such as " + DefaultBaseURL; {
		case address.Text == "" || address.level == given || wholeURL(address.Text): // flags are checked by who has them
		case address.level == ofDotenv: // where secrets are
			return nil, fmt.Errorf("%s is not %s", address.From, want)
		default:
			return nil, fmt.Errorf("%s is %q: want %s", address.From, prose.Address(address.Text), want)
		}
	}
	return s, nil
}

// wholeKey is a key without the line end after it: a file that a secret is mounted
// as ends in one.
func wholeKey(text string) string {
	return strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
}

// line is a place without its column.
func line(pos harness.Position) string {
	pos.Col = 0
	return pos.String()
}

// first is the first setting that is set.
func first(name string, flags []Setting, others ...Setting) Setting {
	for _, s := range flags {
		if s.Name == name && s.Text != "" {
			s.level = given
			return s
		}
	}
	for _, s := range others {
		if s.Text != "" {
			s.Name = name
			return s
		}
	}
	return Setting{Name: name}
}

// variable is the first variable that is set, in the environment before .env.
func (s *Settings) variable(names ...string) Setting {
	for _, name := range names {
		if text, _ := s.lookup(name); text != "" {
			return Setting{Text: text, From: name, level: environment}
		}
	}
	for _, name := range names {
		if _, hidden := s.lookup(name); hidden {
			continue // also by an empty one
		}
		if text := s.env.values[name]; text != "" {
			return Setting{Text: text, From: fmt.Sprintf("%s in %s", name, s.env.place(name)), level: ofDotenv}
		}
	}
	return Setting{}
}

// Lookup is the environment, and behind it .env. A key comes without the line end
// after it.
func (s *Settings) Lookup(name string) (string, bool) {
	text, ok := s.lookup(name)
	if !ok {
		text, ok = s.env.values[name]
	}
	if slices.Contains(keyVariables(), name) {
		text = wholeKey(text)
	}
	return text, ok
}

// Dotenv are the variables of .env, as NAME=value, in the order of their names.
func (s *Settings) Dotenv() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.env.values)) {
		out = append(out, name+"="+s.env.values[name])
	}
	return out
}

// home reads the file of those who come from the Python client.
func (s *Settings) home() (map[string]Setting, error) {
	home, _ := s.lookup("HOME")
	if home == "" {
		home, _ = s.lookup("USERPROFILE")
	}
	if home == "" {
		return nil, nil
	}
	path := filepath.Join(home, ".gem-flux-mcp", "config.json")
	raw, err := plainfile.Read(path, plainfile.MaxSettings)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading settings: %w", err)
	}
	root, problems := strictyaml.Parse(path, strictyaml.FromJSON(raw))
	if len(problems) > 0 {
		return nil, problems[0]
	}
	if root == nil || root.Kind != strictyaml.Map {
		return nil, filepos.Errorf(harness.Position{File: path, Line: 1, Col: 1}, "want a JSON object with argo_base_url, default_model and mcp_server_command")
	}
	out := map[string]Setting{}
	for _, key := range []string{"argo_base_url", "default_model", "mcp_server_command"} {
		switch n := root.Get(key); {
		case n == nil || n.Kind == strictyaml.Null:
		case n.Kind != strictyaml.String:
			return nil, filepos.Errorf(n.Pos, "%s: want a text, got %s", key, n.Describe())
		default:
			out[key] = Setting{Text: n.Text, From: line(n.Pos), level: ofHome}
		}
	}
	return out, nil
}

// Servers are the MCP servers of the first source that names any: a command line
// or an address, or both, or the file of Config.
func (s *Settings) Servers() (*mcpconfig.Config, error) {
	at := s.serversAt()
	config := new(mcpconfig.Config)
	if s.Config.Text != "" && s.Config.level == at {
		var err error
		if config, err = mcpconfig.Read(s.Config.Text, s.Lookup); err != nil {
			return nil, err
		}
	}
	if s.ServerCommand.Text != "" && s.ServerCommand.level == at {
		words, err := subjects.Words(s.ServerCommand.Text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.ServerCommand.From, err)
		}
		config.Servers = append(config.Servers, harness.Server{Name: ServerName(words), Command: words})
	}
	if s.ServerURL.Text != "" && s.ServerURL.level == at {
		config.Servers = append(config.Servers, remote(s.ServerURL.Text))
	}
	return config, nil
}

// serversAt is the first source that names a server.
func (s *Settings) serversAt() level {
	at := byDefault
	for _, x := range []Setting{s.Config, s.ServerCommand, s.ServerURL} {
		if x.Text != "" {
			at = min(at, x.level)
		}
	}
	return at
}

// Used reports whether a setting has an effect: one that names servers has none
// behind an earlier source with servers.
func (s *Settings) Used(x Setting) bool {
	switch x.Name {
	case Config, ServerCommand, ServerURL:
		return x.Text == "" || x.level == s.serversAt()
	}
	return true
}

// ServerName is the name of a server that a command starts: that of the program,
// without its folder and ending.
func ServerName(command []string) string {
	name := filepath.Base(command[0])
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// remote is the MCP server at an address. One without a path has it at /mcp, as
// `rehearse serve tools` does.
func remote(address string) harness.Server {
	u, err := url.Parse(address)
	if err != nil {
		return harness.Server{Name: "server", URL: address}
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/mcp"
	}
	return harness.Server{Name: u.Hostname(), URL: u.String()}
}

func wholeURL(raw string) bool {
	_, ok := prose.WholeURL(raw)
	return ok
}
