// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package conduct

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// rewritten says how the messages after a request differ from the reply to it;
// it is empty when they return that reply. A client may split it into several
// messages, reformat JSON, and leave out white space and a model's thoughts.
func (c *checker) rewritten(before *harness.Exchange, rest []harness.Message) string {
	var echo harness.Message // what the client says the model said
	for _, m := range rest {
		if m.Role == harness.RoleUser {
			break
		}
		if m.Role == harness.RoleAssistant {
			echo.Text += m.Text
			echo.Calls = append(echo.Calls, m.Calls...)
		}
	}
	answer := before.Answer
	if len(answer.Calls) > 0 && len(echo.Calls) == 0 {
		return "" // they are missing, or told in text: answered_once judges that
	}
	for i, call := range answer.Calls {
		got, ok := handedBack(answer.Calls, i, echo.Calls)
		if !ok {
			continue
		}
		if offers(before.Request, call.Name) && strings.TrimSpace(got.Name) != call.Name {
			return fmt.Sprintf("the model called %s, but the history has a call of %s", call.Name, got.Name)
		}
		if args, err := value.Parse([]byte(call.Arguments)); err != nil || args.Kind() != value.Object {
			continue // no endpoint would take them back
		}
		if !sameArgs(json.RawMessage(call.Arguments), json.RawMessage(got.Arguments)) {
			return fmt.Sprintf("the model called %s with %s, but the history has %s", call.Name, shorten(call.Arguments), shorten(got.Arguments))
		}
	}
	recovered := len(answer.Calls) == 0 && len(echo.Calls) > 0 // calls that the model wrote into its text
	if !recovered && !tellsText(echo.Text, answer.Text) {
		return fmt.Sprintf("the model said %s, but the history has %s", quote(answer.Text), quote(echo.Text))
	}
	if !recovered && before.Fault == "" {
		if more := c.invented(answer, rest); more != "" {
			return fmt.Sprintf("the model said %s, but the history has %s", quote(answer.Text), quote(more))
		}
	}
	return ""
}

// invented returns what a history says in a reply's place, where that is more
// than the model said. Clients may put a model's thoughts into its text, and, where
// it made calls, say so: they name a tool, or put a few words in brackets.
func (c *checker) invented(answer harness.Message, rest []harness.Message) string {
	var all []string
	for _, m := range rest {
		if m.Role != harness.RoleAssistant {
			break // what comes behind the results is not said to be this reply
		}
		all = append(all, m.Text)
	}
	told := strings.Join(all, "\n")
	more := squeezed(thoughts.ReplaceAllString(told, ""))
	for _, own := range []string{answer.Text, thoughts.ReplaceAllString(answer.Text, ""), answer.Reasoning, answer.Refusal} {
		if own = squeezed(own); own != "" {
			more = strings.Replace(more, own, "", 1)
		}
	}
	named := slices.ContainsFunc(answer.Calls, func(call harness.ToolCall) bool {
		return strings.Contains(more, squeezed(call.Name)) || call.ID != "" && strings.Contains(more, call.ID)
	})
	label := len(more) <= maxLabel && strings.HasSuffix(more, ":") // of a speaker
	if words(more) == "" || marked(more) || named || label {
		return ""
	}
	return told
}

// maxLabel is the length of a label at most, as "Assistant:".
const maxLabel = 32

// handedBack finds a call of a reply among those of the history: by its id, or
// by its place where its id is of no use.
func handedBack(calls []harness.ToolCall, at int, history []harness.ToolCall) (harness.ToolCall, bool) {
	id := calls[at].ID
	same := func(call harness.ToolCall) bool { return call.ID == id }
	if i := slices.IndexFunc(history, same); id != "" && i >= 0 && !slices.ContainsFunc(calls[:at], same) && !slices.ContainsFunc(calls[at+1:], same) {
		return history[i], true
	}
	if len(history) != len(calls) {
		return harness.ToolCall{}, false
	}
	return history[at], true
}

// thoughts are what some models write into their text and clients take out.
var thoughts = regexp.MustCompile(`(?s)<(think|thinking|thought|reasoning)>.*?(</(think|thinking|thought|reasoning)>|$)|^.*?</(think|thinking)>`)

// tellsText reports whether a history contains the text of a reply.
func tellsText(history, text string) bool {
	history, want := squeezed(history), squeezed(text)
	return strings.Contains(history, want) || strings.Contains(history, squeezed(thoughts.ReplaceAllString(text, ""))) && want != squeezed(thoughts.ReplaceAllString(text, ""))
}
