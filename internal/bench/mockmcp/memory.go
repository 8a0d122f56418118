// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// memory prints what sessions take that listen and have made one call, and
// what calls leave behind.
func (b *bench) memory(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\nmemory\tMiB at first\tMiB with %d sessions\tKiB a session\tMiB after %d calls\t\n", b.sessions, b.calls)
	for _, kind := range []string{bare, mock} {
		if err := b.grow(w, kind); err != nil {
			return fmt.Errorf("measuring the memory of %s: %w", kind, err)
		}
	}
	return w.Flush()
}

func (b *bench) grow(w io.Writer, kind string) error {
	server, err := start(kind, false)
	if err != nil {
		return err
	}
	defer server.Close()
	session := func() error {
		c, err := newHTTPCaller(server.addr, false)
		if err != nil {
			return err
		}
		if _, err := c.listen(); err != nil { // it ends with the server
			return err
		}
		return c.call()
	}
	if err := session(); err != nil {
		return err
	}
	before, err := server.memory()
	if err != nil {
		return err
	}
	for range b.sessions {
		if err := session(); err != nil {
			return err
		}
	}
	with, err := server.memory()
	if err != nil {
		return err
	}
	c, err := newHTTPCaller(server.addr, false)
	if err != nil {
		return err
	}
	defer c.Close()
	for range b.calls {
		if err := c.call(); err != nil {
			return err
		}
	}
	after, err := server.memory()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s\t%.1f\t%.1f\t%.0f\t%.1f\t\n", kind, before/1024, with/1024, (with-before)/float64(b.sessions), after/1024)
	return nil
}
