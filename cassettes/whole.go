// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// WithBase says of the requests under ctx that their path begins with path,
// which is that of the endpoint's address: it does not count when a replay,
// which has no endpoint, looks for their recording.
func WithBase(ctx context.Context, path string) context.Context {
	return context.WithValue(ctx, baseKey{}, strings.TrimRight(path, "/"))
}

// Recorded returns what was recorded so far, in the order of the file: in mode
// record-new behind what the file holds. It is not to be changed.
func (r *Recorder) Recorded() []*vcr.Interaction {
	r.mu.Lock()
	defer r.mu.Unlock()
	list, _, _ := r.contents()
	return list
}

// Discard ends the recorder like Close, but writes nothing: a file that is
// there stays as it is.
func (r *Recorder) Discard() error {
	if r.ended() || !r.opts.Mode.records() {
		return nil
	}
	r.settle()
	return r.journal.remove()
}

// Refuse ends the recorder like Close, but what was recorded goes to
// NAME.refused.yaml, and a file that is there stays: for a recording that is of use only
// together with another one that is refused. The error says why, and where it is.
func (r *Recorder) Refuse(why error) error {
	if r.ended() || !r.opts.Mode.records() {
		return nil
	}
	r.settle()
	r.mu.Lock()
	defer r.mu.Unlock()
	list, _, _ := r.contents()
	list, left := r.secrets.Review(list)
	return r.setAside(list, left, fmt.Errorf("cassette %q is not written, and an existing one stays: %w", r.path, why))
}

// restore puts places back into the recorded answers.
func (r *Recorder) restore() {
	for _, place := range r.opts.Restore {
		mark, path := []byte(redact.Mark(place.Name)), []byte(place.Path)
		for _, e := range r.tape {
			if bytes.Contains(e.Response.Body, mark) {
				e.Response.Body, e.Meta.Chunks = exchange(e.Response.Body, e.Meta.Chunks, mark, path)
			}
		}
	}
}

// exchange replaces old in a body. A part of it in which old begins has the
// whole of what comes in its place.
func exchange(body []byte, chunks []vcr.Chunk, old, text []byte) ([]byte, []vcr.Chunk) {
	var starts []int
	for at := 0; ; at += len(old) {
		n := bytes.Index(body[at:], old)
		if n < 0 {
			break
		}
		at += n
		starts = append(starts, at)
	}
	moved := func(end int) int { // where a part that ended at end ends now
		n, _ := slices.BinarySearch(starts, end) // one that begins at end is the next part's
		if n > 0 {
			end = max(end, starts[n-1]+len(old))
		}
		return end + n*(len(text)-len(old))
	}
	out := slices.Clone(chunks)
	was, is := 0, 0
	for i := range out {
		was += chunks[i].Size
		next := moved(was)
		out[i].Size, is = next-is, next
	}
	return bytes.ReplaceAll(body, old, text), out
}

// AnswerMiss answers a request that fits nothing recorded, in the way that no
// SDK sends it again.
func AnswerMiss(w http.ResponseWriter, text string) {
	answer(w, http.StatusUnprocessableEntity, "rehearse_miss", text)
}

// Same reports whether two recordings say the same: only times, what endpoints
// number anew each time, and their host may differ.
func Same(a, b []*vcr.Interaction) bool {
	return slices.EqualFunc(a, b, func(a, b *vcr.Interaction) bool {
		if a.Request.Method != b.Request.Method || requestOf(a) != requestOf(b) || a.Response.Code != b.Response.Code ||
			a.Meta.Outcome != b.Meta.Outcome || a.Meta.Error != b.Meta.Error || a.Meta.Model != b.Meta.Model || a.Meta.Label != b.Meta.Label {
			return false
		}
		return bytes.Equal(steady(a.Request.Body), steady(b.Request.Body)) && bytes.Equal(steady(a.Response.Body), steady(b.Response.Body)) &&
			maps.EqualFunc(lasting(a.Response.Header), lasting(b.Response.Header), slices.Equal)
	})
}

// requestOf is the address of a request without the host.
func requestOf(i *vcr.Interaction) string {
	u, err := url.Parse(i.Request.URL)
	if err != nil {
		return i.Request.URL
	}
	return u.RequestURI()
}

// numbered are the members of JSON that are other in each answer: numbers of
// answers and of calls, times.
var numbered = regexp.MustCompile(`"(id|call_id|tool_call_id|tool_use_id|system_fingerprint)"\s*:\s*"[^"\\]*"|"created"\s*:\s*\d+`)

// said are the members whose objects are arguments and results of tools: of
// Anthropic, Gemini, and endpoints that write arguments as an object. An id in
// them says which thing was meant.
var said = regexp.MustCompile(`"(input|args|response|arguments)"\s*:\s*\{`)

// steady is a body without what is numbered, save in arguments and results.
func steady(body []byte) []byte {
	var out []byte
	for {
		at := said.FindIndex(body)
		if at == nil {
			return append(out, numbered.ReplaceAllLiteral(body, []byte("…"))...)
		}
		end := at[1]
		var object json.RawMessage
		var answer struct{ Object string }
		if json.NewDecoder(bytes.NewReader(body[end-1:])).Decode(&object) == nil &&
			(json.Unmarshal(object, &answer) != nil || answer.Object != "response") { // that of an event of OpenAI's responses
			end += len(object) - 1
		}
		out = append(out, numbered.ReplaceAllLiteral(body[:at[1]], []byte("…"))...)
		out = append(out, body[at[1]:end]...)
		body = body[end:]
	}
}

// lasting are the headers that are the same in each answer.
func lasting(h http.Header) http.Header {
	h = h.Clone()
	for name := range h {
		if name == "Date" || strings.HasPrefix(name, "X-Ratelimit-") || strings.HasSuffix(name, "-Id") || strings.HasSuffix(name, "-Ms") {
			delete(h, name)
		}
	}
	return h
}
