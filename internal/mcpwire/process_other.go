// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build !unix

package mcpwire

import (
	"io"
	"os"
	"os/exec"
)

// Without process groups only the child itself is ended.

func ownGroup(*exec.Cmd) {}

func terminateGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func signalOf(*os.ProcessState) int { return 0 }

func readNow(*os.File, []byte) (int, error) { return 0, io.EOF }
