// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package vcr

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/plainfile"
)

// argoMeta is TARGET.meta.json of a capture.
type argoMeta struct {
	Target     string      `json:"target"`
	URL        string      `json:"url"`
	StatusCode int         `json:"status_code"`
	CapturedAt time.Time   `json:"captured_at"`
	Headers    http.Header `json:"response_headers"`
}

// readArgo reads a folder of captures from the Argo Gateway: per target a
// TARGET.meta.json with status and headers, TARGET.response.json or
// TARGET.stream.txt with the body, and the request in
// TARGET.capture.request.json or TARGET.request.json; else it is made of
// ingress.json, which may be of another dialect.
func readArgo(dir string) (*File, error) {
	metas, err := filepath.Glob(filepath.Join(dir, "*.meta.json"))
	if err != nil {
		return nil, fmt.Errorf("reading captures: %w", err)
	}
	if len(metas) == 0 {
		return nil, fmt.Errorf("reading captures of %q: it has no TARGET.meta.json", dir)
	}
	f := &File{Path: dir, Format: Argo}
	for _, path := range metas {
		i, err := readCapture(dir, path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		f.Interactions = append(f.Interactions, i)
	}
	return f, nil
}

func readCapture(dir, path string) (*Interaction, error) {
	data, err := plainfile.Read(path, plainfile.MaxRecording)
	if err != nil {
		return nil, err
	}
	var meta argoMeta
	if err := json.Unmarshal(data, &meta); err != nil {
		return nil, err
	}
	if meta.URL == "" || meta.StatusCode == 0 {
		return nil, errors.New("it lacks url or status_code")
	}
	target := strings.TrimSuffix(filepath.Base(path), ".meta.json")
	i := &Interaction{
		Request: Request{Method: http.MethodGet, URL: meta.URL, Header: http.Header{}},
		Response: Response{
			Code: meta.StatusCode, Status: strings.TrimSpace(strconv.Itoa(meta.StatusCode) + " " + http.StatusText(meta.StatusCode)),
			Header: http.Header{},
		},
		Meta: Meta{Recorded: meta.CapturedAt.UTC().Truncate(time.Second), Base: argoBase(meta.URL), Label: filepath.Base(dir) + "/" + target, Outcome: Complete, Attempt: 1},
	}
	for name, values := range meta.Headers {
		i.Response.Header[http.CanonicalHeaderKey(name)] = values
	}
	if i.Response.Body, err = first(dir, target+".stream.txt", target+".response.json"); err != nil {
		return nil, err
	}
	if i.Request.Body, err = argoRequest(dir, target, meta.URL); err != nil {
		return nil, err
	}
	if i.Request.Body != nil {
		i.Request.Method = http.MethodPost
		i.Request.Header.Set("Content-Type", "application/json")
	}
	return i, nil
}

// argoBase is the path of the gateway's address, which a client that replays the
// capture does not know.
func argoBase(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	for _, begin := range []string{"/v1/", "/api/v1/"} {
		if base, _, ok := strings.Cut(u.Path, begin); ok && !strings.HasSuffix(base, "/api") {
			return base
		}
	}
	return ""
}

// first reads the first of the files that is there.
func first(dir string, names ...string) ([]byte, error) {
	for _, name := range names {
		data, err := plainfile.Read(filepath.Join(dir, name), plainfile.MaxRecording)
		if !errors.Is(err, fs.ErrNotExist) {
			return data, err
		}
	}
	return nil, fmt.Errorf("it has none of %s: %w", strings.Join(names, ", "), fs.ErrNotExist)
}
