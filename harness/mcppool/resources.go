// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/exactjson"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// Resource is a resource as its server lists it, or a template of resources.
type Resource struct {
	URI         string // for a template a pattern of RFC 6570
	Name        string
	Description string
	MIMEType    string
	Raw         json.RawMessage // the whole entry, byte for byte
}

// Content is one of the contents of a resource: text, or bytes.
type Content struct {
	URI, MIMEType string
	Text          string
	Blob          []byte // nil for text
}

// Resources lists the resources of the server, walking all pages. A server
// without resources has none; an entry that is no resource costs a warning.
func (s *Session) Resources(ctx context.Context) (list []Resource, warnings []string, err error) {
	return s.resources(ctx, listing{"resources/list", "resources", "resources"}, "uri")
}

// ResourceTemplates lists the patterns of further resources, as
// [Session.Resources] does.
func (s *Session) ResourceTemplates(ctx context.Context) (list []Resource, warnings []string, err error) {
	return s.resources(ctx, listing{"resources/templates/list", "resourceTemplates", "resource templates"}, "uriTemplate")
}

func (s *Session) resources(ctx context.Context, of listing, uri string) (list []Resource, warnings []string, err error) {
	if s.current().server.Resources == nil {
		return nil, nil, nil
	}
	warnings, err = s.pages(ctx, of, func(raw json.RawMessage) error {
		var r struct {
			URI         string `json:"uri"`
			Template    string `json:"uriTemplate"`
			Name        string `json:"name"`
			Description string `json:"description"`
			MIMEType    string `json:"mimeType"`
		}
		if err := exactjson.Unmarshal(raw, &r); err != nil {
			return err
		}
		if uri == "uriTemplate" {
			r.URI = r.Template
		}
		if r.URI == "" {
			return fmt.Errorf("it has no %s", uri)
		}
		list = append(list, Resource{URI: r.URI, Name: r.Name, Description: r.Description, MIMEType: r.MIMEType, Raw: raw})
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return list, warnings, nil
}

// ReadResource reads a resource. The error is of type [*Error].
func (s *Session) ReadResource(ctx context.Context, uri string) ([]Content, error) {
	op := fmt.Sprintf("reading %q of", uri)
	result, err := s.ask(ctx, op, "resources/read", map[string]string{"uri": uri})
	if err != nil {
		return nil, err
	}
	var read struct {
		Contents []struct {
			URI      string  `json:"uri"`
			MIMEType string  `json:"mimeType"`
			Text     *string `json:"text"`
			Blob     *string `json:"blob"`
		} `json:"contents"`
	}
	if err := exactjson.Unmarshal(result, &read); err != nil {
		return nil, s.malformed(op, fmt.Errorf("the answer is not the contents of a resource: %w: %s", err, prose.Excerpt(result, 200)))
	}
	out := make([]Content, 0, len(read.Contents))
	for i, c := range read.Contents {
		content := Content{URI: c.URI, MIMEType: c.MIMEType}
		switch {
		case c.Text != nil:
			content.Text = *c.Text
		case c.Blob == nil:
			return nil, s.malformed(op, fmt.Errorf("content %d has neither text nor blob: %s", i+1, prose.Excerpt(result, 200)))
		default:
			if content.Blob, err = base64.StdEncoding.DecodeString(*c.Blob); err != nil {
				return nil, s.malformed(op, fmt.Errorf("the blob of content %d is not base64: %w", i+1, err))
			}
		}
		out = append(out, content)
	}
	return out, nil
}

// Subscribe asks the server to announce updates of a resource: it sends
// notifications/resources/updated, which [Options.Notified] is given. A
// connection that is opened anew is asked again. A server that has no
// subscriptions is an error.
func (s *Session) Subscribe(ctx context.Context, uri string) error {
	return s.subscribe(ctx, uri, true)
}

// Unsubscribe ends a subscription.
func (s *Session) Unsubscribe(ctx context.Context, uri string) error {
	return s.subscribe(ctx, uri, false)
}

func (s *Session) subscribe(ctx context.Context, uri string, want bool) error {
	op, method := fmt.Sprintf("subscribing to %q of", uri), "resources/subscribe"
	if !want {
		op, method = fmt.Sprintf("unsubscribing from %q of", uri), "resources/unsubscribe"
	}
	c, err := s.connected(ctx, op)
	if err != nil {
		return err
	}
	if c.server.Resources == nil || !c.server.Resources.Subscribe {
		return s.malformed(op, errors.New("the server does not offer subscriptions to resources"))
	}
	remember := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if delete(s.subscribed, uri); want {
			s.subscribed[uri] = true
		}
	}
	if c.modern() {
		remember()
		s.listen(ctx, c)
		return nil
	}
	if _, err := s.ask(ctx, op, method, map[string]string{"uri": uri}); err != nil {
		return err
	}
	remember()
	return nil
}

// resubscribe asks a new connection of the older era for what the old one was
// asked for.
func (s *Session) resubscribe(ctx context.Context, c *conn) {
	if c.modern() {
		return // it was listened to from the start
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.ConnectTimeout)
	defer cancel()
	for _, uri := range s.subscriptions() {
		if _, err := c.request(ctx, "resources/subscribe", map[string]string{"uri": uri}); err != nil {
			s.note("subscribing to %q again: %v", uri, err)
		}
	}
}

func (s *Session) subscriptions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.subscribed))
}

// wanted is what a server of the new era is asked to announce, as far as it can.
func (s *Session) wanted(c *conn) map[string]any {
	wanted := map[string]any{}
	if c.server.Tools.ListChanged {
		wanted["toolsListChanged"] = true
	}
	if uris := s.subscriptions(); len(uris) > 0 && c.server.Resources != nil && c.server.Resources.Subscribe {
		wanted["resourceSubscriptions"] = uris
	}
	return wanted
}
