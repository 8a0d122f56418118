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
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/harness/tools"
	"github.com/rehearse-dev/rehearse/internal/dialect/dialects"
	"github.com/rehearse-dev/rehearse/internal/mcpconfig"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// Subject is the reference subject: an [Agent] with a client of the dialect of
// env.Endpoint, chat completions where that says none, and the tools of
// env.Servers, or of env.ConfigFile where there is one. The settings of the scenario go over those of cfg; its Tools are
// not used, and its Model only when it is set. Nil means all defaults.
//
// Of the settings without a field of their own it knows tool_concurrency,
// max_result_bytes, max_repeats, select_tools (whole numbers), recover_leaked_calls,
// error_objects, send_reasoning, open_end, breaker (true or false; [Config.Breaker]
// and that of servers), of [tools.Options] tool_names (bare,
// mcp or dotted; with mcp, descriptions begin with [MCP:server]),
// check_arguments, drop_private (true or false), of [mcppool.Options]
// connection_per_call (true or false), and as (the name of the agent,
// for permissions), tool_prompt (true puts [tools.Router.Prompt] behind the
// system message), and these times, such as 30s:
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
func (subject) Asks(dialect string) string {
	return cmp.Or(dialects.Named(dialect).ClientPath, dialects.Named("").ClientPath)
}

// NeedsWorkdir implements [harness.SubjectInfo].
func (subject) NeedsWorkdir() bool { return false }

// session is one conversation of the reference subject.
type session struct {
	conversation *Conversation
	router       *tools.Router
	pool         *mcppool.Pool
	warned       map[string]bool // warnings of the router that were reported
}

func open(ctx context.Context, cfg Config, env *harness.Env) (harness.Session, error) {
	client := model.Config{
		BaseURL:   env.Endpoint.BaseURL,
		APIKey:    env.Endpoint.APIKey,
		Transport: env.Endpoint.Transport,
		Clock:     env.Clock,
	}
	if env.Mode.Alone() {
		client.Retry.Jitter = -1 // nobody else waits, and two trials are to be the same
		cfg.ordered = true
	}
	servers, err := applySettings(&cfg, &client, env)
	if err != nil {
		return nil, err
	}
	if cfg.Model == nil {
		if cfg.Model, err = newModel(env.Endpoint.Dialect, client); err != nil {
			return nil, err
		}
	}
	if err := servers.read(env); err != nil {
		return nil, err
	}
	pool := mcppool.NewPool(&servers.pool)
	router, err := tools.Connect(ctx, pool, servers.list, &servers.router)
	if err == nil && servers.prompt {
		var text string
		text, err = router.Prompt(ctx)
		cfg.System = strings.TrimPrefix(cfg.System+"\n\n"+text, "\n\n")
	}
	if err != nil {
		return nil, errors.Join(blameServer(err), pool.Close())
	}
	cfg.Tools, cfg.Denied = router, router.Denied
	return &session{conversation: New(cfg).Conversation(), router: router, pool: pool, warned: map[string]bool{}}, nil
}

// blameServer marks what is a server's fault: that it cannot be reached.
func blameServer(err error) error {
	var e *mcppool.Error
	if errors.As(err, &e) && e.Op == "connecting to" {
		return &harness.EndpointError{Err: err}
	}
	return err
}

// served are the servers of a conversation and how they are used.
type served struct {
	list   []harness.Server
	pool   mcppool.Options
	router tools.Options
	prompt bool
}

// read takes the servers of the trial, or of its configuration where there is
// one.
func (s *served) read(env *harness.Env) error {
	s.list, s.router.Grants = env.Servers, env.Grants
	if env.ConfigFile == "" {
		return nil
	}
	file, err := mcpconfig.Read(env.ConfigFile, os.LookupEnv)
	if err != nil {
		return err
	}
	s.list, s.router.Grants = file.Servers, file.Grants
	for i := range s.list { // whether it may be missing is not in the file
		same := func(other harness.Server) bool { return other.Name == s.list[i].Name }
		if at := slices.IndexFunc(env.Servers, same); at >= 0 {
			s.list[i].Optional = env.Servers[at].Optional
		}
	}
	return nil
}

// newModel makes the client of a dialect.
func newModel(dialect string, cfg model.Config) (model.Model, error) {
	switch dialect {
	case "", "chat":
		return model.NewOpenAI(cfg), nil
	case "responses":
		return model.NewResponses(cfg), nil
	case "messages":
		return model.NewAnthropic(cfg), nil
	case "gemini": // its version is not that of the others
		cfg.BaseURL = strings.TrimSuffix(cfg.BaseURL, "/v1")
		return model.NewGemini(cfg), nil
	}
	return nil, fmt.Errorf("the agent does not speak the dialect %q: want %s", dialect, prose.Or(dialects.Names()))
}

// applySettings puts the scenario's settings over cfg, and makes the options for
// the servers of them.
func applySettings(cfg *Config, client *model.Config, env *harness.Env) (*served, error) {
	servers := &served{pool: mcppool.Options{Logf: env.Logf, Clock: env.Clock}}
	pool := &servers.pool
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
	if env.Approve != nil {
		cfg.Approve = env.Approve
	}
	whole := map[string]*int{
		"tool_concurrency": &cfg.MaxToolConcurrency,
		"max_result_bytes": &cfg.MaxResultBytes,
		"max_repeats":      &cfg.MaxRepeats,
		"select_tools":     &cfg.SelectTools,
	}
	var breaker bool
	flags := map[string]*bool{
		"recover_leaked_calls": &cfg.RecoverLeakedCalls,
		"error_objects":        &cfg.ErrorObjects,
		"send_reasoning":       &client.SendReasoning,
		"open_end":             &client.OpenEnd,
		"check_arguments":      &servers.router.CheckArguments,
		"drop_private":         &servers.router.DropPrivate,
		"tool_prompt":          &servers.prompt,
		"connection_per_call":  &pool.PerCall,
		"breaker":              &breaker,
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
		} else if name == "as" || name == "tool_names" {
			text, ok := value.(string)
			if style, known := nameStyles()[text]; name == "tool_names" && known {
				servers.router.Prefix, servers.router.NameServers = style, style == tools.NamesMCP
			} else if name == "tool_names" {
				return nil, fmt.Errorf("subject setting %q is %v; want bare, mcp or dotted", name, value)
			} else if servers.router.As = text; !ok || text == "" {
				return nil, fmt.Errorf("subject setting %q is %v; want the name of an agent", name, value)
			}
		} else {
			known := slices.Concat([]string{"as", "tool_names"}, slices.Collect(maps.Keys(whole)), slices.Collect(maps.Keys(flags)), slices.Collect(maps.Keys(times)))
			slices.Sort(known)
			return nil, fmt.Errorf("unknown subject setting %q; the agent knows %s", name, strings.Join(known, ", "))
		}
	}
	if breaker {
		cfg.Breaker, pool.Breaker = cmp.Or(cfg.Breaker, new(mcppool.Breaker)), new(mcppool.Breaker)
	}
	cfg.circuits = new(circuits)
	pool.Telemetry = cfg.Telemetry
	pool.CircuitChanged = cfg.circuits.ofServer
	cfg.ToolTimeout = max(pool.CallTimeout, cmp.Or(cfg.ToolTimeout, defaultToolTimeout))
	pool.TotalTimeout = cfg.ToolTimeout
	return servers, nil
}

// nameStyles are the words for the styles of names.
func nameStyles() map[string]tools.NameStyle {
	return map[string]tools.NameStyle{"bare": tools.NamesBare, "mcp": tools.NamesMCP, "dotted": tools.NamesDotted}
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

// Send implements [harness.Session].
func (s *session) Send(ctx context.Context, text string) (*harness.TurnReport, error) {
	return s.report(s.conversation.Send(ctx, text), text)
}

// SendOnce implements SingleCaller of [github.com/rehearse-dev/rehearse/harness/run].
func (s *session) SendOnce(ctx context.Context, text string) (*harness.TurnReport, error) {
	return s.report(s.conversation.SendOnce(ctx, text), text)
}

// History implements Resumer of [github.com/rehearse-dev/rehearse/harness/run].
func (s *session) History() []harness.Message { return s.conversation.Messages() }

// Resume implements Resumer of [github.com/rehearse-dev/rehearse/harness/run].
func (s *session) Resume(history []harness.Message) error {
	s.conversation.Resume(history)
	return nil
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
		case CircuitChanged:
			note(e.String())
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
	report.Error, report.Stop = failure.Error(), StopOf(failure)
	return report, failure
}

// StopOf is why a turn ended that err has ended: the agent's own reason, or what
// the endpoint did. It is empty for an error that is neither.
func StopOf(err error) harness.StopReason {
	var stop *harness.StopError
	var e *model.Error
	switch {
	case errors.As(err, &stop):
		return stop.Reason
	case errors.As(err, &e) && harness.StopReason(e.Kind).OfEndpoint():
		return harness.StopReason(e.Kind) // they have the same words
	}
	return ""
}

// Close implements [harness.Session].
func (s *session) Close() error { return errors.Join(s.router.Close(), s.pool.Close()) }

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
