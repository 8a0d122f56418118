// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/cassettes/key"
)

// proxyFlags are the flags of proxy.
type proxyFlags struct {
	listen, upstream, cassette, mode, order string
	speed                                   float64
	keepErrors, allowUnused                 bool
	ignore                                  []string
	maxAge                                  time.Duration
}

func proxyCommand(p *process) *cobra.Command {
	var flags proxyFlags
	cmd := &cobra.Command{
		Use:   "proxy --cassette FILE [--upstream URL]",
		Short: "Record or replay the HTTP traffic of a client in any language",
		Long: `proxy stands between a client and an endpoint. With --mode record it hands
requests on to --upstream and writes them with their answers to the cassette
when it ends; with --mode replay, the default, it answers from the cassette and
reaches no network. It prints one line of JSON when it is ready, {"url": "..."},
and runs until it is interrupted.

Point the client's base URL at it: what follows in the path is added to
--upstream. Streams stay streams, in both directions of time. Keys, cookies,
names of people and folders are taken out of what is written.

A request that fits nothing recorded is answered with 422, an error of type
rehearse_miss, which tells the nearest recording and every difference. At the
end of a replay the exit code is 1 if there was such a request, or if something
recorded was never asked for.`,
		Example: `  rehearse proxy --mode record --cassette weather.yaml --upstream http://localhost:8000
  rehearse proxy --cassette weather.yaml`,
		Args: noArgs("proxy"),
		RunE: func(cmd *cobra.Command, _ []string) error { return proxy(cmd.Context(), p, &flags) },
	}
	f := cmd.Flags()
	f.StringVar(&flags.listen, "listen", "127.0.0.1:0", "address to listen on; leave it on loopback, for the proxy checks no key")
	f.StringVar(&flags.upstream, "upstream", "", "address of the endpoint, needed in every mode but replay")
	f.StringVar(&flags.cassette, "cassette", "", "file that is written or read")
	f.StringVar(&flags.mode, "mode", string(cassettes.Replay), "replay, record, record-new (what is not in the file yet), verify (compare with the file) or passthrough")
	f.StringVar(&flags.order, "order", string(cassettes.Sequence), "which of equal requests answers: sequence, strict (all in the order of the file), any or repeat-last")
	f.Float64Var(&flags.speed, "speed", 0, "how fast to replay: 1 as it was, 2 twice as fast; 0 at once")
	f.BoolVar(&flags.keepErrors, "keep-errors", false, "record answers of 429 and of 500 and above too")
	f.BoolVar(&flags.allowUnused, "allow-unused", false, "let a replay end with recordings that nobody asked for")
	f.StringArrayVar(&flags.ignore, "ignore", nil, "a further path of JSON bodies that does not count, such as metadata.trace or **.date; may be repeated")
	f.DurationVar(&flags.maxAge, "max-age", 0, "warn of recordings older than this, such as 720h; 0 never does")
	return cmd
}

// noArgs refuses arguments of a command that has none.
func noArgs(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return fmt.Errorf("%s takes no arguments, got %q; run `rehearse %s --help`", name, args[0], name)
		}
		return nil
	}
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

func proxy(ctx context.Context, p *process, flags *proxyFlags) error {
	if flags.cassette == "" && flags.mode != string(cassettes.Passthrough) {
		return errors.New("proxy needs --cassette FILE")
	}
	var upstream *url.URL
	switch {
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
		AllowUnused: flags.allowUnused, Match: &key.Rules{Also: flags.ignore}, MaxAge: flags.maxAge, LookupEnv: p.getenv, Logf: p.logf,
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
	p.ready(p.stdout, "http://"+listener.Addr().String(), "")
	srv := &http.Server{Handler: rec.Proxy(upstream), ReadHeaderTimeout: 30 * time.Second}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(listener) }()
	select {
	case err := <-done:
		return errors.Join(err, rec.Close())
	case <-ctx.Done():
	}
	// Streams that clients hold open are cut; what came of them is kept.
	err = errors.Join(srv.Close(), rec.Close())
	<-done
	for _, line := range rec.Drift() {
		fmt.Fprintln(p.stdout, line)
	}
	if err != nil || len(rec.Drift()) > 0 {
		return &codeError{exitFailed, err}
	}
	return nil
}
