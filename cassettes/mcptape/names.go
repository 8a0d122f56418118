// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape

import (
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/shape"
)

// What is taken out of a tape, and how a recorded answer and that of a new
// server differ.
type (
	// Secrets say what is taken out: secrets, people, places.
	Secrets = redact.Rules
	// Difference is one place where they do.
	Difference = shape.Difference
	// Tier says how much of a client may depend on a [Difference].
	Tier = shape.Tier
)
