// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package subjects

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
)

// TestVariables: the list of the reference is what a command finds.
func TestVariables(t *testing.T) {
	t.Setenv("LANG", "C")
	var got []string
	for _, pair := range new(Definition).environ(new(harness.Env), &place{values: map[string]string{}}, "tmp") {
		if name, _, _ := strings.Cut(pair, "="); !slices.Contains(systemNames()[2:], name) { // those of Windows
			got = append(got, name)
		}
	}
	want := Variables()
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestNoProxy: the endpoint is reached without a proxy, by whatever name it is
// called.
func TestNoProxy(t *testing.T) {
	const loopback = "127.0.0.1,localhost"
	for base, more := range map[string]string{
		"http://127.0.0.1:1/v1": "", "http://localhost:1/v1": "", "http://host.docker.internal:1/v1": ",host.docker.internal", "": "",
	} {
		env := new(harness.Env)
		env.Endpoint.BaseURL = base
		got := new(Definition).environ(env, &place{values: map[string]string{}}, "tmp")
		for _, want := range []string{"NO_PROXY=" + loopback + more, "no_proxy=" + loopback + more} {
			if !slices.Contains(got, want) {
				t.Errorf("%q: no %s in %q", base, want, got)
			}
		}
	}
}
