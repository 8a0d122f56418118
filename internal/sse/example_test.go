// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package sse_test

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/sse"
)

func Example() {
	stream := ": keep-alive\r\revent: ping\rdata: {}\r\rdata: one\rdata: two\r\r"
	events := sse.NewReader(bufio.NewReader(strings.NewReader(stream)), 1<<20)
	for {
		ev, err := events.Next()
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%q %q\n", ev.Name, ev.Data)
	}
	// Output:
	// "ping" "{}"
	// "" "one\ntwo"
	// EOF
}
