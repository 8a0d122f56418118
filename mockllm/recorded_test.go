// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/mockllm"
)

// notReproduced lists the recorded cases that the mock answers otherwise, each
// with the reason.
const notReproduced = "profile/testdata/not-reproduced.txt"

// releases are the recorded releases and the profiles that stand for them.
var releases = []struct{ dir, profile string }{
	{"3.3.3", "argo-proxy-3.3"},
	{"3.2.3", "argo-proxy-3.2"},
	{"3.1.2", "argo-proxy-3.1"},
	{"3.0.4", "argo-proxy-3.0"},
	{"2.8.9", "argo-proxy-2.8.9"},
}

func recordedData(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("REHEARSE_DATA")
	if dir == "" {
		t.Skip("REHEARSE_DATA is not set: it names the folder with the recorded exchanges")
	}
	return dir
}

// exceptions reads the list of cases that are not reproduced.
func exceptions(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile(notReproduced)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, reason, ok := strings.Cut(line, ": ")
		if !ok || reason == "" {
			t.Fatalf("%s: %q has no reason", notReproduced, line)
		}
		out[name] = reason
	}
	return out
}

// TestRecordedReleases replays what clients asked five releases of argo-proxy,
// with what their gateway did as the script, and compares the answers by
// shape.
func TestRecordedReleases(t *testing.T) {
	dir := recordedData(t)
	listed := exceptions(t)
	for _, rel := range releases {
		t.Run(rel.profile, func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join(dir, "argo-proxy", rel.dir, "*.txt"))
			if err != nil || len(files) == 0 {
				t.Fatalf("no recorded cases of %s: %v", rel.dir, err)
			}
			same, differs := 0, 0
			for _, file := range files {
				c := readCase(t, file)
				if !c.inScope() {
					continue
				}
				name := rel.profile + "/" + c.name
				t.Run(c.name, func(t *testing.T) {
					want, got := c.want.shape(), play(t, rel.profile, c).shape()
					diff := cmp.Diff(want, got)
					reason, known := listed[name]
					switch {
					case diff == "" && known:
						t.Errorf("%s lists %s (%s), which is reproduced", notReproduced, name, reason)
					case diff == "":
						same++
					case known:
						differs++
					default:
						t.Errorf("differs from %s (-recorded +mock):\n%s", file, diff)
					}
				})
			}
			fmt.Printf("%s: %d cases reproduced, %d listed\n", rel.profile, same, differs)
		})
	}
}

// recordedCase is one recorded exchange.
type recordedCase struct {
	name, release string
	request       string // what the client sent
	method, path  string
	body          string
	gateway       []gatewayAnswer
	want          *response
}

type gatewayAnswer struct {
	aborted bool
	*response
}

func readCase(t *testing.T, file string) *recordedCase {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c := &recordedCase{name: strings.TrimSuffix(filepath.Base(file), ".txt"), release: filepath.Base(filepath.Dir(file))}
	asked := false // the gateway, over a connection that was there
	for section := range strings.SplitSeq("\n"+string(b), "\n### ") {
		title, text, _ := strings.Cut(section, "\n")
		switch {
		case strings.HasPrefix(title, "client -> proxy"):
			c.readRequest(text)
		case strings.HasPrefix(title, "proxy -> gateway"):
			asked = strings.HasPrefix(text, "POST ")
		case strings.HasPrefix(title, "gateway -> proxy") && asked:
			a := gatewayAnswer{aborted: strings.Contains(title, "aborted")}
			a.response, err = readResponse(bufio.NewReader(strings.NewReader(text)), "")
			if err != nil && !errors.Is(err, io.EOF) {
				t.Fatalf("%s: %v", file, err)
			}
			c.gateway = append(c.gateway, a)
		case strings.HasPrefix(title, "proxy -> client"):
			c.want, err = readResponse(bufio.NewReader(strings.NewReader(text)), c.method)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			c.want.closed = strings.Contains(title, "server closed") || strings.Contains(title, "EOF")
		}
	}
	if c.want == nil {
		t.Fatalf("%s has no answer", file)
	}
	return c
}

func (c *recordedCase) readRequest(text string) {
	head, body, _ := strings.Cut(text, "\n\n")
	first, _, _ := strings.Cut(head, "\n")
	if f := strings.Fields(first); len(f) == 3 {
		c.method, c.path = f[0], f[1]
	}
	c.body = strings.TrimRight(body, "\n")
	var b strings.Builder
	for line := range strings.SplitSeq(head, "\n") {
		if k, _, _ := strings.Cut(line, ":"); strings.EqualFold(k, "Content-Length") {
			line = fmt.Sprintf("Content-Length: %d", len(c.body))
		}
		b.WriteString(line + "\r\n")
	}
	c.request = b.String() + "\r\n" + c.body
}

// inScope reports whether the case lies on the chat, models, messages and
// embeddings paths, or beside all paths.
func (c *recordedCase) inScope() bool { return c.path != "/v1/responses" }

// play sends the client's request to a mock that was told what the gateway
// did.
func play(t *testing.T, profile string, c *recordedCase) *response {
	t.Helper()
	mock := mockllm.New(c.script(t, profile), nil)
	server := httptest.NewServer(mock)
	defer server.Close()
	defer mock.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, c.request); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	p, err := readResponse(r, c.method)
	if err != nil {
		t.Fatal(err)
	}
	if p.cut {
		p.closed = true
		return p
	}
	p.closed = !staysOpen(conn, r, p)
	return p
}

// staysOpen reports whether the server still answers on the connection. After
// raw bytes in a body it need not answer any more, but it must not close.
func staysOpen(conn net.Conn, r *bufio.Reader, p *response) bool {
	if len(p.raw) > 0 {
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		_, err := r.ReadByte()
		return err == nil || errors.Is(err, os.ErrDeadlineExceeded)
	}
	if _, err := io.WriteString(conn, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		return false
	}
	_, err := readResponse(r, "GET")
	return err == nil
}

// TestShape checks the comparison itself.
func TestShape(t *testing.T) {
	text := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" +
		"c\r\ndata: {\"a\":\r\n6\r\n1.5}\n\n\r\nHTTP/1.1 502 Bad Gateway\r\nServer: x\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
	p, err := readResponse(bufio.NewReader(bytes.NewReader([]byte(text))), "POST")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"HTTP/1.1 200 OK", "content-type: text/event-stream", "transfer-encoding: chunked",
		"data {a: number}", "raw: HTTP/1.1 502 Bad Gateway", "line {}", "ends; kept open",
	}
	if diff := cmp.Diff(want, p.shape()); diff != "" {
		t.Errorf("shape (-want +got):\n%s", diff)
	}
	if !slices.Equal(p.raw, []string{"HTTP/1.1 502 Bad Gateway"}) {
		t.Errorf("raw lines are %q", p.raw)
	}
}
