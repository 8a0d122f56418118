// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

// embeddingsRoutes are the routes of OpenAI's embeddings.
func embeddingsRoutes() []route { return nil }
