// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/redirect"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// originKey is the key of the context under which the proxy asks where an answer
// is from, and prefixKey that of what it took from the front of the client's path.
type (
	originKey struct{}
	prefixKey struct{}
)

// origin is where an answer is from.
type origin struct {
	url      *url.URL         // what the endpoint was asked for
	base     string           // the path of the endpoint's address, as it is sent
	recorded *vcr.Interaction // of a replay; it has another url and base
}

// inward is a Location for the client of a proxy: one that leads to the endpoint
// leads to the proxy in its place, for the client would leave it else, and reach
// the network in a replay. One that leads elsewhere stays.
func (o *origin) inward(location string, req *http.Request) string {
	asked, base := o.url, o.base
	if o.recorded != nil {
		u, err := url.Parse(o.recorded.Request.URL)
		if err != nil {
			return location
		}
		asked, base = u, o.recorded.Meta.Base
	}
	ref, err := url.Parse(location)
	if err != nil || ref.Host == "" && !strings.HasPrefix(ref.Path, "/") {
		return location // it is below the path that the client knows
	}
	to := asked.ResolveReference(ref)
	path := cmp.Or(to.EscapedPath(), "/")
	if path == base {
		path += "/"
	}
	rest, ok := strings.CutPrefix(path, base+"/")
	if !ok || !redirect.Same(to, asked) {
		return location
	}
	to.Scheme, to.Host, to.User = "http", req.Host, nil
	if req.TLS != nil {
		to.Scheme = "https"
	}
	prefix, _ := req.Context().Value(prefixKey{}).(string)
	setPath(to, prefix+"/"+rest)
	return to.String()
}

// setPath gives an address a path as it is sent.
func setPath(u *url.URL, escaped string) {
	path, err := url.PathUnescape(escaped)
	if err != nil {
		path = escaped
	}
	u.Path, u.RawPath = path, escaped
}
