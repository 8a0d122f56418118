// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import "slices"

// lateMember moves a member of a call from its first piece to its last. A
// response has it in the item that is over.
func lateMember(of func(*tongue, callParts) (tree, string)) func(*tongue, []document) []document {
	return func(g *tongue, docs []document) []document {
		if g.name == "responses" {
			for _, d := range docs {
				if d.name == "response.output_item.added" {
					for _, c := range g.call(d.data) {
						o, name := of(g, c)
						delete(o, name)
					}
				}
			}
			return docs
		}
		last := map[string]callParts{}
		g.eachCall(docs, func(c callParts) { last[text(c.id[g.index])] = c })
		g.eachCall(docs, func(c callParts) {
			o, name := of(g, c)
			if v, ok := o[name]; ok {
				delete(o, name)
				end, _ := of(g, last[text(c.id[g.index])])
				end[name] = v
			}
		})
		return docs
	}
}

// splitNames sends the first half of a name with the first piece, and the rest
// with the next.
func splitNames(g *tongue, docs []document) []document {
	rest := map[string]string{}
	var inserted []document
	for _, d := range docs {
		inserted = append(inserted, d)
		for _, c := range g.call(d.data) {
			name, ok := c.name["name"].(string)
			if !ok || rest[text(c.id[g.index])] != "" {
				continue
			}
			c.name["name"] = name[:2]
			rest[text(c.id[g.index])] = name[2:]
			more := parseTree(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":` + text(c.id[g.index]) + `,"function":{"name":"` + name[2:] + `"}}]}}]}`)
			inserted = append(inserted, document{data: more})
		}
	}
	return inserted
}

// wholeCalls sends each call in one piece.
func wholeCalls(g *tongue, docs []document) []document {
	switch g.name {
	case "chat":
		first := map[string]callParts{}
		return slices.DeleteFunc(docs, func(d document) bool {
			for _, c := range g.call(d.data) {
				at := text(c.id[g.index])
				f, ok := first[at]
				if !ok {
					first[at] = c
					continue
				}
				f.arguments[g.arguments] = text(f.arguments[g.arguments]) + text(c.arguments[g.arguments])
				return true
			}
			return false
		})
	case "responses":
		return slices.DeleteFunc(docs, func(d document) bool { return d.name == "response.function_call_arguments.delta" })
	}
	// The input stands in the start of the block.
	var start tree
	input := ""
	return slices.DeleteFunc(docs, func(d document) bool {
		for _, c := range g.call(d.data) {
			start, input = c.arguments, ""
		}
		delta, _ := d.data["delta"].(tree)
		part, isPart := delta["partial_json"]
		if input += text(part); isPart && start != nil {
			if v, err := decoded([]byte(input)); err == nil {
				start[g.arguments] = v
			}
		}
		return isPart
	})
}

// joinCalls puts the pieces of the second call into the documents of the
// first.
func joinCalls(g *tongue, docs []document) []document {
	var lists []func(item any) // that add to the list of calls of a document
	joined := 0
	return slices.DeleteFunc(docs, func(d document) bool {
		calls := g.call(d.data)
		if len(calls) != 1 {
			return false
		}
		if g.name == "gemini" {
			parts := members(d.data, "candidates", "content")[0]
			if lists == nil {
				lists = append(lists, func(item any) { parts["parts"] = append(parts["parts"].([]any), item) })
				return false
			}
			lists[0](parts["parts"].([]any)[0])
			parts["parts"] = []any{} // the document has the reason too
			return false
		}
		delta := members(d.data, "choices", "delta")[0]
		if text(calls[0].id[g.index]) == "0" {
			lists = append(lists, func(item any) { delta["tool_calls"] = append(delta["tool_calls"].([]any), item) })
			return false
		}
		lists[joined](delta["tool_calls"].([]any)[0])
		joined++
		return true
	})
}

// interleave sends the pieces of two calls in turns.
func interleave(g *tongue, docs []document) []document {
	of := func(d document) string {
		if g.name == "chat" {
			for _, c := range g.call(d.data) {
				return text(c.id[g.index])
			}
			return ""
		}
		return text(d.data[g.index])
	}
	var first, second []document
	at := -1
	rest := slices.DeleteFunc(docs, func(d document) bool {
		switch of(d) {
		case "0":
			first = append(first, d)
		case "1":
			second = append(second, d)
		default:
			if len(first) == 0 {
				at--
			}
			return false
		}
		return true
	})
	if len(second) == 0 { // a reply in text
		return slices.Insert(rest, -at-1, first...)
	}
	var turns []document
	for i := range first {
		turns = append(append(turns, first[i]), second[i])
	}
	return slices.Insert(rest, -at-1, turns...)
}
