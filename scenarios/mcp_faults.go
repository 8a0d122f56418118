// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/filepos"
	"github.com/rehearse-dev/rehearse/internal/match"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/mockmcp/fault"
)

// serverFault is a fault of a mock server whose conditions are bound to the
// vars of each case.
type serverFault struct {
	fault fault.Fault
	args  *match.Matcher
	node  *strictyaml.Node // for check
}

func (l *loader) serverFaults(list *strictyaml.Node) []serverFault {
	var out []serverFault
	for _, n := range itemsOf(list) {
		if usable(n) && usable(n.Get("kind")) {
			out = append(out, l.serverFault(n))
		}
	}
	return out
}

func (l *loader) serverFault(n *strictyaml.Node) serverFault {
	f, err := fault.Lookup(textOf(n.Get("kind")))
	if err != nil {
		l.problems.add(n.Get("kind").Pos, "%v", err)
		return serverFault{node: n}
	}
	s := serverFault{node: n}
	f.Pos = n.Pos
	if form := textOf(n.Get("form")); form != "" {
		f.Form = form
	}
	if m := n.Get("match"); usable(m) {
		f.Match.Method, f.Match.Tool, f.Match.Nth = textOf(m.Get("method")), textOf(m.Get("tool")), intOf(m.Get("nth"))
		s.args = l.matcher(m.Get("args"), match.Options{Scope: expr.User, Root: "args"})
		if s.args != nil {
			f.Match.Args = func(json.RawMessage) (bool, error) { return true, nil } // for the check below
		}
	}
	switch times := n.Get("times"); {
	case textOf(times) == "always":
		f.Times = -1
	case usable(times):
		f.Times = intOf(times)
	}
	f.Every, f.Seed = intOf(n.Get("every")), int64(intOf(n.Get("seed")))
	if p := floatOf(n.Get("probability")); p != nil {
		f.Probability = *p
		if *p == 0 {
			l.problems.add(n.Get("probability").Pos, "a probability of 0: this fault never strikes")
		}
	}
	l.faultSettings(n, &f)
	if err := f.Check(); err != nil && !broken(n) {
		for _, one := range filepos.All(err) {
			l.problems.add(n.Pos, "%s", one)
		}
	}
	s.fault = f
	return s
}

// faultSettings takes over the settings that are given; the rest are the
// preset's or the kind's.
func (l *loader) faultSettings(n *strictyaml.Node, f *fault.Fault) {
	for _, set := range []struct {
		key string
		to  *int
	}{{"code", &f.Code}, {"status", &f.Status}, {"count", &f.Count}, {"bytes", &f.Bytes}, {"exit_code", &f.ExitCode}} {
		if v := n.Get(set.key); usable(v) {
			*set.to = intOf(v)
		}
	}
	for _, set := range []struct {
		key string
		to  *string
	}{{"message", &f.Message}, {"body", &f.Body}, {"stderr", &f.Stderr}} {
		if v := n.Get(set.key); usable(v) {
			*set.to = v.Text
			if v.Text == "" {
				l.problems.add(v.Pos, "an empty %s: leave the key out for the kind's own", set.key)
			}
		}
	}
	if v := n.Get("data"); usable(v) {
		f.Data = v.JSON()
	}
	if v := n.Get("headers"); usable(v) {
		f.Headers = textMap(v)
	}
	if v := n.Get("delay"); usable(v) {
		f.Delay = durationOf(v)
	}
	if v := n.Get("size"); usable(v) {
		f.Size = sizeOf(v)
	}
}

// sizeOf reads a size with or without a unit.
func sizeOf(n *strictyaml.Node) int {
	if !usable(n) {
		return 0
	}
	if n.Kind == strictyaml.String {
		i, _ := bytesOf(n.Text) // shapes have checked it
		return i
	}
	return intOf(n)
}

// resultFaults are the faults of a result: they strike the calls that it
// answers.
func (l *loader) resultFaults(list *strictyaml.Node) []serverFault {
	var out []serverFault
	for _, n := range itemsOf(list) {
		if !usable(n) || !usable(n.Get("kind")) {
			continue
		}
		if m := n.Key("match"); m != nil {
			l.problems.add(m.Pos, "a fault of a result strikes the calls that the result answers: match is for the faults of the server")
		}
		s := l.serverFault(n)
		if info, ok := fault.Describe(s.fault.Kind); ok && len(info.On) > 0 && !slices.Contains(info.On, "tools/call") {
			l.problems.add(n.Get("kind").Pos, "fault %s strikes %s, and no call: write it under the faults of the server", s.fault.Kind, info.Where())
			continue
		}
		out = append(out, s)
	}
	return out
}

func bindServerFaults(faults []serverFault, vars value.Value) []fault.Fault {
	var out []fault.Fault
	for _, f := range faults {
		out = append(out, f.bind(vars))
	}
	return out
}

func (s serverFault) bind(vars value.Value) fault.Fault {
	f := s.fault
	f.Match.Args = nil
	if s.args == nil {
		return f
	}
	f.Match.Args = func(raw json.RawMessage) (bool, error) {
		args := emptyVars()
		if len(raw) > 0 && string(raw) != "null" {
			var err error
			if args, err = value.Parse(raw); err != nil {
				return false, nil // no arguments that anything could match
			}
		}
		differs, err := s.args.Match(args, &expr.Vars{Args: args, State: emptyVars(), Vars: vars})
		return err == nil && len(differs) == 0, at(f.Pos, err)
	}
	return f
}

// transportsOf are the transports over which a server entry can be reached, as
// faults name them: the one that it says, that of an mcp.json, or those of which
// the subject chooses, the one that our own takes first.
func transportsOf(word string, config bool) []string {
	switch {
	case word == "stdio":
		return []string{fault.Pipe}
	case word == "process":
		return []string{fault.Stdio}
	case word != "":
		return []string{word}
	case config:
		return []string{fault.HTTP}
	}
	return []string{fault.Pipe, fault.HTTP}
}

// serverFaults looks at the faults of a mock server: those that can strike nothing,
// and arguments that a tool does not take.
func (c *checks) serverFaults(s *serverScript, transports ...string) {
	tools := map[string]*strictyaml.Node{} // with their input
	var names []string
	for _, t := range s.all() {
		tools[t.tool.Name] = t.node.Get("input")
		names = append(names, t.tool.Name)
	}
	first := map[string]serverFault{} // that strike for good whatever fits them
	for _, f := range s.offer.faults {
		info, ok := fault.Describe(f.fault.Kind)
		if !ok {
			continue
		}
		m := f.node.Get("match")
		switch method := f.fault.Match.Method; {
		case method == "":
		case !slices.Contains(fault.Methods(), method):
			c.doubt(m.Get("method"), "no client asks for %q%s: this fault never strikes", method, didYouMean(method, fault.Methods()))
		case !strings.Contains(method, "/") && method == strings.ToUpper(method) && len(transports) == 1 && transports[0] != fault.HTTP:
			c.doubt(m.Get("method"), "over transport: %s there is no HTTP request %s: this fault never strikes", words(transports[0]), method)
		}
		switch tool := f.fault.Match.Tool; {
		case tool != "" && !slices.Contains(names, tool):
			c.doubt(m.Get("tool"), "the server has no tool %q%s: this fault never strikes", tool, didYouMean(tool, names))
		case c.overWrong(f, &info, transports):
		case f.fault.Match.Method == "" && len(names) == 0 && (len(info.On) == 0 || slices.Equal(info.On, []string{"tools/call"})):
			c.doubt(f.node, "the server has no tools: a fault of calls never strikes")
		case tool != "":
			c.literal(m.Get("args"), tools[tool], "arguments of "+tool, true)
		}
		place := f.fault.Match.Method + " " + f.fault.Match.Tool
		if before, hidden := first[place]; hidden && f.args == nil && slices.Equal(before.on(), f.on()) {
			c.doubt(f.node, "never reached: the fault at %s strikes every time", before.fault.Pos)
		} else if f.fault.Times < 0 && f.fault.Every <= 1 && f.fault.Probability == 0 && f.args == nil && f.fault.Match.Nth == 0 && !info.Lasts {
			first[place] = f
		}
	}
	for _, t := range s.tools {
		for _, r := range t.results {
			for _, f := range r.faults {
				if info, ok := fault.Describe(f.fault.Kind); ok {
					c.overWrong(f, &info, transports)
				}
			}
		}
	}
}

// overWrong says that a fault does not strike over the transports that a server
// can be reached over, in the words of files, and reports whether it said so.
func (c *checks) overWrong(f serverFault, info *fault.Info, transports []string) bool {
	var strikes []string
	for _, t := range info.Transports {
		strikes = append(strikes, words(t))
	}
	only := strings.Join(strikes, ", ")
	reached := slices.ContainsFunc(transports, func(t string) bool { return slices.Contains(info.Transports, t) })
	switch {
	case len(transports) == 0 || slices.Contains(info.Transports, transports[0]):
		return false
	case len(transports) == 1:
		c.doubt(f.node.Get("kind"), "fault %s does not strike over transport: %s, only over %s", f.fault.Kind, words(transports[0]), only)
	case reached:
		c.doubt(f.node.Get("kind"), "fault %s does not strike over stdio, which a subject takes that is not bound to URLs, only over %s: the server needs a transport: of these", f.fault.Kind, only)
	default:
		c.doubt(f.node.Get("kind"), "fault %s strikes over %s alone: the server needs a transport: of these", f.fault.Kind, only)
	}
	return true
}

// words is a transport of faults in the words of files.
func words(transport string) string {
	return cmp.Or(map[string]string{fault.Pipe: "stdio", fault.Stdio: "process"}[transport], transport)
}

// on are the events that the fault's kind strikes.
func (s *serverFault) on() []string {
	info, _ := fault.Describe(s.fault.Kind)
	if len(info.On) == 0 {
		return []string{"tools/call"}
	}
	return info.On
}
