// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/score"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/match"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// lintFacts is what check looks at beside the compiled scenario.
type lintFacts struct {
	root    *strictyaml.Node
	servers []*serverEntry
	exprs   []placed
	rows    []caseRow
}

// checks collects doubts.
type checks struct {
	problems problems
	// holding are those of problems that say of an expectation that it holds
	// whatever happens.
	holding   problems
	anyClient bool
	servers   []*serverEntry // of the scenario at hand
	last      string         // the tool whose result `result` is, at this place of the script
	// budget is what the conditions of a set may take that are evaluated to check it.
	budget *expr.Budget
	tools  map[*serverScript]*toolNames
}

// checkSteps take a second.
const checkSteps = 10_000_000

func check(set *Set) *checks {
	c := &checks{anyClient: set.AnyClient, budget: expr.NewBudget(checkSteps)}
	for i, s := range set.Scenarios {
		c.vacuous(s)
		if i > 0 && set.Scenarios[i-1].lint.root == s.lint.root {
			continue // another case of the same file
		}
		c.scenario(s)
		for _, e := range s.lint.servers {
			for _, d := range e.doubts {
				c.problems.add(d.Pos, "%s", d.Msg)
			}
			if e.script != nil {
				c.server(e.script)
				c.serverFaults(e.script, transportsOf(e.server.Transport, s.MCPConfig != "")...)
			}
			if e.script != nil && !e.inline {
				c.varsOf(s, e.script)
			}
		}
	}
	for _, m := range set.LLMs {
		c.constants(m.exprs)
		for _, s := range scriptOf(m.root).replies() {
			c.finishes(s)
		}
		c.cutTexts(m.root, "")
		c.faults(m.root, m.root, nil)
		c.singleBraces(m.root, "")
		c.matchedTexts(m.root)
	}
	for _, s := range set.Servers {
		c.server(s.script)
		c.serverFaults(s.script)
	}
	return c
}

// cannotFail is a doubt of an expectation that holds whatever happens.
func (c *checks) cannotFail(n *strictyaml.Node, format string, args ...any) {
	c.problems.add(n.Pos, format, args...)
	c.holding.add(n.Pos, format, args...)
}

func (c *checks) doubt(n *strictyaml.Node, format string, args ...any) {
	c.problems.add(n.Pos, format, args...)
}

// expects reports whether expectations are written, be they wrong: then an error
// says so.
func expects(root *strictyaml.Node) bool {
	some := func(n *strictyaml.Node) bool { return len(itemsOf(n.Get("expect"))) > 0 }
	return some(root) || slices.ContainsFunc(itemsOf(root.Get("turns")), some)
}

func (c *checks) scenario(s *Scenario) {
	root := s.lint.root
	c.servers, c.last = s.lint.servers, ""
	if !s.ConductOnly && !s.HasExpectations() && !expects(root) {
		c.doubt(root, "nothing is expected: add expect, or set conduct_only: true")
	}
	turns := itemsOf(root.Get("turns"))
	unasked := func(n *strictyaml.Node) bool { // no model call is expected
		return slices.ContainsFunc(itemsOf(n.Get("expect")), func(e *strictyaml.Node) bool {
			stops := e.Get("stops")
			return usable(stops) && stops.Text == string(harness.StopCircuitOpen)
		})
	}
	scripted := func(n *strictyaml.Node) bool { return n.Get("replies") != nil }
	for _, t := range turns {
		if !scripted(t) && !unasked(t) && root.Get("rules") == nil && slices.ContainsFunc(turns, scripted) {
			c.doubt(t, "a turn without replies among turns that have some: the mock model has no answer here")
		}
		for _, r := range itemsOf(t.Get("replies")) {
			c.reply(r)
		}
		c.expect(t.Get("expect"))
	}
	for _, lane := range itemsOf(root.Get("lanes")) {
		c.last = ""
		for _, r := range itemsOf(lane.Get("replies")) {
			c.reply(r)
		}
		for _, t := range itemsOf(lane.Get("turns")) {
			for _, r := range itemsOf(t.Get("replies")) {
				c.reply(r)
			}
		}
	}
	c.expect(root.Get("expect"))
	for _, p := range pairsOf(root.Get("names")) {
		c.tool(p.Key.Pos, p.Key.Text)
	}
	for _, e := range s.lint.exprs {
		for _, name := range e.prog.Tools() {
			c.tool(e.pos, name)
		}
	}
	c.holds(s)
	c.interruptions(s)
	c.approvals(s)
	c.constants(s.lint.exprs)
	for _, r := range scriptOf(root).replies() {
		c.finishes(r)
	}
	c.bareNames(root)
	c.unanswered(root)
	c.contradictions(root)
	c.expectedTexts(root)
	c.matchedTexts(root)
	c.cutTexts(root, "")
	stream := &s.Settings.Stream
	if c.anyClient {
		stream = nil
	}
	c.faults(root, root.Get("model"), stream)
	c.singleBraces(root, "")
	c.unusedVars(s)
	c.lateNews(root)
}

// reply looks at one reply; what it reads are the results of earlier ones.
func (c *checks) reply(n *strictyaml.Node) {
	if !usable(n) {
		return
	}
	for _, k := range []string{"say", "reasoning", "refusal", "calls"} {
		c.reads(n.Get(k))
	}
	for _, item := range itemsOf(n.Get("calls")) {
		name, args, ok := callParts(item)
		if !ok {
			continue
		}
		if boolOf(n.Get("unoffered")) {
			continue // the model goes astray
		}
		if t := c.tool(keyOf(item).Pos, name); t != nil {
			if args == nil {
				args = &strictyaml.Node{Kind: strictyaml.Map, Pos: item.Pos}
			}
			c.literal(args, t.node.Get("input"), "arguments of "+name, false)
		}
		c.last = name
	}
}

func keyOf(item *strictyaml.Node) *strictyaml.Node {
	if item.Kind == strictyaml.Map && len(item.Pairs) > 0 {
		return item.Pairs[0].Key
	}
	return item
}

func (c *checks) expect(list *strictyaml.Node) {
	for _, n := range itemsOf(list) {
		for _, item := range itemsOf(callList(n)) {
			name, args, ok := callParts(item)
			if !ok {
				continue
			}
			if t := c.tool(keyOf(item).Pos, name); t != nil && args != nil {
				c.literal(args, t.node.Get("input"), "arguments of "+name, true)
			}
		}
		for _, glob := range itemsOf(n.Get("never")) {
			c.glob(glob)
		}
		c.readsByName(n)
		c.unfailing(n)
		c.emptyMaps(n.Get("state"))
	}
}

// emptyMaps warns about {} in an expected state, which any map fits.
func (c *checks) emptyMaps(n *strictyaml.Node) {
	for _, p := range pairsOf(n) {
		if p.Value.Kind == strictyaml.Map && len(p.Value.Pairs) == 0 {
			c.cannotFail(p.Value, "any map fits {}, since keys that are not named are ignored: this cannot fail; write {$length: 0} for one without keys")
		}
		c.emptyMaps(p.Value)
	}
}

// vacuous warns about conditions that hold because there is no call at all.
func (c *checks) vacuous(s *Scenario) {
	scorers := slices.Clone(s.Expect)
	for _, t := range s.Turns {
		scorers = append(scorers, t.Expect...)
	}
	for _, scorer := range scorers {
		if that, ok := scorer.(score.That); ok && that.Program.HoldsVacuously(c.budget) {
			c.problems.add(that.Pos, "holds for a conversation without any tool call: add a condition such as trajectory.size() > 0")
		}
	}
}

// tool finds the tool of a mock server; nil when the name leads elsewhere.
func (c *checks) tool(pos harness.Position, name string) *toolScript {
	serverName, toolName, dotted := strings.Cut(name, ".")
	if !dotted {
		return nil // an offered name
	}
	i := slices.IndexFunc(c.servers, func(e *serverEntry) bool { return e.server.Name == serverName })
	if i < 0 {
		var servers []string
		for _, e := range c.servers {
			servers = append(servers, e.server.Name)
		}
		c.problems.add(pos, "unknown server %q%s", serverName, didYouMean(serverName, servers))
		return nil
	}
	script := c.servers[i].script
	if script == nil {
		return nil // a real server, or a broken one
	}
	tools := c.toolsOf(script)
	t := tools.named[toolName]
	if t == nil {
		c.problems.add(pos, "server %q has no tool %q%s", serverName, toolName, didYouMean(toolName, tools.names))
	}
	return t
}

// toolNames are the tools of a mock server by their names, the first of each.
type toolNames struct {
	names []string
	named map[string]*toolScript
}

// toolsOf looks through the tools of a server once.
func (c *checks) toolsOf(s *serverScript) *toolNames {
	if c.tools == nil {
		c.tools = map[*serverScript]*toolNames{}
	}
	if c.tools[s] == nil {
		found := &toolNames{named: map[string]*toolScript{}}
		for _, t := range s.all() {
			found.names = append(found.names, t.tool.Name)
			if found.named[t.tool.Name] == nil {
				found.named[t.tool.Name] = t
			}
		}
		c.tools[s] = found
	}
	return c.tools[s]
}

// glob warns about a pattern of never that no tool of a mock server fits.
func (c *checks) glob(n *strictyaml.Node) {
	if !usable(n) || !strings.Contains(n.Text, ".") {
		return
	}
	var names []string
	for _, e := range c.servers {
		if e.script == nil {
			return // a real server may have any tools, and a broken one too
		}
		for _, name := range c.toolsOf(e.script).names {
			names = append(names, e.server.Name+"."+name)
		}
	}
	if !slices.ContainsFunc(names, func(name string) bool { return match.Glob(n.Text, name) }) {
		c.cannotFail(n, "no tool has the name %q%s: this cannot fail", n.Text, didYouMean(n.Text, names))
	}
}

// server looks at a mock server: answers that no call reaches, keys that a
// result has not.
func (c *checks) server(s *serverScript) {
	for _, t := range s.tools {
		c.offerable(t.node.Get("input"))
		results := itemsOf(t.node.Get("results"))
		for i, r := range results {
			if i+1 < len(results) && r.Get("args") == nil && r.Get("when") == nil {
				c.doubt(results[i+1], "never reached: the result at %s answers every call", r.Pos)
			}
			name := textOf(t.node.Get("name"))
			c.literal(r.Get("args"), t.node.Get("input"), "arguments of "+name, true)
			c.literal(r.Get("json"), t.node.Get("output"), "output of "+name, false)
			if keys := resultKeys([]*strictyaml.Node{r}, nil); keys != nil {
				c.missingKeys(r.Get("set"), plainResult, keys, "this result does not have")
			}
		}
	}
	c.constants(s.exprs)
	c.stateKeys(s)
	c.argumentKeys(s)
	c.cutTexts(s.node, "")
	c.singleBraces(s.node, "")
	c.matchedTexts(s.node)
}

// offerable looks for what makes OpenAI refuse each request that offers a tool. An
// object that does not say which properties it has is refused too, but many
// servers have such tools, and most clients say it for them.
func (c *checks) offerable(input *strictyaml.Node) {
	if !usable(input) || input.Kind != strictyaml.Map {
		return
	}
	schema, err := value.Parse(input.JSON())
	if err != nil {
		return
	}
	if _, ok := schema.Get("properties"); !ok {
		schema = value.ObjectOf(append(slices.Clone(schema.Members()), value.Member{Key: "properties", Value: value.ObjectOf()})...)
	}
	if problem := dialect.SchemaProblem(schema.Append(nil)); problem != "" {
		c.doubt(input, "OpenAI refuses each request that offers a tool with this input: %s", problem)
	}
}

var (
	braces      = regexp.MustCompile(`\{\{(.*?)\}\}`)
	plainResult = regexp.MustCompile(`(?:^|[^.\w])result\.([A-Za-z_]\w*)`)
	namedResult = regexp.MustCompile(`(?:^|[^.\w])results\((?:'([^']*)'|"([^"]*)")\)(?:\[\d+\]|\.(?:first|last)\(\))\.([A-Za-z_]\w*)`)
)

// reads warns about keys of `result` and `results(..)` that the tool never
// has.
func (c *checks) reads(n *strictyaml.Node) {
	if !usable(n) {
		return
	}
	if c.last != "" {
		if keys := c.keysOf(c.last); keys != nil {
			c.missingKeys(n, plainResult, keys, "no result of "+c.last+" has")
		}
	}
	c.readsByName(n)
}

func (c *checks) readsByName(n *strictyaml.Node) {
	eachExpression(n, func(n *strictyaml.Node, src string) {
		for _, m := range namedResult.FindAllStringSubmatchIndex(src, -1) {
			tool := src[max(m[2], m[4]):max(m[3], m[5])]
			keys := c.keysOf(tool)
			if name := src[m[6]:m[7]]; keys != nil && !slices.Contains(keys, name) && !isCall(src, m[7]) {
				c.doubt(n, "no result of %s has the key %q%s", tool, name, didYouMean(name, keys))
			}
		}
	})
}

func (c *checks) missingKeys(n *strictyaml.Node, find *regexp.Regexp, keys []string, says string) {
	eachExpression(n, func(n *strictyaml.Node, src string) {
		for _, m := range find.FindAllStringSubmatchIndex(src, -1) {
			name := src[m[2]:m[3]]
			if !slices.Contains(keys, name) && !isCall(src, m[3]) && !strings.HasSuffix(src[:m[2]-len("result.")], "has(") {
				c.doubt(n, "%s the key %q%s", says, name, didYouMean(name, keys))
			}
		}
	})
}

func isCall(src string, end int) bool { return strings.HasPrefix(src[end:], "(") }

// eachExpression visits every expression in a node: in {{ }}, in $cel and
// under that and when.
func eachExpression(n *strictyaml.Node, visit func(n *strictyaml.Node, src string)) {
	if !usable(n) {
		return
	}
	switch n.Kind {
	case strictyaml.String:
		for _, m := range braces.FindAllStringSubmatch(n.Text, -1) {
			visit(n, m[1])
		}
	case strictyaml.List:
		for _, item := range n.Items {
			eachExpression(item, visit)
		}
	case strictyaml.Map:
		for _, p := range n.Pairs {
			eachExpression(p.Key, visit)
			switch {
			case p.Key.Text == "$literal":
			case usable(p.Value) && p.Value.Kind == strictyaml.String && slices.Contains([]string{"$cel", "$that", "that", "when"}, p.Key.Text):
				visit(p.Value, p.Value.Text)
			default:
				eachExpression(p.Value, visit)
			}
		}
	}
}

// keysOf returns the keys that results of a tool have; nil when they cannot
// be known.
func (c *checks) keysOf(name string) []string {
	quiet := &checks{servers: c.servers, budget: c.budget, tools: c.tools} // an unknown tool is reported where it is called
	t := quiet.tool(harness.Position{}, name)
	if t == nil {
		return nil
	}
	return resultKeys(itemsOf(t.node.Get("results")), t.node.Get("output"))
}

func resultKeys(results []*strictyaml.Node, output *strictyaml.Node) []string {
	var keys []string
	for _, r := range results {
		j := r.Get("json")
		switch {
		case r.Get("error") != nil || r.Get("rpc_error") != nil:
		case !usable(j) || j.Kind != strictyaml.Map:
			return nil // a text may be JSON
		}
		for _, p := range pairsOf(j) {
			if strings.HasPrefix(p.Key.Text, "$") || strings.Contains(p.Key.Text, "{{") {
				return nil
			}
			keys = append(keys, p.Key.Text)
		}
	}
	for _, p := range pairsOf(output.Get("properties")) {
		keys = append(keys, p.Key.Text)
	}
	return keys
}

// cutTexts warns about plain texts that end where a comment begins.
func (c *checks) cutTexts(n *strictyaml.Node, key string) {
	if !usable(n) {
		return
	}
	switch n.Kind {
	case strictyaml.String:
		texts := []string{"say", "user", "system", "text", "error", "reasoning", "refusal", "contains", "not_contains", "equals", "message"}
		if n.Cut && slices.Contains(texts, key) {
			c.doubt(n, "the text ends before %q, which YAML reads as a comment: quote it, or use `|`", n.Comment)
		}
	case strictyaml.List:
		for _, item := range n.Items {
			c.cutTexts(item, key)
		}
	case strictyaml.Map:
		for _, p := range n.Pairs {
			c.cutTexts(p.Value, p.Key.Text)
		}
	}
}
