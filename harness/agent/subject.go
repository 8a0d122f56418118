// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent

import "github.com/rehearse-dev/rehearse/harness"

// Subject is the reference subject: an [Agent] with an OpenAI client on
// env.Endpoint and the tools of env.Servers. The settings of the scenario go
// over those of cfg; Tools of cfg is not used. Nil cfg means all defaults.
func Subject(cfg *Config) harness.Subject { panic("todo") }
