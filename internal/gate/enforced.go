// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build !rehearse_unguarded

package gate

// enforced says that strangers are refused, as they are in every build but one.
const enforced = true
