// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"bytes"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

// This file has the tools with which faults change frames.

// says reports whether a frame holds a piece of what the model says.
func says(f *dialect.Frame) bool {
	switch f.Kind {
	case dialect.KindText, dialect.KindReasoning, dialect.KindRefusal, dialect.KindCallStart, dialect.KindCallArgs:
		return true
	}
	return false
}

// strike returns the frames before and after the place where a fault strikes.
// A frame that the place is in is cut in two. Without a place it is in the
// middle of what is said; inside a frame when within is true, else before one.
func strike(frames []dialect.Frame, at fault.At, within bool) (before, after []dialect.Frame) {
	switch {
	case at.Byte != 0:
		n := 0
		for _, f := range frames {
			n += len(f.Data)
		}
		return cutBytes(frames, fault.Index(at.Byte, n))
	case at.Token != 0:
		n := 0
		for _, f := range frames {
			n += f.Tokens
		}
		left := fault.Index(at.Token, n)
		for i, f := range frames {
			if left -= f.Tokens; left < 0 {
				return slices.Clone(frames[:i]), slices.Clone(frames[i:])
			}
		}
		return slices.Clone(frames), nil
	case at.Chunk != 0:
		i := fault.Index(at.Chunk, len(frames))
		return slices.Clone(frames[:i]), slices.Clone(frames[i:])
	}
	i := middle(frames)
	if !within && len(frames) > 1 {
		return slices.Clone(frames[:i]), slices.Clone(frames[i:])
	}
	n := 0
	for _, f := range frames[:i] {
		n += len(f.Data)
	}
	if i < len(frames) {
		n += len(frames[i].Data) / 2
	}
	return cutBytes(frames, n)
}

// middle is the place of the frame in the middle of what is said.
func middle(frames []dialect.Frame) int {
	var said []int
	for i := range frames {
		if says(&frames[i]) {
			said = append(said, i)
		}
	}
	if len(said) == 0 {
		return len(frames) / 2
	}
	return said[len(said)/2]
}

// cutBytes cuts frames before byte n, from 0.
func cutBytes(frames []dialect.Frame, n int) (before, after []dialect.Frame) {
	for i, f := range frames {
		if n > len(f.Data) {
			n -= len(f.Data)
			continue
		}
		before, after = slices.Clone(frames[:i]), slices.Clone(frames[i+1:])
		head, tail := f, f
		head.Data, tail.Data = f.Data[:n:n], f.Data[n:]
		tail.Delay, tail.Tokens = 0, 0
		if len(head.Data) > 0 {
			before = append(before, head)
		}
		if len(tail.Data) > 0 {
			after = slices.Insert(after, 0, tail)
		}
		return before, after
	}
	return slices.Clone(frames), nil
}

// withoutKinds returns the frames that are not of the given kinds.
func withoutKinds(frames []dialect.Frame, kinds ...dialect.Kind) []dialect.Frame {
	return slices.DeleteFunc(slices.Clone(frames), func(f dialect.Frame) bool { return slices.Contains(kinds, f.Kind) })
}

// onlyKinds returns the frames that are of the given kinds.
func onlyKinds(frames []dialect.Frame, kinds ...dialect.Kind) []dialect.Frame {
	return slices.DeleteFunc(slices.Clone(frames), func(f dialect.Frame) bool { return !slices.Contains(kinds, f.Kind) })
}

// ends makes the body end after before in the way that then says. What would
// have come after is kept: its length may have been announced.
func ends(b *dialect.Body, before, after []dialect.Frame, then dialect.Then) {
	if len(before) == 0 {
		before = []dialect.Frame{{Kind: dialect.KindFault}}
	}
	before[len(before)-1].Then = then
	if then == dialect.ThenEnd {
		after = nil
	}
	b.Frames, b.Part = append(before, after...), true
}

// payload finds the JSON of a frame: an event's data, the whole document, or an
// item of a list that comes item by item. ok is false when it has none. Lines end
// with LF or, of Gemini, with CR LF.
func payload(data []byte) (start, end int, ok bool) {
	const field = "data: "
	if i := bytes.Index(data, []byte(field)); i == 0 || i > 0 && data[i-1] == '\n' {
		start = i + len(field)
		if n := bytes.IndexByte(data[start:], '\n'); n >= 0 {
			end = start + n
		} else {
			end = len(data)
		}
		end = start + len(bytes.TrimRight(data[start:end], "\r"))
	} else {
		start = len(data) - len(bytes.TrimLeft(data, "[,\r\n"))
		end = len(bytes.TrimRight(data, "]\r\n"))
	}
	return start, end, end > start && data[start] == '{'
}

// lineEnds ends all lines with the given bytes, however they ended.
func lineEnds(data []byte, end string) []byte {
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	return bytes.ReplaceAll(data, []byte("\n"), []byte(end))
}

// rewrite replaces the JSON of a frame.
func rewrite(f *dialect.Frame, change func(doc []byte) []byte) bool {
	start, end, ok := payload(f.Data)
	if ok {
		f.Data = slices.Concat(f.Data[:start], change(f.Data[start:end]), f.Data[end:])
	}
	return ok
}

// edit changes the members that path leads to in every frame; * stands for
// each item of a list. change gets what is there, null when nothing is, and
// says whether the member is to be there.
func edit(b *dialect.Body, path []string, change func(v value.Value) (value.Value, bool)) {
	for i := range b.Frames {
		rewrite(&b.Frames[i], func(doc []byte) []byte {
			v, err := value.Parse(doc)
			if err != nil {
				return doc
			}
			return editValue(v, path, change).Append(nil)
		})
	}
}

func editValue(v value.Value, path []string, change func(v value.Value) (value.Value, bool)) value.Value {
	if len(path) == 0 {
		v, _ = change(v)
		return v
	}
	if path[0] == "*" {
		var items []value.Value
		for _, item := range v.Items() {
			items = append(items, editValue(item, path[1:], change))
		}
		if v.Kind() != value.Array {
			return v
		}
		return value.ArrayOf(items...)
	}
	if v.Kind() != value.Object {
		return v
	}
	members := slices.Clone(v.Members())
	i := slices.IndexFunc(members, func(m value.Member) bool { return m.Key == path[0] })
	switch {
	case len(path) > 1 && i >= 0:
		members[i].Value = editValue(members[i].Value, path[1:], change)
	case len(path) > 1:
	default:
		var old value.Value
		if i >= 0 {
			old = members[i].Value
		}
		changed, keep := change(old)
		switch {
		case keep && i >= 0:
			members[i].Value = changed
		case keep:
			members = append(members, value.Member{Key: path[0], Value: changed})
		case i >= 0:
			members = slices.Delete(members, i, i+1)
		}
	}
	return value.ObjectOf(members...)
}

// set is a change to a value.
func set(to value.Value) func(value.Value) (value.Value, bool) {
	return func(value.Value) (value.Value, bool) { return to, true }
}

// drop is a change to nothing.
func drop(value.Value) (value.Value, bool) { return value.Value{}, false }
