// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Argo records what real releases of argo-proxy make of the Argo Gateway's
// answers, and looks whether that has changed:
//
//	rehearse's agent --> recorder --> argo-proxy --> mock with profile argo-gateway
//
//	make cassettes                          # record anew what stands in cassettes/argo-proxy
//	make cassettes ARGO=-drift              # record into a temporary folder, and compare
//	make cassettes ARGO='-exchanges DIR'    # record single exchanges
//	make cassettes ARGO='-providers -releases 3.3.3'   # play the other APIs
//
// Exchanges are single requests, odd ones among them, before a stand-in for
// the gateway that does whatever can go wrong; `go test ./mockllm` with
// REHEARSE_EXCHANGES=DIR holds the profiles of the mock against them.
//
// Each release is installed from PyPI into an environment of its own below
// interop/.venv, and runs on loopback in a temporary folder. With ARGO_BASE_URL
// set there is neither a proxy nor a mock: the same scenarios are recorded at
// that address, and what models say there costs money.
package main
