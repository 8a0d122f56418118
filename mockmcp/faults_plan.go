// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/sse"
	"github.com/rehearse-dev/rehearse/mockmcp/fault"
)

// op is one thing that is done in place of sending a reply.
type op struct {
	do   opKind
	data []byte        // of send and raw
	text string        // the content type of open, the method of tell
	wait time.Duration // of wait
	code int           // of exit
}

type opKind int

const (
	opReply    opKind = iota // data as the reply, framed as the transport does
	opSend                   // data as a message before the reply
	opTell                   // a broadcast of the method text
	opRaw                    // data as it is
	opOpen                   // HTTP: the headers of the answer; nothing elsewhere
	opWait                   // some time passes
	opHang                   // nothing more, until the client cancels or is gone
	opCut                    // the connection is gone
	opExit                   // the process is gone
	opCloseOut               // no more output, while the input is still read
	opLeave                  // HTTP: the answer ends, and can be had by coming back after wait
	opEnd                    // HTTP: the answer ends in good order; elsewhere nothing
)

// situation is what a plan depends on beside the fault.
type situation struct {
	transport string
	// streaming says that the reply is an event of a stream.
	streaming bool
	request   mcpwire.Message
	// token is the client's token for progress about the request, if any.
	token json.RawMessage
	// page counts the pages of lists that the fault has struck.
	page int
}

// lines reports whether messages are lines of a stream.
func (s *situation) lines() bool { return s.transport == fault.Pipe || s.transport == fault.Stdio }

// event is a message as an event of a stream, with end behind each line. An
// empty one has no data, so that no client takes it.
func event(message []byte, end string) []byte {
	message = bytes.TrimRight(message, "\r\n")
	ev := sse.Event{Name: "message", Data: message, Bare: len(message) == 0}
	return bytes.ReplaceAll(ev.Append(nil), []byte("\n"), []byte(end))
}

// raw is a message as it stands on the wire, with its end.
func (s *situation) raw(message []byte, end string) []byte {
	switch {
	case s.lines():
		return append(bytes.Clone(message), end...)
	case s.streaming:
		return event(message, end)
	}
	return message
}

// open are the headers of an answer over HTTP, when they are not out yet.
func (s *situation) open() op {
	if s.streaming {
		return op{do: opOpen, text: typeStream}
	}
	return op{do: opOpen, text: typeJSON}
}

// behind sends frame, the reply, and then more: over HTTP as events of one
// stream.
func (s *situation) behind(frame []byte, more ...op) []op {
	if s.transport != fault.HTTP {
		return append([]op{{do: opReply, data: frame}}, more...)
	}
	s.streaming = true
	return append(append([]op{s.open(), {do: opSend, data: frame}}, more...), op{do: opEnd})
}

func (s *situation) sendRaw(data []byte, more ...op) []op {
	return append([]op{s.open(), {do: opRaw, data: data}}, more...)
}

// plan returns what f does in place of sending frame, the reply.
func plan(f *fault.Fault, s situation, frame []byte) []op {
	form := f.FormOf()
	switch f.Kind {
	case fault.Delay, fault.Hang, fault.LateReply, fault.Exit, fault.CloseStdout:
		return planSilence(f, form, &s, frame)
	case fault.JunkLine, fault.TruncateFrame, fault.SplitFrame, fault.BadUTF8, fault.PrettyJSON, fault.CRLF, fault.NoFinalNewline, fault.ContentLength:
		return planBytes(f, form, &s, frame)
	case fault.WrongID, fault.StringID, fault.NullID, fault.MissingID, fault.DuplicateReply, fault.BatchReply:
		return planID(f, form, &s, frame)
	case fault.AbortConnection, fault.SSEEndWithoutReply, fault.SSERetry, fault.WrongContentType:
		return planHTTP(f, form, &s, frame)
	}
	if notifies(f.Kind) {
		return planNotes(f, form, &s, frame)
	}
	return []op{{do: opReply, data: mutate(f, form, &s, frame)}}
}

func planSilence(f *fault.Fault, form string, s *situation, frame []byte) []op {
	switch f.Kind {
	case fault.Delay:
		d := cmp.Or(f.Delay, 2*time.Second)
		if form != "progress" || s.token == nil {
			return []op{{do: opWait, wait: d}, {do: opReply, data: frame}}
		}
		var ops []op
		for i := range 4 {
			ops = append(ops, op{do: opWait, wait: d / 5}, op{do: opSend, data: progress(s.token, i+1, 5)})
		}
		return append(ops, op{do: opWait, wait: d - 4*(d/5)}, op{do: opReply, data: frame})
	case fault.Hang:
		if form == "headers" {
			return []op{{do: opOpen, text: typeStream}, {do: opHang}}
		}
		return []op{{do: opHang}}
	case fault.LateReply:
		return []op{{do: opHang}, {do: opReply, data: frame}}
	case fault.CloseStdout:
		return []op{{do: opCloseOut}, {do: opHang}}
	}
	return []op{{do: opExit, code: cmp.Or(f.ExitCode, 1)}}
}

// cutAt is the place in a frame at which it breaks off: Bytes of the fault,
// the middle by default.
func cutAt(f *fault.Fault, n int) int {
	at := f.Bytes
	switch {
	case at == 0:
		at = n / 2
	case at < 0:
		at += n
	}
	return min(max(at, 0), n)
}

func planBytes(f *fault.Fault, form string, s *situation, frame []byte) []op {
	switch f.Kind {
	case fault.JunkLine:
		var ops []op
		for range max(f.Count, 1) {
			ops = append(ops, s.junk(f, form)...)
		}
		return append(ops, op{do: opReply, data: frame})
	case fault.TruncateFrame:
		half := frame[:cutAt(f, len(frame))]
		if !s.lines() && s.streaming {
			half = bytes.TrimRight(event(half, "\n"), "\n")
		}
		switch form {
		case "exit":
			return s.sendRaw(half, op{do: opExit, code: cmp.Or(f.ExitCode, 1)})
		case "newline":
			return s.sendRaw(append(bytes.Clone(half), "\n\n"...), op{do: opHang})
		}
		return s.sendRaw(half, op{do: opHang})
	case fault.SplitFrame:
		whole := s.raw(frame, "\n")
		at := cutAt(f, len(whole))
		return s.sendRaw(whole[:at], op{do: opWait, wait: cmp.Or(f.Delay, 20*time.Millisecond)}, op{do: opRaw, data: whole[at:]}, op{do: opEnd})
	case fault.BadUTF8:
		return s.sendRaw(s.raw(badUTF8(frame), "\n"), op{do: opEnd})
	case fault.PrettyJSON:
		return s.sendRaw(s.raw(pretty(frame), "\n"), op{do: opEnd})
	case fault.CRLF:
		// Over HTTP a line has an end only in a stream.
		s.streaming = s.streaming || !s.lines()
		return s.sendRaw(s.raw(frame, "\r\n"), op{do: opEnd})
	case fault.NoFinalNewline:
		return s.sendRaw(frame, op{do: opExit, code: f.ExitCode})
	}
	return s.sendRaw(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n%s", len(frame), frame), op{do: opEnd})
}

// junk is a line that is no message.
func (s *situation) junk(f *fault.Fault, form string) []op {
	text := f.Body
	if text == "" {
		text = map[string]string{
			"banner":  "Weather MCP server 1.0.0 running on stdio",
			"empty":   "",
			"json":    `{"level":"info","msg":"request received"}`,
			"bracket": "[info] {request received",
		}[form]
	}
	if s.transport == fault.HTTP {
		s.streaming = true // one JSON object has no room beside it
	}
	return s.sendRaw(s.raw([]byte(text), "\n"))
}

func pretty(frame []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, frame, "", "  ") != nil {
		return frame
	}
	return b.Bytes()
}

// badUTF8 puts bytes that are no UTF-8 at the end of the first text in the
// message; a message without one gets them in a member of its own.
func badUTF8(frame []byte) []byte {
	const bad = "caf\xe9 \xff\xfe"
	at := bytes.Index(frame, []byte(`"text":"`))
	if at < 0 {
		at = bytes.LastIndexByte(frame, '}')
		if at < 0 {
			return append(bytes.Clone(frame), bad...)
		}
		return bytes.Join([][]byte{frame[:at], []byte(`,"note":"` + bad + `"`), frame[at:]}, nil)
	}
	at += len(`"text":"`)
	return bytes.Join([][]byte{frame[:at], []byte(bad), frame[at:]}, nil)
}

// withID is a message with another id; nil is none. Members keep their order
// where the message is one that we encode.
func withID(frame []byte, id json.RawMessage) []byte {
	m, err := mcpwire.Parse(frame)
	if err != nil {
		return frame
	}
	m.ID = id
	return m.Encode()
}

// otherID is an id that nobody asks with.
const otherID = "987654321"

func planID(f *fault.Fault, form string, s *situation, frame []byte) []op {
	id := s.request.ID
	send := func(frame []byte) []op { return []op{{do: opReply, data: frame}} }
	switch f.Kind {
	case fault.WrongID:
		wrong := json.RawMessage(otherID)
		switch form {
		case "zero":
			wrong = json.RawMessage("0")
		case "float":
			wrong = id
			if _, err := strconv.ParseInt(string(id), 10, 64); err == nil {
				wrong = append(bytes.Clone(id), ".0"...)
			}
		}
		return send(withID(frame, wrong))
	case fault.StringID:
		return send(withID(frame, turned(id)))
	case fault.NullID:
		if form == "result" {
			return send(withID(frame, json.RawMessage("null")))
		}
		e := &jsonrpc.Error{Code: cmp.Or(f.Code, -32700), Message: cmp.Or(f.Message, "Parse error")}
		return send(mcpwire.Message{ID: json.RawMessage("null"), Error: e}.Encode())
	case fault.MissingID:
		return send(withID(frame, nil))
	case fault.DuplicateReply:
		return s.behind(frame, op{do: opSend, data: frame})
	}
	return s.sendRaw(s.raw(append(append([]byte("["), frame...), ']'), "\n"), op{do: opEnd})
}

// turned is a number as a string, and a string that is a number as one.
func turned(id json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(id, &text) != nil {
		return mcpwire.Marshal(string(id))
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n < math.MaxInt32 {
		return strconv.AppendInt(nil, n, 10)
	}
	return json.RawMessage(otherID)
}

func planHTTP(f *fault.Fault, form string, s *situation, frame []byte) []op {
	switch f.Kind {
	case fault.AbortConnection:
		if form != "body" || s.transport == fault.WS {
			return []op{{do: opCut}}
		}
		whole := s.raw(frame, "\n")
		return s.sendRaw(whole[:cutAt(f, len(whole))], op{do: opCut})
	case fault.SSERetry:
		return []op{{do: opLeave, wait: cmp.Or(f.Delay, 50*time.Millisecond)}, {do: opReply, data: frame}}
	case fault.SSEEndWithoutReply:
		switch {
		case s.transport == fault.SSE:
			return []op{{do: opCloseOut}, {do: opHang}}
		case form == "lost":
			return []op{{do: opLeave, wait: cmp.Or(f.Delay, 50*time.Millisecond)}, {do: opOpen, text: typeStream}, {do: opEnd}}
		}
		return []op{{do: opOpen, text: typeStream}, {do: opEnd}}
	}
	s.streaming = false
	whole := func(contentType string, data []byte) []op {
		return []op{{do: opOpen, text: contentType}, {do: opRaw, data: data}, {do: opEnd}}
	}
	switch form {
	case "html":
		return whole("text/html; charset=utf-8", []byte("<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><h1>Sign in</h1></body></html>\n"))
	case "none":
		return whole("", frame)
	case "json_for_sse":
		return whole(typeJSON, event(frame, "\n"))
	case "sse_for_json":
		return whole(typeStream, frame)
	}
	return whole("text/plain; charset=utf-8", frame)
}

// withholds reports whether a fault keeps the answer to a call from every
// client: what goes out, if anything does, is not the answer to its request.
func withholds(f *fault.Fault) bool {
	switch f.Kind {
	case fault.Hang, fault.LateReply, fault.Exit, fault.CloseStdout, fault.TruncateFrame, fault.AbortConnection, fault.SSEEndWithoutReply,
		fault.HTTPStatus, fault.Session404, fault.NullID, fault.MissingID:
		return true
	case fault.WrongID:
		return f.FormOf() != "float" // which is the same number
	case fault.WrongContentType:
		return f.FormOf() == "html"
	}
	return false
}
