// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/rehearse-dev/rehearse/harness/score"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/plainfile"
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
	root, none := openWorkdir(t.workdir)
	if root != nil {
		defer root.Close()
	}
	for _, name := range names {
		if now[name] = none; root != nil {
			now[name] = fileOf(root, filepath.FromSlash(name))
		}
	}
	t.files = append(t.files, now)
}

// openWorkdir opens the working folder. Where that is not what the runner made any
// more, none is what there is of each file.
func openWorkdir(dir string) (root *os.Root, none trials.File) {
	info, err := os.Lstat(dir)
	if err == nil && info.IsDir() {
		root, err = os.OpenRoot(dir)
	}
	switch {
	case err == nil && !info.IsDir():
		return nil, trials.File{Instead: plainfile.Kind(info.Mode()) + " in place of the working folder", Astray: true}
	case err == nil:
		return root, none
	case errors.Is(err, fs.ErrNotExist):
		return nil, trials.File{Absent: true, Instead: "the working folder is gone"}
	case errors.Is(err, fs.ErrPermission):
		return nil, trials.File{Instead: "a working folder that may not be read", Astray: true}
	}
	return nil, trials.File{Problem: err.Error()}
}

// fileOf is a file of the working folder. What the subject put there in place of a
// text is told; trouble of this machine is a problem.
func fileOf(root *os.Root, name string) trials.File {
	info, err := root.Stat(name)
	switch {
	case err != nil:
		return unreachable(root, name, err)
	case !info.Mode().IsRegular():
		return trials.File{Instead: plainfile.Kind(info.Mode())}
	case info.Size() > maxFile:
		return trials.File{Instead: fmt.Sprintf("a file of %d bytes, of which %d are judged at most", info.Size(), maxFile)}
	}
	data, err := root.ReadFile(name)
	if err != nil {
		return unreachable(root, name, err)
	}
	return trials.File{Text: string(data)}
}

// unreachable is a file that cannot be looked at.
func unreachable(root *os.Root, name string, err error) trials.File {
	switch link := astray(root, name); {
	case link != "":
		return trials.File{Instead: link, Astray: true}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return trials.File{Absent: true}
	case errors.Is(err, fs.ErrPermission):
		return trials.File{Instead: "a file that may not be read"}
	}
	return trials.File{Problem: err.Error()}
}

// astray is the first part of a path that is a link to nothing of the folder, and
// where it leads; empty for none.
func astray(root *os.Root, name string) string {
	for end := range len(name) + 1 {
		if end < len(name) && !os.IsPathSeparator(name[end]) {
			continue
		}
		info, err := root.Lstat(name[:end])
		if err != nil {
			return ""
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		where := "out of the working folder"
		switch _, err := root.Stat(name[:end]); {
		case err == nil:
			continue
		case errors.Is(err, fs.ErrNotExist):
			where = "to nothing"
		case errors.Is(err, syscall.ELOOP):
			where = "in a circle"
		}
		return fmt.Sprintf("the link %q, which leads %s", filepath.ToSlash(name[:end]), where)
	}
	return ""
}
