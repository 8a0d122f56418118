// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// TestSet: each test that a client names has a cassette of its own.
func TestSet(t *testing.T) {
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(cassettes.TestHeader) != "" || strings.Contains(r.URL.Path, "test") {
			t.Errorf("the endpoint is told of tests: %s %v", r.URL, r.Header)
		}
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(append([]byte("heard "), body...))
	}))
	defer endpoint.Close()
	upstream, err := url.Parse(endpoint.URL + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "cassettes")
	ask := func(proxy *httptest.Server, path, header, body string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, proxy.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if header != "" {
			req.Header.Set(cassettes.TestHeader, header)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(text)
	}
	asked := []struct{ path, header, body string }{
		{"/test/tests%2Ftest_a.py::test_one/chat/completions", "", "1"},
		{"/chat/completions", "test_two[x]", "2"},
		{"/test/tests%2Ftest_a.py::test_one/chat/completions", "", "3"},
	}
	if _, err := cassettes.OpenSet(dir, &cassettes.Options{Order: "odd"}); err == nil || !strings.Contains(err.Error(), `order "odd" is unknown`) {
		t.Errorf("got %v", err)
	}
	set, err := cassettes.OpenSet(dir, &cassettes.Options{Mode: cassettes.Record, LookupEnv: noCI})
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(set.Proxy(upstream))
	for _, q := range asked {
		if code, got := ask(proxy, q.path, q.header, q.body); code != 200 || got != "heard "+q.body {
			t.Errorf("recording: %d %q", code, got)
		}
	}
	for range 2 { // it is told once
		if code, got := ask(proxy, "/chat/completions", "", "4"); code != 400 || !strings.Contains(got, "names no test") {
			t.Errorf("without a name: %d %q", code, got)
		}
	}
	if code, got := ask(proxy, "/chat/completions", "test_two(x)", "5"); code != 422 || !strings.Contains(got, "would both be") {
		t.Errorf("a name that is the same file: %d %q", code, got)
	}
	proxy.Close()
	if list := set.Recorders(); len(list) != 2 || !strings.HasSuffix(list[0].Path(), "tests-test_a.py-test_one.yaml") || !strings.HasSuffix(list[1].Path(), "test_two-x.yaml") {
		t.Errorf("recorders: %v", list)
	}
	if err := set.Close(); err == nil || strings.Count(err.Error(), "names no test") != 1 || !strings.Contains(err.Error(), "would both be") {
		t.Errorf("closing: %v", err)
	}
	const one, two = "tests/test_a.py::test_one", "test_two[x]"
	for name, want := range map[string][]string{"tests-test_a.py-test_one.yaml": {one, one}, "test_two-x.yaml": {two}} {
		f, err := vcr.Read(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		var labels []string
		for _, i := range f.Interactions {
			labels = append(labels, i.Meta.Label)
		}
		if d := cmp.Diff(want, labels); d != "" {
			t.Errorf("%s: the tests that its exchanges are of (-want +got):\n%s", name, d)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("files: %v", entries)
	}

	if set, err = cassettes.OpenSet(dir, nil); err != nil {
		t.Fatal(err)
	}
	proxy = httptest.NewServer(set.Proxy(nil))
	for _, q := range asked[:1] {
		if code, got := ask(proxy, q.path, q.header, q.body); code != 200 || got != "heard "+q.body {
			t.Errorf("replay: %d %q", code, got)
		}
	}
	for _, why := range []string{"does not exist", `the cassette of test \"test_three\" could not be opened`} {
		if code, got := ask(proxy, "/chat/completions", "test_three", "1"); code != 422 || !strings.Contains(got, why) {
			t.Errorf("a test that is not recorded: %d %q, want %q", code, got, why)
		}
	}
	proxy.Close()
	if err := set.Close(); err == nil || !strings.Contains(err.Error(), `test_one.yaml": 1 of 2 interactions were not asked for`) || strings.Contains(err.Error(), "test_two") {
		t.Errorf("closing: %v", err)
	}
}
