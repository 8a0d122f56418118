// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// refusals are the answers of an endpoint that refuses the key. One that takes
// it for another request has answered, and differs.
type refusals struct {
	list  []refusal
	taken bool // the key, at least once
}

// refusal is an answer of 401 or 403, and where it stands.
type refusal struct {
	file, interaction int
	text              string
}

func (r *refusals) add(was, is *vcr.Interaction, what refusal) {
	switch code := is.Response.Code; {
	case code == was.Response.Code || code != http.StatusUnauthorized && code != http.StatusForbidden:
		r.taken = true
	default:
		r.list = append(r.list, what)
	}
}

// all reports whether there were no other answers, and at least n.
func (r *refusals) all(n int) bool { return !r.taken && len(r.list) >= n }

// refusalOf is what a person is told of a refusal, without the key.
func (d *drifter) refusalOf(is *vcr.Interaction) string {
	text := fmt.Sprintf("the endpoint refused the key: HTTP %d", is.Response.Code)
	said := saidOfError(is.Response.Body)
	for _, values := range d.header {
		for _, v := range values {
			for _, secret := range append([]string{v}, strings.Fields(v)...) {
				if len(secret) >= 6 && !strings.EqualFold(secret, "bearer") {
					said = strings.ReplaceAll(said, secret, redact.Mark("key"))
				}
			}
		}
	}
	if said != "" {
		text += ": " + prose.Shorten(said, 300)
	}
	return text
}

// saidOfError is the message in the body of an error, in one line.
func saidOfError(body []byte) string {
	var whole struct {
		Error           json.RawMessage
		Message, Detail string
	}
	said := string(body)
	if json.Unmarshal(body, &whole) == nil {
		var inner struct{ Message string }
		var text string
		_, _ = json.Unmarshal(whole.Error, &inner), json.Unmarshal(whole.Error, &text) // one of them, or neither
		said = cmp.Or(inner.Message, text, whole.Message, whole.Detail, said)
	}
	return strings.Join(strings.Fields(said), " ")
}
