// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// TestDocsCommands parses every rehearse command line of the documentation:
// the command and its flags exist, their values parse, and it has the
// arguments that it needs. Nothing is run; TestStory runs docs/story.md and
// docs/guide.md.
func TestDocsCommands(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	parsed := 0
	for _, page := range append(pages, "../../README.md", "../../CONTRIBUTING.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range docCommands(string(text)) {
			parsed++
			if err := parseCommand(c.words, c.whole); err != nil {
				t.Errorf("%s:%d: %s: %v", filepath.Base(page), c.line, strings.Join(c.words, " "), err)
			}
		}
	}
	if parsed < 100 {
		t.Errorf("%d command lines were parsed: are they written differently now?", parsed)
	}
}

// TestDocsCommandsFail makes sure that a wrong command line is found.
func TestDocsCommandsFail(t *testing.T) {
	page := "Use `rehearse run --mdoe live`.\n\n    rehearse rnu scenarios\n    rehearse run # no path\n\n```console\n$ rehearse run x --trials many\n```\n"
	for i, want := range []string{"--mdoe", "rnu", "needs", "many"} {
		c := docCommands(page)[i]
		if err := parseCommand(c.words, c.whole); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error about %q", c.words, err, want)
		}
	}
}

// parseCommand parses a command line; a whole one must also have its arguments.
func parseCommand(words []string, whole bool) error {
	root := rootCommand(&process{getenv: os.LookupEnv, stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard})
	root.InitDefaultHelpFlag()
	cmd, rest, err := root.Find(words[1:])
	if err != nil {
		return err
	}
	cmd.InitDefaultHelpFlag()
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	if cmd == root && cmd.Flags().NArg() > 0 {
		return fmt.Errorf("unknown command %q", cmd.Flags().Arg(0))
	}
	if help, _ := cmd.Flags().GetBool("help"); !whole || help || cmd.Args == nil {
		return nil
	}
	return cmd.Args(cmd, cmd.Flags().Args())
}

// TestHelpWidth: the texts of --help fit a terminal of 90 columns.
func TestHelpWidth(t *testing.T) {
	const columns = 90
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Long) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > columns {
				t.Errorf("%s: a line of its help has %d columns: %s", cmd.CommandPath(), n, line)
			}
		}
		for _, c := range cmd.Commands() {
			check(c)
		}
	}
	check(rootCommand(&process{getenv: os.LookupEnv, stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard}))
}

type docCommand struct {
	line  int
	words []string
	whole bool // it stands in a block of code, not within a sentence
}

var (
	codeLine   = regexp.MustCompile(`^(?:    |\$ )?(?:- run: )?(?:CI=true )?(rehearse .*)$`)
	inlineCode = regexp.MustCompile("`(rehearse [a-z][^`]*)`")
)

func docCommands(page string) []docCommand {
	var commands []docCommand
	fenced, line := false, 0
	for text := range strings.Lines(page) {
		text = strings.TrimSuffix(text, "\n")
		line++
		if strings.HasPrefix(text, "```") {
			fenced = !fenced
			continue
		}
		if fenced || strings.HasPrefix(text, "    ") {
			if m := codeLine.FindStringSubmatch(text); m != nil && !strings.HasPrefix(m[1], "rehearse: ") {
				commands = append(commands, docCommand{line, shellWords(m[1]), true})
			}
			continue
		}
		for _, m := range inlineCode.FindAllStringSubmatch(text, -1) {
			commands = append(commands, docCommand{line, shellWords(m[1]), false})
		}
	}
	return commands
}

// shellWords splits one simple command as a shell does. A comment, a pipe, a
// redirection or an ampersand ends it.
func shellWords(line string) []string {
	var words []string
	var word strings.Builder
	in, quote := false, rune(0)
	for _, r := range line + " " {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			in, quote = true, r
		case !in && strings.ContainsRune("#|&;", r), r == '>': // and the number before a redirection
			return words
		case r == ' ':
			if in {
				words = append(words, word.String())
			}
			word.Reset()
			in = false
		case r == ';' || r == '&':
			return append(words, word.String())
		default:
			in = true
			word.WriteRune(r)
		}
	}
	return words
}
