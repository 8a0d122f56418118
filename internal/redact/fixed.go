// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"encoding/base64"
)

// fixed finds the keys in the run b[start:end] that have no beginning of their
// own, but parts of a fixed length. What it finds may begin before the run.
func (p *pass) fixed(b []byte, start, end int, out []edit) []edit {
	for i := start; i < end; i++ {
		var n int
		rule := ""
		from := i
		if i > 0 && b[i-1] == ':' && p.r.classes[b[i]]&isAlnum != 0 {
			if rule, from, n = behindColon(b, i, end); n == 0 {
				from = i
			}
		}
		switch c := b[i]; {
		case n > 0:
		case i > 0 && classOf(b[i-1])&(isWord|isDot) != 0:
		case c == 'M' || c == 'N' || c == 'O':
			rule, n = "discord", discord(b[i:end])
		case hexadecimal(c):
			rule, n = hexAndMore(b[i:end])
		}
		if n > 0 {
			out = append(out, p.edit(rule, b, from, i+n))
		}
	}
	return p.storage(b, start, end, out)
}

func hexadecimal(c byte) bool {
	_, ok := hexDigit(c)
	return ok
}

// span is how many characters of a class v begins with.
func (k class) span(v []byte) int {
	n := 0
	for n < len(v) && classOf(v[n])&k != 0 {
		n++
	}
	return n
}

// hexes is how many hexadecimal digits v begins with.
func hexes(v []byte) int {
	n := 0
	for n < len(v) && hexadecimal(v[n]) {
		n++
	}
	return n
}

// varied reports whether large and small letters and digits change as chance has
// it, so that a name made of words is none.
func varied(v []byte) bool {
	var all class
	changes := 0
	for i, c := range v {
		all |= classOf(c)
		if i > 0 && classOf(c) != classOf(v[i-1]) {
			changes++
		}
	}
	const letters = isLower | isUpper
	return all&letters == letters && changes*100 >= 30*len(v)
}

// behindColon is a key of Telegram, the number of a bot and 35 characters, or
// of Asana, numbers and 32 hexadecimal digits, of which the second part begins
// at i. from is where it begins.
func behindColon(b []byte, i, end int) (rule string, from, n int) {
	from = i - 1
	for from > 0 && i-from < 48 && (classOf(b[from-1]) == isDigit || b[from-1] == '/') {
		from--
	}
	for b[from] == '/' {
		from++
	}
	v := b[i:end]
	parts := bytes.Split(b[from:i-1], []byte{'/'})
	if n := isAlnum.span(v); n == 32 && hexes(v) == 32 && len(parts) >= 2 && len(parts) <= 3 && len(parts[0]) == 1 && len(parts[1]) >= 13 {
		return "asana", from, n
	}
	number := parts[len(parts)-1]
	from = i - 1 - len(number)
	bot := from >= 3 && bytes.EqualFold(b[from-3:from], []byte("bot"))
	if n := isWord.span(v); n == 35 && len(number) >= 8 && len(number) <= 12 && varied(v[:n]) && (bot || from == 0 || classOf(b[from-1])&isWord == 0) {
		return "telegram", from, n
	}
	return "", i, 0
}

// discord returns the length of a bot token: the number of the bot in base64,
// a time, a hash.
func discord(v []byte) int {
	first := isWord.span(v)
	if first < 23 || first > 28 || first == len(v) || v[first] != '.' {
		return 0
	}
	second := isWord.span(v[first+1:])
	last := first + 1 + second
	if second != 6 || last == len(v) || v[last] != '.' {
		return 0
	}
	third := isWord.span(v[last+1:])
	end := last + 1 + third
	if third < 27 || third > 40 || !mixed(v[:end]) || !varied(v[:first]) && !number64(v[:first]) || !varied(v[last+1:end]) {
		return 0
	}
	return end
}

// number64 reports whether v is a number in base64.
func number64(v []byte) bool {
	plain := decode64(v)
	return len(plain) >= 16 && digits(plain)
}

// hexAndMore is a key of Mailchimp, with a data centre behind it, or of
// Mailgun, with two shorter parts behind it.
func hexAndMore(v []byte) (rule string, n int) {
	n = isAlnum.span(v)
	if n != 32 || hexes(v) != 32 || n == len(v) || v[n] != '-' {
		return "", 0
	}
	rest := v[n+1:]
	if more, ok := bytes.CutPrefix(rest, []byte("us")); ok {
		if d := isDigit.span(more); d >= 1 && d <= 2 && isWord.span(more) == d {
			return "mailchimp", n + 3 + d
		}
	}
	const tail = 8
	if len(rest) >= 2*tail+1 && hexes(rest) == tail && rest[tail] == '-' && hexes(rest[tail+1:]) == tail && isWord.span(rest) == 2*tail+1 {
		return "mailgun", n + 2 + 2*tail
	}
	return "", 0
}

// storageKey is the length of a key of an Azure storage account: 64 bytes in
// base64.
const storageKey = 88

// opaqueNames end the names of values of 64 bytes that are no keys: signatures
// and digests, above all.
const opaqueNames = `signature sig signed integrity hash digest checksum hmac mac sha512 ed25519 proof data blob b64json embedding nonce cursor image
	audio state opaque continuation encryptedcontent thoughtsignature etag publickey pubkey fingerprint id uuid commit vector bytes`

// storage finds keys of Azure storage accounts.
func (p *pass) storage(b []byte, start, end int, out []edit) []edit {
	for start > 0 && (b[start-1] == '+' || b[start-1] == '/') { // where a run does not begin
		start--
	}
	for i := start + storageKey - 2; i+1 < end; i++ {
		if b[i] != '=' || b[i+1] != '=' {
			continue
		}
		from, to := i+2-storageKey, i+2
		if to < end && (classOf(b[to])&isWord != 0 || b[to] == '=') || goesBack(b[start:from]) {
			continue
		}
		plain, err := base64.StdEncoding.Strict().DecodeString(string(b[from:to]))
		if err != nil || !varied(b[from:to-2]) || isText(plain) || p.ofOpaque(b, from, to) {
			continue
		}
		out = append(out, p.edit("azure", b, from, to))
		i = to
	}
	return out
}

// goesBack reports whether base64 has begun before its last 88 characters. What
// ends in a slash may be the way of an address.
func goesBack(before []byte) bool {
	const longest = 48
	n := len(before)
	if n == 0 || classOf(before[n-1])&isAlnum == 0 && bytes.IndexByte([]byte("+/-"), before[n-1]) < 0 {
		return false
	}
	from := n
	for from > 0 && (classOf(before[from-1])&isAlnum != 0 || before[from-1] == '+' || before[from-1] == '/') {
		from--
	}
	return before[n-1] != '/' || n-from > longest || mixed(before[from:])
}

// ofOpaque reports whether the value b[from:to] has a name that says that it is
// no key.
func (p *pass) ofOpaque(b []byte, from, to int) bool {
	if from == 0 && to == len(b) && p.opaqueName(p.under) || from >= 7 && bytes.HasSuffix(b[:from], []byte("base64,")) {
		return true
	}
	i := from
	for i > 0 && bytes.IndexByte([]byte("\"'\\: =[\n>"), b[i-1]) >= 0 {
		i--
	}
	end := i
	for i > 0 && end-i < 64 && p.r.classes[b[i-1]]&isWord != 0 {
		i--
	}
	return i < from && end > i && p.opaqueName(b[i:end])
}

// opaqueName reports whether a name ends in one of [opaqueNames].
func (p *pass) opaqueName(name []byte) bool {
	var at [16]int
	borders := at[:0]
	word := squeezed(make([]byte, 0, 64), name, &borders)
	for _, n := range borders {
		if p.r.opaque[string(word[n:])] {
			return true
		}
	}
	return false
}
