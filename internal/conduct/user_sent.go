// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package conduct

import (
	"cmp"
	"encoding/json"
	"html"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/redact"
)

// userSent: what the user said in a turn reaches the model in that turn. A
// client may put it into a template, among other parts, into JSON or XML, and
// into a message of another role than the user's. That it says more, or says it
// twice, is a warning: clients remind their models of all sorts of things.
func (c *checker) userSent() (f finding) {
	judged := false
	for i, user := range c.Users {
		turn := c.ofTurn(i + 1)
		if squeezed(user) == "" || len(turn) == 0 {
			continue
		}
		judged = true
		switch {
		case slices.ContainsFunc(turn, func(x harness.Exchange) bool { return c.hasText(x.Request, user) }):
		case slices.ContainsFunc(turn, func(x harness.Exchange) bool { return c.hasText(x.Request, beginning(user)) }):
			f.note("the requests of turn %d contain only the beginning of what the user said: %s", i+1, quote(user))
		default:
			f.add("no request of turn %d contains what the user said: %s; request %d says %s", i+1, quote(user), turn[0].Seq, quote(lastOfUser(turn[0].Request)))
		}
		c.doubled(i+1, turn, &f)
	}
	if !judged {
		return skip("no request belongs to a turn with a text")
	}
	if !c.textual() {
		c.inventions(&f)
	}
	return f
}

// ofTurn are the requests of a turn that the model answered, or was to answer.
func (c *checker) ofTurn(turn int) []harness.Exchange {
	return slices.DeleteFunc(slices.Clone(c.conversation()), func(x harness.Exchange) bool { return x.Turn != turn })
}

// doubled notes a text of the user's that a request has more often than the
// user said it.
func (c *checker) doubled(turn int, requests []harness.Exchange, f *finding) {
	user := squeezed(c.Users[turn-1])
	said := 0
	for _, text := range c.Users[:turn] {
		if squeezed(text) == user {
			said++
		}
	}
	for _, x := range requests {
		has := 0
		for _, m := range x.Request.Messages {
			if m.Role == harness.RoleUser && (squeezed(m.Text) == user || slices.ContainsFunc(m.Parts, func(s string) bool { return squeezed(s) == user })) {
				has++
			}
		}
		if has > said {
			f.note("request %d has the text of turn %d %d times as a message of the user: %s", x.Seq, turn, has, quote(c.Users[turn-1]))
			return
		}
	}
}

// inventions notes messages of the user that come with the results of calls,
// and that the user did not say. What stands in tags or brackets is marked as
// the client's own.
func (c *checker) inventions(f *finding) {
	conversation := c.conversation()
	for i := 1; i < len(conversation); i++ {
		before, now := &conversation[i-1], &conversation[i]
		at := len(spoken(before.Request))
		messages := spoken(now.Request)
		if now.Turn != before.Turn || now.Compacted || len(before.Answer.Calls) == 0 || at > len(messages) || c.hasMedia(before) {
			continue
		}
		for _, m := range messages[at:] {
			own := m.Role != harness.RoleUser || squeezed(m.Text) == "" || marked(m.Text) ||
				slices.ContainsFunc(c.Users, func(user string) bool { return saysText(m.Text, user) }) ||
				slices.ContainsFunc(c.Tools, func(x harness.ToolExchange) bool { return c.holds(m.Text, x) })
			if !own {
				f.note("request %d has a message of the user that the user did not send: %s", now.Seq, quote(m.Text))
			}
		}
	}
}

// hasMedia reports whether a call of a reply led to something that is no text,
// which clients hand to the model in a message of its own.
func (c *checker) hasMedia(reply *harness.Exchange) bool {
	return slices.ContainsFunc(c.Trajectory, func(call harness.Call) bool {
		return call.Turn == reply.Turn && call.Reply == reply.Reply && slices.ContainsFunc(c.executions(call), func(x harness.ToolExchange) bool {
			return strings.Contains(string(x.Content), `"mimeType"`)
		})
	})
}

// marked reports whether a text stands in tags or brackets as a whole.
func marked(text string) bool {
	text = strings.TrimSpace(text)
	for _, ends := range []string{"<>", "[]", "()", "{}"} {
		if len(text) > 1 && text[0] == ends[0] && text[len(text)-1] == ends[1] {
			return true
		}
	}
	return false
}

// lastOfUser is the last message of the user in a request.
func lastOfUser(r harness.Request) string {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == harness.RoleUser {
			return m.Text
		}
	}
	return ""
}

// beginningLength is how much of a text shows that it was meant.
const beginningLength = 64

// beginning is the beginning of a longer text, up to the end of a word.
func beginning(text string) string {
	runes := []rune(strings.TrimSpace(text))
	if len(runes) <= beginningLength {
		return text
	}
	head := string(runes[:beginningLength])
	whole := strings.TrimRightFunc(head, func(r rune) bool { return !unicode.IsSpace(r) })
	return cmp.Or(whole, head) // which is one word
}

// hasText reports whether a request says a text to the model. What a server
// answered is not the user's; what a tool of the client's own did may be, as of
// one that asks the user.
func (c *checker) hasText(r harness.Request, text string) bool {
	return slices.ContainsFunc(r.Messages, func(m harness.Message) bool {
		ofServer := m.Role == harness.RoleTool && slices.ContainsFunc(c.Tools, func(x harness.ToolExchange) bool {
			return !blank(x.Result) && c.holds(m.Text, x)
		})
		return m.Role != harness.RoleAssistant && !ofServer && (saysText(m.Text, text) || slices.ContainsFunc(m.Parts, func(s string) bool { return saysText(s, text) }))
	})
}

// saysText reports whether a message contains a text of the user's. In a recorded
// one placeholders stand for what was taken out; the client says a value there.
func saysText(message, text string) bool {
	pieces, _ := redact.Split(text)
	for _, piece := range pieces {
		if squeezed(piece) != "" && !contains(message, piece) {
			return false
		}
	}
	return true
}

// contains reports whether a message contains a text, be it escaped once or
// twice, as in JSON or XML.
func contains(message, text string) bool {
	for range 3 {
		if want := words(text); want != "" && strings.Contains(words(message), want) || want == "" && strings.Contains(squeezed(message), squeezed(text)) {
			return true
		}
		plain := html.UnescapeString(unescaped(message))
		if plain == message {
			return false
		}
		message = plain
	}
	return false
}

// words are the letters and digits of a text, which no template changes, with
// one blank around each word; empty where there are none.
func words(text string) string {
	fields := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if len(fields) == 0 {
		return ""
	}
	return " " + strings.Join(fields, " ") + " "
}

// escapes are those of JSON.
var escapes = regexp.MustCompile(`\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\["\\/bfnrt]`)

// unescaped is a text without the escapes of JSON, wherever they stand in it.
func unescaped(text string) string {
	return escapes.ReplaceAllStringFunc(text, func(escape string) string {
		var plain string
		if json.Unmarshal([]byte(`"`+escape+`"`), &plain) != nil {
			return escape
		}
		return plain
	})
}
