// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// TestReview: a secret that a later exchange gives away is taken out of the
// earlier ones.
func TestReview(t *testing.T) {
	r := newRedactor(t, rules())
	early := answer("application/json", `{"note":"Kd8-vex.42!mole","spelled":"\u004bd8-vex.42!mole"}`)
	late := header("X-Api-Key", odd)
	var list []*vcr.Interaction
	for _, i := range []*vcr.Interaction{early, late} {
		list = append(list, r.Interaction(i))
	}
	if !strings.Contains(string(list[0].Response.Body), odd) {
		t.Fatal("nobody could know it yet")
	}
	clean, left := r.Review(list)
	if len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if body := string(clean[0].Response.Body); strings.Contains(body, "vex.42") {
		t.Errorf("the early exchange still says %s", body)
	}
	if clean[1] != list[1] {
		t.Error("an exchange without it has changed")
	}
}

// TestMask: what was found is not in what is set aside, in whatever form.
func TestMask(t *testing.T) {
	r := newRedactor(t, rules())
	hidden := strings.ReplaceAll(skKey, "-", `\u002d`)
	list := []*vcr.Interaction{
		answer("text/plain", "plain: "+skKey),
		answer("application/json", `{"a":{"b":["x","say `+hidden+`"]}}`),
		at("https://h.example/" + githubKey),
	}
	_, left := r.Review(list)
	if len(left) < 3 {
		t.Fatalf("found %v", left)
	}
	for n, want := range []string{"response body", "response body a.b[1]", "address"} {
		found := false
		for _, f := range left {
			found = found || f.Interaction == n+1 && f.Place == want && !f.Guess
		}
		if !found {
			t.Errorf("exchange %d: nothing at %q in %v", n+1, want, left)
		}
	}
	for _, i := range list {
		data := string((&vcr.File{Interactions: []*vcr.Interaction{r.Mask(i, left)}}).Encode())
		for _, secret := range []string{skKey, hidden, githubKey} {
			if strings.Contains(data, secret) {
				t.Errorf("it still holds %s:\n%s", secret, data)
			}
		}
		for _, f := range r.Scan([]byte(data)) {
			if !f.Guess {
				t.Errorf("found in what is masked: %s", f)
			}
		}
	}
}
