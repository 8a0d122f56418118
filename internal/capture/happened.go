// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package capture

import (
	"cmp"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/yamledit"
	"github.com/rehearse-dev/rehearse/internal/yamlnode"
)

// Happened says how an expectation that failed is written so that it expects what
// happened: its value, or a part of it, what is to stand there, and, if that says
// it in another way, which. The error says why there is no such thing. v is the
// verdict, was the value of the expectation.
func Happened(v *trials.Verdict, was *yaml.Node, rec *trials.Record, detail *trials.Detail) (part *yaml.Node, with any, note string, err error) {
	if v.Check == "answer" {
		text, err := answerOf(v.Turn, detail)
		if err != nil {
			return nil, nil, "", err
		}
		part, with, note = textNow(was, text)
		return part, with, note, nil
	}
	if part, with, err = valueNow(v, was, rec, detail); err != nil {
		return nil, nil, "", err
	}
	if text, ok := with.(string); ok {
		with = yamlnode.Text(text)
	}
	return part, with, "", nil
}

// valueNow is [Happened] for all other checks.
func valueNow(v *trials.Verdict, was *yaml.Node, rec *trials.Record, detail *trials.Detail) (part *yaml.Node, with any, err error) {
	switch v.Check {
	case "calls":
		return madeCalls(v, was, rec)
	case "state":
		if detail.Played == nil || len(detail.Played.States) == 0 {
			return nil, nil, errors.New("the states of the servers are not known")
		}
		states := detail.Played.States
		now, err := json.Marshal(states[min(cmp.Or(v.Turn, len(states)), len(states))-1])
		if err != nil {
			return nil, nil, err
		}
		with, err := named(was, now)
		return was, with, err
	case "files":
		with, err := filesNow(v, was, detail)
		return was, with, err
	case "stops":
		if t := detail.Transcript; t != nil && v.Turn > 0 && v.Turn <= len(t.Turns) && t.Turns[v.Turn-1].Stop != "" {
			return was, string(t.Turns[v.Turn-1].Stop), nil
		}
		return nil, nil, errors.New("the turn has an answer: take the expectation out, and expect that")
	case "that":
		that, err := resultNow(was.Value, rec)
		return was, that, err
	}
	return nil, nil, errors.New("no new expectation follows from what happened: write it yourself")
}

// answerOf is the answer of a turn, or the last one: what the subject reports, or
// where it reports nothing what the model said last.
func answerOf(turn int, detail *trials.Detail) (string, error) {
	text := ""
	if t := detail.Transcript; t != nil {
		for n, r := range t.Turns {
			if turn == 0 || n+1 == turn {
				text = r.Answer
			}
		}
	} else {
		for _, x := range detail.Exchanges {
			if x.Lane == "" && x.Reply > 0 && x.Delivered && (turn == 0 || x.Turn == turn) && len(x.Answer.Calls) == 0 {
				text = x.Answer.Text
			}
		}
	}
	if text == "" {
		return "", errors.New("there is no answer")
	}
	return text, nil
}

// madeCalls are the calls that were made, as a list of expected calls: those that
// fit stay as they are written.
func madeCalls(v *trials.Verdict, was *yaml.Node, rec *trials.Record) (part *yaml.Node, with any, err error) {
	list, settings := was, (*yaml.Node)(nil)
	if was.Kind == yaml.MappingNode {
		list, settings = yamledit.Get(was, "list"), was
	}
	if v.Alignment == nil || list == nil || list.Kind != yaml.SequenceNode {
		return nil, nil, errors.New("the calls that were made are not known")
	}
	says := func(key, text string) bool {
		n := yamledit.Get(settings, key)
		return n != nil && n.Value == text
	}
	type made struct {
		call int
		node *yaml.Node
	}
	var rows []made
	for _, row := range v.Alignment.Rows {
		item := itemAt(list, row.Pos)
		var call *harness.Call
		if row.Call >= 0 && row.Call < len(rec.Trajectory) {
			call = &rec.Trajectory[row.Call]
		}
		switch row.Status {
		case trials.AlignMissing:
			if !says("missing", "allow") {
				continue
			}
		case trials.AlignExtra:
			if says("extra", "allow") {
				continue
			}
			if item, err = callNode(call); err != nil {
				return nil, nil, err
			}
		case trials.AlignMismatched:
			if item, err = corrected(item, call, row.Mismatches, says("arguments", "exact")); err != nil {
				return nil, nil, err
			}
		case trials.AlignMatched, trials.AlignOutOfOrder, trials.AlignForbidden:
		}
		if item == nil {
			return nil, nil, errors.New("the list of calls has entries that are not written here")
		}
		rows = append(rows, made{row.Call, item})
	}
	if len(rows) == 0 && says("extra", "allow") {
		return nil, nil, errors.New("none of the calls was made, and no calls with extra: allow would hold whatever happens: take the expectation out, or say with never what must not be called")
	}
	if !says("order", "any_order") {
		slices.SortStableFunc(rows, func(a, b made) int { return cmp.Compare(a.call, b.call) })
	}
	out := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: list.Style}
	for _, r := range rows {
		out.Content = append(out.Content, r.node)
	}
	return list, out, nil
}

// itemAt is the item of a list that stands at a place.
func itemAt(list *yaml.Node, pos harness.Position) *yaml.Node {
	for _, n := range list.Content {
		if n.Line == pos.Line && n.Column == pos.Col {
			return n
		}
	}
	return nil
}

// callNode is an expected call, with all of its arguments.
func callNode(call *harness.Call) (*yaml.Node, error) {
	if call == nil || call.Args == nil {
		return nil, errors.New("a call was made whose arguments are not JSON")
	}
	args, err := Arguments(string(call.Args))
	if err != nil {
		return nil, err
	}
	return yamlnode.Of(map[string]any{call.Name(): args}), nil
}

// corrected is an expected call with the arguments that were made, of those that
// it names.
func corrected(item *yaml.Node, call *harness.Call, wrong []trials.Mismatch, exact bool) (*yaml.Node, error) {
	whole, err := callNode(call)
	if err != nil || item == nil {
		return whole, err
	}
	noted(whole, item)
	if item.Kind != yaml.MappingNode || len(item.Content) != 2 {
		return whole, nil
	}
	args := item.Content[1]
	noted(whole.Content[0], item.Content[0])
	noted(whole.Content[1], args)
	var now map[string]json.RawMessage
	if json.Unmarshal(call.Args, &now) != nil || args.Kind != yaml.MappingNode || len(args.Content) == 2 && strings.HasPrefix(args.Content[0].Value, "$") {
		return whole, nil
	}
	out := *args
	out.Content = nil
	named := map[string]bool{}
	for i := 0; i+1 < len(args.Content); i += 2 {
		name, value := args.Content[i], args.Content[i+1]
		named[name.Value] = true
		if slices.ContainsFunc(wrong, func(m trials.Mismatch) bool { return strings.Contains(m.Path, name.Value) }) {
			raw, ok := now[name.Value]
			if !ok {
				continue
			}
			old := value
			if value, err = jsonNode(raw); err != nil {
				return nil, err
			}
			noted(value, old)
		}
		out.Content = append(out.Content, name, value)
	}
	if exact {
		for i := 0; i+1 < len(whole.Content[1].Content); i += 2 {
			if name := whole.Content[1].Content[i]; !named[name.Value] {
				out.Content = append(out.Content, name, whole.Content[1].Content[i+1])
			}
		}
	}
	call2 := *item
	call2.Content = []*yaml.Node{item.Content[0], &out}
	return &call2, nil
}

// jsonNode is JSON as a value that is compared.
func jsonNode(raw json.RawMessage) (*yaml.Node, error) {
	v, err := given(raw)
	if err != nil {
		return nil, err
	}
	return yamlnode.Of(v), nil
}

// named is a map of expected values with those that are there now: the keys that
// it names, at any depth.
func named(was *yaml.Node, now json.RawMessage) (*yaml.Node, error) {
	var members map[string]json.RawMessage
	if was.Kind != yaml.MappingNode || json.Unmarshal(now, &members) != nil || members == nil || len(was.Content) == 2 && strings.HasPrefix(was.Content[0].Value, "$") {
		with, err := jsonNode(now)
		if err != nil {
			return nil, err
		}
		return noted(with, was), nil
	}
	out := *was
	out.Content = nil
	for i := 0; i+1 < len(was.Content); i += 2 {
		raw, ok := members[was.Content[i].Value]
		if !ok {
			continue
		}
		value, err := named(was.Content[i+1], raw)
		if err != nil {
			return nil, err
		}
		var before any
		if was.Content[i+1].Decode(&before) == nil {
			if text, err := json.Marshal(before); err == nil && equal(text, raw) {
				value = was.Content[i+1] // as it is written
			}
		}
		out.Content = append(out.Content, was.Content[i], value)
	}
	return &out, nil
}

// filesNow are the files that are expected, those that failed as they are now.
func filesNow(v *trials.Verdict, was *yaml.Node, detail *trials.Detail) (*yaml.Node, error) {
	if detail.Played == nil || len(detail.Played.Files) == 0 || was.Kind != yaml.MappingNode {
		return nil, errors.New("the files are not known")
	}
	kept := detail.Played.Files
	now := kept[min(cmp.Or(v.Turn, len(kept)), len(kept))-1]
	out := *was
	out.Content = nil
	for i := 0; i+1 < len(was.Content); i += 2 {
		name, value := was.Content[i], was.Content[i+1]
		file, known := now[name.Value]
		if known && slices.Contains(v.Files, name.Value) {
			switch {
			case file.Absent:
				value = noted(scalar("absent"), value)
			case value.Kind != yaml.MappingNode:
				value = noted(scalar("present"), value)
			default:
				wrong, can := wrongTexts(value, file.Text)
				if can && file.Text != "" {
					value = replaced(value, wrong, file.Text)
				} else {
					_, with, _ := textNow(value, file.Text)
					value = noted(with.(*yaml.Node), value)
				}
			}
		}
		out.Content = append(out.Content, name, value)
	}
	return &out, nil
}

// ofResult matches a condition that says what a result is, as those do that are
// captured.
var ofResult = regexp.MustCompile(`^(results\("([^"]+)"\)\[(\d+)\])(?: == |\.startsWith\(|\.size\(\) == )`)

// resultNow is the condition for what a result was now.
func resultNow(that string, rec *trials.Record) (string, error) {
	m := ofResult.FindStringSubmatch(that)
	if m == nil {
		return "", errors.New("a condition that says more than what a result is stays as it is")
	}
	n, err := strconv.Atoi(m[3])
	if err != nil {
		return "", err
	}
	for _, call := range rec.Trajectory {
		if call.Name() != m[2] || call.Result == nil {
			continue
		}
		if n == 0 {
			if out := conditionOf(m[1], call.Result); out != "" {
				return out, nil
			}
			return "", errors.New("the result cannot be told in a condition")
		}
		n--
	}
	return "", errors.New("there is no such call any more")
}
