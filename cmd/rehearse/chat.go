// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/tools"
	"github.com/rehearse-dev/rehearse/internal/capture"
	"github.com/rehearse-dev/rehearse/internal/plainfile"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/settings"
)

// chatFlags are what the flags of `chat` say.
type chatFlags struct {
	config, model, baseURL, system string
	agentURL, as, names            string
	check, perCall                 bool
	whole, logs, errorObjects      bool
	selectTools                    int
	approve                        []string
}

func chatCommand(p *process) *cobra.Command {
	var flags chatFlags
	cmd := &cobra.Command{
		Use:   "chat [--config mcp.json] [--model NAME]",
		Short: "Talk with a model that has the tools of MCP servers",
		Long: `chat connects to the servers of an mcp.json, all at the same time, and talks with a
model that may call their tools. A server that cannot be reached costs a warning; its
tools are offered once it can be. What goes wrong with a call is told to the model.

The answer goes to standard output; a line for each tool call, with its arguments and
its outcome, to standard error.

  /tools          the tools and their servers
  /servers        the servers and what they say of themselves
  /model [NAME]   the model, or another one from now on
  /reset          forget the conversation
  /save FILE      write the conversation as a scenario
  /help           these commands
  exit, quit      end, as the end of the input does

Ctrl-C stops an answer; at the prompt, or twice, it ends the program.

In a pipe each line is a message or a command. Exit codes then: 0 all were answered or
done; 1 one failed; 2 wrong use, a bad file, or an answer that could not be written; 130
a signal came before the end of the input, or stopped an answer.

With --approve you are asked before a tool runs, with all of its arguments: y runs it with
these, a runs this tool from now on without asking, anything else refuses the call, which
the model is told. Calls of one reply then run one after another. Where standard input is
not a terminal, nobody can be asked, and the calls are refused.

The endpoint and its key are those of ` + "`rehearse run --mode live`" + `: --base-url, else
ARGO_BASE_URL, else OPENAI_BASE_URL, else http://localhost:8000/v1; OPENAI_API_KEY. The
model is --model, else ARGO_DEFAULT_MODEL. Without --config the server is that of
MCP_SERVER_COMMAND or MCP_SERVER_URL. ` + settingsHelp + `

With --agent the other side is an agent server (` + "`rehearse serve agent`" + `): each line is
a goal, and there are no commands but exit and quit.

` + telemetryHelp,
		Example: `  rehearse chat --config mcp.json --model argo:gpt-4o
  echo "What is in notes.txt?" | rehearse chat --config mcp.json --model argo:gpt-4o
  rehearse chat --agent http://127.0.0.1:8002`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.refused(cmd); err != nil {
				return err
			}
			in := openLines(p)
			if flags.agentURL != "" {
				return runChat(cmd.Context(), p, in, &goalChat{p: p, url: strings.TrimSuffix(flags.agentURL, "/")})
			}
			into, end := p.telemetry(cmd.Context(), cmp.Or(flags.as, "rehearse"))
			defer end()
			c, err := openChat(cmd.Context(), p, in, &flags, into)
			if err != nil {
				return err
			}
			return errors.Join(runChat(cmd.Context(), p, in, c), c.close())
		},
	}
	flags.define(cmd.Flags())
	return cmd
}

// define adds the flags to a set.
func (flags *chatFlags) define(f *pflag.FlagSet) {
	f.StringVar(&flags.config, "config", "", "file with the servers: mcp.json (mcpServers), or YAML with mcp.client")
	f.StringVar(&flags.as, "as", "", "name of the agent, for the agent_permissions of the configuration")
	f.StringVar(&flags.names, "tool-names", "bare", "names of the tools: bare, mcp (mcp_SERVER_TOOL, with [MCP:SERVER] before descriptions) or dotted (SERVER_TOOL)")
	f.BoolVar(&flags.check, "check-arguments", false, "refuse calls whose arguments do not fit the tool's schema before they are sent")
	f.BoolVar(&flags.perCall, "connection-per-call", false, "connect to a server for each request and disconnect again, instead of once")
	f.StringVar(&flags.model, "model", "", "name of the model")
	f.StringVar(&flags.baseURL, "base-url", "", "base URL of the model's endpoint, ending in /v1")
	f.StringVar(&flags.system, "system", "", "system prompt, or @FILE")
	f.IntVar(&flags.selectTools, "select-tools", 0, "offer at most so many tools, those that fit the messages best: for endpoints that take small requests; 0 offers all")
	f.BoolVar(&flags.errorObjects, "error-objects", false, `give the model failed calls as {"status": "error", "message": ..., "error_type": ...} instead of a text`)
	f.StringSliceVar(&flags.approve, "approve", nil, "tools to ask about before they run, separated by commas; * stands for any text")
	f.BoolVar(&flags.whole, "no-stream", false, "ask the model for whole replies")
	f.BoolVar(&flags.logs, "logs", false, "print what the servers log")
	f.StringVar(&flags.agentURL, "agent", "", "address of an agent server, to be given goals")
}

// refused says what is wrong with the flags.
func (flags *chatFlags) refused(cmd *cobra.Command) error {
	if err := checkFlags(cmd, rule{"base-url", wholeURL(flags.baseURL), wantURL}, rule{"agent", wholeURL(flags.agentURL), wantURL},
		rule{"tool-names", slices.Contains([]string{"bare", "mcp", "dotted"}, flags.names), "bare, mcp or dotted"},
		rule{"select-tools", flags.selectTools > 0, "a number from 1"}); err != nil {
		return err
	}
	for i, pattern := range flags.approve {
		flags.approve[i] = strings.TrimSpace(pattern)
	}
	if cmd.Flags().Changed("approve") && (len(flags.approve) == 0 || slices.Contains(flags.approve, "")) {
		return errors.New("--approve: a name is empty, and nobody would be asked about any tool: want names or patterns, such as 'write_*,move_file', or '*' for all")
	}
	if flags.agentURL == "" {
		return nil
	}
	for _, name := range []string{"config", "model", "base-url", "system", "logs", "no-stream", "as", "tool-names", "check-arguments", "connection-per-call", "select-tools", "error-objects", "approve"} {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s has no effect with --agent: the agent server has a model and tools of its own", name)
		}
	}
	return nil
}

// partner is the other side of a chat.
type partner interface {
	// say sends a line and prints the answer. An error is one of the
	// answer, and the chat goes on.
	say(ctx context.Context, line string) error
	// command runs a line that begins with a slash.
	command(ctx context.Context, name, rest string) error
}

// runChat talks until the input ends or somebody ends it.
func runChat(killed context.Context, p *process, in *lines, with partner) error {
	d := &dialog{p: p, typed: in.typed}
	ctx, end := context.WithCancel(killed)
	defer end()
	interrupts := p.interrupt.take()
	var watching sync.WaitGroup
	defer watching.Wait()
	defer end()
	watching.Go(func() {
		for {
			select {
			case <-interrupts:
				d.interrupt(end)
			case <-ctx.Done():
				return
			}
		}
	})
	for {
		line, err := in.next(ctx)
		if errors.Is(err, io.EOF) || ctx.Err() != nil {
			return d.over(killed, ctx)
		}
		if err != nil {
			return err
		}
		line = strings.TrimSpace(line)
		switch line {
		case "":
			continue
		case "exit", "quit", "/exit", "/quit":
			return d.over(killed, ctx)
		}
		if end, err := d.answer(killed, ctx, line, with); end {
			return err
		}
	}
}

// dialog is a chat in progress.
type dialog struct {
	p     *process
	typed bool // somebody types
	// What became of answers. Somebody who types sees it; in a pipe the exit code
	// says it.
	failed, stopped bool

	mu   sync.Mutex
	stop context.CancelCauseFunc // stops what is being answered; nil where nothing is
}

// interrupt stops what is being answered; without that, the chat.
func (d *dialog) interrupt(end func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stop == nil {
		end()
		return
	}
	d.stop(harness.ErrInterrupted)
	d.stop = nil
}

func (d *dialog) setStop(stop context.CancelCauseFunc) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stop = stop
}

// over is the result of a chat that is over. killed ends with the program, ctx with
// the chat.
func (d *dialog) over(killed, ctx context.Context) error {
	switch {
	case killed.Err() != nil, ctx.Err() != nil && !d.typed:
		return &codeError{exitKilled, errors.New("interrupted before the end of the input")}
	case d.stopped && !d.typed:
		return &codeError{exitKilled, nil} // it was said
	case d.failed:
		return &codeError{exitFailed, nil} // it was said
	}
	return nil
}

// answer has a line answered. It says whether the chat ends, and with what.
func (d *dialog) answer(killed, ctx context.Context, line string, with partner) (end bool, result error) {
	answering, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d.setStop(cancel)
	var err error
	if name, rest, _ := strings.Cut(line, " "); strings.HasPrefix(name, "/") {
		err = with.command(answering, name, strings.TrimSpace(rest))
	} else {
		err = with.say(answering, line)
	}
	cut := err != nil && answering.Err() != nil
	d.setStop(nil)
	switch {
	case d.p.lost() != nil:
		return true, fmt.Errorf("writing what %q is answered with: %w", prose.OneLine(line, 200), d.p.lost())
	case cut && (killed.Err() != nil || ctx.Err() != nil && !d.typed):
		return true, &codeError{exitKilled, fmt.Errorf("interrupted: %q was not answered, and no message after it was sent", prose.OneLine(line, 200))}
	case ctx.Err() != nil:
		return true, d.over(killed, ctx)
	case cut && d.typed:
		fmt.Fprintln(d.p.stderr, "rehearse: the answer was stopped")
	case cut:
		fmt.Fprintf(d.p.stderr, "rehearse: the answer to %q was stopped\n", prose.OneLine(line, 200))
		d.stopped = true
	case err != nil:
		fmt.Fprintf(d.p.stderr, "rehearse: %v\n", err)
		d.failed = true
	}
	return false, nil
}

// chat is a conversation with a model that has tools.
type chat struct {
	p      *process
	cfg    agent.Config
	talk   *agent.Conversation
	pool   *mcppool.Pool
	router *tools.Router
	told   map[string]bool // warnings that were printed
	// secrets takes out of what is saved what recordings have no place for.
	secrets *redact.Redactor
}

// openChat connects with all servers at once.
func openChat(ctx context.Context, p *process, in *lines, flags *chatFlags, into *mcppool.Telemetry) (*chat, error) {
	s, err := p.settings("", fromFlag(settings.BaseURL, "--base-url", flags.baseURL), fromFlag(settings.Model, "--model", flags.model), fromFlag(settings.Config, "--config", flags.config))
	if err != nil {
		return nil, err
	}
	var opts run.Options
	if err := takeSettings(s, &opts); err != nil {
		return nil, err
	}
	system, err := textOrFile("system", flags.system)
	if err != nil {
		return nil, err
	}
	use := &tools.Options{As: flags.as, CheckArguments: flags.check, Prefix: tools.NameStyle(flags.names)}
	if flags.names == "mcp" {
		use.Prefix, use.NameServers = tools.NamesMCP, true
	}
	config, err := s.Servers()
	if err != nil {
		return nil, err
	}
	servers := config.Servers
	use.Grants = config.Grants
	p.warnOf(config)
	for i := range servers {
		servers[i].Optional = true
	}
	secrets, err := chatSecrets(s, &opts, servers)
	if err != nil {
		return nil, err
	}
	c := &chat{p: p, pool: chatPool(p, flags, into), told: make(map[string]bool), secrets: secrets}
	if c.router, err = tools.Connect(ctx, c.pool, servers, use); err != nil {
		return nil, errors.Join(err, c.close())
	}
	c.cfg = agent.Config{
		Model: model.NewOpenAI(model.Config{BaseURL: opts.BaseURL, APIKey: opts.APIKey}), Name: opts.Entries[0].Name,
		System: system, Stream: !flags.whole, Tools: c.router, Denied: c.router.Denied, MaxModelCalls: 50, Telemetry: into,
		SelectTools: flags.selectTools, ErrorObjects: flags.errorObjects,
	}
	asks := &approver{p: p, in: in, tools: flags.approve, names: c.names}
	if len(flags.approve) > 0 { // one question at a time, and nothing printed meanwhile
		c.cfg.Approve, c.cfg.MaxToolConcurrency = asks.approve, 1
	}
	c.talk = agent.New(c.cfg).Conversation()
	offered, err := c.router.Tools(ctx)
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	c.warn()
	for _, pattern := range flags.approve {
		if !slices.ContainsFunc(offered, func(t harness.Tool) bool { return asks.fits(pattern, t.Name) }) {
			fmt.Fprintf(p.stderr, "rehearse: --approve %s fits no tool that is offered now\n", pattern)
		}
	}
	if p.terminal(p.stdout) {
		fmt.Fprintf(p.stderr, "%s at %s, %s of %s. /help shows the commands.\n", c.cfg.Name, opts.BaseURL, prose.Count(len(offered), "tool"), prose.Count(len(c.router.Sessions()), "server"))
	}
	return c, nil
}

// names are those of a tool: the one that the model knows, and what its server calls it,
// alone and after the name of the server.
func (c *chat) names(tool string) []string {
	server, own, _ := c.router.Origin(tool)
	return []string{tool, own, server + "." + own}
}

// chatSecrets are the rules of recordings, with what this chat knows to be secret:
// the keys of the endpoint, secrets of the environment and of .env, and what servers
// are handed. People and folders stay, since the file is what the user said.
func chatSecrets(s *settings.Settings, opts *run.Options, servers []harness.Server) (*redact.Redactor, error) {
	rules, err := secretRules(nil)
	if err != nil {
		return nil, err
	}
	rules.Users, rules.Places = []string{}, []redact.Place{}
	rules.Literals = redact.ServerSecrets(nil, slices.Concat(os.Environ(), s.Dotenv()), nil)
	for _, key := range []string{opts.APIKey, opts.AnthropicKey, opts.GoogleKey} {
		if len(key) >= redact.MinLiteral {
			rules.Literals = append(rules.Literals, key)
		}
	}
	for _, server := range servers {
		rules.Literals = append(rules.Literals, redact.ServerSecrets(server.Headers, server.Env, server.Command)...)
	}
	return redact.New(rules)
}

// chatPool is where the sessions of a chat are.
func chatPool(p *process, flags *chatFlags, into *mcppool.Telemetry) *mcppool.Pool {
	opts := &mcppool.Options{Abort: p.abort, PerCall: flags.perCall, Telemetry: into, DiscoverTimeout: p.discover}
	if p.grace > 0 {
		opts.CloseGrace = p.grace
	}
	if flags.logs {
		opts.LogLevel, opts.Logf = "debug", p.logf
		opts.Notified = func(server, method string, params json.RawMessage) { p.logf("%s: %s %s", server, method, params) }
	}
	return mcppool.NewPool(opts)
}

func (c *chat) close() error {
	var err error
	if c.router != nil {
		err = c.router.Close()
	}
	return errors.Join(err, c.pool.Close())
}

// warn prints what the router has to say, once.
func (c *chat) warn() {
	for _, w := range c.router.Warnings() {
		if !c.told[w] {
			c.told[w] = true
			fmt.Fprintf(c.p.stderr, "rehearse: %s\n", w)
		}
	}
}

func (c *chat) say(ctx context.Context, line string) error {
	open := false // a line of the answer is not at its end
	end := func() {
		if open {
			fmt.Fprintln(c.p.stdout)
			open = false
		}
	}
	defer end()
	defer c.warn()
	// A pipe or a file gets answers and nothing else: a piece cannot be taken
	// back from it when the reply breaks off, and what is said beside a call is no
	// answer. That goes to standard error, as the calls do.
	live, aside := isTerminal(c.p.stdout), ""
	putAside := func() {
		if aside != "" {
			fmt.Fprintln(c.p.stderr, strings.TrimSuffix(aside, "\n"))
		}
		aside = ""
	}
	defer putAside()
	said := false
	for event, err := range c.talk.Send(ctx, line) {
		if err != nil {
			return err
		}
		switch e := event.(type) {
		case agent.Delta:
			if !live {
				aside += e.Text
			} else if e.Text != "" {
				fmt.Fprint(c.p.stdout, e.Text)
				said, open = true, !strings.HasSuffix(e.Text, "\n")
			}
		case agent.Withdrawn:
			end()
			aside = ""
			fmt.Fprintf(c.p.stderr, "rehearse: asking again after %v: %v\n", e.Wait, e.Err)
		case agent.ModelCalled:
			end()
			if len(e.Message.Calls) > 0 {
				said = false
				putAside()
			}
		case agent.ToolStarted:
			fmt.Fprintf(c.p.stderr, "%s %s\n", e.Call.Name, prose.OneLine(e.Call.Arguments, 200))
		case agent.ToolFinished:
			if e.Call.Error != "" {
				fmt.Fprintf(c.p.stderr, "%s failed: %s\n", e.Call.Tool, prose.OneLine(e.Call.Error, 200))
			} else {
				fmt.Fprintf(c.p.stderr, "%s -> %s\n", e.Call.Tool, prose.OneLine(e.Call.Result, 200))
			}
		case agent.CircuitChanged:
			fmt.Fprintf(c.p.stderr, "rehearse: %s\n", e)
		case agent.Notice:
			if e.Denied == nil { // the call that failed says it
				fmt.Fprintf(c.p.stderr, "rehearse: %s\n", e.Text)
			}
		case agent.Answer:
			if aside = ""; !said {
				fmt.Fprintln(c.p.stdout, strings.TrimSuffix(e.Text, "\n"))
			}
		}
	}
	return nil
}

// chatCommands are what /help prints.
const chatCommands = `/tools          the tools and their servers
/servers        the servers and what they say of themselves
/model [NAME]   the model, or another one from now on
/reset          forget the conversation
/save FILE      write the conversation as a scenario
exit, quit      end`

func (c *chat) command(ctx context.Context, name, rest string) error {
	out := c.p.stdout
	switch name {
	case "/help":
		fmt.Fprintln(out, chatCommands)
	case "/tools":
		listed, err := c.router.Tools(ctx)
		if err != nil {
			return err
		}
		for _, t := range listed {
			server, own, _ := c.router.Origin(t.Name)
			name := t.Name
			if own != name {
				name += " (" + own + ")"
			}
			fmt.Fprintf(out, "%s: %s: %s\n", server, name, prose.OneLine(t.Description, 100))
		}
		c.warn()
	case "/servers":
		for _, s := range c.router.Sessions() {
			info := s.Info()
			fmt.Fprintf(out, "%s: %s %s, MCP %s\n", s.Name(), info.Name, info.Version, info.Protocol)
		}
	case "/model":
		if rest != "" {
			c.talk.SetModel(rest)
			c.cfg.Name = rest
		}
		fmt.Fprintln(out, c.cfg.Name)
	case "/reset":
		c.talk.Reset()
	case "/save":
		if rest == "" {
			return errors.New("/save needs the name of a file, such as weather.yaml")
		}
		if _, err := os.Stat(rest); err == nil {
			return fmt.Errorf("%s already exists; save to another file", rest)
		}
		offered, err := c.router.Tools(ctx)
		if err != nil {
			return err
		}
		saved := &capture.Chat{Path: rest, System: c.cfg.System, Messages: c.talk.Messages(), Calls: c.talk.Calls(), Offered: offered, Secrets: c.secrets}
		data, notes, err := saved.File()
		if err != nil {
			return err
		}
		if err := plainfile.ReplaceBytes(rest, 0o600, data); err != nil {
			return err
		}
		for _, note := range notes {
			fmt.Fprintf(c.p.stderr, "rehearse: %s\n", note)
		}
		fmt.Fprintf(out, "%s\n", rest)
	default:
		names := []string{"/help", "/tools", "/servers", "/model", "/reset", "/save"}
		return fmt.Errorf("%s is not a command%s", name, prose.DidYouMean(name, names))
	}
	return nil
}
