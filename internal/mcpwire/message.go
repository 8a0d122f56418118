// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package mcpwire is the wire of the Model Context Protocol without its
// meaning: JSON-RPC messages in newline-delimited frames, pipes and child
// processes that carry them. It keeps bytes as they came and tells of what it
// could not read instead of skipping it.
//
//	r := mcpwire.NewReader(conn, nil)
//	for {
//		m, err := r.Next()
//		var junk *mcpwire.JunkError
//		if errors.As(err, &junk) {
//			log.Print(junk) // not fatal
//			continue
//		}
//		if err != nil {
//			return err // io.EOF at the end
//		}
//		...
//	}
package mcpwire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rehearse-dev/rehearse/harness"
)

// Message is one JSON-RPC message: a request, a notification or a response.
// Its raw parts share memory with Frame.
type Message struct {
	// ID is null or absent in a notification; a number or a string elsewhere.
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *harness.RPCError
	// Version is the member jsonrpc, "2.0" where a peer follows the rules.
	Version string
	// Frame is the whole message as it came, without its newline.
	Frame []byte
}

// IsRequest reports whether m asks for an answer.
func (m Message) IsRequest() bool { return m.Method != "" && hasValue(m.ID) }

// IsNotification reports whether m tells something and asks for no answer.
func (m Message) IsNotification() bool { return m.Method != "" && !hasValue(m.ID) }

// IsResponse reports whether m answers a request.
func (m Message) IsResponse() bool { return m.Method == "" }

// Key returns the id in a form that compares equal for the number 7, the
// string "7" and 7.0, since some servers send ids back as strings, and
// languages without integers as 7.0. It is empty when there is no id.
func (m Message) Key() string { return Key(m.ID) }

// Key is [Message.Key] for an id alone.
func Key(id json.RawMessage) string {
	if !hasValue(id) {
		return ""
	}
	var s string
	if json.Unmarshal(id, &s) == nil {
		return s
	}
	whole, fraction, _ := bytes.Cut(id, []byte("."))
	if len(bytes.Trim(fraction, "0")) == 0 {
		return string(whole)
	}
	return string(id)
}

func hasValue(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// wireMessage is Message as it stands on the wire.
type wireMessage struct {
	JSONRPC string            `json:"jsonrpc"`
	ID      json.RawMessage   `json:"id,omitempty"`
	Method  string            `json:"method,omitempty"`
	Params  json.RawMessage   `json:"params,omitempty"`
	Result  json.RawMessage   `json:"result,omitempty"`
	Error   *harness.RPCError `json:"error,omitempty"`
}

// Parse reads one message. A missing jsonrpc member is forgiven.
func Parse(frame []byte) (Message, error) {
	var w wireMessage
	if err := json.Unmarshal(frame, &w); err != nil {
		return Message{}, err
	}
	if w.Method == "" && len(w.Result) == 0 && w.Error == nil {
		return Message{}, errors.New("neither method, result nor error")
	}
	return Message{ID: w.ID, Method: w.Method, Params: w.Params, Result: w.Result, Error: w.Error, Version: w.JSONRPC, Frame: frame}, nil
}

// Encode writes m as one line without its newline. Raw parts are compacted
// but otherwise kept; Frame is not looked at. It panics when a raw part is
// not JSON, which is a mistake of the caller.
func (m Message) Encode() []byte {
	return Marshal(wireMessage{JSONRPC: "2.0", ID: m.ID, Method: m.Method, Params: m.Params, Result: m.Result, Error: m.Error})
}

// Marshal is [json.Marshal] without the escaping of <, > and &, which would
// change the text of raw parts. It panics when v cannot be encoded.
func Marshal(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("mcpwire: encoding %T: %v", v, err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
