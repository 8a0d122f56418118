// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// hostileServer is the program hostile-mcp, an MCP server over stdio that
// misbehaves as its first argument says. The second is the address of the
// test's [lifelines]: it shows by its connection that it is alive.
func hostileServer() {
	mode, address := os.Args[1], os.Args[2]
	line := holdLifeline(address)
	switch mode {
	case "dies at start":
		fmt.Fprintln(os.Stderr, "cannot open /data/models.db: no such file")
		os.Exit(3)
	case "stubborn", "stubborn, silent":
		signal.Ignore(syscall.SIGTERM)
		child := exec.Command("hostile-mcp", "child", address)
		child.Stdout = os.Stdout
		startHeld(child)
	case "daemon", "daemon that lets go", "daemon without environment":
		leaveDaemon(mode, address)
	case "child":
		signal.Ignore(syscall.SIGTERM)
		os.NewFile(3, "pipe").Close()
		select {}
	case "mute":
		signal.Ignore(syscall.SIGTERM)
		_, _ = line.Write([]byte("c"))
		select {}
	case "flood":
		endless(os.Stderr, "", 2_000, kilo("noise "), "the end\n")
	case "junk":
		endless(os.Stdout, "", 10_000, "noise\n", "")
	case "never answers":
		io.Copy(io.Discard, os.Stdin)
		return
	}
	r, w := mcpwire.NewReader(os.Stdin, nil), mcpwire.NewWriter(os.Stdout)
	for {
		m, err := r.Next()
		if err != nil {
			break
		}
		if !m.IsRequest() {
			continue
		}
		if m.Method == "tools/call" {
			_, _ = line.Write([]byte("c"))
			hostileCall(mode, m)
			continue
		}
		_ = w.Write(politely(m).Encode())
	}
	if strings.HasPrefix(mode, "stubborn") {
		select {} // the end of its input says nothing to it
	}
}

// leaveDaemon starts a process in a session of its own, which has its lifeline
// then.
func leaveDaemon(mode, address string) {
	self, err := exec.LookPath("hostile-mcp")
	if err != nil {
		os.Exit(1)
	}
	child := exec.Command("setsid", self, "child", address)
	if mode != "daemon that lets go" {
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
	}
	if mode == "daemon without environment" {
		child.Env = []string{"A=1"}
	}
	startHeld(child)
}

// startHeld starts a child and waits until it has its lifeline.
func startHeld(child *exec.Cmd) {
	r, w, err := os.Pipe()
	if err != nil {
		os.Exit(1)
	}
	child.ExtraFiles = []*os.File{w}
	if err := child.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	w.Close()
	_, _ = io.Copy(io.Discard, r)
}

// politely answers what every server is asked first.
func politely(m mcpwire.Message) mcpwire.Message {
	switch m.Method {
	case "initialize":
		return mcpwire.Message{ID: m.ID, Result: json.RawMessage(
			`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"h","version":"1"}}`)}
	case "tools/list":
		return mcpwire.Message{ID: m.ID, Result: json.RawMessage(
			`{"tools":[{"name":"ask","description":"Asks.","inputSchema":{"type":"object","properties":{"n":{}}}}]}`)}
	}
	return mcpwire.Message{ID: m.ID, Result: json.RawMessage(`{}`)}
}

// hostileCall answers a call, or not.
func hostileCall(mode string, m mcpwire.Message) {
	head := `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"content":[`
	text := func(s string) { fmt.Println(head + `{"type":"text","text":` + s + `}]}}`) }
	structured := func(s string) { fmt.Println(head + `],"structuredContent":` + s + `}}`) }
	long := func(kilos int) {
		endless(os.Stdout, head+`{"type":"text","text":"`, kilos, kilo("x"), `"}]}}`+"\n")
	}
	switch mode {
	case "dies mid-call":
		fmt.Fprintln(os.Stderr, "out of cheese")
		os.Exit(3)
	case "dies mid-frame":
		fmt.Print(head)
		os.Exit(0)
	case "half a frame":
		fmt.Print(head + `{"type":"text","te`)
		select {}
	case "deep 100000":
		structured(nested(100_000))
	case "deep 9990":
		structured(nested(9_990))
	case "deep text":
		s, _ := json.Marshal(nested(9_990)) // a string always has a form
		text(string(s))
	case "20 MB":
		long(20_000)
	case "100 MB":
		long(100_000)
	case "blocks":
		endless(os.Stdout, head, 200, `{"type":"text","text":"`+kilo("x")+`"},`, `{"type":"text","text":"x"}]}}`+"\n")
	case "binary":
		text("\"a\xff\xfe\\u0000\\ud800b\"")
	case "not JSON":
		fmt.Println(head + "oops")
	case "wrong id":
		fmt.Println(`{"jsonrpc":"2.0","id":99,"result":{"content":[]}}`)
	case "silent", "stubborn, silent":
	default:
		text(`"fine"`)
	}
}

// holdLifeline connects to [lifelines], and waits until they know of it.
func holdLifeline(address string) net.Conn {
	conn, err := net.Dial("tcp", address)
	if err == nil {
		_, err = io.ReadFull(conn, make([]byte, 1))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return conn
}

// endless writes head, then fill n times, then tail, and stops when nobody
// reads.
func endless(w io.Writer, head string, n int, fill, tail string) {
	b := bufio.NewWriterSize(w, 1<<16)
	defer b.Flush()
	_, err := b.WriteString(head)
	for ; n > 0 && err == nil; n-- {
		_, err = b.WriteString(fill)
	}
	_, _ = b.WriteString(tail)
}

// kilo is a thousand bytes to fill a peer's answer with.
func kilo(s string) string { return strings.Repeat(s, 1000/len(s)) }

// nested is JSON of n objects in each other.
func nested(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
