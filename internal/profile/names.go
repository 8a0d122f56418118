// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package profile

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// modelRow is a model of the gateway. [models, captures]
type modelRow struct {
	display  string // as the gateway lists it
	internal string
	dated    string // as its provider calls it; the internal id for Gemini [run]
	since    string // first release that has it built in; "" is all
	until    string // first release that has it no more
}

func catalogue() []modelRow {
	return []modelRow{
		{"GPT-3.5 Turbo", "gpt35", "gpt-35-turbo", "", "3.1"},
		{"GPT-4", "gpt4", "gpt-4", "", "3.1"},
		{"GPT-4o", "gpt4o", "gpt-4o-2024-11-20", "", ""},
		{"GPT-4o Latest", "gpt4olatest", "gpt-4o-2024-11-20", "", "3.1"},
		{"o1-preview", "gpto1preview", "o1-preview-2024-09-12", "", "3.1"},
		{"o1", "gpto1", "o1-2024-12-17", "", ""},
		{"o3-mini", "gpto3mini", "o3-mini-2025-01-31", "", ""},
		{"o3", "gpto3", "o3-2025-04-16", "", ""},
		{"o4-mini", "gpto4mini", "o4-mini-2025-04-16", "", ""},
		{"GPT-4.1", "gpt41", "gpt-4.1-2025-04-14", "", ""},
		{"GPT-4.1 mini", "gpt41mini", "gpt-4.1-mini-2025-04-14", "", ""},
		{"GPT-4.1 nano", "gpt41nano", "gpt-4.1-nano-2025-04-14", "", ""},
		{"GPT-5", "gpt5", "gpt-5-2025-08-07", "2.8", ""},
		{"GPT-5 mini", "gpt5mini", "gpt-5-mini-2025-08-07", "2.8", ""},
		{"GPT-5 nano", "gpt5nano", "gpt-5-nano-2025-08-07", "2.8", ""},
		{"GPT-5.1", "gpt51", "gpt-5.1-2025-11-13", "3.1", ""},
		{"GPT-5.2", "gpt52", "gpt-5.2-2025-12-11", "3.1", ""},
		{"GPT-5.4", "gpt54", "gpt-5.4", "3.1", ""},
		{"GPT-5.5", "gpt55", "gpt-5.5", "3.1", ""},
		{"GPT-5.4 mini", "gpt54mini", "gpt-5.4-mini", "3.2", ""},
		{"GPT-5.4 nano", "gpt54nano", "gpt-5.4-nano", "3.2", ""},
		{"Gemini 2.5 Pro", "gemini25pro", "gemini25pro", "", ""},
		{"Gemini 2.5 Flash", "gemini25flash", "gemini25flash", "", ""},
		{"Gemini 3.5 Flash", "gemini35flash", "gemini35flash", "3.1", ""},
		{"Claude Opus 4", "claudeopus4", "claude-opus-4-20250514", "", "3.1"},
		{"Claude Sonnet 4", "claudesonnet4", "claude-sonnet-4-20250514", "", "3.1"},
		{"Claude Opus 4.1", "claudeopus41", "claude-opus-4-1-20250805", "2.8", ""},
		{"Claude Haiku 4.5", "claudehaiku45", "claude-haiku-4-5-20251001", "2.8", ""},
		{"Claude Sonnet 4.5", "claudesonnet45", "claude-sonnet-4-5-20250929", "2.8", ""},
		{"Claude Opus 4.5", "claudeopus45", "claude-opus-4-5-20251101", "2.8", ""},
		{"Claude Opus 4.6", "claudeopus46", "claude-opus-4-6", "3.1", ""},
		{"Claude Sonnet 4.6", "claudesonnet46", "claude-sonnet-4-6", "3.1", ""},
		{"Claude Opus 4.7", "claudeopus47", "claude-opus-4-7", "3.1", ""},
		{"Claude Opus 4.8", "claudeopus48", "claude-opus-4-8", "3.3", ""},
		{"Claude Sonnet 5", "claudesonnet5", "claude-sonnet-5", "3.3", ""},
		{"text-embedding-ada-002", "ada002", "text-embedding-ada-002", "", ""},
		{"text-embedding-3-small", "v3small", "text-embedding-3-small", "", ""},
		{"text-embedding-3-large", "v3large", "text-embedding-3-large", "", ""},
	}
}

func (r modelRow) in(release string) bool {
	return release == "" || release >= r.since && (r.until == "" || release < r.until)
}

func (r modelRow) embeds() bool { return strings.HasPrefix(r.display, "text-embedding") }

func (r modelRow) family() Family { return familyOf(r.internal) }

func familyOf(internal string) Family {
	switch {
	case strings.HasPrefix(internal, "claude"):
		return Claude
	case strings.HasPrefix(internal, "gemini"):
		return Gemini
	}
	return GPT
}

// aliases are the names that a proxy makes of a display name: lower case with
// dashes, o models also as gpt-o, Claude in both orders. [models]
func (r modelRow) aliases() []string {
	plain := strings.ReplaceAll(strings.ToLower(r.display), " ", "-")
	out := []string{"argo:" + plain}
	switch {
	case strings.HasPrefix(plain, "o1"), strings.HasPrefix(plain, "o3"), strings.HasPrefix(plain, "o4"):
		out = []string{"argo:gpt-" + plain, "argo:" + plain}
	case r.family() == Claude:
		if part := strings.SplitN(plain, "-", 3); len(part) == 3 {
			out = append(out, "argo:claude-"+part[2]+"-"+part[1])
		}
	}
	return out
}

// naming is how an endpoint takes model names. [run]
type naming struct {
	release string // of the built-in list; "" is the gateway, which has all
	// bare takes no argo: names: the gateway knows its internal ids.
	bare bool
	// loose also compares without punctuation, and without a date at the end.
	loose bool
	// fallback answers for unknown chat models, and embedFallback for unknown
	// embedding models; "" refuses those.
	fallback, embedFallback string
	// messagesPass sends unknown names on /v1/messages on as they are.
	messagesPass bool
	// exactEmbed takes aliases of embedding models only as they are listed.
	exactEmbed bool
	// echoInternal replies with the internal id.
	echoInternal bool
	// missing answers a request without a model as if it were this one, and
	// embedMissing one for embeddings.
	missing, embedMissing string
	// unknown and missingText are the messages of refusals.
	unknown, missingText string
}

func (n *naming) rows() []modelRow {
	var out []modelRow
	for _, r := range catalogue() {
		if r.in(n.release) {
			out = append(out, r)
		}
	}
	return out
}

// dateTail matches the date at the end of a provider's model id.
var dateTail = regexp.MustCompile(`-20[0-9]{6}$`)

func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '.' || r == '_' || r == ':' || r == '/' || r == ' ' {
			return -1
		}
		return r
	}, s)
}

// find looks name up among the models that embed, or those that chat.
func (n *naming) find(name string, embeds bool) (modelRow, bool) {
	low := strings.ToLower(name)
	if rest, ok := strings.CutPrefix(low, "argo/"); ok {
		low = "argo:" + rest
	}
	plain := strings.TrimPrefix(low, "argo:")
	for _, r := range n.rows() {
		if n.exactEmbed && embeds { // any model will do, as long as it is listed
			if slices.Contains(r.aliases(), name) {
				return r, true
			}
			continue
		}
		if r.embeds() != embeds {
			continue
		}
		if plain == r.internal || slices.Contains(r.aliases(), "argo:"+plain) || n.bare && name == r.dated {
			return r, true
		}
	}
	if !n.loose || embeds {
		return modelRow{}, false
	}
	short := squeeze(dateTail.ReplaceAllString(plain, ""))
	for _, r := range n.rows() {
		if !r.embeds() && short == r.internal {
			return r, true
		}
	}
	return modelRow{}, false
}

// Resolve tells which model answers to name, or what is answered instead.
// Present reports whether the request has a model at all.
func (p *Profile) Resolve(d Dialect, name string, present bool) (Model, *Answer) {
	n := p.names
	if n == nil {
		return Model{Name: name, Internal: name, Echo: name, Family: familyOf(strings.ToLower(name))}, nil
	}
	embeds := d == Embeddings || d == OldEmbed
	if !present {
		name = n.missing
		if embeds {
			name = cmp.Or(n.embedMissing, n.missing)
		}
		if name == "" {
			return Model{}, p.Refuse(d, 400, n.missingText)
		}
	}
	row, ok := n.find(name, embeds)
	if !ok && embeds && !n.bare { // which is asked for vectors like any other
		row, ok = n.find(name, false)
	}
	if ok {
		return n.model(name, row), nil
	}
	fallback := n.fallback
	if embeds {
		fallback = n.embedFallback
	}
	if d == Messages {
		if n.messagesPass {
			return Model{Name: name, Internal: name, Echo: name, Family: GPT}, nil
		}
		fallback = ""
	}
	if row, ok = n.find(fallback, embeds); ok && fallback != "" {
		return n.model(name, row), nil
	}
	return Model{}, p.unknownModel(d, name)
}

func (n *naming) model(name string, r modelRow) Model {
	m := Model{Name: name, Internal: r.internal, Echo: r.dated, Family: r.family()}
	if n.echoInternal {
		m.Echo = r.internal
	}
	return m
}
