// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build !linux

package offline

import "context"

// Enter does nothing: nobody is started so.
func Enter() {}

// Inside reports that there is a network.
func Inside() (*Hosts, error) { return nil, nil }

// Again is refused.
func Again(context.Context, <-chan struct{}) (int, error) { return 0, ErrUnsupported }
