// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/value"
)

// maxNesting is how deep values may lie in each other; what lies deeper is
// taken as text.
const maxNesting = 500

// walker goes over JSON, which may be broken off or followed by more, and
// keeps every byte that is no secret: format, order and spelling of numbers.
type walker struct {
	value.Scanner
	p     *pass
	depth int // of encodings
	out   []edit
	// user is set where the field user of the outermost object is a person.
	user bool
	// leaf, when set, is told of strings in place of looking into them; it is
	// used to join what a stream says in parts.
	leaf func(path *path, start, end int)
	// slots are the paths by nesting: of each depth one is in use at a time.
	slots [16]path
}

// path is where a value stands.
type path struct {
	up  *path
	key []byte // nil in an array
	// secret is the rule when a key above is the name of a secret.
	secret string
	index  int // in an array
	// members of a schema's properties are no secrets, nor are the tokens of
	// log probabilities.
	schema, logprobs bool
	// kept values are written as they came.
	kept bool
	// login is a word of a command that is a name and a password.
	login bool
	// likely says that what stands beside the value names a secret, which what looks
	// like one is then.
	likely bool
	// marks tell apart what a stream interleaves: index, type, id.
	marks []byte
}

// json finds secrets in a JSON text.
func (p *pass) json(b []byte, depth int, user bool) []edit {
	w := &walker{Scanner: value.Scanner{Data: b}, p: p, depth: depth, user: user}
	w.all()
	return tidy(w.out)
}

// all goes over all values; anything that is not JSON is looked at as text.
func (w *walker) all() {
	for w.Next(); w.At < len(w.Data); w.Next() {
		from := w.At
		if c := w.Data[w.At]; (c == '{' || c == '[') && w.value(&path{}, 0) {
			continue
		}
		if w.leaf == nil {
			// From the value that broke: names before secrets count there.
			w.out = shifted(w.out, from, w.p.text(w.Data[from:], w.depth))
		}
		return
	}
}

// value goes over one value and reports whether it was whole.
func (w *walker) value(at *path, nesting int) bool {
	c := w.Next()
	if c == 0 || nesting > maxNesting {
		return false
	}
	switch c {
	case '{':
		return w.object(at, nesting)
	case '[':
		login, curl, likely := false, false, false
		for n, more, ok := 0, w.Open(']'), true; more; n++ {
			next := w.slot(nesting)
			*next = path{up: at, index: n, secret: at.secret, logprobs: at.logprobs, kept: at.kept || w.keeps(next, at, nil, n)}
			if next.kept {
				next.secret = ""
			}
			next.login, next.likely = login, likely
			login, likely = w.beforeLogin(&curl), w.beforeSecret(n)
			if !w.value(next, nesting+1) {
				return false
			}
			if more, ok = w.More(']'); !ok {
				return false
			}
		}
		return true
	case '"':
		start, end, ok := w.Text()
		w.str(at, start, end)
		return ok
	}
	return w.scalar(at)
}

// beforeLogin reports whether the next value is the flag of curl behind which a
// name and a password stand, and notes that the command is curl.
func (w *walker) beforeLogin(curl *bool) bool {
	w.Next()
	rest := w.Data[w.At:]
	for _, name := range []string{`"curl"`, `"/usr/bin/curl"`} {
		*curl = *curl || bytes.HasPrefix(rest, []byte(name))
	}
	return *curl && slices.ContainsFunc(flagNames(), func(flag string) bool { return bytes.HasPrefix(rest, []byte(`"`+flag+`"`)) })
}

// beforeSecret reports whether the next value of an array is the name of the one
// behind it: a flag, or the first of a pair, which is how headers are listed.
func (w *walker) beforeSecret(n int) bool {
	in := value.Scanner{Data: w.Data, At: w.At}
	if in.Next() != '"' {
		return false
	}
	start, end, ok := in.Text()
	if !ok || end-start > maxName {
		return false
	}
	word := plainly(w.Data[start:end])
	if name, flag := bytes.CutPrefix(word, []byte("-")); flag {
		return w.p.isSecret(bytes.TrimPrefix(name, []byte("-")))
	}
	if more, ok := in.More(']'); n > 0 || !more || !ok || !w.p.isSecret(word) || !in.Skip() {
		return false
	}
	return in.Next() == ']'
}

// plainly is the inside of a string without its escapes: a peer reads the name
// "pass\u0077ord" as it reads any other.
func plainly(b []byte) []byte {
	if bytes.IndexByte(b, '\\') < 0 {
		return b
	}
	return unescape(b).text
}

// maxName is the length of the longest name of a secret.
const maxName = 64

// isNamed reports whether an object that begins at an offset says that its value is
// secret, as in {"name": "API_KEY", "value": "..."}.
func (w *walker) isNamed(begin int) bool {
	in := value.Scanner{Data: w.Data, At: begin}
	for more := true; more; more, _ = in.More('}') {
		start, end, ok := in.Key()
		if !ok {
			return false
		}
		in.Next()
		from := in.At
		if !in.Skip() {
			return false
		}
		switch string(bytes.ToLower(plainly(w.Data[start:end]))) {
		case "name", "key", "header":
			if v := w.Data[from:in.At]; v[0] == '"' && w.p.isSecret(plainly(v[1:len(v)-1])) {
				return true
			}
		}
	}
	return false
}

func (w *walker) object(at *path, nesting int) bool {
	more, ok := w.Open('}'), true
	begin := w.At
	if more && w.leaf != nil && nesting < 10 {
		at.marks = w.marks(w.Data[w.At:])
	}
	for more {
		var start, end int
		if w.Next() != '"' {
			return false
		}
		if start, end, ok = w.Text(); !ok {
			return false
		}
		if w.leaf == nil {
			w.look(start, end)
		}
		if w.Next() != ':' {
			return false
		}
		w.At++
		w.Next()
		key := plainly(w.Data[start:end])
		next := w.under(at, key, nesting)
		next.likely = next.likely || w.leaf == nil && bytes.EqualFold(key, []byte("value")) && w.isNamed(begin)
		if !w.value(next, nesting+1) {
			return false
		}
		if more, ok = w.More('}'); !ok {
			return false
		}
	}
	return true
}

func (w *walker) slot(nesting int) *path {
	if nesting < len(w.slots) {
		return &w.slots[nesting]
	}
	return &path{}
}

// under is the path of the member with the key.
func (w *walker) under(at *path, key []byte, nesting int) *path {
	next := w.slot(nesting)
	*next = path{up: at, key: key, secret: at.secret, logprobs: at.logprobs, kept: at.kept || w.keeps(next, at, key, 0)}
	if w.leaf != nil || w.At >= len(w.Data) {
		return next
	}
	if next.kept {
		next.secret = ""
		return next
	}
	nested := w.Data[w.At] == '{'
	switch string(key) {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		next.schema = nested
	case "logprobs", "top_logprobs", "logprobs_result", "logprobsResult":
		next.logprobs = true
	}
	if at.schema && nested {
		return next
	}
	switch {
	case w.user && isUser(at, key, nesting):
		next.secret = "user"
	case at.logprobs || next.secret != "":
	case w.p.isSecret(key):
		if !logprob(w.Data, w.At-len(key), w.At) {
			next.secret = "json"
		}
	default:
		switch squeeze(string(key)) {
		case "auth":
			if w.Data[w.At] == '"' {
				next.secret = "auth" // where it is a name and a password in base64
			}
		case "bearer", "pass":
			next.likely = true
		}
	}
	return next
}

// isUser reports whether the member of a request, or of an answer that repeats
// it, says who asks, in the words of OpenAI and Argo, or of Anthropic. The
// events of OpenAI's Responses have the answer under response.
func isUser(at *path, key []byte, nesting int) bool {
	switch string(key) {
	case "user", "safety_identifier":
		return nesting == 0 || nesting == 1 && string(at.key) == "response"
	case "user_id":
		return string(at.key) == "metadata" && (nesting == 1 || nesting == 2 && string(at.up.key) == "response")
	}
	return false
}

// str looks at the value of a string.
func (w *walker) str(at *path, start, end int) {
	switch {
	case start >= end:
	case w.leaf != nil:
		w.leaf(at, start, end)
	case at.kept:
		w.known(start, end)
	case at.login && bytes.IndexByte(w.Data[start:end], ':') > 0:
		from := start + bytes.IndexByte(w.Data[start:end], ':') + 1
		if v := w.Data[from:end]; len(v) > 0 && !masked(v) && v[0] != '$' {
			w.out = append(w.out, w.p.edit("curl", w.Data, from, end))
		}
	case at.secret != "":
		v := w.Data[start:end]
		if masked(v) {
			return
		}
		if bytes.IndexByte(v, '\\') >= 0 {
			v = unescape(v).text
		}
		if trivial(v) || at.secret == "auth" && !isLogin(decode64(v)) || w.p.people && !strong(v) {
			w.look(start, end)
			return
		}
		mark := ""
		if at.secret == "user" {
			if w.p.users != nil {
				w.p.users[string(v)] = true
			}
			mark = w.p.r.role("user")
		} else {
			mark = w.p.secret(at.secret, v)
		}
		w.out = append(w.out, edit{start, end, mark, at.secret})
	case at.likely && w.isLikely(start, end):
	default:
		w.p.under = at.named()
		w.look(start, end)
		w.p.under = nil
	}
}

// isLikely reports whether a string whose name says that it is secret looks like
// one, and takes it out then, but for the name of a scheme.
func (w *walker) isLikely(start, end int) bool {
	from, to, _ := valueAt(w.Data[:end], start)
	v := w.Data[from:to]
	if to != end || !strong(v) || masked(v) || v[0] == '$' || v[0] == '-' {
		return false
	}
	w.out = append(w.out, w.p.edit("json", w.Data, from, to))
	return true
}

// named is the nearest key above a value.
func (at *path) named() []byte {
	for at != nil && at.key == nil {
		at = at.up
	}
	if at == nil {
		return nil
	}
	return at.key
}

// look finds secrets in the inside of a string.
func (w *walker) look(start, end int) {
	b := w.Data[start:end]
	if len(b) < 3 {
		return
	}
	if bytes.IndexByte(b, '\\') >= 0 {
		l := unescape(b)
		w.out = shifted(w.out, start, l.back(w.p.auto(l.text, w.depth+1)))
		return
	}
	w.out = shifted(w.out, start, w.p.auto(b, w.depth))
}

// scalar goes over a number or a word.
func (w *walker) scalar(at *path) bool {
	start := w.At
	if w.Word() == 0 {
		return false
	}
	v := w.Data[start:w.At]
	if at.secret != "" && at.secret != "auth" && w.leaf == nil && !trivial(v) && !w.p.people {
		w.out = append(w.out, edit{start, w.At, `"` + w.p.r.mark(at.secret, string(v)) + `"`, at.secret})
	}
	return true
}

// marks collects the members of an object that tell which stream it is of.
func (w *walker) marks(b []byte) []byte {
	var out []byte
	in := value.Scanner{Data: b}
	for more := true; more; more, _ = in.More('}') {
		start, end, ok := in.Key()
		if !ok {
			return out
		}
		in.Next()
		from := in.At
		if !in.Skip() {
			return out
		}
		switch key := b[start:end]; string(key) {
		case "index", "output_index", "content_index", "item_id", "type", "summary_index", "dir", "session":
			out = append(append(out, key...), b[from:in.At]...)
		}
	}
	return out
}
