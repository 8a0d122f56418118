// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// TestForeign goes over recordings of other projects, which their authors
// have cleaned: nothing changes in them but the headers that are not kept,
// and nothing is found.
func TestForeign(t *testing.T) {
	dir := os.Getenv("REHEARSE_DATA")
	if dir == "" {
		t.Skip("REHEARSE_DATA is not set: there are no foreign recordings to read")
	}
	r := newRedactor(t, &Rules{Places: []Place{}, Users: []string{}})
	n := 0
	for _, folder := range []string{"cassettes", "argo-captures"} {
		err := filepath.WalkDir(filepath.Join(dir, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || d.Name() == "LICENSE" || d.Name() == "README.md" {
				return err
			}
			n++
			name, _ := filepath.Rel(dir, path)
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, f := range r.Scan(data) {
				t.Errorf("%s: %s", name, f)
			}
			if strings.HasSuffix(path, ".yaml") {
				clean(t, r, name, path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n < 40 {
		t.Errorf("%d files were read, want more", n)
	}
	for _, name := range []string{"openai-tool-followup", "anthropic-messages-basic-text"} {
		f, err := vcr.Read(filepath.Join(dir, "argo-captures", name))
		if err != nil {
			t.Fatal(err)
		}
		compare(t, r, name, f)
	}
}

func clean(t *testing.T, r *Redactor, name, path string) {
	t.Helper()
	f, err := vcr.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, r, name, f)
}

func compare(t *testing.T, r *Redactor, name string, f *vcr.File) {
	t.Helper()
	for _, i := range f.Interactions {
		got := r.Interaction(i)
		if got.Request.URL != i.Request.URL {
			t.Errorf("%s: the URL %s becomes %s", name, i.Request.URL, got.Request.URL)
		}
		for _, b := range [][2][]byte{{i.Request.Body, got.Request.Body}, {i.Response.Body, got.Response.Body}} {
			want := strings.ReplaceAll(string(b[0]), `"fixture-user"`, `"`+r.role("user")+`"`) // the field user of Argo
			if diff := cmp.Diff(want, string(b[1])); diff != "" {
				t.Errorf("%s: a body changes (-recorded +kept):\n%s", name, diff)
			}
		}
		data := (&vcr.File{Interactions: []*vcr.Interaction{got}}).Encode()
		for _, f := range r.Scan(data) {
			t.Errorf("%s, once kept: %s", name, f)
		}
	}
}
