// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package toolname_test

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/toolname"
)

func Example() {
	table := toolname.NewTable(toolname.Underscore)
	name, err := table.Add("gemflux", "build_model")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(name)
	fmt.Println(table.Lookup(name))

	// Somebody else's name for the same tool:
	offered := []harness.Tool{{Name: "mcp__gemflux__build_model"}}
	fmt.Println(toolname.Resolve("gemflux.build_model", offered, nil, nil))
	// Output:
	// mcp_gemflux_build_model
	// gemflux build_model true
	// mcp__gemflux__build_model <nil>
}
