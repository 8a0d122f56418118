// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// bridge is a server over HTTP as a pipe of lines: what is written is sent as
// a message, and what comes of it is read.
type bridge struct {
	url                string
	headers            map[string]string
	base               *http.Transport
	client             *http.Client
	ctx                context.Context
	cancel             context.CancelFunc
	running            sync.WaitGroup
	lines              *mcpwire.Writer // to who reads
	far                io.Closer       // ends what is read
	io.ReadWriteCloser                 // the reader's end

	mu      sync.Mutex // guards the rest
	session string
	version string
	ending  string // why there is no server, once that is known
}

// dialHTTP opens a bridge. Nothing is sent before the first message.
func dialHTTP(server harness.Server) (*bridge, error) {
	u, err := url.Parse(server.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the server's address is no URL such as http://localhost:8000/mcp")
	}
	near, far := mcpwire.Pipe()
	base := &http.Transport{Proxy: http.ProxyFromEnvironment}
	b := &bridge{
		url: server.URL, headers: server.Headers, base: base, client: &http.Client{Transport: base},
		lines: mcpwire.NewWriter(far), far: far, ReadWriteCloser: near,
	}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b, nil
}

// Write sends a line. Requests are under way when it returns; of anything else
// the server has taken note.
func (b *bridge) Write(line []byte) (int, error) {
	m, err := mcpwire.Parse(bytes.TrimSpace(bytes.Clone(line)))
	if err != nil {
		return 0, fmt.Errorf("sending a message over HTTP: %w", err)
	}
	if b.ctx.Err() != nil {
		return 0, io.ErrClosedPipe
	}
	if m.IsRequest() {
		b.running.Go(func() { b.post(m) })
		return len(line), nil
	}
	b.post(m)
	if m.Method == "notifications/initialized" && b.inSession() {
		// Opened before the next message, which may set off what is told on it.
		opened := make(chan struct{})
		b.running.Go(func() { b.listen("", sync.OnceFunc(func() { close(opened) })) })
		patience := time.NewTimer(300 * time.Millisecond) // some say nothing before there is something
		defer patience.Stop()
		select {
		case <-opened:
		case <-patience.C:
		}
	}
	return len(line), nil
}

func (b *bridge) inSession() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.session != ""
}

// Close ends the session and what is under way.
func (b *bridge) Close() error {
	if b.ctx.Err() == nil && b.inSession() {
		ctx, cancel := context.WithTimeout(b.ctx, 2*time.Second)
		if resp, err := b.do(ctx, http.MethodDelete, nil, nil); err == nil { // it is a courtesy
			resp.Body.Close()
		}
		cancel()
	}
	b.cancel()
	b.running.Wait()
	b.base.CloseIdleConnections()
	return b.ReadWriteCloser.Close()
}

// do sends a request of a method.
func (b *bridge) do(ctx context.Context, method string, m *mcpwire.Message, more http.Header) (*http.Response, error) {
	var body []byte
	if m != nil {
		body = m.Frame
	}
	r, err := http.NewRequestWithContext(ctx, method, b.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	session, version := b.session, b.version
	b.mu.Unlock()
	r.Header.Set("Accept", kindEvents)
	if m != nil {
		r.Header.Set("Accept", kindJSON+", "+kindEvents)
		r.Header.Set("Content-Type", kindJSON)
		if modern := textAt(m.Params, "_meta", "io.modelcontextprotocol/protocolVersion"); modern != "" {
			version, session = modern, ""
			r.Header.Set("Mcp-Method", m.Method)
			if name := cmp.Or(textAt(m.Params, "name"), textAt(m.Params, "uri")); name != "" {
				r.Header.Set("Mcp-Name", name)
			}
		}
	}
	if version != "" && (m == nil || m.Method != "initialize") {
		r.Header.Set("Mcp-Protocol-Version", version)
	}
	if session != "" {
		r.Header.Set(sessionHeader, session)
	}
	for k, v := range more {
		r.Header[k] = v
	}
	for k, v := range b.headers {
		r.Header.Set(k, v)
	}
	resp, err := b.client.Do(r)
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" { // there is no server
		b.mu.Lock()
		b.ending = reason(err)
		b.mu.Unlock()
		_ = b.far.Close()
	}
	return resp, err
}

// Ending says why there is no server; empty while there is one.
func (b *bridge) Ending() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ending
}

// post sends a message and takes what comes of it.
func (b *bridge) post(m mcpwire.Message) {
	if err := b.exchange(m); err != nil && m.IsRequest() && b.ctx.Err() == nil {
		_ = b.lines.Write(failure(m.ID, err.Error())) // the reader may be gone
	}
}

// exchange is a message with all that the server says to it. The error is for
// a request that got no answer.
func (b *bridge) exchange(m mcpwire.Message) error {
	resp, err := b.do(b.ctx, http.MethodPost, &m, nil)
	if err != nil {
		return errors.New(reason(err)) // without the address
	}
	defer resp.Body.Close()
	if m.Method == "initialize" {
		b.mu.Lock()
		b.session = resp.Header.Get(sessionHeader)
		b.mu.Unlock()
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // else none
	switch {
	case kind == kindEvents:
		id, retry, answered := b.events(resp.Body, m)
		for tries := 0; !answered && id != "" && tries < 10; tries++ { // it is taken up again
			if !b.wait(max(retry, 10*time.Millisecond)) {
				return b.ctx.Err()
			}
			again, err := b.do(b.ctx, http.MethodGet, nil, http.Header{eventHeader: {id}})
			if err != nil {
				return errors.New(reason(err))
			}
			var next string
			next, retry, answered = b.events(again.Body, m)
			again.Body.Close()
			id = cmp.Or(next, id)
		}
		if !answered {
			return errors.New("the answer ended early")
		}
		return nil
	case kind == kindJSON:
		var body json.RawMessage
		if err := json.NewDecoder(io.LimitReader(resp.Body, mcpwire.DefaultMaxFrame)).Decode(&body); err != nil {
			return fmt.Errorf("reading the answer: %w", err)
		}
		answer, err := mcpwire.Parse(body)
		if err == nil && answer.IsResponse() {
			if answer.Key() != m.Key() {
				body = replace(body, m.ID, "id")
			}
			b.say(answer, body)
			return nil
		}
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 500)) // what can be read
	return fmt.Errorf("the answer was HTTP %d: %s", resp.StatusCode, strings.TrimSpace(string(text)))
}

// say hands on what the server said.
func (b *bridge) say(m mcpwire.Message, frame []byte) {
	if v := textAt(m.Result, "protocolVersion"); v != "" {
		b.mu.Lock()
		b.version = v
		b.mu.Unlock()
	}
	var one bytes.Buffer
	if json.Compact(&one, frame) == nil {
		_ = b.lines.Write(one.Bytes()) // the reader may be gone
	}
}

// events takes the events of a stream to its end, or to the answer of m.
func (b *bridge) events(body io.Reader, m mcpwire.Message) (id string, retry time.Duration, answered bool) {
	events := mcpwire.Events{Each: func(ev mcpwire.Event) {
		id = cmp.Or(ev.ID, id)
		if ev.Retry > 0 {
			retry = time.Duration(ev.Retry) * time.Millisecond
		}
		if said, err := mcpwire.Parse(ev.Data); err == nil {
			answered = answered || said.IsResponse() && m.IsRequest() && said.Key() == m.Key()
			b.say(said, ev.Data)
		}
	}}
	_, _ = io.Copy(adder{&events}, body) // whether there is an answer tells
	return id, retry, answered
}

type adder struct{ *mcpwire.Events }

func (a adder) Write(p []byte) (int, error) {
	a.Add(p)
	return len(p), nil
}

// wait waits, and reports whether there is still time.
func (b *bridge) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-b.ctx.Done():
		return false
	}
}

// listen hears what the server says of its own accord, until it will have
// none of that.
func (b *bridge) listen(after string, opened func()) {
	defer opened()
	for {
		var more http.Header
		if after != "" {
			more = http.Header{eventHeader: {after}}
		}
		resp, err := b.do(b.ctx, http.MethodGet, nil, more)
		opened()
		if err != nil {
			return
		}
		if resp.StatusCode != http.StatusOK {
			resp.Body.Close()
			return
		}
		id, retry, _ := b.events(resp.Body, mcpwire.Message{})
		resp.Body.Close()
		after = cmp.Or(id, after)
		if !b.wait(cmp.Or(retry, time.Second)) {
			return
		}
	}
}
