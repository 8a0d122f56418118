// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package trials is the format of a run folder: what a run leaves behind, and
// what every report, merge, comparison and resume reads.
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
// Every record carries "schema", now 1. Fields may be added within a schema,
// and a reader ignores those it does not know; a record with a larger schema
// is refused. A record is identified by its [Key]: scenario, file, subject,
// model, mode and attempt. Where two records have the same key the later one
// counts ([Merge]), which is what makes a trial that is run again replace the
// earlier one.
package trials
