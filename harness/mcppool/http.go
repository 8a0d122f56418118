// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

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

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// statusError is an HTTP answer that is none of MCP.
type statusError struct {
	code int
	auth string // the WWW-Authenticate header
	body string // its beginning
	hint string
	// whole is the body for who reads it as a message.
	whole []byte
}

func (e *statusError) Error() string {
	s := fmt.Sprintf("HTTP %d %s", e.code, http.StatusText(e.code))
	if e.auth != "" {
		s += fmt.Sprintf(" (it wants authorization: %s)", e.auth)
	}
	if e.body != "" {
		s += ": " + e.body
	}
	if e.hint != "" {
		s += "; " + e.hint
	}
	return s
}

// newStatusError reads what is worth quoting of an answer.
func newStatusError(resp *http.Response) *statusError {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // what can be read
	return &statusError{
		code: resp.StatusCode,
		auth: mcpwire.Excerpt([]byte(resp.Header.Get("WWW-Authenticate")), 300),
		body: mcpwire.Excerpt(bytes.TrimSpace(body), 500), whole: body,
	}
}

// dialer opens the connections that HTTP goes over; nil is the usual one.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// web is what the transports over HTTP share: a client with connections of
// its own, so that none is left after Close, and the configured headers.
type web struct {
	base    *http.Transport
	client  *http.Client
	headers map[string]string
}

func newWeb(headers map[string]string, dial dialer) *web {
	base := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, DialContext: dial}
	return &web{base: base, headers: headers, client: &http.Client{
		Transport: base,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			switch {
			case r.Method != via[0].Method:
				return fmt.Errorf("it redirects to %s in a way that drops the message", r.URL.Redacted())
			case len(via) >= 10:
				return errors.New("it redirects without end")
			}
			return nil
		},
	}}
}

// do sends a request. The configured headers go over ours.
func (w *web) do(r *http.Request) (*http.Response, error) {
	for k, v := range w.headers {
		r.Header.Set(k, v)
	}
	resp, err := w.client.Do(r)
	var in *url.Error
	if errors.As(err, &in) {
		err = in.Err // the caller says what was being done, and the URL may hold a secret
	}
	return resp, err
}

// httpTransport is streamable HTTP of both eras.
type httpTransport struct {
	*exchange
	*web
	url string

	// guarded by exchange.mu:
	session   string // the id of the session, in the initialize era
	forgotten bool   // the server said that there is no such session
}

func newHTTPTransport(serverURL string, headers map[string]string, w wire) (*httpTransport, error) {
	if u, err := url.Parse(serverURL); err != nil || u.Host == "" {
		return nil, fmt.Errorf("%q is no URL of a server", serverURL)
	}
	return &httpTransport{exchange: newExchange(w), web: newWeb(headers, w.dial), url: serverURL}, nil
}

// Start does nothing: each message is a request of its own.
func (t *httpTransport) Start(context.Context) error { return nil }

// GetSessionId returns the id of the session; "" in the new era.
//
//lint:ignore ST1003 the name is mcp-go's
func (t *httpTransport) GetSessionId() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.session
}

// Close ends what is under way, the session, and the connections.
func (t *httpTransport) Close() error {
	t.shut()
	t.running.Wait()
	defer t.base.CloseIdleConnections()
	if t.GetSessionId() == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	r, err := t.request(ctx, http.MethodDelete, nil)
	if err != nil {
		return err
	}
	if resp, err := t.do(r); err == nil { // a server that is gone has no session
		resp.Body.Close()
	}
	return nil
}

// goodbye is how long a word may take that is a courtesy.
const goodbye = 2 * time.Second

func (t *httpTransport) request(ctx context.Context, method string, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, t.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
	} else {
		r.Header.Set("Accept", "text/event-stream")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.version != "" {
		r.Header.Set(transport.HeaderKeyProtocolVersion, t.version)
		if t.session != "" && !mcp.IsModernProtocol(t.version) {
			r.Header.Set(transport.HeaderKeySessionID, t.session)
		}
	}
	return r, nil
}

// errForgotten says that the server has no such session, and has looked at
// nothing of the request.
var errForgotten = errors.New("the server has forgotten our session")

// checked turns what the server says of our session into an error.
func (t *httpTransport) checked(r *http.Request, resp *http.Response) error {
	if resp.StatusCode != http.StatusNotFound || r.Header.Get(transport.HeaderKeySessionID) == "" {
		return nil
	}
	return t.lose(newStatusError(resp))
}

// SendRequest sends a request and waits for its answer.
func (t *httpTransport) SendRequest(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	return t.exchange.request(ctx, request, t.send)
}

func (t *httpTransport) send(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	forget(ctx)
	ch, done := t.expect(request)
	defer done()
	life, cancel := context.WithCancel(t.life)
	over := make(chan error, 1)
	if !t.spawn(func() {
		defer cancel()
		over <- t.post(life, request)
	}) {
		cancel()
		return nil, transport.ErrTransportClosed
	}
	select {
	case a := <-ch:
		// A connection whose stream was read to its end can be used again.
		time.AfterFunc(time.Second, cancel)
		return response(ctx, request, a)
	case err := <-over:
		select {
		case a := <-ch:
			return response(ctx, request, a)
		default:
			return nil, err
		}
	case <-ctx.Done():
		cancel() // in the new era the end of its stream gives up a request
		if !t.modern() {
			t.giveUp(ctx, request, t.SendNotification)
		}
		return nil, ctx.Err()
	}
}

// post sends a request and takes what comes for it. It returns when that has
// ended; the error says why the request got no answer, if it got none.
func (t *httpTransport) post(ctx context.Context, request transport.JSONRPCRequest) error {
	t.mu.Lock()
	forgotten := t.forgotten
	t.mu.Unlock()
	if forgotten {
		return errForgotten
	}
	id := mcpwire.Marshal(request.ID)
	r, err := t.request(ctx, http.MethodPost, mcpwire.Marshal(request))
	if err != nil {
		return err
	}
	for k, v := range request.Header {
		r.Header[k] = v
	}
	resp, err := t.do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := t.checked(r, resp); err != nil {
		return err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return t.refused(resp, request, r.Header.Get(transport.HeaderKeySessionID) != "")
	case resp.StatusCode == http.StatusAccepted || resp.StatusCode == http.StatusNoContent:
		return fmt.Errorf("%w: HTTP %d to a request, which wants an answer", errMalformed, resp.StatusCode)
	}
	if request.Method == string(mcp.MethodInitialize) {
		t.mu.Lock()
		t.session = resp.Header.Get(transport.HeaderKeySessionID)
		t.mu.Unlock()
	}
	switch kind {
	case "application/json":
		return t.takeBody(resp.Body, id)
	case "text/event-stream":
		return t.takeStream(ctx, resp.Body, id)
	}
	return fmt.Errorf("%w: the content type is %q: %s", errMalformed, resp.Header.Get("Content-Type"), newStatusError(resp).body)
}

// lostSession reports whether an error, whatever the status beside it, says
// that there is no such session, as servers in the field have it.
func lostSession(e *harness.RPCError) bool {
	return (e.Code == -32000 || e.Code == -32001) && strings.Contains(strings.ToLower(e.Message), "session")
}

// lose takes note that the server does not know our session.
func (t *httpTransport) lose(e *statusError) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.session, t.forgotten = "", true
	return fmt.Errorf("%w: %w", errForgotten, e)
}

// refused makes an answer of an HTTP error: many carry one.
func (t *httpTransport) refused(resp *http.Response, request transport.JSONRPCRequest, inSession bool) error {
	e := newStatusError(resp)
	m, err := mcpwire.Parse(e.whole)
	switch answered := err == nil && m.Error != nil; {
	case answered && inSession && lostSession(m.Error):
		return t.lose(e)
	case answered && !(request.Method == string(mcp.MethodInitialize) && lostSession(m.Error)): // that wants a session which only the older transport can have by now
		m.ID = mcpwire.Marshal(request.ID)
		t.deliver(m)
		return e
	}
	if request.Method == string(mcp.MethodInitialize) && e.code < 500 && e.auth == "" {
		e.hint = "is this the URL of an MCP server? One of the older HTTP+SSE transport needs transport: sse"
	}
	return e
}

// takeBody takes the messages of a JSON answer, one or a batch.
func (t *httpTransport) takeBody(body io.Reader, id json.RawMessage) error {
	raw, err := io.ReadAll(io.LimitReader(body, int64(t.max)+1))
	switch {
	case err != nil:
		return fmt.Errorf("reading the answer: %w", err)
	case len(raw) > t.max:
		return fmt.Errorf("%w: it is longer than %d bytes", errMalformed, t.max)
	}
	messages, junk := parseAll(raw)
	if junk != nil {
		return fmt.Errorf("%w: %s: %q", errMalformed, junk.Why, mcpwire.Excerpt(raw, 200))
	}
	if m := messages[0]; len(messages) == 1 && m.IsResponse() {
		if m.Key() != mcpwire.Key(id) && m.Error == nil {
			return fmt.Errorf("%w: request %s was answered with the id %s", errMalformed, id, cmp.Or(string(m.ID), "null"))
		}
		messages[0].ID = id // errors come without it
	}
	for _, m := range messages {
		t.take(m, t.reply)
	}
	return fmt.Errorf("%w: it has other messages only: %s", errMalformed, mcpwire.Excerpt(raw, 200))
}

// takeStream takes the messages of an event stream to its end. A stream that
// ends before its time is taken up again if the server has prepared for it.
func (t *httpTransport) takeStream(ctx context.Context, body io.ReadCloser, id json.RawMessage) error {
	stream := newEvents(body, t.max)
	for fruitless := 0; ; {
		before := stream.id
		err := t.drain(stream)
		body.Close()
		if fruitless++; stream.id != before {
			fruitless = 0
		}
		switch {
		case !t.waits(id):
			return nil
		case errors.Is(err, errMalformed):
			return err
		case stream.id != "" && !t.modern() && fruitless <= maxFruitless:
		case errors.Is(err, io.EOF):
			return fmt.Errorf("%w: the answer's stream ended without an answer%s", errMalformed, t.babble())
		default:
			return fmt.Errorf("the answer's stream broke off: %w%s", err, t.babble())
		}
		if body, err = t.open(ctx, stream); err != nil {
			return fmt.Errorf("the answer's stream ended, and taking it up again: %w", err)
		}
	}
}

// maxFruitless is how often in a row a stream is opened again that brings
// nothing.
const maxFruitless = 5

// drain takes the messages of a stream until it ends, and says how it did.
func (t *httpTransport) drain(stream *events) error {
	for {
		ev, err := stream.next()
		if err != nil {
			return err
		}
		if ev.name == "" || ev.name == "message" {
			t.takeFrame(ev.data, t.reply)
		}
	}
}

// open opens a stream, or opens it again where it ended, after the time that
// the server asked for.
func (t *httpTransport) open(ctx context.Context, stream *events) (io.ReadCloser, error) {
	if stream.br != nil {
		timer := time.NewTimer(max(cmp.Or(stream.retry, time.Second), 10*time.Millisecond))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	r, err := t.request(ctx, http.MethodGet, nil)
	if err != nil {
		return nil, err
	}
	if stream.id != "" {
		r.Header.Set("Last-Event-ID", stream.id)
	}
	resp, err := t.do(r)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || kind != "text/event-stream" {
		defer resp.Body.Close()
		return nil, newStatusError(resp)
	}
	stream.over(resp.Body)
	return resp.Body, nil
}

// listenPatience is how long a server may take to open the stream of
// notifications before it is called.
const listenPatience = 300 * time.Millisecond

// listen keeps the stream open on which servers of the initialize era tell
// and ask what belongs to no request. opened is closed once the server has
// answered, or is gone.
func (t *httpTransport) listen(opened chan<- struct{}) {
	stream := newEvents(nil, t.max)
	answered := sync.OnceFunc(func() { close(opened) })
	defer answered()
	for failures := 0; ; {
		begin := time.Now()
		body, err := t.open(t.life, stream)
		answered()
		if err == nil {
			err = t.drain(stream)
			body.Close()
		} else if stream.br == nil {
			stream.over(http.NoBody) // not the first attempt any more
		}
		var status *statusError
		switch {
		case t.life.Err() != nil:
			return
		case errors.As(err, &status) && status.code < 500:
			return // it has no such stream, or no such session, which the next request finds out
		case time.Since(begin) > 10*time.Second:
			failures = 0 // it was open for a while
		}
		if failures++; failures > maxFruitless {
			t.note("its stream of notifications does not stay open: %v", err)
			return
		}
	}
}

// SendNotification sends a notification.
func (t *httpTransport) SendNotification(ctx context.Context, n mcp.JSONRPCNotification) error {
	err := t.tell(ctx, mcpwire.Marshal(n))
	if err == nil && n.Method == string(mcp.MethodNotificationInitialized) && !t.modern() {
		// A call that comes before the stream is open may have the server ask
		// something that nobody hears.
		opened := make(chan struct{})
		t.spawn(func() { t.listen(opened) })
		wait := time.NewTimer(listenPatience)
		defer wait.Stop()
		select {
		case <-opened:
		case <-wait.C: // it says nothing before it has something to say
		case <-ctx.Done():
		}
	}
	return err
}

// reply sends our answer to a request of the server.
func (t *httpTransport) reply(frame []byte) {
	ctx, cancel := context.WithTimeout(t.life, goodbye)
	defer cancel()
	if err := t.tell(ctx, frame); err != nil && t.life.Err() == nil {
		t.note("did not take our answer: %v", err)
	}
}

// tell sends a frame that wants no answer.
func (t *httpTransport) tell(ctx context.Context, frame []byte) error {
	r, err := t.request(ctx, http.MethodPost, frame)
	if err != nil {
		return err
	}
	resp, err := t.do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := t.checked(r, resp); err != nil {
		return err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return newStatusError(resp)
	}
	return nil
}
