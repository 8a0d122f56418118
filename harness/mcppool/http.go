// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"context"
	"net/http"
	"time"

	"github.com/rehearse-dev/rehearse/internal/mcphttp"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// web carries a session over streamable HTTP of both eras: each request has a
// stream of its own.
type web struct {
	c    *conn
	http *mcphttp.Client
}

func newWeb(opts mcphttp.Options, c *conn) (*web, error) {
	t := &web{c: c}
	opts.Take = func(messages []mcpwire.Message, junk *mcpwire.JunkError) { c.takeAll(messages, junk, t.reply) }
	var err error
	t.http, err = mcphttp.New(opts)
	return t, err
}

func (t *web) send(ctx context.Context, m mcpwire.Message, header http.Header) (<-chan error, func(bool)) {
	return t.c.sending(ctx, func(life context.Context) error { return t.http.Send(life, m, header) })
}

// sending sends a request beside what waits for its answer. leave ends that, at once
// unless it was answered: a connection that was read to its end can be used again,
// and one that is cut while the next request takes it would end that, too.
func (c *conn) sending(ctx context.Context, send func(life context.Context) error) (over <-chan error, leave func(answered bool)) {
	life, cancel := context.WithCancel(c.life)
	if mcpwire.AwaitsTaken(ctx) {
		life = mcpwire.OnTaken(life, func() { mcpwire.Taken(ctx) })
	}
	out := make(chan error, 1)
	if !c.spawn(func() {
		defer cancel()
		out <- send(life)
	}) {
		out <- mcpwire.ErrClosed
	}
	return out, func(answered bool) {
		if answered {
			time.AfterFunc(time.Second, cancel)
		} else {
			cancel()
		}
	}
}

func (t *web) tell(ctx context.Context, m mcpwire.Message) error {
	err := t.http.Tell(ctx, m)
	if err == nil && m.Method == mcpwire.NoticeInitialized {
		t.listen(ctx)
	}
	return err
}

// listen opens the stream of what belongs to no request, and waits a moment
// until it is open: a call that came before might have the server ask something
// that nobody hears.
func (t *web) listen(ctx context.Context) {
	opened := make(chan struct{})
	t.c.spawn(func() { t.http.Listen(t.c.life, func() { close(opened) }) })
	wait := time.NewTimer(mcphttp.ListenPatience)
	defer wait.Stop()
	select {
	case <-opened:
	case <-wait.C:
	case <-ctx.Done():
	}
}

// reply sends our answer to a request of the server.
func (t *web) reply(m mcpwire.Message) { t.c.answerTo(m, t.http.Tell) }

func (t *web) agreed(version string) { t.http.SetVersion(version) }
func (t *web) done() <-chan struct{} { return nil }
func (t *web) lost() error           { return nil }
func (t *web) gone() bool            { return false }
func (t *web) ending() string        { return "" }
func (t *web) stderr() string        { return "" }
func (t *web) posts() bool           { return true }
func (t *web) session() string       { return t.http.Session() }

func (t *web) close() {
	t.c.running.Wait() // the session ends after all that is asked in it
	t.http.Close()
}

// oldWeb carries a session over HTTP+SSE.
type oldWeb struct {
	c   *conn
	sse *mcphttp.SSE
}

func newOldWeb(opts mcphttp.Options, c *conn) (*oldWeb, error) {
	t := &oldWeb{c: c}
	ready := make(chan struct{})
	defer close(ready)
	opts.Take = func(messages []mcpwire.Message, junk *mcpwire.JunkError) {
		<-ready
		c.takeAll(messages, junk, t.reply)
	}
	var err error
	t.sse, err = mcphttp.NewSSE(opts)
	return t, err
}

func (t *oldWeb) send(ctx context.Context, m mcpwire.Message, header http.Header) (<-chan error, func(bool)) {
	return t.c.sending(ctx, func(life context.Context) error { return t.sse.Send(life, m, header) })
}

func (t *oldWeb) tell(ctx context.Context, m mcpwire.Message) error { return t.sse.Tell(ctx, m) }
func (t *oldWeb) reply(m mcpwire.Message)                           { t.c.answerTo(m, t.sse.Tell) }
func (t *oldWeb) agreed(version string)                             { t.sse.SetVersion(version) }
func (t *oldWeb) done() <-chan struct{}                             { return t.sse.Done() }
func (t *oldWeb) lost() error                                       { return t.sse.Over() }
func (t *oldWeb) stderr() string                                    { return "" }
func (t *oldWeb) posts() bool                                       { return false }
func (t *oldWeb) session() string                                   { return "" }
func (t *oldWeb) close()                                            { t.sse.Close() }

func (t *oldWeb) gone() bool {
	_, gone := t.sse.Gone()
	return gone
}

func (t *oldWeb) ending() string {
	if how, gone := t.sse.Gone(); gone {
		return ": " + how
	}
	return ""
}
