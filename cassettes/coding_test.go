// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// in compresses a text.
func in(coding, text string) string {
	var out bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "zlib":
		w = zlib.NewWriter(&out)
	case "deflate":
		w, _ = flate.NewWriter(&out, 9)
	default:
		return text
	}
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return out.String()
}

// TestCodedRequests: a request is recorded as people can read it, without its
// secrets, and is found again whether it is compressed or not. What nobody can
// read is not recorded, or at least said to be there.
func TestCodedRequests(t *testing.T) {
	key := "sk-" + "proj-" + strings.Repeat("Zq7Xv2Lm9Rt4", 4)
	plain := fmt.Sprintf(`{"model":"m","api_key":%q,"text":%q}`, key, strings.Repeat("a ", 100))
	var archive bytes.Buffer
	zw := zip.NewWriter(&archive)
	w, _ := zw.Create("a.txt")
	_, _ = io.WriteString(w, "text")
	_ = zw.Close()
	for _, tt := range []struct {
		name, coding, body string
		kept               bool
		note               string
	}{
		{"plain", "", plain, true, ""},
		{"gzip", "gzip", in("gzip", plain), true, ""},
		{"gzip and nothing", "identity, GZIP", in("gzip", plain), true, ""},
		{"deflate", "deflate", in("zlib", plain), true, ""},
		{"bare deflate", "deflate", in("deflate", plain), true, ""},
		{"br", "br", "\x0b\x02\x80" + key + "\x03", false, "was sent in br, in which secrets cannot be found; it is not recorded"},
		{"broken gzip", "gzip", in("gzip", plain)[:40], false, "was sent in gzip, in which secrets cannot be found; it is not recorded"},
		{"gzip that is not said", "", in("gzip", plain), true, ""},
		{"zlib that is not said", "", in("zlib", plain), true, ""},
		{"zip", "", archive.String(), true, "the body of the request is compressed (zip), and secrets in it cannot be found; it is recorded as it came"},
		{"gzip twice", "", in("gzip", in("gzip", plain)), true, "(gzip or zlib, twice)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.yaml")
			send := func(r *cassettes.Recorder, coding, body string) error {
				req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:1/v1/x", strings.NewReader(body))
				req.Header.Set("Content-Type", "application/json")
				if coding != "" {
					req.Header.Set("Content-Encoding", coding)
				}
				resp, err := r.RoundTrip(req)
				if err != nil {
					return err
				}
				_, err = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				return err
			}
			r := open(t, path, cassettes.Options{Mode: cassettes.Record, Upstream: endpoint(func(req *http.Request) (*http.Response, error) {
				if got, _ := io.ReadAll(req.Body); string(got) != tt.body || req.Header.Get("Content-Encoding") != tt.coding {
					t.Error("the endpoint was sent something else")
				}
				return respond(200, "text/plain", "fine"), nil
			})})
			if err := send(r, tt.coding, tt.body); err != nil {
				t.Fatal(err)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			if notes := strings.Join(r.Notes(), "\n"); !strings.Contains(notes, tt.note) || tt.note == "" && strings.Contains(notes, "compressed") {
				t.Errorf("notes: %s", notes)
			}
			if _, err := os.Stat(path); (err == nil) != tt.kept {
				t.Fatalf("kept: %v, want %t", err, tt.kept)
			}
			if !tt.kept {
				return
			}
			f, err := vcr.Read(path)
			if err != nil {
				t.Fatal(err)
			}
			body := string(f.Interactions[0].Request.Body)
			if tt.note == "" && tt.coding != "" && (!strings.HasPrefix(body, `{"model":"m","api_key":"REDACTED-`) || f.Interactions[0].Request.Header.Get("Content-Encoding") != "") {
				t.Errorf("the request is recorded as %q", body)
			}
			if zr, err := zlib.NewReader(strings.NewReader(body)); err == nil {
				plain, err := io.ReadAll(zr)
				body = string(plain)
				if err != nil || !strings.Contains(body, "REDACTED-") {
					t.Errorf("unpacked: %q, %v", body, err)
				}
			}
			if strings.Contains(body, key) {
				t.Error("the key is in the cassette")
			}
			r = open(t, path, cassettes.Options{})
			if err := send(r, tt.coding, tt.body); err != nil {
				t.Error(err)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			if tt.coding != "" {
				if err := send(open(t, path, cassettes.Options{}), "", plain); err != nil {
					t.Errorf("the same without a coding: %v", err)
				}
			}
		})
	}
}

// TestEmptyCodedAnswers: in nothing nobody can hide a secret.
func TestEmptyCodedAnswers(t *testing.T) {
	for _, tt := range []struct {
		method string
		code   int
	}{{"GET", 200}, {"HEAD", 200}, {"GET", 204}} {
		path := filepath.Join(t.TempDir(), "a.yaml")
		ask := func(r *cassettes.Recorder) {
			t.Helper()
			req, _ := http.NewRequestWithContext(t.Context(), tt.method, "http://127.0.0.1:1/v1/x", nil)
			resp, err := r.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil || len(got) > 0 || resp.StatusCode != tt.code || resp.Header.Get("Content-Encoding") != "gzip" {
				t.Errorf("%s %d: answered %d %v %q, %v", tt.method, tt.code, resp.StatusCode, resp.Header, got, err)
			}
			if err := r.Close(); err != nil {
				t.Errorf("%s %d: %v", tt.method, tt.code, err)
			}
		}
		ask(open(t, path, cassettes.Options{Mode: cassettes.Record, Upstream: endpoint(func(*http.Request) (*http.Response, error) {
			resp := respond(tt.code, "text/plain", "")
			resp.Header.Set("Content-Encoding", "gzip")
			return resp, nil
		})}))
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s %d: %v", tt.method, tt.code, err)
			continue
		}
		ask(open(t, path, cassettes.Options{}))
	}
}

// TestAcceptedCodings: the endpoint is asked for what can be read here, and a
// client that names no coding asks for none.
func TestAcceptedCodings(t *testing.T) {
	for _, tt := range []struct{ name, accepts, want string }{
		{"gzip among others", "br, gzip;q=0.5", "gzip"},
		{"none that can be read", "br, zstd", "identity"},
		{"nothing said", "", ""},
	} {
		got := "(nothing)"
		r := open(t, filepath.Join(t.TempDir(), "a.yaml"), cassettes.Options{Mode: cassettes.Record, Upstream: endpoint(func(req *http.Request) (*http.Response, error) {
			got = req.Header.Get("Accept-Encoding")
			return respond(200, "text/plain", "fine"), nil
		})})
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:1/v1/x", nil)
		if tt.accepts != "" {
			req.Header.Set("Accept-Encoding", tt.accepts)
		}
		resp, err := r.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if got != tt.want {
			t.Errorf("%s: the endpoint is asked for %q, want %q", tt.name, got, tt.want)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
