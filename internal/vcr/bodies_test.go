// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package vcr_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// TestBodiesBehindLink: a body beside a file is found by a link to the file, and
// beside the link where it is not beside the file.
func TestBodiesBehindLink(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "real", "a.yaml"), filepath.Join(dir, "link.yaml")
	body := strings.Repeat("a", 20)
	f := &vcr.File{Interactions: []*vcr.Interaction{{
		Request:  vcr.Request{Method: "GET", URL: "http://127.0.0.1/"},
		Response: vcr.Response{Code: 200, Status: "200 OK", Body: []byte(body)},
	}}}
	if err := vcr.WriteFile(path, f, 10); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join("real", "a.yaml"), link); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	check := func(name string) {
		t.Helper()
		got, err := vcr.Read(link)
		if err != nil || string(got.Interactions[0].Response.Body) != body || got.Path != link {
			t.Fatalf("%s: %+v, %v", name, got, err)
		}
		if unused, err := vcr.UnusedBodies(got); unused != nil || err != nil {
			t.Errorf("%s: unused %q, %v", name, unused, err)
		}
	}
	check("beside the file")
	if err := os.Rename(path+".bodies", link+".bodies"); err != nil {
		t.Fatal(err)
	}
	check("beside the link")
}

func TestUnusedBodies(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	write := func(body string) {
		t.Helper()
		f := &vcr.File{Interactions: []*vcr.Interaction{{
			Request:  vcr.Request{Method: "GET", URL: "http://127.0.0.1/"},
			Response: vcr.Response{Code: 200, Status: "200 OK", Body: []byte(body)},
		}}}
		if err := vcr.WriteFile(path, f, 10); err != nil {
			t.Fatal(err)
		}
	}
	unused := func() []string {
		t.Helper()
		f, err := vcr.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := vcr.UnusedBodies(f)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	write("short")
	if got := unused(); got != nil {
		t.Errorf("without bodies: %q", got)
	}
	write(strings.Repeat("a", 20))
	if got := unused(); got != nil {
		t.Errorf("a body that is used: %q", got)
	}
	old, _ := filepath.Glob(path + ".bodies/*")
	write(strings.Repeat("b", 20))
	if diff := cmp.Diff(old, unused()); diff != "" || len(old) != 1 {
		t.Errorf("after a new recording (-want +got):\n%s", diff)
	}
}
