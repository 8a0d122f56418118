// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package profile

import (
	"net/http"
	"strings"

	"github.com/rehearse-dev/rehearse/mockllm/wire"
)

// Dialect is a way to ask for a reply.
type Dialect string

// The dialects that profiles know about; others are left to the mock.
const (
	Chat       Dialect = "chat"       // OpenAI chat completions
	Messages   Dialect = "messages"   // Anthropic messages
	Embeddings Dialect = "embeddings" // OpenAI embeddings
	Responses  Dialect = "responses"  // OpenAI responses
	Old        Dialect = "old"        // the gateway's /resource/chat/
	OldStream  Dialect = "old-stream" // the gateway's /resource/streamchat/
	OldEmbed   Dialect = "old-embed"  // the gateway's /resource/embed/
)

// Family is who made a model. Endpoints that serve several treat each in its
// own way.
type Family string

// The families.
const (
	GPT    Family = "gpt"
	Claude Family = "claude"
	Gemini Family = "gemini"
)

// Profile is the wire habits of one endpoint. It does not change.
type Profile struct {
	// Name is what a script calls it.
	Name string
	// About is one line for lists.
	About string

	style    func(a Ask) *wire.Style // nil: the provider's own
	server   *server                 // nil: the mock's
	names    *naming                 // nil: any name, echoed
	failures []failure
	finish   func(a Ask, calls bool, finish string) string // nil: as the model says
	// sameBlocks gives parallel calls of messages that are not Claude's the
	// same index.
	sameBlocks bool
	checked    bool      // requests are checked as the provider does
	thinking   *thinking // nil: thoughts need not come back
}

// Model is a model as an endpoint knows it.
type Model struct {
	// Name is what was asked for, Internal the endpoint's own id, Echo what
	// its replies say.
	Name, Internal, Echo string
	Family               Family
}

// Ask is a request, as far as its answer depends on it.
type Ask struct {
	Dialect Dialect
	Model   Model
	Stream  bool
	// Tools reports whether the request has the key "tools".
	Tools bool
	// Text reports whether the reply has a text.
	Text bool
}

// Answer is a complete answer that is no reply.
type Answer struct {
	Status int
	// Header has the spelling of the wire. Date and Content-Length are left
	// to the server.
	Header http.Header
	Body   []byte
}

// Lookup returns the profile of that name. The empty name is openai.
func Lookup(name string) (*Profile, bool) {
	if name == "" {
		name = "openai"
	}
	for _, p := range all() {
		if p.Name == name {
			return p, true
		}
	}
	return nil, false
}

// Names returns the names of all profiles, in an order to list them in.
func Names() []string {
	var out []string
	for _, p := range all() {
		out = append(out, p.Name)
	}
	return out
}

// About returns one line on the profile of that name; "" when there is none.
func About(name string) string {
	if p, ok := Lookup(name); ok && name != "" {
		return p.About
	}
	return ""
}

// Proxy reports whether the endpoint stands between its clients and the
// models: it has a server of its own, and what a script makes go wrong goes
// wrong behind it.
func (p *Profile) Proxy() bool { return p.server != nil }

// Behind reports whether the endpoint hides what goes wrong behind it, or says
// it in its own way, see [Profile.Fail]. The gateway says it as it is.
func (p *Profile) Behind() bool { return len(p.failures) > 0 }

// Checked reports whether the endpoint refuses what the providers refuse.
func (p *Profile) Checked() bool { return p.checked }

// OpenAI reports whether the endpoint refuses settings that OpenAI itself does
// not know, and others of its dialect do.
func (p *Profile) OpenAI() bool { return p.Name == "openai" || p.Name == "strict" }

// Style is how the endpoint writes a reply; nil is the provider's own way.
func (p *Profile) Style(a Ask) *wire.Style {
	if p.style == nil {
		return nil
	}
	return p.style(a)
}

func all() []*Profile {
	return []*Profile{
		{Name: "openai", About: "OpenAI's own endpoints", checked: true},
		{Name: "anthropic", About: "Anthropic's own endpoints", checked: true},
		{Name: "gemini", About: "Google's own endpoints", checked: true},
		{Name: "strict", About: "OpenAI's endpoints, refusing what others of its dialect refuse as well", checked: true},
		deepseek(), kimi(),
		argo275(), argo281(), argo289(), argo30(), argo31(), argo32(), argo33(), gateway(),
	}
}

// Has reports whether the endpoint has the path, for endpoints that the mock
// speaks for by itself.
func (p *Profile) Has(path string) bool {
	anthropic := strings.HasPrefix(path, "/v1/messages")
	gemini := strings.HasPrefix(path, "/v1beta/") || strings.HasPrefix(path, "/v1alpha/")
	models := strings.HasPrefix(path, "/v1/models")
	switch p.Name {
	case "anthropic":
		return anthropic || models
	case "gemini":
		return gemini || models || strings.HasPrefix(path, "/v1/tunedModels")
	case "strict", "deepseek", "kimi":
		return !anthropic && !gemini
	}
	return true
}

// Finish is the finish_reason of a reply for which the model said finish, in
// OpenAI's words. calls says that there are some.
func (p *Profile) Finish(a Ask, calls bool, finish string) string {
	if p.finish == nil {
		return finish
	}
	return p.finish(a, calls, finish)
}

// SameBlocks reports whether the parallel calls of a streamed message share
// one content block, of which only the last ends. [fact 2.3]
func (p *Profile) SameBlocks(a Ask) bool {
	return p.sameBlocks && a.Stream && a.Dialect == Messages && a.Model.Family != Claude
}

// EarlyHead reports whether the head of an answer is sent before there is
// anything to say. [fact 2.3: 2.8.9 and 3.3 send it at once]
func (p *Profile) EarlyHead(a Ask) bool {
	s := p.Style(a)
	return a.Stream && s != nil && s.EarlyHead
}
