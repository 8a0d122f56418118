// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// about says what recordings are of; it is the file about.json beside them.
type about struct {
	Proxy     string   `json:"proxy"`
	Rosetta   string   `json:"llm_rosetta,omitempty"`
	Behind    string   `json:"behind"`
	Unknown   string   `json:"unknown,omitempty"` // what the stand-in cannot know
	Recorded  string   `json:"recorded"`          // the day of the last that was written
	Subject   string   `json:"subject"`
	Models    []string `json:"models"`
	Scenarios []string `json:"scenarios"`
	Variants  []string `json:"variants"`
	Renew     string   `json:"renew"`
	Replay    string   `json:"replay"`
}

const aboutFile = "about.json"

// What is said of recordings through a proxy of ours, and of others.
const (
	behindStandIn = "a mock of the Argo Gateway: what `rehearse serve llm --profile argo-gateway` serves for each scenario"
	behindReal    = "what answers at the address in ARGO_BASE_URL"
	unknown       = "The proxy's part is real. The gateway's is a mock's, made after public captures and documentation: " +
		"what models say, their times and usage, the bodies of its errors, and the form of Gemini's calls in its older interface are not evidence."
	renewStandIn = "make cassettes"
	renewReal    = "ARGO_BASE_URL=URL make cassettes"
)

// writeAbout says what the recordings in dir are of. The day of a file that is
// there stays when nothing was written.
func writeAbout(dir string, a about, written int) error {
	path := filepath.Join(dir, aboutFile)
	a.Recorded = time.Now().UTC().Format(time.DateOnly)
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var before about
	if written == 0 && json.Unmarshal(old, &before) == nil && before.Recorded != "" {
		a.Recorded = before.Recorded
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(a); err != nil {
		return err
	}
	if bytes.Equal(old, b.Bytes()) {
		return nil
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// installed are the versions of the packages of a release, as its own
// environment tells them; empty where there is no such package.
func (r release) installed(ctx context.Context, root string) (proxy, rosetta string, err error) {
	const ask = `
import importlib.metadata as m
for name in ("argo-proxy", "llm-rosetta"):
    try:
        print(m.version(name))
    except m.PackageNotFoundError:
        print("")
`
	out, err := exec.CommandContext(ctx, filepath.Join(r.venv(root), "bin/python"), "-c", ask).Output()
	if err != nil {
		return "", "", fmt.Errorf("asking for the versions in %s: %w", r.venv(root), err)
	}
	proxy, rosetta, _ = strings.Cut(strings.TrimRight(string(out), "\n"), "\n")
	if proxy != r.version {
		return "", "", fmt.Errorf("%s has argo-proxy %q, want %s: remove it", r.venv(root), proxy, r.version)
	}
	return proxy, rosetta, nil
}
