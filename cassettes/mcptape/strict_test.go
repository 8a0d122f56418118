// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape_test

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/cassettes/mcptape"
)

// TestStrictPings: pings come when a client's clock says so, so that none need
// be asked for in its place.
func TestStrictPings(t *testing.T) {
	tape := play(t, `
	0 > {"id":1,"method":"ping"}
	1 < {"id":1,"result":{}}
	2 > {"id":2,"method":"tools/list"}
	3 < {"id":2,"result":{"tools":[]}}
	`, &mcptape.Options{Strict: true})
	c := dial(t, tape)
	c.say(`{"jsonrpc":"2.0","id":7,"method":"tools/list"}`)
	if got := c.next(); !strings.Contains(got, `"tools":[]`) {
		t.Errorf("got %s", got)
	}
	if err := tape.Close(); err != nil {
		t.Error(err)
	}
}
