// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// errFailed is met when a conversation did not end as its scenario wants.
var errFailed = errors.New("a conversation did not go as its scenario says")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second one ends the program at once
	if err := command(ctx, os.Args[1:]); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(os.Stderr, "argo: %v\n", err)
		}
		os.Exit(1)
	}
}

// job is what the flags and the environment ask for.
type job struct {
	root, out string
	drift     bool
	exchanges string
	providers bool
	models    []string
	releases  []release
	real      string // ARGO_BASE_URL
	logf      func(format string, args ...any)
}

func command(ctx context.Context, args []string) error {
	j := job{logf: func(format string, args ...any) { fmt.Printf(format+"\n", args...) }}
	f := flag.NewFlagSet("argo", flag.ContinueOnError)
	f.StringVar(&j.root, "root", ".", "root of the repository")
	f.StringVar(&j.out, "out", "", "folder of the recordings (default "+shipped+" below the root)")
	f.BoolVar(&j.drift, "drift", false, "write nothing: record into a temporary folder and compare; the exit code is 1 when a difference matters")
	f.StringVar(&j.exchanges, "exchanges", "", "record single exchanges, with faults of the gateway, into this folder, and nothing else")
	f.BoolVar(&j.providers, "providers", false, "record nothing: have the providers for the APIs beside chat hold the conversations")
	names := f.String("models", strings.Join(models(), ","), "models to ask for")
	wanted := f.String("releases", "", "releases of argo-proxy to record (default all)")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	j.out = cmp.Or(j.out, filepath.Join(j.root, shipped))
	j.models = split(*names)
	j.real = os.Getenv("ARGO_BASE_URL")
	j.releases = releases()
	if j.exchanges != "" {
		j.releases = allReleases()
	}
	if *wanted != "" {
		list := split(*wanted)
		if j.exchanges != "" { // any release there is
			j.releases = nil
			for _, v := range list {
				j.releases = append(j.releases, releaseOf(v))
			}
		}
		for _, v := range list {
			if !slices.ContainsFunc(j.releases, func(r release) bool { return r.version == v }) {
				return fmt.Errorf("-releases %s: no such release here; there are %v", v, j.releases)
			}
		}
		j.releases = slices.DeleteFunc(j.releases, func(r release) bool { return !slices.Contains(list, r.version) })
	}
	if j.exchanges != "" {
		return j.recordExchanges(ctx)
	}
	if j.real != "" {
		return j.recordReal(ctx)
	}
	var errs []error
	for _, r := range j.releases {
		err := j.release(ctx, r)
		if ctx.Err() != nil {
			return errors.Join(errors.New("interrupted; each recording is the one before or the new one, whole"), err)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// release does what is asked for with one release.
func (j *job) release(ctx context.Context, r release) error {
	if j.providers {
		return j.playProviders(ctx, r)
	}
	return j.recordRelease(ctx, r)
}

// recordRelease puts a release before the mock gateway and records it.
func (j *job) recordRelease(ctx context.Context, r release) (err error) {
	if err := r.install(ctx, j.root, j.logf); err != nil {
		return err
	}
	a := about{Behind: behindStandIn, Unknown: unknown, Renew: renewStandIn}
	if a.Proxy, a.Rosetta, err = r.installed(ctx, j.root); err != nil {
		return err
	}
	a.Proxy = "argo-proxy " + a.Proxy
	g, err := newGateway()
	if err != nil {
		return err
	}
	defer g.close()
	p, err := r.start(ctx, j.root, g.url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	// Some releases close a connection while a request is on its way on it.
	carrier := &http.Transport{DisableKeepAlives: true}
	e := &endpoint{name: a.Proxy, base: &url.URL{Scheme: "http", Host: p.address, Path: "/v1"}, models: j.models, gateway: g, carrier: carrier}
	return j.keep(ctx, filepath.Join(j.out, r.version), e, a)
}

// recordReal records what ARGO_BASE_URL leads to.
func (j *job) recordReal(ctx context.Context) error {
	base, err := url.Parse(j.real)
	if err != nil || base.Host == "" {
		return fmt.Errorf("ARGO_BASE_URL is %q: want a whole URL ending in /v1", j.real)
	}
	e := &endpoint{base: base, key: os.Getenv("OPENAI_API_KEY"), models: j.models, carrier: http.DefaultTransport}
	a := about{Behind: behindReal, Renew: renewReal}
	folder := "live"
	a.Proxy = "unknown: GET /version does not tell"
	if v := versionOf(ctx, base); v != "" {
		folder, a.Proxy = "live-"+v, "argo-proxy "+v
	}
	e.name = folder
	calls, err := j.calls()
	if err != nil {
		return err
	}
	j.logf("%s: about %d requests to models at ARGO_BASE_URL, which may cost money; Ctrl-C stops", e.name, calls)
	return j.keep(ctx, filepath.Join(j.out, folder), e, a)
}

// calls is how many requests the scenarios come to, if models answer as the
// scripts do.
func (j *job) calls() (int, error) {
	n := 0
	for _, variant := range variants() {
		list, err := load(j.root, variant, true)
		if err != nil {
			return 0, err
		}
		for _, s := range list {
			for _, t := range s.ModelScript().Turns {
				n += len(t.Replies) * len(j.models)
			}
		}
	}
	return n, nil
}

// versionOf asks an argo-proxy for its release; empty when it does not tell.
func versionOf(ctx context.Context, base *url.URL) string {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second) // it asks the package index itself
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base.JoinPath("../version").String(), nil)
	if err != nil {
		return ""
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	var body struct{ Version string }
	if json.NewDecoder(http.MaxBytesReader(nil, res.Body, 1<<20)).Decode(&body) != nil || strings.ContainsAny(body.Version, `/\ `) {
		return ""
	}
	return body.Version
}

// keep records into a folder, or compares with it.
func (j *job) keep(ctx context.Context, dir string, e *endpoint, a about) error {
	if j.drift {
		return drift(ctx, j.root, dir, e, j.logf)
	}
	list, err := record(ctx, j.root, dir, e, j.logf)
	if err != nil {
		return err
	}
	left, err := leftovers(dir, list)
	if err != nil {
		return err
	}
	for _, path := range left {
		j.logf("%s: removed, since no scenario makes it any more: %s", e.name, path)
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	written, failed := 0, 0
	for _, r := range list {
		if r.Written {
			written++
		}
		if r.problem() != "" {
			failed++
		}
		for _, line := range r.Drift {
			j.logf("%s: %s: %s", e.name, r.where(), line)
		}
	}
	a.Subject, a.Models, a.Scenarios, a.Variants = subjectName, e.models, sources(e.gateway == nil), variants()
	name := filepath.ToSlash(filepath.Join(shipped, filepath.Base(dir)))
	a.Replay = fmt.Sprintf("rehearse run %s --mode replay --cassettes %s/plain; with --stream and %s/stream: streamed", strings.Join(a.Scenarios, " "), name, name)
	if err := writeAbout(dir, a, written); err != nil {
		return err
	}
	j.logf("%s: conversations: %d, failed: %d; recordings written: %d, the same as before: %d; in %s", e.name, len(list), failed, written, len(list)-written, dir)
	if failed > 0 {
		return fmt.Errorf("%s: %w", e.name, errFailed)
	}
	return nil
}
