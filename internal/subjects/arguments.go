// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package subjects

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// unfit says that a command cannot be started with what it is to be handed: the
// subject was not asked, but there is one. It is a [harness.ErrUnavailable].
type unfit struct{ message string }

func (e *unfit) Error() string        { return e.message }
func (e *unfit) Is(target error) bool { return target == harness.ErrUnavailable }

// longestArgument is what Linux takes of one argument or variable, in bytes with
// the zero at its end. Other systems bound all of them together alone.
const longestArgument = 128 << 10

// fits refuses arguments and variables that no program can be handed. words are
// those of the command as it is described.
func fits(words, args, environ []string) error {
	for what, text := range handed(words, args, environ) {
		if strings.ContainsRune(text, 0) {
			return &unfit{fmt.Sprintf("%s has a NUL character, which no program can be handed in this way%s", what, otherwise(what))}
		}
	}
	return nil
}

// tooLong says what of arguments and variables the system refuses for its length.
func tooLong(words, args, environ []string) error {
	longest, most, total := "", 0, 0
	for what, text := range handed(words, args, environ) {
		if total += len(text) + 1; len(text) > most {
			longest, most = what, len(text)
		}
	}
	if most >= longestArgument {
		return &unfit{fmt.Sprintf("%s has %d bytes, and the system hands a program at most %d at once%s", longest, most, longestArgument-1, otherwise(longest))}
	}
	return &unfit{fmt.Sprintf("the command has %d bytes of arguments and variables, which is more than the system hands a program; %s is the longest, with %d%s", total, longest, most, otherwise(longest))}
}

// handed are the arguments and variables of a command, by what they are called in
// a message.
func handed(words, args, environ []string) func(yield func(what, text string) bool) {
	return func(yield func(what, text string) bool) {
		for i, text := range args {
			if !yield(fmt.Sprintf("the word %q of the command", prose.Shorten(words[i], 200)), text) {
				return
			}
		}
		for _, text := range environ {
			name, _, _ := strings.Cut(text, "=")
			if !yield("the variable "+name, text) {
				return
			}
		}
	}
}

// otherwise is the end of a message: how else the command can be handed a text.
func otherwise(what string) string {
	if strings.Contains(what, "{prompt}") {
		return ": want {prompt_file} in its place, the path of a file with what the user says, or neither, so that the command gets it by standard input"
	}
	return ": want a file for it (files:)"
}

// errNoFolder is met where a later turn finds no folder to play in.
var errNoFolder = errors.New("the working folder of the trial is gone: the subject has deleted it, so that its command cannot be started again")
