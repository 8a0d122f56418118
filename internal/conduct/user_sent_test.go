// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package conduct_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/conduct"
)

// TestUserSent has what clients make of the user's text, and what is no longer
// that text.
func TestUserSent(t *testing.T) {
	const said = "Lend \"Dune\" & <Emma>\n to Zoë 😀, please: she wants to read them before the first of May, on the train."
	quoted := func(s string) string {
		raw, _ := json.Marshal(s)
		return string(raw)
	}
	const lost = "failed: no request of turn 1 contains what the user said: "
	user := func(text string) func(in *conduct.Input) {
		return func(in *conduct.Input) {
			for i := range in.Exchanges {
				in.Exchanges[i].Request.Messages[1].Text = text
			}
		}
	}
	more := func(messages ...harness.Message) func(in *conduct.Input) {
		return func(in *conduct.Input) { *second(in) = append(*second(in), messages...) }
	}
	says := func(role harness.Role, text string) harness.Message { return harness.Message{Role: role, Text: text} }
	for _, tt := range []struct {
		name string
		do   func(in *conduct.Input)
		want string // the beginning
	}{
		{"as it is", func(*conduct.Input) {}, "passed"},
		{"trimmed, in one line", user(strings.Join(strings.Fields(said), " ")), "passed"},
		{"in a template", user("Context: none.\n<query>\n" + said + "\n</query>"), "passed"},
		{"in JSON", user(`{"question": ` + quoted(said) + `}`), "passed"},
		{"in JSON within JSON", user(`{"body": ` + quoted(`{"q": `+quoted(said)+`}`) + `}`), "passed"},
		{"in JSON of ASCII alone", user(`{"q": ` + strings.NewReplacer("ë", `\u00eb`, "😀", `\ud83d\ude00`).Replace(quoted(said)) + `}`), "passed"},
		{"in XML", user("<q>" + strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(said) + "</q>"), "passed"},
		{"quoted line by line", user("> " + strings.ReplaceAll(said, "\n", "\n> ")), "passed"},
		{"as the system's", func(in *conduct.Input) {
			user("Begin.")(in)
			for i := range in.Exchanges {
				in.Exchanges[i].Request.Messages[0].Text += "\nTask: " + said
			}
		}, "passed"},
		{"as a part", func(in *conduct.Input) {
			user("")(in)
			in.Exchanges[0].Request.Messages[1].Parts = []string{"Today is Monday.", said}
		}, "passed"},
		{"in one request of several", func(in *conduct.Input) { (*second(in))[1].Text = "(as before)" }, "passed"},
		{"another text", user("Delete everything."), lost},
		{"nothing", user(""), lost},
		{"as if the model had said it", func(in *conduct.Input) {
			user("Hm.")(in)
			more(says(harness.RoleAssistant, said))(in)
		}, lost},
		{"in the result of a server alone", func(in *conduct.Input) {
			in.Users[0] = "Paris?"
			user("Hm.")(in)
		}, `failed: no request of turn 1 contains what the user said: "Paris?"`},
		{"as the answer of a tool of the client's own", func(in *conduct.Input) {
			user("Begin.")(in)
			more(harness.Message{Role: harness.RoleTool, CallID: "ask", Text: said})(in)
		}, "passed"},
		{"only its beginning", user(said[:80]), "warning: the requests of turn 1 contain only the beginning"},
		{"all but the last word of a text that is short", func(in *conduct.Input) {
			in.Users[0] = strings.Repeat("word ", 12) + "last" // 64 characters
			user(strings.Repeat("word ", 12))(in)
		}, lost},
		{"only the beginning of one long word", func(in *conduct.Input) {
			in.Users[0] = strings.Repeat("a", 100)
			user(strings.Repeat("a", 64) + "…")(in)
		}, "warning: the requests of turn 1 contain only the beginning"},
		{"twice", more(says(harness.RoleUser, said)), "warning: request 2 has the text of turn 1 2 times"},
		{"beside a part that says something else", more(harness.Message{Role: harness.RoleUser, Parts: []string{"Today is Monday."}}), "passed"},
		{"twice, once as a part", more(harness.Message{Role: harness.RoleUser, Parts: []string{"Today is Monday.", said}}), "warning: request 2 has the text of turn 1 2 times"},
		{"with a message that nobody sent", more(says(harness.RoleUser, "Continue.")), `warning: request 2 has a message of the user that the user did not send: "Continue."`},
		{"with a message that nobody sent, which ends in brackets", more(says(harness.RoleUser, "Continue (please)")), `warning: request 2 has a message of the user that the user did not send: "Continue (please)"`},
		{"with a message that nobody sent, in a shortened history", func(in *conduct.Input) {
			in.Exchanges[1].Compacted = true
			more(says(harness.RoleUser, "So far: nothing."))(in)
		}, "passed"},
		{"with words about an image", func(in *conduct.Input) {
			in.Tools[1].Content = json.RawMessage(`{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"}]}`)
			more(says(harness.RoleUser, "The image of get:"))(in)
		}, "passed"},
		{"with its text in another message", more(says(harness.RoleUser, "Remember: "+said)), "passed"},
		{"with a reminder in tags on lines of their own", more(says(harness.RoleUser, "\n<system-reminder>\nBe quick.\n</system-reminder>\n")), "passed"},
		{"with a reminder in tags", more(says(harness.RoleUser, "<system-reminder>Be quick.</system-reminder>")), "passed"},
		{"with a result in the user's name", more(says(harness.RoleUser, "Result: "+paris)), "passed"},
		{"in a turn that asked nothing", func(in *conduct.Input) { in.Users = append(in.Users, "And Rome?") }, "passed"},
		{"in a second turn without its own text", func(in *conduct.Input) {
			in.Users = append(in.Users, "And Rome?")
			addTurn(in, slices.Clone((*second(in))[1:])...)
		}, `failed: no request of turn 2 contains what the user said: "And Rome?"; request 3 says "Lend`},
		{"a turn that says the same again", func(in *conduct.Input) {
			in.Users = append(in.Users, said)
			addTurn(in, append(slices.Clone((*second(in))[1:]), says(harness.RoleUser, said))...)
		}, "passed"},
		{"a turn of signs alone", func(in *conduct.Input) {
			in.Users[0] = "?!"
			user("What?!")(in)
		}, "passed"},
		{"a word within another one", func(in *conduct.Input) {
			in.Users[0] = "Go"
			user("Good morning.")(in)
		}, "failed: no request of turn 1 contains what the user said: \"Go\""},
		{"with a value for what was taken out", func(in *conduct.Input) {
			user("Log in with swordfish, please.")(in)
			in.Users[0] = "Log in with REDACTED-literal-5ee0ea17, please."
		}, "passed"},
		{"another one, with something taken out", func(in *conduct.Input) {
			user("Log out, swordfish.")(in)
			in.Users[0] = "Log in with REDACTED-literal-5ee0ea17, please."
		}, lost},
		{"of a turn with nothing to say", func(in *conduct.Input) { in.Users[0] = " " }, "skipped"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			in.Users = []string{said}
			in.Transcript = nil
			user(said)(in)
			tt.do(in)
			got := verdictOf(conduct.Config{}, in, conduct.UserSent)
			if !strings.HasPrefix(got, tt.want) || tt.want == "passed" && got != tt.want {
				t.Errorf("user_sent is %s\nwant %s", got, tt.want)
			}
		})
	}
}
