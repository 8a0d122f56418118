// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"github.com/rehearse-dev/rehearse/mockllm/profile"
)

// gatewayRoutes are the routes of the Argo gateway: the profile has them.
func gatewayRoutes() []route { return nil }

// gatewaySpeech is how the gateway's own dialects are spoken.
func gatewaySpeech(d profile.Dialect) *speech { return nil }
