// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"iter"
	"mime"
	"net/http"
	"strings"

	events "github.com/rehearse-dev/rehearse/internal/sse"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// maxRounds is how often a body is gone over until nothing changes: what is
// left of a text may look like a secret again, once a part is gone.
const maxRounds = 6

// body takes the secrets out of a body. It never writes to b.
func (p *pass) body(h http.Header, b []byte, chunks []vcr.Chunk) ([]byte, []vcr.Chunk) {
	if len(b) == 0 {
		return b, chunks
	}
	if plain, ok := unzip(b); ok {
		return p.zipped(h, b, plain, chunks)
	}
	kind, boundary := mediaType(h)
	for range maxRounds {
		changed := false
		for _, find := range []func([]byte) []edit{
			p.streamed,
			func(b []byte) []edit { return p.whole(kind, boundary, b) },
		} {
			if edits := find(b); len(edits) > 0 {
				b, chunks = apply(b, edits), fitChunks(chunks, edits)
				changed = true
			}
		}
		if !changed {
			break
		}
	}
	return b, chunks
}

// maxUnzipped bounds what a compressed body may hold.
const maxUnzipped = 256 << 20

// unzip decodes a body in gzip or zlib. Other codings are opaque.
func unzip(b []byte) ([]byte, bool) {
	var zr io.Reader
	var err error
	switch {
	case isGzip(b):
		zr, err = gzip.NewReader(bytes.NewReader(b))
	case isZlib(b):
		zr, err = zlib.NewReader(bytes.NewReader(b))
	default:
		return nil, false
	}
	if err != nil {
		return nil, false
	}
	plain, err := io.ReadAll(io.LimitReader(zr, maxUnzipped))
	// A text may begin like zlib, but then it does not end so.
	return plain, err == nil || isGzip(b) && len(plain) > 0
}

func isGzip(b []byte) bool { return len(b) > 1 && b[0] == 0x1F && b[1] == 0x8B }

// isZlib reports whether a body may be in zlib: its method is deflate, and the
// first two bytes have their checksum.
func isZlib(b []byte) bool {
	return len(b) > 1 && b[0]&0x0F == 8 && b[0]>>4 <= 7 && (int(b[0])<<8|int(b[1]))%31 == 0
}

// zipped takes the secrets out of a body in gzip or zlib, which is compressed
// anew when there were any; it is one chunk then.
func (p *pass) zipped(h http.Header, b, plain []byte, chunks []vcr.Chunk) ([]byte, []vcr.Chunk) {
	if _, again := unzip(plain); again {
		return b, chunks
	}
	kept, _ := p.body(h, plain, nil)
	if bytes.Equal(kept, plain) {
		return b, chunks
	}
	var out bytes.Buffer
	var zw io.WriteCloser = gzip.NewWriter(&out)
	if isZlib(b) {
		zw = zlib.NewWriter(&out)
	}
	_, _ = zw.Write(kept) // a buffer takes all
	_ = zw.Close()
	if len(chunks) > 0 {
		one := vcr.Chunk{Size: out.Len()}
		for _, c := range chunks {
			one.Gap += c.Gap
		}
		chunks = []vcr.Chunk{one}
	}
	return out.Bytes(), chunks
}

// Packed names the format of a compressed body in which no secrets are found,
// since it is not unpacked; empty for every other body.
func Packed(b []byte) string {
	if plain, ok := unzip(b); ok {
		if _, again := unzip(plain); again {
			return "gzip or zlib, twice"
		}
		b = plain
	}
	for _, f := range []struct{ name, start string }{
		{"zip", "PK\x03\x04"}, {"zstd", "\x28\xB5\x2F\xFD"}, {"xz", "\xFD7zXZ\x00"}, {"bzip2", "BZh91AY&SY"}, {"7z", "7z\xBC\xAF\x27\x1C"}, {"broken gzip", "\x1F\x8B"},
	} {
		if bytes.HasPrefix(b, []byte(f.start)) {
			return f.name
		}
	}
	return ""
}

// mediaType is the type of a body, and what is between its parts.
func mediaType(h http.Header) (kind, boundary string) {
	kind, params, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return kind, params["boundary"]
}

// whole finds secrets in a body, each part of it by itself.
func (p *pass) whole(kind, boundary string, b []byte) []edit {
	switch {
	case isSSE(kind, b):
		var out []edit
		for line := range payloads(b) {
			out = shifted(out, line.start, p.document(b[line.start:line.end]))
		}
		return out
	case looksJSON(b):
		return p.document(b)
	case kind == "application/x-www-form-urlencoded":
		return p.query(b, 0, nil)
	case strings.HasPrefix(kind, "multipart/") && boundary != "":
		return p.multipart(b, boundary)
	}
	return p.text(b, 0)
}

// document finds secrets in a text that is a whole body, or an event: one of
// JSON may say who asks.
func (p *pass) document(b []byte) []edit {
	if looksJSON(b) {
		return p.json(b, 0, true)
	}
	return p.text(b, 0)
}

// isSSE reports whether a body is a stream. Proxies call streams JSON, so the
// body decides, except for a form or YAML: each may begin with the same words, and
// a secret in it may have more than one line.
func isSSE(kind string, b []byte) bool {
	begins, _ := events.Begins(b)
	other := kind == "application/x-www-form-urlencoded" || strings.HasPrefix(kind, "multipart/") || strings.HasSuffix(kind, "yaml")
	return kind == "text/event-stream" || begins && !other
}

// span is a part of a body.
type span struct{ start, end int }

// payloads yields the lines of a body, without `data:` and the blank after
// it where that is before them.
func payloads(b []byte) iter.Seq[span] {
	return func(yield func(span) bool) {
		for l := range events.Lines(b) {
			s := span{l.Start, l.End}
			if string(l.Field) == "data" {
				s.start = l.Value
			}
			if !yield(s) {
				return
			}
		}
	}
}

// multipart finds secrets in the parts of a form.
func (p *pass) multipart(b []byte, boundary string) []edit {
	var out []edit
	mark := []byte("--" + boundary)
	at := bytes.Index(b, mark)
	if at < 0 {
		return p.text(b, 0)
	}
	for at < len(b) {
		at += len(mark)
		end := bytes.Index(b[at:], mark)
		if end < 0 {
			end = len(b)
		} else {
			end += at
		}
		part := b[min(at, end):end]
		head, bodyAt := part, len(part)
		for _, gap := range []string{"\r\n\r\n", "\n\n"} {
			if i := bytes.Index(part, []byte(gap)); i >= 0 {
				head, bodyAt = part[:i], i+len(gap)
				break
			}
		}
		content := bytes.TrimRight(part[bodyAt:], "\r\n")
		out = shifted(out, at, p.text(head, 0))
		if name := partName(head); len(content) > 0 && !masked(content) && p.r.names.is([]byte(name), p.r.names.query) {
			out = append(out, p.edit("form", b, at+bodyAt, at+bodyAt+len(content)))
		} else {
			out = shifted(out, at+bodyAt, p.auto(content, 0))
		}
		at = end
	}
	return tidy(out)
}

func partName(head []byte) string {
	for line := range bytes.SplitSeq(head, []byte{'\n'}) {
		name, v, _ := bytes.Cut(line, []byte{':'})
		if bytes.EqualFold(bytes.TrimSpace(name), []byte("content-disposition")) {
			_, params, err := mime.ParseMediaType(string(bytes.TrimSpace(v)))
			if err == nil {
				return params["name"]
			}
		}
	}
	return ""
}

// query finds secrets in the parameters of a query, which begins at base.
func (p *pass) query(b []byte, base int, out []edit) []edit {
	grant := bytes.Contains(b, []byte("grant_type="))
	for at := 0; at <= len(b); {
		end := at
		for end < len(b) && b[end] != '&' && b[end] != ';' {
			end++
		}
		pair := b[at:end]
		name, v, _ := bytes.Cut(pair, []byte{'='})
		start := base + end - len(v)
		plain := unpercent(name).text
		switch {
		case len(v) == 0:
		case p.r.names.is(plain, p.r.names.query) || grant && string(plain) == "code":
			if l := unpercent(v); !masked(l.text) {
				out = append(out, edit{start, base + end, p.secret("query", l.text), "query"})
			}
		default:
			l := unpercent(v)
			out = shifted(out, start, l.back(p.auto(l.text, 1)))
		}
		out = shifted(out, base+at, p.text(name, 0))
		at = end + 1
	}
	return out
}

// url takes the secrets out of a URL.
func (p *pass) url(u string) string {
	for range maxRounds {
		b := []byte(u)
		path, query, ok := bytes.Cut(b, []byte{'?'})
		edits := p.text(path, 0)
		if ok {
			query, fragment, _ := bytes.Cut(query, []byte{'#'})
			edits = p.query(query, len(path)+1, edits)
			from := len(b) - len(fragment)
			edits = shifted(edits, from, p.text(fragment, 0))
		}
		if len(edits) == 0 {
			break
		}
		u = string(apply(b, tidy(edits)))
	}
	return u
}

// header returns a copy of what is kept of a header: what is on the list, or,
// without a list, what has no secret name.
func (p *pass) header(h http.Header, keep *headerList) http.Header {
	if h == nil {
		return nil
	}
	out := http.Header{}
	for name, values := range h {
		secret := p.r.names.is([]byte(name), p.r.names.header)
		if keep == nil && secret || keep != nil && !keep.has(name) {
			if secret && p.found != nil {
				p.dropped(values)
			}
			continue
		}
		kept := make([]string, len(values))
		for i, v := range values {
			kept[i] = p.plain(v)
			if secret && !masked([]byte(v)) && !trivial([]byte(v)) {
				kept[i] = p.secret("header", []byte(v))
			}
		}
		out[name] = kept
	}
	return out
}

// dropped notes the secrets of a header that is not kept, since they may come
// back elsewhere.
func (p *pass) dropped(values []string) {
	for _, v := range values {
		if scheme, word, ok := strings.Cut(v, " "); ok && len(scheme) < 12 {
			v = word
			if strings.EqualFold(scheme, "basic") {
				if _, word, ok := strings.Cut(string(decode64([]byte(v))), ":"); ok {
					p.secret("header", []byte(word))
				}
			}
		}
		for part := range strings.SplitSeq(v, ";") {
			if _, word, ok := strings.Cut(part, "="); ok { // a cookie
				p.secret("header", []byte(word))
			}
		}
		if !strings.ContainsAny(v, "; ") {
			p.secret("header", []byte(v))
		}
	}
}

// plain takes the secrets out of a text.
func (p *pass) plain(s string) string {
	for range maxRounds {
		edits := p.auto([]byte(s), 0)
		if len(edits) == 0 {
			break
		}
		s = string(apply([]byte(s), edits))
	}
	return s
}
