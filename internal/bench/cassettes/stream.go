// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// server is a live endpoint in a process of its own.
type server struct {
	cmd   *exec.Cmd
	stdin io.Closer
	base  string
}

func startServer() (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &server{cmd: exec.Command(self, "-serve")}
	s.cmd.Stderr = os.Stderr
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	s.stdin = stdin
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("starting the endpoint: %w", err)
	}
	s.base = "http://" + strings.TrimSpace(line)
	return s, nil
}

func (s *server) stop() {
	s.stdin.Close()
	_ = s.cmd.Wait() // it ends with its input
}

// serve is the endpoint: it streams so many events, so far apart.
func serve(stdin io.Reader, stdout io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, l.Addr())
	srv := &http.Server{Handler: http.HandlerFunc(streamEvents), ReadHeaderTimeout: time.Minute}
	go func() {
		_, _ = io.Copy(io.Discard, stdin) // ends with the parent
		srv.Close()
	}()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func streamEvents(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	count, err := strconv.Atoi(r.URL.Query().Get("events"))
	gap, gapErr := time.ParseDuration(r.URL.Query().Get("gap"))
	if err := errors.Join(err, gapErr); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	begin := time.Now()
	for n := range count {
		time.Sleep(time.Until(begin.Add(time.Duration(n) * gap)))
		_, _ = io.WriteString(w, events)
		_ = http.NewResponseController(w).Flush()
	}
}

// streamed is a stream that has been read.
type streamed struct {
	parts []time.Duration // when each event had come whole, since the request
	end   time.Duration
}

// read asks for a stream and reads it to its end.
func read(client *http.Client, base string, count int, gap time.Duration) (streamed, error) {
	var s streamed
	s.parts = make([]time.Duration, 0, count)
	body := `{"model":"m","messages":[{"role":"user","content":"Talk."}],"stream":true}`
	begin := time.Now()
	resp, err := client.Post(fmt.Sprintf("%s/v1/chat/completions?events=%d&gap=%s", base, count, gap), "application/json", strings.NewReader(body))
	if err != nil {
		return s, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return s, fmt.Errorf("answered %s", resp.Status)
	}
	buf, got := make([]byte, 32<<10), 0
	for {
		n, err := resp.Body.Read(buf)
		got += n
		for now := time.Since(begin); len(s.parts) < got/len(events); {
			s.parts = append(s.parts, now)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return s, err
		}
	}
	s.end = time.Since(begin)
	if got != count*len(events) {
		return s, fmt.Errorf("the stream has %d bytes, want %d", got, count*len(events))
	}
	return s, nil
}
