// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

// Diff is two runs held against each other.
type Diff struct{}

type diffView struct{}

func (b *pageBuilder) diffView() *diffView { return nil }
