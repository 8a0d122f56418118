// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/rehearse-dev/rehearse/internal/exactjson"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcphttp"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/telemetry"
)

var (
	// errProbed marks the error of a server that disconnected when it was asked
	// for the new era.
	errProbed = errors.New("the server disconnected during version discovery")
	// errEra refuses a server of an era that the options rule out.
	errEra = errors.New("the server does not support protocol version 2026-07-28")
)

// transport carries messages to a server. What the server says, it gives to
// [conn.take].
type transport interface {
	// send sends a request. over tells that it is sent, or why there will be no
	// answer. leave is called when nobody waits for it any more. A transport that
	// knows earlier than over that the server has taken the request says so to ctx,
	// by [mcpwire.Taken].
	send(ctx context.Context, m mcpwire.Message, header http.Header) (over <-chan error, leave func(answered bool))
	// tell sends what wants no answer.
	tell(ctx context.Context, m mcpwire.Message) error
	// agreed is told the version of a session.
	agreed(version string)
	// done is closed when nothing more can come; nil where each request has a
	// stream of its own. lost is the error of who waits then, and gone says that
	// there was a connection before.
	done() <-chan struct{}
	lost() error
	gone() bool
	// ending is how the server disconnected: "", or ": " and why. stderr is the end
	// of what its process wrote there.
	ending() string
	stderr() string
	// posts says that each request is an HTTP request with an answer of its own:
	// it has headers, and its end gives it up. session is the id that HTTP gave
	// the session, or "".
	posts() bool
	session() string
	close()
}

// conn is one connection of a session: what carries it, what was agreed on, and
// the requests under way.
type conn struct {
	*replies
	transport

	opts    *Options
	caps    json.RawMessage // what we declare
	version string          // that was agreed on; "" before
	level   string          // of the log, for requests of the new era
	info    Info
	peer    telemetry.Peer
	server  struct {
		Logging *struct{} `json:"logging"`
		Tools   struct {
			ListChanged bool `json:"listChanged"`
		} `json:"tools"`
		Resources *struct {
			Subscribe bool `json:"subscribe"`
		} `json:"resources"`
	}
	// The probe of the era met a server that disconnected, or that did not answer in
	// time.
	probeLost, probeLate bool
	proved               atomic.Bool // it has answered a request since

	ids        atomic.Int64
	over       atomic.Bool // it was closed
	deaf       atomic.Bool // the server tells no changes of its tools any more
	listenMu   sync.Mutex  // guards stopListen
	stopListen func()
	closeOnce  sync.Once
}

func (c *conn) close() {
	c.closeOnce.Do(func() {
		c.over.Store(true)
		c.listenMu.Lock()
		stop := c.stopListen
		c.listenMu.Unlock()
		if stop != nil {
			stop()
		}
		c.finish(c.done())
		c.shut()
		c.transport.close()
		c.running.Wait()
	})
}

// unproved reports whether the server, which did not answer the probe in time,
// may be one that disconnects on it, and only came to that now.
func (c *conn) unproved() bool { return c.probeLate && !c.modern() && !c.proved.Load() }

// modern reports whether the new era was agreed on.
func (c *conn) modern() bool { return mcpwire.IsModern(c.version) }

// connect opens a connection and shakes hands, within the time limit. A server
// that goes away when it is asked for the new era gets a second chance,
// without that question.
func (s *Session) connect(ctx context.Context) (*conn, error) {
	return s.connectIn(ctx, s.opts.Era)
}

// connectIn is connect in an era.
func (s *Session) connectIn(ctx context.Context, in Era) (*conn, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(s.life, func() { stop(errClosed) })()
	c, err := s.attempt(ctx, in)
	if errors.Is(err, errProbed) {
		s.note("disconnected on server/discover; connecting again without it")
		c, err = s.attempt(ctx, EraLegacy)
	}
	return c, err
}

// attempt opens a connection in an era.
func (s *Session) attempt(ctx context.Context, in Era) (*conn, error) {
	const op = "connecting to"
	limit := s.opts.ConnectTimeout
	inner, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c := &conn{replies: newReplies(s), opts: &s.opts, caps: s.opts.capabilities(), peer: peerOf(s.server)}
	var err error
	if c.transport, err = s.dial(inner, c); err != nil {
		if ctx.Err() == nil && inner.Err() != nil {
			return nil, &Error{Kind: ErrTimeout, Server: s.server.Name, Op: op, Err: overtime(fmt.Sprintf("no connection within %v", limit))}
		}
		return nil, &Error{Kind: ErrTransport, Server: s.server.Name, Op: op, Err: err}
	}
	if err := c.shake(inner, in); err != nil {
		probed := in == EraAuto && ctx.Err() == nil && c.gone() && (c.probeLost || c.probeLate)
		err = s.explain(ctx, inner, op, &patience{limit: limit}, c, err)
		c.close()
		if probed {
			err = fmt.Errorf("%w: %w", errProbed, err)
		}
		return nil, err
	}
	if !s.opts.PerCall {
		s.listen(inner, c)
	}
	s.connectedOnce()
	return c, nil
}

// dial makes the transport that the server is reached by.
func (s *Session) dial(ctx context.Context, c *conn) (transport, error) {
	if err := mcpwire.Reachable(s.server); err != nil {
		return nil, err
	}
	if server := s.server; server.Dial == nil && server.URL != "" {
		web := mcphttp.Options{
			URL: server.URL, Headers: server.Headers, DialContext: s.opts.DialContext, MaxFrame: s.opts.MaxFrame,
			Waits: c.waits, Unread: c.unread, Clock: s.opts.Clock, Note: s.note,
		}
		switch {
		case server.Transport == "sse":
			return newOldWeb(web, c)
		case !mcpwire.IsSocket(server):
			return newWeb(web, c)
		}
	}
	rw, err := mcpwire.Dial(ctx, s.server, mcpwire.DialOptions{
		PassEnv: s.opts.PassEnv, Grace: s.opts.CloseGrace, Abort: s.opts.Abort, DialContext: s.opts.DialContext, Note: s.note,
	})
	if err != nil {
		return nil, err
	}
	return newPipe(rw, s.opts.MaxFrame, c), nil
}

// shake agrees on a version.
func (c *conn) shake(ctx context.Context, in Era) error {
	if in == EraLegacy {
		return c.initialize(ctx)
	}
	limit := c.opts.DiscoverTimeout
	if in == EraModern {
		limit = c.opts.ConnectTimeout
	}
	err := c.discover(ctx, limit)
	switch {
	case err == nil:
		return nil
	case c.probeLost, ctx.Err() != nil:
		return err
	case in == EraModern:
		return fmt.Errorf("%w: %w", errEra, err)
	}
	late := c.probeLate
	if err = c.initialize(ctx); err != nil && ctx.Err() == nil && late && !c.gone() {
		// It was still starting when it was probed: one that knows the new
		// era alone refuses initialize, and would answer the probe by now.
		if c.discover(ctx, limit) != nil {
			err = c.initialize(ctx)
		} else {
			err = nil
		}
	}
	return err
}

// discover asks a server whether it is of the new era. The probe is bounded: a
// server of the older one may ignore it.
func (c *conn) discover(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c.version = mcpwire.FirstModern
	var result json.RawMessage
	var err error
	for range 2 {
		result, err = c.request(ctx, mcpwire.MethodDiscover, nil)
		var refused *rpcError
		if !errors.As(err, &refused) || !supportsAnyway(refused.rpc) {
			break
		}
	}
	if err == nil {
		err = c.discovered(result)
	}
	if err == nil {
		return nil
	}
	c.version = ""
	c.probeLost = errors.Is(err, mcpwire.ErrClosed)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		c.probeLate = true
		c.note("did not answer server/discover in time; continuing with initialize")
	}
	return err
}

// supportsAnyway reports whether a server refuses the very version that it says
// it supports.
func supportsAnyway(e *jsonrpc.Error) bool {
	var data struct {
		Supported []string `json:"supported"`
	}
	return e.Code == mcpwire.CodeUnsupportedVersion && json.Unmarshal(e.Data, &data) == nil && slices.Contains(data.Supported, mcpwire.FirstModern)
}

// discovered takes what a server of the new era says of itself.
func (c *conn) discovered(result json.RawMessage) error {
	var found struct {
		Supported    []string        `json:"supportedVersions"`
		Capabilities json.RawMessage `json:"capabilities"`
		Instructions words           `json:"instructions"`
		Meta         struct {
			Server program `json:"io.modelcontextprotocol/serverInfo"`
		} `json:"_meta"`
	}
	err := exactjson.Unmarshal(result, &found)
	switch {
	case err != nil || len(found.Supported) == 0:
		return errors.New("the answer to server/discover lists no versions")
	case !slices.Contains(found.Supported, mcpwire.FirstModern):
		return errors.New("the server speaks " + strings.Join(found.Supported, ", "))
	}
	c.info = Info{Name: string(found.Meta.Server.Name), Version: string(found.Meta.Server.Version), Protocol: c.version, Instructions: string(found.Instructions)}
	_ = exactjson.Unmarshal(found.Capabilities, &c.server) // what is odd in it is not supported
	if c.opts.LogLevel != "" && c.server.Logging != nil {
		c.level = c.opts.LogLevel
	}
	return nil
}

// implementation is how the protocol names a program.
type implementation struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// program is an implementation as a server names itself.
type program struct {
	Name    words `json:"name"`
	Version words `json:"version"`
}

// words are a text that a server says and nothing depends on. One that is no text
// is taken as it is spelled: version: 1.0 is "1.0".
type words string

func (w *words) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	*w = words(text)
	return nil
}

// initialize shakes hands as versions up to 2025-11-25 do.
func (c *conn) initialize(ctx context.Context) error {
	result, err := c.request(ctx, mcpwire.MethodInitialize, struct {
		Version      string          `json:"protocolVersion"`
		Client       implementation  `json:"clientInfo"`
		Capabilities json.RawMessage `json:"capabilities"`
	}{mcpwire.LastLegacy, implementation{c.opts.ClientName, c.opts.ClientVersion}, c.caps})
	if err != nil {
		return err
	}
	var said struct {
		Version      string          `json:"protocolVersion"`
		Server       program         `json:"serverInfo"`
		Capabilities json.RawMessage `json:"capabilities"`
		Instructions words           `json:"instructions"`
	}
	if err := exactjson.Unmarshal(result, &said); err != nil {
		return fmt.Errorf("%w: reading the answer to initialize: %w", mcpwire.ErrUnusable, err)
	}
	if !slices.Contains(mcpwire.Versions(), said.Version) {
		return fmt.Errorf("the server answered with the unsupported protocol version %q", said.Version)
	}
	c.version = said.Version
	c.info = Info{Name: string(said.Server.Name), Version: string(said.Server.Version), Protocol: said.Version, Instructions: string(said.Instructions)}
	_ = exactjson.Unmarshal(said.Capabilities, &c.server) // what is odd in it is not supported
	c.agreed(said.Version)
	if err := c.tell(ctx, notification(mcpwire.NoticeInitialized, nil)); err != nil {
		return err
	}
	if level := c.opts.LogLevel; level != "" && c.server.Logging != nil {
		if _, err := c.request(ctx, mcpwire.MethodSetLevel, map[string]string{"level": level}); err != nil {
			c.note("did not set its log level: %v", err)
		}
	}
	return nil
}

// notification is a message that wants no answer. params is anything that
// encodes as an object, or nil.
func notification(method string, params any) mcpwire.Message {
	m := mcpwire.Message{Method: method}
	if params != nil {
		m.Params = mcpwire.Marshal(params)
	}
	m.Frame = m.Encode()
	return m
}

// meta are the members of _meta that a request of the new era has.
func (c *conn) meta() map[string]any {
	m := map[string]any{
		mcpwire.MetaVersion: c.version, mcpwire.MetaCapabilities: c.caps,
		mcpwire.MetaClient: implementation{c.opts.ClientName, c.opts.ClientVersion},
	}
	if c.level != "" {
		m[mcpwire.MetaLogLevel] = c.level
	}
	return m
}

// withMeta is params, an object or nil, with what the era adds to it, and with
// what carries a trace on.
func (c *conn) withMeta(params any, traced map[string]string) any {
	if !c.modern() && len(traced) == 0 {
		return params
	}
	members, meta := map[string]any{}, map[string]any{}
	if c.modern() {
		meta = c.meta()
	}
	for k, v := range traced {
		meta[k] = v
	}
	if params != nil {
		var own map[string]json.RawMessage
		_ = json.Unmarshal(mcpwire.Marshal(params), &own) // it is an object
		for k, v := range own {
			members[k] = v
		}
		var of map[string]json.RawMessage
		_ = json.Unmarshal(own["_meta"], &of) // absent is fine
		for k, v := range of {
			meta[k] = v
		}
	}
	members["_meta"] = meta
	return members
}

// rpcError is an error that the server answered with.
type rpcError struct{ rpc *jsonrpc.Error }

// Error is an error object as text, its data too: it often says more than the
// message.
func (e *rpcError) Error() string {
	text := fmt.Sprintf("MCP error %d: %s", e.rpc.Code, e.rpc.Message)
	if len(e.rpc.Data) > 0 && string(e.rpc.Data) != "null" {
		text += fmt.Sprintf(" (data: %s)", prose.Excerpt(e.rpc.Data, 500))
	}
	return text
}

// exchange is [conn.request] with the id of the request and what carries its trace
// on.
func (c *conn) exchange(ctx context.Context, id, method string, params any, traced map[string]string) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m := mcpwire.Message{ID: []byte(id), Method: method}
	if params = c.withMeta(params, traced); params != nil {
		m.Params = mcpwire.Marshal(params)
	}
	var header http.Header
	if method == mcpwire.MethodCall {
		header = c.mirrored(m.Params)
	}
	m.Frame = m.Encode()
	if c.gone() {
		return nil, fmt.Errorf("%w: %w", errUnsent, c.lost())
	}
	answered, forget := c.expect(m)
	defer forget()
	over, leave := c.send(ctx, m, header)
	for {
		select {
		case a := <-answered:
			leave(a.err == nil)
			return a.result()
		case err := <-over:
			over = nil
			if err == nil {
				mcpwire.Taken(ctx)
				continue
			}
			leave(false)
			select {
			case a := <-answered:
				return a.result()
			default:
				return nil, err
			}
		case <-ctx.Done():
			select {
			case a := <-answered: // it came before
				leave(a.err == nil)
				return a.result()
			default:
			}
			leave(false)
			c.giveUp(ctx, m)
			return nil, ctx.Err()
		case <-c.done():
			leave(false)
			select {
			case a := <-answered: // it came with the end
				return a.result()
			default:
			}
			lost := c.lost()
			if over == nil {
				return nil, lost
			}
			// A sender that only learned of the end, or that we stopped, adds nothing.
			sent := soon(over)
			if sent == nil || errors.Is(sent, context.Canceled) || errors.Is(sent, lost) {
				return nil, lost
			}
			return nil, errors.Join(lost, sent)
		}
	}
}

// goodbye is how long a word may take that is a courtesy.
const goodbye = mcphttp.Goodbye

// giveUp tells the server that nobody waits for a request any more. It comes
// back when that is said, or in a moment: what the caller does next should
// come after it, and the end of the connection does. Over HTTP in the new era the
// end of its stream gives up a request.
func (c *conn) giveUp(ctx context.Context, m mcpwire.Message) {
	if c.posts() && c.modern() || m.Method == mcpwire.MethodInitialize || m.Method == mcpwire.MethodDiscover {
		return
	}
	n := notification(mcpwire.NoticeCancelled, map[string]any{"requestId": m.ID, "reason": context.Cause(ctx).Error()})
	soon(c.word(func() {
		ctx, cancel := context.WithTimeout(c.life, goodbye)
		defer cancel()
		_ = c.tell(ctx, n) // a courtesy
	}))
}

// soon waits a moment for what is about to come.
func soon[T any](ch <-chan T) (v T) {
	t := time.NewTimer(100 * time.Millisecond)
	defer t.Stop()
	select {
	case v = <-ch:
	case <-t.C:
	}
	return v
}

// mirrored are the arguments of a call that are to be headers too.
func (c *conn) mirrored(params json.RawMessage) http.Header {
	if !c.mirrors() {
		return nil
	}
	var call struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(params, &call) // it is ours
	c.mu.Lock()
	tool := c.marked[call.Name]
	c.mu.Unlock()
	if tool == nil {
		return nil
	}
	header := http.Header{}
	for name, value := range mcp.GenerateParamHeaders(tool, params) {
		header.Set(name, value)
	}
	return header
}

// mirrors reports whether arguments that a schema marks are sent as HTTP
// headers too. Servers refuse a call where they are not, or not the same.
func (c *conn) mirrors() bool { return c.posts() && c.modern() }

// listen asks a server of the new era to announce changes of its tools and of the
// resources that were subscribed to, and waits until it confirms: what it
// announces before that is lost. Older servers announce changes of tools unasked.
func (s *Session) listen(ctx context.Context, c *conn) {
	wanted := s.wanted(c)
	if !c.modern() {
		return
	}
	c.listenMu.Lock()
	defer c.listenMu.Unlock()
	if c.stopListen != nil {
		c.stopListen() // it has ended, or something else is wanted now
		c.stopListen = nil
	}
	if len(wanted) == 0 {
		return
	}
	c.deaf.Store(false)
	select {
	case <-s.acknowledged: // of an earlier time
	default:
	}
	life, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, err := c.request(life, mcpwire.MethodListen, map[string]any{"notifications": wanted})
		if life.Err() != nil || c.gone() {
			return
		}
		s.once("no longer announces changes: %v", cmp.Or(err, errors.New("it ended the stream")))
		c.deaf.Store(true)
	}()
	c.stopListen = func() {
		stop()
		<-ended
	}
	wait := time.NewTimer(ackPatience)
	defer wait.Stop()
	select {
	case <-s.acknowledged:
	case <-ended:
	case <-wait.C:
		s.once("does not confirm that it will announce changes")
	case <-ctx.Done():
	}
}

// ackPatience is how long a server may take to say that it will announce
// changes.
const ackPatience = time.Second
