// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package key says when two requests are the same for a cassette. It brings a
// request into a canonical form, without what changes from run to run, and
// tells two of them apart field by field.
//
//	k := key.Of("POST", u, header, body, nil)
//	if k.ID != recorded.ID {
//		for _, d := range key.Diff(recorded, k) {
//			fmt.Println(d) // body.messages[1].content: recorded "Hi", now "Hello"
//		}
//	}
//
// What counts: the method, the path, the query as a sorted set, and the body.
// The host does not, since a recording is replayed at another address.
//
// A body of JSON is compared by its values: the order of keys does not matter,
// and 1.0 is 1. Some parts are left out (see [Rules]), and ids of tool calls,
// which models make up anew each time, are replaced by their number in order of
// appearance. Equal calls of one reply are interchangeable: it does not matter which
// of their results stands under which id.
// The order of the tools that a request offers does not matter;
// [Reordered] reports it.
//
// Forms are compared as sorted sets, multipart bodies part by part without
// their boundary, and anything else byte for byte.
package key

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/value"
)

// Rules say what of a request does not count. Nil means all defaults.
type Rules struct {
	// Ignore are paths into a JSON body that do not count, in place of
	// [Defaults], in the words of [ParsePath], as "metadata" or
	// "**.cache_control".
	Ignore []string
	// Also are further such paths, beside Ignore.
	Also []string
	// IgnoreQuery are parameters of the query that do not count.
	IgnoreQuery []string
}

// Defaults are the paths that do not count unless [Rules.Ignore] says
// otherwise: what clients add of themselves and what models do not see.
func Defaults() []string {
	return []string{
		"user", "seed", "generationConfig.seed", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "client_metadata",
		"**.cache_control", "stream_options",
	}
}

// Key is a request in canonical form.
type Key struct {
	// ID is the same for two requests that count as the same.
	ID string

	method, path string
	query        url.Values
	body         value.Value // of JSON, forms and multipart; see value
	packed       []byte      // is the body, of a key that was packed
	raw          []byte      // of anything else, and what of body is no text
	tools        []string    // in the order of the request
	fits         []string    // the paths of rules that fitted something
}

// Fits reports whether a path of the rules, as it was written, fitted
// something in the request.
func (k *Key) Fits(path string) bool { return slices.Contains(k.fits, path) }

// Check says which paths of the rules are wrong, and how.
func (r *Rules) Check() error {
	if r == nil {
		return nil
	}
	var errs []error
	for _, p := range slices.Concat(r.Ignore, r.Also) {
		if _, err := ParsePath(p); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// escapes are bytes of a path that are escaped: %2f is %2F.
var escapes = regexp.MustCompile(`%[0-9a-fA-F]{2}`)

// Of makes the key of a request.
func Of(method, address string, header http.Header, body []byte, rules *Rules) *Key {
	if rules == nil {
		rules = &Rules{}
	}
	k := &Key{method: strings.ToUpper(method), path: address}
	if k.method == "" {
		k.method = http.MethodGet
	}
	if u, err := url.Parse(address); err == nil {
		k.path = "/" + strings.Trim(escapes.ReplaceAllStringFunc(u.EscapedPath(), strings.ToUpper), "/")
		k.query = queryOf(u.RawQuery)
		for _, name := range rules.IgnoreQuery {
			k.query.Del(name)
		}
	}
	k.readBody(header.Get("Content-Type"), body, rules)
	k.seal(len(body))
	return k
}

// queryOf reads a query. A part that is not in the form of one, as a=%zz, stands
// as it is spelled.
func queryOf(raw string) url.Values {
	q, err := url.ParseQuery(raw)
	if err == nil {
		return q
	}
	q = url.Values{}
	for part := range strings.SplitSeq(raw, "&") {
		one, err := url.ParseQuery(part)
		if err != nil {
			name, v, _ := strings.Cut(part, "=")
			one = url.Values{name: {v}}
		}
		for name, values := range one {
			q[name] = append(q[name], values...)
		}
	}
	return q
}

// readBody parses a body by what it is, whatever its type says: clients send
// JSON under all sorts of names.
func (k *Key) readBody(contentType string, body []byte, rules *Rules) {
	kind, params, _ := mime.ParseMediaType(contentType)
	trimmed := bytes.TrimSpace(body)
	switch {
	case len(trimmed) == 0:
	case strings.HasPrefix(kind, "multipart/") && params["boundary"] != "":
		if v, err := parts(body, params["boundary"]); err == nil {
			k.body = v
			return
		}
		k.raw = body
	case kind == "application/x-www-form-urlencoded":
		if form, err := url.ParseQuery(string(body)); err == nil {
			k.body = formValue(form)
			text := form.Encode()
			if plain, _ := url.QueryUnescape(text); !utf8.ValidString(plain) {
				k.raw = []byte(text)
			}
			return
		}
		k.raw = body
	case trimmed[0] == '{' || trimmed[0] == '[':
		v, err := value.Parse(trimmed)
		if err != nil {
			k.raw = body
			return
		}
		c := canon{rules: compileRules(rules), ids: map[string]string{}, alias: map[string]string{}}
		k.body, k.raw = c.value(v), odd(trimmed)
		k.tools, k.fits = c.tools, c.fits
	default:
		k.raw = body
	}
}

// odd is what of JSON stands for no character: bytes that are not UTF-8, and
// halves of surrogate pairs. As a value each of them is U+FFFD.
func odd(text []byte) []byte {
	if utf8.Valid(text) && !bytes.Contains(text, []byte(`\ud`)) && !bytes.Contains(text, []byte(`\uD`)) {
		return nil
	}
	var out []byte
	for i := 0; i < len(text); {
		if text[i] != '\\' {
			r, size := utf8.DecodeRune(text[i:])
			if r == utf8.RuneError && size == 1 {
				out = append(out, text[i])
			}
			i += size
			continue
		}
		high, low := half(text[i:])
		if high && i+6 < len(text) {
			if _, pair := half(text[i+6:]); pair {
				i += 12
				continue
			}
		}
		if high || low {
			out = append(out, bytes.ToLower(text[i:i+6])...)
		}
		i += 2
	}
	return out
}

// half reports whether a text begins with an escape of half a pair.
func half(text []byte) (high, low bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return false, false
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return err == nil && unit >= 0xD800 && unit < 0xDC00, err == nil && unit >= 0xDC00 && unit < 0xE000
}

func (k *Key) seal(size int) {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s?%s\n", k.method, k.path, k.query.Encode())
	if !k.body.IsNull() {
		h.Write(k.body.Append(make([]byte, 0, size)))
	}
	h.Write([]byte{0})
	h.Write(k.raw)
	k.ID = hex.EncodeToString(h.Sum(nil)[:16])
}

// Pack makes the key small, for one that is kept in case that it is compared.
func (k *Key) Pack() {
	if !k.body.IsNull() {
		k.packed = k.body.Append(nil)
		k.body = value.Value{}
	}
}

// value is the body in canonical form; null when it has none.
func (k *Key) value() value.Value {
	if k.packed == nil {
		return k.body
	}
	v, _ := value.Parse(k.packed) // is what was written
	return v
}

func formValue(form url.Values) value.Value {
	var members []value.Member
	for name, values := range form {
		var items []value.Value
		for _, v := range values {
			items = append(items, value.StringOf(v))
		}
		members = append(members, value.Member{Key: name, Value: value.ArrayOf(items...)})
	}
	slices.SortFunc(members, byKey)
	return value.ObjectOf(members...)
}

func byKey(a, b value.Member) int { return strings.Compare(a.Key, b.Key) }

// parts reads a multipart body: a list of name, file name, type and content.
func parts(body []byte, boundary string) (value.Value, error) {
	r := multipart.NewReader(bytes.NewReader(body), boundary)
	var out []value.Value
	for {
		p, err := r.NextRawPart()
		if err == io.EOF {
			return value.ArrayOf(out...), nil
		}
		if err != nil {
			return value.Value{}, err
		}
		content, err := io.ReadAll(p)
		if err != nil {
			return value.Value{}, err
		}
		text := string(content)
		if len(content) > 1<<10 || !utf8.Valid(content) {
			sum := sha256.Sum256(content)
			text = fmt.Sprintf("%d bytes, sha256 %x", len(content), sum[:8])
		}
		out = append(out, value.ObjectOf(
			value.Member{Key: "name", Value: value.StringOf(p.FormName())},
			value.Member{Key: "file", Value: value.StringOf(p.FileName())},
			value.Member{Key: "type", Value: value.StringOf(p.Header.Get("Content-Type"))},
			value.Member{Key: "content", Value: value.StringOf(text)},
		))
	}
}

// Reordered tells how the tools of a request stand in another order than
// recorded; empty when they do not.
func Reordered(recorded, now *Key) string {
	if slices.Equal(recorded.tools, now.tools) || len(recorded.tools) != len(now.tools) {
		return ""
	}
	return fmt.Sprintf("the tools come in another order: recorded %s, now %s", strings.Join(recorded.tools, ", "), strings.Join(now.tools, ", "))
}
