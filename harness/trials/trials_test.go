// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trials_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

func record(name string, attempt int, outcome harness.Outcome) trials.Record {
	return trials.Record{
		Schema:  trials.Schema,
		Key:     trials.Key{Suite: "s", Scenario: name, Model: "m", Mode: harness.ModeMock, Attempt: attempt},
		File:    "a.yaml",
		Outcome: outcome,
		Start:   time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
}

func write(t *testing.T, name string, records ...trials.Record) {
	t.Helper()
	w, err := trials.Append(name)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, r := range records {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWriteThenRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "trials.jsonl")
	want := []trials.Record{record("a", 1, harness.OutcomePassed), record("a", 2, harness.OutcomeFailed)}
	want[1].Cause = &trials.Cause{Kind: trials.CauseMiss, Blame: trials.BlameSubject, Message: "no", Folded: []trials.Consequence{{Text: "x", Check: "c"}}}
	write(t, name, want[0])
	write(t, name, want[1])
	got, err := trials.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("records (-want +got):\n%s", d)
	}
}

// TestCostOfUnknownTokens: older versions wrote the cost 0 where the endpoint had
// said nothing of its tokens.
func TestCostOfUnknownTokens(t *testing.T) {
	name := filepath.Join(t.TempDir(), "trials.jsonl")
	free, cost := 0.0, 0.5
	old, known, unasked := record("old", 1, harness.OutcomePassed), record("known", 1, harness.OutcomePassed), record("unasked", 1, harness.OutcomePassed)
	old.Counts.ModelCalls, old.Cost = 2, &free
	known.Counts.ModelCalls, known.Tokens, known.Cost = 1, trials.Tokens{Input: 7}, &cost
	unasked.Cost = &free // which is known
	write(t, name, old, known, unasked)
	got, err := trials.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	old.Cost = nil
	if d := cmp.Diff([]trials.Record{old, known, unasked}, got); d != "" {
		t.Errorf("records (-want +got):\n%s", d)
	}
	if !old.Uncounted() || known.Uncounted() || unasked.Uncounted() {
		t.Errorf("uncounted: %v %v %v, want the first alone", old.Uncounted(), known.Uncounted(), unasked.Uncounted())
	}
	if s := trials.SpendOf(&old); s != (trials.Spend{Uncounted: 1}) {
		t.Errorf("spent %+v", s)
	}
}

func TestEveryWriteIsOneLine(t *testing.T) {
	name := filepath.Join(t.TempDir(), "trials.jsonl")
	w, err := trials.Append(name)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if err := w.Write(record(strings.Repeat("x", 10_000), i, harness.OutcomePassed)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := trials.ReadFile(name)
	if err != nil || len(got) != 50 {
		t.Errorf("read %d records, error %v; want 50", len(got), err)
	}
}

func TestTornLastLine(t *testing.T) {
	whole := `{"schema":1,"scenario":"a","mode":"mock","attempt":1,"outcome":"passed"}`
	tests := []struct {
		name string
		data string
		want int // records read, and read again after one more was appended, less one
		err  string
	}{
		{name: "empty", data: "", want: 0},
		{name: "whole", data: whole + "\n", want: 1},
		{name: "no newline", data: whole + "\n" + strings.Replace(whole, `"attempt":1`, `"attempt":2`, 1), want: 2},
		{name: "torn", data: whole + "\n" + whole[:20], want: 1},
		{name: "torn first line", data: whole[:20], want: 0},
		{name: "blank lines", data: "\n" + whole + "\n\n", want: 1},
		{name: "broken in the middle", data: whole + "\n{\n" + whole + "\n", err: "line 2: not a trial record"},
		{name: "from the future", data: strings.Replace(whole, "1", "99", 1) + "\n", err: "99 was written by a newer rehearse"},
		{name: "from the future, torn", data: strings.Replace(whole, "1", "99", 1), err: "99 was written by a newer rehearse"},
		{name: "an unknown outcome", data: strings.Replace(whole, "passed", "Passed", 1) + "\n", err: `line 1: unknown value: outcome is "Passed", want one of`},
		{name: "an unknown outcome, without a newline", data: strings.Replace(whole, "passed", "Passed", 1), err: `outcome is "Passed"`},
		{name: "no outcome", data: strings.Replace(whole, "outcome", "out", 1) + "\n", err: `outcome is ""`},
		{name: "an unknown mode", data: strings.Replace(whole, `"mock"`, `"mocked"`, 1) + "\n", err: `mode is "mocked"`},
		{name: "an unknown cause", data: strings.Replace(whole, `"schema"`, `"cause":{"kind":"x"},"schema"`, 1) + "\n", err: `cause.kind is "x"`},
		{name: "an unknown state", data: strings.Replace(whole, `"schema"`, `"verdicts":[{"state":"passed"},{"state":"pass"}],"schema"`, 1) + "\n", err: `verdicts[1].state is "pass"`},
		{name: "an unknown status", data: strings.Replace(whole, `"schema"`, `"verdicts":[{"state":"failed","alignment":{"rows":[{"status":"odd"}]}}],"schema"`, 1) + "\n", err: `verdicts[0].alignment.rows[0].status is "odd"`},
		{name: "no schema", data: "{}\n", err: "none given"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := trials.Read(strings.NewReader(tt.data))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want one with %q", err, tt.err)
				}
				return
			}
			if err != nil || len(got) != tt.want {
				t.Fatalf("read %d records, error %v; want %d", len(got), err, tt.want)
			}
			name := filepath.Join(t.TempDir(), "t.jsonl")
			if err := os.WriteFile(name, []byte(tt.data), 0o600); err != nil {
				t.Fatal(err)
			}
			write(t, name, record("b", 7, harness.OutcomeError))
			got, err = trials.ReadFile(name)
			if err != nil || len(got) != tt.want+1 {
				t.Fatalf("after appending: read %d records, error %v; want %d", len(got), err, tt.want+1)
			}
		})
	}
}

func TestSalvageTellsOfATornLine(t *testing.T) {
	whole := `{"schema":1,"scenario":"a","mode":"mock","attempt":1,"outcome":"passed"}` + "\n"
	for data, want := range map[string]bool{whole: false, whole + whole[:20]: true, strings.TrimSpace(whole): false, "": false} {
		name := filepath.Join(t.TempDir(), "t.jsonl")
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, torn, err := trials.Salvage(name); err != nil || torn != want {
			t.Errorf("%q: torn %v, error %v; want torn %v", data, torn, err, want)
		}
	}
}

func TestFileName(t *testing.T) {
	tests := []struct{ name, from, want string }{
		{"plain", "two places", "two-places"},
		{"letters of any language", "Größe «天気» हिन्दी", "Größe-天気-हिन्दी"},
		{"marks apart from their letter", "e\u0301t\u00e9", "e\u0301t\u00e9"},
		{"what no file system likes", `../a\b:c*?"<>|` + "\x00d\xff", "a-b-c-d"},
		{"nothing left", "?!", "none"},
		{"hidden", "...x", "x"},
		{"long", strings.Repeat("天", 100), strings.Repeat("天", 20)},
		{"dash at the cut", strings.Repeat("a", 59) + " b", strings.Repeat("a", 59)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := trials.FileName(tt.from, "none"); got != tt.want {
				t.Errorf("%q becomes %q, want %q", tt.from, got, tt.want)
			}
		})
	}
}

func TestManifestAndDetail(t *testing.T) {
	dir := t.TempDir()
	m := trials.Manifest{Schema: trials.Schema, Name: "demo", Mode: harness.ModeMock, Planned: 2, Models: []trials.Model{{Label: "m", Name: "m"}}}
	if err := trials.WriteManifest(dir, m); err != nil {
		t.Fatal(err)
	}
	got, err := trials.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(m, got); d != "" {
		t.Errorf("manifest (-want +got):\n%s", d)
	}

	r := record("Ein Fall / [größer]", 3, harness.OutcomePassed)
	detail := trials.Detail{Schema: trials.Schema, Key: r.Key, Log: []string{"x"}}
	if r.Detail, err = trials.WriteDetail(dir, detail); err != nil {
		t.Fatal(err)
	}
	back, err := trials.ReadDetail(dir, r)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(detail, back); d != "" {
		t.Errorf("detail (-want +got):\n%s", d)
	}
	other := r
	other.Attempt = 4
	if _, err := trials.ReadDetail(dir, other); err == nil || !strings.Contains(err.Error(), "it is of another trial, Ein Fall / [größer] (") {
		t.Errorf("the detail of another trial: error %v", err)
	}
	r.Detail = "../../secret"
	if _, err := trials.ReadDetail(dir, r); err == nil || !strings.Contains(err.Error(), "outside its folder") {
		t.Errorf("a detail outside the folder: error %v", err)
	}
	if _, err := trials.ReadManifest(t.TempDir()); err == nil {
		t.Error("a folder without run.json has a manifest")
	}
}

func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	for i := range 3 {
		fmt.Fprintf(&b, `{"schema":1,"scenario":"s","mode":"mock","attempt":%d,"outcome":"failed","cause":{"kind":"miss","message":"m"},"verdicts":[{"check":"calls","state":"failed","score":0.5}]}`+"\n", i)
	}
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:b.Len()-9])
	f.Add([]byte(`{"schema":3}`))
	f.Add([]byte("{}\n\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := trials.Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		// What was read can be written, and reads the same.
		name := filepath.Join(t.TempDir(), "t.jsonl")
		write(t, name, got...)
		again, err := trials.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(again) != len(got) {
			t.Fatalf("wrote %d records, read %d", len(got), len(again))
		}
	})
}

func ExampleRead() {
	records, _ := trials.Read(strings.NewReader(`{"schema":2,"scenario":"weather","mode":"live","attempt":1,"outcome":"error"}
{"schema":2,"scenario":"weather","mode":"live","attempt":2,"outcome":"passed"}
{"schema":2,"scenario":"weather","mode":"live","attempt":1,"outcome":"failed"}
`))
	for _, r := range records {
		fmt.Println(r.Attempt, r.Outcome)
	}
	// Output:
	// 1 failed
	// 2 passed
}

// TestFoldedOfOlderFiles reads what follows from a cause as files had it before,
// a text alone.
func TestFoldedOfOlderFiles(t *testing.T) {
	var c trials.Cause
	if err := json.Unmarshal([]byte(`{"kind": "subject", "message": "m", "folded": ["a", {"text": "b", "check": "calls"}]}`), &c); err != nil {
		t.Fatal(err)
	}
	if want := []trials.Consequence{{Text: "a"}, {Text: "b", Check: "calls"}}; !slices.Equal(c.Folded, want) {
		t.Errorf("read %+v, want %+v", c.Folded, want)
	}
	if err := json.Unmarshal([]byte(`{"folded": [1]}`), &c); err == nil {
		t.Error("a number is let through")
	}
}
