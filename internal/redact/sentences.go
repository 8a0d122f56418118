// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"encoding/hex"
	"slices"
)

// contexts finds values that the words before them say are secret: flags of
// commands, files of logins, sentences.
func (p *pass) contexts(b []byte, out []edit) []edit {
	if bytes.Contains(b, []byte("-u")) || bytes.Contains(b, []byte("-U")) {
		out = p.userFlags(b, out)
	}
	if bytes.Contains(b, []byte("--")) {
		out = p.secretFlags(b, out)
	}
	if bytes.Contains(b, []byte("password")) && (bytes.Contains(b, []byte("machine")) || bytes.Contains(b, []byte("default"))) {
		out = p.netrc(b, out)
	}
	return p.sentences(b, out)
}

// isLogin reports whether a text is a name and a password, with a colon.
func isLogin(plain []byte) bool {
	name, word, ok := bytes.Cut(plain, []byte{':'})
	return ok && len(name) > 0 && len(word) > 2 && isText(plain) && !bytes.ContainsAny(name, " \t\r\n{}[]\"") && !bytes.ContainsAny(word, " \t\r\n")
}

// flagNames are the flags of curl and its like that take NAME:PASSWORD.
func flagNames() []string { return []string{"--proxy-user", "--user", "-u", "-U"} }

// userFlags finds the password in `curl -u NAME:PASSWORD`.
func (p *pass) userFlags(b []byte, out []edit) []edit {
	for at := 0; at < len(b); at++ {
		i := bytes.IndexByte(b[at:], '-')
		if i < 0 {
			return out
		}
		at += i
		if at > 0 && !isBlank(b[at-1]) && bytes.IndexByte([]byte("\"'`[,("), b[at-1]) < 0 {
			continue
		}
		for _, flag := range flagNames() {
			if !bytes.HasPrefix(b[at:], []byte(flag)) {
				continue
			}
			from := at + len(flag)
			for from < len(b) && bytes.IndexByte([]byte(" \t=\"'\\,"), b[from]) >= 0 { // between, or as words of a list
				from++
			}
			to := from
			for to < len(b) && !ends(b[to]) {
				to++
			}
			colon := bytes.IndexByte(b[from:to], ':')
			if colon <= 0 || !aboutHTTP(b, at) {
				break
			}
			if word := b[from+colon+1 : to]; !bytes.HasPrefix(word, []byte("//")) && !masked(word) && word[0] != '$' {
				out = append(out, p.edit("curl", b, from+colon+1, to))
			}
			break
		}
	}
	return out
}

// secretFlags finds the word behind a flag whose name is that of a secret, as in
// `--token WORD`, also as words of a list.
func (p *pass) secretFlags(b []byte, out []edit) []edit {
	for at := 0; ; {
		i := bytes.Index(b[at:], []byte("--"))
		if i < 0 {
			return out
		}
		start := at + i + len("--")
		at = start
		if i := start - len("--"); i > 0 && !isBlank(b[i-1]) && bytes.IndexByte([]byte("\"'`[,("), b[i-1]) < 0 {
			continue
		}
		for at < len(b) && p.r.classes[b[at]]&isWord != 0 {
			at++
		}
		from := at
		for from < len(b) && bytes.IndexByte([]byte(" \t\"'\\,"), b[from]) >= 0 {
			from++
		}
		if from == at || !p.isSecret(b[start:at]) {
			continue
		}
		to := from
		for to < len(b) && !ends(b[to]) {
			to++
		}
		if v := b[from:to]; strong(v) && !masked(v) && v[0] != '-' {
			out = append(out, p.edit("value", b, from, to))
			at = to
		}
	}
}

// aboutHTTP reports whether a command is one that asks a server: other flags
// of that name take a user and a group. A command goes on over a line that ends
// in a backslash.
func aboutHTTP(b []byte, at int) bool {
	const most = 600
	start, end := at, at
	for start > max(0, at-most) && (b[start-1] != '\n' || start > 1 && b[start-2] == '\\') {
		start--
	}
	for end < min(len(b), at+most) && (b[end] != '\n' || b[end-1] == '\\') {
		end++
	}
	near := b[start:end]
	return bytes.Contains(near, []byte("curl")) || bytes.Contains(near, []byte("://"))
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// netrc finds the passwords of a .netrc file: machine NAME login NAME password
// WORD, over lines or not, in any order.
func (p *pass) netrc(b []byte, out []edit) []edit {
	inside := false
	for i := 0; i < len(b); {
		start, end := nextWord(b, i)
		switch string(bytes.Trim(b[start:end], "\"'`")) {
		case "machine":
			_, end = nextWord(b, end) // its name
			inside = true
		case "default":
			inside = true
		case "login", "account", "user", "port":
			if inside {
				_, end = nextWord(b, end)
			}
		case "password", "passwd":
			if !inside {
				break
			}
			from, to := nextWord(b, end)
			if n := bytes.IndexAny(b[from:to], "\"\\"); n >= 0 {
				to = from + n
			}
			if !masked(b[from:to]) {
				out = append(out, p.edit("netrc", b, from, to))
			}
			end = to
		default:
			inside = false
		}
		if end <= i {
			break
		}
		i = end
	}
	return out
}

// nextWord returns the bounds of the first word of b at i or behind.
func nextWord(b []byte, i int) (start, end int) {
	for i < len(b) && isBlank(b[i]) {
		i++
	}
	start = i
	for i < len(b) && !isBlank(b[i]) {
		i++
	}
	return start, i
}

// hex decodes a run of hexadecimal digits and looks into the text.
func (p *pass) hex(b []byte, start, end, depth int, out []edit) []edit {
	if bytes.HasPrefix(b[start:end], []byte("0x")) || bytes.HasPrefix(b[start:end], []byte("0X")) {
		start += 2
	}
	v := b[start:end]
	if len(v) < 24 || len(v)%2 != 0 || len(v) > 64<<10 || depth >= maxDepth {
		return out
	}
	plain := make([]byte, len(v)/2)
	if _, err := hex.Decode(plain, v); err != nil || !isText(plain) {
		return out
	}
	edits := p.auto(plain, depth+1)
	if len(edits) == 0 {
		return out
	}
	return append(out, edit{start, end, hex.EncodeToString(apply(plain, edits)), edits[0].rule})
}

// secretWords are the words for secrets in a sentence. What is true for a
// password, which is what somebody chose, is not for keys, of which many are
// none.
type secretWord struct {
	text   string // in lower case
	chosen bool   // somebody chose it, so that it may be a word
	least  int    // bytes that the value must have
}

func secretWords() []secretWord {
	return []secretWord{
		{"password", true, 4},
		{"passwort", true, 4},
		{"passphrase", true, 4},
		{"passcode", true, 4},
		{"passwd", true, 4},
		{"pin code", true, 4},
		{"pin", true, 4},
		{"api key", false, 8},
		{"access key", false, 8},
		{"secret key", false, 8},
		{"private key", false, 8},
		{"access token", false, 8},
		{"auth token", false, 8},
		{"api token", false, 8},
		{"bearer token", false, 8},
		{"client secret", false, 8},
		{"secret", false, 16},
		{"token", false, 16},
		{"key", false, 16},
		{"credentials", false, 8},
	}
}

// sentences finds secrets in sentences: "my password is X", "the API key for
// production is X".
func (p *pass) sentences(b []byte, out []edit) []edit {
	for _, verb := range []string{" is ", " was "} {
		for at := 0; ; {
			i := bytes.Index(b[at:], []byte(verb))
			if i < 0 {
				break
			}
			i += at
			at = i + len(verb) - 1
			if w, mine := p.subject(b, i); w != nil {
				out = p.stated(b, at, w, mine, out)
			}
		}
	}
	for at := 0; at < len(b); { // "Password: hunter2"
		i := bytes.IndexByte(b[at:], ':')
		if i < 0 {
			return out
		}
		i += at
		at = i + 1
		if w, _ := p.subject(b, i); w != nil && w.chosen && i+1 < len(b) && bytes.IndexByte([]byte(" \n*_"), b[i+1]) >= 0 {
			out = p.stated(b, i+1, w, false, out)
		}
	}
	return out
}

// subject returns the word for a secret that a sentence which goes on at end
// is about, and whether it is the speaker's own; nil for none.
func (p *pass) subject(b []byte, end int) (_ *secretWord, mine bool) {
	const most = 64
	before := b[max(0, end-most):end]
	if i := bytes.LastIndexAny(before, ".!?;\n\"{}"); i >= 0 {
		before = before[i+1:]
	}
	before = bytes.ToLower(bytes.TrimRight(before, " *_`"))
	for n := range p.r.words {
		w := &p.r.words[n]
		i := bytes.LastIndex(before, []byte(w.text))
		if i < 0 || i > 0 && alnum(before[i-1]) {
			continue
		}
		rest := before[i+len(w.text):]
		switch {
		case len(rest) == 0:
		case alnum(rest[0]):
			continue
		default: // "for the database", but nothing else
			first, _, _ := bytes.Cut(bytes.TrimLeft(rest, " *_`"), []byte{' '})
			if !slices.Contains([]string{"for", "to", "of", "on", "at", "here", "there", "again", "now", "("}, string(first)) {
				continue
			}
		}
		head := bytes.Fields(before[:i])
		for _, own := range []string{"my", "our", "your", "the", "her", "his", "their"} {
			mine = mine || len(head) > 0 && string(head[len(head)-1]) == own && own != "the" || len(head) > 1 && string(head[len(head)-2]) == own && own != "the"
		}
		return w, mine
	}
	return nil, false
}

// stated finds the value at i, in quotes or not.
func (p *pass) stated(b []byte, i int, w *secretWord, mine bool, out []edit) []edit {
	for i < len(b) && bytes.IndexByte([]byte(" \n:*_"), b[i]) >= 0 {
		i++
	}
	if i >= len(b) {
		return out
	}
	from, to, quoted := i, i, false
	for _, q := range []string{`"`, "'", "`", "“", "«", "„"} {
		if !bytes.HasPrefix(b[i:], []byte(q)) {
			continue
		}
		closing := map[string]string{"“": "”", "«": "»", "„": "“"}[q]
		if closing == "" {
			closing = q
		}
		from = i + len(q)
		n := bytes.Index(b[from:min(len(b), from+128)], []byte(closing))
		if n < 0 {
			return out
		}
		to, quoted = from+n, true
		break
	}
	if !quoted {
		for to < len(b) && !isBlank(b[to]) && bytes.IndexByte([]byte("\"\\<"), b[to]) < 0 {
			to++
		}
		for to > from && bytes.IndexByte([]byte(".,;:!?)\"'*`"), b[to-1]) >= 0 {
			to--
		}
	}
	if v := b[from:to]; !masked(v) && !trivial(v) && placeholder(v) == 0 && p.tells(w, v, quoted, mine) {
		out = append(out, p.edit("said", b, from, to))
	}
	return out
}

// tells reports whether a value behind the word is a secret.
func (p *pass) tells(w *secretWord, v []byte, quoted, mine bool) bool {
	if len(v) < w.least || len(v) > 128 || bytes.Contains(v, []byte("://")) || v[0] == '$' || v[0] == '<' || v[0] == '{' || v[0] == '[' {
		return false
	}
	spaced := bytes.IndexByte(v, ' ') >= 0
	if !w.chosen {
		return !spaced && mixes(v)
	}
	switch {
	case spaced:
		return quoted && mine
	case p.ordinary(v):
		return false
	case quoted, mixes(v):
		return true
	case w.text == "pin" || w.text == "pin code" || !mine:
		return digits(v) && len(v) >= 4 || mine && bytes.IndexAny(v, "!@#$%^&*+~?") > 0
	}
	return true
}

func digits(v []byte) bool {
	for _, c := range v {
		if classOf(c) != isDigit {
			return false
		}
	}
	return true
}

// ordinaryWords follow "the password is" where it is not told.
const ordinaryWords = `a an the not no in on at for to too very now still also already being only just always never what that this it wrong
	incorrect invalid valid correct right ok okay fine weak strong secret safe secure unsafe insecure missing empty blank unknown known
	hidden private public important sensitive confidential new old same different short long visible plain text here there gone lost
	none null undefined unset set reset sent mandatory necessary sufficient case-sensitive temporary permanent one something nothing simple
	your my our his her their stored kept sent read written shown out of up your-password changeme password string required optional`

// ordinary reports whether a value is a word that says something of a
// password.
func (p *pass) ordinary(v []byte) bool {
	lower := bytes.ToLower(v)
	if p.r.ordinary[string(lower)] {
		return true
	}
	for _, c := range lower {
		if classOf(c) != isLower {
			return false
		}
	}
	for _, end := range []string{"ed", "ing", "able", "ible", "ful", "less", "ly", "ory", "ent", "ant"} {
		if bytes.HasSuffix(lower, []byte(end)) {
			return true
		}
	}
	return false
}
