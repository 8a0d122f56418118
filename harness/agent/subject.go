// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/harness/model/openai"
	"github.com/rehearse-dev/rehearse/harness/tools"
	"github.com/rehearse-dev/rehearse/internal/plainfile"
)

// Subject is the reference subject: an [Agent] with an OpenAI client on
// env.Endpoint and the tools of env.Servers, or of env.ConfigFile where there
// is one. The settings of the scenario go over those of cfg; its Tools are
// not used, and its Model only when it is set. Nil means all defaults.
//
// Of the settings without a field of their own it knows tool_concurrency,
// max_result_bytes, max_repeats (whole numbers), recover_leaked_calls,
// send_reasoning, open_end (true or false), and these times, such as 30s:
// tool_time_limit (how long a call may take, [Config.ToolTimeout]), and of
// [mcppool.Options] tool_timeout (how long a server may send nothing about a
// call), connect_timeout, discover_timeout and close_grace.
func Subject(cfg *Config) harness.Subject {
	var base Config
	if cfg != nil {
		base = *cfg
	}
	return subject{base}
}

type subject struct{ cfg Config }

// Open implements [harness.Subject].
func (s subject) Open(ctx context.Context, env *harness.Env) (harness.Session, error) {
	return open(ctx, s.cfg, env)
}

// Asks implements [harness.SubjectInfo].
func (subject) Asks() string { return "/v1/chat/completions" }

// NeedsWorkdir implements [harness.SubjectInfo].
func (subject) NeedsWorkdir() bool { return false }

// session is one conversation of the reference subject.
type session struct {
	conversation *Conversation
	router       *tools.Router
	warned       map[string]bool // warnings of the router that were reported
}

func open(ctx context.Context, cfg Config, env *harness.Env) (harness.Session, error) {
	client := openai.Config{
		BaseURL:   env.Endpoint.BaseURL,
		APIKey:    env.Endpoint.APIKey,
		Transport: env.Endpoint.Transport,
		Clock:     env.Clock,
	}
	if env.Mode.Alone() {
		client.Retry.Jitter = -1 // nobody else waits, and two trials are to be the same
	}
	pool, err := settings(&cfg, &client, env)
	if err != nil {
		return nil, err
	}
	if cfg.Model == nil {
		cfg.Model = openai.New(client)
	}
	servers := env.Servers
	if env.ConfigFile != "" {
		if servers, err = ReadServers(env.ConfigFile); err != nil {
			return nil, err
		}
	}
	router, err := connect(ctx, servers, pool)
	if err != nil {
		return nil, err
	}
	cfg.Tools = router
	return &session{conversation: New(cfg).Conversation(), router: router, warned: map[string]bool{}}, nil
}

// settings puts the scenario's settings over cfg, and makes the options for
// the servers of them.
func settings(cfg *Config, client *openai.Config, env *harness.Env) (*mcppool.Options, error) {
	pool := &mcppool.Options{Logf: env.Logf, Clock: env.Clock}
	s := env.Settings
	cfg.Name = cmp.Or(env.Endpoint.Model, cfg.Name)
	cfg.System = cmp.Or(s.System, cfg.System)
	cfg.Temperature = cmp.Or(s.Temperature, cfg.Temperature)
	cfg.TopP = cmp.Or(s.TopP, cfg.TopP)
	cfg.MaxTokens = cmp.Or(s.MaxTokens, cfg.MaxTokens)
	cfg.Seed = cmp.Or(s.Seed, cfg.Seed)
	cfg.Reasoning = cmp.Or(s.Reasoning, cfg.Reasoning)
	cfg.MaxModelCalls = cmp.Or(s.MaxModelCalls, cfg.MaxModelCalls)
	cfg.TokenLimit = cmp.Or(s.TokenLimit, cfg.TokenLimit)
	cfg.TimeLimit = cmp.Or(s.TimeLimit, cfg.TimeLimit)
	cfg.Stream = cfg.Stream || s.Stream
	cfg.Clock = cmp.Or(env.Clock, cfg.Clock)
	whole := map[string]*int{
		"tool_concurrency": &cfg.MaxToolConcurrency,
		"max_result_bytes": &cfg.MaxResultBytes,
		"max_repeats":      &cfg.MaxRepeats,
	}
	flags := map[string]*bool{
		"recover_leaked_calls": &cfg.RecoverLeakedCalls,
		"send_reasoning":       &client.SendReasoning,
		"open_end":             &client.OpenEnd,
	}
	times := map[string]*time.Duration{
		"tool_timeout":     &pool.CallTimeout,
		"tool_time_limit":  &cfg.ToolTimeout,
		"connect_timeout":  &pool.ConnectTimeout,
		"discover_timeout": &pool.DiscoverTimeout,
		"close_grace":      &pool.CloseGrace,
	}
	for _, name := range slices.Sorted(maps.Keys(s.Extra)) {
		value := s.Extra[name]
		if p := whole[name]; p != nil {
			n, ok := wholeNumber(value)
			if !ok {
				return nil, fmt.Errorf("subject setting %q is %v; want a whole number", name, value)
			}
			*p = n
		} else if p := flags[name]; p != nil {
			b, ok := value.(bool)
			if !ok {
				return nil, fmt.Errorf("subject setting %q is %v; want true or false", name, value)
			}
			*p = b
		} else if p := times[name]; p != nil {
			text, _ := value.(string)
			d, err := time.ParseDuration(text)
			if err != nil || d <= 0 {
				return nil, fmt.Errorf("subject setting %q is %v; want a duration such as 30s", name, value)
			}
			*p = d
		} else {
			known := slices.Concat(slices.Collect(maps.Keys(whole)), slices.Collect(maps.Keys(flags)), slices.Collect(maps.Keys(times)))
			slices.Sort(known)
			return nil, fmt.Errorf("unknown subject setting %q; the agent knows %s", name, strings.Join(known, ", "))
		}
	}
	cfg.ToolTimeout = max(pool.CallTimeout, cmp.Or(cfg.ToolTimeout, defaultToolTimeout))
	pool.TotalTimeout = cfg.ToolTimeout
	return pool, nil
}

// wholeNumber reads a number in whichever type a decoder made of it.
func wholeNumber(v any) (int, bool) {
	raw, err := json.Marshal(v)
	if err != nil {
		return 0, false
	}
	var n int
	return n, v != nil && json.Unmarshal(raw, &n) == nil
}

// connect opens a session with each server and a router over all of them.
// A server that cannot be reached is the infrastructure's fault.
func connect(ctx context.Context, servers []harness.Server, opts *mcppool.Options) (*tools.Router, error) {
	var sessions []*mcppool.Session
	closeAll := func(err error) error {
		for _, s := range sessions {
			err = errors.Join(err, s.Close())
		}
		return err
	}
	for _, server := range servers {
		s, err := mcppool.Open(ctx, server, opts)
		if err != nil {
			return nil, closeAll(&harness.EndpointError{Err: err})
		}
		sessions = append(sessions, s)
	}
	router, err := tools.NewRouter(ctx, sessions, nil)
	if err != nil {
		return nil, closeAll(err)
	}
	return router, nil
}

// Send implements [harness.Session].
func (s *session) Send(ctx context.Context, text string) (*harness.TurnReport, error) {
	return s.report(s.conversation.Send(ctx, text), text)
}

// SendOnce implements SingleCaller of [github.com/rehearse-dev/rehearse/harness/run].
func (s *session) SendOnce(ctx context.Context, text string) (*harness.TurnReport, error) {
	return s.report(s.conversation.SendOnce(ctx, text), text)
}

// report plays a turn and says what happened in it.
func (s *session) report(events iter.Seq2[Event, error], text string) (*harness.TurnReport, error) {
	report := &harness.TurnReport{User: text}
	before := len(s.conversation.Calls())
	note := func(text string) {
		if !slices.Contains(report.Notes, text) {
			report.Notes = append(report.Notes, text)
		}
	}
	var failure error
	for event, err := range events {
		if err != nil {
			failure = err
			break
		}
		switch e := event.(type) {
		case ModelCalled:
			report.ModelCalls++
			report.Usage = report.Usage.Add(e.Usage)
		case Withdrawn:
			note(fmt.Sprintf("retried after %v: %v", e.Wait.Round(time.Millisecond), e.Err))
		case Notice:
			note(e.Text)
		case Answer:
			report.Answer = e.Text
		}
	}
	report.Calls = s.conversation.Calls()[before:]
	for _, w := range s.router.Warnings() {
		if !s.warned[w] {
			s.warned[w] = true
			note(w)
		}
	}
	if failure == nil {
		return report, nil
	}
	failure = blame(failure)
	report.Error = failure.Error()
	var stop *harness.StopError
	var e *model.Error
	switch {
	case errors.As(failure, &stop):
		report.Stop = stop.Reason
	case errors.As(failure, &e):
		report.Stop = stopFor(e.Kind)
	}
	return report, failure
}

// stopFor is the reason for which a turn ends that an error of the endpoint
// has ended; empty where it is not the endpoint's.
func stopFor(kind model.ErrorKind) harness.StopReason {
	if r := harness.StopReason(kind); r.OfEndpoint() { // they have the same words
		return r
	}
	return ""
}

// Close implements [harness.Session].
func (s *session) Close() error { return s.router.Close() }

// blame marks what is the endpoint's fault. A request that the endpoint will
// not take, or that a mock has nothing scripted for, is not.
func blame(err error) error {
	var stop *harness.StopError
	var e *model.Error
	if errors.As(err, &stop) || !errors.As(err, &e) {
		return err
	}
	switch e.Kind {
	case model.KindInvalid, model.KindBadRequest, model.KindMiss, model.KindScript, model.KindContextOverflow, model.KindContentFilter:
		return err
	}
	return &harness.EndpointError{Status: e.Status, Err: err}
}

// ReadServers reads the servers of an mcp.json, as editors and chat programs
// write it, in the order of their names. Those that are disabled are left out.
func ReadServers(path string) ([]harness.Server, error) {
	raw, err := plainfile.Read(path, plainfile.MaxSettings)
	if err != nil {
		return nil, fmt.Errorf("reading MCP servers: %w", err)
	}
	var file struct {
		Servers map[string]struct {
			Command   string            `json:"command"`
			Args      []string          `json:"args"`
			Env       map[string]string `json:"env"`
			URL       string            `json:"url"`
			Headers   map[string]string `json:"headers"`
			Transport string            `json:"transport"`
			Type      string            `json:"type"` // another name for transport
			Disabled  bool              `json:"disabled"`
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, fmt.Errorf("reading MCP servers from %q: %w", path, err)
	}
	if file.Servers == nil {
		return nil, fmt.Errorf("reading MCP servers from %q: it has no mcpServers", path)
	}
	var servers []harness.Server
	for _, name := range slices.Sorted(maps.Keys(file.Servers)) {
		f := file.Servers[name]
		if f.Disabled {
			continue
		}
		s := harness.Server{Name: name, URL: f.URL, Headers: f.Headers}
		switch transport := cmp.Or(f.Transport, f.Type); transport {
		case "sse":
			s.Transport = "sse"
		case "ws", "websocket":
			s.Transport = "ws"
		case "", "stdio", "http", "streamable-http", "streamable_http", "streamableHttp":
		default:
			return nil, fmt.Errorf("reading MCP servers from %q: server %q has the unknown transport %q", path, name, transport)
		}
		if (f.Command == "") == (f.URL == "") {
			return nil, fmt.Errorf("reading MCP servers from %q: server %q needs either a command or a url", path, name)
		}
		if f.Command != "" {
			s.Command = append([]string{f.Command}, f.Args...)
			for _, key := range slices.Sorted(maps.Keys(f.Env)) {
				s.Env = append(s.Env, key+"="+f.Env[key])
			}
		}
		servers = append(servers, s)
	}
	return servers, nil
}
