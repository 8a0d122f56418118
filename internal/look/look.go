// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package look is what the pages of rehearse have in common: styles, icons,
// texts that neither act nor hide, and digests for the policy of a page.
package look

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
)

//go:embed page.css
var css []byte

//go:embed icons.tmpl
var icons embed.FS

// CSS are the styles of a page.
func CSS() []byte { return bytes.Clone(css) }

// Parse adds the template "icons" to others. A page that executes it has the
// symbols i-passed, i-failed, i-error, i-skipped, i-warning and i-undecided.
func Parse(t *template.Template) (*template.Template, error) { return t.ParseFS(icons, "icons.tmpl") }

// Digest admits a style or a script in a Content-Security-Policy by its text.
func Digest(text []byte) string {
	sum := sha256.Sum256(text)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
