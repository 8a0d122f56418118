// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"io"
	"net/http"
)

// readable carries requests, and inflates answers that are compressed without
// saying so: a recording holds texts, in which secrets can be found.
type readable struct {
	next http.RoundTripper // nil is [http.DefaultTransport]
}

// RoundTrip implements [http.RoundTripper].
func (t readable) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := cmp.Or(t.next, http.DefaultTransport).RoundTrip(r)
	if err != nil || res.Header.Get("Content-Encoding") != "" || res.ContentLength == 0 {
		return res, err
	}
	body := &inflating{rc: res.Body, br: bufio.NewReader(res.Body)}
	if res.ContentLength > 0 && body.begin() == nil && body.zr != nil {
		// Its length is another now. A body without a length is looked at when
		// it is read: its head must not wait for it.
		res.Header.Del("Content-Length")
		res.ContentLength = -1
	}
	res.Body = body
	return res, nil
}

// inflating is a body that may be compressed.
type inflating struct {
	rc    io.ReadCloser
	br    *bufio.Reader
	zr    *gzip.Reader // nil when it is not
	begun bool
}

// begin looks at the first bytes.
func (b *inflating) begin() error {
	if b.begun {
		return nil
	}
	b.begun = true
	if head, err := b.br.Peek(1); err != nil || head[0] != 0x1f {
		return nil // reading tells what is wrong
	}
	if head, err := b.br.Peek(2); err != nil || head[1] != 0x8b {
		return nil // likewise
	}
	zr, err := gzip.NewReader(b.br)
	if err == nil {
		b.zr = zr
	}
	return err
}

func (b *inflating) Read(p []byte) (int, error) {
	if err := b.begin(); err != nil {
		return 0, err
	}
	if b.zr != nil {
		return b.zr.Read(p)
	}
	return b.br.Read(p)
}

func (b *inflating) Close() error { return b.rc.Close() }
