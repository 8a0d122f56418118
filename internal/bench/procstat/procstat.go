// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package procstat

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// CPU returns the processor time of a process' threads, to the nanosecond.
func CPU(pid int) (time.Duration, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(threads) == 0 {
		return 0, fmt.Errorf("reading the processor time of process %d: no threads", pid)
	}
	var sum time.Duration
	for _, path := range threads {
		b, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue // it ended
		}
		if err != nil {
			return 0, err
		}
		first, _, _ := strings.Cut(string(b), " ")
		n, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading %q: %w", path, err)
		}
		sum += time.Duration(n)
	}
	return sum, nil
}

// Memory returns a size of the process' status, such as VmRSS or VmHWM, in KiB.
func Memory(pid int, field string) (float64, error) {
	path := fmt.Sprintf("/proc/%d/status", pid)
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	_, after, ok := strings.Cut(string(b), "\n"+field+":")
	if !ok {
		return 0, fmt.Errorf("reading %q: there is no %s", path, field)
	}
	after, _, _ = strings.Cut(after, "kB")
	n, err := strconv.ParseFloat(strings.TrimSpace(after), 64)
	if err != nil {
		return 0, fmt.Errorf("reading %q: %w", path, err)
	}
	return n, nil
}
