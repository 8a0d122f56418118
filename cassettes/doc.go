// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package cassettes records HTTP traffic once and replays it faithfully, as
// the transport of a client in Go or as a proxy for clients in any language.
//
//	rec, err := cassettes.Open("testdata/weather.yaml", nil) // replays, strictly
//	if err != nil {
//		return err
//	}
//	defer rec.Close()
//	client := &http.Client{Transport: rec}
//
// A recording forwards a stream as it arrives: the client sees each part when
// the endpoint sends it, and the file keeps its time, how the exchange ended
// and what broke. A replay reproduces all of that, paced or at once.
//
// Terms. An interaction is one request with its answer. A miss is a request
// that matches no recorded one; it is an error, never a request to the network.
// The key of a request is what two requests must share to count as the same: the
// method, the path, and what the body means, without what changes with each request.
package cassettes
