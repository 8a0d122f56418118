// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/conduct"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// self is this test binary as the child of a trial: see TestMain.
func self() []string { return []string{os.Args[0]} }

const overTransport = `
scenario: over a transport
servers:
  weather:
    transport: TRANSPORT
    state: {asked: 0}
    tools:
      - name: get_weather
        input: {type: object, properties: {location: {type: string}}}
        results: [{json: {celsius: 21}, set: {asked: {$cel: state.asked + 1}}}]
turns:
  - user: Paris?
    replies: [{calls: [{weather.get_weather: {location: Paris}}]}, {say: "{{result.celsius}}"}]
    expect: [{answer: {contains: ["21"]}}, {state: {weather: {asked: 1}}}]
`

// TestTransports reaches a mock server in every way that there is.
func TestTransports(t *testing.T) {
	for _, transport := range []string{"stdio", "process", "http", "sse", "ws"} {
		t.Run(transport, func(t *testing.T) {
			list := write(t, strings.Replace(overTransport, "TRANSPORT", transport, 1))
			rec := one(t, list, run.Options{Subject: agent.Subject(nil), Child: self()})
			wants(t, rec, harness.OutcomePassed, "")
			for _, v := range rec.Verdicts {
				if want := transport == "process"; v.Check == conduct.ChildrenEnded && want != (v.State == trials.Passed) {
					t.Errorf("%+v", v)
				}
				if v.Check == conduct.ListsBounded && v.State != trials.Passed {
					t.Errorf("the wire was not watched: %+v", v)
				}
			}
		})
	}
}

func TestProcessWithoutAProgram(t *testing.T) {
	list := write(t, strings.Replace(overTransport, "TRANSPORT", "process", 1))
	wants(t, one(t, list, run.Options{Subject: agent.Subject(nil)}), harness.OutcomeError, trials.CauseEndpoint,
		`mock server "weather"`, "transport: process needs a child program")
}

type rw = io.ReadWriteCloser

// unclosed is a connection that its client does not close.
type unclosed struct{ rw }

func (unclosed) Close() error { return nil }

// leaving is a subject that starts servers and leaves them running, until
// stop is closed.
type leaving struct{ stop <-chan struct{} }

func (s leaving) Open(ctx context.Context, env *harness.Env) (harness.Session, error) {
	own := *env
	for i := range own.Servers {
		server := own.Servers[i]
		own.Servers[i].Dial = func(context.Context) (rw, error) {
			conn, err := mcpwire.Start(mcpwire.Command{Args: server.Command, Env: server.Env, Grace: 10 * time.Millisecond})
			if err != nil {
				return nil, err
			}
			go func() {
				<-s.stop
				conn.Close()
			}()
			return unclosed{conn}, nil
		}
	}
	return loop{}.Open(ctx, &own)
}

func TestChildLeftBehind(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	list := write(t, strings.Replace(overTransport, "TRANSPORT", "process", 1))
	wants(t, one(t, list, run.Options{Subject: leaving{stop}, Child: self()}), harness.OutcomeFailed, trials.CauseConduct,
		"children_ended: the process of server \"weather\" (pid ", "outlived the client")
}

// TestProcessByConfig gives the command to a subject that reads an mcp.json.
func TestProcessByConfig(t *testing.T) {
	list := write(t, "\nscenario: by config\nmcp_config: mcp.json\n"+strings.SplitN(strings.Replace(overTransport, "TRANSPORT", "process", 1), "\n", 3)[2])
	wants(t, one(t, list, run.Options{Subject: agent.Subject(nil), Child: self(), Foreign: true}), harness.OutcomePassed, "")
}

// TestFaultThatNeverStruck: a trial that was to show something, and did not,
// says so and passes.
func TestFaultThatNeverStruck(t *testing.T) {
	list := write(t, `
scenario: never struck
servers:
  weather:
    tools: [{name: t, results: [{text: ok}]}]
    faults: [{kind: hang, match: {tool: t, nth: 2}}, {kind: rpc_error, match: {method: ping}}]
turns:
  - user: hi
    replies: [{calls: [weather.t]}, {say: ok}]
    expect: [{answer: {contains: ok}}]
`)
	rec := one(t, list, run.Options{Subject: agent.Subject(nil)})
	wants(t, rec, harness.OutcomePassed, "")
	var got []string
	for _, v := range rec.Verdicts {
		if v.Check == "faults" {
			got = append(got, string(v.State)+": "+v.Message)
		}
	}
	want := []string{
		`warning: fault hang of server "weather" never struck: it strikes request 2 of those that it matches, and 1 matched`,
		`warning: fault rpc_error of server "weather" never struck: no matching request came: ping`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzReadMessage looks for messages of a child that break what reads them.
func FuzzReadMessage(f *testing.F) {
	f.Add([]byte("h\x00\x00\x00\x03abc"))
	f.Add([]byte("x\x00\x00\x00\x00"))
	f.Add([]byte("i\xff\xff\xff\xff"))
	f.Add([]byte("o\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		kind, body, err := run.ReadMessage(bytes.NewReader(data))
		if err == nil && (kind != data[0] || !bytes.Equal(body, data[5:5+len(body)])) {
			t.Errorf("%q: %c %q", data, kind, body)
		}
	})
}
