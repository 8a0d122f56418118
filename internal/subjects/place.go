// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package subjects

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

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpconfig"
)

// place is what a subject finds in one trial: its folders and files, and the
// values of placeholders.
type place struct {
	own     string // folder with home and tmp, removed at the end
	workdir string
	values  map[string]string
	environ []string
}

// place prepares a trial.
func (d *Definition) place(env *harness.Env) (_ *place, err error) {
	p := &place{workdir: env.Workdir}
	if p.own, err = os.MkdirTemp("", "rehearse-subject-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			p.remove()
		}
	}()
	home, tmp := filepath.Join(p.own, "home"), filepath.Join(p.own, "tmp")
	if err := errors.Join(os.Mkdir(home, 0o700), os.Mkdir(tmp, 0o700)); err != nil {
		return nil, err
	}
	if p.workdir == "" { // the runner has none for us
		p.workdir = home
	}
	root := strings.TrimSuffix(env.Endpoint.BaseURL, "/v1")
	p.values = map[string]string{
		"workdir": p.workdir, "home": home, "dir": d.beside(""), "base_url": env.Endpoint.BaseURL, "endpoint": root,
		"api_key": env.Endpoint.APIKey, "model": env.Endpoint.Model, "system": env.Settings.System, "settings": settings(env), "servers": servers(env),
	}
	for _, s := range env.Servers {
		if s.URL != "" {
			p.values["server:"+s.Name] = s.URL
		}
	}
	if name := d.unknownServer(p.values); name != "" {
		return nil, fmt.Errorf("%w: the subject asks for the address {%s}, and the scenario has no server of that name with transport: http, sse or ws", harness.ErrUnable, name)
	}
	file := MCPFile{Form: cmp.Or(d.MCPFile.Form, mcpconfig.Claude), Path: d.MCPFile.Path}
	switch {
	case file.Path != "":
		file.Path = p.path(file.Path)
	case env.ConfigFile != "" && file.Form == mcpconfig.Claude:
		file.Path = env.ConfigFile // which the runner has written
	default:
		file.Path = filepath.Join(p.own, "mcp"+file.Form.Ext())
	}
	p.values["mcp_config"] = file.Path
	for _, name := range slices.Sorted(maps.Keys(d.Files)) {
		if err := p.write(p.path(name), filled(d.Files[name], p.values)); err != nil {
			return nil, err
		}
	}
	if file.Path != env.ConfigFile {
		if err := os.MkdirAll(filepath.Dir(file.Path), 0o700); err != nil {
			return nil, err
		}
		if err := mcpconfig.Write(file.Path, file.Form, env.Servers, env.Grants); err != nil {
			return nil, err
		}
	}
	p.environ = d.environ(env, p, tmp)
	return p, nil
}

// unknownServer is a placeholder for the address of a server that there is not.
func (d *Definition) unknownServer(values map[string]string) string {
	texts := slices.Concat(d.Command, slices.Collect(maps.Values(d.Env)), slices.Collect(maps.Values(d.Files)))
	if d.HTTP != nil {
		texts = append(texts, d.HTTP.Start...)
	}
	for _, text := range texts {
		for _, found := range placeholder.FindAllString(text, -1) {
			name := strings.Trim(found, "{}")
			if _, ok := values[name]; !ok && strings.HasPrefix(name, "server:") {
				return name
			}
		}
	}
	return ""
}

// environ is the whole environment of a command.
func (d *Definition) environ(env *harness.Env, p *place, tmp string) []string {
	key, model := env.Endpoint.APIKey, env.Endpoint.Model
	base, root := env.Endpoint.BaseURL, p.values["endpoint"]
	direct := "127.0.0.1,localhost"
	if u, err := url.Parse(base); err == nil && u.Hostname() != "" && !slices.Contains(strings.Split(direct, ","), u.Hostname()) {
		direct += "," + u.Hostname() // which is advertised
	}
	all := map[string]string{
		"HOME": p.values["home"], "TMPDIR": tmp, "PWD": p.workdir,
		"OPENAI_BASE_URL": base, "OPENAI_API_BASE": base, "OPENAI_API_KEY": key, "OPENAI_MODEL": model,
		"ANTHROPIC_BASE_URL": root, "ANTHROPIC_API_KEY": key, "ANTHROPIC_MODEL": model,
		"GOOGLE_GEMINI_BASE_URL": root, "GEMINI_API_KEY": key, "GEMINI_MODEL": model,
		"MCP_CONFIG": p.values["mcp_config"], "REHEARSE_SETTINGS": p.values["settings"],
		// A client that goes to the network by a proxy must not look for ours there.
		"NO_PROXY": direct, "no_proxy": direct,
	}
	for _, name := range slices.Concat(systemNames(), d.PassEnv) {
		if v, ok := os.LookupEnv(name); ok && all[name] == "" {
			all[name] = v
		}
	}
	for name, text := range d.Env {
		all[name] = filled(text, p.values)
	}
	out := make([]string, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, name+"="+all[name])
	}
	return out
}

// systemNames are the variables of ours that every command gets.
func systemNames() []string {
	return []string{"PATH", "LANG", "SYSTEMROOT", "SYSTEMDRIVE", "PATHEXT", "COMSPEC"} // the last four of Windows
}

// Variables are those that a command finds in its environment.
func Variables() []string {
	return slices.Concat([]string{"PATH", "LANG", "PWD"}, handedOver())
}

// handedOver are the variables that pass_env must not name: the subject gets
// values of the trial.
func handedOver() []string {
	return []string{
		"HOME", "TMPDIR", "OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_API_KEY", "OPENAI_MODEL", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_MODEL",
		"GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY", "GEMINI_MODEL", "MCP_CONFIG", "REHEARSE_SETTINGS", "NO_PROXY", "no_proxy",
	}
}

// path is that of a file in the trial's folders.
func (p *place) path(name string) string {
	name = filled(name, p.values)
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(p.workdir, name)
}

// write writes a file of the trial, with the folders above it.
func (p *place) write(path, text string) error {
	if !p.within(path) {
		return fmt.Errorf("files: %q is outside of the trial's folders", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// within reports whether a path is in a folder of the trial.
func (p *place) within(path string) bool {
	for _, dir := range []string{p.workdir, p.own} {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// remove removes the folder of the trial that is ours. What a stray process still
// writes there is lost.
func (p *place) remove() { _ = os.RemoveAll(p.own) }
