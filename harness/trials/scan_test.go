// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trials

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
)

// manyRecords writes a folder with more records than are decoded together.
func manyRecords(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	var b strings.Builder
	for i := range n {
		line, err := encode(Record{Schema: Schema, Key: Key{Scenario: fmt.Sprint("s", i), Mode: harness.ModeMock, Attempt: 1}, Outcome: harness.OutcomePassed})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", line)
		if i%7 == 0 {
			b.WriteString("  \n")
		}
	}
	if err := os.WriteFile(filepath.Join(dir, RecordsFile), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Records come in the order of the file, whatever is decoded at one time, and
// each can be read again where it stands.
func TestScan(t *testing.T) {
	dir := manyRecords(t, 1000)
	n := 0
	torn, err := Scan(filepath.Join(dir, RecordsFile), func(r Record, s Span) error {
		if want := fmt.Sprint("s", n); r.Scenario != want {
			t.Fatalf("record %d is %q, want %q", n, r.Scenario, want)
		}
		again, err := ReadSpan(dir, s, r.Key)
		if err != nil || again.Key != r.Key {
			t.Fatalf("read again at %+v: %v, %v; want %v", s, again.Key, err, r.Key)
		}
		n++
		return nil
	})
	if n != 1000 || torn || err != nil {
		t.Errorf("%d records, torn %v, %v", n, torn, err)
	}
}

func TestScanEnds(t *testing.T) {
	dir := manyRecords(t, 300)
	name := filepath.Join(dir, RecordsFile)
	stop := errors.New("enough")
	if _, err := Scan(name, func(Record, Span) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v, want the error of the caller", err)
	}
	if _, err := ReadSpan(dir, Span{5, 40}, Key{}); err == nil || !strings.Contains(err.Error(), "the file has changed") {
		t.Errorf("got %v, want that the file has changed", err)
	}
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, end string
		torn      bool
		want      string
	}{
		{"torn", `{"schema":1,"scen`, true, ""},
		{"broken and whole", "{\"schema\":1,\"scen\n", false, "trials.jsonl:344: not a trial record"},
		{"another schema without newline", `{"schema":99}`, false, "trials.jsonl:344: unknown schema"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := os.WriteFile(name, append(whole[:len(whole):len(whole)], tt.end...), 0o600); err != nil {
				t.Fatal(err)
			}
			torn, err := Scan(name, func(Record, Span) error { return nil })
			if torn != tt.torn || (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("torn %v, %v; want %v, %q", torn, err, tt.torn, tt.want)
			}
		})
	}
}

// What schema 1 called "look-up/atp" is a case of a scenario, as far as the
// whole file tells; a record that is read again has the same key.
func TestScanSplitsOldNames(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, RecordsFile)
	var b strings.Builder
	for _, c := range []string{"look-up/atp", "look-up/adp"} {
		fmt.Fprintf(&b, `{"schema":1,"scenario":%q,"file":"a/b.yaml","mode":"mock","attempt":1,"outcome":"passed"}`+"\n", c)
	}
	if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	whole, err := ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	if _, err := Scan(name, func(r Record, s Span) error {
		again, err := ReadSpan(dir, s, r.Key)
		if r.Case == "" || r.Key != whole[i].Key || again.Key != r.Key || err != nil {
			t.Errorf("scanned %v, read %v, again %v, %v", r.Key, whole[i].Key, again.Key, err)
		}
		i++
		return nil
	}); err != nil || i != 2 {
		t.Errorf("%d records, %v", i, err)
	}
}
