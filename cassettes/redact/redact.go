// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package redact takes secrets, people and places out of recorded traffic,
// and looks for what is left of them in the bytes that are to be written.
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
package redact

import (
	"github.com/rehearse-dev/rehearse/cassettes/vcr"
)

// Rules say what is taken out. Nil, and the zero Rules, mean all defaults.
type Rules struct {
	// RequestHeaders are the names of request headers that are kept, all
	// others are dropped. A name may end in `*`. Nil means a list of headers
	// that say what a request is about: Accept, Content-Type, versions.
	RequestHeaders []string
	// ResponseHeaders is the same for answers and their trailers. Nil means
	// types, rate limits, retry hints, request ids.
	ResponseHeaders []string
	// Names are names of headers, query parameters, form fields and JSON keys
	// that hold secrets, beside the built-in ones (api key, token, password,
	// secret and so on). Case, `-` and `_` do not count, and a name also fits
	// as the last words of a longer one: `token` fits `githubToken`. Default
	// none more.
	Names []string
	// Keep are names that hold no secrets although they look so. Default
	// none beside the built-in ones (progressToken, next_page_token).
	Keep []string
	// Literals are secrets themselves, such as the API key in use. Those
	// shorter than 6 bytes are refused. Default none.
	Literals []string
	// Users are login names, replaced wherever they stand as a word, whatever
	// the case. Nil means that of this process; general ones such as root are
	// left. The field `user` of a request is replaced whatever it holds.
	Users []string
	// Places are folders, replaced longest first, also with /private before
	// them. Nil means the home folder and the temporary folders of this
	// process.
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
	rules Rules
}

// Finding is what looks like a secret in a file.
type Finding struct {
	Line    int    // from 1
	Rule    string // such as github, or unknown for a shape that nobody knows
	Excerpt string // masked
}

// String is the finding on one line.
func (f Finding) String() string { panic("todo") }

// New returns a Redactor for the rules, which may be nil.
func New(rules *Rules) (*Redactor, error) {
	r := &Redactor{}
	if rules != nil {
		r.rules = *rules
	}
	return r, nil
}

// Request returns a copy of a request without secrets.
func (r *Redactor) Request(q vcr.Request) vcr.Request { return q }

// Interaction returns a copy of an exchange without secrets. The sizes in
// Meta.Chunks fit the new body.
func (r *Redactor) Interaction(i *vcr.Interaction) *vcr.Interaction { c := *i; return &c }

// Scan looks for secrets in the bytes of a file.
func (r *Redactor) Scan(data []byte) []Finding { return nil }
