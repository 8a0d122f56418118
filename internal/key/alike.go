// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package key

import (
	"slices"
	"strconv"

	"github.com/rehearse-dev/rehearse/internal/value"
)

// Equal calls of one reply are interchangeable: a client that runs them at the
// same time may have the result of either for either. So their results are
// sorted, each in a place and under an id that one of them had.

// alike notes which calls of a list are equal: those that stand beside each
// other, with one name and the same arguments.
func (c *canon) alike(items []value.Value) {
	var calls []value.Value // that stand beside each other
	var texts []string
	for i, item := range items {
		text := callText(item)
		if text != "" {
			calls, texts = append(calls, item), append(texts, text)
		}
		if len(calls) > 0 && (text == "" || i == len(items)-1) {
			c.noteAlike(calls, texts)
			calls, texts = nil, nil
		}
	}
}

func (c *canon) noteAlike(calls []value.Value, texts []string) {
	c.unnamed = nil
	first := map[string]int{}
	for i, call := range calls {
		text := texts[i]
		k, again := first[text]
		if !again {
			first[text], k = i, i
		}
		c.unnamed = append(c.unnamed, k)
		for n, id := range callIDs(call) {
			if of := callIDs(calls[k])[n]; id != "" && of != "" {
				c.alias[c.number(id)] = c.number(of) // in place of an earlier reply that had the same ids
			}
		}
	}
}

// sortAlike sorts the results of equal calls.
func (c *canon) sortAlike(items []value.Value) {
	for i := 0; i < len(items); {
		end := i
		for end < len(items) && isResult(items[end]) {
			end++
		}
		groups := map[string][]int{}
		for k := i; k < end; k++ {
			id := resultID(items[k])
			of, ok := c.alias[id]
			switch {
			case ok:
				groups[of] = append(groups[of], k)
			case id == "" && end-i == len(c.unnamed):
				of = "unnamed " + strconv.Itoa(c.unnamed[k-i])
				groups[of] = append(groups[of], k)
			}
		}
		for _, at := range groups {
			if len(at) < 2 {
				continue
			}
			var results []value.Value
			for _, k := range at {
				results = append(results, withID(items[k], ""))
			}
			slices.SortStableFunc(results, func(a, b value.Value) int { return slices.Compare(a.Append(nil), b.Append(nil)) })
			for n, k := range at {
				items[k] = withID(results[n], resultID(items[k]))
			}
		}
		i = max(end, i+1)
	}
}

// withID is a result under another id; one without an id stays as it is.
func withID(item value.Value, id string) value.Value {
	var out []value.Member
	for _, m := range item.Members() {
		switch {
		case m.Key == "tool_call_id" || m.Key == "tool_use_id" || m.Key == "call_id":
			m.Value = value.StringOf(id)
		case m.Key == "functionResponse" || m.Key == "function_response":
			var response []value.Member
			for _, r := range m.Value.Members() {
				if r.Key == "id" {
					r.Value = value.StringOf(id)
				}
				response = append(response, r)
			}
			m.Value = value.ObjectOf(response...)
		}
		out = append(out, m)
	}
	return value.ObjectOf(out...)
}

// inner is the call or the result that an item of Gemini's wraps, or the
// function of a call of OpenAI's; otherwise it is the item.
func inner(item value.Value) value.Value {
	for _, name := range []string{"function", "functionCall", "function_call", "functionResponse", "function_response"} {
		if v, ok := item.Get(name); ok && v.Kind() == value.Object {
			return v
		}
	}
	return item
}

// callText is the name and the arguments of a call; empty of anything else.
func callText(item value.Value) string {
	call := inner(item)
	name, ok := call.Get("name")
	if !ok || isResult(item) {
		return ""
	}
	for _, key := range []string{"arguments", "input", "args"} {
		args, ok := call.Get(key)
		if !ok {
			continue
		}
		if v, err := value.Parse([]byte(args.Str())); err == nil && args.Kind() == value.String {
			args = v
		}
		return string(value.ArrayOf(name, args).AppendCanonical(nil))
	}
	return ""
}

// isResult reports whether an item is the result of a call.
func isResult(item value.Value) bool {
	for _, name := range []string{"tool_call_id", "tool_use_id", "functionResponse", "function_response"} {
		if _, ok := item.Get(name); ok {
			return true
		}
	}
	_, ok := item.Get("call_id")
	_, output := item.Get("output")
	return ok && output
}

func resultID(item value.Value) string {
	for _, name := range []string{"tool_call_id", "tool_use_id", "call_id"} {
		if id, ok := item.Get(name); ok {
			return id.Str()
		}
	}
	id, _ := inner(item).Get("id")
	return id.Str()
}

// callIDs are the ids of a call, in one order.
func callIDs(item value.Value) []string {
	var ids []string
	for _, v := range []value.Value{item, inner(item)} {
		for _, name := range []string{"id", "call_id"} {
			id, _ := v.Get(name)
			ids = append(ids, id.Str())
		}
	}
	return ids
}
