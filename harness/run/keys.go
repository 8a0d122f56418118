// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/dialect/dialects"
)

// KeysFrom takes the keys of the endpoint from the environment, unless one is
// set already: OPENAI_API_KEY, ANTHROPIC_API_KEY, and GEMINI_API_KEY or else
// GOOGLE_API_KEY. env returns a variable; empty when it is not set. A line end after
// a key is left out: a file that a secret is mounted as ends in one.
func (o *Options) KeysFrom(env func(name string) string) {
	if len(o.keys().all()) > 0 {
		return
	}
	key := func(name string) string {
		return strings.TrimSuffix(strings.TrimSuffix(env(name), "\n"), "\r")
	}
	o.APIKey, o.AnthropicKey = key("OPENAI_API_KEY"), key("ANTHROPIC_API_KEY")
	o.GoogleKey = cmp.Or(key("GEMINI_API_KEY"), key("GOOGLE_API_KEY"))
}

// keys are those of an endpoint, by the vendors whose dialects have them.
type keys struct{ openai, anthropic, google string }

func (o *Options) keys() keys { return keys{o.APIKey, o.AnthropicKey, o.GoogleKey} }

// all are the keys that are set.
func (k keys) all() []string {
	var out []string
	for _, key := range []string{k.openai, k.anthropic, k.google} {
		if key != "" {
			out = append(out, key)
		}
	}
	return out
}

// of returns the key for a request; empty when there is none. A key of one
// vendor does not go to the paths of another, unless that of OpenAI is the only
// one.
func (k keys) of(e dialects.Endpoint, places map[string]bool) string {
	if k.anthropic == "" && k.google == "" {
		return k.openai
	}
	switch vendorOf(e, places) {
	case anthropicHeader:
		return k.anthropic
	case googleHeader:
		return k.google
	}
	return k.openai
}

// vendorOf names a vendor by the header that it has for keys. Where the path
// does not tell, as of a list of models, the place that the client chose does.
func vendorOf(e dialects.Endpoint, places map[string]bool) string {
	for _, d := range dialects.All() {
		if d == e.Dialect || d.KeyHeader != "" && d.Path != "" && strings.HasPrefix(e.Rest, d.Path+"/") {
			return cmp.Or(d.KeyHeader, bearerHeader)
		}
	}
	switch {
	case e.Version == "/v1beta", e.Version == "/v1alpha":
		return googleHeader
	case places[anthropicHeader]:
		return anthropicHeader
	case places[googleHeader], places[googleParam]:
		return googleHeader
	}
	return bearerHeader
}
