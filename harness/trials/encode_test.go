// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trials

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
)

func TestShallow(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"shallow enough", `{"a":[1,"[{"]}`, `{"a":[1,"[{"]}`},
		{"an array too many", `[[[1,"]\""],2],3]`, `[["[1,\"]\\\"\"]",2],3]`},
		{"objects, twice", `{"a":{"b":{"c":{}}},"d":{"e":{}}}`, `{"a":{"b":"{\"c\":{}}"},"d":{"e":"{}"}}`},
		{"no value at all", `null`, `null`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(shallow([]byte(tt.in), 2)); got != tt.want {
				t.Errorf("shallow(%s)\n got %s\nwant %s", tt.in, got, tt.want)
			}
		})
	}
}

// TestDeepResult writes what decoders just accept, and reads it again.
func TestDeepResult(t *testing.T) {
	const depth = 9_999
	deep := json.RawMessage(strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth))
	dir := t.TempDir()
	r := Record{Outcome: harness.OutcomePassed, Trajectory: []harness.Call{{Tool: "t", Args: deep, Result: deep}}}
	name, err := WriteDetail(dir, Detail{Tools: []harness.ToolExchange{{Tool: "t", Args: deep, Content: deep}}})
	if err != nil {
		t.Fatal(err)
	}
	r.Detail = name
	w, err := Append(filepath.Join(dir, RecordsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Write(r); err != nil {
		t.Fatal(err)
	}
	records, err := ReadFile(filepath.Join(dir, RecordsFile))
	if err != nil || len(records) != 1 {
		t.Fatalf("%d records: %v", len(records), err)
	}
	if _, err := ReadDetail(dir, records[0]); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() > 1<<20 {
		t.Errorf("the detail has %d bytes: %v", info.Size(), err)
	}
}

// TestLongTexts checks that texts are cut wherever they stand, and that the
// value that is written stays whole.
func TestLongTexts(t *testing.T) {
	long := strings.Repeat("ä", 50)
	const limit, mark = 31, "\n[... 70 of 100 bytes are left out of this file]"
	raw := json.RawMessage(`["` + long + `"]`)
	d := Detail{
		System:     long,
		Transcript: &harness.Transcript{Turns: []harness.TurnReport{{Answer: "short"}, {Answer: long}}},
		Tools:      []harness.ToolExchange{{Text: "short", Result: raw, Start: time.Unix(1, 0)}},
		States:     map[string]json.RawMessage{"a": raw, "b": json.RawMessage(`1`)},
		Log:        []string{"short", long},
	}
	before, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	v, changed := bound(reflect.ValueOf(d), limit)
	got := v.Interface().(Detail)
	short := strings.Repeat("ä", 15) + mark
	cutRaw := `"[\"` + strings.Repeat("ä", 14) + `\n[... 74 of 104 bytes are left out of this file]"`
	for _, tt := range []struct{ name, got, want string }{
		{"a text", got.System, short},
		{"below a pointer and a list", got.Transcript.Turns[1].Answer, short},
		{"beside it", got.Transcript.Turns[0].Answer, "short"},
		{"raw JSON", string(got.Tools[0].Result), cutRaw},
		{"in a map", string(got.States["a"]), cutRaw},
		{"beside that", string(got.States["b"]), "1"},
		{"in a list", got.Log[1], short},
	} {
		if tt.got != tt.want {
			t.Errorf("%s is %q, want %q", tt.name, tt.got, tt.want)
		}
	}
	if !changed || !got.Tools[0].Start.Equal(time.Unix(1, 0)) {
		t.Error("nothing is changed, or a time is")
	}
	if after, err := json.Marshal(d); err != nil || string(after) != string(before) {
		t.Error("the value itself was changed")
	}
	if _, changed := bound(reflect.ValueOf(d), 1000); changed {
		t.Error("short texts were cut")
	}
}

// FuzzShallow checks that the result is JSON, no deeper than it may be, and
// the same where nothing was too deep.
func FuzzShallow(f *testing.F) {
	for _, seed := range []string{`{"a":[[1]]}`, `[[["\"]"]]]`, `"x"`, `[{"a":{}},[[[]]]]`} {
		f.Add([]byte(seed), 1)
	}
	f.Fuzz(func(t *testing.T, in []byte, limit int) {
		data, err := json.Marshal(json.RawMessage(in)) // compact
		if err != nil || limit < 0 || limit > 20 {
			return
		}
		got := shallow(data, limit)
		if !json.Valid(got) {
			t.Fatalf("shallow(%s, %d) is no JSON: %s", data, limit, got)
		}
		deepest := func(data []byte) (most int) {
			depth := 0
			for d := json.NewDecoder(bytes.NewReader(data)); ; {
				d.UseNumber()
				switch at, err := d.Token(); at {
				case json.Delim('{'), json.Delim('['):
					depth++
					most = max(most, depth)
				case json.Delim('}'), json.Delim(']'):
					depth--
				case nil:
					if err != nil {
						return most
					}
				}
			}
		}
		if d := deepest(got); d > limit || deepest(data) <= limit && string(got) != string(data) {
			t.Errorf("shallow(%s, %d) is %d deep: %s", data, limit, d, got)
		}
	})
}
