// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pemLines are a private key, in lines of n characters.
func pemLines(n int) []string {
	rnd := rand.New(rand.NewPCG(21, 22))
	lines := []string{"-----BEGIN PRIVATE KEY-----"}
	for range 3 {
		lines = append(lines, chars(rnd, n, alnumChars))
	}
	return append(lines, "-----END PRIVATE KEY-----")
}

// TestRecords: a secret that is split over records is gone from each of them,
// and the records stay records.
func TestRecords(t *testing.T) {
	record := func(name, text string) string { return `{"` + name + `":"` + text + `"}` + "\n" }
	key := pemLines(64)
	in := func(name string) string {
		out := record(name, "before")
		for _, l := range key {
			out += record(name, l)
		}
		return out + record(name, "after")
	}
	for _, name := range []string{"message", "msg", "line", "log", "chunk", "stdout", "stderr", "body", "text"} {
		r := newRedactor(t, nil)
		got := string(r.Records([]byte(in(name))))
		for _, l := range key[1:4] {
			if strings.Contains(got, l) {
				t.Errorf("%s: a line of the key is still in\n%s", name, got)
			}
		}
		lines := strings.Split(strings.TrimSpace(got), "\n")
		if len(lines) != 7 || lines[0]+"\n" != record(name, "before") || lines[6]+"\n" != record(name, "after") {
			t.Errorf("%s: the records become\n%s", name, got)
		}
		if again := string(r.Records([]byte(got))); again != got {
			t.Errorf("%s: they become others the second time:\n%s", name, again)
		}
		// Whose records are written one by one looks for the parts later.
		late := newRedactor(t, nil)
		late.Split([]byte(in(name)))
		if got := string(late.Records([]byte(record("other", key[2])))); strings.Contains(got, key[2]) {
			t.Errorf("%s: a part of it elsewhere stays in %s", name, got)
		}
		if found := late.Scan([]byte("x: " + key[2])); len(found) != 1 || found[0].Rule != "pem" {
			t.Errorf("%s: the scan finds %v", name, found)
		}
	}
	for _, text := range []string{in("title"), "no records\nat all\n", record("msg", "one alone"), record("msg", "one") + record("msg", "other")} {
		r := newRedactor(t, nil)
		r.Split([]byte(text))
		if got := string(r.Records([]byte(text))); got != text {
			t.Errorf("%s\nbecomes\n%s", text, got)
		}
	}
	asked := record("line", "what is the password?") + record("line", "password:") + record("line", "hunter2024")
	if got := string(newRedactor(t, nil).Records([]byte(asked))); strings.Contains(got, "hunter2024") || strings.Count(got, "\n") != 3 {
		t.Errorf("a password in the next record stays in\n%s", got)
	}
}

// TestLinesOfKeys: the lines of a private key are gone from what a process
// prints, those of others stay, and after three of others the key is over.
func TestLinesOfKeys(t *testing.T) {
	key := pemLines(32)
	const mark = "(a mark)"
	for _, tt := range []struct {
		name     string
		in, want []string
	}{
		{"a key", append(append([]string{"before"}, key...), "after", key[2]), []string{"before", key[0], mark, mark, mark, mark, "after", key[2]}},
		{"behind what a log puts before it", []string{"12:00 | " + key[0], "12:01 | " + key[1], "x"}, []string{"12:00 | " + key[0], mark, "x"}},
		{"others between, two", []string{key[0], key[1], "a b.", "c d.", key[2]}, []string{key[0], mark, "a b.", "c d.", mark}},
		{"others between, twice two", []string{key[0], "a b.", "c d.", key[1], "a b.", "c d.", key[2]}, []string{key[0], "a b.", "c d.", mark, "a b.", "c d.", mark}},
		{"others between, three", []string{key[0], key[1], "a b.", "c d.", "e f.", key[2]}, []string{key[0], mark, "a b.", "c d.", "e f.", key[2]}},
		{"begun and ended in a line", []string{key[0] + key[1] + key[4], key[2]}, []string{key[0] + key[1] + key[4], key[2]}},
		{"a certificate", []string{"-----BEGIN CERTIFICATE-----", key[1]}, []string{"-----BEGIN CERTIFICATE-----", key[1]}},
		{"of PuTTY", []string{"Private-Lines: 2", key[1], key[2], "Private-MAC: 00ff", key[3]}, []string{"Private-Lines: 2", mark, mark, mark, key[3]}},
		{"no key", []string{key[1], "word"}, []string{key[1], "word"}},
	} {
		lines := newRedactor(t, nil).Lines()
		var got []string
		for _, l := range tt.in {
			out := string(lines.Line([]byte(l)))
			if strings.HasPrefix(out, markStart+"pem-") && placeholder([]byte(out)) == len(out) {
				out = mark
			}
			got = append(got, out)
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}
