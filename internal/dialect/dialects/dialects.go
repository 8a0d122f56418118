// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package dialects is the table of the dialects of model endpoints.
package dialects

import (
	"net/url"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/chat"
	"github.com/rehearse-dev/rehearse/internal/dialect/gemini"
	"github.com/rehearse-dev/rehearse/internal/dialect/messages"
	"github.com/rehearse-dev/rehearse/internal/dialect/responses"
)

// All are the dialects, a row for each.
func All() []*dialect.Dialect {
	return []*dialect.Dialect{chat.Dialect, chat.Older, responses.Dialect, messages.Dialect, gemini.Dialect}
}

// Spoken are the dialects that a subject may speak with the model.
func Spoken() []*dialect.Dialect {
	return slices.DeleteFunc(All(), func(d *dialect.Dialect) bool { return d.Provider == "" })
}

// Names are those of [Spoken].
func Names() []string {
	var names []string
	for _, d := range Spoken() {
		names = append(names, d.Name)
	}
	return names
}

// Find returns the dialect of a name.
func Find(name string) (d *dialect.Dialect, ok bool) {
	for _, d := range All() {
		if d.Name == name {
			return d, true
		}
	}
	return nil, false
}

// Named returns the dialect of a name; that of chat completions where the name
// is another's.
func Named(name string) *dialect.Dialect {
	if d, ok := Find(name); ok {
		return d
	}
	return chat.Dialect
}

// Endpoint is a path.
type Endpoint struct {
	// Dialect is nil where no model answers.
	Dialect *dialect.Dialect
	// Version is what the path begins with, as in /v1 or /v1beta; empty when
	// it has none. Rest is what follows.
	Version, Rest string

	// Query is what the path says of a request.
	Query dialect.Query
}

// EndpointAt is the endpoint of an address, whatever stands before its version.
func EndpointAt(address string) Endpoint {
	u, err := url.Parse(address)
	if err != nil {
		return Endpoint{}
	}
	path := u.Path
	if i := strings.LastIndex(path, "/v1"); i > 0 {
		path = path[i:]
	}
	return EndpointOf(path)
}

// Versions are what the path of an endpoint may begin with.
func Versions() []string { return []string{"/v1", "/v1beta", "/v1alpha"} }

// WithoutVersion is the address of an endpoint without the version at its end,
// where the path of a request has one itself: clients of Anthropic and Google put
// it into the path, and those of OpenAI are given it with the address.
func WithoutVersion(address *url.URL, path string) *url.URL {
	if EndpointOf(path).Version == "" {
		return address
	}
	for _, version := range Versions() {
		if root, ok := strings.CutSuffix(strings.TrimRight(address.Path, "/"), version); ok {
			to := *address
			to.Path, to.RawPath = root+"/", ""
			return &to
		}
	}
	return address
}

// EndpointOf says which dialect is spoken at a path.
func EndpointOf(path string) Endpoint {
	e := Endpoint{Rest: path}
	for _, version := range Versions() {
		if rest, ok := strings.CutPrefix(path, version+"/"); ok {
			e.Version, e.Rest = version, "/"+rest
		}
	}
	for _, d := range All() {
		if d.Place == nil && d.Path == e.Rest {
			e.Dialect = d
		} else if d.Place != nil {
			if q, ok := d.Place(e.Version, e.Rest); ok {
				e.Dialect, e.Query = d, q
			}
		}
	}
	return e
}

// Name is that of the dialect; empty where no model answers.
func (e Endpoint) Name() string {
	if e.Dialect == nil {
		return ""
	}
	return e.Dialect.Name
}

// Read reads a request to the endpoint; nil where it cannot be read at all. What
// the provider would refuse about it does not matter here. prev and held are as
// in [dialect.Query].
func (e Endpoint) Read(body []byte, prev *dialect.Chat, held *dialect.Store) dialect.Request {
	if e.Dialect == nil {
		return nil
	}
	q := e.Query
	q.Prev, q.Held = prev, held
	r, _ := e.Dialect.Read(body, &q)
	return r
}
