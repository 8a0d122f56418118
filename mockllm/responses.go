// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

// responsesRoutes are the routes of OpenAI's responses.
func responsesRoutes() []route { return nil }
