// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package project

import (
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/dialect/dialects"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
)

// efforts are those of reasoning.
func efforts() []string { return []string{"none", "minimal", "low", "medium", "high"} }

// models reads the model entries, in their order.
func (r *reader) models(n *strictyaml.Node) []trials.Model {
	var out []trials.Model
	if n.Kind != strictyaml.Map {
		r.object(n, "models", nil)
		return nil
	}
	for _, p := range n.Pairs {
		m := trials.Model{Label: p.Key.Text, Name: p.Key.Text}
		if m.Label == "" {
			r.add(p.Key.Pos, "models: a model entry needs a label")
		}
		r.model(p.Value, "model "+strconv.Quote(m.Label), &m)
		out = append(out, m)
	}
	return out
}

func (r *reader) model(n *strictyaml.Node, what string, m *trials.Model) {
	r.object(n, what, map[string]func(*strictyaml.Node){
		"model":       func(n *strictyaml.Node) { m.Name = r.text(n, what+": model") },
		"base_url":    func(n *strictyaml.Node) { m.BaseURL = r.address(n, what+": base_url") },
		"dialect":     func(n *strictyaml.Node) { m.Dialect = r.word(n, what+": dialect", dialects.Names()) },
		"key":         func(n *strictyaml.Node) { m.Key = r.variable(n, what+": key") },
		"temperature": func(n *strictyaml.Node) { m.Settings.Temperature = r.number(n, what+": temperature", 2) },
		"top_p":       func(n *strictyaml.Node) { m.Settings.TopP = r.number(n, what+": top_p", 1) },
		"max_tokens":  func(n *strictyaml.Node) { m.Settings.MaxTokens = int(r.whole(n, what+": max_tokens", 1)) },
		"seed": func(n *strictyaml.Node) {
			if n.Kind == strictyaml.String && n.Text == "none" {
				m.Settings.NoSeed = true
				return
			}
			seed := r.whole(n, what+": seed", 0)
			m.Settings.Seed = &seed
		},
		"reasoning": func(n *strictyaml.Node) { m.Settings.Reasoning = r.word(n, what+": reasoning", efforts()) },
		"price":     func(n *strictyaml.Node) { m.Price = r.price(n, what+": price") },
		"rate":      func(n *strictyaml.Node) { m.Rate = parsed(r, n, what+": rate", trials.ParseRate) },
	})
}

// judge reads the label of the entry of LLM judges.
func (r *reader) judge(n *strictyaml.Node) string {
	label := ""
	r.object(n, "judge", map[string]func(*strictyaml.Node){
		"model": func(n *strictyaml.Node) { label = r.text(n, "judge: model") },
	})
	return label
}

// known refuses a judge that is no entry of the file.
func (r *reader) known(n *strictyaml.Node, p *Project) {
	if p.Judge == "" || slices.ContainsFunc(p.Models, func(m trials.Model) bool { return m.Label == p.Judge }) {
		return
	}
	var labels []string
	for _, m := range p.Models {
		labels = append(labels, m.Label)
	}
	r.add(n.Get("model").Pos, "judge: model: %q is not the label of an entry of models%s", p.Judge, prose.DidYouMean(p.Judge, labels))
}

// price reads dollars for a million tokens.
func (r *reader) price(n *strictyaml.Node, what string) *trials.Price {
	var p trials.Price
	dollars := func(into *float64) func(*strictyaml.Node) {
		return func(n *strictyaml.Node) {
			if f := r.number(n, what, 1e6); f != nil {
				*into = *f
			}
		}
	}
	r.object(n, what, map[string]func(*strictyaml.Node){
		"input":       dollars(&p.Input),
		"output":      dollars(&p.Output),
		"cached":      func(n *strictyaml.Node) { p.Cached = r.number(n, what+": cached", 1e6) },
		"cache_write": func(n *strictyaml.Node) { p.CacheWrite = r.number(n, what+": cache_write", 1e6) },
		"date": func(n *strictyaml.Node) {
			p.Date = r.text(n, what+": date")
			if _, err := time.Parse(time.DateOnly, p.Date); err != nil && p.Date != "" {
				r.add(n.Pos, "%s: date: want a day such as 2026-01-31, got %q", what, p.Date)
			}
		},
	})
	for _, key := range []string{"input", "output"} {
		if n.Kind == strictyaml.Map && n.Get(key) == nil {
			r.add(n.Pos, "%s needs %s, in dollars per million tokens", what, key)
		}
	}
	return &p
}

func (r *reader) text(n *strictyaml.Node, what string) string {
	if n.Kind == strictyaml.Invalid {
		return ""
	}
	if n.Kind != strictyaml.String || n.Text == "" {
		r.add(n.Pos, "%s: want a text, got %s", what, n.Describe())
		return ""
	}
	return n.Text
}

// parsed reads a text that has a form of its own.
func parsed[T any](r *reader, n *strictyaml.Node, what string, parse func(string) (T, error)) (v T) {
	text := r.text(n, what)
	if text == "" {
		return v
	}
	v, err := parse(text)
	if err != nil {
		r.add(n.Pos, "%s: %v", what, err)
	}
	return v
}

func (r *reader) word(n *strictyaml.Node, what string, words []string) string {
	text := r.text(n, what)
	if text != "" && !slices.Contains(words, text) {
		r.add(n.Pos, "%s: want one of %q, got %q", what, words, text)
	}
	return text
}

func (r *reader) number(n *strictyaml.Node, what string, most float64) *float64 {
	if n.Kind == strictyaml.Invalid {
		return nil
	}
	f, err := strconv.ParseFloat(n.Text, 64)
	if n.Kind != strictyaml.Number || err != nil || !(f >= 0 && f <= most) {
		r.add(n.Pos, "%s: want a number from 0 to %v, got %s", what, most, n.Describe())
		return nil
	}
	return &f
}

func (r *reader) whole(n *strictyaml.Node, what string, least int64) int64 {
	if n.Kind == strictyaml.Invalid {
		return 0
	}
	i, err := strconv.ParseInt(n.Text, 10, 64)
	if n.Kind != strictyaml.Number || err != nil || i < least || i > 1<<53 {
		r.add(n.Pos, "%s: want a whole number from %d, got %s", what, least, n.Describe())
		return 0
	}
	return i
}

// address reads the base URL of an endpoint.
func (r *reader) address(n *strictyaml.Node, what string) string {
	text := r.text(n, what)
	if text == "" {
		return ""
	}
	u, ok := prose.WholeURL(text)
	switch {
	case !ok:
		r.add(n.Pos, "%s: want a URL with scheme and host, such as http://localhost:8000/v1", what)
	case u.User != nil || u.RawQuery != "":
		r.add(n.Pos, "%s: a user, a password or a query does not belong there: name the variable with the key under key", what)
	}
	return text
}

// variableName is what people call environment variables. A key is longer, or
// has small letters or dashes.
var variableName = regexp.MustCompile(`^[A-Z_][A-Z0-9_]{0,63}$`)

// variable reads the name of an environment variable. What else stands there
// may be a key, and is not repeated.
func (r *reader) variable(n *strictyaml.Node, what string) string {
	if n.Kind == strictyaml.Invalid {
		return ""
	}
	if n.Kind != strictyaml.String || !variableName.MatchString(n.Text) {
		r.add(n.Pos, "%s: want the name of an environment variable in capital letters, such as OPENAI_API_KEY; a key itself must not stand in a file", what)
		return ""
	}
	return n.Text
}
