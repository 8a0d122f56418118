// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/run"
)

// homeless is a subject that has no use for a folder.
type homeless struct{ harness.Subject }

func (homeless) Asks(string) string { return "" }
func (homeless) NeedsWorkdir() bool { return false }

func TestWorkdir(t *testing.T) {
	body := `
scenario: folder
KEYturns:
  - user: hi
    replies: [{say: hello}]
    expect: [{answer: {contains: [hello]}}]
`
	for _, tt := range []struct {
		name, key string
		homeless  bool
		foreign   bool
		want      bool
	}{
		{name: "any subject", want: true},
		{name: "subject that needs none", homeless: true},
		{name: "program that needs none", homeless: true, foreign: true, want: true},
		{name: "mcp.json", homeless: true, key: "mcp_config: mcp.json\n", want: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var subject harness.Subject = harness.SubjectFunc(func(ctx context.Context, e *harness.Env) (harness.Session, error) {
				if (e.Workdir != "") != tt.want {
					t.Errorf("the folder is %q", e.Workdir)
				}
				if entries, err := os.ReadDir(e.Workdir); tt.want && (err != nil || len(entries) > 0 && tt.key == "") {
					t.Errorf("the folder has %v, %v", entries, err)
				}
				return loop{}.Open(ctx, e)
			})
			if tt.homeless {
				subject = homeless{subject}
			}
			list := write(t, strings.Replace(body, "KEY", tt.key, 1))
			wants(t, one(t, list, run.Options{Subject: subject, Foreign: tt.foreign}), harness.OutcomePassed, "")
		})
	}
}
