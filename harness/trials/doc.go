// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package trials records the results of trials: what each check found
// ([Verdict]), why a trial failed ([Cause]), and the format of the run folder
// that a run leaves behind, which every report, merge, comparison and resume
// reads.
//
// The smallest use reads the trials of a finished run:
//
//	records, err := trials.ReadFile("runs/20260102-150405-gemflux/trials.jsonl")
//
// # The run folder
//
//	runs/<time>-<name>/
//	  run.json           one Manifest: what was planned, with versions and hashes
//	  trials.jsonl       one Record per line, in the order in which trials ended
//	  transcripts/*.json one Detail per trial, named by Record.Detail
//
// Reports are functions of these files alone. trials.jsonl is enough for
// summaries, merging and resuming; transcripts are for a person who wants to
// see what happened, and for scoring again.
//
// # trials.jsonl
//
// Each line is a JSON object and ends in a newline. It is written and flushed
// when its trial ends, so a run that is killed keeps all finished trials; the
// last line may then be torn. A torn last line is left out when reading and
// cut off before more is appended. A broken line anywhere else is an error
// that names the line.
//
// Every record carries "schema", now 2. Fields may be added within a schema,
// and a reader ignores those it does not know; a record with a larger schema is
// refused, and one of schema 1 is read as if it were of schema 2. A record is
// identified by its [Key]: suite, scenario, case, subject, model entry, variant,
// mode and attempt. A record of a key replaces an earlier one whose outcome is
// error: the trial was run again. A second record of a finished trial is an
// error, in a file and where runs are joined ([Join]).
package trials
