// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"regexp"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
)

const workdirName = "rehearse.workdir"

// workdirMark stands for ${rehearse.workdir} until a trial has its folder. No
// command, URL or header can hold a NUL byte.
const workdirMark = "\x00" + workdirName + "\x00"

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// expand replaces ${NAME} and ${NAME:-default} in a text; $${ is the text ${.
func (l *loader) expand(n *strictyaml.Node) string { return l.expanded(n, false) }

// expandServer does so in the settings of a real server.
func (l *loader) expandServer(n *strictyaml.Node) string { return l.expanded(n, l.offline) }

// expanded does so; what is not set is empty when unset says so.
func (l *loader) expanded(n *strictyaml.Node, unset bool) string {
	if n == nil || n.Kind != strictyaml.String {
		return ""
	}
	var out strings.Builder
	rest := n.Text
	for {
		i := strings.Index(rest, "${")
		if i < 0 {
			out.WriteString(rest)
			return out.String()
		}
		if i > 0 && rest[i-1] == '$' {
			out.WriteString(rest[:i-1] + "${")
			rest = rest[i+2:]
			continue
		}
		out.WriteString(rest[:i])
		inside, after, closed := strings.Cut(rest[i+2:], "}")
		if !closed {
			l.problems.add(n.Pos, "%q does not end with }; write $${ for the text ${", rest[i:])
			return out.String()
		}
		rest = after
		name, fallback, hasFallback := strings.Cut(inside, ":-")
		switch {
		case name == workdirName:
			out.WriteString(workdirMark)
		case !variable.MatchString(name):
			l.problems.add(n.Pos, "${%s} is not the name of an environment variable; write $${ for the text ${", inside)
		default:
			text, ok := l.lookup(name)
			switch {
			case ok:
				out.WriteString(text)
			case hasFallback:
				out.WriteString(fallback)
			case unset:
			default:
				l.problems.add(n.Pos, "the environment variable %s is not set; ${%s:-text} gives it a default", name, name)
			}
		}
	}
}

// expandWorkdir returns a copy of server with the mark replaced.
func expandWorkdir(server harness.Server, workdir string) harness.Server {
	replace := func(s string) string { return strings.ReplaceAll(s, workdirMark, workdir) }
	all := func(list []string) []string {
		var out []string
		for _, s := range list {
			out = append(out, replace(s))
		}
		return out
	}
	server.URL, server.Command, server.Env = replace(server.URL), all(server.Command), all(server.Env)
	if server.Headers != nil {
		headers := make(map[string]string, len(server.Headers))
		for k, v := range server.Headers {
			headers[k] = replace(v)
		}
		server.Headers = headers
	}
	return server
}
