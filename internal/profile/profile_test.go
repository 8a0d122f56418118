// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package profile

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func lookup(t *testing.T, name string) *Profile {
	t.Helper()
	p, ok := Lookup(name)
	if !ok {
		t.Fatalf("no profile %q", name)
	}
	return p
}

func TestNames(t *testing.T) {
	names := Names()
	for _, name := range names {
		if p := lookup(t, name); p.About == "" {
			t.Errorf("%s says nothing about itself", name)
		}
	}
	if sorted := slices.Compact(slices.Sorted(slices.Values(names))); len(sorted) != len(names) {
		t.Errorf("names occur twice: %q", names)
	}
	if p := lookup(t, ""); p.Name != "openai" {
		t.Errorf("the profile without a name is %q", p.Name)
	}
}

func TestResolve(t *testing.T) {
	for _, tt := range []struct {
		name, profile string
		dialect       Dialect
		model         string
		want          string // internal id, echo; or the status
	}{
		{"alias", "argo-proxy-3.3", Chat, "argo:gpt-4o", "gpt4o gpt-4o-2024-11-20"},
		{"any case", "argo-proxy-3.3", Chat, "ARGO:GPT-4o", "gpt4o gpt-4o-2024-11-20"},
		{"slash", "argo-proxy-3.3", Chat, "argo/gpt-4o", "gpt4o gpt-4o-2024-11-20"},
		{"no prefix", "argo-proxy-2.8.9", Chat, "gpt-4o", "gpt4o gpt4o"},
		{"internal id", "argo-proxy-3.1", Chat, "claudeopus45", "claudeopus45 claude-opus-4-5-20251101"},
		{"other order", "argo-proxy-3.2", Chat, "argo:claude-4.5-opus", "claudeopus45 claude-opus-4-5-20251101"},
		{"punctuation and date", "argo-proxy-3.0", Chat, "claude-opus-4-5-20251101", "claudeopus45 claude-opus-4-5-20251101"},
		{"v2 does not know dates", "argo-proxy-2.8.9", Chat, "claude-opus-4-5-20251101", "gpt4o gpt4o"},
		{"unknown falls back", "argo-proxy-3.1", Chat, "argo:nope", "gpt5nano gpt-5-nano-2025-08-07"},
		{"unknown falls back since 3.2", "argo-proxy-3.3", Chat, "argo:nope", "gpt54nano gpt-5.4-nano"},
		{"unknown message is passed on", "argo-proxy-3.2", Messages, "argo:nope", "argo:nope argo:nope"},
		{"unknown message is refused", "argo-proxy-3.3", Messages, "argo:nope", "404"},
		{"unknown embedding falls back", "argo-proxy-3.2", Embeddings, "argo:nope", "v3small text-embedding-3-small"},
		{"embeddings by alias only", "argo-proxy-3.3", Embeddings, "v3small", "404"},
		{"no model", "argo-proxy-3.2", Chat, "", "400"},
		{"no model in v2", "argo-proxy-2.8.9", Chat, "", "gpt4o gpt4o"},
		{"gateway", "argo-gateway", Chat, "gpt4o", "gpt4o gpt-4o-2024-11-20"},
		{"gateway does not know aliases", "argo-gateway", Chat, "argo:gpt-4o-mini", "400"},
		{"native", "openai", Chat, "gpt-4o", "gpt-4o gpt-4o"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, a := lookup(t, tt.profile).Resolve(tt.dialect, tt.model, tt.model != "")
			got := m.Internal + " " + m.Echo
			if a != nil {
				got = http.StatusText(a.Status)
				tt.want = map[string]string{"400": "Bad Request", "404": "Not Found"}[tt.want]
			}
			if got != tt.want {
				t.Errorf("%s resolves %q to %q, want %q", tt.profile, tt.model, got, tt.want)
			}
		})
	}
}

func TestRoute(t *testing.T) {
	for _, tt := range []struct {
		profile, method, path string
		dialect               Dialect
		status                int
		allow                 string
	}{
		{"argo-proxy-3.3", "POST", "/v1/chat/completions", Chat, 0, ""},
		{"argo-proxy-3.3", "GET", "/v1/chat/completions", "", 405, "OPTIONS, POST"},
		{"argo-proxy-3.3", "GET", "/nosuch", "", 405, "OPTIONS"},
		{"argo-proxy-3.3", "OPTIONS", "/nosuch", "", 204, ""},
		{"argo-proxy-3.3", "HEAD", "/v1/models", "", 405, "GET, OPTIONS"},
		{"argo-proxy-3.2", "HEAD", "/v1/models", "", 200, ""},
		{"argo-proxy-3.2", "GET", "/nosuch", "", 404, ""},
		{"argo-proxy-3.2", "GET", "/v1/chat/completions", "", 405, "POST"},
		{"argo-proxy-3.2", "POST", "/v1/messages", Messages, 0, ""},
		{"argo-proxy-2.8.9", "POST", "/v1/messages", "", 404, ""},
		{"argo-proxy-2.8.9", "GET", "/health", "", 200, ""},
		{"argo-proxy-2.8.9", "GET", "/version", "", 200, ""},
		{"argo-gateway", "POST", "/argoapi/api/v1/resource/chat/", Old, 0, ""},
		{"argo-gateway", "POST", "/api/v1/resource/streamchat/", OldStream, 0, ""},
		{"argo-gateway", "POST", "/argoapi/v1/messages", Messages, 0, ""},
		{"argo-gateway", "GET", "/argoapi/v1/models", "", 200, ""},
		{"argo-gateway", "GET", "/rehearse/journal", "", 0, ""},
		{"openai", "GET", "/v1/models", "", 0, ""},
	} {
		t.Run(tt.profile+" "+tt.method+" "+tt.path, func(t *testing.T) {
			d, a := lookup(t, tt.profile).Route(tt.method, tt.path)
			status, allow := 0, ""
			if a != nil {
				status, allow = a.Status, a.Header.Get("Allow")
			}
			if d != tt.dialect || status != tt.status || allow != tt.allow {
				t.Errorf("got dialect %q, status %d, allow %q", d, status, allow)
			}
		})
	}
}

func TestFail(t *testing.T) {
	gpt, claude := Model{Family: GPT, Echo: "gpt4o"}, Model{Family: Claude}
	for _, tt := range []struct {
		name, profile string
		ask           Ask
		gone          Behind
		status        int
		body          string // that the answer, or what is put into the stream, has
	}{
		{"string error on a stream", "argo-proxy-3.2", Ask{Dialect: Chat, Model: gpt, Stream: true}, Behind{Trouble: Status, Status: 429, Body: []byte(`{"a":"b"}`)}, 429, `{"error": "Upstream API error: 429 {\"a\":\"b\"}"}`},
		{"verbatim", "argo-proxy-3.3", Ask{Dialect: Chat, Model: gpt, Stream: true}, Behind{Trouble: Status, Status: 429, Body: []byte(`{"a":"b"}`)}, 429, `{"a":"b"}`},
		{"status bug", "argo-proxy-2.8.1", Ask{Dialect: Chat, Model: gpt}, Behind{Trouble: Status, Status: 400, Body: []byte(`{}`)}, 400, `"model": "gpt4o"`},
		{"closed", "argo-proxy-3.0", Ask{Dialect: Chat, Model: gpt}, Behind{Trouble: Closed}, 500, "Internal error: Server disconnected"},
		{"closed, Claude", "argo-proxy-3.0", Ask{Dialect: Messages, Model: claude}, Behind{Trouble: Closed}, 500, `{"type": "error", "error": {"type": "invalid_request_error", "message": "Internal error: Server disconnected"}}`},
		{"closed, converted", "argo-proxy-3.0", Ask{Dialect: Messages, Model: gpt}, Behind{Trouble: Closed}, 502, `{"type": "error", "error": {"type": "invalid_request_error", "message": "Upstream request failed: Server disconnected"}}`},
		{"closed, Gemini's words", "argo-proxy-3.2", Ask{Dialect: Generate, Model: claude}, Behind{Trouble: Closed}, 502, `{"error": {"code": 502, "message": "Upstream request failed: Server disconnected", "status": "INVALID_ARGUMENT"}}`},
		{"error event of a plain call", "argo-proxy-3.1", Ask{Dialect: Chat, Model: claude}, Behind{Trouble: ErrorEvent, Early: true}, 502, badShapeOther},
		{"stopped, responses", "argo-proxy-3.3", Ask{Dialect: Responses, Model: gpt, Stream: true}, Behind{Trouble: ErrorChunk}, 0, "event: response.failed\n"},
		{"a call in no list", "argo-proxy-2.8.9", Ask{Dialect: Chat, Model: gpt, Tools: true}, Behind{Trouble: BareCall}, 500, "'str' object has no attribute 'get'"},
		{"no response, as an object", "argo-proxy-3.2", Ask{Dialect: Generate, Model: gpt}, Behind{Trouble: NoResponse}, 200, `"candidates": []`},
		{"cut", "argo-proxy-3.1", Ask{Dialect: Chat, Model: gpt, Stream: true}, Behind{Trouble: CutClean}, 0, "HTTP/1.1 502 Bad Gateway"},
		{"cut looks whole", "argo-proxy-3.3", Ask{Dialect: Chat, Model: gpt, Stream: true}, Behind{Trouble: CutClean}, 0, "data: [DONE]"},
		{"notice", "argo-proxy-3.3", Ask{Dialect: Chat, Model: gpt}, Behind{Trouble: Notice}, 403, "permission_denied"},
		{"notice, hidden", "argo-proxy-2.8.9", Ask{Dialect: Chat, Model: gpt}, Behind{Trouble: Notice}, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, tw := lookup(t, tt.profile).Fail(tt.ask, tt.gone)
			status, body := 0, ""
			switch {
			case a != nil:
				status, body = a.Status, string(a.Body)
			case tw != nil:
				body = tw.Raw + strings.Join(tw.Events, "")
			}
			if status != tt.status || !strings.Contains(body, tt.body) || tt.body == "" && body != "" {
				t.Errorf("status %d, %q; want %d and %q", status, body, tt.status, tt.body)
			}
		})
	}
}

// TestRows checks that every row of every profile is what it says it is.
func TestRows(t *testing.T) {
	for _, p := range all() {
		for _, f := range p.failures {
			if f.answer != nil && strings.HasPrefix(f.answer.body, "{") {
				body := strings.NewReplacer("$text", "x", "$gateway", "1", "$model", "m", "$status", "400", "$why", "y").Replace(f.answer.body)
				if !json.Valid([]byte(body)) {
					t.Errorf("%s, %s: not JSON: %s", p.Name, f.on, body)
				}
			}
			if f.rewrite != nil && f.rewrite.Chunk != "" && !json.Valid([]byte(f.rewrite.Chunk)) {
				t.Errorf("%s, %s: not JSON: %s", p.Name, f.on, f.rewrite.Chunk)
			}
		}
		if p.server == nil {
			continue
		}
		for path, methods := range p.server.routes {
			for method := range strings.FieldsSeq(methods) {
				d, a := p.Route(method, path)
				if page := path == "/v1" || path == "/v1/docs"; page && a != nil {
					continue // [app.py]
				}
				if a != nil && (a.Status != http.StatusOK || !json.Valid(a.Body)) {
					t.Errorf("%s: %s %s answers %d %s", p.Name, method, path, a.Status, a.Body)
				}
				if d == "" && a == nil {
					t.Errorf("%s: %s %s is answered by nobody", p.Name, method, path)
				}
			}
		}
		for _, d := range []Dialect{Chat, Completions, Messages, Responses, Generate, Old, OldStream} {
			for _, family := range []Family{GPT, Claude, Gemini} {
				for _, stream := range []bool{false, true} {
					a := Ask{Dialect: d, Model: Model{Family: family}, Stream: stream, Text: true}
					s := p.Style(a)
					if s == nil {
						t.Fatalf("%s has no style for %v", p.Name, a)
					}
					for object, keys := range s.Keys {
						for _, k := range keys {
							if _, value, ok := strings.Cut(k, "="); ok && !json.Valid([]byte(value)) {
								t.Errorf("%s, %s: %q is not JSON", p.Name, object, value)
							}
						}
					}
				}
			}
		}
	}
}

// TestRefresh: each release says, when it has read the list of models anew, how
// many there were before and how many there are, in its own words.
func TestRefresh(t *testing.T) {
	type counts struct {
		Models  int `json:"unique_models"`
		Aliases int `json:"total_aliases"`
	}
	for profile, word := range map[string]string{"argo-proxy-2.8.9": "ok", "argo-proxy-3.2": "ok", "argo-proxy-3.3": "refreshed"} {
		p := lookup(t, profile)
		_, a := p.Route("POST", "/refresh")
		var got struct {
			Status                           string
			Before, After, Previous, Current counts
		}
		if err := json.Unmarshal(a.Body, &got); err != nil {
			t.Fatalf("%s: %v: %s", profile, err, a.Body)
		}
		want, was, is := counts{Models: len(p.names.rows())}, got.Previous, got.Current
		for _, r := range p.names.rows() {
			want.Aliases += len(r.aliases())
		}
		if word == "refreshed" {
			was, is = got.Before, got.After
		}
		if got.Status != word || was != want || is != want {
			t.Errorf("%s: %s, want %q and %+v twice", profile, a.Body, word, want)
		}
	}
}

// TestRequestIDs: answers of the routes of models have an x-request-id, but for
// those that the release gives before it knows the route.
func TestRequestIDs(t *testing.T) {
	p := lookup(t, "argo-proxy-3.3")
	_, unsupported := p.Route("POST", "/v1beta/models/argo:gpt-4o:countTokens")
	for name, tt := range map[string]struct {
		answer *Answer
		want   bool
	}{"a method that there is not": {unsupported, false}, "a request that is refused": {p.Refuse(Messages, http.StatusBadRequest, "no"), true}} {
		if _, got := map[string][]string(tt.answer.Header)[requestID]; got != tt.want {
			t.Errorf("%s: %v, want an id: %v", name, tt.answer.Header, tt.want)
		}
	}
}

func TestModelList(t *testing.T) {
	_, a := lookup(t, "argo-proxy-3.3").Route("GET", "/v1/models")
	var list struct {
		Data []struct {
			ID       string
			Internal string `json:"internal_name"`
			Owner    string `json:"owned_by"`
		}
	}
	if err := json.Unmarshal(a.Body, &list); err != nil {
		t.Fatal(err)
	}
	owners := map[string]string{}
	for _, r := range list.Data {
		owners[r.ID] = r.Internal + " " + r.Owner
	}
	want := map[string]string{
		"argo:gpt-4o": "gpt4o openai", "argo:gpt-o3-mini": "gpto3mini openai", "argo:o3-mini": "gpto3mini openai",
		"argo:claude-opus-4.5": "claudeopus45 anthropic", "argo:claude-4.5-opus": "claudeopus45 anthropic",
		"argo:gemini-2.5-pro": "gemini25pro google", "argo:text-embedding-3-small": "v3small openai",
	}
	for id, w := range want {
		if diff := cmp.Diff(w, owners[id]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
}

// TestReleases checks which profile stands for a release, and what tells it
// from its neighbours.
func TestReleases(t *testing.T) {
	for _, tt := range []struct{ release, profile, unknown, owner string }{
		{"2.8.5", "argo-proxy-2.8.9", "gpt4o", "argo"},
		{"3.0.2", "argo-proxy-3.0", "gpt4o", "argo"},
		{"3.1.0", "argo-proxy-3.1.0", "gpt4o", "argo"},
		{"3.1.1", "argo-proxy-3.1", "gpt5nano", "argo"},
		{"3.1.2", "argo-proxy-3.1", "gpt5nano", "argo"},
		{"3.2.1", "argo-proxy-3.2.2", "gpt54nano", "argo"},
		{"3.2.3", "argo-proxy-3.2", "gpt54nano", "openai"},
		{"3.3.0", "argo-proxy-3.3", "gpt54nano", "openai"},
		{"2.8.0", "", "", ""},
		{"3.4.0", "", "", ""},
		{"3.3.x", "", "", ""},
		{"3.3.1.1", "", "", ""},
	} {
		p, ok := Lookup("argo-proxy-" + tt.release)
		if !ok {
			if tt.profile != "" {
				t.Errorf("%s has no profile", tt.release)
			}
			continue
		}
		m, refused := p.Resolve(Chat, "argo:no-such-model", true)
		if p.Name != tt.profile || refused != nil || m.Internal != tt.unknown || p.server.owner("gpt4o") != tt.owner {
			t.Errorf("%s is %s, unknown models are %q, gpt4o belongs to %s", tt.release, p.Name, m.Internal, p.server.owner("gpt4o"))
		}
	}
}

// TestPage checks that the page about profiles has what they say about
// themselves.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/profiles.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range Names() {
		if row := "| `" + name + "` | " + lookup(t, name).About + " |\n"; !strings.Contains(string(page), row) {
			t.Errorf("docs/profiles.md lacks the row\n%s", row)
		}
	}
}
