// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package conduct_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/conduct"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
)

// The lines that tests leave out or change.
const (
	osloAnswer  = `2 < {"id":4,"result":{"content":[]}}`
	parisCall   = `3 > {"id":5,"method":"tools/call","params":{"name":"get","arguments":{"city":"Paris"},"_meta":{"progressToken":5}}}`
	parisAnswer = `3 < {"id":5,"result":{"content":[]}}`
	forecast    = `2 < {"method":"notifications/weather/forecast"}`
)

// put inserts lines before the first that holds a text.
func put(lines []string, before string, more ...string) []string {
	i := slices.IndexFunc(lines, func(s string) bool { return strings.Contains(s, before) })
	return slices.Insert(slices.Clone(lines), i, more...)
}

// from are the lines from the first that holds a text on.
func from(lines []string, text string) []string {
	return lines[slices.IndexFunc(lines, func(s string) bool { return strings.Contains(s, text) }):]
}

type wireTest struct {
	name  string
	in    *conduct.Input
	check string
	want  string // its beginning, and the whole of passed and skipped
}

func (tt wireTest) run(t *testing.T) {
	t.Run(tt.check+": "+tt.name, func(t *testing.T) {
		got := verdictOf(conduct.Config{}, tt.in, tt.check)
		if !strings.HasPrefix(got, tt.want) || !strings.HasPrefix(tt.want, "failed") && got != tt.want || strings.Count(got, "; ") != strings.Count(tt.want, "; ") {
			t.Errorf("%s is %s\nwant %s", tt.check, got, tt.want)
		}
	})
}

// TestPoliteClientsPass: the checks that something calls for pass.
func TestPoliteClientsPass(t *testing.T) {
	passes := func(name string, in *conduct.Input, checks ...string) {
		for _, check := range checks {
			wireTest{name, in, check, "passed"}.run(t)
		}
	}
	passes("over a pipe", wired("pipe", polite()), conduct.InitializeFirst, conduct.ToolsRelisted, conduct.ListsBounded, conduct.ProgressToken,
		conduct.NoDoubleEffect, conduct.UnknownTolerated, conduct.ServerAnswered, conduct.ChildrenEnded)
	passes("over HTTP", wired("http", politeHTTP()), conduct.InitializeFirst, conduct.VersionHeaders, conduct.SessionRenewed, conduct.ListsBounded, conduct.NoDoubleEffect)
	passes("of the era without sessions", wired("http", politeModern()), conduct.VersionHeaders, conduct.ListsBounded, conduct.NoDoubleEffect)
}

// TestGaveUpAndCancelled is about requests that got no answer before the
// client went on to the model.
func TestGaveUpAndCancelled(t *testing.T) {
	const none = "skipped: the client did not give up on any request"
	const missing = "failed: tools/call of weather.get got no answer, but the client continued without sending notifications/cancelled"
	cancel := func(line string) []string { return instead(polite(), osloAnswer, line) }
	modern := func(lines []string) []string {
		return instead(lines, `"_meta":{"progressToken":4}`, `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`)
	}
	lost := without(polite(), osloAnswer)
	killed := func(in *conduct.Input, turn int) *conduct.Input {
		in.Killed = []int{turn}
		return in
	}
	struck := func(fault string) []string {
		return instead(lost, `{"id":4,"method"`, `{"fault":"`+fault+`","id":4,"method"`)
	}
	for _, tt := range []wireTest{
		{"all answered", wired("pipe", polite()), "", none},
		{"cancelled", wired("pipe", cancel(`2 > {"method":"notifications/cancelled","params":{"requestId":4}}`)), "", "passed"},
		{"cancelled in another session", wired("pipe", cancel(`2 > {"method":"notifications/cancelled","params":{"requestId":4},"session":"p2"}`)), "", missing},
		{"cancelled by the server", wired("pipe", cancel(`2 < {"method":"notifications/cancelled","params":{"requestId":4}}`)), "", missing},
		{"another notification about it", wired("pipe", cancel(`2 > {"method":"notifications/progress","params":{"requestId":4}}`)), "", missing},
		{"answered too late", wired("pipe", append(lost[:len(lost):len(lost)], `5 < {"id":4,"result":{"content":[]}}`)), "", missing},
		{"answered, and once more too late", wired("pipe", append(polite(), `5 < {"id":4,"result":{"content":[]}}`)), "", none},
		{"answered to another session", wired("pipe", cancel(`2 < {"id":4,"result":{"content":[]},"session":"p2"}`)), "", missing},
		{"the server asks under its id", wired("pipe", cancel(`2 < {"id":4,"method":"ping"}`)), "", missing},
		{"the client answers under its id", wired("pipe", cancel(`2 > {"id":4,"result":{}}`)), "", missing},
		{"a ping", wired("pipe", put(polite(), osloAnswer, `2 > {"id":9,"method":"ping"}`)), "", none},
		{"a stream of news", wired("pipe", put(polite(), osloAnswer, `2 > {"id":9,"method":"subscriptions/listen"}`)), "", none},
		{"initialize", wired("pipe", without(polite(), `{"id":2,"result"`)), "", none},
		{"discovery", wired("pipe", without(polite(), `{"id":1,"error"`)), "", none},
		{"of the era without sessions, over a pipe", wired("pipe", modern(lost)), "", missing},
		{"of the era with sessions, over HTTP", wired("http", without(instead(politeHTTP(), `2 < 404 | {"id":4`, `2 < 200 | {"id":99`), "s10")), "", missing},
		{"a server that hangs", wired("pipe", struck("hang/before")), "", missing},
		{"a server that fails", wired("pipe", struck("http_status")), "", none},
		{"junk", wired("pipe", cancel(`2 < {"jsonrpc"`)), "", none},
		{"a bad response in another session", wired("pipe", cancel(`2 < {"id":5,"fault":"wrong_id","result":{},"session":"p2"}`)), "", missing},
		{"junk from the client", wired("pipe", cancel(`2 > {"jsonrpc"`)), "", missing},
		{"a bad response", wired("pipe", cancel(`2 < {"id":5,"fault":"wrong_id","result":{}}`)), "", none},
		{"a bad notification", wired("pipe", cancel(`2 < {"fault":"delay","method":"notifications/progress"}`)), "", missing},
		{"HTTP 400 without an answer", wired("http", without(instead(politeHTTP(), `2 < 404 | {"id":4,"error":{"code":-32001,"message":"Session not found"}}`, `2 < 400 | `), "s10")), "", none},
		{"HTTP 399 without an answer", wired("http", without(instead(politeHTTP(), `2 < 404 | {"id":4,"error":{"code":-32001,"message":"Session not found"}}`, `2 < 399 | `), "s10")), "", missing},
		{"the server left", wired("pipe", cancel(`2 < end`)), "", none},
		{"the client left", wired("pipe", cancel(`2 > end`)), "", missing},
		{"the client was killed", killed(wired("pipe", lost), 1), "", none},
		{"the client was killed, and another turn came", func() *conduct.Input {
			in := killed(wired("pipe", lost), 1)
			addTurn(in, rome)
			return in
		}(), "", none},
		{"the client was killed in another turn", killed(wired("pipe", lost), 2), "", missing},
	} {
		tt.check = conduct.CancelledSent
		tt.run(t)
	}
}

// TestLostSessions is about a server that has forgotten a session.
func TestLostSessions(t *testing.T) {
	const none = "skipped: no session was lost"
	const missing = `failed: server "weather" answered 404 for its session (tools/call), but the client opened no new one`
	const in9 = "accept=application/json,text/event-stream mcp-session-id=s9 mcp-protocol-version=2025-11-25"
	begun := politeHTTP()[:8]
	lost := func(second string, more ...string) []string {
		return append(append(slices.Clone(begun),
			second+` > POST `+in9+` | {"id":4,"method":"tools/call","params":{"name":"get","arguments":{"city":"Oslo"}}}`,
			second+` < 404 | {"id":4,"error":{"code":-32001,"message":"Session not found"}}`), more...)
	}
	again := func(second, id string) string {
		return second + ` > POST ` + in9 + ` | {"id":` + id + `,"method":"tools/call","params":{"name":"get","arguments":{"city":"Oslo"}}}`
	}
	const modern = `2 > POST accept=application/json,text/event-stream | {"id":5,"session":"-","method":"METHOD","params":{"name":"get","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	const renewed = `2 > POST accept=application/json,text/event-stream | {"id":5,"session":"-","method":"initialize"}`
	for _, tt := range []wireTest{
		{"none", wired("http", begun), "", none},
		{"a 404 to a request without one", wired("http", append(slices.Clone(begun), `2 > POST accept=application/json | {"id":4,"session":"-","method":"tools/list"}`, `2 < 404 | {"id":4,"error":{"code":1},"session":"-"}`)), "", none},
		{"at the end", wired("http", lost("5")), "", none},
		{"at the end, and opened anew", wired("http", lost("5", strings.Replace(renewed, "2", "5", 1))), "", "passed"},
		{"at the end, and used again", wired("http", lost("5", again("5", "5"))), "", missing},
		{"before the model is asked again", wired("http", lost("2")), "", missing},
		{"twice, and told once", wired("http", lost("2", again("2", "5"), `2 < 404 | {"id":5,"error":{"code":-32001}}`)), "", missing},
		{"opened anew", wired("http", lost("2", renewed)), "", "passed"},
		{"opened anew, and once more with an id", wired("http", lost("2", renewed, `2 > POST accept=application/json,text/event-stream mcp-session-id=s9 | {"id":6,"method":"initialize"}`)), "", "passed"},
		{"asked without a session", wired("http", lost("2", strings.Replace(modern, "METHOD", "tools/call", 1))), "", "passed"},
		{"asked what the server can do", wired("http", lost("2", strings.Replace(modern, "METHOD", "server/discover", 1))), "", missing},
		{"a 404 without a body", wired("http", func() []string {
			lines := lost("2")
			lines[len(lines)-1] = `2 < 404 | `
			return lines
		}()), "", missing},
		{"by a fault", wired("http", func() []string {
			lines := lost("2")
			lines[len(lines)-2] = strings.Replace(lines[len(lines)-2], `{"id":4`, `{"fault":"session_404","id":4`, 1)
			return lines[:len(lines)-1]
		}()), "", missing},
		{"another status without a body", wired("http", func() []string {
			lines := lost("2")
			lines[len(lines)-1] = `2 < 400 | `
			return lines
		}()), "", none},
	} {
		tt.check = conduct.SessionRenewed
		tt.run(t)
	}
}

// TestSessionsOfATurn is about a client that opens several sessions with a
// server.
func TestSessionsOfATurn(t *testing.T) {
	const none = "skipped: no client opened several sessions with a server in one turn"
	first := withoutGone() // its session is s10
	second := func(session, before string) []string { return append(slices.Clone(first), again(session, before)...) }
	for _, tt := range []wireTest{
		{"one", wired("http", first), "", none},
		{"two, the first ended", wired("http", second("s11", "s10")), "", "passed"},
		{"two, none ended", wired("http", second("s11", "")), "", `failed: the client opened 2 sessions with server "weather" in turn 1 and ended 0 by DELETE`},
		{"three, the first ended", wired("http", append(second("s11", "s10"), again("s12", "")...)), "", `failed: the client opened 3 sessions with server "weather" in turn 1 and ended 1 by DELETE`},
		{"two, the first lost", wired("http", append(append(slices.Clone(first), `3 > POST accept=x mcp-session-id=s10 | {"id":9,"method":"tools/list"}`, `3 < 404 | `), again("s11", "")...)), "", "passed"},
		{"two in two turns", func() *conduct.Input {
			in := wired("http", append(slices.Clone(first), instead(again("s11", ""), "3 ", "6 ")...))
			addTurn(in, rome)
			return in
		}(), "", none},
		{"the second behind the last request of the model", func() *conduct.Input {
			in := wired("http", append(slices.Clone(first), instead(again("s11", ""), "3 ", "9 ")...))
			addTurn(in, rome)
			return in
		}(), "", none},
		{"one in the last turn, and one behind it", func() *conduct.Input {
			in := wired("http", append(append(slices.Clone(first), instead(again("s11", ""), "3 ", "6 ")...), instead(again("s12", ""), "3 ", "9 ")...))
			addTurn(in, rome)
			return in
		}(), "", `failed: the client opened 2 sessions with server "weather" in turn 2 and ended 0 by DELETE`},
		{"without a model", func() *conduct.Input {
			in := wired("http", second("s11", ""))
			in.Exchanges, in.Transcript = nil, nil
			return in
		}(), "", `failed: the client opened 2 sessions with server "weather" in turn 1 and ended 0 by DELETE`},
		{"a second that was refused", wired("http", append(slices.Clone(first), again("s11", "")[0], `3 < 400 | {"id":8,"error":{"code":-32602},"session":"s11"}`)), "", none},
		{"a second without an id", wired("http", second("-", "")), "", none},
		{"over a pipe", wired("pipe", append(polite(), again("p2", "")...)), "", none},
	} {
		tt.check = conduct.SessionsEnded
		tt.run(t)
	}
}

// TestNewsOfTools is about a server that says that its tools have changed.
func TestNewsOfTools(t *testing.T) {
	const none = "skipped: no client was notified of changed tools in time to act on it"
	const news = `{"method":"notifications/tools/list_changed"}`
	const missing = `failed: server "weather" announced that its tools have changed, but the client sent request `
	const relisted = `3 > {"id":6,"method":"tools/list"}`
	base := without(without(polite(), `{"id":6`), news)
	inside := put(base, forecast, `2 < `+news)
	outside := put(base, parisCall, `2 < `+news)
	third := func(in *conduct.Input) *conduct.Input { // asks the model once more, at second 8
		addTurn(in, rome)
		in.Transcript = nil
		return in
	}
	fourth := func(in *conduct.Input) *conduct.Input {
		third(in)
		addTurn(in, rome).Start = at(10)
		return in
	}
	for _, tt := range []wireTest{
		{"no news", wired("pipe", base), "", none},
		{"before an answer", wired("pipe", inside), "", missing + "2 to the model without listing them again"},
		{"before an answer, asked twice", third(wired("pipe", inside)), "", missing + "2 to the model"},
		{"before an answer, and listed", wired("pipe", append(inside, relisted)), "", "passed"},
		{"before an answer, and listed before it", wired("pipe", put(inside, news, `2 > {"id":6,"method":"tools/list"}`, `2 < {"id":6,"result":{"tools":[]}}`)), "", missing + "2 to the model"},
		{"before an answer, and the server lists", wired("pipe", append(inside, `3 < {"id":6,"method":"tools/list"}`)), "", missing + "2 to the model"},
		{"between calls, may cross a request", wired("pipe", outside), "", none},
		{"between calls, and asked twice", third(wired("pipe", outside)), "", missing + "3 to the model"},
		{"between calls, and asked three times", fourth(wired("pipe", outside)), "", missing + "3 to the model"},
		{"between calls, listed late", third(wired("pipe", append(outside, `6 > {"id":6,"method":"tools/list"}`))), "", "passed"},
		{"twice, the last between calls", wired("pipe", put(inside, parisCall, `2 < `+news)), "", none},
		{"of a request in another session", wired("pipe", put(base, forecast, `2 < {"method":"notifications/tools/list_changed","session":"p2"}`)), "", none},
		{"as the first that is logged", wired("pipe", append([]string{`1 < ` + news}, from(base, `{"id":4,"method"`)...)), "", none},
		{"as the first that is logged, and asked twice", third(wired("pipe", append([]string{`1 < ` + news}, from(base, `{"id":4,"method"`)...))), "", missing + "3 to the model"},
		{"from the client", third(wired("pipe", put(base, forecast, `2 > `+news))), "", none},
		{"of something else", third(wired("pipe", put(base, forecast, `2 < {"method":"notifications/prompts/list_changed"}`))), "", none},
		{"as a request", third(wired("pipe", put(base, forecast, `2 < {"id":"s2","method":"notifications/tools/list_changed"}`))), "", none},
		{"not heard of over a pipe", third(wired("pipe", append(base[:len(base):len(base)], `3 < `+news))), "", none},
		{"not known to be heard of over HTTP", third(wired("http", append(slices.Clone(politeModern()), `3 < 200 | `+news))), "", missing + "3 to the model"},
	} {
		tt.check = conduct.ToolsRelisted
		tt.run(t)
	}
}

// TestListsInARow has lists and pages up to their bounds and beyond.
func TestListsInARow(t *testing.T) {
	const tooMany = `failed: the client listed the tools of server "weather" more than 10 times in a row, with nothing in between`
	const tooLong = `failed: the client requested more than 1000 pages of tools from server "weather" in a row`
	lists := func(n int) []string { return slices.Repeat([]string{`3 > {"id":7,"method":"tools/list"}`}, n) }
	pages := func(n int) []string {
		return slices.Repeat([]string{`3 > {"id":7,"method":"tools/list","params":{"cursor":"x"}}`}, n)
	}
	for _, tt := range []wireTest{
		{"none", wired("pipe", []string{parisCall}), "", "skipped: no tools were listed"},
		{"as many lists as are well", wired("pipe", lists(10)), "", "passed"},
		{"one list more", wired("pipe", lists(11)), "", tooMany},
		{"many lists more, told once", wired("pipe", lists(30)), "", tooMany},
		{"a call between them", wired("pipe", slices.Concat(lists(10), []string{parisCall}, lists(10))), "", "passed"},
		{"a ping between them", wired("pipe", slices.Concat(lists(10), []string{`3 > {"id":8,"method":"ping"}`}, lists(1))), "", tooMany},
		{"as many pages as are well", wired("pipe", append(lists(1), pages(1000)...)), "", "passed"},
		{"many pages more, told once", wired("pipe", append(lists(1), pages(1005)...)), "", tooLong},
		{"pages of two lists", wired("pipe", slices.Concat(lists(1), pages(600), lists(1), pages(600))), "", "passed"},
		{"pages of many lists", wired("pipe", slices.Repeat(append(lists(1), pages(1)...), 11)), "", tooMany},
	} {
		tt.check = conduct.ListsBounded
		tt.run(t)
	}
}

// TestSentTwice is about calls that are sent more often than the model made
// them.
func TestSentTwice(t *testing.T) {
	const none = "skipped: no tool was called that must not be called twice"
	const told = `failed: the model made 1 call of weather.get {"city":"Paris"}, but the client sent it 2 times, although the tool is not marked idempotent or read-only`
	again := strings.ReplaceAll(parisCall, `"id":5`, `"id":8`)
	const answered = `3 < {"id":8,"result":{"content":[]}}`
	first := func(answer string, more ...string) []string { // the first of two calls, answered so
		return append(instead(polite(), parisAnswer, answer), append(more, again, answered)...)
	}
	struck := func(fault string) []string {
		return append(instead(without(polite(), parisAnswer), `{"id":5,"method"`, `{"fault":"`+fault+`","id":5,"method"`), again, answered)
	}
	overHTTP := func(lines ...string) *conduct.Input {
		const head = `3 > POST accept=application/json,text/event-stream | `
		body := strings.TrimPrefix(parisCall, "3 > ")
		return wired("http", slices.Concat([]string{head + body}, lines, []string{head + strings.Replace(body, `"id":5`, `"id":8`, 1), `3 < 200 | {"id":8,"result":{}}`}))
	}
	failing := func(code string) []string { return first(`3 < {"id":5,"error":{"code":` + code + `}}`) }
	for _, tt := range []wireTest{
		{"no call", wired("pipe", polite()[:7]), "", none},
		{"without a model", func() *conduct.Input {
			in := wired("pipe", first(parisAnswer))
			in.Exchanges, in.Transcript = nil, nil
			return in
		}(), "", none},
		{"both answered", wired("pipe", first(parisAnswer)), "", told},
		{"three times", wired("pipe", append(first(parisAnswer), strings.ReplaceAll(parisCall, `"id":5`, `"id":9`), `3 < {"id":9,"result":{"content":[]}}`)), "", strings.Replace(told, "2 times", "3 times", 1)},
		{"a call that the model did not make", wired("pipe", append(polite(), strings.ReplaceAll(again, "Paris", "Rome"), answered)), "", "passed"},
		{"a prompt of that name", wired("pipe", append(polite(), strings.ReplaceAll(again, "tools/call", "prompts/get"), answered)), "", "passed"},
		{"other arguments", wired("pipe", append(polite(), strings.ReplaceAll(again, "Paris", "Oslo "), answered)), "", "passed"},
		{"another tool", wired("pipe", append(polite(), strings.ReplaceAll(again, `"name":"get"`, `"name":"add"`), answered)), "", "passed"},
		{"both that were asked for", func() *conduct.Input {
			in := wired("pipe", first(parisAnswer))
			in.Exchanges[0].Answer.Calls = slices.Clone(in.Exchanges[0].Answer.Calls)
			in.Exchanges[0].Answer.Calls[1].Arguments = `{"city":"Paris"}`
			return in
		}(), "", "passed"},
		{"where answered_once says so", func() *conduct.Input {
			in := wired("pipe", first(parisAnswer))
			x := in.Tools[1]
			x.Seq = 3
			in.Tools = append(in.Tools, x)
			return in
		}(), "", "passed"},
		{"where it failed before", func() *conduct.Input {
			in := wired("pipe", first(parisAnswer))
			x := in.Tools[1]
			x.Seq = 3
			in.Tools[1].Failed = true
			in.Tools = append(in.Tools, x)
			return in
		}(), "", told},
		{"where each of two was made, one again after it had failed", func() *conduct.Input {
			in := wired("pipe", append(first(parisAnswer), strings.ReplaceAll(parisCall, `"id":5`, `"id":9`), `3 < {"id":9,"result":{"content":[]}}`))
			in.Exchanges[0].Answer.Calls = slices.Clone(in.Exchanges[0].Answer.Calls)
			in.Exchanges[0].Answer.Calls[1].Arguments = `{"city":"Paris"}`
			one, two, three := in.Tools[1], in.Tools[1], in.Tools[1]
			one.Seq, two.Seq, three.Seq, two.Failed = 1, 2, 3, true
			in.Tools = []harness.ToolExchange{one, two, three}
			return in
		}(), "", `failed: the model made 2 such calls, but the client sent it 3 times`},
		{"a fault in place of the tool", wired("pipe", struck("http_status")), "", "passed"},
		{"a fault before the tool", wired("pipe", struck("hang/before")), "", "passed"},
		{"a fault behind the tool", wired("pipe", struck("hang/after")), "", told},
		{"refused: unknown tool", wired("pipe", failing("-32602")), "", "passed"},
		{"refused: of another version", wired("pipe", failing("-32022")), "", "passed"},
		{"failed inside", wired("pipe", failing("-32603")), "", told},
		{"asked for more", wired("pipe", first(`3 < {"id":5,"result":{"resultType":"input_required"}}`)), "", "passed"},
		{"ended", wired("pipe", first(`3 < {"id":5,"result":{"resultType":"complete"}}`)), "", told},
		{"HTTP 503 with an answer", overHTTP(`3 < 503 | {"id":5,"error":{"code":1}}`), "", "passed"},
		{"HTTP 500 with an answer", overHTTP(`3 < 500 | {"id":5,"error":{"code":1}}`), "", told},
		{"HTTP 503", overHTTP(`3 < 503 | `), "", "passed"},
		{"HTTP 400", overHTTP(`3 < 400 | `), "", "passed"},
		{"HTTP 500", overHTTP(`3 < 500 | `), "", told},
		{"HTTP 503 from the client", overHTTP(`3 > 503 | `), "", told},
		{"HTTP 503 in another session", overHTTP(`3 < 503 | {"id":5,"error":{"code":1},"session":"p9"}`), "", told},
		{"HTTP 503 to another request", overHTTP(`3 < 503 | {"id":6,"error":{"code":1}}`), "", told},
		{"HTTP 503 to a later request", overHTTP(`3 > POST accept=x | {"id":6,"method":"tools/list"}`, `3 < 503 | `), "", told},
		{"HTTP 503 behind a request in another session", overHTTP(`3 > POST accept=x | {"id":6,"method":"tools/list","session":"p9"}`, `3 < 503 | `), "", "passed"},
		{"HTTP 503 behind news", overHTTP(`3 < {"method":"notifications/progress"}`, `3 < 503 | `), "", "passed"},
	} {
		tt.check = conduct.NoDoubleEffect
		tt.run(t)
	}
}

// TestSentTwiceToOneServer: a call of the same tool of another server was not
// meant.
func TestSentTwiceToOneServer(t *testing.T) {
	in := wired("pipe", append(polite(), strings.ReplaceAll(parisCall, `"id":5`, `"id":8`), `3 < {"id":8,"result":{"content":[]}}`))
	check(conduct.Config{}, in)
	other := in.Trajectory[0]
	for _, tt := range [][2]string{{"mail", "get"}, {"weather", "add"}} {
		other.Server, other.Tool = tt[0], tt[1]
		in := *in
		in.Trajectory = append(slices.Clone(in.Trajectory), other)
		if got := verdictAsJoined(conduct.Config{}, &in, conduct.NoDoubleEffect); !strings.HasPrefix(got, "failed: the model made 1 call of weather.get") {
			t.Errorf("beside a call of %s.%s no_double_effect is %s", tt[0], tt[1], got)
		}
	}
}

// TestUnknownNotifications is about what a client does after one.
func TestUnknownNotifications(t *testing.T) {
	const left = `failed: server "weather" sent the unknown notification notifications/weather/forecast, and the client then opened another session`
	const lost = `failed: server "weather" sent the unknown notification notifications/weather/forecast, and the result of call weather.get {"city": "Oslo"} (c2) that followed was lost`
	base := without(polite(), "3 ")
	const other = `3 > {"id":9,"method":"initialize","session":"p2"}`
	ignoring := func(lines []string, do ...func(*conduct.Input)) *conduct.Input {
		in := wired("pipe", lines)
		(*second(in))[4].Text = "error: unknown notification"
		for _, f := range do {
			f(in)
		}
		return in
	}
	for _, tt := range []wireTest{
		{"none", wired("pipe", without(polite(), "forecast")), "", "skipped: no server sent an unknown notification"},
		{"from the client", wired("pipe", instead(polite(), forecast, strings.Replace(forecast, "<", ">", 1))), "", "skipped: no server sent an unknown notification"},
		{"it went on", wired("pipe", polite()), "", "passed"},
		{"it did nothing more", wired("pipe", base), "", "passed"},
		{"it left for another session", wired("pipe", append(base, other)), "", left},
		{"it left for another session, and came back", wired("pipe", append(base, other, parisCall)), "", "passed"},
		{"it only answered in another session", wired("pipe", append(base, `3 > {"id":9,"result":{},"session":"p2"}`)), "", "passed"},
		{"the server ended the session", wired("pipe", append(base, `3 < end`, other)), "", "passed"},
		{"the server ended the session, and the other went on", wired("pipe", append(base, `3 < end`, other, `6 > {"id":10,"method":"ping","session":"p2"}`)), "", "passed"},
		{"the server ended the session at the very end", wired("pipe", append(append(base, other), `6 < end`)), "", left},
		{"two of them, told once", wired("pipe", append(put(base, forecast, forecast), other)), "", left},
		{"requests without sessions", wired("http", []string{`2 < 200 | {"method":"notifications/weather/forecast"}`, `3 > POST accept=x mcp-session-id=s9 | {"id":5,"method":"tools/list"}`}), "", "passed"},
		{"the result is lost", ignoring(polite()), "", lost},
		{"the result is lost, behind the notification", ignoring(put(without(polite(), "forecast"), parisCall, forecast)), "", "passed"},
		{"the result is lost, before the notification", ignoring(put(without(polite(), "forecast"), `{"id":4,"method"`, forecast)), "", "passed"},
		{"the result of another session is lost", ignoring(append(instead(polite(), forecast, `2 < {"method":"notifications/weather/forecast","session":"p2"}`), `3 > {"id":9,"method":"tools/list","session":"p2"}`)), "", "passed"},
		{"what is lost is no call", ignoring(instead(polite(), `{"id":4,"method":"tools/call"`, `{"id":4,"method":"tools/list"`)), "", "passed"},
		{"the result is lost to a fault", ignoring(instead(polite(), `{"id":4,"result"`, `{"fault":"huge","id":4,"result"`)), "", "passed"},
		{"the result of another tool", ignoring(instead(polite(), `"name":"get"`, `"name":"add"`)), "", "passed"},
		{"the call was not made", ignoring(polite(), func(in *conduct.Input) { in.Tools = in.Tools[1:] }), "", "passed"},
		{"nothing was answered", ignoring(polite(), func(in *conduct.Input) { *second(in) = (*second(in))[:4] }), "", "passed"},
		{"the call is of another server", ignoring(polite(), func(in *conduct.Input) {
			for i := range in.Frames {
				in.Frames[i].Server = "mail"
			}
		}), "", "passed"},
	} {
		tt.check = conduct.UnknownTolerated
		tt.run(t)
	}
}

// TestHeadersOfRequests is about what requests over HTTP must say of
// themselves.
func TestHeadersOfRequests(t *testing.T) {
	const none = "skipped: no server was reached over streamable HTTP"
	const both = "accept=application/json,text/event-stream"
	get := func(accept string) []string {
		return instead(politeHTTP(), "GET accept=text/event-stream", "GET "+accept)
	}
	post := func(accept string) []string {
		return instead(politeHTTP(), "accept=application/json,text/event-stream", accept)
	}
	initialize := func(head string) []string {
		return []string{`0 > POST ` + head + ` | {"id":2,"method":"initialize"}`}
	}
	modern := func(method, params, headers string) []string {
		return []string{`2 > POST ` + both + ` mcp-protocol-version=2026-07-28 ` + headers + ` | {"id":3,"method":"` + method + `","params":{` + params + `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`}
	}
	negotiated := func(lines ...string) []string {
		return append([]string{`0 > POST ` + both + ` | {"id":2,"method":"initialize"}`, `0 < 200 | {"id":2,"result":{"protocolVersion":"2025-11-25"},"session":"s9"}`}, lines...)
	}
	for _, tt := range []wireTest{
		{"over a pipe", wired("pipe", polite()), "", none},
		{"over another transport", wired("sse", initialize("accept=x")), "", none},
		{"of no request", wired("http", []string{`0 > {"id":2,"method":"initialize"}`}), "", none},
		{"initialize", wired("http", initialize(both)), "", "passed"},
		{"any type", wired("http", initialize("accept=*/*")), "", "passed"},
		{"any type of both kinds", wired("http", initialize("accept=application/*,text/*")), "", "passed"},
		{"one kind alone", wired("http", initialize("accept=text/*")), "", `failed: POST initialize to server "weather": the header accept is "text/*", but must name application/json and text/event-stream`},
		{"the other kind alone", wired("http", initialize("accept=application/*")), "", `failed: POST initialize to server "weather": the header accept is "application/*", but must name application/json and text/event-stream`},
		{"accept is not known", wired("http", post("")), "", "passed"},
		{"accept of GET", wired("http", get("accept=application/json")), "", `failed: GET to server "weather": the header accept is "application/json", but must name text/event-stream`},
		{"accept of GET is not known", wired("http", get("")), "", "passed"},
		{"accept of DELETE", wired("http", negotiated(`3 > DELETE accept=x mcp-session-id=s9 mcp-protocol-version=2025-11-25 | `)), "", "passed"},
		{"accept of a body that is no message", wired("http", negotiated(`3 > POST accept=x mcp-session-id=s9 mcp-protocol-version=2025-11-25 | `)), "", "passed"},
		{"a wrong accept alone", wired("http", []string{`3 > POST accept=x | {"id":3,"session":"-","method":"tools/list"}`}), "", `failed: POST tools/list to server "weather": the header accept is "x"`},
		{"a wrong accept of GET alone", wired("http", []string{`3 > GET accept=x | `}), "", `failed: GET to server "weather": the header accept is "x"`},
		{"a wrong accept twice, told once", wired("http", slices.Repeat(initialize("accept=x"), 2)), "", `failed: POST initialize to server "weather": the header accept is "x"`},
		{"wrong in two sessions", wired("http", append(initialize("accept=x"), `3 > POST accept=x mcp-session-id=s9 | {"id":3,"method":"tools/list"}`)), "", `failed: POST initialize to server "weather": the header accept is "x", but must name application/json and text/event-stream; POST tools/list to server "weather": the header accept is "x"`},
		{"before the version is known", wired("http", []string{`3 > POST ` + both + ` mcp-session-id=s9 | {"id":3,"method":"tools/list"}`}), "", none},
		{"initialized without the version", wired("http", negotiated(`0 > POST `+both+` mcp-session-id=s9 | {"method":"notifications/initialized"}`)), "", "passed"},
		{"initialized with another version", wired("http", negotiated(`0 > POST `+both+` mcp-session-id=s9 mcp-protocol-version=2025-06-18 | {"method":"notifications/initialized"}`)), "", `failed: POST notifications/initialized to server "weather": the header mcp-protocol-version is "2025-06-18", but the session has version 2025-11-25`},
		{"another notification without the version", wired("http", negotiated(`0 > POST `+both+` mcp-session-id=s9 | {"method":"notifications/roots/list_changed"}`)), "", `failed: POST notifications/roots/list_changed to server "weather": the header mcp-protocol-version is "", but the session has version 2025-11-25`},
		{"a version that another answer names", wired("http", []string{`0 > POST ` + both + ` mcp-session-id=s9 | {"id":2,"method":"tools/list"}`, `0 < 200 | {"id":2,"result":{"protocolVersion":"2025-11-25"}}`, `0 > POST ` + both + ` mcp-session-id=s9 | {"id":3,"method":"tools/list"}`}), "", none},
		{"a version that the client names", wired("http", []string{`0 > POST ` + both + ` mcp-session-id=s9 | {"id":2,"method":"initialize","result":{"protocolVersion":"2025-11-25"}}`, `0 > POST ` + both + ` mcp-session-id=s9 | {"id":3,"method":"tools/list"}`}), "", "passed"},
		{"modern: a call", wired("http", modern("tools/call", `"name":"get",`, "mcp-method=tools/call mcp-name=get")), "", "passed"},
		{"modern: a call without its name", wired("http", modern("tools/call", `"name":"get",`, "mcp-method=tools/call")), "", `failed: POST tools/call to server "weather": the header mcp-name is missing, want "get"`},
		{"modern: a prompt without its name", wired("http", modern("prompts/get", `"name":"p",`, "mcp-method=prompts/get")), "", `failed: POST prompts/get to server "weather": the header mcp-name is missing, want "p"`},
		{"modern: a resource without its name", wired("http", modern("resources/read", `"uri":"file:///a",`, "mcp-method=resources/read")), "", `failed: POST resources/read to server "weather": the header mcp-name is missing, want "file:///a"`},
		{"modern: a list needs no name", wired("http", modern("tools/list", `"name":"x",`, "mcp-method=tools/list")), "", "passed"},
		{"modern: over a pipe", wired("pipe", modern("tools/call", `"name":"get",`, "")), "", none},
	} {
		tt.check = conduct.VersionHeaders
		tt.run(t)
	}
}

// TestServerAsks is about what a server asks of the client.
func TestServerAsks(t *testing.T) {
	const none = "skipped: no server sent a request to the client"
	const missing = `failed: server "weather" sent ping, but the client never answered`
	asked := []string{`2 < {"id":"s1","method":"ping"}`}
	later := []string{`5 < {"id":"s1","method":"ping"}`} // behind the last model request
	for _, tt := range []wireTest{
		{"nothing", wired("pipe", without(polite(), `"s1"`)), "", none},
		{"answered", wired("pipe", append(asked, `2 > {"id":"s1","result":{}}`)), "", "passed"},
		{"answered at the end", wired("pipe", append(later, `5 > {"id":"s1","result":{}}`)), "", "passed"},
		{"refused", wired("pipe", append(asked, `2 > {"id":"s1","error":{"code":-32601}}`)), "", `failed: server "weather" sent a ping, but the client answered with error -32601`},
		{"never answered", wired("pipe", asked), "", missing},
		{"never answered, at the end", wired("pipe", later), "", none},
		{"never answered, at the end, and asked on", wired("pipe", append(later, `5 > {"id":7,"method":"tools/list"}`)), "", missing},
		{"never answered, at the end, and told on", wired("pipe", append(later, `5 > {"method":"notifications/cancelled"}`)), "", none},
		{"never answered, at the end, and asked on in another session", wired("pipe", append(later, `5 > {"id":7,"method":"tools/list","session":"p2"}`)), "", none},
		{"never answered, at the end, and the server asked on", wired("pipe", append(later, `5 < {"id":"s1","method":"tools/list"}`)), "", none},
		{"another answered", wired("pipe", append(asked, `2 > {"id":"s2","result":{}}`)), "", missing},
		{"answered in another session", wired("pipe", append(asked, `2 > {"id":"s1","result":{},"session":"p2"}`)), "", missing},
		{"answered by the server", wired("pipe", append(asked, `2 < {"id":"s1","result":{}}`)), "", missing},
		{"a request under its id", wired("pipe", append(asked, `2 > {"id":"s1","method":"tools/list"}`)), "", missing},
		{"answered twice, at first well", wired("pipe", append(asked, `2 > {"id":"s1","result":{}}`, `2 > {"id":"s1","error":{"code":-32601}}`)), "", "passed"},
		{"the server left", wired("pipe", append(asked, `2 < end`)), "", none},
		{"the server left behind the last model request", wired("pipe", append(asked, `5 < end`)), "", missing},
		{"the client asks", wired("pipe", []string{`2 > {"id":9,"method":"ping"}`}), "", none},
	} {
		tt.check = conduct.ServerAnswered
		tt.run(t)
	}
}

// TestBeginningOfSessions is about what comes before a session is open.
func TestBeginningOfSessions(t *testing.T) {
	const none = "skipped: no client with initialize connected"
	const list = `0 > {"id":3,"method":"tools/list"}`
	opened := []string{`0 > {"id":2,"method":"initialize"}`, `0 < {"id":2,"result":{"protocolVersion":"2025-11-25"}}`}
	const initialized = `0 > {"method":"notifications/initialized"}`
	for _, tt := range []wireTest{
		{"modern requests alone", wired("http", politeModern()), "", none},
		{"a ping alone", wired("pipe", []string{`0 > {"id":3,"method":"ping"}`}), "", none},
		{"discovery alone", wired("pipe", []string{`0 > {"id":3,"method":"server/discover"}`}), "", none},
		{"initialize alone", wired("pipe", opened[:1]), "", "passed"},
		{"in order", wired("pipe", append(slices.Clone(opened), initialized, list)), "", "passed"},
		{"initialize as the first frame, answered at once", wired("pipe", append(slices.Clone(opened), initialized, list, list)), "", "passed"},
		{"nothing but a request", wired("pipe", []string{list}), "", `failed: tools/list to server "weather" came before initialize`},
		{"told once a session", wired("pipe", []string{list, list}), "", `failed: tools/list to server "weather" came before initialize`},
		{"not answered", wired("pipe", []string{opened[0], initialized, list}), "", `failed: tools/list to server "weather" came before initialize was answered`},
		{"answered later", wired("pipe", []string{opened[0], initialized, list, opened[1]}), "", `failed: tools/list to server "weather" came before initialize was answered`},
		{"an answer to nobody", wired("pipe", []string{opened[0], `0 < {"id":99,"result":{}}`, initialized, list}), "", `failed: tools/list to server "weather" came before initialize was answered`},
		{"not initialized", wired("pipe", append(slices.Clone(opened), list)), "", `failed: tools/list to server "weather" came before notifications/initialized`},
		{"initialized by the server", wired("pipe", append(slices.Clone(opened), strings.Replace(initialized, ">", "<", 1), list)), "", `failed: tools/list to server "weather" came before notifications/initialized`},
		{"in two sessions, one wrong", wired("pipe", append(slices.Clone(opened), initialized, list, `0 > {"id":4,"method":"tools/list","session":"p2"}`)), "", `failed: tools/list to server "weather" came before initialize`},
		{"a session that the answer names", wired("http", politeHTTP()[2:8]), "", "passed"},
	} {
		tt.check = conduct.InitializeFirst
		tt.run(t)
	}
	// What another session has begun is nothing to this one.
	in := wired("pipe", []string{`0 > {"id":1,"method":"ping"}`, `0 > {"id":2,"method":"initialize","session":"p2"}`, list})
	if got, want := verdictOf(conduct.Config{}, in, conduct.InitializeFirst), `failed: tools/list to server "weather" came before initialize`; got != want {
		t.Errorf("beside a session that is not answered initialize_first is %s, want %s", got, want)
	}
}

// TestProgressTokens: a token is needed where a tool tells of its progress, and
// nowhere else.
func TestProgressTokens(t *testing.T) {
	const none = "skipped: no tool that reports progress was called"
	bare := strings.Replace(parisCall, `,"_meta":{"progressToken":5}`, "", 1)
	for _, tt := range []wireTest{
		{"no call", wired("pipe", polite()[:7]), "", none},
		{"with a token", wired("pipe", []string{parisCall}), "", "passed"},
		{"without one", wired("pipe", []string{bare}), "", "failed: tools/call of weather.get has no progressToken, so the server could not report its progress"},
		{"another tool", wired("pipe", []string{strings.Replace(bare, `"get"`, `"add"`, 1)}), "", none},
		{"another method", wired("pipe", []string{strings.Replace(bare, "tools/call", "prompts/get", 1)}), "", none},
	} {
		tt.check = conduct.ProgressToken
		tt.run(t)
	}
}

// TestServersApart: what one server says is no answer to what another asked.
func TestServersApart(t *testing.T) {
	in := wired("pipe", polite())
	for _, f := range slices.Clone(in.Frames) {
		if f.Server = "mail"; string(f.ID) != "4" || f.In {
			in.Frames = append(in.Frames, f)
		}
	}
	in.Frames = slices.DeleteFunc(in.Frames, func(f jsonrpc.Frame) bool { return f.Server == "mail" && f.Kind == jsonrpc.FrameEnd })
	if got, want := verdictOf(conduct.Config{}, in, conduct.CancelledSent), "failed: tools/call of mail.get got no answer"; !strings.HasPrefix(got, want) {
		t.Errorf("cancelled_sent is %s, want %s", got, want)
	}
}

// TestFramesGone: a log that lost its oldest frames judges nobody; another
// server's does.
func TestFramesGone(t *testing.T) {
	in := wired("pipe", polite())
	in.Frames = in.Frames[3:]
	const want = `skipped: the log of server "weather" no longer has its first 3 frames`
	if got := verdictOf(conduct.Config{}, in, conduct.InitializeFirst); got != want {
		t.Errorf("initialize_first is %s, want %s", got, want)
	}
	for _, f := range wired("pipe", from(polite(), `"tools/call"`)).Frames {
		f.Server = "mail"
		in.Frames = append(in.Frames, f)
	}
	if got, want := verdictOf(conduct.Config{}, in, conduct.InitializeFirst), "failed: tools/call of mail.get came before initialize"; !strings.HasPrefix(got, want) {
		t.Errorf("initialize_first is %s, want %s", got, want)
	}
}
