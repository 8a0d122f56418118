// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// The variables with which a test in mode replay records instead.
const (
	recordVariable = "REHEARSE_RECORD" // the models, with commas between
	forceVariable  = "REHEARSE_FORCE"  // anything but 0 or nothing
)

// liveRuns is where a Go test in mode live writes its run, as `rehearse run`
// does: what models said has cost something.
const liveRuns = "runs"

// forTest completes the settings of a Go test: it knows its name, keeps what
// real models said, and records where the environment says so.
func forTest(opts *Options, name string) (*Options, error) {
	if opts == nil {
		return nil, nil // Run says what is missing
	}
	o := *opts
	o.goTest = name
	if o.Mode == harness.ModeLive {
		o.Out = cmp.Or(o.Out, liveRuns)
	}
	lookup := o.LookupEnv
	if lookup == nil {
		lookup = os.LookupEnv
	}
	env := func(name string) string { v, _ := lookup(name); return v }
	models := env(recordVariable)
	if models == "" || o.Mode != harness.ModeReplay {
		return &o, nil
	}
	o.Mode, o.Entries, o.Models = harness.ModeRecord, nil, nil
	for model := range strings.SplitSeq(models, ",") {
		if model = strings.TrimSpace(model); model != "" {
			o.Entries = append(o.Entries, Models(model)...)
		}
	}
	o.BaseURL = cmp.Or(o.BaseURL, env("ARGO_BASE_URL"), env("OPENAI_BASE_URL"))
	o.KeysFrom(env)
	if o.BaseURL == "" {
		return nil, fmt.Errorf("%s is set, but no endpoint is: set Options.BaseURL, ARGO_BASE_URL or OPENAI_BASE_URL", recordVariable)
	}
	if force := env(forceVariable); force != "" && force != "0" {
		o.Force = true
	}
	return &o, nil
}

// recordByTest is the command that records a trial of a Go test anew: the test
// itself, since the subject is its.
func recordByTest(test, model, base string) string {
	var pattern []string
	for part := range strings.SplitSeq(test, "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(part)+"$")
	}
	words := []string{recordVariable + "=" + prose.ShellWord(cmp.Or(model, "MODEL"))}
	if base != "" {
		words = append(words, "OPENAI_BASE_URL="+prose.ShellWord(base))
	}
	words = append(words, "go test -tags real_llm -run", "'"+strings.ReplaceAll(strings.Join(pattern, "/"), "'", `'\''`)+"'", testedPackage())
	return strings.Join(words, " ")
}

// testedPackage is the package whose tests run.
func testedPackage() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "."
	}
	return cmp.Or(strings.TrimSuffix(info.Path, ".test"), ".")
}
