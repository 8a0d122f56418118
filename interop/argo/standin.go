// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// standIn is the gateway of exchanges: it does what a case says, down to
// closing the connection in the middle, and keeps what came and went.
type standIn struct {
	listener net.Listener
	url      string
	// tells has a connection that is going to break announced as one that is
	// closed. Without that, 3.3.x puts a broken connection back among those it
	// uses, and every later request fails on it; 2.8.9 hands the header on.
	tells bool
	wg    sync.WaitGroup

	mu    sync.Mutex
	now   *conversed
	conns map[net.Conn]bool
}

// conversed is what came and went in one exchange. What the gateway still
// sends when the proxy has answered already belongs to it.
type conversed struct {
	says said
	wg   sync.WaitGroup // answers under way
	mu   sync.Mutex
	log  bytes.Buffer
}

func newStandIn() (*standIn, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &standIn{listener: l, url: "http://" + l.Addr().String(), now: new(conversed), conns: map[net.Conn]bool{}}
	s.wg.Add(1)
	go s.accept()
	return s, nil
}

func (s *standIn) accept() {
	defer s.wg.Done()
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return // it was closed
		}
		s.mu.Lock()
		s.conns[conn] = true
		s.mu.Unlock()
		s.wg.Add(1)
		go func() {
			defer s.wg.Done()
			s.serve(conn)
			s.mu.Lock()
			delete(s.conns, conn)
			s.mu.Unlock()
		}()
	}
}

func (s *standIn) close() {
	_ = s.listener.Close()
	s.mu.Lock()
	for conn := range s.conns {
		_ = conn.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// play has the gateway do as it is told from now on.
func (s *standIn) play(what said) *conversed {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = &conversed{says: what}
	return s.now
}

// text is all that came and went.
func (c *conversed) text() string {
	c.wg.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.String()
}

func (s *standIn) serve(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		if req.Method == http.MethodGet { // the list of models, which belongs to no case
			list := modelList()
			if _, err := fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(list), list); err != nil {
				return
			}
			continue
		}
		if !s.answer(conn, req, body) {
			return
		}
	}
}

// piecePause lies between the pieces of a stream, so that each is a read of
// its own, and settle before a reset, which would take along what is unread.
const (
	piecePause = 3 * time.Millisecond
	settle     = 30 * time.Millisecond
)

// answer reports whether the connection is kept.
func (s *standIn) answer(conn net.Conn, req *http.Request, body []byte) bool {
	s.mu.Lock()
	now := s.now
	now.wg.Add(1)
	s.mu.Unlock()
	defer now.wg.Done()
	a := now.says.answer(req.URL.Path, body)
	var sent bytes.Buffer
	ok := true
	send := func(data string) {
		sent.WriteString(strings.ReplaceAll(data, "\r\n", "\n"))
		if _, err := io.WriteString(conn, data); err != nil {
			ok = false
		}
	}
	if a.head != "" && a.then != "" && s.tells {
		a.head += "Connection: close\r\n"
	}
	if a.head != "" {
		send(a.head + "\r\n")
	}
	for _, p := range a.pieces {
		if a.chunked {
			send(fmt.Sprintf("%x\r\n%s\r\n", len(p), p))
			time.Sleep(piecePause)
		} else {
			send(p)
		}
	}
	note := ""
	switch a.then {
	case "cut":
		note = " (then aborted)"
	case "reset":
		note = " (then reset)"
	default:
		if a.chunked {
			send("0\r\n\r\n")
		}
	}
	now.mu.Lock()
	fmt.Fprintf(&now.log, "### proxy -> gateway\n%s %s HTTP/1.1\nContent-Type: %s\n\n%s\n\n", req.Method, req.URL.Path, req.Header.Get("Content-Type"), body)
	fmt.Fprintf(&now.log, "### gateway -> proxy%s\n%s\n\n", note, sent.String())
	now.mu.Unlock()
	if a.then == "reset" {
		time.Sleep(settle)
		if c, is := conn.(*net.TCPConn); is {
			_ = c.SetLinger(0)
		}
	}
	return ok && a.then == ""
}

// answered is an answer of the gateway.
type answered struct {
	head    string // without the empty line
	pieces  []string
	chunked bool
	then    string // "": kept open; "cut" or "reset"
}

func headOf(status int, kind string, more ...string) string {
	h := fmt.Sprintf("HTTP/1.1 %d %s\r\nServer: nginx\r\nContent-Type: %s\r\n", status, http.StatusText(status), kind)
	return h + strings.Join(more, "")
}

func whole(status int, kind, body string, more ...string) answered {
	more = append(more, fmt.Sprintf("Content-Length: %d\r\n", len(body)))
	return answered{head: headOf(status, kind, more...), pieces: []string{body}}
}

const (
	page       = "<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center></body></html>"
	nullShape  = `{"id":"chatcmpl-1","object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","message":null}]}`
	errorChunk = `data: {"error": {"message": "boom", "type": "server_error", "code": "500"}}` + "\n\n"
	errorEvent = `event: error` + "\n" + `data: {"type":"error","error": {"message": "Overloaded", "type": "overloaded_error"}}` + "\n\n"
)

// asked is what of a request the gateway looks at.
type asked struct {
	Model  string
	Stream bool
	Tools  []json.RawMessage
	Input  json.RawMessage
	Prompt json.RawMessage

	Encoding string `json:"encoding_format"`

	path string
}

func (q asked) claude() bool { return strings.HasPrefix(q.Model, "claude") }

// answer is what the gateway answers to a request.
func (s said) answer(path string, body []byte) answered {
	q := asked{path: path}
	_ = json.Unmarshal(body, &q) // what it cannot be is not asked for
	q.Stream = q.Stream || strings.HasSuffix(path, "/streamchat/")
	switch {
	case s.trouble == "drop":
		return answered{then: "cut"}
	case s.status != 0:
		more := []string{}
		if s.status == http.StatusTooManyRequests {
			more = append(more, "Retry-After: 7\r\n")
		}
		return whole(s.status, s.kind, s.body, more...)
	}
	a := s.ordinary(q)
	if s.trouble != "cut" && s.trouble != "reset" {
		return a
	}
	a.then = s.trouble
	if a.chunked {
		a.pieces = a.pieces[:len(a.pieces)/2]
	} else {
		a.pieces[0] = a.pieces[0][:len(a.pieces[0])/2]
	}
	return a
}

// ordinary is the answer when the connection holds.
func (s said) ordinary(q asked) answered {
	old := strings.Contains(q.path, "/resource/")
	switch {
	case strings.HasSuffix(q.path, "/embeddings"):
		return whole(http.StatusOK, "application/json", embedded(q))
	case strings.HasSuffix(q.path, "/embed/"):
		return whole(http.StatusOK, "application/json", embeddedOld(q))
	case strings.HasSuffix(q.path, "/streamchat/"):
		return answered{head: headOf(http.StatusOK, "text/plain; charset=utf-8", "Transfer-Encoding: chunked\r\n"), chunked: true, pieces: s.text}
	case old:
		return whole(http.StatusOK, "application/json", s.old(q))
	case !q.Stream && strings.HasSuffix(q.path, "/messages"):
		return whole(http.StatusOK, "application/json", s.message(q))
	case !q.Stream:
		return whole(http.StatusOK, "application/json", s.completion(q))
	}
	a := answered{head: headOf(http.StatusOK, "text/event-stream; charset=utf-8", "Transfer-Encoding: chunked\r\n"), chunked: true}
	if strings.HasSuffix(q.path, "/messages") {
		a.pieces = s.events(q)
	} else {
		a.pieces = s.chunks(q)
	}
	half := a.pieces[: len(a.pieces)/2 : len(a.pieces)/2]
	end := []string(nil)
	if !strings.HasSuffix(q.path, "/messages") {
		end = a.pieces[len(a.pieces)-1:] // which comes after an error as well
	}
	switch s.trouble {
	case "error":
		a.pieces = append([]string{errorChunk}, end...)
	case "error-event":
		a.pieces = append([]string{errorEvent}, end...)
	case "late-error":
		a.pieces = append(append(half, errorChunk), end...)
	case "late-error-event":
		a.pieces = append(append(half, errorEvent), end...)
	case "no-done":
		a.pieces = a.pieces[:len(a.pieces)-1]
	}
	return a
}
