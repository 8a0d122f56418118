// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"encoding/json"
	"mime"
	"net/http"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/gate"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/plainfile"
)

// fileAnswer is the content of a file in the form that suits it.
func fileAnswer(path string) (*Answer, error) {
	b, err := plainfile.ReadResult(path)
	if err != nil {
		return nil, err
	}
	return contentAnswer(path, b), nil
}

// maxBelow bounds a file of [Result.Root].
const maxBelow = 64 << 20

// fileBelow is fileAnswer for a file below a root.
func fileBelow(root, name string) (*Answer, error) {
	b, err := gate.ReadBelow(root, name, maxBelow)
	if err != nil {
		return nil, err
	}
	return contentAnswer(name, b), nil
}

// contentAnswer is what a file of that name holds in the form that suits it.
func contentAnswer(path string, b []byte) *Answer {
	ext := strings.ToLower(filepath.Ext(path))
	if ext == ".json" {
		return &Answer{JSON: b}
	}
	kind := http.DetectContentType(b)
	if strings.HasPrefix(kind, "text/") && utf8.Valid(b) {
		return &Answer{Text: string(b)}
	}
	if known := mime.TypeByExtension(ext); known != "" {
		kind = known
	}
	media, _, _ := strings.Cut(kind, "/")
	if media == "image" || media == "audio" {
		return &Answer{Content: []json.RawMessage{mcpwire.Marshal(struct {
			Type string `json:"type"`
			Data []byte `json:"data"`
			MIME string `json:"mimeType"`
		}{media, b, kind})}}
	}
	return &Answer{Content: []json.RawMessage{mcpwire.Marshal(map[string]any{
		"type": "resource",
		"resource": map[string]any{
			"uri": "file:///" + filepath.Base(path), "mimeType": kind, "blob": b,
		},
	})}}
}

// filler makes texts longer.
const filler = "The quick brown fox jumps over the lazy dog. "

// sized is the text of an answer that is to be so long, at least.
func (a *Answer) sized() string {
	if a.JSON != nil {
		return pad(string(mcpwire.Marshal(a.JSON)), a.size, " ")
	}
	text := a.Text
	if end, _ := utf8.DecodeLastRuneInString(text); text != "" && !unicode.IsSpace(end) && len(text) < a.size {
		text += " "
	}
	return pad(text, a.size, filler)
}

// pad returns text made size bytes long.
func pad(text string, size int, with string) string {
	left := size - len(text)
	if left <= 0 {
		return text
	}
	return text + strings.Repeat(with, left/len(with)+1)[:left]
}
