// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import "bytes"

// maxNesting is how deep values may lie in each other; what lies deeper is
// taken as text.
const maxNesting = 500

// walker goes over JSON, which may be broken off or followed by more, and
// keeps every byte that is no secret: format, order and spelling of numbers.
type walker struct {
	p     *pass
	b     []byte
	i     int
	depth int // of encodings
	out   []edit
	// user is set where the field user of the outermost object is a person.
	user bool
	// leaf, when set, is told of strings in place of looking into them; it is
	// used to join what a stream says in parts.
	leaf func(path *path, start, end int)
	// slots are the paths by nesting: of each depth one is in use at a time.
	slots [16]path
	ahead *walker // what marks looks ahead with; nil before
}

// path is where a value stands.
type path struct {
	up  *path
	key []byte // nil in an array
	// secret is the rule when a key above is the name of a secret.
	secret string
	// members of a schema's properties are no secrets, nor are the tokens of
	// log probabilities.
	schema, logprobs bool
	// marks tell apart what a stream interleaves: index, type, id.
	marks []byte
}

// json finds secrets in a JSON text.
func (p *pass) json(b []byte, depth int, user bool) []edit {
	w := &walker{p: p, b: b, depth: depth, user: user}
	w.all()
	return tidy(w.out)
}

// all goes over all values; what is no JSON is looked at as text.
func (w *walker) all() {
	for w.blanks(); w.i < len(w.b); w.blanks() {
		from := w.i
		if c := w.b[w.i]; (c == '{' || c == '[') && w.value(&path{}, 0) {
			continue
		}
		if w.leaf == nil {
			// From the value that broke: names before secrets count there.
			for _, e := range w.p.text(w.b[from:], w.depth) {
				w.out = append(w.out, edit{from + e.start, from + e.end, e.text, e.rule})
			}
		}
		return
	}
}

func (w *walker) blanks() {
	for w.i < len(w.b) {
		switch w.b[w.i] {
		case ' ', '\t', '\r', '\n':
			w.i++
		default:
			return
		}
	}
}

// value goes over one value and reports whether it was whole.
func (w *walker) value(at *path, nesting int) bool {
	w.blanks()
	if w.i >= len(w.b) || nesting > maxNesting {
		return false
	}
	switch w.b[w.i] {
	case '{':
		return w.object(at, nesting)
	case '[':
		w.i++
		w.blanks()
		if w.i < len(w.b) && w.b[w.i] == ']' {
			w.i++
			return true
		}
		for {
			next := w.slot(nesting)
			*next = path{up: at, secret: at.secret, logprobs: at.logprobs}
			if !w.value(next, nesting+1) {
				return false
			}
			if more, ok := w.comma(']'); !more {
				return ok
			}
		}
	case '"':
		start, end, ok := w.quoted()
		w.str(at, start, end)
		return ok
	}
	return w.scalar(at)
}

// comma reads what is after a member.
func (w *walker) comma(closing byte) (more, ok bool) {
	w.blanks()
	if w.i >= len(w.b) {
		return false, false
	}
	c := w.b[w.i]
	if c != ',' && c != closing {
		return false, false
	}
	w.i++
	return c == ',', true
}

func (w *walker) object(at *path, nesting int) bool {
	w.i++
	w.blanks()
	if w.i < len(w.b) && w.b[w.i] == '}' {
		w.i++
		return true
	}
	if w.leaf != nil && nesting < 10 {
		at.marks = w.marks(w.b[w.i:])
	}
	for {
		w.blanks()
		if w.i >= len(w.b) || w.b[w.i] != '"' {
			return false
		}
		start, end, ok := w.quoted()
		if !ok {
			return false
		}
		key := w.b[start:end]
		if w.leaf == nil {
			w.look(start, end)
		}
		w.blanks()
		if w.i >= len(w.b) || w.b[w.i] != ':' {
			return false
		}
		w.i++
		w.blanks()
		if !w.value(w.under(at, key, nesting), nesting+1) {
			return false
		}
		if more, ok := w.comma('}'); !more {
			return ok
		}
	}
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
	*next = path{up: at, key: key, secret: at.secret, logprobs: at.logprobs}
	if w.leaf != nil || w.i >= len(w.b) {
		return next
	}
	nested := w.b[w.i] == '{'
	switch string(key) {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		next.schema = nested
	case "logprobs", "top_logprobs", "logprobs_result", "logprobsResult":
		next.logprobs = true
	}
	if at.schema && nested {
		return next
	}
	if w.user && isUser(at, key, nesting) {
		next.secret = "user"
	} else if !at.logprobs && next.secret == "" && w.p.isSecret(key) {
		next.secret = "json"
	}
	return next
}

// isUser reports whether the member of a request says who asks, in the words
// of OpenAI and Argo, or of Anthropic.
func isUser(at *path, key []byte, nesting int) bool {
	switch string(key) {
	case "user", "safety_identifier":
		return nesting == 0
	case "user_id":
		return nesting == 1 && string(at.key) == "metadata"
	}
	return false
}

// quoted goes over a string and returns the bounds of its inside.
func (w *walker) quoted() (start, end int, ok bool) {
	start = w.i + 1
	for i := start; ; {
		n := bytes.IndexByte(w.b[min(i, len(w.b)):], '"')
		if n < 0 {
			w.i = len(w.b)
			return start, len(w.b), false
		}
		i += n
		slashes := 0
		for i-1-slashes >= start && w.b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			w.i = i + 1
			return start, i, true
		}
		i++
	}
}

// str looks at the value of a string.
func (w *walker) str(at *path, start, end int) {
	switch {
	case start >= end:
	case w.leaf != nil:
		w.leaf(at, start, end)
	case at.secret != "":
		v := w.b[start:end]
		if masked(v) {
			return
		}
		if bytes.IndexByte(v, '\\') >= 0 {
			v = unescape(v).text
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
	default:
		w.look(start, end)
	}
}

// look finds secrets in the inside of a string.
func (w *walker) look(start, end int) {
	b := w.b[start:end]
	if len(b) < 3 {
		return
	}
	if bytes.IndexByte(b, '\\') >= 0 {
		l := unescape(b)
		for _, e := range l.back(w.p.auto(l.text, w.depth+1)) {
			w.out = append(w.out, edit{start + e.start, start + e.end, e.text, e.rule})
		}
		return
	}
	for _, e := range w.p.auto(b, w.depth) {
		w.out = append(w.out, edit{start + e.start, start + e.end, e.text, e.rule})
	}
}

// scalar goes over a number or a word.
func (w *walker) scalar(at *path) bool {
	start := w.i
	for w.i < len(w.b) && (alnum(w.b[w.i]) || bytes.IndexByte([]byte("+-."), w.b[w.i]) >= 0) {
		w.i++
	}
	if w.i == start {
		return false
	}
	v := w.b[start:w.i]
	if at.secret != "" && w.leaf == nil && string(v) != "null" {
		w.out = append(w.out, edit{start, w.i, `"` + w.p.r.mark(at.secret, string(v)) + `"`, at.secret})
	}
	return true
}

// marks collects the members of an object that tell which stream it is of.
func (w *walker) marks(b []byte) []byte {
	var out []byte
	if w.ahead == nil {
		w.ahead = &walker{leaf: func(*path, int, int) {}}
	}
	in := w.ahead
	in.b, in.i = b, 0
	for {
		in.blanks()
		if in.i >= len(b) || b[in.i] != '"' {
			return out
		}
		start, end, ok := in.quoted()
		in.blanks()
		if !ok || in.i >= len(b) || b[in.i] != ':' {
			return out
		}
		key := b[start:end]
		in.i++
		in.blanks()
		from := in.i
		if in.i < len(b) && b[in.i] == '{' || in.i < len(b) && b[in.i] == '[' {
			if !in.skip() {
				return out
			}
		} else if !in.value(&in.slots[0], 0) { // a string or a scalar: nothing lies in it
			return out
		}
		switch string(key) {
		case "index", "output_index", "content_index", "item_id", "type", "summary_index":
			out = append(append(out, key...), b[from:in.i]...)
		}
		if more, _ := in.comma('}'); !more {
			return out
		}
	}
}

// skip goes over an object or array without looking into it.
func (w *walker) skip() bool {
	open := 0
	for w.i < len(w.b) {
		switch w.b[w.i] {
		case '{', '[':
			open++
		case '}', ']':
			open--
		case '"':
			if _, _, ok := w.quoted(); !ok {
				return false
			}
			continue
		}
		w.i++
		if open == 0 {
			return true
		}
	}
	return false
}
