// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// answer is one HTTP answer, as it goes on the wire.
type answer struct {
	status int // 0 is 200
	kind   string
	header string // further lines, each ended with CRLF
	body   []byte
	// longer is added to the length that is announced: the connection ends
	// before the body does.
	longer int
	pieces bool // a byte at a time
}

// habit is one way in which endpoints differ on the wire.
type habit struct {
	name string
	// whole says that the replies are whole ones. The client asks for what it
	// gets, or for the other form where crossed is set.
	whole, crossed bool
	// docs changes the documents of a reply, body its bytes, and answer the
	// answer around it.
	docs   func(g *tongue, docs []document) []document
	body   func(g *tongue, b []byte) []byte
	answer func(g *tongue, a *answer)
	// before is an answer that comes to nothing, ahead of the first reply.
	before func(g *tongue, reply answer) answer
	// lacks names the field that a dialect would need, by dialect.
	lacks map[string]string
	// mock is how the mock model has the habit, in the dialects named: members
	// of its first reply, or of model. Elsewhere the mock replies plainly: it
	// has no words for what is sent.
	mock, mockModel string
	mockIn          []string
}

func lacks(field string, dialects ...string) map[string]string {
	out := map[string]string{}
	for _, d := range dialects {
		out[d] = field
	}
	return out
}

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	zw := gzip.NewWriter(&out)
	_, _ = zw.Write(b) // a buffer takes all
	_ = zw.Close()
	return out.Bytes()
}

func replaced(from, to string) func(*tongue, []byte) []byte {
	return func(_ *tongue, b []byte) []byte { return bytes.ReplaceAll(b, []byte(from), []byte(to)) }
}

// onLines changes the lines of a stream.
func onLines(f func(line string) string) func(*tongue, []byte) []byte {
	return func(_ *tongue, b []byte) []byte {
		lines := strings.Split(string(b), "\n")
		for i := range lines {
			if lines[i] != "" {
				lines[i] = f(lines[i])
			}
		}
		return []byte(strings.Join(lines, "\n"))
	}
}

// onStream writes the documents of a stream in another way.
func onStream(f func(docs []string) string) func(*tongue, []byte) []byte {
	return func(_ *tongue, b []byte) []byte {
		var docs []string
		for _, line := range strings.Split(string(b), "\n") {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				docs = append(docs, data)
			}
		}
		return []byte(f(docs))
	}
}

// camel is where a word begins in a member's name.
var camel = regexp.MustCompile(`[a-z][A-Z]`)

func kind(s string) func(*tongue, *answer) { return func(_ *tongue, a *answer) { a.kind = s } }

// refused is an answer in place of a reply.
func refused(status int, header, body string) func(*tongue, answer) answer {
	return func(*tongue, answer) answer {
		return answer{status: status, kind: "application/json", header: header, body: []byte(body)}
	}
}

const overloaded = `{"error":{"message":"overloaded","type":"server_error"}}`

// odd replaces a member by a value of another type, wherever it is not null.
func odd(name func(*tongue) string, value any) func(*tongue, []document) []document {
	return func(g *tongue, docs []document) []document {
		eachMember(docs, name(g), func(v any) any {
			if v == nil {
				return nil
			}
			return value
		})
		return docs
	}
}

func usageOf(g *tongue) string  { return g.usage }
func modelOf(g *tongue) string  { return g.model }
func finishOf(g *tongue) string { return g.finish }

// numbers changes each number in the usage.
func numbers(f func(json.Number) any) func(*tongue, []document) []document {
	return func(g *tongue, docs []document) []document {
		eachMember(docs, g.usage, func(v any) any {
			walk(v, func(o tree) {
				for key, v := range o {
					if n, ok := v.(json.Number); ok {
						o[key] = f(n)
					}
				}
			})
			return v
		})
		return docs
	}
}

// indexes changes every index.
func indexes(f func(any) any) func(*tongue, []document) []document {
	return func(g *tongue, docs []document) []document {
		eachMember(docs, g.index, f)
		return docs
	}
}

// ids changes the id of each call.
func ids(f func(id string) any) func(*tongue, []document) []document {
	return func(g *tongue, docs []document) []document {
		g.eachCall(docs, func(c callParts) {
			if id, ok := c.id[g.id].(string); ok {
				if v := f(id); v == nil {
					delete(c.id, g.id)
				} else {
					c.id[g.id] = v
				}
			}
		})
		return docs
	}
}

// names changes the name of each call.
func names(f func(string) any) func(*tongue, []document) []document {
	return func(g *tongue, docs []document) []document {
		g.eachCall(docs, func(c callParts) {
			if name, ok := c.name["name"].(string); ok {
				c.name["name"] = f(name)
			}
		})
		return docs
	}
}

// added puts documents in front of the others, or between the first and the
// second, by the dialect.
func added(at int, docs map[string]string) func(*tongue, []document) []document {
	return func(g *tongue, list []document) []document {
		if docs[g.name] == "" {
			return list
		}
		return slices.Insert(list, min(at, len(list)), g.parse(docs[g.name])...)
	}
}

// plainly is a habit that the mock model has anyway.
const plainly = "# nothing to say"

// framing are habits of HTTP and of the framing of events.
func framing() []habit {
	noMark := lacks("[DONE]", "responses", "messages", "gemini")
	return []habit{
		{name: "a stream", mock: plainly},
		{name: "a whole reply", whole: true, mock: plainly},
		{name: "BOM before a stream", body: func(_ *tongue, b []byte) []byte { return append([]byte("\ufeff"), b...) }, mock: "fault: {kind: bom}"},
		{name: "BOM before JSON", whole: true, body: func(_ *tongue, b []byte) []byte { return append([]byte("\ufeff"), b...) }, mock: "fault: {kind: bom}"},
		{name: "CRLF line ends", body: replaced("\n", "\r\n"), mock: "fault: {kind: crlf}"},
		{name: "CR line ends", body: replaced("\n", "\r"), mock: "fault: {kind: cr}"},
		{name: "mixed line ends", body: func(_ *tongue, b []byte) []byte {
			return bytes.Replace(bytes.Replace(b, []byte("\n\n"), []byte("\r\n\r\n"), 1), []byte("\n\n"), []byte("\r\r"), 1)
		}},
		{name: "data over several lines", body: onLines(func(line string) string {
			if !strings.HasPrefix(line, "data: {") {
				return line
			}
			var b bytes.Buffer
			_ = json.Indent(&b, []byte(strings.TrimPrefix(line, "data: ")), "", " ") // it is JSON
			return "data: " + strings.ReplaceAll(b.String(), "\n", "\ndata: ")
		}), mock: "fault: {kind: multi_line_data}"},
		{name: "no space after the colon", body: replaced("data: ", "data:"), mock: "fault: {kind: no_space}"},
		{name: "comments between events", body: replaced("\n\n", "\n\n: keep-alive\n\n"), mock: "fault: {kind: comments}"},
		{name: "id and retry fields", body: onLines(func(line string) string {
			if strings.HasPrefix(line, "data:") {
				return "id: 7\nretry: 3000\n" + line
			}
			return line
		})},
		{name: "empty lines at first", body: func(_ *tongue, b []byte) []byte { return append([]byte("\n\n\n"), b...) }},
		{name: "an event named ping", body: func(_ *tongue, b []byte) []byte {
			return append([]byte("event: ping\ndata: {\"type\": \"ping\"}\n\n"), b...)
		}},
		{name: "empty data", body: replaced("\n\n", "\n\ndata:\n\n")},
		{name: "data null", body: replaced("\n\n", "\n\ndata: null\n\n")},
		{name: "a last event that is not ended", body: func(_ *tongue, b []byte) []byte { return bytes.TrimRight(b, "\n") }, mock: "fault: {kind: unended_event}", mockIn: []string{"chat"}},
		{name: "the other end mark", body: func(g *tongue, b []byte) []byte {
			if g.mark != "" {
				return bytes.Replace(b, []byte("data: "+g.mark+"\n\n"), nil, 1)
			}
			return append(b, "data: [DONE]\n\n"...)
		}, mock: "fault: {kind: missing_done}", mockIn: []string{"chat"}},
		{name: "chunks behind the end mark", lacks: noMark, body: func(_ *tongue, b []byte) []byte {
			return append(b, `data: {"choices":[{"index":0,"delta":{"content":" not that"}}]}`+"\n\n"...)
		}},
		{name: "white space around the end mark", lacks: noMark, body: replaced("[DONE]", " [DONE] ")},
		{name: "gzip without a label, stream", body: func(_ *tongue, b []byte) []byte { return gzipped(b) }, mock: "fault: {kind: gzip, form: unsaid}"},
		{name: "gzip without a label, whole", whole: true, body: func(_ *tongue, b []byte) []byte { return gzipped(b) }, mock: "fault: {kind: gzip, form: unsaid}"},
		{name: "gzip that was not asked for", whole: true, body: func(_ *tongue, b []byte) []byte { return gzipped(b) }, answer: func(_ *tongue, a *answer) { a.header = "Content-Encoding: gzip\r\n" }, mock: "fault: {kind: gzip}"},
		{name: "JSON that calls itself a stream", whole: true, crossed: true, answer: kind("text/event-stream"), mock: "fault: {kind: json_for_stream}"},
		{name: "a stream that calls itself JSON", answer: kind("application/json"), mock: "fault: {kind: wrong_content_type}"},
		{name: "a stream as plain text", answer: kind("text/plain")},
		{name: "JSON as HTML", whole: true, answer: kind("text/html"), mock: "fault: {kind: wrong_content_type, form: other}"},
		{name: "no content type", answer: kind("")},
		{name: "a whole reply where a stream was asked for", whole: true, crossed: true, mock: "fault: {kind: json_for_stream}"},
		{name: "a stream where none was asked for", crossed: true, mock: "fault: {kind: sse_for_plain}"},
		{name: "indented JSON", whole: true, body: func(_ *tongue, b []byte) []byte {
			var out bytes.Buffer
			_ = json.Indent(&out, b, "", "    ") // it is JSON
			return append(out.Bytes(), "\n\n\n"...)
		}},
		{name: "white space before JSON", whole: true, body: func(_ *tongue, b []byte) []byte { return append([]byte("\n\n    \n"), b...) }},
		{name: "letters as escapes", body: replaced(`"note"`, `"\u006eot\u0065"`)},
		{name: "a byte at a time", answer: func(_ *tongue, a *answer) { a.pieces = true }, mockModel: "fragments: {writes: 3}"},
	}
}

// attempts are answers that come to nothing, ahead of a good one.
func attempts() []habit {
	half := func(_ *tongue, a answer) answer {
		a.longer, a.body = 500, a.body[:len(a.body)*2/3]
		return a
	}
	status := func(header string) habit {
		return habit{before: refused(http.StatusTooManyRequests, header, overloaded), mock: "fault: {kind: rate_limit}"}
	}
	named := func(name string, h habit) habit { h.name = name; return h }
	return []habit{
		{name: "a stream that is cut, then again", before: half, mock: "fault: {kind: cut}"},
		{name: "JSON that is cut, then again", whole: true, before: half, mock: "fault: {kind: cut}"},
		{name: "a stream that ends early in order, then again", before: func(g *tongue, a answer) answer {
			blocks := bytes.SplitAfter(a.body, []byte("\n\n"))
			if g.mark != "" {
				blocks = blocks[:len(blocks)-2]
			}
			n := map[string]int{"chat": 6, "responses": 7, "messages": 6, "gemini": 1}[g.name]
			a.body = bytes.Join(blocks[:n], nil)
			return a
		}, mock: "fault: {kind: truncated}"},
		{name: "a connection that breaks behind the end", answer: func(_ *tongue, a *answer) { a.longer = 50 }},
		{name: "an error in the stream, then again", before: func(g *tongue, a answer) answer {
			blocks := bytes.SplitAfter(a.body, []byte("\n\n"))
			a.body = append(bytes.Join(blocks[:len(blocks)/2], nil), "data: "+overloaded+"\n\n"...)
			return a
		}, mock: "fault: {kind: in_stream_error}"},
		{name: "an empty body, then again", whole: true, before: func(_ *tongue, a answer) answer { a.body = nil; return a }, mock: "fault: {kind: empty_body}"},
		{name: "an HTML page, then again", whole: true, before: func(_ *tongue, a answer) answer {
			return answer{status: http.StatusBadGateway, kind: "text/html", body: []byte("<html><title>Bad gateway</title></html>")}
		}, mock: "fault: {kind: html_page}"},
		named("Retry-After: -5", status("Retry-After: -5\r\n")),
		named("Retry-After: NaN", status("Retry-After: NaN\r\n")),
		named("Retry-After: 1e300", status("Retry-After: 1e300\r\n")),
		named("Retry-After as a date", status("Retry-After: Fri, 02 Jan 2026 03:04:05 GMT\r\n")),
	}
}

// onlyChat names a field that chat alone has.
func onlyChat(field string) map[string]string {
	return lacks(field, "responses", "messages", "gemini")
}

// membersOfCalls are habits of the members of a call.
func membersOfCalls() []habit {
	noCallIndex := lacks("index of a call", "gemini")
	noPieces := lacks("pieces of a call", "gemini")
	return []habit{
		{name: "ids that are numbers", docs: ids(func(id string) any { return int(id[len(id)-1]) }), mockModel: "habits: {ids: number}"},
		{name: "ids that are empty", whole: true, lacks: lacks("an id of the client's own", "messages"), docs: ids(func(string) any { return "" }), mock: "fault: {kind: missing_id, form: empty}", mockIn: []string{"chat"}},
		{name: "ids that are not there", whole: true, lacks: lacks("an id of the client's own", "messages"), docs: ids(func(string) any { return nil }), mock: "fault: {kind: missing_id, form: absent}", mockIn: []string{"chat"}},
		{name: "ids that repeat", docs: ids(func(string) any { return "same" }), mock: "fault: {kind: duplicate_ids}", mockIn: []string{"chat"}},
		{name: "ids that come late", lacks: lacks("pieces of a call that name it", "messages", "gemini"), docs: lateMember(func(g *tongue, c callParts) (tree, string) { return c.id, g.id }), mockModel: "fragments: {id: late}", mockIn: []string{"chat"}},
		{name: "names that come late", lacks: lacks("pieces of a call that name it", "messages", "gemini"), docs: lateMember(func(_ *tongue, c callParts) (tree, string) { return c.name, "name" }), mockModel: "fragments: {name: late}", mockIn: []string{"chat"}},
		{name: "names in pieces", lacks: onlyChat("pieces of a name"), docs: splitNames, mockModel: "fragments: {name: split}", mockIn: []string{"chat"}},
		{name: "white space around names", docs: names(func(s string) any { return " " + s + "\n" }), mockModel: "habits: {names: padded}"},
		{name: "arguments of the other type", docs: func(g *tongue, docs []document) []document {
			g.eachCall(docs, func(c callParts) {
				switch v := c.arguments[g.arguments].(type) {
				case string:
					if o, err := decoded([]byte(v)); err == nil {
						c.arguments[g.arguments] = o
					}
				case tree:
					if len(v) > 0 {
						c.arguments[g.arguments] = string(encoded(v))
					}
				}
			})
			return docs
		}, whole: true, mockModel: "fragments: {args: object}", mockIn: []string{"chat"}},
		{name: "arguments in one piece", lacks: noPieces, docs: wholeCalls, mockModel: "fragments: {args: whole}", mockIn: []string{"chat"}},
		{name: "index not there", lacks: lacks("a way to tell without it", "messages"), docs: func(g *tongue, docs []document) []document { dropMember(docs, g.index); return docs }, mockModel: "fragments: {index: missing}", mockIn: []string{"chat"}},
		{name: "index always 0", lacks: noCallIndex, docs: indexes(func(any) any { return 0 }), mockModel: "fragments: {index: zero}", mockIn: []string{"chat"}},
		{name: "index as a text", docs: indexes(func(v any) any { return text(v) }), mock: "fault: {kind: odd_types, form: index_string}", mockIn: []string{"chat"}},
		{name: "index as a float", docs: indexes(func(v any) any { return json.Number(text(v) + ".0") })},
		{name: "calls in one document", lacks: lacks("a list of calls in an event", "responses", "messages"), docs: joinCalls, mockModel: "fragments: {together: true}", mockIn: []string{"chat"}},
		{name: "calls that alternate", lacks: noPieces, docs: interleave, mockModel: "fragments: {interleave: true}", mockIn: []string{"chat"}},
	}
}

// membersOfReplies are habits of what a reply says beside.
func membersOfReplies() []habit {
	return []habit{
		{name: "usage as a text", docs: odd(usageOf, "many")},
		{name: "usage as a list", docs: odd(usageOf, []any{1, 2})},
		{name: "usage with floats", docs: numbers(func(v json.Number) any { return json.Number(v.String() + ".5") })},
		{name: "usage with texts", docs: numbers(func(v json.Number) any { return v.String() })},
		{name: "usage that is huge", docs: numbers(func(json.Number) any { return json.Number("1e300") }), mock: "fault: {kind: usage, form: huge}"},
		{name: "usage with a number for details", docs: func(g *tongue, docs []document) []document {
			eachMember(docs, g.usage, func(v any) any {
				if o, ok := v.(tree); ok {
					for _, key := range []string{"prompt_tokens_details", "completion_tokens_details", "input_tokens_details", "output_tokens_details", "promptTokensDetails", "cache_creation"} {
						o[key] = 3
					}
				}
				return v
			})
			return docs
		}},
		{name: "no usage", docs: odd(usageOf, nil), mock: "fault: {kind: usage, form: absent}"},
		{name: "model as a number", docs: odd(modelOf, 5)},
		{name: "model as an object", docs: odd(modelOf, tree{"name": "m"})},
		{name: "another model", docs: odd(modelOf, "other"), mock: "fault: {kind: wrong_model}"},
		{name: "a reason of another kind", docs: odd(finishOf, "eos")},
		{name: "a reason of another type", docs: odd(finishOf, 7)},
		{name: "stop in place of calls", lacks: lacks("a reason for calls", "responses", "gemini"), docs: func(g *tongue, docs []document) []document {
			return odd(finishOf, map[string]string{"chat": "stop", "messages": "end_turn"}[g.name])(g, docs)
		}, mock: "fault: {kind: finish_stop}", mockIn: []string{"chat"}},
	}
}

// membersOfDocuments are habits of the documents around a reply.
func membersOfDocuments() []habit {
	n := 0
	return []habit{
		{name: "unknown members", docs: func(_ *tongue, docs []document) []document {
			for _, d := range docs {
				walk(d.data, func(o tree) {
					if _, isArgs := o["text"]; len(o) > 0 && (!isArgs || o["type"] != nil) {
						o["x_vendor"] = nil
					}
				})
			}
			return docs
		}},
		{name: "refusal of another type", lacks: lacks("refusal", "responses", "messages", "gemini"), docs: func(_ *tongue, docs []document) []document {
			eachMember(docs, "refusal", func(any) any { return tree{} })
			return docs
		}},
		{name: "times of another type", lacks: lacks("a time", "messages", "gemini"), docs: func(_ *tongue, docs []document) []document {
			eachMember(docs, "created", func(any) any { return "now" })
			eachMember(docs, "created_at", func(any) any { return json.Number("1.5") })
			return docs
		}},
		{name: "reasoning beside", docs: added(1, map[string]string{
			"chat":      `{"choices":[{"index":0,"delta":{"reasoning_content":"Hm."}}]}`,
			"responses": `response.output_item.done {"type":"response.output_item.done","output_index":9,"item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"Hm."}]}}`,
			"messages": `content_block_start {"type":"content_block_start","index":9,"content_block":{"type":"thinking","thinking":"","signature":""}}
				content_block_delta {"type":"content_block_delta","index":9,"delta":{"type":"thinking_delta","thinking":"Hm."}}`,
			"gemini": `{"candidates":[{"content":{"parts":[{"text":"Hm.","thought":true}]}}]}`,
		})},
		{name: "an answer beside", lacks: lacks("more than one answer", "responses", "messages"), docs: added(1, map[string]string{
			"chat":   `{"choices":[{"index":1,"delta":{"content":"not that"}}]}`,
			"gemini": `{"candidates":[{"index":1,"content":{"parts":[{"text":"not that"}]}}]}`,
		})},
		{name: "a document that tells nothing", docs: added(0, map[string]string{
			"chat":      `{"id":"","choices":[],"prompt_filter_results":[]}`,
			"responses": `response.queued {"type":"response.queued","response":{"id":"resp_1","status":"queued","output":[]}}`,
			"messages":  `ping {"type":"ping"}`,
			"gemini":    `{"usageMetadata":{"promptTokenCount":5},"modelVersion":"m"}`,
		}), mock: "fault: {kind: preflight_chunk}", mockIn: []string{"chat"}},
		{name: "error: null beside", docs: func(_ *tongue, docs []document) []document {
			for _, d := range docs {
				d.data["error"] = nil
			}
			return docs
		}},
		{name: "the name of the event alone", lacks: lacks("named events", "chat", "gemini"), docs: func(_ *tongue, docs []document) []document {
			for _, d := range docs {
				delete(d.data, "type")
			}
			return docs
		}},
		{name: "no name of the event", lacks: lacks("named events", "chat", "gemini"), docs: func(_ *tongue, docs []document) []document {
			for i := range docs {
				docs[i].name = ""
			}
			return docs
		}},
		{name: "an id of its own in each event", lacks: lacks("items with ids", "messages"), docs: func(g *tongue, docs []document) []document {
			name := map[string]string{"chat": "id", "responses": "item_id", "gemini": "responseId"}[g.name]
			for _, d := range docs {
				if _, ok := d.data[name]; ok {
					n++
					d.data[name] = "id_" + text(n)
				}
			}
			return docs
		}, mock: "fault: {kind: new_ids}", mockIn: []string{"chat"}},
		{name: "a list in place of events", lacks: lacks("lists of documents", "chat", "responses", "messages"), body: onStream(func(docs []string) string {
			return "[" + strings.Join(docs, ",\r\n") + "]"
		}), answer: kind("application/json")},
		{name: "members in snake case", lacks: lacks("members in camel case", "chat", "responses", "messages"), body: func(_ *tongue, b []byte) []byte {
			return camel.ReplaceAllFunc(b, func(m []byte) []byte { return append([]byte{m[0], '_'}, bytes.ToLower(m[1:])...) })
		}},
		{name: "no output at the end", lacks: lacks("the output once more", "chat", "messages", "gemini"), docs: func(_ *tongue, docs []document) []document {
			for _, d := range docs {
				if r, ok := d.data["response"].(tree); ok {
					r["output"] = []any{}
				}
			}
			return docs
		}},
		{name: "an empty function_call beside", lacks: onlyChat("function_call"), docs: func(_ *tongue, docs []document) []document {
			for _, d := range docs {
				for _, m := range members(d.data, "choices", "delta") {
					m["function_call"] = tree{"name": "", "arguments": ""}
				}
			}
			return docs
		}, mockModel: "habits: {function_call: empty}"},
	}
}
