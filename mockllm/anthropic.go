// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

// anthropicRoutes are the routes of Anthropic's messages.
func anthropicRoutes() []route { return nil }
