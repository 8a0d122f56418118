// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockserver

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
)

// player is one conversation with a mock.
type player interface {
	reset()
}

// stock is what a server plays, and the conversations that it plays it to.
type stock[Script any, C player] struct {
	mu       sync.Mutex // guards what follows
	script   Script
	version  int // of the script, from 1
	reload   string
	stopping bool
	live     map[string]C
}

// put puts script in the place of the one that is played. first is its default
// conversation; those with the old one are returned. s.mu is held.
func (s *stock[Script, C]) put(script Script, first C) (old []C) {
	old = slices.Collect(maps.Values(s.live))
	s.live = map[string]C{"": first}
	s.script = script
	s.version++
	s.reload = ""
	return old
}

// Failed notes that a newer script could not be loaded, until one is.
func (s *stock[Script, C]) Failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reload = err.Error()
}

// Stop has /health say that the server is about to end.
func (s *stock[Script, C]) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping = true
}

// conversations are those that began, by id.
func (s *stock[Script, C]) conversations() (ids []string, list []C) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids = slices.Sorted(maps.Keys(s.live))
	for _, id := range ids {
		list = append(list, s.live[id])
	}
	return ids, list
}

// serveHealth says 200 while there is something to serve, and 503 when the
// server is about to end.
func (s *stock[Script, C]) serveHealth(w http.ResponseWriter) {
	type health struct {
		Status        string `json:"status"` // healthy, stale or stopping
		Script        int    `json:"script"` // how many were loaded so far
		Conversations int    `json:"conversations"`
		Reload        string `json:"reload_error,omitempty"`
	}
	s.mu.Lock()
	h, status := health{"healthy", s.version, len(s.live), s.reload}, http.StatusOK
	switch {
	case s.stopping:
		h.Status, status = "stopping", http.StatusServiceUnavailable
	case s.reload != "":
		h.Status = "stale"
	}
	s.mu.Unlock()
	writeJSON(w, status, h)
}

// stocked is a server as far as its admin API is the same for every mock.
type stocked[Script any, C player] interface {
	Load(script Script) error
	replace(id string, script Script) error
	forget(id string)
	conversations() (ids []string, list []C)
}

// serveReset starts a conversation over; where none is named, all of them,
// and those with names are forgotten.
func serveReset[Script any, C player](w http.ResponseWriter, t target, s stocked[Script, C]) {
	ids, list := s.conversations()
	for i, id := range ids {
		if t.all && id != "" {
			s.forget(id)
		} else if id == t.id {
			list[i].reset()
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// serveForget forgets a conversation.
func serveForget[Script any, C player](w http.ResponseWriter, t target, s stocked[Script, C]) {
	s.forget(t.id)
	w.WriteHeader(http.StatusNoContent)
}

// serveLoad puts another script in place: for a conversation, or for all.
func serveLoad[Script any, C player](w http.ResponseWriter, r *http.Request, t target, s stocked[Script, C], parse func([]byte) (Script, error)) {
	data, ok := readBody(w, r)
	if !ok {
		return
	}
	if parse == nil {
		writeError(w, http.StatusNotImplemented, errors.New("this server loads no scripts"))
		return
	}
	script, err := parse(data)
	if err == nil && t.all {
		err = s.Load(script)
	} else if err == nil {
		err = s.replace(t.id, script)
	}
	if err != nil {
		writeError(w, http.StatusBadRequest, fmt.Errorf("the script is not loaded, all is as before: %w", err))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
