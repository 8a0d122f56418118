// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpwire

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Foreign says why an HTTP request may not be answered, and "" when it may. A
// name of another machine in its Host header may have been made to point here,
// and an Origin that is neither this machine nor the server itself is a page
// that has no business here. hosts are further names that are let in, with or
// without a port, and origins further origins; "*" stands for any.
func Foreign(r *http.Request, hosts, origins []string) string {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	known := func(host string) bool {
		return isLoopback(host) || ok && host == local.String() || listed(hosts, host) || listed(hosts, hostname(host))
	}
	if ok && !known(r.Host) {
		return fmt.Sprintf("Forbidden: invalid Host header %q", r.Host)
	}
	origin := r.Header.Get("Origin")
	if origin == "" || listed(origins, origin) {
		return ""
	}
	if u, err := url.Parse(origin); err != nil || u.Host == "" || u.Host != r.Host && !known(u.Host) {
		return fmt.Sprintf("Forbidden: invalid Origin header %q", origin)
	}
	return ""
}

func listed(list []string, name string) bool {
	return slices.Contains(list, "*") || slices.Contains(list, name)
}

// hostname is host without a port.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

// isLoopback reports whether host, with or without a port, is this machine.
func isLoopback(host string) bool {
	host = hostname(host)
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.IsLoopback()
}
