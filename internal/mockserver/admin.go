// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/mockllm"
)

// target is what a request to the admin API is about.
type target struct {
	id  string
	all bool // no conversation is named: the default one, and for some all
}

// maxAdminBytes bounds the body of a request to the admin API.
const maxAdminBytes = 8 << 20

// serveAdmin answers a request to the admin API.
func (s *Server) serveAdmin(w http.ResponseWriter, r *http.Request, t target, name string) {
	name, cue := cueAdmin(name)
	switch r.Method + " " + name {
	case "GET journal":
		s.show(w, t, func(c *conversation) any {
			list := c.mock.Journal()
			if list == nil {
				list = []harness.Exchange{}
			}
			return list
		})
	case "GET expectations":
		s.show(w, t, func(c *conversation) any { return expectationsOf(c.mock) })
	case "GET conversations":
		s.serveConversations(w)
	case "GET health":
		s.serveHealth(w)
	case "GET metrics":
		w.Header().Set("Content-Type", metricsType)
		ids, _ := s.conversations()
		s.metrics.write(w, len(ids))
	case "POST reset":
		serveReset(w, t, s)
	case "POST load":
		serveLoad(w, r, t, s, s.opts.Parse)
	case "POST verify":
		s.serveVerify(w, r, t)
	case "DELETE conversation":
		serveForget(w, t, s)
	case "GET held/":
		if c, err := s.enter(t.id); err != nil {
			writeError(w, http.StatusServiceUnavailable, err)
		} else {
			defer s.leave(c)
			serveHeld(w, r, c.mock, cue)
		}
	case "POST cue/":
		ids, list := s.conversations()
		if i := slices.Index(ids, t.id); i >= 0 {
			serveCue(w, list[i].mock, cue)
		} else {
			noConversation(w, t.id, ids)
		}
	default:
		writeError(w, http.StatusNotFound, fmt.Errorf("there is no %s /rehearse/%s%s; there are GET journal, expectations, conversations, health, metrics and held/NAME, "+
			"POST reset, load, verify and cue/NAME, and DELETE conversation", r.Method, name, cue))
	}
}

// show answers with what a conversation has to show, even before it began.
func (s *Server) show(w http.ResponseWriter, t target, f func(*conversation) any) {
	c, err := s.enter(t.id)
	if err != nil {
		writeError(w, http.StatusServiceUnavailable, err)
		return
	}
	defer s.leave(c)
	writeJSON(w, http.StatusOK, f(c))
}

// place is a position of the script for a client.
type place struct {
	Lane  string `json:"lane,omitempty"`
	Turn  int    `json:"turn"`
	Reply int    `json:"reply"`
	Pos   string `json:"pos,omitempty"`
}

// expectations say how far the script was played, and what went against it.
type expectations struct {
	OK bool `json:"ok"` // nothing is unmet and there are no problems
	// Met are the replies that were asked for, Unmet the others.
	Met   []place `json:"met"`
	Unmet []place `json:"unmet"`
	// Problems are misses, refusals and errors of the script.
	Problems []string `json:"problems"`
}

func expectationsOf(m *mockllm.Mock) expectations {
	e := expectations{Met: []place{}, Unmet: []place{}, Problems: []string{}}
	seen := map[place]bool{}
	for _, x := range m.Outline() {
		p := place{Lane: x.Lane, Turn: x.Turn, Reply: x.Reply}
		if x.Kind == harness.KindReply && !seen[p] {
			seen[p] = true
			e.Met = append(e.Met, p)
		}
	}
	m.EachRemaining(func(lane string, turn, reply int, pos harness.Position) {
		p := place{Lane: lane, Turn: turn, Reply: reply}
		if !pos.IsZero() {
			p.Pos = pos.String()
		}
		e.Unmet = append(e.Unmet, p)
	})
	for _, err := range problems(m) {
		e.Problems = append(e.Problems, err.Error())
	}
	e.OK = len(e.Unmet)+len(e.Problems) == 0
	return e
}

func (s *Server) serveConversations(w http.ResponseWriter) {
	type row struct {
		ID       string `json:"id"`
		Requests int    `json:"requests"`
		Unmet    int    `json:"unmet"`
		Problems int    `json:"problems"`
	}
	rows := []row{}
	ids, list := s.conversations()
	for i, c := range list {
		e := expectationsOf(c.mock)
		rows = append(rows, row{ids[i], len(c.mock.Outline()), len(e.Unmet), len(e.Problems)})
	}
	writeJSON(w, http.StatusOK, rows)
}

func readBody(w http.ResponseWriter, r *http.Request) (data []byte, ok bool) {
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
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // the client is gone
}

// writeError answers as an OpenAI endpoint would, since clients print that.
func writeError(w http.ResponseWriter, status int, err error) {
	type body struct {
		Message string `json:"message"`
		Type    string `json:"type"`
	}
	writeJSON(w, status, map[string]body{"error": {strings.TrimSpace(err.Error()), "rehearse_admin"}})
}
