// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/cues"
	"github.com/rehearse-dev/rehearse/internal/exactjson"
	"github.com/rehearse-dev/rehearse/internal/gate"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// target is what a request to the admin API is about.
type target struct {
	id  string
	all bool // no conversation is named: the default one, and for some all
}

// maxAdminBytes bounds the body of a request to the admin API.
const maxAdminBytes = 8 << 20

// serveAdmin answers a request to the admin API.
func (h *host[S, O, M]) serveAdmin(w http.ResponseWriter, r *http.Request, t target, name string) {
	if r.Method != http.MethodGet {
		defer h.changed()
	}
	name, cue := cueAdmin(name)
	what := r.Method + " " + name
	route, show := h.admin[what], h.shows[what]
	switch {
	case route != nil:
		route(w, r, t)
		return
	case show != nil:
		h.show(w, t, show)
		return
	}
	switch what {
	case "GET health":
		h.serveHealth(w)
	case "GET live":
		h.serveLive(w, r, t)
	case "GET held/":
		h.with(w, t, func(m M) { serveHeld(w, r, m, cue) })
	case "POST cue/":
		if ids, list := h.conversations(); !slices.Contains(ids, t.id) {
			noConversation(w, t.id, ids)
		} else {
			serveCue(w, list[slices.Index(ids, t.id)], cue)
		}
	case "POST reset":
		h.serveReset(w, t)
	case "POST load":
		h.serveLoad(w, r, t)
	case "DELETE conversation":
		h.forget(t.id)
		w.WriteHeader(http.StatusNoContent)
	default:
		known := slices.Concat(slices.Collect(maps.Keys(h.admin)), slices.Collect(maps.Keys(h.shows)),
			[]string{"GET health", "GET held/NAME", "GET live", "POST cue/NAME", "POST reset", "POST load", "DELETE conversation"})
		slices.Sort(known)
		writeError(w, http.StatusNotFound, fmt.Errorf("there is no %s /rehearse/%s%s; there are %s", r.Method, name, cue, strings.Join(known, ", ")))
	}
}

// with calls f with the mock of a conversation, also where it has not begun.
func (h *host[S, O, M]) with(w http.ResponseWriter, t target, f func(M)) {
	c, err := h.enter(t.id)
	if err != nil {
		writeError(w, http.StatusServiceUnavailable, err)
		return
	}
	defer h.leave(c)
	f(c.mock)
}

// show answers with what a conversation has to show. To look at one that has not
// begun does not begin it: its name may be mistyped, and a later verify must
// find that nobody spoke.
func (h *host[S, O, M]) show(w http.ResponseWriter, t target, f func(M) any) {
	h.mu.Lock()
	live, stopping := h.live[t.id] != nil, h.stopping
	script := h.script
	h.mu.Unlock()
	if live || stopping {
		h.with(w, t, func(m M) { writeJSON(w, http.StatusOK, f(m)) })
		return
	}
	m, err := h.fresh(t.id, script)
	if err != nil {
		writeError(w, http.StatusServiceUnavailable, err)
		return
	}
	defer m.Close()
	writeJSON(w, http.StatusOK, f(m))
}

// some is a list that is [] in JSON when it is empty.
func some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// serveHealth says 200 while there is something to serve, and 503 when the
// server is about to end.
func (h *host[S, O, M]) serveHealth(w http.ResponseWriter) {
	type health struct {
		Status        string `json:"status"` // healthy, stale or stopping
		Script        int    `json:"script"` // how many were loaded so far
		Conversations int    `json:"conversations"`
		Reload        string `json:"reload_error,omitempty"`
	}
	h.mu.Lock()
	answer, status := health{"healthy", h.version, len(h.live), h.reload}, http.StatusOK
	switch {
	case h.stopping:
		answer.Status, status = "stopping", http.StatusServiceUnavailable
	case h.reload != "":
		answer.Status = "stale"
	}
	h.mu.Unlock()
	writeJSON(w, status, answer)
}

// serveReset starts a conversation over; where none is named, all of them,
// and those with names are forgotten.
func (h *host[S, O, M]) serveReset(w http.ResponseWriter, t target) {
	if t.all {
		h.mu.Lock()
		h.past = nil
		h.mu.Unlock()
	}
	ids, list := h.conversations()
	for i, id := range ids {
		if t.all && id != "" {
			h.forget(id)
		} else if id == t.id {
			list[i].Reset()
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// serveLoad puts another script in place: for a conversation, or for all.
func (h *host[S, O, M]) serveLoad(w http.ResponseWriter, r *http.Request, t target) {
	data, ok := readBody(w, r, yamlTypes)
	if !ok {
		return
	}
	if h.opts.Parse == nil {
		writeError(w, http.StatusNotImplemented, errors.New("this server loads no scripts"))
		return
	}
	script, err := h.opts.Parse(r.URL.Query().Get("name"), data)
	if err == nil && t.all {
		err = h.Load(script)
	} else if err == nil {
		if err := h.room(posted{id: t.id}, len(data)); err != nil {
			writeError(w, http.StatusServiceUnavailable, err)
			return
		}
		err = h.replace(t.id, script)
	}
	if err != nil {
		writeError(w, http.StatusBadRequest, fmt.Errorf("the script is not loaded, all is as before: %w", err))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// Types of what is sent to the admin API.
var (
	jsonTypes = []string{"application/json"}
	yamlTypes = []string{"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml", "application/json"}
)

// mayAdmin reports whether a request may use the admin API, and answers one
// that may not.
func mayAdmin(w http.ResponseWriter, r *http.Request, token string) bool {
	if gate.Bearer(r, token) {
		return true
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	writeError(w, http.StatusUnauthorized, errors.New("the admin API requires its token, as Authorization: Bearer TOKEN; see --admin-token"))
	return false
}

// readBody reads what is sent to the admin API, which must be of one of these
// types.
func readBody(w http.ResponseWriter, r *http.Request, types []string) (data []byte, ok bool) {
	if !gate.Sent(r, types...) {
		writeError(w, http.StatusUnsupportedMediaType, fmt.Errorf("the body is sent with Content-Type %q; the admin API takes it with Content-Type: %s", r.Header.Get("Content-Type"), types[0]))
		return nil, false
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAdminBytes))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		writeError(w, http.StatusRequestEntityTooLarge, fmt.Errorf("the body is larger than %d bytes", tooLarge.Limit))
		return nil, false
	}
	if err != nil {
		writeError(w, http.StatusBadRequest, fmt.Errorf("reading the body: %w", err))
		return nil, false
	}
	return data, true
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = exactjson.Write(w, v) // the client is gone
}

// writeError answers as an OpenAI endpoint would, since clients print that.
func writeError(w http.ResponseWriter, status int, err error) {
	type body struct {
		Message string `json:"message"`
		Type    string `json:"type"`
	}
	writeJSON(w, status, map[string]body{"error": {strings.TrimSpace(err.Error()), "rehearse_admin"}})
}

// heldTimeout is how long a request waits for something to be held.
const heldTimeout = 30 * time.Second

// cued is a mock that waits for cues.
type cued interface {
	Cue(name string)
	AwaitHeld(ctx context.Context, name string) error
	// Cues are those that the script waits for; all is false when it may wait
	// for others.
	Cues() (names []string, all bool)
}

// cueAdmin takes a name of the admin API apart that is about a cue: cue/ or
// held/, and the cue. Any other is left as it is.
func cueAdmin(name string) (rest, cue string) {
	if verb, cue, _ := strings.Cut(name, "/"); cue != "" && (verb == "cue" || verb == "held") {
		return verb + "/", cue
	}
	return name, ""
}

// knownCue answers with 404 where the script waits for no such cue.
func knownCue(w http.ResponseWriter, m cued, cue string) bool {
	names, all := m.Cues()
	err := cues.Known(cue, names, all)
	if err != nil {
		writeError(w, http.StatusNotFound, err)
	}
	return err == nil
}

// serveCue gives a cue to a conversation that has begun.
func serveCue(w http.ResponseWriter, m cued, cue string) {
	if knownCue(w, m, cue) {
		m.Cue(cue)
		w.WriteHeader(http.StatusNoContent)
	}
}

// noConversation refuses to give a cue to a conversation that has not begun, or
// to judge it: its name is mistyped, or nobody would hear.
func noConversation(w http.ResponseWriter, id string, ids []string) {
	writeError(w, http.StatusNotFound, fmt.Errorf("no conversation %q has begun%s: a request below /t/%s begins one, and so does GET /t/%s/rehearse/held/CUE", id, prose.DidYouMean(id, ids), id, id))
}

// serveHeld answers once something is held until a cue.
func serveHeld(w http.ResponseWriter, r *http.Request, m cued, cue string) {
	if !knownCue(w, m, cue) {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), heldTimeout)
	defer cancel()
	if err := m.AwaitHeld(ctx, cue); err != nil {
		writeError(w, http.StatusGatewayTimeout, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
