// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

// completionsRoutes are the routes of OpenAI's legacy completions.
func completionsRoutes() []route { return nil }
