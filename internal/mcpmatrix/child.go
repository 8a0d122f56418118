// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpmatrix

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/rehearse-dev/rehearse/mockmcp"
)

// The environment of a server process.
const (
	caseVar  = "REHEARSE_MCP_CASE"  // the case by its name
	tallyVar = "REHEARSE_MCP_TALLY" // a file that takes a letter for each charge and each list
)

// Env is the environment for a process that is to be the server of c. tally
// is the path of a file for [Tally].
func Env(c Case, tally string) []string {
	return []string{caseVar + "=" + c.String(), tallyVar + "=" + tally}
}

// Tally reads how often the processes of a case charged and listed.
func Tally(path string) (charges, lists int) {
	data, _ := os.ReadFile(path) // there is none when neither happened
	return bytes.Count(data, []byte("C")), bytes.Count(data, []byte("L"))
}

// Child serves a case over stdin and stdout when the environment asks for it,
// and reports whether it did. A test binary calls it first of all.
func Child() bool {
	name := os.Getenv(caseVar)
	if name == "" {
		return false
	}
	for _, c := range Cases(Columns()) {
		if c.String() == name {
			if err := serve(c); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(2)
			}
			return true
		}
	}
	fmt.Fprintf(os.Stderr, "there is no case %q\n", name)
	os.Exit(2)
	return true
}

func serve(c Case) error {
	tally, err := os.OpenFile(os.Getenv(tallyVar), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer tally.Close()
	server, err := mockmcp.New(Script(c, func() { _, _ = tally.WriteString("C") }), nil)
	if err != nil {
		return err
	}
	defer server.Close()
	return server.ServeProcess(context.Background(), &process{tally: tally})
}

// process is our own process as a server.
type process struct{ tally *os.File }

func (p *process) Read(b []byte) (int, error) {
	n, err := os.Stdin.Read(b)
	_, _ = io.WriteString(p.tally, strings.Repeat("L", bytes.Count(b[:n], []byte(`"tools/list"`))))
	return n, err
}

func (*process) Write(b []byte) (int, error) { return os.Stdout.Write(b) }
func (*process) Stderr() io.Writer           { return os.Stderr }
func (*process) CloseStdin() error           { return os.Stdin.Close() }
func (*process) CloseStdout() error          { return os.Stdout.Close() }
func (*process) Exit(code int)               { os.Exit(code) }
func (*process) IgnoreEOF()                  { signal.Ignore(syscall.SIGTERM, os.Interrupt) }
