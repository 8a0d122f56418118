// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/filepos"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// stepScript is a step before an answer.
type stepScript struct {
	// make computes the step; what reads nothing is made once, as fixed.
	make  func(v *expr.Vars) (mockmcp.Step, error)
	fixed mockmcp.Step
	asks  []string // the names of the answers that it asks for
	tells bool     // of progress
	pos   harness.Position
}

// steps compiles a list of steps.
func (l *loader) steps(list *strictyaml.Node) []stepScript {
	var out []stepScript
	named := map[string]harness.Position{}
	for _, n := range itemsOf(list) {
		s := l.step(n)
		if s.make == nil { // reported already
			continue
		}
		s.pos, s.tells = n.Pos, n.Get("progress") != nil
		for _, name := range s.asks {
			if first, twice := named[name]; twice {
				l.problems.add(n.Pos, "%q is already asked at %s: give one of the two another name with as", name, first)
			}
			named[name] = n.Pos
		}
		out = append(out, s)
	}
	return out
}

// computed is a step made of parts that may hold expressions. fixed says that
// none does.
func computed(fixed bool, make func(v *expr.Vars) (mockmcp.Step, error)) stepScript {
	s := stepScript{make: make}
	if fixed {
		if made, err := make(&expr.Vars{}); err == nil {
			s.fixed = made
		}
	}
	return s
}

func (l *loader) step(n *strictyaml.Node) stepScript {
	switch {
	case usable(n.Get("progress")):
		return l.progressStep(n.Get("progress"))
	case usable(n.Get("log")):
		return l.logStep(n.Get("log"))
	case usable(n.Get("notify")):
		p := n.Get("notify")
		method, times, every := textOf(p.Get("method")), intOf(p.Get("times")), durationOf(p.Get("every"))
		params := l.tree(p.Get("params"), expr.Tool)
		return computed(constant(params), func(v *expr.Vars) (mockmcp.Step, error) {
			raw, err := expand(params, v)
			return mockmcp.Notify{Method: method, Params: raw, Times: times, Every: every}, err
		})
	case usable(n.Get("wait")):
		d := durationOf(n.Get("wait"))
		return computed(true, func(*expr.Vars) (mockmcp.Step, error) { return mockmcp.Wait(d), nil })
	case usable(n.Get("close_stream")):
		retry := durationOf(n.Get("close_stream").Get("retry"))
		return computed(true, func(*expr.Vars) (mockmcp.Step, error) { return mockmcp.CloseStream{Retry: retry}, nil })
	case usable(n.Get("ask")):
		return l.askStep(n.Get("ask"))
	}
	return stepScript{}
}

func (l *loader) progressStep(n *strictyaml.Node) stepScript {
	p := mockmcp.Progress{Times: intOf(n.Get("times")), Every: durationOf(n.Get("every"))}
	if f := floatOf(n.Get("value")); f != nil {
		p.Value = *f
	}
	if f := floatOf(n.Get("total")); f != nil {
		p.Total = *f
		if end := p.Value * float64(max(p.Times, 1)); end > p.Total {
			l.problems.add(n.Get("total").Pos, "the progress reaches %v, which exceeds the total of %v", end, p.Total)
		}
	}
	message := l.template(n.Get("message"), expr.Tool)
	return computed(message == nil || len(message.Programs()) == 0, func(v *expr.Vars) (mockmcp.Step, error) {
		text, err := render(message, v)
		out := p
		out.Message = text
		return out, err
	})
}

func (l *loader) logStep(n *strictyaml.Node) stepScript {
	level, logger, times, every := textOf(n.Get("level")), textOf(n.Get("logger")), intOf(n.Get("times")), durationOf(n.Get("every"))
	data := l.tree(n.Get("data"), expr.Tool)
	return computed(constant(data), func(v *expr.Vars) (mockmcp.Step, error) {
		raw, err := expand(data, v)
		return mockmcp.Log{Level: level, Logger: logger, Data: raw, Times: times, Every: every}, err
	})
}

// question is one thing to ask a client.
type question struct {
	request mockmcp.Question // without its params
	params  func(v *expr.Vars) (any, error)
	fixed   bool
}

func (l *loader) askStep(n *strictyaml.Node) stepScript {
	var questions []question
	for _, item := range itemsOf(n) {
		if usable(item) {
			if q := l.question(item); q.params != nil {
				questions = append(questions, q)
			}
		}
	}
	if n.Kind == strictyaml.List && len(n.Items) == 0 {
		l.problems.add(n.Pos, "an empty ask")
	}
	fixed := !slices.ContainsFunc(questions, func(q question) bool { return !q.fixed })
	s := computed(fixed, func(v *expr.Vars) (mockmcp.Step, error) {
		var ask mockmcp.Ask
		for _, q := range questions {
			r := q.request
			params, err := q.params(v)
			if err != nil {
				return nil, fmt.Errorf("ask %s: %w", r.Name(), err)
			}
			if params != nil {
				if r.Params, err = json.Marshal(params); err != nil {
					return nil, fmt.Errorf("ask %s: %w", r.Name(), err)
				}
			}
			ask = append(ask, r)
		}
		return ask, nil
	})
	for _, q := range questions {
		if slices.Contains(s.asks, q.request.Name()) {
			l.problems.add(n.Pos, "%q is asked twice: give each another name with as", q.request.Name())
		}
		s.asks = append(s.asks, q.request.Name())
	}
	return s
}

func (l *loader) question(n *strictyaml.Node) question {
	q := question{request: mockmcp.Question{Key: textOf(n.Get("as")), Optional: boolOf(n.Get("optional"))}}
	switch {
	case usable(n.Get("sampling")):
		q.request.Method = mockmcp.Sampling
		s := n.Get("sampling")
		text, system := l.template(s.Get("text"), expr.Tool), l.template(s.Get("system"), expr.Tool)
		messages, further := l.tree(s.Get("messages"), expr.Tool), l.tree(s.Get("params"), expr.Tool)
		tokens := 100
		if usable(s.Get("max_tokens")) {
			tokens = intOf(s.Get("max_tokens"))
		}
		q.fixed = plain(text) && plain(system) && constant(messages) && constant(further)
		q.params = func(v *expr.Vars) (any, error) {
			params, err := members(further, v)
			if err != nil {
				return nil, err
			}
			params["maxTokens"] = tokens
			if messages != nil {
				if params["messages"], err = expand(messages, v); err != nil {
					return nil, err
				}
			} else {
				said, err := render(text, v)
				if err != nil {
					return nil, err
				}
				params["messages"] = []any{map[string]any{"role": "user", "content": map[string]any{"type": "text", "text": said}}}
			}
			if system != nil {
				if params["systemPrompt"], err = render(system, v); err != nil {
					return nil, err
				}
			}
			return params, nil
		}
	case usable(n.Get("elicitation")):
		q.request.Method = mockmcp.Elicitation
		e := n.Get("elicitation")
		message, url := l.template(e.Get("message"), expr.Tool), l.template(e.Get("url"), expr.Tool)
		schema, id := rawOf(e.Get("schema")), textOf(e.Get("id"))
		if s := e.Get("schema"); usable(s) && textOf(s.Get("type")) != "object" {
			l.problems.add(s.Pos, "the schema of a form needs type: object")
		}
		if e.Get("id") != nil && e.Get("url") == nil {
			l.problems.add(e.Key("id").Pos, `"id" has no effect without "url"`)
		}
		q.fixed = plain(message) && plain(url)
		q.params = func(v *expr.Vars) (any, error) {
			params := map[string]any{}
			var err error
			if params["message"], err = render(message, v); err != nil {
				return nil, err
			}
			if url == nil {
				params["requestedSchema"] = schema
				return params, nil
			}
			params["mode"], params["elicitationId"] = "url", id
			if id == "" {
				params["elicitationId"] = "rehearse"
			}
			params["url"], err = render(url, v)
			return params, err
		}
	case usable(n.Get("roots")):
		q.request.Method = mockmcp.Roots
		further := l.tree(n.Get("roots"), expr.Tool)
		q.fixed = constant(further)
		q.params = func(v *expr.Vars) (any, error) {
			params, err := members(further, v)
			if err != nil || len(params) == 0 {
				return nil, err
			}
			return params, nil
		}
	}
	return q
}

// members expands a map to its members.
func members(t *expr.Tree, v *expr.Vars) (map[string]any, error) {
	out := map[string]any{}
	if t == nil {
		return out, nil
	}
	m, err := t.Expand(v)
	if err != nil {
		return nil, err
	}
	for _, member := range m.Members() {
		out[member.Key] = member.Value
	}
	return out, nil
}

func plain(t *expr.Template) bool { return t == nil || len(t.Programs()) == 0 }

func constant(t *expr.Tree) bool { return t == nil || len(t.Programs()) == 0 }

func render(t *expr.Template, v *expr.Vars) (string, error) {
	if t == nil {
		return "", nil
	}
	return t.Render(v)
}

func expand(t *expr.Tree, v *expr.Vars) (json.RawMessage, error) {
	if t == nil {
		return nil, nil
	}
	out, err := t.Expand(v)
	if err != nil {
		return nil, err
	}
	return json.RawMessage(out.String()), nil
}

// bindSteps returns steps that read nothing as they are, and otherwise how to
// compute them. Those behind a question wait for its answer.
func bindSteps(steps []stepScript, vars value.Value) ([]mockmcp.Step, func(*mockmcp.Call) ([]mockmcp.Step, error)) {
	var fixed []mockmcp.Step
	for _, s := range steps {
		if s.fixed != nil {
			fixed = append(fixed, s.fixed)
		}
	}
	if len(fixed) == len(steps) {
		return fixed, nil
	}
	return nil, func(c *mockmcp.Call) ([]mockmcp.Step, error) {
		v, err := toolVars(c, vars, nil)
		if err != nil {
			return nil, err
		}
		var out []mockmcp.Step
		for _, s := range steps {
			made, err := s.make(v)
			if err != nil {
				return nil, &filepos.Error{Pos: s.pos, Err: err}
			}
			out = append(out, made)
			if slices.ContainsFunc(s.asks, func(name string) bool { _, ok := v.Asked.Get(name); return !ok }) {
				break // the rest may read the answer
			}
		}
		return out, nil
	}
}

// fixedSteps are steps of a place in which nothing is computed.
func (l *loader) fixedSteps(list *strictyaml.Node) []mockmcp.Step {
	var out []mockmcp.Step
	for _, s := range l.steps(list) {
		if s.fixed == nil {
			l.problems.add(s.pos, "a step here cannot read anything: {{ }} and $cel are for the results of tools")
			continue
		}
		out = append(out, s.fixed)
	}
	return out
}
