// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package toolname_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/toolname"
)

func TestFit(t *testing.T) {
	long := strings.Repeat("x", 70)
	for _, tc := range []struct{ name, in, want string }{
		{"valid", "build_model-2", "build_model-2"},
		{"dot", "gemflux.build_model", "gemflux_build_model"},
		{"other characters", "a b/ü", "a_b__"},
		{"empty", "", "_e3b0c442"},
		{"exactly 64", long[:64], long[:64]},
		{"exactly 64, with a dot", long[:63] + ".", long[:63] + "_"},
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
		{"a prefix of clients before the bare name", "g.build", []harness.Tool{tool("build", "id"), tool("mcp_g_build", "id")}, nil, "mcp_g_build", ""},
		{"a prefix and the bare name", "g.build", []harness.Tool{tool("build", "id"), tool("g_build", "id")}, nil, "", `could be any of "g_build", "build": say which under names`},
		{"__ and the bare name", "g.build", []harness.Tool{tool("build", "id"), tool("g__build", "id")}, nil, "", `could be any of "g__build", "build"`},
		{"a dot and the bare name", "g.build", []harness.Tool{tool("build", "id"), tool("g.build", "id")}, nil, "", `could be any of "g.build", "build"`},
		{"mcp as a server and the bare name", "mcp.build", []harness.Tool{tool("build", "id"), tool("mcp_build", "id")}, nil, "", `could be any of "mcp_build", "build"`},
		{"a prefix and the bare name, by names", "g.build", []harness.Tool{tool("build", "id"), tool("g_build", "id")}, map[string]string{"g.build": "build"}, "build", ""},
		{"two prefixes", "g.build", []harness.Tool{tool("mcp_g_build", "id"), tool("g_build", "id")}, nil, "", `could be any of "mcp_g_build", "g_build"`},
		{"names", "g.build", []harness.Tool{tool("build", "id"), tool("make", "other")}, map[string]string{"g.build": "make"}, "make", ""},
		{"names, not offered", "g.build", []harness.Tool{tool("build", "id")}, map[string]string{"g.build": "make"}, "", `tool "make" is not offered; offered: build`},
		{"other properties", "g.build", []harness.Tool{tool("build", "id", "x")}, nil, "", `"build" has other properties (id x, not id); offered: build`},
		{"other properties with a prefix", "g.build", []harness.Tool{tool("g_build", "x"), tool("build", "id")}, nil, "build", ""},
		{"nothing offered", "g.build", nil, nil, "", "the request offers no tools"},
		{"offered name", "make", []harness.Tool{tool("make")}, nil, "make", ""},
		{"offered name is not", "make", []harness.Tool{tool("build")}, nil, "", `tool "make" is not offered; offered: build`},
		{"server__", "g.build", []harness.Tool{tool("g__build", "id")}, nil, "g__build", ""},
		{"server-", "g.build", []harness.Tool{tool("g-build", "id")}, nil, "g-build", ""},
		{"server/", "g.build", []harness.Tool{tool("g/build", "id")}, nil, "g/build", ""},
		{"a style that is not known", "g.build", []harness.Tool{tool("other"), tool("ext_g:build", "id")}, nil, "", `tool "g.build" is not offered; if "ext_g:build" is it, say names: "ext_{server}:{tool}" in the description of the subject, or names: {g.build: ext_g:build} in the file; offered: other, ext_g:build`},
		{"the tool first", "weather.get_sky", []harness.Tool{tool("get_sky_of_weather", "id")}, nil, "", `if "get_sky_of_weather" is it, say names: "{tool}_of_{server}" in`},
		{"the tool between", "weather.get_weather", []harness.Tool{tool("use_get_weather_of_weather", "id")}, nil, "", `if "use_get_weather_of_weather" is it, say names: "use_{tool}_of_{server}" in`},
		{"written otherwise", "my-weather.get_sky", []harness.Tool{tool("myWeatherGetSky", "id")}, nil, "", `is not offered; if "myWeatherGetSky" is it, say names: {my-weather.get_sky: myWeatherGetSky} in the file; offered`},
		{"of another server", "g.build", []harness.Tool{tool("h:build", "id")}, nil, "", `tool "g.build" is not offered; offered: h:build`},
		{"plain, mcp__", "get_build", []harness.Tool{tool("mcp__my_g__get_build")}, nil, "mcp__my_g__get_build", ""},
		{"plain, mcp_", "get_build", []harness.Tool{tool("mcp_g_get_build"), tool("other")}, nil, "mcp_g_get_build", ""},
		{"plain, server__", "build", []harness.Tool{tool("g__build")}, nil, "g__build", ""},
		{"plain, server.", "build", []harness.Tool{tool("g.build")}, nil, "g.build", ""},
		{"plain, exact before a prefix", "build", []harness.Tool{tool("g__build"), tool("build")}, nil, "build", ""},
		{"plain, two servers", "build", []harness.Tool{tool("g__build"), tool("h__build")}, nil, "", `could be any of "g__build", "h__build"`},
		{"plain, part of a name", "build", []harness.Tool{tool("get_build")}, nil, "", `tool "build" is not offered; "get_build" may be meant: write its server, a dot and build; offered: get_build`},
		{"plain, part of a name with mcp_", "build", []harness.Tool{tool("mcp_g_get_build")}, nil, "", `"mcp_g_get_build" may be meant`},
		{"plain, no part of a name", "build", []harness.Tool{tool("rebuild"), tool("_build"), tool("__build")}, nil, "", `tool "build" is not offered`},
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

// TestClash: names that are equal once they are fitted lead to the tool that
// they name, or to none.
func TestClash(t *testing.T) {
	for _, order := range [][]string{{"search-a", "search_a", "search.a"}, {"search.a", "search_a", "search-a"}, {"search.a", "search/a", "search a"}} {
		for _, style := range []toolname.Style{toolname.Bare, toolname.Underscore, toolname.Dotted} {
			table := toolname.NewTable(style)
			var listed, offered []harness.Tool
			names := make(map[string]string)
			for _, name := range order {
				as, err := table.Add("raw", name)
				if err != nil {
					t.Fatal(err)
				}
				names[name] = as
				listed, offered = append(listed, tool(name)), append(offered, tool(as))
			}
			r := toolname.NewResolver(map[string][]harness.Tool{"raw": listed}, nil)
			for _, name := range order {
				got, err := r.Name("raw."+name, offered)
				if err == nil && got != names[name] {
					t.Errorf("%s, style %s: %q leads to %q, want %q", order, style, name, got, names[name])
				}
				server, back, ok := r.Of(names[name], offered)
				if err == nil && (!ok || server != "raw" || back != name) || err != nil && ok && back != name {
					t.Errorf("%s, style %s: %q is of %q %v", order, style, names[name], back, ok)
				}
				if err != nil && strings.Contains(name, "-") {
					t.Errorf("%s, style %s: %q: %v", order, style, name, err)
				}
			}
		}
	}
	// A client that keeps one of two apart from nothing.
	two := map[string][]harness.Tool{"raw": {tool("search.a"), tool("search_a")}}
	r := toolname.NewResolver(two, nil)
	_, err := r.Name("raw.search.a", []harness.Tool{tool("raw_search_a")})
	if err == nil || !strings.Contains(err.Error(), `"raw_search_a" is the name of raw.search_a too`) {
		t.Errorf("a name of two tools: %v", err)
	}
	if got, err := r.Name("raw.search_a", []harness.Tool{tool("raw_search_a")}); got != "raw_search_a" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	named := toolname.NewResolver(two, map[string]string{"raw.search.a": "raw_search_a"})
	if got, err := named.Name("raw.search.a", []harness.Tool{tool("raw_search_a")}); got != "raw_search_a" || err != nil {
		t.Errorf("by names: %q %v", got, err)
	}
}

// TestServerInName: a tool whose name begins with its server's is not taken
// for another one, in whichever style a client names them.
func TestServerInName(t *testing.T) {
	join := func(before, between string) func(server, tool string) string {
		return func(server, tool string) string { return before + server + between + tool }
	}
	styles := map[string]func(server, tool string) string{
		"bare": toolname.Bare.Name, "mcp_": toolname.Underscore.Name, "dotted": toolname.Dotted.Name,
		"mcp__": join("mcp__", "__"), "_": join("", "_"), "__": join("", "__"), "-": join("", "-"), "/": join("", "/"),
	}
	for _, servers := range []map[string][]string{
		{"github": {"github_search", "search"}},
		{"github": {"search", "github_search"}},
		{"kit": {"kit_delete", "delete", "kit_kit_delete"}},
		{"raw": {"raw_t", "t"}},
		{"raw": {"mcp__raw__t", "t"}},
		{"raw": {"mcp_raw_t", "t"}},
		{"raw": {"raw.t", "t"}},
		{"raw": {"raw__t", "raw-t", "t"}},
		{"raw": {"raw/t", "t", "open"}},
		{"a": {"b_c"}, "a_b": {"c"}},
		{"get": {"weather"}, "x": {"get_weather"}},
		{"mcp": {"a_t"}, "a": {"t"}},
	} {
		for style, as := range styles {
			listed := map[string][]harness.Tool{}
			var offered []harness.Tool
			count := map[string]int{}
			for server, names := range servers {
				for _, name := range names {
					listed[server] = append(listed[server], tool(name))
					offered = append(offered, tool(toolname.Fit(as(server, name))))
					count[toolname.Fit(as(server, name))]++
				}
			}
			r := toolname.NewResolver(listed, nil)
			for server, names := range servers {
				for _, name := range names {
					want := toolname.Fit(as(server, name))
					got, err := r.Name(server+"."+name, offered)
					if count[want] > 1 { // no client can keep the two apart by it
						if err == nil && got != want {
							t.Errorf("%v, style %s: %s.%s leads to %q", servers, style, server, name, got)
						}
						continue
					}
					if got != want || err != nil {
						t.Errorf("%v, style %s: %s.%s leads to %q %v, want %q", servers, style, server, name, got, err, want)
					}
					if s, back, ok := r.Of(want, offered); !ok || s != server || back != name {
						t.Errorf("%v, style %s: %q is of %q %q %v", servers, style, want, s, back, ok)
					}
				}
			}
		}
	}
}

// TestOnlyTheOther: where the tool that is meant is not offered, another whose
// name could be made of it is no stand-in.
func TestOnlyTheOther(t *testing.T) {
	r := toolname.NewResolver(map[string][]harness.Tool{"raw": {tool("raw_t"), tool("raw__t"), tool("t")}}, nil)
	for _, tc := range []struct{ want, offered, got, err string }{
		{"raw.t", "raw_t", "", `"raw_t" is the name of raw.raw_t`},
		{"raw.raw_t", "raw_t", "raw_t", ""},
		{"t", "raw__t", "", `"raw__t" is the name of raw.raw__t`},
		{"raw__t", "raw__t", "raw__t", ""},
	} {
		got, err := r.Name(tc.want, []harness.Tool{tool(tc.offered)})
		if got != tc.got || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s, with %s offered: %q %v, want %q %q", tc.want, tc.offered, got, err, tc.got, tc.err)
		}
	}
	r = toolname.NewResolver(map[string][]harness.Tool{"a": {tool("b_c")}, "a_b": {tool("c")}}, nil)
	if got, err := r.Name("a.b_c", []harness.Tool{tool("mcp_a_b_c")}); err == nil {
		t.Errorf("one name of two tools leads to %q", got)
	}
	named := toolname.NewResolver(map[string][]harness.Tool{"raw": {tool("raw_t"), tool("t")}}, map[string]string{"raw.raw_t": "raw_t"})
	if got, err := named.Name("raw.t", []harness.Tool{tool("raw_t")}); err == nil {
		t.Errorf("a name that names gives to another leads to %q", got)
	}
}

// TestResolverForgets offers other tools to one resolver: a later request may
// offer fewer, or others under the same names.
func TestResolverForgets(t *testing.T) {
	city, place := json.RawMessage(`{"properties":{"city":{}}}`), json.RawMessage(`{"properties":{"place":{}}}`)
	r := toolname.NewResolver(map[string][]harness.Tool{"kit": {{Name: "search", Schema: city}}}, nil)
	for _, step := range []struct {
		name    string
		offered []harness.Tool
		want    string
	}{
		{"as it is", []harness.Tool{{Name: "search", Schema: city}}, "search"},
		{"the same again", []harness.Tool{{Name: "search", Schema: city}}, "search"},
		{"another schema", []harness.Tool{{Name: "search", Schema: place}}, ""},
		{"another name", []harness.Tool{{Name: "kit_search", Schema: city}}, "kit_search"},
		{"none", nil, ""},
	} {
		got, err := r.Offered("kit", "search", step.offered)
		if got != step.want || (err != nil) != (step.want == "") {
			t.Errorf("%s: got %q, %v, want %q", step.name, got, err, step.want)
		}
	}
}
