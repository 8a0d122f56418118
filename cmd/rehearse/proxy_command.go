// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// proxied runs the command that a proxy was started for and waits for its end.
// It returns the command's exit code, or an error when it could not be run.
func proxied(ctx context.Context, p *process, command, env []string) (int, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.stdin, bare(p.stdout), bare(p.stderr)
	cmd.Env = append(cmd.Environ(), env...)
	// From a terminal it was interrupted together with us.
	cmd.Cancel = func() error {
		if err := cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return cmd.Process.Kill()
		}
		return nil
	}
	wait, err := mcpwire.StartBound(cmd)
	if err != nil {
		return 0, fmt.Errorf("running %q: %w", command[0], err)
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-p.abort:
			_ = cmd.Process.Kill() // it may have ended
		case <-done:
		}
	}()
	err = wait()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && (ctx.Err() == nil || exit.ExitCode() > 0):
		return mcpwire.ExitCode(exit.ProcessState), nil
	case ctx.Err() != nil: // by the signal that we sent on
		return int(exitKilled), nil
	case err != nil:
		return 0, fmt.Errorf("running %q: %w", command[0], err)
	}
	return 0, nil
}

// openAIBase is the base URL of a proxy at address for OpenAI's clients. bare
// says that the endpoint's own address ends before the /v1 that they want in
// theirs.
func openAIBase(address string, bare bool) string {
	if bare {
		return address + "/v1"
	}
	return address
}

// clientEnv is what the official clients of several providers read, so that
// they ask the proxy at address; see [openAIBase].
func clientEnv(p *process, address string, bare bool, mode cassettes.Mode) []string {
	env := []string{
		"REHEARSE_PROXY_URL=" + address,
		"OPENAI_BASE_URL=" + openAIBase(address, bare), "ANTHROPIC_BASE_URL=" + address, "GOOGLE_GEMINI_BASE_URL=" + address,
	}
	// Who goes to the network through a proxy must not look for ours there.
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		list := "127.0.0.1,localhost"
		if v, _ := p.getenv(name); v != "" {
			list = v + "," + list
		}
		env = append(env, name+"="+list)
	}
	if mode != cassettes.Replay {
		return env
	}
	// The clients want a key, which nobody looks at here.
	for _, name := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"} {
		if v, _ := p.getenv(name); v == "" {
			env = append(env, name+"=replayed")
		}
	}
	return env
}

// recordedAt returns the address of the endpoint that a cassette was recorded
// from, as --upstream takes it, and its path.
func recordedAt(path string) (address, base string) {
	f, err := vcr.Read(path)
	if err != nil || len(f.Interactions) == 0 {
		return "", ""
	}
	n := max(0, slices.IndexFunc(f.Interactions, func(i *vcr.Interaction) bool { return i.Meta.Base != "" }))
	i := f.Interactions[n]
	u, err := url.Parse(i.Request.URL)
	if err != nil || u.Host == "" {
		return "", i.Meta.Base
	}
	return u.Scheme + "://" + u.Host + i.Meta.Base, i.Meta.Base
}

// bareAddress reports whether the address of the endpoint that a client is to
// reach or, in a replay, was recorded with, ends before /v1.
func bareAddress(flags *proxyFlags, upstream *url.URL) bool {
	if flags.mode != string(cassettes.Replay) {
		return strings.Trim(upstream.Path, "/") == ""
	}
	path := flags.cassette
	if flags.cassettes != "" {
		path = anyCassette(flags.cassettes)
	}
	f, err := vcr.Read(path)
	if err != nil {
		return true
	}
	_, base := recordedAt(path)
	return strings.Trim(base, "/") == "" || slices.ContainsFunc(f.Interactions, func(i *vcr.Interaction) bool {
		return strings.HasPrefix(strings.TrimPrefix(pathOf(i.Request.URL), base), "/v1/chat/completions")
	})
}

// anyCassette is the first cassette of a folder; empty when there is none.
func anyCassette(dir string) string {
	entries, _ := os.ReadDir(dir) // whoever opens it will say what is wrong
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); kindOf(path) == aCassette {
			return path
		}
	}
	return ""
}

// recordAgain is the command that records a cassette anew.
func recordAgain(flags *proxyFlags, command []string) string {
	path, flag := flags.cassette, "--cassette"
	if flags.cassettes != "" {
		path, flag = anyCassette(flags.cassettes), "--cassettes"
	}
	address, _ := recordedAt(path)
	if address == "" {
		address = "URL"
	}
	words := []string{"rehearse", "proxy", "--mode", "record", flag, cmp.Or(flags.cassette, flags.cassettes), "--upstream", address}
	if len(command) > 0 {
		words = append(append(words, "--"), command...)
	}
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n'\"`$&|;<>()*?[]{}~#!\\") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
