// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"encoding/base64"
	"encoding/hex"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// TestHandedStaysOut: what a subject is handed in secret is in no recording and in no
// run folder, in whatever form it is repeated, and what is no secret stays.
func TestHandedStaysOut(t *testing.T) {
	const secret = "plainsecretWORD7781"
	said := strings.Join([]string{secret, base64.StdEncoding.EncodeToString([]byte("ada:" + secret)), hex.EncodeToString([]byte(secret)), "at plainplaceWORD7781"}, " ")
	r := recording{
		list: write(t, "scenario: s\nturns: [{user: hi, expect: [{answer: {contains: plainplaceWORD7781}}]}]\n"),
		endpoint: func() http.Handler {
			return newMock(mockllm.Script{Replies: []mockllm.Reply{{Say: said}}}, nil)
		},
		opts: run.Options{Out: t.TempDir(), Subjects: []scenarios.Subject{{Name: "a", Subject: agent.Subject(nil), Secrets: []string{secret}}}},
	}
	res := r.record(t)
	rec := only(t, res)
	all := files(t, filepath.Dir(rec.Cassette))
	maps.Copy(all, files(t, res.Dir))
	placed := 0
	for name, text := range all {
		for _, form := range strings.Fields(said)[:3] {
			if strings.Contains(text, form[8:len(form)-4]) { // in base64 its ends are of what stands beside it
				t.Errorf("%s is in %s:\n%s", form, name, text)
			}
		}
		if strings.Contains(text, "plainplaceWORD7781") {
			placed++
		}
	}
	if len(all) < 3 || placed < 3 {
		t.Errorf("%d files, of which %d have what is not secret", len(all), placed)
	}
}
