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
	NoObject    Trouble = "no-object"    // 200 with JSON that is no object
	EmptyObject Trouble = "empty-object" // 200 with {}
	BadShape    Trouble = "bad-shape"    // 200 with a reply whose message is null
	NoResponse  Trouble = "no-response"  // 200 with {"response":null}
	BareCall    Trouble = "bare-call"    // 200 with one call that is in no list, in the older interface
	Closed      Trouble = "closed"       // the connection closed before an answer
	CutClean    Trouble = "cut"          // the connection closed within a stream
	CutReset    Trouble = "reset"        // the connection reset within a stream
	ErrorChunk  Trouble = "error-chunk"  // 200, and an error object as the first event
	ErrorEvent  Trouble = "error-event"  // 200, and Anthropic's event: error
	NoDone      Trouble = "no-done"      // a stream without [DONE]
	Notice      Trouble = "notice"       // the text that says who you are not
)

// NoticeText begins the gateway's answer to users whom it does not know.
// [run]
const NoticeText = "AUTHENTICATION NOTICE FROM ARGO"

// Behind is what went wrong, once.
type Behind struct {
	Trouble Trouble
	Status  int
	// Early says that nothing was said before.
	Early bool
	// Type and Body are what the gateway sent.
	Type string
	Body []byte
}

// Rewrite is what becomes of a stream.
type Rewrite struct {
	// Keep keeps the frames of the reply, up to the cut if there is one.
	Keep bool
	// Events are sent after those, then Raw, past the framing of the body,
	// then Chunk.
	Events []string
	Raw    string
	Chunk  string
	// Text stands for the text of the reply.
	Text string
	// NoDone leaves out [DONE], or message_stop; NoUsage the usage that comes
	// after the end, and NoFinish the end.
	NoDone, NoUsage, NoFinish bool
	// Cut closes the connection without the end of the body.
	Cut bool
	// End ends the stream as the dialect does: with [DONE] where it has that.
	End bool
	// Stop, and Usage, keep the last event, or the usage, after a cut.
	Stop, Usage bool
	// Empty stands for a reply without an id, a model, or anything said.
	Empty bool
	// NoReason does not say why it ended.
	NoReason bool
	// Half ends what is said in the middle, or where the fault says.
	Half bool
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
	early   byte   // 'y' before anything is said, 'n' after something is

	answer  *answerRow // a complete answer
	passed  bool       // with the headers of what is handed on
	rewrite *Rewrite   // or what becomes of the stream
}

func (f *failure) fits(a Ask, g Behind) bool {
	html := byte('y')
	if t := strings.TrimSpace(string(g.Body)); t != "" && (t[0] == '{' || t[0] == '[') {
		html = 'n'
	}
	fits := func(want, got byte) bool { return want == 0 || want == got }
	return f.on == g.Trouble && (f.dialect == "" || f.dialect == a.Dialect) &&
		(f.only == "" || f.only == a.Model.Family) && (f.not == "" || f.not != a.Model.Family) &&
		fits(f.stream, pick(a.Stream, 's', 'p')) && fits(f.html, html) && fits(f.tools, pick(a.Tools, 'y', 'n')) && fits(f.early, pick(g.Early, 'y', 'n'))
}

func pick(b bool, yes, no byte) byte {
	if b {
		return yes
	}
	return no
}

// Fail says what the client sees of a trouble: an answer, or what becomes of
// the stream; neither when the endpoint hides it.
func (p *Profile) Fail(a Ask, g Behind) (*Answer, *Rewrite) {
	for i := range p.failures {
		f := &p.failures[i]
		if !f.fits(a, g) {
			continue
		}
		if f.answer == nil && f.rewrite != nil && f.rewrite.End {
			return nil, p.server.ended(f.rewrite, a)
		}
		if f.answer == nil {
			return nil, f.rewrite
		}
		return p.server.failed(f, a, g), nil
	}
	switch g.Trouble { // where these say nothing, they are as others
	case NoResponse:
		g.Trouble = EmptyObject
		return p.Fail(a, g)
	case NoObject:
		g.Trouble = NotJSON
		return p.Fail(a, g)
	}
	return nil, nil
}

func (s *server) failed(f *failure, a Ask, g Behind) *Answer {
	row := *f.answer
	if row.status == 0 {
		row.status = g.Status
	}
	if f.dialect == "" { // else it has the words of the dialect already
		row.body = s.worded(row.body, row.status, a.Dialect)
	}
	row.body = strings.NewReplacer("$gateway", strconv.Itoa(g.Status), "$model", inText(a.Model.Echo)).Replace(row.body)
	if ctype, _, _ := strings.Cut(g.Type, ";"); row.ctype != "" {
		row.ctype = strings.Replace(row.ctype, "$type", ctype, 1)
	}
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

// worded has an error in OpenAI's envelope in that of another dialect.
func (s *server) worded(body string, status int, d Dialect) string {
	_, text, ok := strings.Cut(body, `{"error": {"message": "`)
	if !ok || d != Messages && d != Generate && d != Embeddings {
		return body
	}
	text, _, _ = strings.Cut(text, `", "type"`)
	return strings.NewReplacer("$text", text, "$status", strconv.Itoa(status)).Replace(s.envelopeOf(d))
}

// ended is a twist with the end that streams of the dialect have.
func (s *server) ended(t *Rewrite, a Ask) *Rewrite {
	out := *t
	out.Stop = out.Stop && a.Dialect == Messages
	if a.Dialect == Chat || a.Dialect == Responses && s.responsesDone {
		out.Events = append(out.Events[:len(out.Events):len(out.Events)], "data: [DONE]\n\n")
	}
	return &out
}

// own is an answer in the proxies' envelope of v3.
func own(status int, text string) *answerRow {
	return &answerRow{status: status, body: `{"error": {"message": "` + text + `", "type": "invalid_request_error", "code": null}}`}
}

// verbatim hands on what the gateway said.
func verbatim() *answerRow { return &answerRow{body: "$body"} }

// rawHead is a second response that aiohttp writes into the body of the
// first. [run]
func rawHead(status, length int) string {
	return "HTTP/1.1 " + strconv.Itoa(status) + " " + http.StatusText(status) + "\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: " +
		strconv.Itoa(length) + "\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nServer: " + aiohttp + "\r\n\r\n"
}

// cutInto is how aiohttp servers end a stream that the gateway cut.
func cutInto(status int, body string) *Rewrite {
	return &Rewrite{Keep: true, Raw: rawHead(status, len(body)), Chunk: body}
}

// How the client of aiohttp servers reports a body that ends too soon.
const (
	notCompleted = "Response payload is not completed: <TransferEncodingError: 400, message='Not enough data to satisfy transfer length header.'>"
	tooShort     = "Response payload is not completed: <ContentLengthError: 400, message='Not enough data to satisfy content length header.'>"
)
