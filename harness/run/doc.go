// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package run plays scenarios against a subject and judges what happened.
//
// In a Go test, with one subtest for each scenario and failures that name
// file:line of the expectation:
//
//	func TestAgent(t *testing.T) {
//		run.Test(t, "testdata/scenarios", &run.Options{Subject: subject})
//	}
//
// [Run] does the same for programs: it plays many trials at a time, writes a
// run folder (see package trials) and returns the records.
//
// # What a subject is given
//
// The endpoint is a URL on loopback, and mock servers have one too, so that
// any client can be a subject. In this process there are shortcuts in memory
// to the same mocks, Endpoint.Transport and Server.Dial; [harness.Server] says
// which server is reached how. [Options.Foreign] leaves the shortcuts out. The
// README has a complete subject, written with go-openai and mcp-go. Package mcppool
// opens servers of every kind:
//
//	session, err := mcppool.Open(ctx, env.Servers[0], nil)
//
// # One trial
//
// Each trial has mock servers, a mock model, a clock and a working folder of
// its own. The subject is opened, given the user's text turn by turn, and
// closed. Then the journals of both sides are joined and judged: first the
// expectations of each turn on what was known when the turn ended, then those
// of the whole conversation, then conduct.
//
// A trial that did not pass has one primary [trials.Cause], the first of: a
// script error, an error of the endpoint or of a server, a refusal or a miss, a
// limit, the subject, conduct, an expectation. Findings that follow from it are
// folded into it. An exception: when a script errs because the subject altered
// or dropped a result, the conduct is the cause.
//
// The outcome is error when a script, an endpoint or a server is at fault, and
// when an expectation cannot be judged; otherwise it is failed. A subject that
// hangs has failed in the modes mock and replay, since nothing else there is
// slow.
//
// A trial needs an expectation with a verdict, or a scenario with conduct_only;
// conduct alone does not count. Otherwise its outcome is error, and a run in
// which no trial had one fails ([Result.ExitCode]).
//
// # Time
//
// In the modes mock and replay the clock is the real one plus the waits that
// were skipped: [harness.Clock.Sleep] returns at once, so that a scripted
// Retry-After of twenty seconds costs no time and still counts. Limits and the
// timeout of a trial run on that clock and on the real one, whichever is first.
// Where a mock server does not answer at all, the time limits of a subject that
// are set by the clock come at once.
//
// # Live mode
//
// The subject talks to a small proxy in front of the endpoint, which keeps the
// journal. The proxy holds the API key; the subject gets a placeholder. In Go
// tests live mode exists only with the build tag real_llm.
//
// # Record and replay
//
// Mode record is live mode that also writes a cassette for each trial, and a
// tape for each real server, beside the scenario
// ([scenarios.Scenario.CassettePath]). They are written together when the trial
// ends, and only when its conversation was complete and can be judged;
// otherwise the existing recording stays. Mode replay plays them in place of
// the endpoint and the servers; mock servers are mocks in both modes. It is
// judged like mock mode: conduct counts, waits are skipped, and a request that
// differs from the recorded one is a miss, which is the cause of the trial.
package run
