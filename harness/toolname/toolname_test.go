// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package toolname_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/toolname"
)

func TestFit(t *testing.T) {
	long := strings.Repeat("x", 70)
	for _, tc := range []struct{ name, in, want string }{
		{"valid", "build_model-2", "build_model-2"},
		{"dot", "gemflux.build_model", "gemflux_build_model"},
		{"other characters", "a b/ü", "a_b__"},
		{"empty", "", "_e3b0c442"},
		{"exactly 64", long[:64], long[:64]},
		{"too long", long, long[:55] + "_66cb2afd"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := toolname.Fit(tc.in)
			if tc.name == "too long" {
				// The hash need not be known, only that it is one.
				if len(got) != 64 || got[:55] != tc.want[:55] || got == toolname.Fit(long+"y") {
					t.Errorf("got %q", got)
				}
				return
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestTable(t *testing.T) {
	type add struct{ server, tool, want, err string }
	for _, tc := range []struct {
		name  string
		style toolname.Style
		adds  []add
	}{
		{"bare", toolname.Bare, []add{{"a", "x", "x", ""}, {"a", "y", "y", ""}, {"a", "x", "x", ""}}},
		{"bare, two servers", toolname.Bare, []add{{"a", "x", "x", ""}, {"b", "x", "", `tool "x" is offered by two servers, "a" and "b"`}}},
		{"underscore", toolname.Underscore, []add{{"a", "x", "mcp_a_x", ""}, {"b", "x", "mcp_b_x", ""}}},
		{"underscore, equal names", toolname.Underscore, []add{{"a_b", "c", "mcp_a_b_c", ""}, {"a", "b_c", "", "offered by two servers"}}},
		{"dotted", toolname.Dotted, []add{{"a", "x", "a_x", ""}}},
		{"dotted, equal when fitted", toolname.Dotted, []add{{"a", "b.c", "a_b_c", ""}, {"a.b", "c", "", "offered by two servers"}, {"a_b", "c", "a_b_c_a3715283", ""}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			table := toolname.NewTable(tc.style)
			for _, a := range tc.adds {
				got, err := table.Add(a.server, a.tool)
				if a.err != "" {
					if err == nil || !strings.Contains(err.Error(), a.err) {
						t.Errorf("adding %s.%s: error %v, want %q", a.server, a.tool, err, a.err)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if got != a.want {
					t.Errorf("adding %s.%s: got %q, want %q", a.server, a.tool, got, a.want)
				}
				if s, tool, ok := table.Lookup(got); !ok || s != a.server || tool != a.tool {
					t.Errorf("%q leads to %q %q", got, s, tool)
				}
			}
		})
	}
}

// TestTableIsReversible: whatever the names, each one that is entered is
// valid and leads back.
func TestTableIsReversible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		style := rapid.SampledFrom([]toolname.Style{toolname.Bare, toolname.Underscore, toolname.Dotted}).Draw(t, "style")
		name := rapid.StringMatching(`[a-b._ü]{0,4}|[a-b.]{60,70}`)
		table := toolname.NewTable(style)
		type tool struct{ server, tool string }
		entered := make(map[string]tool)
		for range rapid.IntRange(1, 8).Draw(t, "tools") {
			x := tool{name.Draw(t, "server"), name.Draw(t, "tool")}
			got, err := table.Add(x.server, x.tool)
			if err != nil {
				continue
			}
			if !toolname.Valid(got) {
				t.Fatalf("%q is not valid", got)
			}
			if old, ok := entered[got]; ok && old != x {
				t.Fatalf("%q stands for %v and %v", got, old, x)
			}
			entered[got] = x
		}
		for got, x := range entered {
			if s, tl, ok := table.Lookup(got); !ok || s != x.server || tl != x.tool {
				t.Fatalf("%q leads to %q %q, want %v", got, s, tl, x)
			}
		}
	})
}

func tool(name string, properties ...string) harness.Tool {
	props := make(map[string]any)
	for _, p := range properties {
		props[p] = map[string]any{"type": "string"}
	}
	schema, err := json.Marshal(map[string]any{"type": "object", "properties": props})
	if err != nil {
		panic(err)
	}
	return harness.Tool{Name: name, Schema: schema}
}

func TestResolve(t *testing.T) {
	schema := tool("", "id").Schema
	for _, tc := range []struct {
		name    string
		want    string
		offered []harness.Tool
		names   map[string]string
		got     string
		err     string
	}{
		{"bare", "g.build", []harness.Tool{tool("build", "id")}, nil, "build", ""},
		{"mcp_", "g.build", []harness.Tool{tool("mcp_g_build", "id")}, nil, "mcp_g_build", ""},
		{"mcp__", "g.build", []harness.Tool{tool("mcp__g__build", "id")}, nil, "mcp__g__build", ""},
		{"server_", "g.build", []harness.Tool{tool("g_build", "id")}, nil, "g_build", ""},
		{"fitted", "my server.build", []harness.Tool{tool("my_server_build", "id")}, nil, "my_server_build", ""},
		{"a prefix before the bare name", "g.build", []harness.Tool{tool("build", "id"), tool("g_build", "id")}, nil, "g_build", ""},
		{"two prefixes", "g.build", []harness.Tool{tool("mcp_g_build", "id"), tool("g_build", "id")}, nil, "", `could be any of "mcp_g_build", "g_build"`},
		{"names", "g.build", []harness.Tool{tool("build", "id"), tool("make", "other")}, map[string]string{"g.build": "make"}, "make", ""},
		{"names, not offered", "g.build", []harness.Tool{tool("build", "id")}, map[string]string{"g.build": "make"}, "", `tool "make" is not offered; offered: build`},
		{"other properties", "g.build", []harness.Tool{tool("build", "id", "x")}, nil, "", `"build" has other properties (id x, not id); offered: build`},
		{"other properties with a prefix", "g.build", []harness.Tool{tool("g_build", "x"), tool("build", "id")}, nil, "build", ""},
		{"nothing offered", "g.build", nil, nil, "", "the request offers no tools"},
		{"offered name", "make", []harness.Tool{tool("make")}, nil, "make", ""},
		{"offered name is not", "make", []harness.Tool{tool("build")}, nil, "", `tool "make" is not offered; offered: build`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := toolname.Resolve(tc.want, tc.offered, schema, tc.names)
			if got != tc.got || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("got %q %v, want %q %q", got, err, tc.got, tc.err)
			}
		})
	}
}

func TestResolver(t *testing.T) {
	r := toolname.NewResolver(map[string][]harness.Tool{
		"a": {tool("search", "q"), tool("open", "path")},
		"b": {tool("search", "q"), tool("open", "file")},
	}, nil)
	offered := []harness.Tool{tool("open", "file"), tool("mcp_a_search", "q"), tool("search", "q")}
	for _, tc := range []struct {
		name, offered, server, tool string
		ok                          bool
	}{
		{"by its properties", "open", "b", "open", true},
		{"by its prefix", "mcp_a_search", "a", "search", true},
		{"what is left", "search", "b", "search", true},
		{"unknown", "close", "", "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, tl, ok := r.Of(tc.offered, offered)
			if s != tc.server || tl != tc.tool || ok != tc.ok {
				t.Errorf("got %q %q %v", s, tl, ok)
			}
		})
	}
	if _, _, ok := r.Of("search", []harness.Tool{tool("search", "q")}); ok {
		t.Error("one name for two tools is resolved")
	}
}
