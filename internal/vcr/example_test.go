// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package vcr_test

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/vcr"
)

func ExampleParse() {
	file, err := vcr.Parse("weather.yaml", []byte(`version: 1
interactions:
- request: {method: GET, url: "http://127.0.0.1/weather", body: "", headers: {}}
  response: {code: 200, status: 200 OK, body: sunny, headers: {}, duration: ""}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, i := range file.Interactions {
		fmt.Printf("%s %s: %s, %s\n", i.Request.Method, i.Request.URL, i.Response.Status, i.Response.Body)
	}
	// Output: GET http://127.0.0.1/weather: 200 OK, sunny
}
