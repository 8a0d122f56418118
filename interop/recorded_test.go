// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// endpoint stands in front of a mock model and notes who asks with which key.
// With zip it answers in gzip whatever it is asked for.
type endpoint struct {
	*httptest.Server
	mu   sync.Mutex
	keys []string
	zip  bool
}

func newEndpoint(t *testing.T, behind http.Handler, zip bool) *endpoint {
	e := &endpoint{zip: zip}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		e.mu.Lock()
		e.keys = append(e.keys, key+r.Header.Get("X-Api-Key"))
		e.mu.Unlock()
		if !zip {
			behind.ServeHTTP(w, r)
			return
		}
		z := gzip.NewWriter(w)
		behind.ServeHTTP(&zipped{w, z}, r)
		z.Close()
	}))
	t.Cleanup(e.Close)
	return e
}

// zipped is a reply in gzip.
type zipped struct {
	http.ResponseWriter
	z *gzip.Writer
}

func (w *zipped) WriteHeader(code int) {
	w.Header().Del("Content-Length")
	w.Header().Set("Content-Encoding", "gzip")
	w.ResponseWriter.WriteHeader(code)
}

func (w *zipped) Write(p []byte) (int, error) { return w.z.Write(p) }

func (w *zipped) Flush() {
	w.z.Flush()
	w.ResponseWriter.(http.Flusher).Flush()
}

// asked returns the keys of the requests so far.
func (e *endpoint) asked() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.keys)
}

// through runs a client behind `rehearse proxy` and returns what the client
// printed, what the proxy did, and the exit code.
func through(t *testing.T, key string, flags, client []string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := command(t, binary, slices.Concat([]string{"proxy"}, flags, []string{"--"}, client)...)
	cmd.Env = append(os.Environ(), "NODE_PATH="+os.Getenv("REHEARSE_NODE_MODULES"), "CI=", "OPENAI_API_KEY="+key, "ANTHROPIC_API_KEY="+key)
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), err.String(), cmd.ProcessState.ExitCode()
}

// TestRecordedClients has official clients record a conversation with two tools
// and replay it when the endpoint is gone. A changed prompt is an error that
// they tell, and do not try again.
func TestRecordedClients(t *testing.T) {
	const (
		question = "What is the weather in Paris, and what time is it there?"
		want     = `{"ran": [{"get_weather": {"location": "Paris"}}, {"get_time": {"zone": "Europe/Paris"}}], "answer": "Sunny ☀, and it is noon."}`
	)
	key := "sk-" + "proj-" + strings.Repeat("Zq7Xv2Lm9Rt4", 4)
	for _, client := range []struct {
		name, path string // path is that of the endpoint's address
		argv       []string
	}{
		{"openai-python", "/v1", []string{".venv/bin/python", "clients/recorded.py"}},
		{"openai-javascript", "/v1", []string{node, "clients/recorded.mjs"}},
		{"anthropic-python", "", []string{".venv/bin/python", "clients/recorded_anthropic.py"}},
	} {
		for _, mode := range []string{"plain", "stream"} {
			for _, coding := range []string{"identity", "gzip"} {
				t.Run(client.name+"/"+mode+"/"+coding, func(t *testing.T) {
					behind, err := url.Parse(strings.TrimSuffix(serve(t, "llm", "clients/agent.yaml").URL, "/v1"))
					if err != nil {
						t.Fatal(err)
					}
					front := httputil.NewSingleHostReverseProxy(behind)
					front.FlushInterval = -1
					e := newEndpoint(t, front, coding == "gzip")
					path := filepath.Join(t.TempDir(), "talk.yaml")
					talk := slices.Concat(client.argv, []string{mode, question})

					out, log, code := through(t, key, []string{"--mode", "record", "--cassette", path, "--upstream", e.URL + client.path}, talk)
					if code != 0 {
						t.Fatalf("recording: exit code %d\n%s%s", code, out, log)
					}
					if diff := cmp.Diff(decode(t, []byte(want)), decode(t, []byte(out))); diff != "" {
						t.Errorf("recording (-want +got):\n%s", diff)
					}
					if diff := cmp.Diff([]string{key, key, key}, e.asked()); diff != "" {
						t.Errorf("keys that the endpoint saw (-want +got):\n%s", diff)
					}
					recorded(t, path, key)
					e.Close()

					out, log, code = through(t, "", []string{"--cassette", path}, talk)
					if code != 0 {
						t.Fatalf("replay: exit code %d\n%s%s", code, out, log)
					}
					if diff := cmp.Diff(decode(t, []byte(want)), decode(t, []byte(out))); diff != "" {
						t.Errorf("replay (-want +got):\n%s", diff)
					}

					out, log, code = through(t, "", []string{"--cassette", path}, slices.Concat(client.argv, []string{mode, "What is the weather?"}))
					saw, _ := decode(t, []byte(out)).(map[string]any)
					text := fmt.Sprint(saw["message"])
					difference := fmt.Sprintf("body.messages[0].content: recorded %q, now %q", question, "What is the weather?")
					if code != 1 || saw["status"] != 422.0 || saw["type"] != "rehearse_miss" || !strings.Contains(text, difference) {
						t.Errorf("miss: exit code %d, want one of %s\n%s%s", code, difference, out, log)
					}
					if n := strings.Count(log, "has no answer for"); n != 1 || !strings.Contains(log, "1 request without an answer") || !strings.Contains(log, difference) {
						t.Errorf("the changed prompt was asked for %d times, want once:\n%s", n, log)
					}
				})
			}
		}
	}
}

// recorded checks that a file has three exchanges, as plain text, and no key.
func recorded(t *testing.T, path, key string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{key, key[3:], base64.StdEncoding.EncodeToString([]byte(key))} {
		if bytes.Contains(data, []byte(form)) {
			t.Errorf("the key is in the file, as %q", form)
		}
	}
	f, err := vcr.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Interactions) != 3 {
		t.Errorf("%d interactions, want 3", len(f.Interactions))
	}
	for n, i := range f.Interactions {
		if i.Meta.Outcome != vcr.Complete || i.Meta.Coding != "" || i.Response.Header.Get("Content-Encoding") != "" {
			t.Errorf("interaction %d: %+v, %v", n+1, i.Meta, i.Response.Header)
		}
		if texts := []string{"get_weather", "get_time", "noon"}; !bytes.Contains(i.Response.Body, []byte(texts[n])) {
			t.Errorf("interaction %d has no %q: %s", n+1, texts[n], i.Response.Body)
		}
	}
	if code, out := rehearse(t, "cassette", "scan", path); code != 0 {
		t.Errorf("scan: %s", out)
	}
}

// TestRecordedLeave has clients leave a stream in its middle, which the endpoint
// learns and the recording keeps: a replay has what came before, and breaks off
// for one that wants more.
func TestRecordedLeave(t *testing.T) {
	for _, client := range []struct {
		name string
		argv []string
	}{
		{"openai-python", []string{".venv/bin/python", "clients/recorded.py"}},
		{"openai-javascript", []string{node, "clients/recorded.mjs"}},
	} {
		t.Run(client.name, func(t *testing.T) {
			left := make(chan struct{})
			e := newEndpoint(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				for _, text := range []string{"one", "two"} {
					fmt.Fprintf(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}]}`+"\n\n", text)
					w.(http.Flusher).Flush()
				}
				<-r.Context().Done() // there is no more, unless the client leaves
				close(left)
			}), false)
			path := filepath.Join(t.TempDir(), "left.yaml")
			leave := func(n string) []string { return slices.Concat(client.argv, []string{"leave", n, "Count."}) }
			want := decode(t, []byte(`{"texts": ["one", "two"], "broke": false}`))

			out, log, code := through(t, "x", []string{"--mode", "record", "--cassette", path, "--upstream", e.URL + "/v1"}, leave("2"))
			if diff := cmp.Diff(want, decode(t, []byte(out))); code != 0 || diff != "" {
				t.Errorf("recording: exit code %d (-want +got):\n%s%s", code, diff, log)
			}
			<-left
			f, err := vcr.Read(path)
			if err != nil {
				t.Fatal(err)
			}
			if len(f.Interactions) != 1 || f.Interactions[0].Meta.Outcome != vcr.ClientClosed {
				t.Errorf("recorded %+v, want one that the client closed", f.Interactions)
			}
			out, log, code = through(t, "", []string{"--cassette", path}, leave("2"))
			if diff := cmp.Diff(want, decode(t, []byte(out))); code != 0 || diff != "" {
				t.Errorf("replay: exit code %d (-want +got):\n%s%s", code, diff, log)
			}
			out, log, code = through(t, "", []string{"--cassette", path}, leave("3"))
			saw, _ := decode(t, []byte(out)).(map[string]any)
			if code != 0 || saw["broke"] != true || fmt.Sprint(saw["texts"]) != "[one two]" {
				t.Errorf("replay to one that wants more: exit code %d: %s%s", code, out, log)
			}
		})
	}
}

// TestFromVCRPy takes a recording of vcrpy over, and shows what vcrpy does by
// itself: it writes the key, and gives the recorded answer to another question.
func TestFromVCRPy(t *testing.T) {
	const key, question = "sk-" + "a-key-that-nobody-may-see", "What is the weather in Paris, and what time is it there?"
	e := newEndpoint(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Sunny."},"finish_reason":"stop"}]}`)
	}), false)
	dir := t.TempDir()
	theirs, ours := filepath.Join(dir, "theirs.yaml"), filepath.Join(dir, "ours.yaml")
	take := func(base, question string) []string {
		return []string{".venv/bin/python", "clients/vcrpy_client.py", base, theirs, question}
	}
	for _, question := range []string{question, "What is the weather?"} {
		argv := take(e.URL+"/v1", question)
		cmd := command(t, argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), "OPENAI_API_KEY="+key)
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != "Sunny.\n" {
			t.Fatalf("vcrpy: %v\n%s", err, out)
		}
	}
	if n := len(e.asked()); n != 1 {
		t.Errorf("the endpoint was asked %d times, want once: vcrpy compares bodies now", n)
	}
	if data, err := os.ReadFile(theirs); err != nil || !bytes.Contains(data, []byte(key)) {
		t.Errorf("vcrpy writes no keys now: %v", err)
	}
	e.Close()

	if code, out := rehearse(t, "import", "vcr", theirs, ours); code != 0 || !strings.Contains(out, "1 interaction of vcrpy written to") {
		t.Fatalf("import: exit code %d: %s", code, out)
	}
	if data, err := os.ReadFile(ours); err != nil || bytes.Contains(data, []byte(key)) {
		t.Errorf("the key is in our file, or %v", err)
	}
	talk := func(question string) []string {
		return []string{".venv/bin/python", "clients/recorded.py", "plain", question}
	}
	if out, log, code := through(t, "", []string{"--cassette", ours, "--ignore", "tools"}, talk(question)); code != 0 || !strings.Contains(out, "Sunny.") {
		t.Errorf("replay: exit code %d\n%s%s", code, out, log)
	}
	if _, log, code := through(t, "", []string{"--cassette", ours, "--ignore", "tools"}, talk("What is the weather?")); code != 1 || !strings.Contains(log, `now "What is the weather?"`) {
		t.Errorf("miss: exit code %d\n%s", code, log)
	}
}
