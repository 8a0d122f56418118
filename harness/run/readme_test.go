// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"context"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/harness/model/openai"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/tools"
)

func TestAgent(t *testing.T) { // one subtest per scenario; a failure names file:line of the expectation
	run.Test(t, "testdata/scenarios", &run.Options{Subject: harness.SubjectFunc(open)})
}

// open builds the agent for one trial, on the endpoint and the MCP servers of that trial.
func open(ctx context.Context, env *harness.Env) (harness.Session, error) {
	var servers []*mcppool.Session
	for _, s := range env.Servers { // an MCP client of your own takes s.URL
		server, err := mcppool.Open(ctx, s, nil)
		if err != nil {
			return nil, err
		}
		servers = append(servers, server)
	}
	router, err := tools.NewRouter(ctx, servers, nil)
	if err != nil {
		return nil, err
	}
	model := openai.New(openai.Config{BaseURL: env.Endpoint.BaseURL, APIKey: env.Endpoint.APIKey})
	a := agent.New(agent.Config{Model: model, Name: env.Endpoint.Model, Tools: router})
	return &session{a.Conversation(), router}, nil
}

type session struct {
	conversation *agent.Conversation
	router       *tools.Router
}

// Send is one turn; the report says what the agent did, as far as it tells.
func (s *session) Send(ctx context.Context, text string) (*harness.TurnReport, error) {
	report := &harness.TurnReport{}
	for event, err := range s.conversation.Send(ctx, text) {
		if err != nil {
			return report, err
		}
		if answer, ok := event.(agent.Answer); ok {
			report.Answer = answer.Text
		}
	}
	return report, nil
}

func (s *session) Close() error { return s.router.Close() }
