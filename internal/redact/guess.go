// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
)

// idPrefixes begin the ids that endpoints make, up to the first `_` or `-`.
const idPrefixes = `chatcmpl cmpl call toolu tooluse srvtoolu resp fp msg req rs fc ws item run thread asst step gen file batch ftjob conv
	session sess evt event trace span response completion message tool functions chatcmplmsg modr emb img vs vsf org proj ig cs fs mcp mcpr
	mcpl boundary webkitformboundary rid id uuid redacted sha1 sha256 sha384 sha512 md5`

// idNames end the names of values that are random and no secrets.
const idNames = `id ids signature fingerprint hash digest sha sha1 sha256 md5 checksum etag cursor obfuscation content data image boundary
	integrity uuid guid nonce ray trace traceparent commit oid gitoid url uri encryptedcontent thoughtsignature redactedthinking b64json version
	nodeid reqid w binary`

// guess finds texts that look random in the run b[start:end].
func (p *pass) guess(b []byte, start, end int, out []edit) []edit {
	// A key is no longer than that; what is, is a picture, a signature or the
	// like, of which each part would look random.
	const longest = 128
	if end-start > longest || start >= 7 && bytes.HasSuffix(b[:start], []byte("base64,")) || p.namedID(b, start) {
		return out
	}
	for i := start; i < end; {
		if p.r.classes[b[i]]&isWord == 0 {
			i++
			continue
		}
		if i > 0 && b[i-1] == '\\' { // the letter of an escape
			i++
		}
		from := i
		for i < end && p.r.classes[b[i]]&isWord != 0 {
			i++
		}
		to := i
		// base64 of another key: with + and / in it, up to the end.
		if i < end && (b[i] == '+' || b[i] == '/') && mixed(b[from:end]) && bytes.IndexByte(b[from:end], '.') < 0 && end-from <= 100 {
			to, i = end, end
		}
		v := b[from:to]
		if len(v) >= 20 && len(v) <= 200 && random(v) && !p.isID(v) && !p.namedID(b, from) &&
			!bytes.Contains(v, []byte(markStart)) && !isText(decode64(v[:len(v)&^3])) {
			out = append(out, edit{from, to, "", guessRule})
		}
	}
	return out
}

// mixed reports whether v has all kinds of characters.
func mixed(v []byte) bool {
	var all class
	for _, c := range v {
		all |= classOf(c)
	}
	return all&isAlnum == isAlnum
}

// random reports whether a text looks as if chance had made it: words have
// runs of one kind of letters, chance changes between kinds all the time.
func random(v []byte) bool {
	v = longest(v)
	var seen [256]bool
	var all class
	changes, digits, distinct := 0, 0, 0
	hex := true
	for i, c := range v {
		k := classOf(c)
		all |= k
		if k == isDigit {
			digits++
		}
		if _, ok := hexDigit(c); !ok {
			hex = false
		}
		if !seen[c] {
			seen[c] = true
			distinct++
		}
		if i > 0 && k != classOf(v[i-1]) {
			changes++
		}
	}
	if len(v) < 14 || hex || digits < 2 || distinct < min(len(v)*2/5, 16) {
		return false
	}
	if all&isAlnum == isAlnum {
		return changes*100 >= 38*(len(v)-1)
	}
	return len(v) >= 28 && digits >= 5 && changes*100 >= 30*(len(v)-1) // letters of one case
}

// longest is the longest piece of v between separators, which are in names
// made of words.
func longest(v []byte) []byte {
	var best []byte
	for piece := range bytes.FieldsFuncSeq(v, func(r rune) bool { return r == '-' || r == '_' || r == '+' || r == '/' || r == '=' }) {
		if len(piece) > len(best) {
			best = piece
		}
	}
	return best
}

// isID reports whether a text begins as the ids of endpoints do.
func (p *pass) isID(v []byte) bool {
	n := bytes.IndexAny(v, "_-")
	if n <= 0 {
		return false
	}
	return p.r.ids[string(bytes.ToLower(v[:n]))]
}

// namedID reports whether the value at i has a name that ends as names of
// random texts do.
func (p *pass) namedID(b []byte, i int) bool {
	for i > 0 && bytes.IndexByte([]byte("\"'\\: =[-\n>/"), b[i-1]) >= 0 {
		i--
	}
	end := i
	for i > 0 && end-i < 64 && p.r.classes[b[i-1]]&isWord != 0 {
		i--
	}
	var at [16]int
	borders := at[:0]
	word := squeezed(make([]byte, 0, 64), b[i:end], &borders)
	for _, n := range borders {
		if p.r.idNames[string(word[n:])] || p.r.names.plain[string(word[n:])] {
			return true
		}
	}
	return false
}
