// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package vcr

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/exactjson"
	"github.com/rehearse-dev/rehearse/internal/filepos"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// The parts of HAR 1.2 that hold an exchange. Names that begin with an
// underscore are ours; the format leaves them to whoever writes.
type (
	harLog struct {
		Log struct {
			Version string     `json:"version"`
			Creator harCreator `json:"creator"`
			Entries []harEntry `json:"entries"`
		} `json:"log"`
	}
	harCreator struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	harEntry struct {
		Started  string      `json:"startedDateTime"`
		Time     float64     `json:"time"`
		Request  harRequest  `json:"request"`
		Response harResponse `json:"response"`
		Cache    struct{}    `json:"cache"`
		Timings  harTimings  `json:"timings"`
		Meta     string      `json:"_rehearse,omitempty"`
	}
	harRequest struct {
		Method      string    `json:"method"`
		URL         string    `json:"url"`
		HTTPVersion string    `json:"httpVersion"`
		Cookies     []harPair `json:"cookies"`
		Headers     []harPair `json:"headers"`
		QueryString []harPair `json:"queryString"`
		PostData    *harPost  `json:"postData,omitempty"`
		HeadersSize int       `json:"headersSize"`
		BodySize    int       `json:"bodySize"`
	}
	harPost struct {
		MimeType string    `json:"mimeType"`
		Text     string    `json:"text"`
		Params   []harPair `json:"params,omitempty"`
		Encoding string    `json:"_encoding,omitempty"`
	}
	harResponse struct {
		Status      int        `json:"status"`
		StatusText  string     `json:"statusText"`
		HTTPVersion string     `json:"httpVersion"`
		Cookies     []harPair  `json:"cookies"`
		Headers     []harPair  `json:"headers"`
		Content     harContent `json:"content"`
		RedirectURL string     `json:"redirectURL"`
		HeadersSize int        `json:"headersSize"`
		BodySize    int        `json:"bodySize"`
	}
	harContent struct {
		Size     int     `json:"size"`
		MimeType string  `json:"mimeType"`
		Text     *string `json:"text,omitempty"` // nil for none; some write null
		Encoding string  `json:"encoding,omitempty"`
	}
	harTimings struct {
		Send    float64 `json:"send"`
		Wait    float64 `json:"wait"` // ms; -1 when unknown
		Receive float64 `json:"receive"`
	}
	harPair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
		File  string `json:"fileName,omitempty"` // of a parameter of a form
	}
)

// isHAR reports whether a JSON object is a HAR file, by its key log, beside
// which some writers have a comment.
func isHAR(data []byte) bool {
	in := value.Scanner{Data: data}
	return in.Find("log")
}

func parseHAR(name string, data []byte) ([]*Interaction, error) {
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	var h harLog
	if err := json.Unmarshal(data, &h); err != nil {
		return nil, filepos.Errorf(harness.Position{File: name, Line: lineOf(err, data)}, "not HAR: %w", err)
	}
	if v := h.Log.Version; v != "" && v != "1.1" && v != "1.2" {
		return nil, filepos.Errorf(harness.Position{File: name}, "HAR version %q is unknown: want 1.1 or 1.2", v)
	}
	if h.Log.Entries == nil {
		return nil, filepos.Errorf(harness.Position{File: name}, "HAR without log.entries")
	}
	lines := harLines(data)
	var out []*Interaction
	var errs []error
	for n := range h.Log.Entries {
		i, err := h.Log.Entries[n].interaction()
		at := harness.Position{File: name}
		if n < len(lines) {
			at.Line = lines[n]
		}
		if err != nil {
			errs = append(errs, filepos.Errorf(at, "entry %d: %w", n+1, err))
			continue
		}
		if n < len(lines) {
			i.Line = lines[n]
		}
		out = append(out, i)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return inOrder(out, h.Log.Entries), nil
}

// lineOf is the line of data that an error of its decoding is about; 0 when it
// does not say.
func lineOf(err error, data []byte) int {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	offset := int64(0)
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		offset = kind.Offset
	default:
		return 0
	}
	return 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte{'\n'})
}

// inOrder sorts the interactions of entries by when they began, as HAR leaves
// to its readers. Entries of ours stand in order, and so do those of which one
// has no time.
func inOrder(list []*Interaction, entries []harEntry) []*Interaction {
	began := map[*Interaction]time.Time{}
	for n := range entries {
		at, err := time.Parse(time.RFC3339Nano, entries[n].Started)
		if err != nil || entries[n].Meta != "" {
			return list
		}
		began[list[n]] = at
	}
	slices.SortStableFunc(list, func(a, b *Interaction) int { return began[a].Compare(began[b]) })
	return list
}

// harLines are the lines at which the entries of a file begin.
func harLines(data []byte) []int {
	in := value.Scanner{Data: data}
	if !in.Find("log") || !in.Find("entries") || in.Next() != '[' {
		return nil
	}
	var out []int
	line, at := 1, 0
	for more := in.Open(']'); more; more, _ = in.More(']') {
		in.Next()
		line += bytes.Count(data[at:in.At], []byte{'\n'})
		at = in.At
		out = append(out, line)
		if !in.Skip() {
			break
		}
	}
	return out
}

func (e *harEntry) interaction() (*Interaction, error) {
	i := &Interaction{
		Request:  Request{Method: e.Request.Method, URL: e.Request.URL, Header: headerOf(e.Request.Headers)},
		Response: Response{Code: e.Response.Status, Header: headerOf(e.Response.Headers)},
	}
	if i.Request.URL == "" || i.Request.Method == "" {
		return nil, errors.New("the request has no method or no url")
	}
	i.Response.Status = strings.TrimSpace(strconv.Itoa(e.Response.Status) + " " + e.Response.StatusText)
	if e.Timings.Wait > 0 {
		i.Response.Duration = time.Duration(math.Round(e.Timings.Wait * float64(time.Millisecond)))
	}
	if p := e.Request.PostData; p != nil {
		var err error
		if i.Request.Body, err = decoded(p.Text, p.Encoding); err != nil {
			return nil, fmt.Errorf("postData: %w", err)
		}
		if p.Text == "" && len(p.Params) > 0 {
			if i.Request.Body, err = p.form(); err != nil {
				return nil, fmt.Errorf("the request %s %s: %w", e.Request.Method, e.Request.URL, err)
			}
		}
	}
	var err error
	if text := e.Response.Content.Text; text != nil {
		if i.Response.Body, err = decoded(*text, e.Response.Content.Encoding); err != nil {
			return nil, fmt.Errorf("content: %w", err)
		}
	}
	if e.Meta != "" {
		i.Response.Header[MetaHeader] = []string{e.Meta}
		return i, nil
	}
	if err := e.whole(i); err != nil {
		return nil, err
	}
	// The content of HAR is decoded, whatever the header says, but some writers
	// have the bytes of the wire.
	coding := i.Response.Header.Get("Content-Encoding")
	plain, err := Uncompressed(coding, i.Response.Body, true)
	switch {
	case err == nil:
		i.Response.Body = plain
	case strings.Contains(i.Response.Header.Get("Content-Type"), "json"): // which no bytes are
		i.Meta.Coding = coding
	}
	i.Response.Header.Del("Content-Encoding")
	if at, err := time.Parse(time.RFC3339Nano, e.Started); err == nil {
		i.Meta.Recorded = at.UTC().Truncate(time.Second)
	}
	return i, nil
}

// form is the body of a form that stands as its parameters. That of a form in
// several parts is not known from them.
func (p *harPost) form() ([]byte, error) {
	kind, _, _ := mime.ParseMediaType(p.MimeType)
	form := url.Values{}
	for _, pair := range p.Params {
		if pair.File != "" || strings.HasPrefix(kind, "multipart/") {
			return nil, errors.New("its form is in the file as parameters, and not as the text that was sent; export it with content")
		}
		form.Add(pair.Name, pair.Value)
	}
	return []byte(form.Encode()), nil
}

// whole says what of an exchange is not in the file: whoever wrote it was told
// to leave contents out, or the answer never came.
func (e *harEntry) whole(i *Interaction) error {
	r, content := &e.Response, &e.Response.Content
	asked := max(e.Request.BodySize, length(i.Request.Header))
	wire := max(r.BodySize, length(i.Response.Header))
	if i.Response.Header.Get("Content-Encoding") != "" && wire <= 32 {
		wire = 0 // as nothing has, compressed
	}
	size := max(content.Size, wire)
	bare := e.Request.Method == http.MethodHead || r.Status == http.StatusNotModified || r.Status == http.StatusNoContent
	unknown := content.Text == nil && content.Size < 0 && i.Response.Header.Get("Content-Length") == "" && (r.Status < 300 || r.Status > 399)
	switch {
	case r.Status == 0:
		return fmt.Errorf("%s %s got no answer (status 0), so there is nothing to replay; remove the entry from the file", e.Request.Method, e.Request.URL)
	case r.Status < 0 || r.Status > 999:
		return fmt.Errorf("%d is not a status code", r.Status)
	case len(i.Response.Body) == 0 && size > 0 && !bare:
		return fmt.Errorf("the answer to %s %s has %d bytes, which are not in the file; export it with content", e.Request.Method, e.Request.URL, size)
	case unknown && !bare:
		return fmt.Errorf("the content of the answer to %s %s is not in the file, nor its size; export it with content", e.Request.Method, e.Request.URL)
	case content.short(len(i.Response.Body)) && !bare:
		return fmt.Errorf("the answer to %s %s has %d bytes, of which %d are in the file; export it with all content", e.Request.Method, e.Request.URL, content.Size, len(i.Response.Body))
	case len(i.Request.Body) == 0 && asked > 0:
		return fmt.Errorf("the request %s %s has %d bytes, which are not in the file; export it with content", e.Request.Method, e.Request.URL, asked)
	}
	return nil
}

// short reports whether a text of so many bytes is the beginning of the content
// alone. Sizes are not exact: some are those of the wire, where little becomes
// more by compression, and a text in UTF-16 has twice the bytes.
func (c *harContent) short(have int) bool {
	wide := strings.Contains(strings.ToLower(c.MimeType), "utf-16")
	return c.Size > have+have/4+1024 && !wide
}

// length is the length of a body by its header; 0 when it does not say.
func length(h http.Header) int {
	n, _ := strconv.Atoi(h.Get("Content-Length"))
	return n
}

func headerOf(pairs []harPair) http.Header {
	h := http.Header{}
	for _, p := range pairs {
		if !strings.HasPrefix(p.Name, ":") { // the pseudo-headers of HTTP/2
			h.Add(p.Name, p.Value)
		}
	}
	return h
}

func decoded(text, encoding string) ([]byte, error) {
	switch encoding {
	case "":
		return []byte(text), nil
	case "base64":
		return base64.StdEncoding.DecodeString(text)
	}
	return nil, fmt.Errorf("the encoding %q is unknown", encoding)
}

func encoded(body []byte) (text, encoding string) {
	if utf8.Valid(body) {
		return string(body), ""
	}
	return base64.StdEncoding.EncodeToString(body), "base64"
}

// EncodeHAR returns the file as HAR 1.2. What HAR has no field for stands in
// `_rehearse`, so that reading it gives the same interactions.
func (f *File) EncodeHAR() ([]byte, error) {
	var h harLog
	h.Log.Version = "1.2"
	h.Log.Creator = harCreator{"rehearse", "1"}
	h.Log.Entries = []harEntry{}
	for _, i := range f.Interactions {
		h.Log.Entries = append(h.Log.Entries, entryOf(i))
	}
	b, err := exactjson.MarshalIndent(h, "  ")
	if err != nil {
		return nil, fmt.Errorf("writing HAR: %w", err)
	}
	return b, nil
}

func entryOf(i *Interaction) harEntry {
	ms := float64(i.Response.Duration) / float64(time.Millisecond)
	var body time.Duration
	for _, c := range i.Meta.Chunks {
		body += c.Gap
	}
	e := harEntry{
		Started: i.Meta.Recorded.UTC().Format(time.RFC3339),
		Time:    ms + float64(body)/float64(time.Millisecond),
		Request: harRequest{
			Method: i.Request.Method, URL: i.Request.URL, HTTPVersion: "HTTP/1.1", Cookies: []harPair{},
			Headers: pairsOf(i.Request.Header), QueryString: queryOf(i.Request.URL), HeadersSize: -1, BodySize: len(i.Request.Body),
		},
		Response: harResponse{
			Status: i.Response.Code, HTTPVersion: "HTTP/1.1", Cookies: []harPair{}, Headers: pairsOf(i.Response.Header),
			Content:     harContent{Size: len(i.Response.Body), MimeType: i.Response.Header.Get("Content-Type")},
			RedirectURL: i.Response.Header.Get("Location"), HeadersSize: -1, BodySize: len(i.Response.Body),
		},
		Timings: harTimings{Wait: ms, Receive: float64(body) / float64(time.Millisecond)},
		Meta:    i.Meta.encode(i.Response.Trailer),
	}
	_, e.Response.StatusText, _ = strings.Cut(i.Response.Status, " ")
	text, encoding := encoded(i.Response.Body)
	if e.Response.Content.Encoding = encoding; text != "" {
		e.Response.Content.Text = &text
	}
	if len(i.Request.Body) > 0 {
		p := &harPost{MimeType: i.Request.Header.Get("Content-Type")}
		p.Text, p.Encoding = encoded(i.Request.Body)
		e.Request.PostData = p
	}
	return e
}

func pairsOf(h http.Header) []harPair {
	pairs := []harPair{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			pairs = append(pairs, harPair{Name: name, Value: v})
		}
	}
	return pairs
}

func queryOf(address string) []harPair {
	pairs := []harPair{}
	u, err := url.Parse(address)
	if err != nil {
		return pairs
	}
	q := u.Query()
	for _, name := range slices.Sorted(maps.Keys(q)) {
		for _, v := range q[name] {
			pairs = append(pairs, harPair{Name: name, Value: v})
		}
	}
	return pairs
}
