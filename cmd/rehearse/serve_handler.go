// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/gate"
	"github.com/rehearse-dev/rehearse/internal/plainfile"
)

// farewell is how long the answers may take that say that the server stops.
const farewell = time.Second

// serveHandler serves h until ctx ends, and then for as long as grace while
// requests go on; what outlasts the grace is ended by end, if there is one, and
// answered as that. h guards itself: see [gate.Rules]. say is told the host of the
// listener before the first request.
func serveHandler(ctx context.Context, listen string, grace time.Duration, h http.Handler, end func(), say func(host string)) error {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	say(dialled(listener.Addr()))
	srv := gate.NewServer(h)
	done := make(chan error, 1)
	go func() { done <- srv.Serve(listener) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	if grace > 0 {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		_ = srv.Shutdown(ending)
		cancel()
	}
	if end != nil {
		end()
		brief, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		_ = srv.Shutdown(brief)
		cancel()
	}
	err = srv.Close() // streams that clients hold open are cut
	<-done
	return err
}

// textOrFile is the value of a flag that is a text, or @FILE.
func textOrFile(flag, text string) (string, error) {
	if path, ok := strings.CutPrefix(text, "@"); ok {
		data, err := plainfile.Read(path, plainfile.MaxSettings)
		if err != nil {
			return "", fmt.Errorf("--%s: %w", flag, err)
		}
		text = strings.TrimSpace(string(data))
	}
	if !utf8.ValidString(text) { // no request could carry it
		return "", fmt.Errorf("--%s: the text is not UTF-8", flag)
	}
	return text, nil
}
