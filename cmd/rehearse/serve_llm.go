// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/mockserver"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockllm/profile"
)

// llmServer is what the flags of `serve llm` say.
type llmServer struct {
	http    httpServer
	mock    mockllm.Options
	profile string
	chaos   float64
}

func serveLLMCommand(p *process) *cobra.Command {
	var s llmServer
	cmd := &cobra.Command{
		Use:   "llm FILE",
		Short: "Serve a mock model endpoint",
		Long: `llm serves a mock model from an llm file, or the model's side of a scenario file.
The base URL for clients is "url".

Tests that run at the same time each take a conversation of their own: any ID in
http://HOST:PORT/t/ID/v1 begins one. With --isolate key it is the API key that
tells them apart, with --isolate header:NAME a header.

"admin" answers, for the conversation ID below /t/ID/rehearse:
  GET journal         what was asked and answered
  GET expectations    the replies that were asked for, those never, the misses
  GET held/CUE        waits until a request is held until that cue
  GET conversations   those that began
  GET health          also at /health
  GET metrics         for Prometheus
  POST cue/CUE        gives a cue: what is held until it goes on
  POST verify         judges an assertion in JSON: passed or not, and why
  POST load           plays another script, sent as YAML, or refuses all of it
  POST reset          starts over: journal and misses so far are forgotten
  DELETE conversation forgets one

A request that nothing matches is answered with status 422 and what was expected
next, which is printed to standard error too. A hangup signal reads FILE again, as
does --watch when it changes; a broken one leaves the old in place. When it
ends, the exit code is 1 if there was a miss since the last reset, a request that
the provider would have refused, or an error of the script.`,
		Example: `  rehearse serve llm assistant.yaml
  rehearse serve llm --listen 127.0.0.1:8080 --watch 500ms assistant.yaml
  rehearse serve llm --isolate header:X-Test-Id assistant.yaml
  rehearse serve llm --chaos 0.1 --seed 7 assistant.yaml
  curl http://127.0.0.1:8080/t/my-test/rehearse/verify -d '{"that": "journal.model_calls == 2"}'`,
		Args: minArgs(1, "an llm or scenario file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.check(cmd); err != nil {
				return err
			}
			s.mock.Logf = p.logf
			return s.serve(cmd.Context(), p, args)
		},
	}
	s.flags(cmd)
	return cmd
}

func (s *llmServer) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	s.http.flags(f)
	f.StringVar(&s.profile, "profile", "", "wire habits, in place of the file's: "+strings.Join(profile.Names(), ", "))
	f.Int64Var(&s.mock.Seed, "seed", 0, "seed of ids, times, jitter and chaos")
	f.DurationVar(&s.mock.TimeToFirstToken, "ttft", 0, "wait before the first token of a reply")
	f.Float64Var(&s.mock.TokensPerSecond, "tokens-per-second", 0, "pace of a reply; 0 sends it at once")
	f.Float64Var(&s.mock.Jitter, "jitter", 0, "share, from 0 to 1, by which each wait varies")
	f.BoolVar(&s.mock.FlushEvents, "flush-events", false, "send every event of a stream in a write of its own")
	f.IntVar(&s.mock.MaxBodyBytes, "max-body", 64<<20, "size of the largest request in bytes; a larger one is answered 413")
	f.Float64Var(&s.chaos, "chaos", 0, "share, from 0 to 1, of requests that meet a fault which clients should survive")
}

func (s *llmServer) check(cmd *cobra.Command) error {
	return checkFlags(cmd, append(s.http.rules(),
		rule{"ttft", s.mock.TimeToFirstToken >= 0, "0 or more, such as 200ms"},
		rule{"tokens-per-second", s.mock.TokensPerSecond >= 0 && !math.IsInf(s.mock.TokensPerSecond, 0), "0 or more"},
		rule{"jitter", s.mock.Jitter >= 0 && s.mock.Jitter <= 1, "from 0 to 1"},
		rule{"max-body", s.mock.MaxBodyBytes > 0, "1 or more"},
		rule{"chaos", s.chaos >= 0 && s.chaos <= 1, "from 0 to 1"},
	)...)
}

func (s *llmServer) serve(ctx context.Context, p *process, args []string) error {
	from := newScript(p, args, llmScript)
	script, err := firstLoad(from.w, from.load)
	if err != nil {
		return err
	}
	if s.profile != "" {
		if _, ok := profile.Lookup(s.profile); !ok {
			return fmt.Errorf("unknown profile %q; there are %s", s.profile, strings.Join(profile.Names(), ", "))
		}
	}
	server, err := mockserver.New(script, &mockserver.Options{
		Mock: s.mock, Origin: s.http.origin, Isolate: s.http.isolation(), Parse: from.parse,
		Prepare: func(script *mockllm.Script) {
			if s.profile != "" {
				script.Profile = s.profile
			}
			mockserver.Chaos(script, s.chaos)
		},
	})
	if err != nil {
		return fmt.Errorf("serving %s: %w", from.files(), err)
	}
	return serveHTTP(ctx, &s.http, from, server, func(host string) (url, admin string) {
		base := "http" + s.http.secure() + "://" + host
		return base + "/v1", base + "/rehearse"
	}, "request")
}
