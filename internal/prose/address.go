// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package prose

import (
	"net/url"
	"strings"
)

// WholeURL reads a URL that a client of HTTP can be given as it stands: with the
// scheme http or https, and a host. http://:80 has none.
func WholeURL(raw string) (u *url.URL, ok bool) {
	u, err := url.Parse(raw)
	return u, err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

// Address is a URL without what may be secret in it: the user info, the values of
// its query, and the fragment.
//
//	http://me:secret@h/mcp?token=secret    http://h/mcp?token=...
//
// Without a host to be found it is the part before a query.
func Address(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		before, _, more := strings.Cut(raw, "?")
		if i := strings.LastIndexByte(before, '@'); i >= 0 {
			before = "..." + before[i:]
		}
		if more {
			before += "?..."
		}
		return before
	}
	return AddressOf(u)
}

// AddressOf is [Address] of a URL that was read.
func AddressOf(u *url.URL) string {
	shown := *u
	shown.User, shown.Fragment, shown.RawFragment = nil, "", ""
	var names []string
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		switch name, _, valued := strings.Cut(pair, "="); {
		case pair == "":
		case valued:
			names = append(names, name+"=...")
		default: // it is all value, where a token stands alone
			names = append(names, "...")
		}
	}
	shown.RawQuery = strings.Join(names, "&")
	return shown.String()
}
