// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// age is a flag with a time that people think of in days: 30d, 36h.
type age time.Duration

func (a *age) String() string {
	if a == nil || *a == 0 {
		return "0"
	}
	return vcr.Days(time.Duration(*a))
}

// Type is what the help shows.
func (a *age) Type() string { return "age" }

func (a *age) Set(text string) error {
	var d time.Duration
	var err error
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n float64
		if n, err = strconv.ParseFloat(days, 64); err == nil && !(n >= 0 && n < 1e5) {
			err = strconv.ErrRange
		}
		d = time.Duration(n * float64(24*time.Hour))
	} else {
		d, err = time.ParseDuration(text)
	}
	if text == "0" {
		d, err = 0, nil
	}
	if err != nil || d < 0 {
		return fmt.Errorf("want a time such as 30d or 36h, or 0 for any age")
	}
	*a = age(d)
	return nil
}

// checkStale reads --stale where nothing was recorded.
func checkStale(word string) error {
	if word != "warn" && word != "error" {
		return fmt.Errorf("--stale %q: want warn or error", word)
	}
	return nil
}
