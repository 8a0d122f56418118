// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package model

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// proxySays cuts what a proxy answered its client out of a recorded exchange.
func proxySays(file []byte) (head, body []byte, ok bool) {
	_, rest, ok := bytes.Cut(file, []byte("### proxy -> client"))
	if !ok {
		return nil, nil, false
	}
	_, rest, _ = bytes.Cut(rest, []byte("\n"))
	rest = bytes.ReplaceAll(rest, []byte("\r\n"), []byte("\n"))
	return bytes.Cut(rest, []byte("\n\n"))
}

// TestRecordedProxies reads what five releases of argo-proxy really sent to
// chat clients. Each reply is an answer with something in it, or an error.
func TestRecordedProxies(t *testing.T) {
	data := os.Getenv("REHEARSE_DATA")
	if data == "" {
		t.Skip("REHEARSE_DATA does not name the folder of recorded exchanges")
	}
	files, err := filepath.Glob(filepath.Join(data, "argo-proxy", "*", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded exchanges in %q: %v", data, err)
	}
	read := 0
	for _, name := range files {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(file, []byte("POST /v1/chat/completions")) {
			continue
		}
		head, body, ok := proxySays(file)
		if !ok {
			continue
		}
		read++
		release := filepath.Base(filepath.Dir(name))
		t.Run(release+"/"+filepath.Base(name), func(t *testing.T) {
			reply := rawReply{body: unchunk(head, body), header: ""}
			if bytes.Contains(head, []byte("HTTP/1.1 ")) {
				status := bytes.Fields(head)[1]
				for _, c := range status {
					reply.status = reply.status*10 + int(c-'0')
				}
			}
			s := serveRaw(t, reply)
			c := once(s.url)
			c.endpoint.OpenEnd = release == "2.8.9"
			h := ask(t, c, hello(true))
			if h.err != nil {
				var e *Error
				if !errors.As(h.err, &e) || e.Message == "" {
					t.Errorf("got %v", h.err)
				}
				t.Log(h.err)
				return
			}
			if m := h.done.Message; m.Text == "" && len(m.Calls) == 0 && !strings.Contains(string(body), `"length"`) {
				t.Errorf("an empty answer, from %q", body)
			}
		})
	}
	t.Logf("%d exchanges", read)
}

// unchunk undoes the chunked encoding of a recorded body, as far as it goes.
func unchunk(head, body []byte) string {
	if !bytes.Contains(head, []byte("chunked")) {
		return string(body)
	}
	var sb strings.Builder
	for {
		size, rest, ok := bytes.Cut(body, []byte("\n"))
		if !ok {
			return sb.String()
		}
		n := 0
		for _, c := range bytes.ToLower(bytes.TrimSpace(size)) {
			d := strings.IndexByte("0123456789abcdef", c)
			if d < 0 {
				return sb.String()
			}
			n = n*16 + d
		}
		if n == 0 && len(size) > 0 {
			return sb.String()
		}
		n = min(n, len(rest))
		sb.Write(rest[:n])
		body = bytes.TrimPrefix(rest[n:], []byte("\n"))
	}
}
