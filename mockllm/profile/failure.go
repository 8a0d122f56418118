// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package profile

import (
	"net/http"
	"strconv"
	"strings"
)

// Trouble is what goes wrong behind an endpoint: what its gateway did in
// place of an ordinary reply.
type Trouble string

// The troubles.
const (
	Status      Trouble = "status"       // an HTTP error, JSON or not
	NotJSON     Trouble = "not-json"     // 200 with a body that is no JSON and no stream
	EmptyObject Trouble = "empty-object" // 200 with {}
	BadShape    Trouble = "bad-shape"    // 200 with a reply whose message is null
	Closed      Trouble = "closed"       // the connection closed before an answer
	CutClean    Trouble = "cut"          // the connection closed within a stream
	CutReset    Trouble = "reset"        // the connection reset within a stream
	ErrorChunk  Trouble = "error-chunk"  // 200, and an error object as the first event
	ErrorEvent  Trouble = "error-event"  // 200, and Anthropic's event: error
	NoDone      Trouble = "no-done"      // a stream without [DONE]
	Notice      Trouble = "notice"       // the text that says who you are not
)

// NoticeText begins the gateway's answer to users whom it does not know.
// [fact 1.4]
const NoticeText = "AUTHENTICATION NOTICE FROM ARGO"

// Gone is what went wrong, once.
type Gone struct {
	Trouble Trouble
	Status  int
	// Type and Body are what the gateway sent.
	Type string
	Body []byte
}

// Twist is what becomes of a stream.
type Twist struct {
	// Keep keeps the frames of the reply, up to the cut if there is one.
	Keep bool
	// Events are sent after those, then Raw, past the framing of the body,
	// then Chunk.
	Events []string
	Raw    string
	Chunk  string
	// Text stands for the text of the reply.
	Text string
	// NoDone leaves out [DONE].
	NoDone bool
	// Cut closes the connection without the end of the body.
	Cut bool
}

// failure is a row of the table: for which requests it holds, and what the
// client sees. The first row that fits counts; where none fits, the endpoint
// notices nothing.
type failure struct {
	on      Trouble
	dialect Dialect
	only    Family // with this family
	not     Family // with any but this
	stream  byte   // 's' streams only, 'p' plain only
	html    byte   // 'y' bodies that are no JSON, 'n' bodies that are
	tools   byte   // 'y' with tools, 'n' without

	answer *answerRow // a complete answer
	passed bool       // with the headers of what is handed on
	twist  *Twist     // or what becomes of the stream
}

func (f *failure) fits(a Ask, g Gone) bool {
	html := byte('y')
	if t := strings.TrimSpace(string(g.Body)); t != "" && (t[0] == '{' || t[0] == '[') {
		html = 'n'
	}
	fits := func(want, got byte) bool { return want == 0 || want == got }
	return f.on == g.Trouble && (f.dialect == "" || f.dialect == a.Dialect) &&
		(f.only == "" || f.only == a.Model.Family) && (f.not == "" || f.not != a.Model.Family) &&
		fits(f.stream, pick(a.Stream, 's', 'p')) && fits(f.html, html) && fits(f.tools, pick(a.Tools, 'y', 'n'))
}

func pick(b bool, yes, no byte) byte {
	if b {
		return yes
	}
	return no
}

// Fail says what the client sees of a trouble: an answer, or what becomes of
// the stream; neither when the endpoint hides it.
func (p *Profile) Fail(a Ask, g Gone) (*Answer, *Twist) {
	for i := range p.failures {
		f := &p.failures[i]
		if !f.fits(a, g) {
			continue
		}
		if f.answer == nil {
			return nil, f.twist
		}
		return p.server.failed(f, a, g), nil
	}
	return nil, nil
}

func (s *server) failed(f *failure, a Ask, g Gone) *Answer {
	row := *f.answer
	if row.status == 0 {
		row.status = g.Status
	}
	if _, text, ok := strings.Cut(row.body, `{"error": {"message": "`); ok && a.Dialect == Messages {
		// The same words in Anthropic's envelope.
		text, _, _ = strings.Cut(text, `", "type"`)
		row.body = strings.Replace(s.envelopeOf(Messages), "$text", text, 1)
	}
	row.body = strings.NewReplacer("$gateway", strconv.Itoa(g.Status), "$model", inText(a.Model.Echo)).Replace(row.body)
	out := s.answer(&row, string(g.Body), string(g.Body))
	if f.passed {
		h := s.passed.Clone()
		if s.echoID {
			h[requestID] = []string{""}
		}
		if row.ctype != "" {
			h["Content-Type"] = []string{row.ctype}
		}
		out.Header = h
	}
	return out
}

// own is an answer in the proxies' envelope of v3.
func own(status int, text string) *answerRow {
	return &answerRow{status: status, body: `{"error": {"message": "` + text + `", "type": "invalid_request_error", "code": null}}`}
}

// verbatim hands on what the gateway said.
func verbatim() *answerRow { return &answerRow{body: "$body"} }

// rawHead is a second response that aiohttp writes into the body of the
// first. [fact 2.4]
func rawHead(status, length int) string {
	return "HTTP/1.1 " + strconv.Itoa(status) + " " + http.StatusText(status) + "\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: " +
		strconv.Itoa(length) + "\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nServer: " + aiohttp + "\r\n\r\n"
}

// cutInto is how aiohttp servers end a stream that the gateway cut.
func cutInto(status int, body string) *Twist {
	return &Twist{Keep: true, Raw: rawHead(status, len(body)), Chunk: body}
}

const notCompleted = "Response payload is not completed: <TransferEncodingError: 400, message='Not enough data to satisfy transfer length header.'>"
