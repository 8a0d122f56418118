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
	url, listen         string
	headers             []string
	speed               float64
	strict, allowUnused bool
	ignore              []string
	timeout             time.Duration
	maxAge              age
	stale               string
}

func tapeCommand(p *process) *cobra.Command {
	var flags tapeFlags
	cmd := &cobra.Command{
		Use:   "tape --out FILE (-- CMD ARGS... | --url URL)",
		Short: "Record, replay and verify an MCP server, over stdio or HTTP",
		Long: `tape stands between a client and an MCP server.

With --out it writes a tape: a line of JSON for each message, with its time.
Before a server's command it runs the server, hands on every byte at once, and
exits with the server's code: put it there where the client has the command
configured. With --url it stands before a server over streamable HTTP, of both
eras of the protocol: it prints one line of JSON when it is ready, {"url":
"..."}, which is the address to give to the client, and records until it is
interrupted. Secrets, names of people and folders are taken out of what is
written; of headers nothing is written, nor is the address's query.

With --replay it is the server, out of the tape: over stdio, or with --listen
over HTTP, whichever the tape was recorded over. A request is answered when its
method and parameters were recorded; ids, _meta, sessions and the client's
version do not matter. What the server said and asked unasked comes at its
place, and over HTTP an answer is a stream or not as it was. Any other request
is answered with an error that begins with rehearse_miss and tells the nearest
recording and every difference. At the end the exit code is 1 if there was such
a request, or if something recorded was never asked for.

With --verify it sends the recorded requests to a server, a new build of the
same, and compares. A difference is breaking (a tool is gone, an argument is
required now, a type is another), risky (a description has changed) or minor (a
tool is new). The exit code is 1 if there is one that is not minor, and 3 if the
server could not be asked.`,
		Example: `  rehearse tape --out files.tape -- npx @modelcontextprotocol/server-filesystem data
  rehearse tape --out web.tape --url https://mcp.example.com/mcp --header 'Authorization: Bearer $TOKEN'
  rehearse tape --replay files.tape
  rehearse tape --replay web.tape --listen 127.0.0.1:8931
  rehearse tape --verify files.tape -- npx @modelcontextprotocol/server-filesystem@next data
  rehearse tape --verify web.tape --url http://localhost:8000/mcp`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash > 0 || dash < 0 && len(args) > 0 {
				return fmt.Errorf("unexpected argument %q; the server's command stands behind --", args[0])
			}
			return tape(cmd, p, &flags, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.out, "out", "", "tape to write")
	f.StringVar(&flags.replay, "replay", "", "tape to replay on standard input and output, or with --listen over HTTP")
	f.StringVar(&flags.verify, "verify", "", "tape to hold a server against")
	f.StringVar(&flags.url, "url", "", "address of a server over HTTP, in place of a command")
	f.StringVar(&flags.listen, "listen", "127.0.0.1:0", "address to listen on, with --out and --url or --replay; leave it on loopback, for nobody is asked for a key")
	f.StringArrayVar(&flags.headers, "header", nil, "a header for the server at --url, as in 'Authorization: Bearer $TOKEN', with variables of the environment; may be repeated")
	f.Float64Var(&flags.speed, "speed", 0, "how fast to replay: 1 as it was, 2 twice as fast; 0 at once")
	f.BoolVar(&flags.strict, "strict", false, "want the requests of a replay in the order of the tape")
	f.BoolVar(&flags.allowUnused, "allow-unused", false, "let a replay end with requests that nobody sent")
	f.StringArrayVar(&flags.ignore, "ignore", nil, "a path of parameters that does not count in a replay, such as arguments.date or **.trace; may be repeated")
	f.Var(&flags.maxAge, "max-age", "how old a tape may be in a replay, such as 30d; 0 is any age")
	f.StringVar(&flags.stale, "stale", "warn", "what an older one does: warn or error")
	f.DurationVar(&flags.timeout, "timeout", 30*time.Second, "how long one answer may take with --verify")
	return cmd
}

func tape(cmd *cobra.Command, p *process, flags *tapeFlags, command []string) error {
	if err := flags.check(cmd, command); err != nil {
		return err
	}
	header, err := headersOf(p, flags.headers)
	if err != nil {
		return err
	}
	overHTTP := cmd.Flags().Changed("listen")
	switch {
	case flags.replay != "" && overHTTP:
		return tapeServe(cmd.Context(), p, flags)
	case flags.replay != "":
		return tapeReplay(cmd.Context(), p, flags)
	case flags.out != "" && flags.url != "":
		return tapeProxy(cmd.Context(), p, flags, header)
	case flags.out != "":
		return tapeRecord(cmd.Context(), p, flags.out, command)
	}
	server := harness.Server{Name: "server", Command: command, URL: flags.url, Headers: map[string]string{}}
	for k, v := range header {
		server.Headers[k] = v[0]
	}
	return tapeVerify(cmd.Context(), p, flags, server)
}

// check says which flags do not go together.
func (flags *tapeFlags) check(cmd *cobra.Command, command []string) error {
	modes := 0
	for _, path := range []string{flags.out, flags.replay, flags.verify} {
		if path != "" {
			modes++
		}
	}
	if modes != 1 {
		return errors.New("tape needs one of --out FILE, --replay FILE and --verify FILE\nfor example:\n" + cmd.Example)
	}
	replay := flags.replay != ""
	for _, rule := range []struct {
		name string
		ok   bool
		with string
	}{
		{"speed", replay, "--replay"},
		{"strict", replay, "--replay"},
		{"allow-unused", replay, "--replay"},
		{"ignore", replay, "--replay"},
		{"max-age", replay, "--replay"},
		{"stale", replay, "--replay"},
		{"timeout", flags.verify != "", "--verify"},
		{"header", flags.url != "", "--url"},
		{"listen", replay || flags.out != "" && flags.url != "", "--replay, and with --out and --url"},
	} {
		if cmd.Flags().Changed(rule.name) && !rule.ok {
			return fmt.Errorf("--%s goes with %s", rule.name, rule.with)
		}
	}
	if err := checkStale(flags.stale); err != nil {
		return err
	}
	switch {
	case replay && (len(command) > 0 || flags.url != ""):
		return errors.New("--replay takes no server: the tape is the server")
	case !replay && len(command) > 0 && flags.url != "":
		return errors.New("tape takes the server's command or its --url, not both")
	case !replay && len(command) == 0 && flags.url == "":
		return errors.New("tape needs the server's command behind --, or its --url\nfor example:\n" + cmd.Example)
	}
	return nil
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

// openTape opens the tape to replay.
func openTape(p *process, flags *tapeFlags) (*mcptape.Tape, error) {
	return mcptape.Open(flags.replay, &mcptape.Options{
		Speed: flags.speed, Strict: flags.strict, Ignore: flags.ignore, AllowUnused: flags.allowUnused, MaxAge: time.Duration(flags.maxAge), Stale: flags.stale,
		Stderr: p.stderr, Logf: p.logf,
	})
}

func tapeReplay(ctx context.Context, p *process, flags *tapeFlags) error {
	t, err := openTape(p, flags)
	if err != nil {
		return err
	}
	err = t.ServeStdio(ctx, p.stdin, p.stdout)
	if err := errors.Join(err, t.Close()); err != nil {
		return &codeError{exitFailed, err}
	}
	return nil
}

func tapeVerify(ctx context.Context, p *process, flags *tapeFlags, server harness.Server) error {
	rec, err := mcptape.Read(flags.verify)
	if err != nil {
		return err
	}
	found, err := mcptape.Verify(ctx, rec, server, &mcptape.VerifyOptions{Timeout: flags.timeout, Stderr: p.stderr, Abort: p.abort})
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
