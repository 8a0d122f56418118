// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/mockmcp"
	"github.com/rehearse-dev/rehearse/scenarios"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	run.Child() // where this binary was started as a server
	if os.Getenv("RUN_TEST_FAILING") != "" {
		os.Exit(m.Run()) // for TestFailureNamesTheCaller
	}
	if os.Getenv("RUN_TEST_SERVER") != "" {
		serve(os.Stdin, os.Stdout)
		return
	}
	goleak.VerifyTestMain(m)
}

// realServer is what stands for a real server in tests of them.
var realServer = mockmcp.Script{Name: "far", Tools: []mockmcp.Tool{{
	Name: "add", Input: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}}}`),
	Handler: func(_ context.Context, c *mockmcp.Call) (*mockmcp.Answer, error) {
		return &mockmcp.Answer{JSON: json.RawMessage(`{"success":false,"got":` + string(c.Args) + `}`)}, nil
	},
}}}

func serve(in io.Reader, out io.Writer) {
	server, err := mockmcp.New(realServer, nil)
	if err == nil {
		err = server.ServeStdio(context.Background(), in, out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func retryAfter(res *http.Response) time.Duration {
	if ms, err := strconv.Atoi(res.Header.Get("Retry-After-Ms")); err == nil {
		return time.Duration(ms) * time.Millisecond
	}
	n, err := strconv.Atoi(res.Header.Get("Retry-After"))
	if err != nil {
		return 0
	}
	return time.Duration(n) * time.Second
}

func load(t testing.TB, paths ...string) []*scenarios.Scenario {
	t.Helper()
	set, err := scenarios.Load(paths, nil)
	if err != nil {
		t.Fatal(err)
	}
	return set.Scenarios
}

// write puts one scenario, with the weather server, into a file of its own.
func write(t testing.TB, body string) []*scenarios.Scenario {
	t.Helper()
	weather := absolute(t, "testdata/weather.yaml")
	name := filepath.Join(t.TempDir(), "s.yaml")
	body = strings.ReplaceAll(strings.TrimLeft(body, "\n"), "WEATHER", "weather: {mock: "+weather+"}")
	if err := os.WriteFile(name, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	return load(t, name)
}

func play(t testing.TB, list []*scenarios.Scenario, opts run.Options) *run.Result {
	t.Helper()
	if opts.Subject == nil {
		opts.Subject = loop{}
	}
	res, err := run.Run(t.Context(), list, &opts)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// one plays a single trial.
func one(t testing.TB, list []*scenarios.Scenario, opts run.Options) trials.Record {
	t.Helper()
	res := play(t, list, opts)
	if len(res.Records) != 1 {
		t.Fatalf("%d records, want 1", len(res.Records))
	}
	return res.Records[0]
}

// foldedText is all that follows from a cause, a line each.
func foldedText(c *trials.Cause) string {
	var b strings.Builder
	for _, f := range c.Folded {
		fmt.Fprintln(&b, f.Text)
	}
	return b.String()
}

// wants fails unless a trial ended so, for a reason with these parts.
func wants(t testing.TB, rec trials.Record, outcome harness.Outcome, kind trials.CauseKind, parts ...string) {
	t.Helper()
	var c trials.Cause
	if rec.Cause != nil {
		c = *rec.Cause
	}
	text := c.Message + "\n" + foldedText(&c)
	if rec.Outcome != outcome || c.Kind != kind {
		t.Errorf("%s, cause %q: %s\nwant %s, cause %q", rec.Outcome, c.Kind, text, outcome, kind)
	}
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("cause %s\nwant one with %q", text, p)
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

func TestHonestSubject(t *testing.T) {
	rec := one(t, load(t, "testdata/two"), run.Options{})
	wants(t, rec, harness.OutcomePassed, "")
	if rec.Counts.Checks != 2 || rec.Counts.ModelCalls != 3 || rec.Counts.ToolCalls != 2 {
		t.Errorf("counts %+v", rec.Counts)
	}
	want := []string{"Paris 21, Oslo -3.", "You are welcome."}
	if d := cmp.Diff(want, rec.Answers); d != "" {
		t.Errorf("answers (-want +got):\n%s", d)
	}
}

// TestHarmlessSubject is a client that writes results anew, which is no fault.
func TestHarmlessSubject(t *testing.T) {
	wants(t, one(t, load(t, "testdata/two"), run.Options{Subject: loop{indents}}), harness.OutcomePassed, "")
}

// TestFaultySubjects plays the same scenario against clients that do one
// thing wrong. The golden file shows what each is told.
func TestFaultySubjects(t *testing.T) {
	var b strings.Builder
	for _, f := range []fault{
		drops, dropsCalls, twice, swaps, reorders, mangles, after, reexecutes, inventsArg, skipsTool, hidesTool,
		forgets, misreports, panics, breaks, stops, repeats, chatters, emptyArgs, omitsText, otherModel, terse,
	} {
		rec := one(t, load(t, "testdata/two"), run.Options{Subject: loop{f}})
		if rec.Outcome != harness.OutcomeFailed {
			t.Errorf("a subject that %s: %s", f, rec.Outcome)
			continue
		}
		message := regexp.MustCompile(`\(/.*/(\w+\.go):\d+\)`).ReplaceAllString(rec.Cause.Message, "($1:LINE)")
		fmt.Fprintf(&b, "A subject that %s:\n  %s: %s: %s\n", f, rec.Cause.Pos, rec.Cause.Kind, strings.ReplaceAll(message, "\n", "\n    "))
		for _, folded := range rec.Cause.Folded {
			fmt.Fprintf(&b, "  then: %s\n", folded.Text)
		}
		b.WriteString("\n")
	}
	golden(t, "testdata/faults.golden", b.String())
}

func TestHangIsAFailure(t *testing.T) {
	rec := one(t, load(t, "testdata/two"), run.Options{Subject: loop{hangs}, Timeout: 50 * time.Millisecond})
	wants(t, rec, harness.OutcomeFailed, trials.CauseSubject, "turn 1: the subject hangs: no answer within 50ms, after 0 model calls and 0 tool calls", "3 replies not reached", "1 later turn not played")
}

// TestNoSubject: where nothing was played, no turn is a later one.
func TestNoSubject(t *testing.T) {
	none := harness.SubjectFunc(func(context.Context, *harness.Env) (harness.Session, error) {
		return nil, fmt.Errorf("starting: %w", harness.ErrUnavailable)
	})
	rec := one(t, load(t, "testdata/two"), run.Options{Subject: none})
	wants(t, rec, harness.OutcomeError, trials.CauseEndpoint, "there is no subject", "\n2 turns not played")
}

func TestDeafSubjectIsLeftBehind(t *testing.T) {
	rec := one(t, load(t, "testdata/two"), run.Options{Subject: loop{deaf}, Timeout: 20 * time.Millisecond, Grace: 20 * time.Millisecond})
	wants(t, rec, harness.OutcomeFailed, trials.CauseSubject, "the subject hangs", "ignored cancellation")
}

func TestTimeLimit(t *testing.T) {
	list := write(t, `
scenario: slow
limits: {time: 50ms}
turns:
  - user: hi
    replies: [{say: hello}]
    expect: [{answer: {contains: [hello]}}]
`)
	wants(t, one(t, list, run.Options{Subject: loop{hangs}}), harness.OutcomeFailed, trials.CauseLimits, "limit exceeded: time: the trial takes longer than 50ms")
}

const rateLimited = `
scenario: rate limit
limits: {time: LIMIT}
turns:
  - user: hi
    replies: [{say: hello, fault: {kind: rate_limit, retry_after: 20s, times: 2}}]
    expect: [{answer: {contains: [hello]}}, {retries: {min: 2, max: 2, honoured: true}}]
`

func TestScriptedWaitCostsNothing(t *testing.T) {
	rec := one(t, write(t, strings.ReplaceAll(rateLimited, "LIMIT", "60s")), run.Options{})
	wants(t, rec, harness.OutcomePassed, "")
	if rec.Skipped != 40*time.Second || rec.Counts.Retries != 2 {
		t.Errorf("skipped %s with %d retries, want 40s and 2", rec.Skipped, rec.Counts.Retries)
	}
	rec = one(t, write(t, strings.ReplaceAll(rateLimited, "LIMIT", "30s")), run.Options{})
	wants(t, rec, harness.OutcomeFailed, trials.CauseLimits, "takes longer than 30s")
}

func TestLimits(t *testing.T) {
	tests := []struct{ name, limits, message string }{
		{"tool calls", "tool_calls: 1", "limit exceeded: tool_calls: 2, the limit is 1"},
		{"model calls", "model_calls: 1", "limit exceeded: model_calls: 2, the limit is 1"},
		{"tokens", "tokens: 5", "limit exceeded: tokens: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list := write(t, `
scenario: limited
limits: {`+tt.limits+`}
servers: {WEATHER}
turns:
  - user: hi
    replies:
      - calls: [{weather.get_weather: {location: Paris}}, {weather.get_weather: {location: Oslo}}]
      - calls: [{weather.get_weather: {location: Rome}}]
      - say: done
    expect: [{answer: {contains: [done]}}]
`)
			wants(t, one(t, list, run.Options{}), harness.OutcomeFailed, trials.CauseLimits, tt.message)
		})
	}
}

// TestNotJudged: an expectation that nobody looked at does not pass in silence.
func TestNotJudged(t *testing.T) {
	list := write(t, `
scenario: an answer and no calls
turns:
  - user: hi
    replies: [{say: hello}]
    expect: [{calls: []}, {answer: {contains: [hello]}}]
`)
	rec := one(t, list, run.Options{Subject: loop{silent}})
	wants(t, rec, harness.OutcomePassed, "")
	if len(rec.Warnings) != 1 || !strings.HasSuffix(rec.Warnings[0], "s.yaml:5:27: answer was judged by what the script says: the subject reports no answers") {
		t.Errorf("warnings %q", rec.Warnings)
	}
	if rec := one(t, list, run.Options{}); len(rec.Warnings) != 0 {
		t.Errorf("of a subject that reports its answers: warnings %q", rec.Warnings)
	}
}

func TestNothingChecked(t *testing.T) {
	// A subject that reports nothing has no answer to look at.
	list := write(t, `
scenario: only an answer
turns:
  - user: hi
    replies: [{say: hello}]
    expect: [{answer: {contains: [hello]}}]
`)
	res := play(t, list, run.Options{Subject: loop{silent}})
	wants(t, res.Records[0], harness.OutcomeError, trials.CauseScenario, "nothing was checked: no expectation decides (answer: it was judged by what the script says, since the subject reports no answers)")
	if res.ExitCode() != 1 {
		t.Errorf("exit code %d, want 1: a run that checks nothing fails", res.ExitCode())
	}
	if w := strings.Join(res.Manifest.Warnings, "; "); !strings.Contains(w, "nothing was checked in the whole run") {
		t.Errorf("warnings %q do not say why", w)
	}
	// One trial that could not be judged among others that were is an error of
	// its own, and not of the run.
	res = play(t, append(list, load(t, "testdata/two")...), run.Options{Subject: loop{}})
	if res.ExitCode() != 0 || len(res.Manifest.Warnings) > 0 {
		t.Errorf("exit code %d, warnings %q", res.ExitCode(), res.Manifest.Warnings)
	}
	unexpecting := write(t, "scenario: expects nothing\nturns: [{user: hi, replies: [{say: hello}]}]\n")
	res = play(t, append(unexpecting, load(t, "testdata/two")...), run.Options{Parallel: 1})
	wants(t, res.Records[0], harness.OutcomeError, trials.CauseScenario, "the scenario has no expectations")
	if res.ExitCode() != 3 || len(res.Manifest.Warnings) > 0 {
		t.Errorf("exit code %d, warnings %q; want 3: something was checked", res.ExitCode(), res.Manifest.Warnings)
	}
	if code := play(t, unexpecting, run.Options{}).ExitCode(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if code := play(t, nil, run.Options{}).ExitCode(); code != 1 {
		t.Errorf("exit code %d of an empty run, want 1", code)
	}
	list = write(t, `
scenario: conduct only
conduct_only: true
turns: [{user: hi, replies: [{say: hello}]}]
`)
	res = play(t, list, run.Options{})
	wants(t, res.Records[0], harness.OutcomePassed, "")
	if res.ExitCode() != 0 {
		t.Errorf("exit code %d, want 0", res.ExitCode())
	}
}

func TestExpectationFails(t *testing.T) {
	list := write(t, `
scenario: wrong
servers: {WEATHER}
turns:
  - user: home is Oslo
    replies: [{calls: [{weather.set_home: {location: Oslo}}]}, {say: done}]
    expect:
      - calls: [{weather.set_home: {location: Bergen}}]
      - state: {weather: {home: Oslo}}
expect:
  - that: journal.model_calls == 5
  - never: [weather.set_*]
`)
	rec := one(t, list, run.Options{})
	wants(t, rec, harness.OutcomeFailed, trials.CauseExpectation, `calls: wrong arguments`, "s.yaml:10:5: that: journal.model_calls == 5 does not hold", "s.yaml:11:5: never: want no call of weather.set_*")
	if rec.Cause.Pos.Line != 7 || rec.Cause.Pos.Col != 47 {
		t.Errorf("cause at %s, want the argument, 7:47", rec.Cause.Pos)
	}
}

// TestPositions holds that a cause stands where what was not kept is written,
// as exactly as that is known.
func TestPositions(t *testing.T) {
	const turns = `
servers: {WEATHER}
turns:
  - user: home is Oslo
    replies: [{calls: [{weather.set_home: {location: Oslo}}]}, {say: '{"n": 1}'}]
`
	tests := []struct {
		name, body string
		line, col  int
	}{
		{"argument", turns + `
    expect:
      - calls:
          - weather.set_home:
              location: {$regex: ^B}
`, 10, 25},
		{"state", turns + `
    expect:
      - state:
          weather:
            home: Bergen
`, 10, 19},
		{"answer", turns + `
    expect:
      - answer:
          json:
            n: 2
`, 10, 16},
		{"limit", "\nlimits:\n  model_calls: 1" + turns + "expect: [calls: []]\n", 3, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec := one(t, write(t, "scenario: s"+tt.body), run.Options{})
			if rec.Cause == nil || rec.Cause.Pos.Line != tt.line || rec.Cause.Pos.Col != tt.col {
				t.Errorf("cause %+v, want it at %d:%d", rec.Cause, tt.line, tt.col)
			}
		})
	}
}

// TestPanics shows where the subject panicked, whatever else is wrong.
func TestPanics(t *testing.T) {
	list := load(t, "testdata/two")
	rec := one(t, list, run.Options{Subject: loop{panics}})
	wants(t, rec, harness.OutcomeFailed, trials.CauseSubject, "the subject panicked: no such luck", "(*looper).Send (", "subject_test.go:")
	if again := one(t, list, run.Options{Subject: loop{panics}}); again.Cause.Message != rec.Cause.Message {
		t.Errorf("the same panic is told in two ways:\n%s\n%s", rec.Cause.Message, again.Cause.Message)
	}
	// A panic over a miss is not how the miss is reported.
	missing := write(t, `
scenario: unscripted
turns: [{user: hi, replies: [{calls: [{no_such_tool: {}}]}], expect: [{calls: []}]}]
`)
	wants(t, one(t, missing, run.Options{Subject: panicky{inSend: true}}), harness.OutcomeFailed, trials.CauseMiss, "subject: turn 1: the subject panicked: in Send", "run_test.go:")
	hello := write(t, `
scenario: hello
turns: [{user: hi, replies: [{say: hello}], expect: [{answer: {contains: [hello]}}]}]
`)
	wants(t, one(t, hello, run.Options{Subject: panicky{}}), harness.OutcomeFailed, trials.CauseSubject, "closing the subject: the subject panicked: in Close", "run_test.go:")
}

// panicky is a loop that panics after a turn, or when it is closed.
type panicky struct{ inSend bool }

type panickySession struct {
	harness.Session
	panicky
}

func (p panicky) Open(ctx context.Context, env *harness.Env) (harness.Session, error) {
	s, err := loop{}.Open(ctx, env)
	return panickySession{s, p}, err
}

func (p panickySession) Send(ctx context.Context, text string) (*harness.TurnReport, error) {
	report, err := p.Session.Send(ctx, text)
	if p.inSend {
		panic("in Send")
	}
	return report, err
}

func (p panickySession) Close() error {
	_ = p.Session.Close() // what it says is not at issue
	if !p.inSend {
		panic("in Close")
	}
	return nil
}

func TestExpectedStop(t *testing.T) {
	list := write(t, `
scenario: a stop
turns:
  - user: hi
    expect: [{stops: model_calls}]
`)
	wants(t, one(t, list, run.Options{Subject: loop{stops}}), harness.OutcomePassed, "")
}

func TestRunFolder(t *testing.T) {
	out := t.TempDir()
	watch := &watcher{}
	res := play(t, load(t, "testdata/two"), run.Options{Out: out, Name: "two places", Trials: 3, Parallel: 2, Version: "v1", SubjectName: "loop", Observer: watch})
	if watch.planned != 3 || watch.ended != 3 {
		t.Errorf("the observer saw %d planned, %d ended", watch.planned, watch.ended)
	}
	if filepath.Dir(res.Dir) != out || !strings.HasSuffix(res.Dir, "-two-places") {
		t.Errorf("run folder %q", res.Dir)
	}
	m, err := trials.ReadManifest(res.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if m.Planned != 3 || m.Finished.IsZero() || m.Interrupted || m.Subject != "loop" || len(m.Scenarios) != 1 || m.Models[0].Label != run.MockModel {
		t.Errorf("manifest %+v", m)
	}
	records, err := trials.ReadFile(filepath.Join(res.Dir, trials.RecordsFile))
	if err != nil || len(records) != 3 {
		t.Fatalf("%d records, error %v", len(records), err)
	}
	seeds := map[int64]bool{}
	for _, rec := range records {
		seeds[rec.Seed] = true
		d, err := trials.ReadDetail(res.Dir, rec)
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Exchanges) != 3 || len(d.Tools) != 2 || len(d.Transcript.Turns) != 2 || string(d.States["weather"]) == "" {
			t.Errorf("detail %+v", d)
		}
	}
	if len(seeds) != 3 {
		t.Errorf("seeds %v, want three", seeds)
	}
	if dir := play(t, load(t, "testdata/two"), run.Options{Out: out, Name: "天気 / Größe"}).Dir; !strings.HasSuffix(dir, "-天気-Größe") {
		t.Errorf("run folder %q", dir)
	}
	again := play(t, load(t, "testdata/two"), run.Options{Out: out, Name: "two places"})
	if again.Dir == res.Dir {
		t.Error("two runs share a folder")
	}
}

type watcher struct{ planned, ended int }

func (w *watcher) Planned(p run.Plan)  { w.planned = p.Trials }
func (w *watcher) Ended(trials.Record) { w.ended++ }

// TestCancel ends a run in its second trial: the first is kept.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	subject := harness.SubjectFunc(func(ctx context.Context, env *harness.Env) (harness.Session, error) {
		return loop{}.Open(ctx, env)
	})
	opened := 0
	res, err := run.Run(ctx, load(t, "testdata/two"), &run.Options{
		Subject: harness.SubjectFunc(func(ctx context.Context, env *harness.Env) (harness.Session, error) {
			if opened++; opened == 2 {
				cancel()
			}
			return subject(ctx, env)
		}),
		Trials: 3, Parallel: 1, Out: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	records, err := trials.ReadFile(filepath.Join(res.Dir, trials.RecordsFile))
	if err != nil || len(records) != 1 || len(res.Records) != 1 {
		t.Errorf("%d records in the file, %d returned, error %v; want 1", len(records), len(res.Records), err)
	}
	if !res.Manifest.Interrupted || res.ExitCode() != 3 {
		t.Errorf("interrupted %v, exit code %d", res.Manifest.Interrupted, res.ExitCode())
	}
}

func TestWrongUse(t *testing.T) {
	tests := []struct {
		name string
		opts *run.Options
		err  string
	}{
		{"no options", nil, "no subject"},
		{"no subject", &run.Options{}, "no subject"},
		{"unknown mode", &run.Options{Subject: loop{}, Mode: "life"}, `unknown mode "life"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := run.Run(t.Context(), nil, tt.opts); err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want one with %q", err, tt.err)
			}
		})
	}
}
