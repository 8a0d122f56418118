// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package retry_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/rehearse-dev/rehearse/internal/retry"
)

func Example() {
	header := http.Header{"Retry-After": {"3"}}
	attempts := retry.Policy{MaxAttempts: 2}.Start()
	for {
		fmt.Println("attempt", attempts.Made(), "was answered with 429")
		wait, again := attempts.Next(retry.After(header, time.Now()))
		if !again || !retry.Repeatable(http.StatusTooManyRequests, header) {
			fmt.Println("giving up")
			return
		}
		fmt.Println("waiting", wait)
	}
	// Output:
	// attempt 1 was answered with 429
	// waiting 3s
	// attempt 2 was answered with 429
	// giving up
}
