// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/rehearse-dev/rehearse/cassettes/mcptape"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// tapeProxy records a server over HTTP until it is interrupted.
func tapeProxy(ctx context.Context, p *process, flags *tapeFlags, header http.Header) error {
	target, err := url.Parse(flags.url)
	if err != nil || target.Scheme != "http" && target.Scheme != "https" || target.Host == "" {
		return errors.New("--url: want an address such as http://localhost:8000/mcp")
	}
	if target.Path == "" {
		target.Path = "/"
	}
	known := *target // as the tape has it
	known.User, known.RawQuery, known.Fragment = nil, "", ""
	rec, err := mcptape.NewRecorder(flags.out, &mcptape.RecordOptions{Server: known.String(), LookupEnv: p.getenv})
	if err != nil {
		return err
	}
	err = serveTape(ctx, p, flags.listen, target.Path, rec.Handler(target, header))
	if err := errors.Join(err, rec.Close()); err != nil {
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
	if err := serveTape(ctx, p, flags.listen, "/mcp", t.Handler()); err != nil {
		_ = t.Close() // nobody has asked yet
		return err
	}
	if err := t.Close(); err != nil {
		return &codeError{exitFailed, err}
	}
	return nil
}

// serveTape serves h until ctx ends. The client finds it at path. Pages in a
// browser have no business here.
func serveTape(ctx context.Context, p *process, listen, path string, h http.Handler) error {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	p.ready(p.stdout, "http://"+listener.Addr().String()+path, "")
	srv := &http.Server{
		ReadHeaderTimeout: 30 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if why := mcpwire.Foreign(r, nil, nil); why != "" {
				http.Error(w, why, http.StatusForbidden)
				return
			}
			h.ServeHTTP(w, r)
		}),
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(listener) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	err = srv.Close() // streams that clients hold open are cut
	<-done
	return err
}
