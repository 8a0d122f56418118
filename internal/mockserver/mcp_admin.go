// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// serveAdmin answers a request to the admin API.
func (s *MCP) serveAdmin(w http.ResponseWriter, r *http.Request, t target, name string) {
	name, cue := cueAdmin(name)
	switch r.Method + " " + name {
	case "GET journal":
		s.show(w, t, func(m *mockmcp.Server) any { return some(m.Journal()) })
	case "GET frames":
		s.show(w, t, func(m *mockmcp.Server) any { return some(m.Frames()) })
	case "GET state":
		s.show(w, t, func(m *mockmcp.Server) any { return m.State() })
	case "GET state/diff":
		s.show(w, t, func(m *mockmcp.Server) any { return m.StateDiff() })
	case "PUT state":
		s.serveSetState(w, r, t)
	case "GET expectations":
		s.show(w, t, func(m *mockmcp.Server) any { return findingsOf(m) })
	case "GET conversations":
		s.serveConversations(w)
	case "GET health":
		s.serveHealth(w)
	case "GET metrics":
		s.serveMetrics(w)
	case "GET held/":
		if g, err := s.find(t.id); err != nil {
			writeError(w, http.StatusServiceUnavailable, err)
		} else {
			serveHeld(w, r, g.server, cue)
		}
	case "POST cue/":
		ids, list := s.conversations()
		if i := slices.Index(ids, t.id); i >= 0 {
			serveCue(w, list[i].server, cue)
		} else {
			noConversation(w, t.id, ids)
		}
	case "POST reset":
		serveReset(w, t, s)
	case "POST load":
		serveLoad(w, r, t, s, s.opts.Parse)
	case "POST verify":
		s.serveVerify(w, r, t)
	case "DELETE conversation":
		serveForget(w, t, s)
	default:
		writeError(w, http.StatusNotFound, fmt.Errorf("the admin API has no %s %s", r.Method, r.URL.Path))
	}
}

// some is a list that is [] in JSON when it is empty.
func some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// show answers with what a conversation has to show, even before it began.
func (s *MCP) show(w http.ResponseWriter, t target, f func(*mockmcp.Server) any) {
	if g, err := s.find(t.id); err != nil {
		writeError(w, http.StatusServiceUnavailable, err)
	} else {
		writeJSON(w, http.StatusOK, f(g.server))
	}
}

// findings say how many calls came and what went against the script.
type findings struct {
	OK    bool `json:"ok"` // every fault struck, and there are no problems
	Calls int  `json:"calls"`
	// Unstruck are the faults that met no request yet.
	Unstruck []string `json:"unstruck"`
	// Problems are misses and errors of the script.
	Problems []string `json:"problems"`
}

func findingsOf(m *mockmcp.Server) findings {
	f := findings{Unstruck: []string{}, Problems: []string{}}
	if j := m.Journal(); len(j) > 0 {
		f.Calls = j[len(j)-1].Seq // with those that the journal has no room for
	}
	for _, x := range m.Unstruck() {
		f.Unstruck = append(f.Unstruck, strings.TrimSpace(fmt.Sprintf("%s %s", x.Kind, x.Pos)))
	}
	for _, err := range unjoin(m.Err()) {
		f.Problems = append(f.Problems, err.Error())
	}
	f.OK = len(f.Unstruck)+len(f.Problems) == 0
	return f
}

func (s *MCP) serveSetState(w http.ResponseWriter, r *http.Request, t target) {
	data, ok := readBody(w, r)
	if !ok {
		return
	}
	g, err := s.find(t.id)
	if err != nil {
		writeError(w, http.StatusServiceUnavailable, err)
		return
	}
	if err := g.server.SetState(json.RawMessage(data)); err != nil {
		writeError(w, http.StatusBadRequest, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *MCP) serveConversations(w http.ResponseWriter) {
	type row struct {
		ID       string `json:"id"`
		Calls    int    `json:"calls"`
		Problems int    `json:"problems"`
	}
	rows := []row{}
	ids, list := s.conversations()
	for i, g := range list {
		f := findingsOf(g.server)
		rows = append(rows, row{ids[i], f.Calls, len(f.Problems)})
	}
	writeJSON(w, http.StatusOK, rows)
}

func (s *MCP) serveMetrics(w http.ResponseWriter) {
	misses := 0
	faults := map[string]int{}
	_, list := s.conversations()
	for _, g := range list {
		for _, x := range g.server.Journal() {
			if x.Miss != "" {
				misses++
			}
		}
		for _, f := range g.server.Frames() {
			if f.Fault != "" {
				faults[f.Fault]++
			}
		}
	}
	w.Header().Set("Content-Type", metricsType)
	s.metrics.writeMCP(w, len(list), misses, faults)
}

// frameOf is a frame as an assertion sees it: its body is JSON where it can be.
type frameOf struct {
	harness.Frame
	Body json.RawMessage `json:"body,omitempty"`
}
