// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package toolserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/tools"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/redirect"
)

// ManageTool is the name of the tool by which a model switches its toolsets.
const ManageTool = "manage_toolsets"

// manageTool is the tool itself, which is always offered.
var manageTool = harness.Tool{
	Name: ManageTool,
	Description: "Activates or deactivates sets of tools to manage context and capabilities. Use this to acquire new tools for a task or to dismiss " +
		"tools that are no longer needed. A change takes effect with your next message.",
	Schema: json.RawMessage(`{"type":"object","properties":{` +
		`"action":{"type":"string","enum":["ACTIVATE","DEACTIVATE"],"description":"The action to perform."},` +
		`"toolset_ids":{"type":"array","items":{"type":"string"},"description":"A list of toolset identifiers to act upon (e.g., 'web_tools')."}},` +
		`"required":["action","toolset_ids"],"additionalProperties":false}`),
}

// Client is the toolbox of an agent on a tool server: the active tools of one
// view, and [ManageTool], which it runs itself by the admin API. It fits
// agent.Config.Tools.
type Client struct {
	// URL is the address of the server, such as http://127.0.0.1:8780.
	URL string
	// View is the view that the agent works with. Empty means the default one.
	View string
	// AdminToken lets ManageTool switch toolsets. Without it the tool is not
	// offered.
	AdminToken string
	// HTTP sends the requests. Nil means a client that follows no redirects.
	HTTP *http.Client

	mu       sync.Mutex
	revision int // in which the tools were listed last
}

// Tools lists the active tools, and [ManageTool].
func (c *Client) Tools(ctx context.Context) ([]harness.Tool, error) {
	list, err := c.list(ctx)
	if err != nil {
		return nil, err
	}
	var offered []harness.Tool
	if c.AdminToken != "" {
		offered = append(offered, manageTool)
	}
	for _, t := range list.Tools {
		offered = append(offered, harness.Tool{Name: t.Name, Description: t.Description, Schema: t.Parameters})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.revision = list.Revision
	return offered, nil
}

// Instructions is a text for the system prompt: the toolsets, which of them are
// active, and how to switch them.
func (c *Client) Instructions(ctx context.Context) (string, error) {
	list, err := c.list(ctx)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Your tools come in toolsets. Call %s to ACTIVATE those that you need and to DEACTIVATE those that you no longer need. The toolsets:\n", ManageTool)
	for _, set := range list.Toolsets {
		state := ""
		if set.Active {
			state = ", active at the start"
		}
		fmt.Fprintf(&b, "- %s (%s%s)", set.ID, strings.Join(set.Tools, ", "), state)
		if set.Description != "" {
			b.WriteString(": " + set.Description)
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// Call runs a tool. One that was offered when [Client.Tools] was last asked is
// run, also if its toolset was switched off in the meantime.
func (c *Client) Call(ctx context.Context, name, args string) (tools.Result, error) {
	var status int
	var body []byte
	var err error
	if name == ManageTool && c.AdminToken != "" {
		status, body, err = c.manage(ctx, args)
	} else {
		c.mu.Lock()
		query := url.Values{"view": {c.View}, "revision": {strconv.Itoa(c.revision)}}
		c.mu.Unlock()
		status, body, err = c.send(ctx, http.MethodPost, "/tools/"+url.PathEscape(name)+"?"+query.Encode(), []byte(args))
	}
	result := tools.Result{Tool: name}
	switch {
	case ctx.Err() != nil:
		return result, context.Cause(ctx)
	case err == nil && status >= 400:
		err = errors.New(said(body))
	}
	if err != nil {
		result.Text, result.IsError, result.Err = mcpwire.ErrorMark+err.Error(), true, err
		return result, nil
	}
	var text struct {
		Result *string `json:"result"`
	}
	result.Text = string(bytes.TrimSpace(body))
	if json.Unmarshal(body, &text) == nil && text.Result != nil {
		result.Text = *text.Result
	}
	return result, nil
}

// manage switches toolsets of the client's view, whatever view the model names.
func (c *Client) manage(ctx context.Context, args string) (int, []byte, error) {
	var wanted changing
	if err := json.Unmarshal([]byte(args), &wanted); err != nil {
		return 0, nil, fmt.Errorf("the arguments are {\"action\": \"ACTIVATE\", \"toolset_ids\": [\"ID\"]}: %w", err)
	}
	wanted.View = c.View
	body, err := json.Marshal(wanted)
	if err != nil {
		return 0, nil, err
	}
	return c.send(ctx, http.MethodPost, "/mcp/admin/toolsets", body)
}

// Close ends the client's view at the server.
func (c *Client) Close() error {
	if c.View == "" || c.AdminToken == "" {
		return nil
	}
	status, body, err := c.send(context.Background(), http.MethodDelete, "/mcp/admin/views/"+url.PathEscape(c.View), nil)
	if err == nil && status >= 400 {
		err = errors.New(said(body))
	}
	return err
}

func (c *Client) list(ctx context.Context) (*listing, error) {
	status, body, err := c.send(ctx, http.MethodGet, "/tools?"+url.Values{"view": {c.View}}.Encode(), nil)
	if err != nil {
		return nil, err
	}
	if status >= 400 {
		return nil, errors.New(said(body))
	}
	var list listing
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("the tool server at %s lists its tools in no form that is known: %w", c.URL, err)
	}
	return &list, nil
}

// said is what an answer that refuses says.
func said(body []byte) string {
	var r refusal
	if json.Unmarshal(body, &r) == nil && r.Error.Message != "" {
		return r.Error.Message
	}
	return strings.TrimSpace(string(body))
}

func (c *Client) send(ctx context.Context, method, path string, body []byte) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if strings.HasPrefix(path, "/mcp/admin/") {
		req.Header.Set("Authorization", "Bearer "+c.AdminToken)
	}
	res, err := cmp.Or(c.HTTP, &http.Client{CheckRedirect: redirect.None}).Do(req)
	if err != nil {
		return 0, nil, fmt.Errorf("asking the tool server: %w", err)
	}
	defer res.Body.Close()
	if to, err := res.Location(); err == nil {
		return 0, nil, fmt.Errorf("the tool server redirects to %s with HTTP %d, which is not followed: if that is the server, give its address", prose.AddressOf(to), res.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxResult+1))
	if err == nil && len(data) > maxResult {
		err = fmt.Errorf("the answer is longer than %d bytes", maxResult)
	}
	return res.StatusCode, slices.Clip(data), err
}
