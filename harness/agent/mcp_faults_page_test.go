// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/mcpmatrix"
	"github.com/rehearse-dev/rehearse/mockmcp/fault"
)

const mcpPageHead = `# MCP faults

What a mock MCP server can do wrong, and what clients do then. This page is written by
` + "`go test ./harness/agent -update`" + ` from package mockmcp/fault, from a run of the reference agent, and from what
` + "`make interop`" + ` saw of other clients; a test fails when it is stale.

A fault stands under ` + "`faults:`" + ` of a server, or under ` + "`fault:`" + ` of one result of a tool; see
[the reference](scenario-reference.md). In Go it is a ` + "`fault.Fault`" + ` in ` + "`mockmcp.Script.Faults` or `Result.Faults`" + `.
` + "`rehearse faults`" + ` prints the same catalogue.

` + "```yaml" + `
faults:
  - {kind: exit, exit_code: 3, match: {tool: refund, nth: 2}}
  - {kind: rpc_error, code: -32050, data: {retry_after: 30}, match: {tool: search}, every: 5}
  - {kind: cursor_loop, form: new}
` + "```" + `

A fault strikes one event: a request, the start of a connection, or the end of a client's input. Without
` + "`match.method`" + ` it strikes what stands under "strikes" here. It strikes once, unless ` + "`times`, `every` or `probability`" + `
say otherwise or it is one that lasts. What strikes a process strikes the connection where there is no process: in
process, over HTTP, HTTP+SSE and WebSocket. Each strike is marked in the journal and in the log of frames, and a fault
that never struck is reported.

## Kinds
`

const mcpMatrixHead = `
## What the reference agent does

The agent has a server ` + "`shop`" + ` whose tool ` + "`charge`" + ` has a side effect and whose tool ` + "`look`" + ` has none. The model
calls the first, and in the next turn the second; the fault strikes the call of ` + "`charge`" + `, or what it is about. A case
is held to this: nothing outlasts its time limit, the side effect takes place once at most, an error names the server,
the tool and what went wrong, both turns are answered, and the next call goes well. Time limits are 20 s of virtual time,
and 3 s for processes.

"Answer" is the right one; "another answer" is one that the fault itself has changed; "a failed result" is one that the
server calls an error and that the model reads as such. "The others" are in process, HTTP+SSE and WebSocket, where they
differ from stdio.

`

const mcpForeignHead = `
## What other clients do

The same cases with small clients made with the official SDKs, seen by ` + "`make interop`" + `: each step has 3 s, and a client
that takes three times as long as its steps is killed. A client that keeps to its SDK's ways may well repair what the SDK
does not.

`

// mcpPage is docs/mcp-faults.md.
func mcpPage(cells map[string]map[string]string, foreign map[string]map[string]string) string {
	var b strings.Builder
	b.WriteString(mcpPageHead)
	for _, group := range fault.Groups() {
		fmt.Fprintf(&b, "\n### %s\n\n| kind | strikes | on | what happens | what it is for | settings | seen in |\n| --- | --- | --- | --- | --- | --- | --- |\n", group[1])
		for _, info := range fault.Kinds() {
			if info.Group != group[0] {
				continue
			}
			what := info.What
			for i, f := range info.Forms {
				sep := "; "
				if i == 0 {
					sep = ". Forms: "
				}
				what += fmt.Sprintf("%s`%s` %s", sep, f.Name, f.What)
			}
			if info.InProcess != "" {
				what += ". In process: " + info.InProcess
			}
			where := info.Where()
			if info.Lasts {
				where += "; lasts"
			}
			on := strings.Join(info.Transports, ", ")
			if len(info.Transports) == len(fault.Transports()) {
				on = "all"
			}
			if info.Era != "" {
				on += ", " + info.Era + " era"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s |\n", info.Kind, where, on, escape(what), escape(info.For), codes(info.Uses), escape(strings.Join(info.Seen, "; ")))
		}
	}
	b.WriteString("\n## Presets\n\nA fault under a name of its own, as one server was seen to have it.\n\n| preset | stands for | seen in | what the user of such a server sees |\n| --- | --- | --- | --- |\n")
	for _, p := range fault.Presets() {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s |\n", p.Name, p.Fault.String(), p.Ref, escape(p.What))
	}
	b.WriteString(mcpMatrixHead)
	head := []string{"fault"}
	for _, c := range mcpmatrix.Columns() {
		head = append(head, c.Name)
	}
	row := func(cells ...string) {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	rule := func(n int) { row(strings.Split(strings.Repeat("---,", n-1)+"---", ",")...) }
	row(append(head, "the others")...)
	rule(len(head) + 1)
	for _, f := range mcpmatrix.Faults() {
		line := []string{"`" + f.String() + "`"}
		at := cells[f.String()]
		for _, c := range mcpmatrix.Columns() {
			line = append(line, cell(at[c.Name]))
		}
		row(append(line, others(at))...)
	}
	b.WriteString(mcpForeignHead)
	if len(foreign) == 0 {
		b.WriteString("(not seen yet)\n")
		return b.String()
	}
	head = []string{"fault"}
	for _, subject := range mcpmatrix.Subjects() {
		for _, c := range mcpmatrix.Columns() {
			head = append(head, subject+", "+c.Name)
		}
	}
	row(head...)
	rule(len(head))
	for _, f := range mcpmatrix.Faults() {
		line := []string{"`" + f.String() + "`"}
		for _, name := range head[1:] {
			line = append(line, cell(foreign[f.String()][name]))
		}
		row(line...)
	}
	return b.String()
}

func cell(text string) string {
	if text == "" {
		return "–"
	}
	bold := strings.NewReplacer(`\*\*`, "**")
	return bold.Replace(escape(text))
}

// others says what happened in the other columns, as far as it is not what
// happened over stdio.
func others(at map[string]string) string {
	var parts []string
	any := false
	for _, c := range mcpmatrix.OtherColumns() {
		text, ok := at[c.Name]
		any = any || ok
		if ok && text != at["stdio"] {
			parts = append(parts, c.Name+": "+cell(text))
		}
	}
	switch {
	case !any:
		return "–"
	case parts == nil:
		return "as stdio"
	}
	return strings.Join(parts, "; ")
}

func checkMCPPage(t *testing.T, cells map[string]map[string]string) {
	t.Helper()
	const path = "../../docs/mcp-faults.md"
	var foreign map[string]map[string]string
	seen, err := os.ReadFile("testdata/mcp-faults.json")
	if err == nil {
		err = json.Unmarshal(seen, &foreign)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	want := mcpPage(cells, foreign)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is stale; go test ./harness/agent -update writes it (-want +got):\n%s", path, diff)
	}
}
