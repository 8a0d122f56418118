// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package mcphttp speaks MCP over HTTP: as a client, over streamable HTTP
// ([Client]) and over the HTTP+SSE of 2024-11-05 ([SSE]), and as an onlooker of
// somebody else's traffic ([Tap]). It knows of messages, sessions and streams,
// and nothing of what is asked.
package mcphttp

import (
	"bufio"
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
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/exactjson"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/sse"
)

const (
	typeJSON   = "application/json"
	typeEvents = "text/event-stream"
)

// Options are settings of a [Client] and of an [SSE]. URL, Take and Waits are
// required.
type Options struct {
	URL string
	// Headers go with each request, over those of the protocol.
	Headers map[string]string
	// DialContext opens connections. Nil means those of the network.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
	// MaxFrame bounds a message in bytes. Default [mcpwire.DefaultMaxFrame].
	MaxFrame int
	// Take is given what the server says: messages, and the rest of a batch or
	// a frame that is none. It may be called from several goroutines.
	Take func(messages []mcpwire.Message, junk *mcpwire.JunkError)
	// Waits reports whether a request has no answer yet.
	Waits func(id json.RawMessage) bool
	// Unread says what came and could not be used, for the error of a stream
	// without an answer. Nil says nothing.
	Unread func() string
	// Clock is what the wait runs by before the stream of an answer is resumed.
	// Nil means [harness.SystemClock]. The stream of what belongs to no request
	// waits by the machine's clock: nobody waits for that stream, and a clock that
	// skips its waits would have the time limits of others pass.
	Clock harness.Clock
	// Note takes a line for what went wrong and was survived. Nil drops it.
	Note func(format string, args ...any)
}

// ErrNoSession says that the server has no such session, and has looked at
// nothing of the request.
var ErrNoSession = errors.New("the server no longer knows the session")

// link is what the transports over HTTP share.
type link struct {
	opts   Options
	client *http.Client

	mu      sync.Mutex // guards what follows
	session string     // the id of the session, of versions with initialize
	version string     // of the session, once it is known
	lost    bool       // the server said that there is no such session
}

func newLink(opts Options) (*link, error) {
	if u, err := url.Parse(opts.URL); err != nil || u.Host == "" {
		return nil, fmt.Errorf("%q is not the URL of a server", prose.Address(opts.URL))
	}
	opts.MaxFrame = cmp.Or(opts.MaxFrame, mcpwire.DefaultMaxFrame)
	if opts.Clock == nil {
		opts.Clock = harness.SystemClock()
	}
	if opts.Note == nil {
		opts.Note = func(string, ...any) {}
	}
	if opts.Unread == nil {
		opts.Unread = func() string { return "" }
	}
	return &link{opts: opts, client: mcpwire.NewHTTPClient(opts.DialContext)}, nil
}

// SetVersion notes the version that initialize has agreed on.
func (l *link) SetVersion(version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.version = version
}

// Session is the id of the session; empty means that there is none.
func (l *link) Session() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session
}

// do sends a request.
func (l *link) do(r *http.Request) (*http.Response, error) {
	for k, v := range l.opts.Headers {
		r.Header.Set(k, v)
	}
	resp, err := l.client.Do(announced(r))
	return resp, mcpwire.InURL(err)
}

// announced has whoever wants to know be told that the server has taken the request:
// when the connection says so, or else when it is written.
func announced(r *http.Request) *http.Request {
	ctx := r.Context()
	if !mcpwire.AwaitsTaken(ctx) {
		return r
	}
	knows := false
	return r.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(got httptrace.GotConnInfo) {
			var conn mcpwire.Taker
			if conn, knows = got.Conn.(mcpwire.Taker); knows {
				conn.OnTaken(func() { mcpwire.Taken(ctx) })
			}
		},
		WroteRequest: func(httptrace.WroteRequestInfo) {
			if !knows {
				mcpwire.Taken(ctx)
			}
		},
	}))
}

// wrongType is the error of an answer in a form that is none of the protocol's.
func wrongType(resp *http.Response) error {
	kind := resp.Header.Get("Content-Type")
	return fmt.Errorf("%w: the content type is %q: %s", mcpwire.ErrUnusable, kind, prose.Excerpt(bytes.TrimSpace(mcpwire.NewStatusError(resp).Body), 500))
}

// describe puts into the headers of a request what its message says of itself,
// and returns the version that it names, if it is a modern one.
func describe(h http.Header, m mcpwire.Message) (version string) {
	if !bytes.Contains(m.Params, []byte(mcpwire.MetaVersion)) {
		return ""
	}
	var params struct {
		Meta struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	}
	if exactjson.Unmarshal(m.Params, &params) != nil {
		return ""
	}
	for name, value := range mcp.StandardHeaders(params.Meta.Version, mcp.MCPMethod(m.Method), m.Params) {
		h.Set(name, value)
	}
	return params.Meta.Version
}

// Client speaks streamable HTTP with a server of either era.
type Client struct{ *link }

// New returns a client. Nothing is sent before the first message.
func New(opts Options) (*Client, error) {
	l, err := newLink(opts)
	return &Client{l}, err
}

// Goodbye is how long a word may take that is a courtesy.
const Goodbye = 2 * time.Second

// Close ends the session and the connections. Nobody may be sending any more.
func (c *Client) Close() {
	defer c.client.CloseIdleConnections()
	c.mu.Lock()
	session := c.session
	c.mu.Unlock()
	if session == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), Goodbye)
	defer cancel()
	if r, err := c.request(ctx, http.MethodDelete, mcpwire.Message{}); err == nil {
		if resp, err := c.do(r); err == nil { // a server that is gone has no session
			resp.Body.Close()
		}
	}
}

func (c *Client) request(ctx context.Context, method string, m mcpwire.Message) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.opts.URL, bytes.NewReader(m.Frame))
	if err != nil {
		return nil, err
	}
	modern := ""
	if method == http.MethodPost {
		r.Header.Set("Content-Type", typeJSON)
		r.Header.Set("Accept", typeJSON+", "+typeEvents)
		modern = describe(r.Header, m)
	} else {
		r.Header.Set("Accept", typeEvents)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case modern != "":
		r.Header.Set(mcpwire.HeaderVersion, modern)
	case c.version != "" && m.Method != mcpwire.MethodInitialize:
		r.Header.Set(mcpwire.HeaderVersion, c.version)
		if c.session != "" {
			r.Header.Set(mcpwire.HeaderSession, c.session)
		}
	}
	return r, nil
}

// Send sends a request with further headers, and takes what comes for it. It
// returns when that has ended; the error says why there is no answer, if there
// is none.
func (c *Client) Send(ctx context.Context, m mcpwire.Message, header http.Header) error {
	c.mu.Lock()
	lost := c.lost
	c.mu.Unlock()
	if lost {
		return ErrNoSession
	}
	r, err := c.request(ctx, http.MethodPost, m)
	if err != nil {
		return err
	}
	for k, v := range header {
		r.Header[k] = v
	}
	resp, err := c.do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := c.checked(r, resp); err != nil {
		return err
	}
	switch {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return c.refused(resp, m, r.Header.Get(mcpwire.HeaderSession) != "")
	case resp.StatusCode == http.StatusAccepted || resp.StatusCode == http.StatusNoContent:
		return fmt.Errorf("%w: HTTP %d to a request that needs an answer", mcpwire.ErrUnusable, resp.StatusCode)
	}
	if m.Method == mcpwire.MethodInitialize {
		c.mu.Lock()
		c.session = resp.Header.Get(mcpwire.HeaderSession)
		c.mu.Unlock()
	}
	switch mediaType(resp) {
	case typeJSON:
		return c.takeBody(resp.Body, m.ID)
	case typeEvents:
		return c.takeStream(ctx, resp.Body, m.ID)
	}
	return wrongType(resp)
}

// Tell sends what wants no answer.
func (c *Client) Tell(ctx context.Context, m mcpwire.Message) error {
	r, err := c.request(ctx, http.MethodPost, m)
	if err != nil {
		return err
	}
	resp, err := c.do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := c.checked(r, resp); err != nil {
		return err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return mcpwire.NewStatusError(resp)
	}
	return nil
}

// checked turns what the server says of our session into an error.
func (c *Client) checked(r *http.Request, resp *http.Response) error {
	if resp.StatusCode != http.StatusNotFound || r.Header.Get(mcpwire.HeaderSession) == "" {
		return nil
	}
	return c.lose(mcpwire.NewStatusError(resp))
}

// lose takes note that the server does not know our session.
func (c *Client) lose(e *mcpwire.StatusError) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session, c.lost = "", true
	return fmt.Errorf("%w: %w", ErrNoSession, e)
}

// refused makes an answer of an HTTP error: many carry one.
func (c *Client) refused(resp *http.Response, m mcpwire.Message, inSession bool) error {
	e := mcpwire.NewStatusError(resp)
	answer, answered := e.Message()
	initialize := m.Method == mcpwire.MethodInitialize
	switch {
	case answered && inSession && deniesSession(answer.Error):
		return c.lose(e)
	case answered && !(initialize && deniesSession(answer.Error)): // that wants a session which only the older transport can have by now
		answer.ID = m.ID
		c.opts.Take([]mcpwire.Message{answer}, nil)
		return e
	}
	if initialize && e.Code < 500 && e.Auth == "" {
		e.Hint = "is this the URL of an MCP server? A server with the older HTTP+SSE transport needs transport: sse"
	}
	return e
}

// deniesSession reports whether an error, whatever the status beside it, says
// that there is no such session, as servers in the field have it.
func deniesSession(e *jsonrpc.Error) bool {
	return (e.Code == -32000 || e.Code == -32001) && strings.Contains(strings.ToLower(e.Message), "session")
}

// takeBody takes the messages of a JSON answer, one or a batch.
func (c *Client) takeBody(body io.Reader, id json.RawMessage) error {
	raw, err := io.ReadAll(io.LimitReader(body, int64(c.opts.MaxFrame)+1))
	switch {
	case err != nil:
		return fmt.Errorf("reading the answer: %w", err)
	case len(raw) > c.opts.MaxFrame:
		return fmt.Errorf("%w: it is longer than %d bytes", mcpwire.ErrUnusable, c.opts.MaxFrame)
	}
	messages, err := mcpwire.ParseBody(raw, id)
	if err != nil {
		return err
	}
	c.opts.Take(messages, nil)
	return fmt.Errorf("%w: it contains only other messages: %s", mcpwire.ErrUnusable, prose.Excerpt(raw, 200))
}

// maxFruitless is how often in a row a stream is opened again that brings
// nothing.
const maxFruitless = 5

// takeStream takes the messages of an event stream to its end. A stream that
// ends before its time is taken up again if the server has prepared for it.
func (c *Client) takeStream(ctx context.Context, body io.ReadCloser, id json.RawMessage) error {
	stream := sse.NewReader(bufio.NewReader(body), c.opts.MaxFrame)
	for fruitless := 0; ; {
		before := stream.LastID()
		err := c.drain(stream)
		body.Close()
		if fruitless++; stream.LastID() != before {
			fruitless = 0
		}
		switch {
		case !c.opts.Waits(id):
			return nil
		case errors.Is(err, mcpwire.ErrUnusable):
			return err
		case stream.LastID() != "" && c.resumes() && fruitless <= maxFruitless:
		case errors.Is(err, io.EOF):
			return fmt.Errorf("%w: the answer's stream ended without an answer%s", mcpwire.ErrUnusable, c.opts.Unread())
		default:
			return fmt.Errorf("the answer's stream broke off: %w%s", err, c.opts.Unread())
		}
		if err = again(ctx, c.opts.Clock, stream); err == nil {
			body, err = c.open(ctx, stream)
		}
		if err != nil {
			return fmt.Errorf("the answer's stream ended, and resuming it: %w", err)
		}
	}
}

// resumes reports whether the protocol lets streams be taken up again.
func (c *Client) resumes() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !mcpwire.IsModern(c.version)
}

// IsMessage reports whether an event is a message, by its name.
func IsMessage(ev sse.Event) bool { return ev.Name == "" || ev.Name == "message" }

// drain takes the messages of a stream until it ends, and says how it did.
func (l *link) drain(stream *sse.Reader) error {
	for {
		ev, err := l.next(stream)
		if err != nil {
			return err
		}
		if IsMessage(ev) {
			l.opts.Take(mcpwire.ParseAll(ev.Data))
		}
	}
}

// next returns the next event of a stream that has data, which is the
// caller's. A last one that no blank line ends counts too; then comes io.EOF.
func (l *link) next(stream *sse.Reader) (sse.Event, error) {
	for {
		ev, err := stream.Next()
		switch {
		case errors.Is(err, sse.ErrTooLong):
			return sse.Event{}, fmt.Errorf("%w: an event is longer than %d bytes", mcpwire.ErrUnusable, l.opts.MaxFrame)
		case err != nil:
			return sse.Event{}, err
		case !ev.Stray && len(ev.Data) > 0:
			ev.Data = bytes.Clone(ev.Data)
			return ev, nil
		}
	}
}

// again waits until a stream that ended is to be opened again: for the time that
// the server asked for.
func again(ctx context.Context, clock harness.Clock, stream *sse.Reader) error {
	asked, _ := stream.Retry()
	return clock.Sleep(ctx, max(cmp.Or(asked, time.Second), 10*time.Millisecond))
}

// open opens a stream, where it ended before.
func (c *Client) open(ctx context.Context, stream *sse.Reader) (io.ReadCloser, error) {
	r, err := c.request(ctx, http.MethodGet, mcpwire.Message{})
	if err != nil {
		return nil, err
	}
	if stream.LastID() != "" {
		r.Header.Set(mcpwire.HeaderLastEventID, stream.LastID())
	}
	resp, err := c.do(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK || mediaType(resp) != typeEvents {
		defer resp.Body.Close()
		return nil, mcpwire.NewStatusError(resp)
	}
	stream.Reset(bufio.NewReader(resp.Body))
	return resp.Body, nil
}

// Listen keeps the stream open on which servers of versions with initialize
// tell and ask what belongs to no request, until ctx ends. opened is called
// once the server has answered, or is gone.
func (c *Client) Listen(ctx context.Context, opened func()) {
	stream := sse.NewReader(nil, c.opts.MaxFrame)
	answered := sync.OnceFunc(opened)
	defer answered()
	failures := 0
	for first := true; ; first = false {
		if !first && again(ctx, harness.SystemClock(), stream) != nil {
			return
		}
		begin := time.Now()
		body, err := c.open(ctx, stream)
		answered()
		if err == nil {
			err = c.drain(stream)
			body.Close()
		}
		var status *mcpwire.StatusError
		switch {
		case ctx.Err() != nil:
			return
		case errors.As(err, &status) && status.Code < 500:
			return // it has no such stream, or no such session, which the next request finds out
		case time.Since(begin) > 10*time.Second:
			failures = 0 // it was open for a while
		}
		if failures++; failures > maxFruitless {
			c.opts.Note("its notification stream does not stay open: %v", err)
			return
		}
	}
}

// ListenPatience is how long a server may take to open the stream of
// notifications before it is called: some say nothing before they have
// something to say.
const ListenPatience = 300 * time.Millisecond

func mediaType(resp *http.Response) string {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // else none
	return kind
}
