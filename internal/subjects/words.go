// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package subjects

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/shell"
	"mvdan.cc/sh/v3/syntax"

	"github.com/rehearse-dev/rehearse/internal/prose"
)

// Words splits a command as a POSIX shell does, by white space and quotes. No
// shell runs: a variable, a substitution, a pipe and the like are errors, which do
// not repeat the command.
func Words(text string) ([]string, error) {
	var asked []string
	words, err := shell.Fields(text, func(name string) string {
		if !slices.Contains([]string{"IFS", "PWD"}, name) && !slices.Contains(asked, name) {
			asked = append(asked, name)
		}
		return ""
	})
	const instead = "no shell runs: quote it, or have one run by the command: sh -c '...'"
	switch {
	case syntax.IsIncomplete(err):
		return nil, errors.New("splitting the command into words: a quote or a bracket is not closed")
	case err != nil:
		return nil, fmt.Errorf("splitting the command into words: it is none that a shell would run as it is; %s", instead)
	case len(asked) > 0:
		return nil, fmt.Errorf("splitting the command into words: it has $%s or ~, and %s", asked[0], instead)
	case len(words) == 0:
		return nil, errors.New("the command is empty")
	}
	return words, nil
}

// placeholder matches what may be one.
var placeholder = regexp.MustCompile(`\{(?:[a-z_]+|server:[^{}]+)\}`)

// toolPlaceholders takes those of a tool's name out of a text.
var toolPlaceholders = strings.NewReplacer("{server}", "", "{tool}", "")

// placePlaceholders are those of a trial, whatever is said in it.
func placePlaceholders() []string {
	// Beside these there is {server:NAME}, the address of a server.
	return []string{"mcp_config", "workdir", "home", "dir", "base_url", "endpoint", "api_key", "model", "system", "settings", "servers"}
}

// commandPlaceholders are those of the words of a command.
func commandPlaceholders() []string {
	return append([]string{"prompt", "prompt_file", "session", "port"}, placePlaceholders()...)
}

// knownPlaceholders refuses words with a placeholder that there is not.
func knownPlaceholders(words, known []string) error {
	for _, word := range words {
		for _, found := range placeholder.FindAllString(word, -1) {
			name := strings.Trim(found, "{}")
			if slices.Contains(known, name) || strings.HasPrefix(name, "server:") {
				continue
			}
			return fmt.Errorf("the command has the unknown placeholder {%s}%s; there are {%s}", name, prose.DidYouMean(name, known), strings.Join(known, "}, {"))
		}
	}
	return nil
}

// filled puts values in the place of placeholders. What is put in is not looked
// at again; a placeholder without a value stays as it is.
func filled(text string, values map[string]string) string {
	return placeholder.ReplaceAllStringFunc(text, func(found string) string {
		if v, ok := values[strings.Trim(found, "{}")]; ok {
			return v
		}
		return found
	})
}

// has reports whether one of the words has one of the placeholders.
func has(words []string, names ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.Contains(word, "{"+name+"}") })
	})
}

// interpreter matches the programs that are given a script.
var interpreter = regexp.MustCompile(`^(python[0-9.]*|node|bun|deno|ruby|perl|php|sh|bash|zsh|Rscript|java)(\.exe)?$`)

// script matches the name of a file of which an interpreter is given.
var script = regexp.MustCompile(`\.(py|js|mjs|cjs|ts|mts|rb|pl|php|sh|bash|R|jar)$`)

// scriptOf is the script that the words of a command have an interpreter run;
// empty where they have none.
func scriptOf(words []string) string {
	if !interpreter.MatchString(filepath.Base(words[0])) {
		return ""
	}
	for _, word := range words[1:] {
		if !strings.HasPrefix(word, "-") {
			if script.MatchString(word) {
				return word
			}
			return ""
		}
	}
	return ""
}

// located are words in which the path of a file beside the definition is whole,
// since the command runs in the trial's folder. The program is taken for a path
// where it has a slash.
func (d *Definition) located(words []string) []string {
	out := slices.Clone(words)
	for i, word := range out {
		path := d.mayName(i, word)
		if info, err := os.Stat(path); err == nil && path != "" && info.Mode().IsRegular() {
			out[i] = path
		}
	}
	return out
}

// mayName is the path of the file beside the definition that a word of a command
// stands for where there is such a file; empty for a word that never does.
func (d *Definition) mayName(i int, word string) string {
	if word == "" || filepath.IsAbs(word) || strings.ContainsAny(word, "{}") || i == 0 && !strings.Contains(word, "/") {
		return ""
	}
	return d.beside(word)
}

// Sources are the files beside the definition that its commands name, or would
// name if they existed: one may be away while an editor writes it.
func (d *Definition) Sources() []string {
	var out []string
	commands := [][]string{d.Command, d.Resume}
	if d.HTTP != nil {
		commands = append(commands, d.HTTP.Start)
	}
	for _, words := range commands {
		for i, word := range words {
			path := d.mayName(i, strings.ReplaceAll(word, "{dir}/", ""))
			if path != "" && !slices.Contains(out, path) && !strings.ContainsAny(word, " \t\n") && !strings.HasPrefix(word, "-") {
				out = append(out, path)
			}
		}
	}
	return out
}
