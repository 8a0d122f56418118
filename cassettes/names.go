// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes

import (
	"github.com/rehearse-dev/rehearse/internal/key"
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// What a cassette is made of, and how two requests differ.
type (
	// File is a cassette that was read.
	File = vcr.File
	// Interaction is one recorded exchange: a [Request] and its answer.
	Interaction = vcr.Interaction
	// Request is a recorded request.
	Request = vcr.Request
	// Response is a recorded answer.
	Response = vcr.Response
	// Meta is what was recorded about an exchange beside it.
	Meta = vcr.Meta
	// Outcome says how an exchange ended.
	Outcome = vcr.Outcome
	// Chunk is a piece of a recorded stream, with its time.
	Chunk = vcr.Chunk
	// Format is how a [File] is written.
	Format = vcr.Format
	// Rules say what of a request does not count when it is looked for.
	Rules = key.Rules
	// Difference is one between two requests.
	Difference = key.Difference
	// Secrets say what is taken out of recordings: secrets, people, places.
	Secrets = redact.Rules
	// Place is a folder that is taken out of recordings, and what stands for it.
	Place = redact.Place
	// Redactor takes out what [Secrets] say.
	Redactor = redact.Redactor
	// Finding is a text that looks like a secret.
	Finding = redact.Finding
)

// NewRedactor makes the redactor that recorders use. Nil means all defaults.
// The error names the rule that is none.
func NewRedactor(s *Secrets) (*Redactor, error) { return redact.New(s) }
