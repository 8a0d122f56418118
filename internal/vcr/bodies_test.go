// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package vcr_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/vcr"
)

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
