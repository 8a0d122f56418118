// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

// geminiRoutes are the routes of Gemini's generateContent.
func geminiRoutes() []route { return nil }
