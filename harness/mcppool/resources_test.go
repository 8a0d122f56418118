// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// offersResources is the answer to initialize of a server with resources.
var offersResources = strings.Replace(initialized, `"tools":`, `"resources":{"subscribe":true},"tools":`, 1)

// An answer that does not hold the contents of a resource is refused in words that
// say what is wrong with it.
func TestContentsOfAResource(t *testing.T) {
	for _, tt := range []struct {
		name, result string
		want         []mcppool.Content
		err          string
	}{
		{"an empty text", `{"contents":[{"uri":"a","text":""}]}`, []mcppool.Content{{URI: "a"}}, ""},
		{"no bytes", `{"contents":[{"uri":"a","blob":""}]}`, []mcppool.Content{{URI: "a", Blob: []byte{}}}, ""},
		{"nothing", `{}`, []mcppool.Content{}, ""},
		{"neither", `{"contents":[{"uri":"a","text":"x"},{"uri":"b"}]}`, nil, `content 2 has neither text nor blob: {"contents":[{"uri":"a","text":"x"},{"uri":"b"}]}`},
		{"no base64", `{"contents":[{"uri":"a","blob":"%"}]}`, nil, "the blob of content 1 is not base64: illegal base64 data at input byte 0"},
		{"no list", `{"contents":7}`, nil, "the answer is not the contents of a resource: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := openPeer(t, legacy(peer{"resources/read": {`{"jsonrpc":"2.0","id":ID,"result":` + tt.result + `}`}}), nil)
			got, err := s.ReadResource(t.Context(), "a")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("ReadResource() (-want +got):\n%s", diff)
			}
			switch {
			case tt.err == "" && err != nil:
				t.Error(err)
			case tt.err != "" && (err == nil || !strings.HasPrefix(err.Error(), `reading "a" of server "p": `+tt.err) || kindOf(t, err).Kind != mcppool.ErrMalformed):
				t.Errorf("got %v, want %s", err, tt.err)
			}
			s.Close()
		})
	}
}

// An answer without a list is an empty one.
func TestListThatIsLeftOut(t *testing.T) {
	s := openPeer(t, legacy(peer{"tools/list": {`{"jsonrpc":"2.0","id":ID,"result":{}}`}}), nil)
	if tools, warnings, err := s.Tools(t.Context()); err != nil || len(tools)+len(warnings) > 0 {
		t.Errorf("Tools() = %v, %q, %v", tools, warnings, err)
	}
	s.Close()
}

// An entry of a list that is no resource is left out with a warning, and the others
// stay.
func TestListsOfResources(t *testing.T) {
	s := openPeer(t, legacy(peer{
		"initialize":               {offersResources},
		"resources/list":           {`{"jsonrpc":"2.0","id":ID,"result":{"resources":[{"name":"b"},7,{"uri":"a","name":"a"}]}}`},
		"resources/templates/list": {`{"jsonrpc":"2.0","id":ID,"result":{"resourceTemplates":[{"uri":"a"},{"uriTemplate":"t/{n}"}]}}`},
	}), nil)
	list, warnings, err := s.Resources(t.Context())
	if err != nil || len(list) != 1 || list[0].URI != "a" || string(list[0].Raw) != `{"uri":"a","name":"a"}` {
		t.Errorf("Resources() = %+v, %v", list, err)
	}
	if len(warnings) != 2 || warnings[0] != `server "p": entry 1 of page 1 of its resources is left out: it has no uri: {"name":"b"}` || !strings.HasPrefix(warnings[1], `server "p": entry 2 of page 1 of its resources is left out: `) {
		t.Errorf("warnings %q", warnings)
	}
	list, warnings, err = s.ResourceTemplates(t.Context())
	if err != nil || len(list) != 1 || list[0].URI != "t/{n}" {
		t.Errorf("ResourceTemplates() = %+v, %v", list, err)
	}
	if diff := cmp.Diff([]string{`server "p": entry 1 of page 1 of its resource templates is left out: it has no uriTemplate: {"uri":"a"}`}, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	s.Close()
}

// A list that is refused is an error, and not an empty one.
func TestListThatIsRefused(t *testing.T) {
	s := openPeer(t, legacy(peer{"initialize": {offersResources}, "resources/list": {discoverRefused}, "tools/list": {discoverRefused}}), nil)
	if list, _, err := s.Resources(t.Context()); err == nil || err.Error() != `listing the resources of server "p": MCP error -32601: Method not found` || list != nil {
		t.Errorf("Resources() = %v, %v", list, err)
	}
	if tools, _, err := s.Tools(t.Context()); err == nil || err.Error() != `listing the tools of server "p": MCP error -32601: Method not found` || tools != nil {
		t.Errorf("Tools() = %v, %v", tools, err)
	}
	s.Close()
}

// A server of the initialize era that is started again is asked for the
// subscriptions that are left; one that refuses them is used all the same, and one
// that has refused a subscription is not asked for it again.
func TestSubscriptionsAfterARestart(t *testing.T) {
	var asked []string // of each connection, which the client waits for
	dial := func(context.Context) (io.ReadWriteCloser, error) {
		asked = append(asked, "connected")
		first := len(asked) == 1
		ours, theirs := mcpwire.Pipe()
		go func() {
			defer ours.Close()
			legacy(peer{
				"initialize": {offersResources}, "resources/subscribe": {"CALL"}, "resources/unsubscribe": {"CALL"}, "tools/call": {"EXIT"},
				"tools/list": {`{"jsonrpc":"2.0","id":ID,"result":{"tools":[]}}`},
			}).serveWith(ours, ours, func(m mcpwire.Message, out io.Writer) {
				asked = append(asked, m.Method+string(m.Params))
				frame := `{"jsonrpc":"2.0","id":ID,"result":{}}`
				if !first || strings.Contains(string(m.Params), "secret") {
					frame = `{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"no"}}`
				}
				_, _ = io.WriteString(out, strings.ReplaceAll(frame, "ID", string(m.ID))+"\n")
			})
		}()
		return theirs, nil
	}
	s := open(t, harness.Server{Dial: dial}, nil)
	for _, uri := range []string{"b", "a", "c"} {
		if err := s.Subscribe(t.Context(), uri); err != nil {
			t.Error(err)
		}
	}
	if err := s.Subscribe(t.Context(), "secret"); err == nil || err.Error() != `subscribing to "secret" of server "p": MCP error -32000: no` {
		t.Errorf("a subscription that is refused: %v", err)
	}
	if err := s.Unsubscribe(t.Context(), "c"); err != nil {
		t.Error(err)
	}
	_, _ = s.Call(t.Context(), "dies", nil)
	if _, _, err := s.Tools(t.Context()); err != nil {
		t.Error(err)
	}
	want := []string{
		"connected", `resources/subscribe{"uri":"b"}`, `resources/subscribe{"uri":"a"}`, `resources/subscribe{"uri":"c"}`, `resources/subscribe{"uri":"secret"}`, `resources/unsubscribe{"uri":"c"}`,
		"connected", `resources/subscribe{"uri":"a"}`, `resources/subscribe{"uri":"b"}`,
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
	want = []string{
		`server "p": disconnected; opened a new one`,
		`server "p": subscribing to "a" again: MCP error -32000: no`, `server "p": subscribing to "b" again: MCP error -32000: no`,
	}
	if diff := cmp.Diff(want, s.Notes()); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	s.Close()
}
