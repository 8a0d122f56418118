// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/exactjson"
	"github.com/rehearse-dev/rehearse/internal/key"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/redact"
)

// A script is a session of a tape as a server plays it: what each message of
// the client sets off.
type script struct {
	start    *group   // what the server says unasked
	requests []*group // in the order of the tape
	notes    []*group // notifications of the client

	// Over HTTP.
	listens []*listening // the streams that the client opened
	deleted *head        // how the server took the end of the session; nil for not at all
	named   bool         // it has an id

	lines  [2]int    // of the file, first and last
	others []*script // those that went on at the same time
	taken  bool
}

// head is the beginning of an answer over HTTP, or all of one that has no
// message.
type head struct {
	*HTTP
	text string
}

// listening is a stream that the client opened to hear what the server says.
type listening struct {
	stream int
	after  string // the event that it goes on from
	head   head
}

// group is a message of the client with all that follows from it.
type group struct {
	line     int // in the file
	msg      mcpwire.Message
	key      *key.Key
	steps    []step
	token    string // progress token, as JSON
	stream   int    // that it went over
	reply    int    // position of the reply in the session; -1 for none
	at       float64
	used     bool
	silent   bool // nobody minds when it is not asked for
	answered bool // there is a reply
	resumed  bool // it came over another stream
	named    bool // which gave the session an id
	listens  bool // it stays open for what the server has to say
	last     int  // step over the stream of the group itself, over stdio the reply; -1 for none
}

// name is the method and, of what has one, its object: "tools/call search".
func (g *group) name() string { return nameOf(g.msg) }

func nameOf(m mcpwire.Message) string {
	var p struct {
		Name string `json:"name"`
		URI  string `json:"uri"`
	}
	if exactjson.Unmarshal(m.Params, &p) == nil && p.Name+p.URI != "" {
		return m.Method + " " + p.Name + p.URI
	}
	return m.Method
}

// stepKind is what a step does.
type stepKind int

const (
	say       stepKind = iota // a message or a line of the server
	answer                    // the reply to the group's request
	await                     // wait for the client's answer to a request of the server
	withdrawn                 // wait for the client to cancel the request
	passed                    // wait for the client to initialize instead
	complain                  // a line on stderr
	leave                     // the server ends
	begin                     // an answer over HTTP begins, and may be over with that
	hangup                    // an answer over HTTP ends; with a text it breaks off
)

type step struct {
	kind   stepKind
	at     float64
	msg    mcpwire.Message // of await: the recorded answer
	text   string
	line   int
	stream int   // over which it goes; 0 is that of the group
	http   *HTTP // nil for none
	// sub is the request that listens for it, where another message set it
	// off.
	sub *group
}

// bytes is what of a step goes over the wire.
func (s *step) bytes() []byte {
	if s.msg.Frame == nil {
		return []byte(s.text)
	}
	return s.msg.Frame
}

// id is that of the answer to m, the id of m as the server spells it: some
// answer 1 as "1" or as 1.0.
func (s *step) id(g *group, m mcpwire.Message) json.RawMessage {
	if s.sub != nil {
		g = s.sub
	}
	asked, answered := g.msg.ID, s.msg.ID
	if len(answered) == 0 || len(asked) == 0 || asked[0] == '"' || len(m.ID) == 0 || m.ID[0] == '"' {
		return m.ID
	}
	if fraction, ok := bytes.CutPrefix(answered, asked); ok {
		return slices.Concat(m.ID, fraction)
	}
	if answered[0] == '"' {
		return slices.Concat([]byte(`"`), m.ID, []byte(`"`))
	}
	return m.ID
}

// keyOf makes the key of a message of the client.
func keyOf(m mcpwire.Message, ignore []string) *key.Key {
	rules := &key.Rules{Ignore: []string{"_meta"}, Also: ignore}
	switch m.Method {
	case "initialize":
		rules.Ignore = append(rules.Ignore, "clientInfo")
	case "notifications/cancelled":
		rules.Ignore = append(rules.Ignore, "requestId", "reason")
	case "notifications/progress":
		rules.Ignore = append(rules.Ignore, "progressToken")
	}
	params := []byte(redact.Neutral(string(m.Params)))
	if len(params) == 0 || string(params) == "null" {
		params = []byte("{}")
	}
	return key.Of(http.MethodPost, "/"+m.Method, nil, params, rules)
}

// tokenOf is the progress token that a request brings, as JSON.
func tokenOf(m mcpwire.Message) string {
	start, end := member(m.Params, "_meta", "progressToken")
	return string(m.Params[start:end])
}

// subscription is the key in `_meta` under which a message names the request
// that asked for it.
const subscription = "io.modelcontextprotocol/subscriptionId"

// member finds a member of an object, or of objects within, and returns where
// its value stands. It returns 0, 0 when it is not there.
func member(object []byte, path ...string) (start, end int) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return 0, 0
	}
	for dec.More() {
		name, err := dec.Token()
		var v json.RawMessage
		if err != nil || dec.Decode(&v) != nil {
			return 0, 0
		}
		if name == path[0] {
			end = int(dec.InputOffset())
			start = end - len(v)
		}
	}
	if end == 0 || len(path) == 1 {
		return start, end
	}
	s, e := member(object[start:end], path[1:]...)
	if e == 0 {
		return 0, 0
	}
	return start + s, start + e
}

// replace puts another value in the place of a member, if it is there.
func replace(object []byte, v []byte, path ...string) []byte {
	start, end := member(object, path...)
	if end == 0 {
		return object
	}
	return slices.Concat(object[:start], v, object[end:])
}

// differences says where two messages differ.
func differences(recorded, now *key.Key) []string {
	var out []string
	for _, d := range key.Diff(recorded, now) {
		text := d.String()
		if rest, ok := strings.CutPrefix(text, "body"); ok {
			text = "params" + rest
		}
		out = append(out, text)
	}
	return out
}
