// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/plainfile"
)

// isYAML reports whether a name is that of a file which is looked at in a folder.
func isYAML(name string) bool {
	return slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(name))
}

// leftOut notes files of rehearse that a folder has where they are not looked
// for. Hidden folders are nobody's scenarios.
func (l *loader) leftOut(name string, entry fs.DirEntry) {
	switch {
	case l.root != "": // what a link leads to is not looked at
	case entry.IsDir() && entry.Name() == CassettesDir:
		for _, file := range oursIn(name) {
			l.note(file, "the folder "+CassettesDir+" is for recordings")
		}
	case entry.Type()&fs.ModeSymlink != 0:
		if info, err := os.Stat(name); err == nil && info.IsDir() && len(oursIn(name)) > 0 {
			l.note(name, "a link to a folder is not followed; give it beside the others")
		}
	case !entry.IsDir() && !isYAML(name) && isYAML(strings.ToLower(name)) && ours(name):
		l.note(name, "its name ends in "+filepath.Ext(name)+"; write that in small letters")
	}
}

func (l *loader) note(path, why string) {
	l.notes = append(l.notes, Note{path, why})
}

// oursIn are the files of rehearse that are in a folder itself.
func oursIn(dir string) (files []string) {
	entries, _ := os.ReadDir(dir) // what cannot be read has none that could be played
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); isYAML(path) && ours(path) {
			files = append(files, path)
		}
	}
	return files
}

// beginning is that of a file of rehearse.
var beginning = regexp.MustCompile(`\A(?:[ \t]*(?:#.*|---)?\r?\n)*\{?\s*["']?(?:` + strings.Join(kinds(), "|") + `)["']?\s*:`)

func ours(path string) bool {
	head, _, err := plainfile.Begin(path, 4<<10)
	return err == nil && beginning.Match(head)
}
