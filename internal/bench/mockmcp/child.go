// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/bench/procstat"
)

// child is a server in a process of its own, so that its processor time and
// its memory are told apart from the load generator's.
type child struct {
	kind   string
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	addr   string // over HTTP
}

func start(kind string, stdio bool) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{kind: kind}
	if path, ok := strings.CutPrefix(kind, before); ok {
		self, kind = path, mock
	}
	c.cmd = exec.Command(self, "-serve", kind, "-stdio="+strconv.FormatBool(stdio))
	c.cmd.Stderr = os.Stderr
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.stdout = bufio.NewReaderSize(stdout, 64<<10)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	if !stdio {
		line, err := c.stdout.ReadString('\n')
		if err != nil {
			c.Close()
			return nil, fmt.Errorf("starting %s: %w", kind, err)
		}
		c.addr = strings.TrimSpace(line)
	}
	return c, nil
}

func (c *child) Read(p []byte) (int, error)  { return c.stdout.Read(p) }
func (c *child) Write(p []byte) (int, error) { return c.stdin.Write(p) }

// Close ends the process.
func (c *child) Close() error {
	c.stdin.Close()
	return c.cmd.Wait()
}

// cpu returns the processor time of the process' threads.
func (c *child) cpu() (time.Duration, error) { return procstat.CPU(c.cmd.Process.Pid) }

// memory is what the process has resident, in KiB.
func (c *child) memory() (float64, error) { return procstat.Memory(c.cmd.Process.Pid, "VmRSS") }
