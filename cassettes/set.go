// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/harness/trials"
)

// TestHeader is the header in which a client says of which test a request is;
// else its path begins with /test/NAME. It is not handed on.
const TestHeader = "X-Rehearse-Test"

const testPath = "/test/"

// Set is a folder of cassettes, one for each test of a client that names its
// tests. They are opened when the first request comes. Its methods may be
// called concurrently.
type Set struct {
	dir  string
	opts Options

	mu     sync.Mutex           // guards the rest
	byName map[string]*Recorder // nil of one that could not be opened
	byFile map[string]string    // whose a file is
	list   []*Recorder          // in the order of their first requests
	errs   []error
	closed bool
}

// OpenSet returns the set of a folder, which need not be there.
func OpenSet(dir string, opts *Options) (*Set, error) {
	s := &Set{dir: dir, byName: map[string]*Recorder{}, byFile: map[string]string{}}
	if _, err := opts.withDefaults(); err != nil {
		return nil, fmt.Errorf("opening cassettes %q: %w", dir, err)
	}
	if opts != nil {
		s.opts = *opts
	}
	return s, nil
}

// Proxy returns a handler as [Recorder.Proxy] does. A request that names no test
// is answered with 400.
func (s *Set) Proxy(upstream *url.URL) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		name, prefix, rest := testOf(req)
		if name == "" {
			s.note(fmt.Errorf("%s %s names no test", req.Method, req.URL.Path))
			answer(w, http.StatusBadRequest, "rehearse_test", fmt.Sprintf("the request names no test: begin its path with %sNAME, or send the header %s: NAME", testPath, TestHeader))
			return
		}
		r, err := s.of(name)
		if err != nil {
			answer(w, http.StatusUnprocessableEntity, "rehearse_miss", err.Error())
			return
		}
		req = req.Clone(context.WithValue(req.Context(), prefixKey{}, prefix))
		setPath(req.URL, rest)
		req.Header.Del(TestHeader)
		r.Proxy(upstream).ServeHTTP(w, req)
	})
}

// testOf is the test that a request is of, and its path in two parts as it was
// sent: what names the test, which may be empty, and the rest.
func testOf(req *http.Request) (name, prefix, rest string) {
	rest = req.URL.EscapedPath()
	if after, ok := strings.CutPrefix(rest, testPath); ok {
		first, _, _ := strings.Cut(after, "/")
		if plain, err := url.PathUnescape(first); err == nil && plain != "" {
			name, prefix, rest = plain, testPath+first, after[len(first):]
		}
	}
	if rest == "" {
		rest = "/"
	}
	if header := req.Header.Get(TestHeader); header != "" {
		name = header
	}
	return name, prefix, rest
}

// of returns the recorder of a test.
func (s *Set) of(name string) (*Recorder, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("the recorder is closed")
	}
	if r, known := s.byName[name]; known {
		if r == nil {
			return nil, fmt.Errorf("the cassette of test %q could not be opened", name)
		}
		return r, nil
	}
	path := filepath.Join(s.dir, trials.FileName(name, "test")+".yaml")
	r, err := (*Recorder)(nil), error(nil)
	if other, taken := s.byFile[path]; taken {
		err = fmt.Errorf("the cassettes of tests %q and %q would both be %q: give them names that differ in letters or digits", other, name, path)
	} else {
		s.byFile[path] = name
		o := s.opts
		o.Label = name
		r, err = Open(path, &o)
	}
	s.byName[name] = r
	if err != nil {
		s.errs = append(s.errs, err)
		return nil, err
	}
	s.list = append(s.list, r)
	return r, nil
}

func (s *Set) note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.errs, func(e error) bool { return e.Error() == err.Error() }) {
		s.errs = append(s.errs, err)
	}
}

// Recorders returns those that were opened so far, in the order of their first
// requests.
func (s *Set) Recorders() []*Recorder {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}

// Close closes all of them. Cassettes of tests that did not run stay as they
// are, and are no mistake.
func (s *Set) Close() error {
	s.mu.Lock()
	s.closed = true
	list, errs := s.list, slices.Clone(s.errs)
	s.mu.Unlock()
	for _, r := range list {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// Path is the file of the cassette.
func (r *Recorder) Path() string { return r.path }
