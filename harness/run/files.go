// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/rehearse-dev/rehearse/harness/score"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// maxFile bounds what is kept of a file for judging.
const maxFile = 1 << 20

// putFiles writes the files of the scenario into the working folder.
func (t *trial) putFiles() error {
	for name, text := range t.scenario.Files {
		path := filepath.Join(t.workdir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// judgedFiles are the paths of the files that expectations of a scenario name.
func judgedFiles(s *scenarios.Scenario) []string {
	var out []string
	add := func(list []score.Scorer) {
		for _, scorer := range list {
			if files, ok := scorer.(score.Files); ok {
				for _, f := range files.List {
					out = append(out, f.Path)
				}
			}
		}
	}
	for _, turn := range s.Turns {
		add(turn.Expect)
	}
	add(s.Expect)
	slices.Sort(out)
	return slices.Compact(out)
}

// keepFiles notes what the files hold now that expectations name. Links are not
// followed out of the folder.
func (t *trial) keepFiles() {
	names := judgedFiles(t.scenario)
	if len(names) == 0 || t.workdir == "" {
		return
	}
	now := map[string]trials.File{}
	root, err := os.OpenRoot(t.workdir)
	if err == nil {
		defer root.Close()
	}
	for _, name := range names {
		if err != nil {
			now[name] = trials.File{Problem: err.Error()}
			continue
		}
		info, err := root.Stat(filepath.FromSlash(name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			now[name] = trials.File{Absent: true}
		case err != nil:
			now[name] = trials.File{Problem: err.Error()}
		case !info.Mode().IsRegular():
			now[name] = trials.File{Problem: "it is not a regular file"}
		case info.Size() > maxFile:
			now[name] = trials.File{Problem: fmt.Sprintf("it has %d bytes, and %d are judged at most", info.Size(), maxFile)}
		default:
			data, err := root.ReadFile(filepath.FromSlash(name))
			if now[name] = (trials.File{Text: string(data)}); err != nil {
				now[name] = trials.File{Problem: err.Error()}
			}
		}
	}
	t.files = append(t.files, now)
}
