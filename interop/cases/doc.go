// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Command cases plays inputs that print PASS or FAIL for each check, from the
// folder that REHEARSE_CASES names, against a binary of rehearse. `make cases`
// runs it.
//
// A folder with a run.sh is played by the run-all.sh beside it; the folders
// clients and go-agent have none, and are started and judged here. The folder
// is copied first, since it may be read-only and some inputs write beside
// themselves.
//
// A check that fails is a failure unless excused.txt excuses it and says why.
// An excuse for a check that passes, or for none, is a failure too, and so is a
// folder that prints no check.
package main
