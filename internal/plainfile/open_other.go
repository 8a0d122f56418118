// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build !unix

package plainfile

import "errors"

const noWait = 0

var errFolder = errors.New("is a directory")
