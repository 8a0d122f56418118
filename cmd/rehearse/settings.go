// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/internal/settings"
)

// settingsHelp says where settings are that neither a flag nor a variable has.
const settingsHelp = `Variables may stand in a file .env of the
working folder. Where they are not set either, client in rehearse.yaml counts, and then
~/.gem-flux-mcp/config.json; see ` + "`rehearse doctor`" + `.`

// fromFlag is a setting that a flag may have.
func fromFlag(setting, name, text string) settings.Setting {
	return settings.Setting{Name: setting, Text: text, From: name}
}

// settings finds what flags leave open, in the environment and in files. project
// is the folder whose rehearse.yaml counts; empty is the working folder.
func (p *process) settings(project string, flags ...settings.Setting) (*settings.Settings, error) {
	return settings.Load(settings.Sources{Given: flags, Lookup: p.getenv, Project: project})
}

// liveDefaults takes from the settings what the flags leave open. project is the
// folder whose rehearse.yaml counts.
func liveDefaults(p *process, opts *run.Options, project string) error {
	s, err := p.settings(project, fromFlag(settings.BaseURL, "--base-url", opts.BaseURL))
	if err != nil {
		return err
	}
	return takeSettings(s, opts)
}

// takeSettings has a run ask the endpoint and the model of the settings.
func takeSettings(s *settings.Settings, opts *run.Options) error {
	opts.BaseURL, opts.LookupEnv = s.BaseURL.Text, s.Lookup
	opts.KeysFrom(func(name string) string { v, _ := s.Lookup(name); return v })
	if len(opts.Entries) == 0 && s.Model.Text != "" {
		opts.Entries = run.Models(s.Model.Text)
	}
	if len(opts.Entries) == 0 {
		if opts.Mode == "" { // a chat, an agent server
			return errors.New("there is no model: want --model NAME, or ARGO_DEFAULT_MODEL")
		}
		return fmt.Errorf("--mode %s needs a model: --model NAME, models in rehearse.yaml, or ARGO_DEFAULT_MODEL", opts.Mode)
	}
	return nil
}
