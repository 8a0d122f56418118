// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/internal/gate"
	"github.com/rehearse-dev/rehearse/internal/key"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// proxyFlags are the flags of proxy.
type proxyFlags struct {
	listen, upstream, cassette, mode, order, stale string
	cassettes                                      string
	speed                                          float64
	keepErrors, allowUnused, asides                bool
	force                                          bool
	ignore, keep                                   []string
	maxAge                                         age
	admits                                         gate.Rules
	withParent                                     bool
}

func proxyCommand(p *process) *cobra.Command {
	var flags proxyFlags
	cmd := &cobra.Command{
		Use:   "proxy (--cassette FILE | --cassettes DIR) [--upstream URL] [-- CMD ARGS...]",
		Short: "Record or replay the HTTP traffic of a client in any language",
		Long: `proxy stands between a client and an endpoint. With --mode replay, the default, it
answers from the cassette and reaches no network. With --mode record it forwards
requests to --upstream, and writes them and their answers to the cassette.

With a command after -- it runs the command, ends with it, and returns its exit
code. The command finds the proxy in OPENAI_BASE_URL, ANTHROPIC_BASE_URL and
GOOGLE_GEMINI_BASE_URL, which the official clients read, and in
REHEARSE_PROXY_URL. In a replay it also gets placeholder keys, if it has none.

Without a command it prints one line of JSON when it is ready,
{"url": "...", "openai": "..."}, and runs until it is interrupted. Point the client's
base URL at it: "openai" for clients of OpenAI, which want the /v1 in theirs, "url" for
others. The path of a request is appended to --upstream.

Streams stay streams, while recording and in a replay. Keys, cookies, login names
and folders are removed from what is written.

It refuses requests for a foreign host and requests of pages of another origin: see
--allow-host and --cors.

With --cassettes DIR each test of a client has its own cassette. The client names
the test of a request in the header X-Rehearse-Test, or in a path that begins with
/test/NAME, as with the base URL $REHEARSE_PROXY_URL/test/NAME/v1. A replay may
leave out tests, but not all of them.

A request that matches no recording is answered with 422, an error of type
rehearse_miss, which names the nearest recording and every difference. The exit
code of a replay is 1 if there was such a request, or if a recording was never
asked for.`,
		Example: `  rehearse proxy --mode record --cassette weather.yaml --upstream https://api.openai.com -- pytest
  rehearse proxy --cassette weather.yaml -- pytest
  rehearse proxy --cassette weather.yaml --listen 127.0.0.1:8080`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash > 0 || dash < 0 && len(args) > 0 {
				return fmt.Errorf("unexpected argument %q; put the client's command after --", args[0])
			}
			if !flags.withParent {
				return proxy(cmd.Context(), p, &flags, args)
			}
			if len(args) > 0 {
				return errors.New("--with-parent is for a proxy without a command: with one it ends when the command does")
			}
			http := httpServer{withParent: true}
			ctx, cancel := http.begin(cmd.Context(), p)
			defer cancel()
			return proxy(ctx, p, &flags, nil)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.listen, "listen", "127.0.0.1:0", "address to listen on; keep it on loopback, because the proxy checks no key")
	gateFlags(f, &flags.admits)
	f.StringVar(&flags.upstream, "upstream", "", "address of the endpoint; required in every mode except replay")
	f.StringVar(&flags.cassette, "cassette", "", "cassette file")
	f.StringVar(&flags.cassettes, "cassettes", "", "folder with one cassette for each test, instead of --cassette; the client names its tests")
	f.StringVar(&flags.mode, "mode", string(cassettes.Replay), "replay, record, record-new (only requests that are not in the file), verify (compare with the file) or passthrough")
	f.StringVar(&flags.order, "order", string(cassettes.Sequence), "which of several equal recordings answers: sequence, strict (all in the order of the file), any or repeat-last")
	f.Float64Var(&flags.speed, "speed", 0, "replay speed: 1 as recorded, 2 twice as fast, 0 at once")
	f.BoolVar(&flags.keepErrors, "keep-errors", false, "also record answers of 429 and of 500 and above, and let a recording of failures alone replace one that has answers")
	f.BoolVar(&flags.allowUnused, "allow-unused", false, "do not fail a replay for recordings that nobody asked for")
	f.StringArrayVar(&flags.ignore, "ignore", nil, "path in JSON bodies to ignore when matching, such as metadata.trace or **.date; may be repeated")
	f.Var(&flags.maxAge, "max-age", "maximum age of a recording in replay and record-new, such as 30d; 0 is any age")
	f.StringVar(&flags.stale, "stale", "warn", "what to do about an older recording: warn, error, or record (again, with --mode record-new)")
	addKeep(f, &flags.keep)
	f.BoolVar(&flags.withParent, "with-parent", false, parentHelp)
	f.BoolVar(&flags.force, "force", false, "let a recording replace one of another command, or one with more exchanges")
	f.BoolVar(&flags.asides, "asides", false, "allow several models or system prompts in one recording, as of agents that also ask for titles")
	return cmd
}

// endpointAddress reads --upstream. Paths can be joined to what it returns. What
// would be dropped is refused.
func endpointAddress(text string) (*url.URL, error) {
	u, ok := prose.WholeURL(text)
	if !ok {
		return nil, fmt.Errorf("--upstream %q: want an address such as http://localhost:8000", text)
	}
	switch {
	case u.User != nil:
		return nil, fmt.Errorf("--upstream %q: the user and password in it would not be sent; leave them out, and let the client send them", u.Redacted())
	case u.RawQuery != "" || u.ForceQuery:
		return nil, fmt.Errorf("--upstream %q: the query in it would not be sent; leave it out, and let the client send it", text)
	case u.Fragment != "":
		return nil, fmt.Errorf("--upstream %q: the part after # is not sent to an endpoint; leave it out", text)
	}
	if u.Path == "" {
		u.Path = "/"
	}
	return u, nil
}

func proxy(ctx context.Context, p *process, flags *proxyFlags, command []string) error {
	switch {
	case flags.cassette == "" && flags.cassettes == "" && flags.mode != string(cassettes.Passthrough):
		return errors.New("proxy needs --cassette FILE, or --cassettes DIR")
	case flags.cassette != "" && flags.cassettes != "":
		return errors.New("proxy takes --cassette or --cassettes, not both")
	}
	var upstream *url.URL
	switch modes := cassettes.Modes(); {
	case !slices.Contains(modes, cassettes.Mode(flags.mode)):
		var names []string
		for _, m := range modes {
			names = append(names, string(m))
		}
		return fmt.Errorf("--mode %q is unknown: want one of %s%s", flags.mode, strings.Join(names, ", "), prose.DidYouMean(flags.mode, names))
	case flags.upstream != "":
		var err error
		if upstream, err = endpointAddress(flags.upstream); err != nil {
			return err
		}
	case flags.mode != string(cassettes.Replay):
		return fmt.Errorf("--mode %s needs --upstream URL", flags.mode)
	}
	rules, err := secretRules(flags.keep)
	if err != nil {
		return err
	}
	opts := &cassettes.Options{
		Mode: cassettes.Mode(flags.mode), Order: cassettes.Order(flags.order), Speed: flags.speed, KeepErrors: flags.keepErrors,
		AllowUnused: flags.allowUnused, Match: &key.Rules{Also: flags.ignore}, MaxAge: time.Duration(flags.maxAge), Stale: flags.stale, Asides: flags.asides, LookupEnv: p.getenv, Logf: p.logf,
		Force: flags.force, Secrets: rules, Subject: clientName(command),
		Upstream: &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true},
	}
	rec, err := openRecorders(flags, opts, upstream)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", flags.listen)
	if err != nil {
		_ = rec.close() // a replay of nothing has nothing to say
		return err
	}
	srv := flags.admits.Server(rec.handler)
	done := make(chan error, 1)
	go func() { done <- srv.Serve(listener) }()
	address := "http://" + dialled(listener.Addr())
	var code int
	if len(command) > 0 {
		code, err = proxied(ctx, p, command, clientEnv(p, address, bareAddress(flags, upstream), opts.Mode))
		if err != nil {
			_ = rec.close() // a replay of nothing has nothing to say
			return errors.Join(err, srv.Close())
		}
	} else {
		line, _ := json.Marshal(struct {
			URL    string `json:"url"`
			OpenAI string `json:"openai"`
		}{address, openAIBase(address, bareAddress(flags, upstream))})
		fmt.Fprintf(unkept(p.stdout), "%s\n", line)
		select {
		case err := <-done:
			return errors.Join(err, rec.close())
		case <-ctx.Done():
		}
	}
	// Streams that clients hold open are cut; what came of them is kept.
	err = errors.Join(srv.Close(), rec.close())
	<-done
	return rec.verdict(p, flags, command, code, err)
}

// recorders are what a proxy records with or replays: one, or one for each test.
type recorders struct {
	handler http.Handler
	close   func() error
	list    func() []*cassettes.Recorder
}

func openRecorders(flags *proxyFlags, opts *cassettes.Options, upstream *url.URL) (*recorders, error) {
	if flags.cassettes != "" {
		set, err := cassettes.OpenSet(flags.cassettes, opts)
		if err != nil {
			return nil, err
		}
		return &recorders{set.Proxy(upstream), set.Close, set.Recorders}, nil
	}
	rec, err := cassettes.Open(flags.cassette, opts)
	if err != nil {
		return nil, err
	}
	return &recorders{rec.Proxy(upstream), rec.Close, func() []*cassettes.Recorder { return []*cassettes.Recorder{rec} }}, nil
}

// verdict is what the proxy ends with, once it is closed with an error or none.
func (r *recorders) verdict(p *process, flags *proxyFlags, command []string, code int, err error) error {
	var recorded, asked, misses, drift, unjudged int
	var refused *vcr.Interaction
	var failed []string
	for _, rec := range r.list() {
		recorded, asked, misses, drift = recorded+len(rec.Recorded()), asked+rec.Asked(), misses+len(rec.Misses()), drift+len(rec.Drift())
		for _, line := range slices.Concat(rec.Drift(), rec.Unjudged()) {
			fmt.Fprintln(p.stdout, line)
		}
		unjudged += len(rec.Unjudged())
		refused = cmp.Or(rec.Refused(), refused)
		if rec.Failed() {
			failed = append(failed, fmt.Sprintf("cassette %q: every recorded exchange failed (exchanges: %d)%s", rec.Path(), len(rec.Recorded()), lastRefusal(rec.Refused())))
		}
	}
	if flags.mode == string(cassettes.Record) && recorded == 0 && err == nil {
		err = nothing(asked, refused, command)
	}
	if len(failed) > 0 && err == nil && code == 0 {
		err = fmt.Errorf("%s; check --upstream and the key, or use --keep-errors if this is intended", strings.Join(failed, "\n"))
	}
	if flags.mode == string(cassettes.Replay) {
		if flags.cassettes != "" && asked == 0 && err == nil && !flags.allowUnused { // one that is asked says so itself
			err = fmt.Errorf("cassettes in %q: nothing was asked for", flags.cassettes)
		}
		err = complaint(err, misses, code, flags, command)
	}
	switch {
	case code != 0:
		return &codeError{exitCode(code), err}
	case err != nil || drift > 0:
		return &codeError{exitFailed, err}
	case unjudged > 0:
		return &codeError{exitUnjudged, fmt.Errorf("%s could not be compared; check --upstream", prose.Count(unjudged, "answer"))}
	}
	return nil
}

// nothing says why nothing came to be recorded. Without a command it may be
// that nobody came.
func nothing(asked int, refused *vcr.Interaction, command []string) error {
	switch {
	case asked > 0:
		return fmt.Errorf("nothing was recorded: the endpoint was asked %s, and every request failed%s; check --upstream and the key (--keep-errors keeps failures)", prose.Count(asked, "time"), lastRefusal(refused))
	case len(command) > 0:
		return fmt.Errorf("%q sent no request to the proxy; it must read its base URL from OPENAI_BASE_URL or a similar variable, see `rehearse proxy --help`", command[0])
	}
	return nil
}

// lastRefusal is the end of a message that every request failed: why the last one did.
func lastRefusal(i *vcr.Interaction) string {
	switch {
	case i == nil:
		return ""
	case i.Meta.Error != "":
		return ", the last one with " + i.Meta.Error
	}
	how := cmp.Or(i.Response.Status, strconv.Itoa(i.Response.Code))
	if said := prose.OneLine(saidOfError(i.Response.Body), 200); said != "" {
		how += ": " + said
	}
	return ", the last one with " + how
}

// complaint ends what a replay complains of with how to go on. Misses were
// told when they happened. A command that failed by itself had no chance to
// ask for all that was recorded.
func complaint(err error, misses, code int, flags *proxyFlags, command []string) error {
	switch {
	case err == nil || misses == 0 && code != 0:
		return nil
	case misses > 0:
		what := fmt.Sprintf("cassette %q", flags.cassette)
		if flags.cassettes != "" {
			what = fmt.Sprintf("cassettes in %q", flags.cassettes)
		}
		err = fmt.Errorf("%s: %s without an answer; see above", what, prose.Count(misses, "request"))
	}
	if misses == 0 {
		return fmt.Errorf("%w\nto replay only a part of the recording, use --allow-unused; if the client now asks for less, record again: %s", err, recordAgain(flags, command))
	}
	return fmt.Errorf("%w\nif the change is intended, record again: %s", err, recordAgain(flags, command))
}
