// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpconfig

import (
	"fmt"
	"regexp"
	"strings"
)

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Expand replaces ${NAME} and ${NAME:-default} in a text; $${ is the text ${.
// lookup is asked for each name first; what is not set is empty when unset says
// so. The problems say what could not be replaced.
func Expand(text string, lookup func(string) (string, bool), unset bool) (expanded string, problems []string) {
	problem := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	var out strings.Builder
	for rest := text; ; {
		i := strings.Index(rest, "${")
		if i < 0 {
			out.WriteString(rest)
			return out.String(), problems
		}
		if i > 0 && rest[i-1] == '$' {
			out.WriteString(rest[:i-1] + "${")
			rest = rest[i+2:]
			continue
		}
		out.WriteString(rest[:i])
		inside, after, closed := strings.Cut(rest[i+2:], "}")
		if !closed {
			problem("%q does not end with }; write $${ for the text ${", rest[i:])
			return out.String(), problems
		}
		rest = after
		name, fallback, hasFallback := strings.Cut(inside, ":-")
		value, ok := lookup(name)
		switch {
		case ok:
			out.WriteString(value)
		case !variable.MatchString(name):
			problem("${%s} is not the name of an environment variable; write $${ for the text ${", inside)
		case hasFallback:
			out.WriteString(fallback)
		case unset:
		default:
			problem("the environment variable %s is not set; ${%s:-text} gives it a default", name, name)
		}
	}
}
