// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trials

import (
	"encoding/json"

	"github.com/rehearse-dev/rehearse/harness"
)

// Played is what the judging of a trial rests on beside the two witnesses: how
// far the conversation came, what was seen along the way, and what went wrong
// whatever is expected. With it a trial is judged again without being played.
type Played struct {
	// Turns is the number of turns that were sent.
	Turns int `json:"turns"`
	// Listed are the tools that the servers listed, by server, without their
	// descriptions.
	Listed map[string][]harness.Tool `json:"listed,omitempty"`
	// States are the states of the mock servers after each turn, by server.
	States []map[string]json.RawMessage `json:"states,omitempty"`
	// Files are the files of the working folder that expectations name, by path,
	// after each turn and at the end. Empty where no expectation names any.
	Files []map[string]File `json:"files,omitempty"`
	// Conduct are the settings of the conduct checks.
	Conduct map[string]string `json:"conduct,omitempty"`
	// StartError is the error with which the subject could not be opened, where
	// an expectation judges it.
	StartError string `json:"start_error,omitempty"`
	// Ended is how the subject ended the conversation before its time; nil when
	// it did not.
	Ended *Ended `json:"ended,omitempty"`
	// Interrupted are the turns that the scenario interrupted, from 1.
	Interrupted []int `json:"interrupted,omitempty"`
	// Unable is why the subject cannot play the scenario; nil when it can.
	Unable *Cause `json:"unable,omitempty"`
	Faults Faults `json:"faults,omitzero"`
	// Unreached is the number of scripted replies that were never asked for, and
	// that nothing excuses.
	Unreached int `json:"unreached,omitempty"`
	// Untimed says that times were left out of the files.
	Untimed bool `json:"untimed,omitempty"`
	// Redacted says that texts of the witnesses were replaced, and Cut that some
	// were too long for a file: they cannot be judged again.
	Redacted bool `json:"redacted,omitempty"`
	Cut      bool `json:"cut,omitempty"`
}

// File is a file of the working folder.
type File struct {
	Text string `json:"text,omitempty"`
	// Absent says that it does not exist.
	Absent bool `json:"absent,omitempty"`
	// Instead is what is there in place of a regular file with a text that can be
	// judged, such as "a folder", or why an absent file cannot be there; empty for
	// neither.
	Instead string `json:"instead,omitempty"`
	// Astray says that Instead leads to no file of the working folder.
	Astray bool `json:"astray,omitempty"`
	// Problem is why the text is not known; empty when it is.
	Problem string `json:"problem,omitempty"`
}

// Ended is an error of the subject that ended the conversation.
type Ended struct {
	// Turn that it ended, from 1; 0 for the opening of the subject.
	Turn int `json:"turn"`
	// Fatal says that no expectation could have excused it: a panic, or an error
	// after the trial had been cancelled.
	Fatal bool `json:"fatal,omitempty"`
}

// Faults are what went wrong while a trial was played, in the order in which
// they count.
type Faults struct {
	// Setup is of the endpoint, the servers or this machine.
	Setup []Cause `json:"setup,omitempty"`
	// Script has errors of the script. A result that the subject altered explains
	// them.
	Script []Cause `json:"script,omitempty"`
	// Course is what came about in the conversation: endpoints that failed,
	// misses, refusals, limits.
	Course []Cause `json:"course,omitempty"`
	// Subject is how the subject broke. It counts when nothing before it does, a
	// panic always.
	Subject  *Cause `json:"subject,omitempty"`
	Panicked bool   `json:"panicked,omitempty"`
	// Behind counts only where something is wrong, and is then the reason.
	Behind []Cause `json:"behind,omitempty"`
}
