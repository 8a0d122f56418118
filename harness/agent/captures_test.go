// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/harness/tools"
	"github.com/rehearse-dev/rehearse/internal/key"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

func captures(t *testing.T, name string) string {
	t.Helper()
	data := os.Getenv("REHEARSE_DATA")
	if data == "" {
		t.Skip("REHEARSE_DATA is not set: it names the folder with recorded data")
	}
	return filepath.Join(data, name)
}

// asked is a recorded request of a chat, as far as an agent is made after it.
type asked struct {
	Model    string
	Messages []struct {
		Role, Content string
		ToolCalls     []struct {
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	Tools []struct {
		Function struct {
			Name, Description string
			Parameters        json.RawMessage
		}
	}
}

// text is what the message of a role says.
func (a *asked) text(role string) string {
	for _, m := range a.Messages {
		if m.Role == role {
			return m.Content
		}
	}
	return ""
}

// recordedTools are the tools that a recorded request offers; each call is
// answered with the result that is recorded.
type recordedTools struct {
	*asked
	calls []string
}

func (r *recordedTools) Tools(context.Context) ([]harness.Tool, error) {
	var list []harness.Tool
	for _, t := range r.asked.Tools {
		list = append(list, harness.Tool{Name: t.Function.Name, Description: t.Function.Description, Schema: t.Function.Parameters})
	}
	return list, nil
}

func (r *recordedTools) Call(_ context.Context, name, args string) (tools.Result, error) {
	r.calls = append(r.calls, name+args)
	return tools.Result{Server: "recorded", Text: r.text("tool")}, nil
}

// spy keeps the bodies of requests on their way.
type spy struct {
	http.RoundTripper
	bodies [][]byte
}

func (s *spy) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	s.bodies = append(s.bodies, body)
	req = req.Clone(req.Context())
	req.Body = io.NopCloser(bytes.NewReader(body))
	return s.RoundTripper.RoundTrip(req)
}

// played lets our agent have the recorded conversation with a cassette in
// place of the endpoint at base, and returns its calls, its answer and its requests.
func played(t *testing.T, path, base string, opts *cassettes.Options, recorded *asked, stream bool) (calls []string, answer string, requests [][]byte) {
	t.Helper()
	rec, err := cassettes.Open(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	wire, box := &spy{RoundTripper: rec}, &recordedTools{asked: recorded}
	a := agent.New(agent.Config{
		Model:  model.NewOpenAI(model.Config{BaseURL: base, Transport: wire}),
		Name:   recorded.Model,
		System: recorded.text("system"), Tools: box, Stream: stream,
	})
	for event, err := range a.Conversation().Send(t.Context(), recorded.text("user")) {
		if err != nil {
			t.Error(err)
			break
		}
		if a, ok := event.(agent.Answer); ok {
			answer = a.Text
		}
	}
	if err := rec.Close(); err != nil {
		t.Error(err)
	}
	return box.calls, answer, wire.bodies
}

// imported reads a capture of the Argo Gateway.
func imported(t *testing.T, name, label string) *vcr.Interaction {
	t.Helper()
	f, err := vcr.Read(captures(t, filepath.Join("argo-captures", name)))
	if err != nil {
		t.Fatal(err)
	}
	n := slices.IndexFunc(f.Interactions, func(i *vcr.Interaction) bool { return i.Meta.Label == name+"/"+label })
	if n < 0 {
		t.Fatalf("there is no capture %s of %s", label, name)
	}
	return f.Interactions[n]
}

// TestArgoCaptures drives the agent with what the Argo Gateway itself
// answered: it calls the tool that the model asked for and ends with the
// model's text.
//
// The data folder has no whole conversation. The capture with a tool holds
// the second request of one, but forced another call as its answer; the text
// is that of another capture. So the two stand in one cassette, in order, and
// what they do not share does not count. That our agent's conversation is the
// captured one all the same is checked against the captured request, of which
// nothing counts less than the defaults but what our agent does not send.
func TestArgoCaptures(t *testing.T) {
	for _, target := range []string{"argo-openai", "argo-openai-stream"} {
		t.Run(target, func(t *testing.T) {
			call, text := imported(t, "openai-tool-followup", target), imported(t, "anthropic-messages-basic-text", target)
			path := filepath.Join(t.TempDir(), "argo.yaml")
			if err := vcr.WriteFile(path, &vcr.File{Interactions: []*vcr.Interaction{call, text}}, 0); err != nil {
				t.Fatal(err)
			}
			var recorded asked
			if err := json.Unmarshal(call.Request.Body, &recorded); err != nil {
				t.Fatal(err)
			}
			unsent := []string{"tool_choice", "reasoning_effort", "max_completion_tokens"}
			calls, answer, requests := played(t, path, "https://apps.inside.anl.gov/argoapi/v1", &cassettes.Options{
				Order: cassettes.Strict,
				Match: &key.Rules{Also: append(slices.Clone(unsent), "messages", "tools", "model", "max_tokens", "stream")},
			}, &recorded, strings.HasSuffix(target, "-stream"))
			if diff := cmp.Diff([]string{`get_weather{"location":"Chicago","unit":"celsius"}`}, calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if answer != "Hello! How can I help you today?" {
				t.Errorf("the answer is %q", answer)
			}
			if len(requests) != 2 {
				t.Fatalf("%d requests, want 2", len(requests))
			}
			// The capture tells neither that a stream was asked for, nor
			// whether a message without a text has a null one.
			rules := &key.Rules{Also: append(slices.Clone(unsent), "stream", "messages.1.content")}
			was := key.Of(call.Request.Method, call.Request.URL, call.Request.Header, call.Request.Body, rules)
			is := key.Of(http.MethodPost, call.Request.URL, call.Request.Header, requests[1], rules)
			if diff := key.Diff(was, is); was.ID != is.ID {
				t.Errorf("the second request is not the captured one: %v", diff)
			}
		})
	}
}

// TestArgoProxyCaptures has whole conversations, which releases of argo-proxy
// carried for three families of models: each request of our agent must be the
// recorded one. 2.8.9 broke on the tools of Gemini's models, so that there is
// no conversation.
func TestArgoProxyCaptures(t *testing.T) {
	releases, err := filepath.Glob(filepath.Join(captures(t, "argo-proxy"), "*.*.*"))
	if err != nil || len(releases) < 5 {
		t.Fatalf("found %d releases, want 5 (%v)", len(releases), err)
	}
	for _, dir := range releases {
		for _, family := range []string{"gpt", "claude", "gemini"} {
			for _, stream := range []string{"", "-stream"} {
				t.Run(filepath.Base(dir)+"/"+family+stream, func(t *testing.T) {
					if family == "gemini" && filepath.Base(dir) == "2.8.9" {
						broken(t, filepath.Join(dir, "tool-"+family+stream+".txt"))
						return
					}
					first := proxied(t, filepath.Join(dir, "tool-"+family+stream+".txt"))
					second := proxied(t, filepath.Join(dir, "roundtrip2-"+family+stream+".txt"))
					path := filepath.Join(t.TempDir(), "argo.yaml")
					if err := vcr.WriteFile(path, &vcr.File{Interactions: []*vcr.Interaction{first, second}}, 0); err != nil {
						t.Fatal(err)
					}
					var recorded asked
					if err := json.Unmarshal(second.Request.Body, &recorded); err != nil {
						t.Fatal(err)
					}
					// The recorded client said "auto" in its first request where
					// it wanted no stream, which it did not say, and did not
					// send back what the model had said beside its call.
					rules := &key.Rules{Also: []string{"messages.2.content"}}
					if stream == "" {
						rules.Also = append(rules.Also, "stream", "tool_choice")
					}
					calls, answer, _ := played(t, path, "http://127.0.0.1:1/v1", &cassettes.Options{Match: rules}, &recorded, stream != "")
					if diff := cmp.Diff([]string{`search{"q": "ATP"}`}, calls); diff != "" {
						t.Errorf("calls (-want +got):\n%s", diff)
					}
					if want := "The molecular mass of glucose is 180.16 g/mol, and that is that."; answer != want {
						t.Errorf("the answer is %q, want %q", answer, want)
					}
				})
			}
		}
	}
}

// broken makes sure that an exchange which is left out is one that failed.
func broken(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(text, []byte("\nHTTP/1.1 500 Internal Server Error\n")) {
		t.Errorf("%s holds no failure, so its conversation is to be had (%v)", path, err)
	}
}

// unchunk joins the chunks of a body whose lines end without CR.
func unchunk(text []byte) (body []byte, err error) {
	for {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		n, err := strconv.ParseUint(string(line), 16, 31)
		if err != nil || n == 0 {
			return body, err
		}
		if len(rest) <= int(n) || rest[n] != '\n' {
			return nil, fmt.Errorf("a chunk of %d bytes does not end there", n)
		}
		body, text = append(body, rest[:n]...), rest[n+1:]
	}
}

// proxied reads the client's side of a recorded exchange.
func proxied(t *testing.T, path string) *vcr.Interaction {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	section := func(name string) *bufio.Reader {
		_, text, ok := bytes.Cut(text, []byte("### "+name))
		if !ok {
			t.Fatalf("%s has no section %q", path, name)
		}
		_, text, _ = bytes.Cut(text, []byte("\n"))
		text, _, _ = bytes.Cut(text, []byte("\n### "))
		return bufio.NewReader(bytes.NewReader(text))
	}
	req, err := http.ReadRequest(section("client -> proxy"))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	asked, err := io.ReadAll(req.Body)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	answer := section("proxy -> client")
	resp, err := http.ReadResponse(answer, req)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	body, err := io.ReadAll(answer) // what is left: nobody has read the body
	if err == nil && len(resp.TransferEncoding) > 0 {
		body, err = unchunk(body)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return &vcr.Interaction{
		Request:  vcr.Request{Method: req.Method, URL: fmt.Sprintf("http://%s%s", req.Host, req.URL), Header: req.Header, Body: asked},
		Response: vcr.Response{Status: resp.Status, Code: resp.StatusCode, Header: resp.Header, Body: body},
		Meta:     vcr.Meta{Outcome: vcr.Complete, Attempt: 1},
	}
}

// TestCassetteMiss: what a cassette cannot answer it cannot answer at a second
// attempt either.
func TestCassetteMiss(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	err := vcr.WriteFile(path, &vcr.File{Interactions: []*vcr.Interaction{{
		Request:  vcr.Request{Method: http.MethodPost, URL: "http://127.0.0.1:1/v1/chat/completions", Body: []byte(`{"model":"m"}`)},
		Response: vcr.Response{Status: "200 OK", Code: 200, Body: []byte("{}")},
	}}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := cassettes.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	a := agent.New(agent.Config{Model: model.NewOpenAI(model.Config{BaseURL: "http://127.0.0.1:1/v1", Transport: rec}), Name: "m"})
	for _, err := range a.Conversation().Send(t.Context(), "Hello") {
		var failed *model.Error
		if errors.As(err, &failed) && failed.Kind == model.KindMiss && failed.Attempts == 1 && strings.Contains(err.Error(), "body.messages: not recorded") {
			return
		}
		if err != nil {
			t.Fatalf("got %v", err)
		}
	}
	t.Error("there is no error")
}
