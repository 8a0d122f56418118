// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/cassettes/mcptape"
	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect/dialects"
	"github.com/rehearse-dev/rehearse/internal/gate"
	"github.com/rehearse-dev/rehearse/internal/key"
	"github.com/rehearse-dev/rehearse/internal/mcpconfig"
	"github.com/rehearse-dev/rehearse/internal/plainfile"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/recfile"
	"github.com/rehearse-dev/rehearse/internal/redact"
)

// captureFlags are the flags of capture.
type captureFlags struct {
	out, name         string
	listen, upstream  string
	mcpFile, mcpForm  string
	passEnv           []string
	keepErrors, force bool
	ignore, keep      []string
	admits            gate.Rules
}

func captureCommand(p *process) *cobra.Command {
	var flags captureFlags
	cmd := &cobra.Command{
		Use:   "capture [--out DIR] [--mcp-file FILE] [--upstream URL] -- CMD ARGS...",
		Short: "Watch an agent once, and write a scenario of what it did",
		Long: `capture runs a command, an agent in any language, and watches one conversation of
it: a proxy stands before its endpoint, and rehearse tape before each server of its
file of MCP servers. Then it writes a folder:

  NAME.yaml       the scenario: the command as subject, turns, replies, and what
                  happened as the first expectations
  servers/        a mock of each server: its tools, and the results that were seen
  model.yaml      the mock model alone, for rehearse serve llm
  cassettes/      the recording, for --mode replay

and plays the scenario in the modes mock and replay, without endpoint and servers.
The exit code is 1 if it does not pass in both. It is not played where the model
called a tool that no captured server has. All is text, to be edited.

The command finds the proxy as it does with rehearse proxy: in OPENAI_BASE_URL,
ANTHROPIC_BASE_URL and GOOGLE_GEMINI_BASE_URL, or by {base_url} and {endpoint} in its
words. The endpoint is --upstream, else OPENAI_BASE_URL. The command gets a copy of
--mcp-file (default: that of MCP_CONFIG) in place of the file, where a word of it
is that path or has {mcp_config}, and in MCP_CONFIG. The forms of Claude, Codex,
Gemini, opencode and VS Code are told apart by themselves.

A word that is what the user says becomes {prompt} in the scenario. Keys, login names
and folders are removed from all that is written, as from recordings. Nothing is
captured where CI is set, and a folder with files in it is left alone unless --force
says otherwise. Ctrl-C ends the command; what was seen by then is written.`,
		Example: `  rehearse capture --out scenarios/weather --mcp-file mcp.json -- python3 agent.py 'What is the weather in Paris?'
  rehearse capture --upstream https://api.openai.com/v1 --mcp-file mcp.json -- agent --mcp {mcp_config} 'Read notes.txt.'
  rehearse capture --mcp-file ~/.codex/config.toml -- sh -c 'CODEX_HOME=$(dirname "$MCP_CONFIG") codex exec "$0"' 'List the files.'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash > 0 || dash < 0 && len(args) > 0 {
				return fmt.Errorf("unexpected argument %q; put the agent's command after --", args[0])
			}
			if len(args) == 0 {
				return fmt.Errorf("capture needs the agent's command after --\nfor example:\n%s", cmd.Example)
			}
			return captureOnce(cmd.Context(), p, &flags, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.out, "out", "capture", "folder to write")
	f.StringVar(&flags.name, "name", "", "name of the scenario (default: that of the folder)")
	f.StringVar(&flags.mcpFile, "mcp-file", "", "the agent's file of MCP servers (default: the one that MCP_CONFIG names, if any)")
	f.StringVar(&flags.mcpForm, "mcp-form", "", "form of that file: claude, codex, gemini, opencode or vscode (default: by its name and keys)")
	f.StringArrayVar(&flags.passEnv, "pass-env", nil, "variable of your environment that the agent needs in the scenario too; may be repeated")
	f.StringVar(&flags.upstream, "upstream", "", "address of the endpoint (default: OPENAI_BASE_URL)")
	f.StringVar(&flags.listen, "listen", "127.0.0.1:0", "address of the proxy; keep it on loopback, because the proxy checks no key")
	gateFlags(f, &flags.admits)
	f.BoolVar(&flags.keepErrors, "keep-errors", false, "also record answers of 429 and of 500 and above")
	f.StringArrayVar(&flags.ignore, "ignore", nil, "path in JSON bodies to ignore when the replay matches requests, such as metadata.trace or '**.date'; may be repeated")
	addKeep(f, &flags.keep)
	f.BoolVar(&flags.force, "force", false, "write into a folder that has files, over those of the same names")
	return cmd
}

// captured is one conversation while it is watched, and what was seen of it.
type captured struct {
	p       *process
	flags   *captureFlags
	command []string
	dir     string // of recordings, removed at the end
	name    string
	rules   *redact.Rules

	upstream *url.URL
	endpoint string // as it was given
	listener net.Listener
	form     mcpconfig.Form
	mcpFile  string // the agent's own; empty for none
	mcpCopy  string
	mcpRest  []byte   // what it says besides servers
	servers  []string // names, in the order of their numbers
	close    []func() error

	mu      sync.Mutex // guards secrets
	secrets []string   // that clients have sent

	own      []string // tools that the agent ran by itself
	lines    bool     // the command reads several turns from its standard input
	plays    int      // of what was written
	scenario string   // the path of what was written
	stdout   bytes.Buffer
	ended    string // how the command ended, if not well
}

// lastOutput is how long the output of a command that has ended is waited for.
const lastOutput = time.Second

func captureOnce(ctx context.Context, p *process, flags *captureFlags, command []string) error {
	c := &captured{p: p, flags: flags, command: command, name: flags.name}
	c.secret(redact.ServerSecrets(nil, nil, command)...)
	if err := c.prepare(); err != nil {
		return err
	}
	defer os.RemoveAll(c.dir)
	cassette := filepath.Join(c.dir, "cassette.yaml")
	watched := c.watch(ctx, cassette)
	var ended error
	for _, end := range c.close {
		ended = errors.Join(ended, end())
	}
	err := errors.Join(watched, ended)
	if watched == nil {
		err = errors.Join(c.write(cassette), ended)
	}
	if err := c.refused(err); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return &codeError{exitKilled, fmt.Errorf("interrupted: %q has what was seen by then, and was not played", flags.out)}
	case c.ended != "":
		p.logf("rehearse: warning: the command %s; the scenario has what was seen by then", c.ended)
	}
	if len(c.own) > 0 {
		return &codeError{exitFailed, fmt.Errorf(`%q is written, and was not played: the model called %s, which no captured server has, so that the agent would run it again.
If a server of the agent has it, name its file with --mcp-file, and hand the copy over: as the word {mcp_config}, or by MCP_CONFIG.
If it is a tool of the agent's own that may run again: rehearse run %s`, flags.out, strings.Join(c.own, ", "), prose.ShellWord(flags.out))}
	}
	played := c.play(ctx)
	if played != nil && c.lines && ctx.Err() == nil && c.inJSON(ctx) {
		return nil
	}
	return played
}

// prepare looks at what was asked for before anything is run.
func (c *captured) prepare() error {
	p, flags := c.p, c.flags
	if recfile.InCI(p.getenv) {
		return errors.New("CI is set, and nothing is captured in CI; capture on your own machine and commit the files")
	}
	if entries, err := os.ReadDir(flags.out); err == nil && len(entries) > 0 && !flags.force {
		return fmt.Errorf("the folder %q has files already: choose another with --out, or let --force write over those of the same names", flags.out)
	}
	if c.name == "" {
		abs, err := filepath.Abs(flags.out)
		if err != nil {
			return err
		}
		c.name = filepath.Base(abs)
	}
	fromEnv, _ := p.getenv("OPENAI_BASE_URL")
	if c.endpoint = cmp.Or(flags.upstream, fromEnv); c.endpoint == "" {
		return errors.New("capture needs the address of the endpoint: --upstream URL, or OPENAI_BASE_URL")
	}
	var err error
	if c.upstream, err = endpointAddress(c.endpoint); err != nil {
		return err
	}
	if c.rules, err = secretRules(flags.keep); err != nil {
		return err
	}
	c.rules.Places = redact.Here()
	if cwd, err := os.Getwd(); err == nil && !slices.ContainsFunc(c.rules.Places, func(p redact.Place) bool { return p.Path == cwd }) && filepath.Dir(cwd) != cwd {
		c.rules.Places = append(c.rules.Places, redact.Place{Name: "work", Path: cwd})
	}
	for _, name := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"} {
		v, _ := p.getenv(name)
		c.secret(v)
	}
	for _, name := range flags.passEnv {
		if v, _ := p.getenv(name); redact.SecretName(name) {
			c.secret(v)
		}
	}
	fromEnv, _ = p.getenv("MCP_CONFIG")
	c.mcpFile = cmp.Or(flags.mcpFile, fromEnv)
	if c.dir, err = os.MkdirTemp("", "rehearse-capture-"); err != nil {
		return err
	}
	if c.listener, err = net.Listen("tcp", flags.listen); err == nil {
		err = c.copyServers()
	}
	if err != nil {
		for _, end := range c.close {
			_ = end() // nobody has asked yet
		}
		if c.listener != nil {
			_ = c.listener.Close()
		}
		return errors.Join(err, os.RemoveAll(c.dir))
	}
	return nil
}

// address is that of the proxy.
func (c *captured) address() string { return "http://" + dialled(c.listener.Addr()) }

// secret notes a text that must not be written.
func (c *captured) secret(texts ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, text := range texts {
		if len(text) >= redact.MinLiteral && !slices.Contains(c.secrets, text) {
			c.secrets = append(c.secrets, text)
		}
	}
}

// redacting are the rules with all secrets that are known by now.
func (c *captured) redacting() *redact.Rules {
	c.mu.Lock()
	defer c.mu.Unlock()
	rules := *c.rules
	rules.Literals = slices.Clone(c.secrets)
	return &rules
}

// copyServers writes the copy of the agent's file of MCP servers, in which a
// recorder stands before each of them.
func (c *captured) copyServers() error {
	if c.mcpFile == "" {
		return nil
	}
	raw, err := plainfile.Read(c.mcpFile, plainfile.MaxSettings)
	if err != nil {
		return fmt.Errorf("reading MCP servers: %w", err)
	}
	if c.form = mcpconfig.Form(c.flags.mcpForm); c.form == "" {
		c.form = mcpconfig.FormOf(c.mcpFile, raw)
	} else if forms := mcpconfig.Forms(); !slices.Contains(forms, c.form) {
		return fmt.Errorf("--mcp-form %q: want one of %v", c.form, forms)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// First what is secret: a recorder knows what there is when it begins.
	look := func(s harness.Server) (harness.Server, error) {
		c.serverSecrets(s)
		return s, nil
	}
	if _, err := mcpconfig.Copy(c.mcpFile, raw, c.form, look); err != nil {
		return err
	}
	data, err := mcpconfig.Copy(c.mcpFile, raw, c.form, func(s harness.Server) (harness.Server, error) {
		s.Name = c.serverName(s.Name)
		c.servers = append(c.servers, s.Name)
		tape := c.tape(len(c.servers) - 1)
		if s.URL != "" {
			return c.proxied(s, strings.Replace(tape, "*", "http", 1))
		}
		words := []string{self, "tape", "--out", strings.Replace(tape, "*", "{pid}", 1)}
		for _, keep := range c.flags.keep {
			words = append(words, "--keep", keep)
		}
		s.Command = append(append(words, "--"), s.Command...)
		return s, nil
	})
	if err != nil {
		return err
	}
	if c.mcpRest, err = mcpconfig.Rest(c.mcpFile, raw, c.form); err != nil {
		return err
	}
	// Where the file names the endpoint, too, that is the proxy.
	data = c.withEndpoint(data, c.address(), c.address())
	dir := filepath.Join(c.dir, "mcp")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	c.mcpCopy = filepath.Join(dir, filepath.Base(c.mcpFile))
	return plainfile.ReplaceBytes(c.mcpCopy, 0o600, data)
}

// serverName is the name of a server in the copy of the file and in the scenario,
// where a name has no dot.
func (c *captured) serverName(name string) string {
	plain := strings.ReplaceAll(name, ".", "_")
	if plain == name {
		return name
	}
	for slices.Contains(c.servers, plain) {
		plain += "_"
	}
	c.p.logf("rehearse: note: the agent is given server %q as %q, since the name of a server in a scenario has no dot", name, plain)
	return plain
}

// tape is the pattern of the tapes of a server.
func (c *captured) tape(n int) string { return filepath.Join(c.dir, fmt.Sprintf("%d.*.tape", n)) }

// withEndpoint is a text in which other addresses stand in the place of that of the
// endpoint: base as it was given, and root where it stands without the version that
// it was given with.
func (c *captured) withEndpoint(data []byte, base, root string) []byte {
	given := strings.TrimSuffix(c.endpoint, "/")
	data = bytes.ReplaceAll(data, []byte(given), []byte(base))
	for _, version := range dialects.Versions() {
		if short, ok := strings.CutSuffix(given, version); ok {
			data = bytes.ReplaceAll(data, []byte(short), []byte(root))
		}
	}
	return data
}

// serverSecrets notes what a file of MCP servers hands to a server in secret.
func (c *captured) serverSecrets(s harness.Server) {
	filled := func(text string) string {
		text, _ = mcpconfig.Expand(text, c.p.getenv, true)
		return text
	}
	headers := map[string]string{}
	for name, v := range s.Headers {
		headers[name] = filled(v)
	}
	words := func(list []string) []string {
		out := make([]string, len(list))
		for i, text := range list {
			out[i] = filled(text)
		}
		return out
	}
	c.secret(redact.ServerSecrets(headers, words(s.Env), words(s.Command))...)
}

// proxied has a recorder stand before a server over HTTP.
func (c *captured) proxied(s harness.Server, tape string) (harness.Server, error) {
	if s.Transport == "sse" || s.Transport == "ws" || s.Transport == "websocket" {
		return s, fmt.Errorf("it is reached by %s, and capture records servers over stdio and streamable HTTP", s.Transport)
	}
	address, problems := mcpconfig.Expand(s.URL, c.p.getenv, true)
	target, ok := prose.WholeURL(address)
	if !ok || len(problems) > 0 {
		return s, errors.New("its url is not an address such as http://localhost:8000/mcp")
	}
	if target.Path == "" {
		target.Path = "/"
	}
	rec, err := mcptape.NewRecorder(tape, &mcptape.RecordOptions{Server: s.Name, Secrets: c.redacting(), LookupEnv: c.p.getenv, Logf: c.p.logf})
	if err != nil {
		return s, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return s, errors.Join(err, rec.Close())
	}
	srv := gate.Rules{}.Server(c.watched(rec.Handler(target, nil)))
	done := make(chan error, 1)
	go func() { done <- srv.Serve(listener) }()
	c.close = append(c.close, func() error {
		err := errors.Join(srv.Close(), rec.Close())
		<-done
		return err
	})
	s.URL = "http://" + listener.Addr().String() + target.Path
	return s, nil
}

// watched notes the secrets in the headers of requests.
func (c *captured) watched(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.secret(redact.HeaderSecrets(r.Header)...)
		h.ServeHTTP(w, r)
	})
}

// watch runs the command before the recorders.
func (c *captured) watch(ctx context.Context, cassette string) error {
	p, flags := c.p, c.flags
	rec, err := cassettes.Open(cassette, &cassettes.Options{
		Mode: cassettes.Record, KeepErrors: flags.keepErrors, Match: &key.Rules{Also: flags.ignore}, Secrets: c.redacting(),
		Asides:    true, // the scenario tells them apart
		LookupEnv: p.getenv, Upstream: &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true},
	})
	if err != nil {
		return errors.Join(err, c.listener.Close())
	}
	srv := flags.admits.Server(c.watched(rec.Proxy(c.upstream)))
	done := make(chan error, 1)
	go func() { done <- srv.Serve(c.listener) }()
	address := c.address()
	bare := strings.Trim(c.upstream.Path, "/") == ""
	env := clientEnv(p, address, bare, cassettes.Record)
	if c.mcpCopy != "" {
		env = append(env, "MCP_CONFIG="+c.mcpCopy)
	}
	seen := *p
	out, w, err := os.Pipe()
	if err != nil {
		return errors.Join(err, srv.Close(), rec.Close())
	}
	seen.stdout = w
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(io.MultiWriter(p.stdout, &c.stdout), out)
	}()
	code, err := proxied(ctx, &seen, c.words(address, bare), env)
	// A process that the command leaves behind may keep its output open.
	_ = w.Close()
	_ = out.SetReadDeadline(time.Now().Add(lastOutput))
	<-copied
	_ = out.Close()
	if code != 0 {
		c.ended = fmt.Sprintf("ended with exit status %d", code)
	}
	c.settle(ctx)
	asked := rec.Asked()
	err = errors.Join(err, srv.Close(), rec.Close())
	<-done
	if err == nil && len(rec.Recorded()) == 0 {
		err = nothing(asked, rec.Refused(), c.command)
	}
	if left := asked - len(rec.Recorded()); left > 0 && err == nil {
		p.logf("rehearse: note: requests that failed are left out: %d; --keep-errors records them too", left)
	}
	if err == nil && rec.Failed() && !flags.keepErrors {
		err = fmt.Errorf("the endpoint was asked %s, and every request failed%s; check --upstream and the key, or use --keep-errors if this is intended", prose.Count(asked, "time"), lastRefusal(rec.Refused()))
	}
	return err
}

// words are those of the command as it is run: before the recorders.
func (c *captured) words(address string, bare bool) []string {
	fill := strings.NewReplacer("{base_url}", openAIBase(address, bare), "{endpoint}", address, "{mcp_config}", c.mcpCopy)
	out := make([]string, len(c.command))
	for i, word := range c.command {
		if out[i] = fill.Replace(word); c.isMCPFile(word) {
			out[i] = c.mcpCopy
		}
	}
	return out
}

// isMCPFile reports whether a word is the path of the agent's file of servers.
func (c *captured) isMCPFile(word string) bool {
	if c.mcpFile == "" || word == "" {
		return false
	}
	a, err := os.Stat(word)
	b, err2 := os.Stat(c.mcpFile)
	return err == nil && err2 == nil && os.SameFile(a, b)
}

// settle waits until the recorders of servers have ended, which a client need
// not wait for.
func (c *captured) settle(ctx context.Context) {
	const most, every = 5 * time.Second, 20 * time.Millisecond
	ticks, stop := c.p.ticker(every)
	defer stop()
	for range most / every {
		parts, _ := filepath.Glob(filepath.Join(c.dir, "*.tape.part")) // the pattern is sound
		parts = slices.DeleteFunc(parts, func(name string) bool { return strings.HasSuffix(name, ".http.tape.part") })
		if len(parts) == 0 {
			return
		}
		select {
		case <-ticks:
		case <-c.p.abort:
			return
		}
	}
	c.p.logf("rehearse: warning: %s goes on running; what it said by now counts", prose.Count(len(c.servers), "server"))
}
