// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/rehearse-dev/rehearse/internal/gate"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

const (
	initialize  = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"walk","version":"0"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	call        = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"weather","arguments":{"city":"Paris"}}}`
	modernCall  = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"weather","arguments":{"city":"Paris"},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
)

// weather is a server with a tool whose arguments have a schema.
func weather() (*mockmcp.Server, error) {
	return mockmcp.New(mockmcp.Script{Name: "weather", Tools: []mockmcp.Tool{{
		Name:    "weather",
		Input:   json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
		Results: []mockmcp.Result{{Answer: func(*mockmcp.Call) (*mockmcp.Answer, error) { return &mockmcp.Answer{Text: "sunny"}, nil }}},
	}}}, nil)
}

// answered looks for what the tool says.
func answered(b []byte) error {
	if !bytes.Contains(b, []byte(`"sunny"`)) {
		return fmt.Errorf("the answer is %s", b)
	}
	return nil
}

// mcpCall is the second call of a session over stdio.
func mcpCall() (do func() error, done func(), err error) {
	s, err := weather()
	if err != nil {
		return nil, nil, err
	}
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.ServeStdio(context.Background(), in, out) // it ends with its input
	}()
	lines := bufio.NewReader(fromServer)
	ask := func(frame string) ([]byte, error) {
		if _, err := io.WriteString(toServer, frame+"\n"); err != nil {
			return nil, err
		}
		return lines.ReadBytes('\n')
	}
	do = func() error {
		b, err := ask(call)
		if err != nil {
			return err
		}
		return answered(b)
	}
	if _, err := ask(initialize); err != nil {
		return nil, nil, err
	}
	if _, err := io.WriteString(toServer, initialized+"\n"); err != nil {
		return nil, nil, err
	}
	return do, func() { toServer.Close(); <-served; s.Close() }, do()
}

// mcpCallOverHTTP is the second call of a session over streamable HTTP.
func mcpCallOverHTTP() (do func() error, done func(), err error) {
	return overHTTP(call, initialize, initialized)
}

// modernMCPCall is a call of 2026-07-28, which has no sessions.
func modernMCPCall() (do func() error, done func(), err error) { return overHTTP(modernCall) }

func overHTTP(call string, opening ...string) (do func() error, done func(), err error) {
	s, err := weather()
	if err != nil {
		return nil, nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	h := gate.Rules{}.Server(s.Handler())
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = h.Serve(l) // until Close
	}()
	session := ""
	ask := func(frame string) ([]byte, error) {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+l.Addr().String(), bytes.NewReader([]byte(frame)))
		if err != nil {
			return nil, err
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if len(opening) == 0 {
			r.Header.Set(mcpwire.HeaderVersion, mcpwire.FirstModern)
			r.Header.Set(mcpwire.HeaderMethod, mcpwire.MethodCall)
			r.Header.Set(mcpwire.HeaderName, "weather")
		} else if session != "" {
			r.Header.Set(mcpwire.HeaderSession, session)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		if id := resp.Header.Get(mcpwire.HeaderSession); id != "" {
			session = id
		}
		return io.ReadAll(resp.Body)
	}
	do = func() error {
		b, err := ask(call)
		if err != nil {
			return err
		}
		return answered(b)
	}
	for _, frame := range opening {
		if _, err := ask(frame); err != nil {
			return nil, nil, err
		}
	}
	return do, func() { s.Close(); h.Close(); <-served }, do()
}
