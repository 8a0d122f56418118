// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/match"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// serverScript is a mock server, compiled once and bound to the vars of each
// case.
type serverScript struct {
	name, instructions string
	state              json.RawMessage
	failedWhen         *expr.Program
	tools              []toolScript
	offer              offerScript
	node               *strictyaml.Node // for check
	exprs              []placed         // all of its expressions
}

type toolScript struct {
	tool       mockmcp.Tool // what needs no vars
	failedWhen *expr.Program
	results    []resultScript
	node       *strictyaml.Node
	exprs      []placed
}

type resultScript struct {
	args    *match.Matcher
	when    *expr.Program
	json    *expr.Tree
	text    *expr.Template // also of error
	content *expr.Tree
	isError bool
	// structured is structured content beside a text or content.
	structured *expr.Tree
	rpc        *rpcScript
	set        *expr.Tree
	meta       *expr.Tree
	root       string // below which file lies; empty means anywhere
	file       string // path
	size       int
	before     []stepScript
	hold       string
	faults     []serverFault
	latency    time.Duration
	none       bool // there is no answer but a fault
	pos        harness.Position
}

type rpcScript struct {
	code    int
	message *expr.Template
	data    *expr.Tree
}

// serverScript compiles a server file, once; nil when it is none.
func (l *loader) serverScript(d *document) *serverScript {
	if !d.serverDone {
		d.serverDone = true
		if d.kind == "server" {
			d.server = l.mockServer(d.root, textOf(d.root.Get("server")))
		}
	}
	return d.server
}

// mockServer compiles the keys of a server file or of an inline entry.
func (l *loader) mockServer(n *strictyaml.Node, name string) *serverScript {
	outside := l.exprs
	l.exprs = nil
	s := &serverScript{
		name: name, instructions: textOf(n.Get("instructions")), state: rawOf(n.Get("state")),
		failedWhen: l.condition(n.Get("failed_when"), expr.ToolResult), node: n,
	}
	if _, ok := l.value(n.Get("state")); !ok {
		s.state = nil
	}
	first := map[string]harness.Position{}
	for _, t := range itemsOf(n.Get("tools")) {
		if !usable(t) || !usable(t.Get("name")) {
			continue
		}
		before := len(l.exprs)
		tool := l.tool(t)
		tool.exprs = l.exprs[before:len(l.exprs):len(l.exprs)]
		if pos, dup := first[tool.tool.Name]; dup {
			l.problems.add(t.Get("name").Pos, "the tool %q already exists, at %s", tool.tool.Name, pos)
			continue
		}
		first[tool.tool.Name] = t.Get("name").Pos
		s.tools = append(s.tools, tool)
	}
	s.offer = l.offer(n, s.tools)
	s.exprs, l.exprs = l.exprs, outside
	return s
}

// beside returns the server with what an entry says of a server file: its
// protocol goes over that of the file, its changes and faults come first.
func (l *loader) beside(s *serverScript, n *strictyaml.Node) *serverScript {
	if n.Get("protocol") == nil && n.Get("changes") == nil && n.Get("faults") == nil {
		return s
	}
	out := *s
	changes := n.Get("changes")
	out.offer.changes = append(l.changes(changes, s.tools), s.offer.changes...)
	out.offer.faults = append(l.serverFaults(n.Get("faults")), s.offer.faults...)
	if !usable(changes) {
		changes = s.node.Get("changes")
	}
	p := n.Get("protocol")
	switch base := s.node.Get("protocol"); {
	case !usable(p):
		p = base
	case usable(base):
		p = deep(base, p)
	}
	out.offer.protocol = l.protocol(p, changes)
	return &out
}

// all are the tools that the server lists at any time.
func (s *serverScript) all() []*toolScript {
	var out []*toolScript
	for i := range s.tools {
		out = append(out, &s.tools[i])
	}
	for _, c := range s.offer.changes {
		for i := range c.tools {
			out = append(out, &c.tools[i])
		}
	}
	return out
}

func (l *loader) tool(n *strictyaml.Node) toolScript {
	t := toolScript{
		tool: mockmcp.Tool{
			Name: textOf(n.Get("name")), Title: textOf(n.Get("title")), Description: textOf(n.Get("description")),
			Input: l.schema(n.Get("input")), Output: l.schema(n.Get("output")), Annotations: rawOf(n.Get("annotations")), Extra: rawOf(n.Get("extra")), Pos: n.Pos,
		}.Shared(),
		failedWhen: l.condition(n.Get("failed_when"), expr.ToolResult),
		node:       n,
	}
	for _, r := range itemsOf(n.Get("results")) {
		if usable(r) {
			t.results = append(t.results, l.result(r))
		}
	}
	return t
}

// schema checks a JSON Schema, which must describe an object.
func (l *loader) schema(n *strictyaml.Node) json.RawMessage {
	if !usable(n) {
		return nil
	}
	raw := n.JSON()
	if kind := n.Get("type"); kind == nil || textOf(kind) != "object" {
		l.problems.add(n.Pos, "the schema of a tool needs type: object")
		return nil
	}
	if !l.schemaTypes(n) {
		return nil
	}
	var s jsonschema.Schema
	err := json.Unmarshal(raw, &s)
	if err == nil {
		_, err = s.Resolve(nil)
	}
	if err != nil {
		l.problems.add(n.Pos, "not a JSON Schema: %s", schemaReason(err))
		return nil
	}
	if _, err := match.CompileSchema(n.Value()); err != nil { // a $ref in a circle, or another version
		l.problems.add(n.Pos, "%v", err)
		return nil
	}
	return raw
}

// schemaTypes checks the types that a schema names, which the library lets
// pass.
func (l *loader) schemaTypes(n *strictyaml.Node) bool {
	if !usable(n) || n.Kind != strictyaml.Map {
		return true
	}
	ok := true
	types := []string{"null", "boolean", "integer", "number", "string", "array", "object"}
	for _, t := range itemsOf(n.Get("type")) {
		if usable(t) && !slices.Contains(types, t.Text) {
			l.problems.add(t.Pos, "JSON Schema has no type %q%s", t.Text, didYouMean(t.Text, types))
			ok = false
		}
	}
	for _, p := range pairsOf(n.Get("properties")) {
		ok = l.schemaTypes(p.Value) && ok
	}
	for _, k := range []string{"items", "prefixItems", "additionalProperties", "anyOf", "oneOf", "allOf"} {
		for _, sub := range itemsOf(n.Get(k)) {
			ok = l.schemaTypes(sub) && ok
		}
	}
	return ok
}

// schemaReason takes the Go out of an error of the decoder.
func schemaReason(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Sprintf("%q cannot be a %s", wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:], wrong.Value)
	}
	return err.Error()
}

func (l *loader) result(n *strictyaml.Node) resultScript {
	r := resultScript{
		args:    l.matcher(n.Get("args"), match.Options{Scope: expr.Tool, Root: "args"}),
		when:    l.condition(n.Get("when"), expr.Tool),
		json:    l.tree(n.Get("json"), expr.Tool),
		text:    l.template(n.Get("text"), expr.Tool),
		content: l.tree(n.Get("content"), expr.Tool),
		set:     l.tree(n.Get("set"), expr.ToolResult),
		latency: durationOf(n.Get("latency")),
		meta:    l.tree(n.Get("meta"), expr.Tool),
		size:    sizeOf(n.Get("size")),
		before:  l.steps(n.Get("before")),
		hold:    textOf(n.Get("hold").Get("until")),
		faults:  l.resultFaults(n.Get("fault")),
		pos:     n.Pos,
	}
	if file := n.Get("file"); usable(file) {
		r.root, r.file = l.fileOf(file)
	}
	answers := l.shapes.objects["result"].one
	r.none = !slices.ContainsFunc(answers, func(k string) bool { return n.Get(k) != nil })
	l.resultMistakes(n)
	if r.none {
		l.lasting(r.faults)
	}
	if e := n.Get("error"); e != nil {
		r.text, r.isError = l.template(e, expr.Tool), true
	}
	r.isError = r.isError || boolOf(n.Get("is_error"))
	r.structured = l.tree(n.Get("structured"), expr.Tool)
	if e := n.Get("rpc_error"); usable(e) {
		r.rpc = &rpcScript{code: intOf(e.Get("code")), message: l.template(e.Get("message"), expr.Tool), data: l.tree(e.Get("data"), expr.Tool)}
	}
	return r
}

// lasting has the faults of a result without an answer strike each call that
// it answers: there is nothing else to answer with.
func (l *loader) lasting(faults []serverFault) {
	for i := range faults {
		f := &faults[i]
		if f.node == nil {
			continue
		}
		for _, k := range []string{"times", "every", "probability"} {
			if key := f.node.Key(k); key != nil && textOf(f.node.Get(k)) != "always" {
				l.problems.add(key.Pos, "with %q the fault spares some calls, and the result has no answer for them: add one", k)
			}
		}
		f.fault.Times = -1
	}
}

// resultMistakes refuses what contradicts itself.
func (l *loader) resultMistakes(n *strictyaml.Node) {
	for _, k := range []string{"meta", "size"} {
		if key := n.Key(k); key != nil && n.Get("rpc_error") != nil {
			l.problems.add(key.Pos, "%q has no effect beside rpc_error, which has no result", k)
		}
	}
	for _, k := range []string{"structured", "is_error"} {
		if key := n.Key(k); key != nil && (n.Get("rpc_error") != nil || n.Get("file") != nil) {
			l.problems.add(key.Pos, "%q has no effect beside rpc_error and file", k)
		}
	}
	if key := n.Key("structured"); key != nil && n.Get("json") != nil {
		l.problems.add(key.Pos, `"json" is already structured content; use "structured" beside a text that does not repeat it`)
	}
	if key := n.Key("size"); key != nil && n.Get("content") != nil {
		l.problems.add(key.Pos, `"size" makes a text longer; it has no effect beside "content"`)
	}
	if key := n.Key("meta"); key != nil && n.Get("file") != nil {
		l.problems.add(key.Pos, `"meta" has no effect beside "file"`)
	}
}

// bind returns the script with the vars of a case. failedWhen, when not nil,
// takes the place of the server's own.
func (s *serverScript) bind(vars value.Value, failedWhen *expr.Program) *mockmcp.Script {
	if failedWhen == nil {
		failedWhen = s.failedWhen
	}
	script := &mockmcp.Script{Name: s.name, Instructions: s.instructions, State: s.state, FailedWhen: bindFailedWhen(failedWhen, vars)}
	for _, t := range s.tools {
		script.Tools = append(script.Tools, t.bind(vars))
	}
	s.offer.bind(script, vars)
	return script
}

func (t *toolScript) bind(vars value.Value) mockmcp.Tool {
	tool := t.tool
	tool.FailedWhen = bindFailedWhen(t.failedWhen, vars)
	for _, r := range t.results {
		tool.Results = append(tool.Results, r.bind(vars))
	}
	return tool
}

func (r resultScript) bind(vars value.Value) mockmcp.Result {
	out := mockmcp.Result{Latency: r.latency, Hold: r.hold, Root: r.root, File: r.file, Size: r.size, Faults: bindServerFaults(r.faults, vars), Pos: r.pos}
	out.Before, out.Plan = bindSteps(r.before, vars)
	if r.args != nil || r.when != nil {
		out.Match = func(c *mockmcp.Call) (bool, string, error) {
			return r.matches(c, vars)
		}
	}
	if r.file == "" && !(r.none && r.size > 0) {
		out.Answer = func(c *mockmcp.Call) (*mockmcp.Answer, error) {
			v, err := toolVars(c, vars, nil)
			if err != nil {
				return nil, err
			}
			answer, err := r.answer(v)
			if err == nil {
				answer.IsError = r.isError
			}
			if err == nil && r.structured != nil {
				answer.Structured, err = expand(r.structured, v)
			}
			if err == nil && r.meta != nil {
				answer.Meta, err = expand(r.meta, v)
			}
			return answer, err
		}
	}
	if r.set != nil {
		out.Set = func(c *mockmcp.Call, result json.RawMessage) (json.RawMessage, error) {
			v, err := toolVars(c, vars, result)
			if err != nil {
				return nil, err
			}
			patch, err := r.set.Expand(v)
			if err != nil {
				return nil, fmt.Errorf("set: %w", err)
			}
			return json.RawMessage(patch.String()), nil
		}
	}
	return out
}

// matches says whether the result answers a call, and if not, why.
func (r resultScript) matches(c *mockmcp.Call, vars value.Value) (bool, string, error) {
	v, err := toolVars(c, vars, nil)
	if err != nil {
		return false, "", err
	}
	return r.fits(v)
}

func (r resultScript) fits(v *expr.Vars) (bool, string, error) {
	if r.args != nil {
		mismatches, err := r.args.Match(v.Args, v)
		if err != nil {
			return false, "", fmt.Errorf("args: %w", err)
		}
		if len(mismatches) > 0 {
			why := make([]string, len(mismatches))
			for i, m := range mismatches {
				why[i] = m.String()
			}
			return false, strings.Join(why, "; "), nil
		}
	}
	if r.when != nil {
		ok, err := r.when.Holds(v)
		if err != nil {
			return false, "", fmt.Errorf("when: %w", err)
		}
		if !ok {
			return false, "does not hold: " + r.when.String(), nil
		}
	}
	return true, "", nil
}

func (r resultScript) answer(v *expr.Vars) (*mockmcp.Answer, error) {
	switch {
	case r.json != nil:
		out, err := r.json.Expand(v)
		if err != nil {
			return nil, fmt.Errorf("json: %w", err)
		}
		return &mockmcp.Answer{JSON: json.RawMessage(out.String())}, nil
	case r.content != nil:
		out, err := r.content.Expand(v)
		if err != nil {
			return nil, fmt.Errorf("content: %w", err)
		}
		answer := &mockmcp.Answer{Content: []json.RawMessage{}}
		for _, block := range out.Items() {
			answer.Content = append(answer.Content, json.RawMessage(block.String()))
		}
		return answer, nil
	case r.rpc != nil:
		message, err := r.rpc.message.Render(v)
		if err != nil {
			return nil, fmt.Errorf("rpc_error: message: %w", err)
		}
		rpc := &jsonrpc.Error{Code: r.rpc.code, Message: message}
		if r.rpc.data != nil {
			data, err := r.rpc.data.Expand(v)
			if err != nil {
				return nil, fmt.Errorf("rpc_error: data: %w", err)
			}
			rpc.Data = json.RawMessage(data.String())
		}
		return &mockmcp.Answer{RPCError: rpc}, nil
	case r.none:
		return &mockmcp.Answer{Text: "(the answer that a fault takes the place of)"}, nil
	default:
		text, err := r.text.Render(v)
		if err != nil {
			key := "text"
			if r.isError {
				key = "error"
			}
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		return &mockmcp.Answer{Text: text}, nil
	}
}

func bindFailedWhen(p *expr.Program, vars value.Value) mockmcp.FailedWhen {
	if p == nil {
		return nil
	}
	return func(c *mockmcp.Call, result json.RawMessage) (bool, error) {
		v, err := toolVars(c, vars, result)
		if err != nil {
			return false, err
		}
		failed, err := p.Holds(v)
		if err != nil {
			return false, fmt.Errorf("failed_when: %w", err)
		}
		return failed, nil
	}
}

// toolVars are what expressions of the tool side read. result may be nil.
func toolVars(c *mockmcp.Call, vars value.Value, result json.RawMessage) (*expr.Vars, error) {
	v := &expr.Vars{User: c.User, Turn: c.Turn, Vars: vars}
	for _, part := range []struct {
		name string
		raw  json.RawMessage
		to   *value.Value
	}{{"arguments", c.Args, &v.Args}, {"state", c.State, &v.State}} {
		if len(part.raw) == 0 {
			*part.to = emptyVars()
			continue
		}
		parsed, err := value.Parse(part.raw)
		if err != nil {
			return nil, fmt.Errorf("reading the %s of %s: %w", part.name, c.Tool, err)
		}
		*part.to = parsed
	}
	if len(c.Asked) > 0 {
		asked, err := value.Parse(c.Asked)
		if err != nil {
			return nil, fmt.Errorf("reading what the client was asked: %w", err)
		}
		v.Asked = asked
	}
	if len(result) > 0 {
		parsed, err := value.Parse(result)
		if err != nil {
			return nil, fmt.Errorf("reading the result of %s: %w", c.Tool, err)
		}
		v.Result = &parsed
	}
	return v, nil
}
