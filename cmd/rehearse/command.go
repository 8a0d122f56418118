// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/project"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// exitCode is what the process ends with.
type exitCode int

// The exit codes, as documented in the help.
const (
	exitPassed   exitCode = 0
	exitFailed   exitCode = 1 // a trial failed, or nothing was checked at all
	exitUsage    exitCode = 2 // wrong use, or a bad file
	exitUnjudged exitCode = 3 // none failed, some could not be judged

	exitKilled exitCode = 130 // interrupted before there was a result
)

// process is everything of the process that a command may touch.
type process struct {
	args   []string
	getenv func(string) (string, bool)
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	abort  <-chan struct{} // closed when there is no time left; may be nil
	grace  time.Duration   // for a server's process to end by itself; 0 is the default
	// discover is how long a server may take to answer server/discover; 0 is the default.
	discover time.Duration
	hangup   *hangups // signals that a command may ask for; may be nil
	// interrupt are those of Ctrl-C, which a command may ask for too.
	interrupt *hangups
	// orphans are what servers leave behind. Nil where this process has other
	// children than servers.
	orphans *mcpwire.Orphans
	// exit ends the process at once. stay has it outlive every signal that can
	// be ignored. For servers that are to behave so; nil does nothing.
	exit func(code int)
	stay func()
	// parent is whose end ends a server with --with-parent. The zero parent is
	// the process that started this one.
	parent parent
	// quiet is what a server logs through; patience, how long its end waits for
	// a reader of that. 0 means a second.
	quiet    *drain
	patience time.Duration
	// every ticks until stop is called. Nil means time.NewTicker.
	every func(d time.Duration) (ticks <-chan time.Time, stop func())
}

// detach has what is logged from now on wait for no reader.
func (p *process) detach() {
	p.quiet = &drain{w: p.stderr}
	p.stderr = p.quiet
}

// flush gives a reader of the log the time to take its end.
func (p *process) flush() {
	if p.quiet != nil {
		p.quiet.flush(cmp.Or(p.patience, time.Second))
	}
}

// adopt has what servers leave behind end when the function is called that it
// returns, as far as the system can tell.
func (p *process) adopt() (end func()) {
	if p.orphans == nil {
		return func() {}
	}
	if err := p.orphans.Adopt(); err != nil {
		fmt.Fprintf(p.stderr, "rehearse: processes that servers leave behind will keep running: %v\n", err)
	}
	return p.orphans.End
}

// terminal reports whether w is a terminal that wants colour and bars.
func (p *process) terminal(w io.Writer) bool {
	if !isTerminal(w) {
		return false
	}
	if v, ok := p.getenv("TERM"); ok && v == "dumb" {
		return false
	}
	return true
}

func isTerminal(w io.Writer) bool {
	f, ok := bare(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colour reports whether to colour what goes to w (https://no-color.org).
func (p *process) colour(w io.Writer) bool {
	if v, ok := p.getenv("NO_COLOR"); ok && v != "" {
		return false
	}
	return p.terminal(w)
}

// codeError carries an exit code. A nil err prints nothing: the command has
// said what there was to say.
type codeError struct {
	code exitCode
	err  error
}

func (e *codeError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *codeError) Unwrap() error { return e.err }

// command runs one command line and returns its exit code.
func command(ctx context.Context, p *process) exitCode {
	out := &printed{w: p.stdout}
	p.stdout = out
	root := rootCommand(p)
	root.SetArgs(p.args)
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	defer p.flush()
	err := root.ExecuteContext(ctx)
	code := p.tell(err)
	lost := out.lost()
	if lost != nil && !errors.Is(err, lost) {
		fmt.Fprintf(p.stderr, "rehearse: %v\n", lost)
	}
	if lost != nil && code == exitPassed {
		code = exitUsage
	}
	return code
}

// tell says what is wrong, and returns the exit code.
func (p *process) tell(err error) exitCode {
	var ce *codeError
	var mistakes scenarios.Errors
	var settings project.Errors
	switch {
	case err == nil:
		return exitPassed
	case errors.As(err, &ce):
		if ce.err != nil {
			fmt.Fprintf(p.stderr, "rehearse: %v\n", ce.err)
		}
		return ce.code
	case errors.As(err, &mistakes):
		// Bare, so that editors find file:line:col at the start of the line.
		fmt.Fprintln(p.stderr, mistakes)
		return exitUsage
	case errors.As(err, &settings):
		fmt.Fprintln(p.stderr, settings)
		return exitUsage
	default:
		fmt.Fprintf(p.stderr, "rehearse: %v\n", err)
		return exitUsage
	}
}

func rootCommand(p *process) *cobra.Command {
	root := &cobra.Command{
		Use:   "rehearse",
		Short: "Rehearse a tool-calling agent against mock models and mock MCP servers",
		Long: `rehearse plays YAML scenarios against a tool-calling agent. It stands in for the
model endpoint and the MCP servers, and judges what the agent did.

Results go to standard output; progress, warnings and logs go to standard error.
Exit codes: 0 all passed; 1 a trial failed, or nothing was checked in the whole
run; 2 wrong use or a bad file, so that nothing was played; 3 nothing failed, but
something could not be judged, or a run's results or report could not be written.
A command that plays nothing exits with 2 where it cannot write its result.`,
		Example: `  rehearse init demo && rehearse run demo/scenarios
  rehearse check scenarios
  rehearse run scenarios --trials 5 --junit junit.xml
  rehearse serve llm assistant.yaml`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Version: version(),
	}
	root.SetVersionTemplate(versionLine())
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(helpCommand())
	root.AddCommand(
		initCommand(p), checkCommand(p), runCommand(p), shardCommand(p), fuzzCommand(p), reportCommand(p), scoreCommand(p), mergeCommand(p), serveCommand(p), chatCommand(p), doctorCommand(p),
		mcpCommand(p), captureCommand(p), proxyCommand(p), cassetteCommand(p), tapeCommand(p), importCommand(p),
		compareRunsCommand(p), gateCommand(p), planCommand(p), faultsCommand(p), schemaCommand(p), versionCommand(p),
	)
	return root
}

// helpCommand is that of cobra, but that help for what is not there is wrong
// use.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Help about a command",
		Example: "  rehearse help run",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(about, cmp.Or(strings.Join(rest, " "), strings.Join(args, " ")))
			}
			return about.Help()
		},
	}
}

func unknownCommand(cmd *cobra.Command, name string) error {
	var known []string
	for _, c := range cmd.Commands() {
		known = append(known, c.Name())
	}
	return fmt.Errorf("unknown command %q%s\nrun `%s --help` for the commands", name, prose.DidYouMean(name, known), cmd.CommandPath())
}

// oneFile wants a single file.
func oneFile(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := minArgs(1, what)(cmd, args); err != nil {
			return err
		}
		return atMostOneFile(cmd, args)
	}
}

// atMostOneFile wants a single file or none.
func atMostOneFile(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%s serves one file, and got %d: %s", cmd.CommandPath(), len(args), strings.Join(args, ", "))
	}
	return nil
}

// minArgs wants at least n paths and says which command lacks them.
func minArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return fmt.Errorf("%s needs %s\nfor example:\n%s", cmd.CommandPath(), what, cmd.Example)
		}
		return nil
	}
}
