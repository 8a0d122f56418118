// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/schema"
	"github.com/rehearse-dev/rehearse/internal/value"
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
