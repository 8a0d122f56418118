// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/expr"
	"github.com/rehearse-dev/rehearse/harness/match"
	"github.com/rehearse-dev/rehearse/harness/score"
	"github.com/rehearse-dev/rehearse/harness/value"
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
			err = fmt.Errorf("no such key: there are %s", strings.Join(claimKeys[:], ", "))
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
	var out []*match.Matcher
	for i, item := range v.Items() {
		m, err := match.Compile(item, &match.Options{Scope: expr.Expectation, Root: fmt.Sprintf("frames[%d]", i)})
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		if err := knownKeys(item, reflect.TypeFor[frameOf](), "a frame"); err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		out = append(out, m)
	}
	return out, nil
}

// serveVerify judges an assertion: 200 whether it holds or not, 400 when it
// is none.
func (s *MCP) serveVerify(w http.ResponseWriter, r *http.Request, t target) {
	data, ok := readBody(w, r)
	if !ok {
		return
	}
	c, err := decodeClaims(data)
	if err != nil {
		writeError(w, http.StatusBadRequest, err)
		return
	}
	s.show(w, t, func(m *mockmcp.Server) any {
		v := verdict{Passed: true, Checks: c.judge(m)}
		for _, c := range v.Checks {
			v.Passed = v.Passed && c.Passed
		}
		return v
	})
}

func (c *claims) judge(m *mockmcp.Server) []check {
	var out []check
	if a := c.assertion; a != nil {
		out = a.score(evidenceOfTools(m.Journal()))
		if a.done != nil {
			out = append(out, judgeFindings(*a.done, findingsOf(m)))
		}
	}
	if c.state != nil {
		out = append(out, judgeState(c.state, m.State()))
	}
	if c.frames != nil {
		out = append(out, judgeFrames(c.frames, m.Frames()))
	}
	return out
}

// evidenceOfTools is what the journal of a server tells: each call was made,
// and by whom is not known.
func evidenceOfTools(exchanges []harness.ToolExchange) *score.Evidence {
	e := &score.Evidence{Mode: harness.ModeMock, Tools: exchanges}
	for _, x := range exchanges {
		e.Trajectory = append(e.Trajectory, harness.Call{
			Server: x.Server, Tool: x.Tool, Offered: x.Tool, Args: x.Args, Result: x.Result, Failed: x.Failed,
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

func judgeState(m *match.Matcher, state json.RawMessage) check {
	c := check{Check: "state"}
	got, err := value.Parse(state)
	if err == nil {
		c.Mismatches, err = m.Match(got, &expr.Vars{})
	}
	switch {
	case err != nil:
		c.Message = err.Error()
	case len(c.Mismatches) > 0:
		c.Message = texts(c.Mismatches)
	default:
		c.Passed = true
	}
	return c
}

// judgeFrames looks for frames that fit, one after another.
func judgeFrames(want []*match.Matcher, frames []harness.Frame) check {
	c := check{Check: "frames"}
	next := 0
	for i, m := range want {
		var nearest []harness.Mismatch
		found := false
		for ; next < len(frames) && !found; next++ {
			got, err := value.From(frameOf{frames[next], bodyOf(frames[next].Body)})
			var differ []harness.Mismatch
			if err == nil {
				differ, err = m.Match(got, &expr.Vars{})
			}
			if err != nil {
				c.Message = fmt.Sprintf("frame %d: %v", frames[next].Seq, err)
				return c
			}
			found = len(differ) == 0
			if !found && (nearest == nil || len(differ) < len(nearest)) {
				nearest = differ
			}
		}
		if !found {
			c.Mismatches = nearest
			c.Message = strings.TrimSuffix(fmt.Sprintf("no frame fits frames[%d]: %s", i, texts(nearest)), ": ")
			return c
		}
	}
	c.Passed = true
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
