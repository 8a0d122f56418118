// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package capture

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/schema"
	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/internal/vcr"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// Chat is a conversation that rehearse's own agent had and that nothing recorded.
// In the scenario of it the model says what it said, and mock servers return what
// the real ones did.
type Chat struct {
	// Path is where the scenario is to be: it has the name of the file.
	Path     string
	System   string
	Messages []harness.Message
	Calls    []harness.ReportedCall
	Offered  []harness.Tool
	Secrets  *redact.Redactor
}

// longestResult is what rehearse's agent gives a model of a result without
// shortening it, less what it may write before an error. The conversation has a
// longer one as it was shortened, which is longer than the limit itself.
const longestResult = 100_000 - 100

// longestScenario is what a file of scenarios may have.
const longestScenario = 8 << 20

// File is the scenario. notes say what a reader should know of what is not in it.
// There is none where no turn has an answer.
func (c *Chat) File() (data []byte, notes []string, err error) {
	clean := *c
	taken, err := clean.withoutKeys()
	if err != nil {
		return nil, nil, fmt.Errorf("writing %s: %w", c.Path, err)
	}
	w, err := clean.fitting(clean.turns())
	if err != nil {
		return nil, nil, err
	}
	if taken > 0 {
		w.note("%s not written: the file has REDACTED-... in the place of each", prose.CountOf(taken, "key is", "keys are"))
	}
	return w.data, w.notes, nil
}

// withoutKeys takes keys out of the conversation by the rules of recordings, and
// returns how many there were. The texts pass as one document, since what is
// secret in one of them is so in the others.
func (c *Chat) withoutKeys() (taken int, err error) {
	c.Messages = append([]harness.Message(nil), c.Messages...)
	c.Calls = append([]harness.ReportedCall(nil), c.Calls...)
	c.Offered = append([]harness.Tool(nil), c.Offered...)
	schemas := make([]string, len(c.Offered))
	parts := []*string{&c.System}
	for i := range c.Messages {
		m := &c.Messages[i]
		parts = append(parts, &m.Text)
		m.Calls = append([]harness.ToolCall(nil), m.Calls...)
		for k := range m.Calls {
			parts = append(parts, &m.Calls[k].Arguments)
		}
	}
	for i := range c.Calls {
		parts = append(parts, &c.Calls[i].Arguments, &c.Calls[i].Result)
	}
	for i := range c.Offered {
		schemas[i] = string(c.Offered[i].Schema)
		parts = append(parts, &c.Offered[i].Description, &schemas[i])
	}
	type part struct {
		Text string `json:"text"`
	}
	doc := make([]part, len(parts))
	for i, text := range parts {
		doc[i].Text = strings.ToValidUTF8(*text, "\ufffd")
	}
	body, err := json.Marshal(doc)
	if err != nil {
		return 0, err
	}
	kept := c.Secrets.Interaction(&vcr.Interaction{Response: vcr.Response{Header: map[string][]string{"Content-Type": {"application/json"}}, Body: body}}).Response.Body
	var clean []part
	if err := json.Unmarshal(kept, &clean); err != nil || len(clean) != len(parts) {
		return 0, errors.Join(errors.New("the conversation without its keys cannot be read; please report this"), err)
	}
	marks := map[string]bool{}
	for i, text := range parts {
		if clean[i].Text == doc[i].Text {
			continue
		}
		*text = clean[i].Text
		_, found := redact.Split(clean[i].Text)
		for _, m := range found {
			if !strings.Contains(doc[i].Text, m) {
				marks[m] = true
			}
		}
	}
	for i := range c.Offered {
		c.Offered[i].Schema = json.RawMessage(schemas[i])
	}
	return len(marks), nil
}

// turns are the messages of each turn, that of the user first.
func (c *Chat) turns() (out [][]harness.Message) {
	for _, m := range c.Messages {
		switch {
		case m.Role == harness.RoleUser:
			out = append(out, []harness.Message{m})
		case len(out) > 0:
			out[len(out)-1] = append(out[len(out)-1], m)
		}
	}
	return out
}

// fitting writes as much of the turns as can be loaded: all of them if it can, then
// without the schemas of tools, which servers write as they like, then without the
// turns that are why. A file that does not load is worth less than one that lacks
// something and says so.
func (c *Chat) fitting(turns [][]harness.Message) (*chatWriter, error) {
	w, err := c.written(turns, true)
	if err == nil || len(w.s.Turns) == 0 {
		return w, err
	}
	why := err
	if w, err = c.written(turns, false); err == nil {
		w.note("the schemas of the tools are left out, since a scenario cannot have them: %v", why)
		return w, nil
	}
	var kept [][]harness.Message
	var left []string
	for _, turn := range turns {
		if w, err := c.written(append(kept[:len(kept):len(kept)], turn), false); err != nil && len(w.s.Turns) > 0 {
			left = append(left, fmt.Sprintf("the message %q is left out with its answer: %v", oneLine(turn[0].Text), err))
			continue
		}
		kept = append(kept, turn)
	}
	if len(kept) == 0 {
		return w, why
	}
	w, err = c.written(kept, false)
	w.notes = append(w.notes, left...)
	return w, err
}

// written is a file of turns. The error says why it does not load; there is always
// a writer.
func (c *Chat) written(turns [][]harness.Message, schemas bool) (w *chatWriter, err error) {
	for most := longestResult; ; most /= 4 {
		w = newChatWriter(c, schemas, most)
		for _, turn := range turns {
			w.add(turn)
		}
		if len(w.s.Turns) == 0 {
			return w, errors.New("there is no turn with an answer to save")
		}
		if w.data, err = Encode("", w.s); err != nil {
			return w, fmt.Errorf("writing %s: %w", c.Path, err)
		}
		if len(w.data) <= longestScenario || most < 1000 {
			break
		}
	}
	if found := c.Secrets.Secret(w.data); found != nil {
		return w, fmt.Errorf("line %d has something that looks like a secret (%s)", found.Line, found.Rule)
	}
	_, err = scenarios.Parse(c.Path, w.data, &scenarios.Options{Offline: true})
	return w, err
}

// chatWriter makes a scenario of messages.
type chatWriter struct {
	s       *Scenario
	data    []byte
	schemas bool
	most    int                               // bytes of a result
	calls   map[string][]harness.ReportedCall // those to come, by id, name and arguments: an id may come again
	offered map[string]harness.Tool
	servers map[string]string // names in the scenario, by those of the chat
	tools   map[string]*savedTool
	notes   []string
}

func newChatWriter(c *Chat, schemas bool, most int) *chatWriter {
	name := strings.TrimSuffix(filepath.Base(c.Path), filepath.Ext(c.Path))
	if name == "" {
		name = filepath.Base(c.Path)
	}
	w := &chatWriter{
		s: &Scenario{Scenario: name, Servers: map[string]*Server{}}, schemas: schemas, most: most,
		calls: map[string][]harness.ReportedCall{}, offered: map[string]harness.Tool{}, servers: map[string]string{},
		tools: map[string]*savedTool{},
	}
	if c.System != "" {
		w.s.Model = &Model{System: Literal(c.System)}
	}
	for _, call := range c.Calls {
		key := callKey(call.ID, call.Tool, call.Arguments)
		w.calls[key] = append(w.calls[key], call)
	}
	for _, t := range c.Offered {
		w.offered[t.Name] = t
	}
	return w
}

func callKey(id, tool, args string) string { return id + "\x00" + tool + "\x00" + args }

// reported is a call as it went.
func (w *chatWriter) reported(c harness.ToolCall) (made harness.ReportedCall) {
	key := callKey(c.ID, c.Name, c.Arguments)
	if list := w.calls[key]; len(list) > 0 {
		made, w.calls[key] = list[0], list[1:]
	}
	return made
}

func (w *chatWriter) note(format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf(format, args...))
}

// add takes a turn. One without an answer is left out, and so are its calls.
func (w *chatWriter) add(turn []harness.Message) {
	last := turn[len(turn)-1]
	if last.Role != harness.RoleAssistant || strings.TrimSpace(last.Text) == "" || len(last.Calls) > 0 {
		w.note("the message %q is left out: it has no answer", oneLine(turn[0].Text))
		for _, m := range turn {
			for _, c := range m.Calls {
				w.reported(c)
			}
		}
		return
	}
	t := &Turn{User: Literal(turn[0].Text)}
	calls := []any{}
	for i, m := range turn {
		if m.Role != harness.RoleAssistant {
			continue
		}
		reply := &Reply{Say: Literal(m.Text)}
		var made []*Called
		for _, c := range m.Calls {
			if call := w.call(c); call != nil {
				made = append(made, call)
				args, _ := Arguments(call.Arguments) // they have been read
				calls = append(calls, map[string]any{call.Name: args})
			}
		}
		reply.add(made)
		if len(reply.Calls) == 0 && i < len(turn)-1 { // it would end the turn
			if m.Text != "" {
				w.note("the text %q is left out: none of the calls beside it can be saved", oneLine(m.Text))
			}
			continue
		}
		t.Replies = append(t.Replies, reply)
	}
	t.Expect = []map[string]any{{"calls": calls}, {"answer": map[string]any{"equals": Literal(last.Text)}}}
	w.s.Turns = append(w.s.Turns, t)
}

// call enters the result of a call at its server. It is nil for a call that a
// scenario cannot have.
func (w *chatWriter) call(c harness.ToolCall) *Called {
	made := w.reported(c)
	_, known := w.offered[c.Name]
	out := &Called{Name: c.Name, sent: c.Name, Arguments: strings.TrimSpace(c.Arguments), unoffered: made.Server == "" && !known}
	if out.Arguments == "" || out.Arguments == "null" {
		out.Arguments = "{}"
	}
	why := out.hindrance()
	if why == "" && made.Server == "" && known {
		why = "it reached no server"
	}
	if why != "" {
		w.note("the call of %s with %s is left out: %s", c.Name, oneLine(c.Arguments), why)
		return nil
	}
	if out.unoffered {
		return out
	}
	v, _ := value.Parse([]byte(out.Arguments)) // it has been read
	tool := w.tool(c.Name, made.Server)
	out.Name = w.serverName(made.Server) + "." + c.Name
	if tool.schema != nil && made.Error == "" && tool.schema.Validate(v) != nil {
		w.note("the schema of %s is left out: it does not allow %s, which the server answered", c.Name, oneLine(c.Arguments))
		tool.schema, tool.Input = nil, nil
	}
	for _, known := range tool.known {
		if value.EqualFunc(known.args, v, spelledAlike) {
			if known.result != made.Result {
				w.note("%s returned different results for %s: the first one is kept", c.Name, oneLine(c.Arguments))
			}
			return out
		}
	}
	tool.known = append(tool.known, knownResult{v, made.Result})
	tool.Results = append(tool.Results, w.result(c.Name, out.Arguments, made))
	return out
}

// oneLine is a text in one line, cut to what a note has room for.
func oneLine(text string) string { return prose.OneLine(text, 60) }

// spelledAlike compares scalars as $literal does.
func spelledAlike(a, b value.Value) bool { return value.Equal(a, b) && a.Num() == b.Num() }

// savedTool is a tool of a mock.
type savedTool struct {
	*Tool
	schema *schema.Schema // nil for none
	known  []knownResult
}

// knownResult is what the model was told of a call.
type knownResult struct {
	args   value.Value
	result string
}

// result is what the mock answers.
func (w *chatWriter) result(tool, args string, made harness.ReportedCall) *Result {
	failed := made.Error != ""
	said := made.Result
	if failed {
		said = strings.TrimPrefix(said, mcpwire.ErrorMark)
	}
	if len(said) > w.most {
		head, tail, left := prose.Ends(said, w.most*3/4, w.most/5)
		short := fmt.Sprintf("%s\n[... %d bytes are not saved ...]\n%s", head, left, tail)
		w.note("the result of %s for %s has %d bytes: %d of its beginning and %d of its end are saved", tool, oneLine(args), len(said), len(head), len(tail))
		said = short
	}
	said = Literal(said)
	n, _ := Decoded(args) // it has been read
	r := &Result{Args: map[string]any{"$literal": n}}
	if failed {
		r.Error = &said
	} else {
		r.Text = &said
	}
	return r
}

// tool is a tool in the scenario, by its offered name.
func (w *chatWriter) tool(name, server string) *savedTool {
	if tool := w.tools[name]; tool != nil {
		return tool
	}
	tool := &savedTool{Tool: &Tool{Name: name, Description: w.offered[name].Description}}
	if v, err := value.Parse(w.offered[name].Schema); err == nil && w.schemas {
		tool.Input, _ = Decoded(v.String()) // it has been read
		tool.schema, _ = schema.Compile(v)  // a broken schema refuses nothing
	}
	w.tools[name] = tool
	of := w.serverName(server)
	if w.s.Servers[of] == nil {
		w.s.Servers[of] = new(Server)
	}
	w.s.Servers[of].Tools = append(w.s.Servers[of].Tools, tool.Tool)
	return tool
}

// serverName is the name of a server in the scenario, which has no dot: one stands
// before the name of a tool.
func (w *chatWriter) serverName(name string) string {
	if known, ok := w.servers[name]; ok {
		return known
	}
	plain := strings.ReplaceAll(name, ".", "_")
	for taken := true; taken; {
		taken = false
		for _, other := range w.servers {
			taken = taken || other == plain
		}
		if taken {
			plain += "_"
		}
	}
	w.servers[name] = plain
	return plain
}
