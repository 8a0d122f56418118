// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// answer computes the answer of a result, whatever it comes from.
func (r *Result) answer(call *Call) (*Answer, error) {
	var a *Answer
	var err error
	switch {
	case r.Answer != nil:
		a, err = guard(func() (*Answer, error) { return r.Answer(call) })
	case r.File != "":
		a, err = fileAnswer(r.File)
	case r.Size > 0:
		a = &Answer{}
	default:
		err = errors.New("the result has no answer")
	}
	if err != nil || r.Size == 0 || a == nil {
		return a, err
	}
	if a.Content != nil || a.RPCError != nil {
		return nil, errors.New("the result has a size, and only text and json can be made longer")
	}
	sized := *a
	sized.size = r.Size
	return &sized, nil
}

// fileAnswer is the content of a file in the form that suits it.
func fileAnswer(path string) (*Answer, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	ext := strings.ToLower(filepath.Ext(path))
	if ext == ".json" {
		return &Answer{JSON: b}, nil
	}
	kind := http.DetectContentType(b)
	if strings.HasPrefix(kind, "text/") && utf8.Valid(b) {
		return &Answer{Text: string(b)}, nil
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
		}{media, b, kind})}}, nil
	}
	return &Answer{Content: []json.RawMessage{mcpwire.Marshal(map[string]any{
		"type": "resource",
		"resource": map[string]any{
			"uri": "file:///" + filepath.Base(path), "mimeType": kind, "blob": b,
		},
	})}}, nil
}

// filler makes texts longer.
const filler = "The quick brown fox jumps over the lazy dog. "

// fill returns text made size bytes long with the filler, set off from it.
func fill(text string, size int) string {
	if end, _ := utf8.DecodeLastRuneInString(text); text != "" && !unicode.IsSpace(end) && len(text) < size {
		text += " "
	}
	return pad(text, size, filler)
}

// pad returns text made size bytes long.
func pad(text string, size int, with string) string {
	left := size - len(text)
	if left <= 0 {
		return text
	}
	return text + strings.Repeat(with, left/len(with)+1)[:left]
}
