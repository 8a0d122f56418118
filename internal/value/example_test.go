// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package value_test

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/value"
)

func Example() {
	v, err := value.Parse([]byte(`{"model_id": "m1", "score": 1.10}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	score, _ := v.Get("score")
	fmt.Println(score.Num(), value.Equal(score, value.NumberOf("1.1")))
	fmt.Println(value.MergePatch(v, value.ObjectOf(
		value.Member{Key: "score", Value: value.Value{}}, // null deletes
		value.Member{Key: "done", Value: value.BoolOf(true)},
	)))
	// Output:
	// 1.10 true
	// {"model_id":"m1","done":true}
}
