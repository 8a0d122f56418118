// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcphttp

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// closing opens streams that end at once, and asks to wait a while.
type closing struct{ opened int }

func (c *closing) RoundTrip(r *http.Request) (*http.Response, error) {
	c.opened++
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {typeEvents}}, Body: io.NopCloser(strings.NewReader("retry: 60000\n\n")), Request: r,
	}, nil
}

// TestListenGivesUp: a stream that never stays open is given up, however long the
// server has the client wait: the wait is no time for which it was open.
func TestListenGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Options{URL: "http://a/"})
		if err != nil {
			t.Fatal(err)
		}
		server, notes, begin := &closing{}, "", time.Now()
		c.client = &http.Client{Transport: server}
		c.opts.Note = func(format string, args ...any) { notes += fmt.Sprintf(format, args...) }
		c.Listen(t.Context(), func() {})
		if server.opened != maxFruitless+1 || !strings.HasPrefix(notes, "its notification stream does not stay open") || time.Since(begin) != maxFruitless*time.Minute {
			t.Errorf("opened %d times in %v: %s", server.opened, time.Since(begin), notes)
		}
	})
}
