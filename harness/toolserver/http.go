// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package toolserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/exactjson"
	"github.com/rehearse-dev/rehearse/internal/gate"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// maxBody bounds the body of a request.
const maxBody = 16 << 20

// listing is the answer of GET /tools.
type listing struct {
	View     string       `json:"view"`
	Revision int          `json:"revision"`
	Tools    []listedTool `json:"tools"`
	Toolsets []listedSet  `json:"toolsets"`
}

type listedTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Toolset     string          `json:"toolset"`
}

type listedSet struct {
	ID          string   `json:"id"`
	Description string   `json:"description,omitempty"`
	Active      bool     `json:"active"`
	Tools       []string `json:"tools"`
}

// changing is the body of POST /mcp/admin/toolsets.
type changing struct {
	Action     Action   `json:"action"`
	ToolsetIDs []string `json:"toolset_ids"`
	View       string   `json:"view"`
}

// refusal is the body of an answer that refuses.
type refusal struct {
	Error struct {
		Status  int    `json:"status"`
		Message string `json:"message"`
	} `json:"error"`
}

func (s *Toolserver) routes() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /tools", s.serveList)
	mux.HandleFunc("POST /tools/{name}", s.serveCall)
	mux.Handle("POST /mcp/admin/toolsets", s.admin(s.serveChange))
	mux.Handle("DELETE /mcp/admin/views/{name}", s.admin(func(w http.ResponseWriter, r *http.Request) {
		s.EndView(r.PathValue("name"))
		w.WriteHeader(http.StatusNoContent)
	}))
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { answer(w, map[string]string{"status": "ok"}) })
	mux.Handle("/mcp", s.endpoint())
	s.handler = gate.Rules{Hosts: s.opts.Hosts, Origins: s.opts.Origins}.Handler(mux)
}

// answer writes JSON.
func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = exactjson.Write(w, v) // the client is gone
}

// refuse says what is wrong with a request.
func refuse(w http.ResponseWriter, err error) {
	var body refusal
	body.Error.Status, body.Error.Message = http.StatusInternalServerError, err.Error()
	if e := (*Error)(nil); errors.As(err, &e) {
		body.Error.Status = e.Status
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(body.Error.Status)
	_ = exactjson.Write(w, body) // the client is gone
}

// read reads a body of JSON.
func read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if !gate.Sent(r, "application/json") {
		return nil, &Error{http.StatusUnsupportedMediaType, "send JSON, with Content-Type: application/json"}
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, &Error{http.StatusBadRequest, fmt.Sprintf("reading the body: %v", err)}
	}
	return data, nil
}

// admin lets in whoever has the token.
func (s *Toolserver) admin(serve http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.opts.AdminToken == "" || !gate.Bearer(r, s.opts.AdminToken) { // without a token, there is no admin
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, &Error{http.StatusUnauthorized, "the admin API wants its token: Authorization: Bearer TOKEN"})
			return
		}
		serve(w, r)
	})
}

func (s *Toolserver) serveList(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("view")
	s.refresh(r.Context())
	s.mu.Lock()
	v, err := s.view(name)
	if err != nil {
		s.mu.Unlock()
		refuse(w, err)
		return
	}
	list := listing{View: name, Revision: v.revision, Tools: []listedTool{}, Toolsets: []listedSet{}}
	active := v.active // it is replaced, never written
	sets := slices.Clone(s.sets)
	s.mu.Unlock()
	for i, set := range sets {
		about := listedSet{ID: set.ID, Description: set.Description, Active: active[i], Tools: []string{}}
		for _, t := range set.tools {
			about.Tools = append(about.Tools, t.Name)
			if active[i] {
				list.Tools = append(list.Tools, listedTool{t.Name, t.Description, t.Schema, set.ID})
			}
		}
		list.Toolsets = append(list.Toolsets, about)
	}
	answer(w, list)
}

func (s *Toolserver) serveCall(w http.ResponseWriter, r *http.Request) {
	args, err := read(w, r)
	if err != nil {
		refuse(w, err)
		return
	}
	revision := Now
	if text := r.URL.Query().Get("revision"); text != "" {
		var err error
		if revision, err = strconv.Atoi(text); err != nil || revision < 0 {
			refuse(w, &Error{http.StatusBadRequest, fmt.Sprintf("revision is %q; it is the number that GET /tools gave", text)})
			return
		}
	}
	result, err := s.Call(r.Context(), r.URL.Query().Get("view"), revision, r.PathValue("name"), args)
	switch {
	case err != nil:
		refuse(w, err)
	case result.IsError:
		refuse(w, &Error{http.StatusBadGateway, strings.TrimPrefix(result.Text, mcpwire.ErrorMark)})
	case json.Valid([]byte(result.Text)):
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, result.Text) // the client is gone
	default:
		answer(w, map[string]string{"result": result.Text})
	}
}

func (s *Toolserver) serveChange(w http.ResponseWriter, r *http.Request) {
	data, err := read(w, r)
	var c changing
	if err == nil {
		if e := json.Unmarshal(data, &c); e != nil {
			err = &Error{http.StatusBadRequest, fmt.Sprintf(`the body is {"action": "ACTIVATE", "toolset_ids": ["ID"]}, with "view" where it is not the default one: %v`, e)}
		}
	}
	var change *Change
	if err == nil {
		change, err = s.Change(c.View, c.Action, c.ToolsetIDs)
	}
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, change)
}
