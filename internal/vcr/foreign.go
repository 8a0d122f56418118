// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package vcr

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/rehearse-dev/rehearse/internal/value"
)

// yamlOfJSON turns JSON into text that a reader of YAML 1.1 takes for the same:
// escapes of characters beyond the first plane are two in JSON, and characters
// that YAML takes for the end of a line or refuses stand as they are. Lines stay
// where they are.
func yamlOfJSON(data []byte) []byte {
	out := make([]byte, 0, len(data))
	inside := false
	for i := 0; i < len(data); {
		c := data[i]
		switch {
		case inside && c == '\\' && i+1 < len(data):
			r, n := escapedRune(data[i:])
			if n == 0 && data[i+1] == '/' {
				out = append(out, '/')
				i += 2
				continue
			}
			if n == 0 {
				out = append(out, c, data[i+1])
				i += 2
				continue
			}
			out = appendRune(out, r)
			i += n
			continue
		case c == '"':
			inside = !inside
		case inside && c >= 0x7F:
			r, n := utf8.DecodeRune(data[i:])
			out = appendRune(out, r)
			i += n
			continue
		case c == '\t':
			c = ' ' // between values
		}
		out = append(out, c)
		i++
	}
	return out
}

// escapedRune reads \uXXXX, or two of them that are one character. It returns 0
// bytes for other escapes.
func escapedRune(b []byte) (rune, int) {
	unit := func(b []byte) (rune, bool) {
		if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
			return 0, false
		}
		n, err := strconv.ParseUint(string(b[2:6]), 16, 32)
		return rune(n), err == nil
	}
	r, ok := unit(b)
	switch {
	case !ok:
		return 0, 0
	case r < 0xD800 || r > 0xDFFF:
		return r, 6
	}
	if low, ok := unit(b[6:]); ok && r < 0xDC00 && low >= 0xDC00 && low <= 0xDFFF {
		return 0x10000 + (r-0xD800)<<10 + (low - 0xDC00), 12
	}
	return utf8.RuneError, 6 // half of one
}

// appendRune appends a character to a text in double quotes.
func appendRune(b []byte, r rune) []byte {
	switch {
	case r == '"' || r == '\\':
		return append(b, '\\', byte(r))
	case r < ' ' || r >= 0x7F && r < 0xA0 || r == 0x2028 || r == 0x2029 || r >= 0xFEFF && r <= 0xFFFF:
		return fmt.Appendf(b, `\u%04x`, r)
	}
	return utf8.AppendRune(b, r)
}

// body reads a body that may stand in several ways: as a text, as a map with
// the text or its base64, or as the JSON that it is (parsed_body). What a map
// has beside these is not known, and refused.
func (w *walk) body(m map[string]*yaml.Node, what string) []byte {
	n := m["body"]
	for _, key := range []string{"body_file", "body_path", "json_body", "body_json", "raw_body", "encoded_body"} {
		if m[key] != nil {
			w.fail(m[key], "%s is under %s, which is unreadable", what, key)
		}
	}
	if parsed := m["parsed_body"]; parsed != nil {
		if !isNull(n) {
			w.fail(parsed, "%s is duplicated: as body and as parsed_body", what)
		}
		if isNull(parsed) {
			return nil
		}
		return w.json(parsed).Append(nil)
	}
	if n == nil || n.Kind != yaml.MappingNode {
		return w.bytes(n, what)
	}
	inner := w.object(n, what)
	switch {
	case inner["string"] != nil:
		return w.bytes(inner["string"], what)
	case inner["base64_string"] != nil:
		b, err := decoded(strings.Join(strings.Fields(w.text(inner["base64_string"])), ""), "base64")
		if err != nil {
			w.fail(inner["base64_string"], "%s is not base64: %v", what, err)
		}
		return b
	case len(n.Content) > 0:
		w.fail(n, "%s has neither string nor base64_string, and cannot be read", what)
	}
	return nil
}

// json makes JSON of the nodes of a document, whose numbers stay as they are
// spelled.
func (w *walk) json(n *yaml.Node) value.Value {
	n = w.follow(n)
	switch {
	case w.err != nil:
	case n.Kind == yaml.SequenceNode:
		items := make([]value.Value, len(n.Content))
		for i, item := range n.Content {
			items[i] = w.json(item)
		}
		return value.ArrayOf(items...)
	case n.Kind == yaml.MappingNode:
		var members []value.Member
		for _, x := range w.members(n, "a value") {
			members = append(members, value.Member{Key: x.name, Value: w.json(x.value)})
		}
		return value.ObjectOf(members...)
	case n.Kind == yaml.ScalarNode:
		return w.jsonScalar(n)
	default:
		w.fail(n, "this is not JSON")
	}
	return value.Value{}
}

func (w *walk) jsonScalar(n *yaml.Node) value.Value {
	switch n.ShortTag() {
	case "!!null":
		return value.Value{}
	case "!!bool":
		var b bool
		if err := n.Decode(&b); err != nil {
			w.fail(n, "%v", err)
		}
		return value.BoolOf(b)
	case "!!int", "!!float":
		if !value.ValidNumber(n.Value) {
			w.fail(n, "%s is not a JSON number, so what was sent is unknown", n.Value)
			return value.Value{}
		}
		return value.NumberOf(n.Value)
	case "!!binary":
		w.fail(n, "bytes are not JSON")
	}
	return value.StringOf(n.Value)
}

// plainInteraction brings the bodies of a foreign file into the form in which
// ours are: bytes that stand as characters are bytes again, and what was
// compressed is not any more. What cannot be undone stays, with its coding.
func plainInteraction(i *Interaction) {
	plain := func(h http.Header, body []byte) ([]byte, string) {
		body = unlatin(h, body)
		coding := h.Get("Content-Encoding")
		if coding == "" {
			return body, ""
		}
		out, err := Uncompressed(coding, body, true)
		if err != nil {
			return body, coding
		}
		h.Del("Content-Encoding")
		return out, ""
	}
	i.Request.Body, _ = plain(i.Request.Header, i.Request.Body)
	if i.Response.Body, i.Meta.Coding = plain(i.Response.Header, i.Response.Body); i.Meta.Coding != "" {
		i.Response.Header.Del("Content-Encoding")
	}
}

// Readable says why nobody can look into a body; nil where all are plain.
func (i *Interaction) Readable() error {
	for _, side := range []struct {
		name, coding string
		body         []byte
	}{{"request", i.Request.Header.Get("Content-Encoding"), i.Request.Body}, {"response", i.Meta.Coding, i.Response.Body}} {
		if side.coding == "" {
			continue
		}
		if _, err := Uncompressed(side.coding, side.body, true); err != nil {
			return fmt.Errorf("the body of the %s: %w", side.name, err)
		}
	}
	return nil
}

// unlatin returns the bytes of a body that was written with one character for
// each byte, as "\x1F\x8B": its type, its coding or its length say that it was.
func unlatin(h http.Header, body []byte) []byte {
	if ascii(body) {
		return body // as nearly all are
	}
	out := make([]byte, 0, len(body))
	wide, control := false, false
	for _, r := range string(body) {
		if r > 0xFF {
			return body
		}
		wide = wide || r >= 0x80
		control = control || r >= 0x80 && r < 0xA0
		out = append(out, byte(r))
	}
	if !wide || !utf8.Valid(body) {
		return body
	}
	length, err := strconv.Atoi(h.Get("Content-Length"))
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	text := kind == "" || strings.HasPrefix(kind, "text/") || strings.Contains(kind, "json") || strings.Contains(kind, "xml")
	coding := strings.ToLower(strings.TrimSpace(h.Get("Content-Encoding")))
	switch {
	case err == nil && length == len(out):
		return out
	case err == nil && length == len(body):
		return body
	case coding != "" && coding != "identity", control && !text:
		return out
	}
	return body
}

// ascii reports whether no byte has its top bit set; eight are looked at at once.
func ascii(b []byte) bool {
	for ; len(b) >= 8; b = b[8:] {
		if binary.LittleEndian.Uint64(b)&0x8080808080808080 != 0 {
			return false
		}
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Uncompressed undoes the codings of a body, of which the last was done last.
// One that is plain already stays so. cut says that of a body that broke off
// what came is taken; else that is an error.
func Uncompressed(codings string, body []byte, cut bool) ([]byte, error) {
	list := strings.Split(codings, ",")
	for n := len(list) - 1; n >= 0 && len(body) > 0; n-- {
		var r io.Reader
		var err error
		switch coding := strings.ToLower(strings.TrimSpace(list[n])); coding {
		case "", "identity":
			continue
		case "gzip", "x-gzip":
			if !bytes.HasPrefix(body, []byte{0x1F, 0x8B}) {
				continue // a recorder has undone it
			}
			r, err = gzip.NewReader(bytes.NewReader(body))
		case "deflate":
			switch {
			case json.Valid(body) || isPlain(body):
				continue
			case body[0]&0x0F == 8 && len(body) > 1 && (int(body[0])<<8|int(body[1]))%31 == 0:
				r, err = zlib.NewReader(bytes.NewReader(body))
			default:
				r = flate.NewReader(bytes.NewReader(body))
			}
		default:
			if isPlain(body) {
				continue
			}
			return nil, fmt.Errorf("it is compressed with %q, which is not supported; record it with `Accept-Encoding: gzip`, or decoded", coding)
		}
		var plain []byte
		if err == nil {
			plain, err = io.ReadAll(io.LimitReader(r, maxPlainBody+1))
		}
		if err != nil && !(cut && errors.Is(err, io.ErrUnexpectedEOF) && len(plain) > 0) {
			return nil, fmt.Errorf("decoding it as %q: %w", list[n], err)
		}
		if len(plain) > maxPlainBody {
			return nil, fmt.Errorf("it exceeds %d bytes after decompression", maxPlainBody)
		}
		body = plain
	}
	return body, nil
}

// maxPlainBody bounds what a compressed body may hold.
const maxPlainBody = 256 << 20

// isPlain reports whether a body is text, which nothing compressed is.
func isPlain(body []byte) bool {
	if !utf8.Valid(body) {
		return false
	}
	return !bytes.ContainsFunc(body, func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' })
}
