// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
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

// TestRawBodies: of a body that was kept in part, its title says how long the
// whole was.
func TestRawBodies(t *testing.T) {
	b := &pageBuilder{max: 1000}
	for size, want := range map[int]string{5: "Body", 6: "Body, the beginning of 6 B", 0: "Body"} {
		v := b.raw(&Trial{Witness: &trials.Detail{Wire: []trials.RawExchange{{Method: "POST", Path: "/v1/x", Body: "hello", BodySize: size}}}})
		if got := v[0].Parts[1].Name; got != want {
			t.Errorf("5 bytes of %d are called %q, want %q", size, got, want)
		}
	}
}

// TestFall: calls of the model are numbered, and what goes to no model is called
// by what it is.
func TestFall(t *testing.T) {
	start := time.Unix(1000, 0)
	var list []harness.Exchange
	for i, kind := range []harness.ExchangeKind{harness.KindReply, harness.KindAside, harness.KindReply} {
		list = append(list, harness.Exchange{Kind: kind, Start: start.Add(time.Duration(i) * time.Second), Duration: time.Second})
	}
	var got []string
	for _, v := range fall(&Trial{Witness: &trials.Detail{Exchanges: list}}) {
		got = append(got, v.Label)
	}
	if diff := cmp.Diff([]string{"Model call 1", "aside", "Model call 2"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
