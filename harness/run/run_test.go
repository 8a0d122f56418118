// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
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

// wants fails unless a trial ended so, for a reason with these parts.
func wants(t testing.TB, rec trials.Record, outcome harness.Outcome, kind harness.CauseKind, parts ...string) {
	t.Helper()
	var c harness.Cause
	if rec.Cause != nil {
		c = *rec.Cause
	}
	text := c.Message + "\n" + strings.Join(c.Folded, "\n")
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

// TestFaultySubjects plays the same scenario against clients that do one
// thing wrong. The golden file shows what each is told.
func TestFaultySubjects(t *testing.T) {
	var b strings.Builder
	for _, f := range []fault{
		drops, dropsCalls, twice, swaps, reorders, mangles, after, reexecutes, inventsArg, skipsTool, hidesTool,
		forgets, misreports, panics, breaks, stops, repeats, chatters,
	} {
		rec := one(t, load(t, "testdata/two"), run.Options{Subject: loop{f}})
		if rec.Outcome != harness.OutcomeFailed {
			t.Errorf("a subject that %s: %s", f, rec.Outcome)
			continue
		}
		message := regexp.MustCompile(`\(/.*/(\w+\.go):\d+\)`).ReplaceAllString(rec.Cause.Message, "($1:LINE)")
		fmt.Fprintf(&b, "A subject that %s:\n  %s: %s: %s\n", f, rec.Cause.Pos, rec.Cause.Kind, strings.ReplaceAll(message, "\n", "\n    "))
		for _, folded := range rec.Cause.Folded {
			fmt.Fprintf(&b, "  then: %s\n", folded)
		}
		b.WriteString("\n")
	}
	golden(t, "testdata/faults.golden", b.String())
}

func TestHangIsAFailure(t *testing.T) {
	rec := one(t, load(t, "testdata/two"), run.Options{Subject: loop{hangs}, Timeout: 50 * time.Millisecond})
	wants(t, rec, harness.OutcomeFailed, harness.CauseSubject, "turn 1: the subject hangs: no answer within 50ms, after 0 model calls and 0 tool calls", "3 replies not reached", "1 later turn not played")
}

func TestDeafSubjectIsLeftBehind(t *testing.T) {
	rec := one(t, load(t, "testdata/two"), run.Options{Subject: loop{deaf}, Timeout: 20 * time.Millisecond, Grace: 20 * time.Millisecond})
	wants(t, rec, harness.OutcomeFailed, harness.CauseSubject, "the subject hangs", "does not heed its cancelled context")
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
	wants(t, one(t, list, run.Options{Subject: loop{hangs}}), harness.OutcomeFailed, harness.CauseLimits, "limit passed: time: the trial takes longer than 50ms")
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
	start := time.Now()
	rec := one(t, write(t, strings.ReplaceAll(rateLimited, "LIMIT", "60s")), run.Options{})
	wants(t, rec, harness.OutcomePassed, "")
	if rec.Skipped != 40*time.Second || rec.Counts.Retries != 2 {
		t.Errorf("skipped %s with %d retries, want 40s and 2", rec.Skipped, rec.Counts.Retries)
	}
	if d := time.Since(start); d > 15*time.Second {
		t.Errorf("took %s", d)
	}
	rec = one(t, write(t, strings.ReplaceAll(rateLimited, "LIMIT", "30s")), run.Options{})
	wants(t, rec, harness.OutcomeFailed, harness.CauseLimits, "takes longer than 30s")
}

func TestLimits(t *testing.T) {
	tests := []struct{ name, limits, message string }{
		{"tool calls", "tool_calls: 1", "limit passed: tool_calls: 2, the limit is 1"},
		{"model calls", "model_calls: 1", "limit passed: model_calls: 2, the limit is 1"},
		{"tokens", "tokens: 5", "limit passed: tokens: "},
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
			wants(t, one(t, list, run.Options{}), harness.OutcomeFailed, harness.CauseLimits, tt.message)
		})
	}
}

func TestToolMiss(t *testing.T) {
	list := write(t, `
scenario: nothing fits
servers: {s: {tools: [{name: t, input: {type: object, properties: {x: {type: integer}}}, results: [{when: "args.x == 1", text: one}]}]}}
turns:
  - user: hi
    replies: [{calls: [{s.t: {x: 2}}]}, {say: done}]
    expect: [{answer: {contains: [done]}}]
`)
	wants(t, one(t, list, run.Options{}), harness.OutcomeFailed, harness.CauseMiss, "no scripted result of s.t fits the call")
}

func TestServerWithoutTools(t *testing.T) {
	body := `
scenario: no tools
servers: {empty: {tools: []REQUIRED}}
turns:
  - user: hi
    replies: [{say: hello}]
    expect: [{answer: {contains: [hello]}}]
`
	rec := one(t, write(t, strings.ReplaceAll(body, "REQUIRED", "")), run.Options{})
	wants(t, rec, harness.OutcomeError, harness.CauseEndpoint, `mock server "empty" (`, `s.yaml:2:11) lists no tools`)
	rec = one(t, write(t, strings.ReplaceAll(body, "REQUIRED", ", required: false")), run.Options{})
	wants(t, rec, harness.OutcomePassed, "")
}

// TestRealServers plays with a server that is a child process, and one behind
// a URL. Their calls are journaled like those of mocks.
func TestRealServers(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	far := mockmcp.NewServer(t, realServer)
	for name, server := range map[string]string{
		"command": "command: [" + self + "], env: {RUN_TEST_SERVER: \"1\"}",
		"url":     "url: \"" + far.URL + "\", transport: http",
	} {
		t.Run(name, func(t *testing.T) {
			list := write(t, `
scenario: a real server
servers: {far: {`+server+`, failed_when: result.success == false}}
turns:
  - user: hi
    replies: [{calls: [{far.add: {a: 1}}]}, {say: "got {{result.got.a}}"}]
    expect:
      - calls: [{far.add: {a: 1}}]
      - that: trajectory[0].failed
      - answer: {contains: [got 1]}
`)
			rec := one(t, list, run.Options{})
			wants(t, rec, harness.OutcomePassed, "")
			if rec.Counts.ToolCalls != 1 {
				t.Errorf("%d tool calls in the journal", rec.Counts.ToolCalls)
			}
		})
	}
}

// TestServersByURL gives the subject mock servers over HTTP: because it is
// another process, because the scenario says so, or because of an mcp.json.
func TestServersByURL(t *testing.T) {
	body := `
scenario: by URL
KEYservers: {weather: {mock: ` + absolute(t, "testdata/weather.yaml") + `TRANSPORT}}
turns:
  - user: Paris?
    replies: [{calls: [{weather.get_weather: {location: Paris}}]}, {say: "{{result.celsius}}"}]
    expect: [{answer: {contains: ["21"]}}]
`
	tests := []struct {
		name, key, transport string
		foreign              bool
	}{
		{name: "foreign", foreign: true},
		{name: "transport", transport: ", transport: http"},
		{name: "mcp.json", key: "mcp_config: mcp.json\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var env harness.Env
			var config []byte
			subject := harness.SubjectFunc(func(ctx context.Context, e *harness.Env) (harness.Session, error) {
				env = *e
				if e.ConfigFile != "" {
					var err error
					if config, err = os.ReadFile(e.ConfigFile); err != nil {
						return nil, err
					}
				}
				return loop{}.Open(ctx, e)
			})
			list := write(t, strings.NewReplacer("KEY", tt.key, "TRANSPORT", tt.transport).Replace(body))
			wants(t, one(t, list, run.Options{Subject: subject, Foreign: tt.foreign}), harness.OutcomePassed, "")
			if env.Servers[0].URL == "" || (env.Endpoint.Transport == nil) != tt.foreign {
				t.Errorf("the subject was given %+v", env)
			}
			if tt.key != "" && !strings.Contains(string(config), env.Servers[0].URL) {
				t.Errorf("mcp.json is %s", config)
			}
			if _, err := os.Stat(env.Workdir); !os.IsNotExist(err) {
				t.Errorf("the working folder is still there: %v", err)
			}
		})
	}
}

// TestNaiveSubject gives default options to a subject that reads nothing but
// URLs, with clients of its own, and to one that sends everything through the
// transport it is given.
func TestNaiveSubject(t *testing.T) {
	body := `
scenario: naive
servers: {WEATHER, near: {transport: stdio, tools: [{name: t, results: [{text: x}]}]}, far: {transport: http, tools: [{name: u, results: [{text: x}]}]}}
conduct: {tools_offered: off}
turns:
  - user: Paris?
    replies: [{calls: [{weather.get_weather: {location: Paris}}]}, {say: "{{result.celsius}}"}]
    expect: [{answer: {contains: ["21"]}}, {calls: [weather.get_weather]}]
`
	for _, transport := range []bool{false, true} {
		t.Run(fmt.Sprintf("transport %v", transport), func(t *testing.T) {
			own := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				if host, _, _ := net.SplitHostPort(addr); host != "127.0.0.1" {
					t.Errorf("dialed %s, which is not on loopback", addr)
				}
				return (&net.Dialer{}).DialContext(ctx, network, addr)
			}}
			defer own.CloseIdleConnections()
			subject := harness.SubjectFunc(func(ctx context.Context, env *harness.Env) (harness.Session, error) {
				weather, near, far := env.Servers[0], env.Servers[1], env.Servers[2]
				if weather.URL == "" || weather.Dial == nil || near.URL != "" || near.Dial == nil || far.URL == "" || far.Dial != nil {
					t.Errorf("servers %+v", env.Servers)
				}
				naive := *env
				naive.Servers = []harness.Server{{Name: weather.Name, URL: weather.URL}}
				if transport {
					// By the same URL, in memory; and a server beside the endpoint.
					client := http.Client{Transport: env.Endpoint.Transport}
					if res, err := client.Get(far.URL); err != nil {
						t.Error(err)
					} else if res.Body.Close(); res.Header.Get("Openai-Version") != "" || res.Request.URL.String() != far.URL {
						t.Errorf("GET %s: %s from %s", far.URL, res.Status, res.Request.URL)
					}
					return loop{}.Open(ctx, &naive)
				}
				naive.Endpoint.Transport = own
				return loop{}.Open(ctx, &naive)
			})
			wants(t, one(t, write(t, body), run.Options{Subject: subject}), harness.OutcomePassed, "")
		})
	}
}

// TestTransportStaysInProcess sends a request for another host through the
// transport of a mock model: it must not leave this process.
func TestTransportStaysInProcess(t *testing.T) {
	subject := harness.SubjectFunc(func(ctx context.Context, env *harness.Env) (harness.Session, error) {
		if !strings.HasPrefix(env.Endpoint.BaseURL, "http://127.0.0.1:") {
			t.Errorf("the endpoint is at %s", env.Endpoint.BaseURL)
		}
		elsewhere := *env
		elsewhere.Endpoint.BaseURL = "https://api.openai.com/v1"
		return loop{}.Open(ctx, &elsewhere)
	})
	list := write(t, `
scenario: elsewhere
turns: [{user: hi, replies: [{say: hello}], expect: [{answer: {contains: [hello]}}]}]
`)
	opts := run.Options{Subject: subject, Transport: refuser{t}}
	wants(t, one(t, list, opts), harness.OutcomePassed, "")
}

// refuser is a network that must not be used.
type refuser struct{ t *testing.T }

func (r refuser) RoundTrip(req *http.Request) (*http.Response, error) {
	r.t.Errorf("a request left for %s", req.URL)
	return nil, errors.New("no network")
}

func absolute(t testing.TB, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

func TestRealServerThatDoesNotStart(t *testing.T) {
	list := write(t, `
scenario: no server
servers: {gone: {command: [/nonexistent/server, --flag]}}
turns:
  - user: hi
    replies: [{say: hello}]
    expect: [{answer: {contains: [hello]}}]
`)
	wants(t, one(t, list, run.Options{}), harness.OutcomeError, harness.CauseEndpoint,
		`server "gone" (/nonexistent/server --flag) lists no tools`, "no such file")
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
	wants(t, res.Records[0], harness.OutcomeError, harness.CauseScenario, "nothing was checked: every expectation was skipped (answer: the subject reports no answers)")
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
	wants(t, res.Records[0], harness.OutcomeError, harness.CauseScenario, "the scenario expects nothing")
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
	wants(t, rec, harness.OutcomeFailed, harness.CauseExpectation, `calls: wrong arguments`, "s.yaml:10:5: that: journal.model_calls == 5 does not hold", "s.yaml:11:5: never: want no call of weather.set_*")
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
	wants(t, rec, harness.OutcomeFailed, harness.CauseSubject, "the subject panicked: no such luck", "(*looper).Send (", "subject_test.go:")
	if again := one(t, list, run.Options{Subject: loop{panics}}); again.Cause.Message != rec.Cause.Message {
		t.Errorf("the same panic is told in two ways:\n%s\n%s", rec.Cause.Message, again.Cause.Message)
	}
	// A panic over a miss is not how the miss is reported.
	missing := write(t, `
scenario: unscripted
turns: [{user: hi, replies: [{calls: [{no_such_tool: {}}]}], expect: [{calls: []}]}]
`)
	wants(t, one(t, missing, run.Options{Subject: panicky{inSend: true}}), harness.OutcomeFailed, harness.CauseMiss, "subject: turn 1: the subject panicked: in Send", "run_test.go:")
	hello := write(t, `
scenario: hello
turns: [{user: hi, replies: [{say: hello}], expect: [{answer: {contains: [hello]}}]}]
`)
	wants(t, one(t, hello, run.Options{Subject: panicky{}}), harness.OutcomeFailed, harness.CauseSubject, "closing the subject: the subject panicked: in Close", "run_test.go:")
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
	if m.Planned != 3 || m.Finished.IsZero() || m.Interrupted || m.Subject != "loop" || len(m.Scenarios) != 1 || m.Models[0].Asked != run.MockModel {
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

func (w *watcher) Planned(n int)       { w.planned = n }
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
		{"unknown mode", &run.Options{Subject: loop{}, Mode: "life"}, `mode "life" is not known`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := run.Run(t.Context(), nil, tt.opts); err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want one with %q", err, tt.err)
			}
		})
	}
}
