// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"encoding/base64"
	"unicode/utf8"
)

// maxDepth is how many encodings may lie in each other.
const maxDepth = 6

// pass is one go over an exchange. It notes the secrets that it finds.
type pass struct {
	r       *Redactor
	learned *needles
	// found are the secrets so far; nil when nobody asks.
	found map[string]string // to their rule
	users map[string]bool   // values of the field user
	// unknown also finds shapes that nobody knows; only the scan does so,
	// since a guess must not change a recording.
	unknown bool
	// people are who it is for: what only the name of a value speaks against, and
	// that could be any word, stays.
	people bool
	asked  map[string]bool // names, and whether they are secret
	// under is the key of the string that is looked at.
	under []byte
}

// isSecret is names.is with a memory: bodies say few keys many times.
func (p *pass) isSecret(name []byte) bool {
	is, ok := p.asked[string(name)]
	if !ok {
		is = p.r.names.is(name)
		if p.asked == nil {
			p.asked = map[string]bool{}
		}
		if len(p.asked) < 1000 {
			p.asked[string(name)] = is
		}
	}
	return is
}

// edit replaces a secret.
func (p *pass) edit(rule string, b []byte, start, end int) edit {
	return edit{start, end, p.secret(rule, b[start:end]), rule}
}

// secret notes a secret and returns its placeholder.
func (p *pass) secret(rule string, v []byte) string {
	if p.found != nil && len(v) < 4096 && memorable(rule, v) {
		if _, ok := p.found[string(v)]; !ok {
			p.found[string(v)] = rule
		}
	}
	return p.r.mark(rule, string(v))
}

// memorable reports whether a secret is looked for elsewhere: what could be a
// common word is not. A header that is not kept says for certain that it holds
// a secret, and less of one will do.
func memorable(rule string, v []byte) bool {
	return strong(v) || rule == "header" && len(v) >= minLearned && mixes(v) || len(v) >= 16 && bytes.IndexByte(v, ' ') < 0
}

// auto finds secrets in a text that may be JSON.
func (p *pass) auto(b []byte, depth int) []edit {
	if depth > maxDepth {
		return nil
	}
	if looksJSON(b) {
		return p.json(b, depth, false)
	}
	return p.text(b, depth)
}

func looksJSON(b []byte) bool {
	for _, c := range b {
		switch c {
		case ' ', '\t', '\r', '\n':
		case '{', '[':
			return true
		default:
			return false
		}
	}
	return false
}

// text finds secrets in a text.
func (p *pass) text(b []byte, depth int) []edit {
	if len(b) < 3 || depth > maxDepth {
		return nil
	}
	out := p.r.known.find(b, nil)
	out = p.learned.find(b, out)
	if len(b) < 6 {
		return tidy(out)
	}
	out = p.runs(b, depth, out)
	out = p.contexts(b, out)
	if bytes.IndexByte(b, '\n') >= 0 {
		out = p.folded(b, out)
	}
	out = p.r.spread(b, out)
	if bytes.Contains(b, []byte("://")) {
		out = p.webhooks(b, p.userinfo(b, out))
	}
	if bytes.Contains(b, []byte("PRIVATE KEY")) || bytes.Contains(b, []byte(markStart+"pem-")) {
		out = p.pemRest(b, p.pem(b, out))
	}
	if bytes.IndexByte(b, '%') >= 0 {
		out = p.percent(b, depth, out)
	}
	if escaped(b) {
		l := unescape(b)
		out = append(out, l.back(p.text(l.text, depth+1))...)
	}
	return tidy(out)
}

// escaped reports whether a text that is no JSON has escapes of JSON in it.
func escaped(b []byte) bool {
	for {
		i := bytes.IndexByte(b, '\\')
		if i < 0 || i+1 >= len(b) {
			return false
		}
		switch b[i+1] {
		case '"', '/', 'u', 'x', '\\', '\n', 'n', 't', 'r':
			return true
		}
		b = b[i+1:]
	}
}

// runs goes over the runs of characters that secrets are made of, and over
// the assignments between them.
func (p *pass) runs(b []byte, depth int, out []edit) []edit {
	decoded := 0  // base64 over lines is decoded up to here
	assigned := 0 // and here the last value ends
	for i := 0; i < len(b); {
		c := b[i]
		k := p.r.classes[c]
		if k&isWord == 0 {
			if i >= assigned && (c == ':' || c == '=' || c == '>') {
				out, assigned = p.assignment(b, i, out)
			}
			i++
			continue
		}
		start, last := i, i
		for i < len(b) {
			k := p.r.classes[b[i]]
			if k&isRun == 0 {
				break
			}
			if b[i] == '=' && i >= assigned {
				out, assigned = p.assignment(b, i, out)
			}
			if k&isWord != 0 {
				last = i
			}
			i++
		}
		switch n := last + 1 - start; {
		case n >= 16:
			out, decoded = p.long(b, start, i, depth, decoded, out)
		case n == 5 || n == 6:
			if i < len(b) && b[i] == ' ' {
				out = p.scheme(b, start, i, out)
			}
		}
	}
	return out
}

// long looks at a run that is long enough for a secret. Base64 is decoded up
// to the offset decoded.
func (p *pass) long(b []byte, start, end, depth, decoded int, out []edit) ([]edit, int) {
	before := len(out)
	out = p.shaped(b, start, end, out)
	if len(out) == before {
		out = p.fixed(b, start, end, p.infixed(b, start, end, p.hex(b, start, end, depth, out)))
	}
	if len(out) == before && start >= decoded {
		out, decoded = p.base64(b, start, end, depth, out)
	}
	if p.unknown && len(out) == before {
		out = p.guess(b, start, end, out)
	}
	return out, decoded
}

// scheme finds the credentials after the name of an authorization scheme.
func (p *pass) scheme(b []byte, start, end int, out []edit) []edit {
	basic := bytes.EqualFold(b[start:end], []byte("basic"))
	if !basic && !bytes.EqualFold(b[start:end], []byte("bearer")) {
		return out
	}
	i := end
	for i < len(b) && b[i] == ' ' {
		i++
	}
	from := i
	digits := false
	for i < len(b) && p.r.classes[b[i]]&isRun != 0 {
		digits = digits || p.r.classes[b[i]] == isDigit
		i++
	}
	v := bytes.TrimRight(b[from:i], ".")
	if placeholder(v) > 0 {
		return out
	}
	if basic {
		plain := decode64(v)
		if bytes.IndexByte(plain, ':') >= 0 && isText(plain) {
			if _, word, ok := bytes.Cut(plain, []byte{':'}); ok && p.found != nil {
				p.secret("basic", word)
			}
			out = append(out, p.edit("basic", b, from, from+len(v)))
		}
		return out
	}
	if digits && len(v) >= 16 || len(v) >= 40 {
		out = append(out, p.edit("bearer", b, from, from+len(v)))
	}
	return out
}

// assignment looks at the `=`, `:` or `>` at i: what is before it may be the
// name of a secret, and then what is after it is one. It returns where that
// ends.
func (p *pass) assignment(b []byte, i int, out []edit) ([]edit, int) {
	end := i
	for end > 0 && b[end-1] == ' ' && i-end < 2 {
		end--
	}
	quotedName := false
	for end > 0 && (b[end-1] == '"' || b[end-1] == '\'' || b[end-1] == '\\') && i-end < 64 {
		end--
		quotedName = true
	}
	start := end
	for start > 0 && end-start < 64 && p.r.classes[b[start-1]]&(isWord|isDot) != 0 {
		start--
	}
	if end-start < 3 {
		return out, i
	}
	query := b[i] == '=' && start > 0 && (b[start-1] == '?' || b[start-1] == '&')
	if b[i] == '>' && (start == 0 || b[start-1] != '<' && b[start-1] != ':') {
		return out, i
	}
	name := b[start:end]
	if !p.isSecret(name) && !(query && p.r.names.is(name, p.r.names.query)) {
		if len(name) > 5 || !bytes.EqualFold(bytes.Trim(name, "_-"), []byte("auth")) {
			return out, i
		}
		if from, to, _ := valueAt(b[:min(len(b), i+4*farEnough)], i+1); isLogin(decode64(b[from:to])) {
			return append(out, p.edit("auth", b, from, to)), to
		}
		return out, i
	}
	begin := i + 1
	if begin < len(b) && b[begin] == '>' { // an arrow
		begin++
	}
	from, to, quoted := valueAt(b[:min(len(b), i+4*farEnough)], begin)
	v := b[from:to]
	if len(v) == 0 || masked(v) || trivial(v) || logprob(b, start, to) {
		return out, i
	}
	if strong(v) || query || quotedName && quoted && b[i] == ':' && !isType(v) {
		from, to, _ = valueAt(b, begin)
		return append(out, p.edit("value", b, from, to)), to
	}
	return out, i
}

// logprob reports whether a member of a text that may be JSON stands beside a
// log probability, in the same object; a token there is no secret.
func logprob(b []byte, start, end int) bool {
	const most = 400 // bytes: there are bytes of tokens between, and blanks
	after, before := b[end:min(len(b), end+most)], b[max(0, start-most):start]
	if i := bytes.IndexByte(after, '}'); i >= 0 {
		after = after[:i]
	}
	if i := bytes.LastIndexByte(before, '{'); i >= 0 {
		before = before[i:]
	}
	for _, part := range [][]byte{after, before} {
		if part = bytes.ToLower(part); bytes.Contains(part, []byte("logprob")) || bytes.Contains(part, []byte("log_prob")) {
			return true
		}
	}
	return false
}

// isType reports whether a value is the name of a type, or a text of many
// words, as in an example.
func isType(v []byte) bool {
	switch string(bytes.ToLower(v)) {
	case "string", "str", "text", "number", "integer", "int", "boolean", "bool", "object", "array", "any", "true", "false":
		return true
	}
	return bytes.IndexByte(v, ' ') >= 0
}

// valueAt finds the value that begins at i, behind blanks, quotes and the name
// of an authorization scheme.
func valueAt(b []byte, i int) (from, to int, quoted bool) {
	for i < len(b) && b[i] == ' ' {
		i++
	}
	slashes := i
	for i < len(b) && b[i] == '\\' {
		i++
	}
	if i < len(b) && (b[i] == '"' || b[i] == '\'' || b[i] == '`') {
		quote := b[i]
		i++
		for to = i; to < len(b) && b[to] != quote && b[to] != '\n'; to++ {
			if b[to] == '\\' && slashes == i-1 {
				to++
			}
		}
		to = min(to, len(b))
		for to > i && b[to-1] == '\\' {
			to--
		}
		quoted = true
	} else {
		i = slashes
		for to = i; to < len(b) && !ends(b[to]); to++ {
		}
	}
	for _, scheme := range []string{"Bearer ", "Basic ", "Token "} {
		if len(b)-i > len(scheme) && bytes.EqualFold(b[i:i+len(scheme)], []byte(scheme)) {
			i += len(scheme)
			if !quoted {
				for to = i; to < len(b) && !ends(b[to]); to++ {
				}
			}
		}
	}
	return i, max(i, to), quoted
}

func ends(c byte) bool {
	return c <= ' ' || bytes.IndexByte([]byte(",;&\"'<>)]}\\`|"), c) >= 0
}

// userinfo finds names and passwords in URLs.
func (p *pass) userinfo(b []byte, out []edit) []edit {
	for at := 0; ; {
		i := bytes.Index(b[at:], []byte("://"))
		if i < 0 {
			return out
		}
		start := at + i + 3
		end, sign := start, -1
		for end < len(b) && b[end] > ' ' && bytes.IndexByte([]byte("/?#\"'<>\\`,"), b[end]) < 0 {
			if b[end] == '@' {
				sign = end
			}
			end++
		}
		at = start
		if sign > start && placeholder(b[start:]) == 0 {
			if v := b[start:sign]; bytes.IndexByte(v, ':') >= 0 || strong(v) {
				if _, word, ok := bytes.Cut(v, []byte{':'}); ok && p.found != nil {
					p.secret("userinfo", word)
				}
				out = append(out, p.edit("userinfo", b, start, sign))
			}
		}
	}
}

// pem finds private keys in PEM form.
func (p *pass) pem(b []byte, out []edit) []edit {
	for at := 0; ; {
		i := bytes.Index(b[at:], []byte("-----BEGIN "))
		if i < 0 {
			return out
		}
		start := at + i
		at = start + len("-----BEGIN ")
		head := b[start:min(len(b), start+64)]
		if !bytes.Contains(head, []byte("PRIVATE KEY")) {
			continue
		}
		end := len(b)
		if n := bytes.Index(b[at:], []byte("-----END ")); n >= 0 {
			end = at + n + len("-----END ")
			if n := bytes.Index(b[end:], []byte("-----")); n >= 0 && n < 64 {
				end += n + len("-----")
			}
		}
		out = append(out, p.edit("pem", b, start, end))
		at = end
	}
}

// percent decodes what is escaped as in a URL.
func (p *pass) percent(b []byte, depth int, out []edit) []edit {
	for at := 0; at < len(b); {
		i := bytes.IndexByte(b[at:], '%')
		if i < 0 {
			break
		}
		i += at
		at = i + 1
		if i+2 >= len(b) {
			break
		}
		_, ok1 := hexDigit(b[i+1])
		_, ok2 := hexDigit(b[i+2])
		if !ok1 || !ok2 {
			continue
		}
		start, end := i, i
		for start > 0 && inURL(b[start-1]) {
			start--
		}
		for end < len(b) && inURL(b[end]) {
			end++
		}
		l := unpercent(b[start:end])
		out = shifted(out, start, l.back(p.auto(l.text, depth+1)))
		at = end
	}
	return out
}

func inURL(c byte) bool {
	return c > ' ' && c < 0x7F && bytes.IndexByte([]byte("\"'<>\\`{}|^"), c) < 0
}

// base64 decodes a run, or what of it has the characters of base64, and
// looks into the text. It returns how far it came.
func (p *pass) base64(b []byte, start, end, depth int, out []edit) ([]edit, int) {
	for end > start && (b[end-1] == '.' || b[end-1] == '~') {
		end--
	}
	last := start
	for from := start; from < end && depth < maxDepth; {
		to := from
		for to < end && b[to] != '.' && b[to] != '~' && b[to] != '=' {
			to++
		}
		stop := to
		for stop < end && b[stop] == '=' {
			stop++
		}
		if to-from >= 12 {
			out, last = p.decoded(b, from, stop, depth, out)
		}
		from = max(stop, to+1)
	}
	return out, last
}

// decoded looks into one piece of base64. Lines of an equal length are one
// piece.
func (p *pass) decoded(b []byte, start, end, depth int, out []edit) ([]edit, int) {
	piece := b[start:end]
	head := decode64(piece[:min(len(piece), 64)&^3])
	if !isText(head) {
		if i := bytes.LastIndexByte(piece, '/'); i >= 0 && len(piece)-i > 16 { // a path before it
			return p.decoded(b, start+i+1, end, depth, out)
		}
		return out, end
	}
	if len(piece) >= 60 && piece[len(piece)-1] != '=' {
		end = p.wrapped(b, end)
		piece = b[start:end]
	}
	plain := decode64(piece)
	if len(plain) == 0 || !isText(plain) {
		return out, end
	}
	edits := p.auto(plain, depth+1)
	if len(edits) == 0 {
		return out, end
	}
	enc := base64.StdEncoding
	if bytes.ContainsAny(piece, "-_") {
		enc = base64.URLEncoding
	}
	if piece[len(piece)-1] != '=' {
		enc = enc.WithPadding(base64.NoPadding)
	}
	return append(out, edit{start, end, enc.EncodeToString(apply(plain, edits)), edits[0].rule}), end
}

// wrapped returns the end of base64 that goes on over lines.
func (p *pass) wrapped(b []byte, end int) int {
	for {
		i := end
		for i < len(b) && (b[i] == '\r' || b[i] == '\n' || b[i] == ' ') {
			i++
		}
		if i == end || bytes.IndexByte(b[end:i], '\n') < 0 {
			return end
		}
		from := i
		for i < len(b) && p.r.classes[b[i]]&(isWord|isBase) != 0 && b[i] != '~' {
			i++
		}
		if i-from < 4 || i < len(b) && b[i] != '\r' && b[i] != '\n' && b[i] != '"' {
			return end
		}
		end = i
		if b[i-1] == '=' {
			return end
		}
	}
}

// decode64 decodes any kind of base64; nil when it is none.
func decode64(b []byte) []byte {
	b = bytes.TrimRight(b, "=")
	clean := make([]byte, 0, len(b))
	for _, c := range b {
		switch c {
		case '-':
			c = '+'
		case '_':
			c = '/'
		case ' ', '\r', '\n':
			continue
		}
		clean = append(clean, c)
	}
	if len(clean)%4 == 1 {
		return nil
	}
	out := make([]byte, base64.RawStdEncoding.DecodedLen(len(clean)))
	n, err := base64.RawStdEncoding.Decode(out, clean)
	if err != nil {
		return nil
	}
	return out[:n]
}

// isText reports whether b is a text, and no noise.
func isText(b []byte) bool {
	if len(b) == 0 {
		return false
	}
	odd := 0
	for i := 0; i < len(b); {
		if c := b[i]; c < utf8.RuneSelf {
			if c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7F {
				return false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			if len(b)-i < 4 && i > 8 { // cut in a character
				break
			}
			return false
		}
		odd++
		i += n
	}
	return odd*4 <= len(b)
}
