// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package conduct_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/conduct"
)

func TestGrants(t *testing.T) {
	git := harness.Tool{Name: "commit", Schema: json.RawMessage(`{"type":"object","properties":{"message":{"type":"string"}}}`)}
	unoffered := func(name string) func(in *conduct.Input) {
		return func(in *conduct.Input) {
			in.Trajectory = append(in.Trajectory, harness.Call{Tool: name, Turn: 1, Reply: 2, ID: "c3", Args: json.RawMessage(`{}`)})
		}
	}
	offer := func(tool harness.Tool) func(in *conduct.Input) {
		return func(in *conduct.Input) {
			for i := range in.Exchanges {
				in.Exchanges[i].Request.Tools = append(in.Exchanges[i].Request.Tools, tool)
			}
		}
	}
	prefixed := git
	prefixed.Name = "mcp_git_commit"
	twin := tools[0]
	for _, tt := range []struct {
		name string
		as   string
		do   func(in *conduct.Input)
		want string
	}{
		{"kept", "alice", func(*conduct.Input) {}, "passed"},
		{"offered", "alice", offer(git), `failed: request 1 offers git.commit, which agent "alice" may not use; request 2 offers git.commit, which agent "alice" may not use`},
		{"offered with a prefix", "alice", func(in *conduct.Input) { in.Mode = harness.ModeLive; offer(prefixed)(in) }, `failed: request 1 offers git.commit, which agent "alice" may not use; request 2 offers git.commit, which agent "alice" may not use`},
		{"called", "alice", func(in *conduct.Input) {
			in.Tools = append(in.Tools, harness.ToolExchange{Seq: 1, Server: "git", Tool: "commit", Args: json.RawMessage(`{}`)})
		}, `failed: git.commit was called, which agent "alice" may not use`},
		{"called twice", "alice", func(in *conduct.Input) {
			x := harness.ToolExchange{Seq: 1, Server: "git", Tool: "commit", Args: json.RawMessage(`{}`)}
			in.Tools = append(in.Tools, x, x)
		}, `failed: git.commit was called, which agent "alice" may not use`},
		{"asked for and refused", "alice", unoffered("mcp__git__commit"), `warning: the model asked for git.commit, which agent "alice" may not use; it was refused`},
		{"something else asked for", "alice", unoffered("make_coffee"), "passed"},
		{"granted to this one", "bob", offer(git), "passed"},
		{"not listed", "", func(in *conduct.Input) { in.Exchanges = in.Exchanges[:1]; in.Tools = nil }, `failed: request 1 offers weather.get, which an agent without a name may not use; request 1 offers weather.add, which an agent without a name may not use`},
		{"a name that both have", "alice", func(in *conduct.Input) { in.Listed["git"] = []harness.Tool{twin} }, "passed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			in.Listed["git"] = []harness.Tool{git}
			in.Grants, in.As = map[string][]string{"alice": {"weather"}, "bob": {"weather", "git"}}, tt.as
			check(conduct.Config{}, in) // joins the trajectory
			tt.do(in)
			if diff := cmp.Diff(tt.want, verdictAsJoined(conduct.Config{}, in, conduct.Grants)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What an agent may not use it need not offer, nor what was not there yet.
func TestToolsThatNeedNotBeOffered(t *testing.T) {
	later := harness.Tool{Name: "later", Schema: json.RawMessage(`{"type":"object"}`)}
	for _, tt := range []struct {
		name string
		do   func(in *conduct.Input)
		want string
	}{
		{"required", func(*conduct.Input) {}, `failed: request 1: tool "late.later" is not offered; offered: get, add`},
		{"optional", func(in *conduct.Input) { in.Optional = map[string]bool{"late": true} }, "passed"},
		{"optional, and there in part", func(in *conduct.Input) {
			in.Optional = map[string]bool{"late": true}
			in.Listed["late"] = append(in.Listed["late"], harness.Tool{Name: "here", Schema: later.Schema})
			in.Exchanges[0].Request.Tools = append(in.Exchanges[0].Request.Tools, harness.Tool{Name: "here", Schema: later.Schema})
		}, `failed: request 1: tool "late.later" is not offered; offered: get, add, here`},
		{"not granted", func(in *conduct.Input) { in.Grants, in.As = map[string][]string{"a": {"weather"}}, "a" }, "passed"},
	} {
		in := honest()
		in.Listed["late"] = []harness.Tool{later}
		tt.do(in)
		if diff := cmp.Diff(tt.want, verdictOf(conduct.Config{}, in, conduct.ToolsOffered)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// A client may refuse arguments that the schema refuses, and those that are no map.
// It has to send all others.
func TestArgumentsThatDoNotFit(t *testing.T) {
	deep := `{"city": ` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`
	never := func(tool, args string) string {
		return fmt.Sprintf(`failed: call weather.%s %s (c2) was answered with "Error: no", but the server was never called`, tool, args)
	}
	bare := []harness.Tool{{Name: "get"}}
	for _, tt := range []struct {
		name, tool, args string
		listed           []harness.Tool
		want             string
	}{
		{"they fit", "get", `{"city": "Oslo"}`, tools, never("get", `{"city": "Oslo"}`)},
		{"another type", "get", `{"city": 1}`, tools, "passed"},
		{"a name that the schema does not have", "add", `{"city": 1}`, tools, never("add", `{"city": 1}`)},
		{"a list", "get", `["Oslo"]`, bare, "passed"},
		{"a tool without a schema", "get", `{"city": 1}`, bare, never("get", `{"city": 1}`)},
		{"a tool that is not listed", "get", `{"city": 1}`, tools[1:], never("get", `{"city": 1}`)},
		{"they nest too deep to be judged", "get", deep, tools, never("get", deep[:160]+fmt.Sprintf("… (%d bytes more)", len(deep)-160))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			in.Tools, in.Listed = in.Tools[1:], map[string][]harness.Tool{"weather": tt.listed}
			for _, calls := range [][]harness.ToolCall{in.Exchanges[0].Answer.Calls, (*second(in))[2].Calls} {
				calls[1].Name, calls[1].Arguments = tt.tool, tt.args
			}
			(*second(in))[4].Text = "Error: no"
			if diff := cmp.Diff(tt.want, verdictOf(conduct.Config{}, in, conduct.Results)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
