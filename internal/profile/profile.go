// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package profile

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/chat"
	"github.com/rehearse-dev/rehearse/internal/dialect/gemini"
	"github.com/rehearse-dev/rehearse/internal/dialect/messages"
)

// Dialect is a way to ask for a reply.
type Dialect string

// The dialects that profiles know about; others are left to the mock.
const (
	Chat        Dialect = "chat"        // OpenAI chat completions
	Completions Dialect = "completions" // OpenAI completions
	Messages    Dialect = "messages"    // Anthropic messages
	Embeddings  Dialect = "embeddings"  // OpenAI embeddings
	Responses   Dialect = "responses"   // OpenAI responses
	Generate    Dialect = "gemini"      // Google's generateContent, streamed or not
	Old         Dialect = "old"         // the gateway's /resource/chat/
	OldStream   Dialect = "old-stream"  // the gateway's /resource/streamchat/
	OldEmbed    Dialect = "old-embed"   // the gateway's /resource/embed/
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

	// own is the one dialect of an endpoint that has one; nil is no such.
	own *dialect.Dialect
	// strict says that it refuses what only the provider itself refuses, and
	// models that it knows the provider's models.
	strict, models bool
	// only are the beginnings of its paths, and not those that it lacks.
	only, not []string
	// demands refuses what comes without a key or a version; nil refuses none.
	demands func(r *http.Request) *dialect.Refusal

	style    func(a Ask) *dialect.Style // nil: the provider's own
	server   *server                    // nil: the mock's
	names    *naming                    // nil: any name, echoed
	failures []failure
	finish   func(a Ask, calls bool, finish string) string // nil: as the model says
	// sameBlocks gives parallel calls of messages that are not Claude's the
	// same index.
	sameBlocks bool
	forces     bool      // Claude is streamed from the gateway in any case
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
	// Text and Calls report whether the reply has a text, and calls.
	Text, Calls bool
}

// Answer is a complete answer that is no reply.
type Answer struct {
	Status int
	// Header has the spelling of the wire. Date and Content-Length are left
	// to the server.
	Header http.Header
	Body   []byte
}

// Lookup returns the profile of that name. The empty name is openai. The name
// of a release of argo-proxy, such as argo-proxy-3.3.1, is the profile that
// stands for it.
func Lookup(name string) (*Profile, bool) {
	if name == "" {
		name = "openai"
	}
	for _, candidate := range []string{name, standsFor(name)} {
		for _, p := range all() {
			if p.Name == candidate {
				return p, true
			}
		}
	}
	return nil, false
}

// standsFor is the profile for a release of argo-proxy that has none of its
// own; empty when there is none.
func standsFor(name string) string {
	release, ok := strings.CutPrefix(name, "argo-proxy-")
	last := strings.LastIndexByte(release, '.')
	if !ok || strings.Count(release, ".") != 2 {
		return ""
	}
	line, patch := release[:last], release[last+1:]
	n, err := strconv.Atoi(patch)
	switch {
	case err != nil || n < 0:
	case line == "2.8" && n >= 2 && n <= 9:
		return "argo-proxy-2.8.9"
	case line == "3.2" && n < 3:
		return "argo-proxy-3.2.2"
	case strings.HasPrefix(line, "3."):
		return "argo-proxy-" + line
	}
	return ""
}

// Names returns the names of all profiles, in an order to list them in.
func Names() []string {
	var out []string
	for _, p := range all() {
		out = append(out, p.Name)
	}
	return out
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

// Strict reports whether the endpoint refuses what only the provider itself
// refuses, and others of its dialect take.
func (p *Profile) Strict() bool { return p.strict }

// Serves refuses a model that the provider has for another endpoint of its own.
func (p *Profile) Serves(d *dialect.Dialect, model string) *dialect.Refusal {
	if !p.models || d.Serves == nil {
		return nil
	}
	return d.Serves(model)
}

// Demands refuses a request without what the provider wants of each.
func (p *Profile) Demands(r *http.Request) *dialect.Refusal {
	if p.demands == nil {
		return nil
	}
	return p.demands(r)
}

// Errors is the dialect that anything that is not an endpoint is refused in;
// nil is OpenAI's.
func (p *Profile) Errors(path string) *dialect.Dialect {
	switch {
	case p.Proxy():
	case p.own != nil:
		return p.own
	case !p.strict:
	case hasPrefix(path, anthropicPaths()):
		return messages.Dialect
	case hasPrefix(path, googlePaths()):
		return gemini.Dialect
	}
	return nil
}

// Lists is the dialect, of all, that models are listed in.
func (p *Profile) Lists(r *http.Request, all []*dialect.Dialect) *dialect.Dialect {
	switch {
	case p.Proxy() || p.thinking != nil:
	case p.own != nil:
		return p.own
	default:
		for _, d := range all {
			if d.Lists != nil && d.Lists(r) {
				return d
			}
		}
	}
	return chat.Dialect
}

// Style is how the endpoint writes a reply; nil is the provider's own way.
func (p *Profile) Style(a Ask) *dialect.Style {
	if p.style == nil {
		return nil
	}
	return p.style(a)
}

// all makes the profiles once: each mock looks its own up.
var all = sync.OnceValue(func() []*Profile {
	return []*Profile{
		{Name: "openai", About: "OpenAI's own endpoints", checked: true, strict: true, models: true},
		{
			Name: "anthropic", About: "Anthropic's own endpoints", checked: true, own: messages.Dialect, strict: true,
			only: append(anthropicPaths(), "/v1/models"), demands: anthropicDemands,
		},
		{
			Name: "gemini", About: "Google's own endpoints", checked: true, own: gemini.Dialect, strict: true,
			only: append(googlePaths(), "/v1/models", "/v1/tunedModels"), demands: googleDemands,
		},
		{Name: "strict", About: "the endpoints of all providers, refusing what others of OpenAI's dialect refuse as well", checked: true, strict: true},
		deepseek(), kimi(),
		argo275(), argo281(), argo289(), argo30(), argo310(), argo31(), argo322(), argo32(), argo33(), gateway(),
	}
})

// The beginnings of the paths of providers.
func anthropicPaths() []string { return []string{"/v1/messages"} }
func googlePaths() []string    { return []string{"/v1beta/", "/v1alpha/"} }

func hasPrefix(path string, list []string) bool {
	return slices.ContainsFunc(list, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
}

// anthropicDemands wants a key, in either header, and a version. Any key will do.
func anthropicDemands(r *http.Request) *dialect.Refusal {
	switch h := r.Header; {
	case h.Get("X-Api-Key") == "" && h.Get("Authorization") == "":
		return &dialect.Refusal{Status: http.StatusUnauthorized, Type: "authentication_error", Message: "x-api-key header is required"}
	case h.Get("Anthropic-Version") == "":
		return &dialect.Refusal{Status: http.StatusBadRequest, Type: "invalid_request_error", Message: "anthropic-version: header is required"}
	}
	return nil
}

// googleDemands wants a key, in a header or in the query. Any will do.
func googleDemands(r *http.Request) *dialect.Refusal {
	if r.Header.Get("X-Goog-Api-Key") != "" || r.Header.Get("Authorization") != "" || r.URL.Query().Has("key") {
		return nil
	}
	return &dialect.Refusal{
		Status: http.StatusForbidden, Type: "PERMISSION_DENIED",
		Message: "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
	}
}

// Has reports whether the endpoint has the path, for endpoints that the mock
// speaks for by itself.
func (p *Profile) Has(path string) bool {
	return (p.only == nil || hasPrefix(path, p.only)) && !hasPrefix(path, p.not)
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
// one content block, of which only the last ends. [run]
func (p *Profile) SameBlocks(a Ask) bool {
	return p.sameBlocks && a.Stream && a.Dialect == Messages && a.Model.Family != Claude
}

// Forces reports whether the endpoint has a reply streamed to it that it does
// not stream. [run]
func (p *Profile) Forces(a Ask) bool {
	return p.forces && a.Model.Family == Claude && a.Dialect != Embeddings
}

// ListsOnly reports whether vectors are lists, whatever is asked for.
func (p *Profile) ListsOnly() bool { return p.server != nil && p.server.listsOnly }

// EarlyHead reports whether the head of an answer is sent before there is
// anything to say. [run: 2.8.9 and 3.3 send it at once]
func (p *Profile) EarlyHead(a Ask) bool {
	s := p.Style(a)
	return a.Stream && s != nil && s.EarlyHead
}

// thinking is what an endpoint wants of the thoughts in a history.
type thinking struct {
	turn    bool // of the current turn only
	refusal func(index int) *dialect.Refusal
}

// deepseek wants the thoughts of the current turn's calls back.
// [https://github.com/lobehub/lobehub/issues/11288]
func deepseek() *Profile {
	return &Profile{
		Name: "deepseek", About: "DeepSeek's chat completions: the reasoning_content of calls is to come back within the turn", checked: true,
		not: append(anthropicPaths(), googlePaths()...), thinking: &thinking{turn: true, refusal: func(i int) *dialect.Refusal {
			return &dialect.Refusal{
				Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "invalid_request_error",
				Message: fmt.Sprintf("Missing `reasoning_content` field in the assistant message at message index %d. For more information, please refer to https://api-docs.deepseek.com/guides/thinking_mode#tool-calls", i),
			}
		}},
	}
}

// kimi wants the thoughts of all calls back.
// [https://github.com/bytedance/deer-flow/issues/3043]
func kimi() *Profile {
	return &Profile{
		Name: "kimi", About: "Moonshot's chat completions: the reasoning_content of all calls is to come back", checked: true,
		not: append(anthropicPaths(), googlePaths()...), thinking: &thinking{refusal: func(i int) *dialect.Refusal {
			return &dialect.Refusal{
				Status: http.StatusBadRequest, Type: "invalid_request_error",
				Message: fmt.Sprintf("thinking is enabled but reasoning_content is missing in assistant tool call message at index %d", i),
			}
		}},
	}
}

// Echoes reports whether the endpoint refuses a history in which calls that
// it sent with reasoning_content come without; turn limits that to the messages
// after the last of the user.
func (p *Profile) Echoes() (calls, turn bool) {
	return p.thinking != nil, p.thinking != nil && p.thinking.turn
}

// Unechoed is how the endpoint refuses the message at index, from 0, that
// lacks its reasoning_content.
func (p *Profile) Unechoed(index int) *dialect.Refusal {
	if p.thinking != nil {
		return p.thinking.refusal(index)
	}
	param := fmt.Sprintf("messages[%d].reasoning_content", index)
	return &dialect.Refusal{
		Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "missing_required_parameter", Param: param,
		Message: fmt.Sprintf("Missing required parameter: '%s'. The reasoning_content of an assistant message must be passed back as it was sent.", param),
	}
}
