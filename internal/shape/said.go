// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package shape

import (
	"bytes"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/chat"
	"github.com/rehearse-dev/rehearse/internal/dialect/gemini"
	"github.com/rehearse-dev/rehearse/internal/dialect/messages"
	"github.com/rehearse-dev/rehearse/internal/dialect/responses"
	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// Said is what an answer says, for people who compare two: the text of the
// model, then its calls of tools in brackets, in one piece whether it was
// streamed or not; else the body as it is.
func Said(i *vcr.Interaction) string {
	for _, d := range []*dialect.Dialect{chat.Dialect, messages.Dialect, gemini.Dialect, responses.Dialect} {
		if text := saidIn(d, i); text != "" {
			return text
		}
	}
	body := bytes.TrimSpace(i.Response.Body)
	if v, err := value.Parse(body); err == nil { // the Argo Gateway
		switch r, _ := v.Get("response"); r.Kind() {
		case value.Object:
			if text := textAt(r, "content"); text != "" {
				return text
			}
		case value.String:
			if r.Str() != "" {
				return r.Str()
			}
		default:
		}
	}
	return string(body)
}

// maxSaid bounds what of an answer is read, and maxChoices how many of the
// answers that were asked for at once.
const (
	maxSaid    = 256 << 20
	maxChoices = 128
)

// saidIn is what an answer says in a dialect: all of its choices, where there
// are several. It is empty in the wrong dialect.
func saidIn(d *dialect.Dialect, i *vcr.Interaction) string {
	limits := dialect.Limits{Body: maxSaid, Event: maxSaid, Arguments: maxSaid}
	var all strings.Builder
	for n := range maxChoices {
		// What is missing at the end does not matter here.
		reply, _ := dialect.ReadChoice(d, n, i.Response.Header, i.Response.Body, limits)
		text := said(reply.Message)
		if text == "" {
			break
		}
		all.WriteString(text)
		if !d.Several {
			break
		}
	}
	return all.String()
}

func said(m harness.Message) string {
	text := m.Text
	for _, c := range m.Calls {
		text += "[" + strings.TrimSuffix(c.Name+" "+c.Arguments, " ") + "]"
	}
	return text
}

// textAt is the string under a key; empty when there is none.
func textAt(v value.Value, key string) string {
	inner, _ := v.Get(key)
	return inner.Str()
}
