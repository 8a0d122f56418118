// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package timeline puts the recordings of one trial in order: what the model
// was asked and said, and what went between the client and its MCP servers. The
// recordings share a clock, see Start in the options of packages cassettes and
// mcptape.
//
//	events := timeline.Of(timeline.Tape("weather", path, rec), timeline.Cassette(file))
//	err := timeline.Write(os.Stdout, events)
package timeline

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/rehearse-dev/rehearse/cassettes/mcptape"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/shape"
	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// Event is one thing that happened.
type Event struct {
	At   time.Time
	Peer string // the model, or the name of a server
	// Out says that the peer said it, and not the client.
	Out  bool
	Text string
	// File and Line are where it stands.
	File string
	Line int
}

// Of merges the events of recordings. Give the tapes of servers before the
// cassette of the model: where time stood still, an answer has come before the
// client went on, and else the earlier recording counts.
func Of(recordings ...[]Event) []Event {
	var heads [][]Event
	for _, r := range recordings {
		if len(r) > 0 {
			heads = append(heads, r)
		}
	}
	var all []Event
	for len(heads) > 0 {
		next := 0
		for i := range heads {
			if before(heads[i][0], heads[next][0]) {
				next = i
			}
		}
		all = append(all, heads[next][0])
		if heads[next] = heads[next][1:]; len(heads[next]) == 0 {
			heads = slices.Delete(heads, next, next+1)
		}
	}
	return all
}

// before reports whether of two events of different recordings a came first.
func before(a, b Event) bool {
	if !a.At.Equal(b.At) {
		return a.At.Before(b.At)
	}
	return a.Out && !b.Out
}

// Cassette are the events of a cassette, each exchange with its beginning and
// its end. Exchanges without a time are left out.
func Cassette(f *vcr.File) []Event {
	var events []Event
	for _, i := range f.Interactions {
		if i.Meta.Recorded.IsZero() {
			continue
		}
		peer := cmp.Or(i.Meta.Model, "model")
		end := i.Meta.Recorded.Add(i.Response.Duration)
		for _, c := range i.Meta.Chunks {
			end = end.Add(c.Gap)
		}
		events = append(events,
			Event{At: i.Meta.Recorded, Peer: peer, Text: asked(i), File: f.Path, Line: i.Line},
			Event{At: end.Truncate(time.Microsecond), Peer: peer, Out: true, Text: answered(i), File: f.Path, Line: i.Line})
	}
	sortEvents(events)
	return events
}

// sortEvents puts events of one recording in order, of equal times in that in
// which they stand there.
func sortEvents(events []Event) {
	slices.SortStableFunc(events, func(a, b Event) int { return a.At.Compare(b.At) })
}

// asked says what a request to the model has.
func asked(i *vcr.Interaction) string {
	text := i.Request.Method + " "
	if u, err := url.Parse(i.Request.URL); err == nil {
		text += u.Path
	}
	body, err := value.Parse(i.Request.Body)
	if err != nil {
		return text
	}
	for _, key := range []string{"messages", "input", "contents"} {
		if list, ok := body.Get(key); ok && list.Kind() == value.Array {
			text += ", " + prose.Count(len(list.Items()), "message")
		}
	}
	return text
}

// answered says what the model answered.
func answered(i *vcr.Interaction) string {
	var text string
	switch {
	case i.Response.Code == 0:
		return "no answer: " + i.Meta.Error
	case i.Response.Code != http.StatusOK:
		text = fmt.Sprintf("HTTP %d ", i.Response.Code)
	}
	text += short(shape.Said(i))
	switch i.Meta.Outcome {
	case vcr.Aborted:
		text += ", and breaks off: " + i.Meta.Error
	case vcr.ClientClosed:
		text += ", and the client disconnects"
	case vcr.Open:
		text += ", and the recording ends"
	case vcr.Complete, vcr.UpstreamError:
	}
	return strings.TrimSpace(text)
}

// Tape are the events of a tape; name is that of the server.
func Tape(name, file string, rec *mcptape.Recording) []Event {
	var events []Event
	asked := map[string]string{} // by session, direction and id
	for i := range rec.Frames {
		f := &rec.Frames[i]
		e := Event{
			At: rec.Recorded.Add(time.Duration(f.At * float64(time.Millisecond))).Truncate(time.Microsecond), Peer: name,
			Out: f.Dir != mcptape.In && f.Dir != mcptape.Left, File: file, Line: f.Line(),
		}
		said := mcpwire.Messages(f.Frame)
		for _, m := range said {
			id := fmt.Sprint(f.Session, " ", m.Key())
			switch {
			case m.IsResponse() && e.Out: // over HTTP ids may repeat, streams do not
				e.Text = answer(cmp.Or(asked[fmt.Sprint("in ", f.Stream)], asked["in "+id]), m)
			case m.IsResponse():
				e.Text = answer(asked["out "+id], m)
			default:
				e.Text = short(strings.TrimSpace(m.Method + " " + subject(m)))
				what := m.Method
				if name := nameOf(m); name != "" {
					what += " " + name
				}
				asked[string(f.Dir)+" "+id] = what
				if f.Dir == mcptape.In && f.Stream > 0 {
					asked[fmt.Sprint("in ", f.Stream)] = what
				}
			}
			events = append(events, e)
		}
		if e.Text = other(f); len(said) == 0 && e.Text != "" {
			events = append(events, e)
		}
	}
	return events
}

// other says what a frame without a message is; empty for what goes without
// saying.
func other(f *mcptape.Frame) string {
	switch {
	case f.Dir == mcptape.Err:
		return "stderr: " + short(f.Text)
	case f.Dir == mcptape.End && f.Stream == 0:
		return strings.TrimSuffix("ends: "+f.Text, ": ")
	case f.Dir == mcptape.End && f.Text != "":
		return "breaks off: " + f.Text
	case f.Dir == mcptape.Left:
		return "hangs up"
	case f.HTTP != nil && f.HTTP.Method == http.MethodGet:
		return "listens"
	case f.HTTP != nil && f.HTTP.Method == http.MethodDelete:
		return "ends the session"
	case f.HTTP != nil && f.HTTP.Status >= 300:
		return fmt.Sprintf("HTTP %d %s", f.HTTP.Status, short(f.Text))
	}
	return short(cmp.Or(f.Text, string(f.Frame)))
}

func nameOf(m mcpwire.Message) string {
	params, err := value.Parse(m.Params)
	if err != nil {
		return ""
	}
	name, _ := params.Get("name")
	uri, _ := params.Get("uri")
	return cmp.Or(name.Str(), uri.Str())
}

// subject is what of the parameters tells most.
func subject(m mcpwire.Message) string {
	params, err := value.Parse(m.Params)
	if err != nil {
		return ""
	}
	if args, ok := params.Get("arguments"); ok {
		return strings.TrimSpace(nameOf(m) + " " + args.String())
	}
	return nameOf(m)
}

// answer says what was answered to a request.
func answer(request string, m mcpwire.Message) string {
	request = cmp.Or(request, "answer")
	if m.Error != nil {
		return short(fmt.Sprintf("%s: error %d: %s", request, m.Error.Code, m.Error.Message))
	}
	if r, err := mcpwire.ParseResult(m.Result); err == nil && len(r.Content) > 0 {
		text := r.Text()
		if r.IsError {
			text = "isError: " + text
		}
		return short(request + ": " + text)
	}
	return request + ": result"
}

// short is a text on one line that fits on it.
func short(text string) string {
	const most = 100
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	return prose.Shorten(text, most)
}

// Write prints events, with their times since the first.
func Write(w io.Writer, events []Event) error {
	width := 0
	for _, e := range events {
		width = max(width, len(e.Peer))
	}
	for _, e := range events {
		arrow := "->"
		if e.Out {
			arrow = "<-"
		}
		since := e.At.Sub(events[0].At)
		if _, err := fmt.Fprintf(w, "%10.3f s  %-*s %s %s\n", since.Seconds(), width, e.Peer, arrow, e.Text); err != nil {
			return err
		}
	}
	return nil
}
