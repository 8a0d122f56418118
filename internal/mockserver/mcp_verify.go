// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/score"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/match"
	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// claims are what a client claims of a conversation with an MCP server.
type claims struct {
	*assertion // nil when it claims nothing
	state      *match.Matcher
	frames     []*match.Matcher
}

// claimKeys are the keys that claims can have.
var claimKeys = [...]string{"that", "calls", "state", "frames", "done", "order", "extra"}

// decodeClaims reads an assertion, an object with some of
//
//	that    an expression over trajectory and results
//	calls   the tool calls, each "tool" or {"tool": arguments}
//	state   an expectation of the state
//	frames  expectations of frames that went over the wire, in this order and
//	        with others between them; body is the message
//	order   of the calls, strict or any; strict unless given
//	extra   whether there may be other calls; false unless given
//	done    whether every call was answered as scripted, and every fault struck
func decodeClaims(data []byte) (*claims, error) {
	v, err := value.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("the assertion is not JSON: %w", err)
	}
	if v.Kind() != value.Object {
		return nil, errors.New(`an assertion is an object, such as {"calls": ["add"]}`)
	}
	c := &claims{}
	var rest []value.Member
	for _, m := range v.Members() {
		var err error
		switch {
		case m.Key == "state":
			c.state, err = match.Compile(m.Value, &match.Options{Scope: expr.Expectation, Root: "state"})
		case m.Key == "frames":
			c.frames, err = compileFrames(m.Value)
		case slices.Contains(claimKeys[:], m.Key):
			rest = append(rest, m)
		default:
			err = fmt.Errorf("unknown key; the keys are %s", strings.Join(claimKeys[:], ", "))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Key, err)
		}
	}
	c.assertion, err = decodeMembers(rest)
	if errors.Is(err, errNoClaim) && (c.state != nil || c.frames != nil) {
		return c, nil
	}
	return c, err
}

func compileFrames(v value.Value) ([]*match.Matcher, error) {
	if v.Kind() != value.Array || len(v.Items()) == 0 {
		return nil, errors.New("want a list that is not empty")
	}
	return compileList(v, "frames", reflect.TypeFor[frameOf](), "a frame")
}

// frameOf is a frame as an assertion sees it: its body is JSON where it can be.
type frameOf struct {
	jsonrpc.Frame
	Body json.RawMessage `json:"body,omitempty"`
}

func (c *claims) judge(ctx context.Context, m *mockmcp.Server) []check {
	var out []check
	if a := c.assertion; a != nil {
		evidence := evidenceOfTools(m.Journal())
		evidence.Ctx = ctx
		out = a.score(evidence)
		if a.done != nil {
			out = append(out, judgeFindings(*a.done, findingsOf(m)))
		}
	}
	if c.state != nil {
		out = append(out, judgeState(ctx, c.state, m.State()))
	}
	if c.frames != nil {
		frames := m.Frames()
		out = append(out, judgeInOrder(ctx, "frame", c.frames, len(frames), false, func(i int) (value.Value, error) {
			return value.From(frameOf{frames[i], bodyOf(frames[i].Body)})
		}))
	}
	return out
}

// evidenceOfTools is what the journal of a server tells: each call was made,
// and by whom is not known.
func evidenceOfTools(exchanges []harness.ToolExchange) *score.Evidence {
	e := &score.Evidence{Mode: harness.ModeMock, Tools: exchanges}
	for _, x := range exchanges {
		result := x.Result
		if result == nil {
			result = json.RawMessage("null")
		}
		e.Trajectory = append(e.Trajectory, harness.Call{
			Server: x.Server, Tool: x.Tool, Offered: x.Tool, Args: x.Args, Result: result, Failed: x.Failed,
			Executed: true, Turn: 1, Index: x.Seq - 1, Duration: x.Duration, Exec: x.Seq,
		})
	}
	return e
}

func judgeFindings(want bool, f findings) check {
	c := check{Check: "done", Passed: f.OK == want}
	switch {
	case c.Passed:
	case want:
		for _, fault := range f.Unstruck {
			c.Message += "never struck: " + fault + "\n"
		}
		c.Message = strings.TrimSpace(c.Message + strings.Join(f.Problems, "\n"))
	default:
		c.Message = "every call was answered as scripted, and every fault struck"
	}
	return c
}

func judgeState(ctx context.Context, m *match.Matcher, state json.RawMessage) check {
	c := check{Check: "state"}
	got, err := value.Parse(state)
	if err == nil {
		c.Mismatches, err = m.Match(got, &expr.Vars{Ctx: ctx})
	}
	switch {
	case err != nil:
		c.Undecided, c.Message = true, err.Error()
	case len(c.Mismatches) > 0:
		c.Message = texts(c.Mismatches)
	default:
		c.Passed = true
	}
	return c
}

// bodyOf is the body of a frame as JSON: the message, or the text of what is
// none.
func bodyOf(body string) json.RawMessage {
	if body == "" {
		return nil
	}
	return resultOf(body)
}
