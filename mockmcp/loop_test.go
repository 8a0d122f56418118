// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/mockmcp"
)

// A schema that leads back to itself would overflow the stack, which ends the
// process.
func TestSchemaLoop(t *testing.T) {
	_, err := mockmcp.New(mockmcp.Script{Name: "s", Tools: []mockmcp.Tool{
		{Name: "ping", Input: json.RawMessage(`{"type":"object","allOf":[{"$ref":"#"}]}`)},
	}}, nil)
	if err == nil || !strings.Contains(err.Error(), "leads back to itself") {
		t.Errorf("New = %v, want an error about the reference", err)
	}
}
