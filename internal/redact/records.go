// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import "bytes"

// Records takes out of a file of records, one of JSON to a line, the secrets
// that are split over records: a private key whose lines were printed one
// after the other, a password in the line after the one that asks for it.
func (r *Redactor) Records(data []byte) []byte {
	p := &pass{r: r, found: map[string]string{}, learned: newNeedles(r.pieces())}
	for range maxRounds {
		edits := tidy(append(p.learned.find(data, nil), p.records(data)...))
		if len(edits) == 0 {
			break
		}
		data = apply(data, edits)
	}
	return data
}

// Split notes the parts of secrets that are split over records, as they came:
// [Redactor.Records] and [Redactor.Scan] look for them from then on. It is for
// records of which each is written without its secrets at once: the beginning
// of one that goes on in the next is gone by then.
func (r *Redactor) Split(data []byte) {
	p := &pass{r: r, found: map[string]string{}}
	parts := map[string]string{}
	for _, e := range p.records(data) {
		if v := data[e.start:e.end]; memorable(e.rule, v) && placeholder(v) == 0 {
			parts[string(v)] = e.rule
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for v, rule := range parts {
		if len(r.split) < maxSeen {
			r.split[v] = rule
		}
	}
}

// pieces are the parts of secrets that were split.
func (r *Redactor) pieces() []needle {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.needlesOf(r.split)
}

// records finds secrets that are split over records: strings at the same place
// of one record after the other are the lines of a text.
func (p *pass) records(b []byte) []edit {
	if !looksJSON(b) {
		return nil
	}
	var out []edit
	for _, one := range p.parts(b, (*path).isLogged) {
		if len(one.spans) > 1 && !one.raw {
			one.each, one.lines = true, true
			out = p.joined(b, one, out)
		}
	}
	return tidy(out)
}

// isLogged reports whether a string of a record is a part of what somebody says,
// by the words of the protocols and of those who write logs.
func (at *path) isLogged() bool {
	switch string(at.key) {
	case "message", "msg", "line", "log", "chunk", "stdout", "stderr", "body":
		return true
	}
	return at.isPart()
}

// Lines takes private keys out of a text that comes line by line, such as what
// a process prints. It is for one text, in order.
type Lines struct {
	r     *Redactor
	open  bool // a key has begun, and has not ended
	other int  // lines since then that are of no key
}

// Lines begins a text.
func (r *Redactor) Lines() *Lines { return &Lines{r: r} }

// Line returns a line, or what stands for it where it is of a private key.
func (l *Lines) Line(line []byte) []byte {
	const patience = 3 // lines of others, which a key may have between its own
	if i := bytes.LastIndex(line, []byte("---BEGIN ")); i >= 0 && bytes.Contains(line[i:], []byte("PRIVATE KEY")) || isPuTTY(line) {
		l.open, l.other = i < 0 || !bytes.Contains(line[i:], []byte("---END ")), 0
		return line // the rules know it
	}
	switch {
	case !l.open:
		return line
	case bytes.Contains(line, []byte("---END ")) || bytes.HasPrefix(bytes.TrimSpace(line), []byte("Private-MAC:")):
		l.open = false
	case isKeyLine(line):
		l.other = 0
	default:
		if l.other++; l.other == patience {
			l.open = false
		}
		return line
	}
	return []byte(l.r.mark("pem", string(line)))
}

// isPuTTY reports whether a line says that the lines of a private key follow,
// as PuTTY writes it.
func isPuTTY(line []byte) bool { return bytes.Contains(line, []byte("Private-Lines:")) }

// isKeyLine reports whether a line may be one of a private key, whatever a log
// puts before it.
func isKeyLine(line []byte) bool {
	line = bytes.TrimSpace(line)
	if i := bytes.LastIndexAny(line, " \t|"); i >= 0 {
		line = line[i+1:]
	}
	n := (isAlnum | isBase).span(line)
	return n == len(line) && n > 0 && (n >= 16 || mixes(line) || line[n-1] == '=')
}

// pemRest finds what is left of a private key whose first line is gone: the
// lines before its last one, or behind a placeholder.
func (p *pass) pemRest(b []byte, out []edit) []edit {
	const leastBytes = 40 // of base64, without which the lines are none of a key
	lines := lineSpans(b)
	for n, l := range lines {
		text := b[l.start:l.end]
		from, to, size := n, n, 0
		switch i := bytes.Index(text, []byte("---END ")); {
		case i >= 0 && bytes.Contains(text[i:], []byte("PRIVATE KEY")):
			for from > 0 && isKeyLine(b[lines[from-1].start:lines[from-1].end]) {
				from--
			}
			to++
		case bytes.Contains(text, []byte(markStart+"pem-")) && placeholder(text[bytes.LastIndex(text, []byte(markStart)):]) > 0:
			from, to = n+1, n+1
			for to < len(lines) && isKeyLine(b[lines[to].start:lines[to].end]) {
				to++
			}
		default:
			continue
		}
		for _, l := range lines[from:to] {
			if isKeyLine(b[l.start:l.end]) && !bytes.Contains(b[l.start:l.end], []byte(markStart)) {
				size += l.end - l.start
			}
		}
		if size >= leastBytes {
			out = append(out, p.edit("pem", b, lines[from].start, lines[to-1].end))
		}
	}
	return out
}

// lineSpans are the lines of a text.
func lineSpans(b []byte) []span {
	var out []span
	for at := 0; at < len(b); {
		end := at + bytes.IndexByte(b[at:], '\n')
		if end < at {
			end = len(b)
		}
		out = append(out, span{at, end})
		at = end + 1
	}
	return out
}
