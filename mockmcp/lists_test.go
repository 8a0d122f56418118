// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// page asks for a page of a list and returns the names on it.
func (c *client) page(method, cursor string) (names []string, next string, rpc *jsonrpc.Error) {
	c.t.Helper()
	params := "{}"
	if cursor != "" {
		params = fmt.Sprintf(`{"cursor":%q}`, cursor)
	}
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params))
	m := c.receive()
	var result struct {
		Tools, Prompts, Resources, ResourceTemplates []struct{ Name string }
		NextCursor                                   string
	}
	if m.Error == nil {
		if err := json.Unmarshal(m.Result, &result); err != nil {
			c.t.Fatal(err)
		}
	}
	for _, x := range slices.Concat(result.Tools, result.Prompts, result.Resources, result.ResourceTemplates) {
		names = append(names, x.Name)
	}
	return names, result.NextCursor, m.Error
}

// pages walks all pages of a list.
func (c *client) pages(method string) (sizes []int, names []string) {
	c.t.Helper()
	for cursor := ""; ; {
		page, next, rpc := c.page(method, cursor)
		if rpc != nil {
			c.t.Fatalf("%s with cursor %q: %+v", method, cursor, rpc)
		}
		sizes, names, cursor = append(sizes, len(page)), append(names, page...), next
		if next == "" {
			return sizes, names
		}
	}
}

// many is a server with seven of each kind.
func many(settings mockmcp.Protocol) mockmcp.Script {
	s := mockmcp.Script{Name: "many", Protocol: settings}
	for _, name := range strings.Split("abcdefg", "") {
		s.Tools = append(s.Tools, mockmcp.Tool{Name: name})
		s.Prompts = append(s.Prompts, mockmcp.Prompt{Name: name})
		s.Resources = append(s.Resources, mockmcp.Resource{URI: "x:" + name, Name: name})
		s.Templates = append(s.Templates, mockmcp.ResourceTemplate{URITemplate: "x:" + name + "/{id}", Name: name})
	}
	return s
}

// lists are the methods that list something.
func lists() []string {
	return []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list"}
}

func TestPages(t *testing.T) {
	c := dial(t, newServer(t, many(mockmcp.Protocol{PageSize: 3}), nil))
	for _, method := range lists() {
		sizes, names := c.pages(method)
		if got := fmt.Sprint(sizes, names); got != "[3 3 1] [a b c d e f g]" {
			t.Errorf("%s: %s", method, got)
		}
		for _, cursor := range []string{"nonsense", "e30", "eyJsIjoib3RoZXIiLCJmIjozfQ"} {
			if _, _, rpc := c.page(method, cursor); rpc == nil || rpc.Code != -32602 {
				t.Errorf("%s with cursor %q: %+v", method, cursor, rpc)
			}
		}
	}
	_, next, _ := c.page("tools/list", "")
	if _, _, rpc := c.page("prompts/list", next); rpc == nil {
		t.Error("the cursor of another list is taken")
	}
	c = dial(t, newServer(t, many(mockmcp.Protocol{PageSize: 7}), nil))
	if sizes, _ := c.pages("tools/list"); len(sizes) != 1 {
		t.Errorf("seven tools on pages of seven: %v", sizes)
	}
	c = dial(t, newServer(t, mockmcp.Script{Name: "x", Protocol: mockmcp.Protocol{PageSize: 3}}, nil))
	if sizes, _ := c.pages("tools/list"); !slices.Equal(sizes, []int{0}) {
		t.Errorf("no tools: %v", sizes)
	}
}

// TestShuffle has each list in another order, the same in each run, and
// nothing missing or twice over its pages.
func TestShuffle(t *testing.T) {
	for _, size := range []int{0, 2} {
		t.Run(fmt.Sprint("pages of ", size), func(t *testing.T) {
			var runs []string
			for _, seed := range []int64{1, 1, 2} {
				c := dial(t, newServer(t, many(mockmcp.Protocol{PageSize: size, Shuffle: seed}), nil))
				var orders []string
				for range 3 {
					_, names := c.pages("tools/list")
					orders = append(orders, strings.Join(names, ""))
					slices.Sort(names)
					if got := strings.Join(names, ""); got != "abcdefg" {
						t.Errorf("names %s", got)
					}
				}
				if orders[0] == orders[1] && orders[1] == orders[2] {
					t.Errorf("always in the order %s", orders[0])
				}
				runs = append(runs, strings.Join(orders, " "))
			}
			if runs[0] != runs[1] || runs[1] == runs[2] {
				t.Errorf("seeds 1, 1, 2: %q", runs)
			}
		})
	}
}

func TestOfferErrors(t *testing.T) {
	pos := harness.Position{File: "x.yaml", Line: 3}
	for _, tt := range []struct {
		name   string
		script mockmcp.Script
		want   string
	}{
		{"resource without a URI", mockmcp.Script{Resources: []mockmcp.Resource{{Pos: pos}}}, `x.yaml:3: resource "": has no URI`},
		{"resource twice", mockmcp.Script{Resources: []mockmcp.Resource{{URI: "a:b"}, {URI: "a:b"}}}, `resource "a:b": is duplicated`},
		{"prompt twice", mockmcp.Script{Prompts: []mockmcp.Prompt{{Name: "a"}, {Name: "a"}}}, `prompt "a": is duplicated`},
		{"prompt without a name", mockmcp.Script{Prompts: []mockmcp.Prompt{{}}}, `prompt "": has no name`},
		{"prompt with odd content", mockmcp.Script{Prompts: []mockmcp.Prompt{{Name: "a", Messages: []mockmcp.PromptMessage{{Content: raw(`7`)}}}}}, `the content of message 1 is not a JSON object: 7`},
		{"template that is none", mockmcp.Script{Templates: []mockmcp.ResourceTemplate{{URITemplate: "x:{"}}}, `resource template "x:{": `},
		{"extra members", mockmcp.Script{Tools: []mockmcp.Tool{{Name: "a", Extra: raw(`[]`)}}}, `tool "a": extra members are not a JSON object: []`},
		{"log level", mockmcp.Script{Tools: []mockmcp.Tool{{Name: "a", Results: []mockmcp.Result{{Before: []mockmcp.Step{mockmcp.Log{Level: "warn"}}}}}}}, `result 1: step 1: log level "warn" is none of debug, info, notice, warning, error, critical, alert, emergency`},
		{"nothing asked", mockmcp.Script{Resources: []mockmcp.Resource{{URI: "a:b", Before: []mockmcp.Step{mockmcp.Ask{}}}}}, `resource "a:b": step 1: nothing is asked`},
		{"asked twice", mockmcp.Script{Prompts: []mockmcp.Prompt{{Name: "a", Before: []mockmcp.Step{mockmcp.Ask{mockmcp.ListRoots(), mockmcp.ListRoots()}}}}}, `"roots" is asked for twice at the same time`},
		{"asked for what", mockmcp.Script{Prompts: []mockmcp.Prompt{{Name: "a", Before: []mockmcp.Step{mockmcp.Ask{{Method: "ping"}}}}}}, `a client cannot be asked for "ping"`},
		{"answer and file", mockmcp.Script{Tools: []mockmcp.Tool{{Name: "a", Results: []mockmcp.Result{{File: "x", Answer: answer(mockmcp.Answer{})}}}}}, `result 1 has both an answer and a file`},
		{"change without a cue", mockmcp.Script{Changes: []mockmcp.Change{{Pos: pos}}}, `x.yaml:3: change "1": has 0 of call, list, after and cue, and needs one`},
		{"change with two cues", mockmcp.Script{Changes: []mockmcp.Change{{Call: 1, Cue: "x"}}}, `has 2 of call, list, after and cue`},
		{"change that tells of what is not", mockmcp.Script{Changes: []mockmcp.Change{{Call: 1, Tell: []string{"tool"}}}}, `cannot announce "tool", only tools, prompts, resources (did you mean "tools"?)`},
		{"change with a bad tool", mockmcp.Script{Changes: []mockmcp.Change{{Call: 1, AddTools: []mockmcp.Tool{{Name: "a", Input: raw(`7`)}}}}}, `tool "a": input schema: `},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := mockmcp.New(tt.script, nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestStateDiff(t *testing.T) {
	s := newServer(t, mockmcp.Script{Name: "x", State: raw(`{"a": {"b": 1.10, "c": [1]}, "d": 2, "e": {}}`)}, nil)
	if got := string(s.StateDiff()); got != `{}` {
		t.Errorf("at first: %s", got)
	}
	first := s.State()
	if err := s.SetState(raw(`{"a": {"b": 1.1, "c": [1, 2], "n": "new"}, "e": {"f": {}}}`)); err != nil {
		t.Fatal(err)
	}
	want := `{"d":null,"a":{"c":[1,2],"n":"new"},"e":{"f":{}}}`
	if diff := cmp.Diff(want, string(s.StateDiff())); diff != "" {
		t.Errorf("diff (-want +got):\n%s", diff)
	}
	if err := s.SetState(first); err != nil || string(s.StateDiff()) != `{}` {
		t.Errorf("after the snapshot: %v, %s", err, s.StateDiff())
	}
	if err := s.SetState(raw(`[]`)); err == nil || err.Error() != `setting the state of mock server "x": it is array, not an object` {
		t.Errorf("got %v", err)
	}
}
