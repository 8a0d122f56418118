// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package openai

import "github.com/rehearse-dev/rehearse/internal/retry"

// RetryPolicy says when a request is repeated, and how long the waits are.
type RetryPolicy = retry.Policy
