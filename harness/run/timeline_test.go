// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/cassettes/mcptape"
	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/timeline"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// TestRecordedTimeline holds that what a trial records of the model and of a
// real server goes by one clock: merged, it is in the order of things.
func TestRecordedTimeline(t *testing.T) {
	for _, over := range []string{"command", "URL"} {
		t.Run(over, func(t *testing.T) {
			entry, _ := byCommand(t)
			if over == "URL" {
				entry, _ = byAddress(t, realServer)
			}
			r := recording{list: write(t, strings.Replace(farScenario, "SERVER", entry, 1)), endpoint: farEndpoint}
			rec := only(t, r.record(t))
			wants(t, rec, harness.OutcomePassed, "")
			cassette, err := vcr.Read(rec.Cassette)
			if err != nil {
				t.Fatal(err)
			}
			tape, err := mcptape.Read(strings.TrimSuffix(rec.Cassette, ".yaml") + ".far.tape")
			if err != nil {
				t.Fatal(err)
			}
			events := timeline.Of(timeline.Tape("far", "", tape), timeline.Cassette(cassette))
			want := []string{"1 message", "[add ", "tools/call add {", "tools/call add: ", "3 messages", "[get_weather ", "5 messages", "done"}
			var texts []string
			for _, e := range events {
				texts = append(texts, e.Text)
				if len(want) > 0 && strings.Contains(e.Text, want[0]) {
					want = want[1:]
				}
			}
			if len(want) > 0 || !slices.IsSortedFunc(events, func(a, b timeline.Event) int { return a.At.Compare(b.At) }) {
				t.Errorf("%q is not at its place in\n%s", want, strings.Join(texts, "\n"))
			}
		})
	}
}
