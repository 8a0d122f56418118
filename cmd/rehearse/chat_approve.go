// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/match"
)

// approver asks whoever sits at the terminal whether tools may run.
type approver struct {
	p     *process
	in    *lines
	tools []string // patterns of those that are asked about
	names func(tool string) []string
	may   []string // tools that may run from now on
}

var (
	errNobodyAsked = errors.New("standard input is not a terminal, so nobody can be asked")
	errRefused     = errors.New("the user refused it")
)

// fits reports whether a pattern is about a tool, by a name that it has.
func (a *approver) fits(pattern, tool string) bool {
	return slices.ContainsFunc(a.names(tool), func(name string) bool { return match.Glob(pattern, name) })
}

// approve decides about a call. Its arguments are shown in full: what is cut off
// would be approved unseen.
func (a *approver) approve(ctx context.Context, call harness.ToolCall) error {
	if slices.Contains(a.may, call.Name) || !slices.ContainsFunc(a.tools, func(pattern string) bool { return a.fits(pattern, call.Name) }) {
		return nil
	}
	if !a.in.typed {
		return errNobodyAsked
	}
	var args bytes.Buffer
	if err := json.Compact(&args, []byte(call.Arguments)); err != nil { // no line ends: it is one question
		return err
	}
	line, err := a.in.ask(ctx, fmt.Sprintf("run %s with %s? [y/N/a] ", call.Name, &args))
	if err != nil {
		if ctx.Err() == nil { // Ctrl-C that the editor read, or the end of the input
			a.p.interrupt.pass()
			<-ctx.Done()
		}
		return errRefused
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "a", "always":
		a.may = append(a.may, call.Name)
	case "y", "yes":
	default:
		return errRefused
	}
	return nil
}
