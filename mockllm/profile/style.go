// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package profile

import (
	"time"

	"github.com/rehearse-dev/rehearse/mockllm/wire"
)

func style275(a Ask) *wire.Style     { return &wire.Style{} }
func style289(a Ask) *wire.Style     { return &wire.Style{PiecePause: 10 * time.Millisecond} }
func style30(a Ask) *wire.Style      { return &wire.Style{} }
func style31(a Ask) *wire.Style      { return &wire.Style{} }
func style32(a Ask) *wire.Style      { return &wire.Style{} }
func style33(a Ask) *wire.Style      { return &wire.Style{} }
func styleGateway(a Ask) *wire.Style { return &wire.Style{} }
