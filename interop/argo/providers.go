// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// providers are the APIs of argo-proxy that our providers speak beside chat.
func providers() []string { return []string{"responses", "messages", "gemini"} }

// loss is what a release does to conversations over one of its APIs, which the
// provider can do nothing about.
type loss struct {
	provider, scenario string
	part               string // of what goes wrong
	why                string
}

func losses() []loss {
	return []loss{{
		"gemini", "build, gapfill, simulate", `"build_model" has other properties (none, not `,
		"its converter does not read parametersJsonSchema, by which schemas are sent that Gemini's own language cannot say",
	}}
}

// playProviders has each provider hold the conversations that are recorded,
// through a release, and says which did not go as their scenario says.
func (j *job) playProviders(ctx context.Context, r release) (err error) {
	if err := r.install(ctx, j.root, j.logf); err != nil {
		return err
	}
	g, err := newGateway()
	if err != nil {
		return err
	}
	defer g.close()
	p, err := r.start(ctx, j.root, g.url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	failed, met := 0, map[loss]int{}
	for _, provider := range providers() {
		played := 0
		for _, variant := range variants() {
			list, err := load(j.root, variant, false)
			if err != nil {
				return err
			}
			for _, model := range j.models {
				for _, s := range list {
					why, err := playProvider(ctx, g, p, s, provider, model)
					if err != nil {
						return fmt.Errorf("playing argo-proxy %s: %w", r.version, err)
					}
					played++
					i := slices.IndexFunc(losses(), func(l loss) bool {
						return l.provider == provider && l.scenario == s.Name && strings.Contains(strings.ReplaceAll(why, `\"`, `"`), l.part)
					})
					switch {
					case i >= 0:
						met[losses()[i]]++
					case why != "":
						failed++
						j.logf("argo-proxy %s: %s: %s, %s, %s: %s", r.version, provider, s.Name, model, variant, why)
					}
				}
			}
		}
		j.logf("argo-proxy %s: %s: conversations: %d", r.version, provider, played)
	}
	for _, l := range losses() {
		j.logf("argo-proxy %s: %s: %s: conversations lost: %d: %s", r.version, l.provider, l.scenario, met[l], l.why)
		if met[l] != len(j.models)*len(variants()) {
			failed++
			j.logf("argo-proxy %s: %s: %s: is to be lost with each model, plain and streamed", r.version, l.provider, l.scenario)
		}
	}
	if failed > 0 {
		return fmt.Errorf("argo-proxy %s: failed: %d: %w", r.version, failed, errFailed)
	}
	return nil
}

// playProvider plays one conversation and says what was wrong with it.
func playProvider(ctx context.Context, g *gateway, p *proxy, s *scenarios.Scenario, provider, model string) (string, error) {
	if err := g.play(s.ModelScript()); err != nil {
		return "", err
	}
	// Some releases close a connection while a request is on its way on it.
	carrier := &http.Transport{DisableKeepAlives: true}
	result, err := run.Run(ctx, []*scenarios.Scenario{s}, &run.Options{
		Subject: agent.Subject(nil), SubjectName: subjectName, Mode: harness.ModeLive, Entries: run.Models(model), Dialect: provider, Trials: 1,
		BaseURL: "http://" + p.address + "/v1", Transport: carrier, LookupEnv: lookupEnv,
	})
	if err == nil {
		err = ctx.Err()
	}
	if err == nil && len(result.Records) != 1 {
		err = errors.New("the trial was cut short")
	}
	if err != nil {
		return "", err
	}
	return recorded{Record: result.Records[0], gateway: g.verdict()}.problem(), nil
}
