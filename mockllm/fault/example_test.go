// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package fault_test

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

// Which requests does a fault strike? Every second one here, and only those
// for a stream.
func Example() {
	p := fault.NewPlayer([]fault.Fault{{Kind: fault.MissingDone, Every: 2}}, 1, "example")
	for n := 1; n <= 4; n++ {
		f, err := p.Next(&fault.Request{Number: n, Stream: n != 2})
		fmt.Println(n, f, err)
	}
	_, err := fault.Lookup("missing-done")
	fmt.Println(err)
	// Output:
	// 1 <nil> <nil>
	// 2 <nil> <nil>
	// 3 missing_done <nil>
	// 4 <nil> <nil>
	// unknown fault "missing-done" (did you mean "missing_done"?); `rehearse faults` lists them
}
