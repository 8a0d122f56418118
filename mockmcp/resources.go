// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// The requests beside tools/call that are answered from the script.
const (
	methodRead     = "resources/read"
	methodGet      = "prompts/get"
	methodComplete = "completion/complete"
)

// codeNotFound is how a resource that there is not is told of up to
// 2025-11-25. Later it is an invalid parameter.
const codeNotFound = -32002

// found is what a request leads to: the steps before the answer, and how to
// compute it from what the client was asked meanwhile.
type found struct {
	what, name string // for messages
	before     []Step
	answer     func(q *Query) (map[string]any, error)
}

// resource finds what a resources/read reads.
func (o *offer) resource(uri string, modern bool) (*found, *Query, *jsonrpc.Error) {
	q := &Query{URI: uri}
	f := &found{what: "resource", name: uri}
	if r, ok := o.resources.byName[uri]; ok {
		f.before = r.Before
		f.answer = func(q *Query) (map[string]any, error) {
			c := &ResourceContent{Text: r.Text, Blob: r.Blob}
			if r.Func != nil {
				var err error
				if c, err = r.Func(q); err != nil {
					return nil, err
				}
			}
			return contents(c, uri, r.MIMEType)
		}
		return f, q, nil
	}
	for _, t := range o.templates.items {
		match := t.uris.Match(uri)
		if match == nil {
			continue
		}
		q.Vars = make(map[string]string, len(match))
		for name, v := range match {
			q.Vars[name] = v.String()
			if len(v.V) > 1 {
				q.Vars[name] = strings.Join(v.V, ",")
			}
		}
		f.before = t.Before
		f.answer = func(q *Query) (map[string]any, error) {
			c := &ResourceContent{Text: t.Text}
			if t.Func != nil {
				var err error
				if c, err = t.Func(q); err != nil {
					return nil, err
				}
			}
			return contents(c, uri, t.MIMEType)
		}
		return f, q, nil
	}
	return nil, nil, notFound(uri, modern)
}

func notFound(uri string, modern bool) *jsonrpc.Error {
	code := codeNotFound
	if modern {
		code = mcpwire.CodeInvalidParams
	}
	return &jsonrpc.Error{Code: code, Message: "Resource not found", Data: mcpwire.Marshal(map[string]string{"uri": uri})}
}

// errGone is the error of a computed resource that is not there after all.
var errGone = errors.New("no such resource")

// contents is the result of a read.
func contents(c *ResourceContent, uri, mimeType string) (map[string]any, error) {
	if c == nil {
		return nil, errGone
	}
	if c.MIMEType != "" {
		mimeType = c.MIMEType
	}
	if len(c.Meta) > 0 && !mcpwire.IsObject(c.Meta) {
		return nil, fmt.Errorf("the _meta of the content is not a JSON object: %s", prose.Excerpt(c.Meta, 60))
	}
	text, blob := &c.Text, (*[]byte)(nil)
	if c.Blob != nil {
		text, blob = nil, &c.Blob
	}
	return map[string]any{"contents": []any{struct {
		URI      string          `json:"uri"`
		MIMEType string          `json:"mimeType,omitempty"`
		Text     *string         `json:"text,omitempty"`
		Blob     *[]byte         `json:"blob,omitempty"`
		Meta     json.RawMessage `json:"_meta,omitempty"`
	}{uri, mimeType, text, blob, c.Meta}}}, nil
}
