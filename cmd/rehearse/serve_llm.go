// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/mockserver"
	"github.com/rehearse-dev/rehearse/internal/profile"
	"github.com/rehearse-dev/rehearse/mockllm"
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
		Use:   "llm [FILE]",
		Short: "Serve a mock model endpoint",
		Long: `llm serves a mock model from an llm file, or the model's side of a scenario file.
"url" is the base URL for clients. Without FILE nothing is scripted until a script
is sent to the admin API.

Tests that run at the same time each use a conversation of their own: any ID in
http://HOST:PORT/t/ID/v1 begins one. With --isolate key the API key is the ID, with
--isolate header:NAME a header.

The admin API at "admin", for the conversation ID below /t/ID/rehearse:
  GET journal         the requests and answers
  GET expectations    the replies that were asked for, those that were not, misses
  GET held/CUE        waits until a request is held for that cue
  GET conversations   the conversations that began
  GET health          also at /health
  GET live            the last requests, as the page has them
  GET metrics         for Prometheus
  GET scenario        the last conversation as a scenario, in YAML
  POST cue/CUE        gives a cue: what is held for it continues
  POST verify         judges an assertion in JSON: passed or not, and why
  POST load           plays another script, sent as YAML, or refuses all of it;
                      ?name=PATH says which file it was read from
  POST reset          starts over: forgets the journal and the misses so far
  DELETE conversation forgets a conversation
A browser shows the journal at "admin"/ as it grows: which reply answered each
request, or why none did, and the faults that struck.
The API accepts JSON as application/json and YAML as application/yaml; with
--admin-token it requires that token. A script that is sent reads files below the
folder of FILE, or below --files, and no environment variables.

The mock refuses requests for a foreign host and requests of pages of another
origin: see --allow-host and --cors. It answers a request that nothing matches with
status 422 and what was expected next, and prints that to standard error. A hangup
signal reloads FILE, and so does --watch when FILE changes; a broken file leaves
the previous script in place. The exit code is 1 if, since the last reset, there
was a miss, a request that the provider would have refused, or an error of the
script.`,
		Example: `  rehearse serve llm assistant.yaml
  rehearse serve llm --listen 127.0.0.1:8080 --watch 500ms assistant.yaml
  rehearse serve llm --isolate header:X-Test-Id assistant.yaml
  rehearse serve llm --chaos 0.1 --seed 7 assistant.yaml
  curl http://127.0.0.1:8080/t/my-test/rehearse/verify \
    -H 'Content-Type: application/json' -d '{"that": "journal.model_calls == 2"}'`,
		Args: atMostOneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.check(cmd); err != nil {
				return err
			}
			s.mock.Logf = p.logf
			ctx, cancel := s.http.begin(cmd.Context(), p)
			defer cancel()
			return s.serve(ctx, p, args)
		},
	}
	s.flags(cmd)
	return cmd
}

func (s *llmServer) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	s.http.flags(f)
	f.StringVar(&s.profile, "profile", "", "profile of the endpoint, instead of the file's: "+strings.Join(profile.Names(), ", "))
	f.Int64Var(&s.mock.Seed, "seed", 0, "seed of ids, times, jitter and chaos")
	f.DurationVar(&s.mock.TimeToFirstToken, "ttft", 0, "delay before the first token of a reply")
	f.Float64Var(&s.mock.TokensPerSecond, "tokens-per-second", 0, "tokens per second of a reply; 0 sends it at once")
	f.Float64Var(&s.mock.Jitter, "jitter", 0, "variation of each delay, as a fraction from 0 to 1")
	f.BoolVar(&s.mock.FlushEvents, "flush-events", false, "send every event of a stream in its own write")
	f.IntVar(&s.mock.MaxBodyBytes, "max-body", 64<<20, "maximum size of a request in bytes; a larger one is answered with 413")
	f.Float64Var(&s.chaos, "chaos", 0, "fraction of requests, from 0 to 1, that meet a fault which clients should survive")
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
	from := newScript(p, args, s.http.files, llmScript)
	script, err := firstLoad(from.w, from.load)
	if err != nil {
		return err
	}
	if s.profile != "" {
		if _, ok := profile.Lookup(s.profile); !ok {
			return fmt.Errorf("unknown profile %q; the profiles are %s", s.profile, strings.Join(profile.Names(), ", "))
		}
	}
	token, err := s.http.adminToken()
	if err != nil {
		return err
	}
	server, err := mockserver.New(script, &mockserver.Options{
		Mock: s.mock, Gate: s.http.gate(), AdminToken: token, Isolate: s.http.isolation(), Parse: from.parse,
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
