// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net/http"

	"github.com/rehearse-dev/rehearse/cassettes/mcptape"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/redact"
)

// tapeProxy records a server over HTTP until it is interrupted.
func tapeProxy(ctx context.Context, p *process, flags *tapeFlags, header http.Header) error {
	target, ok := prose.WholeURL(flags.url)
	if !ok {
		return errors.New("--url: want an address such as http://localhost:8000/mcp")
	}
	if target.Path == "" {
		target.Path = "/"
	}
	known := *target // as the tape has it
	known.User, known.RawQuery, known.Fragment = nil, "", ""
	opts, err := flags.record(p)
	if err != nil {
		return err
	}
	opts.Server = known.String()
	opts.Secrets.Literals = append(opts.Secrets.Literals, redact.HeaderSecrets(header)...)
	rec, err := mcptape.NewRecorder(flags.out, opts)
	if err != nil {
		return err
	}
	err = serveTape(ctx, p, flags, target.Path, rec.Handler(target, header))
	if err := errors.Join(err, rec.Close()); err != nil {
		return err
	}
	if err := answered(flags.out); err != nil {
		return err
	}
	p.logf("tape %q is written", flags.out)
	return nil
}

// tapeServe replays a tape over HTTP until it is interrupted.
func tapeServe(ctx context.Context, p *process, flags *tapeFlags) error {
	t, err := openTape(p, flags)
	if err != nil {
		return err
	}
	if err := serveTape(ctx, p, flags, "/mcp", t.Handler()); err != nil {
		_ = t.Close() // nobody has asked yet
		return err
	}
	if err := t.Close(); err != nil {
		return &codeError{exitFailed, err}
	}
	return nil
}

// serveTape serves h until ctx ends. The client finds it at path.
func serveTape(ctx context.Context, p *process, flags *tapeFlags, path string, h http.Handler) error {
	return serveHandler(ctx, flags.listen, 0, flags.admits.Handler(h), nil, func(host string) { p.ready(p.stdout, "http://"+host+path, "") })
}
