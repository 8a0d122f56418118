// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

// onBody is an effect on what is sent.
func onBody(change func(x *exchange, b *dialect.Body)) (effects, bool) {
	return effects{body: change}, true
}

// timeEffects are those of what is slow and silent.
func (m *Mock) timeEffects(f *Fault, form string) (effects, bool) {
	switch f.Kind {
	case fault.SlowHeaders:
		return onBody(func(_ *exchange, b *dialect.Body) { b.HeadDelay += cmp.Or(f.Delay, 30*time.Second) })
	case fault.SlowStream:
		return onBody(func(_ *exchange, b *dialect.Body) {
			b.EarlyHead = true
			for i := range b.Frames {
				b.Frames[i].Delay += cmp.Or(f.Delay, 5*time.Second)
			}
		})
	case fault.Stall:
		return onBody(func(_ *exchange, b *dialect.Body) {
			before, after := strike(b.Frames, f.At, false)
			if len(after) == 0 {
				after = []dialect.Frame{{Kind: dialect.KindFault}}
			}
			after[0].Delay += cmp.Or(f.Delay, 2*time.Minute)
			b.EarlyHead, b.Frames = true, append(before, after...)
		})
	case fault.Hang:
		if form == "headers" {
			return effects{before: func(x *exchange) bool { return m.silence(x) }}, true
		}
		return onBody(func(x *exchange, b *dialect.Body) {
			if form == "end" {
				x.settle(true) // all of it is there
				ends(b, withoutKinds(b.Frames, dialect.KindDone), nil, dialect.ThenHang)
				return
			}
			before, after := strike(b.Frames, f.At, false)
			ends(b, before, after, dialect.ThenHang)
		})
	}
	return effects{}, false
}

// hangTime is longer than any client waits.
const hangTime = 365 * 24 * time.Hour

// silence never answers.
func (m *Mock) silence(x *exchange) bool {
	m.record(x.entry, nil)
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	defer context.AfterFunc(m.ctx, cancel)()
	_ = m.opts.Clock.Sleep(ctx, hangTime) // a clock that skips waits is told of this one
	<-ctx.Done()
	panic(http.ErrAbortHandler)
}

// connectionEffects are those of the connection and the body.
func (m *Mock) connectionEffects(f *Fault, form string) (effects, bool) {
	breakOff := func(then dialect.Then) (effects, bool) {
		return onBody(func(_ *exchange, b *dialect.Body) {
			before, after := strike(b.Frames, f.At, false)
			ends(b, before, after, then)
		})
	}
	switch f.Kind {
	case fault.Reset:
		switch form {
		case "before":
			return onBody(func(_ *exchange, b *dialect.Body) {
				b.RawHead = true // net/http would send a head of its own
				ends(b, nil, nil, dialect.ThenReset)
			})
		case "after":
			return onBody(func(x *exchange, b *dialect.Body) {
				x.settle(true)
				ends(b, b.Frames, nil, dialect.ThenReset)
			})
		}
		return breakOff(dialect.ThenReset)
	case fault.Cut:
		return breakOff(dialect.ThenCut)
	case fault.Truncated:
		return onBody(func(_ *exchange, b *dialect.Body) {
			before, _ := strike(b.Frames, f.At, true)
			ends(b, before, nil, dialect.ThenEnd)
		})
	case fault.CutDone:
		return onBody(func(_ *exchange, b *dialect.Body) {
			before, after := strike(b.Frames, f.At, false)
			after = slices.DeleteFunc(after, func(f dialect.Frame) bool { return f.Kind != dialect.KindDone })
			b.Frames, b.Part = append(before, after...), true
		})
	case fault.RawStatus:
		return onBody(func(_ *exchange, b *dialect.Body) { rawStatus(b, f) })
	case fault.ConnectionClose:
		return onBody(func(_ *exchange, b *dialect.Body) { setHeader(b, "Connection", "close") })
	case fault.WrongLength:
		return onBody(func(_ *exchange, b *dialect.Body) { wrongLength(b, form) })
	case fault.Gzip:
		return onBody(func(_ *exchange, b *dialect.Body) { compress(b, form == "said") })
	case fault.WrongType:
		return onBody(func(_ *exchange, b *dialect.Body) { setHeader(b, "Content-Type", wrongType(form, b.Stream)) })
	case fault.JSONForStream, fault.SSEForPlain:
		return effects{body: func(x *exchange, b *dialect.Body) {
			x.flipped = true
			*b = *x.write(x.wire)
		}}, true
	}
	return effects{}, false
}

// setHeader sets a header of a body; one of a profile is not changed for
// others.
func setHeader(b *dialect.Body, key, v string) {
	b.Header = maps.Clone(b.Header)
	if b.Header == nil {
		b.Header = http.Header{}
	}
	b.Header[key] = []string{v}
}

func wrongType(form string, stream bool) string {
	switch {
	case form == "html":
		return "text/html; charset=utf-8"
	case form == "text":
		return "text/plain; charset=utf-8"
	case form == "none":
		return "application/octet-stream"
	case stream:
		return "application/json"
	}
	return "text/event-stream"
}

// rawStatus puts the head of a second response into the body.
func rawStatus(b *dialect.Body, f *Fault) {
	status := cmp.Or(f.Status, http.StatusBadGateway)
	doc := []byte(`{"error":{"message":"Upstream request failed: Response payload is not completed","type":"invalid_request_error","code":null}}`)
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: %d\r\nServer: Python/3.11 aiohttp/3.14.5\r\n\r\n", status, http.StatusText(status), len(doc))
	before, _ := strike(b.Frames, f.At, false)
	ends(b, append(before,
		dialect.Frame{Data: []byte(head), Kind: dialect.KindFault, Raw: true},
		dialect.Frame{Data: doc, Kind: dialect.KindFault},
	), nil, dialect.ThenEnd)
}

// wrongLength announces another length than the body has.
func wrongLength(b *dialect.Body, form string) {
	n := 0
	for _, f := range b.Frames {
		n += len(f.Data)
	}
	if form == "short" {
		n += 100
	} else {
		n /= 2
	}
	setHeader(b, "Content-Length", strconv.Itoa(n))
	setHeader(b, "Connection", "close")
	b.Stream, b.RawHead, b.Part = false, true, true
}

// compress compresses a body, frame by frame.
func compress(b *dialect.Body, said bool) {
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	b.Frames = slices.Clone(b.Frames)
	for i := range b.Frames {
		_, _ = w.Write(b.Frames[i].Data) // into memory
		if i < len(b.Frames)-1 {
			_ = w.Flush()
		} else {
			_ = w.Close()
		}
		b.Frames[i].Data = bytes.Clone(buf.Bytes())
		buf.Reset()
	}
	if said {
		setHeader(b, "Content-Encoding", "gzip")
	}
}
