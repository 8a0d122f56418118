// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package gate

import (
	"net/http"
	"slices"
)

// letIn returns a writer whose answers a page of an origin in the rules may
// read, whatever the answer itself says of that: it may be a recorded one.
func (r Rules) letIn(w http.ResponseWriter, req *http.Request) *answer {
	allow := r.Origins[0]
	if origin := req.Header.Get("Origin"); slices.Contains(r.Origins, "*") {
		allow = "*"
	} else if slices.Contains(r.Origins, origin) {
		allow = origin
	}
	a := &answer{ResponseWriter: w, allow: allow}
	a.mark()
	return a
}

// answer is one that a page may read.
type answer struct {
	http.ResponseWriter
	allow string
	said  bool
}

func (a *answer) mark() {
	h := a.Header()
	h.Set("Access-Control-Allow-Origin", a.allow)
	h.Set("Access-Control-Expose-Headers", "*")
	if a.allow != "*" && !slices.Contains(h.Values("Vary"), "Origin") {
		h.Add("Vary", "Origin")
	}
}

func (a *answer) WriteHeader(status int) {
	if !a.said {
		a.mark()
	}
	a.said = a.said || status >= 200
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(p []byte) (int, error) {
	if !a.said {
		a.WriteHeader(http.StatusOK)
	}
	return a.ResponseWriter.Write(p)
}

// Unwrap lets [http.ResponseController] reach what lies beneath.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// preflight answers a browser that asks what a page may send, which it
// reports.
func preflight(w http.ResponseWriter, req *http.Request) (done bool) {
	if req.Method != http.MethodOptions || req.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE")
	if want := req.Header.Values("Access-Control-Request-Headers"); len(want) > 0 {
		h["Access-Control-Allow-Headers"] = want
	}
	if req.Header.Get("Access-Control-Request-Private-Network") == "true" {
		h.Set("Access-Control-Allow-Private-Network", "true")
	}
	w.WriteHeader(http.StatusNoContent)
	return true
}
