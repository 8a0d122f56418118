// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/harness/tools"
	"github.com/rehearse-dev/rehearse/internal/mcpconfig"
	"github.com/rehearse-dev/rehearse/internal/settings"
)

// ClientOptions say what a [Client] is made of. What is left empty is found in
// the environment and in files; the earlier of these wins:
//
//   - ARGO_BASE_URL or else OPENAI_BASE_URL, ARGO_DEFAULT_MODEL, MCP_SERVER_COMMAND,
//     MCP_SERVER_URL and OPENAI_API_KEY
//   - the file .env of Dir, for variables that are not set
//   - client in the rehearse.yaml of Dir, or of the nearest folder above
//   - ~/.gem-flux-mcp/config.json: argo_base_url, default_model, mcp_server_command
type ClientOptions struct {
	// BaseURL of the model's endpoint. Where nobody says it,
	// http://localhost:8000/v1.
	BaseURL string
	// Model is its name. Where nobody says it, gpt-5.
	Model string
	// APIKey for the endpoint. Where nobody says it none is sent; argo-proxy wants
	// none.
	APIKey string
	// ServerCommand starts an MCP server, Servers and ConfigFile (mcp.json, or YAML
	// with mcp.client) name others. Where one of them is set, servers that are found
	// elsewhere are not used. One that cannot be reached costs a [Notice], and its
	// tools are offered once it can be.
	ServerCommand []string
	Servers       []harness.Server
	ConfigFile    string
	// Agent has all other settings of the agent. Its Name, Tools and Denied are not
	// used, and its Model only when it is set. Without Breaker it has one with the
	// defaults; see NoBreaker. Its Telemetry records MCP requests too, where Pool has
	// none of its own.
	Agent Config
	// Pool and Tools have the settings of sessions with servers and of their tools.
	Pool  mcppool.Options
	Tools tools.Options
	// NoBreaker leaves endpoint and servers without a circuit breaker.
	NoBreaker bool
	// Transport carries the requests to the model. Nil means
	// [http.DefaultTransport].
	Transport http.RoundTripper
	// Dir is the folder of the settings. Empty means the working folder.
	Dir string
	// LookupEnv is the environment. Nil means [os.LookupEnv].
	LookupEnv func(name string) (string, bool)
}

// Client is an agent with a model and MCP servers of its own. It connects to
// servers when the first message is sent, with all at once. Close it when its
// conversations are over.
type Client struct {
	*Agent
	tools *lazyTools
}

// defaultModel and argoMaxTokens are those of the Python client of argo-proxy:
// the model, and the bound of replies of models that must be told one.
const (
	defaultModel  = "gpt-5"
	argoMaxTokens = 4096
)

// NewClient makes a client of the options and of what they leave open. It reads
// settings and connects to nothing. Nil means no options.
func NewClient(opts *ClientOptions) (*Client, error) {
	var o ClientOptions
	if opts != nil {
		o = *opts
	}
	s, err := settings.Load(settings.Sources{
		Given: []settings.Setting{
			{Name: settings.BaseURL, Text: o.BaseURL, From: "ClientOptions.BaseURL"},
			{Name: settings.Model, Text: o.Model, From: "ClientOptions.Model"},
			{Name: settings.Config, Text: o.ConfigFile, From: "ClientOptions.ConfigFile"},
		},
		Lookup: o.LookupEnv, Dir: o.Dir,
	})
	if err != nil {
		return nil, err
	}
	servers, err := o.servers(s)
	if err != nil {
		return nil, err
	}
	cfg := o.Agent
	cfg.Name = cmp.Or(s.Model.Text, defaultModel)
	if cfg.Model == nil {
		key, _ := s.Lookup("OPENAI_API_KEY")
		cfg.Model = model.NewOpenAI(model.Config{
			BaseURL: s.BaseURL.Text, APIKey: cmp.Or(o.APIKey, key), Transport: o.Transport, Clock: cfg.Clock, MaxTokens: argoMaxTokens,
		})
	}
	if !o.NoBreaker {
		cfg.Breaker = cmp.Or(cfg.Breaker, new(mcppool.Breaker))
		o.Pool.Breaker = cmp.Or(o.Pool.Breaker, cfg.Breaker)
	}
	cfg.circuits = new(circuits)
	o.Pool.Telemetry = cmp.Or(o.Pool.Telemetry, cfg.Telemetry)
	o.Pool.Clock = cmp.Or(o.Pool.Clock, cfg.Clock)
	o.Pool.CircuitChanged = cfg.circuits.alsoTo(o.Pool.CircuitChanged)
	o.Tools.Grants = servers.Grants
	var read []string
	for _, w := range servers.Warnings {
		read = append(read, w.Error())
	}
	lazy := &lazyTools{pool: mcppool.NewPool(&o.Pool), servers: servers.Servers, read: read, opts: o.Tools, connecting: make(chan struct{}, 1)}
	cfg.Tools, cfg.Denied, cfg.Warnings = lazy, lazy.denied, lazy.warnings
	return &Client{Agent: New(cfg), tools: lazy}, nil
}

// servers are those of the options, or else those of the settings.
func (o *ClientOptions) servers(s *settings.Settings) (*mcpconfig.Config, error) {
	config := &mcpconfig.Config{Grants: o.Tools.Grants}
	own := slices.Clone(o.Servers)
	if len(o.ServerCommand) > 0 {
		own = append(own, harness.Server{Name: settings.ServerName(o.ServerCommand), Command: slices.Clone(o.ServerCommand)})
	}
	if o.ConfigFile != "" || len(own) == 0 {
		found, err := s.Servers()
		if err != nil {
			return nil, err
		}
		config.Servers, config.Warnings = found.Servers, found.Warnings
		if found.Grants != nil {
			config.Grants = found.Grants
		}
	}
	config.Servers = append(config.Servers, own...)
	for i := range config.Servers {
		config.Servers[i].Optional = true
	}
	return config, nil
}

// Stats say how a client has fared so far.
type Stats struct {
	Endpoint mcppool.Circuit // of the model
	Servers  []mcppool.Stats // that were connected to, by their names
}

// Stats returns the figures of the endpoint and of the servers.
func (c *Client) Stats() Stats {
	return Stats{Endpoint: c.Circuit(), Servers: c.tools.pool.Stats()}
}

// Close ends the sessions with the servers. Messages that are sent afterwards
// get an error.
func (c *Client) Close() error { return c.tools.close() }

// lazyTools is a router that connects when it is first asked for tools.
type lazyTools struct {
	pool       *mcppool.Pool
	servers    []harness.Server
	read       []string // warnings of where the servers are named
	opts       tools.Options
	connecting chan struct{} // held by who connects

	mu     sync.Mutex // guards the fields below
	router *tools.Router
	closed bool
}

// errClientClosed is what a client says that was closed.
var errClientClosed = errors.New("the client was closed")

func (l *lazyTools) current() (*tools.Router, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errClientClosed
	}
	return l.router, nil
}

// connected is the router; one caller makes it, and the others wait for it.
func (l *lazyTools) connected(ctx context.Context) (*tools.Router, error) {
	select {
	case l.connecting <- struct{}{}:
		defer func() { <-l.connecting }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	router, err := l.current()
	if err != nil || router != nil {
		return router, err
	}
	router, err = tools.Connect(ctx, l.pool, l.servers, &l.opts)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errors.Join(errClientClosed, router.Close())
	}
	l.router = router
	return router, nil
}

// Tools implements [Toolbox].
func (l *lazyTools) Tools(ctx context.Context) ([]harness.Tool, error) {
	router, err := l.connected(ctx)
	if err != nil {
		return nil, err
	}
	return router.Tools(ctx)
}

// Call implements [Toolbox].
func (l *lazyTools) Call(ctx context.Context, name, args string) (tools.Result, error) {
	router, err := l.connected(ctx)
	if err != nil {
		return tools.Result{Tool: name}, err
	}
	return router.Call(ctx, name, args)
}

func (l *lazyTools) denied(tool string) error {
	router, err := l.current()
	if err != nil || router == nil {
		return err
	}
	return router.Denied(tool)
}

func (l *lazyTools) warnings() []string {
	router, err := l.current()
	if err != nil || router == nil {
		return l.read
	}
	return slices.Concat(l.read, router.Warnings())
}

func (l *lazyTools) close() error {
	l.mu.Lock()
	router := l.router
	l.closed = true
	l.mu.Unlock()
	var err error
	if router != nil {
		err = router.Close()
	}
	return errors.Join(err, l.pool.Close())
}
