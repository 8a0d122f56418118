// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/profile"
)

// notReproduced lists the recorded cases that the mock answers otherwise, each
// with the reason.
const notReproduced = "../internal/profile/testdata/not-reproduced.txt"

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

// What of a release, and of each of its paths, is to be reproduced.
const (
	ofRelease = 0.97
	ofPath    = 0.90
)

// folders are the folders of recorded releases: those that were kept, below
// REHEARSE_DATA, and those just recorded by `make interop`, in
// REHEARSE_EXCHANGES.
func folders(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, dir := range []string{filepath.Join(os.Getenv("REHEARSE_DATA"), "argo-proxy"), os.Getenv("REHEARSE_EXCHANGES")} {
		if !filepath.IsAbs(dir) {
			continue // the variable is not set
		}
		found, err := filepath.Glob(filepath.Join(dir, "*.*.*"))
		if err != nil || len(found) == 0 {
			t.Fatalf("no recorded releases in %s: %v", dir, err)
		}
		out = append(out, found...)
	}
	if out == nil {
		t.Skip("neither REHEARSE_DATA nor REHEARSE_EXCHANGES is set: they name the folders with recorded exchanges")
	}
	return out
}

// TestRecordedReleases replays what clients asked releases of argo-proxy, with
// what their gateway did as the script, and compares the answers by shape.
func TestRecordedReleases(t *testing.T) {
	listed := exceptions(t)
	for _, dir := range folders(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			p, ok := profile.Lookup("argo-proxy-" + filepath.Base(dir))
			if !ok {
				t.Fatalf("no profile stands for argo-proxy %s", filepath.Base(dir))
			}
			files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
			if err != nil || len(files) == 0 {
				t.Fatalf("no recorded cases in %s: %v", dir, err)
			}
			all, same := map[string]int{}, map[string]int{}
			for _, file := range files {
				c := readCase(t, file)
				all[c.group()]++
				all[""]++
				diff := cmp.Diff(c.want.shape(), play(t, p.Name, c).shape())
				name := filepath.Base(dir) + "/" + c.name
				reason, known := listed[name]
				switch {
				case diff == "" && known:
					t.Errorf("%s lists %s (%s), which is reproduced", notReproduced, name, reason)
				case diff == "":
					same[c.group()]++
					same[""]++
				case !known:
					t.Logf("differs from %s (-recorded +mock):\n%s", file, diff)
				}
			}
			report(t, p.Name, dir, all, same)
		})
	}
}

// report says how much of a release is reproduced, and fails if it is too
// little.
func report(t *testing.T, profile, dir string, all, same map[string]int) {
	t.Helper()
	for _, path := range slices.Sorted(maps.Keys(all)) {
		want, name := ofPath, path
		if path == "" {
			want, name = ofRelease, "all"
		}
		part := float64(same[path]) / float64(all[path])
		fmt.Printf("%-16s %-6s %-22s %4d of %4d reproduced, %5.1f %%\n", profile, filepath.Base(dir), name, same[path], all[path], 100*part)
		if part < want {
			t.Errorf("%s: %s: %d of %d are reproduced, want %v %%", dir, name, same[path], all[path], 100*want)
		}
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
	// aborted says that the gateway closed the connection, reset that it did
	// not do so in order.
	aborted, reset bool
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
			a := gatewayAnswer{aborted: strings.Contains(title, "then aborted") || strings.Contains(title, "then reset"), reset: strings.Contains(title, "then reset")}
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
			c.want.cut = c.want.cut || strings.Contains(title, "EOF")
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

// group is what of the server the case asks: a path of its, or the rest.
func (c *recordedCase) group() string {
	path, _, _ := strings.Cut(c.path, "?")
	if i := strings.LastIndexByte(path, ':'); i >= 0 && strings.HasPrefix(path, "/v1beta/") {
		path = path[i+1:]
	}
	switch path {
	case "/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/embeddings", "/v1/completions", "generateContent", "streamGenerateContent":
		if c.method == "POST" {
			return path
		}
	}
	return "other"
}

// play sends the client's request to a mock that was told what the gateway
// did.
func play(t *testing.T, profile string, c *recordedCase) *response {
	t.Helper()
	mock := scripted(t, c.script(t, profile), nil)
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
		return &response{status: "no answer: " + err.Error()}
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
