// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockserver

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/look"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/toolname"
	"github.com/rehearse-dev/rehearse/internal/trajectory"
	"github.com/rehearse-dev/rehearse/reports"
)

// fact adds a fact that is not empty.
func (e *entry) fact(name, text string) {
	if text != "" {
		e.Facts = append(e.Facts, fact{name, line(text, 400)})
	}
}

// text adds a text that is not empty.
func (e *entry) text(name, text string) {
	if text != "" {
		e.Texts = append(e.Texts, fact{name, look.Clean(prose.Shorten(text, maxText))})
	}
}

// unsent says why the client was not told a result.
func unsent(fault string) string {
	if fault != "" {
		return "no: the fault kept it back, or the client had given up"
	}
	return "no: the client had given up, or the call is under way"
}

// line is a text in one line.
func line(text string, most int) string {
	return strings.Join(strings.Fields(look.Clean(prose.Shorten(text, most))), " ")
}

// last are the last entries of a list, as many as the page shows.
func last[T any](list []T) []T { return list[max(0, len(list)-maxRows):] }

// modelEntries are the exchanges of a conversation with a mock model.
func modelEntries(id string, journal []harness.Exchange) []entry {
	var out []entry
	for _, x := range last(journal) {
		e := entry{ID: id, Kind: "exchange", Seq: x.Seq, At: x.Start, Word: string(x.Kind), Fault: x.Fault, Again: true}
		why := "What went wrong"
		switch {
		case x.Kind == harness.KindMiss:
			why = "Why no reply answered it"
			e.Class = "failed"
		case x.Kind == harness.KindRefusal:
			why = "Why the endpoint would refuse it"
			e.Class = "failed"
		case x.Error != "" || x.Fault != "" || !x.Delivered:
			e.Class = "error"
		case x.Kind.Outside() || x.Stray:
			e.Class = "skipped"
		default:
			e.Class = "passed"
		}
		e.Open = x.Error != ""
		asked := ""
		if n := len(x.Request.Messages); n > 0 {
			asked = said(x.Request.Messages[n-1])
		}
		answer := said(x.Answer)
		e.Short = line(cmp.Or(asked, x.Path), 200)
		if answer != "" {
			e.Short += " → " + line(answer, 200)
		}
		if x.Turn > 0 {
			e.fact("Reply", fmt.Sprintf("turn %d, reply %d", x.Turn, x.Reply))
		}
		e.fact("Written at", x.Pos.String())
		e.fact("Fault", x.Fault)
		e.fact("Status", fmt.Sprint(x.Status))
		if x.Attempt > 1 {
			e.fact("Attempt", fmt.Sprint(x.Attempt))
		}
		if x.RetryAfter > 0 {
			e.fact("Asks to wait", x.RetryAfter.String())
		}
		if !x.Delivered && x.Error == "" {
			e.fact("Delivered", "not whole")
		}
		if x.Repeated {
			e.fact("Repeated", "equal to a request that was answered")
		}
		e.fact("Lane", x.Lane)
		e.fact("Model", x.Request.Model)
		e.fact("Path", x.Path)
		e.fact("Took", x.Duration.Round(100*time.Microsecond).String())
		e.text(why, x.Error)
		messages := x.Request.Messages
		const most = 6
		if n := len(messages) - most; n > 0 {
			e.fact("Not shown", prose.Count(n, "message")+" before these")
		}
		for _, m := range messages[max(0, len(messages)-most):] {
			e.text("Request: "+string(m.Role), said(m))
		}
		e.text("Answer", answer)
		out = append(out, e)
	}
	return out
}

// said is a message as one text.
func said(m harness.Message) string {
	parts := []string{m.Text, m.Refusal}
	for _, c := range m.Calls {
		parts = append(parts, c.Name+" "+c.Arguments)
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n")
}

// serverEntries are the calls and frames of a conversation with a mock MCP
// server.
func serverEntries(id string, calls []harness.ToolExchange, frames []jsonrpc.Frame) []entry {
	var out []entry
	for _, x := range last(calls) {
		e := entry{ID: id, Kind: "call", Seq: x.Seq, At: x.Start, Class: "passed", Word: "call", Fault: x.Fault}
		wrong := cmp.Or(x.Miss, x.ScriptError)
		switch {
		case x.Miss != "":
			e.Class, e.Word = "failed", "miss"
		case x.ScriptError != "" || x.Fault != "" || x.Unsent:
			e.Class = "error"
		}
		e.Open = wrong != ""
		result := cmp.Or(x.Text, string(x.Result))
		if x.RPCError != nil {
			result = fmt.Sprintf("error %d: %s", x.RPCError.Code, x.RPCError.Message)
		}
		e.Short = line(x.Tool+" "+string(x.Args), 200)
		if result != "" {
			e.Short += " → " + line(result, 200)
		}
		e.fact("Server", x.Server)
		e.fact("Fault", x.Fault)
		if x.Unsent {
			e.fact("Sent", unsent(x.Fault))
		}
		if x.Failed {
			e.fact("Result", "an error")
		}
		e.fact("Written at", x.ScriptPos.String())
		e.fact("Took", x.Duration.Round(100*time.Microsecond).String())
		if x.Miss != "" {
			e.text("Why no result fits it", wrong)
		} else {
			e.text("What went wrong", wrong)
		}
		e.text("Arguments", string(x.Args))
		e.text("Result", result)
		out = append(out, e)
	}
	for _, f := range last(frames) {
		e := entry{ID: id, Kind: "frame", Seq: f.Seq, At: f.Time, Class: "skipped", Word: "frame", Fault: f.Fault}
		if f.Fault != "" {
			e.Class = "error"
		}
		way := "out"
		if f.In {
			way = "in"
		}
		e.Short = line(strings.Join([]string{way + ":", string(f.Kind), f.Method, f.HTTP, f.Body}, " "), 300)
		e.fact("Fault", f.Fault)
		e.fact("Session", f.Session)
		e.fact("Transport", f.Transport)
		e.fact("HTTP", f.HTTP)
		e.text("Body", f.Body)
		out = append(out, e)
	}
	return out
}

// serveScenario answers with the last conversation of a journal as a scenario.
func (s *Server) serveScenario(w http.ResponseWriter, _ *http.Request, t target) {
	ids, list := s.conversations()
	i := slices.Index(ids, t.id)
	if i < 0 {
		noConversation(w, t.id, ids)
		return
	}
	text := retold(cmp.Or(t.id, "conversation"), list[i].Journal(), list[i].Called())
	if text == "" {
		writeError(w, http.StatusNotFound, fmt.Errorf("no user has said anything in the conversation %q, so it makes no scenario", t.id))
		return
	}
	w.Header().Set("Content-Type", "application/yaml")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write([]byte(text)) // the client is gone
}

// retold writes what happened as a scenario. A turn that nothing answered is
// one without replies. called are the tools that the script called as
// server.tool, by offered name.
func retold(name string, journal []harness.Exchange, called map[string]string) string {
	var t telling
	for _, x := range journal {
		t.add(x)
	}
	trial := &reports.Trial{Record: trials.Record{Key: trials.Key{Scenario: name}}}
	trial.Trajectory = trajectory.Join(t.list, nil, func(offered string) (string, string, bool) {
		server, tool := toolname.Split(called[offered])
		return server, tool, server != ""
	})
	trial.Witness = &trials.Detail{Transcript: &harness.Transcript{Turns: t.turns}, Exchanges: trajectory.Replies(t.list, nil)}
	return reports.AsScenario(trial)
}

// telling finds the turns of the last conversation in a journal. Those that the
// script knows are taken as it has them; what rules answer, or nothing, has the
// turns of its user messages.
type telling struct {
	turns  []harness.TurnReport
	list   []harness.Exchange // with the numbers of those turns
	script int                // the turn by the script, 0 when it has none
	first  string             // what the user said first
	users  int                // messages of the user so far
}

func (t *telling) add(x harness.Exchange) {
	var users []string
	for _, m := range x.Request.Messages {
		if m.Role == harness.RoleUser {
			users = append(users, m.Text)
		}
	}
	if len(users) == 0 || x.Lane != "" || x.Stray || x.Kind.Outside() || x.Kind == harness.KindRefusal {
		return
	}
	if x.Turn == 0 && (len(users) < t.users || users[0] != t.first) {
		*t = telling{} // somebody else speaks
	}
	began := len(t.turns) == 0 || len(users) > t.users
	if x.Turn > 0 && t.script > 0 {
		began = x.Turn != t.script
	}
	if began {
		t.turns = append(t.turns, harness.TurnReport{User: users[len(users)-1]})
		t.script = 0
	}
	t.script, t.first, t.users = max(t.script, x.Turn), users[0], len(users)
	x.Turn = len(t.turns)
	t.list = append(t.list, x)
}
