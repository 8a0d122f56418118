// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/harness/schema"
	"github.com/rehearse-dev/rehearse/harness/value"
)

func Example() {
	v, err := value.Parse([]byte(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`))
	if err != nil {
		panic(err)
	}
	s, err := schema.Compile(v)
	if err != nil {
		panic(err)
	}
	fmt.Println(s.Validate(value.ObjectOf()))
	// Output: required: missing properties: ["n"]
}
