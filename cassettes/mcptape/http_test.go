// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/cassettes/mcptape"
	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/shape"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

const bearer = "tape-bearer-Zq7Xv2Lm9Rt4Kp8Ws3"

// world is a server with an answer of each kind: plain, a stream with
// progress, one for which it asks the client, and an error.
func world(description string) mockmcp.Script {
	text := func(s string) func(*mockmcp.Call) (*mockmcp.Answer, error) {
		return func(*mockmcp.Call) (*mockmcp.Answer, error) { return &mockmcp.Answer{Text: s}, nil }
	}
	add := mockmcp.Tool{Name: "add", Description: description, Results: []mockmcp.Result{{Answer: func(c *mockmcp.Call) (*mockmcp.Answer, error) {
		return &mockmcp.Answer{Text: string(c.Args)}, nil
	}}}}
	return mockmcp.Script{
		Name: "world", Protocol: mockmcp.Protocol{Auth: &mockmcp.Auth{Token: bearer}, ListChanged: true},
		Tools: []mockmcp.Tool{
			add,
			{Name: "slow", Results: []mockmcp.Result{{Before: []mockmcp.Step{mockmcp.Progress{Value: 1, Times: 3}}, Answer: text("done")}}},
			{Name: "where", Results: []mockmcp.Result{{Before: []mockmcp.Step{mockmcp.Ask{mockmcp.ListRoots()}}, Answer: text("here")}}},
			{Name: "tell", Results: []mockmcp.Result{{Before: []mockmcp.Step{mockmcp.Notify{Method: "notifications/tools/list_changed"}}, Answer: text("told")}}},
			{Name: "no", Results: []mockmcp.Result{{Answer: func(*mockmcp.Call) (*mockmcp.Answer, error) {
				return &mockmcp.Answer{RPCError: &jsonrpc.Error{Code: -32050, Message: "quota"}}, nil
			}}}},
		},
	}
}

// visit is what a client does, and all that it hears.
func visit(t *testing.T, server harness.Server, era mcppool.Era, args string) []string {
	t.Helper()
	var mu sync.Mutex
	var heard, told []string
	calls, changed := 0, make(chan struct{})
	s, err := mcppool.Open(t.Context(), server, &mcppool.Options{
		Era: era, CallTimeout: 10 * time.Second,
		Roots: func(context.Context, json.RawMessage) (json.RawMessage, error) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, "asked for roots")
			return json.RawMessage(`{"roots":[{"uri":"file:///work"}]}`), nil
		},
		Notified: func(_, method string, params json.RawMessage) {
			mu.Lock()
			defer mu.Unlock()
			if method == "notifications/tools/list_changed" {
				method = fmt.Sprintf("during call %d: %s", calls, method)
				defer close(changed)
			}
			// The token is the client's own, and the subscription too.
			told = append(told, method+" "+regexp.MustCompile(`"(progressToken|io.modelcontextprotocol/subscriptionId)":[^,}]+`).ReplaceAllString(string(params), `"id":0`))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	heard = append(heard, s.ProtocolVersion())
	tools, warnings, err := s.Tools(t.Context())
	heard = append(heard, fmt.Sprint(len(tools), warnings, err))
	for _, tool := range []string{"add", "slow", "add", "where", "no", "tell"} {
		mu.Lock()
		calls++
		mu.Unlock()
		r, err := s.Call(t.Context(), tool, json.RawMessage(args))
		if err != nil {
			heard = append(heard, tool+": "+err.Error())
			continue
		}
		heard = append(heard, tool+": "+r.Text+string(r.Raw))
	}
	select {
	case <-changed: // on another stream than the answer
	case <-time.After(10 * time.Second):
	}
	mu.Lock()
	defer mu.Unlock()
	// What comes on another stream may come before or after.
	slices.Sort(told)
	return append(heard, told...)
}

// recordHTTP records a server while f is at it.
func recordHTTP(t *testing.T, target string, header http.Header, opts *mcptape.RecordOptions, f func(url string)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "http.tape")
	o := mcptape.RecordOptions{LookupEnv: noCI}
	if opts != nil {
		o = *opts
		o.LookupEnv = noCI
	}
	rec, err := mcptape.NewRecorder(path, &o)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(rec.Handler(u, header))
	f(proxy.URL + u.Path)
	proxy.Close()
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// serveTape serves a tape over HTTP. Nothing may be left of it.
func serveTape(t *testing.T, path string, opts *mcptape.Options, f func(url string)) *mcptape.Tape {
	t.Helper()
	tape := open(t, path, opts)
	server := httptest.NewServer(tape.Handler())
	f(server.URL + "/mcp")
	server.CloseClientConnections()
	if err := tape.Close(); err != nil {
		t.Error(err)
	}
	server.Close()
	return tape
}

// TestHTTP records a visit over HTTP, and makes it again at the tape, over HTTP
// and over stdio: the client hears the same.
func TestHTTP(t *testing.T) {
	for _, era := range []mcppool.Era{mcppool.EraLegacy, mcppool.EraModern, mcppool.EraAuto} {
		t.Run(cmp.Or(string(era), "auto"), func(t *testing.T) {
			mock := mockmcp.NewServer(t, world("Adds."))
			auth := http.Header{"Authorization": {"Bearer " + bearer}}
			var want []string
			path := recordHTTP(t, mock.URL+"?key=Zq7Xv2Lm9Rt4", auth, nil, func(url string) {
				want = visit(t, harness.Server{Name: "world", URL: url}, era, `{"a":1}`)
			})
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range []string{bearer, "Zq7Xv2Lm9Rt4", "mcp-session-", "127.0.0.1"} {
				if bytes.Contains(data, []byte(secret)) {
					t.Errorf("%q is on the tape:\n%s", secret, data)
				}
			}
			var got []string
			tape := serveTape(t, path, nil, func(url string) {
				got = visit(t, harness.Server{Name: "world", URL: url}, era, `{ "a": 1 }`)
			})
			if d := diff.Diff(want, got); d != "" {
				t.Errorf("over HTTP (-want +got):\n%s\n%s", d, data)
			}
			if !tape.OverHTTP() {
				t.Error("OverHTTP() = false")
			}
			tape = open(t, path, nil)
			got = visit(t, harness.Server{Name: "world", Dial: tape.Dial}, era, `{"a":1}`)
			if err := tape.Close(); err != nil {
				t.Error(err)
			}
			if d := diff.Diff(want, got); d != "" {
				t.Errorf("over stdio (-want +got):\n%s\n%s", d, data)
			}
		})
	}
}

// TestStdioTapeOverHTTP serves a tape of a pipe over HTTP.
func TestStdioTapeOverHTTP(t *testing.T) {
	for _, era := range []mcppool.Era{mcppool.EraLegacy, mcppool.EraModern} {
		t.Run(string(era), func(t *testing.T) {
			mock, err := mockmcp.New(world("Adds."), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer mock.Close()
			path := filepath.Join(t.TempDir(), "pipe.tape")
			rec, err := mcptape.NewRecorder(path, &mcptape.RecordOptions{LookupEnv: noCI})
			if err != nil {
				t.Fatal(err)
			}
			want := visit(t, harness.Server{Name: "world", Dial: rec.Dial(mock.Dial)}, era, `{"a":1}`)
			if err := rec.Close(); err != nil {
				t.Fatal(err)
			}
			var got []string
			serveTape(t, path, nil, func(url string) {
				got = visit(t, harness.Server{Name: "world", URL: url}, era, `{"a":1}`)
			})
			if d := diff.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestVerifyHTTP holds a new build against a tape, at its URL.
func TestVerifyHTTP(t *testing.T) {
	for _, era := range []mcppool.Era{mcppool.EraLegacy, mcppool.EraModern} {
		t.Run(string(era), func(t *testing.T) {
			mock := mockmcp.NewServer(t, world("Adds."))
			headers := map[string]string{"Authorization": "Bearer " + bearer}
			path := recordHTTP(t, mock.URL, http.Header{"authorization": {headers["Authorization"]}}, nil, func(url string) {
				visit(t, harness.Server{Name: "world", URL: url}, era, `{"a":1}`)
			})
			rec, err := mcptape.Read(path)
			if err != nil {
				t.Fatal(err)
			}
			found, err := mcptape.Verify(t.Context(), rec, harness.Server{URL: mock.URL, Headers: headers}, nil)
			if err != nil || len(found) > 0 {
				t.Errorf("the same server: %v, %v", found, err)
			}
			changed := world("Adds up.")
			changed.Tools = changed.Tools[:4]
			other := mockmcp.NewServer(ignoring{t}, changed) // what it has not is asked for
			found, err = mcptape.Verify(t.Context(), rec, harness.Server{URL: other.URL, Headers: headers}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range found {
				if d.Tier != shape.Minor {
					got = append(got, d.String())
				}
			}
			want := []string{"breaking: tool no: is gone", "risky: tool add: description: has changed"}
			for _, w := range want {
				if !slices.Contains(got, w) {
					t.Errorf("no %q in\n%s", w, strings.Join(got, "\n"))
				}
			}
			if _, err := mcptape.Verify(t.Context(), rec, harness.Server{URL: "http://127.0.0.1:1/mcp"}, nil); err == nil || !strings.Contains(err.Error(), "connection refused") {
				t.Errorf("a server that is not there: %v", err)
			}
			moved := httptest.NewServer(http.RedirectHandler(mock.URL, http.StatusTemporaryRedirect))
			defer moved.Close()
			found, err = mcptape.Verify(t.Context(), rec, harness.Server{URL: moved.URL, Headers: headers}, nil)
			if err == nil || !strings.Contains(err.Error(), "it redirects to "+mock.URL+", another server") || len(found) > 0 {
				t.Errorf("a server that is elsewhere: %v, %v", found, err)
			}
		})
	}
}

// ignoring is a test that a mock's misses do not fail.
type ignoring struct{ *testing.T }

func (ignoring) Errorf(string, ...any) {}

// TestParallelClients records two clients at a time, and replays them in the
// other order.
func TestParallelClients(t *testing.T) {
	for _, era := range []mcppool.Era{mcppool.EraLegacy, mcppool.EraModern} {
		t.Run(string(era), func(t *testing.T) {
			mock := mockmcp.NewServer(t, world("Adds."))
			both := func(url string, order ...int) []string {
				var sessions []*mcppool.Session
				for range 2 {
					s, err := mcppool.Open(t.Context(), harness.Server{Name: "world", URL: url}, &mcppool.Options{Era: era})
					if err != nil {
						t.Fatal(err)
					}
					defer s.Close()
					sessions = append(sessions, s)
				}
				var wg sync.WaitGroup
				texts := make([]string, 2)
				for i, s := range sessions {
					wg.Go(func() {
						for n := range 5 {
							r, err := s.Call(t.Context(), "add", json.RawMessage(fmt.Sprintf(`{"client":%d,"n":%d}`, order[i], n)))
							if err != nil {
								t.Error(err)
								return
							}
							texts[order[i]] += r.Text
						}
					})
				}
				wg.Wait()
				return texts
			}
			var want, got []string
			path := recordHTTP(t, mock.URL, http.Header{"Authorization": {"Bearer " + bearer}}, nil, func(url string) { want = both(url, 0, 1) })
			serveTape(t, path, nil, func(url string) { got = both(url, 1, 0) })
			if d := diff.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
