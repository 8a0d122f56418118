// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/cassettes/mcptape"
	"github.com/rehearse-dev/rehearse/cassettes/shape"
	"github.com/rehearse-dev/rehearse/harness"
)

// tapeFlags are the flags of tape.
type tapeFlags struct {
	out, replay, verify string
	speed               float64
	strict, allowUnused bool
	ignore              []string
	timeout             time.Duration
}

func tapeCommand(p *process) *cobra.Command {
	var flags tapeFlags
	cmd := &cobra.Command{
		Use:   "tape --out FILE -- CMD ARGS...",
		Short: "Record, replay and verify an MCP server over stdio",
		Long: `tape stands between a client and an MCP server that talks over stdio.

With --out it runs the server, hands on every byte at once, and writes a tape: a
line of JSON for each message, with its time. It exits with the server's code.
Put it before the server's command where the client has it configured. Secrets,
names of people and folders are taken out of what is written.

With --replay it is the server, out of the tape. A request is answered when its
method and parameters were recorded; ids, _meta and the client's version do not
matter. What the server said and asked unasked comes at its place. Any other
request is answered with an error that begins with rehearse_miss and tells the
nearest recording and every difference. At the end the exit code is 1 if there
was such a request, or if something recorded was never asked for.

With --verify it sends the recorded requests to a server, a new build of the
same, and compares. A difference is breaking (a tool is gone, an argument is
required now, a type is another), risky (a description has changed) or minor (a
tool is new). The exit code is 1 if there is one that is not minor, and 3 if the
server could not be asked.`,
		Example: `  rehearse tape --out files.tape -- npx @modelcontextprotocol/server-filesystem data
  rehearse tape --replay files.tape
  rehearse tape --verify files.tape -- npx @modelcontextprotocol/server-filesystem@next data`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash > 0 || dash < 0 && len(args) > 0 {
				return fmt.Errorf("unexpected argument %q; the server's command stands behind --", args[0])
			}
			return tape(cmd, p, &flags, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.out, "out", "", "tape to write")
	f.StringVar(&flags.replay, "replay", "", "tape to replay on standard input and output")
	f.StringVar(&flags.verify, "verify", "", "tape to hold a server against")
	f.Float64Var(&flags.speed, "speed", 0, "how fast to replay: 1 as it was, 2 twice as fast; 0 at once")
	f.BoolVar(&flags.strict, "strict", false, "want the requests of a replay in the order of the tape")
	f.BoolVar(&flags.allowUnused, "allow-unused", false, "let a replay end with requests that nobody sent")
	f.StringArrayVar(&flags.ignore, "ignore", nil, "a path of parameters that does not count in a replay, such as arguments.date or **.trace; may be repeated")
	f.DurationVar(&flags.timeout, "timeout", 30*time.Second, "how long one answer may take with --verify")
	return cmd
}

func tape(cmd *cobra.Command, p *process, flags *tapeFlags, command []string) error {
	modes := 0
	for _, path := range []string{flags.out, flags.replay, flags.verify} {
		if path != "" {
			modes++
		}
	}
	if modes != 1 {
		return errors.New("tape needs one of --out FILE, --replay FILE and --verify FILE\nfor example:\n" + cmd.Example)
	}
	of := map[string]bool{"speed": flags.replay != "", "strict": flags.replay != "", "allow-unused": flags.replay != "", "ignore": flags.replay != "", "timeout": flags.verify != ""}
	for _, name := range []string{"speed", "strict", "allow-unused", "ignore", "timeout"} {
		if cmd.Flags().Changed(name) && !of[name] {
			return fmt.Errorf("--%s goes with --%s", name, map[bool]string{true: "verify", false: "replay"}[name == "timeout"])
		}
	}
	switch {
	case flags.replay != "" && len(command) > 0:
		return errors.New("--replay takes no command: the tape is the server")
	case flags.replay != "":
		return tapeReplay(cmd.Context(), p, flags)
	case len(command) == 0:
		return errors.New("tape needs the server's command behind --\nfor example:\n" + cmd.Example)
	case flags.out != "":
		return tapeRecord(cmd.Context(), p, flags.out, command)
	}
	return tapeVerify(cmd.Context(), p, flags, command)
}

// tapeRecord ends with the code of the server. A tape that could not be
// written makes a success of it a failure.
func tapeRecord(ctx context.Context, p *process, path string, command []string) error {
	code, err := mcptape.Record(ctx, path, command, mcptape.Stdio{In: p.stdin, Out: p.stdout, Err: p.stderr},
		&mcptape.RecordOptions{LookupEnv: p.getenv, Abort: p.abort})
	switch {
	case code != 0:
		return &codeError{exitCode(code), err}
	case err != nil:
		return err
	}
	return nil
}

func tapeReplay(ctx context.Context, p *process, flags *tapeFlags) error {
	t, err := mcptape.Open(flags.replay, &mcptape.Options{
		Speed: flags.speed, Strict: flags.strict, Ignore: flags.ignore, AllowUnused: flags.allowUnused, Stderr: p.stderr, Logf: p.logf,
	})
	if err != nil {
		return err
	}
	err = t.ServeStdio(ctx, p.stdin, p.stdout)
	if err := errors.Join(err, t.Close()); err != nil {
		return &codeError{exitFailed, err}
	}
	return nil
}

func tapeVerify(ctx context.Context, p *process, flags *tapeFlags, command []string) error {
	rec, err := mcptape.Read(flags.verify)
	if err != nil {
		return err
	}
	found, err := mcptape.Verify(ctx, rec, harness.Server{Name: "server", Command: command},
		&mcptape.VerifyOptions{Timeout: flags.timeout, Stderr: p.stderr, Abort: p.abort})
	matter := 0
	for _, d := range found {
		fmt.Fprintln(p.stdout, d)
		if d.Tier != shape.Minor {
			matter++
		}
	}
	if err != nil {
		return &codeError{exitUnjudged, err}
	}
	fmt.Fprintf(p.stdout, "differences that matter: %d, minor: %d\n", matter, len(found)-matter)
	if matter > 0 {
		return &codeError{code: exitFailed}
	}
	return nil
}
