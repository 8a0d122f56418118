// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes_test

import (
	"fmt"
	"net/http"

	"github.com/rehearse-dev/rehearse/cassettes"
)

func ExampleNewRedactor() {
	r, err := cassettes.NewRedactor(&cassettes.Secrets{
		Literals: []string{"open sesame"},
		Places:   []cassettes.Place{{Name: "home", Path: "/home/kasim"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	live := cassettes.Request{
		Method: "POST",
		URL:    "https://cave.example/v1/enter?key=4711&lang=fa",
		Header: http.Header{"Authorization": {"Bearer 0123456789abcdef"}, "Content-Type": {"application/json"}},
		Body:   []byte(`{"password": "thyme", "say": "open%20sesame", "list": "/home/kasim/gold.txt"}`),
	}
	kept := r.Request(live)
	fmt.Println(kept.URL)
	fmt.Println(kept.Header)
	fmt.Println(string(kept.Body))
	fmt.Println(r.Scan([]byte("say: b3BlbiBzZXNhbWU=\n")))
	// Output:
	// https://cave.example/v1/enter?key=REDACTED-query-8bec6390&lang=fa
	// map[Content-Type:[application/json]]
	// {"password": "REDACTED-json-16c58b05", "say": "REDACTED-literal-d666822e", "list": "REDACTED-home-4ea14058/gold.txt"}
	// [line 1: literal: … (14 bytes)]
}
