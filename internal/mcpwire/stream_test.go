// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpwire_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// readAll describes all that a reader returns, a line each.
func readAll(r *mcpwire.Reader) []string {
	var got []string
	for {
		m, err := r.Next()
		var junk *mcpwire.JunkError
		switch {
		case errors.As(err, &junk):
			got = append(got, "junk "+string(junk.Line))
		case errors.Is(err, io.EOF):
			return got
		case err != nil:
			return append(got, "error "+err.Error())
		case m.IsRequest():
			got = append(got, fmt.Sprintf("request %s %s", m.Key(), m.Method))
		case m.IsNotification():
			got = append(got, "notification "+m.Method)
		default:
			got = append(got, fmt.Sprintf("response %s %s %v", m.Key(), m.Result, m.Error != nil))
		}
	}
}

func TestReader(t *testing.T) {
	tests := []struct {
		name string
		in   string
		want []string
	}{
		{"request and notification", `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n" + `{"jsonrpc":"2.0","method":"n"}` + "\n", []string{"request 1 ping", "notification n"}},
		{"id zero is an id", `{"id":0,"method":"initialize"}`, []string{"request 0 initialize"}},
		{"id null is none", `{"id":null,"method":"n"}`, []string{"notification n"}},
		{"last line without newline", `{"id":1,"result":{}}`, []string{"response 1 {} false"}},
		{"string id equals number id", `{"id":"7","result":{}}`, []string{"response 7 {} false"}},
		{"error with id null", `{"id":null,"error":{"code":-32700,"message":"x"}}`, []string{"response   true"}},
		{"CRLF and blank lines", "\r\n" + `{"method":"n"}` + "\r\n\n", []string{"notification n"}},
		{"banner before the first frame", "Server running\n" + `{"method":"n"}` + "\n", []string{"junk Server running", "notification n"}},
		{"truncated frame", `{"id":1,"res` + "\n" + `{"method":"n"}`, []string{`junk {"id":1,"res`, "notification n"}},
		{"pretty-printed", "{\n\"id\":1}\n", []string{"junk {", `junk "id":1}`}},
		{"batch", `[{"id":1,"result":{}},{"method":"n"},3]`, []string{"response 1 {} false", "notification n", "junk 3"}},
		{"object of another kind", `{"level":"info"}`, []string{`junk {"level":"info"}`}},
		{"too long", `{"method":"` + strings.Repeat("x", 100) + "\"}\n" + `{"method":"n"}`, []string{`junk {"method":"` + strings.Repeat("x", 70), "notification n"}},
		{"invalid UTF-8", "{\"method\":\"a\xff\"}\n", []string{"notification a\ufffd"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			opts := &mcpwire.ReaderOptions{MaxFrame: 80}
			for name, in := range map[string]io.Reader{
				"whole":       strings.NewReader(tt.in),
				"byte-wise":   iotest.OneByteReader(strings.NewReader(tt.in)),
				"with errors": iotest.DataErrReader(strings.NewReader(tt.in)),
			} {
				got := readAll(mcpwire.NewReader(in, opts))
				for i := range got { // a line that is too long is kept as far as it was read
					if strings.HasPrefix(got[i], `junk {"method":"xxx`) {
						got[i] = got[i][:min(len(got[i]), 86)]
					}
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

func TestReaderPassesErrorsOn(t *testing.T) {
	broken := errors.New("broken")
	r := mcpwire.NewReader(io.MultiReader(strings.NewReader(`{"method":"n"}`+"\nhalf"), iotest.ErrReader(broken)), nil)
	if m, err := r.Next(); err != nil || m.Method != "n" {
		t.Fatalf("Next() = %v, %v", m, err)
	}
	if _, err := r.Next(); !errors.Is(err, broken) {
		t.Errorf("Next() = %v, want %v", err, broken)
	}
}

// TestJunkID checks that a message that cannot be read still tells whose
// answer it was to be.
func TestJunkID(t *testing.T) {
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	for _, tt := range []struct{ name, in, want string }{
		{"cut off", `{"jsonrpc":"2.0","id":7,"res`, "7"},
		{"a string", `{ "id" : "a\"b" ,"jsonrpc":"2.0","result":x}`, `"a\"b"`},
		{"nested too deep", `{"jsonrpc":"2.0","result":` + deep + `,"id":7}`, "7"},
		{"too long", `{"jsonrpc":"2.0","id":7,"result":"` + strings.Repeat("x", 100_000) + `"}`, "7"},
		{"further in", `{"jsonrpc":"2.0","result":{"id":8},"x":["id",9],"y":"id","id":7,,}`, "7"},
		{"a message without one", `{"jsonrpc":"2.0","method":"n",}`, ""},
		{"null", `{"jsonrpc":"2.0","id":null,}`, ""},
		{"cut off inside it", `{"jsonrpc":"2.0","id":12`, ""},
		{"a line of a log", `Listening on {"id":1}`, ""},
		{"a string that does not end", `{"jsonrpc":"2.0","id`, ""},
		{"an object of a log", `{"level":"debug","id":7}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := mcpwire.NewReader(strings.NewReader(tt.in), &mcpwire.ReaderOptions{MaxFrame: 64 << 10}).Next()
			var junk *mcpwire.JunkError
			if !errors.As(err, &junk) || string(junk.ID) != tt.want {
				t.Errorf("Next() = %v with the id %q, want %q", err, junk.ID, tt.want)
			}
		})
	}
}

// FuzzReader checks that every input is read to its end, that what counts as
// a message encodes to one that says the same, and that memory is bounded.
func FuzzReader(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":1.10}}}` + "\n"))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"a","error":{"code":-32602,"message":"m","data":[1]}}`))
	f.Add([]byte("banner\n\r\n[{\"method\":\"n\"}]\n{\"id\":null}\n"))
	f.Add([]byte("{\"method\":\"\\u0000\"}\n\xff\n[[[[[]]]]]"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := mcpwire.NewReader(bytes.NewReader(in), &mcpwire.ReaderOptions{MaxFrame: 1 << 10})
		for {
			m, err := r.Next()
			var junk *mcpwire.JunkError
			if errors.As(err, &junk) {
				_ = junk.Error()
				continue
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					t.Fatalf("Next() = %v", err)
				}
				return
			}
			again, err := mcpwire.Parse(m.Encode())
			if err != nil {
				t.Fatalf("Parse(Encode(%s)): %v", m.Frame, err)
			}
			if m.Key() != again.Key() || m.Method != again.Method || m.IsRequest() != again.IsRequest() || (m.Error == nil) != (again.Error == nil) {
				t.Errorf("%s encodes as %s", m.Frame, again.Frame)
			}
		}
	})
}

func TestEncodeKeepsRawParts(t *testing.T) {
	in := `{"jsonrpc":"2.0","id":12345678901234567890,"method":"m","params":{"b":1.10,"a":"<&>"}}`
	m, err := mcpwire.Parse([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(m.Encode()); got != in {
		t.Errorf("Encode() = %s, want %s", got, in)
	}
}

func TestResult(t *testing.T) {
	for _, tt := range []struct {
		name, in, text, value string
	}{
		{"text", `{"content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]}`, "a\nb", `"a\nb"`},
		{"text that is JSON", `{"content":[{"type":"text","text":"{\"a\":1.10}"}]}`, `{"a":1.10}`, `{"a":1.10}`},
		{"structured", `{"content":[{"type":"text","text":"a"}],"structuredContent":{"b":1}}`, "a", `{"b":1}`},
		{"structured null", `{"content":[],"structuredContent":null}`, "", `""`},
		{"no content", `{}`, "", `""`},
		{"content that is a text", `{"content":"a \"b\" <c>"}`, `a "b" <c>`, `"a \"b\" <c>"`},
		{"content null", `{"content":null,"isError":null}`, "", `""`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := mcpwire.ParseResult([]byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if r.Text() != tt.text || string(r.Value()) != tt.value {
				t.Errorf("got text %q and value %s, want %q and %s", r.Text(), r.Value(), tt.text, tt.value)
			}
		})
	}
	for in, want := range map[string]bool{`true`: true, `"true"`: true, `"True"`: true, `1`: true, `false`: false, `"false"`: false, `0`: false, `null`: false} {
		r, err := mcpwire.ParseResult([]byte(`{"content":[{"type":"text","text":"no"}],"isError":` + in + `}`))
		if err != nil || r.IsError != want || r.Text() != "no" {
			t.Errorf("isError %s is read as %+v, %v", in, r, err)
		}
	}
	for _, in := range []string{`null`, `[]`, `{"content":{}}`, `{"isError":{}}`} {
		if _, err := mcpwire.ParseResult([]byte(in)); err == nil {
			t.Errorf("ParseResult(%s) succeeded", in)
		}
	}
}

func ExampleReader() {
	in := strings.NewReader("Listening...\n" + `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`)
	r := mcpwire.NewReader(in, nil)
	for {
		m, err := r.Next()
		var junk *mcpwire.JunkError
		if errors.As(err, &junk) {
			fmt.Println(junk)
			continue
		}
		if err != nil {
			break
		}
		fmt.Printf("answer to %s: %s\n", m.Key(), m.Result)
	}
	// Output:
	// line is not a JSON-RPC message (invalid character 'L' looking for beginning of value): "Listening..."
	// answer to 1: {"tools":[]}
}
