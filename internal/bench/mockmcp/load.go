// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Messages of the client, without ids.
const (
	initialize  = `"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"bench","version":"1"},"capabilities":{}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	call        = `"method":"tools/call","params":{"name":"get_weather","arguments":{"city":"Paris"}}`
	modernCall  = `"method":"tools/call","params":{"name":"get_weather","arguments":{"city":"Paris"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}`
	modernHead  = "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: get_weather\r\n"
)

// answerPart is in every answer.
const answerPart = said + "Paris"

// A caller is one session that calls the tool and waits for the answer.
type caller interface {
	call() error
	io.Closer
}

// lineCaller calls over a pipe, with as many calls under way as window says.
type lineCaller struct {
	io.WriteCloser
	r      *bufio.Reader
	n      int
	window int
}

func newLineCaller(conn io.ReadWriteCloser, window int) (*lineCaller, error) {
	c := &lineCaller{WriteCloser: conn, r: bufio.NewReaderSize(conn, 64<<10), window: window}
	if err := c.send(initialize); err != nil {
		return nil, err
	}
	if _, err := c.r.ReadSlice('\n'); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(c, initialized+"\n"); err != nil {
		return nil, err
	}
	for range window - 1 {
		if err := c.send(call); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *lineCaller) send(message string) error {
	c.n++
	_, err := fmt.Fprintf(c, `{"jsonrpc":"2.0","id":%d,%s}`+"\n", c.n, message)
	return err
}

func (c *lineCaller) call() error {
	if err := c.send(call); err != nil {
		return err
	}
	line, err := c.r.ReadSlice('\n')
	if err == nil && !bytes.Contains(line, []byte(answerPart)) {
		err = fmt.Errorf("answered with %q", line)
	}
	return err
}

// httpCaller calls over one connection.
type httpCaller struct {
	net.Conn
	r       *bufio.Reader
	addr    string
	head    string // headers of every request
	message string
	n       int
}

// newHTTPCaller opens a session, unless the era has none.
func newHTTPCaller(addr string, modern bool) (*httpCaller, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &httpCaller{Conn: conn, r: bufio.NewReaderSize(conn, 16<<10), addr: addr, head: modernHead, message: modernCall}
	if modern {
		return c, nil
	}
	c.head, c.message = "", call
	header, _, err := c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":0,%s}`, initialize))
	if err == nil {
		c.head = "Mcp-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: " + header.Get("Mcp-Session-Id") + "\r\n"
		_, _, err = c.post(initialized)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return c, nil
}

func (c *httpCaller) post(body string) (http.Header, []byte, error) {
	_, err := fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n%sContent-Length: %d\r\n\r\n%s", c.addr, c.head, len(body), body)
	if err != nil {
		return nil, nil, err
	}
	res, err := http.ReadResponse(c.r, nil)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("status %d: %s", res.StatusCode, data)
	}
	return res.Header, data, err
}

func (c *httpCaller) call() error {
	c.n++
	_, data, err := c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, c.n, c.message))
	if err == nil && !bytes.Contains(data, []byte(answerPart)) {
		err = fmt.Errorf("answered with %q", data)
	}
	return err
}

// listen opens the stream of a session for what the server has to say.
func (c *httpCaller) listen() (net.Conn, error) {
	conn, err := net.Dial("tcp", c.addr)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(conn, "GET /mcp HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n%s\r\n", c.addr, c.head); err != nil {
		return nil, err
	}
	status, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && !strings.Contains(status, " 200 ") {
		err = fmt.Errorf("listening: %s", status)
	}
	return conn, err
}

// result is one measurement: calls a second, microseconds that one takes, and
// microseconds of the server's processor time for each; 0 where that is not
// known.
type result struct{ rate, p50, p99, cpu float64 }

// measure has callers call for d.
func measure(callers []caller, d time.Duration) (result, error) {
	start := time.Now()
	until := start.Add(d)
	var mu sync.Mutex // guards took and errs
	var took []time.Duration
	var errs []error
	var wg sync.WaitGroup
	for _, c := range callers {
		wg.Go(func() {
			var mine []time.Duration
			var err error
			for now := time.Now(); err == nil && (now.Before(until) || len(mine) == 0); {
				err = c.call()
				then := now
				now = time.Now()
				mine = append(mine, now.Sub(then))
			}
			mu.Lock()
			defer mu.Unlock()
			took, errs = append(took, mine...), append(errs, err)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return result{}, err
	}
	all := time.Since(start)
	slices.Sort(took)
	at := func(q float64) float64 {
		return float64(took[min(int(q*float64(len(took))), len(took)-1)].Nanoseconds()) / 1e3
	}
	return result{rate: float64(len(took)) / all.Seconds(), p50: at(0.5), p99: at(0.99)}, nil
}

// measureChild is measure with the processor time of the server.
func measureChild(c *child, callers []caller, d time.Duration) (result, error) {
	before, err := c.cpu()
	if err != nil {
		return result{}, err
	}
	began := time.Now()
	r, err := measure(callers, d)
	if err != nil {
		return result{}, fmt.Errorf("calling %s: %w", c.kind, err)
	}
	n := r.rate * time.Since(began).Seconds()
	after, err := c.cpu()
	r.cpu = float64((after - before).Nanoseconds()) / 1e3 / n
	return r, err
}
