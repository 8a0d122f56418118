// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/project"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// findProjects reads the settings of the projects that the scenarios are of.
func (r *runner) findProjects(list []*scenarios.Scenario) error {
	r.projects = map[string]*project.Project{}
	for _, s := range list {
		dir := filepath.Dir(filepath.FromSlash(s.Pos.File))
		if r.projects[dir] != nil {
			continue
		}
		p, err := project.Find(dir)
		if err != nil {
			return err
		}
		r.projects[dir] = p
	}
	return nil
}

// project are the settings of the project that a scenario is of.
func (r *runner) project(s *scenarios.Scenario) *project.Project {
	if p := r.projects[filepath.Dir(filepath.FromSlash(s.Pos.File))]; p != nil {
		return p
	}
	return &project.Project{Redact: project.Redact{Runs: true}}
}
