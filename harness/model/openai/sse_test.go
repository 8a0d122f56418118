// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness/model"
)

// allEvents reads a stream to its end.
func allEvents(r io.Reader, limit int) (events []string, err error) {
	sse := newSSEReader(bufio.NewReaderSize(r, 16), limit)
	for {
		ev, err := sse.next()
		if err != nil {
			return events, err
		}
		s := ev.name + "|" + string(ev.data)
		if ev.stray {
			s = "stray " + s
		}
		if ev.last {
			s += "|last"
		}
		events = append(events, s)
	}
}

func TestSSE(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []string
	}{
		{"empty", "", nil},
		{"one", "data: a\n\n", []string{"|a"}},
		{"no space, two spaces", "data:a\n\ndata:  b\n\n", []string{"|a", "| b"}},
		{"several lines", "data: a\ndata\ndata: b\n\n", []string{"|a\n\nb"}},
		{"name", "event: error\ndata: a\n\ndata: b\n\n", []string{"error|a", "|b"}},
		{"a name without data is forgotten", "event: x\n\ndata: a\n\n", []string{"|a"}},
		{"comments, ids, unknown fields", ": c\nid: 1\nretry: 9\nfoo: bar\ndata: a\n\n", []string{"|a"}},
		{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"|a", "|b"}},
		{"CR", "data: a\r\rdata: b\r\r", []string{"|a", "|b"}},
		{"mixed", "data: a\rdata: b\n\r\ndata: c\r\n\n", []string{"|a\nb", "|c"}},
		{"BOM", "\ufeffdata: a\n\n", []string{"|a"}},
		{"BOM within is text", "data: \ufeffa\n\n", []string{"|\ufeffa"}},
		{"last line without newline", "data: a\n\ndata: b", []string{"|a", "|b|last"}},
		{"last event without empty line", "data: a\n", []string{"|a|last"}},
		{"empty data", "data:\n\n", []string{"|"}},
		{"colon in the value", "data: a: b\n\n", []string{"|a: b"}},
		{"stray JSON", "data: a\n\n{\"error\": 1}\n", []string{"|a", `stray |{"error": 1}`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{
				"whole":        strings.NewReader(tc.in),
				"byte by byte": iotest.OneByteReader(strings.NewReader(tc.in)),
			} {
				got, err := allEvents(r, 100)
				if !errors.Is(err, io.EOF) {
					t.Errorf("%s: got error %v", how, err)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", how, diff)
				}
			}
		})
	}
}

func TestSSEBreaks(t *testing.T) {
	broken := errors.New("broken")
	got, err := allEvents(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)), 100)
	if !errors.Is(err, broken) || len(got) != 1 {
		t.Errorf("got %q and %v", got, err)
	}
	if _, err := allEvents(strings.NewReader("data: "+strings.Repeat("x", 200)), 100); !errors.Is(err, errEventSize) {
		t.Errorf("got %v, want %v", err, errEventSize)
	}
}

// FuzzSSE checks that how a stream is cut into reads, and which line ends it
// uses, makes no difference.
func FuzzSSE(f *testing.F) {
	for _, seed := range []string{
		"", "data: a\n\n", "data: a\r\rdata: b\r\n\r\n", "\ufeffevent: error\ndata: {}\n\n", ": c\n\n{\"error\":1}\ndata: x",
		"data: " + say("Hello") + "\n\n" + done, "data\n\n:\ndata:  \ndata:\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		want, werr := allEvents(bytes.NewReader(in), 64)
		got, gerr := allEvents(iotest.OneByteReader(bytes.NewReader(in)), 64)
		if diff := cmp.Diff(want, got); diff != "" || (werr == io.EOF) != (gerr == io.EOF) {
			t.Errorf("byte by byte (-whole +byte by byte), errors %v and %v:\n%s", werr, gerr, diff)
		}
		if bytes.IndexByte(in, '\r') < 0 {
			crlf := bytes.ReplaceAll(in, []byte("\n"), []byte("\r\n"))
			if got, _ := allEvents(bytes.NewReader(crlf), 64); cmp.Diff(want, got) != "" {
				t.Errorf("with CRLF: got %q, want %q", got, want)
			}
		}
	})
}

// FuzzChunks checks that no chunk breaks the assembler, and that what it
// gives is text.
func FuzzChunks(f *testing.F) {
	for _, seed := range []string{
		say("Hello"), stop, whole, `{}`, `[]`, `{"choices":null}`, "{\"choices\":[{\"delta\":{\"content\":\"\xc3\\ud83d\"}}]}",
		`{"choices":[{"index":"0","delta":{"tool_calls":[{"index":null,"function":{"name":1,"arguments":{"a":[]}}}]},"finish_reason":["x"]}]}`,
		`{"choices":[{"message":{"tool_calls":{"function":{"name":"f"}},"function_call":{"name":"g"},"content":["a",{"text":"b"}]}}],"usage":{"total_tokens":1e400}}`,
	} {
		f.Add([]byte(seed), []byte(seed))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		asm := assembler{maxArguments: 1000}
		var shown strings.Builder
		for _, raw := range [][]byte{first, second} {
			var ch chunk
			if json.Unmarshal(raw, &ch) != nil {
				return
			}
			events, err := asm.add(&ch)
			if err != nil {
				return
			}
			for _, e := range events {
				if d, ok := e.(model.TextDelta); ok {
					shown.WriteString(d.Text)
				}
			}
		}
		m, err := asm.message(nil)
		if err != nil {
			return
		}
		if !strings.HasPrefix(m.Text, shown.String()) {
			t.Errorf("shown %q, but the message is %q", shown.String(), m.Text)
		}
		ids := make(map[string]bool)
		for _, c := range m.Calls {
			if c.ID == "" || ids[c.ID] {
				t.Errorf("id %q is empty or used twice", c.ID)
			}
			ids[c.ID] = true
			if !utf8.ValidString(c.Arguments) {
				t.Errorf("arguments are no text: %q", c.Arguments)
			}
		}
		if !utf8.ValidString(m.Text) || !utf8.ValidString(m.Reasoning) {
			t.Errorf("not text: %q, %q", m.Text, m.Reasoning)
		}
	})
}

func FuzzError(f *testing.F) {
	for _, seed := range []string{
		`{"error":{"message":"a","code":400}}`, `{"error":"x"}`, `{"detail":[{"loc":["a",1],"msg":"b"}]}`, `[{"error":{"status":"X"}}]`,
		`{"type":"error","error":{"type":"t"}}`, `{"error":[]}`, `{"error":{"message":{"a":1}}}`, `{"object":"error"}`, `[[]]`, `{"error":0}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w, ok := parseError(data)
		if ok && w.message == "" {
			t.Errorf("an error without a message: %+v", w)
		}
		_ = describe(data)
	})
}

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
			c.cfg.OpenEnd = release == "2.8.9"
			h := ask(t, c, hello(true))
			if h.err != nil {
				var e *model.Error
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
