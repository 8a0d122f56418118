// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/bench/procstat"
)

// child is a server, in a process of its own so that its processor time and
// memory are told apart from the load generator's.
type child struct {
	name  string
	cmd   *exec.Cmd
	stdin io.Closer
	addr  string
}

// start starts a server. Its first line is a host and port, or JSON with a
// url.
func start(name string, argv ...string) (*child, error) {
	c := &child{name: name, cmd: exec.Command(argv[0], argv[1:]...)}
	c.cmd.Stderr = os.Stderr
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	c.stdin = stdin
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err == nil {
		c.addr, err = address(strings.TrimSpace(line))
	}
	if err != nil {
		c.stop()
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	return c, nil
}

func address(line string) (string, error) {
	if !strings.HasPrefix(line, "{") {
		return line, nil
	}
	var ready struct{ URL string }
	if err := json.Unmarshal([]byte(line), &ready); err != nil {
		return "", err
	}
	u, err := url.Parse(ready.URL)
	if err != nil {
		return "", err
	}
	return u.Host + strings.TrimSuffix(u.Path, "/v1"), nil
}

func (c *child) stop() {
	c.stdin.Close()
	_ = c.cmd.Process.Signal(os.Interrupt) // what does not read its input
	_ = c.cmd.Wait()                       // it was told to end
}

// cpu returns the processor time of the process' threads.
func (c *child) cpu() (time.Duration, error) { return procstat.CPU(c.cmd.Process.Pid) }

// memory returns a line of the process' status, such as VmRSS, in MiB.
func (c *child) memory(field string) (float64, error) {
	n, err := procstat.Memory(c.cmd.Process.Pid, field)
	return n / 1024, err
}
