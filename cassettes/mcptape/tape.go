// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package mcptape records the messages between a client and an MCP server, over
// stdio or HTTP, replays them as a server over either, and compares a new build
// of the server with them.
//
//	tape, err := mcptape.Open("testdata/files.tape", nil)
//	if err != nil {
//		return err
//	}
//	env.Servers = append(env.Servers, harness.Server{Name: "files", Dial: tape.Dial})
//	...
//	err = tape.Close() // reports misses and what was not asked for
//
// A tape is a file of lines. The first describes the recording; every other
// line is a frame: a line that the client (in) or the server (out) wrote, or
// one of the server's stderr (err), with the time since the recording began.
// Over HTTP a frame has the number of the request that carried it. Secrets are
// removed before a line is written, see [Secrets]; of the headers only the
// fields of [HTTP] are written.
package mcptape

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/exactjson"
	"github.com/rehearse-dev/rehearse/internal/filepos"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/plainfile"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// version is the version of the file that is written and read.
const version = 1

// Header is the first line of a tape.
type Header struct {
	Version  int       `json:"rehearse_tape"`
	Server   string    `json:"server,omitempty"`
	Recorded time.Time `json:"recorded,omitzero"`
}

// Dir says who wrote a frame.
type Dir string

// The directions.
const (
	In   Dir = "in"   // the client
	Out  Dir = "out"  // the server
	Err  Dir = "err"  // the server, to its stderr
	End  Dir = "end"  // nobody: the server ended by itself, over HTTP an answer
	Left Dir = "left" // nobody: the client did not wait for the end of an answer over HTTP
)

// HTTP is what counts of the head of a request or an answer over HTTP, or of
// an event.
type HTTP struct {
	Method string `json:"method,omitempty"` // of a request
	Status int    `json:"status,omitempty"` // of an answer
	Type   string `json:"type,omitempty"`   // of an answer: the media type
	// Session says that the head has the id of a session, which is not
	// written.
	Session bool `json:"session,omitempty"`
	// Event is the id of an event, numbered anew; of a request, the last that
	// the client had.
	Event string `json:"event,omitempty"`
	Name  string `json:"name,omitempty"`     // of an event; empty is message
	Retry int    `json:"retry_ms,omitempty"` // of an event
}

// Frame is one line of traffic.
type Frame struct {
	Dir Dir `json:"dir"`
	// Session tells connections apart where there are several; from 0.
	Session int `json:"session,omitempty"`
	// Stream is the request that it went over, from 1; 0 over stdio.
	Stream int `json:"stream,omitempty"`
	// HTTP is what HTTP says about it. Over HTTP a frame may have that alone.
	HTTP *HTTP `json:"http,omitempty"`
	// Era is legacy up to protocol version 2025-11-25 and modern from
	// 2026-07-28 on; empty where nothing tells.
	Era string `json:"era,omitempty"`
	// At is when it came, in milliseconds since the recording began.
	At float64 `json:"at_ms"`
	// Frame is the message, or an array of messages.
	Frame json.RawMessage `json:"frame,omitempty"`
	// Text is a line, or an answer over HTTP, that is no JSON object; of End,
	// how it ended.
	Text string `json:"text,omitempty"`

	line int // in the file
}

// Recording is the content of a tape.
type Recording struct {
	Header
	Frames []Frame
	// Cut says that the last line was not whole: the recording was cut off.
	Cut bool
}

// partPath is where a recording is while it is made.
func partPath(path string) string { return path + ".part" }

// Read reads a tape. Of a recording that was cut off, what came is read.
func Read(path string) (*Recording, error) {
	data, err := plainfile.Read(path, plainfile.MaxRecording)
	cut := false
	if errors.Is(err, fs.ErrNotExist) {
		if part, err2 := plainfile.Read(partPath(path), plainfile.MaxRecording); err2 == nil {
			data, err, cut = part, nil, true
		} else {
			return nil, fmt.Errorf("tape %q does not exist; record it with `rehearse tape --out %s -- CMD`, or with --url URL", path, path)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading tape: %w", err)
	}
	r, err := Parse(path, data)
	if err != nil {
		return nil, err
	}
	r.Cut = r.Cut || cut
	return r, nil
}

// Parse reads the bytes of a tape; name is for errors.
func Parse(name string, data []byte) (*Recording, error) {
	r := &Recording{}
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF")) // which editors put there
	n := 0
	for line := range bytes.Lines(data) {
		n++
		whole := bytes.HasSuffix(line, []byte{'\n'})
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		fail := func(format string, args ...any) (*Recording, error) {
			return nil, filepos.Errorf(harness.Position{File: name, Line: n}, format, args...)
		}
		for _, mark := range []string{"<<<<<<<", "=======", ">>>>>>>", "|||||||"} {
			if bytes.HasPrefix(line, []byte(mark)) {
				return fail("the file contains merge conflict markers")
			}
		}
		if r.Version == 0 {
			if err := json.Unmarshal(line, &r.Header); err != nil || r.Version == 0 {
				return fail("this is not a tape: its first line lacks rehearse_tape")
			}
			if r.Version != version {
				return fail("the tape has version %d, but this program reads version %d", r.Version, version)
			}
			continue
		}
		f := Frame{line: n}
		if err := json.Unmarshal(line, &f); err != nil {
			if !whole {
				r.Cut = true // in the middle of writing it
				break
			}
			return fail("this line is not a frame: %w", err)
		}
		if why := f.mistake(); why != "" {
			return fail("%s", why)
		}
		r.Frames = append(r.Frames, f)
	}
	if r.Version == 0 {
		return nil, filepos.Errorf(harness.Position{File: name, Line: 1}, "the tape is empty")
	}
	return r, nil
}

// mistake says what is wrong with a frame.
func (f *Frame) mistake() string {
	if f.Session < 0 {
		return fmt.Sprintf("session %d is less than 0", f.Session)
	}
	switch f.Dir {
	case In, Out:
	case Err, End, Left:
		if f.Frame != nil {
			return fmt.Sprintf("a frame in direction %q must have text, not a message", f.Dir)
		}
		return ""
	default:
		return fmt.Sprintf("direction %q is unknown: want in, out, err, end or left", f.Dir)
	}
	switch {
	case f.Stream < 0:
		return fmt.Sprintf("stream %d is less than 0", f.Stream)
	case f.HTTP != nil && f.HTTP.Status != 0 && (f.HTTP.Status < 200 || f.HTTP.Status > 599):
		return fmt.Sprintf("status %d is not the status of an answer", f.HTTP.Status)
	case f.Frame == nil && f.Text == "" && f.HTTP == nil:
		return "the frame has neither a message nor text"
	case f.Frame == nil:
		return ""
	case f.Text != "":
		return "the frame has both a message and text"
	case f.Frame[0] == '[' || mcpwire.IsObject(f.Frame):
		return ""
	}
	return fmt.Sprintf("the frame %s is not a message", prose.Excerpt(f.Frame, 40))
}

// Line is where the frame stands in its file, from 1; 0 when it is in none.
func (f *Frame) Line() int { return f.line }

func (f *Frame) messages() []mcpwire.Message { return mcpwire.Messages(f.Frame) }

// said are the messages of a frame with what a server said that is none, as an
// answer whose error is a text. Such a one has its id and its frame alone.
func (f *Frame) said() []mcpwire.Message {
	var list []mcpwire.Message
	r := mcpwire.NewReader(bytes.NewReader(f.Frame), &mcpwire.ReaderOptions{MaxFrame: len(f.Frame)})
	for {
		m, err := r.Next()
		var junk *mcpwire.JunkError
		switch {
		case err == nil:
			list = append(list, m)
		case !errors.As(err, &junk):
			return list
		case f.Dir == Out:
			list = append(list, mcpwire.Message{ID: idOf(junk.Line), Frame: junk.Line})
		}
	}
}

// idOf is the id of what is to be an answer and is no message.
func idOf(line []byte) json.RawMessage {
	var parts struct {
		ID     json.RawMessage `json:"id"`
		Method json.RawMessage `json:"method"`
	}
	if exactjson.Unmarshal(line, &parts) != nil || parts.Method != nil {
		return nil
	}
	return parts.ID
}

// encode writes the frame as a line.
func (f *Frame) encode() []byte { return append(mcpwire.Marshal(f), '\n') }
