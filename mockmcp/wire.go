// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/mockmcp/protocol"
)

// The methods that we have to know of.
const (
	methodInitialize = "initialize"
	methodDiscover   = "server/discover"
	methodListen     = "subscriptions/listen"
	methodCall       = "tools/call"
	methodPing       = "ping"
)

// outcome is what a request is answered with: result or rpc.
type outcome struct {
	result json.RawMessage // without what the era adds to each result
	meta   json.RawMessage // the script's _meta of the result, or null
	rpc    *harness.RPCError
	// kind is the resultType of 2026-07-28; "" means complete.
	kind string
	// cached adds the hints of 2026-07-28 for lists and reads.
	cached bool
	// whole says that nothing is to be added to the result.
	whole bool
	// sent is told of the result as it goes out; after is called when it has.
	// Both may be nil.
	sent  func(result json.RawMessage)
	after func()
}

// fails is an outcome that is an error.
func fails(code int, format string, args ...any) *outcome {
	return &outcome{rpc: &harness.RPCError{Code: code, Message: fmt.Sprintf(format, args...)}}
}

// method answers the requests of one method. nil means that there is no
// answer.
type method func(ctx context.Context, r *request) *outcome

// methods are those that we answer ourselves. mcp-go has the rest.
func (s *Server) methods() map[string]method {
	all := map[string]method{methodCall: s.call, methodList: s.list, methodListen: s.listen}
	resources, prompts, completions := s.offers()
	if resources {
		all[methodResources], all[methodTemplates], all[methodRead] = s.list, s.list, s.look
	}
	if prompts {
		all[methodPrompts], all[methodGet] = s.list, s.look
	}
	if completions {
		all[methodComplete] = s.completion
	}
	return all
}

// newLibrary makes the part of mcp-go that is asked for everything we do not
// answer ourselves: the handshake, pings, levels, subscriptions, and errors.
func newLibrary(s *Server) *server.MCPServer {
	return server.NewMCPServer(s.script.Name, s.script.Version,
		append(s.capabilities(), server.WithInstructions(s.script.Instructions))...)
}

// envelope has the members that 2026-07-28 puts into results, as mcp-go
// writes them.
type envelope struct {
	info   json.RawMessage // the members of _meta
	cached json.RawMessage // members for lists and reads
}

// readEnvelope asks mcp-go for a list, to see what is in it beside the list.
func (s *Server) readEnvelope() error {
	frame := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"_meta":{%q:%q,%q:{}}}}`,
		"tools/list", mcp.MetaKeyProtocolVersion, protocol.FirstModern, mcp.MetaKeyClientCapabilities)
	m, err := mcpwire.Parse(mcpwire.Marshal(s.lib.HandleMessage(s.ctx, json.RawMessage(frame))))
	if err != nil {
		return err
	}
	var members struct {
		Meta  json.RawMessage `json:"_meta"`
		TTL   json.RawMessage `json:"ttlMs"`
		Scope json.RawMessage `json:"cacheScope"`
	}
	if err := json.Unmarshal(m.Result, &members); err != nil {
		return err
	}
	s.envelope.info = members.Meta
	s.envelope.cached = fmt.Appendf(nil, `{"ttlMs":%s,"cacheScope":%s}`, members.TTL, members.Scope)
	return nil
}

// extend adds the members of the object more to object. Both are compact.
func extend(object, more []byte) []byte {
	if len(more) <= len("{}") {
		return object
	}
	b := make([]byte, 0, len(object)+len(more))
	b = append(b, object[:len(object)-1]...)
	if len(object) > len("{}") {
		b = append(b, ',')
	}
	return append(b, more[1:]...)
}

// wrap puts the members of the era into a result.
func (s *Server) wrap(r *request, o *outcome) json.RawMessage {
	result, meta := o.result, o.meta
	if len(result) == 0 {
		result = json.RawMessage(`{}`)
	}
	if r.era == modern {
		result = extend(result, fmt.Appendf(nil, `{"resultType":%q}`, cmp.Or(o.kind, "complete")))
		if o.cached {
			result = extend(result, s.envelope.cached)
		}
		meta = extend(s.envelope.info, meta)
	}
	if len(meta) > 0 {
		result = extend(result, slices.Concat([]byte(`{"_meta":`), meta, []byte(`}`)))
	}
	return result
}

// serveRequest answers one request, unless its client goes away or cancels it.
func (s *Server) serveRequest(ctx context.Context, r *request) {
	defer r.decided()
	ctx, done := r.client.begin(ctx, r)
	defer done()
	if r.Method != methodListen {
		s.working.add(1)
		defer s.working.add(-1)
	}
	if !r.out.strike.before(ctx, r.out) {
		s.answer(ctx, r)
	}
}

// answer answers a request that no fault has dealt with.
func (s *Server) answer(ctx context.Context, r *request) {
	o := s.respond(ctx, r)
	if o == nil || ctx.Err() != nil {
		return
	}
	if o.rpc == nil && !o.whole {
		o.result = s.wrap(r, o)
	}
	if o.sent != nil {
		o.sent(o.result)
	}
	r.out.reply(ctx, encodeReply(r.ID, o), o.rpc)
	if r.Method == methodInitialize {
		r.client.greet()
	}
	if o.after != nil {
		o.after()
	}
}

// encodeReply is a reply on one line.
func encodeReply(id json.RawMessage, o *outcome) []byte {
	id = idOf(id)
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	name, body := `,"result":`, o.result
	if o.rpc != nil {
		name, body = `,"error":`, mcpwire.Marshal(o.rpc)
	}
	b := make([]byte, 0, len(`{"jsonrpc":"2.0","id":,"result":}`)+len(id)+len(body))
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(append(append(b, id...), name...), body...)
	return append(b, '}')
}

// respond decides who answers: the rules of the protocol, we, or mcp-go.
func (s *Server) respond(ctx context.Context, r *request) *outcome {
	mode := s.script.Protocol.ModernMode()
	switch {
	case r.Method == methodDiscover && mode == protocol.Silent:
		r.client.hang(ctx)
		return nil
	case r.era == modern && mode == protocol.Reject:
		return s.unsupported(r)
	case r.era == modern && !slices.Contains(s.modernVersions, r.params.Meta.Version):
		return s.unsupported(r)
	}
	if r.era == legacy {
		if o := s.refuseLegacy(r, mode); o != nil {
			return o
		}
	}
	if answer := s.answers[r.Method]; answer != nil && !r.odd {
		return answer(ctx, r)
	}
	return s.askLibrary(ctx, r)
}

// unsupported refuses the version of a modern request.
func (s *Server) unsupported(r *request) *outcome {
	data := mcpwire.Marshal(struct {
		Supported []string `json:"supported"`
		Requested string   `json:"requested"`
	}{s.versions(), r.params.Meta.Version})
	return &outcome{rpc: &harness.RPCError{
		Code:    mcp.UNSUPPORTED_PROTOCOL_VERSION,
		Message: fmt.Sprintf("unsupported protocol version: %q (supported: %v)", r.params.Meta.Version, s.versions()),
		Data:    data,
	}}
}

// versions are all that are offered, newest first.
func (s *Server) versions() []string { return slices.Concat(s.modernVersions, s.legacyVersions) }

// refuseLegacy refuses a request that the legacy era does not allow. A server
// that serves modern clients as well takes requests without a handshake; one
// that knows only the old era does not.
func (s *Server) refuseLegacy(r *request, mode protocol.Modern) *outcome {
	switch {
	case len(s.legacyVersions) == 0:
		return fails(mcp.INVALID_PARAMS, "missing or invalid _meta field %s", mcp.MetaKeyProtocolVersion)
	case r.Method == methodDiscover, r.Method == methodListen:
		return fails(mcp.METHOD_NOT_FOUND, "Method %s not found", r.Method)
	case mode == protocol.On || r.Method == methodInitialize || r.Method == methodPing || r.client.id == "":
		return nil
	}
	if _, ok := r.client.handshake(); ok || s.answers[r.Method] == nil {
		return nil // mcp-go has its words for what it does not know
	}
	return fails(mcp.INVALID_REQUEST, "%s before initialize", r.Method)
}

// withoutMeta is the frame of a request without what says that it is modern:
// to a server of the old era _meta is a bag of things it does not know, but
// mcp-go looks into it.
func withoutMeta(m mcpwire.Message) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(m.Params, &members) != nil {
		return m.Frame
	}
	delete(members, "_meta")
	m.Params = mcpwire.Marshal(members)
	return m.Encode()
}

// askLibrary has mcp-go answer.
func (s *Server) askLibrary(ctx context.Context, r *request) *outcome {
	ctx = s.lib.WithContext(ctx, r.client.lib)
	ctx = server.WithSupportedProtocolVersions(ctx, s.versions())
	reply := s.lib.HandleMessage(ctx, r.Frame)
	if reply == nil {
		return fails(mcp.INVALID_REQUEST, "Invalid Request")
	}
	m, err := mcpwire.Parse(mcpwire.Marshal(reply))
	if err != nil {
		return fails(mcp.INTERNAL_ERROR, "%v", err)
	}
	if r.Method == methodInitialize && m.Error == nil {
		m.Result = s.negotiate(r, m.Result)
	}
	return &outcome{result: m.Result, rpc: m.Error, whole: true}
}

// negotiate puts the version that is offered into the result of initialize,
// and notes what the client said of itself.
func (s *Server) negotiate(r *request, result json.RawMessage) json.RawMessage {
	var asked struct {
		Version      string          `json:"protocolVersion"`
		Capabilities json.RawMessage `json:"capabilities"`
	}
	_ = json.Unmarshal(r.Params, &asked)
	version := asked.Version
	if !slices.Contains(s.legacyVersions, version) {
		version = s.legacyVersions[0]
	}
	r.client.mu.Lock()
	r.client.version, r.client.caps = version, asked.Capabilities
	r.client.mu.Unlock()
	var members struct {
		Version json.RawMessage `json:"protocolVersion"`
	}
	_ = json.Unmarshal(result, &members)
	return bytes.Replace(result, members.Version, mcpwire.Marshal(version), 1)
}

// libSession is a client as mcp-go sees it.
type libSession struct{ c *client }

func (p *libSession) Initialize() {}

// Initialized is asked by mcp-go before it sets a level.
func (p *libSession) Initialized() bool { return true }

func (p *libSession) SessionID() string { return p.c.id }

// NotificationChannel is nil: all that a client is told, it is told by us.
func (p *libSession) NotificationChannel() chan<- mcp.JSONRPCNotification { return nil }

func (p *libSession) SetLogLevel(level mcp.LoggingLevel) {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.c.level = string(level)
}

func (p *libSession) GetLogLevel() mcp.LoggingLevel {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	return mcp.LoggingLevel(p.c.level)
}

func (p *libSession) SubscribeToResource(uri string) {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	if p.c.subscribed == nil {
		p.c.subscribed = make(map[string]bool)
	}
	p.c.subscribed[uri] = true
}

func (p *libSession) UnsubscribeFromResource(uri string) {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	delete(p.c.subscribed, uri)
}

func (p *libSession) SubscribedResources() []string {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	var uris []string
	for uri := range p.c.subscribed {
		uris = append(uris, uri)
	}
	return uris
}

func (p *libSession) IsSubscribedToResource(uri string) bool {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	return p.c.subscribed[uri]
}
