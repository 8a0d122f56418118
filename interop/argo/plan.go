// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/rehearse-dev/rehearse/scenarios"
)

// shipped is where the recordings are, from the root of the repository.
const shipped = "cassettes/argo-proxy"

// release is a version of argo-proxy with what pip must be told besides.
type release struct {
	version string
	rosetta string // of llm-rosetta; empty when the release has none
}

// releases are the last of 2.x, whose wire is a gateway's older interface, the
// two of 3.x that stand for what was changed since, and the newest.
func releases() []release {
	return []release{{"2.8.9", ""}, {"3.0.4", "0.6.12"}, {"3.1.2", "0.6.12"}, {"3.3.3", "0.13.0"}}
}

// allReleases are those whose exchanges are recorded: those of which the wire
// differs from the one before.
func allReleases() []release {
	var out []release
	for _, v := range []string{"2.8.9", "3.0.4", "3.1.0", "3.1.2", "3.2.2", "3.3.2", "3.3.3"} {
		out = append(out, releaseOf(v))
	}
	return out
}

// releaseOf is a version with the llm-rosetta that was current when it was.
func releaseOf(version string) release {
	switch {
	case strings.HasPrefix(version, "2."):
		return release{version, ""}
	case strings.HasPrefix(version, "3.0."), strings.HasPrefix(version, "3.1."):
		return release{version, "0.6.12"}
	}
	return release{version, "0.13.0"}
}

// models are one name of each family: every release treats the three in ways
// of their own.
func models() []string {
	return []string{"argo:gpt-4o", "argo:claude-opus-4.5", "argo:gemini-2.5-flash"}
}

// variants are the folders of a release: how replies are asked for.
func variants() []string { return []string{"plain", "stream"} }

// sources are the scenarios that are recorded, from the root of the
// repository. A real endpoint does not fail when it is told to.
func sources(real bool) []string {
	list := []string{
		"scenarios/suites/gemflux/05-workflow.yaml", // three turns of one call each
		"scenarios/suites/utilities",                // parallel calls, errors of tools
		"scenarios/suites/endpoint/09-no-arguments.yaml",
		"scenarios/suites/endpoint/07-refused.yaml", // an error of the provider that lasts
	}
	if !real {
		list = append(list, "scenarios/suites/endpoint/08-outage.yaml") // and one that passes
	}
	return list
}

// load reads the scenarios below root for one variant.
func load(root, variant string, real bool) ([]*scenarios.Scenario, error) {
	var paths []string
	for _, s := range sources(real) {
		paths = append(paths, filepath.Join(root, s))
	}
	set, err := scenarios.Load(paths, nil)
	if err != nil {
		return nil, fmt.Errorf("loading what is to be recorded: %w", err)
	}
	var out []*scenarios.Scenario
	for _, s := range set.Scenarios {
		// Scenarios are shared, so the setting goes into a copy.
		c := *s
		c.Settings.Stream = variant == "stream"
		out = append(out, &c)
	}
	return out, nil
}
