// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/samplerun"
)

// TestRawWire: a run that kept what was on the wire shows it, hostile as it may
// be; one that did not shows the calls that its journal has.
func TestRawWire(t *testing.T) {
	page := func(o samplerun.Options) string {
		t.Helper()
		dir := t.TempDir()
		o.Scenarios, o.Attempts = 5, 1
		if err := samplerun.Write(dir, &o); err != nil {
			t.Fatal(err)
		}
		run, err := Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := HTML(&b, run, nil); err != nil {
			t.Fatal(err)
		}
		if err := checkHTML(b.Bytes()); err != nil {
			t.Error(err)
		}
		return unpacked(t, b.Bytes())
	}
	const messages, requests = "MCP messages as they were on the wire: ", "HTTP as it was on the wire: "
	kept, not := page(samplerun.Options{KeepWire: true}), page(samplerun.Options{})
	for _, want := range []string{messages + "2", requests + "2 requests", "as it was sent", "chat.completion", "Body of the answer", "to <code>request tools/call</code>", "from <code>response tools/call</code>"} {
		if !strings.Contains(kept, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if strings.Contains(not, messages) || strings.Contains(not, requests) || !strings.Contains(not, "tools/call as the servers had them") {
		t.Error("a page shows what was not kept")
	}
	if bad := page(samplerun.Options{KeepWire: true, Hostile: true}); !strings.Contains(bad, messages) {
		t.Error("the hostile page has no messages")
	}
}
