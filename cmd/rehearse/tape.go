// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/cassettes/mcptape"
	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/gate"
	"github.com/rehearse-dev/rehearse/internal/shape"
)

// tapeFlags are the flags of tape.
type tapeFlags struct {
	out, replay, verify string
	url, listen         string
	admits              gate.Rules
	headers             []string
	speed               float64
	strict, allowUnused bool
	ignore, keep        []string
	force               bool
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

With --out it records a tape: a line of JSON for each message, with its time.
Before a server's command it runs the server, forwards every byte at once, and
exits with the server's code: put it where the client configures the command. With
--url it stands before a server over streamable HTTP, of both eras of the protocol:
it prints one line of JSON when it is ready, {"url": "..."}, the address for the
client, and records until it is interrupted. Secrets, login names and folders are
removed from what is written; headers and the query of the address are not written
at all.

With --replay it plays the server from the tape: over stdio, or with --listen over
HTTP, whichever the tape was recorded over. It answers a request whose method and
parameters were recorded; ids, _meta, sessions and the client's version do not
matter. Messages that the server sent on its own come at their place, and over HTTP
an answer is a stream or not, as it was. Any other request is answered with an
error that begins with rehearse_miss and names the nearest recording and every
difference. The exit code is 1 if there was such a request, or if a recording was
never asked for.

With --verify it sends the recorded requests to a server, such as a new build of
the same, and compares. A difference is breaking (a tool is gone, an argument has
become required, a type has changed), risky (a description has changed) or minor (a
tool is new). The exit code is 1 for a breaking or a risky one, and 3 if the server
could not be reached.

Over HTTP it refuses requests for a foreign host and requests of pages of another
origin: see --allow-host and --cors.`,
		Example: `  rehearse tape --out files.tape -- npx @modelcontextprotocol/server-filesystem data
  rehearse tape --out web.tape --url https://mcp.example.com/mcp --header 'Authorization: Bearer $TOKEN'
  rehearse tape --replay files.tape
  rehearse tape --replay web.tape --listen 127.0.0.1:8931
  rehearse tape --verify files.tape -- npx @modelcontextprotocol/server-filesystem@next data
  rehearse tape --verify web.tape --url http://localhost:8000/mcp`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash > 0 || dash < 0 && len(args) > 0 {
				return fmt.Errorf("unexpected argument %q; put the server's command after --", args[0])
			}
			return tape(cmd, p, &flags, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.out, "out", "", "tape to write; {pid} in it is the number of the process, for a client that starts the server several times")
	f.StringVar(&flags.replay, "replay", "", "tape to replay on standard input and output, or with --listen over HTTP")
	f.StringVar(&flags.verify, "verify", "", "tape to compare a server with")
	f.StringVar(&flags.url, "url", "", "address of a server over HTTP, instead of a command")
	f.StringVar(&flags.listen, "listen", "127.0.0.1:0", "address to listen on, with --replay, or with --out and --url; keep it on loopback, because no key is checked")
	gateFlags(f, &flags.admits)
	f.StringArrayVar(&flags.headers, "header", nil, "header for the server at --url, such as 'Authorization: Bearer $TOKEN' with an environment variable; may be repeated")
	f.Float64Var(&flags.speed, "speed", 0, "replay speed: 1 as recorded, 2 twice as fast, 0 at once")
	f.BoolVar(&flags.strict, "strict", false, "require the requests of a replay in the order of the tape")
	f.BoolVar(&flags.allowUnused, "allow-unused", false, "do not fail a replay for recorded requests that nobody sent")
	f.StringArrayVar(&flags.ignore, "ignore", nil, "path in the parameters to ignore when matching, such as arguments.date or **.trace; may be repeated")
	addKeep(f, &flags.keep)
	f.BoolVar(&flags.force, "force", false, "with --out: let a recording replace one of another server, or one with more requests")
	f.Var(&flags.maxAge, "max-age", "maximum age of a tape in a replay, such as 30d; 0 is any age")
	f.StringVar(&flags.stale, "stale", "warn", "what to do about an older tape: warn or error")
	f.DurationVar(&flags.timeout, "timeout", 30*time.Second, "time limit for one answer with --verify")
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
		return tapeRecord(cmd.Context(), p, flags, command)
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
	replay, overHTTP := flags.replay != "", flags.out != "" && flags.url != ""
	for _, rule := range []struct {
		name string
		ok   bool
		with string
	}{
		{"speed", replay, "--replay"},
		{"strict", replay, "--replay"},
		{"allow-unused", replay, "--replay"},
		{"ignore", replay, "--replay"},
		{"force", flags.out != "", "--out"},
		{"max-age", replay, "--replay"},
		{"stale", replay, "--replay"},
		{"timeout", flags.verify != "", "--verify"},
		{"header", flags.url != "", "--url"},
		{"listen", replay || overHTTP, "--replay, and with --out and --url"},
		{"allow-host", replay && cmd.Flags().Changed("listen") || overHTTP, "--replay and --listen, and with --out and --url"},
		{"cors", replay && cmd.Flags().Changed("listen") || overHTTP, "--replay and --listen, and with --out and --url"},
	} {
		if cmd.Flags().Changed(rule.name) && !rule.ok {
			return fmt.Errorf("--%s needs %s", rule.name, rule.with)
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
		return errors.New("tape needs the server's command after --, or its --url\nfor example:\n" + cmd.Example)
	}
	return nil
}

// tapeRecord ends with the code of the server. A tape that could not be
// written makes a success of it a failure.
func tapeRecord(ctx context.Context, p *process, flags *tapeFlags, command []string) error {
	opts, err := flags.record(p)
	if err != nil {
		return err
	}
	// A client that starts a server several times has a tape of each.
	out := strings.ReplaceAll(flags.out, "{pid}", strconv.Itoa(os.Getpid()))
	code, err := mcptape.Record(ctx, out, command, mcptape.Stdio{In: p.stdin, Out: unkept(p.stdout), Err: p.stderr}, opts)
	switch {
	case code != 0:
		if err == nil {
			if why := answered(out); why != nil {
				p.logf("%v", why)
			}
		}
		return &codeError{exitCode(code), err}
	case err != nil:
		return err
	}
	return answered(out)
}

// answered makes a failure of a tape that is of no use.
func answered(path string) error {
	rec, err := mcptape.Read(path)
	if err != nil {
		return err
	}
	if rec.Answered() == 0 {
		return &codeError{exitFailed, fmt.Errorf("tape %q is written, but no request in it has an answer, so a replay will have none", path)}
	}
	return nil
}

// record are the settings of a recording.
func (flags *tapeFlags) record(p *process) (*mcptape.RecordOptions, error) {
	rules, err := secretRules(flags.keep)
	if err != nil {
		return nil, err
	}
	return &mcptape.RecordOptions{Secrets: rules, Force: flags.force, LookupEnv: p.getenv, Logf: p.logf, Abort: p.abort}, nil
}

// openTape opens the tape to replay.
func openTape(p *process, flags *tapeFlags) (*mcptape.Tape, error) {
	rules, err := secretRules(flags.keep)
	if err != nil {
		return nil, err
	}
	return mcptape.Open(flags.replay, &mcptape.Options{
		Secrets: rules,
		Speed:   flags.speed, Strict: flags.strict, Ignore: flags.ignore, AllowUnused: flags.allowUnused, MaxAge: time.Duration(flags.maxAge), Stale: flags.stale,
		Stderr: p.stderr, Logf: p.logf,
	})
}

func tapeReplay(ctx context.Context, p *process, flags *tapeFlags) error {
	t, err := openTape(p, flags)
	if err != nil {
		return err
	}
	err = t.ServeStdio(ctx, p.stdin, unkept(p.stdout))
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
	var unasked *mcptape.UnaskedError
	if err != nil && !errors.As(err, &unasked) {
		return &codeError{exitUnjudged, err}
	}
	fmt.Fprintf(p.stdout, "differences that matter: %d, minor: %d\n", matter, len(found)-matter)
	switch {
	case matter > 0:
		return &codeError{exitFailed, err}
	case err != nil:
		return &codeError{exitUnjudged, err}
	}
	return nil
}
