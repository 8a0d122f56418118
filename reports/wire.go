// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
)

type (
	// fallView is a line of the waterfall of a trial: a model call or a tool
	// call, where it stands in the time of the trial.
	fallView struct {
		Label, Class, Words string
		Bars                []fallBar
	}
	fallBar struct{ Class, X, W string }
	// frameView is one message on the wire of an MCP server.
	frameView struct {
		At, Way, What, Server string
		Body                  textView
	}
	// framesView are the messages of MCP servers.
	framesView struct {
		Words string
		List  []frameView
	}
	// rawView is a request to an endpoint with its answer, as they were on the
	// wire.
	rawView struct {
		At, Words string
		Parts     []namedText
	}
)

// maxFall is how many lines a waterfall has.
const maxFall = 60

// span is a piece of the time of a trial.
type span struct {
	label, class string
	bad          bool
	start        time.Time
	took         time.Duration
}

// fall is the waterfall of a trial; nil where no times were recorded.
func fall(t *Trial) []fallView {
	if t.Witness == nil {
		return nil
	}
	var list []span
	calls := 0
	for i := range t.Witness.Exchanges {
		x := &t.Witness.Exchanges[i]
		if x.Start.IsZero() {
			continue
		}
		s := span{label: oneLine(string(x.Kind), 40), class: "model", start: x.Start, took: x.Duration, bad: x.Error != "" || x.Fault != "" || x.Status >= 400}
		if !x.Kind.Outside() {
			calls++
			s.label = fmt.Sprintf("Model call %d", calls)
		}
		list = append(list, s)
	}
	for i := range t.Witness.Tools {
		x := &t.Witness.Tools[i]
		if !x.Start.IsZero() {
			list = append(list, span{oneLine(x.Server+"."+x.Tool, 60), "tool", x.Failed, x.Start, x.Duration})
		}
	}
	if len(list) < 2 {
		return nil
	}
	slices.SortStableFunc(list, func(a, b span) int { return a.start.Compare(b.start) })
	begin, end := list[0].start, list[0].start
	for _, s := range list {
		if e := s.start.Add(s.took); e.After(end) {
			end = e
		}
	}
	whole := float64(max(end.Sub(begin), 1))
	var out []fallView
	for i, s := range list {
		if i == maxFall {
			out = append(out, fallView{Label: fmt.Sprintf("and %d more", len(list)-i)})
			break
		}
		at := s.start.Sub(begin)
		v := fallView{Label: s.label, Class: s.class, Words: fmt.Sprintf("%s, after %s", durationText(s.took), durationText(at))}
		class := s.class
		if s.bad {
			class += " bad"
			v.Words += ", failed"
		}
		x := 100 * float64(at) / whole
		v.Bars = []fallBar{{class, fmt.Sprintf("%.2f", min(x, 99.6)), fmt.Sprintf("%.2f", max(0.4, 100*float64(s.took)/whole))}}
		out = append(out, v)
	}
	return out
}

// wire is a request as it came: path, headers, body.
func (b *pageBuilder) wire(x *harness.Exchange) []namedText {
	var out []namedText
	if len(x.Headers) > 0 || x.Path != "" {
		var lines []string
		if x.Path != "" {
			lines = append(lines, "POST "+x.Path)
		}
		for _, name := range slices.Sorted(maps.Keys(x.Headers)) {
			lines = append(lines, name+": "+x.Headers[name])
		}
		out = append(out, namedText{"Request", b.text(strings.Join(lines, "\n"))})
	}
	if len(x.Body) > 0 {
		out = append(out, namedText{"Body", b.text(prettyJSON(x.Body))})
	}
	return out
}

// raw are the requests and answers of a run that kept them.
func (b *pageBuilder) raw(t *Trial) (out []rawView) {
	if t.Witness == nil {
		return nil
	}
	part := func(name, body string, size int) namedText {
		if size > len(body) {
			name += fmt.Sprintf(", the beginning of %s", bytesText(size))
		}
		return namedText{name, b.text(body)}
	}
	lines := func(first string, headers map[string]string) string {
		list := []string{first}
		for _, name := range slices.Sorted(maps.Keys(headers)) {
			list = append(list, name+": "+headers[name])
		}
		return strings.Join(list, "\n")
	}
	for i := range t.Witness.Wire {
		x := &t.Witness.Wire[i]
		v := rawView{At: since(t.Start, x.Start), Words: oneLine(x.Method+" "+x.Path, 200)}
		v.Parts = append(v.Parts, namedText{"Request", b.text(lines(x.Method+" "+x.Path, x.Headers))})
		if x.Body != "" {
			v.Parts = append(v.Parts, part("Body", x.Body, x.BodySize))
		}
		if x.Status > 0 {
			v.Words += fmt.Sprintf(": %d, %s", x.Status, bytesText(x.AnswerSize))
			v.Parts = append(v.Parts, namedText{"Answer", b.text(lines(fmt.Sprintf("HTTP %d", x.Status), x.AnswerHeaders))})
		}
		if x.Answer != "" {
			v.Parts = append(v.Parts, part("Body of the answer", x.Answer, x.AnswerSize))
		}
		out = append(out, v)
	}
	return out
}

// frames are the messages of MCP servers: of a run that kept them all there
// were, else the calls as the journal has them.
func (b *pageBuilder) frames(t *Trial) *framesView {
	if t.Witness == nil {
		return nil
	}
	v := &framesView{Words: "MCP messages: tools/call as the servers had them", List: b.calls(t)}
	if len(t.Witness.Frames) > 0 {
		v.Words, v.List = fmt.Sprintf("MCP messages as they were on the wire: %d", len(t.Witness.Frames)), nil
	}
	for i := range t.Witness.Frames {
		f := &t.Witness.Frames[i]
		what := strings.TrimSpace(strings.Join([]string{string(f.Kind), f.Method, f.HTTP}, " "))
		if f.Fault != "" {
			what += ", fault " + f.Fault
		}
		way := "from"
		if f.In {
			way = "to"
		}
		v.List = append(v.List, frameView{since(t.Start, f.Time), way, oneLine(what, 120), oneLine(f.Server, 80), b.text(f.Body)})
	}
	if len(v.List) == 0 {
		return nil
	}
	return v
}

// calls are the calls as the MCP servers had them: what came, and the result
// or the error that went back.
func (b *pageBuilder) calls(t *Trial) []frameView {
	var out []frameView
	begin := t.Start
	for i := range t.Witness.Tools {
		x := &t.Witness.Tools[i]
		params := map[string]any{"name": x.Tool}
		if len(x.Args) > 0 {
			params["arguments"] = x.Args
		}
		out = append(out, frameView{since(begin, x.Start), "to", "tools/call", oneLine(x.Server, 80), b.json(map[string]any{"method": "tools/call", "params": params})})
		answer := frameView{At: since(begin, x.Start.Add(x.Duration)), Way: "from", What: "result", Server: oneLine(x.Server, 80)}
		switch {
		case x.Unsent:
			answer.What = "nothing: the client had given up"
			if x.Fault != "" {
				answer.What = "nothing: a fault kept the answer back, or the client had given up"
			}
		case x.RPCError != nil:
			answer.What, answer.Body = "error", b.json(map[string]any{"error": x.RPCError})
		case len(x.Content) > 0:
			answer.Body = b.json(map[string]any{"result": x.Content})
		default:
			answer.Body = b.text(prettyJSON(x.Result))
		}
		out = append(out, answer)
	}
	return out
}

// json is a value as indented JSON.
func (b *pageBuilder) json(v any) textView {
	data, err := json.Marshal(v)
	if err != nil {
		return b.text(err.Error()) // a recorded value that is no JSON
	}
	return b.text(prettyJSON(data))
}

// since is when something was, from the beginning of the trial.
func since(begin, at time.Time) string {
	if begin.IsZero() || at.Before(begin) || at.Sub(begin) > 100*24*time.Hour {
		return ""
	}
	return "+" + durationText(at.Sub(begin))
}
