// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trials

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
)

// State is what a check found.
type State string

// The states of a verdict. Undecided and skipped are neither a pass nor a
// failure.
const (
	Passed    State = "passed"    // as expected
	Failed    State = "failed"    // not as expected
	Undecided State = "undecided" // could not be judged
	Skipped   State = "skipped"   // does not apply, or was switched off
	Warned    State = "warning"   // a finding that fails nothing
)

// Verdict is what one check says of a trial.
type Verdict struct {
	// Check names it: calls, never, answer, state, files, retries, stops, that, judge,
	// or the name of a conduct check.
	Check string `json:"check"`
	// Conduct tells conduct checks from expectations.
	Conduct bool `json:"conduct,omitempty"`
	// State is what the check found.
	State State `json:"state"`
	// Score in 0..1 where the check measures; nil elsewhere.
	Score *float64 `json:"score,omitempty"`
	// Turn the check belongs to, from 1; 0 for the whole conversation.
	Turn int `json:"turn,omitempty"`
	// Pos is where the expectation stands in its file.
	Pos harness.Position `json:"pos,omitzero"`
	// Message says what was wrong; empty when passed.
	Message string `json:"message,omitempty"`
	// Mismatches are the places where a value is not as expected.
	Mismatches []Mismatch `json:"mismatches,omitempty"`
	// MismatchesOnly says that Mismatches are all that is wrong: who shows them
	// need not repeat them by the message.
	MismatchesOnly bool `json:"mismatches_only,omitempty"`
	// Files are the paths of the files that are not as expected, where the check
	// is about files.
	Files []string `json:"files,omitempty"`
	// Alignment pairs the expected calls with those that were made, where the
	// check is about calls.
	Alignment *Alignment `json:"alignment,omitempty"`
	// Advisory says that it decides nothing: its failure is a warning, and what
	// it could not judge is not an error of the trial.
	Advisory bool `json:"advisory,omitempty"`
	// Scripted says that the subject reports nothing, and that the check found what
	// the mock model said in its place. It does not count as a check of the trial.
	Scripted bool `json:"scripted,omitempty"`
	// Judgement is what an LLM judge said; nil for every other check.
	Judgement *Judgement `json:"judgement,omitempty"`
}

// Judgement is what an LLM judge said when it was asked one question, once or
// several times.
type Judgement struct {
	// Judge is the label of its model entry; empty for a scripted one.
	Judge string `json:"judge,omitempty"`
	// Question is a hash of what it was asked.
	Question string `json:"question"`
	// Votes are its replies, one each time that it was asked.
	Votes []Vote `json:"votes"`
	// Agreement is the share of the votes that are on the side of the most:
	// passing, failing, or without a verdict.
	Agreement float64 `json:"agreement"`
}

// Vote is one reply of a judge.
type Vote struct {
	// Verdict is the choice, or the score, that it gave; empty where there is an
	// Error.
	Verdict string `json:"verdict,omitempty"`
	// Passes says that the verdict is a passing one.
	Passes bool `json:"passes,omitempty"`
	// Reason is what it gave for its verdict.
	Reason string `json:"reason,omitempty"`
	// Error says why the reply is not a verdict, or why there was none.
	Error string `json:"error,omitempty"`
	// Reply is the whole reply; empty where there was none.
	Reply string `json:"reply,omitempty"`
}

// Mismatch is one place where a value is not as expected.
type Mismatch struct {
	Path string `json:"path"`           // the way into the value: args.genome_id, [0].x
	Rule string `json:"rule"`           // the operator or comparison that failed
	Want string `json:"want,omitempty"` // what was expected, as JSON or words
	Got  string `json:"got,omitempty"`  // what was there, as JSON or words
	// Pos is where the value is expected.
	Pos harness.Position `json:"pos,omitzero"`
}

func (m Mismatch) String() string {
	if m.Rule == "equal" { // want and got say it
		return fmt.Sprintf("%s: want %s, got %s", m.Path, m.Want, m.Got)
	}
	return fmt.Sprintf("%s: %s: want %s, got %s", m.Path, m.Rule, m.Want, m.Got)
}

// Alignment pairs expected calls with actual ones.
type Alignment struct {
	// Rows in the order of the file, calls that were not expected where they
	// were made.
	Rows []AlignmentRow `json:"rows"`
}

// AlignmentRow is one expected call, one actual call, or a pair of both.
type AlignmentRow struct {
	// Status is the fate of the row.
	Status AlignmentStatus `json:"status"`
	// Expected is the call that the scenario expects, a name with arguments for a
	// person; empty where none is.
	Expected string `json:"expected,omitempty"`
	// Tool is the tool that the scenario expects to be called: server.tool, or
	// the name under which it is offered; empty where none is.
	Tool string `json:"tool,omitempty"`
	// Actual is the call that was made, likewise; empty where none was.
	Actual string `json:"actual,omitempty"`
	// Call is the index into the trajectory, from 0; -1 when missing.
	Call int `json:"call"`
	// Pos is where the call is expected.
	Pos harness.Position `json:"pos,omitzero"`
	// Mismatches of the arguments.
	Mismatches []Mismatch `json:"mismatches,omitempty"`
}

// AlignmentStatus is the fate of one row of an [Alignment].
type AlignmentStatus string

// The fates.
const (
	AlignMatched    AlignmentStatus = "matched"      // made as expected
	AlignMismatched AlignmentStatus = "mismatched"   // made, with other arguments
	AlignMissing    AlignmentStatus = "missing"      // expected and not made
	AlignExtra      AlignmentStatus = "extra"        // made and not expected
	AlignOutOfOrder AlignmentStatus = "out_of_order" // made, too early or too late
	AlignForbidden  AlignmentStatus = "forbidden"    // made, and must not be
)

// Cause is why a trial failed or could not be judged: one primary cause, what
// follows from it folded.
type Cause struct {
	// Kind is what sort of cause it is.
	Kind CauseKind `json:"kind"`
	// Blame says whose doing it is. A file that does not say is read as if it
	// said what the kind tells.
	Blame Blame `json:"blame,omitempty"`
	// Message says what was wrong, in the words of the report.
	Message string `json:"message"`
	// Hints are what explains it that only the run knows: why a tool was not
	// offered. Each is a line.
	Hints []string `json:"hints,omitempty"`
	// Tools are those that the cause is about: server.tool, or the name under
	// which the scenario has one.
	Tools []string `json:"tools,omitempty"`
	// Pos is where the expectation or the mistake stands.
	Pos harness.Position `json:"pos,omitzero"`
	// Check names the check that found the cause, where one did.
	Check string `json:"check,omitempty"`
	// Folded are consequences of the cause: "3 replies not reached".
	Folded []Consequence `json:"folded,omitempty"`
}

// Text is the message with the hints, each on a line of its own.
func (c *Cause) Text() string { return strings.Join(append([]string{c.Message}, c.Hints...), "\n") }

// Consequence is what follows from a cause.
type Consequence struct {
	// Text says what it is, in the words of the report.
	Text string `json:"text"`
	// Check names the check that found it, where one did.
	Check string `json:"check,omitempty"`
	// Pos is where the expectation stands, where it is one.
	Pos harness.Position `json:"pos,omitzero"`
}

// UnmarshalJSON reads also a text alone, as older files have it.
func (c *Consequence) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &c.Text) == nil {
		return nil
	}
	type plain Consequence
	return json.Unmarshal(data, (*plain)(c))
}

// CauseKind orders causes: the first that applies is the primary one.
type CauseKind string

// The kinds of cause, in order of precedence.
const (
	CauseScenario    CauseKind = "scenario"    // the script itself is wrong
	CauseEndpoint    CauseKind = "endpoint"    // infrastructure: model endpoint or server
	CauseRefusal     CauseKind = "refusal"     // the provider would have refused a request
	CauseMiss        CauseKind = "miss"        // a request that nobody scripted
	CauseLimits      CauseKind = "limits"      // the runner's limits were passed
	CauseSubject     CauseKind = "subject"     // the subject broke
	CauseConduct     CauseKind = "conduct"     // a conduct check failed
	CauseExpectation CauseKind = "expectation" // an expectation failed
	CauseJudge       CauseKind = "judge"       // nothing failed, and what decides could not be judged
)
