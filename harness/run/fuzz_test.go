// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// spoiled is our agent behind a transport that makes a client's mistake of
// each stream it reads.
type spoiled struct {
	harness.Subject
	spoil func(body io.Reader) ([]byte, error)
}

func (s spoiled) Open(ctx context.Context, env *harness.Env) (harness.Session, error) {
	e := *env
	e.Endpoint.Transport = spoiler{env.Endpoint.Transport, s.spoil}
	return s.Subject.Open(ctx, &e)
}

type spoiler struct {
	next  http.RoundTripper
	spoil func(body io.Reader) ([]byte, error)
}

func (s spoiler) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := s.spoil(resp.Body)
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(b))
	return resp, nil
}

// eachCall changes the calls of all deltas of a stream.
func eachCall(change func(call map[string]any)) func(io.Reader) ([]byte, error) {
	return func(body io.Reader) ([]byte, error) {
		b, err := io.ReadAll(body)
		if err != nil {
			return nil, err
		}
		var out strings.Builder
		for line := range strings.Lines(string(b)) {
			data, ok := strings.CutPrefix(line, "data: {")
			if !ok {
				out.WriteString(line)
				continue
			}
			var chunk map[string]any
			if err := json.Unmarshal([]byte("{"+data), &chunk); err != nil {
				return nil, err
			}
			for _, choice := range chunk["choices"].([]any) {
				calls, _ := choice.(map[string]any)["delta"].(map[string]any)["tool_calls"].([]any)
				for _, c := range calls {
					change(c.(map[string]any))
				}
			}
			raw, err := json.Marshal(chunk)
			if err != nil {
				return nil, err
			}
			out.WriteString("data: " + string(raw) + "\n")
		}
		return []byte(out.String()), nil
	}
}

func function(call map[string]any) map[string]any { return call["function"].(map[string]any) }

// TestFuzz: each mistake is found and made small, and our agent makes none.
func TestFuzz(t *testing.T) {
	// The arguments are {"location":"Paris, France"}: a piece of 20 characters ends in the space.
	const scenario = `
scenario: two calls
servers: {WEATHER}
conduct_only: true
turns:
  - user: Weather?
    replies:
      - calls: [{weather.get_weather: {location: "Paris, France"}}, {weather.get_weather: {location: "Köln"}}]
      - say: Sunny in both.
`
	for _, tc := range []struct {
		name  string
		spoil func(io.Reader) ([]byte, error)
		want  dialect.Fragments
	}{
		{"trims pieces", eachCall(func(c map[string]any) {
			if args, ok := function(c)["arguments"].(string); ok {
				function(c)["arguments"] = strings.TrimRight(args, " ")
			}
		}), dialect.Fragments{Unit: dialect.UnitRune, Cuts: []int{20}}},
		{"takes a name that is there for one that says something", eachCall(func(c map[string]any) {
			if name, there := function(c)["name"]; there && name == nil {
				function(c)["name"] = "none"
			}
		}), dialect.Fragments{Name: dialect.PlaceNull}},
		{"takes a read for events", func(body io.Reader) ([]byte, error) {
			var out []byte
			for b := make([]byte, 1<<16); ; {
				n, err := body.Read(b)
				if bytes.HasPrefix(b[:n], []byte("data: ")) {
					out = append(out, b[:n]...)
				}
				if err == io.EOF {
					return append(bytes.TrimRight(out, "\n"), "\n\n"...), nil
				} else if err != nil {
					return nil, err
				}
			}
		}, dialect.Fragments{Writes: 4096}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			list := write(t, scenario)
			res, err := run.Fuzz(t.Context(), list, &run.FuzzOptions{Options: run.Options{Subject: spoiled{agent.Subject(nil), tc.spoil}}})
			if err != nil {
				t.Fatal(err)
			}
			if len(res.Findings) != 1 || res.ExitCode() != 1 {
				t.Fatalf("%+v", res)
			}
			f := res.Findings[0]
			if d := cmp.Diff(tc.want, f.Fragments, cmpopts.IgnoreFields(dialect.Fragments{}, "Seed")); d != "" {
				t.Errorf("try %d, %d trials: %s\n(-want +got):\n%s", f.Try, f.Trials, f.Broken, d)
			}
		})
	}
	t.Run("our agent", func(t *testing.T) {
		res, err := run.Fuzz(t.Context(), write(t, scenario), &run.FuzzOptions{Options: run.Options{Subject: agent.Subject(nil)}, Tries: 200})
		if err != nil {
			t.Fatal(err)
		}
		if res.ExitCode() != 0 || res.Tried != 201 {
			t.Errorf("%+v", res)
		}
	})
	t.Run("a scenario that fails anyhow", func(t *testing.T) {
		list := write(t, scenario+"    expect: [{answer: {contains: rain}}]\n")
		res, err := run.Fuzz(t.Context(), list, &run.FuzzOptions{Options: run.Options{Subject: agent.Subject(nil)}})
		if err != nil {
			t.Fatal(err)
		}
		if res.ExitCode() != 3 || len(res.Unjudged) != 1 || res.Tried != 1 {
			t.Errorf("%+v", res)
		}
	})
}
