// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// ErrRecorded marks the failures that a recording holds: a replay gives them
// back.
var ErrRecorded = errors.New("as recorded")

// replay answers a request from the file.
func (r *Recorder) replay(req *http.Request, e *entry) (*http.Response, error) {
	ctx, p := req.Context(), &pace{r: r}
	if r.opts.Speed > 0 {
		p.begin = r.opts.Clock.Now()
	}
	if err := p.wait(ctx, e.Response.Duration); err != nil {
		return nil, err
	}
	if e.Response.Code == 0 || e.Meta.Outcome == vcr.UpstreamError {
		return nil, fmt.Errorf("%w: %s", ErrRecorded, e.Meta.Error)
	}
	if from, ok := ctx.Value(originKey{}).(*origin); ok {
		from.recorded = e.Interaction
	}
	header := e.Response.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	for _, name := range []string{"Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive"} {
		header.Del(name)
	}
	if e.Meta.Coding != "" {
		header.Set("Content-Encoding", e.Meta.Coding)
	}
	resp := &http.Response{
		Status: e.Response.Status, StatusCode: e.Response.Code, Header: header, Request: req,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1,
	}
	// Of a body with a known length nobody waits for a trailer, and that of an
	// answer to HEAD is not recorded.
	if e.Meta.Outcome == vcr.Complete && len(e.Meta.Chunks) <= 1 && len(e.Response.Trailer) == 0 && req.Method != http.MethodHead {
		resp.ContentLength = int64(len(e.Response.Body))
		header.Set("Content-Length", strconv.Itoa(len(e.Response.Body)))
	}
	resp.Trailer = e.Response.Trailer.Clone()
	if req.Method == http.MethodHead {
		resp.Body = http.NoBody
		return resp, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	resp.Body = &player{pace: p, ctx: ctx, cancel: cancel, rest: e.Response.Body, chunks: e.Meta.Chunks, meta: &e.Meta}
	return resp, nil
}

// pace passes recorded times at the speed of the replay. It goes by when a
// part is due since the request began, so that what one wait takes too long is
// made good by the next.
type pace struct {
	r     *Recorder
	begin time.Time
	at    time.Duration // what of the recording has passed
}

// wait passes a further time of the recording.
func (p *pace) wait(ctx context.Context, d time.Duration) error {
	if p.r.opts.Speed > 0 {
		p.at += d
		due := p.begin.Add(time.Duration(float64(p.at) / p.r.opts.Speed))
		if left := due.Sub(p.r.opts.Clock.Now()); left > 0 {
			return p.r.opts.Clock.Sleep(ctx, left)
		}
	}
	return ctx.Err()
}

// player is a body that comes in the parts and at the times of its recording.
type player struct {
	pace   *pace
	ctx    context.Context
	cancel context.CancelFunc // ends a wait under way
	meta   *vcr.Meta

	mu     sync.Mutex // guards the rest
	rest   []byte
	chunks []vcr.Chunk
	now    int // what may be read of the part that has come
}

func (p *player) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	for p.now == 0 {
		if len(p.rest) == 0 {
			return 0, p.end()
		}
		if len(p.chunks) == 0 { // of a file that says nothing of parts
			p.now = len(p.rest)
			break
		}
		c := p.chunks[0]
		if err := p.pace.wait(p.ctx, c.Gap); err != nil {
			return 0, err
		}
		p.chunks = p.chunks[1:]
		p.now = min(c.Size, len(p.rest))
	}
	n := copy(b, p.rest[:p.now])
	p.rest, p.now = p.rest[n:], p.now-n
	return n, nil
}

// end is how the recorded body ended.
func (p *player) end() error {
	switch p.meta.Outcome {
	case vcr.Aborted:
		for _, cause := range []error{io.ErrUnexpectedEOF, syscall.ECONNRESET} { // clients tell these apart
			if p.meta.Error == cause.Error() {
				return fmt.Errorf("%w: %w", ErrRecorded, cause)
			}
		}
		return fmt.Errorf("%w: %s: %w", ErrRecorded, p.meta.Error, io.ErrUnexpectedEOF)
	case vcr.ClientClosed:
		return fmt.Errorf("%w: when this was recorded, the client closed the answer here: %w", ErrRecorded, io.ErrUnexpectedEOF)
	case vcr.Open:
		return fmt.Errorf("%w: the recording stopped here: %w", ErrRecorded, io.ErrUnexpectedEOF)
	}
	return io.EOF
}

func (p *player) Close() error {
	p.cancel()
	return nil
}
