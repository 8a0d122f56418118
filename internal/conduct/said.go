// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package conduct

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// compareAnswer compares the answer that a subject reports of a turn with what
// the model said last in it. A subject may add words, and leave out thoughts and
// labels before the answer.
func (c *checker) compareAnswer(turn int, t *harness.TurnReport, f *finding) {
	var last *harness.Exchange
	for i := range c.replies {
		if c.replies[i].Turn == turn {
			last = &c.replies[i]
		}
	}
	got := strings.TrimSpace(t.Answer)
	if t.Stop != "" || t.Error != "" {
		return
	}
	if broken := c.brokeOff(turn); broken != nil && !c.interrupted(turn) {
		if said := strings.TrimSpace(broken.Answer.Text); got != "" && got != said && strings.Contains(said, got) {
			f.note("turn %d: the subject answers %s, which is what arrived of a reply that broke off: %s", turn, quote(got), quote(said))
		}
		return
	}
	if last == nil {
		return
	}
	said := strings.TrimSpace(last.Answer.Text)
	if len(last.Answer.Calls) > 0 || said == "" || strings.Contains(got, said) {
		return
	}
	if got == "" || !strings.Contains(said, got) || last.Fault == "" && !readable(got, said) {
		f.add("turn %d: the subject answers %s, but the model said %s", turn, quote(got), quote(said))
	} else if !tellsEnough(got, said) {
		f.note("turn %d: the subject answers %s, a part of what the model said: %s", turn, quote(got), quote(said))
	}
}

// brokeOff is the last request of a turn, when the reply to it never arrived
// whole.
func (c *checker) brokeOff(turn int) (last *harness.Exchange) {
	for i, x := range c.requests {
		if x.Turn == turn && (x.Kind == harness.KindReply || x.Kind == harness.KindLive) && x.Status < 300 {
			last = &c.requests[i]
		}
	}
	if last == nil || last.Delivered {
		return nil
	}
	return last
}

// tellsEnough reports whether a part of an answer is one itself: the half of it,
// its beginning of a length that people recognise, its end, or a value in it.
func tellsEnough(got, said string) bool {
	bare := func(s string) string { return strings.TrimRightFunc(s, func(r rune) bool { return !inWord(r) }) }
	if len(got) >= leastOf(said) || strings.HasSuffix(bare(said), bare(got)) {
		return true
	}
	found := false
	for _, p := range value.Embedded(said) {
		value.Walk(p.Value, func(_ value.Path, v value.Value) bool {
			found = found || strings.TrimSpace(v.Text()) == got
			return !found
		})
	}
	return found
}

// readable reports whether a part of a text has words, and begins and ends where
// words do, somewhere in it. Long parts may end anywhere.
func readable(got, said string) bool {
	if !strings.ContainsFunc(got, inWord) {
		return false
	}
	if len(got) >= cappedHead {
		return true
	}
	first, _ := utf8.DecodeRuneInString(got)
	end, _ := utf8.DecodeLastRuneInString(got)
	for at := 0; ; at++ {
		i := strings.Index(said[at:], got)
		if i < 0 {
			return false
		}
		at += i
		before, _ := utf8.DecodeLastRuneInString(said[:at])
		after, _ := utf8.DecodeRuneInString(said[at+len(got):])
		if !(spaced(before) && spaced(first)) && !(spaced(end) && spaced(after)) {
			return true
		}
	}
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// spaced reports whether a character is of a word in a script that puts space
// between words.
func spaced(r rune) bool {
	return unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Nd)
}
