// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package conduct_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/conduct"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
)

// wire writes the frame log of a server that the honest conversation has: one
// line a frame, "> " from the client and "< " to it, at a second; what stands
// before a "|" is HTTP method or status and headers.
func wire(transport string, lines ...string) []jsonrpc.Frame {
	var out []jsonrpc.Frame
	session := "p1"
	if transport == "http" {
		session = ""
	}
	methods := map[string]string{}
	for i, line := range lines {
		var second int
		var dir, rest string
		if _, err := fmt.Sscanf(line, "%d %1s", &second, &dir); err != nil {
			panic(line)
		}
		_, rest, _ = strings.Cut(line, dir+" ")
		f := jsonrpc.Frame{Seq: i + 1, Server: "weather", Session: session, Transport: transport, In: dir == ">", Time: at(second).Add(time.Duration(i) * time.Millisecond)}
		if head, body, ok := strings.Cut(rest, " | "); ok {
			words := strings.Fields(head)
			f.HTTP, f.Header = words[0], map[string]string{}
			for _, w := range words[1:] {
				k, v, _ := strings.Cut(w, "=")
				f.Header[k] = v
			}
			rest = body
		}
		if id := f.Header["mcp-session-id"]; id != "" {
			session, f.Session = id, id
		}
		var m struct {
			ID             json.RawMessage
			Method         string
			Result, Error  json.RawMessage
			Fault, Session string
		}
		if err := json.Unmarshal([]byte(rest), &m); err != nil {
			switch rest {
			case "end":
				f.Kind = jsonrpc.FrameEnd
			case "":
				f.Kind = jsonrpc.FrameHTTP
			default:
				f.Kind = jsonrpc.FrameJunk
			}
			out = append(out, f)
			continue
		}
		f.ID, f.Method, f.Body, f.Fault = m.ID, m.Method, rest, m.Fault
		if m.Session != "" {
			f.Session = strings.TrimPrefix(m.Session, "-")
		}
		switch {
		case m.Method == "":
			f.Kind, f.Method = jsonrpc.FrameResponse, methods[string(m.ID)]
		case m.ID == nil:
			f.Kind = jsonrpc.FrameNotification
		default:
			f.Kind = jsonrpc.FrameRequest
			methods[string(m.ID)] = m.Method
		}
		out = append(out, f)
	}
	return out
}

// polite is what an honest client says over a pipe in the honest conversation,
// whose model requests come at seconds 1 and 4.
func polite() []string {
	return []string{
		`0 > {"id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
		`0 < {"id":1,"error":{"code":-32601,"message":"Method not found"}}`,
		`0 > {"id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`,
		`0 < {"id":2,"result":{"protocolVersion":"2025-11-25"}}`,
		`0 > {"method":"notifications/initialized"}`,
		`0 > {"id":3,"method":"tools/list"}`,
		`0 < {"id":3,"result":{"tools":[]}}`,
		`2 > {"id":4,"method":"tools/call","params":{"name":"get","arguments":{"city":"Oslo"},"_meta":{"progressToken":4}}}`,
		`2 < {"method":"notifications/tools/list_changed"}`,
		`2 < {"method":"notifications/weather/forecast"}`,
		`2 < {"id":"s1","method":"ping"}`,
		`2 > {"id":"s1","result":{}}`,
		`2 < {"id":4,"result":{"content":[]}}`,
		`3 > {"id":5,"method":"tools/call","params":{"name":"get","arguments":{"city":"Paris"},"_meta":{"progressToken":5}}}`,
		`3 < {"id":5,"result":{"content":[]}}`,
		`3 > {"id":6,"method":"tools/list"}`,
		`3 < {"id":6,"result":{"tools":[]}}`,
	}
}

// politeHTTP is the same over HTTP, in a session.
func politeHTTP() []string {
	const legacy = "accept=application/json,text/event-stream mcp-session-id=s9 mcp-protocol-version=2025-11-25"
	const modern = "accept=application/json,text/event-stream mcp-protocol-version=2026-07-28"
	return []string{
		`0 > POST ` + modern + ` mcp-method=server/discover | {"id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
		`0 < 400 | {"id":1,"error":{"code":-32601,"message":"Method not found"}}`,
		`0 > POST accept=application/json,text/event-stream | {"id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`,
		`0 < 200 | {"id":2,"result":{"protocolVersion":"2025-11-25"},"session":"s9"}`,
		`0 > POST ` + legacy + ` | {"method":"notifications/initialized"}`,
		`0 > GET ` + strings.Replace(legacy, "application/json,", "", 1) + ` | `,
		`0 > POST ` + legacy + ` | {"id":3,"method":"tools/list"}`,
		`0 < 200 | {"id":3,"result":{"tools":[]}}`,
		`2 > POST ` + legacy + ` | {"id":4,"method":"tools/call","params":{"name":"get","arguments":{"city":"Oslo"}}}`,
		`2 < 404 | {"id":4,"error":{"code":-32001,"message":"Session not found"}}`,
		`2 > POST accept=application/json,text/event-stream | {"id":5,"method":"initialize","params":{"protocolVersion":"2025-11-25"},"session":"-"}`,
		`2 < 200 | {"id":5,"result":{"protocolVersion":"2025-11-25"},"session":"s10"}`,
		`2 > POST ` + strings.Replace(legacy, "s9", "s10", 1) + ` | {"method":"notifications/initialized"}`,
		`2 > POST ` + strings.Replace(legacy, "s9", "s10", 1) + ` | {"id":6,"method":"tools/call","params":{"name":"get","arguments":{"city":"Oslo"}}}`,
		`2 < 200 | {"id":6,"result":{"content":[]}}`,
		`3 > POST ` + strings.Replace(legacy, "s9", "s10", 1) + ` | {"id":7,"method":"tools/call","params":{"name":"get","arguments":{"city":"Paris"}}}`,
		`3 < 200 | {"id":7,"result":{"content":[]}}`,
	}
}

// politeModern is an honest client of 2026-07-28 over HTTP.
func politeModern() []string {
	const head = "accept=application/json,text/event-stream mcp-protocol-version=2026-07-28 mcp-method="
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	return []string{
		`0 > POST ` + head + `server/discover | {"id":1,"method":"server/discover","params":{` + meta + `}}`,
		`0 < 200 | {"id":1,"result":{}}`,
		`0 > POST ` + head + `tools/list | {"id":2,"method":"tools/list","params":{` + meta + `}}`,
		`0 < 200 | {"id":2,"result":{"tools":[]}}`,
		`2 > POST ` + head + `tools/call mcp-name=get | {"id":3,"method":"tools/call","params":{"name":"get","arguments":{"city":"Oslo"},` + meta + `}}`,
		`2 < 200 | {"id":3,"result":{"resultType":"input_required"}}`,
		`2 > POST ` + head + `tools/call mcp-name=get | {"id":4,"method":"tools/call","params":{"name":"get","arguments":{"city":"Oslo"},"inputResponses":{},` + meta + `}}`,
		`2 < 200 | {"id":4,"result":{"content":[]}}`,
		`3 > POST ` + head + `tools/call mcp-name=get | {"id":5,"method":"tools/call","params":{"name":"get","arguments":{"city":"Paris"},` + meta + `}}`,
		`3 < 200 | {"id":5,"result":{"content":[]}}`,
	}
}

// without drops the lines that hold a text.
func without(lines []string, text string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(s string) bool { return strings.Contains(s, text) })
}

// instead replaces a text in every line.
func instead(lines []string, old, text string) []string {
	var out []string
	for _, s := range lines {
		out = append(out, strings.ReplaceAll(s, old, text))
	}
	return out
}

func wired(transport string, lines []string) *conduct.Input {
	in := honest()
	in.Frames = wire(transport, lines...)
	in.Progress = map[string]bool{"weather.get": true}
	in.Children = []conduct.Child{{Server: "weather", PID: 7, Ended: true}}
	if transport == "http" {
		in.Progress = nil
	}
	return in
}

func TestPolite(t *testing.T) {
	for name, in := range map[string]*conduct.Input{
		"pipe": wired("pipe", polite()), "http": wired("http", politeHTTP()), "modern": wired("http", politeModern()),
	} {
		t.Run(name, func(t *testing.T) {
			if found := check(conduct.Config{}, in); found != nil {
				t.Errorf("found %q", found)
			}
		})
	}
}

// TestNewsOnTheWay: news that no answer has followed on its connection may not
// have been read yet, however many model requests there were.
func TestNewsOnTheWay(t *testing.T) {
	quiet := append(without(without(polite(), `{"id":6`), "list_changed"), `3 < {"method":"notifications/tools/list_changed"}`)
	for name, tt := range map[string]struct {
		lines []string
		want  bool
	}{
		"no answer behind it": {quiet, false},
		"an answer behind it": {append(slices.Clone(quiet), `5 > {"id":7,"method":"ping"}`, `5 < {"id":7,"result":{}}`), true},
	} {
		t.Run(name, func(t *testing.T) {
			in := wired("pipe", tt.lines)
			next := in.Exchanges[1]
			next.Seq, next.Turn, next.Reply, next.Start = 3, 2, 1, at(8)
			next.Request.Messages = append(slices.Clone(*second(in)), next.Answer, harness.Message{Role: harness.RoleUser, Text: "And Rome?"})
			in.Exchanges = append(in.Exchanges, next)
			in.Transcript = nil
			found := slices.DeleteFunc(check(conduct.Config{}, in), func(s string) bool { return !strings.Contains(s, " tools_relisted: ") })
			if (len(found) == 1) != tt.want {
				t.Errorf("found %q", found)
			}
		})
	}
}

// TestImpolite holds every check of the wire to a client that breaks it, and
// to being switched off.
func TestImpolite(t *testing.T) {
	const call4 = `2 < {"id":4,"result":{"content":[]}}`
	tests := []struct {
		name, check string
		in          *conduct.Input
		want        string // of the only finding; empty for none
	}{
		{
			"no initialize", conduct.InitializeFirst, wired("pipe", without(polite(), "initialize")),
			`tools/list to server "weather" came before initialize`,
		},
		{
			"before the answer", conduct.InitializeFirst, wired("pipe", without(polite(), `{"id":2,"result"`)),
			`tools/list to server "weather" came before initialize was answered`,
		},
		{
			"not initialized", conduct.InitializeFirst, wired("pipe", without(polite(), "notifications/initialized")),
			`tools/list to server "weather" came before notifications/initialized`,
		},
		{
			"no version", conduct.VersionHeaders, wired("http", instead(politeHTTP(), "mcp-protocol-version=2025-11-25", "")),
			`GET to server "weather": the header mcp-protocol-version is "", but the session has version 2025-11-25`,
		},
		{
			"another version", conduct.VersionHeaders, wired("http", instead(politeHTTP(), "mcp-protocol-version=2025-11-25", "mcp-protocol-version=2025-06-18")),
			`the header mcp-protocol-version is "2025-06-18", but the session has version 2025-11-25`,
		},
		{"an older session", conduct.VersionHeaders, wired("http", instead(instead(politeHTTP(), "mcp-protocol-version=2025-11-25", ""), `"protocolVersion":"2025-11-25"`, `"protocolVersion":"2025-03-26"`)), ""},
		{
			"the first version with the header", conduct.VersionHeaders, wired("http", instead(instead(politeHTTP(), "mcp-protocol-version=2025-11-25", ""), `"protocolVersion":"2025-11-25"`, `"protocolVersion":"2025-06-18"`)),
			`GET to server "weather": the header mcp-protocol-version is "", but the session has version 2025-06-18`,
		},
		{
			"accept", conduct.VersionHeaders, wired("http", instead(politeHTTP(), "accept=application/json,text/event-stream", "accept=application/json")),
			`the header accept is "application/json", but must name application/json and text/event-stream`,
		},
		{
			"modern version", conduct.VersionHeaders, wired("http", instead(politeModern(), "mcp-protocol-version=2026-07-28", "")),
			`the header mcp-protocol-version is "", but _meta says 2026-07-28`,
		},
		{"modern method", conduct.VersionHeaders, wired("http", instead(politeModern(), "mcp-method=tools/call", "")), `the header mcp-method is ""`},
		{"modern name", conduct.VersionHeaders, wired("http", instead(politeModern(), "mcp-name=get", "")), `the header mcp-name is missing, want "get"`},
		{
			"not cancelled", conduct.CancelledSent, wired("pipe", without(polite(), call4)),
			`tools/call of weather.get got no answer, but the client continued without sending notifications/cancelled`,
		},
		{
			"another cancelled", conduct.CancelledSent, wired("pipe", instead(polite(), call4, `2 > {"method":"notifications/cancelled","params":{"requestId":5}}`)),
			`tools/call of weather.get got no answer`,
		},
		{"cancelled", conduct.CancelledSent, wired("pipe", instead(polite(), call4, `2 > {"method":"notifications/cancelled","params":{"requestId":4}}`)), ""},
		{"the server left", conduct.CancelledSent, wired("pipe", instead(polite(), call4, `2 < end`)), ""},
		{"answered with junk", conduct.CancelledSent, wired("pipe", instead(polite(), call4, `2 < {"jsonrpc"`)), ""},
		{"cancelled over modern HTTP", conduct.CancelledSent, wired("http", without(politeModern(), `{"id":5,"result"`)), ""},
		{
			"session not renewed", conduct.SessionRenewed, wired("http", without(politeHTTP(), "2 ")),
			"", // nothing came of it that could be seen: the call is not in the log
		},
		{
			"session lost for good", conduct.SessionRenewed, wired("http", without(instead(politeHTTP(), "s10", "s9"), `{"id":5`)),
			`server "weather" answered 404 for its session (tools/call), but the client opened no new one`,
		},
		{
			"initialize with the old id", conduct.SessionRenewed, wired("http", instead(politeHTTP(), `2 > POST accept=application/json,text/event-stream | {"id":5`, `2 > POST accept=application/json,text/event-stream mcp-session-id=s9 | {"id":5`)),
			`sent initialize with the id of the lost session`,
		},
		{
			"not listed again", conduct.ToolsRelisted, wired("pipe", without(polite(), `{"id":6`)),
			`server "weather" announced that its tools have changed, but the client sent request 2 to the model without listing them again`,
		},
		{"news after the answer", conduct.ToolsRelisted, wired("pipe", append(without(without(polite(), `{"id":6`), "list_changed"), `3 < {"method":"notifications/tools/list_changed"}`)), ""},
		{
			"lists without end", conduct.ListsBounded, wired("pipe", append(polite(), slices.Repeat([]string{`3 > {"id":7,"method":"tools/list"}`, `3 < {"id":7,"result":{"tools":[]}}`}, 10)...)),
			`the client listed the tools of server "weather" more than 10 times in a row`,
		},
		{
			"pages without end", conduct.ListsBounded, wired("pipe", append(polite(), slices.Repeat([]string{`3 > {"id":7,"method":"tools/list","params":{"cursor":"x"}}`, `3 < {"id":7,"result":{"tools":[]}}`}, 1001)...)),
			`the client requested more than 1000 pages of tools from server "weather" in a row`,
		},
		{
			"no token", conduct.ProgressToken, wired("pipe", instead(polite(), `,"_meta":{"progressToken":4}`, "")),
			`tools/call of weather.get has no progressToken`,
		},
		{
			"called twice", conduct.NoDoubleEffect,
			wired("pipe", append(polite(), `3 > {"id":8,"method":"tools/call","params":{"name":"get","arguments":{"city":"Paris"},"_meta":{"progressToken":5}}}`, `3 < {"id":8,"result":{"content":[]}}`)),
			`the model made 1 call of weather.get {"city":"Paris"}, but the client sent it 2 times, although the tool is not marked idempotent or read-only`,
		},
		{
			"a read called twice", conduct.NoDoubleEffect, func() *conduct.Input {
				in := wired("pipe", append(polite(), `3 > {"id":8,"method":"tools/call","params":{"name":"get","arguments":{"city":"Paris"},"_meta":{"progressToken":5}}}`, `3 < {"id":8,"result":{"content":[]}}`))
				in.Repeatable = map[string]bool{"weather.get": true}
				return in
			}(), "",
		},
		{
			"left for an unknown notification", conduct.UnknownTolerated,
			wired("pipe", append(without(polite(), "3 "), `3 > {"id":9,"method":"initialize","session":"p2"}`, `3 < {"id":9,"result":{"protocolVersion":"2025-11-25"},"session":"p2"}`)),
			`server "weather" sent the unknown notification notifications/weather/forecast, and the client then opened another session`,
		},
		{
			"a result lost for an unknown notification", conduct.UnknownTolerated, func() *conduct.Input {
				in := wired("pipe", polite())
				(*second(in))[4].Text = "error: unknown notification"
				return in
			}(), `the result of call weather.get {"city": "Oslo"} (c2) that followed was lost`,
		},
		{"ping not answered", conduct.ServerAnswered, wired("pipe", without(polite(), `> {"id":"s1"`)), `server "weather" sent ping, but the client never answered`},
		{
			"ping refused", conduct.ServerAnswered, wired("pipe", instead(polite(), `{"id":"s1","result":{}}`, `{"id":"s1","error":{"code":-32601}}`)),
			`server "weather" sent a ping, but the client answered with error -32601`,
		},
		{"roots refused", conduct.ServerAnswered, wired("pipe", instead(instead(polite(), `{"id":"s1","result":{}}`, `{"id":"s1","error":{"code":-32601}}`), `"ping"`, `"roots/list"`)), ""},
		{
			"a session for each call", conduct.SessionsEnded, wired("http", append(withoutGone(), again("s11", "")...)),
			`the client opened 2 sessions with server "weather" in turn 1 and ended 0 by DELETE`,
		},
		{"a session for each call, the first ended", conduct.SessionsEnded, wired("http", append(withoutGone(), again("s11", "s10")...)), ""},
		{"two sessions opened at once", conduct.InitializeFirst, wired("http", append(withoutGone(), atOnce()...)), ""},
		{"a session after a fault", conduct.SessionsEnded, wired("http", append(withoutGone(), again("s11", "")[0], `3 < 200 | {"id":8,"result":{"protocolVersion":"2025-11-25"},"session":"s11","fault":"session_404"}`)), ""},
		{
			"a child left", conduct.ChildrenEnded, func() *conduct.Input {
				in := wired("pipe", polite())
				in.Children[0].Ended = false
				return in
			}(), `the process of server "weather" (pid 7) outlived the client`,
		},
	}
	broken := map[string]bool{}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			found := only(test.check, check(conduct.Config{}, test.in))
			if test.want == "" {
				if found != "" {
					t.Errorf("found %s", found)
				}
				return
			}
			broken[test.check] = true
			if !strings.HasPrefix(found, "failed ") || !strings.Contains(found, test.want) {
				t.Errorf("got %q, want %q", found, test.want)
			}
			if off := only(test.check, check(conduct.Config{Off: map[string]bool{test.check: true}}, test.in)); off != "" {
				t.Errorf("switched off it found %s", off)
			}
			test.in.Mode = harness.ModeLive
			if live := only(test.check, check(conduct.Config{}, test.in)); !strings.HasPrefix(live, "warning ") {
				t.Errorf("in live mode: %q, want a warning", live)
			}
		})
	}
	names := conduct.Names()
	for _, name := range names[slices.Index(names, conduct.InitializeFirst):] {
		if !broken[name] {
			t.Errorf("no client breaks %s", name)
		}
	}
}

// only is what was found by one check.
func only(name string, found []string) string {
	for _, f := range found {
		if _, rest, _ := strings.Cut(f, " "); strings.HasPrefix(rest, name+":") {
			return f
		}
	}
	return ""
}

// TestUntried: a check that nothing called for says so.
func TestUntried(t *testing.T) {
	in := honest()
	in.Frames = wire("pipe", polite()[2:7]...)
	check(conduct.Config{}, in)
	got := map[string]string{}
	for _, v := range conduct.Check(conduct.Config{}, in) {
		if v.State == trials.Skipped {
			got[v.Check] = v.Message
		}
	}
	for name, want := range map[string]string{
		conduct.VersionHeaders:   "no server was reached over streamable HTTP",
		conduct.CancelledSent:    "the client did not give up on any request",
		conduct.SessionRenewed:   "no session was lost",
		conduct.SessionsEnded:    "no client opened several sessions with a server in one turn",
		conduct.ToolsRelisted:    "no client was notified of changed tools in time to act on it",
		conduct.ProgressToken:    "no tool that reports progress was called",
		conduct.NoDoubleEffect:   "no tool was called that must not be called twice",
		conduct.UnknownTolerated: "no server sent an unknown notification",
		conduct.ServerAnswered:   "no server sent a request to the client",
		conduct.ChildrenEnded:    "the client started no server as a process",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	in.Frames = nil
	for _, v := range conduct.Check(conduct.Config{}, in) {
		if v.Check == conduct.InitializeFirst && v.Message != "no server kept a log of its frames" {
			t.Errorf("without frames: %+v", v)
		}
	}
}

// withoutGone is an honest client over HTTP whose one session lasts.
func withoutGone() []string { return politeHTTP()[10:] }

// again opens another session, which is named, after ending the one before, unless
// that is empty.
func again(session, before string) []string {
	const head = "accept=application/json,text/event-stream"
	out := []string{
		`3 > POST ` + head + ` | {"id":8,"method":"initialize","params":{"protocolVersion":"2025-11-25"},"session":"-"}`,
		`3 < 200 | {"id":8,"result":{"protocolVersion":"2025-11-25"},"session":"` + session + `"}`,
	}
	if before != "" {
		out = append([]string{`3 > DELETE ` + head + ` mcp-session-id=` + before + ` mcp-protocol-version=2025-11-25 | `}, out...)
	}
	return out
}

// atOnce opens two sessions, with requests of the same id, before either is
// answered.
func atOnce() []string {
	const head = "accept=application/json,text/event-stream"
	const within = head + " mcp-protocol-version=2025-11-25 mcp-session-id="
	opened := `3 > POST ` + head + ` | {"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"},"session":"-"}`
	return []string{
		opened, opened,
		`3 < 200 | {"id":0,"result":{"protocolVersion":"2025-11-25"},"session":"s20"}`,
		`3 < 200 | {"id":0,"result":{"protocolVersion":"2025-11-25"},"session":"s21"}`,
		`3 > POST ` + within + `s20 | {"method":"notifications/initialized"}`,
		`3 > POST ` + within + `s21 | {"method":"notifications/initialized"}`,
		`3 > POST ` + within + `s20 | {"id":1,"method":"tools/list"}`,
		`3 < 200 | {"id":1,"result":{"tools":[]}}`,
		`3 > POST ` + within + `s21 | {"id":1,"method":"tools/list"}`,
		`3 < 200 | {"id":1,"result":{"tools":[]}}`,
	}
}
