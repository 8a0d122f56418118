// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package mcpwire is the wire of the Model Context Protocol without its
// meaning: JSON-RPC messages in newline-delimited frames, pipes and child
// processes that carry them. It keeps bytes as they came and reports what it
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
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/exactjson"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// Message is one JSON-RPC message: a request, a notification or a response.
// Its raw parts share memory with Frame.
type Message struct {
	// ID is null or absent in a notification; a number or a string elsewhere.
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *jsonrpc.Error
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
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *jsonrpc.Error  `json:"error,omitempty"`
}

// Parse reads one message. A missing jsonrpc member is forgiven. Of a result
// and an error, the result counts unless it is null.
func Parse(frame []byte) (Message, error) {
	var w wireMessage
	if err := exactjson.Unmarshal(frame, &w); err != nil {
		return Message{}, err
	}
	if w.Method == "" && len(w.Result) == 0 && w.Error == nil {
		return Message{}, errors.New("neither method, result nor error")
	}
	switch {
	case hasValue(w.Result):
		w.Error = nil // some write "error":{"code":0,"message":"Success"} beside it
	case w.Error != nil:
		w.Result = nil // a null beside an error is as if absent
	}
	return Message{ID: w.ID, Method: w.Method, Params: w.Params, Result: w.Result, Error: w.Error, Version: w.JSONRPC, Frame: frame}, nil
}

// Encode writes m as one line without its newline. Raw parts are compacted
// but otherwise kept; Frame is not looked at. It panics when a raw part is
// not JSON, which is a mistake of the caller.
func (m Message) Encode() []byte {
	return Marshal(wireMessage{JSONRPC: "2.0", ID: m.ID, Method: m.Method, Params: m.Params, Result: m.Result, Error: m.Error})
}

// EncodeReply writes a response as one line: an error, or a result that is
// compact and is not looked at, since it may be long.
func EncodeReply(id, result json.RawMessage, rpc *jsonrpc.Error) []byte {
	switch {
	case len(id) == 0:
		id = json.RawMessage("null")
	case bytes.ContainsAny(id, "\r\n"):
		id = Marshal(id)
	}
	name, body := `,"result":`, []byte(result)
	if rpc != nil {
		name, body = `,"error":`, Marshal(rpc)
	}
	b := make([]byte, 0, len(`{"jsonrpc":"2.0","id":,"result":}`)+len(id)+len(body))
	b = append(append(b, `{"jsonrpc":"2.0","id":`...), id...)
	return append(append(append(b, name...), body...), '}')
}

// Marshal is [exactjson.Marshal] of what can be encoded: it panics else.
func Marshal(v any) []byte {
	b, err := exactjson.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("mcpwire: encoding %T: %v", v, err))
	}
	return b
}

// ErrorMark is what the text of a failed call begins with where the model reads
// it: a tool message has no flag for a failure.
const ErrorMark = "Error: "

// DefaultMaxFrame is the longest frame that a [Reader] takes by default:
// 64 MiB, well above what servers send in earnest (a 20 MB image is).
const DefaultMaxFrame = 64 << 20

// JunkError reports a line that is no JSON-RPC message. The reader can go on.
type JunkError struct {
	Line []byte // the line, or its beginning
	Why  string
	// ID is the id of the message that the line was to be, as far as one can
	// tell: of one that is cut off, too long or nested too deep. Else nil.
	ID json.RawMessage
	// Torn says that the stream ended inside the line.
	Torn bool
}

func (e *JunkError) Error() string {
	return fmt.Sprintf("line is not a JSON-RPC message (%s): %q", e.Why, prose.Excerpt(e.Line, 120))
}

// Reader reads messages, one a line. It is for one goroutine.
type Reader struct {
	br    *bufio.Reader
	max   int
	whole bool // an array is no message
	batch []json.RawMessage
	torn  bool // the last line had no newline
}

// ReaderOptions are settings of a [Reader]. nil means all defaults.
type ReaderOptions struct {
	// MaxFrame is the longest line in bytes; longer ones are skipped and
	// reported. Default [DefaultMaxFrame].
	MaxFrame int
	// NoBatches has an array of messages be none. Default: it is taken apart.
	NoBatches bool
}

// Messages are the messages of a frame: one, or those of a batch. Anything that is
// not a message is left out.
func Messages(frame []byte) []Message {
	var list []Message
	r := NewReader(bytes.NewReader(frame), nil)
	for {
		m, err := r.Next()
		var junk *JunkError
		switch {
		case err == nil:
			list = append(list, m)
		case !errors.As(err, &junk):
			return list
		}
	}
}

// NewReader returns a reader of the messages in r.
func NewReader(r io.Reader, opts *ReaderOptions) *Reader {
	var o ReaderOptions
	if opts != nil {
		o = *opts
	}
	if o.MaxFrame <= 0 {
		o.MaxFrame = DefaultMaxFrame
	}
	return &Reader{br: bufio.NewReader(r), max: o.MaxFrame, whole: o.NoBatches}
}

// Next returns the next message. Blank lines are skipped, a last line without
// newline counts, and an array is taken as its messages, one by one, unless
// [ReaderOptions.NoBatches] is set. The
// error is a [*JunkError] for a line that is no message; any other error is
// final, and io.EOF says that the stream ended.
func (r *Reader) Next() (Message, error) {
	for {
		if len(r.batch) > 0 {
			frame := r.batch[0]
			r.batch = r.batch[1:]
			return r.parse(frame)
		}
		line, err := r.line()
		if err != nil {
			return Message{}, err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if line[0] == '[' && !r.whole && json.Unmarshal(line, &r.batch) == nil {
			continue
		}
		return r.parse(line)
	}
}

func (r *Reader) parse(line []byte) (Message, error) {
	m, err := Parse(line)
	if err != nil {
		return m, &JunkError{Line: line, Why: err.Error(), ID: IDOf(line), Torn: r.torn}
	}
	return m, nil
}

// line returns the next line in memory of its own.
func (r *Reader) line() ([]byte, error) {
	var line []byte
	total := 0
	for {
		part, err := r.br.ReadSlice('\n')
		total += len(part)
		room := r.max + 1 - len(line) // the newline is not part of the frame
		part = part[:min(room, len(part))]
		if cap(line)-len(line) < len(part) {
			line = slices.Grow(line, max(len(part), len(line))) // twice as much: frames can be long
		}
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !(errors.Is(err, io.EOF) && total > 0):
			return nil, err
		}
		r.torn = err != nil
		if total > r.max+1 {
			return nil, &JunkError{
				Line: bytes.Clone(line[:min(len(line), 200)]), Why: fmt.Sprintf("longer than %d bytes", r.max), ID: bytes.Clone(IDOf(line)), Torn: r.torn,
			}
		}
		return line, nil
	}
}

// ParseAll reads a message, or a batch as its messages. There is one at least
// unless junk says why not.
func ParseAll(raw []byte) (messages []Message, junk *JunkError) {
	frames := []json.RawMessage{raw}
	if trimmed := bytes.TrimSpace(raw); len(trimmed) > 0 && trimmed[0] == '[' {
		if json.Unmarshal(trimmed, &frames) != nil || len(frames) == 0 {
			frames = []json.RawMessage{raw}
		}
	}
	for _, frame := range frames {
		m, err := Parse(frame)
		if err != nil {
			return messages, &JunkError{Line: frame, Why: err.Error(), ID: IDOf(frame)}
		}
		messages = append(messages, m)
	}
	return messages, nil
}

// Writer writes messages, one a line. It may be used concurrently.
type Writer struct {
	mu sync.Mutex // guards w: lines must not interleave
	w  io.Writer
}

// NewWriter returns a writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write writes one frame and its newline in one call to the writer below.
// The frame must hold no newline.
func (w *Writer) Write(frame []byte) error {
	line := make([]byte, 0, len(frame)+1)
	line = append(append(line, frame...), '\n')
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.w.Write(line)
	return err
}

// IDOf looks for the member "id" of a message that cannot be decoded: one that
// is cut off, or nested too deep. It is nil where there is none, and where the
// line may be one of a log, since it lacks "jsonrpc".
func IDOf(line []byte) json.RawMessage {
	line = bytes.TrimLeft(line, " \t\r\n")
	if len(line) == 0 || line[0] != '{' || !bytes.Contains(line, []byte(`"jsonrpc"`)) {
		return nil
	}
	depth := 0
	for scan := (value.Scanner{Data: line}); scan.At < len(line); {
		switch line[scan.At] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			start, end, ok := scan.Text()
			if !ok {
				return nil
			}
			if depth == 1 && string(line[start:end]) == "id" {
				if id := idAfter(line[scan.At:]); id != nil {
					return id
				}
			}
			continue
		}
		scan.At++
	}
	return nil
}

// idAfter reads a whole id after a colon.
func idAfter(b []byte) json.RawMessage {
	b, ok := bytes.CutPrefix(bytes.TrimLeft(b, " \t"), []byte(":"))
	if !ok {
		return nil // "id" was a value
	}
	end := bytes.IndexAny(b, ",}")
	if end < 0 {
		return nil
	}
	id := bytes.TrimSpace(b[:end])
	if !json.Valid(id) || !hasValue(id) {
		return nil
	}
	return id
}

// Result is the result object of a tools/call, as far as everybody needs it.
type Result struct {
	Content    []json.RawMessage
	Structured json.RawMessage
	IsError    bool
	// Type is null before 2026-07-28.
	Type json.RawMessage
}

// ParseResult reads the result object of a tools/call. Content may be absent
// and its blocks of any type. What servers in the field write in place of blocks
// and of a bool is read as what is meant: a text alone, and "true" or 1.
func ParseResult(raw json.RawMessage) (*Result, error) {
	var said *struct {
		Content    json.RawMessage `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    json.RawMessage `json:"isError"`
		Type       json.RawMessage `json:"resultType"`
	}
	if err := exactjson.Unmarshal(raw, &said); err != nil {
		return nil, fmt.Errorf("the result is not a tool result: %w", err)
	}
	if said == nil {
		return nil, fmt.Errorf("the result is not a tool result: null")
	}
	r := &Result{Type: said.Type}
	if hasValue(said.Structured) {
		r.Structured = said.Structured
	}
	switch content := said.Content; {
	case len(content) > 0 && content[0] == '"':
		r.Content = []json.RawMessage{Marshal(map[string]any{"type": "text", "text": content})}
	case len(content) > 0 && json.Unmarshal(content, &r.Content) != nil:
		return nil, fmt.Errorf("the result is not a tool result: its content is %s and not an array", prose.Excerpt(content, 60))
	}
	switch strings.ToLower(string(said.IsError)) {
	case "", "null", "false", `"false"`, `""`, "0":
	case "true", `"true"`, "1":
		r.IsError = true
	default:
		return nil, fmt.Errorf("the result is not a tool result: isError is %s", prose.Excerpt(said.IsError, 60))
	}
	return r, nil
}

// NeedsInput reports whether the server asks for more before the call is over.
func (r *Result) NeedsInput() bool { return string(r.Type) == `"input_required"` }

// Text joins the text of the text blocks with newlines.
func (r *Result) Text() string { return Text(r.Content) }

// Value is the structured content, else the text parsed as JSON, else the
// text as a JSON string.
func (r *Result) Value() json.RawMessage {
	if r.Structured != nil {
		return r.Structured
	}
	return TextValue(r.Text())
}

// Text joins the text of those content blocks that are text with newlines.
func Text(content []json.RawMessage) string {
	var parts []string
	for _, raw := range content {
		var b struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		if exactjson.Unmarshal(raw, &b) == nil && b.Type == "text" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// TextValue is text parsed as JSON, else text as a JSON string.
func TextValue(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return Marshal(text)
}

// IsObject reports whether raw is a JSON object.
func IsObject(raw []byte) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == '{' && json.Valid(raw)
}

// OnTaken has f called when [Taken] is, with the context that is returned or with
// one of it. Whoever makes several calls at once begins the next one then, so that
// the server has them in that order.
func OnTaken(ctx context.Context, f func()) context.Context {
	return context.WithValue(ctx, takenKey{}, f)
}

// A Taker is a connection that knows when the server has taken a request.
type Taker interface {
	// OnTaken has f called when the request is taken that is written next.
	OnTaken(f func())
}

// Taken says that a request has its place in the order of the server, or that
// nobody need wait for that. It may be said several times.
func Taken(ctx context.Context) {
	if f, ok := ctx.Value(takenKey{}).(func()); ok {
		f()
	}
}

// AwaitsTaken reports whether anybody wants to know when a request is taken.
func AwaitsTaken(ctx context.Context) bool { return ctx.Value(takenKey{}) != nil }

type takenKey struct{}
