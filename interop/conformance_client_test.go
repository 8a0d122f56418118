// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
)

// TestClientConformance asks the suites about the client beneath our agent,
// as far as they are about tools. The client is this test's binary.
func TestClientConformance(t *testing.T) {
	excuses := readExcuses(t, "conformance/excused.txt")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range []struct {
		name, suite, version string
		scenarios            []string
	}{
		// Without sse-retry, which warns here of a machine that is busy.
		{"client-0.1.16", "@modelcontextprotocol/conformance", "", []string{"initialize", "tools_call", "elicitation-sep1034-client-defaults"}},
		{"client-2025-11-25", "conformance-alpha", "2025-11-25", []string{"initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry", "json-schema-2020-12-preservation"}},
		{"client-2026-07-28", "conformance-alpha", "2026-07-28", []string{
			"tools_call", "request-metadata", "sep-2322-client-request-state", "http-standard-headers", "http-custom-headers", "http-invalid-tool-headers",
			"json-schema-ref-no-deref", "json-schema-2020-12-preservation",
		}},
	} {
		t.Run(run.name, func(t *testing.T) {
			checks := map[string][]check{}
			for _, scenario := range run.scenarios {
				out := t.TempDir()
				argv := []string{"node_modules/" + run.suite + "/dist/index.js", "client", "--command", self, "--scenario", scenario, "-o", out}
				if run.version != "" {
					argv = append(argv, "--spec-version", run.version)
				}
				said, err := command(t, node, argv...).CombinedOutput()
				if err != nil && !exited(err) {
					t.Fatal(err)
				}
				found := readChecks(t, out)
				if len(found[scenario]) == 0 {
					t.Fatalf("%s: the suite found nothing:\n%s", scenario, said)
				}
				checks[scenario] = found[scenario]
			}
			passed, problems := judgeChecks(checks, excuses[run.name])
			for _, p := range problems {
				t.Error(p)
			}
			t.Logf("%d checks passed", passed)
		})
	}
}

func exited(err error) bool {
	_, ok := err.(*exec.ExitError)
	return ok
}

// conformanceClient is what the suite starts: it lists the tools of the server
// and calls those that the scenario names, or all of them.
func conformanceClient(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var scenario struct {
		ToolCalls []struct {
			Name      string
			Arguments json.RawMessage
		}
	}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &scenario); err != nil {
			return fmt.Errorf("reading the context: %w", err)
		}
	}
	session, err := mcppool.Open(ctx, harness.Server{Name: "suite", URL: url}, &mcppool.Options{Elicitation: accept})
	if err != nil {
		return err
	}
	defer session.Close()
	tools, _, err := session.Tools(ctx)
	if err != nil {
		return err
	}
	for _, call := range scenario.ToolCalls {
		if _, err := session.Call(ctx, call.Name, call.Arguments); err != nil {
			fmt.Fprintln(os.Stderr, err) // the suite knows whether it should have been
		}
	}
	if scenario.ToolCalls != nil {
		return nil
	}
	for i, tool := range tools {
		// A tool that wants an object is to be given the schema that came before.
		if _, err := session.Call(ctx, tool.Name, argumentsFor(tool.Schema, tools[max(i-1, 0)].Schema)); err != nil {
			fmt.Fprintln(os.Stderr, err) // as above
		}
	}
	return nil
}

// argumentsFor makes up arguments for those that a schema requires.
func argumentsFor(schema, object json.RawMessage) json.RawMessage {
	var s struct {
		Properties map[string]struct{ Type string }
		Required   []string
	}
	_ = json.Unmarshal(schema, &s) // one that is none requires nothing
	args := map[string]any{}
	for name, p := range s.Properties {
		switch {
		case !slices.Contains(s.Required, name):
		case p.Type == "number" || p.Type == "integer":
			args[name] = len(name) + 2
		case p.Type == "boolean":
			args[name] = true
		case p.Type == "object":
			args[name] = object
		default:
			args[name] = "text"
		}
	}
	out, _ := json.Marshal(args)
	return out
}

// accept answers each question with its defaults, or something of the type.
func accept(_ context.Context, params json.RawMessage) (json.RawMessage, error) {
	var p struct {
		RequestedSchema struct {
			Properties map[string]struct {
				Type    string
				Default any
			}
		}
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	content := map[string]any{}
	for name, property := range p.RequestedSchema.Properties {
		switch {
		case property.Default != nil:
			content[name] = property.Default
		case property.Type == "boolean":
			content[name] = true
		case property.Type == "string":
			content[name] = "text"
		default:
			content[name] = 1
		}
	}
	return json.Marshal(map[string]any{"action": "accept", "content": content})
}
