// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/cassettes/key"
)

// proxyFlags are the flags of proxy.
type proxyFlags struct {
	listen, upstream, cassette, mode, order, stale string
	speed                                          float64
	keepErrors, allowUnused, asides                bool
	ignore                                         []string
	maxAge                                         age
}

func proxyCommand(p *process) *cobra.Command {
	var flags proxyFlags
	cmd := &cobra.Command{
		Use:   "proxy --cassette FILE [--upstream URL] [-- CMD ARGS...]",
		Short: "Record or replay the HTTP traffic of a client in any language",
		Long: `proxy stands between a client and an endpoint. With --mode record it hands
requests on to --upstream and writes them with their answers to the cassette
when it ends; with --mode replay, the default, it answers from the cassette and
reaches no network.

With a command behind -- it runs the command and ends when that ends, with its
exit code. The command finds the proxy in OPENAI_BASE_URL, ANTHROPIC_BASE_URL and
GOOGLE_GEMINI_BASE_URL, which the official clients read, and in
REHEARSE_PROXY_URL; in replay it is also given keys for them, if it has none.

Without one it prints one line of JSON when it is ready, {"url": "..."}, and runs
until it is interrupted. Point the client's base URL at it: what follows in the
path is added to --upstream.

Streams stay streams, in both directions of time. Keys, cookies, names of people
and folders are taken out of what is written.

A request that fits nothing recorded is answered with 422, an error of type
rehearse_miss, which tells the nearest recording and every difference. At the
end of a replay the exit code is 1 if there was such a request, or if something
recorded was never asked for.`,
		Example: `  rehearse proxy --mode record --cassette weather.yaml --upstream https://api.openai.com -- pytest
  rehearse proxy --cassette weather.yaml -- pytest
  rehearse proxy --cassette weather.yaml --listen 127.0.0.1:8080`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash > 0 || dash < 0 && len(args) > 0 {
				return fmt.Errorf("unexpected argument %q; the client's command stands behind --", args[0])
			}
			return proxy(cmd.Context(), p, &flags, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.listen, "listen", "127.0.0.1:0", "address to listen on; leave it on loopback, for the proxy checks no key")
	f.StringVar(&flags.upstream, "upstream", "", "address of the endpoint, needed in every mode but replay")
	f.StringVar(&flags.cassette, "cassette", "", "file that is written or read")
	f.StringVar(&flags.mode, "mode", string(cassettes.Replay), "replay, record, record-new (what is not in the file yet), verify (compare with the file) or passthrough")
	f.StringVar(&flags.order, "order", string(cassettes.Sequence), "which of equal requests answers: sequence, strict (all in the order of the file), any or repeat-last")
	f.Float64Var(&flags.speed, "speed", 0, "how fast to replay: 1 as it was, 2 twice as fast; 0 at once")
	f.BoolVar(&flags.keepErrors, "keep-errors", false, "record answers of 429 and of 500 and above too, and let a recording of failures alone replace one that has answers")
	f.BoolVar(&flags.allowUnused, "allow-unused", false, "let a replay end with recordings that nobody asked for")
	f.StringArrayVar(&flags.ignore, "ignore", nil, "a further path of JSON bodies that does not count, such as metadata.trace or **.date; may be repeated")
	f.Var(&flags.maxAge, "max-age", "how old a recording may be in replay and record-new, such as 30d; 0 is any age")
	f.StringVar(&flags.stale, "stale", "warn", "what an older one does: warn, error, or record (anew, with --mode record-new)")
	f.BoolVar(&flags.asides, "asides", false, "let a recording hold requests of several models or system prompts, as of agents that ask for titles beside the conversation")
	return cmd
}

// endpointAddress reads --upstream. Paths can be joined to what it returns.
func endpointAddress(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("--upstream %q: want an address such as http://localhost:8000", text)
	}
	if u.Path == "" {
		u.Path = "/"
	}
	return u, nil
}

func proxy(ctx context.Context, p *process, flags *proxyFlags, command []string) error {
	if flags.cassette == "" && flags.mode != string(cassettes.Passthrough) {
		return errors.New("proxy needs --cassette FILE")
	}
	var upstream *url.URL
	switch modes := cassettes.Modes(); {
	case !slices.Contains(modes, cassettes.Mode(flags.mode)):
		var names []string
		for _, m := range modes {
			names = append(names, string(m))
		}
		return errors.New(unknown(fmt.Sprintf("--mode %q is unknown: want one of %s", flags.mode, strings.Join(names, ", ")), flags.mode, names))
	case flags.upstream != "":
		var err error
		if upstream, err = endpointAddress(flags.upstream); err != nil {
			return err
		}
	case flags.mode != string(cassettes.Replay):
		return fmt.Errorf("--mode %s needs --upstream URL", flags.mode)
	}
	opts := &cassettes.Options{
		Mode: cassettes.Mode(flags.mode), Order: cassettes.Order(flags.order), Speed: flags.speed, KeepErrors: flags.keepErrors,
		AllowUnused: flags.allowUnused, Match: &key.Rules{Also: flags.ignore}, MaxAge: time.Duration(flags.maxAge), Stale: flags.stale, Asides: flags.asides, LookupEnv: p.getenv, Logf: p.logf,
		Upstream: &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true},
	}
	rec, err := cassettes.Open(flags.cassette, opts)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", flags.listen)
	if err != nil {
		return errors.Join(err, rec.Close())
	}
	srv := &http.Server{Handler: rec.Proxy(upstream), ReadHeaderTimeout: 30 * time.Second}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(listener) }()
	address := "http://" + listener.Addr().String()
	var code int
	if len(command) > 0 {
		code, err = proxied(ctx, p, command, clientEnv(p, address, basePath(flags, upstream), opts.Mode))
		if err != nil {
			_ = rec.Close() // a replay of nothing has nothing to say
			return errors.Join(err, srv.Close())
		}
	} else {
		p.ready(p.stdout, address, "")
		select {
		case err := <-done:
			return errors.Join(err, rec.Close())
		case <-ctx.Done():
		}
	}
	// Streams that clients hold open are cut; what came of them is kept.
	err = errors.Join(srv.Close(), rec.Close())
	<-done
	for _, line := range rec.Drift() {
		fmt.Fprintln(p.stdout, line)
	}
	if flags.mode == string(cassettes.Record) && len(rec.Recorded()) == 0 && err == nil {
		err = nothing(rec.Asked(), command)
	}
	if flags.mode == string(cassettes.Replay) {
		err = complaint(err, len(rec.Misses()), code, flags.cassette, command)
	}
	switch {
	case code != 0:
		return &codeError{exitCode(code), err}
	case err != nil || len(rec.Drift()) > 0:
		return &codeError{exitFailed, err}
	}
	return nil
}

// nothing says why nothing came to be recorded. Without a command it may be
// that nobody came.
func nothing(asked int, command []string) error {
	switch {
	case asked > 0:
		return fmt.Errorf("nothing is recorded: the endpoint was asked %s, and all failed, as is told above; see to --upstream and the key (--keep-errors keeps failures)", count(asked, "time"))
	case len(command) > 0:
		return fmt.Errorf("%q asked nothing of the endpoint; does it go by OPENAI_BASE_URL or the like? see `rehearse proxy --help`", command[0])
	}
	return nil
}

// complaint ends what a replay complains of with how to go on. Misses were
// told when they happened. A command that failed by itself had no chance to
// ask for all that was recorded.
func complaint(err error, misses, code int, cassette string, command []string) error {
	switch {
	case err == nil || misses == 0 && code != 0:
		return nil
	case misses > 0:
		err = fmt.Errorf("cassette %q: %s without an answer; see above", cassette, count(misses, "request"))
	}
	return fmt.Errorf("%w\nif the change is meant, record anew: %s", err, recordAgain(cassette, command))
}

// basePath is the path of the address of the endpoint that a client is to
// reach or, in a replay, was recorded with.
func basePath(flags *proxyFlags, upstream *url.URL) string {
	if flags.mode != string(cassettes.Replay) {
		return upstream.Path
	}
	_, base := recordedAt(flags.cassette)
	return base
}
