// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

func onStyle(change func(s *dialect.Style)) effects {
	return effects{style: func(_ *exchange, s *dialect.Style) { change(s) }}
}

// framingEffects are those of how a stream is framed, and of the bytes of
// texts.
func (m *Mock) framingEffects(f *Fault, form string) (effects, bool) {
	switch f.Kind {
	case fault.MissingDone:
		return onBody(func(_ *exchange, b *dialect.Body) { b.Frames = withoutKinds(b.Frames, dialect.KindDone) })
	case fault.MissingFinish, fault.OpenEnd, fault.UnendedEvent:
		return endingEffects(f, form), true
	case fault.DuplicateChunk:
		return onBody(func(_ *exchange, b *dialect.Body) {
			before, after := strike(b.Frames, fault.At{Chunk: f.At.Chunk}, false)
			if len(after) > 0 {
				b.Frames = slices.Concat(before, after[:1], after)
			}
		})
	case fault.ReorderedChunks:
		return onBody(func(_ *exchange, b *dialect.Body) {
			before, after := strike(b.Frames, fault.At{Chunk: f.At.Chunk}, false)
			n := len(before)
			b.Frames = append(before, after...)
			if n == 0 || n < len(b.Frames)-1 && says(&b.Frames[n+1]) || !says(&b.Frames[n-1]) {
				n++
			}
			if n < len(b.Frames) {
				b.Frames[n-1], b.Frames[n] = b.Frames[n], b.Frames[n-1]
			}
		})
	case fault.Comments:
		return onBody(func(_ *exchange, b *dialect.Body) { comments(b, form, cmp.Or(f.Size, 400)) })
	case fault.CRLF:
		return everyFrame(func(data []byte) []byte { return lineEnds(data, "\r\n") })
	case fault.CR:
		return everyFrame(func(data []byte) []byte { return lineEnds(data, "\r") })
	case fault.MultiLineData:
		return everyFrame(spread)
	case fault.NoSpace:
		return everyFrame(func(data []byte) []byte { return bytes.Replace(data, []byte("data: "), []byte("data:"), 1) })
	case fault.BOM:
		return onBody(func(_ *exchange, b *dialect.Body) {
			b.Frames = slices.Concat([]dialect.Frame{{Data: []byte("\ufeff"), Kind: dialect.KindFault}}, b.Frames)
		})
	case fault.InvalidUTF8:
		return invalidText(form), true
	case fault.SplitUTF8:
		return onBody(func(_ *exchange, b *dialect.Body) {
			if form == "writes" {
				b.Writes = 1
				return
			}
			splitCharacter(b)
		})
	case fault.MalformedJSON:
		return onBody(func(_ *exchange, b *dialect.Body) {
			before, after := strike(b.Frames, fault.At{Chunk: f.At.Chunk}, false)
			if len(after) == 0 || !b.Stream {
				before, after = nil, slices.Clone(b.Frames)
			}
			malform(&after[0], form, b.Stream)
			b.Frames = append(before, after...)
		})
	}
	return effects{}, false
}

func everyFrame(change func(data []byte) []byte) (effects, bool) {
	return onBody(func(_ *exchange, b *dialect.Body) {
		b.Frames = slices.Clone(b.Frames)
		for i := range b.Frames {
			b.Frames[i].Data = change(b.Frames[i].Data)
		}
	})
}

// endingEffects are those of the last events of a stream.
func endingEffects(f *Fault, form string) effects {
	e := onStyle(func(s *dialect.Style) {
		switch {
		case f.Kind == fault.UnendedEvent:
			s.Usage, s.NoDone, s.Done = dialect.WhenNever, true, false
		case f.Kind == fault.OpenEnd:
			s.Finish, s.Fragments.Finish, s.Usage, s.NoDone, s.Done = dialect.FinishNever, "", dialect.WhenNever, true, false
		case form == "usage":
			s.Finish, s.Fragments.Finish, s.Usage = dialect.FinishNever, "", dialect.WhenAlways
		default:
			s.Finish, s.Fragments.Finish, s.Usage = dialect.FinishNever, "", dialect.WhenNever
		}
	})
	e.body = func(_ *exchange, b *dialect.Body) {
		if n := len(b.Frames); f.Kind == fault.UnendedEvent && n > 0 {
			b.Frames[n-1].Data = bytes.TrimRight(b.Frames[n-1].Data, "\r\n")
		}
	}
	return e
}

// comments puts lines that are no data before the first chunk and before the
// one in the middle.
func comments(b *dialect.Body, form string, n int) {
	var text string
	switch form {
	case "lines":
		text = strings.Repeat(": OPENROUTER PROCESSING\n", n)
	case "events":
		text = strings.Repeat(": OPENROUTER PROCESSING\n\n", n)
	case "data":
		text = "data: : keep-alive\n\n"
	default:
		b.Frames = slices.Clone(b.Frames)
		for i := range b.Frames {
			b.Frames[i].Data = slices.Concat([]byte("event: message\nid: 7\nretry: 3000\n"), b.Frames[i].Data)
		}
		return
	}
	line := []dialect.Frame{{Data: []byte(text), Kind: dialect.KindFault}}
	i := middle(b.Frames)
	b.Frames = slices.Concat(line, b.Frames[:i], line, b.Frames[i:])
}

// spread puts the JSON of an event over several data lines.
func spread(data []byte) []byte {
	start, end, ok := payload(data)
	if !ok {
		return data
	}
	var buf bytes.Buffer
	if json.Indent(&buf, data[start:end], "", " ") != nil {
		return data
	}
	return slices.Concat(data[:start], bytes.ReplaceAll(buf.Bytes(), []byte("\n"), []byte("\ndata: ")), data[end:])
}

// mark is a character that no text has; it stands for bytes that no text can
// have until the text has been encoded.
const mark = "\U000fdead"

// invalidText breaks a character in the middle of the text.
func invalidText(form string) effects {
	broken := "\xc3\x28\xff"
	if form == "surrogate" {
		broken = `\ud83d`
	}
	return effects{
		reply: func(_ *exchange, r *dialect.Reply) {
			for i := range r.Choices {
				if text := r.Choices[i].Text; text != "" {
					n := len(text) / 2
					for !utf8.RuneStart(text[n]) {
						n--
					}
					r.Choices[i].Text = text[:n] + mark + text[n:]
				}
			}
		},
		body: func(_ *exchange, b *dialect.Body) {
			for i := range b.Frames {
				b.Frames[i].Data = bytes.ReplaceAll(b.Frames[i].Data, []byte(mark), []byte(broken))
			}
		},
	}
}

// splitCharacter splits the first character of several bytes over two chunks.
func splitCharacter(b *dialect.Body) {
	for i, f := range b.Frames {
		at := bytes.IndexFunc(f.Data, func(r rune) bool { return r >= utf8.RuneSelf })
		if at < 0 || !says(&f) {
			continue
		}
		open := bytes.LastIndexByte(f.Data[:at], '"') + 1
		closing := at + bytes.IndexByte(f.Data[at:], '"')
		first, second := f, f
		first.Data = slices.Concat(f.Data[:at+1], f.Data[closing:])
		second.Data = slices.Concat(f.Data[:open], f.Data[at+1:])
		b.Frames = slices.Concat(b.Frames[:i], []dialect.Frame{first, second}, b.Frames[i+1:])
		return
	}
}

// malform breaks the JSON of a frame.
func malform(f *dialect.Frame, form string, stream bool) {
	rewrite(f, func(doc []byte) []byte {
		switch form {
		case "garbage":
			return []byte("2026-01-01T00:00:00Z ERROR worker 7 out of memory")
		case "trailing":
			if stream {
				return append(bytes.Clone(doc), '}')
			}
			return append(bytes.Clone(doc), "\ndata: [DONE]\n"...)
		case "nan":
			return slices.Concat([]byte(`{"score":NaN,`), doc[1:])
		case "python":
			return python(doc)
		}
		return doc[:len(doc)/2]
	})
}

// python spells JSON as Python's repr does, as far as single quotes go.
func python(doc []byte) []byte {
	r := strings.NewReplacer(`\"`, `"`, `"`, `'`, "null", "None", "true", "True", "false", "False", ":", ": ", ",", ", ")
	return []byte(r.Replace(string(doc)))
}

// chunkEffects are those of the members of chunks.
func (m *Mock) chunkEffects(f *Fault, form string) (effects, bool) {
	switch f.Kind {
	case fault.OddTypes:
		e := effects{body: func(_ *exchange, b *dialect.Body) { oddTypes(b, form) }}
		if form == "usage_text" {
			e.style = func(_ *exchange, s *dialect.Style) { s.Usage = dialect.WhenAlways }
		}
		return e, true
	case fault.UsageChunk:
		return onStyle(func(s *dialect.Style) { s.Usage = dialect.WhenAlways }), true
	case fault.PreflightChunk:
		return onStyle(func(s *dialect.Style) {
			s.Preflight = []string{`{"id":"","object":"","created":0,"model":"","choices":[],"prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}}}]}`}
		}), true
	case fault.NewIDs:
		return onStyle(func(s *dialect.Style) { s.ChunkIDs = true }), true
	case fault.CreatedZero:
		e := onStyle(func(s *dialect.Style) { s.CreatedZero = true })
		e.reply = func(_ *exchange, r *dialect.Reply) { r.Created = 0 }
		return e, true
	}
	return effects{}, false
}

// oddTypes gives members another type than they should have.
func oddTypes(b *dialect.Body, form string) {
	message := "message"
	if b.Stream {
		message = "delta"
	}
	switch form {
	case "created_float":
		edit(b, []string{"created"}, set(value.NumberOf("1767225600.5")))
	case "index_string":
		edit(b, []string{"choices", "*", "index"}, set(value.StringOf("0")))
		edit(b, []string{"choices", "*", message, "tool_calls", "*", "index"}, func(v value.Value) (value.Value, bool) {
			return value.StringOf(cmp.Or(v.Num(), "0")), true
		})
	case "content_parts":
		edit(b, []string{"choices", "*", message, "content"}, func(v value.Value) (value.Value, bool) {
			if v.Str() == "" {
				return v, !v.IsNull()
			}
			return value.ArrayOf(value.ObjectOf(
				value.Member{Key: "type", Value: value.StringOf("text")}, value.Member{Key: "text", Value: v},
			)), true
		})
	case "finish_empty":
		edit(b, []string{"choices", "*", "finish_reason"}, func(v value.Value) (value.Value, bool) {
			if v.IsNull() {
				v = value.StringOf("")
			}
			return v, true
		})
	case "usage_text":
		for _, key := range []string{"prompt_tokens", "completion_tokens", "total_tokens"} {
			edit(b, []string{"usage", key}, func(v value.Value) (value.Value, bool) { return value.StringOf(v.Num()), true })
		}
	}
}
