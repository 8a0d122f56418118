// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp_test

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/mockmcp"
)

// TestAnswers holds what a server answers that is no business of its script:
// the handshake in either era, levels, subscriptions, and requests that are
// odd.
func TestAnswers(t *testing.T) {
	const golden = "testdata/answers.txt"
	full := mockmcp.Script{
		Name: "shop", Instructions: "Buy.", Protocol: mockmcp.Protocol{ListChanged: true},
		Tools: []mockmcp.Tool{{Name: "plain", Results: []mockmcp.Result{{
			Before: []mockmcp.Step{mockmcp.Log{}},
			Answer: func(*mockmcp.Call) (*mockmcp.Answer, error) { return &mockmcp.Answer{Text: "done"}, nil },
		}}}},
		Resources:   []mockmcp.Resource{{URI: "lab://a", Text: "a"}},
		Prompts:     []mockmcp.Prompt{{Name: "p"}},
		Completions: []mockmcp.Completion{{Prompt: "p", Argument: "x", Values: []string{"1"}}},
	}
	bare := mockmcp.Script{Name: "bare", Tools: []mockmcp.Tool{{Name: "plain"}}}
	old, strict := full, bare
	old.Protocol.Modern, strict.Protocol.Versions = mockmcp.ModernOff, []string{"2025-06-18"}
	modernOnly := bare
	modernOnly.Protocol.Versions = []string{"2026-07-28"}

	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	opening := []string{
		`"method":"initialize","params":{"protocolVersion":"2025-06-18","clientInfo":{"name":"c","version":"1"},"capabilities":{}}`,
		`"method":"initialize","params":{"protocolVersion":"1999-01-01","clientInfo":{"name":"c","version":"1"},"capabilities":{}}`,
		`"method":"initialize","params":{"protocolVersion":"2026-07-28","clientInfo":{"name":"c","version":"1"},"capabilities":{}}`,
		`"method":"initialize"`,
		`"method":"initialize","params":{}`,
		`"method":"initialize","params":{"protocolVersion":5}`,
		`"method":"initialize","params":[]`,
		`"method":"initialize","params":{` + meta + `}`,
	}
	requests := []string{
		`"method":"ping"`,
		`"method":"ping","params":{"x":1}`,
		`"method":"ping","params":5`,
		`"method":"logging/setLevel","params":{"level":"debug"}`,
		`"method":"logging/setLevel","params":{"level":"loud"}`,
		`"method":"logging/setLevel","params":{"level":5}`,
		`"method":"logging/setLevel"`,
		`"method":"resources/subscribe","params":{"uri":"lab://a"}`,
		`"method":"resources/subscribe","params":{"uri":"lab://none"}`,
		`"method":"resources/subscribe","params":{}`,
		`"method":"resources/subscribe","params":{"uri":5}`,
		`"method":"resources/unsubscribe","params":{"uri":"lab://a"}`,
		`"method":"resources/unsubscribe"`,
		`"method":"no/such"`,
		`"method":"tasks/list"`,
		`"method":"tools/list","params":{"cursor":5}`,
		`"method":"tools/list","params":[]`,
		`"method":"tools/list","params":null`,
		`"method":"tools/call"`,
		`"method":"tools/call","params":{}`,
		`"method":"tools/call","params":{"name":5}`,
		`"method":"tools/call","params":{"name":"plain","arguments":[]}`,
		`"method":"tools/call","params":["plain"]`,
		`"method":"tools/call","params":{"name":"plain","_meta":5}`,
		`"method":"resources/list"`,
		`"method":"resources/read","params":{"uri":5}`,
		`"method":"prompts/list"`,
		`"method":"prompts/get","params":{"name":5}`,
		`"method":"completion/complete","params":{"ref":5}`,
		`"method":"server/discover"`,
		`"method":"subscriptions/listen"`,
		`"method":"notifications/initialized"`,
		`"method":""`,
		`"method":"ping","jsonrpc":"1.0"`,
		`"method":"tools/list","jsonrpc":"1.0"`,
		`"method":"ping","id":7.5`,
		`"method":"ping","id":"a"`,
		`"method":"ping","id":{}`,
		`"method":"ping","id":null`,
		`"method":"server/discover","params":{` + meta + `}`,
		`"method":"ping","params":{` + meta + `}`,
		`"method":"logging/setLevel","params":{"level":"debug",` + meta + `}`,
		`"method":"resources/subscribe","params":{"uri":"lab://a",` + meta + `}`,
		`"method":"no/such","params":{` + meta + `}`,
		`"method":"tools/list","params":{"cursor":5,` + meta + `}`,
		`"method":"tools/call","params":{"name":5,` + meta + `}`,
		`"method":"prompts/list","params":{` + meta + `}`,
		`"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`,
		`"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":[]}}`,
		`"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`,
		`"method":"no/such","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`,
		`"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":5}}`,
		`"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}}`,
	}
	var b strings.Builder
	synctest.Test(t, func(t *testing.T) {
		for _, s := range []struct {
			name   string
			script mockmcp.Script
		}{{"everything", full}, {"tools alone", bare}, {"of the old era", old}, {"one version", strict}, {"of the new era alone", modernOnly}} {
			for _, open := range opening {
				fmt.Fprintf(&b, "== %s\n", s.name)
				answerTo(t, &b, s.script, open)
			}
			fmt.Fprintf(&b, "== %s, without a handshake\n", s.name)
			answerTo(t, &b, s.script, requests...)
			fmt.Fprintf(&b, "== %s, after one\n", s.name)
			answerTo(t, &b, s.script, append(opening[:1:1], requests...)...)
		}
	})
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

// answerTo writes what a server answers to each request, in one session.
func answerTo(t *testing.T, b *strings.Builder, script mockmcp.Script, requests ...string) {
	t.Helper()
	s, err := mockmcp.New(script, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	conn, err := s.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var mu sync.Mutex // guards lines
	var lines []string
	go func() {
		for r := bufio.NewScanner(conn); r.Scan(); {
			mu.Lock()
			lines = append(lines, r.Text())
			mu.Unlock()
		}
	}()
	for _, r := range requests {
		frame := `{"jsonrpc":"2.0","id":1,` + r + `}`
		for own, ours := range map[string]string{"id": `"id":1,`, "jsonrpc": `"jsonrpc":"2.0",`} {
			if strings.Contains(r, `,"`+own+`":`) { // takes the place of ours
				frame = strings.Replace(frame, ours, "", 1)
			}
		}
		fmt.Fprintln(conn, frame)
		synctest.Wait()
		fmt.Fprintln(b, r)
		mu.Lock()
		for _, line := range lines {
			fmt.Fprintln(b, "\t"+line)
		}
		lines = nil
		mu.Unlock()
	}
}
