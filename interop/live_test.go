// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"fmt"
	"html"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// TestLive plays forty scenarios to two real models in a namespace that has only
// loopback, one of them with and without a system prompt: with the program and
// with go test. What both write must tell the models apart, and the two settings
// only where the interval of their difference leaves 0 out.
func TestLive(t *testing.T) {
	t.Parallel() // with TestReportInABrowser: each takes minutes, of one processor
	out := t.TempDir()
	log, err := command(t, "unshare", "-n", "./live.sh", out).CombinedOutput()
	if err != nil {
		t.Fatalf("live.sh: %v\n%s", err, log)
	}
	for _, name := range []string{"program", "gotest"} {
		t.Run(name, func(t *testing.T) {
			runs, err := filepath.Glob(filepath.Join(out, "runs", "*-"+name))
			if err != nil || len(runs) != 1 {
				t.Fatalf("want one run folder, found %q (%v)", runs, err)
			}
			records, err := trials.ReadFile(filepath.Join(runs[0], trials.RecordsFile))
			if err != nil {
				t.Fatal(err)
			}
			liveOutcomes(t, records, output(t, "bash", "-c", binary+` report "$0" || [ $? = 1 ]`, runs[0]))
			liveComparison(t, runs[0])
			if name == "gotest" {
				log, err := os.ReadFile(filepath.Join(out, "gotest.log"))
				if err != nil {
					t.Fatal(err)
				}
				liveSubtests(t, records, string(log))
			}
		})
	}
}

// liveColumns are those of a run of live.sh.
var liveColumns = []string{"needle · bare", "needle · prompted", "smollm · bare", "smollm · prompted"}

// liveOutcomes looks at how the mistakes of models and of endpoints are filed and
// counted. That the models are small and fail some scenarios is the point.
func liveOutcomes(t *testing.T, records []trials.Record, report string) {
	counts, scenarios := map[string]map[harness.Outcome]int{}, map[string]bool{}
	for _, r := range records {
		column := r.Model + " · " + r.Variant
		if counts[column] == nil {
			counts[column] = map[harness.Outcome]int{}
		}
		counts[column][r.Outcome]++
		scenarios[r.Suite+"/"+r.Name()] = true
		refused := r.Cause != nil && strings.Contains(r.Cause.Message, "502")
		switch {
		case r.Outcome == harness.OutcomeFailed && (r.Cause == nil || r.Cause.Kind == trials.CauseEndpoint || refused):
			t.Errorf("%s: failed, with the cause %+v; what the endpoint gets wrong is an error", r.Key, r.Cause)
		case r.Outcome == harness.OutcomeError && (r.Cause == nil || r.Cause.Kind != trials.CauseEndpoint):
			t.Errorf("%s: error, with the cause %+v; what the model gets wrong is a failure", r.Key, r.Cause)
		case r.Case == "week" && r.Model == "needle" && (r.Outcome != harness.OutcomeError || !refused):
			t.Errorf("%s: %s, with the cause %+v; want an error for the 502", r.Key, r.Outcome, r.Cause)
		}
	}
	if diff := cmp.Diff(liveColumns, slices.Sorted(maps.Keys(counts))); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	if len(scenarios) != 40 || len(records) != 40*len(liveColumns) {
		t.Errorf("%d trials of %d scenarios, want 160 of 40", len(records), len(scenarios))
	}
	for column, n := range counts {
		judged := n[harness.OutcomePassed] + n[harness.OutcomeFailed]
		want := regexp.MustCompile(fmt.Sprintf(`(?m)^%s +[\d.]+ %% passed \(%d of %d judged\), %d errors?,`, column, n[harness.OutcomePassed], judged, n[harness.OutcomeError]))
		if !want.MatchString(report) {
			t.Errorf("the text of the run has no line like %s:\n%s", want, report)
		}
	}
	if needle := counts["needle · prompted"]; needle[harness.OutcomePassed] == 0 || needle[harness.OutcomeFailed] == 0 {
		t.Errorf("outcomes %v: want a real model to pass some and fail some", needle)
	}
}

// shownDifference is the line of `rehearse compare` about a pair.
var shownDifference = regexp.MustCompile(`(?m) (~ )?([+-][0-9.]+) +\[([+-][0-9.]+), ([+-][0-9.]+)\], p = ([0-9.]+), n = \d+ scenarios$`)

// liveComparison compares columns of a run, as a run of their own each, and wants
// the page of the run to say the same.
func liveComparison(t *testing.T, run string) {
	data, err := os.ReadFile(filepath.Join(run, trials.RecordsFile))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(run, trials.ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	only := func(model, variant string) string {
		dir := t.TempDir()
		var kept strings.Builder
		for line := range strings.Lines(string(data)) {
			if strings.Contains(line, fmt.Sprintf(`"model":%q,"variant":%q`, model, variant)) {
				kept.WriteString(line)
			}
		}
		for name, text := range map[string]string{trials.RecordsFile: kept.String(), trials.ManifestFile: string(manifest)} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	compare := func(a, b string) (tied bool, low, high float64) {
		text := output(t, binary, "compare", a, b)
		t.Log(text)
		m := shownDifference.FindStringSubmatch(text)
		if m == nil {
			t.Fatal("it says nothing of a difference")
		}
		p := number(t, m[5])
		low, high = number(t, m[3]), number(t, m[4])
		if tied = m[1] != ""; tied == (p <= 0.05 && (low > 0 || high < 0)) {
			t.Errorf("tied: %v, with the interval from %v to %v and p = %v", tied, low, high, p)
		}
		return tied, low, high
	}
	prompted := only("needle", "prompted")
	if tied, _, high := compare(prompted, only("smollm", "prompted")); tied || high > -20 {
		t.Error("the model that calls tools is not shown to be much better than the one that does not")
	}
	tied, _, _ := compare(prompted, only("needle", "bare"))

	page, err := os.ReadFile(filepath.Join(run, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	var verdict strings.Builder
	for _, m := range regexp.MustCompile(`(?s)<p class="verdict[^"]*"><bdi>(.*?)</bdi>`).FindAllStringSubmatch(string(page), -1) {
		verdict.WriteString(html.UnescapeString(m[1]) + "\n")
	}
	t.Log(verdict.String())
	wants := []string{`beats .*smollm · prompted by `, `beats .*smollm · bare by `}
	if tied {
		wants = append(wants, `needle · (bare|prompted) and needle · (bare|prompted) are tied for the best`, `needle · (bare|prompted) (passes .* more than needle · (bare|prompted), which may be chance|and needle · (bare|prompted) pass alike \(95)`)
	}
	for _, want := range wants {
		if !regexp.MustCompile(want).MatchString(verdict.String()) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// liveSubtests wants a subtest for each trial, and each failure to name its model.
func liveSubtests(t *testing.T, records []trials.Record, log string) {
	if n := strings.Count(log, "report: "); n != 1 {
		t.Errorf("go test names %d reports, want one", n)
	}
	for _, r := range records {
		state := "FAIL"
		if r.Outcome == harness.OutcomePassed {
			state = "PASS"
		}
		subtest := fmt.Sprintf("--- %s: TestLive/%s/%s/%s/%d (", state, strings.ReplaceAll(r.Name(), " ", "_"), r.Model, r.Variant, r.Attempt)
		if !strings.Contains(log, subtest) {
			t.Errorf("%s: the log of go test lacks %q", r.Key, subtest)
		}
		if r.Cause == nil {
			continue
		}
		place := r.Cause.Pos
		if place.IsZero() {
			place = r.Pos
		}
		if line := fmt.Sprintf("%s: %s · %s: ", place, r.Model, r.Variant); !strings.Contains(log, line) {
			t.Errorf("%s: the log of go test lacks %q", r.Key, line)
		}
	}
}

// TestReportInBrowser opens a report from disk, in a namespace without a
// network, with and without JavaScript.
func TestReportInBrowser(t *testing.T) {
	out := t.TempDir()
	if code, log := rehearse(t, "run", "../scenarios/suites/utilities", "--out", out); code != 0 {
		t.Fatalf("exit code %d\n%s", code, log)
	}
	pages, err := filepath.Glob(filepath.Join(out, "*", "report.html"))
	if err != nil || len(pages) != 1 {
		t.Fatalf("want one report in %s, found %q (%v)", out, pages, err)
	}
	page, err := os.ReadFile(pages[0])
	if err != nil {
		t.Fatal(err)
	}
	bare := scripts.ReplaceAll(page, nil)
	if len(bare) == len(page) {
		t.Error("found no script to take out of the page")
	}
	for _, tc := range []struct {
		name string
		page []byte
	}{{"with scripts", page}, {"without scripts", bare}} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "report.html")
			if err := os.WriteFile(file, tc.page, 0o644); err != nil {
				t.Fatal(err)
			}
			text := dom(t, file)
			for _, want := range []string{"two tools in one reply", "get_weather", "25 + 17 = 42"} {
				if !strings.Contains(text, want) {
					t.Errorf("the page as the browser has it lacks %q", want)
				}
			}
		})
	}
}

// scripts matches the script of a report.
var scripts = regexp.MustCompile(`(?s)<script\b.*?</script>`)
