// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

var update = flag.Bool("update", false, "rewrite docs/faults.md")

const pageHead = `# Faults

What a mock model can do wrong, and what a user of the reference agent sees of it. This page is written by
` + "`go test ./harness/agent -update`" + ` from package mockllm/fault and from a run; a test fails when it is stale.

A fault stands on a reply or an aside (` + "`fault:`" + `), or under ` + "`model:`" + ` for any request (` + "`faults:`" + `); see
[the reference](scenario-reference.md#fault). In Go it is a ` + "`mockllm.Fault`" + ` in ` + "`Reply.Faults` or `Script.Faults`" + `.
` + "`rehearse faults`" + ` prints the same catalogue.

` + "```yaml" + `
llm: sunny
replies:
  - say: Sunny.
    fault:
      - {kind: rate_limit, retry_after: 2s, times: 3}
      - {kind: cut, at: {chunk: 4}}
faults:
  - {kind: argo_3_3_cut_done, every: 5}
  - {kind: server_error, status: 503, probability: 0.1, when: 'request.model == "gpt-5"'}
` + "```" + `

A fault that exists for streams alone passes a plain request by, and the other way round. What a dialect without
chat completions' members has no place for (ids of chunks, ` + "`index`, `choices`" + `) is left as it is there.

## Kinds
`

const matrixHead = `
## What the user sees

The reference agent over its OpenAI client asks the mock, which listens on a socket; time is virtual. Each fault
strikes the reply that calls two tools (on a call) or the one that answers (on the answer), once, and then every
time (if it stays: on the answer, or on the call where only calls can be struck). After each, the next turn of the
conversation must be answered from an unbroken history, and no tool may have run twice; a message or results for which
the model had no room are taken back from the history, or nothing would fit ever after. The client makes up to three
attempts, bears ten minutes of silence, and waits as long as a Retry-After asks, up to two minutes: where it asks for
more, the turn ends at once with the error. ` + "`stops: too_large`" + ` is a reply that is longer than the agent reads; the
fault ` + "`too_large`" + ` is a request that is longer than the endpoint reads, a ` + "`context_overflow`" + `.

"Answer" is the scripted one, "another answer" a text that differs from it, "a call is refused" a tool call that
was not run and whose error the model was told. The word of an error or a stop is the one that a scenario expects, as
in ` + "`stops: auth`" + `. Characters are taken back by a ` + "`Withdrawn`" + ` event when an attempt
broke off after it had said something.

No client can notice by itself, and the table has another answer therefore:

`

// page is docs/faults.md.
func page(rows string) string {
	var b strings.Builder
	b.WriteString(pageHead)
	for _, group := range fault.Groups() {
		fmt.Fprintf(&b, "\n### %s\n\n| kind | strikes | what happens | what it is for | settings | seen in |\n| --- | --- | --- | --- | --- | --- |\n", group[1])
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
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", info.Kind, strikes(info), escape(what), escape(info.For), codes(info.Uses), escape(strings.Join(info.Seen, "; ")))
		}
	}
	b.WriteString("\n## Presets\n\nOne row each for what argo-proxy was seen to do wrong on the path of chat completions: issues of\nOaklight/argo-proxy, or of Oaklight/llm-rosetta after \"rosetta\", or releases.\n\n| preset | stands for | seen in | what the user of such an endpoint sees |\n| --- | --- | --- | --- |\n")
	for _, p := range fault.Presets() {
		stands := "`" + p.Fault.String() + "`"
		if p.Fault.Status != 0 {
			stands += fmt.Sprintf(" %d", p.Fault.Status)
		}
		if p.Fault.Body != "" {
			stands += ", with its text"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", p.Name, stands, p.Ref, escape(p.What))
	}
	b.WriteString("\nSeen there as well, and no fault:\n\n| seen in | what | why not |\n| --- | --- | --- |\n")
	for _, a := range fault.NotOffered() {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", escape(a.Ref), escape(a.What), escape(a.Why))
	}
	b.WriteString(matrixHead)
	blind := unnoticed()
	for _, kind := range slices.Sorted(maps.Keys(blind)) {
		fmt.Fprintf(&b, "- `%s`: %s\n", kind, blind[kind])
	}
	b.WriteString("\n| fault | asked for | on a call | on the answer | if it stays |\n| --- | --- | --- | --- | --- |\n")
	b.WriteString(rows)
	return b.String()
}

func strikes(i fault.Info) string {
	switch {
	case i.Stream && i.Plain:
		return "both"
	case i.Stream:
		return "streams"
	}
	return "plain"
}

func codes(words []string) string {
	if len(words) == 0 {
		return "–"
	}
	return "`" + strings.Join(words, "`, `") + "`"
}

// escape keeps what Markdown would read as something else.
func escape(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "{", "&#123;", "*", `\*`).Replace(s)
}

func checkPage(t *testing.T, rows string) {
	t.Helper()
	const path = "../../docs/faults.md"
	want := page(rows)
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
