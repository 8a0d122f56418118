// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpconfig"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
)

const workdirName = "rehearse.workdir"

// workdirMark stands for ${rehearse.workdir} until a trial has its folder. No
// command, URL or header can hold a NUL byte.
const workdirMark = "\x00" + workdirName + "\x00"

// expand replaces ${NAME} and ${NAME:-default} in a text; $${ is the text ${.
func (l *loader) expand(n *strictyaml.Node) string { return l.expanded(n, false) }

// expandServer does so in the settings of a real server.
func (l *loader) expandServer(n *strictyaml.Node) string { return l.expanded(n, l.offline) }

// expanded does so; what is not set is empty when unset says so.
func (l *loader) expanded(n *strictyaml.Node, unset bool) string {
	if n == nil || n.Kind != strictyaml.String {
		return ""
	}
	text, problems := mcpconfig.Expand(n.Text, func(name string) (string, bool) {
		if name == workdirName {
			return workdirMark, true
		}
		return l.lookup(name)
	}, unset)
	for _, p := range problems {
		l.problems.add(n.Pos, "%s", p)
	}
	return text
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
	server.URL, server.Command, server.Env, server.Dir = replace(server.URL), all(server.Command), all(server.Env), replace(server.Dir)
	if server.Headers != nil {
		headers := make(map[string]string, len(server.Headers))
		for k, v := range server.Headers {
			headers[k] = replace(v)
		}
		server.Headers = headers
	}
	return server
}
