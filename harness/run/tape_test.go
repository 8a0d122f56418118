// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/vcr"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// farScenario has a real server.
const farScenario = `
scenario: far away
servers: {far: {SERVER}, WEATHER}
turns:
  - user: hi
    expect:
      - calls: [{far.add: {a: 1}}, {weather.get_weather: {location: Paris}}]
      - answer: {contains: done}
`

func farEndpoint() http.Handler {
	return newMock(mockllm.Script{Replies: []mockllm.Reply{
		{Calls: []mockllm.Call{{Tool: "add", Args: map[string]any{"a": 1}}}},
		{Calls: []mockllm.Call{{Tool: "get_weather", Args: map[string]any{"location": "Paris"}}}},
		{Say: "done"},
	}}, nil)
}

// byCommand is a real server that is a program; once it is gone it cannot be
// started.
func byCommand(t *testing.T) (entry string, gone func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "far-server")
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	return "command: ['" + link + "'], env: {RUN_TEST_SERVER: \"1\"}", func() {
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
}

// byAddress is a real server behind a URL.
func byAddress(t *testing.T, script mockmcp.Script) (entry string, gone func()) {
	t.Helper()
	far := mockmcp.NewServer(t, script)
	return "url: \"" + far.URL + "\"", func() { _ = far.Close() }
}

// TestRecordServers records what goes between subjects and real servers, and
// replays it when the servers are gone.
func TestRecordServers(t *testing.T) {
	for _, tt := range []struct {
		name              string
		url               bool
		recorder, player  harness.Subject
		recorded, foreign bool // of another process
	}{
		{name: "command"},
		{name: "command, replayed by URL", foreign: true, player: agent.Subject(nil), recorder: patientAgent{}},
		{name: "URL", url: true},
		{name: "URL, agent", url: true, player: agent.Subject(nil), recorder: agent.Subject(nil)},
		{name: "URL, foreign", url: true, recorded: true, foreign: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			entry, gone := byCommand(t)
			if tt.url {
				entry, gone = byAddress(t, realServer)
			}
			r := recording{
				list:     write(t, strings.Replace(farScenario, "SERVER", entry, 1)),
				endpoint: farEndpoint,
				opts:     run.Options{Subject: tt.recorder, Foreign: tt.recorded},
			}
			rec := only(t, r.record(t))
			wants(t, rec, harness.OutcomePassed, "")
			if t.Failed() {
				return
			}
			tape := strings.TrimSuffix(rec.Cassette, ".yaml") + ".far.tape"
			if !slices.Equal(rec.Tapes, []string{tape}) {
				t.Errorf("tapes: %q, want %q", rec.Tapes, tape)
			}
			before := files(t, filepath.Dir(rec.Cassette))
			if len(before) != 2 || !strings.Contains(before[tape], `"tools/call"`) {
				t.Errorf("files %v", before)
			}
			if again := only(t, r.record(t)); again.Written {
				t.Error("the same recording was written again")
			}
			same(t, before, files(t, filepath.Dir(rec.Cassette)))
			gone()
			r.opts.Subject, r.opts.Foreign = tt.player, tt.foreign
			for range 2 {
				again := only(t, r.replay(t, r.list))
				wants(t, again, harness.OutcomePassed, "")
				if again.Counts.ToolCalls != 2 {
					t.Errorf("counts %+v", again.Counts)
				}
			}
			if err := os.Remove(tape); err != nil {
				t.Fatal(err)
			}
			wants(t, only(t, r.replay(t, r.list)), harness.OutcomeError, trials.CauseEndpoint, `server "far" is not recorded`, tape, "--mode record --model argo:gpt-4.1")
		})
	}
}

// TestRefusedTogether: what is of use only together is kept together.
func TestRefusedTogether(t *testing.T) {
	const secret = "Wombat77Lake"
	late := mockmcp.Script{Name: "far", Tools: []mockmcp.Tool{{ // its tape is written before this is known for a secret
		Name: "add", Description: "The word is " + secret, Input: realServer.Tools[0].Input,
		Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) {
			return &mockmcp.Answer{Text: `{"password":"` + secret + `"}`}, nil
		},
	}}}
	for _, tt := range []struct {
		name   string
		script mockmcp.Script // of the second recording
		more   int            // exchanges of the first
		want   string
	}{
		{"cassette", mockmcp.Script{Name: "far", Tools: []mockmcp.Tool{{
			Name: "add", Description: "Adds.", Input: realServer.Tools[0].Input, Handler: realServer.Tools[0].Handler,
		}}}, 1, "it has 4 exchanges, but this recording has 3"},
		{"tape", late, 0, "it still contains what looks like a secret"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			entry, _ := byAddress(t, realServer)
			r := recording{list: write(t, strings.Replace(farScenario, "SERVER", entry, 1)), endpoint: farEndpoint}
			rec := only(t, r.record(t))
			wants(t, rec, harness.OutcomePassed, "")
			if t.Failed() {
				return
			}
			f, err := vcr.Read(rec.Cassette)
			if err != nil {
				t.Fatal(err)
			}
			f.Interactions = append(f.Interactions, f.Interactions[:tt.more]...)
			if err := vcr.WriteFile(rec.Cassette, f, 0); err != nil {
				t.Fatal(err)
			}
			before := files(t, filepath.Dir(rec.Cassette))
			other, _ := byAddress(t, tt.script)
			edit(t, r.list[0].Pos.File, entry, other)
			r.list = load(t, r.list[0].Pos.File)
			name := strings.TrimSuffix(rec.Cassette, ".yaml")
			cassette, tape := name+".refused.yaml", name+".far.refused.tape"
			wants(t, only(t, r.record(t)), harness.OutcomeError, trials.CauseEndpoint, tt.want, cassette, tape, "another recording of the trial is not written")
			now := files(t, filepath.Dir(rec.Cassette))
			for path, part := range map[string]string{cassette: `get_weather`, tape: `"method":"tools/call"`} {
				if text := now[path]; !strings.Contains(text, part) || strings.Contains(text, secret) {
					t.Errorf("%s is\n%s", path, text)
				}
				delete(now, path)
			}
			same(t, before, now)
		})
	}
}

// TestReplayTapeMiss holds that a call that the tape does not have is the
// cause, before what the model's side misses because of it.
func TestReplayTapeMiss(t *testing.T) {
	entry, _ := byCommand(t)
	r := recording{list: write(t, strings.Replace(farScenario, "SERVER", entry, 1)), endpoint: farEndpoint}
	rec := only(t, r.record(t))
	wants(t, rec, harness.OutcomePassed, "")
	tape := strings.TrimSuffix(rec.Cassette, ".yaml") + ".far.tape"
	edit(t, tape, `"arguments":{"a":1}`, `"arguments":{"a":2}`)
	again := only(t, r.replay(t, r.list))
	wants(t, again, harness.OutcomeFailed, trials.CauseMiss, tape, "tools/call", "record it again")
	if again.Cause.Pos != r.list[0].Servers[0].Pos {
		t.Errorf("the cause is at %s", again.Cause.Pos)
	}
}

// TestReplayTapeUnused holds that a recorded call that is not made fails.
func TestReplayTapeUnused(t *testing.T) {
	entry, _ := byCommand(t)
	r := recording{
		list: write(t, "scenario: far\nservers: {far: {"+entry+"}}\nturns: [{user: hi, expect: [{answer: {contains: done}}]}]\n"),
		endpoint: func() http.Handler {
			return newMock(mockllm.Script{Replies: []mockllm.Reply{
				{Calls: []mockllm.Call{{Tool: "add", Args: map[string]any{"a": 1}}}}, {Say: "done"},
			}}, nil)
		},
	}
	rec := only(t, r.record(t))
	wants(t, rec, harness.OutcomePassed, "")
	asked := rec.Trajectory[0].Result
	r.opts.Subject = liar(loop{}, func(*toolCall) string { return string(asked) })
	again := only(t, r.replay(t, r.list))
	text := ""
	for _, v := range again.Verdicts {
		text += v.Check + ": " + v.Message + "\n"
	}
	if want := `1 recorded exchange not asked for: server "far" line `; again.Outcome != harness.OutcomeFailed || !strings.Contains(text, want) {
		t.Errorf("%s, verdicts\n%swant %s", again.Outcome, text, want)
	}
	edit(t, r.list[0].Pos.File, "turns:", "conduct: {all_replies_reached: off, witnesses_agree: off, answered_once: off, results: off}\nturns:")
	wants(t, only(t, r.replay(t, load(t, r.list[0].Pos.File))), harness.OutcomePassed, "")
}

// TestRecordPlaces holds that a trial's own folder, and what a server is given
// as a secret, are in no file, and that a replay in another folder finds its
// recordings.
func TestRecordPlaces(t *testing.T) {
	const secret = "planted-9b3a7c11ee"
	var key, folder string
	script := mockmcp.Script{Name: "far", Tools: []mockmcp.Tool{{
		Name: "add", Input: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}}}`),
		Handler: func(_ context.Context, c *mockmcp.Call) (*mockmcp.Answer, error) {
			return &mockmcp.Answer{Text: "key " + key + " in " + folder}, nil
		},
	}}}
	key = secret
	entry, gone := byAddress(t, script)
	list := write(t, strings.Replace(farScenario, "SERVER", entry+`, headers: {X-Api-Key: `+secret+`}`, 1))
	endpoint := func() http.Handler {
		return newMock(mockllm.Script{Replies: []mockllm.Reply{
			{Calls: []mockllm.Call{{Tool: "add", Args: map[string]any{"a": 1}}}},
			{Calls: []mockllm.Call{{Tool: "get_weather", Args: map[string]any{"location": "Paris"}}}},
			{Func: func(*mockllm.Ask) (mockllm.Reply, error) { return mockllm.Reply{Say: "done in " + folder}, nil }},
		}}, nil)
	}
	r := recording{list: list, endpoint: endpoint, opts: run.Options{Subject: harness.SubjectFunc(func(ctx context.Context, env *harness.Env) (harness.Session, error) {
		folder = env.Workdir + "/out"
		return loop{}.Open(ctx, env)
	})}}
	rec := only(t, r.record(t))
	wants(t, rec, harness.OutcomePassed, "")
	if t.Failed() {
		return
	}
	work := folder
	gone()
	for name, text := range files(t, filepath.Dir(rec.Cassette)) {
		for _, s := range []string{secret, work, filepath.Dir(work)} {
			if strings.Contains(text, s) {
				t.Errorf("%q is in %s:\n%s", s, name, text)
			}
		}
		if !strings.Contains(text, "REDACTED-work-") || !strings.Contains(text, "/out") {
			t.Errorf("the folder is not named in %s:\n%s", name, text)
		}
	}
	again := only(t, r.replay(t, r.list))
	wants(t, again, harness.OutcomePassed, "")
	if folder == work {
		t.Error("both trials had the same folder")
	}
	// What a client does with a path it does in its own folder.
	if got := string(again.Trajectory[0].Result); !strings.Contains(got, folder) {
		t.Errorf("the server says %s, want it to name %s", got, folder)
	}
	if got := again.Answers[0]; got != "done in "+folder {
		t.Errorf("the answer is %q, want it to name %s", got, folder)
	}
}
