// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package profile says how real endpoints behave on the wire: which routes
// they have, which model names they take, how they spell a reply for each
// family of models, whole and streamed, and what their clients see when
// something behind them goes wrong.
//
// A profile is data, one file each. Rows cite their public sources in brackets:
//
//	[run]               the release from PyPI, run before a stand-in for the gateway (package interop/argo)
//	[captures]          published captures of the gateway, as in tools/argo_probe_out of argo-proxy
//	[app.py], [chat.py], [models], [input_handle.py], [changelog]
//	                    src/argoproxy/app.py, endpoints/chat.py, models, tool_calls/input_handle.py, and
//	                    docs/changelog.md of https://github.com/Oaklight/argo-proxy at the release's tag
//
// For example:
//
//	p, _ := profile.Lookup("argo-proxy-3.3")
//	model, refusal := p.Resolve(profile.Chat, "argo:gpt-4o", true)
//	style := p.Style(profile.Ask{Dialect: profile.Chat, Model: model, Stream: true})
//
// Replies are written by package mockllm in the [dialect.Style] of the profile.
// The profiles openai, anthropic, gemini and strict have none: they are the
// providers' own ways.
package profile
