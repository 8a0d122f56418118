// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package redact removes secrets, people and places from recorded traffic, and
// searches the bytes that are about to be written for any that are left.
//
//	r, err := redact.New(&redact.Rules{Literals: []string{os.Getenv("API_KEY")}})
//	if err != nil {
//		return err
//	}
//	kept := r.Interaction(live) // a copy; the live exchange is never touched
//	if found := r.Scan(file.Encode()); len(found) > 0 {
//		return fmt.Errorf("not written: %s", found[0])
//	}
//
// A secret becomes REDACTED-<rule>-<hash>, where the hash is of the secret, so
// that equal secrets stay equal. People and places are hashed by their role
// (home, temp, user), so that recordings of two machines agree. Requests that
// come in while a recording is replayed pass the same rules, and what has
// passed the rules passes them again unchanged.
//
// A secret in a header, such as an API key, is also looked for in addresses and
// bodies when it has 6 bytes or more with letters and digits among them (with
// less than 8, as a word of its own), or 16 without. A shorter key, such as
// "ollama", could be any word: name it in Rules.Literals.
package redact

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/key"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// Rules say what is taken out. Nil, and the zero Rules, mean all defaults.
type Rules struct {
	// RequestHeaders are the names of request headers that are kept, all
	// others are dropped. A name may end in `*`. Nil means a list of headers
	// that say what a request is about: Accept, Content-Type, versions.
	RequestHeaders []string
	// ResponseHeaders is the same for answers. Nil means types, rate limits,
	// retry hints, request ids. Trailers are kept, other than those with the
	// name of a secret.
	ResponseHeaders []string
	// Names are names of headers, query parameters, form fields and JSON keys
	// that hold secrets, beside the built-in ones (api key, token, password,
	// secret and so on). Case, `-` and `_` do not count, and a name also fits
	// as the last words of a longer one: `token` fits `githubToken`. Default
	// none more.
	Names []string
	// Keep are places that are written as they came, whatever they look like,
	// but for what is known to be secret: [Rules.Literals], people and places,
	// and the keys that a client has sent. A place is a path into a JSON body
	// in the words of [key.ParsePath], or a name, of a key at any depth or of
	// a header. Default none beside the built-in names (progressToken,
	// next_page_token).
	Keep []string
	// Literals are secrets themselves, such as the API key in use. Those
	// shorter than 6 bytes are refused. Default none.
	Literals []string
	// Users are login names, replaced wherever they stand as a word, whatever
	// the case. Nil means that of this process; general ones such as root are
	// left. The field `user` of a request is replaced whatever it holds.
	Users []string
	// Places are folders, replaced longest first, also with /private before
	// them. Nil means those of [Here].
	Places []Place
	// Key is the key of the hashes in placeholders. Default a public one:
	// recordings of different people agree, and whoever guesses a secret can
	// confirm the guess; weak secrets need a key of your own.
	Key string
}

// Place is a folder.
type Place struct {
	Name string // of lower-case letters, such as work
	Path string // absolute
}

// Redactor applies [Rules]. It may be used by many goroutines at once.
type Redactor struct {
	key               []byte
	names             *names
	requests, answers headerList
	known             *needles // literals, users, places
	encoded           *needles // literals in hex and base64
	shapes            [256][]shape
	classes           [256]class
	ids, idNames      map[string]bool
	keep              []*key.Path
	words             []secretWord
	infixes           []infixShape
	ordinary, opaque  map[string]bool

	mu   sync.Mutex
	seen map[string]string // guarded by mu; what was taken out, to its rule
	// split is guarded by mu; parts of secrets that lie in several records.
	split map[string]string
}

// maxSeen bounds the secrets that are kept for the scan.
const maxSeen = 10_000

// New returns a Redactor for the rules, which may be nil.
func New(rules *Rules) (*Redactor, error) {
	if rules == nil {
		rules = &Rules{}
	}
	r := &Redactor{
		key: []byte(cmp.Or(rules.Key, "rehearse")), names: newNames(rules), shapes: shapes(), ids: set(idPrefixes), idNames: set(idNames), words: secretWords(), infixes: infixShapes(), ordinary: set(ordinaryWords), opaque: set(opaqueNames), seen: map[string]string{}, split: map[string]string{},
		requests: newHeaderList(rules.RequestHeaders, requestHeaders),
		answers:  newHeaderList(rules.ResponseHeaders, responseHeaders),
	}
	for c := range r.classes {
		r.classes[c] = classOf(byte(c))
	}
	for _, text := range rules.Keep {
		p, err := keptPath(text)
		if err != nil {
			return nil, fmt.Errorf("paths to keep: %w", err)
		}
		r.keep = append(r.keep, p)
	}
	var list, encoded []needle
	for n, l := range rules.Literals {
		if len(l) < MinLiteral {
			return nil, fmt.Errorf("literal %d of the secrets has %d bytes and could match any text; the minimum is %d bytes", n+1, len(l), MinLiteral)
		}
		mark := r.mark("literal", l)
		list = append(list, literalNeedles(l, mark, "literal")...)
		for _, f := range encodings(l) {
			encoded = append(encoded, needle{text: []byte(f), mark: mark, rule: "literal"})
		}
	}
	places := rules.Places
	if places == nil {
		places = Here()
	}
	for _, p := range places {
		if !isRole(p.Name) {
			return nil, fmt.Errorf("place %q: %q is not a name of lower-case letters", p.Path, p.Name)
		}
		list = append(list, placeNeedles(p.Path, r.role(p.Name), p.Name)...)
	}
	users := rules.Users
	if users == nil {
		users = []string{os.Getenv("USER"), os.Getenv("LOGNAME"), os.Getenv("USERNAME")}
	}
	for _, u := range users {
		if n, ok := userNeedle(u, r.role("user")); ok {
			list = append(list, n)
		}
	}
	r.known, r.encoded = newNeedles(list), newNeedles(encoded)
	return r, nil
}

// Here are the folders of this process that recordings should not show.
// /tmp is one of them on every machine, so that texts that name it agree.
func Here() []Place {
	list := []Place{{"temp", os.TempDir()}, {"temp", "/tmp"}, {"temp", "/var/tmp"}}
	if home, err := os.UserHomeDir(); err == nil {
		list = append(list, Place{"home", home})
	}
	return list
}

func isRole(name string) bool {
	for _, c := range []byte(name) {
		if classOf(c) != isLower {
			return false
		}
	}
	return name != ""
}

// mark is the placeholder of a secret.
func (r *Redactor) mark(rule, secret string) string {
	h := hmac.New(sha256.New, r.key)
	h.Write([]byte(secret))
	return markStart + rule + "-" + hex.EncodeToString(h.Sum(nil)[:4])
}

// role is the placeholder of a person or a place: whose it is does not
// count, so that recordings of two machines agree.
func (r *Redactor) role(name string) string { return Mark(name) }

// Mark is what stands for a [Place] of that name.
func Mark(name string) string {
	sum := sha256.Sum256([]byte(name))
	return markStart + name + "-" + hex.EncodeToString(sum[:4])
}

// Request returns a copy of a request without secrets.
func (r *Redactor) Request(q vcr.Request) vcr.Request {
	p := &pass{r: r, found: map[string]string{}}
	return r.request(p, q)
}

func (r *Redactor) request(p *pass, q vcr.Request) vcr.Request {
	once := func(q vcr.Request) vcr.Request {
		q.URL = p.url(q.URL)
		h := q.Header
		q.Header = p.header(h, &r.requests)
		q.Body, _ = p.body(h, q.Body, nil)
		return q
	}
	body := q.Body
	q = once(q)
	if p.learn() {
		q = once(q)
	}
	q.Body = detached(q.Body, body)
	return q
}

// learn makes what was found so far be looked for everywhere.
func (p *pass) learn() bool {
	list := p.r.needlesOf(p.found)
	for _, u := range slices.Sorted(maps.Keys(p.users)) {
		if n, ok := userNeedle(u, p.r.role("user")); ok && !strings.Contains(u, " ") {
			list = append(list, n)
		}
	}
	p.learned = newNeedles(list)
	p.r.remember(p.found)
	return len(list) > 0
}

// needlesOf are the forms of secrets that were found, by their rules.
func (r *Redactor) needlesOf(found map[string]string) (list []needle) {
	for _, secret := range slices.Sorted(maps.Keys(found)) {
		rule := found[secret]
		list = append(list, learnedNeedles(secret, r.mark(rule, secret), rule)...)
	}
	return list
}

// remember keeps what was found for the scan.
func (r *Redactor) remember(found map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for secret, rule := range found {
		if len(r.seen) < maxSeen {
			r.seen[secret] = rule
		}
	}
}

// Interaction returns a copy of an exchange without secrets. The sizes in
// Meta.Chunks fit the new body. The request is what [Redactor.Request] makes
// of it; secrets of the request are also looked for in the answer.
func (r *Redactor) Interaction(i *vcr.Interaction) *vcr.Interaction {
	out := *i
	p := &pass{r: r, found: map[string]string{}}
	out.Request = r.request(p, i.Request)
	p.users = map[string]bool{}
	p.userOf(i.Request.Body)
	p.userOf(i.Response.Body)
	p.learn()
	meta := &out.Meta
	meta.Chunks = slices.Clone(i.Meta.Chunks)
	once := func() {
		resp := &out.Response
		h := resp.Header
		resp.Status = p.plain(resp.Status)
		resp.Header, resp.Trailer = p.header(h, &r.answers), p.header(resp.Trailer, nil)
		resp.Body, meta.Chunks = p.body(h, resp.Body, meta.Chunks)
		meta.Error, meta.Subject = p.plain(meta.Error), p.plain(meta.Subject)
		meta.Model, meta.Label = p.plain(meta.Model), p.plain(meta.Label)
	}
	known := len(p.found)
	once()
	if len(p.found) != known && p.learn() {
		once()
	}
	out.Response.Body = detached(out.Response.Body, i.Response.Body)
	return &out
}

// detached is what became of a body, which is a copy where nothing was changed.
// No body comes of none.
func detached(b, was []byte) []byte {
	if len(b) > 0 && &b[0] == &was[0] {
		return bytes.Clone(b)
	}
	return b
}

// userOf notes who a body says its user is.
func (p *pass) userOf(body []byte) {
	if !bytes.Contains(body, []byte(`"user"`)) && !bytes.Contains(body, []byte(`"user_id"`)) {
		return
	}
	for line := range payloads(body) {
		if b := body[line.start:line.end]; looksJSON(b) {
			p.json(b, 0, true)
		}
	}
}

// Marked reports whether a text has a placeholder in it, so that it is not what
// was sent.
func Marked(text []byte) bool {
	for at := 0; ; at++ {
		i := bytes.Index(text[at:], []byte(markStart))
		if i < 0 {
			return false
		}
		if at += i; placeholder(text[at:]) > 0 {
			return true
		}
	}
}

// Split returns what stands between the placeholders of a text, and these, in
// order: the text alone where it has none, and always one part more than marks.
func Split(text string) (parts, marks []string) {
	from := 0
	for at := 0; ; {
		i := strings.Index(text[at:], markStart)
		if i < 0 {
			return append(parts, text[from:]), marks
		}
		at += i
		n := placeholder([]byte(text[at:min(len(text), at+maxPlaceholder)]))
		if n == 0 {
			at += len(markStart)
			continue
		}
		parts, marks = append(parts, text[from:at]), append(marks, text[at:at+n])
		at += n
		from = at
	}
}

// maxPlaceholder is more than any placeholder has, in bytes.
const maxPlaceholder = 64

// Remark returns a text with other marks in the place of its placeholders.
func Remark(text string, other func(mark string) string) string {
	parts, marks := Split(text)
	if len(marks) == 0 {
		return text
	}
	var b strings.Builder
	for i, part := range parts {
		b.WriteString(part)
		if i < len(marks) {
			b.WriteString(other(marks[i]))
		}
	}
	return b.String()
}

// Neutral returns a text in which placeholders have no hash. Two texts that
// differ in their secrets alone are the same then, as when a recording is
// replayed with another key, or none worth the name.
func Neutral(text string) string {
	return Remark(text, func(mark string) string { return mark[:len(mark)-9] })
}
