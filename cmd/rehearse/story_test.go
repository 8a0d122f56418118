// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

// TestStory executes docs/story.md and docs/guide.md: it writes the files that
// a page shows, runs its commands in one shell, and compares the output. With
// -update it writes the output into the page.
//
// A code block whose first line is a comment with a path is that file. In a
// block of kind console, each line that begins with $ is a command, and its
// output follows. Addresses of the page are replaced with free ones.
func TestStory(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	// The binary is built, since a test binary does not record.
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin+"/", ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, page := range []string{"docs/story.md", "docs/guide.md"} {
		t.Run(filepath.Base(page), func(t *testing.T) { story(t, bin, page) })
	}
}

func story(t *testing.T, bin, name string) {
	page := "../../" + name
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	s := newStoryShell(t, bin, name)
	var out strings.Builder // the page with what came
	for _, part := range storyParts(string(text)) {
		switch {
		case part.kind == "console":
			part.body = s.session(part.line, part.body)
		case part.path != "":
			s.write(part.path, part.body)
		}
		out.WriteString(part.String())
	}
	if t.Failed() {
		return
	}
	s.workflow()
	if *update && out.String() != string(text) {
		if err := os.WriteFile(page, []byte(out.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// storyPart is a block of code, or the text before one.
type storyPart struct {
	line             int
	kind, path, body string // of code
	text             string
}

func (p storyPart) String() string {
	if p.kind == "" {
		return p.text
	}
	return "```" + p.kind + "\n" + p.body + "```\n"
}

var (
	storyBlock = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```\n")
	storyPath  = regexp.MustCompile(`^# ([\w./-]+\.\w+)\n`)
)

func storyParts(page string) []storyPart {
	var parts []storyPart
	at := 0
	for _, m := range storyBlock.FindAllStringSubmatchIndex(page, -1) {
		parts = append(parts, storyPart{text: page[at:m[0]]})
		p := storyPart{line: strings.Count(page[:m[4]], "\n") + 1, kind: page[m[2]:m[3]], body: page[m[4]:m[5]]}
		if path := storyPath.FindStringSubmatch(p.body); path != nil {
			p.path = path[1]
		}
		parts = append(parts, p)
		at = m[1]
	}
	return append(parts, storyPart{text: page[at:]})
}

// storyShell is the shell that all commands of a page are run in.
type storyShell struct {
	t     *testing.T
	page  string
	dir   string
	in    io.Writer
	lines <-chan string
	ctx   context.Context
	real  map[string]string // addresses of the page and what they are here
	ran   map[string]bool   // commands
}

func newStoryShell(t *testing.T, bin, page string) *storyShell {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	dir := t.TempDir()
	sh := exec.CommandContext(ctx, "sh")
	sh.Dir = dir
	sh.Env = append(os.Environ(), "CI=", "OPENAI_API_KEY=", "HOME="+dir, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	sh.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what it started ends with it
	in, err := sh.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	sh.Stdout, sh.Stderr = w, w
	if err := sh.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	lines := make(chan string)
	go func() {
		defer close(lines)
		for sc := bufio.NewScanner(r); sc.Scan(); {
			select {
			case lines <- sc.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-sh.Process.Pid, syscall.SIGKILL)
		_ = sh.Wait()
		cancel()
		r.Close()
	})
	return &storyShell{t: t, page: page, dir: dir, in: in, lines: lines, ctx: ctx, real: map[string]string{}, ran: map[string]bool{}}
}

func (s *storyShell) write(path, text string) {
	path = filepath.Join(s.dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		s.t.Fatal(err)
	}
}

// session runs the commands of a block and returns it with what they printed.
func (s *storyShell) session(line int, block string) string {
	var out strings.Builder
	for _, one := range strings.Split("\n"+block, "\n$ ")[1:] {
		command, want, _ := strings.Cut(one, "\n")
		if want != "" {
			want = strings.TrimSuffix(want, "\n") + "\n"
		}
		got := s.run(command, strings.Count(want, "\n"))
		if maskStory(want) == maskStory(got) {
			got = want
		} else if !*update {
			s.t.Errorf("%s:%d: $ %s (-page +printed):\n%s", s.page, line, command, cmp.Diff(want, got))
		}
		fmt.Fprintf(&out, "$ %s\n%s", command, got)
		line += 1 + strings.Count(want, "\n")
	}
	return out.String()
}

var (
	storyListen  = regexp.MustCompile(`--listen (127\.0\.0\.1:\d+)`)
	storyAddress = regexp.MustCompile(`127\.0\.0\.1:\d+`)
)

// run runs a command and returns what it printed, with the page's addresses. A
// command in the background is done when it has printed n lines; one that
// listens prints at least its address.
func (s *storyShell) run(command string, n int) string {
	s.t.Helper()
	s.ran[command] = true
	const end = "--- end of the command ---"
	listens := storyListen.FindStringSubmatch(command)
	if listens != nil {
		command = strings.Replace(command, listens[1], "127.0.0.1:0", 1)
		n = max(n, 1)
	}
	command = s.here(command)
	fmt.Fprintf(s.in, "%s\ncode=$?; echo '%s'; (exit $code)\n", command, end)
	background := strings.HasSuffix(command, "&")
	var out strings.Builder
	for got, ended := 0, false; !ended || background && got < n; {
		select {
		case line, ok := <-s.lines:
			switch {
			case !ok:
				s.t.Fatalf("$ %s: the shell ended:\n%s", command, out.String())
			case line == "rehearse: stopping; interrupt again to end at once":
				continue // a slow machine says it
			case strings.HasSuffix(line, end): // what was printed before may have no end of line
				ended = true
				if line = strings.TrimSuffix(line, end); line == "" {
					continue
				}
			}
			got++
			out.WriteString(line + "\n")
		case <-s.ctx.Done():
			s.t.Fatalf("$ %s: %v; so far:\n%s", command, s.ctx.Err(), out.String())
		}
	}
	text := out.String()
	if listens != nil {
		if s.real[listens[1]] = storyAddress.FindString(text); s.real[listens[1]] == "" {
			s.t.Fatalf("$ %s: printed no address:\n%s", command, text)
		}
	}
	for page, here := range s.real {
		text = strings.ReplaceAll(text, here, page)
	}
	return text
}

// here puts the addresses of this run in the place of those of the page.
func (s *storyShell) here(text string) string {
	for page, here := range s.real {
		text = strings.ReplaceAll(text, page, here)
	}
	return text
}

// storyRun is the folder of a run. The second within a second has a number.
var storyRun = regexp.MustCompile(`runs/\d{8}-\d{6}-(\w+?)(-\d+)?/`)

// maskStory takes out what differs from run to run.
func maskStory(text string) string {
	text = storyRun.ReplaceAllString(text, "runs/TIME-$1/")
	for _, v := range volatile {
		text = v.re.ReplaceAllString(text, v.with)
	}
	return text
}

// workflow runs what the page has GitHub run.
func (s *storyShell) workflow() {
	files, err := filepath.Glob(filepath.Join(s.dir, ".github/workflows/*.yml"))
	if err != nil || len(files) == 0 && strings.HasSuffix(s.page, "story.md") {
		s.t.Fatalf("the page has no workflow: %v", err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			s.t.Fatal(err)
		}
		var flow struct {
			Jobs map[string]struct {
				Steps []struct {
					Run string
					Env map[string]string
				}
			}
		}
		if err := yaml.Unmarshal(data, &flow); err != nil {
			s.t.Fatalf("%s: %v", path, err)
		}
		for name, job := range flow.Jobs {
			ran := 0
			for _, step := range job.Steps {
				if !strings.HasPrefix(step.Run, "rehearse ") {
					continue
				}
				ran++
				got := s.run("CI=true OPENAI_API_KEY=x "+step.Run+"; echo code $?", 0)
				if !strings.HasSuffix(got, "code 0\n") {
					s.t.Errorf("%s: job %s: %s:\n%s", filepath.Base(path), name, step.Run, got)
				}
			}
			if ran == 0 {
				s.t.Errorf("%s: job %s runs nothing", filepath.Base(path), name)
			}
		}
	}
}
