// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rehearse-dev/rehearse/mockmcp"
)

// library is a server with one of each thing that can be offered.
func library() mockmcp.Script {
	name := mockmcp.Form("Who are you?", raw(`{"type":"object","properties":{"name":{"type":"string","default":"Ann"},"role":{"type":"string","enum":["reader","clerk"]}},"required":["name"]}`))
	name.Key = "who"
	color := mockmcp.Form("Which colour?", raw(`{"type":"object","properties":{"color":{"type":"string"}}}`))
	color.Key = "color"
	pay := mockmcp.Visit("Please pay.", "https://pay.example/7", "e7")
	pay.Optional = true
	told := func(c *mockmcp.Call) (*mockmcp.Answer, error) {
		return &mockmcp.Answer{Text: "told " + string(c.Asked)}, nil
	}
	return mockmcp.Script{
		Name:     "library",
		Protocol: mockmcp.Protocol{ListChanged: true},
		State:    raw(`{"visits": 0}`),
		Tools: []mockmcp.Tool{
			{Name: "work", Extra: raw(`{"icons": [{"src": "data:image/png;base64,AAAA"}], "_meta": {"a": 1}}`), Results: []mockmcp.Result{{
				Before: []mockmcp.Step{
					mockmcp.Progress{Value: 0.5, Total: 1, Message: "half", Times: 2, Every: time.Second},
					mockmcp.Log{Level: "debug", Data: raw(`"fine"`)},
					mockmcp.Wait(time.Minute),
					mockmcp.Log{Level: "warning", Logger: "desk", Data: raw(`{"left": 1}`), Times: 2},
					mockmcp.Notify{Method: "notifications/odd", Params: raw(`{"x": 1}`)},
				},
				Answer: answer(mockmcp.Answer{Text: "done", Meta: raw(`{"took": 60}`)}),
			}}},
			{Name: "greet", Results: []mockmcp.Result{{
				Before: []mockmcp.Step{mockmcp.Progress{Value: 1}, mockmcp.Ask{name, mockmcp.Sample("Greet them.", 50)}, mockmcp.Ask{color}},
				Answer: told,
				Set: func(*mockmcp.Call, json.RawMessage) (json.RawMessage, error) {
					return raw(`{"visits": 1}`), nil
				},
			}}},
			{Name: "look", Results: []mockmcp.Result{{Before: []mockmcp.Step{mockmcp.Ask{mockmcp.ListRoots(), pay}}, Answer: told}}},
		},
		Resources: []mockmcp.Resource{
			{URI: "lib://rules", Name: "rules", Title: "Rules", Description: "The rules.", MIMEType: "text/plain", Text: "Be <quiet>.", Extra: raw(`{"size": 11}`)},
			{URI: "lib://stamp", MIMEType: "image/png", Blob: []byte{0, 1, 2}},
			{URI: "lib://state", MIMEType: "application/json", Func: func(q *mockmcp.Query) (*mockmcp.ResourceContent, error) {
				return &mockmcp.ResourceContent{Text: string(q.State)}, nil
			}},
			{URI: "lib://broken", Func: func(*mockmcp.Query) (*mockmcp.ResourceContent, error) { panic("a bug in the script") }},
		},
		Templates: []mockmcp.ResourceTemplate{{
			URITemplate: "lib://books/{id}", Name: "book", MIMEType: "text/plain",
			Func: func(q *mockmcp.Query) (*mockmcp.ResourceContent, error) {
				if q.Vars["id"] == "0" {
					return nil, nil
				}
				return &mockmcp.ResourceContent{Text: "Book " + q.Vars["id"], Meta: raw(`{"b": 1}`)}, nil
			},
		}},
		Prompts: []mockmcp.Prompt{
			{Name: "plain", Description: "Nothing to fill in.", Messages: []mockmcp.PromptMessage{
				{Text: "Hello."},
				{Role: "assistant", Content: raw(`{"type":"image","data":"AAAA","mimeType":"image/png"}`)},
				{Content: raw(`{"type":"resource","resource":{"uri":"lib://rules","text":"Be <quiet>."}}`)},
			}},
			{Name: "find", Arguments: []mockmcp.PromptArgument{{Name: "title", Description: "What.", Required: true}, {Name: "year"}}, Func: func(q *mockmcp.Query) ([]mockmcp.PromptMessage, error) {
				return []mockmcp.PromptMessage{{Text: fmt.Sprintf("Find %s (%s).", q.Vars["title"], q.Vars["year"])}}, nil
			}},
			{Name: "personal", Before: []mockmcp.Step{mockmcp.Ask{name}}, Func: func(q *mockmcp.Query) ([]mockmcp.PromptMessage, error) {
				return []mockmcp.PromptMessage{{Text: "Asked: " + string(q.Asked)}}, nil
			}},
		},
		Completions: []mockmcp.Completion{
			{Prompt: "find", Argument: "title", Values: []string{"Emma", "Emil", "Ulysses"}},
			{Template: "lib://books/{id}", Argument: "id", Func: func(q *mockmcp.Query) ([]string, error) {
				var ids []string
				for i := range 120 {
					ids = append(ids, fmt.Sprint(q.Typed, q.Vars["shelf"], i))
				}
				return ids, nil
			}},
		},
	}
}

// TestLibrary plays the files in testdata/library, as TestConversations does.
func TestLibrary(t *testing.T) {
	files, err := filepath.Glob("testdata/library/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, library(), nil)
				defer s.Close()
				for i := range ar.Files {
					got := ""
					switch f := &ar.Files[i]; f.Name {
					case "journal":
						got = journal(t, s)
					case "state":
						got = string(s.State()) + "\n"
					default:
						got = converse(t, s, string(f.Data))
					}
					if *update {
						ar.Files[i].Data = []byte(got)
					} else if diff := cmp.Diff(string(ar.Files[i].Data), got); diff != "" {
						t.Errorf("%s (-want +got):\n%s", ar.Files[i].Name, diff)
					}
				}
			})
			if *update {
				if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// converse plays the client's part of a conversation over a pipe of its own.
// A "$STATE" in what it sends is the last requestState that it got.
func converse(t *testing.T, s *mockmcp.Server, talk string) string {
	t.Helper()
	c := dial(t, s)
	defer c.conn.Close()
	var got strings.Builder
	state := ""
	for line := range strings.Lines(talk) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "<") {
			m := c.receive()
			fmt.Fprintf(&got, "< %s\n", m.Frame)
			var result struct {
				State string `json:"requestState"`
			}
			if json.Unmarshal(m.Result, &result) == nil && result.State != "" {
				state = result.State
			}
			continue
		}
		got.WriteString(line + "\n")
		if frame, ok := strings.CutPrefix(line, "> "); ok {
			c.send(strings.ReplaceAll(frame, "$STATE", state))
		}
	}
	return got.String()
}
