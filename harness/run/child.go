// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/rehearse-dev/rehearse/internal/gate"
)

// A mock server with `transport: process` is a child process of the subject,
// and still stands in this process, with its journal, its state and its clock.
// The child only carries bytes: what comes to its stdin goes to the mock server
// over loopback, and what it is told from there it does: write to stdout and
// stderr, close stdout, ignore the end of its input, exit.

// childVariable has the address to carry bytes to and the token that opens it.
const childVariable = "REHEARSE_CHILD"

// The messages between a child and the mock server: a letter, the length of
// what follows, and that.
const (
	msgHello      = 'h' // of the child: token and process id
	msgStdin      = 'i' // of the child: bytes
	msgStdinEnd   = 'z' // of the child
	msgStdout     = 'o'
	msgStderr     = 'e'
	msgCloseOut   = 'c'
	msgCloseIn    = 'd'
	msgIgnoreEOF  = 'g'
	msgExit       = 'x' // the code, in digits
	mostOfMessage = 1 << 20
)

// Child makes a process the child of a trial, when it was started as one, and
// does not return then. Otherwise it does nothing. A program whose path stands
// in [Options.Child] calls it before anything else; a test calls it at the
// beginning of TestMain.
func Child() {
	if where := os.Getenv(childVariable); where != "" {
		os.Exit(relay(where, os.Stdin, os.Stdout, os.Stderr))
	}
}

// relay carries bytes until it is told to exit, and returns the exit code.
func relay(where string, stdin io.Reader, stdout io.WriteCloser, stderr io.Writer) int {
	address, token, _ := strings.Cut(where, " ")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		fmt.Fprintf(stderr, "the trial that started this process has ended: %v\n", err)
		return 1
	}
	defer conn.Close()
	out := &messages{w: conn}
	if err := out.write(msgHello, fmt.Appendf(nil, "%s %d", token, os.Getpid())); err != nil {
		return 1
	}
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := stdin.Read(buf)
			if n > 0 && out.write(msgStdin, buf[:n]) != nil {
				return
			}
			if err != nil {
				_ = out.write(msgStdinEnd, nil) // when it fails, the trial has ended
				return
			}
		}
	}()
	in := bufio.NewReader(conn)
	for {
		kind, body, err := readMessage(in)
		if err != nil {
			return 0 // the trial has ended
		}
		switch kind {
		case msgStdout:
			_, _ = stdout.Write(body) // a client that does not read any more misses it
		case msgStderr:
			_, _ = stderr.Write(body)
		case msgCloseOut:
			_ = stdout.Close()
		case msgCloseIn:
			if c, ok := stdin.(io.Closer); ok {
				_ = c.Close()
			}
		case msgIgnoreEOF:
			signal.Ignore(os.Interrupt, syscall.SIGTERM)
		case msgExit:
			code, err := strconv.Atoi(string(body))
			if err != nil {
				return 1 // not what was meant, and no success
			}
			return code
		}
	}
}

// messages writes messages, one at a time.
type messages struct {
	mu sync.Mutex // guards w
	w  io.Writer
}

func (m *messages) write(kind byte, body []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for first := true; first || len(body) > 0; first = false {
		part := body[:min(len(body), mostOfMessage)]
		body = body[len(part):]
		head := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(part)))
		if _, err := m.w.Write(append(head, part...)); err != nil {
			return err
		}
	}
	return nil
}

func readMessage(r io.Reader) (kind byte, body []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > mostOfMessage {
		return 0, nil, errors.New("a message of a child process is too long")
	}
	var b bytes.Buffer
	err = gate.ReadAnnounced(&b, r, int64(n))
	return head[0], b.Bytes(), err
}
