// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package vcr

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// aliasBudget bounds how many aliases of a file are followed: recorders write
// none, and nested ones grow without bound.
const aliasBudget = 1000

// walk reads the nodes of a document.
type walk struct {
	name   string
	budget int
}

func (w *walk) errorf(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d:%d: %s", w.name, n.Line, n.Column, fmt.Sprintf(format, args...))
}

// follow returns the node that an alias stands for.
func (w *walk) follow(n *yaml.Node) (*yaml.Node, error) {
	for n.Kind == yaml.AliasNode {
		if w.budget--; w.budget < 0 {
			return nil, w.errorf(n, "there are more than %d aliases", aliasBudget)
		}
		n = n.Alias
	}
	return n, nil
}

// object returns the values of a map by key.
func (w *walk) object(n *yaml.Node, what string) (map[string]*yaml.Node, error) {
	n, err := w.follow(n)
	if err != nil {
		return nil, err
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil, w.errorf(n, "%s is null", what)
	}
	if n.Kind != yaml.MappingNode {
		return nil, w.errorf(n, "%s is no map", what)
	}
	m := make(map[string]*yaml.Node, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			return nil, w.errorf(key, "a key of %s is no text", what)
		}
		name, err := w.text(key)
		if err != nil {
			return nil, err
		}
		if first, twice := m[name]; twice {
			return nil, w.errorf(key, "the key %q is there twice; the first is at line %d", name, first.Line)
		}
		if value, err = w.follow(value); err != nil {
			return nil, err
		}
		m[name] = value
	}
	return m, nil
}

func (w *walk) version(n, root *yaml.Node) (int, error) {
	if n == nil {
		return 0, w.errorf(root, "there is no version: is this a cassette?")
	}
	switch n.Value {
	case "1":
		return 1, nil
	case "2":
		return 2, nil
	}
	return 0, w.errorf(n, "version %q is unknown: want 1 (go-vcr v1 and v2, vcrpy) or 2 (go-vcr v3 and v4)", n.Value)
}

// interaction reads one entry; python says that it is vcrpy's.
func (w *walk) interaction(n *yaml.Node, version int) (i *Interaction, python bool, err error) {
	m, err := w.object(n, "an interaction")
	if err != nil {
		return nil, false, err
	}
	for _, part := range []string{"request", "response"} {
		if m[part] == nil {
			return nil, false, w.errorf(n, "an interaction has no %s", part)
		}
	}
	i = &Interaction{Line: n.Line}
	request, err := w.object(m["request"], "request")
	if err != nil {
		return nil, false, err
	}
	response, err := w.object(m["response"], "response")
	if err != nil {
		return nil, false, err
	}
	python = version == 1 && request["uri"] != nil
	if err := w.request(&i.Request, request, m["request"]); err != nil {
		return nil, false, err
	}
	if err := w.response(&i.Response, response, m["response"]); err != nil {
		return nil, false, err
	}
	if python {
		i.Meta.Coding = i.Response.Header.Get("Content-Encoding")
	}
	return i, python, nil
}

func (w *walk) request(r *Request, m map[string]*yaml.Node, at *yaml.Node) (err error) {
	if r.Body, err = w.bytes(m["body"], "the body of a request"); err != nil {
		return err
	}
	if r.Header, err = w.header(m["headers"]); err != nil {
		return err
	}
	address := m["url"]
	if address == nil {
		address = m["uri"] // vcrpy
	}
	if r.URL, err = w.text(address); err != nil {
		return err
	}
	if r.URL == "" {
		return w.errorf(at, "a request has no url")
	}
	if r.Method, err = w.text(m["method"]); err != nil {
		return err
	}
	if r.Method == "" {
		r.Method = http.MethodGet // as net/http has it
	}
	return nil
}

func (w *walk) response(r *Response, m map[string]*yaml.Node, at *yaml.Node) (err error) {
	body := m["body"]
	if body != nil && body.Kind == yaml.MappingNode { // vcrpy
		inner, err := w.object(body, "the body of a response")
		if err != nil {
			return err
		}
		if body = inner["string"]; body == nil {
			body = inner["base64_string"]
		}
	}
	if r.Body, err = w.bytes(body, "the body of a response"); err != nil {
		return err
	}
	if r.Header, err = w.header(m["headers"]); err != nil {
		return err
	}
	if r.Trailer, err = w.header(m["trailer"]); err != nil {
		return err
	}
	if len(r.Trailer) == 0 {
		r.Trailer = nil
	}
	code, status := m["code"], m["status"]
	if status != nil && status.Kind == yaml.MappingNode { // vcrpy
		inner, err := w.object(status, "the status of a response")
		if err != nil {
			return err
		}
		code, status = inner["code"], inner["message"]
	}
	if r.Status, err = w.text(status); err != nil {
		return err
	}
	if code == nil {
		return w.errorf(at, "a response has no code")
	}
	if r.Code, err = strconv.Atoi(code.Value); err != nil || r.Code < 0 || r.Code > 999 {
		return w.errorf(code, "%q is no status code", code.Value)
	}
	if text := strconv.Itoa(r.Code); r.Code != 0 && !strings.HasPrefix(r.Status, text) { // vcrpy has the words alone
		r.Status = strings.TrimSpace(text + " " + r.Status)
	}
	r.Duration, err = w.duration(m["duration"])
	return err
}

// duration reads what recorders wrote over the years: `120ms`, a number of
// nanoseconds, or an empty text.
func (w *walk) duration(n *yaml.Node) (time.Duration, error) {
	if n == nil || n.Kind == yaml.ScalarNode && (n.Value == "" || n.Tag == "!!null") {
		return 0, nil
	}
	if n.Kind == yaml.ScalarNode {
		if d, err := time.ParseDuration(n.Value); err == nil {
			return d, nil
		}
		if ns, err := strconv.ParseInt(n.Value, 10, 64); err == nil {
			return time.Duration(ns), nil
		}
	}
	return 0, w.errorf(n, "%q is no duration, such as 120ms", n.Value)
}

// bytes reads a body: absent and null are empty.
func (w *walk) bytes(n *yaml.Node, what string) ([]byte, error) {
	switch {
	case n == nil, n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		return nil, nil
	case n.Kind != yaml.ScalarNode:
		return nil, w.errorf(n, "%s is no text", what)
	case n.Tag == "!!binary" || n.Tag == "tag:yaml.org,2002:binary":
		b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.Value), ""))
		if err != nil {
			return nil, w.errorf(n, "%s is no base64: %v", what, err)
		}
		return b, nil
	}
	return []byte(n.Value), nil
}

func (w *walk) text(n *yaml.Node) (string, error) {
	b, err := w.bytes(n, "a value")
	return string(b), err
}

// header reads a map of names to lists of values; a value alone counts as a
// list of one.
func (w *walk) header(n *yaml.Node) (http.Header, error) {
	h := http.Header{}
	if n == nil || n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return h, nil
	}
	m, err := w.object(n, "headers")
	if err != nil {
		return nil, err
	}
	for name, values := range m {
		items := []*yaml.Node{values}
		if values.Kind == yaml.SequenceNode {
			items = values.Content
		}
		list := make([]string, 0, len(items))
		for _, item := range items {
			if item, err = w.follow(item); err != nil {
				return nil, err
			}
			v, err := w.text(item)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		name = http.CanonicalHeaderKey(name)
		h[name] = append(h[name], list...)
	}
	return h, nil
}
