// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// subjectName is who is recorded, in records.
const subjectName = "rehearse-agent"

// address is the one that stands in recordings, in place of the port or the
// host of the day.
const address = "http://argo-proxy.test/v1"

// endpoint is what is recorded. It is the transport to itself.
type endpoint struct {
	name    string   // for messages
	base    *url.URL // for clients; ends in /v1
	key     string
	models  []string
	gateway *gateway // what stands behind it; nil for the real one
	carrier http.RoundTripper
}

// RoundTrip sends what goes to address to the endpoint.
func (e *endpoint) RoundTrip(req *http.Request) (*http.Response, error) {
	to := req.Clone(req.Context())
	to.URL = e.base.JoinPath(strings.TrimPrefix(req.URL.Path, "/v1"))
	to.URL.RawQuery, to.Host = req.URL.RawQuery, ""
	return e.carrier.RoundTrip(to)
}

// recorded is what became of one conversation.
type recorded struct {
	trials.Record
	variant string
	path    string // of its cassette
	gateway error  // what was wrong with what the gateway was asked
}

func (r recorded) where() string {
	return fmt.Sprintf("%s, %s, %s", r.Scenario, r.Model, r.variant)
}

// problem says why a conversation did not go as it should; empty when it did.
func (r recorded) problem() string {
	var why []string
	if r.Outcome != harness.OutcomePassed {
		why = append(why, string(r.Outcome))
		if r.Cause != nil {
			why = append(why, r.Cause.Text())
		}
	}
	if r.gateway != nil {
		why = append(why, r.gateway.Error())
	}
	return strings.Join(why, ": ")
}

// record records all scenarios with all models, streamed and not, into the
// folder dir. An existing cassette stays as it is where nothing but ids, times
// and the like has changed.
func record(ctx context.Context, root, dir string, e *endpoint, logf func(string, ...any)) ([]recorded, error) {
	var out []recorded
	for _, variant := range variants() {
		list, err := load(root, variant, e.gateway == nil)
		if err != nil {
			return nil, err
		}
		logf("%s: recording, %s: conversations: %d", e.name, variant, len(list)*len(e.models))
		for _, model := range e.models {
			for _, s := range list {
				r, err := conversation(ctx, s, filepath.Join(dir, variant), model, e)
				if err != nil {
					return nil, fmt.Errorf("recording %s: %w", e.name, err)
				}
				r.variant = variant
				if why := r.problem(); why != "" {
					logf("%s: %s: %s", e.name, r.where(), why)
				}
				out = append(out, r)
			}
		}
	}
	return out, nil
}

// conversation records one scenario with one model.
func conversation(ctx context.Context, s *scenarios.Scenario, dir, model string, e *endpoint) (recorded, error) {
	if e.gateway != nil {
		if err := e.gateway.play(s.ModelScript()); err != nil {
			return recorded{}, err
		}
	}
	result, err := run.Run(ctx, []*scenarios.Scenario{s}, &run.Options{
		Subject: agent.Subject(nil), SubjectName: subjectName, Mode: harness.ModeRecord, Entries: run.Models(model), Trials: 1,
		BaseURL: address, APIKey: e.key, Transport: e, Cassettes: dir, LookupEnv: lookupEnv, Force: true,
	})
	if err == nil {
		err = ctx.Err()
	}
	if err == nil && len(result.Records) != 1 {
		err = errors.New("the trial was cut short")
	}
	if err != nil {
		return recorded{}, err
	}
	r := recorded{Record: result.Records[0], path: s.CassettePath(dir, model, 1)}
	if e.gateway != nil {
		r.gateway = e.gateway.verdict()
	}
	return r, nil
}

// lookupEnv hides CI, where recordings are forbidden because nobody looks at
// them: there, what is recorded is compared and thrown away.
func lookupEnv(name string) (string, bool) {
	if name == "CI" {
		return "", false
	}
	return os.LookupEnv(name)
}

// leftovers are the cassettes below dir that no conversation has made.
func leftovers(dir string, list []recorded) ([]string, error) {
	made := map[string]bool{}
	for _, r := range list {
		made[r.path] = true
	}
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(path) == ".yaml" && !made[path] {
			out = append(out, path)
		}
		return err
	})
	return out, err
}
