// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// exchangesOf records what a release makes of every case of the corpus, one
// text file each: what the client sent, what the proxy asked the gateway, what
// that did, and the bytes that came back.
func (j *job) exchangesOf(ctx context.Context, r release, dir string) (err error) {
	if err := r.install(ctx, j.root, j.logf); err != nil {
		return err
	}
	if _, _, err := r.installed(ctx, j.root); err != nil {
		return err
	}
	g, err := newStandIn()
	if err != nil {
		return err
	}
	defer g.close()
	g.tells = strings.HasPrefix(r.version, "3.3.")
	p, err := r.start(ctx, j.root, g.url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	folder := filepath.Join(dir, r.version)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	list := corpus(r.version)
	began := time.Now()
	for _, c := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		text, err := g.exchange(p.address, c)
		if err != nil {
			return fmt.Errorf("argo-proxy %s: %s: %w", r.version, c.name, err)
		}
		if err := g.refresh(p.address, c); err != nil {
			return fmt.Errorf("argo-proxy %s: after %s: %w", r.version, c.name, err)
		}
		if err := os.WriteFile(filepath.Join(folder, c.name+".txt"), []byte(text), 0o644); err != nil {
			return err
		}
	}
	j.logf("argo-proxy %s: exchanges: %d, in %s", r.version, len(list), time.Since(began).Round(time.Second))
	return nil
}

// refresh asks for a plain reply until there is one: some releases keep a
// connection that was broken, and the next request fails on it.
func (s *standIn) refresh(address string, c exchangeCase) error {
	if c.says.trouble == "" {
		return nil
	}
	path, body := chatSurface().request("argo:gpt-4o", false, false)
	plain := exchangeCase{method: "POST", path: path, body: encode(body), says: said{text: []string{"Done."}}}
	last := ""
	const tries = 30
	for range tries {
		text, err := s.exchange(address, plain)
		if err != nil {
			return err
		}
		last = text
		if _, came, _ := strings.Cut(text, "### proxy -> client"); strings.Contains(came, "\nHTTP/1.1 200 ") {
			return nil
		}
	}
	return fmt.Errorf("the proxy does not recover: %s", last)
}

// exchange asks the proxy once.
func (s *standIn) exchange(address string, c exchangeCase) (string, error) {
	now := s.play(c.says)
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: probe/0\r\nAccept: */*\r\nAuthorization: Bearer not-needed\r\n", c.method, c.path, address)
	for _, line := range c.header {
		head += line + "\r\n"
	}
	if c.body != "" || c.method == "POST" {
		head += fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", len(c.body))
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(head + "\r\n" + c.body)); err != nil {
		return "", err
	}
	got, end := receive(conn, c.method)
	if len(got) == 0 {
		return "", fmt.Errorf("no answer: %s", end)
	}
	lines := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
	return fmt.Sprintf("### client -> proxy\n%s\n%s\n\n%s### proxy -> client  [end: %s]\n%s\n", lines(head), c.body, now.text(), end, lines(string(got))), nil
}

const (
	patience = 5 * time.Second       // with a proxy that does not answer
	leisure  = 10 * time.Millisecond // until a proxy that closes has closed
)

// receive reads an answer to its end, and says how it ends.
func receive(conn net.Conn, method string) (got []byte, end string) {
	buf := make([]byte, 1<<16)
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	complete := false
	for {
		n, err := conn.Read(buf)
		got = append(got, buf[:n]...)
		if !complete && isComplete(got, method) {
			complete = true
			if low := strings.ToLower(string(got)); !strings.Contains(low, "\r\nconnection: close") { // those that say so do
				_ = conn.SetReadDeadline(time.Now().Add(leisure))
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded) && complete:
			return got, "complete; kept open"
		case errors.Is(err, os.ErrDeadlineExceeded):
			return got, "incomplete; kept open"
		case complete:
			return got, "complete; server closed"
		default:
			return got, "EOF; server closed"
		}
	}
}

// isComplete reports whether an answer has come as a whole.
func isComplete(got []byte, method string) bool {
	head, body, ok := bytes.Cut(got, []byte("\r\n\r\n"))
	if !ok {
		return false
	}
	low := strings.ToLower(string(head))
	if method == "HEAD" || strings.HasPrefix(low, "http/1.1 204") {
		return true
	}
	if strings.Contains(low, "transfer-encoding: chunked") {
		return bytes.HasSuffix(body, []byte("0\r\n\r\n"))
	}
	for line := range strings.SplitSeq(low, "\r\n") {
		if v, ok := strings.CutPrefix(line, "content-length:"); ok {
			n, err := strconv.Atoi(strings.TrimSpace(v))
			return err == nil && len(body) >= n
		}
	}
	return false
}

// recordExchanges records the exchanges of all releases at the same time: most
// of it is waiting.
func (j *job) recordExchanges(ctx context.Context) error {
	done := make(chan error)
	for _, r := range j.releases {
		go func() { done <- j.exchangesOf(ctx, r, j.exchanges) }()
	}
	var errs []error
	for range j.releases {
		errs = append(errs, <-done)
	}
	return errors.Join(errs...)
}
