// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/mockmcp"
)

// holding is a server with a tool that waits, one that does not, and one that
// changes the state.
func holding() mockmcp.Script {
	return mockmcp.Script{Name: "x", Tools: []mockmcp.Tool{
		{Name: "slow", Results: []mockmcp.Result{{Hold: "go on", Answer: answer(mockmcp.Answer{Text: "at last"})}}},
		{Name: "quick", Results: []mockmcp.Result{{Answer: answer(mockmcp.Answer{Text: "now"})}}},
		{Name: "write", Results: []mockmcp.Result{{
			Answer: answer(mockmcp.Answer{Text: "written"}),
			Set:    func(*mockmcp.Call, json.RawMessage) (json.RawMessage, error) { return raw(`{"ready":true}`), nil },
		}}},
	}}
}

// TestHold gives the cue in each way that there is.
func TestHold(t *testing.T) {
	for _, tt := range []struct {
		name string
		give func(s *mockmcp.Server, c *client)
	}{
		{"by a Go call", func(s *mockmcp.Server, c *client) {
			s.Cue("something else")
			s.Cue("go on")
		}},
		{"by a call of a tool", func(s *mockmcp.Server, c *client) { c.call("quick", "{}") }},
		{"by a change of state", func(s *mockmcp.Server, c *client) { c.call("write", "{}") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s *mockmcp.Server
				s = newServer(t, holding(), &mockmcp.Options{
					OnCall: func(tool string) {
						if tool == "quick" {
							s.Cue("go on")
						}
					},
					OnState: func(state json.RawMessage) {
						if string(state) == `{"ready":true}` {
							s.Cue("go on")
						}
					},
				})
				defer s.Close()
				held := dial(t, s)
				held.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"slow"}}`)
				if err := s.AwaitHeld(t.Context(), "go on"); err != nil {
					t.Fatal(err)
				}
				if x := s.Journal()[0]; x.Text != "at last" {
					t.Errorf("while it is held, the journal has %+v", x)
				}
				tt.give(s, dial(t, s))
				if m := held.receive(); !strings.Contains(string(m.Frame), "at last") {
					t.Errorf("got %s", m.Frame)
				}
				if err := s.AwaitHeld(t.Context(), "lunch"); err == nil || !strings.HasSuffix(err.Error(), `the script does not wait for the cue "lunch"; there are go on`) {
					t.Errorf("an unknown cue: %v", err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				if err := s.AwaitHeld(ctx, "go on"); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("nothing is held, and waiting for it ends with %v", err)
				}
				s.Reset()
				held.send(`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"slow"}}`)
				if err := s.AwaitHeld(t.Context(), "go on"); err != nil {
					t.Errorf("after a reset: %v", err)
				}
			})
		})
	}
}

// TestHoldEnds has the client withdraw the call.
func TestHoldEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, holding(), nil)
		defer s.Close()
		c := dial(t, s)
		c.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"slow"}}`)
		if err := s.AwaitHeld(t.Context(), "go on"); err != nil {
			t.Fatal(err)
		}
		c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
		synctest.Wait()
		s.Cue("go on")
		if m := c.call("quick", "{}"); !strings.Contains(string(m.Frame), "now") {
			t.Errorf("got %s", m.Frame)
		}
	})
}

func TestSizeAndFile(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	png := "\x89PNG\r\n\x1a\n"
	for _, tt := range []struct {
		name   string
		result mockmcp.Result
		want   string
		size   int // of the text
	}{
		{"size alone", mockmcp.Result{Size: 1 << 20}, `The quick brown fox`, 1 << 20},
		{"text made longer", mockmcp.Result{Size: 100, Answer: answer(mockmcp.Answer{Text: "short. "})}, `"short. The quick brown`, 100},
		{"words kept apart", mockmcp.Result{Size: 100, Answer: answer(mockmcp.Answer{Text: "short."})}, `"short. The quick brown`, 100},
		{"long enough", mockmcp.Result{Size: 3, Answer: answer(mockmcp.Answer{Text: "longer"})}, `"longer"`, 6},
		{"json made longer", mockmcp.Result{Size: 20, Answer: answer(mockmcp.Answer{JSON: raw(`{"a": 1}`)})}, `"structuredContent":{"a":1}`, 20},
		{"text file", mockmcp.Result{File: file("a.txt", "from <a> file\n")}, `"text":"from <a> file\n"`, 14},
		{"json file", mockmcp.Result{File: file("a.json", `{"n": 1.10}`)}, `"structuredContent":{"n":1.10}`, 10},
		{"picture", mockmcp.Result{File: file("a.png", png)}, `{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}`, 0},
		{"other file", mockmcp.Result{File: file("a.bin", "\x00\x01")}, `"blob":"AAE="`, 0},
		{"no file", mockmcp.Result{File: filepath.Join(dir, "none")}, `no such file`, 0},
		{"size of a picture", mockmcp.Result{File: file("a.png", png), Size: 10}, `only text and json can be made longer`, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, mockmcp.Script{Name: "x", Tools: []mockmcp.Tool{{Name: "t", Results: []mockmcp.Result{tt.result}}}}, nil)
			if m := dial(t, s).call("t", "{}"); !strings.Contains(string(m.Frame), tt.want) {
				t.Errorf("got %.300s", m.Frame)
			}
			if x := s.Journal()[0]; tt.size > 0 && len(x.Text) != tt.size {
				t.Errorf("%d bytes of text, want %d", len(x.Text), tt.size)
			}
		})
	}
}

// TestHoldStep holds a call between two reports of progress, and the reading
// of a resource.
func TestHoldStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, mockmcp.Script{
			Name: "x",
			Tools: []mockmcp.Tool{{Name: "t", Results: []mockmcp.Result{{
				Before: []mockmcp.Step{mockmcp.Progress{Value: 1}, mockmcp.Hold("middle"), mockmcp.Progress{Value: 2}},
				Answer: answer(mockmcp.Answer{Text: "done"}),
			}}}},
			Resources: []mockmcp.Resource{{URI: "x:r", Text: "read", Before: []mockmcp.Step{mockmcp.Hold("read")}}},
		}, nil)
		defer s.Close()
		c := dial(t, s)
		c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":"p"}}}`)
		if m := c.receive(); !strings.Contains(string(m.Frame), `"progress":1`) {
			t.Errorf("got %s", m.Frame)
		}
		c.send(`{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"x:r"}}`)
		for _, cue := range []string{"middle", "read"} {
			if err := s.AwaitHeld(t.Context(), cue); err != nil {
				t.Fatal(err)
			}
		}
		s.Cue("read")
		if m := c.receive(); m.Key() != "2" {
			t.Errorf("got %s", m.Frame)
		}
		s.Cue("middle")
		if m := c.receive(); !strings.Contains(string(m.Frame), `"progress":2`) {
			t.Errorf("got %s", m.Frame)
		}
		if m := c.receive(); m.Key() != "1" {
			t.Errorf("got %s", m.Frame)
		}
	})
}

// TestFailedWhenJudgesTools: what the server itself refuses is not judged.
func TestFailedWhenJudgesTools(t *testing.T) {
	s := newServer(t, mockmcp.Script{Name: "x", Tools: []mockmcp.Tool{{
		Name: "t", Input: raw(`{"type":"object","required":["id"]}`),
		Results:    []mockmcp.Result{{Answer: answer(mockmcp.Answer{Text: "fine"})}},
		FailedWhen: func(*mockmcp.Call, json.RawMessage) (bool, error) { panic("not asked for") },
	}}}, nil)
	c := dial(t, s)
	c.call("t", `{}`)
	c.call("none", `{}`)
	for _, x := range s.Journal() {
		if x.ScriptError != "" || !x.Failed {
			t.Errorf("journal %+v", x)
		}
	}
}
