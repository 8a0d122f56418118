// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trials_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// TestFinishedTwice: of a trial that was run again after an error the later
// record counts, and nothing else is left out.
func TestFinishedTwice(t *testing.T) {
	line := func(outcome string) string {
		return `{"schema":2,"scenario":"s","model":"m","mode":"mock","attempt":1,"outcome":"` + outcome + "\"}\n"
	}
	for text, want := range map[string]string{
		line("error") + line("error") + line("failed"):        "",
		line("failed") + line("passed"):                       "line 2: trial s (m, mock, attempt 1) is finished in line 1 already (failed there, passed here)",
		"\n" + line("error") + line("passed") + line("error"): "line 4: trial s (m, mock, attempt 1) is finished in line 3 already",
	} {
		records, err := trials.Read(strings.NewReader(text))
		if want == "" && (err != nil || len(records) != 1 || records[0].Outcome != harness.OutcomeFailed) ||
			want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: %v, error %v; want %q", text, records, err, want)
		}
	}
}

// part is a run of one model over scenarios, all of which passed.
func part(dir string, change func(*trials.Part)) trials.Part {
	p := trials.Part{Dir: dir, Manifest: trials.Manifest{Name: dir, Mode: harness.ModeLive, Planned: 1}}
	p.Manifest.Models = []trials.Model{{Label: "m", Name: "m", BaseURL: "http://one/v1"}}
	p.Manifest.Scenarios = []trials.Source{{Scenario: "s", File: "s.yaml", Hashes: trials.Hashes{Scenario: "1", Scorers: "1"}, Trials: 1}}
	p.Records = []trials.Record{{
		Key: trials.Key{Scenario: "s", Model: "m", Mode: harness.ModeLive, Attempt: 1}, Outcome: harness.OutcomePassed,
		Hashes: trials.Hashes{Scenario: "1", Scorers: "1", Tools: "1", Entry: "1"},
	}}
	if change != nil {
		change(&p)
	}
	return p
}

func second(p *trials.Part) { p.Records[0].Attempt = 2 }

func TestJoinRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*trials.Part)
		want   string
	}{
		"finished in both": {nil, "a/trials.jsonl and b/trials.jsonl: both have a finished trial of s (m, live, attempt 1): passed and passed"},
		"another endpoint": {func(p *trials.Part) {
			second(p)
			p.Manifest.Models[0].BaseURL, p.Records[0].Hashes.Entry = "http://two/v1", "2"
		}, `a/run.json and b/run.json: model "m" is two: base_url http://one/v1 and http://two/v1; give each a label of its own (--model LABEL=NAME@URL)
  a/trials.jsonl and b/trials.jsonl: s (m, live, attempt 2): its model entry changed`},
		"another endpoint, another scenario": {func(p *trials.Part) {
			p.Records[0].Scenario, p.Manifest.Scenarios[0].Scenario = "t", "t"
			p.Manifest.Models[0].Settings.MaxTokens = 5
		}, `a/run.json and b/run.json: model "m" is two: settings {} and {"max_tokens":5};`},
		"another scenario": {func(p *trials.Part) {
			p.Records[0].Model, p.Manifest.Models[0].Label = "n", "n"
			p.Manifest.Scenarios[0].Hashes = trials.Hashes{Scenario: "2", Scorers: "2"}
		}, `a/run.json and b/run.json: scenario "s" (s.yaml) is not the same: its definition and expectations changed`},
		"other tools": {func(p *trials.Part) {
			second(p)
			p.Records[0].Hashes.Tools = "2"
		}, "a/trials.jsonl and b/trials.jsonl: s (m, live, attempt 2): its tools changed"},
		"an error that rests on something else": {func(p *trials.Part) {
			p.Records[0].Outcome, p.Records[0].Hashes.Scorers = harness.OutcomeError, "2"
		}, "a/trials.jsonl and b/trials.jsonl: s (m, live, attempt 1): its expectations changed"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := trials.Join(part("a", nil), part("b", tt.change))
			if want := "these runs cannot be joined:\n  " + tt.want; err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("error %v\nwant %s", err, want)
			}
		})
	}
}

func TestJoin(t *testing.T) {
	failed := func(p *trials.Part) { p.Records[0].Outcome = harness.OutcomeError }
	shard := func(n int) func(*trials.Part) {
		return func(p *trials.Part) {
			p.Manifest.Name, p.Manifest.Shard, p.Manifest.Whole = "run", trials.Shard{Index: n, Count: 3}, 3
			p.Records[0].Attempt = n
		}
	}
	for name, tt := range map[string]struct {
		parts    []trials.Part
		planned  int
		outcomes []harness.Outcome
		warnings []string
	}{
		"a later trial replaces an error": {
			[]trials.Part{part("a", failed), part("b", nil)},
			1,
			[]harness.Outcome{harness.OutcomePassed},
			[]string{"1 error of one run: another run has the trial too, and what is there counts"},
		},
		"an error replaces nothing": {
			[]trials.Part{part("a", nil), part("b", failed)},
			1,
			[]harness.Outcome{harness.OutcomePassed},
			[]string{"1 error of one run: another run has the trial too, and what is there counts"},
		},
		"a mock of the same label": {
			[]trials.Part{part("a", nil), part("b", func(p *trials.Part) {
				p.Manifest.Mode, p.Manifest.Models[0].BaseURL = harness.ModeMock, ""
				p.Records[0].Mode, p.Records[0].Hashes.Entry = harness.ModeMock, "2"
			})}, 2, []harness.Outcome{harness.OutcomePassed, harness.OutcomePassed}, nil,
		},
		"all shards": {
			[]trials.Part{part("a", shard(1)), part("b", shard(3)), part("c", shard(2))},
			3,
			[]harness.Outcome{harness.OutcomePassed, harness.OutcomePassed, harness.OutcomePassed},
			nil,
		},
		"a shard is missing": {
			[]trials.Part{part("a", shard(1)), part("b", shard(3))},
			3,
			[]harness.Outcome{harness.OutcomePassed, harness.OutcomePassed},
			[]string{`of run "run" the shard 2/3 is missing`},
		},
		"other seeds": {
			[]trials.Part{part("a", nil), part("b", func(p *trials.Part) { second(p); p.Manifest.Seed = 7 })},
			2,
			[]harness.Outcome{harness.OutcomePassed, harness.OutcomePassed},
			[]string{"the seed is 0 in a and 7 in b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			j, err := trials.Join(tt.parts...)
			if err != nil {
				t.Fatal(err)
			}
			var outcomes []harness.Outcome
			for _, r := range j.Records {
				outcomes = append(outcomes, r.Outcome)
			}
			if d := cmp.Diff(tt.outcomes, outcomes); d != "" || j.Manifest.Planned != tt.planned || j.Manifest.Shard != (trials.Shard{}) {
				t.Errorf("planned %d, shard %v, outcomes (-want +got):\n%s", j.Manifest.Planned, j.Manifest.Shard, d)
			}
			if d := cmp.Diff(tt.warnings, j.Manifest.Warnings); d != "" {
				t.Errorf("warnings (-want +got):\n%s", d)
			}
		})
	}
}

// TestJoinNames: a joined run is called by the names of its parts, and has their
// subjects, each once.
func TestJoinNames(t *testing.T) {
	for name, tt := range map[string]struct {
		parts []string
		want  string
	}{
		"two": {[]string{"a", "b"}, "a + b"}, "the same": {[]string{"a", "a"}, "a"}, "one again": {[]string{"a", "b", "a"}, "a + b"},
		"the first has none": {[]string{"", "b"}, "b"}, "the second has none": {[]string{"a", ""}, "a"}, "none": {[]string{"", ""}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var parts []trials.Part
			for i, name := range tt.parts {
				parts = append(parts, part(fmt.Sprint(i), func(p *trials.Part) {
					p.Manifest.Name, p.Manifest.Subject, p.Records[0].Attempt = name, name, i+1
				}))
			}
			j, err := trials.Join(parts...)
			if err != nil {
				t.Fatal(err)
			}
			if subject := strings.ReplaceAll(tt.want, " + ", " and "); j.Manifest.Name != tt.want || j.Manifest.Subject != subject {
				t.Errorf("it is called %q, of subject %q; want %q and %q", j.Manifest.Name, j.Manifest.Subject, tt.want, subject)
			}
		})
	}
}
