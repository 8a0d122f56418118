// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/key"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// warnMixed tells at the first request of another prompt or model that the
// recording will be refused. The caller holds mu.
func (r *Recorder) warnMixed(k *key.Key) {
	if r.opts.Asides || r.mixed || !r.opts.Mode.records() {
		return
	}
	chat, ok := k.Chat()
	if !ok {
		return
	}
	if r.chat == nil {
		for _, e := range r.tape {
			if first, ok := e.key.Chat(); ok {
				r.chat = &first
				break
			}
		}
	}
	if r.chat == nil {
		r.chat = &chat
	}
	if r.chat.Untold && !chat.Untold && chat.Model == r.chat.Model {
		r.chat = &chat
	}
	if r.chat.Model == chat.Model && (r.chat.System == chat.System || chat.Untold) {
		return
	}
	r.mixed = true
	what := fmt.Sprintf("model %q after %q", chat.Model, r.chat.Model)
	if r.chat.Model == chat.Model {
		was, is := key.Excerpts(r.chat.System, chat.System)
		what = fmt.Sprintf("the system prompt %s after %s", is, was)
	}
	r.note("a request has %s; the recording will be refused when it ends, unless --asides allows this (in a scenario: cassette.asides)", what)
}

// checkMixed refuses a recording of two prompts or two models: when the prompt
// was changed on the way, one half shows what the other does not.
func (r *Recorder) checkMixed(list []*vcr.Interaction) error {
	if r.opts.Asides {
		return nil
	}
	var models, prompts groups
	for n, i := range list {
		if chat, ok := r.keyOf(&i.Request).Chat(); ok {
			models.add(chat.Model, n+1)
			if !chat.Untold {
				prompts.add(chat.System, n+1)
			}
		}
	}
	var what string
	switch {
	case len(models) > 1:
		a, b := models[0], models[1]
		what = fmt.Sprintf("two models: %q in %s and %q in %s", a.text, a.numbers(), b.text, b.numbers())
	case len(prompts) > 1:
		a, b := prompts[0], prompts[1]
		one, other := key.Excerpts(a.text, b.text)
		what = fmt.Sprintf("two system prompts: %s in %s and %s in %s", one, a.numbers(), other, b.numbers())
	default:
		return nil
	}
	return fmt.Errorf("cassette %q is not written: it mixes %s; record all of it again, or allow requests beside the conversation, such as for titles, with --asides (in a scenario: cassette.asides)",
		r.path, what)
}

// groups are interactions by a text, in the order in which the texts came.
type groups []*group

type group struct {
	text string
	of   []int
}

func (g *groups) add(text string, n int) {
	i := slices.IndexFunc(*g, func(x *group) bool { return x.text == text })
	if i < 0 {
		i = len(*g)
		*g = append(*g, &group{text: text})
	}
	(*g)[i].of = append((*g)[i].of, n)
}

// numbers names the interactions, as in "interactions 1-3 and 5".
func (g *group) numbers() string {
	var parts []string
	for from := 0; from < len(g.of); {
		to := from
		for to+1 < len(g.of) && g.of[to+1] == g.of[to]+1 {
			to++
		}
		text := strconv.Itoa(g.of[from])
		if to > from {
			text += "-" + strconv.Itoa(g.of[to])
		}
		parts = append(parts, text)
		from = to + 1
	}
	if len(parts) > maxShown {
		parts = append(parts[:maxShown], fmt.Sprintf("%d more ranges", len(parts)-maxShown))
	}
	if len(g.of) == 1 {
		return "interaction " + parts[0]
	}
	if last := len(parts) - 1; last > 0 {
		return "interactions " + strings.Join(parts[:last], ", ") + " and " + parts[last]
	}
	return "interactions " + parts[0]
}
