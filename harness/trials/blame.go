// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trials

import "github.com/rehearse-dev/rehearse/harness"

// Blame says whose doing a cause is.
type Blame string

// Those to blame.
const (
	BlameModel          Blame = "model"          // the model answered something else, or was cut off
	BlameSubject        Blame = "subject"        // the client under test
	BlameTool           Blame = "tool"           // a server, or one of its tools
	BlameJudge          Blame = "judge"          // the scenario or what judges it
	BlameInfrastructure Blame = "infrastructure" // the endpoint, the network, this machine
)

// Blames lists every [Blame], in the order of the documentation.
func Blames() []Blame {
	return []Blame{BlameModel, BlameSubject, BlameTool, BlameJudge, BlameInfrastructure}
}

// blameOf says whose doing a cause is as far as its kind tells. A mock model
// says what is scripted, so what goes wrong there is the subject's.
func blameOf(kind CauseKind, mode harness.Mode) Blame {
	switch kind {
	case CauseScenario, CauseJudge:
		return BlameJudge
	case CauseEndpoint:
		return BlameInfrastructure
	case CauseExpectation:
		if mode != harness.ModeMock {
			return BlameModel
		}
	}
	return BlameSubject
}

// Attribute fills in whom the cause of a trial blames, where that is not
// known: its kind and its mode tell.
func (r *Record) Attribute() {
	if r.Cause != nil && r.Cause.Kind != "" && r.Cause.Blame == "" {
		r.Cause.Blame = blameOf(r.Cause.Kind, r.Mode)
	}
}
