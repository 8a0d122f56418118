// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package vcr

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/filepos"
)

// aliasBudget bounds how many aliases of a file are followed: recorders write
// none, and nested ones grow without bound.
const aliasBudget = 1000

// walk reads the nodes of a document. What is wrong first is its error; what is
// read after that means nothing.
type walk struct {
	name   string
	budget int
	err    error
}

func (w *walk) fail(n *yaml.Node, format string, args ...any) {
	if w.err == nil {
		w.err = filepos.Errorf(harness.Position{File: w.name, Line: n.Line, Col: n.Column}, format, args...)
	}
}

// isNull reports whether a node is not there, or null.
func isNull(n *yaml.Node) bool {
	return n == nil || n.Kind == yaml.ScalarNode && n.Tag == "!!null"
}

// follow returns the node that an alias stands for.
func (w *walk) follow(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		if w.budget--; w.budget < 0 {
			w.fail(n, "the file has more than %d aliases", aliasBudget)
			return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
		}
		n = n.Alias
	}
	return n
}

// member is a key of a map with its value.
type member struct {
	key   *yaml.Node
	name  string
	value *yaml.Node
}

// members are the keys of a map with their values, after those that its merge
// key (`<<`) takes over: as the libraries of go-vcr and vcrpy have it, a key of
// the map itself goes before, then the first of several maps.
func (w *walk) members(n *yaml.Node, what string) []member {
	n = w.follow(n)
	switch {
	case isNull(n):
		w.fail(n, "%s is null", what)
	case n.Kind != yaml.MappingNode:
		w.fail(n, "%s is not a map", what)
	}
	if w.err != nil {
		return nil
	}
	own := make([]member, 0, len(n.Content)/2)
	lines := make(map[string]int, len(n.Content)/2)
	var merged []member
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			w.fail(key, "a key of %s is not a string", what)
		}
		name := w.text(key)
		if first, twice := lines[name]; twice {
			w.fail(key, "duplicate key %q; the first is at line %d", name, first)
		}
		lines[name] = key.Line
		if name == "<<" && key.ShortTag() == "!!merge" {
			merged = w.merged(n.Content[i+1])
			continue
		}
		own = append(own, member{key, name, w.follow(n.Content[i+1])})
	}
	if merged == nil {
		return own
	}
	delete(lines, "<<")
	var all []member
	for _, m := range merged {
		if _, known := lines[m.name]; !known {
			lines[m.name] = m.key.Line
			all = append(all, m)
		}
	}
	return append(all, own...)
}

// merged are the members that a merge key takes over, of a map or a list of
// maps.
func (w *walk) merged(n *yaml.Node) []member {
	n = w.follow(n)
	if n.Kind != yaml.SequenceNode {
		return w.members(n, "what `<<` merges")
	}
	var all []member
	for _, item := range n.Content {
		all = append(all, w.members(item, "what `<<` merges")...)
	}
	return all
}

// object returns the values of a map by key.
func (w *walk) object(n *yaml.Node, what string) map[string]*yaml.Node {
	list := w.members(n, what)
	m := make(map[string]*yaml.Node, len(list))
	for _, x := range list {
		m[x.name] = x.value
	}
	return m
}

// What the recorders write of a request or of an answer, whether we read it or
// not. `content` and what follows are of old versions of vcrpy.
var (
	requestKeys = []string{
		"body", "content_length", "form", "headers", "host", "method", "parsed_body", "proto", "proto_major", "proto_minor",
		"remote_addr", "request_uri", "trailer", "transfer_encoding", "uri", "url",
	}
	responseKeys = []string{
		"body", "code", "content_length", "duration", "headers", "parsed_body", "proto", "proto_major", "proto_minor", "status", "trailer",
		"transfer_encoding", "uncompressed", "url", "content", "http_version", "protocol", "status_code", "version",
	}
)

// known refuses a key that no recorder writes where the headers or the body are
// missing, which may stand under it. Beside them it is one of a later version.
func (w *walk) known(n *yaml.Node, m map[string]*yaml.Node, what string, keys []string) {
	_, body := m["body"]
	_, parsed := m["parsed_body"]
	_, headers := m["headers"]
	missing := "body"
	switch {
	case (body || parsed) && headers:
		return
	case body || parsed:
		missing = "headers"
	}
	for _, x := range w.members(n, what) {
		if !slices.Contains(keys, x.name) {
			w.fail(x.key, "%s has no %s, but has %q, which is unknown; check its spelling", what, missing, x.name)
		}
	}
}

func (w *walk) version(n, root *yaml.Node) int {
	switch {
	case n == nil:
		w.fail(root, "the version is missing: is this a cassette?")
	case n.Value == "1":
		return 1
	case n.Value == "2":
		return 2
	default:
		w.fail(n, "version %q is unknown: want 1 (go-vcr v1 and v2, vcrpy) or 2 (go-vcr v3 and v4)", n.Value)
	}
	return 0
}

// interaction reads one entry; python says that it is vcrpy's.
func (w *walk) interaction(n *yaml.Node, version int) (i *Interaction, python bool) {
	i = &Interaction{Line: n.Line}
	m := w.object(n, "an interaction")
	for _, part := range []string{"request", "response"} {
		if m[part] == nil {
			w.fail(n, "an interaction has no %s", part)
			return i, false
		}
	}
	request, response := w.object(m["request"], "request"), w.object(m["response"], "response")
	w.request(&i.Request, request, m["request"])
	w.response(&i.Response, response, m["response"])
	w.known(m["request"], request, "a request", requestKeys)
	w.known(m["response"], response, "a response", responseKeys)
	return i, version == 1 && request["uri"] != nil
}

func (w *walk) request(r *Request, m map[string]*yaml.Node, at *yaml.Node) {
	r.Body = w.body(m, "the body of a request")
	r.Header = w.header(m["headers"])
	if r.URL = w.text(cmp.Or(m["url"], m["uri"])); r.URL == "" { // uri is vcrpy's
		w.fail(at, "a request has no url")
	}
	r.Method = cmp.Or(w.text(m["method"]), http.MethodGet) // as net/http has it
}

func (w *walk) response(r *Response, m map[string]*yaml.Node, at *yaml.Node) {
	r.Body = w.body(m, "the body of a response")
	r.Header = w.header(m["headers"])
	if r.Trailer = w.header(m["trailer"]); len(r.Trailer) == 0 {
		r.Trailer = nil
	}
	code, status := m["code"], m["status"]
	if status != nil && status.Kind == yaml.MappingNode { // vcrpy
		inner := w.object(status, "the status of a response")
		code, status = inner["code"], inner["message"]
	}
	r.Status = w.text(status)
	if code == nil {
		w.fail(at, "a response has no code")
		return
	}
	var err error
	if r.Code, err = strconv.Atoi(code.Value); err != nil || r.Code < 0 || r.Code > 999 {
		w.fail(code, "%q is not a status code", code.Value)
	}
	if text := strconv.Itoa(r.Code); r.Code != 0 && !strings.HasPrefix(r.Status, text) { // vcrpy has the words alone
		r.Status = strings.TrimSpace(text + " " + r.Status)
	}
	r.Duration = w.duration(m["duration"])
}

// duration reads what recorders wrote over the years: `120ms`, a number of
// nanoseconds, or an empty text.
func (w *walk) duration(n *yaml.Node) time.Duration {
	if isNull(n) || n.Kind == yaml.ScalarNode && n.Value == "" {
		return 0
	}
	if n.Kind == yaml.ScalarNode {
		if d, err := time.ParseDuration(n.Value); err == nil {
			return d
		}
		if ns, err := strconv.ParseInt(n.Value, 10, 64); err == nil {
			return time.Duration(ns)
		}
	}
	w.fail(n, "%q is not a duration such as 120ms", n.Value)
	return 0
}

// bytes reads a body: absent and null are empty.
func (w *walk) bytes(n *yaml.Node, what string) []byte {
	switch {
	case isNull(n):
		return nil
	case n.Kind != yaml.ScalarNode:
		w.fail(n, "%s is not a string", what)
		return nil
	case n.Tag == "!!binary" || n.Tag == "tag:yaml.org,2002:binary":
		b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.Value), ""))
		if err != nil {
			w.fail(n, "%s is not base64: %v", what, err)
		}
		return b
	}
	return []byte(n.Value)
}

func (w *walk) text(n *yaml.Node) string { return string(w.bytes(n, "a value")) }

// header reads a map of names to lists of values; a value alone counts as a
// list of one.
func (w *walk) header(n *yaml.Node) http.Header {
	h := http.Header{}
	if isNull(n) {
		return h
	}
	for _, x := range w.members(n, "headers") {
		items := []*yaml.Node{x.value}
		if x.value.Kind == yaml.SequenceNode {
			items = x.value.Content
		}
		name := http.CanonicalHeaderKey(x.name)
		if h[name] == nil {
			h[name] = make([]string, 0, len(items))
		}
		for _, item := range items {
			h[name] = append(h[name], w.text(w.follow(item)))
		}
	}
	return h
}
