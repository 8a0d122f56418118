// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/redirect"
	"github.com/rehearse-dev/rehearse/internal/settings"
)

// doctor is what the flags of `doctor` say.
type doctor struct {
	p                      *process
	config, model, baseURL string
	timeout                time.Duration
	json                   bool
}

func doctorCommand(p *process) *cobra.Command {
	d := &doctor{p: p}
	cmd := &cobra.Command{
		Use:   "doctor [--config mcp.json] [--model NAME]",
		Short: "Show where settings come from, and what can be reached",
		Long: `doctor prints the settings that chat, serve agent and runs against a real endpoint
use, each with the place that it came from. The earlier in this list wins:

  1. flags
  2. variables: ARGO_BASE_URL or else OPENAI_BASE_URL, ARGO_DEFAULT_MODEL,
     MCP_SERVER_COMMAND, MCP_SERVER_URL, and the keys
  3. the file .env of the working folder
  4. client in rehearse.yaml
  5. ~/.gem-flux-mcp/config.json

It asks the endpoint for its models, and which argo-proxy it is, and each server for
its tools. No model is called. Keys are not printed.

Exit codes: 0 everything that is configured can be reached; 1 something cannot; 2
wrong use or a bad file; 130 interrupted. An endpoint that nobody configured need not
be there, unless there is a model.`,
		Example: `  rehearse doctor
  rehearse doctor --config mcp.json --model argo:gpt-4o
  rehearse doctor --json`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkFlags(cmd, rule{"base-url", wholeURL(d.baseURL), wantURL}, rule{"timeout", d.timeout > 0, "more than 0, such as 10s"}); err != nil {
				return err
			}
			return d.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&d.config, "config", "", "file with the servers: mcp.json (mcpServers), or YAML with mcp.client")
	f.StringVar(&d.model, "model", "", "name of the model")
	f.StringVar(&d.baseURL, "base-url", "", "base URL of the model's endpoint, ending in /v1")
	f.DurationVar(&d.timeout, "timeout", 10*time.Second, "time limit for the endpoint and for each server")
	f.BoolVar(&d.json, "json", false, "print JSON")
	return cmd
}

// finding is what one look at an endpoint or a server came to.
type finding struct {
	Name   string `json:"name"`
	URL    string `json:"url,omitempty"`
	OK     bool   `json:"ok"`
	Needed bool   `json:"needed"` // it is configured
	Says   string `json:"says"`
	Tools  *int   `json:"tools,omitempty"` // how many a server has
	// ArgoProxy is the version of the argo-proxy that answers as the endpoint.
	ArgoProxy string `json:"argo_proxy,omitempty"`
}

// shown is a setting as it is printed.
type shown struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from,omitempty"`
	Note  string `json:"note,omitempty"`
}

func (d *doctor) run(ctx context.Context) error {
	s, err := d.p.settings("", fromFlag(settings.BaseURL, "--base-url", d.baseURL), fromFlag(settings.Model, "--model", d.model), fromFlag(settings.Config, "--config", d.config))
	if err != nil {
		return err
	}
	config, err := s.Servers()
	if err != nil {
		return err
	}
	d.p.warnOf(config)
	found := make([]finding, 1+len(config.Servers))
	var wg sync.WaitGroup
	wg.Go(func() { found[0] = d.endpoint(ctx, s) })
	for i, server := range config.Servers {
		wg.Go(func() { found[1+i] = d.server(ctx, server) })
	}
	wg.Wait()
	if ctx.Err() != nil {
		return &codeError{exitKilled, errors.New("interrupted before everything was looked at")}
	}
	if err := d.print(d.settings(s), found); err != nil {
		return err
	}
	lost := 0
	for _, f := range found {
		if f.Needed && !f.OK {
			lost++
		}
	}
	if lost > 0 {
		return &codeError{exitFailed, fmt.Errorf("%s cannot be reached", prose.CountOf(lost, "thing that is configured", "things that are configured"))}
	}
	return nil
}

// settings lists what was found, in a fixed order.
func (d *doctor) settings(s *settings.Settings) []shown {
	var out []shown
	for _, x := range append([]settings.Setting{s.BaseURL, s.Model, s.Config, s.ServerCommand, s.ServerURL}, s.Keys...) {
		row := shown{Name: x.Name, Value: x.Shown(), From: x.From}
		if !s.Used(x) {
			row.Note = "not used: other servers come first"
		}
		out = append(out, row)
	}
	return out
}

// endpoint asks for the list of models, and for the version of argo-proxy.
func (d *doctor) endpoint(ctx context.Context, s *settings.Settings) finding {
	f := finding{Name: "endpoint", URL: s.BaseURL.Shown(), Needed: !s.BaseURL.Default() || s.Model.Text != ""}
	ctx, cancel := d.limit(ctx)
	defer cancel()
	base := strings.TrimSuffix(s.BaseURL.Text, "/")
	key, _ := s.Lookup("OPENAI_API_KEY")
	status, body, err := d.get(ctx, base+"/models", key)
	if err != nil {
		f.Says = err.Error()
		return f
	}
	var version struct {
		Version  string           `json:"version"`
		UpToDate *json.RawMessage `json:"up_to_date"`
	}
	if code, raw, err := d.get(ctx, strings.TrimSuffix(base, "/v1")+"/version", ""); err == nil && code == http.StatusOK && json.Unmarshal(raw, &version) == nil && strings.Contains(string(raw), `"up_to_date"`) {
		f.ArgoProxy = version.Version
	}
	var list struct {
		Data []listedModel `json:"data"`
	}
	var says []string
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		f.Says = fmt.Sprintf("it answers, and refuses the key: HTTP %d", status)
		return f
	case status >= 500:
		f.Says = fmt.Sprintf("it answers with HTTP %d: %s", status, prose.Shorten(strings.TrimSpace(string(body)), 200))
		return f
	case status == http.StatusNotFound && !strings.HasSuffix(base, "/v1"):
		f.Says = "it answers with HTTP 404, and its address does not end in /v1, which base URLs do: requests go to /chat/completions below it"
		return f
	case status != http.StatusOK || json.Unmarshal(body, &list) != nil:
		says = append(says, fmt.Sprintf("it does not list its models (HTTP %d)", status))
	default:
		says = append(says, prose.Count(len(list.Data), "model"))
		if !slices.Contains(list.Data, listedModel{s.Model.Text}) && s.Model.Text != "" {
			says = append(says, fmt.Sprintf("%q is not among them by this name", s.Model.Text))
		}
	}
	if f.ArgoProxy != "" {
		says = append(says, "argo-proxy "+f.ArgoProxy)
	}
	f.OK, f.Says = true, strings.Join(says, ", ")
	return f
}

// listedModel is an entry of an endpoint's list.
type listedModel struct {
	ID string `json:"id"`
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 4 << 20

func (d *doctor) get(ctx context.Context, url, key string) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, errors.New("its address cannot be asked")
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	req.Close = true                                    // two requests, and then no more
	client := http.Client{CheckRedirect: redirect.None} // as agents have it
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, d.why(ctx, errors.Unwrap(err)) // without the address
	}
	defer resp.Body.Close()
	if to, err := resp.Location(); err == nil {
		return 0, nil, fmt.Errorf("it redirects to %s with HTTP %d, which is not followed: if that is the endpoint, give its address", prose.AddressOf(to), resp.StatusCode)
	}
	if body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer)); err != nil {
		return 0, nil, d.why(ctx, err)
	}
	return resp.StatusCode, body, nil
}

// server asks a server for its tools.
func (d *doctor) server(ctx context.Context, server harness.Server) finding {
	f := finding{Name: server.Name, Needed: true}
	ctx, cancel := d.limit(ctx)
	defer cancel()
	opts := &mcppool.Options{ConnectTimeout: d.timeout, DiscoverTimeout: d.p.discover, MaxRestarts: -1, Abort: d.p.abort}
	if d.p.grace > 0 {
		opts.CloseGrace = d.p.grace
	}
	s, err := mcppool.Open(ctx, server, opts)
	if err != nil {
		f.Says = d.why(ctx, err).Error()
		return f
	}
	defer s.Close()
	listed, _, err := s.Tools(ctx)
	if err != nil {
		f.Says = d.why(ctx, err).Error()
		return f
	}
	info, n := s.Info(), len(listed)
	f.OK, f.Tools = true, &n
	f.Says = fmt.Sprintf("%s, %s %s, MCP %s", prose.Count(n, "tool"), info.Name, info.Version, info.Protocol)
	return f
}

// limit is the time that one of them has.
func (d *doctor) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d.timeout, fmt.Errorf("no answer within %v", d.timeout))
}

// why prefers the reason for which ctx ended.
func (d *doctor) why(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (d *doctor) print(rows []shown, found []finding) error {
	if d.json {
		return printJSON(d.p.stdout, struct {
			Settings []shown   `json:"settings"`
			Endpoint finding   `json:"endpoint"`
			Servers  []finding `json:"servers"`
		}{rows, found[0], found[1:]})
	}
	for _, r := range rows {
		text := "not set"
		if r.Value != "" {
			text = r.Value + " (" + r.From + ")"
		}
		if r.Note != "" {
			text += "; " + r.Note
		}
		if _, err := fmt.Fprintf(d.p.stdout, "%-18s  %s\n", r.Name, text); err != nil {
			return err
		}
	}
	for i, f := range found {
		word := "failed"
		switch {
		case f.OK:
			word = "ok"
		case !f.Needed:
			word = "none"
		}
		what := fmt.Sprintf("server %q", f.Name)
		if i == 0 {
			what = "endpoint " + f.URL
		}
		if _, err := fmt.Fprintf(d.p.stdout, "%-6s  %s: %s\n", word, what, f.Says); err != nil {
			return err
		}
	}
	return nil
}
