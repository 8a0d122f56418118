// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"html"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); -update rewrites it:\n%s", file, diff)
	}
}

// runs are the runs that every writer is given.
func runs() map[string]*Run {
	return map[string]*Run{
		"empty":   {},
		"full":    fullRun(),
		"hostile": hostileRun(),
		"planned": {Manifest: fullRun().Manifest}, // stopped before its first trial
	}
}

var writers = map[string]func(io.Writer, *Run) error{
	"txt":  func(w io.Writer, r *Run) error { return Text(w, r, nil) },
	"xml":  JUnit,
	"md":   Markdown,
	"csv":  CSV,
	"gh":   Annotations,
	"html": func(w io.Writer, r *Run) error { return HTML(w, r, nil) },
}

func write(t *testing.T, format string, run *Run) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := writers[format](&b, run); err != nil {
		t.Fatalf("writing %s: %v", format, err)
	}
	return b.Bytes()
}

func TestGolden(t *testing.T) {
	for name, run := range runs() {
		for format := range writers {
			t.Run(name+"."+format, func(t *testing.T) {
				golden(t, name+"."+format, readable(t, write(t, format, run)))
			})
		}
	}
}

// The same run gives the same bytes, in whatever order its trials ended.
func TestDeterministic(t *testing.T) {
	for format := range writers {
		t.Run(format, func(t *testing.T) {
			want := write(t, format, fullRun())
			for range 3 {
				run := fullRun()
				slices.Reverse(run.Trials)
				if got := write(t, format, run); !bytes.Equal(want, got) {
					t.Fatalf("bytes differ (-want +got):\n%s", cmp.Diff(string(want), string(got)))
				}
			}
		})
	}
}

// TestTextSaysThingsOnce prints the fact that is the cause, what is folded and
// what the verdicts say, each in one line.
func TestTextSaysThingsOnce(t *testing.T) {
	pos := func(line int) harness.Position { return harness.Position{File: "s.yaml", Line: line, Col: 9} }
	failed := func(check, message string, line int) trials.Verdict {
		return trials.Verdict{Check: check, State: trials.Failed, Message: message, Pos: pos(line)}
	}
	conduct := func(check, message string) trials.Verdict {
		return trials.Verdict{Check: check, Conduct: true, State: trials.Failed, Message: message}
	}
	tests := []struct {
		name     string
		cause    trials.Cause
		verdicts []trials.Verdict
		want     []string
	}{
		{
			name:  "expectation",
			cause: trials.Cause{Kind: trials.CauseExpectation, Pos: pos(7), Check: "that", Message: "that: x does not hold\njournal: 1 model call", Folded: []trials.Consequence{{Text: "s.yaml:8:9: answer: want it to contain \"a\"", Check: "answer", Pos: pos(8)}}},
			verdicts: []trials.Verdict{
				failed("that", "x does not hold\njournal: 1 model call", 7), failed("answer", `want it to contain "a", got "b"`, 8),
			},
			want: []string{"s.yaml:7:9: that: x does not hold", "  journal: 1 model call", `s.yaml:8:9: answer: want it to contain "a", got "b"`},
		},
		{
			name:  "undecided",
			cause: trials.Cause{Kind: trials.CauseScenario, Pos: pos(7), Check: "that", Message: "that: division by zero"},
			verdicts: []trials.Verdict{
				{Check: "that", State: trials.Undecided, Message: "division by zero", Pos: pos(7)},
			},
			want: []string{"s.yaml:7:9: that: could not be judged: division by zero"},
		},
		{
			name:  "refusal",
			cause: trials.Cause{Kind: trials.CauseRefusal, Pos: pos(3), Message: "the provider would refuse request 2: 400", Folded: []trials.Consequence{{Text: "conduct: answered_once: c was never answered", Check: "answered_once"}, {Text: "2 replies not reached", Check: "all_replies_reached"}, {Text: "1 later turn not played"}}},
			verdicts: []trials.Verdict{
				conduct("answered_once", "c was never answered"), conduct("provider_accepts", "request 2 would have been refused: 400"), conduct("all_replies_reached", "2 scripted replies not reached"),
			},
			want: []string{"s.yaml:3:9: refusal: the provider would refuse request 2: 400", "  and 2 replies not reached", "  and 1 later turn not played", "conduct answered_once: c was never answered"},
		},
		{
			name:     "limit",
			cause:    trials.Cause{Kind: trials.CauseLimits, Pos: pos(2), Message: "limit exceeded: tool_calls: 2, the limit is 1"},
			verdicts: []trials.Verdict{conduct("limits", "tool_calls: 2, the limit is 1")},
			want:     []string{"s.yaml:2:9: limits: limit exceeded: tool_calls: 2, the limit is 1"},
		},
		{
			name:     "replies not reached",
			cause:    trials.Cause{Kind: trials.CauseConduct, Pos: pos(5), Check: "all_replies_reached", Message: "all_replies_reached: 2 scripted replies not reached"},
			verdicts: []trials.Verdict{{Check: "all_replies_reached", Conduct: true, State: trials.Failed, Message: "2 scripted replies not reached", Pos: pos(5)}},
			want:     []string{"s.yaml:5:9: conduct all_replies_reached: 2 scripted replies not reached"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run := &Run{Trials: []Trial{{Record: trials.Record{
				Key: trials.Key{Scenario: "s"}, Outcome: harness.OutcomeFailed, Cause: &tt.cause, Verdicts: tt.verdicts,
			}}}}
			_, out, _ := strings.Cut(string(write(t, "txt", run)), "FAIL  s  0 ms\n      ")
			out, _, _ = strings.Cut(out, "\n\n")
			if diff := cmp.Diff(tt.want, strings.Split(out, "\n      ")); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

// Nothing that a terminal or a reader would act on gets through.
func TestHostile(t *testing.T) {
	run := hostileRun()
	for format := range writers {
		t.Run(format, func(t *testing.T) {
			out := string(readable(t, write(t, format, run)))
			if !utf8.ValidString(out) {
				t.Error("not UTF-8")
			}
			for i, r := range out {
				if clean(string(r)) != string(r) {
					t.Errorf("%q at byte %d: %q", r, i, out[max(0, i-60):min(len(out), i+60)])
					break
				}
			}
			if strings.Contains(out, strings.Repeat("A", 10_000)) {
				t.Error("a huge text was not cut")
			}
			if !strings.Contains(html.UnescapeString(out), "⟨U+202E⟩") {
				t.Error("the bidi mark is not spelled out")
			}
		})
	}
}

func TestJUnitParses(t *testing.T) {
	for name, run := range runs() {
		t.Run(name, func(t *testing.T) {
			var got junitSuites
			if err := xml.Unmarshal(write(t, "xml", run), &got); err != nil {
				t.Fatal(err)
			}
			tests, failures := 0, 0
			for _, s := range got.Suites {
				tests += len(s.Cases)
				for _, c := range s.Cases {
					if c.Failure != nil {
						failures++
					}
				}
			}
			if tests != got.Tests || failures != got.Failures {
				t.Errorf("counts say %d tests, %d failures; there are %d, %d", got.Tests, got.Failures, tests, failures)
			}
		})
	}
}

func TestTextColor(t *testing.T) {
	var plain, color bytes.Buffer
	if err := errors.Join(Text(&plain, fullRun(), nil), Text(&color, fullRun(), &TextOptions{Color: true})); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(plain.String(), "\x1b") {
		t.Error("colours were not asked for")
	}
	if !strings.Contains(color.String(), "\x1b[31mFAIL \x1b[0m") {
		t.Error("no colours")
	}
}

type brokenWriter struct{}

var errBroken = errors.New("disk full")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestWriterErrors(t *testing.T) {
	for format, f := range writers {
		if err := f(brokenWriter{}, fullRun()); !errors.Is(err, errBroken) {
			t.Errorf("%s: got %v, want %v", format, err, errBroken)
		}
	}
}

// saved writes a run as `rehearse run` does.
func saved(t testing.TB, run *Run) string {
	t.Helper()
	dir := t.TempDir()
	if err := trials.WriteManifest(dir, run.Manifest); err != nil {
		t.Fatal(err)
	}
	w, err := trials.Append(filepath.Join(dir, trials.RecordsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, tr := range run.Trials {
		r := tr.Record
		r.Detail = ""
		if tr.Witness != nil {
			if r.Detail, err = trials.WriteDetail(dir, *tr.Witness); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLoad(t *testing.T) {
	want := fullRun()
	got, err := Load(saved(t, want))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Warnings) > 0 {
		t.Errorf("warnings: %q", got.Warnings)
	}
	want.Dir = got.Dir // a page names it
	for format := range writers {
		// The folder names its transcripts by itself.
		for i := range want.Trials {
			want.Trials[i].Detail = got.Trials[i].Detail
		}
		if diff := cmp.Diff(string(write(t, format, want)), string(write(t, format, got))); diff != "" {
			t.Errorf("%s of the loaded run differs (-want +got):\n%s", format, diff)
		}
	}
}

// TestLoadLeavesInFiles: of a run that was read, what only a page of a trial
// shows stays in the files.
func TestLoadLeavesInFiles(t *testing.T) {
	run, err := Load(saved(t, fullRun()))
	if err != nil {
		t.Fatal(err)
	}
	whole, kept := 0, 0
	for i := range run.Trials {
		light := &run.Trials[i]
		full, err := light.whole()
		if err != nil {
			t.Fatal(err)
		}
		passed := light.Outcome == harness.OutcomePassed || light.Outcome == harness.OutcomeSkipped
		if light.Answers != nil || light.Witness != nil || passed && light.Trajectory != nil {
			t.Errorf("%s has %d answers and %d calls", light.Key, len(light.Answers), len(light.Trajectory))
		}
		if passed {
			whole += len(full.Trajectory)
		} else {
			kept += len(light.Trajectory)
		}
	}
	if whole == 0 || kept == 0 {
		t.Errorf("the files have %d calls of trials that passed, and %d of the others are kept; want some of both", whole, kept)
	}
}

func TestLoadDamaged(t *testing.T) {
	tests := []struct {
		name    string
		damage  func(dir string) error
		warning string
		err     string
	}{
		{"no manifest", func(dir string) error { return os.Remove(filepath.Join(dir, "run.json")) }, "no manifest", ""},
		{"broken manifest", func(dir string) error { return os.WriteFile(filepath.Join(dir, "run.json"), []byte("{"), 0o600) }, "no manifest", ""},
		{"no transcripts", func(dir string) error { return os.RemoveAll(filepath.Join(dir, "transcripts")) }, "no transcript of", ""},
		{"no trials", func(dir string) error { return os.Remove(filepath.Join(dir, "trials.jsonl")) }, "0 of 36 trials planned are recorded", ""},
		{"torn", func(dir string) error { return cutFile(filepath.Join(dir, "trials.jsonl"), 9) }, "the last record of trials.jsonl is incomplete and was left out", ""},
		{"torn, and how many there were to be", func(dir string) error { return cutFile(filepath.Join(dir, "trials.jsonl"), 9) }, "35 of 36 trials planned are recorded", ""},
		{"killed between two records", func(dir string) error {
			name := filepath.Join(dir, "trials.jsonl")
			data, err := os.ReadFile(name)
			return errors.Join(err, cutFile(name, len(data)-bytes.IndexByte(data, '\n')-1))
		}, "1 of 36 trials planned are recorded: the run is still going or was killed", ""},
		{"no folder", os.RemoveAll, "", "is not the folder of a run"},
		{"newer", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "trials.jsonl"), []byte(`{"schema":99}`+"\n"), 0o600)
		}, "", "newer rehearse"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := saved(t, fullRun())
			if err := tt.damage(dir); err != nil {
				t.Fatal(err)
			}
			run, err := Load(dir)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("got error %v, want one with %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, format := range []string{"txt", "md", "html"} {
				out := html.UnescapeString(string(write(t, format, run)))
				if !strings.Contains(out, tt.warning) {
					t.Errorf("no %q in the %s", tt.warning, format)
				}
			}
		})
	}
}

// cutFile takes the last n bytes off a file.
func cutFile(name string, n int) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	return os.Truncate(name, info.Size()-int64(n))
}

// TestLoadFolderOfRuns names what is in a folder of runs, the newest first.
func TestLoadFolderOfRuns(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"20260101-000000-a", "20260103-000000-a", "20260102-000000-b", "20250101-000000-c", "notes"} {
		run := filepath.Join(dir, name)
		if err := os.Mkdir(run, 0o755); err != nil {
			t.Fatal(err)
		}
		if name == "notes" {
			continue
		}
		if err := trials.WriteManifest(run, trials.Manifest{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Load(dir)
	want := "is a folder of runs, not a run: name one of them, such as " +
		filepath.Join(dir, "20260103-000000-a") + ", " + filepath.Join(dir, "20260102-000000-b") + ", " + filepath.Join(dir, "20260101-000000-a")
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

func FuzzLoad(f *testing.F) {
	for _, run := range []*Run{fullRun(), {}} {
		dir := saved(f, run)
		records, err := os.ReadFile(filepath.Join(dir, trials.RecordsFile))
		if err != nil {
			f.Fatal(err)
		}
		manifest, err := os.ReadFile(filepath.Join(dir, trials.ManifestFile))
		if err != nil {
			f.Fatal(err)
		}
		lines := bytes.SplitAfter(records, []byte("\n"))
		f.Add(manifest, lines[0], []byte(`{"schema":1,"exchanges":[{"seq":1,"turn":-3}]}`))
	}
	f.Add([]byte(`{"schema":1}`), []byte(`{"schema":1,"scenario":"s","mode":"mock","attempt":1,"detail":"d.json","trajectory":[{"turn":9000000000}]}`),
		[]byte(`{"schema":1,"exchanges":[{"turn":9000000000,"answer":{"calls":[{}]}}],"states":{"s":1}}`))
	f.Fuzz(func(t *testing.T, manifest, records, detail []byte) {
		dir := t.TempDir()
		for name, data := range map[string][]byte{trials.ManifestFile: manifest, trials.RecordsFile: records, "d.json": detail} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		run, err := Load(dir)
		if err != nil {
			return
		}
		for format := range writers {
			out := write(t, format, run)
			if format == "html" {
				if err := checkHTML(out); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

func TestClean(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", "a\tb\nc é 漢字 👩‍🔬", "a\tb\nc é 漢字 👩‍🔬"},
		{"line ends", "a\r\nb\rc", "a\nb⟨U+000D⟩c"},
		{"escape", "\x1b[31m", "⟨U+001B⟩[31m"},
		{"bidi", "a\u202eb\u2069", "a⟨U+202E⟩b⟨U+2069⟩"},
		{"tag characters", "\U000E0041", "⟨U+E0041⟩"},
		{"not UTF-8", "a\xffb\uFFFD", "a⟨0xFF⟩b\uFFFD"},
		{"noncharacter", "\uffff", "⟨U+FFFF⟩"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, clean(tt.in)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCut(t *testing.T) {
	head, left := cut("aé漢", 4)
	if head != "aé" || left != 3 {
		t.Errorf("got %q, %d left", head, left)
	}
	if head, left := cut("abc", -1); head != "abc" || left != 0 {
		t.Errorf("got %q, %d left", head, left)
	}
}

func TestPrettyJSON(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"short", `{ "b": 1.10, "a": 2 }`, `{"b":1.10,"a":2}`},
		{"long", `{"b":"` + strings.Repeat("x", 60) + `","a":1e400}`, "{\n  \"b\": \"" + strings.Repeat("x", 60) + "\",\n  \"a\": 1e400\n}"},
		{"not JSON", `{"a`, `{"a`},
		{"deep", strings.Repeat("[", 100) + strings.Repeat("]", 100), strings.Repeat("[", 100) + strings.Repeat("]", 100)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, prettyJSON([]byte(tt.in))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRate(t *testing.T) {
	tests := []struct {
		name string
		in   tally
		want string
	}{
		{"none judged", tally{Errors: 2, Skipped: 1}, "n/a"},
		{"all", tally{Passed: 3, Errors: 1}, "100 %"},
		{"nearly all", tally{Passed: 999, Failed: 1}, "99.9 %"},
		{"nearly none", tally{Passed: 1, Failed: 999}, "0.1 %"},
		{"half", tally{Passed: 1, Failed: 1, Skipped: 7}, "50.0 %"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.in.Rate(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestMedian: of an even number of trials the median is the lower of the two in
// the middle, a time that one of them took.
func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		seconds string
		want    time.Duration
	}{{"3", 3}, {"9 1", 1}, {"9 1 3", 3}, {"4 9 1 3", 3}} {
		var y tally
		for s := range strings.FieldsSeq(tt.seconds) {
			d, err := time.ParseDuration(s + "s")
			if err != nil {
				t.Fatal(err)
			}
			y.durations = append(y.durations, d)
		}
		if got, want := y.Median(), durationText(tt.want*time.Second); got != want {
			t.Errorf("the median of %q is %s, want %s", tt.seconds, got, want)
		}
	}
}

func TestOutcomeOfRun(t *testing.T) {
	tests := []struct {
		name string
		in   tally
		want harness.Outcome
	}{
		{"nothing ran", tally{}, harness.OutcomeError},
		{"all skipped", tally{Skipped: 2}, harness.OutcomeError},
		{"passed", tally{Passed: 1, Skipped: 1}, harness.OutcomePassed},
		{"error", tally{Passed: 1, Errors: 1}, harness.OutcomeError},
		{"undecided", tally{Passed: 1, Undecided: 1}, harness.OutcomeError},
		{"failed", tally{Passed: 1, Failed: 1, Errors: 1}, harness.OutcomeFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.in.Outcome(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestStruckFaults: each report of a trial that failed names the faults that
// struck, also where no cause was recorded; those of one that passed do not
// matter.
func TestStruckFaults(t *testing.T) {
	const struck = "stall of the model, turn 7"
	for _, tt := range []struct {
		name    string
		outcome harness.Outcome
		cause   *trials.Cause
		want    bool
	}{
		{"failed", harness.OutcomeFailed, &trials.Cause{Kind: trials.CauseExpectation, Message: "no"}, true},
		{"without a cause", harness.OutcomeFailed, nil, true},
		{"an error", harness.OutcomeError, &trials.Cause{Kind: trials.CauseSubject, Message: "no"}, true},
		{"passed", harness.OutcomePassed, nil, false},
	} {
		one := trial("plain", "plain.yaml", 1, "m", 1)
		one.Outcome, one.Cause, one.Struck = tt.outcome, tt.cause, []string{struck}
		for _, format := range []string{"txt", "xml", "md", "html"} {
			if got := strings.Contains(string(write(t, format, &Run{Trials: []Trial{one}})), struck); got != tt.want {
				t.Errorf("%s, %s: named %v, want %v", tt.name, format, got, tt.want)
			}
		}
	}
}
