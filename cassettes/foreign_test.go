// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// foreign lists the recordings of the data folder that other programs made,
// by their names below it: files, and folders of captures.
func foreign(t *testing.T) (data string, names []string) {
	t.Helper()
	data = os.Getenv("REHEARSE_DATA")
	if data == "" {
		t.Skip("REHEARSE_DATA is not set: it names the folder with recorded data")
	}
	found := map[string]bool{}
	for _, root := range []string{"cassettes", "argo-captures"} {
		err := filepath.WalkDir(filepath.Join(data, root), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, err := filepath.Rel(data, path)
			switch ext := filepath.Ext(path); {
			case err != nil:
				return err
			case ext == ".yaml" || ext == ".yml" || ext == ".har":
				found[name] = true
			case strings.HasSuffix(path, ".meta.json"):
				found[filepath.Dir(name)] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(found) < 25 {
		t.Fatalf("%d recordings are in %q, want 25 or more", len(found), data)
	}
	return data, slices.Sorted(maps.Keys(found))
}

// exceptions reads the list of known differences: a name, and behind two
// blanks or more what differs and why.
func exceptions(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/foreign.txt")
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, why, _ := strings.Cut(line, "  ")
		if strings.TrimSpace(why) == "" {
			t.Errorf("testdata/foreign.txt: %q has no reason", name)
		}
		list[name] = why
	}
	return list
}

// TestForeign takes every foreign recording of the data folder as it is, as
// go-vcr's file that we write and as HAR. Nothing of a body is lost on the
// way, and each interaction answers its own request, with what was recorded.
func TestForeign(t *testing.T) {
	data, names := foreign(t)
	known := exceptions(t)
	interactions, formats := 0, map[vcr.Format]int{}
	for _, name := range names {
		file, err := vcr.Read(filepath.Join(data, name))
		if err != nil {
			t.Error(err)
			continue
		}
		interactions += len(file.Interactions)
		formats[file.Format]++
		dir := t.TempDir()
		har, err := file.EncodeHAR()
		if err == nil {
			err = errors.Join(os.WriteFile(filepath.Join(dir, "a.har"), har, 0o600), vcr.WriteFile(filepath.Join(dir, "a.yaml"), file, -1))
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, form := range []struct{ name, path string }{
			{"as it is", filepath.Join(data, name)}, {"as a cassette", filepath.Join(dir, "a.yaml")}, {"as HAR", filepath.Join(dir, "a.har")},
		} {
			list := append(bodies(file, form.path), replayed(file, form.path)...)
			for n, diff := range list {
				at := fmt.Sprintf("%s %s, difference %d", name, form.name, n+1)
				if _, ok := known[at]; !ok {
					t.Errorf("%s:\n%s", at, diff)
				}
				delete(known, at)
			}
		}
	}
	for at := range known {
		t.Errorf("testdata/foreign.txt: %q: there is no such difference any more", at)
	}
	t.Logf("%d files with %d interactions: %v", len(names), interactions, formats)
}

// bodies compares the bodies of a file with what was read before it was
// written.
func bodies(want *vcr.File, path string) (differ []string) {
	got, err := vcr.Read(path)
	if err != nil {
		return []string{err.Error()}
	}
	if len(got.Interactions) != len(want.Interactions) {
		return []string{fmt.Sprintf("%d interactions, want %d", len(got.Interactions), len(want.Interactions))}
	}
	for n, w := range want.Interactions {
		if g := got.Interactions[n]; !bytes.Equal(g.Request.Body, w.Request.Body) || !bytes.Equal(g.Response.Body, w.Response.Body) {
			differ = append(differ, fmt.Sprintf("a body of interaction %d has changed", n+1))
		}
	}
	return differ
}

// replayed sends each recorded request to the file, in the order of the file,
// and compares the answers. Before that it sends a request that is another by
// one member of its body, which must miss.
func replayed(want *vcr.File, path string) (differ []string) {
	rec, err := cassettes.Open(path, nil)
	if err != nil {
		return []string{err.Error()}
	}
	for n, w := range want.Interactions {
		say := func(format string, args ...any) {
			differ = append(differ, fmt.Sprintf("interaction %d: ", n+1)+fmt.Sprintf(format, args...))
		}
		body, err := ask(rec, &w.Request)
		if err != nil {
			say("%v", err)
			continue
		}
		got, err := io.ReadAll(body.Body)
		if err != nil {
			say("reading the body: %v", err)
		}
		if body.StatusCode != w.Response.Code || !bytes.Equal(got, w.Response.Body) {
			say("answered %d %q, want %d %q", body.StatusCode, got, w.Response.Code, w.Response.Body)
		}
		if diff := cmp.Diff(counting(w.Response.Header), counting(body.Header), cmpopts.EquateEmpty()); diff != "" {
			say("headers (-want +got):\n%s", diff)
		}
	}
	if err := rec.Close(); err != nil && len(differ) == 0 {
		differ = append(differ, err.Error())
	}
	if rec, err = cassettes.Open(path, &cassettes.Options{Order: cassettes.Any}); err != nil {
		return append(differ, err.Error())
	}
	for n, w := range want.Interactions {
		other := w.Request
		object, ok := bytes.CutPrefix(bytes.TrimSpace(other.Body), []byte("{"))
		if !ok {
			continue
		}
		other.Body = append([]byte(`{"other":true,`), object...)
		var miss *cassettes.MissError
		if _, err := ask(rec, &other); !errors.As(err, &miss) {
			differ = append(differ, fmt.Sprintf("interaction %d: a request with another body is answered too: %v", n+1, err))
		}
	}
	_ = rec.Close() // says what was meant to be
	return differ
}

// ask sends a recorded request as it was.
func ask(rec *cassettes.Recorder, r *vcr.Request) (*http.Response, error) {
	req, err := http.NewRequest(r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	req.Header = r.Header.Clone()
	return rec.RoundTrip(req)
}

// counting are the headers of an answer without those of a connection, which
// are made anew.
func counting(h http.Header) http.Header {
	h = h.Clone()
	for _, name := range []string{"Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive"} {
		h.Del(name)
	}
	return h
}

// TestForms replays what other recorders write and the data folder has not.
func TestForms(t *testing.T) {
	var packed bytes.Buffer
	zw := gzip.NewWriter(&packed)
	fmt.Fprint(zw, `{"ok":true}`)
	zw.Close()
	zipped := base64.StdEncoding.EncodeToString(packed.Bytes())
	for _, test := range []struct {
		name, file, content string
		format              vcr.Format
		code                int
		body, kind          string
	}{
		{
			"vcrpy", "a.yaml", "interactions:\n- request:\n    body: '{\"q\": 1}'\n    headers:\n      Content-Type: [application/json]\n    method: POST\n" +
				"    uri: http://127.0.0.1:1/v1/chat/completions\n  response:\n    body:\n      string: '{\"ok\":true}'\n    headers:\n      content-type: [application/json]\n" +
				"    status: {code: 200, message: OK}\nversion: 1\n",
			vcr.VCRPy, 200, `{"ok":true}`, "application/json",
		},
		{
			"vcrpy with gzip", "a.yaml", "interactions:\n- request:\n    body: '{\"q\": 1}'\n    headers:\n      Content-Type: [application/json]\n    method: POST\n" +
				"    uri: http://127.0.0.1:1/v1/chat/completions\n  response:\n    body:\n      string: !!binary |\n        " + zipped + "\n    headers:\n      content-type: [application/json]\n" +
				"      content-encoding: [gzip]\n    status: {code: 201, message: Created}\nversion: 1\n",
			vcr.VCRPy, 201, `{"ok":true}`, "application/json",
		},
		{
			"go-vcr v1", "a.yaml", "---\nversion: 1\ninteractions:\n- request:\n    body: '{\"q\": 1}'\n    form: {}\n    headers: {Content-Type: [application/json]}\n" +
				"    url: http://127.0.0.1:1/v1/chat/completions\n    method: POST\n  response:\n    body: busy\n    headers: {Content-Type: [text/plain]}\n    status: 429 Too Many Requests\n    code: 429\n    duration: \"\"\n",
			vcr.GoVCR1, 429, "busy", "text/plain",
		},
		{
			"HAR", "a.har", `{"log":{"version":"1.2","creator":{"name":"x","version":"1"},"entries":[{"startedDateTime":"2026-11-28T02:00:00.000Z","time":12,"request":{"method":"POST",` +
				`"url":"http://127.0.0.1:1/v1/chat/completions","httpVersion":"HTTP/2","headers":[{"name":"content-type","value":"application/json"}],"queryString":[],"cookies":[],` +
				`"headersSize":-1,"bodySize":8,"postData":{"mimeType":"application/json","text":"{\"q\": 1}"}},"response":{"status":200,"statusText":"OK","httpVersion":"HTTP/2",` +
				`"headers":[{"name":"content-type","value":"application/octet-stream"}],"cookies":[],"content":{"size":3,"mimeType":"application/octet-stream","encoding":"base64","text":"AP8K"},` +
				`"redirectURL":"","headersSize":-1,"bodySize":3},"cache":{},"timings":{"send":0,"wait":12,"receive":0}}]}}`,
			vcr.HAR, 200, "\x00\xff\n", "application/octet-stream",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), test.file)
			if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			file, err := vcr.Read(path)
			if err != nil {
				t.Fatal(err)
			}
			i := file.Interactions[0]
			if file.Format != test.format || i.Response.Code != test.code || string(i.Response.Body) != test.body || i.Response.Header.Get("Content-Type") != test.kind || string(i.Request.Body) != `{"q": 1}` {
				t.Errorf("read as %s: %+v", file.Format, i)
			}
			for _, diff := range replayed(file, path) {
				t.Error(diff)
			}
			saved := filepath.Join(t.TempDir(), "saved.yaml")
			if err := vcr.WriteFile(saved, file, -1); err != nil {
				t.Fatal(err)
			}
			for _, diff := range append(bodies(file, saved), replayed(file, saved)...) {
				t.Errorf("saved: %s", diff)
			}
		})
	}
}
