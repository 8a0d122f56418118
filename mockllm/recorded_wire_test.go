// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
)

// response is an HTTP response as bytes tell it, without the ease that
// net/http has with wrong ones.
type response struct {
	status  string
	header  map[string]string // by lower-case name
	body    []byte            // without chunk sizes, and without raw
	raw     []string          // status lines that stand in the body
	chunks  []string          // that came whole
	chunked bool
	cut     bool // the body has no proper end
	closed  bool // the server closes the connection
}

// readResponse reads a response whose lines end in LF or CR LF.
func readResponse(r *bufio.Reader, method string) (*response, error) {
	p := &response{header: map[string]string{}}
	line, err := readLine(r)
	if err != nil {
		return nil, err
	}
	p.status = line
	if err := readHeader(r, p.header); err != nil {
		return nil, err
	}
	if method == "HEAD" {
		return p, nil
	}
	if p.header["transfer-encoding"] == "chunked" {
		p.chunked = true
		p.readChunks(r)
		return p, nil
	}
	n, err := strconv.Atoi(p.header["content-length"])
	if err != nil {
		return p, nil
	}
	p.body = make([]byte, n)
	got, err := io.ReadFull(r, p.body)
	p.body, p.cut = p.body[:got], err != nil
	return p, nil
}

func readLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil && (line == "" || !errors.Is(err, io.EOF)) {
		return "", err
	}
	return strings.TrimRight(line, "\r\n"), nil
}

func readHeader(r *bufio.Reader, into map[string]string) error {
	for {
		line, err := readLine(r)
		if err != nil {
			return err
		}
		if line == "" {
			return nil
		}
		k, v, _ := strings.Cut(line, ":")
		if into != nil {
			into[strings.ToLower(k)] = textproto.TrimString(v)
		}
	}
}

func (p *response) readChunks(r *bufio.Reader) {
	for {
		line, err := readLine(r)
		if err != nil {
			p.cut = true
			return
		}
		if line == "" {
			continue
		}
		if strings.HasPrefix(line, "HTTP/1.1 ") {
			p.raw = append(p.raw, line)
			p.body = append(p.body, "\n\nraw: "+line+"\n\n"...)
			if err := readHeader(r, nil); err != nil {
				p.cut = true
				return
			}
			continue
		}
		n, err := strconv.ParseInt(line, 16, 32)
		if err != nil {
			p.body = append(p.body, "\n\nraw: "+line+"\n\n"...)
			continue
		}
		if n == 0 {
			_, _ = readLine(r) // of the trailer; the end of a recording
			return
		}
		data := make([]byte, n)
		if _, err := io.ReadFull(r, data); err != nil {
			p.cut = true
			return
		}
		p.body = append(p.body, data...)
		p.chunks = append(p.chunks, string(data))
	}
}

// shape says what a response is like: its status, its headers, the order and
// the framing of its events, and the keys and types of its JSON.
func (p *response) shape() []string {
	out := []string{p.status}
	for _, k := range slices.Sorted(maps.Keys(p.header)) {
		switch k {
		case "date", "content-length", "x-request-id":
			out = append(out, k)
		default:
			out = append(out, k+": "+p.header[k])
		}
	}
	if !p.chunked {
		out = append(out, "body "+shapeOfText(string(p.body)))
	} else {
		for event := range strings.SplitSeq(strings.ReplaceAll(string(p.body), "\r\n", "\n"), "\n\n") {
			if event == "" {
				continue
			}
			var lines []string
			for line := range strings.SplitSeq(event, "\n") {
				field, value, ok := strings.Cut(line, ": ")
				switch {
				case ok && field == "data":
					lines = append(lines, "data "+shapeOfText(value))
				case ok && (field == "event" || field == "raw"):
					lines = append(lines, line)
				case line != "":
					lines = append(lines, "line "+shapeOfText(line))
				}
			}
			s := strings.Join(lines, " | ")
			if s != "" && out[len(out)-1] != s { // the number of pieces is a value
				out = append(out, s)
			}
		}
	}
	switch {
	case p.cut:
		out = append(out, "ends without the end of the body")
	case p.closed:
		out = append(out, "ends; the server closes")
	default:
		out = append(out, "ends; kept open")
	}
	return out
}

func shapeOfText(s string) string {
	if s == "" {
		return "nothing"
	}
	if s == "[DONE]" {
		return s
	}
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "text"
	}
	return shapeOf("", v)
}

// fixed are the keys whose values are words of the protocol.
var fixed = map[string]bool{
	"object": true, "type": true, "role": true, "finish_reason": true, "finishReason": true, "stop_reason": true, "index": true, "code": true, "status": true,
}

func shapeOf(key string, v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "bool"
	case json.Number:
		if key == "created" && v == "0" || key == "index" {
			return v.String()
		}
		return "number"
	case string:
		switch {
		case fixed[key]:
			return strconv.Quote(v)
		case v == "" && key != "arguments" && key != "partial_json" && key != "obfuscation":
			return `""`
		}
		return "string"
	case []any:
		var items []string
		for _, item := range v {
			if s := shapeOf("", item); len(items) == 0 || items[len(items)-1] != s {
				items = append(items, s)
			}
		}
		return "[" + strings.Join(items, ", ") + "]"
	case map[string]any:
		if key == "input" && len(v) > 0 { // of a tool call
			return "{…}"
		}
		var b bytes.Buffer
		b.WriteByte('{')
		for i, k := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%s: %s", k, shapeOf(k, v[k]))
		}
		return b.String() + "}"
	}
	return fmt.Sprintf("%T", v)
}
