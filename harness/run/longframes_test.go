// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
)

// TestLongArguments: the length of an argument is nothing to a client's conduct,
// in either era, over stdio and over HTTP.
func TestLongArguments(t *testing.T) {
	for _, era := range []string{"2025-06-18", "2026-07-28"} {
		for _, transport := range []string{"stdio", "http"} {
			t.Run(era+" "+transport, func(t *testing.T) {
				dir := t.TempDir()
				writeFile(t, dir+"/lib.yaml", "server: lib\ntools: [{name: find, input: {type: object}, results: [{text: found}]}]\n")
				res := play(t, write(t, strings.NewReplacer("ERA", era, "TRANSPORT", transport, "DIR", dir, "LONG", strings.Repeat("x", 70_000)).Replace(`
scenario: s
servers:
  lib: {mock: DIR/lib.yaml, transport: TRANSPORT, protocol: {versions: [ERA]}}
turns:
  - user: Go.
    replies: [{calls: [{lib.find: {query: LONG}}]}, {say: Found.}]
    expect: [{answer: {equals: Found.}}]
`)), run.Options{Subject: agent.Subject(nil)})
				wants(t, res.Records[0], harness.OutcomePassed, "")
			})
		}
	}
}
