// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package tools

import "github.com/rehearse-dev/rehearse/internal/toolname"

// NameStyle says how the names of tools are offered.
type NameStyle = toolname.Style

// The styles of names.
const (
	NamesBare   = toolname.Bare       // <tool>
	NamesMCP    = toolname.Underscore // mcp_<server>_<tool>
	NamesDotted = toolname.Dotted     // <server>_<tool>
)
