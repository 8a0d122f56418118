// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/exactjson"
)

// server is the HTTP side of an endpoint that has one of its own.
type server struct {
	// own are the headers of JSON that the endpoint makes, passed of JSON that
	// it hands on, stream of streams, and local of anything that is not an
	// answer of a model route.
	own, passed, stream, local http.Header
	// html are those of pages.
	html http.Header
	// echoID says that answers of model routes carry x-request-id.
	echoID bool
	// json405 answers unknown paths and wrong methods alike, with 405.
	json405 bool
	// routes are the methods of each path. The model routes are those of
	// dialects.
	routes   map[string]string
	dialects map[string]Dialect
	// generate says that there are Gemini's routes.
	generate bool
	// listsOnly says that vectors are lists, whatever is asked for.
	listsOnly bool
	// responsesDone says that streams of responses end in [DONE].
	responsesDone bool
	// embedError is the envelope of errors on /v1/embeddings; "" is that of
	// the others.
	embedError string
	// wrong refuses requests that are not as the dialect has them; nil
	// refuses none.
	wrong    func(a Ask, o map[string]json.RawMessage) *answerRow
	badJSON  *answerRow
	notJSON  string // the text in place of badJSON's $text, where it varies
	array    *answerRow
	tooLarge *answerRow
	owner    func(internal string) string
	// varies is the size from which a body has no Vary header; 0 is none.
	varies  int
	refresh string
	version string
}

// answerRow is an answer with placeholders: $text is a message as JSON writes
// it within quotes, $body what the gateway sent.
type answerRow struct {
	status int
	ctype  string // empty is that of the endpoint's own JSON
	body   string
	bare   bool // without x-request-id
	close  bool
}

func headerOf(pairs ...string) http.Header {
	h := make(http.Header)
	for i := 0; i < len(pairs); i += 2 {
		h[pairs[i]] = []string{pairs[i+1]}
	}
	return h
}

// requestID is in headers where the mock is to put the id of the request.
const requestID = "x-request-id"

// inText returns s as JSON writes it within quotes.
func inText(s string) string {
	b := exactjson.Quote(s)
	return string(b[1 : len(b)-1])
}

// answer fills in a row.
func (s *server) answer(r *answerRow, text, body string) *Answer {
	h := s.own.Clone()
	if r.ctype != "" {
		h["Content-Type"] = []string{r.ctype}
	}
	if s.echoID && !r.bare {
		h[requestID] = []string{""}
	}
	if r.close {
		h["Connection"] = []string{"close"}
	}
	out := strings.NewReplacer("$text", inText(text), "$status", strconv.Itoa(r.status), "$body", body).Replace(r.body)
	return &Answer{Status: r.status, Header: h, Body: []byte(out)}
}

// Refuse is an error of the endpoint's own making.
func (p *Profile) Refuse(d Dialect, status int, text string) *Answer {
	if p.server == nil {
		return nil
	}
	return p.server.answer(&answerRow{status: status, body: p.server.envelopeOf(d)}, text, "")
}

func (s *server) envelopeOf(d Dialect) string {
	switch {
	case d == Embeddings && s.embedError != "":
		return s.embedError
	case d == Messages:
		return `{"type": "error", "error": {"type": "invalid_request_error", "message": "$text"}}`
	case d == Generate:
		return `{"error": {"code": $status, "message": "$text", "status": "INVALID_ARGUMENT"}}`
	case s.badJSON != nil && !strings.Contains(s.badJSON.body, "message"):
		return `{"error": "$text"}`
	}
	return `{"error": {"message": "$text", "type": "invalid_request_error", "code": null}}`
}

// plainEmbeds reports whether errors on /v1/embeddings are plain texts.
func (s *server) plainEmbeds() bool { return s.embedError == plainError }

// plainError is the envelope of errors that are plain texts.
const plainError = `{"error": "$text"}`

// unknownModel refuses a name. [run]
func (p *Profile) unknownModel(d Dialect, name string) *Answer {
	if p.server == nil {
		return nil
	}
	var aliases []string
	for _, r := range p.names.rows() {
		aliases = append(aliases, r.aliases()...)
	}
	slices.Sort(aliases)
	status, body := http.StatusNotFound, p.server.envelopeOf(d)
	text := p.names.unknown
	if d == Embeddings {
		body, text = `{"error": {"message": "$text", "type": "model_not_found"}}`, "Unknown model: '%s'. Configured: %s"
	}
	if strings.Count(text, "%s") == 2 {
		text = fmt.Sprintf(text, name, strings.Join(aliases, ", "))
	} else {
		status, text = http.StatusBadRequest, fmt.Sprintf(text, name)
	}
	return p.server.answer(&answerRow{status: status, body: body}, text, "")
}

// BadBody is the answer to a body that is no JSON, or no JSON object.
func (p *Profile) BadBody(d Dialect, body []byte) *Answer {
	s := p.server
	if s == nil {
		return nil
	}
	switch {
	case !json.Valid(body):
	case d == Embeddings && s.plainEmbeds():
		return s.answer(unexpected("list indices must be integers or slices, not str"), "", "")
	default:
		return s.answer(s.array, "", "")
	}
	row := *s.badJSON
	text := "Invalid JSON body"
	if s.notJSON != "" {
		text = s.notJSON
	}
	if d == Messages || d == Generate || d == Embeddings {
		row.body = s.envelopeOf(d)
	}
	return s.answer(&row, text, "")
}

// TooLarge is the answer to a body that is larger than the endpoint takes.
// [app.py]
func (p *Profile) TooLarge(d Dialect, size int64) *Answer {
	s := p.server
	if s == nil {
		return nil
	}
	if s.tooLarge == nil {
		return p.BadBody(d, nil)
	}
	return s.answer(s.tooLarge, strconv.FormatInt(size, 10), "")
}

// Route tells the dialect of a request, or its answer when it is for no model.
// Both are zero when the path is left to the mock.
func (p *Profile) Route(method, path string) (Dialect, *Answer) {
	s := p.server
	if s == nil || strings.HasPrefix(path, "/rehearse/") {
		return "", nil
	}
	allowed, known := s.routes[path]
	call := ""
	if rest, ok := strings.CutPrefix(path, "/v1beta/models/"); ok && s.generate && rest != "" && (s.json405 || !strings.Contains(rest, "/")) {
		allowed, known = http.MethodPost, true
		call = rest[strings.LastIndexByte(rest, ':')+1:]
	}
	methods := strings.Split(allowed, " ")
	ok := known && slices.Contains(methods, method)
	if !ok && method == http.MethodHead && !s.json405 && slices.Contains(methods, http.MethodGet) {
		ok = true // [run: HEAD is 200 to 3.2]
	}
	switch {
	case !ok && s.json405 && method == http.MethodOptions && path != "/":
		h := s.html.Clone()
		h["Content-Type"], h["Content-Length"] = []string{"text/plain; charset=utf-8"}, []string{"0"}
		return "", &Answer{Status: http.StatusNoContent, Header: h}
	case !ok && s.json405: // [app.py]
		h := s.local.Clone()
		switch {
		case path == "/": // the only one that has no OPTIONS
		case known:
			methods = append(methods, http.MethodOptions)
		default:
			methods = []string{http.MethodOptions}
		}
		slices.Sort(methods)
		h["Allow"] = []string{strings.Join(methods, ", ")}
		return "", &Answer{Status: http.StatusMethodNotAllowed, Header: h, Body: []byte(`{"error": "Method Not Allowed"}`)}
	case !ok:
		h := s.local.Clone()
		status := http.StatusNotFound
		if known {
			status = http.StatusMethodNotAllowed
			if slices.Contains(methods, http.MethodGet) {
				methods = append(methods, http.MethodHead)
			}
			slices.Sort(methods)
			h["Allow"] = []string{strings.Join(methods, ",")}
		}
		return "", &Answer{Status: status, Header: h, Body: fmt.Appendf(nil, "%d: %s", status, http.StatusText(status))}
	}
	switch call {
	case "":
	case "generateContent", "streamGenerateContent":
		return Generate, nil
	default:
		return "", s.answer(&answerRow{
			status: http.StatusBadRequest, body: `{"error": {"code": 400, "message": "$text"}}`, bare: true,
		}, "Unsupported method: "+call, "")
	}
	if d := s.dialects[path]; d != "" {
		return d, nil
	}
	return "", p.fixed(path)
}

// fixed answers the routes that have nothing to do with a model.
func (p *Profile) fixed(path string) *Answer {
	s := p.server
	body := ""
	switch {
	case path == "/v1":
		return &Answer{Status: http.StatusNotFound, Header: s.html.Clone(), Body: []byte("<html><head><title>404 Not Found</title></head><body></body></html>")}
	case path == "/v1/docs":
		return &Answer{Status: http.StatusOK, Header: s.html.Clone(), Body: []byte("<html><body>https://argo-proxy.readthedocs.io</body></html>")}
	case strings.HasSuffix(path, "/models"), strings.HasSuffix(path, "/models/"):
		body = p.modelList()
	case path == "/health":
		body = `{"status": "healthy"}`
	case path == "/refresh":
		body = s.refresh
		n, all := 0, 0
		for _, r := range p.names.rows() {
			n, all = n+1, all+len(r.aliases())
		}
		body = strings.NewReplacer("$models", strconv.Itoa(n), "$aliases", strconv.Itoa(all), "$embed", "3", "$chat", strconv.Itoa(n-3)).Replace(body)
	case path == "/version":
		body = s.version
	default:
		body = `{"message": "argo-proxy"}`
	}
	return &Answer{Status: http.StatusOK, Header: s.own.Clone(), Body: []byte(body)}
}

// began is when every endpoint began.
const began = 1767225600 // 2026-01-01T00:00:00Z

// modelList is the answer to GET /v1/models. [models]
func (p *Profile) modelList() string {
	type row struct {
		ID       string `json:"id"`
		Internal string `json:"internal_name"`
		Object   string `json:"object"`
		Created  int64  `json:"created"`
		Owner    string `json:"owned_by"`
	}
	type upstream struct {
		Created  int64  `json:"created"`
		ID       string `json:"id"`
		Internal string `json:"internal_id"`
		Object   string `json:"object"`
		Owner    string `json:"owned_by"`
	}
	rows, data := []row{}, []upstream{}
	for _, r := range p.names.rows() {
		owner := p.server.owner(r.internal)
		data = append(data, upstream{began, r.display, r.internal, "model", owner})
		for _, a := range r.aliases() {
			rows = append(rows, row{a, r.internal, "model", began, owner})
		}
	}
	var b []byte
	switch { // which always marshal: they hold texts and numbers
	case p.names.bare:
		b, _ = json.Marshal(struct {
			Data   []upstream `json:"data"`
			Object string     `json:"object"`
		}{data, "list"})
	default:
		b, _ = json.Marshal(struct {
			Object string `json:"object"`
			Data   []row  `json:"data"`
		}{"list", rows})
	}
	return string(b)
}

// Shape gives a reply its last touch: headers by its size, and what single
// frames of a stream have. text says that a frame has a piece of text.
func (p *Profile) Shape(a Ask, h http.Header, size int, frame func(edit func(text bool, data []byte) []byte)) {
	s := p.server
	if s == nil || s.varies == 0 {
		return
	}
	if a.Stream {
		if a.Dialect == Messages {
			h["Cache-Control"] = []string{"no-cache"}
		}
		frame(func(text bool, data []byte) []byte {
			if !text || a.Dialect != Chat {
				return data
			}
			return bytes.Replace(data, []byte(`"content_filter_results":{}`), []byte(`"content_filter_results":`+captureDelta), 1)
		})
		return
	}
	if size < s.varies {
		h["Vary"] = []string{"Accept-Encoding"}
	}
}

// Header returns the headers of a reply.
func (p *Profile) Header(a Ask) http.Header {
	s := p.server
	if s == nil {
		return nil
	}
	h := s.own.Clone()
	switch {
	case a.Dialect == OldStream:
		h = s.stream.Clone()
		h["Content-Type"] = []string{"text/plain; charset=utf-8"}
	case a.Stream && a.Dialect != Old:
		h = s.stream.Clone()
	case a.Dialect == Embeddings, a.Dialect == OldEmbed:
		h = s.passed.Clone()
	}
	if s.echoID {
		h[requestID] = []string{""}
	}
	return h
}
