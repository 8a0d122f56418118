// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

// gatewayRoutes are the routes of the Argo gateway.
func gatewayRoutes() []route { return nil }
