// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/harness/tools"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/toolname"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// mock opens a session with a mock server whose tools all echo their
// arguments.
func mock(t *testing.T, name string, tools ...mockmcp.Tool) *mcppool.Session {
	t.Helper()
	for i := range tools {
		if tools[i].Handler == nil {
			tools[i].Handler = func(_ context.Context, c *mockmcp.Call) (*mockmcp.Answer, error) {
				return &mockmcp.Answer{Text: name + "." + c.Tool + string(c.Args)}, nil
			}
		}
	}
	server, err := mockmcp.New(mockmcp.Script{Name: name, Tools: tools}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return open(t, name, server.Dial, nil)
}

func open(t *testing.T, name string, dial func(context.Context) (io.ReadWriteCloser, error), opts *mcppool.Options) *mcppool.Session {
	t.Helper()
	s, err := mcppool.Open(t.Context(), harness.Server{Name: name, Dial: dial}, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// scripted opens a session with a server that lists and answers whatever the
// test says, true to the byte.
func scripted(t *testing.T, name string, list func() string, result string, opts *mcppool.Options) *mcppool.Session {
	t.Helper()
	return open(t, name, func(context.Context) (io.ReadWriteCloser, error) {
		ours, theirs := mcpwire.Pipe()
		go func() {
			defer ours.Close()
			r, w := mcpwire.NewReader(ours, nil), mcpwire.NewWriter(ours)
			for {
				m, err := r.Next()
				if err != nil {
					return
				}
				frame := ""
				switch m.Method {
				case "server/discover":
					frame = `"error":{"code":-32601,"message":"no"}`
				case "initialize":
					frame = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"p","version":"1"}}`
				case "tools/list":
					frame = `"result":{"tools":` + list() + `}`
				case "tools/call":
					frame = result
				}
				if frame != "" && m.IsRequest() {
					if m.Method == "tools/call" {
						_ = w.Write([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))
					}
					_ = w.Write([]byte(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,` + frame + `}`))
				}
			}
		}()
		return theirs, nil
	}, opts)
}

func newRouter(t *testing.T, opts *tools.Options, sessions ...*mcppool.Session) *tools.Router {
	t.Helper()
	r, err := tools.NewRouter(t.Context(), sessions, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func names(t *testing.T, r *tools.Router) []string {
	t.Helper()
	offered, err := r.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range offered {
		names = append(names, tool.Name)
	}
	return names
}

func TestRouterRoutesByName(t *testing.T) {
	long := strings.Repeat("long", 20)
	for _, tt := range []struct {
		name   string
		style  toolname.Style
		second string // the tool of the second server
		want   []string
	}{
		{"bare", "", "there", []string{"here", "there"}},
		{"bare, fitted", toolname.Bare, "th.ere", []string{"here", "th_ere"}},
		{"prefixed, same name", toolname.Underscore, "here", []string{"mcp_a_here", "mcp_b_here"}},
		{"dotted, same name", toolname.Dotted, "here", []string{"a_here", "b_here"}},
		{"long", toolname.Underscore, long, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRouter(t, &tools.Options{Prefix: tt.style}, mock(t, "a", mockmcp.Tool{Name: "here"}), mock(t, "b", mockmcp.Tool{Name: tt.second}))
			got := names(t, r)
			if diff := cmp.Diff(tt.want, got); tt.want != nil && diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
			for i, server := range []string{"a", "b"} {
				if !toolname.Valid(got[i]) {
					t.Errorf("OpenAI refuses the name %q", got[i])
				}
				tool := []string{"here", tt.second}[i]
				result, err := r.Call(t.Context(), got[i], ` {"n": 1.10} `)
				if err != nil || result.Text != server+"."+tool+`{"n":1.10}` || result.IsError || result.Server != server || result.Tool != tool {
					t.Errorf("Call(%q) = %+v, %v", got[i], result, err)
				}
			}
		})
	}
}

func TestRouterRefusesANameOfTwoServers(t *testing.T) {
	sessions := []*mcppool.Session{mock(t, "a", mockmcp.Tool{Name: "here"}), mock(t, "b", mockmcp.Tool{Name: "here"})}
	_, err := tools.NewRouter(t.Context(), sessions, nil)
	if err == nil || !strings.Contains(err.Error(), `"here"`) || !strings.Contains(err.Error(), `"a" and "b"`) {
		t.Errorf("NewRouter() = %v", err)
	}
}

func TestRouterOffersWhatOpenAIAccepts(t *testing.T) {
	fine := `{"$schema":"x","type":"object","properties":{"a":{"type":"array","items":{}},"b":{"anyOf":[{"type":"string"}]}},"additionalProperties":false}`
	list := `[{"name":"fine","description":"d","inputSchema":` + fine + `},` +
		`{"name":"no properties","inputSchema":{"type":"object","additionalProperties":false}},` +
		`{"name":"none"},{"name":"null","inputSchema":null},{"name":"bool","inputSchema":true},{"name":"untyped","inputSchema":{}},` +
		`{"name":"types","inputSchema":{"type":["object"]}},{"name":"union","inputSchema":{"type":"object","anyOf":[{}]}},` +
		`{"name":"items","inputSchema":{"type":"object","properties":{"x":{"type":"object","properties":{"y":{"type":"array"}}}}}},` +
		`{"name":"list","inputSchema":{"type":"object","properties":[]}},` +
		`{"name":"nulls","title":null,"description":null,"inputSchema":{"type":"object","title":null,"properties":{"a":null,"b":{"type":"string","enum":null,"default":null},"c":{"type":"array","items":{"const":null,"minimum":null}},"d":{"anyOf":[{"type":"string","format":null},{"type":"null"}]}},"required":null,"$defs":null},"annotations":null},` +
		`{"name":"null properties","inputSchema":{"type":"object","properties":null}},` +
		`{"name":"null items","inputSchema":{"type":"object","properties":{"a":{"type":"array","items":null}}}},` +
		`{"name":"odd type","inputSchema":{"type":"object","properties":{"a":{"type":"datetime"}}}},` +
		`{"name":"odd required","inputSchema":{"type":"object","properties":{"a":{}},"required":"a"}},` +
		`{"name":"odd enum","inputSchema":{"type":"object","properties":{"a":{"enum":"x"}}}},` +
		`{"name":"odd property","inputSchema":{"type":"object","properties":{"a":"string"}}},` +
		`{"name":"task","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}]`
	r := newRouter(t, nil, scripted(t, "s", func() string { return list }, "", nil))
	got, err := r.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []harness.Tool{
		{Name: "fine", Description: "d", Schema: raw(fine)},
		{Name: "no_properties", Schema: raw(`{"type":"object","additionalProperties":false,"properties":{}}`)},
		{Name: "nulls", Schema: raw(`{"type":"object","properties":{"a":{},"b":{"type":"string","default":null},"c":{"type":"array","items":{"const":null}},"d":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`)},
		{Name: "null_properties", Schema: raw(`{"type":"object","properties":{}}`)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	wantWarnings := []string{
		`server "s": tool "none" is not offered: it has no input schema`,
		`server "s": tool "null" is not offered: it has no input schema`,
		`server "s": tool "bool" is not offered: its input schema must be an object, not true`,
		`server "s": tool "untyped" is not offered: its input schema does not say type: object at its root, but null`,
		`server "s": tool "types" is not offered: its input schema does not say type: object at its root, but ["object"]`,
		`server "s": tool "union" is not offered: its input schema has anyOf at its root, which OpenAI refuses`,
		`server "s": tool "items" is not offered: its input schema has an array without items, which OpenAI refuses: /properties/x/properties/y`,
		`server "s": tool "list" is not offered: the properties of its input schema must be an object, not []`,
		`server "s": tool "null items" is not offered: its input schema has an array without items, which OpenAI refuses: /properties/a`,
		`server "s": tool "odd type" is not offered: OpenAI refuses its input schema: In context=('properties', 'a'), 'datetime' is not valid under any of the given schemas.`,
		`server "s": tool "odd required" is not offered: OpenAI refuses its input schema: In context=(), 'required' is not an array of strings.`,
		`server "s": tool "odd enum" is not offered: OpenAI refuses its input schema: In context=('properties', 'a'), 'enum' is not an array.`,
		`server "s": tool "odd property" is not offered: OpenAI refuses its input schema: In context=('properties', 'a'), schema is not of type 'object', 'boolean'.`,
		`server "s": tool "task" is not offered: it can only be run as a task`,
	}
	if diff := cmp.Diff(wantWarnings, r.Warnings()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestRouterListsAnewAfterAChange(t *testing.T) {
	lists := 0
	s := scripted(t, "s", func() string {
		lists++
		return fmt.Sprintf(`[{"name":"t%d","inputSchema":{"type":"object"}}]`, lists)
	}, `"result":{"content":[{"type":"text","text":"ok"}]}`, nil) // each call says that the list changed
	r := newRouter(t, nil, s)
	for i := 1; i <= 3; i++ {
		want := fmt.Sprintf("t%d", i)
		for range 2 { // asking twice lists once
			if diff := cmp.Diff([]string{want}, names(t, r)); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
		}
		if result, err := r.Call(t.Context(), want, ""); err != nil || result.Text != "ok" {
			t.Errorf("Call() = %+v, %v", result, err)
		}
	}
	if lists != 3 {
		t.Errorf("listed %d times", lists)
	}
}

// What goes wrong with a call becomes a text that the model can read.
func TestRouterFailuresAreResults(t *testing.T) {
	r := newRouter(t, nil,
		mock(t, "a", mockmcp.Tool{Name: "echo", Input: raw(`{"type":"object","properties":{"n":{"type":"number"}}}`)}),
		mock(t, "b", mockmcp.Tool{Name: "rpc", Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) {
			return &mockmcp.Answer{RPCError: &jsonrpc.Error{Code: -32050, Message: "quota"}}, nil
		}}))
	for _, tt := range []struct{ name, tool, args, want string }{
		{"unknown tool", "ecko", "{}", `Error: there is no tool "ecko"; there are: echo, rpc`},
		{"broken JSON", "echo", `{"n": 1`, `Error: the arguments are not valid JSON (unexpected end of JSON input): {"n": 1`},
		{"no object", "echo", `[1]`, `Error: the arguments must be a JSON object, not [1]`},
		{"null", "echo", `null`, `Error: the arguments must be a JSON object, not null`},
		{"protocol error", "rpc", `{}`, `Error: calling "rpc" on server "b": MCP error -32050: quota`},
		{"against the schema", "echo", `{"n":"x"}`, `Error: MCP error -32602: Input validation error: Invalid arguments for tool echo: n: expected number, got string "x"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := r.Call(t.Context(), tt.tool, tt.args)
			if err != nil || !got.IsError || got.Text != tt.want {
				t.Errorf("Call() = %+v, %v\nwant %s", got, err, tt.want)
			}
			if hasErr := tt.name != "against the schema"; (got.Err != nil) != hasErr {
				t.Errorf("Err = %v", got.Err)
			}
		})
	}
	var e *mcppool.Error
	if got, _ := r.Call(t.Context(), "rpc", "{}"); !errors.As(got.Err, &e) || e.RPC.Code != -32050 {
		t.Errorf("Err = %v", got.Err)
	}
	if got, err := r.Call(t.Context(), "echo", " "); err != nil || got.Text != "a.echo{}" {
		t.Errorf("empty arguments: %+v, %v", got, err)
	}
}

func TestRouterTimeoutAndCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRouter(t, nil, scripted(t, "s", func() string { return `[{"name":"hang","inputSchema":{"type":"object"}}]` }, "",
			&mcppool.Options{CallTimeout: time.Minute}))
		got, err := r.Call(t.Context(), "hang", "{}")
		if err != nil || got.Text != `Error: calling "hang" on server "s": no answer within 1m0s` {
			t.Errorf("Call() = %+v, %v", got, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if got, err := r.Call(ctx, "hang", "{}"); !errors.Is(err, context.DeadlineExceeded) || !got.IsError {
			t.Errorf("with a context that ends: %+v, %v", got, err)
		}
		r.Close()
	})
}

func TestResultText(t *testing.T) {
	for _, tt := range []struct{ name, result, want string }{
		{"text", `{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, "a\nb"},
		{"nothing", `{"content":[]}`, ""},
		{"structured alone", `{"structuredContent":{"b":1.10,"a":"<"}}`, `{"b":1.10,"a":"<"}`},
		{"structured, one member of it as text", `{"content":[{"type":"text","text":"hi"}],"structuredContent":{"content":"hi"}}`, "hi"},
		{"structured, and a summary", `{"content":[{"type":"text","text":"2 projects"}],"structuredContent":{"projects":[{"id":"p-1"},{"id":"p-2"}]}}`, "2 projects\n{\"projects\":[{\"id\":\"p-1\"},{\"id\":\"p-2\"}]}"},
		{"structured, and the same as JSON", `{"content":[{"type":"text","text":"{\n \"b\": 1.0,\n \"a\": [2]}"}],"structuredContent":{"a":[2],"b":1}}`, "{\n \"b\": 1.0,\n \"a\": [2]}"},
		{"structured, and the same behind a line", `{"content":[{"type":"text","text":"Found [1]:\n{\"a\": 1}"}],"structuredContent":{"a":1}}`, "Found [1]:\n{\"a\": 1}"},
		{"structured, and a part of it as JSON", `{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1,"b":2}}`, "{\"a\":1}\n{\"a\":1,\"b\":2}"},
		{"structured, its items one by one", `{"content":[{"type":"text","text":"{\"a\":1}"},{"type":"text","text":"x"}],"structuredContent":{"result":[{"a":1},"x"]}}`, "{\"a\":1}\nx"},
		{"structured, not all of its items", `{"content":[{"type":"text","text":"1"}],"structuredContent":{"result":[1,2]}}`, "1\n{\"result\":[1,2]}"},
		{"structured, beside an image", `{"content":[{"type":"image","mimeType":"image/png","data":"AAAAAA=="}],"structuredContent":{"a":1}}`, "[image, image/png, 4 bytes]\n{\"a\":1}"},
		{"structured and empty", `{"content":[{"type":"text","text":"nothing found"}],"structuredContent":{}}`, "nothing found"},
		{"structured in a failure", `{"content":[{"type":"text","text":"refused"}],"structuredContent":{"code":"RATE"},"isError":true}`, "Error: refused\n{\"code\":\"RATE\"}"},
		{"blob of text", `{"content":[{"type":"resource","resource":{"uri":"repo://a","mimeType":"text/plain; charset=utf-8","blob":"Y2xhc3MgQSB7fQ=="}}]}`, "[resource repo://a]\nclass A {}"},
		{"blob of JSON with a byte order mark", `{"content":[{"type":"resource","resource":{"uri":"repo://a","mimeType":"application/vnd.x+json","blob":"77u/e30="}}]}`, "[resource repo://a]\n{}"},
		{"blob in the alphabet of URLs", `{"content":[{"type":"resource","resource":{"uri":"repo://a","mimeType":"application/x-yaml","blob":"YTogPz8_Pg"}}]}`, "[resource repo://a]\na: ???>"},
		{"blob of text without a type", `{"content":[{"type":"resource","resource":{"uri":"repo://a","blob":"YQpi"}}]}`, "[resource repo://a]\na\nb"},
		{"blob without a type", `{"content":[{"type":"resource","resource":{"uri":"repo://a","blob":"AAEC"}}]}`, "[resource repo://a, of unknown type, 3 bytes]"},
		{"blob of text that is none", `{"content":[{"type":"resource","resource":{"uri":"repo://a","mimeType":"text/plain","blob":"/////w=="}}]}`, "[resource repo://a, text/plain, 4 bytes]"},
		{"blob of a drawing", `{"content":[{"type":"resource","resource":{"uri":"repo://a","mimeType":"image/svg+xml","blob":"PHN2Zy8+"}}]}`, "[resource repo://a, image/svg+xml, 6 bytes]"},
		{"failure", `{"content":[{"type":"text","text":"no such city"}],"isError":true}`, "Error: no such city"},
		{"failure without a word", `{"content":[],"isError":true}`, "Error: "},
		{"image", `{"content":[{"type":"image","mimeType":"image/png","data":"AAAAAA=="}]}`, "[image, image/png, 4 bytes]"},
		{"audio", `{"content":[{"type":"audio","data":"AAAA"}]}`, "[audio, of unknown type, 3 bytes]"},
		{"link", `{"content":[{"type":"resource_link","name":"n","uri":"file:///a","mimeType":"text/plain"}]}`, `[resource link "n", text/plain: file:///a]`},
		{"text resource", `{"content":[{"type":"resource","resource":{"uri":"file:///a","text":"hi"}}]}`, "[resource file:///a]\nhi"},
		{"binary resource", `{"content":[{"type":"resource","resource":{"uri":"file:///a","mimeType":"x/y","blob":"AAAA"}}]}`, "[resource file:///a, x/y, 3 bytes]"},
		{"unknown", `{"content":[{"type":"hologram","x":1.10}]}`, `[content of type "hologram": {"type":"hologram","x":1.10}]`},
		{"no block", `{"content":["x"]}`, `[unreadable content: "x"]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRouter(t, nil, scripted(t, "s", func() string { return `[{"name":"t","inputSchema":{"type":"object"}}]` }, `"result":`+tt.result, nil))
			got, err := r.Call(t.Context(), "t", "{}")
			if err != nil || got.Text != tt.want || string(got.Raw) != tt.result {
				t.Errorf("Call() = %+v, %v\nwant %q", got, err, tt.want)
			}
		})
	}
}

func Example() {
	server, err := mockmcp.New(mockmcp.Script{Name: "weather", Tools: []mockmcp.Tool{{
		Name: "get_weather",
		Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) {
			return &mockmcp.Answer{Text: "sunny"}, nil
		},
	}}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()

	ctx := context.Background()
	session, err := mcppool.Open(ctx, harness.Server{Name: "weather", Dial: server.Dial}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	router, err := tools.NewRouter(ctx, []*mcppool.Session{session}, &tools.Options{Prefix: toolname.Underscore})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer router.Close()
	for _, call := range []string{"mcp_weather_get_weather", "get_wether"} {
		result, err := router.Call(ctx, call, `{"location":"Paris"}`)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(result.Text)
	}
	// Output:
	// sunny
	// Error: there is no tool "get_wether"; there are: mcp_weather_get_weather
}
