// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build rehearse_unguarded

package gate

// enforced is false in a build for one test, which shows that a page would be
// obeyed without the guard.
const enforced = false
