// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trials

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
)

// Schema is the version of records, manifests and details that this package
// writes.
const Schema = 1

// Key identifies a trial. Two records with one key are the same trial, run
// twice.
type Key struct {
	// Scenario is the name of the scenario, with its case: "units [metric]".
	Scenario string `json:"scenario"`
	// File is the scenario's file as it was named to the run.
	File string `json:"file,omitempty"`
	// Subject is the name of the client under test.
	Subject string `json:"subject,omitempty"`
	// Model is the model as it was asked for.
	Model string       `json:"model,omitempty"`
	Mode  harness.Mode `json:"mode"`
	// Attempt counts the trials of one scenario, subject and model, from 1.
	Attempt int `json:"attempt"`
}

func (k Key) String() string {
	return fmt.Sprintf("%s (%s, %s, attempt %d)", k.Scenario, k.Model, k.Mode, k.Attempt)
}

// Record is one line of trials.jsonl: one trial and how it was judged.
type Record struct {
	Schema int `json:"schema"`
	Key
	Tags []string `json:"tags,omitempty"`
	// Critical is set where a gate fails when the scenario flips.
	Critical bool `json:"critical,omitempty"`
	// Pos is where the scenario stands in its file.
	Pos harness.Position `json:"pos,omitzero"`
	// Hash of the scenario with its servers, as loaded.
	Hash string `json:"hash,omitempty"`
	Seed int64  `json:"seed"`
	// Answered are the models that answered, as they call themselves.
	Answered []string        `json:"answered,omitempty"`
	Outcome  harness.Outcome `json:"outcome"`
	// Cause is nil for a trial that passed.
	Cause *harness.Cause `json:"cause,omitempty"`
	// Verdicts are the expectations in the order of the file, then the
	// conduct checks in the order of the documentation.
	Verdicts []harness.Verdict `json:"verdicts,omitempty"`
	// Trajectory is the list of tool calls in the model's order.
	Trajectory []harness.Call `json:"trajectory,omitempty"`
	// Answers are the subject's answers, one a turn, where it reported any.
	Answers []string  `json:"answers,omitempty"`
	Counts  Counts    `json:"counts"`
	Start   time.Time `json:"start"`
	// Duration is real time.
	Duration time.Duration `json:"duration_ns"`
	// Skipped is scripted waiting that a virtual clock spared the run.
	Skipped time.Duration `json:"skipped_ns,omitempty"`
	// Detail is the path of the trial's [Detail], below the run folder, with
	// forward slashes. Empty when there is none.
	Detail string `json:"detail,omitempty"`
	// Cassette is the path of the recording that was replayed, or made.
	Cassette string `json:"cassette,omitempty"`
	// Recorded is the number of exchanges in it, for a recording that was
	// made. Written says that the file was: one of the same content was left
	// alone.
	Recorded int  `json:"recorded,omitempty"`
	Written  bool `json:"written,omitempty"`
	// Drift are the differences in shape between a recording that was made
	// and the one before.
	Drift []string `json:"drift,omitempty"`
	// Warnings are doubts about the trial that decided nothing.
	Warnings []string `json:"warnings,omitempty"`
}

// Counts are the sums of one trial.
type Counts struct {
	// ModelCalls are the attempts that reached the endpoint, faulted ones
	// too, without asides.
	ModelCalls int `json:"model_calls"`
	// Retries are the model calls that repeated an earlier one.
	Retries int `json:"retries,omitempty"`
	// ToolCalls are the calls that reached a server.
	ToolCalls int           `json:"tool_calls"`
	Usage     harness.Usage `json:"usage"`
	// Checks are the expectations that came to a verdict; a conduct check is
	// none.
	Checks int `json:"checks"`
}

// Detail is what the two witnesses of one trial said, whole: the file behind
// a transcript in a report.
type Detail struct {
	Schema int `json:"schema"`
	Key
	// System is the system prompt of the scenario.
	System string `json:"system,omitempty"`
	// Transcript is null when the subject reported nothing.
	Transcript *harness.Transcript    `json:"transcript,omitempty"`
	Exchanges  []harness.Exchange     `json:"exchanges,omitempty"`
	Tools      []harness.ToolExchange `json:"tools,omitempty"`
	// States are the states of the mock servers at the end, by server.
	States map[string]json.RawMessage `json:"states,omitempty"`
	// Log are the lines that the subject and the runner logged.
	Log []string `json:"log,omitempty"`
}

// Manifest is run.json: what a run was to do, and with what.
type Manifest struct {
	Schema int    `json:"schema"`
	Name   string `json:"name"`
	// Rehearse and Go are the versions of the program.
	Rehearse string       `json:"rehearse,omitempty"`
	Go       string       `json:"go,omitempty"`
	Mode     harness.Mode `json:"mode"`
	Subject  string       `json:"subject,omitempty"`
	Seed     int64        `json:"seed"`
	Started  time.Time    `json:"started"`
	// Finished is zero while the run goes on, and stays so when it was killed.
	Finished time.Time `json:"finished,omitzero"`
	// Interrupted says that the run was stopped before its last trial.
	Interrupted bool `json:"interrupted,omitempty"`
	// Planned is the number of trials the run was to do.
	Planned   int      `json:"planned"`
	Models    []Model  `json:"models,omitempty"`
	Scenarios []Source `json:"scenarios,omitempty"`
	// Warnings are doubts about the run as a whole.
	Warnings []string `json:"warnings,omitempty"`
}

// Model is a model of a run.
type Model struct {
	// Asked is the name as it was asked for.
	Asked string `json:"asked"`
	// Answered are the names that answered, sorted; filled in at the end.
	Answered []string `json:"answered,omitempty"`
	// BaseURL of the endpoint in live mode, without user and query.
	BaseURL string `json:"base_url,omitempty"`
}

// Source is a scenario of a run.
type Source struct {
	Name        string   `json:"name"`
	File        string   `json:"file,omitempty"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	Hash        string   `json:"hash,omitempty"`
	// Trials planned per model.
	Trials int `json:"trials"`
}
