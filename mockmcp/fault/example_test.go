// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package fault_test

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/mockmcp/fault"
)

// Which requests does a fault strike? The second call of one tool here, and
// no list.
func Example() {
	p := fault.NewPlayer([]fault.Fault{{Kind: fault.Exit, Match: fault.Match{Tool: "refund", Nth: 2}}})
	for _, e := range []fault.Event{
		{Method: "tools/list", Transport: fault.Stdio},
		{Method: "tools/call", Tool: "refund", Transport: fault.Stdio},
		{Method: "tools/call", Tool: "weather", Transport: fault.Stdio},
		{Method: "tools/call", Tool: "refund", Transport: fault.Stdio},
	} {
		f, err := p.Next(&e)
		fmt.Println(e.Method, e.Tool, f, err)
	}
	_, err := fault.Lookup("is-error")
	fmt.Println(err)
	// Output:
	// tools/list  <nil> <nil>
	// tools/call refund <nil> <nil>
	// tools/call weather <nil> <nil>
	// tools/call refund exit <nil>
	// unknown fault "is-error" (did you mean "is_error"?); `rehearse faults` lists them
}
