// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/rehearse-dev/rehearse/mockmcp"
)

// TestSharedTools makes many servers of one script at once.
func TestSharedTools(t *testing.T) {
	script := world()
	for i, tool := range script.Tools {
		script.Tools[i] = tool.Shared()
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			c := dial(t, newServer(t, script, nil))
			got := string(c.call("build", `{"id":7}`).Result)
			if !strings.Contains(got, "id: expected string, got integer 7") {
				t.Errorf("got %s", got)
			}
		})
	}
	wg.Wait()
	wrong := mockmcp.Tool{Name: "x", Input: raw(`{"type":"string"}`)}.Shared()
	for range 2 {
		if _, err := mockmcp.New(mockmcp.Script{Tools: []mockmcp.Tool{wrong}}, nil); err == nil || !strings.Contains(err.Error(), "type: object") {
			t.Errorf("got %v", err)
		}
	}
}
