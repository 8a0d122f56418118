// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockserver

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/look"
)

//go:embed web/journal.tmpl web/journal.css web/journal.js
var web embed.FS

// servePage answers with the page that shows the journal. The page is the same
// for everybody; it asks "GET live" for what it shows.
func servePage(w http.ResponseWriter) {
	page, policy, err := journalPage()
	if err != nil {
		writeError(w, http.StatusInternalServerError, err)
		return
	}
	for name, value := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy, "Cache-Control": "no-store",
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		w.Header().Set(name, value)
	}
	_, _ = w.Write(page) // the client is gone
}

// journalPage is the page, and the policy that admits its own style and script
// and requests to where it came from.
func journalPage() (page []byte, policy string, err error) {
	tmpl, err := look.Parse(template.New("journal"))
	if err == nil {
		tmpl, err = tmpl.ParseFS(web, "web/journal.tmpl")
	}
	if err != nil {
		return nil, "", fmt.Errorf("reading the template of the journal: %w", err)
	}
	own, err := web.ReadFile("web/journal.css")
	if err != nil {
		return nil, "", err
	}
	js, err := web.ReadFile("web/journal.js")
	if err != nil {
		return nil, "", err
	}
	css := append(look.CSS(), own...)
	var out bytes.Buffer
	if err := tmpl.ExecuteTemplate(&out, "journal.tmpl", struct {
		CSS template.CSS
		JS  template.JS
	}{template.CSS(css), template.JS(js)}); err != nil {
		return nil, "", fmt.Errorf("rendering the journal: %w", err)
	}
	policy = fmt.Sprintf("default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; connect-src 'self'; img-src data:; style-src %s; script-src %s",
		look.Digest(css), look.Digest(js))
	return out.Bytes(), policy, nil
}

// Bounds of what the page shows at once.
const (
	maxShown = 50   // conversations
	maxRows  = 300  // entries of them
	maxText  = 8000 // bytes of one text
)

// entry is one line of the page, and what is below it. Its texts are finished:
// the page has them stand as they are.
type entry struct {
	ID    string    `json:"id"`   // of the conversation; empty for the default one
	Kind  string    `json:"kind"` // exchange, call or frame
	Seq   int       `json:"seq"`
	At    time.Time `json:"at"`
	Class string    `json:"class"` // passed, failed, error or skipped, for the icon
	Word  string    `json:"word"`
	Fault string    `json:"fault,omitempty"`
	Short string    `json:"short"`
	Open  bool      `json:"open,omitempty"` // it needs to be read
	Facts []fact    `json:"facts,omitempty"`
	Texts []fact    `json:"texts,omitempty"`
	Again bool      `json:"again,omitempty"` // "GET scenario" has its conversation
}

// fact is a text and what it is.
type fact struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// shown is what the page asks for.
type shown struct {
	Conversations int     `json:"conversations"` // that fit what was asked
	Shown         int     `json:"shown"`         // of which are shown
	Entries       []entry `json:"entries"`       // the newest first
}

// changed says that the page has something else to show.
func (h *host[S, O, M]) changed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changes++
}

// serveLive answers with the last entries of the conversation that is named, or
// of those with the text of "find" in their ids that were asked last. It answers
// 304 to a page that has them already.
func (h *host[S, O, M]) serveLive(w http.ResponseWriter, r *http.Request, t target) {
	find := strings.ToLower(r.URL.Query().Get("find"))
	type asked struct {
		id   string
		mock M
		used int
	}
	var list []asked
	h.mu.Lock()
	// While nothing happens, which is most of the time, nothing is collected.
	stamp := fmt.Sprintf(`"%d-%d-`, h.version, h.changes)
	if h.steady && h.active == 0 && strings.HasPrefix(r.Header.Get("If-None-Match"), stamp) {
		h.mu.Unlock()
		w.WriteHeader(http.StatusNotModified)
		return
	}
	for id, c := range h.live {
		if !t.all && id == t.id || t.all && strings.Contains(strings.ToLower(id), find) {
			list = append(list, asked{id, c.mock, c.used})
		}
	}
	h.mu.Unlock()
	slices.SortFunc(list, func(a, b asked) int { return cmp.Or(b.used-a.used, strings.Compare(a.id, b.id)) })
	answer := shown{Conversations: len(list), Shown: min(len(list), maxShown), Entries: []entry{}}
	for _, a := range list[:answer.Shown] {
		answer.Entries = append(answer.Entries, h.entries(a.id, a.mock)...)
	}
	slices.SortStableFunc(answer.Entries, func(a, b entry) int {
		return cmp.Or(b.At.Compare(a.At), strings.Compare(a.ID, b.ID), strings.Compare(a.Kind, b.Kind), b.Seq-a.Seq)
	})
	answer.Entries = answer.Entries[:min(len(answer.Entries), maxRows)]
	data, err := json.Marshal(answer)
	if err != nil {
		writeError(w, http.StatusInternalServerError, err)
		return
	}
	sum := sha256.Sum256(data)
	tag := stamp + hex.EncodeToString(sum[:12]) + `"`
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", "no-store")
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(data) // the client is gone
}
