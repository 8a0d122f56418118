// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package procstat_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/bench/procstat"
)

func Example() {
	cpu, err := procstat.CPU(os.Getpid())
	fmt.Println(cpu > 0, err)
	resident, err := procstat.Memory(os.Getpid(), "VmRSS")
	fmt.Println(resident > 0, err)
	// Output:
	// true <nil>
	// true <nil>
}

func TestNothingToRead(t *testing.T) {
	if _, err := procstat.CPU(-1); err == nil {
		t.Error("no error for a process that cannot be")
	}
	if _, err := procstat.Memory(os.Getpid(), "RSS"); err == nil {
		t.Error("no error for a field that is not there")
	}
}
