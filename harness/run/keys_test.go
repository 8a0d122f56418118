// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/mockllm"
)

// TestKeysOfVendors: each dialect sends the key of its own vendor, and none
// where that is not set; the key of OpenAI is for all where it is the only one.
func TestKeysOfVendors(t *testing.T) {
	const openai, anthropic, google = "sk-openai-1", "sk-anthropic-2", "google-3"
	all := map[string]string{"OPENAI_API_KEY": openai, "ANTHROPIC_API_KEY": anthropic, "GEMINI_API_KEY": google, "GOOGLE_API_KEY": "another"}
	for _, tt := range []struct {
		name      string
		variables map[string]string
		want      [4]string // chat, responses, messages, gemini
	}{
		{"all", all, [4]string{openai, openai, anthropic, google}},
		{"OpenAI's alone", map[string]string{"OPENAI_API_KEY": openai}, [4]string{openai, openai, openai, openai}},
		{"Anthropic's alone", map[string]string{"ANTHROPIC_API_KEY": anthropic}, [4]string{"", "", anthropic, ""}},
		{"Google's other name", map[string]string{"GOOGLE_API_KEY": google, "OPENAI_API_KEY": openai}, [4]string{openai, openai, "", google}},
		{"none", nil, [4]string{}},
	} {
		for i, dialect := range []string{"chat", "responses", "messages", "gemini"} {
			for _, byQuery := range []bool{false, dialect == "gemini"} {
				t.Run(fmt.Sprintf("%s, %s, in the query %v", tt.name, dialect, byQuery), func(t *testing.T) {
					mock := newMock(mockllm.Script{Replies: []mockllm.Reply{{Say: "Sunny."}}}, nil)
					sent := map[string]string{}
					upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						for _, name := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key"} {
							if v := r.Header.Get(name); v != "" {
								sent[name] = strings.TrimPrefix(v, "Bearer ")
							}
						}
						if v := r.URL.Query().Get("key"); v != "" {
							sent["key"] = v
						}
						mock.ServeHTTP(w, r)
					}))
					defer upstream.Close()
					transport := &http.Transport{}
					defer transport.CloseIdleConnections()
					opts := run.Options{
						Mode: harness.ModeLive, BaseURL: upstream.URL + "/v1", Entries: run.Models("m"), Transport: transport,
						Subject: speaker{dialect: dialect, byQuery: byQuery}, Out: t.TempDir(),
					}
					opts.KeysFrom(func(name string) string { return tt.variables[name] })
					run.AllowLive(&opts)
					list := write(t, "scenario: keys\nservers: {kit: {tools: [{name: note, description: Notes., input: {type: object, properties: {text: {type: string}}}, results: [{text: ok}]}]}}\nturns:\n  - user: Hi "+anthropic+" "+google+"\n    expect: [{answer: {contains: Sunny}}]\n")
					wants(t, one(t, list, opts), harness.OutcomePassed, "")
					place := []string{"Authorization", "Authorization", "X-Api-Key", "X-Goog-Api-Key"}[i]
					if byQuery {
						place = "key"
					}
					want := map[string]string{}
					if tt.want[i] != "" {
						want[place] = tt.want[i]
					}
					if d := cmp.Diff(want, sent); d != "" {
						t.Errorf("keys (-want +got):\n%s", d)
					}
					for path, text := range files(t, opts.Out) {
						for _, key := range tt.variables {
							if key != "another" && strings.Contains(text, key) {
								t.Errorf("%s has the key %s", path, key)
							}
						}
					}
				})
			}
		}
	}
	mounted := run.Options{}
	mounted.KeysFrom(func(name string) string { return name + "\r\n" })
	if mounted.APIKey != "OPENAI_API_KEY" || mounted.AnthropicKey != "ANTHROPIC_API_KEY" || mounted.GoogleKey != "GEMINI_API_KEY" {
		t.Errorf("a line end after a key counts: %+v", mounted)
	}
	given := run.Options{APIKey: "given"}
	given.KeysFrom(func(name string) string { return all[name] })
	if given.APIKey != "given" || given.AnthropicKey != "" || given.GoogleKey != "" {
		t.Errorf("a key that is set gives way: %+v", given)
	}
}
