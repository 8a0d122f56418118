// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strings"
)

// border is what must stand around a needle.
type border int

const (
	anywhere border = iota
	aroundWord
	aroundPath
)

// needle is a known text that is looked for.
type needle struct {
	text   []byte // in lower case when fold is set
	mark   string // what replaces it
	rule   string
	fold   bool
	border border
}

// needles finds many texts in one go over a haystack: the first two bytes
// select the few that may begin there.
type needles struct {
	first [1 << 16 / 64]uint64
	by    map[uint16][]needle
}

func newNeedles(list []needle) *needles {
	if len(list) == 0 {
		return nil
	}
	n := &needles{by: map[uint16][]needle{}}
	for _, one := range list {
		for _, k := range starts(one) {
			n.first[k/64] |= 1 << (k % 64)
			n.by[k] = append(n.by[k], one)
		}
	}
	for _, l := range n.by {
		slices.SortStableFunc(l, func(a, b needle) int { return len(b.text) - len(a.text) })
	}
	return n
}

// starts are the first two bytes that a needle may have.
func starts(n needle) []uint16 {
	pair := func(a, b byte) uint16 { return uint16(a)<<8 | uint16(b) }
	a, b := n.text[0], n.text[1]
	if !n.fold {
		return []uint16{pair(a, b)}
	}
	all := []uint16{pair(a, b), pair(upper(a), b), pair(a, upper(b)), pair(upper(a), upper(b))}
	slices.Sort(all)
	return slices.Compact(all)
}

func upper(c byte) byte {
	if c >= 'a' && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

func (n *needles) find(b []byte, out []edit) []edit {
	if n == nil {
		return out
	}
	for i := 0; i+1 < len(b); i++ {
		k := uint16(b[i])<<8 | uint16(b[i+1])
		if n.first[k/64]&(1<<(k%64)) == 0 {
			continue
		}
		for _, one := range n.by[k] {
			if one.at(b, i) {
				out = append(out, edit{i, i + len(one.text), one.mark, one.rule})
				i += len(one.text) - 1
				break
			}
		}
	}
	return out
}

func (n *needle) at(b []byte, i int) bool {
	end := i + len(n.text)
	if end > len(b) {
		return false
	}
	if n.fold {
		if !bytes.EqualFold(b[i:end], n.text) {
			return false
		}
	} else if !bytes.Equal(b[i:end], n.text) {
		return false
	}
	switch n.border {
	case aroundWord:
		return (i == 0 || !alnum(b[i-1])) && (end == len(b) || !alnum(b[end])) && !inPlaceholder(b, i)
	case aroundPath:
		return (i == 0 || !alnum(b[i-1]) && b[i-1] != '_' && b[i-1] != '-' && b[i-1] != '.') &&
			(end == len(b) || !alnum(b[end]) && b[end] != '_' && b[end] != '-') && !inPlaceholder(b, i)
	}
	return !inPlaceholder(b, i)
}

func alnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// MinLiteral is the least length of what is looked for as it is, in bytes: what is
// shorter is found in any text.
const MinLiteral = 6

// literalNeedles find a secret in all its [Forms].
func literalNeedles(secret, mark, rule string) []needle {
	var list []needle
	for _, f := range Forms(secret) {
		list = append(list, needle{text: []byte(f), mark: mark, rule: rule})
	}
	return list
}

// Forms are those in which a secret may stand in a text, beside what a Redactor
// decodes: escaped for HTML, URLs and JSON, in hex, and within base64.
func Forms(secret string) []string {
	forms := []string{secret, html.EscapeString(secret), url.QueryEscape(secret), url.PathEscape(secret)}
	if quoted, err := json.Marshal(secret); err == nil {
		forms = append(forms, strings.Trim(string(quoted), `"`))
	}
	forms = append(append(forms, strings.ReplaceAll(secret, "/", `\/`)), encodings(secret)...)
	slices.Sort(forms)
	return slices.DeleteFunc(slices.Compact(forms), func(f string) bool { return len(f) < MinLiteral })
}

// encodings are a secret in hex and within base64; there are none of a short one.
func encodings(secret string) []string {
	if len(secret) < 8 {
		return nil
	}
	h := hex.EncodeToString([]byte(secret))
	forms := []string{h, strings.ToUpper(h)}
	for pad := range 3 {
		text := append(make([]byte, pad, pad+len(secret)), secret...)
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			core := enc.EncodeToString(text)
			forms = append(forms, core[(pad*8+5)/6:len(text)*8/6])
		}
	}
	return forms
}

// minLearned is the least length of a secret of a header that is looked for
// elsewhere; one shorter than minAnywhere is so as a word of its own.
const (
	minLearned  = 6
	minAnywhere = 8
)

// learnedNeedles are the forms of a secret that was found, which nobody has
// named.
func learnedNeedles(secret, mark, rule string) []needle {
	list := literalNeedles(secret, mark, rule)
	for i := range list {
		if len(list[i].text) < minAnywhere {
			list[i].border = aroundPath
		}
	}
	return list
}

// placeNeedles are the forms of a folder.
func placeNeedles(path, mark, rule string) []needle {
	path = strings.TrimRight(path, `/\`)
	if len(path) < 4 {
		return nil
	}
	paths := []string{path, "/private" + path}
	if bare, ok := strings.CutPrefix(path, "/private/"); ok {
		paths = append(paths, "/"+bare)
	}
	if strings.Contains(path, `\`) {
		paths = []string{path, strings.ReplaceAll(path, `\`, "/")}
	}
	var list []needle
	for _, p := range paths {
		forms := []string{p, strings.ReplaceAll(p, "/", `\/`), strings.ReplaceAll(p, `\`, `\\`), (&url.URL{Path: p}).EscapedPath()}
		slices.Sort(forms)
		for _, f := range slices.Compact(forms) {
			list = append(list, needle{text: []byte(f), mark: mark, rule: rule, border: aroundPath})
		}
	}
	return list
}

// generalUsers are login names that say nothing of a person, and would be
// found in any text.
const generalUsers = `root user admin administrator ubuntu debian runner nobody daemon app node vscode build builder ci test tests tester
	guest default anonymous ec2-user docker jenkins gitlab-runner circleci codespace vagrant www-data system service bot agent assistant
	none null string fixture-user argo tool model home work name example me you the and for not`

func userNeedle(name, mark string) (needle, bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	if len(name) < 3 || set(generalUsers)[name] {
		return needle{}, false
	}
	return needle{text: []byte(name), mark: mark, rule: "user", fold: true, border: aroundWord}, true
}

const markStart = "REDACTED-"

// placeholder returns the length of the placeholder that b begins with, or 0.
func placeholder(b []byte) int {
	if !bytes.HasPrefix(b, []byte(markStart)) {
		return 0
	}
	i := len(markStart)
	from := i
	for i < len(b) && b[i] >= 'a' && b[i] <= 'z' {
		i++
	}
	if i == from || i+9 > len(b) || b[i] != '-' {
		return 0
	}
	for _, c := range b[i+1 : i+9] {
		if _, ok := hexDigit(c); !ok {
			return 0
		}
	}
	return i + 9
}

// inPlaceholder reports whether the byte at i is part of a placeholder.
func inPlaceholder(b []byte, i int) bool {
	from := max(0, i-40)
	at := bytes.LastIndex(b[from:min(len(b), i+len(markStart))], []byte(markStart))
	if at < 0 {
		return false
	}
	n := placeholder(b[from+at:])
	return i >= from+at && i < from+at+n
}
