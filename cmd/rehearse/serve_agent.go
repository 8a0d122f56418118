// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/agentserver"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/toolserver"
	"github.com/rehearse-dev/rehearse/internal/gate"
	"github.com/rehearse-dev/rehearse/internal/settings"
)

// agentFlags are what the flags of `serve agent` say.
type agentFlags struct {
	listen, model, baseURL, system string
	tools, token                   string
	maxTasks, maxCalls             int
	timeLimit, idle, grace         time.Duration
	stream, withParent             bool
	admits                         gate.Rules
}

func serveAgentCommand(p *process) *cobra.Command {
	var flags agentFlags
	cmd := &cobra.Command{
		Use:   "agent --model NAME",
		Short: "Serve a tool-calling agent that is given goals",
		Long: `agent serves a tool-calling agent over HTTP.

  POST   /agent/execute_task  {"goal": "..."} is answered with
                              {"status": "completed", "final_answer": "...", ...};
                              with "stream": true, with events as they happen
  GET    /agent/tasks         the ids of the tasks in progress
  DELETE /agent/tasks/ID      cancels one

A task is cancelled when its client leaves. Tasks run at the same time, each with a
view of its own of the tool server (see ` + "`rehearse serve tools`" + `): its model calls
the tool manage_toolsets to activate and deactivate toolsets, which takes effect with
its next model call.

The endpoint and its key are those of ` + "`rehearse run --mode live`" + `: --base-url, else
ARGO_BASE_URL, else OPENAI_BASE_URL, else http://localhost:8000/v1; OPENAI_API_KEY. The
model is --model, else ARGO_DEFAULT_MODEL. The tool server is --tools, else
MCP_SERVER_URL; its token is --admin-token, else ` + adminTokenVariable + `. Without a
token toolsets stay as they are. ` + settingsHelp + `

` + telemetryHelp,
		Example: `  rehearse serve agent --model argo:gpt-4o --tools http://127.0.0.1:8001
  curl http://127.0.0.1:8002/agent/execute_task -H 'Content-Type: application/json' \
    -d '{"goal": "Find the capital of Peru and write it to a file."}'`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkFlags(cmd,
				rule{"base-url", wholeURL(flags.baseURL), wantURL}, rule{"tools", wholeURL(flags.tools), wantURL},
				rule{"max-tasks", flags.maxTasks > 0, "1 or more"}, rule{"max-model-calls", flags.maxCalls > 0, "1 or more"},
				rule{"time-limit", flags.timeLimit >= 0, "0 or more, such as 5m"}, rule{"idle-timeout", flags.idle > 0, "more than 0, such as 30s"}, rule{"grace", flags.grace >= 0, "0 or more, such as 5s"},
			); err != nil {
				return err
			}
			http := httpServer{withParent: flags.withParent}
			ctx, cancel := http.begin(cmd.Context(), p)
			defer cancel()
			return serveAgent(ctx, p, &flags)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.listen, "listen", "127.0.0.1:0", "address to listen on; keep it on loopback, because whoever reaches it may give goals")
	f.StringVar(&flags.model, "model", "", "name of the model")
	f.StringVar(&flags.baseURL, "base-url", "", "base URL of the model's endpoint, ending in /v1")
	f.StringVar(&flags.system, "system", "", "system prompt, or @FILE; the toolsets are named behind it")
	f.StringVar(&flags.tools, "tools", "", "address of the tool server, such as http://127.0.0.1:8001")
	f.StringVar(&flags.token, "admin-token", "", "token of the tool server's admin API, or @FILE")
	f.IntVar(&flags.maxTasks, "max-tasks", 64, "tasks in progress at most; one more is refused with status 429")
	f.IntVar(&flags.maxCalls, "max-model-calls", 20, "model calls of one task at most")
	f.DurationVar(&flags.timeLimit, "time-limit", 0, "time that one task may take; 0 is without limit")
	f.DurationVar(&flags.idle, "idle-timeout", 10*time.Minute, "how long the model's endpoint may be silent, before a reply or within one")
	f.DurationVar(&flags.grace, "grace", defaultGrace, "time for tasks in progress to end after an interrupt")
	f.BoolVar(&flags.stream, "stream", false, "ask the model for its replies in pieces, for streamed answers")
	f.BoolVar(&flags.withParent, "with-parent", false, parentHelp)
	gateFlags(f, &flags.admits)
	return cmd
}

func serveAgent(ctx context.Context, p *process, flags *agentFlags) error {
	s, err := p.settings("", fromFlag(settings.BaseURL, "--base-url", flags.baseURL), fromFlag(settings.Model, "--model", flags.model), fromFlag(settings.ServerURL, "--tools", flags.tools))
	if err != nil {
		return err
	}
	var opts run.Options
	if err := takeSettings(s, &opts); err != nil {
		return err
	}
	system, err := textOrFile("system", flags.system)
	if err != nil {
		return err
	}
	token, err := textOrFile("admin-token", flags.token)
	if err != nil {
		return err
	}
	if token == "" {
		token, _ = s.Lookup(adminTokenVariable)
	}
	flags.tools = s.ServerURL.Text
	into, end := p.telemetry(ctx, "rehearse")
	defer end()
	model := model.NewOpenAI(model.Config{BaseURL: opts.BaseURL, APIKey: opts.APIKey, IdleTimeout: flags.idle})
	server := agentserver.New(agentserver.Config{MaxTasks: flags.maxTasks, Hosts: flags.admits.Hosts, Origins: flags.admits.Origins, Open: func(ctx context.Context, task string) (*agent.Agent, func() error, error) {
		cfg := agent.Config{
			Model: model, Name: opts.Entries[0].Name, System: system, Stream: flags.stream,
			MaxModelCalls: flags.maxCalls, TimeLimit: flags.timeLimit, Telemetry: into,
		}
		if flags.tools == "" {
			return agent.New(cfg), nil, nil
		}
		box := &toolserver.Client{URL: flags.tools, View: task, AdminToken: token}
		about, err := box.Instructions(ctx)
		if err != nil {
			return nil, nil, errors.Join(err, box.Close())
		}
		if token != "" {
			cfg.System = joinTexts(system, about)
		}
		cfg.Tools, cfg.InOrder = box, []string{toolserver.ManageTool}
		return agent.New(cfg), box.Close, nil
	}})
	defer server.Close()
	return serveHandler(ctx, flags.listen, flags.grace, server, server.Close, func(host string) {
		p.ready(p.stdout, "http://"+host+"/agent/execute_task", "")
	})
}

// joinTexts puts a blank line between two texts.
func joinTexts(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n\n" + b
}
