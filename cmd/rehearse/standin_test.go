// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// standIn is an endpoint with three models: two that are right in 85 of 100
// trials, and one that is in 60. It refuses many requests for a while and some
// for good.
const standIn = `
llm: stand-in
seed: SEED
models: [left, right, weak]
rules:
  - when: request.model == "weak"
    chance: 0.4
    reply: {say: I do not know.}
  - when: request.model != "weak"
    chance: 0.15
    reply: {say: I do not know.}
  - when: "true"
    reply: {say: "Paris."}
faults:
  - {kind: rate_limit, chance: 0.03, retry_after: 2ms}
  - {kind: rate_limit, chance: 0.15, retry_after: 2ms, times: 2}
`

// TestStandIn compares three models over 40 scenarios with 5 trials each, in a
// run that is killed twice with -9 and resumed. It is, trial by trial, the run
// that was not killed; what the endpoint refuses is an error or a success, never
// a failure; and the report finds the difference that there is, and no other.
func TestStandIn(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("plays 1,200 trials")
	}
	seed := number(t, "REHEARSE_SEED", 12)
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(uint64(seed), 15))
	k := &killer{T: t, dir: t.TempDir()}
	rows := "name,city\n"
	for i := range 40 {
		rows += fmt.Sprintf("q%02d,%d\n", i, i)
	}
	put(t, k.dir, "rows.csv", rows)
	put(t, k.dir, "s.yaml", "scenario: capital\ncases: {from: rows.csv}\nturns: [{user: \"Question {{vars.city}}?\", expect: [{answer: {equals: Paris.}}]}]\n")
	put(t, k.dir, "llm.yaml", strings.ReplaceAll(standIn, "SEED", fmt.Sprint(seed)))

	whole := k.trialsOf(k.standIn("whole", func() int { return -1 }))
	dir := k.standIn("killed", func() int { return 50 + r.IntN(200) })
	records, err := os.ReadFile(filepath.Join(dir, trials.RecordsFile))
	if got := strings.Count(string(records), "\n"); got != 600 || err != nil {
		t.Errorf("%d records are in the file, want 600; %v", got, err)
	}
	killed := k.trialsOf(dir)
	if diff := cmp.Diff(whole, killed); diff != "" {
		t.Errorf("outcomes (-not killed +killed and resumed):\n%s", diff)
	}
	count := map[harness.Outcome]int{}
	for _, outcome := range killed {
		word, _, _ := strings.Cut(outcome, " ")
		count[harness.Outcome(word)]++
	}
	t.Logf("%d trials: %v", len(killed), count)
	if n := count[harness.OutcomeError]; len(killed) != 600 || n < 6 || n > 40 || count[harness.OutcomeFailed] < 60 {
		t.Errorf("%d trials: %v; want 600, some 18 of them errors and some 130 failed", len(killed), count)
	}

	<-k.child("report", dir, "--html", "page.html").done // with the exit code of the run
	page, err := os.ReadFile(filepath.Join(k.dir, "page.html"))
	if err != nil {
		t.Fatal(err)
	}
	verdict := regexp.MustCompile(`(left and right|right and left) are tied for the best\. (left|right) beats weak by`)
	if !verdict.Match(page) {
		t.Errorf("the report does not say %s", verdict)
	}
}

// standIn plays the run in a folder, with an endpoint of its own. It is killed
// twice, each time after as many requests as kill says; a negative number kills
// never.
func (k *killer) standIn(name string, kill func() int) string {
	k.Helper()
	s := serveArgs(k.T, &process{}, "serve", "llm", filepath.Join(k.dir, "llm.yaml"))
	defer s.end()
	target, err := url.Parse(strings.TrimSuffix(s.URL, "/v1"))
	if err != nil {
		k.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	var left atomic.Int64 // requests until it is killed
	var victim atomic.Pointer[child]
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if left.Add(-1) == 0 {
			c := victim.Load()
			_ = c.cmd.Process.Kill()
			<-c.done
			return
		}
		proxy.ServeHTTP(w, req)
	}))
	defer front.Close()
	args := []string{
		"run", "s.yaml", "--mode", "live", "--base-url", front.URL + "/v1", "--model", "left", "--model", "right", "--model", "weak",
		"--trials", "5", "--parallel", "8", "--seed", "3", "--out", name,
	}
	dir := ""
	for kills := 0; ; kills++ {
		left.Store(-1)
		at := kill()
		if at < 0 || kills == 2 {
			c := k.child(args...)
			<-c.done
			if code := c.cmd.ProcessState.ExitCode(); code != int(exitFailed) {
				k.Fatalf("exit code %d\n%s", code, c.stderr.String())
			}
			break
		}
		c := k.child(args...)
		victim.Store(c)
		left.Store(int64(at))
		<-c.done
		if c.cmd.ProcessState.ExitCode() >= 0 {
			k.Fatalf("ended before it was killed\n%s", c.stderr.String())
		}
		if dir == "" {
			dir = k.only(name)
			args = append(args, "--resume", dir)
		}
	}
	return filepath.Join(k.dir, k.only(name))
}

// only is the one folder in a folder.
func (k *killer) only(name string) string {
	k.Helper()
	found, err := filepath.Glob(filepath.Join(k.dir, name, "*"))
	if err != nil || len(found) != 1 {
		k.Fatalf("run folders %q, %v", found, err)
	}
	return filepath.Join(name, filepath.Base(found[0]))
}

// trialsOf are the outcomes of a run with their causes, by trial.
func (k *killer) trialsOf(dir string) map[string]string {
	k.Helper()
	list, err := trials.ReadFile(filepath.Join(dir, trials.RecordsFile))
	if err != nil {
		k.Fatal(err)
	}
	out := map[string]string{}
	for _, rec := range list {
		text := string(rec.Outcome)
		if rec.Cause != nil {
			text += " " + string(rec.Cause.Kind)
		}
		switch key := rec.Key.String(); {
		case out[key] != "":
			k.Errorf("%s is recorded twice", key)
		case rec.Outcome == harness.OutcomeError && !strings.Contains(rec.Cause.Message, "HTTP 429"):
			k.Errorf("%s: %s", key, rec.Cause.Message)
		default:
			out[key] = text
		}
	}
	return out
}
