// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness/trials"
)

// TestStatesUnmeasured: the keys of a state do not tell which of two calls came
// first.
func TestStatesUnmeasured(t *testing.T) {
	detail := func(state string) trials.Detail {
		states := func() map[string]json.RawMessage { return map[string]json.RawMessage{"lib": json.RawMessage(state)} }
		d := trials.Detail{States: states(), Played: &trials.Played{States: []map[string]json.RawMessage{states()}}}
		unmeasured(&trials.Record{}, &d)
		return d
	}
	one, other := detail(`{"lent":{"a":1,"b":[{"x":1,"y":2}]},"n":0}`), detail(`{"n":0,"lent":{"b":[{"y":2,"x":1}],"a":1}}`)
	if d := cmp.Diff(one, other); d != "" {
		t.Errorf("two trials differ:\n%s", d)
	}
	if got := string(one.States["lib"]); got != `{"lent":{"a":1,"b":[{"x":1,"y":2}]},"n":0}` {
		t.Errorf("the state is %s", got)
	}
}
